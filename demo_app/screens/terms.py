"""The terms: who asks what, why and how long, what is promised, what could be told, and what it costs.

One idea: everything that the person decides by stands on one page, in the order in which people ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.content.study import NEW, OPEN, Agreement
from demo_app.screens.authors import spaced
from demo_app.screens.studies import state
from demo_app.screens.view import PageView, action, card, words
from demo_app.texts import day, number, say
from demo_app.widgets.chances import Belief, Chances
from demo_app.widgets.dialogs import ask
from demo_app.widgets.gauge import times
from demo_app.widgets.words import Mono


class TermsView(PageView):
    """The terms of one campaign."""

    def come(self, campaign_id: bytes) -> None:
        self.app.do(lambda model: model.agreement(campaign_id), self.show)

    def show(self, agreement: Agreement) -> None:
        """Fill the page."""
        self.fill(self._parts(agreement))

    def _parts(self, agreement: Agreement) -> Iterator[Widget]:
        terms, one = agreement.terms, agreement.card
        yield card(
            words(terms.title, "headline"),
            words(say("terms.who", organisation=terms.organisation), colour="muted"),
            words(say("terms.question", question=terms.question)),
            words(say("terms.why", purpose=terms.purpose)) if terms.purpose else None,
        )
        yield card(
            words(say("terms.when"), "title"),
            words(say("terms.from_to", opens=day(terms.opens), closes=day(terms.closes))),
            words(say("terms.answers", count=agreement.answers)),
            words(say("terms.every", count=terms.answers_per_period, length=span(terms.period_seconds))),
            None if one.state == NEW else words(state(one), colour="muted"),
        )
        yield card(
            words(say("terms.promise"), "title"),
            words(promised(agreement), name="promise"),
            words(say("terms.checked"), "small", "muted"),
        )
        yield card(
            words(say("terms.chances"), "title"),
            words(say("terms.chances_how"), "small", "muted"),
            Chances(truth=agreement.preview.truth),
        )
        yield card(
            Belief(before=agreement.preview.belief.before, after=agreement.preview.belief.after),
        )
        yield card(
            words(say("terms.price"), "title"),
            words(say("terms.cost", cost=terms.cost, factor=times(terms.cost))),
            words(say("terms.worst", worst=terms.worst_case, remaining=agreement.gauge.remaining), name="worst"),
            None if agreement.fits or one.state != NEW else words(say("terms.unfit"), colour="alert", name="unfit"),
        )
        yield card(words(say("terms.signed"), "small", "muted"), Mono(text=spaced(agreement.author), role="small"))
        yield from self._actions(agreement)

    def _actions(self, agreement: Agreement) -> Iterator[Widget]:
        one = agreement.card
        if one.state == NEW:
            yield action(
                "join", say("terms.join"), lambda: self.app.go("consent", agreement), disabled=not agreement.fits
            )
            yield action("decline", say("terms.decline"), lambda: self._decline(agreement), "outlined")
            return
        if one.state == OPEN:
            yield action("answer", say("terms.answer"), lambda: self.app.go("question", one.campaign_id))
        yield action("forget", say("terms.forget"), lambda: self._forget(agreement), "plain")

    def _decline(self, agreement: Agreement) -> None:
        self.app.do(lambda model: model.forget(agreement.card.campaign_id), lambda _: self.app.home())

    def _forget(self, agreement: Agreement) -> None:
        ask(
            say("forget.ask", title=agreement.terms.title),
            say("forget.what"),
            say("forget.do"),
            lambda: self._decline(agreement),
            grave=True,
        )


def promised(agreement: Agreement) -> str:
    """What the campaign promises, in words."""
    promise = agreement.promise
    text = say(
        f"promise.{promise.notion}",
        factor=shown(promise.factor),
        least=shown(promise.least),
        count=promise.sensitive,
    )
    if promise.radius is not None and promise.ball is not None:
        text += " " + say("promise.ball", people=number(promise.radius), factor=shown(promise.ball))
    return text


def shown(factor: float) -> str:
    """How many times, with as many digits as a person reads."""
    return number(factor, 2 if factor < 100 else 3)


def span(seconds: int) -> str:
    """A length of time in its largest whole unit."""
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds % length == 0:
            return say(f"span.{unit}", count=seconds // length)
    return say("span.seconds", count=seconds)

"""The terms: who asks what, why and how long, what is promised, what could be told, and what it costs.

Everything that the person decides by stands on one page, in the order in which people ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kivy.uix.widget import Widget

from demo_app.content.study import NEW, OPEN, Agreement
from demo_app.screens.authors import spaced
from demo_app.screens.studies import state
from demo_app.screens.view import PageView, action, card, words
from demo_app.texts import above, below, day, say, spoken
from demo_app.widgets.chances import Belief, Chances
from demo_app.widgets.dialogs import ask
from demo_app.widgets.words import Mono

if TYPE_CHECKING:
    from edge_sdk.campaigns.terms import Terms

MOST_NAMED = 24
"""Possible answers that the terms name; the question has them all."""


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
        if terms.shown:
            yield card(words(say("terms.values"), "title"), words(some(terms.shown), name="values"))
        if terms.map is not None:
            yield card(words(say("terms.asked"), "title"), words(terms.asked_in(spoken()), name="asked of this device"))
        yield card(*_about(terms))
        yield card(
            words(say("terms.promise"), "title"),
            words(terms.promise.told(spoken()), name="promise"),
            words(say("terms.checked"), "small", "muted"),
        )
        yield card(
            words(say("terms.chances"), "title"),
            words(say("terms.chances_how"), "small", "muted"),
            Chances(truth=agreement.preview.truth, wrong=agreement.preview.wrong),
        )
        yield card(
            Belief(before=agreement.preview.belief.before, after=agreement.preview.belief.after),
        )
        yield card(
            words(say("terms.price"), "title"),
            words(say("terms.cost", cost=above(terms.cost))),
            words(
                say("terms.worst", worst=above(terms.worst_case), remaining=below(agreement.gauge.remaining)),
                name="worst",
            ),
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


def some(values: Sequence[str]) -> str:
    """The first of the possible answers, and how many more there are."""
    named = ", ".join(values[:MOST_NAMED])
    more = len(values) - MOST_NAMED
    return named if more <= 0 else say("terms.more", values=named, count=more)


def _about(terms: Terms) -> Iterator[Widget]:
    """Where reports go, whom to ask, how long things are kept, and that nothing that was sent can be withdrawn."""
    yield words(say("terms.about"), "title")
    hosts = ", ".join(terms.hosts)
    yield words(say("terms.hosts", hosts=hosts) if hosts else say("terms.nowhere"), name="hosts")
    yield words(say("terms.contact", contact=terms.contact) if terms.contact else say("terms.nobody"), name="contact")
    kept = say("terms.kept", retention=terms.retention) if terms.retention else say("terms.unkept")
    yield words(kept, name="retention")
    if terms.notice:
        yield words(say("terms.notice", link=terms.notice), name="notice")
    yield words(say("terms.withdrawal"), name="withdrawal")


def span(seconds: int) -> str:
    """A length of time in its largest whole unit."""
    for unit, length in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds % length == 0:
            return say(f"span.{unit}", count=seconds // length)
    return say("span.seconds", count=seconds)

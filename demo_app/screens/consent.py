"""Consent: what agreeing means, and the person's class where the campaign has classes.

One idea: agreeing is one deliberate touch after the few sentences that bind the person.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.model import OPEN, Agreement, Asked
from demo_app.screens.view import Choice, PageView, action, card, words
from demo_app.texts import day, say


class ConsentView(PageView):
    """What the person agrees to."""

    def come(self, agreement: Agreement) -> None:
        terms = agreement.terms
        self._agreement, self._class = agreement, terms.member_of
        self._agree = action(
            "agree", say("consent.agree"), self._do, disabled=bool(terms.classes) and terms.member_of is None
        )
        self.fill(self._parts(agreement))

    def _parts(self, agreement: Agreement) -> Iterator[Widget]:
        terms = agreement.terms
        yield words(terms.title, "headline")
        yield card(
            words(say("consent.answers", count=agreement.answers, day=day(terms.closes))),
            words(say("consent.reserve", worst=terms.worst_case, remaining=agreement.gauge.remaining)),
            words(say("consent.leave")),
            words(say("consent.told")),
            words(say("consent.enrol")) if terms.enrolment == "enrolled" else None,
        )
        if terms.declares_prior:
            yield card(words(say("consent.prior"), name="prior"), tone="tint")
        if terms.classes:
            yield self._classes(agreement)
        yield self._agree
        yield action("later", say("consent.later"), self.app.back, "plain")

    def _classes(self, agreement: Agreement) -> Widget:
        classes = agreement.terms.classes
        told = [say("consent.class_cost", name=one.name, worst=one.worst_case) for one in classes]

        def choose(place: int) -> None:
            self._class = classes[place].name
            self._agree.disabled = False

        return card(
            words(say("consent.class"), "title"),
            words(say("consent.class_how"), colour="muted"),
            Choice("class", told, -1, choose),
        )

    def _do(self) -> None:
        campaign_id, chosen = self._agreement.card.campaign_id, self._class
        self.app.do(lambda model: model.consent(campaign_id, chosen), self._agreed)

    def _agreed(self, asked: Asked) -> None:
        if asked.card.state == OPEN:
            self.app.go("question", asked.card.campaign_id, fresh=True)
        else:
            self.app.home()

"""Consent: what agreeing means, and the person's class where the campaign has classes.

Agreeing is one deliberate touch after the few sentences that bind the person. A class is named openly, or
chosen by the phone, which costs; either is picked by one touch, and what it costs stands on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.content.study import OPEN, Agreement, Fitting, QuestionContent
from demo_app.screens.studies import answering
from demo_app.screens.view import Choice, PageView, action, card, words
from demo_app.texts import above, below, day, say
from demo_app.widgets.dialogs import tell


class ConsentView(PageView):
    """What the person agrees to."""

    def come(self, agreement: Agreement) -> None:
        terms = agreement.terms
        self._agreement, self._class = agreement, terms.member_of
        self._level: float | None = None
        self._named: Choice | None = None
        self._chosen: Choice | None = None
        self._agree = action(
            "agree", say("consent.agree"), self._do, disabled=bool(terms.classes) and terms.member_of is None
        )
        self.fill(self._parts(agreement))

    def _parts(self, agreement: Agreement) -> Iterator[Widget]:
        terms = agreement.terms
        yield words(terms.title, "headline")
        yield card(
            words(say("consent.answers", count=agreement.answers, day=day(terms.closes))),
            words(say("consent.reserve", worst=above(terms.worst_case), remaining=below(agreement.gauge.remaining))),
            words(say("consent.form"), name="form") if terms.questions else None,
            words(say("consent.leave")),
            words(say("consent.told")),
            words(say("consent.enrol")) if terms.enrolment == "enrolled" else None,
        )
        if terms.declares_prior:
            yield card(words(say("consent.prior"), name="prior"), tone="tint")
        if terms.classes:
            yield self._classes(agreement)
        if agreement.fitting is not None:
            yield self._fitting(agreement.fitting)
        yield self._agree
        yield action("later", say("consent.later"), self.app.back, "plain")

    def _classes(self, agreement: Agreement) -> Widget:
        classes = agreement.terms.classes
        told = [say("consent.class_cost", name=one.shown, worst=above(one.worst_case)) for one in classes]

        def choose(place: int) -> None:
            self._pick(classes[place].name, None)

        self._named = Choice("class", told, -1, choose)
        return card(words(say("consent.class"), "title"), words(say("consent.class_how"), colour="muted"), self._named)

    def _fitting(self, fitting: Fitting) -> Widget:
        """The phone chooses, by answers that only it knows; or why it cannot."""
        title = words(say("consent.fit"), "title")
        if not (fitting.known and fitting.strengths):
            why = say("consent.fit_room" if fitting.known else "consent.fit_unknown")
            return card(title, words(why, colour="muted", name="unfitting"))
        told = [
            say("consent.fit_cost", level=one.level, share=round(100 * one.share), worst=above(one.worst_case))
            for one in fitting.strengths
        ]

        def choose(place: int) -> None:
            self._pick(None, fitting.strengths[place].level)

        self._chosen = Choice("fit", told, -1, choose)
        known = words(say("consent.fit_known", count=fitting.known), colour="muted")
        return card(title, known, words(say("consent.fit_how"), colour="muted"), self._chosen)

    def _pick(self, named: str | None, level: float | None) -> None:
        """One way or the other, never both."""
        self._class, self._level = named, level
        other = self._chosen if level is None else self._named
        if other is not None:
            other.chosen = -1
        self._agree.disabled = False

    def _do(self) -> None:
        campaign_id, named, level = self._agreement.card.campaign_id, self._class, self._level
        if level is None:
            self.app.do(lambda model: model.consent(campaign_id, named), self._agreed)
        else:
            self.app.do(lambda model: model.choose(campaign_id, level), self._fitted)

    def _fitted(self, asked: QuestionContent) -> None:
        tell(say("consent.fitted", name=asked.member_of), "good")
        self._agreed(asked)

    def _agreed(self, asked: QuestionContent) -> None:
        if asked.card.state == OPEN:
            self.app.go(answering(asked.card), asked.card.campaign_id, fresh=True)
        else:
            self.app.home()

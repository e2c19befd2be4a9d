"""The screen of consent: its consequences, and the person's class or statement if the campaign asks for one.

The person consents with one touch, below sentences on the consequences. The person states their class publicly, or has
the device choose a class at random, which has a cost; each button shows its cost. If the campaign asks how likely
each answer is, this screen shows the person's statement and the resulting posteriors; the person types the statement on
another screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kivy.uix.widget import Widget

from demo_app.content.campaign import OPEN, QuestionContent, RandomChoice, TermsContent
from demo_app.content.declaration import Statement
from demo_app.screens.campaigns import answering
from demo_app.screens.screen import Choice, PageScreen, action, card, words
from demo_app.screens.terms import stated
from demo_app.texts import day, nats_rounded_down, nats_rounded_up, say
from demo_app.widgets.dialogs import show_notice

if TYPE_CHECKING:
    from edge_sdk.campaigns.terms import Terms


class ConsentScreen(PageScreen):
    def open(self, content: TermsContent) -> None:
        terms = content.terms
        self._content, self._class = content, terms.member_of
        self._level: float | None = None
        self._named: Choice | None = None
        self._chosen: Choice | None = None
        self._agree = action("agree", say("consent.agree"), self._do, disabled=not self._settled)
        self.fill(self._parts(content))

    def _parts(self, content: TermsContent) -> Iterator[Widget]:
        terms, statement = content.terms, content.statement
        worst = terms.worst_case if statement is None else statement.worst_case
        yield words(terms.title, "headline")
        yield card(
            words(say("consent.answers", count=content.answers, day=day(terms.ends - 1))),
            words(
                say(
                    "consent.reserve",
                    worst=nats_rounded_up(worst),
                    remaining=nats_rounded_down(content.budget.remaining),
                )
            ),
            words(say("consent.form"), name="form") if terms.questions else None,
            words(say("consent.leave")),
            words(say("consent.irreversible")),
            _enrolment(terms) if terms.enrolment == "enrolled" else None,
        )
        if statement is not None:
            yield from self._statement(statement)
        if terms.classes:
            yield self._classes(content)
        if content.random_choice is not None:
            yield self._random_choice(content.random_choice)
        yield self._agree
        yield action("later", say("consent.later"), self.app.back, "plain")

    @property
    def _settled(self) -> bool:
        """True if the person chose everything that the campaign asks for, and a stated prior fits into the budget."""
        content = self._content
        if content.terms.classes and self._class is None and self._level is None:
            return False
        return self._level is not None or content.statement is None or content.statement.within_budget

    def _statement(self, statement: Statement) -> Iterator[Widget]:
        """Yield a card with the public statement and the resulting posteriors, and a button to change the statement."""
        public = words(say("consent.prior_public"), name="prior")
        yield card(words(say("consent.prior_title"), "title"), public, tone="tint")
        title = say("consent.prior_held" if statement.declared_before else "consent.prior_now")
        yield card(words(title, "title"), *stated(statement), words(say("consent.prior_limits"), "small", "muted"))
        if not statement.within_budget:
            yield words(say("terms.unfit"), colour="alert", name="unfit")
        if statement.can_be_typed:
            state = say("consent.prior_state")
            yield action("state", state, lambda: self.app.go("declaration", self._content), "outlined")

    def _classes(self, content: TermsContent) -> Widget:
        classes = content.terms.classes
        names = [
            say("consent.class_cost", name=class_terms.shown, worst=nats_rounded_up(class_terms.worst_case))
            for class_terms in classes
        ]

        def choose(place: int) -> None:
            self._pick(classes[place].name, None)

        self._named = Choice("class", names, -1, choose)
        return card(words(say("consent.class"), "title"), words(say("consent.class_how"), colour="muted"), self._named)

    def _random_choice(self, choice: RandomChoice) -> Widget:
        """Return a card with the levels at which the device can choose from earlier answers, or the reason why it
        cannot."""
        prior = self._content.statement is not None
        title = words(say("consent.fit_prior" if prior else "consent.fit"), "title")
        if not (choice.known and choice.strengths):
            why = say("consent.fit_room" if choice.known else "consent.fit_unknown")
            return card(title, words(why, colour="muted", name="unfitting"))
        cost = "consent.fit_prior_cost" if prior else "consent.fit_cost"
        names = [
            say(
                cost,
                level=strength.level,
                share=round(100 * strength.share),
                worst=nats_rounded_up(strength.worst_case),
            )
            for strength in choice.strengths
        ]

        levels: list[float | None] = [strength.level for strength in choice.strengths]
        # With the first entry, the device does not choose: the statement above is used.
        if prior:
            names, levels = [say("consent.fit_none"), *names], [None, *levels]

        def choose(place: int) -> None:
            self._pick(None, levels[place])

        self._chosen = Choice("fit", names, 0 if prior else -1, choose)
        known = words(say("consent.fit_known", count=choice.known), colour="muted")
        how = say("consent.fit_prior_how" if prior else "consent.fit_how")
        return card(title, known, words(how, colour="muted"), self._chosen)

    def _pick(self, named: str | None, level: float | None) -> None:
        """Select a class or a level of the random choice, never both."""
        self._class, self._level = named, level
        other = self._chosen if level is None else self._named
        if other is not None and self._content.terms.classes:
            other.chosen = -1
        self._agree.disabled = not self._settled

    def _do(self) -> None:
        campaign_id, named, level = self._content.summary.campaign_id, self._class, self._level
        statement = self._content.statement
        if level is None:
            prior = None if statement is None else statement.prior
            personal_level = (
                statement.level
                if statement is not None and statement.personal and not statement.declared_before
                else None
            )
            self.app.do(lambda model: model.consent(campaign_id, named, prior, personal_level), self._agreed)
        else:
            self.app.do(lambda model: model.choose(campaign_id, level), self._fitted)

    def _fitted(self, content: QuestionContent) -> None:
        named = content.member_of
        show_notice(say("consent.fit_stated") if named is None else say("consent.fitted", name=named), "good")
        self._agreed(content)

    def _agreed(self, content: QuestionContent) -> None:
        if content.summary.state == OPEN:
            self.app.go(answering(content.summary), content.summary.campaign_id, fresh=True)
        else:
            self.app.home()


def _enrolment(terms: Terms) -> Widget:
    """Return the text on how the organisation admits this device."""
    if terms.has_code:
        return words(say("consent.code"), name="enrolment")
    return words(say("consent.enrol", place=say("place.outbox")), name="enrolment")

"""Told: what all reports about the same told together.

The one number that holds for the person, whoever asked how often; and where it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kivy.uix.widget import Widget

from demo_app.content.exposure import Drawn, ExposureSummary
from demo_app.screens.view import PageView, card, words
from demo_app.texts import above, say, times
from demo_app.widgets.boxes import Rule
from demo_app.widgets.chances import Portion


class ToldView(PageView):
    """The number, and the studies it adds up from."""

    place = "history"

    def come(self, campaign_id: bytes) -> None:
        self.app.do(lambda model: model.told(campaign_id), self.show)

    def show(self, told: ExposureSummary) -> None:
        """Fill the page."""
        self.fill(self._parts(told))

    def _parts(self, told: ExposureSummary) -> Iterator[Widget]:
        yield words(say("told.private"), "small", "muted")
        yield card(
            words(say("told.most"), "title"),
            words(
                say("told.unbounded") if told.level is None else say("told.factor", factor=times(told.level)),
                colour="alert" if told.level is None else "text",
                name="together",
            ),
            words(say("told.seen"), "small", "muted"),
        )
        yield card(
            words(say("told.bet"), "small", "muted"),
            Portion(label=say("told.before"), share=Fraction(1, 2)),
            Portion(label=say("told.after"), share=told.sure, strong=True, name="sure"),
        )
        if told.questions:
            yield card(
                words(say("told.questions"), "title"),
                words(say("told.questions_how"), "small", "muted"),
                *(part for asked, level in told.questions for part in self._question(asked, level)),
            )
        yield card(
            words(say("told.from"), "title"),
            words(say("told.from_how"), "small", "muted"),
            *(part for one in told.drawn for part in self._study(one)),
            Rule() if told.forgotten else None,
            words(say("told.forgotten", nats=above(told.forgotten)), "small", "muted") if told.forgotten else None,
        )

    def _question(self, asked: str, level: float | None) -> tuple[Widget, ...]:
        if level is None:
            told = say("told.no_question_bound")
        else:
            told = say("told.question", factor=times(level)) if level else say("told.no_question")
        return Rule(), words(asked), words(told, "small", "alert" if level is None else "muted", name=f"about:{asked}")

    def _study(self, one: Drawn) -> tuple[Widget, ...]:
        level = say("told.no_bound") if one.level is None else say("told.level", level=above(one.level))
        drawn = say("told.draws", count=one.times)
        return Rule(), words(one.title), words(f"{drawn} {level}", "small", "muted", name=f"drawn:{one.title}")

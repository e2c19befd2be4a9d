"""The screen of the joint exposure by all reports about the same values.

One number is a bound on the exposure by all reports to campaigns with the same values. Below it are the campaigns whose
bounds are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from kivy.uix.widget import Widget

from demo_app.content.exposure import Drawn, ExposureSummary
from demo_app.screens.screen import PageScreen, card, words
from demo_app.texts import factor_text, nats_rounded_up, say
from demo_app.widgets.boxes import Rule
from demo_app.widgets.chances import Portion


class ExposureScreen(PageScreen):
    """The screen with the bound, and the campaigns whose bounds are added."""

    destination = "history"

    def open(self, campaign_id: bytes) -> None:
        self.app.do(lambda model: model.exposure(campaign_id), self.show)

    def show(self, summary: ExposureSummary) -> None:
        """Fill the screen with the bound and the campaigns whose bounds are added."""
        self.fill(self._parts(summary))

    def _parts(self, summary: ExposureSummary) -> Iterator[Widget]:
        level, forgotten = summary.level, summary.forgotten
        yield words(say("exposure.private"), "small", "muted")
        yield card(
            words(say("exposure.most"), "title"),
            words(
                say("exposure.unbounded") if level is None else say("exposure.factor", factor=factor_text(level)),
                colour="alert" if level is None else "text",
                name="together",
            ),
            words(say("exposure.seen"), "small", "muted", name="seen") if summary.repeats else None,
        )
        yield card(
            words(say("exposure.bet"), "small", "muted"),
            Portion(label=say("exposure.before"), share=Fraction(1, 2)),
            Portion(label=say("exposure.after"), share=summary.sure, strong=True, name="sure"),
        )
        if summary.questions:
            yield card(
                words(say("exposure.questions"), "title"),
                words(say("exposure.questions_how"), "small", "muted"),
                *(part for question, level in summary.questions for part in self._question(question, level)),
            )
        yield card(
            words(say("exposure.from"), "title"),
            words(say("exposure.from_how"), "small", "muted") if len(summary.drawn) > 1 else None,
            *(part for campaign in summary.drawn for part in self._campaign(campaign)),
            Rule() if forgotten else None,
            words(say("exposure.forgotten", nats=nats_rounded_up(forgotten)), "small", "muted") if forgotten else None,
        )

    def _question(self, question: str, level: float | None) -> tuple[Widget, ...]:
        if level is None:
            line = say("exposure.no_question_bound")
        else:
            line = say("exposure.question", factor=factor_text(level)) if level else say("exposure.no_question")
        return (
            Rule(),
            words(question),
            words(line, "small", "alert" if level is None else "muted", name=f"about:{question}"),
        )

    def _campaign(self, campaign: Drawn) -> tuple[Widget, ...]:
        level = (
            say("exposure.no_bound")
            if campaign.level is None
            else say("exposure.level", level=nats_rounded_up(campaign.level))
        )
        drawn = say("exposure.draws", count=campaign.draws)
        return (
            Rule(),
            words(campaign.title),
            words(f"{drawn} {level}", "small", "muted", name=f"drawn:{campaign.title}"),
        )

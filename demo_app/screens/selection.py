"""The screen of the questions of a form that this device is asked, and the reason for the selection.

It is shown only after consent, because a refusal that depends on the questions would reveal them.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.content.campaign import QuestionContent
from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.texts import say
from demo_app.widgets.boxes import Rule


class SelectionScreen(PageScreen):
    """The screen with the selected questions, before the first one."""

    def open(self, campaign_id: bytes) -> None:
        self._content: QuestionContent | None = None
        self.app.do(lambda model: model.question(campaign_id), self.show)

    def reopen(self, campaign_id: bytes) -> None:
        """Show the screen again; the answers chosen on the questions' pages stay."""
        if self._content is None or self._content.summary.campaign_id != campaign_id:
            self.open(campaign_id)

    def show(self, content: QuestionContent) -> None:
        """Fill the screen with the questions that this device is asked."""
        self._content = content
        self.fill(self._parts(content))

    def _parts(self, content: QuestionContent) -> Iterator[Widget | None]:
        campaign, questions = content.summary, content.questions
        yield words(campaign.title, "headline")
        yield words(say("terms.why", purpose=content.purpose), colour="muted") if content.purpose else None
        yield card(
            words(
                say("selection.asked", count=len(questions), total=len(campaign.questions)),
                "title",
                name="asked of this device",
            ),
            *(
                part
                for question in questions
                for part in (
                    Rule(),
                    words(question.text, name=f"asked:{question.name}"),
                    words(say("selection.skippable"), "small", "muted") if question.skippable else None,
                )
            ),
        )
        yield card(words(say("selection.others"), "title"), words(say("selection.why"), name="why"), tone="tint")
        yield action("begin", say("selection.begin"), lambda: self.app.go("question", campaign.campaign_id, content))

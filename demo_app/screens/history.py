"""The screen of the history: earlier answers, whether the study counted them, the ledger, and forgetting a campaign.

The history stays on this device.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.content.answer import CampaignAnswers, History, LedgerRow
from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.screens.spelling import answered
from demo_app.texts import day, nats_rounded_up, say
from demo_app.widgets.boxes import Card, Rule
from demo_app.widgets.dialogs import ask

MAX_ROWS = 60
"""Maximum number of displayed rows of the ledger; the screen shows the number of the others."""

ROWS_A_CARD = 10

MAX_VALUES = 8
"""Maximum number of displayed values of one campaign, the latest first."""


class HistoryScreen(PageScreen):
    destination = "history"

    def open(self) -> None:
        self.app.do(lambda model: model.history(), self.show)

    def show(self, history: History) -> None:
        """Fill the screen with the answers given and the ledger."""
        self.fill(self._parts(history))

    def _parts(self, history: History) -> Iterator[Widget]:
        yield words(say("history.private"), "small", "muted")
        if not history.answers:
            yield card(words(say("history.nothing"), name="nothing"))
        for answers in history.answers:
            yield self._card(answers)
        for start in range(0, min(len(history.rows), MAX_ROWS), ROWS_A_CARD):
            yield card(
                None if start else words(say("ledger.title"), "title"),
                None if start else words(say("ledger.what"), "small", "muted"),
                *(words(_line(row), "small") for row in history.rows[start : start + ROWS_A_CARD]),
            )
        if len(history.rows) > MAX_ROWS:
            yield words(say("history.more", count=len(history.rows) - MAX_ROWS), "small", "muted")

    def _card(self, answers: CampaignAnswers) -> Card:
        history_card = card(
            words(answers.summary.title, "title"),
            words(say("history.spent", spent=nats_rounded_up(answers.spent)), "small", "muted"),
        )
        for place, value in enumerate(answers.values[:MAX_VALUES]):
            history_card.add_widget(Rule())
            for question, answer in answered(answers.kind, value.label, answers.summary):
                if question:
                    history_card.add_widget(words(question, "small", "muted"))
                history_card.add_widget(words(answer or say("history.none"), name=f"given:{value.label}"))
            label = say("history.given", count=value.times, period=value.period + 1)
            if value.waits:
                label += " " + say("history.waits")
            elif answers.counted is not None:
                label += " " + say("history.counted" if answers.counted[place] else "history.uncounted")
            history_card.add_widget(words(label, "small", "muted"))
        if len(answers.values) > MAX_VALUES:
            history_card.add_widget(
                words(say("history.more", count=len(answers.values) - MAX_VALUES), "small", "muted")
            )
        name, campaign_id = answers.summary.title, answers.summary.campaign_id
        if answers.askable:
            history_card.add_widget(
                action(f"counted:{name}", say("history.ask"), lambda: self._ask(history_card, answers), "outlined")
            )
        elif not answers.addresses:
            history_card.add_widget(words(say("terms.nowhere"), "small", "muted"))
        history_card.add_widget(
            action(f"exposure:{name}", say("exposure.title"), lambda: self.app.go("exposure", campaign_id), "outlined")
        )
        history_card.add_widget(action(f"forget:{name}", say("forget.do"), lambda: self._forget(answers), "plain"))
        return history_card

    def _ask(self, old: Card, answers: CampaignAnswers) -> None:
        def show(counted: CampaignAnswers) -> None:
            column = old.parent
            if column is not None:
                index = column.children.index(old)
                column.remove_widget(old)
                column.add_widget(self._card(counted), index)

        self.app.online(lambda model: model.counted(answers), show)

    def _forget(self, answers: CampaignAnswers) -> None:
        ask(
            say("forget.ask", title=answers.summary.title),
            say("forget.what"),
            say("forget.do"),
            lambda: self.app.do(lambda model: model.forget(answers.summary.campaign_id), lambda _: self.open()),
            grave=True,
        )


def _line(row: LedgerRow) -> str:
    """Return the text for one row of the ledger."""
    title = row.title or say("ledger.forgotten")
    return f"{day(row.time)}: {say(f'ledger.{row.kind}', nats=nats_rounded_up(row.nats), title=title)}"

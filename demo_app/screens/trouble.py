"""The screen shown if the store is unusable; the person decides whether to continue with the store.

The person must agree, because reserved budget then counts as spent, and all campaigns are forgotten.
"""

from __future__ import annotations

from kivy.metrics import dp

from demo_app.error_messages import ErrorMessage, detail_after
from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.texts import say
from demo_app.widgets.actions import Sign
from demo_app.widgets.dialogs import ask
from demo_app.widgets.palette import palette


class TroubleScreen(PageScreen):
    """The screen of an unusable store."""

    def open(self, message: ErrorMessage) -> None:
        body = say(f"notice.{message.key}.body")
        detail = detail_after(body, message.detail)
        sign = Sign(sign="warning", ink=palette.alert, size_hint=(1, None), height=dp(40))
        self.fill(
            (
                card(
                    sign,
                    words(say(f"notice.{message.key}.title"), "title", name=f"trouble:{message.key}"),
                    words(body),
                    words(detail, "small", "muted") if detail else None,
                    tone="alert_tint",
                ),
                action("adopt", say("trouble.adopt"), self._adopt) if message.remedy == "adopt" else None,
                action("retry", say("trouble.retry"), self.app.begin, "outlined"),
            )
        )

    def _adopt(self) -> None:
        ask(say("trouble.ask"), say("trouble.what"), say("trouble.adopt"), self.app.adopt, grave=True)

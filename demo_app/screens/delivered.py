"""The screen after an attempt to send.

An envelope counts as sent only if the study accepted it. For all other envelopes the screen shows the time of the
next attempt, if there is one.
"""

from __future__ import annotations

from kivy.metrics import dp

from demo_app.content.post import Delivery
from demo_app.error_messages import detail_after
from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.texts import clock, day, say
from demo_app.widgets.actions import Sign
from demo_app.widgets.palette import palette


class DeliveredScreen(PageScreen):
    """The screen with the result of one attempt to send."""

    destination = "outbox"

    def open(self, delivery: Delivery) -> None:
        good = not delivery.left
        sign = Sign(sign="check" if good else "warning", ink=palette.good if good else palette.alert)
        sign.size_hint, sign.size = (1, None), (dp(40), dp(40))
        if good:
            outcome = say("delivered.all", count=delivery.sent) if delivery.sent else say("notice.nothing.title")
        elif delivery.refused:
            outcome = say("delivered.refused", count=delivery.left)
        else:
            outcome = say("delivered.waits", count=delivery.left)
        next_attempt = delivery.next_attempt
        when = next_attempt and say("delivered.again", day=day(next_attempt), clock=clock(next_attempt))
        self.fill(
            (
                card(
                    sign,
                    words(outcome, "title", name="outcome"),
                    words(when, name="again") if when else None,
                    words(say("delivered.counted"), colour="muted") if good and delivery.sent else None,
                    words(detail_after("", delivery.reason), "small", "muted") if delivery.reason else None,
                    tone="good_tint" if good else "alert_tint",
                ),
                action("done", say("delivered.done"), self.app.home),
                action("history", say("delivered.history"), lambda: self.app.visit("history"), "plain"),
            )
        )

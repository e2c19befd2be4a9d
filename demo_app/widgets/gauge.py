"""The budget gauge: the spent, the reserved and the remaining part of a cap.

It is one bar, whose parts differ by pattern and place as well as by colour, and below it a line of words for each
pattern.

The package texts explains a nat in plain words.
"""

from __future__ import annotations

from typing import Any

from kivy.graphics import Color, Line, Rectangle, RoundedRectangle, StencilPop, StencilPush, StencilUnUse, StencilUse
from kivy.lang import Builder
from kivy.metrics import dp
from kivy.properties import NumericProperty, StringProperty
from kivy.uix.boxlayout import BoxLayout
from kivy.uix.widget import Widget

from demo_app.texts import factor_text, nats_rounded_down, nats_rounded_up, say
from demo_app.widgets import boxes, words
from demo_app.widgets.palette import palette

__all__ = ["Bar", "Gauge", "boxes", "words"]

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp

<Legend@Row>:
    text: ""
    part: "spent"
    spacing: palette.space
    Bar:
        size_hint: None, None
        size: dp(24), dp(16)
        spent: 1 if root.part == "spent" else 0
        reserved: 1 if root.part == "reserved" else 0
        pos_hint: {"center_y": 0.5}
    Words:
        text: root.text
        pos_hint: {"center_y": 0.5}

<Gauge>:
    orientation: "vertical"
    size_hint_y: None
    height: self.minimum_height
    spacing: palette.tight
    Bar:
        size_hint_y: None
        height: dp(28)
        spent: root.spent / root.cap if root.cap else 0
        reserved: root.reserved / root.cap if root.cap else 0
    Gap:
    Legend:
        part: "spent"
        text: root.spent_text
    Legend:
        part: "reserved"
        text: root.reserved_text
    Legend:
        part: "remaining"
        text: root.remaining_text
    Words:
        text: root.most_text
        colour: "muted"
        role: "small"
""")


class Bar(Widget):
    """A rounded bar: full for the spent part, striped for the reserved part, empty for the rest.

    Attributes:
        spent, reserved: the shares of the bar that are spent and reserved.
    """

    spent = NumericProperty(0.0)
    reserved = NumericProperty(0.0)

    def __init__(self, **properties: Any) -> None:
        super().__init__(**properties)
        for followed in ("pos", "size", "spent", "reserved"):
            self.fbind(followed, self._redraw)
        palette.bind(dark=self._redraw)
        self._redraw()

    def _redraw(self, *_: object) -> None:
        self.canvas.clear()
        corner = min(self.height / 2, dp(10))
        spent = min(max(self.spent, 0.0), 1.0) * self.width
        reserved = min(max(self.reserved, 0.0) * self.width, self.width - spent)
        with self.canvas:
            StencilPush()
            Color(1, 1, 1)
            RoundedRectangle(pos=self.pos, size=self.size, radius=[corner])
            StencilUse()
            Color(*palette.well)
            Rectangle(pos=self.pos, size=self.size)
            Color(*palette.tint)
            Rectangle(pos=(self.x + spent, self.y), size=(reserved, self.height))
            Color(*palette.accent)
            Rectangle(pos=self.pos, size=(spent, self.height))
            self._stripe(self.x + spent, reserved)
            StencilUnUse()
            RoundedRectangle(pos=self.pos, size=self.size, radius=[corner])
            StencilPop()
            Color(*palette.edge)
            Line(rounded_rectangle=(self.x, self.y, self.width, self.height, corner), width=dp(0.8))

    def _stripe(self, start: float, length: float) -> None:
        """Draw slanted stripes within a part of the bar."""
        x = start
        while x < start + length:
            slant = min(self.height, start + length - x)
            Line(points=[x, self.y, x + slant, self.y + slant], width=dp(1.2))
            x += dp(7)
        # Without these stripes, the corner at the top left would stay empty.
        y = self.y + dp(7)
        while y < self.y + self.height and length > 0:
            reach = min(self.y + self.height - y, length)
            Line(points=[start, y, start + reach, y + reach], width=dp(1.2))
            y += dp(7)


class Gauge(BoxLayout):
    """The gauge of one cap.

    Attributes:
        spent, reserved, cap: the amounts in nats.
    """

    spent = NumericProperty(0.0)
    reserved = NumericProperty(0.0)
    cap = NumericProperty(0.0)
    spent_text = StringProperty("")
    reserved_text = StringProperty("")
    remaining_text = StringProperty("")
    most_text = StringProperty("")
    name = StringProperty("gauge")

    def __init__(self, **properties: Any) -> None:
        super().__init__(**properties)
        for followed in ("spent", "reserved", "cap"):
            self.fbind(followed, self._update)
        self._update()

    def _update(self, *_: object) -> None:
        remaining = max(0.0, self.cap - self.spent - self.reserved)
        self.spent_text = say("gauge.spent", nats=nats_rounded_up(self.spent))
        self.reserved_text = say("gauge.reserved", nats=nats_rounded_up(self.reserved))
        self.remaining_text = say("gauge.remaining", nats=nats_rounded_down(remaining), cap=self.cap)
        # After a cap was lowered, more than the cap may be spent already; nothing more is spent then.
        self.most_text = say("gauge.most", factor=factor_text(max(self.cap, self.spent)))

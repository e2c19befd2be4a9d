"""Boxes: pages, cards, rows and the distances between them.

A box is as high as its content, and a page scrolls. So with large text or in a small window the page is longer, and no
letter is cut off.
"""

from __future__ import annotations

from math import cos

from kivy.clock import Clock, ClockEvent
from kivy.lang import Builder
from kivy.metrics import dp
from kivy.properties import BooleanProperty, NumericProperty, OptionProperty, StringProperty
from kivy.uix.boxlayout import BoxLayout
from kivy.uix.scrollview import ScrollView
from kivy.uix.widget import Widget

from demo_app.theme import READABLE

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp

<Page>:
    do_scroll_x: False
    bar_width: dp(4)
    bar_color: palette.edge
    bar_inactive_color: palette.line
    scroll_type: ["bars", "content"]

<Column>:
    orientation: "vertical"
    size_hint_y: None
    height: self.minimum_height

<Card>:
    orientation: "vertical"
    size_hint_y: None
    height: self.minimum_height
    padding: palette.space
    spacing: palette.tight
    canvas.before:
        Color:
            rgba:
                palette.card if self.tone == "card" else palette.tint if self.tone == "tint" else \
                palette.alert_tint if self.tone == "alert_tint" else palette.good_tint
        SmoothRoundedRectangle:
            pos: self.pos
            size: self.size
            radius: [palette.radius]
        Color:
            rgba: palette.line if self.tone == "card" else (0, 0, 0, 0)
        SmoothLine:
            rounded_rectangle: [self.x, self.y, self.width, self.height, palette.radius]
            width: dp(0.6)

<Row>:
    size_hint_y: None
    height: self.minimum_height
    spacing: palette.tight

<Gap>:
    size_hint_y: None
    height: palette.tight

<Rule>:
    size_hint_y: None
    height: dp(1)
    canvas:
        Color:
            rgba: palette.line
        Rectangle:
            pos: self.pos
            size: self.size

<Loading>:
    size_hint_y: None
    height: dp(4)
    canvas:
        Color:
            rgba: palette.well if self.active else (0, 0, 0, 0)
        SmoothRoundedRectangle:
            pos: self.pos
            size: self.size
            radius: [dp(2)]
        Color:
            rgba: palette.accent if self.active else (0, 0, 0, 0)
        SmoothRoundedRectangle:
            pos: self.x + self.width * 0.7 * self.place, self.y
            size: self.width * 0.3, self.height
            radius: [dp(2)]
""")


class Column(BoxLayout):
    """A box with its children below each other, as high as all of them with their distances."""


class Page(ScrollView):
    """A screen's content: one column that scrolls, in the middle of a wide window."""

    name = StringProperty("")

    def __init__(self, **properties: object) -> None:
        self.column: Column | None = None
        super().__init__(**properties)
        self.column = Column(spacing=dp(16))
        super().add_widget(self.column)
        self.bind(width=self._fit)
        self._fit()

    def _fit(self, *_: object) -> None:
        if self.column is not None:
            side = max(dp(16), (self.width - dp(READABLE)) / 2)
            self.column.padding = [side, dp(16), side, dp(32)]

    def add_widget(self, widget: Widget, *arguments: object, **named: object) -> None:
        """Add a widget to the column."""
        if self.column is None or widget is self.column:
            super().add_widget(widget, *arguments, **named)
        else:
            self.column.add_widget(widget, *arguments, **named)

    def clear_widgets(self, children: list[Widget] | None = None) -> None:
        """Remove widgets from the column."""
        if self.column is not None:
            self.column.clear_widgets(children)


class Card(BoxLayout):
    """A rounded box.

    Attributes:
        tone: the role of its background colour: card, tint, alert_tint or good_tint.
    """

    tone = OptionProperty("card", options=["card", "tint", "alert_tint", "good_tint"])
    name = StringProperty("")


class Row(BoxLayout):
    """A box with its children side by side, as high as the highest of them."""


class Gap(Widget):
    """An empty space between groups."""


class Rule(Widget):
    """A thin line between groups."""


class Loading(Widget):
    """A bar that moves while a task runs; its height is the same when no task runs.

    Attributes:
        active: True while a task runs.
    """

    active = BooleanProperty(False)
    place = NumericProperty(0.0)
    name = StringProperty("")

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        self._moving: ClockEvent | None = None
        self.bind(active=self._start, parent=self._start)
        self._start()

    def _start(self, *_: object) -> None:
        if self._moving is not None:
            self._moving.cancel()
            self._moving = None
        if self.active and self.parent is not None:
            self._moving = Clock.schedule_interval(self._move, 1 / 30)

    def _move(self, _: float) -> None:
        self.place = (1 - cos(Clock.get_time() * 4.5)) / 2

"""Lists from which one value or any number of values is chosen.

Only visible rows exist, so 500 values scroll as smoothly as five. A list of more than ``SEARCHED`` values has a search
field. A row is as high as its text, and marked by a shape, not by colour alone.
"""

from __future__ import annotations

from collections.abc import Callable

from kivy.clock import Clock
from kivy.core.text import Label as Measure
from kivy.lang import Builder
from kivy.metrics import dp
from kivy.properties import (
    BooleanProperty,
    ListProperty,
    NumericProperty,
    ObjectProperty,
    OptionProperty,
    StringProperty,
)
from kivy.uix.boxlayout import BoxLayout
from kivy.uix.recycleview import RecycleView
from kivy.uix.recycleview.views import RecycleDataViewBehavior
from kivy.uix.widget import Widget

from demo_app.texts import say
from demo_app.widgets.actions import Pressed
from demo_app.widgets.field import Field
from demo_app.widgets.palette import palette

SEARCHED = 12
"""Lists longer than this have a search field."""

FIRST = 3
"""Number of rows that a new list shows in its first frame; few, because making one row takes as long as making the rest
of the screen."""

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp
#:import say demo_app.texts.say

<Option>:
    padding: palette.space, 0
    spacing: palette.space
    canvas.before:
        Color:
            rgba: palette.tint if self.chosen or self.state == "down" else palette.card
        SmoothRoundedRectangle:
            pos: self.x, self.y + dp(2)
            size: self.width, self.height - dp(4)
            radius: [dp(12)]
        Color:
            rgba: palette.text if self.focus else palette.accent if self.chosen else palette.line
        SmoothLine:
            rounded_rectangle: [self.x, self.y + dp(2), self.width, self.height - dp(4), dp(12)]
            width: dp(1.4) if self.chosen or self.focus else dp(0.6)
    Tick:
        kind: root.kind
        chosen: root.chosen
        size_hint: None, None
        size: dp(24), dp(24)
        pos_hint: {"center_y": 0.5}
    Words:
        text: root.text
        pos_hint: {"center_y": 0.5}
        bold: root.chosen

<Tick>:
    canvas:
        Color:
            rgba: palette.accent if self.chosen and self.kind == "any" else (0, 0, 0, 0)
        SmoothRoundedRectangle:
            pos: self.x + dp(2), self.y + dp(2)
            size: dp(20), dp(20)
            radius: [dp(5)]
        Color:
            rgba: palette.accent if self.chosen else palette.edge
        SmoothLine:
            rounded_rectangle: [self.x + dp(2), self.y + dp(2), dp(20), dp(20), dp(10) if self.kind == "one" else dp(5)]
            width: dp(1.2)
        Color:
            rgba: palette.accent if self.chosen and self.kind == "one" else (0, 0, 0, 0)
        SmoothEllipse:
            pos: self.x + dp(7), self.y + dp(7)
            size: dp(10), dp(10)
        Color:
            rgba: palette.accent_ink if self.chosen and self.kind == "any" else (0, 0, 0, 0)
        SmoothLine:
            points:
                [self.x + dp(7), self.y + dp(12), self.x + dp(10.5), self.y + dp(8.5), \
                self.x + dp(17), self.y + dp(15.5)]
            width: dp(1.3)

<Options>:
    viewclass: "Option"
    scroll_type: ["bars", "content"]
    bar_width: dp(4)
    bar_color: palette.edge
    bar_inactive_color: palette.line
    RecycleBoxLayout:
        default_size: None, dp(56)
        default_size_hint: 1, None
        key_size: "size"
        size_hint_y: None
        height: self.minimum_height
        orientation: "vertical"
        padding: 0, 0, palette.tight, 0

<OptionList>:
    orientation: "vertical"
    spacing: palette.tight
    Words:
        text: root.caption
        role: "small"
        colour: "muted"
        opacity: 1 if root.caption else 0
        height: self.texture_size[1] if root.caption else 0
    Options:
        id: options
        size_hint_y: 1
""")


class Tick(Widget):
    """The mark of a row: a circle if one value is chosen, a square if any number of values is chosen."""

    kind = OptionProperty("one", options=["one", "any"])
    chosen = BooleanProperty(False)


class Option(Pressed, RecycleDataViewBehavior, BoxLayout):
    """One row of a list. It is reused for another value when it is scrolled out of view."""

    text = StringProperty("")
    index = NumericProperty(0)
    kind = OptionProperty("one", options=["one", "any"])
    chosen = BooleanProperty(False)
    owner = ObjectProperty(None, allownone=True)
    name = StringProperty("")

    def on_release(self) -> None:
        self.owner.press(int(self.index))


class Options(RecycleView):
    """The scrolling list of an ``OptionList``, which has widgets for the visible rows only."""


class OptionList(BoxLayout):
    """Rows with a search field; the choice is kept as indexes of ``values``.

    A subclass defines ``is_chosen``, ``press`` and the property ``chosen``.

    Attributes:
        is_chosen: method that returns whether the value at an index is chosen.
        press: method that selects or deselects the value at the index of a pressed row.
        values: the texts.
        kind: "one" if one value is chosen, "any" if any number of values is chosen.
        caption: a line above the rows.
    """

    values = ListProperty()
    kind = OptionProperty("one", options=["one", "any"])
    caption = StringProperty("")
    name = StringProperty("")
    is_chosen: Callable[[int], bool]
    press: Callable[[int], None]

    def __init__(self, **properties: object) -> None:
        self._heights: list[float] = []
        self._search: Field | None = None
        self._shows_all = False
        self._rest = Clock.create_trigger(self._complete, 0)
        super().__init__(**properties)
        self.bind(width=self._measure, values=self._measure, chosen=lambda *_: self.refresh())
        self._measure()

    def narrow(self, search_text: str) -> None:
        """Show the values in which every typed word occurs."""
        self.refresh(search_text)
        self.ids.options.scroll_y = 1

    def refresh(self, search_text: str | None = None) -> None:
        """Show the rows again; for a new list, show only the first rows, and all rows in a later frame."""
        typed = self._search.text if self._search else ""
        parts = (typed if search_text is None else search_text).casefold().split()
        rows = [
            {
                "text": text,
                "index": index,
                "kind": self.kind,
                "chosen": self.is_chosen(index),
                "owner": self,
                "name": f"{self.name}:{text}" if self.name else text,
                "size": (0, self._heights[index]),
            }
            for index, text in enumerate(self.values)
            if all(part in text.casefold() for part in parts)
        ]
        self.caption = self.caption_of(len(rows))
        self.ids.options.data = rows if self._shows_all else rows[:FIRST]
        if not self._shows_all:
            self._rest()

    def _complete(self, *_: object) -> None:
        self._shows_all = True
        self.refresh()

    def caption_of(self, shown: int) -> str:
        """Return the line above the rows if the search finds ``shown`` values."""
        return say("choice.none") if self.values and not shown else ""

    def _measure(self, *_: object) -> None:
        """Compute the height of each row from its text and the available width."""
        if len(self.values) > SEARCHED and self._search is None:
            self._search = Field(name=f"{self.name}:search" if self.name else "search", hint=say("choice.search"))
            self._search.bind(text=lambda _, typed: self.narrow(typed))
            self.add_widget(self._search, index=len(self.children))
        room, size = max(self.width - dp(80), dp(40)), palette.letters("body")
        line = Measure(font_size=size, bold=True)
        line.resolve_font_name()
        heights = []
        for text in self.values:
            wide, high = line.get_extents(text)
            if wide > room:
                lines = Measure(text=text, font_size=size, text_size=(room, None), line_height=1.15, bold=True)
                lines.refresh()
                high = lines.texture.height
            heights.append(max(dp(56), high + dp(28)))
        self._heights = heights
        self.refresh()


class ChoiceList(OptionList):
    """A list from which one value is chosen.

    Attributes:
        chosen: the index of the chosen value; -1 for none.
    Events:
        on_choice: (index) the person chose a value.
    """

    chosen = NumericProperty(-1)
    __events__ = ("on_choice",)

    def is_chosen(self, index: int) -> bool:
        return bool(index == self.chosen)

    def press(self, index: int) -> None:
        self.chosen = index
        self.dispatch("on_choice", index)

    def on_choice(self, index: int) -> None:
        """Do nothing; Kivy calls this when the person selects a value."""


class ItemSet(OptionList):
    """A list from which any number of values, including none, is chosen.

    Attributes:
        chosen: the indexes of the chosen values, increasing.
    Events:
        on_set: (indexes) the person selected or deselected a value.
    """

    chosen = ListProperty()
    __events__ = ("on_set",)

    def __init__(self, **properties: object) -> None:
        super().__init__(**({"kind": "any"} | properties))

    def is_chosen(self, index: int) -> bool:
        return index in self.chosen

    def press(self, index: int) -> None:
        self.chosen = sorted(set(self.chosen) ^ {index})
        self.dispatch("on_set", list(self.chosen))

    def on_set(self, indexes: list[int]) -> None:
        """Do nothing; Kivy calls this when the person selects or deselects a value."""

    def caption_of(self, shown: int) -> str:
        chosen = say("choice.chosen", count=len(self.chosen), total=len(self.values))
        return f"{chosen} {super().caption_of(shown)}".strip()

"""A field for a day, typed as 2026-12-01; a list of hundreds of days would be too long to read.

The field has no answer until its text is a day of the calendar within the limits.
"""

from __future__ import annotations

from kivy.lang import Builder
from kivy.properties import ObjectProperty, StringProperty
from kivy.uix.boxlayout import BoxLayout

from demo_app.texts import date_of, say
from demo_app.widgets import boxes, field, words

__all__ = ["DayField", "boxes", "field", "words"]

Builder.load_string("""
#:import look demo_app.widgets.look.look
#:import say demo_app.texts.say

<DayField>:
    orientation: "vertical"
    size_hint_y: None
    height: self.minimum_height
    spacing: look.tight
    Words:
        text: root.caption
        role: "headline"
        halign: "center"
        colour: "text" if root.text else "muted"
        name: root.name + ":caption"
    Words:
        text: root.note
        role: "small"
        colour: "muted"
        halign: "center"
        height: self.texture_size[1] if root.note else 0
        name: root.name + ":note"
    Gap:
    Field:
        id: typed
        name: root.name + ":typed"
        label: root.label
        hint: root.low
        error: root.error
        on_text: root.type(self.text)
""")


class DayField(BoxLayout):
    """A field for a day between two days.

    Attributes:
        low, high: the first and the last, as YYYY-MM-DD.
        counts: a function from a day to the day that it counts as, "" if it is the same; it raises ValueError for a day
            that is refused.
        text: the day as YYYY-MM-DD; "" before a day is typed, and while the typed text is not a day.
        error: the fault of the typed text.
    Events:
        on_day: (text) the person typed another day, or none.
    """

    low = StringProperty("")
    high = StringProperty("")
    counts = ObjectProperty(None)
    text = StringProperty("")
    caption = StringProperty("")
    note = StringProperty("")
    error = StringProperty("")
    label = StringProperty("")
    name = StringProperty("day")
    __events__ = ("on_day",)

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        self.label = say("day.type", low=date_of(self.low), high=date_of(self.high))
        self.caption = say("day.ask")

    def on_day(self, text: str) -> None:
        """Do nothing; Kivy calls this when the person types another valid day, or none."""

    def type(self, typed: str) -> None:
        """Read the typed text, and set the day if the text is valid."""
        text = typed.strip()
        if not text:
            self._take("", "")
            return
        try:
            date_of(text)
        except ValueError:
            # There is no error while the person is still typing.
            self._take("", say("day.none", low=self.low) if len(text) >= len(self.low) else "")
            return
        try:
            counted = self.counts(text)
        except ValueError:
            self._take("", say("day.outside", low=date_of(self.low), high=date_of(self.high)))
            return
        self._take(text, "", say("day.counts", day=date_of(counted)) if counted else "")

    def _take(self, text: str, error: str, note: str = "") -> None:
        self.text, self.error, self.note = text, error, note
        self.caption = date_of(text) if text else say("day.ask")
        self.dispatch("on_day", text)

"""A field in which a day is typed, such as 2026-12-01.

It replaces a list of hundreds of days, which is too long to read. The field has no answer until its text is a day of
the calendar within the limits.
"""

from __future__ import annotations

from kivy.lang import Builder
from kivy.properties import StringProperty

from demo_app.texts import date_of, say
from demo_app.widgets.field import TypedAnswer

__all__ = ["DayField"]

Builder.load_string("""
<DayField>:
    Field:
        id: typed
        name: root.name + ":typed"
        label: root.label
        hint: root.low
        error: root.error
        on_text: root.type(self.text)
""")


class DayField(TypedAnswer):
    """A field for a day between two days.

    Attributes:
        low, high: the first and the last allowed day, as YYYY-MM-DD.
        text: the day as YYYY-MM-DD.
        label: the name of the requested day and its limits.
    Events:
        on_day: (text) the person typed another day, or none.
    """

    low = StringProperty("")
    high = StringProperty("")
    label = StringProperty("")
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

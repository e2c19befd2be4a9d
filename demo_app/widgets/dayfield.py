"""A field in which a day is typed, such as 2026-12-01.

It replaces a list of hundreds of days, which is too long to read. The field has no answer until its text is a day of
the calendar within the limits.
"""

from __future__ import annotations

from kivy.lang import Builder
from kivy.properties import StringProperty

from demo_app.texts import date_of, say
from demo_app.widgets.field import NotAnAnswer, TypedAnswer

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
    """

    low = StringProperty("")
    high = StringProperty("")
    label = StringProperty("")

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        self.label = say("day.type", low=date_of(self.low), high=date_of(self.high))

    def read(self, typed: str) -> tuple[str, str]:
        """Return the day, and a note with the rounded day.

        Raises:
            NotAnAnswer: not a day, or outside the range.
        """
        try:
            date_of(typed)
        except ValueError:
            complete = len(typed) >= len(self.low)
            raise NotAnAnswer(say("day.none", low=self.low) if complete else "") from None
        try:
            rounded = self.round_answer(typed)
        except ValueError:
            raise NotAnAnswer(say("day.outside", low=date_of(self.low), high=date_of(self.high))) from None
        return typed, say("day.counts", day=date_of(rounded)) if rounded else ""

    def caption_of(self, text: str) -> str:
        """Return a day in words, or the request for one."""
        return date_of(text) if text else say("day.ask")

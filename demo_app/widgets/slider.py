"""A widget for a number that is dragged along a track or typed.

The typed text is the answer, exactly as typed. Moving the cursor writes a number in round steps, which are the
campaign's steps if it has any. There is no answer until the person has typed or dragged a number.

If the device rounds to the nearest step, or moves a number outside the limits to the nearer one, the widget shows the
resulting number. If the device rounds at random, the widget shows no resulting number, because the question asks for
the person's own number.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import Any

from kivy.lang import Builder
from kivy.properties import BooleanProperty, NumericProperty, StringProperty
from kivy.uix.behaviors import FocusBehavior
from kivy.uix.slider import Slider

from demo_app.texts import localised_decimal, say
from demo_app.widgets.field import NotAnAnswer, TypedAnswer

__all__ = ["NumberSlider", "Track"]

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp
#:import say demo_app.texts.say

<-Track>:
    size_hint_y: None
    height: palette.touch
    padding: dp(16)
    cursor_size: dp(28), dp(28)
    canvas:
        Color:
            rgba: palette.edge
        SmoothRoundedRectangle:
            pos: self.x + self.padding, self.center_y - dp(3)
            size: self.width - 2 * self.padding, dp(6)
            radius: [dp(3)]
        Color:
            rgba: palette.accent if self.has_number else (0, 0, 0, 0)
        SmoothRoundedRectangle:
            pos: self.x + self.padding, self.center_y - dp(3)
            size: max(0, self.value_pos[0] - self.x - self.padding), dp(6)
            radius: [dp(3)]
        Color:
            rgba: palette.accent if self.has_number else palette.card
        SmoothEllipse:
            pos: self.value_pos[0] - dp(14), self.center_y - dp(14)
            size: dp(28), dp(28)
        Color:
            rgba: palette.text if self.focus else palette.accent if self.has_number else palette.edge
        SmoothLine:
            circle: self.value_pos[0], self.center_y, dp(14)
            width: dp(1.4)

<NumberSlider>:
    role: "display"
    Track:
        id: track
        name: root.name + ":track"
        min: root.low
        max: root.high
        on_moved: root.drag(self.value)
    Row:
        Words:
            text: root.write(root.low)
            role: "small"
            colour: "muted"
        Words:
            text: root.write(root.high)
            role: "small"
            colour: "muted"
            halign: "right"
    Gap:
    Field:
        id: typed
        name: root.name + ":typed"
        label: say("number.type", low=root.bare(root.low), high=root.write(root.high))
        number: True
        error: root.error
        on_text: root.type(self.text)
""")


class Track(FocusBehavior, Slider):
    """The track and its cursor.

    Attributes:
        has_number: True while a number is chosen.
    Events:
        on_moved: the person moved the cursor.
    """

    has_number = BooleanProperty(False)
    name = StringProperty("")
    __events__ = ("on_moved",)

    def on_moved(self) -> None:
        """Do nothing; Kivy calls this when the person moves the cursor."""

    def on_touch_down(self, touch: object) -> bool:
        # A touch must not set the focus, because on a phone that would open the keyboard.
        took = bool(super(FocusBehavior, self).on_touch_down(touch))
        if took and not self.disabled:
            self.dispatch("on_moved")
        return took

    def on_touch_move(self, touch: object) -> bool:
        took = bool(super().on_touch_move(touch))
        if took:
            self.dispatch("on_moved")
        return took

    def on_touch_up(self, touch: object) -> bool:
        took = bool(super().on_touch_up(touch))
        if took:
            self.dispatch("on_moved")
        return took

    def keyboard_on_key_down(self, window: object, keycode: tuple[int, str], text: str, modifiers: list[str]) -> bool:
        way = {"left": -1, "down": -1, "right": 1, "up": 1}.get(keycode[1])
        if way is None:
            return bool(super().keyboard_on_key_down(window, keycode, text, modifiers))
        track: Any = self  # Kivy's properties have no types
        track.value = min(max(track.value + way * (self.step or (self.max - self.min) / 100), self.min), self.max)
        self.dispatch("on_moved")
        return True


class NumberSlider(TypedAnswer):
    """A number between two limits, dragged or typed.

    Attributes:
        low, high: the least and the largest allowed number.
        places: maximum number of decimal places of a dragged number.
        step: the distance between neighbouring numbers, from ``low`` on; 0 if every number is allowed.
        round_answer: None if numbers outside the limits are refused and no number is rounded.
        unit: the unit after the number, such as "h"; may be empty.
        text: the number as a decimal fraction with a point, as typed or dragged.
    """

    low = NumericProperty(0)
    high = NumericProperty(100)
    places = NumericProperty(0)
    step = NumericProperty(0)
    unit = StringProperty("")

    def __init__(self, **properties: object) -> None:
        self._is_writing = False
        super().__init__(**properties)
        bounds = ("low", "high", "places", "step", "unit")
        self.bind(text=self._named, **dict.fromkeys(bounds, self._prepare))
        self._prepare()

    def write(self, number: float) -> str:
        """Return a number with its unit, in the style of the language."""
        return self._with_unit(self._rounded(number))

    def bare(self, number: float) -> str:
        """Return a number without its unit, in the style of the language."""
        return localised_decimal(self._rounded(number))

    def _named(self, *_: object) -> None:
        if not self._is_writing and self.text:
            self.ids.typed.text = localised_decimal(self.text)

    def drag(self, value: float) -> None:
        """Set the number nearest to the moved cursor, in round steps."""
        text = self._rounded(min(max(self._on_step(value), self.low), self.high))
        self.set_answer(text)
        self._is_writing = True
        self.ids.typed.text = localised_decimal(text)
        self._is_writing = False

    def type(self, typed: str) -> None:
        """Read the typed text, and move the cursor to the number if the text is valid."""
        if self._is_writing:
            return
        super().type(typed)
        if self.text:
            self.ids.track.value = min(max(float(self.text), self.low), self.high)

    def set_answer(self, text: str, note: str = "", error: str = "") -> None:
        """Set the number, or none, and the lines about it."""
        self._is_writing = True
        super().set_answer(text, note, error)
        self._is_writing = False
        self.ids.track.has_number = bool(text)

    def read(self, typed: str) -> tuple[str, str]:
        """Return the number as a decimal fraction with a point, and a note with the rounded number.

        Raises:
            NotAnAnswer: not a number, or outside the range.
        """
        try:
            number = Decimal(typed.replace(",", ".").replace("\N{MINUS SIGN}", "-"))
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            raise NotAnAnswer(say("number.none"))
        text = f"{number:f}"
        try:
            rounded = self._rounded_answer(text, number)
        except ValueError:
            raise NotAnAnswer(say("number.outside", low=self.bare(self.low), high=self.bare(self.high))) from None
        return text, say("number.counts", number=self._with_unit(rounded)) if rounded else ""

    def caption_of(self, text: str) -> str:
        """Return a number in words, or the request for one."""
        return self._with_unit(text) if text else say("number.ask")

    def _rounded_answer(self, text: str, number: Decimal) -> str:
        """Return the number to which the device rounds ``number``, as text; "" if it is the same number.

        Raises:
            ValueError: the number is refused.
        """
        if self.round_answer is not None:
            return str(self.round_answer(text))
        if not self.low <= number <= self.high:
            raise ValueError(f"the number must be in {self.low} .. {self.high}")
        return ""

    def _prepare(self, *_: object) -> None:
        span = self.high - self.low
        # The step is a hundredth of the range, rounded to 1, 2 or 5 times a power of ten, but no finer than the decimal
        # places.
        step = 10.0 ** math.floor(math.log10(span / 100)) if span > 0 else 1.0
        step *= next(factor for factor in (1, 2, 5, 10) if step * factor >= span / 100 * 0.999)
        step = max(step, 10.0**-self.places)
        if self.step:
            step = self.step * max(1, round(step / self.step))
        self.ids.track.step = step
        if not self.text:
            self.ids.track.value = self.low

    def _on_step(self, number: float) -> float:
        """Return the allowed number nearest to ``number``."""
        return self.low + round((number - self.low) / self.step) * self.step if self.step else number

    def _rounded(self, number: float) -> str:
        text = f"{number:.{int(self.places)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text

    def _with_unit(self, text: str) -> str:
        return f"{localised_decimal(text)} {self.unit}".strip()

"""A text field with its label above and an error below, and the base of the widgets for an answer that may be typed.

The label stays visible above the typed text. An error is shown in words, not only by a red border.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kivy.lang import Builder
from kivy.properties import BooleanProperty, ObjectProperty, StringProperty
from kivy.uix.behaviors import FocusBehavior
from kivy.uix.boxlayout import BoxLayout
from kivy.uix.textinput import TextInput

from demo_app.widgets import boxes, words

__all__ = ["Field", "Typed", "TypedAnswer", "boxes", "words"]

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp

<Typed>:
    background_normal: ""
    background_active: ""
    background_disabled_normal: ""
    background_color: 0, 0, 0, 0
    foreground_color: palette.text
    disabled_foreground_color: palette.muted
    hint_text_color: palette.muted
    cursor_color: palette.accent
    selection_color: palette.accent[:3] + [0.35]
    cursor_width: dp(2)
    multiline: False
    write_tab: False
    font_size: palette.letters("body")
    padding: palette.space, (self.height - self.line_height) / 2

<Field>:
    orientation: "vertical"
    size_hint_y: None
    height: self.minimum_height
    spacing: palette.hair
    Words:
        id: named
        text: root.label
        role: "small"
        colour: "muted"
        height: self.texture_size[1] if root.label else 0
    BoxLayout:
        size_hint_y: None
        height: max(palette.touch, typed.line_height + palette.space)
        canvas.before:
            Color:
                rgba: palette.well
            SmoothRoundedRectangle:
                pos: self.pos
                size: self.size
                radius: [dp(12)]
            Color:
                rgba: palette.alert if root.error else palette.accent if root.focused else palette.edge
            SmoothLine:
                rounded_rectangle: [self.x, self.y, self.width, self.height, dp(12)]
                width: dp(1.6) if root.focused or root.error else dp(1)
        Typed:
            id: typed
            text: root.text
            hint_text: root.hint
            input_type: "number" if root.number else "text"
            on_focus: root.focused = self.focus
            on_text: root.text = self.text
            on_text_validate: root.dispatch("on_enter")
    Words:
        text: root.error
        role: "small"
        colour: "alert"
        height: self.texture_size[1] if root.error else 0

<TypedAnswer>:
    orientation: "vertical"
    size_hint_y: None
    height: self.minimum_height
    spacing: palette.tight
    Words:
        text: root.caption
        role: root.role if root.text else "headline"
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
""")


class Typed(TextInput):
    """The text input of a field."""


class Field(BoxLayout):
    """A text field of one line.

    Attributes:
        label: the name of the requested text.
        text: the typed text.
        hint: an example, shown while the text is empty.
        error: the fault of the text, in words; "" for none.
        number: True if a phone shows a keyboard with digits only.
        focused: True if the field has the focus.
    Events:
        on_enter: Enter was pressed.
    """

    label = StringProperty("")
    text = StringProperty("")
    hint = StringProperty("")
    error = StringProperty("")
    number = BooleanProperty(False)
    focused = BooleanProperty(False)
    name = StringProperty("")
    __events__ = ("on_enter",)

    def on_enter(self) -> None:
        """Do nothing; Kivy calls this when Enter is pressed."""

    def on_touch_down(self, touch: Any) -> bool:
        """Focus the text input if its label is touched, because the label alone looks like a part of the field."""
        if self.ids.named.collide_point(*touch.pos) and not touch.is_mouse_scrolling:
            self.ids.typed.focus = True
            # Otherwise the end of the touch would remove the focus, because it is outside the text input.
            FocusBehavior.ignored_touch.append(touch)
            return True
        return bool(super().on_touch_down(touch))


class NotAnAnswer(Exception):
    """The typed text is not an answer; the message says why, and is empty while the text may become one."""


class TypedAnswer(BoxLayout):
    """An answer that may be typed, below a caption with the answer and a note with the rounded answer.

    There is no answer until the typed text is one that the device accepts. A subclass defines ``read`` and
    ``caption_of``.

    Attributes:
        read: method that returns the answer in a typed text, and a note with the rounded answer; raises NotAnAnswer.
        caption_of: method that returns an answer in words; for an empty text, the request for an answer.
        round_answer: function of a typed answer that returns the rounded answer, or "" if it is not rounded; raises
            ValueError for a refused answer.
        text: the answer; "" before it is given, and while the typed text is not an answer.
        caption: the answer in words, or the request for one.
        role: the role of the caption's text when there is an answer.
        note: the rounded answer; "" if it is the same.
        error: the fault of the typed text.
    Events:
        on_answer: (text) the person set another answer, or none.
    """

    round_answer = ObjectProperty(None, allownone=True)
    text = StringProperty("")
    caption = StringProperty("")
    role = StringProperty("headline")
    note = StringProperty("")
    error = StringProperty("")
    name = StringProperty("")
    read: Callable[[str], tuple[str, str]]
    caption_of: Callable[[str], str]
    __events__ = ("on_answer",)

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        self.caption = self.caption_of(self.text)

    def on_answer(self, text: str) -> None:
        """Do nothing; Kivy calls this when the person sets another answer, or none."""

    def type(self, typed: str) -> None:
        """Read the typed text, and set the answer if the text is valid."""
        typed = typed.strip()
        try:
            text, note = self.read(typed) if typed else ("", "")
        except NotAnAnswer as fault:
            self.set_answer("", error=str(fault))
        else:
            self.set_answer(text, note=note)

    def set_answer(self, text: str, note: str = "", error: str = "") -> None:
        """Set the answer, or none, and the lines about it."""
        self.text, self.note, self.error = text, note, error
        self.caption = self.caption_of(text)
        self.dispatch("on_answer", text)

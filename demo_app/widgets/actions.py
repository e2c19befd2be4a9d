"""Buttons and cards that can be pressed.

Every control can also be reached with Tab and pressed with Enter or the space bar. It is at least 48 dp wide and high,
and shows by more than its colour that it is pressed, chosen or focused.

The module signs draws the signs.
"""

from __future__ import annotations

from kivy.clock import Clock
from kivy.lang import Builder
from kivy.metrics import dp
from kivy.properties import BooleanProperty, ColorProperty, OptionProperty, StringProperty
from kivy.uix.anchorlayout import AnchorLayout
from kivy.uix.behaviors import ButtonBehavior, FocusBehavior
from kivy.uix.label import Label
from kivy.uix.widget import Widget

from demo_app.widgets.boxes import Card
from demo_app.widgets.signs import SIGNS, draw

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp

<Action>:
    size_hint_y: None
    text_size: self.width - 2 * palette.space, None
    height: max(palette.touch, self.texture_size[1] + palette.space)
    halign: "center"
    valign: "middle"
    bold: True
    font_size: palette.letters("body")
    color: self.ink
    disabled_color: palette.muted
    fill:
        palette.well if self.disabled and self.kind in ("filled", "alert") else \
        palette.accent if self.kind == "filled" else palette.alert if self.kind == "alert" else \
        palette.tint if self.state == "down" else (0, 0, 0, 0)
    ink:
        palette.accent_ink if self.kind == "filled" else palette.alert_ink if self.kind == "alert" else palette.accent
    canvas.before:
        Color:
            rgba:
                self.fill[:3] + [0.8] if self.state == "down" and self.kind in ("filled", "alert") else self.fill
        SmoothRoundedRectangle:
            pos: self.pos
            size: self.size
            radius: [min(self.height / 2, dp(24))]
        Color:
            rgba: palette.edge if self.kind == "outlined" else (0, 0, 0, 0)
        SmoothLine:
            rounded_rectangle: [self.x, self.y, self.width, self.height, min(self.height / 2, dp(24))]
            width: dp(1)
        Color:
            rgba: palette.text if self.focus else (0, 0, 0, 0)
        SmoothLine:
            rounded_rectangle:
                [self.x + dp(3), self.y + dp(3), self.width - dp(6), self.height - dp(6), \
                min(self.height / 2, dp(24)) - dp(3)]
            width: dp(1)

<Symbol>:
    size_hint: None, None
    size: palette.touch, palette.touch
    ink: palette.muted if self.disabled else palette.text
    canvas.before:
        Color:
            rgba: palette.tint if self.state == "down" else palette.card if self.raised else (0, 0, 0, 0)
        SmoothRoundedRectangle:
            pos: self.pos
            size: self.size
            radius: [self.height / 2]
        Color:
            rgba: palette.text if self.focus else palette.edge if self.raised else (0, 0, 0, 0)
        SmoothLine:
            rounded_rectangle: [self.x, self.y, self.width, self.height, self.height / 2]
            width: dp(1)

<Entry>:
    orientation: "horizontal"
    spacing: palette.space
    height: max(palette.touch, self.minimum_height)
    canvas.after:
        Color:
            rgba: palette.text if self.focus else palette.accent if self.state == "down" else (0, 0, 0, 0)
        SmoothLine:
            rounded_rectangle: [self.x, self.y, self.width, self.height, palette.radius]
            width: dp(1)
    Column:
        spacing: palette.hair
        pos_hint: {"center_y": 0.5}
        Words:
            text: root.title
            role: "title"
        Words:
            text: root.below
            colour: "muted"
            role: "small"
    Sign:
        sign: "forward"
        size_hint: None, None
        size: dp(20), dp(20)
        pos_hint: {"center_y": 0.5}
        ink: palette.muted
""")


class Pressed(FocusBehavior, ButtonBehavior):
    """A control that can be pressed by a touch, with Enter or with the space bar."""

    def keyboard_on_key_down(self, window: object, keycode: tuple[int, str], text: str, modifiers: list[str]) -> bool:
        if keycode[1] in ("enter", "numpadenter", "spacebar") and not self.disabled:
            self.trigger_action(0.05)
            return True
        return bool(super().keyboard_on_key_down(window, keycode, text, modifiers))

    def on_touch_down(self, touch: object) -> bool:
        """Press without taking the focus.

        The focus ring is for people who use keys, and on a phone a focus would open the keyboard.
        """
        return bool(super(FocusBehavior, self).on_touch_down(touch))


class Action(Pressed, Label):
    """A button with a text.

    Attributes:
        kind: filled (the main action of the screen), outlined, plain or alert (the action cannot be undone).
        name: the name by which tests find the button.
    """

    kind = OptionProperty("filled", options=["filled", "outlined", "plain", "alert"])
    name = StringProperty("")
    fill = ColorProperty((0, 0, 0, 0))
    ink = ColorProperty((0, 0, 0, 1))


class Sign(Widget):
    """A drawn sign, such as an arrow.

    Attributes:
        sign: one of ``signs.SIGNS``.
        ink: the colour of the sign.
    """

    sign = OptionProperty("back", options=SIGNS)
    ink = ColorProperty((0, 0, 0, 1))

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        # The trigger draws once per frame, even if the layout sets the position several times.
        redraw = Clock.create_trigger(self._draw, -1)
        for followed in ("pos", "size", "sign", "ink"):
            self.fbind(followed, redraw)
        redraw()

    def _draw(self, *_: object) -> None:
        self.canvas.clear()
        side = min(self.width, self.height, dp(24))
        with self.canvas:
            draw(self.sign, self.center_x - side / 2, self.center_y - side / 2, side, tuple(self.ink))


class Symbol(Pressed, AnchorLayout):
    """A button of one drawn sign.

    Attributes:
        sign: one of ``signs.SIGNS``.
        description: the action in words; not displayed, but read by tests and by a screen reader, if there is one.
        raised: True if the button has a background of its own, for example on a map.
    """

    sign = OptionProperty("back", options=SIGNS)
    description = StringProperty("")
    raised = BooleanProperty(False)
    ink = ColorProperty((0, 0, 0, 1))
    name = StringProperty("")

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        self._drawn = Sign(sign=self.sign, ink=self.ink, size_hint=(None, None), size=(dp(24), dp(24)))
        self.bind(sign=self._drawn.setter("sign"), ink=self._drawn.setter("ink"))
        self.add_widget(self._drawn)


class Entry(Pressed, Card):
    """A card that opens another screen when touched.

    Attributes:
        title: the text at the top of the card.
        below: the text below the title.
    """

    title = StringProperty("")
    below = StringProperty("")

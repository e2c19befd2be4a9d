"""The bars: the title of the current screen, and the destinations.

The destinations are at the bottom on a phone and at the side of a wide window. The current destination is marked by its
background, weight and colour, not by the colour alone.
"""

from __future__ import annotations

from kivy.core.text import Label as Measure
from kivy.lang import Builder
from kivy.metrics import dp
from kivy.properties import BooleanProperty, ListProperty, NumericProperty, StringProperty
from kivy.uix.boxlayout import BoxLayout

from demo_app.widgets.actions import Pressed
from demo_app.widgets.palette import palette

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp
#:import say demo_app.texts.say

<TopBar>:
    size_hint_y: None
    height: max(dp(64), title.texture_size[1] + palette.space)
    padding: palette.tight if self.back else palette.space, 0, palette.space, 0
    spacing: palette.tight
    canvas.before:
        Color:
            rgba: palette.ground
        Rectangle:
            pos: self.pos
            size: self.size
    Symbol:
        sign: "back"
        name: "back"
        description: say("bar.back")
        pos_hint: {"center_y": 0.5}
        width: palette.touch if root.back else 0
        opacity: 1 if root.back else 0
        disabled: not root.back
        on_release: root.dispatch("on_back")
    Words:
        id: title
        text: root.title
        role: "headline"
        pos_hint: {"center_y": 0.5}

<Destination>:
    orientation: "vertical"
    # No padding below: it would push the sign out of its background.
    padding: 0, palette.tight, 0, 0
    spacing: palette.hair
    canvas.before:
        Color:
            rgba: palette.tint if self.current or self.state == "down" else (0, 0, 0, 0)
        SmoothRoundedRectangle:
            pos: self.center_x - dp(30), self.top - dp(40)
            size: dp(60), dp(32)
            radius: [dp(16)]
        Color:
            rgba: palette.text if self.focus else (0, 0, 0, 0)
        SmoothLine:
            rounded_rectangle: [self.x + dp(2), self.y + dp(2), self.width - dp(4), self.height - dp(4), dp(8)]
            width: dp(1)
    Sign:
        sign: root.sign
        size_hint_y: None
        height: dp(32)
        ink: palette.accent if root.current else palette.muted
    Words:
        text: root.text
        font_size: root.letters
        halign: "center"
        bold: root.current
        colour: "accent" if root.current else "muted"
    Widget:

<Destinations>:
    size_hint: (None, 1) if self.upright else (1, None)
    orientation: "vertical" if self.upright else "horizontal"
    width: dp(104)
    height: dp(72)
    padding: (0, palette.space) if self.upright else (0, 0)
    spacing: palette.tight if self.upright else 0
    canvas.before:
        Color:
            rgba: palette.card
        Rectangle:
            pos: self.pos
            size: self.size
        Color:
            rgba: palette.line
        Rectangle:
            pos: (self.right - dp(1), self.y) if self.upright else (self.x, self.top - dp(1))
            size: (dp(1), self.height) if self.upright else (self.width, dp(1))
""")


class TopBar(BoxLayout):
    """The title of the current screen, and the arrow back.

    Attributes:
        title: the title of the screen.
        back: True to show the arrow.
    Events:
        on_back: the arrow was pressed.
    """

    title = StringProperty("")
    back = BooleanProperty(False)
    name = StringProperty("")
    __events__ = ("on_back",)

    def on_back(self, *_: object) -> None:
        """Do nothing. Kivy calls this as the event's default handler, and also when the property ``back`` changes."""


class Destination(Pressed, BoxLayout):
    """The button of one destination; ``wide`` is the width of its name in pixels."""

    text = StringProperty("")
    sign = StringProperty("back")
    current = BooleanProperty(False)
    letters = NumericProperty(14)
    name = StringProperty("")

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        self._size = min(palette.letters("small"), dp(20))
        line = Measure(font_size=self._size, bold=True)
        line.resolve_font_name()
        self.wide = line.get_extents(self.text)[0] + dp(8)
        self.bind(width=self._fit)
        self._fit()

    def _fit(self, *_: object) -> None:
        """Shrink the name so that it stays on one line at any text size; small letters do little harm, because
        people find a destination by its position."""
        self.letters = self._size * min(1.0, self.width / self.wide)


class Destinations(BoxLayout):
    """The destinations of the app.

    Attributes:
        places: (name, text, sign) of each destination.
        chosen: the name of the current destination.
        upright: True if the destinations are at the side, below each other.
    Events:
        on_choice: (name) a destination was pressed.
    """

    places = ListProperty()
    chosen = StringProperty("")
    upright = BooleanProperty(False)
    name = StringProperty("")
    __events__ = ("on_choice",)

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        self.bind(places=self._build, upright=self._build, chosen=self._mark)
        self._build()

    def _mark(self, *_: object) -> None:
        for child in self.children:
            if isinstance(child, Destination):
                child.current = child.name == self.chosen

    def on_choice(self, name: str) -> None:
        """Do nothing; Kivy calls this when a destination is pressed."""

    def _build(self, *_: object) -> None:
        self.clear_widgets()
        for name, text, sign in self.places:
            place = Destination(name=name, text=text, sign=sign, current=name == self.chosen)
            if self.upright:
                place.size_hint_y = None
                place.height = dp(76)
            else:
                place.size_hint_x = place.wide
            place.bind(on_release=lambda pressed: self.dispatch("on_choice", pressed.name))
            self.add_widget(place)
        if self.upright:
            self.add_widget(BoxLayout())

"""Pictures of probabilities: how many of 100 reports fit an answer, and the posterior before and after a report.

People understand counts of people better than probabilities. So a probability is 100 dots, filled for the reports that
fit and hollow for the others, with the counts in words. A line explains "fit". The count for a true answer means
nothing without the count for a wrong answer, so the widget shows both. A prior or posterior probability is a bar with
its number beside it.

``Device.preview`` computes the probabilities.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, hypot
from typing import Any

from kivy.clock import Clock
from kivy.graphics import Color, Mesh
from kivy.graphics.texture import Texture
from kivy.lang import Builder
from kivy.metrics import dp
from kivy.properties import BooleanProperty, NumericProperty, ObjectProperty, StringProperty
from kivy.uix.boxlayout import BoxLayout
from kivy.uix.widget import Widget

from demo_app.texts import say
from demo_app.widgets import boxes, words
from demo_app.widgets.palette import palette

__all__ = ["BeforeAfter", "Chances", "Dots", "boxes", "words"]

ACROSS = 10
"""Number of dots in a row, and number of rows."""

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp
#:import say demo_app.texts.say

<Counted@Row>:
    filled: 0
    caption: ""
    called: ""
    spacing: palette.space
    Dots:
        filled: root.filled
        size_hint: None, None
        size: dp(104), dp(104)
    Words:
        text: root.caption
        name: root.called
        pos_hint: {"center_y": 0.5}

<Chances>:
    orientation: "vertical"
    size_hint_y: None
    height: self.minimum_height
    spacing: palette.space
    Words:
        text: say("chances.fits")
        role: "small"
        colour: "muted"
    Counted:
        filled: root.truth_dots
        caption: root.truth_text
        called: root.name + ":truth"
    Counted:
        filled: root.wrong_dots
        caption: root.wrong_text
        called: root.name + ":wrong"

<Portion>:
    orientation: "vertical"
    size_hint_y: None
    height: self.minimum_height
    spacing: palette.hair
    Row:
        Words:
            text: root.label
            size_hint_x: 0.75
        Words:
            text: root.caption
            size_hint_x: 0.25
            halign: "right"
            bold: True
            pos_hint: {"top": 1}
    Widget:
        size_hint_y: None
        height: dp(12)
        canvas:
            Color:
                rgba: palette.well
            SmoothRoundedRectangle:
                pos: self.pos
                size: self.size
                radius: [dp(6)]
            Color:
                rgba: palette.accent if root.strong else palette.edge
            SmoothRoundedRectangle:
                pos: self.pos
                size: max(dp(3), self.width * min(1, float(root.share))), self.height
                radius: [min(dp(6), self.width * min(1, float(root.share)) / 2)]

<BeforeAfter>:
    orientation: "vertical"
    size_hint_y: None
    height: self.minimum_height
    spacing: palette.space
    Portion:
        name: root.name + ":before"
        label: say("posterior.before")
        share: root.before
    Portion:
        name: root.name + ":after"
        label: say("posterior.after")
        share: root.after
        strong: True
""")


class Dots(Widget):
    """A square of 100 dots, of which the first ``filled`` are filled."""

    filled = NumericProperty(0)

    def __init__(self, **properties: Any) -> None:
        super().__init__(**properties)
        with self.canvas:
            self._full = Color(), Mesh(mode="triangles")
            self._hollow = Color(), Mesh(mode="triangles")
        # The trigger draws once per frame, even if the layout sets the position several times.
        self._redraw = Clock.create_trigger(self._draw, -1)
        for followed in ("pos", "size", "filled"):
            self.fbind(followed, self._redraw)
        palette.bind(dark=self._recolour)
        self._redraw()

    def _recolour(self, *_: object) -> None:
        self._redraw()

    def _draw(self, *_: object) -> None:
        # Sizes are whole pixels, so that all dots look the same.
        side = max(1, int(min(self.width, self.height) / ACROSS))
        radius = side * 0.36
        left = round(self.x + (min(self.width, self.height) - side * ACROSS) / 2)
        top = round(self.y + self.height - (min(self.width, self.height) - side * ACROSS) / 2)
        full, hollow = _dot(side, 0.0, radius), _dot(side, radius - dp(1.1), radius + dp(0.1))
        count = min(int(self.filled), ACROSS**2)
        for (ink, mark), colour, texture, places in (
            (self._full, palette.accent, full, range(count)),
            (self._hollow, palette.edge, hollow, range(count, ACROSS**2)),
        ):
            ink.rgba = colour
            corners: list[float] = []
            for place in places:
                row, column = divmod(place, ACROSS)
                x, y = left + column * side, top - (row + 1) * side
                for corner, (right, up) in enumerate(((0, 0), (1, 0), (1, 1), (0, 1))):
                    corners += [x + right * side, y + up * side, *texture.tex_coords[2 * corner : 2 * corner + 2]]
            mark.texture = texture
            mark.vertices = corners
            mark.indices = [4 * dot + corner for dot in range(len(places)) for corner in (0, 1, 2, 0, 2, 3)]


@lru_cache(maxsize=8)
def _dot(side: int, inner: float, outer: float) -> Texture:
    """Return a picture of a white ring, opaque between two radii in pixels; a disc if the inner radius is 0.

    A hundred dots share one picture, because drawing a hundred dots would take longer than drawing the rest of the
    page.
    """
    ring = Texture.create(size=(side, side), colorfmt="rgba")

    def fill(texture: Texture) -> None:
        pixels = bytearray()
        for row in range(side):
            for column in range(side):
                away = hypot(row + 0.5 - side / 2, column + 0.5 - side / 2)
                # At each edge, the alpha is the covered share of the pixel.
                covered = min(1.0, max(0.0, outer + 0.5 - away))
                if inner:
                    covered *= min(1.0, max(0.0, away + 0.5 - inner))
                pixels += bytes((255, 255, 255, round(255 * covered)))
        texture.blit_buffer(bytes(pixels), colorfmt="rgba", bufferfmt="ubyte")

    fill(ring)
    # A phone may discard the graphics of an app in the background, so the texture is filled again.
    ring.add_reload_observer(fill)
    return ring


class Chances(BoxLayout):
    """The expected number of reports that fit the answer, among 100 people who give it and among 100 people who give
    another answer.

    Attributes:
        fits_true: the probability that a report fits the answer if the answer is true; its text is rounded up.
        fits_other: the least probability that a report fits the answer if another answer is true; its text is rounded
            down.
        truth_dots, wrong_dots: the number of filled dots for ``fits_true`` and for ``fits_other``.
    """

    fits_true = ObjectProperty(Fraction(0))
    fits_other = ObjectProperty(Fraction(0))
    truth_dots = NumericProperty(0)
    wrong_dots = NumericProperty(0)
    truth_text = StringProperty("")
    wrong_text = StringProperty("")
    name = StringProperty("chances")

    def __init__(self, **properties: Any) -> None:
        super().__init__(**properties)
        self.bind(fits_true=self._update, fits_other=self._update)
        self._update()

    def _update(self, *_: object) -> None:
        self.truth_dots = ceil(100 * self.fits_true)
        self.wrong_dots = floor(100 * self.fits_other)
        rare = 0 < 100 * self.fits_true < 1
        self.truth_text = say("chances.rare" if rare else "chances.truth", count=self.truth_dots)
        self.wrong_text = say("chances.wrong" if self.wrong_dots else "chances.unfit", count=self.wrong_dots)


class Portion(BoxLayout):
    """A bar with its label and its number.

    Attributes:
        share: the filled share of the bar; its text is rounded up.
        strong: True for the more important bar.
    """

    label = StringProperty("")
    share = ObjectProperty(Fraction(0))
    caption = StringProperty("")
    strong = BooleanProperty(False)
    name = StringProperty("")

    def __init__(self, **properties: Any) -> None:
        super().__init__(**properties)
        self.bind(share=self._update)
        self._update()

    def _update(self, *_: object) -> None:
        percent = 100 * self.share
        if 0 < percent < 1:
            self.caption = say("posterior.rare")
        elif 99 < percent < 100:
            self.caption = say("posterior.sure")
        else:
            self.caption = say("posterior.percent", percent=ceil(percent))


class BeforeAfter(BoxLayout):
    """The probability of the person's answer before a report, and its largest posterior probability after one.

    Attributes:
        before, after: the probabilities before and after the report.
    """

    before = ObjectProperty(Fraction(0))
    after = ObjectProperty(Fraction(0))
    name = StringProperty("posterior")

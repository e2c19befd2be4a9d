"""The surface of a map: the coast, the grid above it and the chosen cell, with zooming and dragging.

The coast is for orientation, and is drawn without the network. A degree of longitude is drawn narrower than a degree of
latitude by one factor, the cosine of the grid's middle latitude.

The module gridmap has the grid, and the choice of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain, pairwise, repeat
from typing import Any

from kivy.clock import Clock
from kivy.graphics import Color, Line, Mesh, PopMatrix, PushMatrix, Rectangle, Scale, Translate
from kivy.graphics.instructions import InstructionGroup
from kivy.metrics import dp
from kivy.properties import ObjectProperty, StringProperty
from kivy.uix.behaviors import FocusBehavior
from kivy.uix.stencilview import StencilView

from demo_app.widgets.coast import coast
from demo_app.widgets.palette import palette

MICRO = 10**6
SLACK = 10
"""dp: a finger that moved less is a touch, not a drag."""
LARGEST_CELL = 200
"""dp: maximum size of one cell."""
MESHED = 9
"""dp: from this size on, all cells are drawn."""


class Surface(FocusBehavior, StencilView):
    """The map itself, with its drawing and its touches. Longitudes and latitudes are in degrees.

    Attributes:
        owner: the ``GridMap`` whose grid is drawn, and which takes the choice of a cell.
    """

    owner = ObjectProperty(None)
    name = StringProperty("")

    def __init__(self, **properties: Any) -> None:
        self._fingers: list[Any] = []
        self._moved = False
        self._fitted = True
        self.longitude = self.latitude = 0.0
        self.scale = 1.0
        self._land = InstructionGroup()
        self._over = InstructionGroup()
        self._landing = Clock.create_trigger(self._fill_land, 0)
        super().__init__(**properties)
        with self.canvas:
            self._sea_colour = Color(*palette.well)
            self._sea = Rectangle()
            PushMatrix()
            self._shift = Translate()
            self._zoom = Scale()
            self.canvas.add(self._land)
            PopMatrix()
            self.canvas.add(self._over)
        self.bind(pos=self._place, size=self._place, focus=lambda *_: self._draw_over())
        palette.bind(dark=self._recolour)

    # Degrees and pixels

    @property
    def stretch(self) -> float:
        """The width of a degree of longitude over the height of a degree of latitude, as drawn."""
        owner = self.owner
        return max(0.05, math.cos(math.radians((owner.south + owner.north) / 2 / MICRO))) if owner else 1.0

    @property
    def middle(self) -> tuple[float, float]:
        """The middle in pixels; unlike ``center``, correct while a new size is being applied."""
        return self.x + self.width / 2, self.y + self.height / 2

    def pixel(self, longitude: float, latitude: float) -> tuple[float, float]:
        """Return the position in pixels of a longitude and latitude."""
        return (
            self.middle[0] + (longitude - self.longitude) * self.scale * self.stretch,
            self.middle[1] + (latitude - self.latitude) * self.scale,
        )

    def position(self, x: float, y: float) -> tuple[float, float]:
        """Return the longitude and latitude of a position in pixels."""
        return (
            self.longitude + (x - self.middle[0]) / (self.scale * self.stretch),
            self.latitude + (y - self.middle[1]) / self.scale,
        )

    def _least_scale(self) -> float:
        owner = self.owner
        high, wide = (owner.north - owner.south) / MICRO, (owner.east - owner.west) / MICRO * self.stretch
        return 0.92 * float(min(self.width / wide, self.height / high))

    def show_all(self, *_: object) -> None:
        """Show the whole grid, in the middle."""
        owner = self.owner
        if owner is None or self.width < 2 or self.height < 2 or owner.east <= owner.west:
            return
        self._fitted = True
        self.longitude = (owner.west + owner.east) / 2 / MICRO
        self.latitude = (owner.south + owner.north) / 2 / MICRO
        self.scale = self._least_scale()
        self._draw()

    def zoom(self, factor: float, x: float | None = None, y: float | None = None) -> None:
        """Zoom in by a factor; the point (x, y) in pixels stays in place, or the middle if no point is given."""
        x, y = self.middle[0] if x is None else x, self.middle[1] if y is None else y
        longitude, latitude = self.position(x, y)
        minimum = self._least_scale()
        maximum = max(minimum, dp(LARGEST_CELL) / (self.owner.step / MICRO))
        self.scale = min(max(self.scale * factor, minimum * 0.5), maximum)
        self._fitted = False
        self.longitude = longitude - (x - self.middle[0]) / (self.scale * self.stretch)
        self.latitude = latitude - (y - self.middle[1]) / self.scale
        self._keep()

    def _keep(self) -> None:
        """Keep the middle of the view inside the grid."""
        owner = self.owner
        self.longitude = min(max(self.longitude, owner.west / MICRO), owner.east / MICRO)
        self.latitude = min(max(self.latitude, owner.south / MICRO), owner.north / MICRO)
        self._draw()

    def show_cell(self) -> None:
        """Bring the chosen cell into view if it is outside."""
        south, north, west, east = self.owner.bounds()
        x, y = self.pixel(west, south)
        right, top = self.pixel(east, north)
        if x < self.x or y < self.y or right > self.x + self.width or top > self.y + self.height:
            self.longitude, self.latitude = (west + east) / 2, (south + north) / 2
            self._fitted = False
            self._keep()
        else:
            self._draw_over()

    # Drawing

    def _place(self, *_: object) -> None:
        self._sea.pos, self._sea.size = self.pos, self.size
        if self._fitted:
            self.show_all()
        else:
            self._draw()

    def _recolour(self, *_: object) -> None:
        self._sea_colour.rgba = palette.well
        if self._land.children:
            self._fill_land()
        self._draw_over()

    def _draw(self) -> None:
        if not self._land.children:
            # The land is drawn in a later frame, so that the question appears first.
            self._landing()
        self._shift.xy = self.pixel(0.0, 0.0)
        self._zoom.xyz = (self.scale * self.stretch, self.scale, 1.0)
        self._draw_over()

    def _fill_land(self, *_: object) -> None:
        self._land.clear()
        world = coast()
        # Each vertex has x, y, and two unused texture coordinates. OpenGL ES numbers vertices in 16 bits, which is
        # enough for these 8,000.
        points = zip(world.longitudes, world.latitudes, repeat(0.0), repeat(0.0))
        vertices = list(chain.from_iterable(points))
        for colour, mode, places in (
            (palette.land, "triangles", world.corners),
            (palette.edge, "lines", _strokes(world.outlines)),
            ((*palette.edge[:3], 0.5), "lines", _strokes(world.borders)),
        ):
            self._land.add(Color(*colour))
            self._land.add(Mesh(vertices=vertices, indices=places, mode=mode))

    def _draw_over(self, *_: object) -> None:
        owner, over = self.owner, self._over
        over.clear()
        if owner is None or owner.east <= owner.west:
            return
        x, y = self.pixel(owner.west / MICRO, owner.south / MICRO)
        right, top = self.pixel(owner.east / MICRO, owner.north / MICRO)
        step = owner.step / MICRO
        wide, high = step * self.scale * self.stretch, step * self.scale
        if min(wide, high) >= dp(MESHED):
            over.add(Color(palette.edge[0], palette.edge[1], palette.edge[2], 0.45))
            first, last = (
                math.floor(max(0.0, (self.x - x) / wide)),
                math.ceil(min(right - x, self.x + self.width - x) / wide),
            )
            for column in range(first, last):
                over.add(
                    Line(points=[x + column * wide, max(y, self.y), x + column * wide, min(top, self.y + self.height)])
                )
            first, last = (
                math.floor(max(0.0, (self.y - y) / high)),
                math.ceil(min(top - y, self.y + self.height - y) / high),
            )
            for row in range(first, last):
                over.add(Line(points=[max(x, self.x), y + row * high, min(right, self.x + self.width), y + row * high]))
        over.add(Color(*palette.edge))
        over.add(Line(rectangle=(x, y, right - x, top - y), width=dp(1)))
        if owner.chosen is not None:
            self._draw_cell()
        over.add(Color(*(palette.text if self.focus else palette.line)))
        over.add(Line(rectangle=(self.x + 1, self.y + 1, self.width - 2, self.height - 2), width=dp(1)))

    def _draw_cell(self) -> None:
        south, north, west, east = self.owner.bounds()
        x, y = self.pixel(west, south)
        right, top = self.pixel(east, north)
        red, green, blue, _ = palette.accent
        self._over.add(Color(red, green, blue, 0.3))
        self._over.add(Rectangle(pos=(x, y), size=(right - x, top - y)))
        self._over.add(Color(*palette.accent))
        self._over.add(Line(rectangle=(x, y, right - x, top - y), width=dp(1.4)))
        if max(right - x, top - y) < dp(20):
            # The cell is too small to find, so a ring marks it.
            self._over.add(Line(circle=((x + right) / 2, (y + top) / 2, dp(16)), width=dp(1.4)))

    # Touch and keyboard

    def on_touch_down(self, touch: Any) -> bool:
        if not self.collide_point(*touch.pos):
            return False
        if touch.is_mouse_scrolling:
            self.zoom(1.25 if touch.button == "scrolldown" else 0.8, *touch.pos)
            return True
        touch.grab(self)
        self._fingers.append(touch)
        self._moved = len(self._fingers) > 1
        return True

    def on_touch_move(self, touch: Any) -> bool:
        if touch.grab_current is not self:
            return bool(super().on_touch_move(touch))
        if len(self._fingers) == 1:
            if math.dist(touch.pos, touch.opos) > dp(SLACK):
                self._moved = True
            if self._moved:
                self._fitted = False
                self.longitude -= touch.dx / (self.scale * self.stretch)
                self.latitude -= touch.dy / self.scale
                self._keep()
        elif touch in self._fingers[:2]:
            other = self._fingers[1] if touch is self._fingers[0] else self._fingers[0]
            before, now = math.dist(touch.ppos, other.pos), math.dist(touch.pos, other.pos)
            if min(before, now) > dp(4):
                self.zoom(now / before, (touch.x + other.x) / 2, (touch.y + other.y) / 2)
        return True

    def on_touch_up(self, touch: Any) -> bool:
        if touch.grab_current is not self:
            return bool(super().on_touch_up(touch))
        touch.ungrab(self)
        if touch in self._fingers:
            self._fingers.remove(touch)
        if not self._moved and not self._fingers:
            self.owner.choose(*self.position(*touch.pos))
        return True

    def keyboard_on_key_down(self, window: Any, keycode: tuple[int, str], text: str, modifiers: list[str]) -> bool:
        ways = {"up": (1, 0), "down": (-1, 0), "right": (0, 1), "left": (0, -1)}
        if keycode[1] in ways:
            self.owner.step_by(*ways[keycode[1]])
        elif text in ("+", "-"):
            self.zoom(2.0 if text == "+" else 0.5)
        else:
            return bool(super().keyboard_on_key_down(window, keycode, text, modifiers))
        return True


def _strokes(lines: Iterable[range]) -> list[int]:
    """Return the point indexes of both ends of every segment of lines, one after another."""
    return [end for line in lines for stretch in pairwise(line) for end in stretch]

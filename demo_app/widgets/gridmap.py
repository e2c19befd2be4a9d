"""A map on which a cell of a grid is chosen.

The grid is the campaign's, in whole microdegrees, so the chosen cell is exactly the answer. A touch chooses a cell, the
arrow keys move it, and a position can be typed.

The module surface draws the map.
"""

from __future__ import annotations

import re
from typing import Any

from kivy.lang import Builder
from kivy.properties import NumericProperty, ObjectProperty, StringProperty
from kivy.uix.boxlayout import BoxLayout

from demo_app.texts import localised_decimal, say
from demo_app.widgets import actions, field
from demo_app.widgets.surface import MICRO, Surface

__all__ = ["GridMap", "Surface", "actions", "field"]

POSITION = re.compile(r"(-?\d{1,3}(?:[.,]\d{0,9})?)(?:\s*;\s*|\s*,\s+|\s+|,(?=-?\d+\.))(-?\d{1,3}(?:[.,]\d{0,9})?)")
"""Two decimal numbers, separated by a comma, a semicolon or a blank; the decimal mark is a comma or a point."""

Builder.load_string("""
#:import palette demo_app.widgets.palette.palette
#:import dp kivy.metrics.dp
#:import say demo_app.texts.say

<GridMap>:
    orientation: "vertical"
    spacing: palette.tight
    FloatLayout:
        Surface:
            id: surface
            name: root.name
            owner: root
            pos_hint: {"x": 0, "y": 0}
        BoxLayout:
            # Side by side if large letters leave little height for the map.
            orientation: "vertical" if self.parent and self.parent.height > 3 * palette.touch + dp(40) else "horizontal"
            size_hint: None, None
            size: self.minimum_size
            spacing: palette.tight
            pos_hint: {}
            x: self.parent.right - dp(12) - self.width if self.parent else 0
            y: self.parent.y + dp(12) if self.parent else 0
            Symbol:
                sign: "plus"
                raised: True
                name: root.name + ":nearer"
                description: say("map.nearer")
                on_release: surface.zoom(2.0)
            Symbol:
                sign: "minus"
                raised: True
                name: root.name + ":farther"
                description: say("map.farther")
                on_release: surface.zoom(0.5)
            Symbol:
                sign: "whole"
                raised: True
                name: root.name + ":whole"
                description: say("map.whole")
                on_release: surface.show_all()
    Words:
        text: root.caption
        role: "body" if root.height > dp(400) else "small"
        name: root.name + ":caption"
    Field:
        id: typed
        name: root.name + ":typed"
        hint: say("map.type")
        error: root.error
        on_text: root.type(self.text)
""")


class GridMap(BoxLayout):
    """A grid on a map.

    Attributes:
        south, north, west, east, step: the borders and the cell size of the grid, in whole microdegrees.
        chosen: (row, column) of the chosen cell, from the south-west; None before a cell is chosen.
        caption: the chosen position, in words.
        error: the fault of a typed position.
    Events:
        on_cell: (row, column) the person chose a cell.
    """

    south = NumericProperty(-90 * MICRO)
    north = NumericProperty(90 * MICRO)
    west = NumericProperty(-180 * MICRO)
    east = NumericProperty(180 * MICRO)
    step = NumericProperty(MICRO)
    chosen = ObjectProperty(None, allownone=True)
    caption = StringProperty("")
    error = StringProperty("")
    name = StringProperty("map")
    __events__ = ("on_cell",)

    def __init__(self, **properties: Any) -> None:
        super().__init__(**properties)
        for edge in ("south", "north", "west", "east", "step"):
            self.fbind(edge, self._prepare)
        self.bind(chosen=self._show)
        self._prepare()

    @property
    def rows(self) -> int:
        """Number of rows of cells, from south to north."""
        return int(-(-(self.north - self.south) // self.step))

    @property
    def columns(self) -> int:
        """Number of columns of cells, from west to east."""
        return int(-(-(self.east - self.west) // self.step))

    def on_cell(self, row: int, column: int) -> None:
        """Do nothing; Kivy calls this when the person chooses a cell."""

    def choose(self, longitude: float, latitude: float) -> None:
        """Choose the cell of a position in degrees; do nothing outside the grid."""
        north, east = round(latitude * MICRO), round(longitude * MICRO)
        if self.south <= north <= self.north and self.west <= east <= self.east:
            # As in the domain, the northern and eastern edges belong to the last cells.
            row, column = (north - self.south) // self.step, (east - self.west) // self.step
            self._take(int(min(row, self.rows - 1)), int(min(column, self.columns - 1)))

    def type(self, typed: str) -> None:
        """Read the typed text, and choose the cell if the text is a position, "latitude, longitude"."""
        self.error = ""
        match = POSITION.fullmatch(typed.strip().replace("\N{MINUS SIGN}", "-"))
        if match is None:
            self.error = say("map.none") if typed.strip() else ""
            return
        latitude, longitude = (float(degrees.replace(",", ".")) for degrees in match.groups())
        if self.south <= latitude * MICRO <= self.north and self.west <= longitude * MICRO <= self.east:
            self.choose(longitude, latitude)
        else:
            self.error = say("map.outside")

    def step_by(self, rows: int, columns: int) -> None:
        """Move the chosen cell; if no cell is chosen, choose the cell in the middle of the view."""
        if self.chosen is None:
            self.choose(self.ids.surface.longitude, self.ids.surface.latitude)
        else:
            row, column = self.chosen
            self._take(min(max(row + rows, 0), self.rows - 1), min(max(column + columns, 0), self.columns - 1))

    def bounds(self) -> tuple[float, float, float, float]:
        """Return south, north, west and east of the chosen cell, in degrees."""
        row, column = self.chosen
        south, west = self.south + row * self.step, self.west + column * self.step
        return south / MICRO, (south + self.step) / MICRO, west / MICRO, (west + self.step) / MICRO

    def _take(self, row: int, column: int) -> None:
        self.chosen = (row, column)
        self.error = ""
        self.dispatch("on_cell", row, column)

    def _show(self, *_: object) -> None:
        self._update()
        if self.chosen is not None:
            self.ids.surface.show_cell()

    def _prepare(self, *_: object) -> None:
        self.ids.surface.show_all()
        self._update()

    def _update(self) -> None:
        size = _degrees(self.step)
        if self.chosen is None:
            self.caption = say("map.ask", step=size)
            return
        row, column = self.chosen
        latitude = self.south + row * self.step + self.step // 2
        longitude = self.west + column * self.step + self.step // 2
        self.caption = say(
            "map.cell",
            latitude=_degrees(abs(latitude)),
            north=say("map.north" if latitude >= 0 else "map.south"),
            longitude=_degrees(abs(longitude)),
            east=say("map.east" if longitude >= 0 else "map.west"),
            step=size,
        )


def _degrees(microdegrees: float) -> str:
    text = f"{microdegrees / MICRO:.6f}".rstrip("0").rstrip(".")
    return localised_decimal(text)

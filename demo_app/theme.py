"""The theme: every colour, distance and text size of the app, as plain data.

A widget names a role ("text on a card"), never a colour. A test lists the pairs of roles that meet on the
screen, and computes the contrast of each pair, light and dark.

This module does not import Kivy; widgets.palette contains the current palette.
"""

from __future__ import annotations

from dataclasses import dataclass

TOUCH = 48
"""dp: minimum width and height of everything that can be touched."""

HAIR, TIGHT, SPACE, WIDE = 4, 8, 16, 24
"""dp: the distances: HAIR between a text and the text below it, WIDE from the edge of a dialog to its content."""

RADIUS = 16
"""dp: the corner of a card."""

READABLE = 640
"""dp: maximum width of a column of text in a window of any width."""

BROAD_WINDOW = 840
"""dp: from this width on, the destinations are at the side of the window, not at the bottom."""

TEXT_SIZES = {"display": 30, "headline": 24, "title": 18, "body": 16, "small": 14}
"""sp, by role; they grow with the person's text size setting."""


@dataclass(frozen=True)
class Palette:
    """Colours by role, each "#rrggbb".

    Attributes:
        ground: the background of the window.
        card: the background of cards, bars and dialogs.
        well: the background of areas within a card: fields, tracks, the sea of the map.
        land: the land of the map.
        line: lines between widgets; they have no meaning.
        edge: the borders of controls.
        text, muted: primary and secondary text.
        accent: chosen items, and the spent part of the budget.
        accent_ink: text on the accent.
        tint: a light accent, the background of chosen items.
        alert: errors, and actions that cannot be undone.
        alert_ink: text on the alert colour.
        alert_tint: the background of a warning.
        good: successes.
        good_tint: the background of a success.
    """

    ground: str
    card: str
    well: str
    land: str
    line: str
    edge: str
    text: str
    muted: str
    accent: str
    accent_ink: str
    tint: str
    alert: str
    alert_ink: str
    alert_tint: str
    good: str
    good_tint: str


LIGHT = Palette(
    ground="#f4f5f2",
    card="#ffffff",
    well="#eef1ef",
    land="#d5ddd6",
    line="#dfe4e0",
    edge="#74807a",
    text="#1a211e",
    muted="#535e58",
    accent="#0b6b58",
    accent_ink="#ffffff",
    tint="#dcefe9",
    alert="#a8321f",
    alert_ink="#ffffff",
    alert_tint="#fbe6e1",
    good="#2b6a2f",
    good_tint="#e2f1e1",
)

DARK = Palette(
    ground="#111514",
    card="#1b211f",
    well="#252d2a",
    land="#3a4541",
    line="#323b37",
    edge="#8b9892",
    text="#eef2ef",
    muted="#abb7b1",
    accent="#68d3b8",
    accent_ink="#06251d",
    tint="#1f3b34",
    alert="#ff9d8a",
    alert_ink="#3a0b03",
    alert_tint="#43231d",
    good="#94d897",
    good_tint="#213a24",
)


def rgba(colour: str) -> tuple[float, float, float, float]:
    """Return red, green, blue and opacity (1) of "#rrggbb" as numbers from 0 to 1."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue, 1.0

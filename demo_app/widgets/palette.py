"""The current palette, as properties that kv rules and canvases follow.

``palette.accent`` in a kv rule is bound like any property, so a change of the palette redraws everything at once.

    #:import palette demo_app.widgets.palette.palette

The module theme defines the colours.
"""

from __future__ import annotations

from dataclasses import asdict

from kivy.event import EventDispatcher
from kivy.metrics import dp, sp
from kivy.properties import BooleanProperty, ColorProperty

from demo_app import theme


class CurrentPalette(EventDispatcher):
    """The colours of a palette by role, as (r, g, b, a), and the sizes in pixels of this display."""

    dark = BooleanProperty(False)
    ground = ColorProperty()
    card = ColorProperty()
    well = ColorProperty()
    land = ColorProperty()
    line = ColorProperty()
    edge = ColorProperty()
    text = ColorProperty()
    muted = ColorProperty()
    accent = ColorProperty()
    accent_ink = ColorProperty()
    tint = ColorProperty()
    alert = ColorProperty()
    alert_ink = ColorProperty()
    alert_tint = ColorProperty()
    good = ColorProperty()
    good_tint = ColorProperty()

    def use(self, colours: theme.Palette) -> None:
        """Switch every widget to another palette."""
        for role, colour in asdict(colours).items():
            setattr(self, role, theme.rgba(colour))
        # Widgets that draw themselves follow ``dark``, so it changes after all the colours.
        self.dark = colours is theme.DARK

    @property
    def touch(self) -> float:
        """The smallest size in pixels of a widget that can be touched."""
        return float(dp(theme.TOUCH))

    @property
    def hair(self) -> float:
        return float(dp(theme.HAIR))

    @property
    def tight(self) -> float:
        return float(dp(theme.TIGHT))

    @property
    def space(self) -> float:
        return float(dp(theme.SPACE))

    @property
    def wide(self) -> float:
        return float(dp(theme.WIDE))

    @property
    def radius(self) -> float:
        return float(dp(theme.RADIUS))

    @staticmethod
    def letters(role: str) -> float:
        """Return the text size of a role in pixels."""
        return float(sp(theme.TEXT_SIZES[role]))


palette = CurrentPalette()
palette.use(theme.LIGHT)

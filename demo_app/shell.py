"""The frame around every screen: the title bar, the screens, and the destinations; shell.kv has its layout.

The module app navigates between the screens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kivy.lang import Builder
from kivy.metrics import dp
from kivy.properties import BooleanProperty, ListProperty, ObjectProperty
from kivy.uix.boxlayout import BoxLayout
from kivy.uix.screenmanager import NoTransition, ScreenManager

from demo_app import theme
from demo_app.system.insets import insets
from demo_app.texts import say

DESTINATIONS = ("campaigns", "history", "outbox", "budget", "settings")
"""The screens that are destinations in the bar; a destination's sign has the name of its screen."""


class Screens(ScreenManager):
    """The manager of the screens. It accepts no touch while a task runs, so that no task is started twice."""

    busy = BooleanProperty(False)

    def on_touch_down(self, touch: Any) -> bool:
        if self.busy and self.collide_point(*touch.pos) and not touch.is_mouse_scrolling:
            return True
        return bool(super().on_touch_down(touch))


class Shell(BoxLayout):
    """The frame around every screen: the title bar, and the destinations below or at the side.

    Attributes:
        wide: True if the window is as wide as on a desktop.
        insets: pixels at the left, top, right and bottom that the system's bars and cameras cover.
    """

    wide = BooleanProperty(False)
    insets = ListProperty([0, 0, 0, 0])
    app = ObjectProperty(None)

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        self.ids.places.places = [(f"place:{name}", say(f"place.{name}"), name) for name in DESTINATIONS]
        self.ids.screens.transition = NoTransition()
        self.on_wide()

    def on_size(self, *_: object) -> None:
        self.wide = self.width >= dp(theme.BROAD_WINDOW)
        self.insets = insets()

    def on_wide(self, *_: object) -> None:
        """Place the destinations at the side of a wide window, and at the bottom of a narrow one."""
        places, column = self.ids.places, self.ids.column
        self.clear_widgets()
        for part in (places, column) if self.wide else (column, places):
            self.add_widget(part)


Builder.load_file(str(Path(__file__).with_name("shell.kv")))

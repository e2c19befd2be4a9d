"""The base classes of screens: the widgets of a screen, its title, and the loading of its content at a visit.

A screen that is opened is emptied and filled again. Going back to a screen does the same, unless the screen keeps the
person's input.

The module app lists the screens and navigates between them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kivy.clock import Clock
from kivy.metrics import dp
from kivy.properties import BooleanProperty, NumericProperty
from kivy.uix.screenmanager import Screen
from kivy.uix.widget import Widget

from demo_app.texts import say
from demo_app.widgets.actions import Action, Entry
from demo_app.widgets.boxes import Card, Column, Page
from demo_app.widgets.choice import Option
from demo_app.widgets.words import Words

if TYPE_CHECKING:
    from demo_app.app import HalftruthApp

FRAME_SECONDS = 0.008
"""Seconds for which a page makes widgets before it lets a frame be drawn."""


class AppScreen(Screen):
    """One screen.

    Attributes:
        app: the app, which runs the screen's tasks.
        destination: the name of the screen's destination in the bar.
        open: method of each subclass that loads and shows the content; called with the subject of the screen when the
            person opens it.
    """

    destination = "campaigns"
    open: Callable[..., None]

    def __init__(self, app: HalftruthApp, **properties: Any) -> None:
        self.app = app
        super().__init__(**properties)

    @property
    def title(self) -> str:
        """The title above the screen."""
        return say(f"{self.name}.title")

    def reopen(self, *arguments: Any) -> None:
        """Open the screen again; called when the person goes back to it. Subclasses may keep the person's input."""
        self.open(*arguments)


class PageScreen(AppScreen):
    """A screen that is one scrolling page.

    Attributes:
        filled: True once all widgets of the page exist.
    """

    filled = BooleanProperty(True)

    def __init__(self, app: HalftruthApp, **properties: Any) -> None:
        super().__init__(app, **properties)
        self.page = Page(name=f"{self.name}:page")
        self.add_widget(self.page)
        self._coming: Iterator[Widget | None] = iter(())
        self._more = Clock.create_trigger(self._continue, 0)

    def fill(self, widgets: Iterable[Widget | None]) -> None:
        """Show widgets from the top of the page; None is left out. Widgets far down are made some frames later."""
        self._more.cancel()
        self.page.clear_widgets()
        self.page.scroll_y = 1
        self._coming = iter(widgets)
        self.filled = False
        # Filling begins in the next frame, because opening the screen took the time of this one.
        self._more()

    def _continue(self, *_: object) -> None:
        until = time.perf_counter() + FRAME_SECONDS
        for widget in self._coming:
            if widget is not None:
                self.page.add_widget(widget)
            if time.perf_counter() > until:
                self._more()
                return
        self.filled = True


def card(*children: Widget | None, tone: str = "card", name: str = "") -> Card:
    """Return a card that contains the widgets; None is left out."""
    widget = Card(tone=tone, name=name)
    for child in children:
        if child is not None:
            widget.add_widget(child)
    return widget


def words(text: str, role: str = "body", colour: str = "text", name: str = "") -> Words:
    """Return a widget for a text."""
    return Words(text=text, role=role, colour=colour, name=name)


def action(name: str, text: str, do: Callable[[], object], kind: str = "filled", disabled: bool = False) -> Action:
    """Return a button that runs ``do``."""
    button = Action(name=name, text=text, kind=kind, disabled=disabled)
    button.bind(on_release=lambda _: do())
    return button


def entry(name: str, title: str, below: str, do: Callable[[], object], tone: str = "card") -> Entry:
    """Return a card that opens another screen."""
    widget = Entry(name=name, title=title, below=below, tone=tone)
    widget.bind(on_release=lambda _: do())
    return widget


class Choice(Column):
    """A few texts, one of which is chosen; all texts are visible at once, unlike in a long list.

    Attributes:
        chosen: the position of the chosen text; -1 for none.
    """

    chosen = NumericProperty(-1)

    def __init__(self, name: str, values: Sequence[str], chosen: int, do: Callable[[int], object]) -> None:
        super().__init__()
        self._do = do
        self._options = [
            Option(name=f"{name}:{place}", text=text, index=place, owner=self, size_hint_y=None)
            for place, text in enumerate(values)
        ]
        for option in self._options:
            option.children[0].bind(height=lambda _, high, option=option: self._fit(option, high))
            self._fit(option, 0)
            self.add_widget(option)
        self.chosen = chosen

    def _fit(self, option: Option, high: float) -> None:
        option.height = max(dp(56), high + dp(28))

    def press(self, place: int) -> None:
        """Choose the text at the pressed position."""
        self.chosen = place
        self._do(place)

    def on_chosen(self, *_: object) -> None:
        for option in self._options:
            option.chosen = option.index == self.chosen

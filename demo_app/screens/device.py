"""The screen of the device: the place of its secret, and the guarantees and limits of its store.

It shows the SDK's facts unchanged. They are for people who are asked for help, so they are not translated.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.screens.screen import PageScreen, card, words
from demo_app.texts import number, say


class DeviceScreen(PageScreen):
    """The screen of technical information."""

    destination = "settings"

    def open(self) -> None:
        self.app.do(lambda model: model.doctor(), self.show)

    def show(self, facts: dict[str, str | int]) -> None:
        """Fill the screen with the technical information."""
        self.fill(self._parts(facts))

    def _parts(self, facts: dict[str, str | int]) -> Iterator[Widget]:
        yield words(say("device.what"), colour="muted")
        for name, value in facts.items():
            yield card(words(name, "small", "muted"), words(value if isinstance(value, str) else number(value)))

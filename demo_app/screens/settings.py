"""The screen of settings: the language, light or dark, the screen lock, and forgetting everything.

It also leads to the trusted authors and to the technical information. Every choice takes effect at once. Forgetting
everything needs one touch and one confirmation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kivy.uix.widget import Widget

from demo_app.screens.screen import Choice, PageScreen, action, card, entry, words
from demo_app.settings import LOCKS, PALETTES
from demo_app.system.lock import has_lock
from demo_app.texts import LANGUAGES, language, say
from demo_app.widgets.dialogs import ask, show_notice


class SettingsScreen(PageScreen):
    destination = "settings"

    def open(self) -> None:
        self.fill(self._parts())

    def _parts(self) -> Iterator[Widget]:
        languages, palettes = list(LANGUAGES), [say(f"settings.{palette}") for palette in PALETTES]
        yield card(
            words(say("settings.language"), "title"),
            Choice("language", list(LANGUAGES.values()), languages.index(language()), self._speak),
        )
        yield card(
            words(say("settings.palette"), "title"),
            Choice("palette", palettes, PALETTES.index(self.app.settings.palette), self._choose_palette),
        )
        if has_lock():
            yield card(
                words(say("settings.lock"), "title"),
                words(say("settings.lock_how"), "small", "muted"),
                Choice(
                    "lock",
                    [say(f"settings.lock_{lock}") for lock in LOCKS],
                    LOCKS.index(self.app.settings.lock),
                    self._lock,
                ),
            )
        yield entry("authors", say("authors.title"), say("settings.authors_below"), lambda: self.app.go("authors"))
        yield entry("device", say("device.title"), say("settings.device_below"), lambda: self.app.go("device"))
        yield card(
            words(say("settings.forget"), "title"),
            words(say("forget.what"), colour="muted"),
            action("forget", say("forget.do"), self._forget, "alert"),
        )

    def _speak(self, place: int) -> None:
        self.app.change(replace(self.app.settings, language=list(LANGUAGES)[place]))

    def _choose_palette(self, place: int) -> None:
        self.app.change(replace(self.app.settings, palette=PALETTES[place]))

    def _lock(self, place: int) -> None:
        self.app.change(replace(self.app.settings, lock=LOCKS[place]))

    def _forget(self) -> None:
        ask(
            say("settings.forget_ask"),
            say("forget.what"),
            say("forget.do"),
            lambda: self.app.do(lambda model: model.forget(), self._forgotten),
            grave=True,
        )

    def _forgotten(self, _: object) -> None:
        show_notice(say("settings.forgotten"), "good")
        self.app.visit("campaigns")

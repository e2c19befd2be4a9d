"""The lock screen: the app shows nothing until the person has unlocked the phone again."""

from __future__ import annotations

from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.texts import say


class LockedScreen(PageScreen):
    """The app while it is locked."""

    def open(self) -> None:
        self.fill((card(words(say("locked.why"))), action("unlock", say("locked.unlock"), self.app.unlock)))

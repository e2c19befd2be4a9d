"""The screen of the authors whose campaigns are accepted.

A person should trust a key because they received it from somebody they trust, never because it came with a campaign.
"""

from __future__ import annotations

from collections.abc import Iterator

from kivy.uix.widget import Widget

from demo_app.content.authors import Author
from demo_app.screens.screen import PageScreen, action, card, words
from demo_app.texts import say, spaced_fingerprint
from demo_app.widgets.dialogs import ask
from demo_app.widgets.field import Field
from demo_app.widgets.words import Mono


class AuthorsScreen(PageScreen):
    """The screen with the authors' keys, and a field for another key."""

    destination = "settings"

    def open(self) -> None:
        self.app.do(lambda model: model.authors(), self.show)

    def show(self, authors: tuple[Author, ...]) -> None:
        """Fill the screen with the trusted authors, and a field for another key."""
        self._line = Field(name="line", label=say("authors.line"), hint="halftruth-public-key:…")
        self._line.bind(on_enter=lambda _: self._trust())
        self.fill(self._parts(authors))

    def _parts(self, authors: tuple[Author, ...]) -> Iterator[Widget]:
        yield words(say("authors.what"), colour="muted")
        if not authors:
            yield words(say("authors.none"), name="nobody")
        for author in authors:
            yield self._card(author)
        trust = action("trust", say("authors.trust"), self._trust)
        how = words(say("authors.more_how"), colour="muted")
        yield card(words(say("authors.more"), "title"), how, self._line, trust)

    def _card(self, author: Author) -> Widget:
        origin = say("authors.bundled") if author.bundled else say("authors.named")
        name = words(author.name, "title") if author.name else None
        author_card = card(name, Mono(text=spaced_fingerprint(author.fingerprint)), words(origin, "small", "muted"))
        if not author.bundled:
            remove = say("authors.remove")
            author_card.add_widget(
                action(f"remove:{author.fingerprint}", remove, lambda: self._remove(author), "outlined")
            )
        return author_card

    def _trust(self) -> None:
        line = self._line.text
        self.app.do(lambda model: model.trust(line), self.show)

    def _remove(self, author: Author) -> None:
        ask(
            say("authors.remove_title"),
            say("authors.remove_body"),
            say("authors.remove"),
            lambda: self.app.do(lambda model: model.distrust(author.public), self.show),
        )

"""The authors whose campaigns the owner of a store lets in, each with the name that the owner sees.

A key is trusted because the owner was handed it by somebody they trust. A campaign that came with a link is not enough:
its author is trusted for that campaign alone, whose row keeps the key.

What decides is the key. The name is for people.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from edge_sdk.store.sqlite import Store

if TYPE_CHECKING:  # loaded with the first key
    from protocol.keys import AuthorKey


MOST_KEY_BYTES = 1024
"""Longer files are not read to their end: no key's line is as long."""


class Authors:
    """The trusted authors of one store; writes join the caller's transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def all(self) -> list[AuthorKey]:
        """Return the keys, by name."""
        rows = self.store.rows("SELECT public, name FROM trusted ORDER BY name, public")
        if not rows:
            return []  # an app's first start pays for no key
        from protocol.keys import AuthorKey

        return [AuthorKey(public, name) for public, name in rows]

    def name(self, public: bytes) -> str:
        """Return the name of a trusted key; "" of one without a name, and of one that is not trusted."""
        row = self.store.row("SELECT name FROM trusted WHERE public = ?", public)
        return "" if row is None else str(row[0])

    def add(self, author: AuthorKey) -> None:
        """Trust a key from now on; of one that is trusted already, keep the new name."""
        self.store.execute("INSERT OR REPLACE INTO trusted VALUES (?, ?)", author.public, author.name)

    def remove(self, public: bytes) -> None:
        """Trust a key no more."""
        self.store.execute("DELETE FROM trusted WHERE public = ?", public)


def key_file(path: Path) -> AuthorKey:
    """The author's key of a file, with its name.

    Raises:
        KeyRefused: not a key's line.
        OSError: the file cannot be read.
    """
    from protocol.keys import AuthorKey

    with path.open("rb") as file:
        return AuthorKey.from_line(file.read(MOST_KEY_BYTES).decode("utf-8", "replace"))

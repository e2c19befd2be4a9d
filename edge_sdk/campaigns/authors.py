"""The authors whose campaigns the owner of a store accepts, each with a name to show.

The owner receives a key from somebody they trust. A link alone is not enough: the author of its campaign is trusted for
that campaign only, and the key is stored with the campaign.

Decisions depend on the key only; the name is shown to people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.store.sqlite import Store

# At run time, these are imported only with the first key.
if TYPE_CHECKING:
    from protocol.keys import AuthorKey


class Authors:
    """The trusted authors of one store; writes join the caller's transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def all(self) -> list[AuthorKey]:
        """Return the trusted keys, ordered by name."""
        rows = self.store.rows("SELECT public, name FROM trusted ORDER BY name, public")
        if not rows:
            # Return early, so that the first start of an app does not load the module of keys.
            return []
        from protocol.keys import AuthorKey

        return [AuthorKey(public, name) for public, name in rows]

    def name(self, public: bytes) -> str:
        """Return the name of a trusted key; "" if it has no name or is not trusted."""
        row = self.store.row("SELECT name FROM trusted WHERE public = ?", public)
        return "" if row is None else str(row[0])

    def add(self, author: AuthorKey) -> None:
        """Trust a key; if it is trusted already, replace its name."""
        self.store.execute("INSERT OR REPLACE INTO trusted VALUES (?, ?)", author.public, author.name)

    def remove(self, public: bytes) -> None:
        """Stop trusting a key."""
        self.store.execute("DELETE FROM trusted WHERE public = ?", public)

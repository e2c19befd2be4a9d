"""The authors whose campaigns a device accepts: those passed when it was opened, and those that its store keeps.

The module authors stores them, and membership checks the author when a campaign is joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.session import Session

# At run time, these are imported only with the first key.
if TYPE_CHECKING:
    from protocol.keys import AuthorKey


class Trust(Session):
    """The part of ``Device`` that manages trusted authors."""

    @property
    def trusted(self) -> list[AuthorKey]:
        """The authors whose campaigns may be joined: those passed to ``open``, then those that the store keeps."""
        authors = {author.public: author for author in (*self.records.authors.all(), *self._trust)}
        return list({author.public: authors[author.public] for author in (*self._trust, *authors.values())}.values())

    def trust_author(self, author: AuthorKey) -> None:
        """Trust an author permanently; a later name replaces an earlier one.

        Args:
            author: the author's key, and the name to show.
        """
        from protocol.keys import AuthorKey

        if not isinstance(author, AuthorKey):
            raise TypeError(f"an author must be an AuthorKey, not {type(author).__name__}")
        with self._store.transaction():
            self.records.authors.add(author)

    def distrust_author(self, public: bytes) -> None:
        """Stop trusting an author; joined campaigns stay joined.

        Args:
            public: the author's key, 32 bytes.
        """
        if not isinstance(public, bytes):
            raise TypeError(f"an author's key must be bytes, such as AuthorKey.public, not {type(public).__name__}")
        with self._store.transaction():
            self.records.authors.remove(public)

    def _name_of(self, public: bytes) -> str:
        """Return the name of a trusted author; "" if it has no name or is not trusted."""
        return next(
            (author.name for author in self._trust if author.public == public), ""
        ) or self.records.authors.name(public)

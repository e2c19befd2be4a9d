"""The authors whose campaigns a device lets in: those of the session, and those that its store keeps.

The rows: authors. The check when a campaign is joined: membership.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edge_sdk.session import Session

if TYPE_CHECKING:  # loaded with the first key
    from protocol.keys import AuthorKey


class Trust(Session):
    """The part of ``Device`` that manages trusted authors."""

    @property
    def trusted(self) -> list[AuthorKey]:
        """The authors whose campaigns may be joined: those of this session, then those that the store keeps."""
        kept = {author.public: author for author in (*self.records.authors.all(), *self._trust)}
        return list({author.public: kept[author.public] for author in (*self._trust, *kept.values())}.values())

    def trust_author(self, author: AuthorKey) -> None:
        """Let in campaigns of an author from now on, in every session; a later name takes the place of an earlier one.

        Args:
            author: the key, as the owner was handed it, and the name that is shown.
        """
        with self._store.transaction():
            self.records.authors.add(author)

    def distrust_author(self, public: bytes) -> None:
        """Let in no more campaigns of an author; what is joined stays joined.

        Args:
            public: the author's key, 32 bytes.
        """
        with self._store.transaction():
            self.records.authors.remove(public)

    def _name_of(self, public: bytes) -> str:
        """The name of a trusted author; "" of one that has none, or is not trusted."""
        return next((one.name for one in self._trust if one.public == public), "") or self.records.authors.name(public)

"""What a store calls in whoever follows its rows from outside the database.

The store calls these in its transactions and knows nothing of who answers. Who does: rollback/checkpointing.
"""

from __future__ import annotations

from typing import Protocol


class Hooks(Protocol):
    """Follows one open store."""

    def before_commit(self) -> None:
        """The transaction is complete; what is written now is part of it, and what is raised undoes it."""

    def committed(self) -> None:
        """The transaction is on the disk.

        Raises:
            StoreRestored
        """

    def undone(self) -> None:
        """The transaction was rolled back."""

    def compacted(self) -> None:
        """The database has no deleted byte any more: leave none outside it either.

        Raises:
            StoreError: old bytes may be there still.
        """

    def say(self) -> dict[str, str]:
        """Lines for ``doctor``, by name.

        Raises:
            StoreError
        """

"""The callbacks by which other modules follow changes of a store's rows.

The store calls them in its transactions. The implementation: rollback/checkpointing.
"""

from __future__ import annotations

from typing import Protocol


class Hooks(Protocol):
    """Callbacks of one open store."""

    def before_commit(self) -> None:
        """Called before the commit: rows written here are part of the transaction, and an exception undoes it."""

    def committed(self) -> None:
        """Called after the transaction is on the disk.

        Raises:
            StoreRestored
        """

    def undone(self) -> None:
        """Called after the transaction was rolled back."""

    def compacted(self) -> None:
        """Called after deleted bytes were erased from the database: erase them outside of it too.

        Raises:
            StoreError: old bytes may be there still.
        """

    def describe(self) -> dict[str, str]:
        """Return lines for ``doctor``, by name.

        Raises:
            StoreError
        """

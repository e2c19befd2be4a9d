"""The callbacks by which other modules follow changes of a store's rows.

The store calls them in its transactions. The implementation: rollback/checkpointing.
"""

from __future__ import annotations

from typing import Protocol


class Hooks(Protocol):
    """Callbacks of one open store."""

    def before_commit(self) -> None:
        """Write rows before a commit; they are part of the transaction, and an exception undoes it."""

    def committed(self) -> None:
        """Follow a transaction that is on the disk.

        Raises:
            StoreRestored
        """

    def undone(self) -> None:
        """Discard the changes of a transaction that was rolled back."""

    def compacted(self) -> None:
        """Erase deleted bytes outside of the database too, after they were erased in it.

        Raises:
            StoreError: some old bytes may still exist.
        """

    def describe(self) -> dict[str, str]:
        """Return lines for ``doctor``, by name.

        Raises:
            StoreError
        """

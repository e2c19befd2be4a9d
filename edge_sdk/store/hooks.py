"""The callbacks by which other modules follow changes of a store's rows.

The store calls them in its transactions; rollback/checkpointing implements them.
"""

from __future__ import annotations

from typing import Protocol


class Hooks(Protocol):
    """The callbacks of one open store."""

    def before_commit(self) -> None:
        """Write rows before a commit; they are part of the transaction, which an exception undoes."""

    def after_commit(self) -> None:
        """Update records outside the database, after a transaction is on the disk.

        Raises:
            StoreRestored: this store is an old copy.
        """

    def after_rollback(self) -> None:
        """Discard the changes of a transaction that was rolled back."""

    def after_compaction(self) -> None:
        """Erase deleted bytes outside the database, after they were erased in the database.

        Raises:
            StoreError: some old bytes may still exist.
        """

    def describe(self) -> dict[str, str]:
        """Return facts for ``doctor``, by a short description.

        Raises:
            StoreError, OSError: the key store cannot be read now.
        """

"""The watch: keeps a store's mark, inside it and beside it, up to its ledger.

One idea: the mark moves on after each commit that touched the ledger, before anybody is told of the commit. So a store
may be ahead of its mark by what a crash cut off, and a store that is behind its mark is an old one. A mark that cannot
be written undoes nothing, since the charge is on the disk and the report belongs to it: the mark is brought up with the
next one, or when the store is opened again, and until then ``doctor`` says so.

What a mark is: mark. Who keeps it: keeper. What it is compared with when a store is opened: identity.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

from edge_sdk.budget import Cap
from edge_sdk.errors import StoreError, StoreRestored
from edge_sdk.explain import advice, not_written
from edge_sdk.instance import Instance
from edge_sdk.keeper import Keeper
from edge_sdk.mark import Mark, Row

if TYPE_CHECKING:
    from edge_sdk.store import Store

MARK = "mark"
"""The setting in which the store keeps it."""


class Watch:
    """Follows the ledger of one open store; what is said to be counted is part of the caller's transaction.

    Attributes:
        trouble: why the mark beside the store is behind; empty where it is not.
    """

    def __init__(self, store: Store, keeper: Keeper, instance: Instance) -> None:
        self.trouble = ""
        self._store = store
        self._keeper = keeper
        self._instance = instance
        self._moved: Mark | None = None  # where the ledger of this transaction is

    @property
    def mark(self) -> Mark:
        """The one written with the ledger's latest row.

        Raises:
            StoreDamaged
        """
        return self._moved or written(self._store)

    def follow(self, row: Row) -> None:
        """Count a row added to the ledger."""
        self._write(self.mark.after(row))

    def refollow(self) -> None:
        """Count that rows of the ledger were deleted, if any were."""
        before = self.mark
        now = counted(self._store, before.store, before.sequence + 1)
        if now.head != before.head:
            self._write(now)

    def follow_caps(self) -> None:
        """Count that caps changed, if any did.

        Raises:
            ValueError: more caps than a device keeps.
        """
        before, caps = self.mark, _caps(self._store)
        if caps != before.caps:
            self._write(replace(before, sequence=before.sequence + 1, caps=caps))

    def undone(self) -> None:
        """The transaction is rolled back."""
        self._moved = None

    def committed(self) -> None:
        """The transaction is on the disk.

        Raises:
            StoreRestored
        """
        if self._moved is not None:
            self._moved = None  # another process may have gone on by now
            self.move()

    def move(self, alone: bool = False) -> None:
        """Bring the keeper's mark up to what is committed, under the lock that whoever commits needs, so that an older
        mark never takes the place of a newer one.

        Args:
            alone: leave no byte of an earlier mark.
        Raises:
            StoreRestored: the mark is further, so this is not the store that it belongs to any more.
        """
        try:
            with self._store.locked():
                self._keeper.keep_mark(self.mark, alone)
        except StoreRestored:
            raise
        except sqlite3.Error as error:
            self.trouble = advice(error, self._store.folder)
        except (OSError, StoreError) as error:
            self.trouble = f"it cannot be written: {getattr(error, 'strerror', None) or error}"
        else:
            self.trouble = ""

    def say(self) -> dict[str, str]:
        """What keeps an older state or a copy of this store from being taken for it, and what cannot be known.

        Raises:
            StoreError: the keeper cannot be asked now.
        """
        keeper, instance = self._keeper, self._instance
        places = " and ".join(keeper.marks())
        return {
            "keeper": keeper.name,
            "device secret": keeper.say(),
            "mark": places + (f"; behind, because {self.trouble}" if self.trouble else ""),
            "machine": "known: a store copied to another one is refused"
            if instance.knows_machine
            else "cannot be known here: a store copied to another one is refused only if its files tell",
            "copies of the files": "known: a folder copied, or restored as new files, is refused"
            if instance.knows_copy
            else "cannot be known in this file system: a folder and its mark copied together cannot be noticed",
            "rollback": "a database older than its mark, or without it, is refused; "
            + (
                f"a folder restored as a whole too, by {keeper.elsewhere}"
                if keeper.elsewhere
                else "a folder restored byte by byte into the same files cannot be noticed: keep a second mark "
                "elsewhere (--mark), or leave the folder out of backups"
            ),
            "image": "a whole disk or system restored from an image cannot be noticed",
        }

    def _write(self, mark: Mark) -> None:
        self._store.set(MARK, mark.encode())
        self._moved = mark


def written(store: Store) -> Mark:
    """The mark in the store.

    Raises:
        StoreDamaged
    """
    found = store.setting(MARK)
    mark = Mark.decode(found) if isinstance(found, bytes) else None
    if mark is None:
        raise not_written(store.folder)
    return mark


def counted(store: Store, fingerprint: bytes, sequence: int) -> Mark:
    """The mark of the rows that there are.

    Raises:
        StoreDamaged: no ledger has such rows.
    """
    rows = store.rows("SELECT time, campaign, kind, nanonats FROM ledger ORDER BY number")
    try:
        return Mark.of(fingerprint, sequence, rows, _caps(store))
    except ValueError:
        raise not_written(store.folder) from None


def _caps(store: Store) -> tuple[Cap, ...]:
    return tuple(Cap(*row) for row in store.rows("SELECT kind, seconds, nanonats FROM cap ORDER BY kind, seconds"))

"""The keeper: where a device's secret and its mark are kept.

One idea: what makes a device one device, its secret, and what makes its past one past, its mark, are kept by somebody
other than the database, who may be as good as the machine has: a file, the desktop's keyring, the phone's Keystore.
Every keeper says in one line what it does not protect from.

When a secret is made: identity. When a mark moves on: watch. The other two keepers: keyring_keeper, android_keeper.
"""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from edge_sdk.errors import StoreError, StoreRestored
from edge_sdk.mark import MOST_BYTES, Mark
from edge_sdk.store import SECRET_FILE, write_durably

MARK_FILE, WRAPPED_FILE = "device.mark", "device.wrapped"
SLOT_BYTES = 4096
"""One slot of a mark's file: a page of the disk, so that writing one cannot tear the other."""
FLUSH = getattr(os, "fdatasync", os.fsync)  # the file never grows, so its data are all that is to be flushed


class Keeper(ABC):
    """Keeps one device's secret and mark. An app may bring its own: a name of its own, and these methods.

    Attributes:
        name: the kind of keeper.
        address: how the store remembers which keeper it was made with; begins with the name.
        files: of the store's folder, those that this keeper made and that keep their inode.
        elsewhere: what is kept outside the folder and notices that the folder was restored; empty where nothing is.
    """

    name: ClassVar[str]
    files: tuple[Path, ...] = ()
    elsewhere: str = ""

    @property
    def address(self) -> str:
        """The name, and after a blank what else finds it again."""
        return self.name

    @abstractmethod
    def secret(self) -> bytes | None:
        """The secret; None where there is none.

        Raises:
            StoreRestored: there is one, and it cannot be read on this machine any more.
            StoreError, OSError: it cannot be read now.
        """

    @abstractmethod
    def keep_secret(self, secret: bytes) -> None:
        """Keep the secret, whole or not at all.

        Raises:
            StoreError, OSError: it is not kept.
        """

    @abstractmethod
    def marks(self) -> dict[str, Mark | None]:
        """The mark, by each place it is kept in; None where there is none that can be read.

        Raises:
            StoreError, OSError: a place cannot be read now.
        """

    @abstractmethod
    def keep_mark(self, mark: Mark, alone: bool = False) -> None:
        """Keep ``mark`` in every place, on the disk when this returns; a crash leaves it or the one before.

        Args:
            alone: leave no byte of an earlier mark, nor another store's, and make the place where there is none.
        Raises:
            StoreRestored: it would go back, or take another store's place (``require_later``); nothing is kept.
            StoreError, OSError: it may not be in every place.
        """

    @abstractmethod
    def say(self) -> str:
        """One line: where the secret is, what protects it, and what it is not protected from."""


class FileKeeper(Keeper):
    """Files of the store's folder that only the owner can read, and a second mark elsewhere if one is named.

        folder/device.secret     32 bytes
        folder/device.mark       two slots of 4,096 bytes, written in turn: a torn write leaves the other

    A mark's file is as long on its first day as on its last, so a full disk does not stop it (but on btrfs and zfs,
    where every write takes new room).
    """

    name = "file"

    def __init__(self, folder: str | os.PathLike[str], outside: str | os.PathLike[str] | None = None) -> None:
        """Keep them in ``folder``, and a copy of the mark in the file ``outside``, if it is named.

        Args:
            outside: in another folder, best on another disk, that is not saved and restored together with this one.
        """
        self.folder = Path(folder)
        self.outside = None if outside is None else Path(outside).absolute()
        self.files = (self.folder / MARK_FILE,)
        self.elsewhere = "" if self.outside is None else f"the mark in {self.outside}"

    @property
    def address(self) -> str:
        """With the second mark's path."""
        return self.name if self.outside is None else f"{self.name} {self.outside}"

    def secret(self) -> bytes | None:
        """The bytes of ``device.secret``."""
        path = self.folder / SECRET_FILE
        return path.read_bytes() if path.exists() else None

    def keep_secret(self, secret: bytes) -> None:
        """Write ``device.secret``."""
        write_durably(self.folder / SECRET_FILE, secret)

    def marks(self) -> dict[str, Mark | None]:
        """By path; of the two slots, the one that came later."""
        return {str(path): _kept(path) for path in self._paths}

    def keep_mark(self, mark: Mark, alone: bool = False) -> None:
        """Write the slot that is older, or both."""
        first: OSError | None = None
        for path in self._paths:  # a second place that is away for a while keeps no mark from the first
            try:
                _keep(path, mark, alone)
            except OSError as error:
                first = first or error
        if first is not None:
            raise first

    def say(self) -> str:
        """A plain file, and what it is protected by."""
        return f"a plain file, {self.folder / SECRET_FILE}: protected by its mode, not encrypted"

    @property
    def _paths(self) -> tuple[Path, ...]:
        return (*self.files, *(() if self.outside is None else (self.outside,)))


def require_later(mark: Mark, kept: Mark | None, where: str, alone: bool = False) -> None:
    """Return if ``mark`` may take the place of ``kept``, which is in ``where``.

    Raises:
        StoreRestored
    """
    if kept is None:
        return
    if kept.store == mark.store and not mark.follows(kept):
        raise StoreRestored(
            f"this store is an older state of itself than the mark in {where}: put the latest one back; or adopt it, "
            "and what was reserved counts as spent"
        )
    if kept.store != mark.store and kept.sequence and not alone:
        raise StoreRestored(
            f"{where} has the mark of another store: name another place for this one's; or, if it was this one's "
            "before, adopt the store"
        )


def keeper_of(address: str, folder: Path) -> Keeper:
    """The keeper of a store in ``folder`` that was made with one of this address.

    Raises:
        StoreError: a keeper that this package does not bring.
    """
    name, _, place = address.partition(" ")
    if name == "file":
        return FileKeeper(folder, place or None)
    if name == "keyring":
        from edge_sdk.keyring_keeper import KeyringKeeper

        return KeyringKeeper(place)
    if name == "android":
        from edge_sdk.android_keeper import AndroidKeeper

        return AndroidKeeper(folder)
    raise StoreError(f"the secret of the store in {folder} is kept by {name!r}: open it with that keeper")


def usual_keeper(folder: Path) -> Keeper:
    """The keeper of a store that does not say: by what is left in the folder; of a new one, the Keystore on Android,
    elsewhere a file.

    A keyring is used only when it is asked for, even where there is one: it is locked until somebody logs in, a cron
    job has none, and whether the ``keyring`` package happens to be installed must not decide where a secret is.
    """
    new = not (folder / SECRET_FILE).exists()
    wrapped = (folder / WRAPPED_FILE).exists() or (new and "ANDROID_ARGUMENT" in os.environ)
    return keeper_of("android" if wrapped else "file", folder)


def _slots(descriptor: int) -> list[Mark | None]:
    """What the two slots hold."""
    slots = []
    for start in (0, SLOT_BYTES):
        os.lseek(descriptor, start, os.SEEK_SET)
        slots.append(Mark.decode(os.read(descriptor, MOST_BYTES)))
    return slots


def _newest(slots: list[Mark | None]) -> Mark | None:
    return max((mark for mark in slots if mark), key=lambda mark: mark.sequence, default=None)


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    """A descriptor: there is one mark for every commit, and Python's files take as long to open as to write."""
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _kept(path: Path) -> Mark | None:
    try:
        with _opened(path, os.O_RDONLY) as descriptor:
            return _newest(_slots(descriptor))
    except FileNotFoundError:
        return None


def _keep(path: Path, mark: Mark, alone: bool) -> None:
    slot = mark.encode().ljust(SLOT_BYTES, b"\0")
    if alone and not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_durably(path, 2 * slot)
        return
    with _opened(path, os.O_RDWR) as descriptor:
        slots = _slots(descriptor)
        newest = _newest(slots)
        require_later(mark, newest, str(path), alone)
        if newest == mark and not alone:
            return
        older = 0 if newest is None or slots[1] == newest else 1
        for place in (older, 1 - older) if alone else (older,):
            os.lseek(descriptor, place * SLOT_BYTES, os.SEEK_SET)
            os.write(descriptor, slot)
            FLUSH(descriptor)

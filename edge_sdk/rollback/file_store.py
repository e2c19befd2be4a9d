"""The file key store: secret and checkpoint in files of the store's folder, optionally a second checkpoint elsewhere.

The module key_store defines the interface.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

from edge_sdk.rollback.checkpoint import MAX_CHECKPOINT_BYTES, Checkpoint
from edge_sdk.rollback.key_store import CHECKPOINT_FILE, SECRET_FILE, KeyStore, require_later
from edge_sdk.store.files import write_durably

RECORD_BYTES = 4096
"""Length of one record of the checkpoint in its file: a page of the disk, so that a torn write damages one record."""
# fdatasync suffices, because the file never grows.
FLUSH = getattr(os, "fdatasync", os.fsync)


class FileKeyStore(KeyStore):
    """A key store in files of the store's folder that only the owner can read, with an optional second checkpoint
    elsewhere.

        folder/device.secret       32 bytes
        folder/device.checkpoint   two records of 4,096 bytes, the last two checkpoints, written in turn, so a
                                   torn write leaves one

    The length of a checkpoint's file never changes, so a full disk does not stop a write (except on btrfs and zfs,
    where every write takes new space).
    """

    name = "file"

    def __init__(self, folder: str | os.PathLike[str], outside: str | os.PathLike[str] | None = None) -> None:
        """Use files in ``folder``, and a second file with the checkpoint in the file ``outside`` if it is named.

        Args:
            folder: the store's folder.
            outside: a file that is not backed up and restored together with the folder, best on another disk.
        """
        self.folder = Path(folder)
        self.outside = None if outside is None else Path(outside).absolute()
        self.files = (self.folder / CHECKPOINT_FILE,)
        self.elsewhere = "" if self.outside is None else f"the checkpoint in {self.outside}"
        # Each write reads both records first, which are the last two checkpoints. Their bytes are compared, which is
        # faster than decoding them.
        self._recent: deque[Checkpoint] = deque(maxlen=2)

    @property
    def location(self) -> str:
        """The key store's name and, if there is one, the path of the second checkpoint."""
        return self.name if self.outside is None else f"{self.name} {self.outside}"

    def secret(self) -> bytes | None:
        """Return the bytes of ``device.secret``.

        Returns:
            32 bytes; None before the file is written.
        """
        path = self.folder / SECRET_FILE
        return path.read_bytes() if path.exists() else None

    def keep_secret(self, secret: bytes) -> None:
        """Write ``device.secret``.

        Args:
            secret: 32 bytes.
        """
        write_durably(self.folder / SECRET_FILE, secret)

    def checkpoints(self) -> dict[str, Checkpoint | None]:
        """Return the checkpoint of each file: the later one of its two records.

        Returns:
            The later checkpoint by path; None if no record can be read.
        """
        return {str(path): self._checkpoint_in(path) for path in self._paths}

    def keep_checkpoint(self, checkpoint: Checkpoint, erase_earlier: bool = False) -> None:
        """Write the checkpoint over the older record, or over both records.

        Args:
            checkpoint: the latest state of the ledger.
            erase_earlier: overwrite both records, so that no earlier checkpoint is left.
        """
        first: OSError | None = None
        # If the second place is not mounted, the first one must still be written, so an error does not end the loop.
        for path in self._paths:
            try:
                self._keep(path, checkpoint, erase_earlier)
            except OSError as error:
                first = first or error
        self._recent.append(checkpoint)
        if first is not None:
            raise first

    def describe(self) -> str:
        """Return a text about the protection of the secret.

        Returns:
            One line for the owner.
        """
        return f"a plain file, {self.folder / SECRET_FILE}: protected by its mode, not encrypted"

    @property
    def _paths(self) -> tuple[Path, ...]:
        return (*self.files, *(() if self.outside is None else (self.outside,)))

    def _checkpoint_in(self, path: Path) -> Checkpoint | None:
        """Return the checkpoint in a file; None if the file is missing or none of its records can be decoded."""
        try:
            descriptor = _open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            return _newest(self._records(descriptor))
        finally:
            os.close(descriptor)

    def _keep(self, path: Path, checkpoint: Checkpoint, erase_earlier: bool) -> None:
        record = checkpoint.record.ljust(RECORD_BYTES, b"\0")
        if erase_earlier and not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_durably(path, 2 * record)
            return
        descriptor = _open(path, os.O_RDWR)
        try:
            records = self._records(descriptor)
            newest = _newest(records)
            require_later(checkpoint, newest, str(path), erase_earlier)
            if newest == checkpoint and not erase_earlier:
                return
            older = 0 if newest is None or records[1] == newest else 1
            for place in (older, 1 - older) if erase_earlier else (older,):
                os.lseek(descriptor, place * RECORD_BYTES, os.SEEK_SET)
                os.write(descriptor, record)
                FLUSH(descriptor)
        finally:
            os.close(descriptor)

    def _records(self, descriptor: int) -> list[Checkpoint | None]:
        """Return the two records of the checkpoint in an open file; None for a record that cannot be decoded."""
        data = os.read(descriptor, RECORD_BYTES + MAX_CHECKPOINT_BYTES)
        return [self._decoded(data), self._decoded(data[RECORD_BYTES:])]

    def _decoded(self, record: bytes) -> Checkpoint | None:
        for recent in self._recent:
            if record.startswith(recent.record):
                return recent
        return Checkpoint.decode(record)


def _newest(records: list[Checkpoint | None]) -> Checkpoint | None:
    """Return the later of two records of the checkpoint; None if both are None."""
    first, second = records
    return first if first and (second is None or first.sequence >= second.sequence) else second


def _open(path: Path, flags: int) -> int:
    """Open a file and return its descriptor; opening a Python file object takes as long as writing a checkpoint."""
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))

"""A simulated power failure: the folder that is left if the disk contains synced data only.

A file keeps its contents at the last sync, and a folder its names at the last sync. Writes that the system may have
done without a sync are assumed to be lost.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


class Disk:
    """A record of everything synced to the disk, from the moment its ``fsync`` replaces ``os.fsync``."""

    def __init__(self, monkeypatch):
        self.files: dict[int, bytes] = {}
        self.folders: dict[int, dict[str, int]] = {}
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, descriptor: int) -> None:
        """Sync a file or a folder to the disk, and record its state."""
        self._fsync(descriptor)
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(descriptor) as entries:
                self.folders[found.st_ino] = {entry.name: entry.inode() for entry in entries}
        else:
            again = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
            self.files[found.st_ino] = os.pread(again, found.st_size, 0)
            os.close(again)

    def survives(self, path: Path) -> bool:
        """Return True if the name of a path is in the last synced state of its folder."""
        return path.name in self.folders.get(path.parent.stat().st_ino, {})

    def left_of(self, folder: Path, out: Path) -> Path:
        """Write to ``out`` the contents of ``folder`` after a power failure, and return ``out``."""
        self._write(folder.stat().st_ino, out)
        return out

    def _write(self, inode: int, out: Path) -> None:
        if inode in self.files:
            out.write_bytes(self.files[inode])
        elif inode in self.folders:
            out.mkdir()
            for name, held in self.folders[inode].items():
                self._write(held, out / name)
        else:
            out.write_bytes(b"")  # the file's name survives the power failure, its contents do not

"""A power failure, simulated: what is left of a folder if nothing is on the disk but what was brought there.

Of a file that is what it held when it was last synced; of a folder the names that it held when it was. What a system
may have written by itself is taken to be lost.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


class Disk:
    """Remembers what was brought to the disk, from the moment it takes the place of ``os.fsync``."""

    def __init__(self, monkeypatch):
        self.files: dict[int, bytes] = {}
        self.folders: dict[int, dict[str, int]] = {}
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, descriptor: int) -> None:
        """Bring a file or a folder to the disk, and remember it."""
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
        """Whether a name is still there after a power failure, in the folder that it is in."""
        return path.name in self.folders.get(path.parent.stat().st_ino, {})

    def left_of(self, folder: Path, out: Path) -> Path:
        """Write to ``out`` what is left of a folder, and return it."""
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
            out.write_bytes(b"")  # the name is there, and nothing that it held

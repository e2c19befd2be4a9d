"""The instance: which machine a store lives on, and which copy of the store it is.

A machine has a number that its copies do not have, and so has a file: the inode, with the generation that says which of
its lives the inode is in. Both are only compared with what they were, under a hash that the device's secret keys, so
that they name nobody's machine. What a machine does not tell is left out and said, never guessed.

When a store is refused for it: store_identity.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

Machine = Callable[[], bytes]
"""What tells this machine from any other; no bytes where nothing does."""

Mounts = list[tuple[str, str]]
"""(mount point, type), in the order they were mounted."""

PART_BYTES = 16
STABLE = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "overlay"}
"""File systems of Linux in which a file keeps its inode for life. vfat, network shares and FUSE make them up."""
MACHINE_ID = "/etc/machine-id"
SERIALS = ("/proc/device-tree/serial-number", "/sys/firmware/devicetree/base/serial-number")
MOUNTS = "/proc/self/mountinfo"
_UNKNOWN = bytes(PART_BYTES)


@dataclass(frozen=True)
class HostIdentity:
    """Where a store lives: two fingerprints of 16 bytes, each zero where it cannot be known."""

    machine: bytes = _UNKNOWN
    copy: bytes = _UNKNOWN

    @classmethod
    def of(cls, secret: bytes, database: Path, files: Iterable[Path], machine: Machine) -> HostIdentity:
        """Of the store that has this secret, this database, and these files beside it.

        The database is not opened for it: closing a file gives up all locks that the process has on it, SQLite's too.

        Raises:
            OSError: a file is not there.
        """
        mounts = _mounts()
        inodes = [_inode(database, mounts)]
        inodes += [number and number + _generation(path) for path in files for number in [_inode(path, mounts)]]
        copy = b"".join(inodes) if all(inodes) else b""
        return cls(*(_part(secret, name, found) for name, found in (("machine", machine()), ("copy", copy))))

    @classmethod
    def decode(cls, data: bytes) -> HostIdentity:
        """From ``bytes(instance)``."""
        return cls(data[:PART_BYTES], data[PART_BYTES:])

    def __bytes__(self) -> bytes:
        return self.machine + self.copy

    @property
    def knows_machine(self) -> bool:
        """Whether the machine tells who it is."""
        return self.machine != _UNKNOWN

    @property
    def knows_copy(self) -> bool:
        """Whether the file system tells a file from its copy."""
        return self.copy != _UNKNOWN

    def moved_to(self, now: HostIdentity) -> bool:
        """Whether the store that lived here and is at ``now`` is a copy. What was unknown here cannot be missed."""
        return (self.knows_machine and self.machine != now.machine) or (self.knows_copy and self.copy != now.copy)


def this_machine() -> bytes:
    """The number that the system was given when it was installed, and the board's; no bytes where there is neither."""
    if "ANDROID_ARGUMENT" in os.environ:
        return b""  # apps are told no number that outlasts them, and a wrapping key in the Keystore serves better
    if os.name == "nt":
        return _windows_machine()
    # A system on a read-only disk is given a number for this boot only, mounted over the file.
    lasting = MACHINE_ID not in (point for point, _ in _mounts())
    return b"\n".join(found for found in (_text(MACHINE_ID) if lasting else b"", *map(_text, SERIALS)) if found)


def _part(secret: bytes, name: str, found: bytes) -> bytes:
    if not found:
        return _UNKNOWN
    return sha256(b"halftruth/1/instance/" + name.encode() + secret + found).digest()[:PART_BYTES]


def _text(path: str) -> bytes:
    try:
        found = Path(path).read_bytes().strip(b" \n\0")
    except OSError:
        return b""
    return b"" if found == b"uninitialized" else found


def _inode(path: Path, mounts: Mounts) -> bytes:
    """The file's number, where it keeps it for life; no bytes where it does not."""
    if os.name == "nt":
        lasting = _windows_file_system(path) == "NTFS"
    else:
        lasting = sys.platform == "darwin" or _file_system(path.resolve(), mounts) in STABLE
    if not lasting:
        return b""
    return path.stat().st_ino.to_bytes(16, "big")


def _generation(path: Path) -> bytes:
    """A number that an inode is given whenever it becomes another file; no bytes where the file system has none.

    An inode is soon used again: what replaces a file that was deleted often has its number.
    """
    if not sys.platform.startswith("linux"):
        return b""
    import fcntl

    size = struct.calcsize("l")
    asked = 2 << 30 | size << 16 | ord("v") << 8 | 1  # FS_IOC_GETVERSION, see ioctl_iflags(2) and linux/fs.h
    try:
        with path.open("rb") as file:
            answer = fcntl.ioctl(file.fileno(), asked, bytes(size))
    except OSError:
        return b""
    return answer[:4]  # the kernel writes an int, whatever the request says


def _file_system(path: Path, mounts: Mounts) -> str:
    """The type of the file system that ``path`` is in; empty where the system does not say."""
    above = {str(folder) for folder in path.parents}
    found, longest = "", -1
    for point, kind in mounts:
        if point in above and len(point) >= longest:  # of two at one point, the later covers the earlier
            found, longest = kind, len(point)
    return found


def _mounts() -> Mounts:
    """What is mounted; see proc(5), mountinfo."""
    mounts = []
    for line in _text(MOUNTS).decode("utf-8", "surrogateescape").splitlines():
        fields, _, rest = line.partition(" - ")
        point = fields.split(" ", 5)[4]
        if "\\" in point:
            point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)
        mounts.append((point, rest.split(" ")[0]))
    return mounts


def _windows_machine() -> bytes:
    if sys.platform == "win32":
        import winreg

        with winreg.OpenKey(
            winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Cryptography", 0, winreg.KEY_READ | winreg.KEY_WOW64_64KEY
        ) as key:
            return str(winreg.QueryValueEx(key, "MachineGuid")[0]).encode()
    return b""


def _windows_file_system(path: Path) -> str:
    if sys.platform == "win32":
        import ctypes

        name = ctypes.create_unicode_buffer(64)
        root = path.resolve().anchor
        if ctypes.windll.kernel32.GetVolumeInformationW(root, None, 0, None, None, None, name, len(name)):
            return name.value
    return ""

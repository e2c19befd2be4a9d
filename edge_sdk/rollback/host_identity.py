"""Identify the machine that a store is on, and detect copies of the store's files.

A machine is identified by its installation id and its board's serial number, and a file by its inode number and,
except for the database, the inode's generation. Both identifiers are stored only as hashes keyed with the device's
secret, so they do not identify the machine to others. A missing identifier is left out and reported, never guessed.

The module store_identity refuses a store that was moved or copied.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

Mounts = list[tuple[str, str]]
"""(mount point, type), in the order they were mounted."""

PART_BYTES = 16
STABLE = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "overlay"}
"""Linux file systems in which a file keeps its inode number; vfat, network shares and FUSE invent inode numbers."""
MACHINE_ID = "/etc/machine-id"
SERIALS = ("/proc/device-tree/serial-number", "/sys/firmware/devicetree/base/serial-number")
MOUNTS = "/proc/self/mountinfo"
_UNKNOWN = bytes(PART_BYTES)


@dataclass(frozen=True)
class HostIdentity:
    """The host identity of a store: the hashes of its machine and of its files, 16 bytes each; 16 zero bytes if
    unknown."""

    machine: bytes = _UNKNOWN
    files: bytes = _UNKNOWN

    @classmethod
    def of(cls, secret: bytes, database: Path, files: Iterable[Path]) -> HostIdentity:
        """Return the identity of a store from its secret, its database, and the files of its key store.

        The database is not opened, because closing a file releases all locks that the process has on the file,
        including SQLite's.

        Raises:
            OSError: a file is missing.
        """
        mounts = _mounts()
        inodes = [_inode(database, mounts)]
        inodes += [number and number + _generation(path) for path in files for number in [_inode(path, mounts)]]
        numbers = b"".join(inodes) if all(inodes) else b""
        # Stores contain these hashes, so the label "copy" cannot change.
        return cls(_part(secret, "machine", this_machine()), _part(secret, "copy", numbers))

    @classmethod
    def decode(cls, data: bytes) -> HostIdentity:
        """Return the identity that ``bytes(identity)`` encodes."""
        return cls(data[:PART_BYTES], data[PART_BYTES:])

    def __bytes__(self) -> bytes:
        return self.machine + self.files

    @property
    def identifies_machine(self) -> bool:
        """True if the machine has an identifier."""
        return self.machine != _UNKNOWN

    @property
    def detects_copies(self) -> bool:
        """True if the file system distinguishes a file from a copy of it."""
        return self.files != _UNKNOWN

    def moved_to(self, now: HostIdentity) -> bool:
        """Return whether a store was moved or copied, if this is its recorded identity and ``now`` its current one.

        A part that was unknown when it was recorded is not compared. A recorded part whose current value is unknown
        counts as different.
        """
        other_machine = self.identifies_machine and self.machine != now.machine
        return other_machine or (self.detects_copies and self.files != now.files)


def this_machine() -> bytes:
    """Return the system's installation id and the board's serial number; b"" on Android, and if neither exists."""
    if "ANDROID_ARGUMENT" in os.environ:
        # Android gives apps no permanent identifier; a wrapping key in the Keystore is used instead.
        return b""
    if os.name == "nt":
        return _windows_machine()
    # On a read-only disk, the system mounts another identifier over the file, which is valid for this boot only.
    lasting = MACHINE_ID not in (point for point, _ in _mounts())
    return b"\n".join(
        identifier for identifier in (_text(MACHINE_ID) if lasting else b"", *map(_text, SERIALS)) if identifier
    )


def _part(secret: bytes, name: str, identifier: bytes) -> bytes:
    if not identifier:
        return _UNKNOWN
    return sha256(b"halftruth/1/instance/" + name.encode() + secret + identifier).digest()[:PART_BYTES]


def _text(path: str) -> bytes:
    """Return the content of a file without blanks at its ends; b"" if it cannot be read or is not set yet."""
    try:
        content = Path(path).read_bytes().strip(b" \n\0")
    except OSError:
        return b""
    return b"" if content == b"uninitialized" else content


def _inode(path: Path, mounts: Mounts) -> bytes:
    """Return the file's inode number; b"" if the file system does not keep the number for the life of the file."""
    if os.name == "nt":
        lasting = _windows_file_system(path) == "NTFS"
    else:
        lasting = sys.platform == "darwin" or _file_system(path.resolve(), mounts) in STABLE
    if not lasting:
        return b""
    return path.stat().st_ino.to_bytes(16, "big")


def _generation(path: Path) -> bytes:
    """Return the inode's generation number, which changes when the inode is reused; b"" if the file system has none.

    The number is needed because inode numbers are reused: a copy often gets the number of the file that was deleted
    before.
    """
    if not sys.platform.startswith("linux"):
        return b""
    import fcntl

    size = struct.calcsize("l")
    # The request FS_IOC_GETVERSION: see ioctl_iflags(2) and linux/fs.h.
    request = 2 << 30 | size << 16 | ord("v") << 8 | 1
    try:
        with path.open("rb") as file:
            answer = fcntl.ioctl(file.fileno(), request, bytes(size))
    except OSError:
        return b""
    # The kernel writes an int, although the request is defined with a long.
    return answer[:4]


def _file_system(path: Path, mounts: Mounts) -> str:
    """Return the type of the file system that holds ``path``; empty if it is unknown."""
    above = {str(folder) for folder in path.parents}
    file_system, longest = "", -1
    for point, kind in mounts:
        # A later mount at the same point covers an earlier one.
        if point in above and len(point) >= longest:
            file_system, longest = kind, len(point)
    return file_system


def _mounts() -> Mounts:
    """Return the mounted file systems; see proc(5), mountinfo."""
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

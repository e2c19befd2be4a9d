"""The inbox: stores uploads on the disk, atomically, until they are ingested.

An upload's name is the SHA-256 of its bytes, so the same upload is the same file however often it comes.
Once ingested, uploads are put away as batches in which the envelopes of many are mixed and sorted: who sent which
envelopes together, which would join a device's keys, is not kept, and neither is when. What is put away is enough to
build the study anew.

Enrolments that codes let in (codes) wait beside it, apart from what came with them.

What is in an upload: receipts. How it is counted: intake.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from aggregator.intake.files import UNFINISHED
from aggregator.intake.framing import frames
from aggregator.storage.places import Place, Remote
from protocol.errors import HalftruthError

ENDING = ".htr"
ROOM = 2**26
"""Bytes that stay free, so that the study itself can still be written."""
PILE_BYTES = 2**26
"""Uploads of about so many bytes are mixed into one batch."""
ABANDONED = 3600
"""Seconds after which a half-written file is nobody's any more."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class InboxFull(HalftruthError):
    """The inbox is full; nothing was stored."""


class NoInbox(HalftruthError):
    """The study is in a bucket; an inbox is on a disk, where an upload can be brought before its receipt is given."""


def inbox_of(study: Place) -> Path:
    """The folder in which a study's uploads wait.

    Raises:
        NoInbox
    """
    if isinstance(study, Remote):
        raise NoInbox(f"{study} is in a bucket, and has no inbox: name the files, folders or s3:// places to ingest")
    return study / "inbox"


def done_of(study: Place) -> Path:
    """The folder in which the batches of ingested uploads are kept."""
    return inbox_of(study) / "done"


def admitted_of(study: Place) -> Path:
    """The folder of the enrolments that codes let in, which the study has yet to register."""
    return inbox_of(study).parent / "admitted"


def prepare(study: Place) -> None:
    """Make the folders where they are missing.

    Raises:
        OSError
    """
    for folder in _folders(study):
        folder.mkdir(mode=0o700, exist_ok=True)  # an upload reveals which keys belong to one device
        _sync(folder.parent)


def sweep(study: Place, now: float) -> None:
    """Remove what a crash left half-written.

    Args:
        now: UTC seconds.
    Raises:
        OSError
    """
    for folder in _folders(study):
        for part in folder.glob(f".*{UNFINISHED}"):
            with suppress(FileNotFoundError):
                if part.stat().st_ctime < now - ABANDONED:
                    part.unlink()


def require_room(study: Place, size: int) -> None:
    """Return if an upload of ``size`` bytes fits.

    Raises:
        InboxFull
        OSError
    """
    if shutil.disk_usage(inbox_of(study)).free < ROOM + size:
        raise InboxFull("no room for the upload")


def put(study: Place, body: bytes) -> Path:
    """Keep an upload; it is on the disk when this returns.

    Raises:
        InboxFull
        OSError: then nothing was kept either.
    """
    return _put(study, inbox_of(study), body)


def admit(study: Place, enrolment: bytes) -> Path:
    """Keep the enrolment of a key that a code let in; it is on the disk when this returns.

    Raises:
        InboxFull
        OSError: then nothing was kept either.
    """
    return _put(study, admitted_of(study), enrolment)


def _put(study: Place, folder: Path, body: bytes) -> Path:
    require_room(study, len(body))
    try:
        return _write(folder, body)
    except OSError as error:
        if error.errno in _FULL:
            raise InboxFull("no room for the upload") from None
        raise


def waiting(study: Place) -> list[Path]:
    """The uploads that wait to be ingested, and whatever batches somebody has put beside them."""
    return sorted(path for path in inbox_of(study).glob(f"[!.]*{ENDING}") if path.is_file())


def admitted(study: Place) -> list[Path]:
    """The enrolments that codes let in and that the study has yet to register."""
    if isinstance(study, Remote):
        return []
    return sorted(admitted_of(study).glob(f"[!.]*{ENDING}"))


def kept_enrolments(study: Place) -> list[Path]:
    """All enrolments that codes let in: those that the study registered, in batches, and those that it has yet to."""
    if isinstance(study, Remote):
        return []
    return [*sorted((admitted_of(study) / "done").glob(f"[!.]*{ENDING}")), *admitted(study)]


def put_away_admitted(study: Place, files: Iterable[Path]) -> None:
    """Keep registered enrolments as one sorted batch, out of the way of the next ingest.

    A crash on the way leaves them where they were, perhaps put away as well; registered again, they change nothing.

    Raises:
        OSError
    """
    prepare(study)
    taken = list(files)
    if taken:
        _write(admitted_of(study) / "done", b"".join(sorted(file.read_bytes() for file in taken)))
    for file in taken:
        file.unlink(missing_ok=True)
    _sync(admitted_of(study))


def kept(study: Place) -> list[Path]:
    """The folder of batches that were put away, if there is one."""
    return [done_of(study)] if isinstance(study, Path) and done_of(study).is_dir() else []


def put_away(study: Place, files: Iterable[Path], warnings: Iterable[str] = ()) -> None:
    """Keep ingested uploads as mixed batches, out of the way of the next ingest.

    A crash on the way leaves uploads where they were, perhaps put away as well; ingested again, they count once.

    Args:
        files: all of them committed to the study.
        warnings: of the ingest. A file that one of them names has perhaps not been read to its end, and stays.
    Raises:
        OSError
    """
    prepare(study)
    named = "\n".join(warnings)
    pile: set[bytes] = set()
    taken: list[Path] = []
    size = 0
    for file in files:
        if str(file) in named:
            continue
        with suppress(FileNotFoundError):  # another ingest has put it away
            if file.stat().st_size > PILE_BYTES:  # not an upload of one device
                _put_away_whole(study, file)
                continue
            data = file.read_bytes()
            found = frames(data, final=True)
            if found.garbage:
                _put_away_whole(study, file)
                continue
            pile.update(data[begin:end] for begin, end in zip(found.begin, found.end, strict=True))
            taken.append(file)
            size += len(data)
        if size > PILE_BYTES:
            _put_away_mixed(study, pile, taken)
            pile, taken, size = set(), [], 0
    _put_away_mixed(study, pile, taken)
    _sync(inbox_of(study))


def copy(old: Path, new: Path) -> None:
    """Copy all that is kept here of a study to another one, which ``prepare`` was called for.

    Raises:
        OSError
    """
    for here, there in zip(_folders(old), _folders(new), strict=True):
        for file in sorted(here.glob(f"[!.]*{ENDING}")):
            shutil.copy2(file, there / file.name)  # keeps its time, which carries no information


def _folders(study: Place) -> tuple[Path, ...]:
    return inbox_of(study), done_of(study), admitted_of(study), admitted_of(study) / "done"


def _put_away_mixed(study: Place, pile: set[bytes], taken: list[Path]) -> None:
    if pile:
        _write(done_of(study), b"".join(sorted(pile)))
    for file in taken:
        file.unlink(missing_ok=True)


def _put_away_whole(study: Place, file: Path) -> None:
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
        os.fsync(opened.fileno())
    file.chmod(0o600)
    file.replace(done_of(study) / (digest + ENDING))
    _sync(done_of(study))


def _write(folder: Path, body: bytes) -> Path:
    """A file of ``body``, named for it, on the disk with its name; or an error, and no file.

    The file's time is a constant, so the time of an upload is not stored. The system's change time, which
    nobody can set, is that of the ingest once the upload is put away.
    """
    target = folder / (hashlib.sha256(body).hexdigest() + ENDING)
    part = folder / f".{target.name}.{secrets.token_hex(8)}{UNFINISHED}"
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(body)
            file.flush()
            os.utime(part, (0, 0))
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(folder)
    return target


def _sync(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)

"""The inbox, which stores uploads on the disk, atomically, until they are ingested.

A file's name is the SHA-256 of its bytes, so an upload that is sent twice is stored once. After the ingest, the
envelopes of many uploads are mixed and sorted into archived batches. The batches show neither when an envelope arrived
nor which envelopes arrived together, because either would link the keys of a device. A rebuild of the study can count
the reports in the batches again.

Enrolments admitted by codes wait in a separate folder, apart from the reports of the same upload.

``acknowledgements`` parses an upload, and ``aggregator.intake`` counts its reports.
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
from aggregator.storage.paths import StoragePath, sync_path
from aggregator.storage.remote import Remote
from protocol.errors import HalftruthError

ENDING = ".htr"
ROOM = 2**26
"""Bytes of disk space that uploads leave free, so that the study can still be written."""
BATCH_BYTES = 2**26
"""Approximate maximum number of bytes of uploads that are mixed into one batch."""
ABANDONED = 3600
"""Seconds after which a partial file is deleted."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class InboxFull(HalftruthError):
    """The disk has too little room for an upload; nothing was stored."""


class NoInbox(HalftruthError):
    """The study is in a bucket. An inbox must be on a disk, where an upload is made durable before it is
    acknowledged."""


def inbox_of(study_path: StoragePath) -> Path:
    """Return the folder in which a study's uploads wait.

    Raises:
        NoInbox: the study is in a bucket.
    """
    if isinstance(study_path, Remote):
        raise NoInbox(
            f"{study_path} is in a bucket and has no inbox: to receive uploads, use a study in a folder; to ingest, "
            "name files, folders or s3:// locations"
        )
    return study_path / "inbox"


def done_of(study_path: StoragePath) -> Path:
    """Return the folder of archived batches."""
    return inbox_of(study_path) / "done"


def admitted_of(study_path: StoragePath) -> Path:
    """Return the folder of enrolments that were admitted by codes and are not yet registered."""
    return inbox_of(study_path).parent / "admitted"


def prepare(study_path: StoragePath) -> None:
    """Create the folders that do not exist.

    Raises:
        OSError: a folder cannot be created.
    """
    for folder in _folders(study_path):
        folder.mkdir(mode=0o700, exist_ok=True)  # a file with reports of several campaigns links a device's keys
        sync_path(folder.parent)


def sweep(study_path: StoragePath, now: float) -> None:
    """Delete partial files that were left by a crash.

    Args:
        now: the current time, UTC seconds.
    Raises:
        OSError: a file cannot be deleted.
    """
    for folder in _folders(study_path):
        for part in folder.glob(f".*{UNFINISHED}"):
            with suppress(FileNotFoundError):
                if part.stat().st_ctime < now - ABANDONED:
                    part.unlink()


def require_room(study_path: StoragePath, size: int) -> None:
    """Check that the disk has room for an upload of ``size`` bytes.

    Raises:
        InboxFull: the disk has too little room.
        OSError: the free space cannot be read.
    """
    if shutil.disk_usage(inbox_of(study_path)).free < ROOM + size:
        raise InboxFull(_no_room(study_path))


def put(study_path: StoragePath, body: bytes) -> Path:
    """Store an upload on the disk and return its file; the file is durable when this returns.

    Raises:
        InboxFull, OSError: nothing was stored.
    """
    return _put(study_path, inbox_of(study_path), body)


def admit(study_path: StoragePath, enrolment: bytes) -> Path:
    """Store the enrolment of a key that a code admitted and return its file; the file is durable when this returns.

    Raises:
        InboxFull, OSError: nothing was stored.
    """
    return _put(study_path, admitted_of(study_path), enrolment)


def _put(study_path: StoragePath, folder: Path, body: bytes) -> Path:
    require_room(study_path, len(body))
    try:
        return _write(folder, body)
    except OSError as error:
        if error.errno in _FULL:
            raise InboxFull(_no_room(study_path)) from None
        raise


def _no_room(study_path: StoragePath) -> str:
    return f"the disk of {inbox_of(study_path)} has no room for the upload: free space on it, and send the upload again"


def waiting(study_path: StoragePath) -> list[Path]:
    """Return the uploads that wait to be ingested, and other batches that were copied into the inbox."""
    return sorted(path for path in inbox_of(study_path).glob(f"[!.]*{ENDING}") if path.is_file())


def admitted(study_path: StoragePath) -> list[Path]:
    """Return the files of enrolments that were admitted by codes and are not yet registered."""
    if isinstance(study_path, Remote):
        return []
    return sorted(admitted_of(study_path).glob(f"[!.]*{ENDING}"))


def kept_enrolments(study_path: StoragePath) -> list[Path]:
    """Return the files of all enrolments that were admitted by codes: archived batches of registered enrolments, and
    the enrolments not yet registered."""
    if isinstance(study_path, Remote):
        return []
    return [*sorted((admitted_of(study_path) / "done").glob(f"[!.]*{ENDING}")), *admitted(study_path)]


def archive_admitted(study_path: StoragePath, files: Iterable[Path]) -> None:
    """Archive registered enrolments as one sorted batch, so that the next ingest does not read them.

    A crash can leave enrolments both waiting and archived; registering them again changes nothing.

    Raises:
        OSError: a file cannot be read, written or deleted.
    """
    prepare(study_path)
    enrolments = list(files)
    if enrolments:
        _write(admitted_of(study_path) / "done", b"".join(sorted(file.read_bytes() for file in enrolments)))
    for file in enrolments:
        file.unlink(missing_ok=True)
    sync_path(admitted_of(study_path))


def archives(study_path: StoragePath) -> list[Path]:
    """Return a list with the folder of archived batches; empty if the folder does not exist, or the study is in a
    bucket."""
    return [done_of(study_path)] if isinstance(study_path, Path) and done_of(study_path).is_dir() else []


def archive(study_path: StoragePath, files: Iterable[Path], warnings: Iterable[str] = ()) -> None:
    """Archive ingested uploads as mixed batches, so that the next ingest does not read them.

    Files above ``BATCH_BYTES`` and files with bytes that are not envelopes are not uploads of a single device, and are
    archived unchanged. A crash can leave uploads both waiting and archived; if they are ingested again, each report
    counts once.

    Args:
        files: uploads whose reports are all committed to the study.
        warnings: the warnings of the ingest. A file that a warning names may not have been read to its end, so it stays
            in the inbox.
    Raises:
        OSError: a file cannot be read, written or deleted.
    """
    prepare(study_path)
    named = "\n".join(warnings)
    mixed: set[bytes] = set()
    sources: list[Path] = []
    size = 0
    for file in files:
        if str(file) in named:
            continue
        with suppress(FileNotFoundError):  # another ingest has archived it
            if file.stat().st_size > BATCH_BYTES:
                _archive_whole(study_path, file)
                continue
            data = file.read_bytes()
            envelopes = frames(data, final=True)
            if envelopes.malformed_items:
                _archive_whole(study_path, file)
                continue
            begins, _, ends, _ = envelopes.columns.tolist()
            mixed.update(data[begin:end] for begin, end in zip(begins, ends, strict=True))
            sources.append(file)
            size += len(data)
        if size > BATCH_BYTES:
            _archive_mixed(study_path, mixed, sources)
            mixed, sources, size = set(), [], 0
    _archive_mixed(study_path, mixed, sources)
    sync_path(inbox_of(study_path))


def copy(old: Path, new: Path) -> None:
    """Copy all files of the inbox from one study to another, whose folders ``prepare`` has created.

    Raises:
        OSError: a file cannot be copied.
    """
    for old_folder, new_folder in zip(_folders(old), _folders(new), strict=True):
        for file in sorted(old_folder.glob(f"[!.]*{ENDING}")):
            # ``copy2`` copies the file's modification time, which is a constant.
            shutil.copy2(file, new_folder / file.name)


def _folders(study_path: StoragePath) -> tuple[Path, ...]:
    return inbox_of(study_path), done_of(study_path), admitted_of(study_path), admitted_of(study_path) / "done"


def _archive_mixed(study_path: StoragePath, mixed: set[bytes], sources: list[Path]) -> None:
    if mixed:
        _write(done_of(study_path), b"".join(sorted(mixed)))
    for file in sources:
        file.unlink(missing_ok=True)


def _archive_whole(study_path: StoragePath, file: Path) -> None:
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
        os.fsync(opened.fileno())
    file.chmod(0o600)
    file.replace(done_of(study_path) / (digest + ENDING))
    sync_path(done_of(study_path))


def _write(folder: Path, body: bytes) -> Path:
    """Write a file named after the hash of its bytes, durably; if this fails, leave no file.

    The file's modification time is a constant, but the file system also keeps times of creation and of the last change,
    which no program can set. These show when a file was uploaded, until ``archive`` deletes the file.
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
    sync_path(folder)
    return target

"""Single-use codes that admit a device's key to a campaign that accepts enrolled devices only (SPEC 9.1).

A code is given to a person on paper or by mail and redeemed once, for one key. The study stores a hash of each code;
when the code is redeemed, the study adds a hash of code and key together. So the same code with the same key succeeds
again, and the same code with another key is refused. The study alone does not show which code admitted which key,
because a code has ``CODE_BITS`` random bits and cannot be guessed. An analyst who keeps the codes can test each of them
against the hashes; the card and the device state this.

``app`` answers the request with a code, and ``inbox`` stores the enrolment of the admitted key.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from aggregator.receive.inbox import NoInbox
from aggregator.storage.paths import StoragePath
from aggregator.storage.remote import Remote
from aggregator.storage.tables import StudyError
from protocol.keys import PUBLIC_BYTES

CODE_BITS = 80
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The characters of a code, 5 bits each: Crockford's base 32, without I, L and O, which people misread as digits, and
without U."""
CODE_CHARACTERS = CODE_BITS // 5
MAX_CODES = 10**6
"""Maximum number of codes made by one call."""

_CODE = re.compile(f"[{ALPHABET}]{{{CODE_CHARACTERS}}}")
_READ_AS = str.maketrans("ILO", "110", "- ")
_FILE = "codes.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS code (campaign BLOB, digest BLOB, used BLOB, PRIMARY KEY (campaign, digest)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class CodeCounts:
    """The numbers of a campaign's codes.

    Attributes:
        total: all codes.
        redeemed: codes that admitted a device.
    """

    total: int
    redeemed: int


def normalised_code(text: str) -> str:
    """Return a code in the form that is hashed: capital letters, no dashes or blanks, and digits in place of letters
    that are easily misread.

    Returns:
        The code, or "" if the text is not a code.
    """
    code = text.upper().translate(_READ_AS)
    return code if _CODE.fullmatch(code) else ""


def grouped(code: str) -> str:
    """Return a code in groups of four characters, as on a printed card."""
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


class Codes:
    """The codes of one study, in a separate file beside its tables."""

    def __init__(self, study_path: StoragePath) -> None:
        """Set the path; the file is opened or created when it is first needed.

        Raises:
            NoInbox: the study is in a bucket; codes need a transaction on a disk, so that each is redeemed once.
        """
        if isinstance(study_path, Remote):
            raise NoInbox(f"{study_path} is in a bucket, but codes need a study in a folder: name such a study")
        self._path: Path = study_path / _FILE

    def make(self, campaign_id: bytes, count: int, urandom: Callable[[int], bytes] = os.urandom) -> list[str]:
        """Make new codes; only their hashes are stored, durably when this returns.

        Args:
            campaign_id: 16 bytes.
            count: 1 to ``MAX_CODES``.
            urandom: the source of randomness.
        Returns:
            The codes. The study does not store their order.
        Raises:
            StudyError: the file cannot be written; then none of the codes is valid.
            ValueError: ``count`` is out of range.
        """
        if not 1 <= count <= MAX_CODES:
            raise ValueError(f"the number of codes must be from 1 to {MAX_CODES:,}, not {count:,}")
        codes = [_drawn(urandom) for _ in range(count)]
        with self._transaction() as database:
            rows = ((campaign_id, _digest(campaign_id, code)) for code in codes)
            database.executemany("INSERT INTO code (campaign, digest) VALUES (?, ?)", rows)
        return codes

    def redeem(self, campaign_id: bytes, text: str, public: bytes) -> bool:
        """Admit a key by a code. Redeeming the same code with the same key again changes nothing.

        Args:
            campaign_id: 16 bytes.
            text: the code as typed by a person or found in a link.
            public: the device's public key, 32 bytes; its enrolment was verified.
        Returns:
            Whether the key is admitted: False for an unknown code, and for a code that another key used.
        Raises:
            StudyError: the file cannot be read or written; nothing was redeemed.
            ValueError: ``public`` does not have 32 bytes.
        """
        code = normalised_code(text)
        if not code or not self._path.exists():
            return False
        redeemed = _redeemed(campaign_id, code, public)
        with self._transaction() as database:
            key = (campaign_id, _digest(campaign_id, code))
            row = database.execute("SELECT used FROM code WHERE campaign = ? AND digest = ?", key).fetchone()
            if row is None or row[0] not in (None, redeemed):
                return False
            database.execute("UPDATE code SET used = ? WHERE campaign = ? AND digest = ?", (redeemed, *key))
        return True

    def counts(self, campaign_id: bytes) -> CodeCounts:
        """Return the numbers of a campaign's codes.

        Raises:
            StudyError: the file cannot be read or written.
        """
        if not self._path.exists():
            return CodeCounts(0, 0)
        with self._transaction() as database:
            sql = "SELECT count(*), count(used) FROM code WHERE campaign = ?"
            return CodeCounts(*database.execute(sql, (campaign_id,)).fetchone())

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Context manager: one transaction, isolated from other processes; durable when it ends, or rolled back."""
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            with closing(sqlite3.connect(self._path, timeout=30, isolation_level=None)) as database:
                database.executescript(f"PRAGMA synchronous = EXTRA; PRAGMA secure_delete = ON; {_SCHEMA}")
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise StudyError(
                f"the file of codes {self._path} cannot be read or written: {error}. Check its permissions "
                "and the free space of the disk"
            ) from None


def copy(old: Path, new: Path) -> None:
    """Copy the codes of a study, if it has any, to another one.

    Raises:
        OSError: the file cannot be copied.
    """
    if (old / _FILE).exists():
        shutil.copy2(old / _FILE, new / _FILE)


def _drawn(urandom: Callable[[int], bytes]) -> str:
    number = int.from_bytes(urandom(CODE_BITS // 8), "big")
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(CODE_CHARACTERS)))


def _digest(campaign_id: bytes, code: str) -> bytes:
    return hashlib.sha256(b"halftruth/1/code" + campaign_id + code.encode()).digest()


def _redeemed(campaign_id: bytes, code: str, public: bytes) -> bytes:
    if len(public) != PUBLIC_BYTES:
        raise ValueError(f"a public key must have {PUBLIC_BYTES} bytes, not {len(public)}")
    return hashlib.sha256(b"halftruth/1/redeemed" + campaign_id + code.encode() + public).digest()

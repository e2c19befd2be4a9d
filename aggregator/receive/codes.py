"""Single-use codes that let a device into a campaign that takes enrolled keys only (SPEC 9.1).

A code is handed out on paper or by mail and redeemed once, for one key. Of a code that nobody has used the study
keeps a hash; of a used one, beside it, a hash of code and key together. So the same code with the same key succeeds
again, any other key is refused, and from the study alone nobody learns which code let which key in: a code has
``CODE_BITS`` random bits, and whoever would test a guess must guess those. Whoever kept the codes they handed out can
test them, and the terms tell people so.

How the key gets into the study: inbox. What is asked over HTTP: app.
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
from aggregator.storage.places import Place, Remote
from aggregator.storage.tables import StudyError
from protocol.keys import PUBLIC_BYTES

CODE_BITS = 80
LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The digits of a code, 5 bits each: without I, L, O and U, which people read as other ones or as words."""
CODE_LETTERS = CODE_BITS // 5
MOST_CODES = 10**6
"""Of one call."""

_CODE = re.compile(f"[{LETTERS}]{{{CODE_LETTERS}}}")
_READ_AS = str.maketrans("ILO", "110", "- ")
_FILE = "codes.sqlite"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS code (campaign BLOB, digest BLOB, used BLOB, PRIMARY KEY (campaign, digest)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class CodeCounts:
    """How many codes a campaign has.

    Attributes:
        made: all of them.
        redeemed: those that let a device in.
    """

    made: int
    redeemed: int


def normal(text: str) -> str:
    """A code as it is hashed: capital letters without dashes and blanks, each letter people mistake read as its digit.

    Returns:
        The code; "" where the text cannot be one.
    """
    code = text.upper().translate(_READ_AS)
    return code if _CODE.fullmatch(code) else ""


def grouped(code: str) -> str:
    """A code as it is printed on a card: in groups of four."""
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


class Codes:
    """The codes of one study, in a file of their own beside its tables."""

    def __init__(self, study: Place) -> None:
        """The file is opened or created when it is first needed.

        Raises:
            NoInbox: the study is in a bucket, and a code must be redeemed in one place.
        """
        if isinstance(study, Remote):
            raise NoInbox(f"{study} is in a bucket, and codes need a study in a folder")
        self._path: Path = study / _FILE

    def make(self, campaign_id: bytes, count: int, urandom: Callable[[int], bytes] = os.urandom) -> list[str]:
        """Make new codes; their hashes are on the disk when this returns, and the codes are nowhere.

        Args:
            campaign_id: 16 bytes.
            count: 1 to ``MOST_CODES``.
            urandom: where the codes are drawn from.
        Returns:
            The codes, in no order that the study keeps.
        Raises:
            StudyError: the file cannot be written; no code is valid then.
        """
        if not 1 <= count <= MOST_CODES:
            raise ValueError(f"from 1 to {MOST_CODES:,} codes can be made at a time, not {count:,}")
        made = [_drawn(urandom) for _ in range(count)]
        with self._transaction() as database:
            rows = ((campaign_id, _digest(campaign_id, code)) for code in made)
            database.executemany("INSERT INTO code (campaign, digest) VALUES (?, ?)", rows)
        return made

    def redeem(self, campaign_id: bytes, text: str, public: bytes) -> bool:
        """Let a key in by a code. The same code with the same key again changes nothing.

        Args:
            campaign_id: 16 bytes.
            text: the code, as a person or a link writes it.
            public: the device's public key, 32 bytes, whose enrolment was verified.
        Returns:
            Whether the key is let in: not for a code that the study did not make, nor for one that another key used.
        Raises:
            StudyError: the file cannot be read or written; nothing was redeemed.
        """
        code = normal(text)
        if not code or not self._path.exists():
            return False
        mark = _mark(campaign_id, code, public)
        with self._transaction() as database:
            where = (campaign_id, _digest(campaign_id, code))
            row = database.execute("SELECT used FROM code WHERE campaign = ? AND digest = ?", where).fetchone()
            if row is None or row[0] not in (None, mark):
                return False
            database.execute("UPDATE code SET used = ? WHERE campaign = ? AND digest = ?", (mark, *where))
        return True

    def counts(self, campaign_id: bytes) -> CodeCounts:
        """How many codes a campaign has, and how many let a device in.

        Raises:
            StudyError
        """
        if not self._path.exists():
            return CodeCounts(0, 0)
        with self._transaction() as database:
            sql = "SELECT count(*), count(used) FROM code WHERE campaign = ?"
            return CodeCounts(*database.execute(sql, (campaign_id,)).fetchone())

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which no other process has a part in; on the disk when it ends, or not at all."""
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
            with closing(sqlite3.connect(self._path, timeout=30, isolation_level=None)) as database:
                database.executescript(f"PRAGMA synchronous = EXTRA; PRAGMA secure_delete = ON; {_SCHEMA}")
                database.execute("BEGIN IMMEDIATE")
                yield database
                database.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            raise StudyError(f"the codes in {self._path} cannot be used: {error}") from None


def copy(old: Path, new: Path) -> None:
    """Copy the codes of a study, if it has any, to another one.

    Raises:
        OSError
    """
    if (old / _FILE).exists():
        shutil.copy2(old / _FILE, new / _FILE)


def _drawn(urandom: Callable[[int], bytes]) -> str:
    number = int.from_bytes(urandom(CODE_BITS // 8), "big")
    return "".join(LETTERS[number >> 5 * place & 31] for place in reversed(range(CODE_LETTERS)))


def _digest(campaign_id: bytes, code: str) -> bytes:
    return hashlib.sha256(b"halftruth/1/code" + campaign_id + code.encode()).digest()


def _mark(campaign_id: bytes, code: str, public: bytes) -> bytes:
    if len(public) != PUBLIC_BYTES:
        raise ValueError(f"a public key is {PUBLIC_BYTES} bytes, not {len(public)}")
    return hashlib.sha256(b"halftruth/1/redeemed" + campaign_id + code.encode() + public).digest()

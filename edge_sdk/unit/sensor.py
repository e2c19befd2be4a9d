"""Read a source: the output of a program, the last line of a file, or the next line of standard input.

Neither an error nor the log may reveal a reading. So a failed source raises no error: ``Reader.read`` returns a text or
the reason of the failure. The standard error of a program is dropped, because it may repeat a reading.

If the source is configured to clamp, ``answer_of`` moves a number, day or position outside the question's range to the
nearest one inside.

The module agent schedules and uses readings, and config defines the entries of a source.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from edge_sdk.unit.config import CLAMP, Source, in_seconds
from protocol.errors import NotInDomain

if TYPE_CHECKING:
    from protocol.domain import Answer, Domain, Grid, Number

MAX_PRINTED_BYTES = 64 * 1024
"""Limit in bytes: a program's output must be shorter, a line of standard input may not be longer, and at most this many
bytes of a file are read."""

STDIN = 0

NO_READING = "the source gave no reading that the question allows"
"""Logged for every unusable reading in the same words, so the log does not reveal the reading."""


class Stopped(Exception):
    """Stop the unit; the reading in progress is discarded and does not count as a failure."""


class Child:
    """A started program and its output so far; ``select`` accepts it, since it has ``fileno``."""

    def __init__(self, words: Sequence[str], *, errors: bool = False) -> None:
        """Start a program in a process group of its own; its standard input is empty.

        Args:
            words: the program and its arguments.
            errors: whether its standard error is read too; otherwise it is dropped.
        Raises:
            OSError: the program cannot be started.
        """
        reading, writing = os.pipe()
        silence: tuple[object, ...] = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
        try:
            self.pid = os.posix_spawnp(
                words[0],
                list(words),
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, writing, 1),
                    (os.POSIX_SPAWN_DUP2, writing, 2) if errors else silence,
                ],
                setpgroup=0,
                # Python ignores these signals; the command must not.
                setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        os.set_blocking(reading, False)
        self._reading = reading
        self.printed = b""
        self.begun = time.monotonic()

    def fileno(self) -> int:
        return self._reading

    def read(self) -> bool:
        """Read the available output; return False at its end, or once ``printed`` has at least
        ``MAX_PRINTED_BYTES``."""
        try:
            while len(self.printed) < MAX_PRINTED_BYTES:
                chunk = os.read(self._reading, MAX_PRINTED_BYTES)
                if not chunk:
                    return False
                self.printed += chunk
        except BlockingIOError:
            return True
        return False

    def end(self, patience: float = 0) -> int:
        """Kill the process group; return the exit code, negative for a signal.

        Args:
            patience: the time on ``time.monotonic`` until which it may end by itself.
        """
        os.close(self._reading)
        # The process is not reaped until its group is killed, so that its id is not reused in between.
        while os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > patience:
                break
            time.sleep(0.002)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


class Reader:
    """A reader of one source. ``stop`` is a file descriptor that becomes readable when the unit must stop."""

    def __init__(self, source: Source, stop: int) -> None:
        self._source = source
        self._stop = stop
        self._buffer = b""
        self._inside_long_line = False
        self.ended = False
        """True once standard input has ended."""

    def read(self, timeout: float) -> tuple[str, str]:
        """Return (reading, reason of failure) within ``timeout`` seconds; one of them is empty.

        Raises:
            Stopped: the unit is to stop.
        """
        try:
            if self._source.command:
                text, reason = self._command(timeout)
            elif self._source.file is not None:
                text, reason = _end_of(self._source.file), ""
            else:
                text, reason = self._line(timeout)
        except OSError as error:
            return "", f"the source cannot be read: {error.strerror or type(error).__name__}"
        if reason:
            return "", reason
        reading = named_field(text, self._source.field, self._source.separator)
        return (reading, "") if reading else ("", NO_READING)

    def _command(self, timeout: float) -> tuple[str, str]:
        """Return (output of the program, reason of failure); the output is empty if there is a reason."""
        child = Child(self._source.command)
        over = child.begun + timeout
        more = True
        while more and (left := over - time.monotonic()) > 0:
            ready, _, _ = select.select([child.fileno(), self._stop], [], [], left)
            if self._stop in ready:
                child.end()
                raise Stopped
            more = not ready or child.read()
        full = len(child.printed) >= MAX_PRINTED_BYTES
        code = child.end(0 if more or full else over)
        if full:
            return "", f"the source printed {MAX_PRINTED_BYTES:,} bytes or more"
        if more:
            return "", f"the source did not finish within {in_seconds(timeout)}"
        if code:
            return "", f"the source failed with exit code {code}"
        return child.printed.decode(errors="replace"), ""

    def _line(self, timeout: float) -> tuple[str, str]:
        """Return (next line of standard input, reason of failure).

        The line is empty if there is a reason; both are empty at the end of standard input or for an empty line.
        """
        over = time.monotonic() + timeout
        while b"\n" not in self._buffer and not self.ended:
            left = max(0.0, over - time.monotonic())
            ready, _, _ = select.select([STDIN, self._stop], [], [], left)
            if self._stop in ready:
                raise Stopped
            if STDIN not in ready:
                return "", f"the source gave no line within {in_seconds(timeout)}"
            chunk = os.read(STDIN, MAX_PRINTED_BYTES)
            self.ended = not chunk
            self._buffer += chunk
            if self._inside_long_line:
                _, end, self._buffer = self._buffer.partition(b"\n")
                self._inside_long_line = not end
            if len(self._buffer) > MAX_PRINTED_BYTES and b"\n" not in self._buffer:
                self._buffer, self._inside_long_line = b"", True
                return "", NO_READING
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace"), ""


def _end_of(path: Path) -> str:
    """Return at most the last ``MAX_PRINTED_BYTES`` of a file; the first ones if the system does not report its size.

    A pipe without a writer counts as empty and does not block.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        size = os.fstat(descriptor).st_size
        # Files below /proc and /sys report a size of 0.
        if size > MAX_PRINTED_BYTES:
            os.lseek(descriptor, size - MAX_PRINTED_BYTES, os.SEEK_SET)
        return os.read(descriptor, MAX_PRINTED_BYTES).decode(errors="replace")
    finally:
        os.close(descriptor)


def named_field(text: str, field: int | str | None, separator: str | None = None) -> str:
    """Return the field of ``text`` that the configuration names; "" if it is missing or, in JSON, neither a text nor a
    number."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    if isinstance(field, str):
        return _json(text, field) or _json(lines[-1], field)
    if field is None:
        return lines[-1]
    words = lines[-1].split(separator)
    return words[field].strip() if -len(words) <= field < len(words) else ""


def _json(text: str, names: str) -> str:
    """Return the text or number at the path ``names`` in JSON; "" if nothing is there, or if ``text`` is not JSON."""
    # Imported here, because only some sources need it.
    import json

    try:
        # Numbers stay text, so no digit is lost.
        value = json.loads(text, parse_float=str, parse_int=str)
        for name in names.split("."):
            value = value[int(name)] if isinstance(value, list) else value[name]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return value.strip() if isinstance(value, str) else ""


def answer_of(domain: Domain, text: str, source: Source) -> Answer | None:
    """Return the answer for a reading; None if the question does not allow it."""
    from protocol.domain import DITHER_BYTES, Dates, Grid, Line

    try:
        answer = domain.parse(text)
        if isinstance(domain, Line) and isinstance(answer, Fraction):
            answer *= source.scale or 1
            if source.outside == CLAMP:
                answer = min(max(answer, domain.points[0]), domain.points[-1])
        if isinstance(domain, Dates) and isinstance(answer, str) and source.outside == CLAMP:
            # As text, dates of the form YYYY-MM-DD are in their order in time.
            answer = min(max(answer, domain.label(0)), domain.label(domain.size - 1))
        if isinstance(domain, Grid) and isinstance(answer, tuple) and source.outside == CLAMP:
            answer = _inside(domain, answer)
        domain.index(answer, bytes(DITHER_BYTES))
    except NotInDomain:
        return None
    return answer


def _inside(domain: Grid, position: tuple[Number, ...]) -> tuple[Number, ...]:
    """Return the position in the grid's box that is nearest to ``position``, in degrees."""
    from protocol.domain import MICRODEGREES

    sides = ((domain.south, domain.north), (domain.west, domain.east))
    return tuple(
        min(max(Fraction(degrees), Fraction(low, MICRODEGREES)), Fraction(high, MICRODEGREES))
        for degrees, (low, high) in zip(position, sides, strict=True)
    )

"""Divide large files at the ends of envelopes, with many parallel readers.

Framing is an automaton whose state is an offset and a flag: whether the bytes before the offset are malformed. The
reader of a range that starts in the middle of a file guesses this state. From their first common envelope on, this
reader and a reader of the whole file find the same envelopes. Their first common envelope is the first that the reader
of the range finds, unless a payload contains bytes that look like an envelope. If the guess was wrong, which only such
payloads and malformed bytes can cause, the range is read again from its true beginning. Therefore the cuts and the
malformed items equal those of a reader of the whole file, for any bytes.

``framing`` finds the envelopes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from aggregator.intake import signatures
from aggregator.intake.chunk import Chunk, Gathering
from aggregator.intake.files import part
from aggregator.intake.framing import Frames, frames
from aggregator.storage.places import Place, Result, prefetched
from aggregator.storage.remote import Remote
from protocol.envelope import MAX_PAYLOAD, Kind

_LOOKAHEAD = 2**16 + 2**8
"""Bytes read beyond a range, because its last envelope may end there; if they are too few, more are read."""
_LONGEST = max(MAX_PAYLOAD.values()) + 2**8
_WITNESSES = 16
"""Number of a range's first envelopes whose offsets are kept. If the range truly begins at another offset, it is read
again."""
_NOTHING = frames(b"", final=True)


@dataclass(frozen=True)
class Range:
    """A range of a file, with the envelopes that begin in it.

    Attributes:
        begin, stop: offsets into the file.
        inside_malformed: whether the byte before ``begin`` was part of a malformed item.
    """

    path: Place
    begin: int
    stop: int
    inside_malformed: bool = False

    @property
    def size(self) -> int:
        """The length of the range in bytes."""
        return self.stop - self.begin


@dataclass(frozen=True)
class FramedRange:
    """The result of framing a range.

    Attributes:
        begins: offsets of the range's first envelopes in the file.
        rest: offset in the file at which the next range begins.
        inside_malformed: whether the byte before ``rest`` is part of a malformed item.
        enrolments: whether the range contains enrolments.
        ends: whether the file ends with the range, or cannot be read any further.
        reason: why reading stopped; None if it did not.
        absent: whether reading stopped because the file does not exist.
    """

    begins: tuple[int, ...]
    rest: int
    inside_malformed: bool
    enrolments: bool
    ends: bool
    reason: str | None
    absent: bool


def nominal(path: Place, size: int, most: int) -> list[Range]:
    """Return the ranges of ``most`` bytes into which a file of ``size`` bytes is cut; the state is a guess for all
    ranges except the first."""
    return [Range(path, begin, min(begin + most, size), begin > 0) for begin in range(0, size, most)]


def read(where: Range) -> tuple[bytes, Frames, bool, OSError | None]:
    """Return the bytes of a range, its envelopes, whether the file ends with the range or cannot be read any further,
    and the error that reading raised; None without one."""
    beyond = _LOOKAHEAD
    while True:
        data, ends, error = part(where.path, where.begin, where.size + beyond)
        found = frames(data, final=ends, inside_malformed=where.inside_malformed, stop=min(where.size, len(data)))
        if ends or found.rest >= where.size:
            return data, found, ends and found.rest >= len(data), error
        beyond = _LONGEST


def each(function: Callable[[Range], Result], ranges: Sequence[Range]) -> Iterator[Result]:
    """Return an iterator over the results of a function for each range, in order; several objects of a bucket are read
    at the same time."""
    remote = any(isinstance(where.path, Remote) for where in ranges)
    return prefetched(function, ranges) if remote else map(function, ranges)


def frame(where: Range) -> FramedRange:
    """Read a range and find its envelopes."""
    _, found, ends, error = read(where)
    return FramedRange(
        tuple((where.begin + found.columns[0, :_WITNESSES]).tolist()),
        where.begin + found.rest,
        found.inside_malformed,
        bool((found.columns[3] == Kind.ENROLMENT).any()),
        ends,
        None if error is None else error.strerror or str(error),
        isinstance(error, FileNotFoundError),
    )


def stitched(
    guesses: Iterable[tuple[Range, FramedRange]], again: Callable[[Range], FramedRange]
) -> Iterator[tuple[Range, FramedRange]]:
    """Yield the true ranges of files, computed from guesses in order; together the ranges cover the files.

    Args:
        guesses: all ranges of a file, one file after the other.
        again: frames a range whose guess was wrong.
    """
    path: Place | None = None
    at, inside, over = 0, False, False
    for guess, found in guesses:
        if guess.path != path or guess.begin == 0:
            path, at, inside, over = guess.path, 0, False, False
        if over or at >= guess.stop:
            continue
        true = replace(guess, begin=at, inside_malformed=inside)
        if true.begin and true.begin not in found.begins:
            found = again(true)
        yield replace(true, stop=found.rest), found
        at, inside, over = found.rest, found.inside_malformed, found.ends


def grouped(ranges: Iterable[Range], size: int, most: int, alone: int) -> Iterator[tuple[Range, ...]]:
    """Yield groups of consecutive ranges; a group has about ``size`` bytes, and at most ``most`` ranges.

    Args:
        alone: a file with at least this size shares no group, so that its groups are the same in every ingest.
    """
    group: list[Range] = []
    held = 0
    for one in ranges:
        if one.begin or one.size >= min(size, alone):
            if group:
                yield tuple(group)
            yield (one,)
            group, held = [], 0
            continue
        group.append(one)
        held += one.size
        if held >= size or len(group) >= most:
            yield tuple(group)
            group, held = [], 0
    if group:
        yield tuple(group)


def gather(ranges: Sequence[Range]) -> tuple[Chunk, dict[Place, str]]:
    """Return the envelopes of ranges as one chunk, and the reason why reading stopped, by file."""
    gathering = Gathering()
    reasons: dict[Place, str] = {}
    for where, (data, found, _, error) in zip(ranges, each(read, ranges), strict=True):
        if error is not None:
            reasons[where.path] = error.strerror or str(error)
        if not gathering.size:
            # The blocks of verified signatures are cut by offsets in the chunk. These must equal the offsets in the
            # file, so that the blocks do not depend on the division of files.
            gathering.add(bytes(where.begin % signatures.BLOCK_BYTES), _NOTHING)
        gathering.add(data[: found.rest], found)
    return gathering.done(), reasons

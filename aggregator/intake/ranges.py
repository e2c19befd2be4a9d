"""Divide large files at the ends of envelopes, with many parallel readers.

Framing is an automaton whose state is an offset and a flag: whether the bytes before the offset are malformed. The
reader of a range that starts in the middle of a file guesses this state. From their first common envelope on, this
reader and a reader of the whole file find the same envelopes. Usually this is the first envelope that the reader of the
range finds; it is a later one only if a payload contains bytes that look like an envelope. If the guess was wrong,
which only such payloads and malformed bytes can cause, the range is read again from its true beginning. Therefore the
cuts and the malformed items equal those of a reader of the whole file, for any bytes.

``framing`` finds the envelopes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from aggregator.intake import signatures
from aggregator.intake.chunk import Chunk, ChunkBuilder
from aggregator.intake.files import read_part
from aggregator.intake.framing import Frames, frames
from aggregator.storage.paths import Result, StoragePath, prefetched
from aggregator.storage.remote import Remote
from protocol.envelope import MAX_PAYLOAD, Kind

_LOOKAHEAD = 2**16 + 2**8
"""Bytes read beyond a range, because its last envelope may end there; if they are too few, more are read."""
_LONGEST = max(MAX_PAYLOAD.values()) + 2**8
_WITNESSES = 16
"""Number of a range's first envelopes whose offsets are kept. If the true beginning is not among them, the range is
read again."""
_NOTHING = frames(b"", final=True)


@dataclass(frozen=True)
class Range:
    """A range of a file, with the envelopes that begin in it.

    Attributes:
        begin, stop: offsets into the file.
        inside_malformed: whether the byte before ``begin`` was part of a malformed item.
    """

    path: StoragePath
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


def nominal(path: StoragePath, size: int, range_bytes: int) -> list[Range]:
    """Return the ranges of ``range_bytes`` bytes into which a file of ``size`` bytes is cut; the state is a guess for
    all ranges except the first."""
    return [Range(path, begin, min(begin + range_bytes, size), begin > 0) for begin in range(0, size, range_bytes)]


def read_range(file_range: Range) -> tuple[bytes, Frames, bool, OSError | None]:
    """Return the bytes of a range, its envelopes, whether the file ends with the range or cannot be read any further,
    and the error that reading raised or None."""
    lookahead = _LOOKAHEAD
    while True:
        data, ends, error = read_part(file_range.path, file_range.begin, file_range.size + lookahead)
        envelopes = frames(
            data, final=ends, inside_malformed=file_range.inside_malformed, stop=min(file_range.size, len(data))
        )
        if ends or envelopes.rest >= file_range.size:
            return data, envelopes, ends and envelopes.rest >= len(data), error
        lookahead = _LONGEST


def map_ranges(function: Callable[[Range], Result], ranges: Sequence[Range]) -> Iterator[Result]:
    """Return an iterator over the results of a function for each range, in order; several objects of a bucket are read
    at the same time."""
    remote = any(isinstance(file_range.path, Remote) for file_range in ranges)
    return prefetched(function, ranges) if remote else map(function, ranges)


def frame_range(file_range: Range) -> FramedRange:
    """Read a range and find its envelopes."""
    _, envelopes, ends, error = read_range(file_range)
    return FramedRange(
        tuple((file_range.begin + envelopes.columns[0, :_WITNESSES]).tolist()),
        file_range.begin + envelopes.rest,
        envelopes.inside_malformed,
        bool((envelopes.columns[3] == Kind.ENROLMENT).any()),
        ends,
        None if error is None else error.strerror or str(error),
        isinstance(error, FileNotFoundError),
    )


def stitched(
    guesses: Iterable[tuple[Range, FramedRange]], reframe: Callable[[Range], FramedRange]
) -> Iterator[tuple[Range, FramedRange]]:
    """Yield the true ranges of files, computed from guesses in order; together the ranges cover the files.

    Args:
        guesses: all ranges of a file, one file after the other.
        reframe: frames a range whose guess was wrong.
    """
    path: StoragePath | None = None
    begin, inside, ended = 0, False, False
    for guess, framed in guesses:
        if guess.path != path or guess.begin == 0:
            path, begin, inside, ended = guess.path, 0, False, False
        if ended or begin >= guess.stop:
            continue
        true = replace(guess, begin=begin, inside_malformed=inside)
        if true.begin and true.begin not in framed.begins:
            framed = reframe(true)
        yield replace(true, stop=framed.rest), framed
        begin, inside, ended = framed.rest, framed.inside_malformed, framed.ends


def group_ranges(ranges: Iterable[Range], size: int, max_ranges: int, large_bytes: int) -> Iterator[tuple[Range, ...]]:
    """Yield groups of consecutive ranges; a group has about ``size`` bytes, and at most ``max_ranges`` ranges.

    Args:
        large_bytes: a file with at least this size shares no group, so that its groups are the same in every ingest.
    """
    group: list[Range] = []
    group_bytes = 0
    for file_range in ranges:
        if file_range.begin or file_range.size >= min(size, large_bytes):
            if group:
                yield tuple(group)
            yield (file_range,)
            group, group_bytes = [], 0
            continue
        group.append(file_range)
        group_bytes += file_range.size
        if group_bytes >= size or len(group) >= max_ranges:
            yield tuple(group)
            group, group_bytes = [], 0
    if group:
        yield tuple(group)


def gather(ranges: Sequence[Range]) -> tuple[Chunk, dict[StoragePath, str]]:
    """Return the envelopes of ranges as one chunk, and the reason why reading stopped, by file."""
    builder = ChunkBuilder()
    reasons: dict[StoragePath, str] = {}
    for file_range, (data, envelopes, _, error) in zip(ranges, map_ranges(read_range, ranges), strict=True):
        if error is not None:
            reasons[file_range.path] = error.strerror or str(error)
        if not builder.size:
            # The blocks of verified signatures are cut by offsets in the chunk. These must equal the offsets in the
            # file, so that the blocks do not depend on the division of files.
            builder.add(bytes(file_range.begin % signatures.BLOCK_BYTES), _NOTHING)
        builder.add(data[: envelopes.rest], envelopes)
    return builder.chunk(), reasons

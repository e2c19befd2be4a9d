"""Cut the files of an ingest into pieces for the workers. Each cut is between two envelopes.

Files are first cut into ranges at any position. A worker frames each range, and the cuts are then moved to the
beginnings and ends of envelopes; see ``aggregator.intake.ranges``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aggregator.engines import steps
from aggregator.engines.engine import EngineError
from aggregator.engines.workers import Workers
from aggregator.intake import ranges
from aggregator.intake.files import total_bytes, unread_text
from aggregator.intake.ingest import ALONE_BYTES
from aggregator.intake.ranges import FramedRange, Range
from aggregator.intake.signatures import BLOCK_BYTES
from aggregator.storage.paths import StoragePath, size_of
from aggregator.study import Study

PIECE_BYTES = 2**22
"""Approximate maximum size of a piece in bytes."""
PIECE_OUTPUTS = 2**22
"""Approximate maximum number of outputs in a piece."""
PIECES_PER_THREAD = 8
"""The least number of pieces for each of the workers' threads, so that no thread waits long for the last piece. But
a piece has at least the bytes of a block of verified signatures, so that these blocks are the same for any number of
workers."""
PIECE_FILES = 1000
"""Maximum number of files in a piece."""


@dataclass(frozen=True)
class Piece:
    """The envelopes that one step works on.

    Attributes:
        ranges: ranges of one large file, or of several small files.
        enrolments: whether the piece contains enrolments.
    """

    ranges: tuple[Range, ...]
    enrolments: bool

    @property
    def size(self) -> int:
        """The length of all ranges in bytes."""
        return sum(file_range.size for file_range in self.ranges)


def cut_files(
    workers: Workers, study: Study, files: Sequence[StoragePath], piece_bytes: int, warnings: dict[StoragePath, str]
) -> list[Piece]:
    """Return the pieces of ``files``, in the order of the files.

    Args:
        piece_bytes: see ``PIECE_BYTES``.
        warnings: a mapping from absolute paths to problems with files, to which problems are added.
    Raises:
        EngineError: a worker cannot read a file that this process can read.
    """
    share = max(total_bytes(files) // (PIECES_PER_THREAD * workers.threads()), BLOCK_BYTES)
    # The size is a power of two, so that every cut of one size is also a cut of the smaller sizes.
    size = 1 << min(piece_bytes, share, _bytes_of(study, PIECE_OUTPUTS)).bit_length() - 1
    groups = ranges.group_ranges(_guesses(files, size, warnings), size, PIECE_FILES, ALONE_BYTES)

    def guesses() -> Iterator[tuple[Range, FramedRange]]:
        for item in workers.in_order(steps.frame_ranges, ((group,) for group in groups)):
            yield from zip(item.arguments[0], item.future.result(), strict=True)

    def reframe(file_range: Range) -> FramedRange:
        framed: list[FramedRange] = workers.run(steps.frame_ranges, (file_range,))
        return framed[0]

    framed_ranges = list(ranges.stitched(guesses(), reframe))
    for file_range, framed in framed_ranges:
        if framed.reason is None:
            continue
        if framed.absent and file_range.path.exists():
            raise EngineError(
                f"a worker cannot find {file_range.path}: put the files on storage that every worker reads under the "
                "same path, or use --engine dask on this machine"
            )
        warnings[file_range.path] = unread_text(framed.reason, nothing=file_range.begin == framed.rest == 0)
    with_enrolments = {file_range for file_range, framed in framed_ranges if framed.enrolments}
    pieces = ranges.group_ranges((file_range for file_range, _ in framed_ranges), size, PIECE_FILES, ALONE_BYTES)
    return [Piece(piece, not with_enrolments.isdisjoint(piece)) for piece in pieces]


def _bytes_of(study: Study, output_count: int) -> int:
    """Return the size in bytes, at least 64 KiB, at which a piece has at most about ``output_count`` outputs of any
    campaign."""
    sizes = []
    for known in study.campaigns():
        answers, bits = known.signed.campaign.answers_per_period, known.signed.campaign.output_bits
        sizes.append((100 + answers * bits // 8) * output_count // answers)
    return max(2**16, min(sizes, default=PIECE_BYTES))


def _guesses(files: Iterable[StoragePath], range_bytes: int, warnings: dict[StoragePath, str]) -> Iterator[Range]:
    """Yield the files in ranges of at most ``range_bytes`` bytes, cut at any position."""
    for path in files:
        absolute = _absolute(path)
        try:
            size = size_of(path)
        except OSError as error:
            warnings[absolute] = unread_text(error.strerror or str(error), nothing=True)
            continue
        if not size:
            warnings[absolute] = "is empty"
        yield from ranges.nominal(absolute, size, range_bytes)


def _absolute(path: StoragePath) -> StoragePath:
    """Return the absolute path, without resolving links, so that it is the same on every machine."""
    return Path(os.path.abspath(path)) if isinstance(path, Path) else path  # noqa: PTH100


def sentences(files: Iterable[StoragePath], warnings: Mapping[StoragePath, str]) -> Iterator[str]:
    """Yield a sentence for each file that has a warning, in the order of the files."""
    for path in files:
        if warning := warnings.get(_absolute(path)):
            yield f"{path} {warning}"

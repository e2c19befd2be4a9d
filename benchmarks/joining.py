"""The cost of joining the most expensive campaigns that a device accepts, and of two campaigns that it refuses.

Each campaign is opened in a process of its own, from its signed bytes, as a device does when it joins. CPU seconds are
measured, and the peak memory beyond the imported modules. SPEC 6.11 has the limits; the targets are two seconds and 64
MiB.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from math import comb
from pathlib import Path

from protocol import exact
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import (
    Bits,
    Blocks,
    Channel,
    GradedProjective,
    Hadamard,
    Noise,
    ProjectiveResponse,
    RandomizedResponse,
    SubsetSelection,
    Table,
    Triples,
    Windows,
)
from protocol.channels.support import ONE
from protocol.channels.windows.arrangement import WindowType
from protocol.domain import Grid
from protocol.effort import MAX_HELD, MAX_STEPS
from protocol.errors import BadData
from protocol.keys import SigningKey
from protocol.notions import Block, Classes, Geo, Graded, Ldp, Lip, Matrix, MutualInformation, Notion
from protocol.views import plain_views

AUTHOR = SigningKey(bytes(range(32)))
MOST = exact.MAX_LEVEL
"""A level that every channel here satisfies, so that no audit ends early with a refusal."""

NotionAndChannel = tuple[Notion, Channel]


def most_expensive() -> dict[str, Callable[[], NotionAndChannel]]:
    """Return makers of a notion and a channel, by name: the most expensive ones of each family except wave,
    accepted or refused."""
    return {
        "hadamard, ldp, 2^20 values": lambda: (Ldp(MOST), Hadamard(2**63 + 2**62, 2**20)),
        "hadamard, pairwise, 112 values": lambda: (_matrix(112), Hadamard(2**63 + 2**62, 112)),
        "hadamard, lip, 2,045 values": lambda: (Lip(MOST, (1,) * 2045), Hadamard(2**63 + 2**62, 2045)),
        "projective, lip, 1,023 values": lambda: (Lip(MOST, _prior(1023)), projective(1023, 2, 10)),
        "projective, lip, 3,900 values": lambda: (Lip(MOST, _prior(3900)), projective(3900, 2, 12)),
        "projective, pairwise, 112 values": lambda: (_matrix(112), projective(112, 2, 20)),
        "graded, minid, 65,536 values in 64 classes": lambda: (_minid(2**16, 64), _graded(2**16, 2, 17, 64)),
        "graded, lip, 600 values in 8 classes": lambda: (Lip(MOST, _prior(600)), _graded(600, 2, 10, 8)),
        "subset, pairwise, 62 values": lambda: (_matrix(62), _subset(62, 31)),
        "triples, lip, 4,095 values": lambda: (Lip(MOST, _prior(4095)), _triples(4095)),
        "response, lip, 7,000 cover weights": lambda: (Lip(MOST, _prior(7000)), _response(7000)),
        "bits, minid, 65,536 values in 64 classes": lambda: (_minid(2**16, 64), _bits(2**16, 64)),
        "bits, lip, 700 classes": lambda: (Lip(MOST, _prior(700)), _bits(700, 700)),
        "bits, ldp, 3,500 classes": lambda: (Ldp(MOST), _bits(3500, 3500)),
        "blocks, block, 800,000 values": lambda: _in_blocks(800_000),
        "blocks, block, 2^20 values: refused": lambda: _in_blocks(2**20),
        "table, pairwise, 95 x 180": lambda: (_matrix(95), _table(95, 180)),
        "table, mutual information, 80 x 80": lambda: (MutualInformation(MOST, _prior(80)), _table(80, 80)),
        "table, lip with a radius, 80 x 80": lambda: (Lip(MOST, _prior(80), 10**8), _table(80, 80)),
        "noise, ldp, 3,290 points": lambda: (Ldp(MOST), _noise(1, 3290)),
        "noise, geo, 1,020 points": lambda: (Geo.between(MOST, 1, [0], range(1020)), _noise(1, 1020)),
        "noise, geo, 27 x 27 points": lambda: (Geo.between(MOST, 1, range(27), range(27)), _noise(27, 27)),
        "windows, lip, 43,750 values": lambda: (Lip(MOST, _prior(43_750)), _windows(43_750, 8192, 8, 25)),
        "windows, lip, 200 values": lambda: (Lip(MOST, _prior(200)), _windows(200, 4096, 8, 12)),
        "windows, lip with a radius, 2,000 values": lambda: (
            Lip(MOST, _prior(2000), 10**8),
            _windows(2000, 2048, 8, 2),
        ),
        "windows, ldp, 256 orders: refused": lambda: (Ldp(MOST), _windows(2, 65_535, 256, 1)),
        "table, 64 classes of people": lambda: _classes(64, 20, 20),
    }


def _prior(size: int) -> tuple[int, ...]:
    return tuple(1 + x % 97 for x in range(size))


def _matrix(size: int) -> Matrix:
    level = 2 * exact.NANONATS  # each level takes five bytes
    return Matrix(level, tuple(tuple(0 if x == y else level for y in range(size)) for x in range(size)))


def projective(size: int, order: int, dimension: int) -> ProjectiveResponse:
    """Return a projective channel with a low level, on the projective space of this ``order`` and ``dimension``."""
    points = (order**dimension - 1) // (order - 1)
    support = (order ** (dimension - 1) - 1) // (order - 1)
    outside = ONE // (2 * points)
    return ProjectiveResponse(size, order, dimension, outside - (outside - ONE) % support)


def _graded(size: int, order: int, dimension: int, class_count: int) -> GradedProjective:
    """Return a graded channel with ``class_count`` classes of low levels, one class after another, on the projective
    space of this ``order`` and ``dimension``."""
    first, support = projective(size, order, dimension).outside, (order ** (dimension - 1) - 1) // (order - 1)
    return GradedProjective.over(order, dimension, [first + support * (x * class_count // size) for x in range(size)])


def _subset(size: int, ones: int) -> SubsetSelection:
    return SubsetSelection(size, ones, ONE // (2 * comb(size, ones)))


def _triples(size: int) -> Triples:
    return Triples(size, ONE // (2 * Triples(size, 1).output_count))


def _response(size: int) -> RandomizedResponse:
    return RandomizedResponse(size, tuple((1 << 62) // size + x for x in range(size)))


def _bits(size: int, class_count: int) -> Bits:
    pairs = tuple((2**31 + 977 * c, 2**30 - 331 * c) for c in range(class_count))
    lengths = [size // class_count + (c < size % class_count) for c in range(class_count)]
    return Bits(tuple(a for a, _ in pairs), tuple(b for _, b in pairs), tuple(enumerate(lengths)))


def _minid(size: int, class_count: int) -> Graded:
    return Graded.over([MOST - 10**6 * (x * class_count // size) for x in range(size)])


def _in_blocks(size: int) -> NotionAndChannel:
    runs = [(number, 2) for number in range(4000)]
    runs.append((4000, size - 8000))
    inner = (Hadamard(2**63 + 2**62, 2),) * 4000 + (Hadamard(2**63 + 2**62, size - 8000),)
    return Block(MOST, tuple(runs)), Blocks(0, tuple((number + 1, length) for number, length in runs), inner)


def _table(input_count: int, output_count: int) -> Table:
    # All cells take one byte, except the first one of each row.
    cells = [[64 + (x * 31 + y * 17) % 64 for y in range(1, output_count)] for x in range(input_count)]
    return Table(tuple(((1 << 62) - sum(row), *row) for row in cells))


def _noise(rows: int, columns: int) -> Noise:
    distribution = [1 + (r + 1) * (c + 2) % 91 for r in range(rows) for c in range(columns)]
    counted = [(1 if r == 0 else 2) * (1 if c == 0 else 2) for r in range(rows) for c in range(columns)]
    unit = (1 << 62) // sum(map(int.__mul__, distribution, counted))
    distribution = [weight * unit for weight in distribution]
    distribution[0] += (1 << 62) - sum(map(int.__mul__, distribution, counted))
    return Noise(rows, columns, tuple(distribution))


def _windows(size: int, cells: int, orders: int, types: int) -> Windows:
    weight = (1 << 62) // (types * cells)
    first = max(cells // 20, 1)
    shapes = tuple(WindowType(first + number, weight, weight // 2, 0, ()) for number in range(types))
    return Windows(_prior(size), cells, orders, (), (), shapes)


def _classes(count: int, input_count: int, output_count: int) -> NotionAndChannel:
    tables = (_table(input_count, output_count),) * count
    return Classes.of((Ldp(MOST),) * count), Blocks(0, tuple((c + 1, input_count) for c in range(count)), tables)


def signed(notion: Notion, channel: Channel) -> bytes:
    """Return the signed bytes of a campaign, even if no certificate is possible."""
    classes = tuple(f"class {number}" for number in range(len(notion.notions))) if isinstance(notion, Classes) else ()
    size = channel.input_count // max(len(classes), 1)
    across = next(across for across in range(min(size, 1024), 0, -1) if size % across == 0)
    grid = Grid(0, size // across * 100, 0, across * 100, 100)
    campaign = object.__new__(Campaign)
    values = {
        "title": "T", "question": "Q?", "purpose": "", "organisation": "O", "domain": grid, "notion": notion,
        "mechanism": "by hand", "views": plain_views(channel), "opens": 0, "closes": 10**6, "period_seconds": 10**6,
        "answers_per_period": 1, "minimum_devices": 1, "enrolment": "open", "classes": classes,
    }  # fmt: skip
    defaults = {name: field.default for name, field in Campaign.__dataclass_fields__.items()}
    for name, value in (defaults | values).items():
        object.__setattr__(campaign, name, value)
    return seal_campaign(campaign, AUTHOR)


def _peak() -> int:
    """Return the peak memory of this program in bytes; ``ru_maxrss`` would include the process that started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024


def join(data: bytes) -> tuple[float, float, str]:
    """Return (CPU seconds, MiB beyond the memory used before, verdict) for joining a campaign."""
    before, start = _peak(), time.process_time()
    try:
        open_campaign(data, [AUTHOR.public])
        verdict = "joined"
    except BadData as error:
        verdict = f"refused: {error}"
    return time.process_time() - start, (_peak() - before) / 2**20, verdict


def run() -> Iterator[tuple[str, str]]:
    """Yield for each campaign its size in bytes, the larger of two shares (of the limit on audit steps, and of the
    limit on numbers held), its CPU seconds, its memory in MiB, and the verdict."""
    for name, make in most_expensive().items():
        notion, channel = make()
        data = signed(notion, channel)
        share = max(notion.certificate_steps(channel) / MAX_STEPS, channel.numbers_held / MAX_HELD)
        words = [sys.executable, "-m", "benchmarks.joining"]
        process = subprocess.run(words, input=data, capture_output=True, check=True)  # noqa: S603  # runs this file
        seconds, memory, verdict = process.stdout.decode().split(" ", 2)
        yield (
            name,
            f"{len(data):>9,} B {share:>8.0%} of the limit {seconds:>6} s {memory:>6} MiB  {verdict[:40].strip()}",
        )


if __name__ == "__main__":
    cost = join(sys.stdin.buffer.read())
    print(f"{cost[0]:.2f} {cost[1]:.1f} {cost[2]}")

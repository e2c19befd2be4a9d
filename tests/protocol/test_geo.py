"""Geo-indistinguishability: bounds by distance, and audits against every pair (SPEC 6.4)."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext

import pytest

from protocol import exact
from protocol.channels import RandomizedResponse, Table
from protocol.channels.noise.channel import Noise
from protocol.errors import NotionError, Uncertified
from protocol.notions.geo import Geo
from protocol.notions.notion import certify
from tests.families.noise import random_mirrored, random_noise
from tests.families.table import random_table

NAT = exact.NANONATS
SEED = 20260101


def even(rows: int, columns: int, level: int = NAT) -> Geo:
    return Geo.between(level, 1, range(rows), range(columns))


def test_bounds_are_rounded_down() -> None:
    """The bound is floor(level * distance / unit) for random points, compared with 50 decimal digits."""
    draw = random.Random(SEED)
    with localcontext() as context:
        context.prec = 50
        for _ in range(200):
            rows, columns = (sorted(draw.sample(range(10**6), size)) for size in (3, 4))
            level, unit = draw.randint(exact.MIN_LEVEL, exact.MAX_LEVEL), draw.randint(1, 10**6)
            notion = Geo.between(level, unit, rows, columns)
            x, other = draw.sample(range(12), 2)
            down, across = rows[x // 4] - rows[other // 4], columns[x % 4] - columns[other % 4]
            expected = Decimal(level) * Decimal(down**2 + across**2).sqrt() / unit
            assert notion.bound(x, other) == math.floor(expected)
        assert len(list(notion.bounds())) == 12 * 11


def brute_audit(notion: Geo, channel: Noise | Table | RandomizedResponse) -> int:
    """Return the smallest level per unit of distance at which every pair satisfies its bound, by bisection over the
    bounds."""
    pairs: dict[int, int] = {}
    for x in range(channel.input_count):
        for other in range(channel.input_count):
            loss = channel.loss([x], [other])
            (row, column), (other_row, other_column) = notion.coordinates[x], notion.coordinates[other]
            square = (row - other_row) ** 2 + (column - other_column) ** 2
            pairs[square] = max(pairs.get(square, 0), exact.level_of(loss.numerator, loss.denominator) or 0)
    low, high = 0, 10**12
    while low < high:
        middle = (low + high) // 2
        kept = all(math.isqrt(middle**2 * square // notion.unit**2) >= level for square, level in pairs.items())
        low, high = (low, middle) if kept else (middle + 1, high)
    return low


@pytest.mark.parametrize(
    ("notion", "channel"),
    [
        (even(1, 7), random_mirrored(1, 7, SEED)),
        (even(1, 7), random_noise(1, 7, SEED)),
        (even(4, 3), random_mirrored(4, 3, SEED)),
        (even(4, 3), random_noise(4, 3, SEED)),
        (Geo.between(NAT, 2, [0, 3, 6, 9], [0, 2, 4]), random_noise(4, 3, SEED)),
        (even(2, 3), random_table(6, 5, SEED, zeros=False)),
        (Geo.between(NAT, 10, [0, 4], [1, 5, 6]), random_table(6, 9, SEED, zeros=False)),
        (even(1, 5), RandomizedResponse(5, (2**60,))),
        # Noise over another lattice is audited pair by pair.
        (even(3, 4), random_mirrored(1, 12, SEED)),
    ],
)
def test_the_audit_is_that_of_every_pair(notion: Geo, channel: Noise | Table | RandomizedResponse) -> None:
    """The audited level is the smallest level per unit of distance at which each pair satisfies its bound; one nanonat
    less is refused."""
    expected = brute_audit(notion, channel)
    certified = Geo(max(expected, exact.MIN_LEVEL), notion.unit, notion.down, notion.across)
    certificate = certify(channel, certified)
    assert certificate.audited_level == expected
    witness = certificate.witness
    assert channel.weight(witness.x, witness.y) == witness.numerator
    assert witness.other is not None
    assert channel.weight(witness.other, witness.y) == witness.denominator
    with pytest.raises(Uncertified):
        certify(channel, Geo(expected - 1, notion.unit, notion.down, notion.across))


def test_uneven_lattices_are_audited_strictly() -> None:
    """On an uneven lattice a shift of noise must satisfy the bound of its nearest pair, so the level is never below
    that of brute force."""
    notion = Geo.between(20 * NAT, 1, [0], [0, 1, 5, 6, 20])
    channel = random_noise(1, 5, SEED)
    _, audited, _ = notion.audit(channel)
    assert brute_audit(notion, channel) <= audited
    _, even_audited, _ = even(1, 5, 20 * NAT).audit(channel)
    assert audited <= even_audited


def test_a_large_channel_keeps_the_nearest_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a channel has more cells than the audit examines, the worst ratio must satisfy the bound of the nearest
    pair."""
    monkeypatch.setattr("protocol.notions.geo.MAX_PAIR_CELLS", 10)
    channel = RandomizedResponse(6, (2**59,))
    worst = channel.loss(range(6), range(6)).level
    for notion in (even(2, 3, 20 * NAT), even(1, 6, 20 * NAT)):
        assert notion.audit(channel)[1] == worst
    assert worst is not None
    assert Geo.between(20 * NAT, 2, [0], range(0, 30, 5)).audit(channel)[1] == -(-worst * 2 // 5)


def test_an_output_that_rules_an_input_out_is_refused() -> None:
    """Geo-indistinguishability bounds every pair of inputs, so an output that only some inputs can give is refused."""
    with pytest.raises(Uncertified, match="cannot"):
        certify(Noise(1, 4, (2**61, 2**60, 0, 0)), even(1, 4))


def test_gaps_are_written_in_runs_and_lowest_terms() -> None:
    """The wire form of a geo notion has each gap with its number of repetitions, in units of the greatest common
    divisor."""
    notion = Geo.between(NAT, 100, [0, 250], [-10, 0, 10, 1000])
    assert notion.encode() == ["geo", NAT, 10, [25, 1], [1, 2, 99, 1]]
    assert Geo.from_wire(notion.encode()) == notion


@pytest.mark.parametrize(
    "arguments",
    [
        (0, 1, (), ((1, 3),)),
        (NAT, 0, (), ((1, 3),)),
        (NAT, 1, (), ()),
        (NAT, 1, (), ((0, 3),)),
        (NAT, 1, (), ((1, 0),)),
        (NAT, 1, (), ((1, 3), (1, 2))),
        (NAT, 2, ((4, 1),), ((2, 3),)),
        (NAT, 1, (), ((1, 5000),)),
        (NAT, 1, (), ((2**62, 3),)),
    ],
)
def test_an_invalid_notion_is_refused(arguments: tuple[int, int, tuple[()], tuple[()]]) -> None:
    """A notion without a level or a unit is refused, and so are a single point, gaps of zero, gaps that are not in runs
    or lowest terms, and too many points."""
    with pytest.raises(NotionError):
        Geo(*arguments)


def test_coordinates_must_increase() -> None:
    """Coordinates that do not increase, and gaps with half a run, are refused."""
    with pytest.raises(NotionError):
        Geo.between(NAT, 1, [0], [0, 2, 1])
    with pytest.raises(NotionError):
        Geo.from_wire(["geo", NAT, 1, [], [1, 2, 3]])

"""The levels of SPEC 6.5: for small channels they equal brute force; for large ones they are computed or refused."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protocol import exact, levels
from protocol.channels import (
    Bits,
    Blocks,
    Channel,
    Hadamard,
    Noise,
    ProjectiveResponse,
    RandomizedResponse,
    SubsetSelection,
    Table,
    Triples,
    Windows,
)
from protocol.channels.windows.arrangement import Single, WindowType
from protocol.domain import Buckets, Grid, NumberRange, Values
from protocol.errors import DomainError, NotionError
from protocol.levels import Metric, Pufferfish, Scenario, Structure, TooLarge, structure_of
from tests.families import CHANNELS
from tests.families.graded import graded
from tests.families.hadamard import truth_of
from tests.families.table import random_table
from tests.protocol.test_windows import GRID as WINDOWS

ONE = 1 << 64
NAT = exact.NANONATS
SEED = 20261121


def table(*rows: Sequence[Fraction | int]) -> Table:
    return Table.rounded([[Fraction(cell) for cell in row] for row in rows])


def projective(input_count: int, q: int, t: int) -> ProjectiveResponse:
    support = (q ** (t - 1) - 1) // (q - 1)
    outside = (1 << 128) // 12
    return ProjectiveResponse(input_count, q, t, outside + ((1 << 128) - outside) % support)


def noise_weights(points: int) -> tuple[int, ...]:
    """Return a symmetric distribution of shifts on one row or two; each cell of distance divides the probability by
    four, and shift 0 gets the rest."""
    rows, columns = (1, points) if points < 6 else (2, points // 2)
    weights = [1 << 58 - 2 * (r + c) for r in range(rows) for c in range(columns)]
    times = [(1 + (r > 0)) * (1 + (c > 0)) for r in range(rows) for c in range(columns)]
    weights[0] = (1 << 62) - sum(weight * count for weight, count in zip(weights[1:], times[1:], strict=True))
    return tuple(weights)


HALF = Fraction(1, 2)
GRID: dict[str, Channel] = {
    "table": random_table(4, 6, 1, zeros=False),
    "table of two inputs": random_table(2, 3, 2, zeros=False),
    "table with an output of probability zero": table([HALF, 0, HALF], [Fraction(1, 3), 0, Fraction(2, 3)]),
    "table in which an output reveals the input": table([1, 0], [HALF, HALF]),
    "response": RandomizedResponse(5, (ONE // 9,)),
    "response of two inputs": RandomizedResponse(2, (ONE // 5,)),
    "response of unequal weights": RandomizedResponse(4, (ONE // 8, ONE // 16, ONE // 16, ONE // 5)),
    "response of a weight of zero": RandomizedResponse(3, (0, ONE // 4, ONE // 2)),
    "response whose output is independent of the input": RandomizedResponse(3, (ONE // 4, ONE // 4, ONE // 2)),
    **{f"Hadamard, k = {k}": Hadamard(truth_of(NAT), k) for k in (2, 3, 4, 5, 8)},
    "blocks": Blocks.over(0, [1, 1, 2, 0, 2, 2, 1, 2, 0], lambda k: Hadamard(truth_of(NAT), k)),
    "blocks of responses": Blocks.over(0, [1, 2, 1, 2, 2], lambda k: RandomizedResponse(k, (ONE // 9,))),
    "sensitive": Blocks.over(1 << 124, [0, 1, 1, 0, 1], lambda k: Hadamard(truth_of(NAT), k)),
    "sensitive table": Blocks.over(1 << 124, [1, 0, 1], lambda k: random_table(k, 3, 4, zeros=False)),
    "projective": projective(4, 2, 3),
    "projective, all points": projective(7, 2, 3),
    "subset": SubsetSelection(5, 2, (1 << 128) // 17),
    "subset with a large remainder": SubsetSelection(6, 3, 11),
    "subset, all but one": SubsetSelection(4, 3, 3 * 10**37 + 1),
    "subset, almost equal weights": SubsetSelection(6, 4, (1 << 128) // 15 - 4),
    "triples": Triples(5, (1 << 128) // 20),
    "triples, more points than inputs": Triples(2, (1 << 128) // 20),
    "triples, almost equal weights": Triples(6, (1 << 128) // 12 - 1),
    "triples, k = 7": Triples(7, (1 << 128) // 45),
    "noise on a line": Noise(1, 4, noise_weights(4)),
    "noise on a grid": Noise(2, 3, noise_weights(6)),
    "noise, unequal mirror images": Noise(1, 3, (1 << 58, 1 << 59, (1 << 62) - (1 << 61) - 3 * (1 << 58), 1 << 61, 0)),
    "windows": Windows(
        (0, 5, 1, 3, 0, 1), 7, 2, (0,), (Single(4, ONE // 4, ONE // 50),),
        (WindowType(3, ONE // 30, ONE // 40, ONE // 33, (ONE // 22,)), WindowType(5, ONE // 50, 0, 7, (ONE // 90,))),
    ),
    "windows shorter than arcs": Windows(
        (90, 5, 5), 9, 4, (), (),
        (WindowType(2, ONE // 20, ONE // 21, 0, ()), WindowType(0, 3, 3, 0, ()), WindowType(8, 9, 0, 0, ())),
    ),
    "windows longer than arcs": Windows((7, 2, 2, 3, 4), 3, 1, (), (), (WindowType(1, ONE // 3, ONE // 4, 0, ()),)),
    "windows with only singles": Windows((0, 0), 1, 1, (), (Single(0, ONE // 2, 9), Single(1, ONE // 3, ONE // 3)), ()),
}  # fmt: skip
# Families without special shapes above are tested in the shapes of their test vectors. Bits are tested below, because
# their most likely output differs.
GRID |= {
    name: channel
    for name, channel in CHANNELS.items()
    if channel.family not in {Bits.family, *(listed.family for listed in GRID.values())}
}
grid = pytest.mark.parametrize("channel", GRID.values(), ids=GRID)


def matrix(channel: Channel) -> list[list[Fraction]]:
    return [
        [Fraction(channel.weight(x, y), 1 << channel.scale) for y in range(channel.output_count)]
        for x in range(channel.input_count)
    ]


def priors(k: int) -> list[list[int]]:
    """Return a uniform, a skewed and a random prior."""
    draw = random.Random(SEED)
    return [[1] * k, [10**4] + [1] * (k - 1), [draw.randint(1, 30) for _ in range(k)]]


def probabilities(prior: Sequence[int]) -> list[Fraction]:
    return [Fraction(mass, sum(prior)) for mass in prior]


def marginal(rows: list[list[Fraction]], prior: Sequence[Fraction]) -> list[Fraction]:
    return [sum((p * row[y] for p, row in zip(prior, rows, strict=True)), Fraction()) for y in range(len(rows[0]))]


def holds(level: levels.Level, ratio: Fraction | None) -> bool:
    """Return whether a level is the logarithm of ``ratio``, rounded up to a nanonat; None means infinite."""
    if ratio is None or level.nanonats is None:
        return ratio is None and level.nanonats is None
    truth = math.log(ratio) * NAT
    return truth - 1e-3 <= level.nanonats <= truth + 1 + 1e-3


def worst(ratios: list[tuple[Fraction, Fraction]]) -> Fraction | None:
    """Return the largest ratio, at least 1; 0 / 0 does not count."""
    if any(top and not bottom for top, bottom in ratios):
        return None
    return max([Fraction(1), *(top / bottom for top, bottom in ratios if bottom)])


# Structures, compared with each cell


@grid
def test_structures_agree_with_their_cells(channel: Channel) -> None:
    """Rows, profiles, columns, marginals, sums and posteriors of every family equal those computed from its cells."""
    fast, slow = structure_of(channel), Structure(channel)
    k = channel.input_count

    def merged(seen: levels.structure.PairProfile) -> dict[tuple[int, int], tuple[int, int]]:
        """Return the weight of both inputs by their ratio, in lowest terms."""
        found: dict[tuple[int, int], tuple[int, int]] = {}
        for mine, theirs, count in seen:
            if mine or theirs:
                common = math.gcd(mine, theirs)
                key = (mine // common, theirs // common)
                before = found.get(key, (0, 0))
                found[key] = (before[0] + mine * count, before[1] + theirs * count)
        return {key: sums for key, sums in found.items() if any(sums)}

    kind_of = {x: number for number, kind in enumerate(fast.kinds) for x in kind}
    assert sorted(kind_of) == list(range(k))
    by_kind: dict[tuple[int, int], object] = {}
    for x, other in itertools.permutations(range(k), 2):
        walked_profile = merged(slow.profile(x, other))
        assert merged(fast.profile(x, other)) == walked_profile
        assert by_kind.setdefault((kind_of[x], kind_of[other]), walked_profile) == walked_profile
    for x in range(k):
        listed = sorted(weight for weight, count in fast.row(x) for _ in range(count) if weight)
        assert listed == sorted(weight for weight, _ in slow.row(x) if weight)
    for prior in priors(k):
        assert list(fast.marginals(prior)) == list(slow.marginals(prior))
        assert list(fast.marginals([*prior[1:], 0])) == list(slow.marginals([*prior[1:], 0]))
        assert by_parts(fast.columns(prior)) == by_parts(slow.columns(prior))
        walked = {column.y: dict(column.parts) for column in slow.columns(prior)}
        assert all(walked[column.y] == dict(column.parts) for column in fast.columns(prior))
        marginals = slow.marginals(prior)

        def of(weight: int, mean: int) -> int:
            return max(0, 3 * weight * 7 - mean) + (weight == 0) * mean

        assert list(fast.row_sums(marginals, of)) == list(slow.row_sums(marginals, of))
        for asked in (range(k), [0], [k - 1, 1]):
            mine, theirs = fast.largest_posterior(prior, asked), slow.largest_posterior(prior, asked)
            assert Fraction(*mine[:2]) == Fraction(*theirs[:2])
            alone = slow.largest_posterior(prior, [mine[2]])
            assert (Fraction(*alone[:2]), mine[2] in asked) == (Fraction(*mine[:2]), True)


@pytest.mark.parametrize(
    "name", ["only rare inputs", "arcs longer than cells", "inputs of every kind", "random 4", "random 8"]
)
def test_windows_of_every_shape_agree_with_their_cells(name: str) -> None:
    """The structure agrees with the cells for very unequal arcs, spans of no to all cells, and weights of zero."""
    test_structures_agree_with_their_cells(WINDOWS[name])


def test_an_output_that_an_input_does_not_prefer_can_raise_its_posterior_most() -> None:
    """In a graded channel an input of low contrast is most probable after an output that the inputs of high contrast
    rarely give, even if it does not prefer this output itself."""
    channel = graded(2, 3, [NAT // 4, 7 * NAT // 2, NAT // 4, 2 * NAT, 7 * NAT // 2])
    prior = [1, 1, 5, 5, 5]
    numerator, denominator, x = structure_of(channel).largest_posterior(prior, range(5))
    expected = Structure(channel).largest_posterior(prior, range(5))
    assert (Fraction(numerator, denominator), x) == (Fraction(*expected[:2]), 2)
    raised = [Fraction(prior[x] * channel.weight(x, y), channel.marginals(prior)[y]) for y in range(7)]
    assert not channel.geometry.orthogonal(x, raised.index(max(raised)))


def by_parts(columns: Iterable[levels.OutputClass]) -> Counter[object]:
    """Return the number of outputs for each set of (weight, prior mass) parts, without outputs of probability zero."""
    found: Counter[object] = Counter()
    for column in columns:
        if column.marginal:
            found[frozenset(column.parts)] += column.count
    return found


@grid
def test_a_report_fits_the_answers_whose_most_likely_output_it_is(channel: Channel) -> None:
    """A report fits an answer if it is one of the most likely outputs of this answer. ``fits`` returns the probability
    that a report fits the true answer, and the smallest probability that it fits another answer; for windows the second
    may be a lower bound. ``fitting`` lists the inputs that an output fits."""
    rows = matrix(channel)
    for x, row in enumerate(rows):
        most_likely = [y for y, weight in enumerate(row) if weight == max(row)]
        least = min(sum(other[y] for y in most_likely) for place, other in enumerate(rows) if place != x)
        truth, wrong, whole = structure_of(channel).fits(x)
        assert Fraction(truth, whole) == sum(row[y] for y in most_likely)
        assert Fraction(wrong, whole) == least or (isinstance(channel, Windows) and Fraction(wrong, whole) <= least)
        for y, weight in enumerate(row):
            if weight:
                assert (x in structure_of(channel).fitting(y)) == (weight == max(row))


@pytest.mark.parametrize("family", ["projective", "graded"])
def test_the_inputs_of_a_geometry_that_a_report_fits_are_found_without_weights(family: str, monkeypatch) -> None:
    """In a geometry, the inputs that a report fits are listed without computing the weight of each input."""
    channel = next(channel for channel in CHANNELS.values() if channel.family == family)
    expected = [x for x in range(channel.input_count) if channel.geometry.orthogonal(x, 0)]
    monkeypatch.setattr(type(channel), "weight", None)
    assert structure_of(channel).fitting(0) == expected


def test_the_inputs_that_a_report_fits_are_not_listed_in_a_large_channel() -> None:
    """Listing the inputs that a report fits is refused for 2^20 inputs, because it needs more than the allowed
    steps."""
    with pytest.raises(TooLarge):
        structure_of(Hadamard(3 << 62, 1 << 20), 1 << 20).fitting(0)


def test_a_report_of_bits_fits_the_inputs_whose_bit_is_set() -> None:
    """For independent bits, the probability that a report fits an answer is the probability that the answer's bit is
    set, for a true and for a wrong answer."""
    channel = Bits.over([(1 << 31, 1 << 30), (3 << 30, 1 << 30)])
    for x, expected in enumerate((HALF, Fraction(3, 4))):
        row = matrix(channel)[x]
        truth, wrong, whole = structure_of(channel).fits(x)
        assert (Fraction(truth, whole), Fraction(wrong, whole)) == (expected, Fraction(1, 4))
        assert sum(weight for y, weight in enumerate(row) if y & channel.single_bit(x)) == expected


# Two inputs


@grid
def test_delta_equals_brute_force(channel: Channel) -> None:
    """delta(eps) is the largest excess of any pair over all sets of outputs; only e^eps is rounded. At eps = 0 it is
    the total-variation distance."""
    rows = matrix(channel)
    previous = Fraction(1)
    for level in (0, NAT // 10, NAT // 2, NAT, 3 * NAT):
        odds = Fraction(exact.exp_lower(level), 1 << exact.EXP_BITS)
        expected = max(
            sum((max(Fraction(), a - odds * b) for a, b in zip(mine, theirs, strict=True)), Fraction())
            for mine, theirs in itertools.permutations(rows, 2)
        )
        found = levels.delta(structure_of(channel), level)
        assert found.value == expected
        assert found.float_above >= found.value
        reached = sum(max(Fraction(), a - odds * b) for a, b in zip(rows[found.x], rows[found.other], strict=True))
        assert reached == expected
        assert found.value <= previous
        previous = found.value
    at_zero = levels.delta(structure_of(channel), 0).value
    sets = itertools.product((0, 1), repeat=min(channel.output_count, 6))
    if channel.output_count <= 6:
        by_sets = max(
            sum((a - b for a, b, kept in zip(mine, theirs, chosen, strict=True) if kept), Fraction())
            for chosen in sets
            for mine, theirs in itertools.permutations(rows, 2)
        )
        assert at_zero == by_sets


@grid
def test_delta_is_zero_from_the_ldp_level_on(channel: Channel) -> None:
    """At the LDP level delta is zero, and 0.1% below that level it is positive. Without an LDP level it is positive at
    20 nats."""
    structure = structure_of(channel)
    level = levels.ldp(structure).nanonats
    if level is None:
        assert levels.delta(structure, 20 * NAT).value > 0
    elif level:
        assert levels.delta(structure, level).value == 0
        assert levels.delta(structure, level - level // 1000 - 1).value > 0


@grid
def test_identifiability_equals_brute_force(channel: Channel) -> None:
    """Differential identifiability is the worst ratio of two posteriors after one output."""
    rows = matrix(channel)
    for prior in priors(channel.input_count):
        p = probabilities(prior)
        ratios = [
            (p[x] * rows[x][y], p[other] * rows[other][y])
            for x, other in itertools.permutations(range(channel.input_count), 2)
            for y in range(channel.output_count)
        ]
        found = levels.identifiability(structure_of(channel), prior)
        assert holds(found, worst(ratios))


@grid
def test_geo_equals_brute_force(channel: Channel) -> None:
    """The geo level is the worst loss per unit of distance, for numbers and for cells, rounded up."""
    rows, k = matrix(channel), channel.input_count
    draw = random.Random(SEED)
    edges = sorted(draw.sample(range(60), k))
    domains = [(Buckets.of([Fraction(edge, 4) for edge in edges]), None)]
    domains += [(Grid(0, 10**6, 0, k * 10**6, 10**6), "steps"), (Grid(0, k * 10**5, 0, 10**5, 10**5), "degrees")]
    for domain, name in domains:
        metric = Metric.of(domain, name)
        found = levels.geo(structure_of(channel), metric)
        per_unit, infinite = 0.0, False
        for x, other in itertools.permutations(range(k), 2):
            ratio = worst(list(zip(rows[x], rows[other], strict=True)))
            if ratio is None:
                infinite = True
            else:
                per_unit = max(per_unit, math.log(ratio) / math.sqrt(metric.square(x, other)))
        assert (found.nanonats is None) == infinite
        if not infinite:
            assert per_unit * NAT - 1e-2 <= found.nanonats <= (per_unit * NAT + 1) * (1 + 1e-9) + 21


def test_the_search_for_the_nearest_two_is_short_or_refused() -> None:
    """On a line, points of one set are not compared with each other, however far the other set is; on a grid with many
    points in a column, the search ends at its limit."""
    line, size = Metric.of(NumberRange.of(0, 9_999)), 3_000
    near, far = range(size), range(10_000 - size, 10_000)
    assert line.nearest_pair(near, far, max_pairs=2 * size)[:2] == (near[-1], far[0])
    column = Metric.of(Grid(0, 10_000, 0, 2, 1))
    with pytest.raises(TooLarge):
        column.nearest_pair(range(0, 2 * size, 2), range(20_000 - 2 * size, 20_000, 2), max_pairs=size)


def test_the_nearest_two_are_found() -> None:
    """The sweep finds a nearest pair within one set and between two sets, on grids and on lines."""
    draw = random.Random(SEED)
    for metric in (
        Metric.of(Grid(0, 7 * 10**6, 0, 9 * 10**6, 10**6)),
        Metric.of(Buckets.of(sorted(draw.sample(range(1000), 63)))),
    ):
        for _ in range(60):
            first, second = (draw.sample(range(63), draw.randint(2, 20)) for _ in range(2))
            for partner in (first, second):
                x, other, square = metric.nearest_pair(first, partner)
                assert x in first
                assert other in partner
                assert x != other
                assert square == metric.square(x, other)
                assert square == min(metric.square(a, b) for a in first for b in partner if a != b)


def test_each_domain_has_its_distances() -> None:
    """A grid has the metrics steps and degrees, buckets have numbers and steps, and labels have none; distances on
    grids are Euclidean."""
    box = Grid(0, 2 * 10**5, 0, 3 * 10**5, 10**5)
    assert Metric.of(box).square(0, 5) == 1 + 4
    assert Metric.of(box, "degrees").square(0, 5) == Fraction(5, 100)
    assert Metric.of(Buckets.of([0, 2.5, 10])).square(1, 2) == Fraction(225, 4)
    assert Metric.of(Buckets.of([0, 2.5, 10]), "steps").square(0, 2) == 4
    for domain, name, reason in ((box, "numbers", "must be steps or degrees"), (Values(("a", "b")), None, "no dist")):
        with pytest.raises(DomainError, match=reason):
            Metric.of(domain, name)


# Against a prior


@grid
def test_information_equals_brute_force(channel: Channel) -> None:
    """The LIP level is the worst lift in both directions, computed in fractions."""
    rows = matrix(channel)
    for prior in priors(channel.input_count):
        means = marginal(rows, probabilities(prior))
        ratios = [pair for row in rows for q, mean in zip(row, means, strict=True) for pair in ((q, mean), (mean, q))]
        assert holds(levels.lip(structure_of(channel), prior), worst(ratios))


def corners(p: list[Fraction], radius: Fraction) -> set[tuple[Fraction, ...]]:
    """Return the extreme priors of a total-variation ball: mass is moved in every order of givers and takers."""
    found = set()
    for order in itertools.permutations(range(len(p))):
        moved, left = list(p), radius
        for x in order[:-1]:
            taken = min(left, moved[x])
            moved[x] -= taken
            moved[order[-1]] += taken
            left -= taken
        found.add(tuple(moved))
    return found


@pytest.mark.parametrize("radius", [Fraction(0), Fraction(1, 20), Fraction(1, 5), Fraction(7, 10), Fraction(1)])
def test_the_ball_of_priors_equals_brute_force(radius: Fraction) -> None:
    """The level over a ball is the worst lift at its corners; at radius 0 it is the LIP level, at radius 1 the LDP
    level."""
    for name in (
        "table",
        "response",
        "response of unequal weights",
        "Hadamard, k = 4",
        "sensitive",
        "table in which an output reveals the input",
    ):
        structure = structure_of(GRID[name])
        rows = matrix(structure.channel)
        for prior in priors(len(rows)):
            ratios = []
            for moved in corners(probabilities(prior), radius):
                means = marginal(rows, moved)
                for y, mean in enumerate(means):
                    column = [row[y] for row in rows]
                    ratios += [(max(column), mean), (mean, min(column))]
            found = levels.lip_in_ball(structure, prior, radius)
            # At radius 1, some prior gives mass 0 to all inputs that emit an output.
            if radius < 1:
                assert holds(found, worst(ratios))
            else:
                assert found.nanonats == levels.ldp(structure).nanonats
            if radius == 0:
                assert found.nanonats == levels.lip(structure, prior).nanonats


BITS = (
    Bits.over([(1 << 31, 1 << 30)] * 4),
    Bits.over([(1 << 31, 1 << 30), (3 << 30, 1 << 30), (1 << 31, 1 << 30), (1 << 31, 1 << 20)]),
    Bits.over([(1 << 31, 0), (1 << 31, 1 << 30), (1 << 31, 0)]),
    Bits.over([(1 << 32, 1 << 30), (1 << 31, 1 << 30), (1 << 31, 1 << 30)]),
)


def test_a_few_columns_show_the_worst_of_all_balls() -> None:
    """The columns that a family selects reach the same maximum as all columns."""
    for channel in (*GRID.values(), *BITS):
        fast, slow = structure_of(channel), Structure(channel)
        for prior in priors(channel.input_count):
            for radius in (Fraction(0), Fraction(1, 50), Fraction(3, 10), Fraction(1)):
                found = levels.lip_in_ball(fast, prior, radius).nanonats
                assert found == levels.lip_in_ball(slow, prior, radius).nanonats


def test_the_levels_over_balls_of_a_channel_of_two_lifts() -> None:
    """A channel whose lifts are e and 1/e has the levels 1.024, 1.125 and 1.635 at radius .01, .05 and .2
    (MATH 2.11)."""
    a, b = math.exp(-1), math.exp(1)
    cells = 10**6
    first = round((1 - a) / (b - a) * cells)
    share, low, output_mass = Fraction(first, cells), Fraction(a), Fraction(1, 10)
    high = (1 - (1 - share) * low) / share
    structure = structure_of(
        table([output_mass * high, 1 - output_mass * high], [output_mass * low, 1 - output_mass * low])
    )
    prior = [first, cells - first]
    for radius, expected in (("0.01", 1.024), ("0.05", 1.125), ("0.2", 1.635)):
        found = levels.lip_in_ball(structure, prior, Fraction(radius))
        assert found.nats == pytest.approx(expected, abs=6e-4)


@grid
def test_information_delta_equals_brute_force(channel: Channel) -> None:
    """The delta of (eps, delta)-LIP is the largest excess in both directions over single values, and no set of values
    exceeds it."""
    rows = matrix(channel)
    for prior in priors(channel.input_count):
        p = probabilities(prior)
        means = marginal(rows, p)
        for level in (0, NAT // 2, 2 * NAT):
            odds = Fraction(exact.exp_lower(level), 1 << exact.EXP_BITS)

            def excess(row: Sequence[Fraction], odds: Fraction = odds, means: list[Fraction] = means) -> Fraction:
                pairs = list(zip(row, means, strict=True))
                return max(
                    sum((max(Fraction(), q / odds - mean) for q, mean in pairs), Fraction()),
                    sum((max(Fraction(), mean - odds * q) for q, mean in pairs), Fraction()),
                )

            found = levels.lip_delta(structure_of(channel), prior, level)
            assert found.value == max(map(excess, rows)) == excess(rows[found.x])
            for size in range(1, channel.input_count + 1) if channel.input_count <= 4 else ():
                for chosen in itertools.combinations(range(channel.input_count), size):
                    mass = sum(p[x] for x in chosen)
                    mixed = [sum(p[x] * rows[x][y] for x in chosen) / mass for y in range(channel.output_count)]
                    assert excess(mixed) <= found.value
        level = levels.lip(structure_of(channel), prior).nanonats
        if level is not None:
            assert levels.lip_delta(structure_of(channel), prior, level).value == 0


# Average-case notions


def entropy(values: list[Fraction]) -> Decimal:
    return -sum((_decimal(p) * _decimal(p).ln() for p in values if p), Decimal())


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@grid
def test_mutual_information_is_a_difference_of_entropies(channel: Channel) -> None:
    """I(X;Y) is H(Y) - H(Y|X), computed with 40 digits and rounded up to a nanonat; in bits it is divided by ln 2."""
    rows = matrix(channel)
    for prior in priors(channel.input_count):
        p = probabilities(prior)
        with localcontext() as context:
            context.prec = 40
            expected = entropy(marginal(rows, p)) - sum(
                (_decimal(mass) * entropy(row) for mass, row in zip(p, rows, strict=True)), Decimal()
            )
            found = levels.mutual_information(structure_of(channel), prior)
            assert expected * NAT - Decimal("1e-20") <= found.nanonats <= expected * NAT + 2
            bits = levels.bits_above(found)
            assert expected / Decimal(2).ln() <= Decimal(bits) + Decimal("1e-18")
            assert bits <= float(found.nats) / math.log(2) + 1e-8


@grid
def test_maximal_leakage_equals_brute_force(channel: Channel) -> None:
    """Maximal leakage is the logarithm of the sum of each column's largest entry, rounded up."""
    rows = matrix(channel)
    expected = sum(max(row[y] for row in rows) for y in range(channel.output_count))
    assert holds(levels.maximal_leakage(structure_of(channel)), expected)


def test_log_above_is_a_close_upper_bound() -> None:
    """log_above is at least the logarithm and exceeds it by at most two of its units, for both signs and for huge
    numbers."""
    draw = random.Random(SEED)
    for _ in range(300):
        numerator, denominator = (draw.getrandbits(draw.randint(1, 300)) + 1 for _ in range(2))
        with localcontext() as context:
            context.prec = 90
            truth = (Decimal(numerator) / Decimal(denominator)).ln() * levels.level.LOG_UNITS
        assert truth <= levels.log_above(numerator, denominator) <= truth + 2


# Pufferfish


def test_pufferfish_equals_brute_force() -> None:
    """The level is the worst ratio of two marginals over scenarios, pairs and outputs, and the witness reaches it."""
    draw = random.Random(SEED)
    for channel in GRID.values():
        rows, k = matrix(channel), channel.input_count
        scenarios = tuple(
            Scenario(str(n), tuple(tuple(draw.randrange(0, 9) + (x == 0) for x in range(k)) for _ in range(3)))
            for n in range(3)
        )
        asked = Pufferfish(("a", "b", "c"), ((0, 1), (2, 1)), scenarios)
        found = levels.pufferfish(structure_of(channel), asked)
        means = [[marginal(rows, probabilities(joint)) for joint in scenario.joint] for scenario in scenarios]
        ratios = [
            (mean[s][y], mean[o][y])
            for mean in means
            for pair in asked.pairs
            for s, o in (pair, pair[::-1])
            for y in range(channel.output_count)
        ]
        assert holds(found.level, worst(ratios))
        mean = means[found.scenario]
        assert holds(found.level, worst([(mean[found.secret][found.level.y], mean[found.other][found.level.y])]))


@grid
def test_pufferfish_of_the_values_themselves_is_ldp(channel: Channel) -> None:
    """If every value is a secret and every pair protected, Pufferfish has the LDP level."""
    k = channel.input_count
    certain = Scenario("certain", tuple(tuple(int(x == secret) for x in range(k)) for secret in range(k)))
    pairs = tuple(itertools.combinations(range(k), 2))
    asked = Pufferfish(tuple(map(str, range(k))), pairs, (certain,))
    structure = structure_of(channel)
    assert levels.pufferfish(structure, asked).level.nanonats == levels.ldp(structure).nanonats


def test_pufferfish_skips_secrets_without_weight() -> None:
    """A secret without weight in a scenario is not compared there. A request in which no pair is compared, and one with
    invalid secrets, pairs or scenarios, are refused."""
    channel = GRID["response of two inputs"]
    asked = Pufferfish(("a", "b"), ((0, 1),), (Scenario("no b", ((1, 0), (0, 0))), Scenario("both", ((1, 1), (1, 1)))))
    assert levels.pufferfish(structure_of(channel), asked).level.nanonats == 0
    for secrets, pairs, scenarios in (
        (("a", "b"), ((0, 1),), (Scenario("no b", ((1, 0), (0, 0))),)),
        (("a",), ((0, 0),), (Scenario("", ((1, 0),)),)),
        (("a", "a"), ((0, 1),), (Scenario("", ((1, 0), (1, 0))),)),
        (("a", "b"), ((0, 0),), (Scenario("", ((1, 0), (1, 0))),)),
        (("a", "b"), ((0, 2),), (Scenario("", ((1, 0), (1, 0))),)),
        (("a", "b"), ((0, 1),), (Scenario("", ((1, 0), (1, 0, 0))),)),
        (("a", "b"), ((0, 1),), (Scenario("", ((1, 0), (-1, 2))),)),
        (("a", "b"), (), (Scenario("", ((1, 0), (1, 0))),)),
        (("a", "b"), ((0, 1),), ()),
    ):
        with pytest.raises(NotionError):
            Pufferfish(secrets, pairs, scenarios)
    with pytest.raises(NotionError, match="5 values, one for each input of the channel, not 2"):
        levels.pufferfish(structure_of(GRID["response"]), asked)


def test_the_worst_pufferfish_output_is_numbered_over_all_channels() -> None:
    """The worst case of Pufferfish over several channels has the output that the table's level has."""
    strong, weak = (structure_of(RandomizedResponse(2, (ONE // part,))) for part in (3, 5))
    certain = Scenario("certain", ((1, 0), (0, 1)))
    request = levels.LevelsRequest((1,) * 4, pufferfish=Pufferfish(("a", "b"), ((0, 1),), (certain,)))
    found = levels.worst_table([strong, weak], request)
    assert found.distinction is not None
    assert found.distinction.level == found.levels["pufferfish"]
    assert found.distinction.level.y in (2, 3)


# Relations between the notions (Jiang, Li, Tandon 2020, Prop. 1 and Theorem 1)


@st.composite
def channels_and_priors(draw: st.DrawFn) -> tuple[Table, list[int]]:
    k, m = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    cells = st.lists(st.integers(0, 20), min_size=m, max_size=m).filter(any)
    rows = [draw(cells) for _ in range(k)]
    prior = draw(st.lists(st.integers(1, 50), min_size=k, max_size=k))
    return Table.rounded([[Fraction(cell, sum(row)) for cell in row] for row in rows]), prior


@given(channels_and_priors())
def test_lip_lies_between_ldp_and_its_half(made: tuple[Table, list[int]]) -> None:
    """eps-LDP implies eps-LIP for every prior, and eps-LIP implies 2 eps-LDP (Theorem 1); one is finite if and only if
    the other is. The level over a ball of priors lies between both."""
    structure, prior = structure_of(made[0]), made[1]
    lip, ldp = levels.lip(structure, prior).nanonats, levels.ldp(structure).nanonats
    assert (lip is None) == (ldp is None)
    assume(lip is not None)
    assert lip <= ldp <= 2 * lip
    ball = levels.lip_in_ball(structure, prior, Fraction(1, 10)).nanonats
    assert lip <= ball <= ldp


@given(channels_and_priors())
def test_averages_are_below_worst_cases(made: tuple[Table, list[int]]) -> None:
    """eps-LIP implies eps-MIP (Prop. 1); mutual information is at most maximal leakage, which is at most the LDP
    level."""
    structure, prior = structure_of(made[0]), made[1]
    lip, ldp = levels.lip(structure, prior).nanonats, levels.ldp(structure).nanonats
    mutual, leakage = levels.mutual_information(structure, prior).nanonats, levels.maximal_leakage(structure).nanonats
    assert mutual <= leakage + 1
    assert lip is None or mutual <= lip + 1
    assert ldp is None or leakage <= ldp


@given(channels_and_priors())
def test_identifiability_is_the_ldp_level_up_to_the_priors_ratio(made: tuple[Table, list[int]]) -> None:
    """Under a uniform prior, identifiability is the LDP level; under any prior it differs from it by at most ln(max /
    min prior)."""
    structure, prior = structure_of(made[0]), made[1]
    ldp = levels.ldp(structure).nanonats
    uniform = levels.identifiability(structure, [1] * len(prior)).nanonats
    assert uniform == ldp
    assume(ldp is not None)
    skew = exact.level_of(max(prior), min(prior))
    assert ldp - skew - 1 <= levels.identifiability(structure, prior).nanonats <= ldp + skew + 1


# Large channels


LARGE: dict[str, Channel] = {
    "Hadamard": Hadamard(truth_of(NAT), 43_750),
    "response": RandomizedResponse(43_750, (ONE // 50_000,)),
    "blocks": Blocks.over(0, [1 + x // 25 for x in range(5_000)], lambda k: Hadamard(truth_of(NAT), k)),
}


@pytest.mark.slow
def test_levels_under_a_prior_are_computed_for_large_channels() -> None:
    """For windows of 1,000 values, triples of 600 and sets of 62, every level that depends on a prior is computed."""
    arcs = tuple(1 + x % 7 for x in range(1000))
    weight = ONE // 128
    window = Windows(arcs, 128, 2, (), (), (WindowType(40, weight + weight // 2, weight // 2, 0, ()),))
    for channel in (window, Triples(600, (1 << 128) // 10**5), SubsetSelection(62, 20, (1 << 128) // 10**17)):
        structure = structure_of(channel)
        prior = [1 + x % 3 for x in range(channel.input_count)]
        lip, ldp = levels.lip(structure, prior).nanonats, levels.ldp(structure).nanonats
        ball = [levels.lip_in_ball(structure, prior, Fraction(n, 20)).nanonats for n in (0, 1, 20)]
        assert lip == ball[0] < ball[1] <= ball[2] == ldp <= 2 * lip
        assert levels.maximal_leakage(structure).nanonats <= ldp
        assert Fraction(3, sum(prior)) < levels.most_probable(structure, prior, range(len(prior)))[0] < 1
        truth, wrong, whole = structure.fits(5)
        assert 0 < wrong <= truth < whole
        if not channel.unary:
            assert levels.mutual_information(structure, prior).nanonats <= lip
            assert levels.lip_delta(structure, prior, lip).value == 0
            assert levels.lip_delta(structure, prior, lip // 2).value > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_levels_of_large_channels_are_computed(name: str) -> None:
    """For tens of thousands of values every level is computed, and agrees with the bounds implied by the other
    levels."""
    channel = LARGE[name]
    structure = structure_of(channel)
    prior = [1 + x % 3 for x in range(channel.input_count)]
    ldp = levels.ldp(structure).nanonats
    lip, mutual = levels.lip(structure, prior).nanonats, levels.mutual_information(structure, prior).nanonats
    if ldp is None:
        assert lip is None
        assert levels.delta(structure, NAT).value == 1
    else:
        assert mutual <= lip <= ldp <= 2 * lip
        assert levels.delta(structure, ldp).value == 0 < levels.delta(structure, ldp // 2).value
    assert mutual <= levels.maximal_leakage(structure).nanonats
    assert 0 < levels.most_probable(structure, prior, range(len(prior)))[0] <= 1
    assert levels.identifiability(structure, prior).nanonats == (
        None if ldp is None else pytest.approx(ldp + math.log(3) * NAT, abs=3)
    )


def test_the_posteriors_of_half_a_million_inputs_are_not_compared() -> None:
    """The posteriors of all inputs of a response to half a million values are too many to compare."""
    structure = structure_of(RandomizedResponse(1 << 19, (1 << 43,)), 1 << 21)
    with pytest.raises(TooLarge, match="comparing the posteriors"):
        structure.largest_posterior([1] * (1 << 19), range(1 << 19))


def test_a_channel_that_is_too_large_gets_no_level() -> None:
    """A level that has no closed form for the family and needs more steps than allowed is refused."""
    structure = structure_of(random_table(40, 40, 3, zeros=False), max_steps=1000)
    for ask in (
        levels.maximal_leakage,
        lambda s: levels.delta(s, NAT),
        lambda s: levels.most_probable(s, [1] * 40, range(40)),
    ):
        with pytest.raises(TooLarge, match="table channel of 40 inputs is too large"):
            ask(structure)
    # This family has a closed form.
    assert levels.lip(structure, [1] * 40).nanonats > 0


def test_projective_pairs_equal_brute_force() -> None:
    """The profile of any two inputs of a projective channel equals the one computed from its cells."""
    q, t = 3, 3
    support = (q ** (t - 1) - 1) // (q - 1)
    outside = (1 << 128) // 20
    outside += ((1 << 128) - outside) % support
    channel = ProjectiveResponse(10, q, t, outside)
    fast, slow = structure_of(channel), Structure(channel)
    for x, other in itertools.permutations(range(10), 2):
        listed = sorted((mine, theirs) for mine, theirs, count in fast.profile(x, other) for _ in range(count))
        assert listed == sorted((mine, theirs) for mine, theirs, _ in slow.profile(x, other))
    for level in (0, NAT // 5):
        assert levels.delta(fast, level).value == levels.delta(slow, level).value


def test_bits_equal_brute_force() -> None:
    """The levels of bits equal those that are computed from all words. For 3,000 bits, mutual information is refused as
    too large, and the LIP levels are computed under a prior that is not uniform."""
    half, low, high = 1 << 31, 1 << 30, 3 << 30
    equal = Bits.over([(half, low)] * 4)
    mixed = Bits.over([(half, low), (high, low), (half, low), (half, 1 << 20)])
    certain = Bits.over([(half, 0), (half, low), (half, 0)])
    for channel in (equal, mixed, certain):
        fast, slow = structure_of(channel), Structure(channel)
        k = channel.input_count
        for level in (0, NAT // 2):
            assert levels.delta(fast, level).value == levels.delta(slow, level).value
        for prior in priors(k):
            for asked in (range(k), [1], [0, k - 1]):
                found, x = levels.most_probable(fast, prior, asked)
                assert found == levels.most_probable(slow, prior, asked)[0]
                assert (levels.most_probable(slow, prior, [x])[0], x in asked) == (found, True)
            for level_of in (levels.lip, levels.mutual_information, levels.identifiability):
                assert level_of(fast, prior).nanonats == level_of(slow, prior).nanonats
        assert levels.maximal_leakage(fast) == levels.maximal_leakage(slow)
    big = structure_of(Bits.over([(half, low)] * 300))
    uniform = [1] * 300
    mutual, lip = levels.mutual_information(big, uniform).nanonats, levels.lip(big, uniform).nanonats
    assert 0 < mutual < lip < levels.ldp(big).nanonats
    with pytest.raises(TooLarge):
        levels.mutual_information(structure_of(Bits.over([(half, low)] * 3000)), [1] * 3000)
    large, prior = structure_of(Bits.over([(half, low)] * 3000)), [1] * 2999 + [7]
    lip = levels.lip(large, prior).nanonats
    assert lip == large.channel.loss_against_prior(prior).level
    assert lip < levels.lip_in_ball(large, prior, Fraction(1, 1000)).nanonats <= levels.ldp(large).nanonats

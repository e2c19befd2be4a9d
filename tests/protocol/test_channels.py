"""The properties of every channel, against brute force (SPEC 5).

One grid has every family at unusual sizes, and each test of all families runs over the whole grid. Properties of one
family, such as the use of several random numbers in a draw, are tested in that family's own file.
"""

from __future__ import annotations

import operator
import random
import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import protocol
from protocol import channels, codec, exact, notions
from protocol.channels import FAMILIES, Channel, Hadamard, Loss, Noise, RandomizedResponse, Table
from protocol.errors import ChannelError, Uncertified
from tests.families import CHANNELS, SHAPES
from tests.families.hadamard import truth_of
from tests.families.response import cover_of
from tests.families.shapes import ONE, SEED

NAT = exact.NANONATS
PROTOCOL = str(Path(protocol.__file__).parent)


GRID: dict[str, Channel] = CHANNELS | {
    name: channel for shapes in SHAPES.values() for name, channel in shapes.more.items()
}
grid = pytest.mark.parametrize("channel", GRID.values(), ids=GRID)


def weights(channel: Channel) -> list[list[int]]:
    """Return the dense matrix, the slow reference for every structure."""
    return [[channel.weight(x, y) for y in range(channel.output_count)] for x in range(channel.input_count)]


def test_the_grid_has_every_family() -> None:
    """The grids of small and of large channels each have every family."""
    assert {channel.family for channel in GRID.values()} == set(FAMILIES)
    assert {channel.family for channel in LARGE.values()} == set(FAMILIES)


@grid
def test_outputs_are_numbered_and_counted(channel: Channel) -> None:
    """Outputs need exactly ``output_bits`` bits. A unary channel has a count for each input's bit, other channels one
    for each output. Every output that some input can give is accepted; a number outside the outputs is not."""
    assert 1 << channel.output_bits >= channel.output_count > 1 << channel.output_bits - 1
    assert channel.features == (channel.input_count if channel.unary else channel.output_count)
    assert channel.output_count == 1 << channel.input_count or not channel.unary
    assert all(channel.emits(y) for row in weights(channel) for y, weight in enumerate(row) if weight)
    assert not channel.emits(-1)
    assert not channel.emits(channel.output_count)


def brute_loss(mine: Sequence[int], theirs: Sequence[int]) -> Fraction | None:
    """Return the worst ratio of two rows over all outputs; None for infinite."""
    worst = Fraction(1)
    for one, other in zip(mine, theirs, strict=True):
        if one and not other:
            return None
        if one * worst.denominator > worst.numerator * other:
            worst = Fraction(one, other)
    return worst


def compare_loss(
    channel: Channel,
    matrix: list[list[int]],
    worst: Sequence[Sequence[Fraction | None]],
    first: Sequence[int],
    second: Sequence[int],
) -> None:
    """Check that the loss of two sets is the worst of their pairs, and that its witness reaches it."""
    ratios = [worst[x][other] for x in first for other in second]
    expected = None if None in ratios else max(ratio for ratio in ratios if ratio is not None)
    loss = channel.loss(first, second)
    assert (loss.denominator == 0) == (expected is None)
    assert loss.x in first
    assert loss.other in second
    mine, theirs = matrix[loss.x][loss.y], matrix[loss.other][loss.y]
    if expected is None:
        assert mine > 0 == theirs
    else:
        assert Fraction(loss.numerator, loss.denominator) == expected
        assert mine * loss.denominator == theirs * loss.numerator or expected == 1


def check_loss(channel: Channel, matrix: list[list[int]], first: Sequence[int], second: Sequence[int]) -> None:
    """Check the loss of two sets of inputs in one direction."""
    compare_loss(channel, matrix, [[brute_loss(mine, theirs) for theirs in matrix] for mine in matrix], first, second)


def brute_prior_loss(matrix: list[list[int]], prior: Sequence[int]) -> Fraction | None:
    """Return the worst of Q(y|x) / P(y) and P(y) / Q(y|x), exactly."""
    total = sum(prior)
    top, bottom = 1, 1
    for column in zip(*matrix, strict=True):
        # This is the probability of the output, times the sum of the prior.
        marginal = sum(map(operator.mul, prior, column))
        if not marginal:
            continue
        low, high = min(column) * total, max(column) * total
        if not low:
            return None
        if high * bottom > top * marginal:
            top, bottom = high, marginal
        if marginal * bottom > top * low:
            top, bottom = marginal, low
    return Fraction(top, bottom)


class ChannelProperties:
    """The properties of every channel, against its dense matrix; each family's own file tests them over a further
    grid."""

    def test_rows_sum_to_one(self, channel: Channel) -> None:
        """The weights of every input are not negative and sum to 2^scale exactly."""
        for row in weights(channel):
            assert min(row) >= 0
            assert sum(row) == 1 << channel.scale

    def test_a_column_has_the_weights(self, channel: Channel) -> None:
        """A column has the weights of its cells, for each family's method of computing it."""
        for y, column in enumerate(zip(*weights(channel), strict=True)):
            assert channel.column(y) == list(column)

    def test_loss_equals_brute_force(self, channel: Channel) -> None:
        """For all pairs and many sets, loss(A, B) is the worst ratio over A x B and all outputs, reached at its
        witness."""
        matrix = weights(channel)
        everything = range(channel.input_count)
        worst = [[brute_loss(mine, theirs) for theirs in matrix] for mine in matrix]
        compare_loss(channel, matrix, worst, everything, everything)
        for x in everything:
            for other in everything:
                compare_loss(channel, matrix, worst, [x], [other])
        draw = random.Random(SEED)
        for _ in range(60):
            first, second = (draw.sample(everything, draw.randint(1, channel.input_count)) for _ in range(2))
            compare_loss(channel, matrix, worst, first, second)
            compare_loss(channel, matrix, worst, second[:1] * 2, second)

    def test_loss_against_prior_equals_brute_force(self, channel: Channel) -> None:
        """loss_against_prior is exactly the worst lift in both directions, for flat, skewed and random priors."""
        matrix = weights(channel)
        draw = random.Random(SEED)
        k = channel.input_count
        priors = [[1] * k, [1] * (k - 1) + [10**6], [10**6] + [1] * (k - 1), [*[10**6] * (k - 1), 1]]
        priors += [list(range(1, k + 1)), list(range(k, 0, -1))]
        priors += [[draw.randint(1, 1000) for _ in range(k)] for _ in range(20)]
        for prior in priors:
            check_prior_loss(channel, matrix, prior)

    def test_a_second_decoder_agrees(self, channel: Channel) -> None:
        """All weights, draws on both sides of every threshold, and random draws agree with a second decoder written
        from SPEC 5 alone."""
        decoded = SHAPES[channel.family].second_decoder(*channel.encode()[1:])
        assert weights(channel) == [
            [decoded.weight(x, y) for y in range(decoded.output_count)] for x in range(decoded.input_count)
        ]
        draw = random.Random(SEED)
        for x in range(channel.input_count):
            anywhere = [draw.randbytes(channel.rand_bytes) for _ in range(20)]
            for rand in [*SHAPES[channel.family].rands(channel, x), *anywhere]:
                assert channel.sample(x, rand) == decoded.sample(x, rand)

    def test_the_wire_form_of_a_channel_decodes_to_it(self, channel: Channel) -> None:
        """A channel decodes to itself, with the same derived numbers."""
        again = channels.decode(codec.decode(codec.encode(channel.encode()), limit=2**20))
        assert again == channel
        assert weights(again) == weights(channel)


class OneRunProperties(ChannelProperties):
    """The properties of a channel that draws one large integer and in which each output has one run of its values."""

    def test_sample_has_the_weights(self, channel: Channel) -> None:
        """The draws that give an output form one run with the length of its weight. The run's ends and inner points
        give this output, the next draw gives a new output, and every output with a positive weight has a run."""
        dice = random.Random(SEED)
        stop, width = 1 << 8 * channel.rand_bytes, channel.rand_bytes
        assert stop == 1 << channel.scale
        for x in range(channel.input_count):
            seen: set[int] = set()
            low = 0
            while low < stop:
                y = channel.sample(x, low.to_bytes(width, "big"))
                weight = channel.weight(x, y)
                assert y not in seen
                assert 0 < weight <= stop - low
                for draw in (low + weight // 2, low + dice.randrange(weight), low + weight - 1):
                    assert channel.sample(x, draw.to_bytes(width, "big")) == y
                seen.add(y)
                low += weight
            assert seen == {y for y in range(channel.output_count) if channel.weight(x, y)}


class OneNumberProperties(ChannelProperties):
    """The properties of a channel that draws one integer and in which an output may have several runs of its
    values."""

    def test_sample_has_the_weights(self, channel: Channel) -> None:
        """The number of draws that give an output, counted from threshold to threshold, equals its weight."""
        width = channel.rand_bytes
        for x in range(channel.input_count):
            counts = Counter(dict.fromkeys(range(channel.output_count), 0))
            edges = [int.from_bytes(rand, "big") for rand in SHAPES[channel.family].rands(channel, x)]
            for low, high in pairwise([*edges, 1 << 8 * width]):
                first, middle = (channel.sample(x, u.to_bytes(width, "big")) for u in (low, (low + high) // 2))
                assert first == middle
                counts[first] += high - low
            assert list(counts.values()) == [weight << 8 * width - channel.scale for weight in weights(channel)[x]]


RUNS = {name: channel for name, channel in GRID.items() if SHAPES[channel.family].one_run}
NUMBERS = {name: channel for name, channel in GRID.items() if isinstance(channel, Table | RandomizedResponse | Noise)}
OTHERS = {name: channel for name, channel in GRID.items() if name not in RUNS | NUMBERS}


@pytest.mark.parametrize("channel", RUNS.values(), ids=RUNS)
class TestEveryRun(OneRunProperties):
    """The families that draw one large integer."""


@pytest.mark.parametrize("channel", NUMBERS.values(), ids=NUMBERS)
class TestEveryNumber(OneNumberProperties):
    """The families that draw one integer of 64 bits."""


@pytest.mark.parametrize("channel", OTHERS.values(), ids=OTHERS)
class TestEveryOther(ChannelProperties):
    """The other families, whose draws are tested in their own files or below."""


def check_prior_loss(channel: Channel, matrix: list[list[int]], prior: Sequence[int]) -> None:
    """Check that the loss is the worst lift, and that its witness reaches it."""
    loss, expected = channel.loss_against_prior(prior), brute_prior_loss(matrix, prior)
    column = [row[loss.y] for row in matrix]
    marginal, total = sum(p * w for p, w in zip(prior, column, strict=True)), sum(prior)
    if expected is None:
        assert loss.denominator == 0
        assert column[loss.x] == 0 < marginal
    else:
        assert Fraction(loss.numerator, loss.denominator) == expected
        lift = Fraction(column[loss.x] * total, marginal)
        assert expected in (1, lift) or expected * lift == 1


@pytest.mark.parametrize("name", [name for name, made in GRID.items() if isinstance(made, Hadamard)])
def test_sample_has_the_weights_of_a_hadamard_channel(name: str) -> None:
    """Over all 256 values of the uniform byte and both sides of the one threshold, the counts are the weights."""
    channel = GRID[name]
    assert isinstance(channel, Hadamard)
    assert channel.rand_bytes == 9
    for x in range(channel.input_count):
        counts: Counter[int] = Counter()
        for low, high in ((0, channel.truth), (channel.truth, ONE)):
            for tail in range(256):
                outputs = {channel.sample(x, draw.to_bytes(8, "big") + bytes([tail])) for draw in (low, high - 1)}
                assert len(outputs) == 1
                counts[outputs.pop()] += high - low
        assert [counts[y] << channel.scale - 64 for y in range(channel.output_count)] == [
            256 * channel.weight(x, y) for y in range(channel.output_count)
        ]


@grid
def test_every_input_takes_the_same_random_bytes(channel: Channel) -> None:
    """Every input uses the same number of random bytes; any values of the bytes give a possible output of the input."""
    draw = random.Random(SEED)
    tries = [bytes(channel.rand_bytes), bytes([255] * channel.rand_bytes), draw.randbytes(channel.rand_bytes)]
    for x in range(channel.input_count):
        for rand in tries:
            assert channel.weight(x, channel.sample(x, rand)) > 0


def steps_of_a_draw(channel: Channel, x: int, rand: bytes) -> tuple[int, list[tuple[str, int]]]:
    """Return an output, and every line of the protocol that ran for it: (file, number) in order."""
    steps: list[tuple[str, int]] = []

    def follow(frame: FrameType, event: str, _: object) -> object:
        place = frame.f_code.co_filename
        # Garbage collection may run code of other modules.
        if event == "line" and place.startswith(PROTOCOL):
            steps.append((place, frame.f_lineno))
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        y = channel.sample(x, rand)
    finally:
        sys.settrace(before)
    return y, steps


@grid
def test_the_steps_of_a_draw_depend_only_on_the_output(channel: Channel) -> None:
    """The first draw from a channel, which builds the tables of later draws, runs the same lines for the same output,
    for any input and random bytes that give it."""
    dice = random.Random(SEED)
    of_output: dict[int, list[tuple[str, int]]] = {}
    for _ in range(6):
        rand = dice.randbytes(channel.rand_bytes)
        for x in range(channel.input_count):
            y, steps = steps_of_a_draw(channels.decode(channel.encode()), x, rand)
            assert steps == of_output.setdefault(y, steps)


@grid
def test_a_draw_with_wrong_bytes_or_input_is_refused(channel: Channel) -> None:
    """A draw with another number of random bytes, or for a number that is not an input, is refused."""
    rand = bytes(channel.rand_bytes)
    for given_rand in (rand[:-1], rand + b"\0"):
        with pytest.raises(ValueError, match=f"must get {len(rand)} random bytes"):
            channel.sample(0, given_rand)
    for x in (-1, channel.input_count):
        with pytest.raises(ValueError, match="the input is not in"):
            channel.sample(x, rand)


def draw_of(number: int) -> bytes:
    """Return random bytes that encode this number."""
    return number.to_bytes(16, "big")


def assert_made_for(channel: Channel, level: int) -> None:
    """Check that the channel is certified at this level and not at 0.1% less, and that a loss names a pair that reaches
    it."""
    certificate = notions.certify(channel, notions.Ldp(level))
    assert level - 1 <= certificate.audited_level == certificate.ldp_level <= level
    loss = certificate.witness
    assert loss.other is not None
    assert channel.weight(loss.x, loss.y) == loss.numerator
    assert channel.weight(loss.other, loss.y) == loss.denominator
    less = level * 999 // 1000
    if less >= exact.MIN_LEVEL:
        with pytest.raises(Uncertified):
            notions.certify(channel, notions.Ldp(less))


MIN_MEAN = 5
"""The smallest expected count of a cell of the chi-square test; rarer outputs are counted together."""


def chi_square(channel: Channel, x: int, draws: int, seed: int) -> float:
    """Return the p-value of a chi-square test of ``draws`` outputs of ``x`` against the weights."""
    source = random.Random(seed)
    seen = Counter(channel.sample(x, source.randbytes(channel.rand_bytes)) for _ in range(draws))
    expected = {y: draws * channel.weight(x, y) / 2**channel.scale for y in range(channel.output_count)}
    assert all(expected.get(y) for y in seen)
    rare = {y for y, mean in expected.items() if mean < MIN_MEAN}
    counts = [seen[y] for y in expected if y not in rare]
    means = [mean for y, mean in expected.items() if y not in rare]
    together = sum(expected[y] for y in rare)
    if together >= MIN_MEAN:
        counts, means = [*counts, draws - sum(counts)], [*means, together]
    if len(counts) == 1:
        return 1.0
    # Rare outputs with an expected count below five in total are left out, so the other expected counts are scaled to
    # the number of counted draws.
    means = [mean * sum(counts) / sum(means) for mean in means]
    return float(stats.chisquare(counts, means).pvalue)


@grid
def test_draws_follow_the_weights(channel: Channel) -> None:
    """A chi-square test of n = 3,000 draws of one input accepts the weights, alpha = 10^-6; a failure would mean
    another distribution."""
    assert chi_square(channel, channel.input_count // 2, 3000, SEED) > 1e-6


LARGE: dict[str, Channel] = {name: channel for shapes in SHAPES.values() for name, channel in shapes.drawn.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_large_channels_draw_their_weights(name: str) -> None:
    """A chi-square test of n = 10^4 draws of one input accepts the weights, alpha = 10^-6; a failure would mean another
    distribution. The long test, with a million draws, detects differences a tenth as large."""
    channel = LARGE[name]
    assert chi_square(channel, channel.input_count // 2, 10**4, SEED) > 1e-6


@pytest.mark.long
@pytest.mark.parametrize("name", LARGE)
def test_large_channels_draw_their_weights_long(name: str) -> None:
    """A chi-square test of n = 10^6 draws accepts the weights for three inputs, alpha = 10^-6 each; a failure would
    mean another distribution."""
    channel = LARGE[name]
    for x in (0, channel.input_count // 2, channel.input_count - 1):
        assert chi_square(channel, x, 10**6, SEED + x) > 1e-6


SIZES = sorted({2, 3, 4, 5, 7, 8, 15, 16, 17, 100, 255, 256, 1000, 1023, 1024})


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("family", ["response", "Hadamard"])
def test_declared_level_is_audited_level(family: str, k: int) -> None:
    """For random levels, the audited level is the declared one. A channel with a weight one unit closer to the truth,
    and the channel for a level 0.1% higher, are refused."""
    draw = random.Random(k)
    for _ in range(4):
        level = draw.randrange(10**7, 8 * NAT)
        more = level + level // 1000
        if family == "response":
            cover = cover_of(level, k)
            good: Channel = RandomizedResponse(k, (cover,))
            bad: list[Channel] = [RandomizedResponse(k, (cover - 1,)), RandomizedResponse(k, (cover_of(more, k),))]
        else:
            truth = truth_of(level)
            good = Hadamard(truth, k)
            bad = [Hadamard(truth + 1, k), Hadamard(truth_of(more), k)]
        certificate = notions.certify(good, notions.Ldp(level))
        assert certificate.audited_level == certificate.ldp_level == certificate.cost == level
        for channel in bad:
            with pytest.raises(Uncertified):
                notions.certify(channel, notions.Ldp(level))


@pytest.mark.parametrize("k", [2, 3, 4, 7, 8, 1023, 1024])
def test_hadamard_order_is_strictly_larger(k: int) -> None:
    """The order of a Hadamard channel is the smallest power of two above k, so no value has the row of ones."""
    order = Hadamard(truth_of(NAT), k).output_count
    assert order // 2 <= k < order
    assert order & (order - 1) == 0


@given(st.integers(2, 12), st.data())
def test_responses_of_any_cover_have_the_losses_of_brute_force(k: int, data: st.DataObject) -> None:
    """Any cover that sums to at most 2^64 gives a channel with the losses of brute force."""
    cover = data.draw(st.lists(st.integers(0, ONE // k), min_size=k, max_size=k))
    channel = RandomizedResponse(k, (cover[0],) if len(set(cover)) == 1 else tuple(cover))
    matrix = weights(channel)
    assert all(sum(row) == ONE for row in matrix)
    first, second = (data.draw(st.lists(st.integers(0, k - 1), min_size=1)) for _ in range(2))
    check_loss(channel, matrix, first, second)


@given(st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), min_size=2, max_size=6))
def test_a_nearest_table_rounds_up_and_reduces_one_cell(shares: list[list[int]]) -> None:
    """Every cell of the nearest table is its probability rounded up, except one cell of each row, which is reduced by
    the difference."""
    rows = [[Fraction(share, sum(row)) for share in row] for row in shares]
    table = Table.rounded(rows)
    for wanted, got in zip(rows, table.rows, strict=True):
        errors = sorted(weight - probability * 2**62 for probability, weight in zip(wanted, got, strict=True))
        assert -4 < errors[0] <= 0
        assert all(0 <= error < 1 for error in errors[1:])


def test_rows_that_do_not_sum_to_one_are_refused() -> None:
    """Rows that do not sum to one are refused before they are rounded."""
    half = Fraction(1, 2)
    for row in ([half, half, half], [Fraction(3, 2), -half, Fraction(0)]):
        with pytest.raises(ChannelError):
            Table.rounded([row, [half, half, Fraction(0)]])


def test_an_infinite_loss_is_worse_than_any_finite_one() -> None:
    """A ratio over 0 is strictly worse than any finite ratio, and not worse than another infinite one."""
    infinite, finite = Loss(1, 0, 0, 1, 0), Loss(2**64, 1, 0, 1, 0)
    assert infinite.worse_than(finite)
    assert not finite.worse_than(infinite)
    assert not infinite.worse_than(infinite)
    assert infinite.level is None

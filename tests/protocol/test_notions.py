"""Properties of notions and certificates (SPEC 6), against brute force in fractions."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from inspect import isabstract

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from protocol import codec, exact, notions
from protocol.channels import Bits, Blocks, Channel, Hadamard, RandomizedResponse, Table
from protocol.channels.bits.channel import S
from protocol.errors import NotionError, Uncertified
from protocol.notions import (
    UNBOUNDED,
    Block,
    Classes,
    DeclaredPrior,
    Geo,
    HighLow,
    Ldp,
    Lip,
    Matrix,
    MinId,
    MutualInformation,
    Notion,
    TranscriptPrior,
    certify,
)
from tests.families.blocks import high_low, in_blocks
from tests.families.hadamard import truth_of
from tests.families.noise import mirrored
from tests.families.projective import projective
from tests.families.response import cover_of
from tests.families.shapes import ONE, STEPS
from tests.families.subset import subset
from tests.families.windows import WINDOWS

NAT = exact.NANONATS
MOST = exact.MAX_LEVEL


@st.composite
def tables(draw: st.DrawFn, positive: bool = False) -> Table:
    """Draw small tables of small weights, with zeros unless ``positive``."""
    width = draw(st.integers(2, 5))
    height = draw(st.integers(2, 5))
    row = st.lists(st.integers(1 if positive else 0, 12), min_size=width, max_size=width).filter(any)
    rows = draw(st.lists(row, min_size=height, max_size=height))
    return Table.rounded([[Fraction(weight, sum(row)) for weight in row] for row in rows])


def pair_level(channel: Channel, x: int, other: int) -> int | None:
    """Return the level of one ordered pair over all outputs; None for infinite."""
    worst = 0
    for y in range(channel.output_count):
        mine, theirs = channel.weight(x, y), channel.weight(other, y)
        if mine:
            level = exact.level_of(mine, theirs)
            if level is None:
                return None
            worst = max(worst, level)
    return worst


def brute(channel: Channel, bounds: dict[tuple[int, int], int]) -> tuple[bool, int] | None:
    """Return whether every pair satisfies its bound, and the largest level of a bounded pair; None if one is
    infinite."""
    kept, worst = True, 0
    for (x, other), bound in bounds.items():
        level = pair_level(channel, x, other)
        if level is None:
            return None
        kept, worst = kept and level <= bound, max(worst, level)
    return kept, worst


def bounds_of(notion: Notion, k: int) -> dict[tuple[int, int], int]:
    """Return every bounded pair of different inputs and its bound, from the definition of the notion."""
    pairs = [(x, other) for x in range(k) for other in range(k) if x != other]
    if isinstance(notion, HighLow):
        return {pair: notion.level for pair in pairs if pair[0] in notion.sensitive}
    if isinstance(notion, Block):
        block = [number for number, length in notion.runs for _ in range(length)]
        return {pair: notion.level for pair in pairs if block[pair[0]] == block[pair[1]]}
    if isinstance(notion, Matrix):
        return {pair: notion.levels[pair[0]][pair[1]] for pair in pairs if notion.levels[pair[0]][pair[1]] != UNBOUNDED}
    return dict.fromkeys(pairs, notion.level)


def check_audit(channel: Channel, notion: Notion) -> None:
    expected = brute(channel, bounds_of(notion, channel.input_count))
    ldp = brute(channel, bounds_of(Ldp(MOST), channel.input_count))
    if expected is None or not expected[0]:
        with pytest.raises(Uncertified):
            certify(channel, notion)
        return
    certificate = certify(channel, notion)
    assert (certificate.declared_level, certificate.audited_level) == (notion.level, expected[1])
    assert certificate.ldp_level == (None if ldp is None else ldp[1])
    assert certificate.cost == (expected[1] if ldp is None else ldp[1])
    assert certificate.audited_level <= notion.level


@given(tables(), st.integers(exact.MIN_LEVEL, MOST))
def test_ldp_equals_brute_force(channel: Table, level: int) -> None:
    """The LDP audit is the worst level over all ordered pairs and outputs, and certifies exactly the channels that
    satisfy the level."""
    check_audit(channel, Ldp(level))


@given(tables(), st.integers(exact.MIN_LEVEL, MOST), st.data())
def test_high_low_equals_brute_force(channel: Table, level: int, data: st.DataObject) -> None:
    """The high-low audit bounds the pairs whose first input is sensitive, and no others."""
    k = channel.input_count
    sensitive = sorted(data.draw(st.sets(st.integers(0, k - 1), min_size=1, max_size=k - 1)))
    check_audit(channel, HighLow(level, k, tuple(sensitive)))


@given(tables(), st.integers(exact.MIN_LEVEL, MOST), st.data())
def test_block_equals_brute_force(channel: Table, level: int, data: st.DataObject) -> None:
    """The block audit bounds the pairs within one block, and no others."""
    k = channel.input_count
    blocks = data.draw(st.lists(st.integers(0, 2), min_size=k, max_size=k))
    assume(len(set(blocks)) < k)
    check_audit(channel, Block.over(level, blocks))


@given(tables(), st.data())
def test_pairwise_equals_brute_force(channel: Table, data: st.DataObject) -> None:
    """The pairwise audit compares each ordered pair with its own entry, and skips unbounded pairs."""
    k = channel.input_count
    entry = st.integers(NAT // 2, 4 * NAT) | st.sampled_from([UNBOUNDED, 0, 3 * NAT])
    levels = [[0 if x == other else data.draw(entry) for other in range(k)] for x in range(k)]
    largest = max(max(row) for row in levels)
    assume(largest > 0)
    check_audit(channel, Matrix(largest, tuple(map(tuple, levels))))


@given(st.integers(exact.MIN_LEVEL, MOST), st.lists(st.booleans(), min_size=3, max_size=12))
def test_structured_channels_are_audited_as_their_tables(level: int, marks: list[bool]) -> None:
    """The Hadamard channel for high-low is certified at the declared level, in agreement with the dense audit."""
    assume(sum(marks) >= 2)
    assume(not all(marks))
    sensitive = tuple(x for x, mark in enumerate(marks) if mark)
    channel = high_low(level, [int(mark) for mark in marks])
    notion = HighLow(level, len(marks), sensitive)
    check_audit(channel, notion)
    assert certify(channel, notion).audited_level == level
    check_audit(replace(channel, cover=channel.cover - 1), notion)
    check_audit(replace(channel, channels=(Hadamard(truth_of(level) + 1, sum(marks)),)), notion)


@given(tables(positive=True), st.data())
def test_lip_equals_brute_force(channel: Table, data: st.DataObject) -> None:
    """The LIP level is the level of the worst lift or inverse lift; one nanonat less is refused."""
    prior = data.draw(st.lists(st.integers(1, 1000), min_size=channel.input_count, max_size=channel.input_count))
    total = sum(prior)
    worst = Fraction(1)
    for y in range(channel.output_count):
        column = [Fraction(channel.weight(x, y), 1 << channel.scale) for x in range(channel.input_count)]
        marginal = sum((Fraction(p, total) * q for p, q in zip(prior, column, strict=True)), Fraction())
        worst = max(worst, max(column) / marginal, marginal / min(column))
    level = exact.level_of(worst.numerator, worst.denominator)
    assert level is not None
    declared = max(level, exact.MIN_LEVEL)
    assert certify(channel, Lip(declared, tuple(prior))).audited_level == level
    if level > exact.MIN_LEVEL:
        with pytest.raises(Uncertified):
            certify(channel, Lip(level - 1, tuple(prior)))


@given(tables(positive=True), st.data())
def test_ldp_implies_lip_implies_twice_ldp(channel: Table, data: st.DataObject) -> None:
    """A channel of LDP level eps has LIP level at most eps under every prior, and one of LIP level eps has LDP level
    at most 2 eps (Jiang, Li, Tandon, Theorem 1; the two levels are each rounded up by less than a nanonat)."""
    prior = data.draw(st.lists(st.integers(1, 10**6), min_size=channel.input_count, max_size=channel.input_count))
    ldp = channel.loss(range(channel.input_count), range(channel.input_count)).level
    lip = channel.loss_against_prior(prior).level
    assert ldp is not None
    assert lip is not None
    assert lip <= ldp <= 2 * lip


def published_lip(prior: list[int], level: int) -> RandomizedResponse:
    """Return the papers' channel Q(m|m) = 1 - (1 - P_m) a, Q(k|m) = P_k a with a = e^-eps (MATH 1.1), with a rounded
    up."""
    total, odds = sum(prior), exact.exp_lower(level)
    cover = [-(-(p << 64 + exact.EXP_BITS) // (total * odds)) for p in prior]
    return RandomizedResponse(len(prior), (cover[0],) if len(set(cover)) == 1 else tuple(cover))


def test_the_published_lip_channel_is_valid_where_no_value_is_rare() -> None:
    """The published closed form satisfies eps-LIP if and only if P_m >= 1 / (e^eps + 1) for every m, for 600 random
    priors.

    Rounded to 64 bits the channel may exceed its level by a nanonat, so levels are compared with this tolerance; priors
    within the tolerance of the border are skipped.
    """
    draw = random.Random(11)
    valid = invalid = 0
    while valid + invalid < 600:
        k = draw.randint(2, 6)
        level = draw.randint(NAT // 10, 4 * NAT)
        prior = [draw.randint(1, 1000) for _ in range(k)]
        if draw.random() < 0.5:
            # The channel for a nearly uniform prior satisfies its level far more often.
            prior = [300 + weight % 200 for weight in prior]
        share = Fraction(min(prior), sum(prior))
        border = Fraction(1 << exact.EXP_BITS, exact.exp_lower(level) + (1 << exact.EXP_BITS))
        if abs(share - border) < Fraction(1, 10**6):
            continue
        found = published_lip(prior, level).loss_against_prior(prior).level
        assert found is not None
        assert (found <= level + 1) is (share >= border), (prior, level, found)
        valid, invalid = valid + (share >= border), invalid + (share < border)
    assert min(valid, invalid) > 100


def test_lip_of_a_response_is_that_of_its_table() -> None:
    """The fast LIP audit of a response agrees with the audit of the same weights as a table."""
    draw = random.Random(12)
    for _ in range(200):
        k = draw.randint(2, 6)
        cover = tuple(4 * draw.randint(1, ONE // k // 4) for _ in range(k))
        response = RandomizedResponse(k, cover if len(set(cover)) > 1 else cover[:1])
        table = Table(tuple(tuple(response.weight(x, y) // 4 for y in range(k)) for x in range(k)))
        prior = [draw.randint(1, 100) for _ in range(k)]
        assert response.loss_against_prior(prior).level == table.loss_against_prior(prior).level


def test_the_witness_is_the_pair_that_exceeds() -> None:
    """If several bounds are nearly reached, the error names the pair whose bound is exceeded, its bound and output."""
    wide, narrow = 3 * NAT, NAT
    table = Table.rounded([
        [Fraction(8, 10), Fraction(1, 10), Fraction(1, 10)],
        [Fraction(1, 10), Fraction(8, 10), Fraction(1, 10)],
        [Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)],
    ])  # fmt: skip
    levels = ((0, wide, wide), (wide, 0, wide), (wide, narrow, 0))
    with pytest.raises(
        Uncertified, match=r"1\.38\d* nats, above the bound of 1 nat \(input 2 against 1, output 2; nats"
    ):
        certify(table, Matrix(wide, levels))


def test_a_pairwise_audit_computes_one_exponential_a_pair() -> None:
    """A matrix of 60 values with all levels different is audited with at most one exponential for each entry and a
    hundred more."""
    k = 60
    draw = random.Random(13)
    weights = [[draw.randint(90, 110) for _ in range(k)] for _ in range(k)]
    table = Table.rounded([[Fraction(weight, sum(row)) for weight in row] for row in weights])
    levels = [[0 if x == y else NAT + draw.randrange(NAT) for y in range(k)] for x in range(k)]
    exact.exp_lower.cache_clear()
    certify(table, Matrix(max(map(max, levels)), tuple(map(tuple, levels))))
    assert exact.exp_lower.cache_info().misses <= k * k + 100


OWN = DeclaredPrior(NAT, 3)
TRANSCRIPT = TranscriptPrior(NAT, (5, 3, 2), 100)
THREE = RandomizedResponse(3, (cover_of(NAT, 3),))
TWO_OF_THREE = Blocks(0, ((1, 3), (2, 3)), (THREE, RandomizedResponse(3, (cover_of(2 * NAT, 3),))))
LINE = mirrored(1, 3, (STEPS // 8, STEPS // 16))
GRID: dict[str, tuple[Notion, Channel]] = {
    "ldp": (Ldp(NAT), THREE),
    "ldp of bits": (Ldp(2 * NAT), Bits((S // 2,), (S // 7,), ((0, 4),))),
    "ldp of sets": (Ldp(NAT), subset(4, 2, NAT)),
    "ldp of a geometry": (Ldp(NAT), projective(5, 2, 3, NAT)),
    "high-low": (HighLow(NAT, 5, (0, 3)), high_low(NAT, [1, 0, 0, 1, 0])),
    "block": (Block.over(NAT, [7, 7, 3, 7, 3]), in_blocks(NAT, [1, 1, 2, 1, 2])),
    "pairwise": (Matrix(2 * NAT, ((0, 2 * NAT, NAT), (UNBOUNDED, 0, NAT), (NAT, NAT, 0))), THREE),
    "geo": (Geo.between(4 * NAT, 2, [0], [0, 1, 4]), LINE),
    "minid": (MinId.over([NAT, NAT, 2 * NAT]), THREE),
    "minid, a pair of classes left out": (MinId(2 * NAT, (NAT, 2 * NAT), ((0, 3), (1, 3)), ((0, 1),)), TWO_OF_THREE),
    "avgid": (MinId.over([NAT, NAT, 2 * NAT], "avgid"), THREE),
    "lip": (Lip(NAT, (1, 2, 3)), THREE),
    "lip of windows": (Lip(3 * NAT, (3, 200, 5, 99, 2, 40)), WINDOWS),
    "lip, with a ball of priors": (Lip(NAT, (1, 2, 3), 10**8), THREE),
    "own-lip": (OWN, OWN.channel_of((1, 1, 1))),
    "transcript-lip": (TRANSCRIPT, TRANSCRIPT.channel_of(TRANSCRIPT.prior)),
    "mutual information": (MutualInformation(NAT, (1, 2, 3)), THREE),
    "classes": (Classes.of((Ldp(NAT), Lip(2 * NAT, (1, 2, 3)))), TWO_OF_THREE),
}
grid = pytest.mark.parametrize("name", GRID)


def test_the_grid_has_every_notion() -> None:
    """Every notion that a campaign may declare is in the grid."""
    kinds: set[type] = {Notion}
    while below := {kind for each in kinds for kind in each.__subclasses__()} - kinds:
        kinds |= below
    assert {notion.name for notion, _ in GRID.values()} == {kind.name for kind in kinds if not isabstract(kind)}


@grid
def test_the_wire_form_of_a_notion_decodes_to_it(name: str) -> None:
    notion, _ = GRID[name]
    assert notions.decode(codec.decode(codec.encode(notion.encode()), limit=2**16)) == notion


@grid
def test_a_certificate_has_the_declared_and_audited_levels(name: str) -> None:
    """The audited level is not above the declared one, the LDP level is that of all inputs, and the cost of an answer
    is one of the certificate's levels."""
    notion, channel = GRID[name]
    assert notion.input_count in (None, channel.input_count)
    certificate = certify(channel, notion)
    assert 0 < certificate.audited_level <= certificate.declared_level == notion.level
    everything = range(channel.input_count)
    # The notion of classes does not compare inputs of different classes.
    if notion.name != "classes":
        assert certificate.ldp_level == channel.loss(everything, everything).level
    assert certificate.cost in (certificate.declared_level, certificate.audited_level, certificate.ldp_level)


@grid
def test_the_identity_channel_keeps_no_notion(name: str) -> None:
    """The identity channel satisfies no notion; mutual information, which bounds a mean, refuses it at the lowest
    level."""
    notion, channel = GRID[name]
    k = 3 if notion.name == "classes" else channel.input_count
    identity: Channel = Table(tuple(tuple(1 << 62 if x == y else 0 for y in range(k)) for x in range(k)))
    if notion.name == "classes":
        identity = Blocks(0, ((1, 3), (2, 3)), (identity, identity))
    lowest = replace(notion, level=exact.MIN_LEVEL) if notion.name == "mutual-information" else notion
    with pytest.raises(Uncertified, match=r"cannot:|rules out|the channel's level|the rule of transcripts"):
        certify(identity, lowest)


def test_a_refusal_names_the_two_inputs_that_an_output_distinguishes() -> None:
    """The error for an output that one of two inputs cannot give names both inputs, and does not claim that no third
    input gives the output."""
    half, full = 1 << 61, 1 << 62
    channel = Table(((half, half), (full, 0), (half, half)))
    words = "ldp bounds input 0 against input 1, but input 0 can give output 1, and input 1 cannot:"
    with pytest.raises(Uncertified, match=words):
        certify(channel, Ldp(NAT))


def test_lip_below_ldp_is_refused_for_a_channel_too_large_to_audit() -> None:
    """A channel too large to be compared with a prior cell by cell has no LIP certificate below its LDP level."""
    channel = Hadamard(truth_of(NAT), 3000)
    with pytest.raises(Uncertified, match="would take 12,"):
        certify(channel, Lip(9 * NAT // 10, tuple([1] * channel.input_count)))


def test_a_notion_of_another_size_is_refused() -> None:
    """A notion for another number of inputs is refused before anything is audited."""
    with pytest.raises(NotionError, match="4 inputs, one for each value of the notion, not 5"):
        certify(Hadamard(truth_of(NAT), 5), HighLow(NAT, 4, (1,)))


@pytest.mark.parametrize("level", [0, 1, exact.MIN_LEVEL - 1, MOST + 1, -NAT])
def test_a_level_outside_the_limits_is_refused(level: int) -> None:
    """A notion with a level below the minimum or above the maximum is refused."""
    for make in (
        lambda: Ldp(level),
        lambda: HighLow(level, 3, (0,)),
        lambda: Block(level, ((0, 2),)),
        lambda: Matrix(level, ((0, level), (level, 0))),
        lambda: Lip(level, (1, 1)),
        lambda: Geo(level, 1, (), ((1, 1),)),
        lambda: MinId.over([level, level]),
        lambda: MinId.over([level, level], "avgid"),
        lambda: DeclaredPrior(level, 2),
        lambda: TranscriptPrior(level, (1, 1)),
        lambda: MutualInformation(level, (1, 1)),
        lambda: Classes(level, (Ldp(NAT), Ldp(NAT))),
    ):
        with pytest.raises(NotionError):
            make()

"""Properties of item sets: padding, sampling, and the level of a set (SPEC 4)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import chain, combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, exact
from protocol.channels import Channel, RandomizedResponse, Table
from protocol.channels.bits.channel import Bits, S
from protocol.domain import DITHER_BYTES
from protocol.domain.items import DITHERS, Items, set_level
from protocol.errors import DomainError, NotInDomain
from protocol.notions import HighLow, Ldp, Notion, Pairwise, certify
from protocol.notions.graded import Graded
from tests.protocol.test_domain import assert_silent

ZERO = bytes(DITHER_BYTES)
NAT = exact.NANONATS
SHOP = Items(3, ("bread", "milk, fresh", "tea", "salt", "oil"))
NUMBERS = Items(4, 41_270)

domains = st.builds(Items, st.integers(1, 9), st.integers(1, 30)) | st.just(SHOP)


def sets(size: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(size), count) for count in range(size + 1)))


@given(domains, st.data())
def test_items_and_dummies_are_chosen_with_the_stated_probabilities(asked: Items, data: st.DataObject) -> None:
    """If s <= l, each item has probability 1/l and each dummy (l - s)/l^2; if s > l, each item has 1/s. The error is at
    most 2^-64 for each run of adjacent dithers, and the numbers of dithers sum to 2^64."""
    members = tuple(sorted(data.draw(st.sets(st.integers(0, asked.item_count - 1)))))
    dithers, padding, s = asked.dither_counts(members), asked.padding, len(members)
    assert sum(dithers.values()) == DITHERS
    expected = {x: Fraction(1, max(padding, s)) for x in members}
    expected |= {asked.item_count + d: Fraction(padding - s, padding**2) for d in range(padding) if s < padding}
    assert set(dithers) == set(expected)
    for x, count in dithers.items():
        assert abs(count - expected[x] * DITHERS) < (1 if x < asked.item_count else max(padding - s, 1))


@given(domains, st.data())
def test_draws_equal_the_counts_of_dithers_by_index(asked: Items, data: st.DataObject) -> None:
    """``draws`` equals the number of dithers for each index, counted between the dithers at which the index changes."""
    members = tuple(sorted(data.draw(st.sets(st.integers(0, asked.item_count - 1), max_size=6))))
    answer = [asked.label(x) for x in members]

    def index(dither: int) -> int:
        return asked.index(answer, dither.to_bytes(DITHER_BYTES, "big"))

    steps = asked.padding**2 if len(members) < asked.padding else len(members)
    dithers: dict[int, int] = {}
    start = 0
    for step in range(steps):
        low, high = start, (DITHERS * (step + 1)) // steps + 2
        high = min(high, DITHERS)
        end = next((d for d in range(max(high - 3, low), high) if d * steps >= (step + 1) * DITHERS), high)
        assert index(start) == index((start + end) // 2) == index(end - 1)
        dithers[index(start)] = dithers.get(index(start), 0) + end - start
        start = end
    assert start == DITHERS
    assert dithers == asked.dither_counts(members)


@given(domains)
def test_labels_are_read_back(asked: Items) -> None:
    """index(parse(label(x))) = x for every input under the first dither, and for dummies under every dither."""
    names = [asked.label(x) for x in range(asked.size)]
    assert [asked.index(asked.parse(name), ZERO) for name in names] == list(range(asked.size))
    assert [asked.index(asked.parse(name), b"\xff" * 8) for name in names[asked.item_count :]] == list(
        range(asked.item_count, asked.size)
    )
    assert len(set(names)) == asked.size


def test_item_sets_may_be_lists_tuples_sets_or_texts() -> None:
    """Lists, tuples, sets and texts name the same set in any order and with repetitions; the empty set is valid."""
    for answer in (["tea", "salt"], ("salt", "tea", "tea"), {"tea", "salt"}, frozenset(["tea", "salt"])):
        assert SHOP.members(answer) == (2, 3)
    assert SHOP.members(SHOP.parse(" tea; salt ;tea")) == (2, 3)
    assert SHOP.members(SHOP.parse("milk, fresh")) == SHOP.members("milk, fresh") == (1,)
    assert SHOP.members(SHOP.parse("")) == SHOP.members(()) == ()
    assert NUMBERS.members((7, "41270")) == (6, 41_269)
    assert SHOP.index(SHOP.parse(""), ZERO) == 5


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (SHOP, "s3cret"),
        (SHOP, ("tea", "s3cret")),
        (SHOP, ["tea", "(none 1)"]),
        (SHOP, ("(none 1)", "(none 2)")),
        (SHOP, {"83117"}),
        (NUMBERS, "83117"),
        (NUMBERS, (1, 83117)),
        (NUMBERS, "007"),
        (NUMBERS, 0),
        (NUMBERS, 1.5),
    ],
)
def test_an_invalid_item_set_is_refused_and_not_repeated(asked: Items, answer: object) -> None:
    """An answer that names no item is refused, and so is a dummy beside items; no error repeats the answer."""
    with pytest.raises(NotInDomain) as refused:
        asked.index(answer, ZERO)  # type: ignore[arg-type]  # an app may pass a wrong type
    assert_silent(refused.value)


@pytest.mark.parametrize("asked", [SHOP, NUMBERS, Items(1, 1)])
def test_the_wire_form_of_a_question_of_item_sets_decodes_to_it(asked: Items) -> None:
    """The wire form of a domain decodes to the same domain; 41,270 numbered items take a few bytes."""
    wire = codec.encode(asked.encode())
    assert Items.from_wire(codec.decode(wire, limit=2**16)) == asked
    assert asked is SHOP or len(wire) < 20


@pytest.mark.parametrize(
    ("padding", "labels"),
    [
        (0, 5),
        (4097, 5),
        (1, 0),
        (1, ()),
        (1, 2**20),
        (2, ("a;b",)),
        (2, ("a", "a")),
        (2, ("(none 1)", "b")),
        (2, (" a",)),
    ],
)
def test_an_invalid_domain_of_items_is_refused(padding: int, labels: tuple[str, ...] | int) -> None:
    """A domain of items has at least one item, a padding of 1 to 4,096, at most 2^20 inputs, and labels that can be
    distinguished in a list."""
    with pytest.raises(DomainError):
        Items(padding, labels)


def test_the_dither_has_exactly_eight_bytes() -> None:
    """An item set refuses a dither of another length than eight bytes."""
    for length in (0, DITHER_BYTES - 1, DITHER_BYTES + 1):
        with pytest.raises(ValueError, match="8 bytes"):
            SHOP.index("tea", bytes(length))


# For m = 3 and l = 2 there are five inputs; two of them are dummies with the smallest budget.
SMALL = Items(2, 3)
BUDGETS = [NAT, 2 * NAT, 3 * NAT, NAT, NAT]


def graded_bits(draw: random.Random) -> Bits:
    """Return a channel of five random bits, of which the last two have equal probabilities."""
    pairs = [sorted(draw.sample(range(S // 10, 9 * S // 10), 2)) for _ in range(3)]
    pairs += [sorted(draw.sample(range(S // 10, 9 * S // 10), 2))] * 2
    return Bits.over((high, low) for low, high in pairs)


def set_weight(channel: Channel, dithers: dict[int, int], y: int) -> int:
    return sum(count * channel.weight(x, y) for x, count in dithers.items())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", ["bits", "response"])
def test_set_level_is_satisfied_by_every_channel(family: str, seed: int) -> None:
    """For m = 3, l = 2, all pairs of sets and all outputs, no ratio of the distributions of two sets exceeds their set
    level, if the bounds are those of the channel."""
    draw = random.Random(seed)
    channel: Channel = graded_bits(draw)
    if family == "response":
        channel = RandomizedResponse(5, tuple(draw.randrange(2**58, 2**61) for _ in range(5)))

    def bound(x: int, other: int) -> int | None:
        return channel.loss([x], [other]).level

    of_sets = [SMALL.dither_counts(members) for members in sets(3)]
    for first in of_sets:
        for second in of_sets:
            level = set_level(bound, first, second)
            assert level is not None
            assert all(
                exact.satisfies(set_weight(channel, first, y), set_weight(channel, second, y), level)
                for y in range(channel.output_count)
            )


def test_set_level_is_theorem_4_or_sharper() -> None:
    """Under MinID-LDP the level of S against S' is at most min(budget of S, budget of S') of eq. 15, and at most the
    harmonic mean over S'; for more than 20 pairs of sets it is smaller than eq. 15. For two sets whose inputs have the
    smallest budget, it is at most this budget.

    Source: Gu et al. 2020, Theorem 4 and eq. 15.
    """
    notion = Graded.over(BUDGETS)
    e = [Fraction(exact.exp_lower(budget), 2**96) for budget in BUDGETS]
    of_sets = {members: SMALL.dither_counts(members) for members in sets(3)}

    def level(number: Fraction) -> int:
        found = exact.level_of(number.numerator, number.denominator)
        assert found is not None
        return found

    sharper = 0
    for first in of_sets.values():
        for second in of_sets.values():
            arithmetic = [sum(count * e[x] for x, count in dithers.items()) / DITHERS for dithers in (first, second)]
            harmonic = DITHERS / sum(Fraction(count) / e[x] for x, count in second.items())
            found = set_level(notion.bound, first, second)
            assert found is not None
            assert found <= level(min(arithmetic[0], harmonic)) <= level(min(arithmetic))
            sharper += found < level(min(arithmetic))
    assert sharper > 20
    found = set_level(notion.bound, of_sets[()], of_sets[0,])
    assert found is not None
    assert found <= NAT


ANSWERS = [SMALL.dither_counts(members) for members in sets(3)] + [{3: DITHERS}, {4: DITHERS}]
"""The distributions of the chosen input of every answer: all sets, and each dummy alone."""


def worst_of_two(channel: Channel, pairs: Iterable[tuple[dict[int, int], dict[int, int]]]) -> list[int | None]:
    """Return the level of each pair of distributions of the chosen input, in nanonats; None if it is infinite."""
    found = []
    for first, second in pairs:
        ratios = [(set_weight(channel, first, y), set_weight(channel, second, y)) for y in range(channel.output_count)]
        levels = [exact.level_of(n, d) for n, d in ratios if n]
        found.append(None if None in levels else max(level for level in levels if level is not None))
    return found


def table_near(draw: random.Random, notion: Notion) -> Table:
    """Return a random table near the bounds of ``notion``: equal rows, mixed with the largest certified part of random
    rows."""
    random_rows = [[Fraction(draw.randrange(1, 100)) ** 3 for _ in range(6)] for _ in range(SMALL.size)]

    def mixed(part: Fraction) -> Table:
        return Table.rounded([
            [part * cell / sum(row) + (1 - part) / len(row) for cell in row] for row in random_rows
        ])  # fmt: skip

    low, high = Fraction(0), Fraction(1)
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if notion.audit(mixed(middle))[0] else (low, middle)
    return mixed(low)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "notion",
    [
        Ldp(NAT),
        Graded.over(BUDGETS),
        Graded.over(BUDGETS, "avgid"),
        Graded.over([2 * NAT, NAT, NAT, NAT, NAT], "avgid"),
    ],
    ids=["ldp", "minid", "avgid", "avgid with a frequent least budget"],
)
def test_promises_of_pairs_are_true_for_sets(notion: Pairwise, seed: int) -> None:
    """The level of every two answers is at most the declared level, and that of some two answers at most the least
    bound of a pair; so both figures of the promise are true for sets (SPEC 6.14)."""
    assert notion.covers_sets(SMALL.padding)
    levels = worst_of_two(table_near(random.Random(seed), notion), permutations(ANSWERS, 2))
    finite = [level for level in levels if level is not None]
    assert len(finite) == len(levels)
    assert max(finite) <= notion.level
    assert min(finite) <= min(bound for _, _, bound in notion.bounds())


@pytest.mark.parametrize("seed", range(5))
def test_promises_under_a_prior_are_true_for_sets(seed: int) -> None:
    """For every distribution of answers, Q(y|S) / P(y) is within the LIP level of the chosen input, whose prior the
    distribution determines. This is also true for the event that a set has an item."""
    draw = random.Random(seed)
    channel = table_near(draw, Ldp(2 * NAT))
    shares = [draw.randrange(1, 30) for _ in ANSWERS]
    prior = [
        sum(share * chosen.get(x, 0) for share, chosen in zip(shares, ANSWERS, strict=True)) for x in range(SMALL.size)
    ]
    level = channel.loss_against_prior(prior).level
    assert level is not None
    events = [[place] for place in range(len(ANSWERS))]
    events += [[place for place, members in enumerate(sets(3)) if x in members] for x in range(3)]
    for y in range(channel.output_count):
        p = sum(weight * channel.weight(x, y) for x, weight in enumerate(prior))
        for event in events:
            q = sum(shares[place] * set_weight(channel, ANSWERS[place], y) for place in event)
            total = sum(shares[place] for place in event)
            assert exact.satisfies(q * sum(shares), p * total, level)
            assert exact.satisfies(p * total, q * sum(shares), level)


def open_pair() -> tuple[Notion, Channel]:
    """Return MinID-LDP over three items and a dummy, without a bound for items 2 and 3, and a channel for it."""
    notion = Graded.over([NAT, 2 * NAT, 2 * NAT, NAT], "minid", [(NAT, NAT), (NAT, 2 * NAT)])
    hidden, second, third = (10, 5, 5), (5, 13, 2), (5, 2, 13)
    rows = [[Fraction(cell, 20) for cell in row] for row in (hidden, second, third, hidden)]
    return notion, Table.rounded(rows)


def one_sensitive() -> tuple[Notion, Channel]:
    """Return high-low LDP with item 1 sensitive, and a channel that may reveal every other input."""
    half, others = Fraction(1, 2), range(1, 4)
    rows = [[half, *(half * (y == x) for y in others)] for x in others]
    return HighLow(NAT, 4, (0,)), Table.rounded([[Fraction(1), *[Fraction(0)] * 3], *rows])


@pytest.mark.parametrize("refused", [open_pair, one_sensitive])
def test_promises_that_do_not_cover_sets_are_false_for_some(refused: Callable[[], tuple[Notion, Channel]]) -> None:
    """Item 1 is protected from every input at 1 nat. But the reports of some set with item 1 are more than e times as
    likely as those of another answer."""
    notion, channel = refused()
    certify(channel, notion)
    assert not notion.covers_sets(1)
    answers = [Items(1, 3).dither_counts(members) for members in sets(3)]
    levels = worst_of_two(channel, ((chosen, other) for chosen in answers if 0 in chosen for other in answers))
    assert any(level is None or level > NAT for level in levels)


def test_a_set_without_a_bound_has_no_level() -> None:
    """If an item has no bound against any item of the other set, the pair of sets has no level; one bound for each item
    is enough."""
    assert set_level(lambda _x, _other: None, {0: DITHERS // 2, 1: DITHERS // 2}, {2: DITHERS}) is None
    assert set_level(lambda x, _other: NAT if x == 0 else None, {0: DITHERS}, {2: DITHERS}) == NAT
    half = set_level(lambda _x, other: NAT if other == 2 else None, {0: DITHERS}, {2: DITHERS // 2, 3: DITHERS // 2})
    assert half == exact.level_of(2 * exact.exp_lower(NAT), 2**96)

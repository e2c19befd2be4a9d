"""Properties of item sets: padding, sampling, and the level of a set (SPEC 4)."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, exact
from protocol.channels import Channel, RandomizedResponse
from protocol.channels.bits.channel import Bits, S
from protocol.domain import DITHER_BYTES
from protocol.domain.items import DITHERS, Items, set_level
from protocol.errors import DomainError, NotInDomain
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


def test_a_set_without_a_bound_has_no_level() -> None:
    """If an item has no bound against any item of the other set, the pair of sets has no level; one bound for each item
    is enough."""
    assert set_level(lambda _x, _other: None, {0: DITHERS // 2, 1: DITHERS // 2}, {2: DITHERS}) is None
    assert set_level(lambda x, _other: NAT if x == 0 else None, {0: DITHERS}, {2: DITHERS}) == NAT
    half = set_level(lambda _x, other: NAT if other == 2 else None, {0: DITHERS}, {2: DITHERS // 2, 3: DITHERS // 2})
    assert half == exact.level_of(2 * exact.exp_lower(NAT), 2**96)

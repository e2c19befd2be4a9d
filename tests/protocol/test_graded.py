"""Properties of graded notions: MinID-LDP and AvgID-LDP (SPEC 6.6); the theorems are those of Gu et al. 2020."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import exact, notions
from protocol.channels import Channel, Table
from protocol.errors import NotionError, Uncertified
from protocol.notions.graded import MAX_BUDGET_CLASSES, AvgId, Graded, MinId
from protocol.runs import Runs

NAT = exact.NANONATS

tables = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(1, 60), min_size=3, max_size=3), min_size=k, max_size=k)
).map(lambda rows: Table.rounded([[Fraction(cell, sum(row)) for cell in row] for row in rows]))  # fmt: skip


def level_between(channel: Channel, x: int, other: int) -> int:
    """Return the smallest level that two inputs of a channel without zeros satisfy."""
    level = channel.loss([x], [other]).level
    assert level is not None
    return level


def smallest_budgets(channel: Channel) -> list[int]:
    """Return the smallest budget of each input for which every pair with this input satisfies the smaller of the two
    budgets."""
    k = channel.input_count
    pairs = [[max(level_between(channel, x, z), level_between(channel, z, x)) for z in range(k)] for x in range(k)]
    return [max(*row, exact.MIN_LEVEL) for row in pairs]


def satisfies(channel: Channel, notion: notions.Notion) -> bool:
    try:
        notions.certify(channel, notion)
    except Uncertified:
        return False
    return True


@given(tables, st.data())
@settings(max_examples=80)
def test_the_audit_is_the_definition(channel: Table, data: st.DataObject) -> None:
    """A channel is certified if and only if every ratio of every pair satisfies the bound of this pair: the minimum of
    its two budgets for MinID, their mean for AvgID."""
    k = channel.input_count
    found = data.draw(st.lists(st.sampled_from([NAT // 10, NAT // 2, NAT, 3 * NAT]), min_size=k, max_size=k))
    for function, of in (("minid", min), ("avgid", lambda e, f: (e + f) // 2)):
        notion = Graded.over(found, function)
        expected = all(
            level_between(channel, x, z) <= of(found[x], found[z]) for x in range(k) for z in range(k) if x != z
        )
        assert satisfies(channel, notion) == expected
        assert notion.level == max(of(found[x], found[z]) for x in range(k) for z in range(k) if x != z)
        for x in range(k):
            for z in range(k):
                assert notion.bound(x, z) == (0 if x == z else of(found[x], found[z]))


@given(tables)
@settings(max_examples=80)
def test_ldp_at_the_smallest_budget_implies_minid_ldp(channel: Table) -> None:
    """Lemma 1: LDP at the smallest budget implies MinID-LDP, which implies LDP at min(largest, twice the smallest)."""
    budgets = smallest_budgets(channel)
    assert satisfies(channel, Graded.over(budgets))
    everything = range(channel.input_count)
    ldp = channel.loss(everything, everything).level
    assert ldp is not None
    assert ldp <= min(max(budgets), 2 * min(budgets) + 1)
    assert satisfies(channel, Graded.over([max(ldp, exact.MIN_LEVEL) + extra for extra in range(channel.input_count)]))


def test_twice_the_least_budget_is_reached() -> None:
    """The bound of Lemma 1 is reached: a channel under the budgets 1, 9, 9 has an LDP level of 2."""
    e = Fraction(math.floor(math.exp(1) * 10**6), 10**6)
    low, middle = Fraction(1, 100), Fraction(1, 100) * e
    high = middle * e
    table = Table.rounded([[middle, middle, 1 - 2 * middle], [low, high, 1 - low - high], [high, low, 1 - low - high]])
    assert satisfies(table, Graded.over([NAT + 1, 9 * NAT, 9 * NAT]))
    assert level_between(table, 1, 2) > 2 * NAT - 10**4


@given(tables, tables)
@settings(max_examples=60)
def test_budgets_add_over_answers(first: Table, second: Table) -> None:
    """Theorem 2: two answers satisfy the sum of the two vectors of budgets, input by input."""
    k = min(first.input_count, second.input_count)
    budgets = [x + y for x, y in zip(smallest_budgets(first), smallest_budgets(second), strict=False)]
    both = [[[p * q for p in first.rows[x] for q in second.rows[x]]] for x in range(k)]
    for x in range(k):
        for z in range(k):
            if x == z:
                continue
            bound = min(budgets[x], budgets[z])
            assert all(exact.satisfies(p, q, bound) for p, q in zip(both[x][0], both[z][0], strict=True))


def test_a_policy_graph_leaves_pairs_out() -> None:
    """A pair of classes outside the graph is not audited; protection within one class is a pair of the class with
    itself."""
    half = Fraction(1, 2)
    table = Table.rounded([[half, half, Fraction(0)], [half, half, Fraction(0)], [Fraction(0), half, half]])
    budgets = [NAT, NAT, 2 * NAT]
    assert not satisfies(table, Graded.over(budgets))
    within = Graded.over(budgets, pairs=[(NAT, NAT)])
    assert within.unbounded_pairs == ((0, 1),)
    assert satisfies(table, within)
    assert within.level == NAT
    assert within.bound(0, 2) is None
    assert notions.certify(table, within).ldp_level is None


def test_the_level_is_the_largest_bound_of_a_pair() -> None:
    """The level is the largest bound of a pair. If a single value has the largest budget, MinID-LDP bounds no pair by
    this budget, and AvgID-LDP bounds its pairs by averages."""
    notion = Graded.over([3 * NAT, NAT, 2 * NAT])
    assert notion.level == 2 * NAT
    assert Graded.over([3 * NAT, NAT, 3 * NAT]).level == 3 * NAT
    assert Graded.over([3 * NAT, NAT, 2 * NAT], "avgid").level == 5 * NAT // 2


@pytest.mark.parametrize(
    ("level", "budgets", "runs", "unbounded"),
    [
        (NAT, (NAT,), ((0, 1),), ()),
        (NAT, (NAT,), (), ()),
        (NAT, (NAT, NAT), ((0, 2), (1, 1)), ()),
        (2 * NAT, (NAT,), ((0, 2),), ()),
        (NAT, (NAT, 2 * NAT), ((0, 2), (1, 1)), ((0, 0), (0, 1))),
        (NAT, (NAT, 2 * NAT), ((0, 2), (1, 1)), ((1, 1),)),
        (NAT, (NAT, 2 * NAT), ((0, 2), (1, 1)), ((1, 0),)),
        (NAT, (NAT, 2 * NAT), ((0, 2), (1, 1)), ((0, 2),)),
        (NAT, (NAT, 2 * NAT), ((0, 2), (1, 1)), ((0, 1), (0, 1))),
        (NAT, (NAT, 0), ((0, 2), (1, 1)), ()),
        (NAT, (NAT, 21 * NAT), ((0, 2), (1, 1)), ()),
        (NAT, (NAT,), ((0, 2), (1, 1)), ()),
        (NAT, (NAT, 2 * NAT), ((1, 2), (0, 1)), ()),
    ],
)
def test_an_invalid_notion_is_refused(
    level: int, budgets: tuple[int, ...], runs: Runs, unbounded: tuple[tuple[int, int], ...]
) -> None:
    """A notion is refused unless its budgets are 0.001 to 20 nats, its classes and pairs are in canonical form, it
    bounds a pair, and its level is the computed one."""
    with pytest.raises(NotionError):
        MinId(level, budgets, runs, unbounded)


def test_an_invalid_request_for_a_notion_is_refused() -> None:
    """A notion with an unknown function, a pair with an unused budget, too many classes or no pairs is refused."""
    with pytest.raises(NotionError, match="minid or avgid"):
        Graded.over([NAT, NAT], "maxid")
    with pytest.raises(NotionError, match="a pair has a budget"):
        Graded.over([NAT, NAT], pairs=[(NAT, 3 * NAT)])
    with pytest.raises(NotionError, match="classes"):
        Graded.over([NAT + x for x in range(MAX_BUDGET_CLASSES + 1)])
    with pytest.raises(NotionError, match="protect nothing"):
        Graded.over([NAT, 2 * NAT], pairs=[])


def test_the_mean_of_two_budgets_is_rounded_down() -> None:
    """The mean of two budgets is rounded down to a nanonat, the side of more privacy."""
    draw = random.Random(1)
    for _ in range(50):
        first, second = (draw.randrange(exact.MIN_LEVEL, exact.MAX_LEVEL) for _ in range(2))
        assert 2 * AvgId.pair_bound(first, second) in (first + second, first + second - 1)

"""The meaning of a matrix of levels for hypothesis tests, two answers, processed outputs and any prior (SPEC 6).

Source: Acharya et al. 2020, Theorem 1 and Propositions 1-3. All computations use exact fractions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.channels import Table


def rows(output_count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, 50), min_size=output_count, max_size=output_count)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    outputs = draw(st.integers(2, 4))
    weights = [draw(rows(outputs)) for _ in range(3)]
    return Table.rounded([[Fraction(weight, sum(row)) for weight in row] for row in weights])


def ratio(table: Table, x: int, other: int) -> Fraction:
    """Return e^E[x][x'], the worst ratio of two inputs."""
    loss = table.loss([x], [other])
    return Fraction(loss.numerator, loss.denominator)


@given(tables())
def test_no_statistical_test_exceeds_the_level(table: Table) -> None:
    """For every set S of outputs for which a test decides for x, P(S | x) <= e^E[x][x'] P(S | x') (Theorem 1)."""
    outputs = range(table.output_count)
    signs = chain.from_iterable(combinations(outputs, size) for size in range(1, table.output_count + 1))
    for sign in signs:
        for x, other in permutations(range(table.input_count), 2):
            mine, theirs = (sum(table.weight(each, y) for y in sign) for each in (x, other))
            assert mine <= ratio(table, x, other) * theirs


@given(tables(), tables())
def test_levels_of_two_answers_add_pair_by_pair(first: Table, second: Table) -> None:
    """For two independent answers of one person, the matrices of levels add entry by entry, exactly (Prop. 2)."""
    for x, other in permutations(range(first.input_count), 2):
        worst = max(
            Fraction(first.weight(x, y) * second.weight(x, z), first.weight(other, y) * second.weight(other, z))
            for y in range(first.output_count)
            for z in range(second.output_count)
        )
        assert worst == ratio(first, x, other) * ratio(second, x, other)


@settings(max_examples=50)
@given(tables(), st.data())
def test_processing_outputs_raises_no_level(table: Table, data: st.DataObject) -> None:
    """Processing an output, randomly or not, makes no pair of inputs easier to distinguish (Prop. 1)."""
    made = data.draw(st.integers(1, 3))
    processing = [data.draw(rows(made)) for _ in range(table.output_count)]
    for x, other in permutations(range(table.input_count), 2):
        for z in range(made):
            mine, theirs = (
                sum(Fraction(table.weight(each, y) * row[z], sum(row)) for y, row in enumerate(processing))
                for each in (x, other)
            )
            assert mine <= ratio(table, x, other) * theirs


@given(tables(), rows(3))
def test_an_output_changes_odds_by_at_most_the_level(table: Table, prior: list[int]) -> None:
    """Under every prior, an output changes the odds of x against x' by a factor of at most e^E[x][x'] (Prop. 3)."""
    for y in range(table.output_count):
        for x, other in permutations(range(table.input_count), 2):
            before = Fraction(prior[x], prior[other])
            after = Fraction(prior[x] * table.weight(x, y), prior[other] * table.weight(other, y))
            assert after <= ratio(table, x, other) * before

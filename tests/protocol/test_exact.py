"""Properties of exact arithmetic (SPEC 6.1)."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import exact
from protocol.exact import EXP_BITS, MAX_LEVEL, NANONATS

ratios = st.tuples(st.integers(1, 2**117), st.integers(1, 2**117))


@given(st.integers(0, MAX_LEVEL))
def test_exp_lower_and_upper_enclose(level: int) -> None:
    """exp_lower <= 2^96 e^level < exp_upper, which is one or two units higher; compared with 80 decimal digits."""
    with localcontext() as context:
        context.prec = 80
        truth = (Decimal(level) / NANONATS).exp() * 2**EXP_BITS
    assert exact.exp_lower(level) <= truth < exact.exp_upper(level)
    assert exact.exp_upper(level) - exact.exp_lower(level) in (1, 2)


@pytest.mark.parametrize("guard_bits", [0, 16, 32, 64])
def test_exp_upper_is_an_upper_bound_with_few_guard_bits(guard_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms of the series are rounded down. With few guard bits their total rounding error exceeds one unit of the
    result, and exp_upper is still an upper bound."""
    monkeypatch.setattr(exact, "_GUARD_BITS", guard_bits)
    exact.exp_lower.cache_clear()
    try:
        for level in range(MAX_LEVEL - 40 * NANONATS // 100, MAX_LEVEL, NANONATS // 100):
            with localcontext() as context:
                context.prec = 80
                assert (Decimal(level) / NANONATS).exp() * 2**EXP_BITS < exact.exp_upper(level)
    finally:
        exact.exp_lower.cache_clear()


@given(st.integers(MAX_LEVEL, 90 * NANONATS))
def test_exp_lower_is_a_lower_bound_at_higher_levels(level: int) -> None:
    """exp_lower is a lower bound within a relative error of 2^-60 at levels that occur only in audits."""
    with localcontext() as context:
        context.prec = 100
        truth = (Decimal(level) / NANONATS).exp() * 2**EXP_BITS
        assert exact.exp_lower(level) <= truth < exact.exp_lower(level) * (1 + Decimal(2) ** -60)


def test_e_to_the_zero_is_exactly_one_and_invalid_levels_are_refused() -> None:
    """e^0 is exactly 1, a negative level is refused, and so is a level for which the upper bound is not proved."""
    assert exact.exp_lower(0) == 1 << EXP_BITS
    with pytest.raises(ValueError, match="at least 0"):
        exact.exp_lower(-1)
    with pytest.raises(ValueError, match="at most 20"):
        exact.exp_upper(MAX_LEVEL + 1)


@given(ratios, st.integers(0, MAX_LEVEL))
def test_satisfies_is_the_rational_comparison(ratio: tuple[int, int], level: int) -> None:
    """satisfies(n, d, level) is true if and only if n/d <= exp_lower(level) / 2^96."""
    kept = Fraction(*ratio) <= Fraction(exact.exp_lower(level), 1 << EXP_BITS)
    assert exact.satisfies(*ratio, level) is kept


@given(ratios)
def test_level_of_is_the_smallest_satisfied_level(ratio: tuple[int, int]) -> None:
    """The ratio n/d satisfies level_of(n, d), and does not satisfy a level that is one nanonat lower."""
    level = exact.level_of(*ratio)
    assert level is not None
    assert exact.satisfies(*ratio, level)
    assert level == 0 or not exact.satisfies(*ratio, level - 1)


@given(st.integers(1, 2**64), st.integers(1, 2**20))
def test_a_ratio_above_one_never_has_level_zero(number: int, step: int) -> None:
    """A ratio above 1, even by less than a float can represent, has a level of at least 1 nanonat; a ratio of at most 1
    has level 0."""
    level = exact.level_of(2**64 * number + step, 2**64 * number)
    assert level is not None
    assert level >= 1
    assert exact.level_of(number, number) == exact.level_of(number, number + step) == 0


@pytest.mark.parametrize("most", [10**6, MAX_LEVEL, 128 * NANONATS])
def test_ratios_at_many_levels_are_compared_with_few_powers(most: int) -> None:
    """A thousand close comparisons at different levels compute fewer than 600 powers, and a ratio just above the lower
    bound of a power is still refused."""
    rng = random.Random(most)
    asked = [rng.randrange(most) for _ in range(1000)]
    powers = [exact.exp_lower(level) for level in asked]
    exact.exp_lower.cache_clear()
    assert all(exact.satisfies(power, 1 << EXP_BITS, level + 1) for power, level in zip(powers, asked, strict=True))
    assert exact.exp_lower.cache_info().misses < 600
    for power, level in zip(powers, asked, strict=True):
        assert exact.satisfies(power, 1 << EXP_BITS, level)
        assert not exact.satisfies(power + 1, 1 << EXP_BITS, level)


def test_an_infinite_ratio_has_no_level() -> None:
    """A ratio with denominator 0 has no level and satisfies none."""
    assert exact.level_of(1, 0) is None
    assert not exact.satisfies(1, 0, MAX_LEVEL)


@given(st.decimals(0, 25, places=15))
def test_level_from_rounds_down(nats: Decimal) -> None:
    """level_from drops digits below a nanonat, so a level is never above the written number."""
    level = exact.level_from(nats)
    assert 0 <= Fraction(nats) * NANONATS - level < 1
    assert exact.level_from(str(nats)) == level


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_its_shortest_decimal(value: float) -> None:
    """rational(f) is the decimal that repr(f) shows, not the binary fraction behind it."""
    assert exact.rational(value) == Fraction(repr(value))


def test_a_subclass_of_float_is_read_as_a_float() -> None:
    """A subclass of float with another repr, such as numpy's, is read like a float."""

    class Boastful(float):
        def __repr__(self) -> str:
            return "the number 0.1"

    assert exact.rational(Boastful(0.1)) == Fraction(1, 10)
    assert exact.level_from(0.1) == NANONATS // 10


@pytest.mark.parametrize(
    "value",
    [
        math.inf,
        -math.inf,
        math.nan,
        "nan",
        "inf",
        "",
        " ",
        ".",
        "1/2",
        "1_0",
        "0x1",
        "1e1000",
        "--1",
        "٣",
        True,
        None,
        b"1",
    ],
)
def test_an_invalid_number_is_refused_and_not_repeated(value: object) -> None:
    """Infinities, NaN, fractions, other scripts and other types are refused, and the error does not repeat them."""
    with pytest.raises(ValueError, match=r"number is expected") as refused:
        exact.rational(value)  # type: ignore[arg-type]  # a person may write any type
    if isinstance(value, str) and value.strip(" .-"):
        assert value not in str(refused.value)


@pytest.mark.parametrize("value", ["1e999999999", Decimal("1e999999999"), "9" * 100_000, Decimal("Infinity")])
def test_a_huge_number_is_refused(value: str | Decimal) -> None:
    """An exponent of 999,999,999, a number of 100,000 digits and Infinity are refused."""
    with pytest.raises(ValueError, match="finite decimal number"):
        exact.rational(value)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**9), max_value=10**9))
def test_decimals_are_exact(value: Decimal) -> None:
    """A decimal, its text and its fraction give the same number."""
    assert exact.rational(value) == exact.rational(f" {value} ") == exact.rational(Fraction(value)) == Fraction(value)

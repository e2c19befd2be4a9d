"""Exact arithmetic: levels as integers, rational bounds of e^level, decimals without floats.

A privacy level is an integer number of nanonats (10^-9 nat), so levels add and compare without rounding. A ratio of
probabilities provably satisfies a level if it is at most a rational LOWER bound of e^level. An upper bound would not
prove this; it serves factors and posteriors that are shown to people and must not be too low.

Two functions return floats. The result of ``rough_log`` is a guess that integers then correct, or chooses the witness
that is shown. The result of ``nats`` is for display. No float decides whether a level is satisfied.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

NANONATS = 10**9
"""Nanonats in a nat."""

MIN_LEVEL = NANONATS // 1000
MAX_LEVEL = 20 * NANONATS
"""A campaign's level lies in 0.001 .. 20 nats. Above 20 nats, rounding to 64 bits may leave a channel too far
below its level."""

EXP_BITS = 96
"""``exp_lower`` and ``exp_upper`` are integers over 2^96."""

_GUARD_BITS = 64
_MAX_LOST = 2**39
_COARSE, _FINE = 2**29, 2**21
"""``_exp_below`` divides a level into a multiple of the first, a multiple of the second, and a rest."""

MAX_NUMERAL = 400
"""Maximum number of characters of a number that a person writes."""
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


@lru_cache(maxsize=1024)
def exp_lower(level: int) -> int:
    """Return N with N / 2^96 <= e^(level / 10^9), by Taylor's series with every term rounded down (SPEC 6.1).

    Raises:
        ValueError: ``level`` is negative.
    """
    return _series(level) >> _GUARD_BITS


def _series(level: int) -> int:
    """Return the sum of Taylor's series for e^(level / 10^9) over 2^(96 + 64), with every term rounded down."""
    if level < 0:
        raise ValueError(f"a level must be at least 0, not {in_nats(level)}")
    term = total = 1 << (EXP_BITS + _GUARD_BITS)
    index = 0
    while term:
        index += 1
        term = term * level // (NANONATS * index)
        total += term
    return total


def exp_upper(level: int) -> int:
    """Return N with e^(level / 10^9) <= N / 2^96, at most two units above ``exp_lower`` and almost always one.

    One unit lost in a term of the series grows by a factor of at most e^20 < 2^29 in the later terms, and fewer than
    2^10 terms are summed. So the sum is less than 2^39 units too low, and is increased by as much before it is rounded
    up.

    Raises:
        ValueError: ``level`` is outside 0 .. ``MAX_LEVEL``.
    """
    if level > MAX_LEVEL:
        raise ValueError(f"a level must be at most {in_nats(MAX_LEVEL)} for an upper bound, not {in_nats(level)}")
    return (_series(level) + _MAX_LOST >> _GUARD_BITS) + 1


FACTOR_DIGITS = 2
"""Significant digits of a displayed factor; below 2, significant digits of its excess over 1."""

LARGEST_POWER = 15
"""Factors above 10^15 are displayed as a power of ten."""

_LN_10 = 2_302_585_092
"""ln 10 in nanonats, rounded down."""


def factor_above(level: int) -> Fraction:
    """Return e^(level / 10^9) for display: a decimal with few digits, rounded up.

    Args:
        level: nanonats, not negative; any size, since the levels of many reports add.
    Returns:
        The factor rounded up to ``FACTOR_DIGITS`` digits (1.011, 1.5, 2.8, 1200), at most one unit of the last digit
        too high; above 10^15, the next power of ten.
    """
    upper = exp_above(level)
    if upper > 10**LARGEST_POWER:
        return upper
    return rounded_up(upper) if upper >= 2 else 1 + rounded_up(upper - 1)


def exp_above(level: int) -> Fraction:
    """Return an upper bound of e^(level / 10^9) for any level; above 10^15 it is the next power of ten.

    Below that, it is too high by a share of less than 2^-94.

    Args:
        level: nanonats, not negative.
    """
    power = -(-level // _LN_10)
    if level == 0 or power > LARGEST_POWER:
        return Fraction(10**power)
    times, rest = divmod(level, MAX_LEVEL)
    return Fraction(exp_upper(MAX_LEVEL) ** times * exp_upper(rest), 1 << EXP_BITS * (times + 1))


def posterior_above(level: int) -> Fraction:
    """Return E / (1 + E), rounded up, with E = e^(level / 10^9).

    Suppose that two values are equally probable before a report, and that no output is more than E times as likely for
    one value as for the other. Then this is the largest possible posterior of a value.
    """
    upper = exp_above(level)
    return upper / (1 + upper)


def rounded_up(number: Fraction, digits: int = FACTOR_DIGITS) -> Fraction:
    """Return a number that is not negative, rounded up to ``digits`` significant digits."""
    if not number:
        return number
    unit = Fraction(1)
    while number >= 10**digits * unit:
        unit *= 10
    while number < 10 ** (digits - 1) * unit:
        unit /= 10
    return math.ceil(number / unit) * unit


def decimal_text(number: Fraction, point: str = ".", group: str = ",") -> str:
    """Return a decimal in full, without trailing zeros: 2.8, 12,000; above 10^15 the next power of ten: 10^44.

    Args:
        number: not negative, with finitely many decimals.
        point, group: the decimal point, and the mark between thousands from 10,000 on.
    Raises:
        ValueError: ``number`` has no finite decimal form of at most 64 places.
    """
    if number > 10**LARGEST_POWER:
        power = LARGEST_POWER
        while 10**power < number:
            power += max(1, (math.ceil(number).bit_length() - (10**power).bit_length()) * 3 // 10)
        return f"10^{power}"
    places = 0
    while (number * 10**places).denominator != 1:
        places += 1
        if places > 64:
            raise ValueError("the fraction has no finite decimal form of at most 64 places")
    integer, rest = divmod(int(number * 10**places), 10**places)
    text = f"{integer:,}".replace(",", group) if integer >= 10**4 else str(integer)
    return text + (f"{point}{rest:0{places}d}" if places else "")


def in_nats(level: int) -> str:
    """Return a level with its unit, to its last nanonat: "1 nat", "0.999999998 nats".

    Args:
        level: nanonats.
    """
    digits = decimal_text(Fraction(abs(level), NANONATS), group="")
    return f"{'-' if level < 0 else ''}{digits} {'nat' if abs(level) == NANONATS else 'nats'}"


def satisfies(numerator: int, denominator: int, level: int) -> bool:
    """Return whether numerator / denominator <= exp_lower(level) / 2^96; a positive numerator over 0 satisfies no
    level."""
    shifted = numerator << EXP_BITS
    # Geo compares up to 230,000 pairs at different levels, and the series of one level takes up to 0.1 ms, more above
    # 20 nats. So a fast lower bound is tried first.
    return shifted <= _exp_below(level) * denominator or shifted <= exp_lower(level) * denominator


def _exp_below(level: int) -> int:
    """Return a number of at most ``exp_lower(level)``, computed from a few cached powers; the logarithms of the two
    numbers differ by less than 10^-12.

        e^(a + b + c) >= exp_lower(a) exp_lower(b) (1 + c + c^2 / 2 + c^3 / 6),   c < 2^21 nanonats

    ``exp_lower`` is below the power by less than one unit of 2^-96 and a share of 2^-150. A share of 2^-64 is
    subtracted, which is at least 2^32 units.
    """
    rest = level % _FINE
    middle = level % _COARSE - rest
    series = 6 * NANONATS**3 + rest * (6 * NANONATS**2 + rest * (3 * NANONATS + rest))
    below = exp_lower(level - middle - rest) * exp_lower(middle) * series // (6 * NANONATS**3 << EXP_BITS)
    return below - (below >> _GUARD_BITS) - 1


def level_of(numerator: int, denominator: int) -> int | None:
    """Return the smallest level, in nanonats, that numerator / denominator provably satisfies; None if no level is
    enough.

    It is rounded up: never below ln(numerator / denominator).
    """
    if denominator == 0:
        return None
    if numerator <= denominator:
        return 0
    level = max(0, math.floor(rough_log(numerator, denominator) * NANONATS))
    while not satisfies(numerator, denominator, level):
        level += 1
    while level and satisfies(numerator, denominator, level - 1):
        level -= 1
    return level


def rough_log(numerator: int, denominator: int) -> float:
    """Return ln(numerator / denominator) of positive integers in floating point: an approximation without an error
    bound."""
    return math.log(numerator) - math.log(denominator)


def nats(level: int) -> float:
    """Return nanonats in nats as a float, for display and plots only; infinity if no float is large enough."""
    try:
        return level / NANONATS
    except OverflowError:
        return math.inf


def rational(value: int | float | str | Decimal | Fraction) -> Fraction:
    """Return the exact number that a person wrote; a float is read as its shortest decimal form, so 0.1 is 1/10.

    Raises:
        ValueError: ``value`` is not a finite decimal number or, except for int and Fraction, has more than
            ``MAX_NUMERAL`` characters or an exponent of more than three digits. The text does not repeat the value: it
            may be a person's answer.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        raise ValueError(f"a number is expected, not {type(value).__name__}")
    if isinstance(value, int):
        return Fraction(value)
    text = float.__repr__(value) if isinstance(value, float) else str(value).strip()
    # Three digits of exponent are enough for every float; with more, a short text could be a number of gigabytes.
    if len(text) <= MAX_NUMERAL and _DECIMAL.fullmatch(text):
        return Fraction(text)
    raise ValueError(
        f"a finite decimal number is expected, such as 0.5, of at most {MAX_NUMERAL} characters and with an exponent "
        "of at most 3 digits"
    )


def level_from(value: int | float | str | Decimal | Fraction) -> int:
    """Return a level given in nats as nanonats, rounded down, so that it is never above the given one.

    Raises:
        ValueError: as for ``rational``.
    """
    return math.floor(rational(value) * NANONATS)

"""The results of an audit: a level or a delta, with a witness, always rounded up.

A level is never too low: ``exact.level_of`` rounds the level of a ratio up, a logarithm is a correctly rounded decimal
plus one unit, and a rational is rounded up to a float.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from protocol import exact

LOG_UNITS = 10**18
"""Units of ``log_above`` in one nat."""

LOG_ERROR = 2
"""Maximum error of ``log_above``, in its units."""

_DECIMALS = Context(prec=60, rounding=ROUND_CEILING, Emin=-(10**6), Emax=10**6)


@dataclass(frozen=True)
class Level:
    """A level, and the worst case that reaches it.

    Attributes:
        nanonats: the level, rounded up; None if it is infinite. For geo-indistinguishability, it is per unit of
            distance.
        x, other, y: the inputs and the output of the worst case; None if the level does not belong to a single case.
    """

    nanonats: int | None
    x: int | None = None
    other: int | None = None
    y: int | None = None

    @property
    def nats(self) -> float | None:
        """The level in nats, for display; None if it is infinite."""
        return None if self.nanonats is None else exact.nats(self.nanonats)


@dataclass(frozen=True)
class Delta:
    """The smallest delta at a level eps, and the inputs that reach it.

    Attributes:
        value: a probability, as an exact fraction. It may exceed the true delta only because a rational lower bound
            replaces e^eps.
        x, other: the inputs of the worst case; ``other`` is None if the comparison is with the prior.
    """

    value: Fraction
    x: int
    other: int | None

    @property
    def float_above(self) -> float:
        """The smallest float that is not below ``value``."""
        return float_above(self.value)


def float_above(number: Fraction) -> float:
    """Return the smallest float that is not below ``number``."""
    nearest = float(number)
    return nearest if Fraction(nearest) >= number else math.nextafter(nearest, math.inf)


def log_above(numerator: int, denominator: int) -> int:
    """Return ln(numerator / denominator) of positive integers in 10^-18 nats, rounded up; 0 for a ratio of 1.

    ``Context.ln`` is correctly rounded to the nearest decimal, so the next decimal is above the logarithm.
    """
    if numerator == denominator:
        return 0
    quotient = _DECIMALS.divide(Decimal(numerator), Decimal(denominator))
    logarithm = _DECIMALS.next_plus(_DECIMALS.ln(quotient))
    return math.ceil(logarithm * LOG_UNITS)

"""The results of an audit: a level or a delta, with a witness, always rounded up.

A level never understates. Ratios become levels by ``exact.level_of``, logarithms are correctly rounded
decimals and then one unit more, and a rational becomes the next float above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from protocol import exact

LOG_UNITS = 10**18
"""``log_above`` counts in 10^-18 nats."""

LOG_ERROR = 2
"""How many of these ``log_above`` is too high at most."""

_DECIMALS = Context(prec=60, rounding=ROUND_CEILING, Emin=-(10**6), Emax=10**6)


@dataclass(frozen=True)
class Level:
    """A level, and where it is reached.

    Attributes:
        nanonats: rounded up; None where it is infinite. Of geo-indistinguishability, per unit of distance.
        x, other, y: the inputs and the output of the worst case; None where the level is not one case's.
    """

    nanonats: int | None
    x: int | None = None
    other: int | None = None
    y: int | None = None

    @property
    def nats(self) -> float | None:
        """The level in nats, for print; None where it is infinite."""
        return None if self.nanonats is None else exact.nats(self.nanonats)


@dataclass(frozen=True)
class Delta:
    """The smallest delta at an epsilon, and where it is reached.

    Attributes:
        value: a probability, rounded up by the rational bound of e^epsilon alone.
        x, other: the inputs of the worst case; ``other`` is None where the comparison is with the prior.
    """

    value: Fraction
    x: int
    other: int | None

    @property
    def above(self) -> float:
        """A float that is not below ``value``."""
        return above(self.value)


def above(number: Fraction) -> float:
    """The smallest float that is not below ``number``."""
    found = float(number)
    return found if Fraction(found) >= number else math.nextafter(found, math.inf)


def log_above(numerator: int, denominator: int) -> int:
    """ln(numerator / denominator) of positive integers in 10^-18 nats, rounded up; of 1 it is at most 1 unit.

    ``Context.ln`` is correctly rounded to the nearest decimal; the next one is above the logarithm.
    """
    if numerator == denominator:
        return 0
    quotient = _DECIMALS.divide(Decimal(numerator), Decimal(denominator))
    logarithm = _DECIMALS.next_plus(_DECIMALS.ln(quotient))
    return math.ceil(logarithm * LOG_UNITS)

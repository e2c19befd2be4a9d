"""The types of options that take a number. The error for an invalid number states the expected range."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import click


class RealNumber(click.FloatRange):
    """A number in a range. NaN is refused explicitly, because a range check with comparisons accepts it."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number: float = super().convert(value, param, ctx)
        except click.BadParameter:
            number = math.nan
        if math.isnan(number):
            self.fail(_expected("number", self, value), param, ctx)
        return number

    def _describe_range(self) -> str:
        return _range(self.min, self.max)


class WholeNumber(click.IntRange):
    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(_expected("whole number", self, value), param, ctx)

    def _describe_range(self) -> str:
        return _range(self.min, self.max)


def _expected(kind: str, limits: click.FloatRange | click.IntRange, value: Any) -> str:
    words = f"{kind} of" if limits.max is None else kind
    return f"must be a {words} {_range(limits.min, limits.max)}, not {str(value)[:40]!r}"


def _range(low: float | None, high: float | None) -> str:
    """Return a range in words, for messages and the help; it must have a lower bound."""
    return f"at least {_decimal(low)}" if high is None else f"from {_decimal(low)} to {_decimal(high)}"


def _decimal(bound: float | None) -> str:
    return f"{Decimal(str(bound)).normalize():,f}"

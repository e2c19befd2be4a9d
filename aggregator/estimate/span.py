"""Spans of periods, as they are typed and read.

What is estimated over spans: trend.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Periods ``first`` to ``last``, both of them in it."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """As it is typed: ``3``, or ``0-3``."""
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def words(self) -> str:
        """As it is read: ``period 3``, or ``periods 0-3``."""
        return f"period{'' if self.first == self.last else 's'} {self.name}"

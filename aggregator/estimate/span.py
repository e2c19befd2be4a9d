"""Spans of periods and their names.

``trend`` estimates over spans.
"""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """The periods ``first`` to ``last``, both included."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """The name that a user types: ``3``, or ``0-3``."""
        return f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def words(self) -> str:
        """The name in sentences: ``period 3``, or ``periods 0-3``."""
        return f"period{'' if self.first == self.last else 's'} {self.name}"

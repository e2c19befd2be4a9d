"""Spans of periods and their names.

``trend`` estimates over spans.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    def name_in_text(self) -> str:
        """The name in sentences: ``period 3``, or ``periods 0-3``."""
        return f"period{'' if self.first == self.last else 's'} {self.name}"


def all_periods(periods: int) -> str:
    """Return the periods of a campaign in words, for errors: ``period 0 only``, or ``periods 0 to 3``."""
    return "period 0 only" if periods == 1 else f"periods 0 to {periods - 1:,}"


def require_ends(ends: tuple[Span, Span] | None, spans: Sequence[Span]) -> None:
    """Refuse two ends of a change that are the same span, or not among ``spans``; None is accepted.

    Raises:
        ValueError: the ends are equal, or not both among ``spans``.
    """
    if ends is not None and (ends[0] == ends[1] or any(end not in spans for end in ends)):
        raise ValueError(
            f"a change needs two different spans, both among the requested spans, not {ends[0].name} and {ends[1].name}"
        )

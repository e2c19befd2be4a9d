"""Distances between the inputs of a domain: numbers on a line, cells of a grid.

The square of a distance is an exact rational. A root is taken only to divide a level by a distance, and is rounded
down.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from protocol.channels.structure import TooLarge
from protocol.domain import MICRODEGREES, Domain, Grid, Line
from protocol.errors import DomainError

METRICS = {
    "grid": ("steps", "degrees"),
    "buckets": ("numbers", "steps"),
    "number": ("numbers", "steps"),
    "date": ("numbers", "steps"),
    "ordered": ("steps",),
}
"""The metrics of each kind of domain, the first by default."""


class Metric:
    """The Euclidean distance between inputs.

    Attributes:
        name: the unit of distance: "steps" of the grid or of the list of inputs, "degrees" as on a plane, or "numbers"
            as the domain writes them.
        coordinates: the integer coordinates (north, east) of each input.
        step_length: the length of one coordinate step, in this unit.
        min_distance: a lower bound of the distance of two inputs, in coordinate steps.
    """

    def __init__(
        self, name: str, coordinates: Sequence[tuple[int, int]], step_length: Fraction, min_distance: int
    ) -> None:
        self.name = name
        self.coordinates = coordinates
        self.step_length = step_length
        self.min_distance = min_distance

    @classmethod
    def of(cls, domain: Domain, name: str | None = None) -> Metric:
        """Return the metric of a domain.

        Args:
            name: one of the names that ``METRICS`` lists for the kind of the domain; None for the first one.
        Raises:
            DomainError: the domain has no such distance.
        """
        known = METRICS.get(domain.kind, ())
        if not known:
            raise DomainError(
                f"a domain of kind {domain.kind} has no distance, unlike grids, numbers, buckets, dates and ordered "
                "values: leave out the metric"
            )
        name = known[0] if name is None else name
        if name not in known:
            raise DomainError(
                f"the metric of a domain of kind {domain.kind} must be {' or '.join(known)}, not {name[:40]!r}"
            )
        if isinstance(domain, Grid):
            unit = Fraction(domain.step, MICRODEGREES) if name == "degrees" else Fraction(1)
            return cls(name, [divmod(x, domain.columns) for x in range(domain.size)], unit, 1)
        if isinstance(domain, Line) and name == "numbers":
            numbers = domain.scaled
            min_distance = min(high - low for low, high in pairwise(numbers))
            return cls(name, [(0, number) for number in numbers], Fraction(1, 10**domain.decimal_places), min_distance)
        return cls(name, [(0, x) for x in range(domain.size)], Fraction(1), 1)

    def square(self, x: int, other: int) -> Fraction:
        """Return the square of the distance between two inputs."""
        return self._square(x, other) * self.step_length**2

    def _square(self, x: int, other: int) -> int:
        (north, east), (other_north, other_east) = self.coordinates[x], self.coordinates[other]
        return (north - other_north) ** 2 + (east - other_east) ** 2

    def nearest_pair(
        self, first: Sequence[int], second: Sequence[int], max_pairs: int | None = None
    ) -> tuple[int, int, Fraction]:
        """Return the nearest two different inputs, one of ``first`` and one of ``second``, and the square of their
        distance.

        It sweeps from west to east, compares only points that are nearer than the best distance so far in this
        direction, and stops at a pair with the least possible distance.

        Args:
            max_pairs: maximum number of compared pairs; None for no limit.
        Raises:
            ValueError: both contain only the same input.
            TooLarge: more than ``max_pairs`` pairs would be compared, because many inputs are nearer to each other from
                west to east than the nearest two.
        """
        left = max_pairs
        marked = [(self.coordinates[x][1], x, True) for x in first]
        if second is not first:
            marked += [(self.coordinates[x][1], x, False) for x in second]
        marked.sort()
        best: tuple[int, int, int] | None = None
        # Only pairs with one input from each set are compared. If both sets are the same, one list serves both.
        visited: tuple[list[int], list[int]] = ([], [])
        first_near = [0, 0]
        for east, x, from_first in marked:
            mine, theirs = (0, 0) if second is first else (not from_first, from_first)
            others = visited[theirs]
            while best is not None and first_near[theirs] < len(others):
                if (east - self.coordinates[others[first_near[theirs]]][1]) ** 2 < best[2]:
                    break
                first_near[theirs] += 1
            near = others[first_near[theirs] :]
            if left is not None:
                left -= len(near)
                if left < 0:
                    raise TooLarge(
                        f"finding the nearest two of {len(marked):,} inputs takes more than {max_pairs:,} comparisons"
                    )
            # The points visited last are usually the nearest, and a small distance ends the search early.
            for other in reversed(near):
                if other == x:
                    continue
                square = self._square(x, other)
                if best is None or square < best[2]:
                    best = (x, other, square) if from_first else (other, x, square)
            visited[mine].append(x)
            if best is not None and best[2] == self.min_distance**2:
                break
        if best is None:
            raise ValueError("first and second must contain two different inputs, not only one input")
        return best[0], best[1], best[2] * self.step_length**2

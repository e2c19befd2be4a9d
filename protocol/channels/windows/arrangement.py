"""The parts of a windows channel: types of windows, singles, and the place of each input (SPEC 5.9).

The module ``loss`` computes the worst ratios from these parts. The module ``channel`` adds the checks and the sampling.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

from protocol.channels.channel import Channel
from protocol.channels.windows.circle import Circle


@dataclass(frozen=True)
class WindowType:
    """One type of windows, with the weight, over 2^64, of each of its J windows for every kind of input.

    Attributes:
        span: c, the number of cells that a window covers.
        inside, outside: for a rare input, the weight of a window that covers it and of one that does not; inside >=
            outside. They are equal if the span is 0 or J, so that every type has exactly one form.
        single_weight: the weight for a single.
        heavy_weights: the weight for each heavy input.
    """

    span: int
    inside: int
    outside: int
    single_weight: int
    heavy_weights: tuple[int, ...]

    @cached_property
    def by_kind(self) -> tuple[tuple[int, int], ...]:
        """For each kind of input, the weight of a window that covers it and of a window that does not."""
        return *((flat, flat) for flat in (*self.heavy_weights, self.single_weight)), (self.inside, self.outside)


@dataclass(frozen=True)
class Single:
    """An output reserved for one input.

    Attributes:
        x: the input.
        own_weight, other_weight: the output's weight, over 2^64, for the input and for every other input; own_weight >=
            other_weight.
    """

    x: int
    own_weight: int
    other_weight: int


class Arrangement(Channel):
    """A windows channel without its checks and its sampling; ``Windows`` adds both, and describes the attributes."""

    arcs: tuple[int, ...]
    cells: int
    orders: int
    heavies: tuple[int, ...]
    singles: tuple[Single, ...]
    types: tuple[WindowType, ...]

    @cached_property
    def circle(self) -> Circle:
        """The circle of cells with the arcs of the rare inputs."""
        return Circle(self.arcs, self.cells)

    @cached_property
    def place_of(self) -> dict[int, int]:
        """The position of each heavy input among the heavy inputs."""
        return {x: place for place, x in enumerate(self.heavies)}

    @cached_property
    def single_of(self) -> dict[int, int]:
        """The output of each single input."""
        return {single.x: y for y, single in enumerate(self.singles)}

    @abstractmethod
    def rest(self, x: int) -> int:
        """Return the weight of the output ``rest`` for input ``x``, over 2^64."""

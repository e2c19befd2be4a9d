"""What every decoder can do: carry shares through a channel and back.

One idea: an estimate is linear in the counts. A decoder is a pair of matrices that nobody writes down: the channel
Q (k x m) and a left inverse L of it (m x k, Q L = 1), each only multiplied with. Then E[share @ L] = p whatever p is,
the variance of every linear query is that of one number per report, and one formula serves all mechanisms.

    forward    p @ Q        the law of the output             backward   Q @ w        a mean over the output
    invert     share @ L    the unbiased estimate             adjoint    L @ v        what one report adds to v . p

How a distribution is made of the estimate, and how sure it is, is not here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from protocol.errors import HalftruthError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class NotInvertible(HalftruthError):
    """The channel does not tell its inputs apart, so no unbiased estimate exists."""


@dataclass(frozen=True)
class Staircase:
    """The estimate of each input as steps on binomial counts.

        raw[x] = base[x] + sum over s of heights[s, x] * counts[s, x] / n

    What one report adds to raw[x] takes few different numbers. Ordered from the top, they are the base plus the
    heights of the steps a report reaches, and how many reports reach a step is binomial. One step is a support
    channel: S_x is the set of outputs that reach it, with probability ``inside`` = p* from x and ``outside`` = q*
    from every other input (MATH 4.1). Two steps: reports for x, against x, and neither.

    Attributes:
        base: (k,) the least that one report adds, times n.
        heights: (s, k) not negative; 0 where an input has fewer steps.
        counts: (s, k) reports that reach the step.
        reports: n.
    """

    base: Floats
    heights: Floats
    counts: Integers
    reports: int

    @property
    def steps(self) -> Integers:
        """(k,) number of steps of each input."""
        number: Integers = (self.heights > 0).sum(axis=0, dtype=np.int64)
        return number

    @property
    def inside(self) -> Floats:
        """(k,) p*, where an input has one step; NaN elsewhere."""
        return self._where_one_step((1 - self.base) / self.heights.sum(axis=0))

    @property
    def outside(self) -> Floats:
        """(k,) q*, where an input has one step; NaN elsewhere."""
        return self._where_one_step(-self.base / self.heights.sum(axis=0))

    def _where_one_step(self, numbers: Floats) -> Floats:
        return np.where(self.steps == 1, numbers, np.nan)

    def of(self, chosen: NDArray[np.bool_]) -> Staircase:
        """The staircase of the chosen inputs alone."""
        return Staircase(self.base[chosen], self.heights[:, chosen], self.counts[:, chosen], self.reports)


class Decoder(ABC):
    """Multiplications with a channel and with a left inverse of it.

    Attributes:
        inputs, outputs: k and m.
    """

    inputs: int
    outputs: int

    @abstractmethod
    def forward(self, p: Floats) -> Floats:
        """(k,) -> (m,): sum over x of p[x] Q(y|x), the law of the output where the inputs' law is ``p``."""

    @abstractmethod
    def forward_squares(self, p: Floats) -> Floats:
        """(k,) -> (m,): sum over x of p[x] Q(y|x)^2."""

    @abstractmethod
    def backward(self, w: Floats) -> Floats:
        """(m,) -> (k,): sum over y of Q(y|x) w[y], the mean of ``w`` over the outputs of each input."""

    @abstractmethod
    def invert(self, share: Floats) -> Floats:
        """(m,) -> (k,): sum over y of share[y] L[y, x], the unbiased estimate from the shares of the outputs.

        Raises:
            NotInvertible
        """

    @abstractmethod
    def adjoint(self, v: Floats) -> Floats:
        """(k,) -> (m,): sum over x of v[x] L[y, x], what a report y adds to the estimate of v . p.

        Raises:
            NotInvertible
        """

    @abstractmethod
    def second_moment(self, share: Floats) -> Floats:
        """(m,) -> (k,): sum over y of share[y] L[y, x]^2.

        Raises:
            NotInvertible
        """

    @abstractmethod
    def staircase(self, counts: Integers) -> Staircase:
        """(m,) counts of the outputs -> the estimate as steps on binomial counts.

        Raises:
            NotInvertible
        """

    @property
    @abstractmethod
    def ceiling(self) -> Floats:
        """(m,) max over x of Q(y|x): however the inputs are spread, no output is more probable; it may be higher."""

    @property
    @abstractmethod
    def weight(self) -> float:
        """max over x and y of |L[y, x]|: the most people that one report can count for.

        Raises:
            NotInvertible
        """

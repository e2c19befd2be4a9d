"""Estimates of a campaign in which each person declared a prior of their own.

One idea: whoever declared the same prior answers through the same channel, which follows from the prior by one rule. So
reports are counted by (declared prior, output), and people of one prior are a class (Jiang, Li, Tandon 2020, sec. III:
local priors).

The rule: protocol.personal. What is done with classes: classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from aggregator.estimate.classes import Pooled
from aggregator.estimate.decoders.decoder import Floats, Integers
from aggregator.estimate.tally import Tally
from protocol import exact

_NOBODY: Integers = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True)
class PersonalTally(Tally):
    """Counts of outputs by declared prior.

    Attributes:
        counts: (d * k,) outputs, for each prior in the order of ``priors``.
        priors: (d, k) the distinct priors that anybody declared, as weights.
    """

    rejected: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    version: int | None = None
    priors: Integers = field(default_factory=lambda: _NOBODY)

    @property
    def members(self) -> Floats:
        """(d,) the share of the reports whose device declared each prior."""
        shares: Floats = self.counts.reshape(self.priors.shape).sum(axis=1) / max(self.reports, 1)
        return shares


class PersonalDecoder(Pooled):
    """Randomised response for each declared prior: Q_i(y|x) = c_i[y] + t_i [y = x], all of them at once."""

    def __init__(self, priors: Integers, level: int, members: Floats) -> None:
        """Decode reports of people with these priors.

        Args:
            priors: (d, k) weights.
            level: nanonats.
            members: (d,) shares of the reports.
        """
        self.classes, self.inputs = priors.shape
        self.features = priors.size
        self.members = members
        self.priors = priors / priors.sum(axis=1, keepdims=True)
        # The floats of protocol.personal.lip_response, whose integers are these times 2^64, rounded up.
        factor = exact.exp_lower(level) / (1 << exact.EXP_BITS)
        least = np.maximum(self.priors, 1 - factor * self.priors)
        self._truth = (factor - 1) / (factor - 1 + least.sum(axis=1, keepdims=True))
        self._cover: Floats = least * self._truth / (factor - 1)

    def _rows(self, numbers: Floats) -> Floats:
        return numbers.reshape(self.classes, self.inputs)

    def _forward(self, p: Floats) -> Floats:
        law: Floats = self._cover * p.sum(axis=1, keepdims=True) + self._truth * p
        return law.ravel()

    def _forward_squares(self, p: Floats) -> Floats:
        law: Floats = self._cover**2 * p.sum(axis=1, keepdims=True) + self._truth * (2 * self._cover + self._truth) * p
        return law.ravel()

    def _backward(self, w: Floats) -> Floats:
        rows = self._rows(w)
        mean: Floats = (self._cover * rows).sum(axis=1, keepdims=True) + self._truth * rows
        return mean

    def _invert(self, share: Floats) -> Floats:
        rows = self._rows(share)
        raw: Floats = (rows - self._cover * rows.sum(axis=1, keepdims=True)) / self._truth
        return raw

    def _moments(self, share: Floats) -> Floats:
        rows = self._rows(share)
        others = rows.sum(axis=1, keepdims=True) - rows
        moment: Floats = (rows * (1 - self._cover) ** 2 + others * self._cover**2) / self._truth**2
        return moment

    def adjoint(self, v: Floats) -> Floats:
        adds: Floats = (v - (self._cover @ v)[:, np.newaxis]) / self._truth
        return adds.ravel()

    def _levels(self, counts: Integers) -> tuple[Floats, Integers]:
        rows = counts.reshape(self.classes, self.inputs)
        levels = np.concatenate([(1 - self._cover) / self._truth, -self._cover / self._truth])
        return levels, np.concatenate([rows, rows.sum(axis=1, keepdims=True) - rows])

    @property
    def ceiling(self) -> Floats:
        own: Floats = self.members[:, np.newaxis] * (self._cover + self._truth)
        return own.ravel()

    @property
    def weight(self) -> float:
        return float((np.maximum(1 - self._cover, self._cover) / self._truth).max())

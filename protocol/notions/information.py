"""Local information privacy: |ln P(x|y) - ln P(x)| <= eps, under a prior (Jiang, Li, Tandon 2020, Def. 1).

One idea: what is bounded is how far a report moves the belief in a value, for an observer who believed the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from protocol import codec, exact
from protocol.channels import Channel, Loss
from protocol.errors import NotionError, Uncertified
from protocol.notions.notion import Notion, require_level

MAX_PRIOR_WEIGHT = 2**53


@dataclass(frozen=True)
class Information(Notion):
    """Local information privacy under a prior: e^-eps <= P(x|y) / P(x) <= e^eps for all x and y.

    Attributes:
        prior: k positive integers; P(x) = prior[x] / sum(prior), exactly. Counts serve as they are.
    """

    level: int
    prior: tuple[int, ...]
    name: ClassVar[str] = "lip"

    def __post_init__(self) -> None:
        require_level(self.level)
        if len(self.prior) < 2:
            raise NotionError("a prior has at least two values")
        if min(self.prior) < 1:
            raise NotionError("a prior is above zero at every value: LIP says nothing about a value of prior zero")
        if sum(self.prior) > MAX_PRIOR_WEIGHT:
            raise NotionError("prior weights sum to at most 2^53")

    @property
    def inputs(self) -> int | None:
        return len(self.prior)

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        loss = channel.loss_against_prior(self.prior)
        level = loss.level
        if level is None:
            raise Uncertified(f"output {loss.y} rules input {loss.x} out, which no LIP level allows")
        return exact.keeps(loss.numerator, loss.denominator, self.level), level, loss

    def encode(self) -> codec.Value:
        return [self.name, self.level, list(self.prior)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Information:
        _, level, weights = codec.fields(value, 3, cls.name, NotionError)
        return cls(
            codec.integer(level, "a level", NotionError),
            codec.integers(weights, "a prior weight", NotionError, 0, MAX_PRIOR_WEIGHT),
        )

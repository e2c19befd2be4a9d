"""Mutual information privacy: I(X; Y) <= eps under a prior (L-MIP: Wang, Qin, Qiu 2023, sec. III).

Mutual information is a mean of logarithms. The audit replaces each logarithm by an upper bound in whole nanonats, at
most two too high, and computes with integers. So the audited level is the same on every machine, and at most three
nanonats too high.

The notion bounds only an average, and a single output may reveal the answer. So the cost of a fresh output is the LDP
level, or the audited level if the LDP level is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from protocol import codec, exact
from protocol.channels import Channel, Loss
from protocol.errors import NotionError
from protocol.notions.information import MAX_PRIOR_WEIGHT, require_prior
from protocol.notions.notion import Notion, require_level

LOG_STEPS = 128
"""Steps of one logarithm; no cell needs more than one."""


@dataclass(frozen=True)
class MutualInformation(Notion):
    """Mutual information privacy: the mean of ln(Q(y|x) / P(y)), for X from the prior and Y from the channel, is at
    most ``level``.

    Attributes:
        prior: k positive integers; P(x) = prior[x] / sum(prior).
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    level: int
    prior: tuple[int, ...]
    name: ClassVar[str] = "mutual-information"

    def __post_init__(self) -> None:
        require_level(self.level)
        require_prior(self.prior)

    @property
    def input_count(self) -> int | None:
        return len(self.prior)

    def covers_sets(self, dummies: int) -> bool:
        return True

    def audit_steps(self, channel: Channel) -> int:
        return channel.input_count * channel.output_count * LOG_STEPS

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        """Return whether the upper bound of the mean is at most ``level``, this bound, and the largest ratio Q(y|x) /
        P(y)."""
        prior_sum, unit = sum(self.prior), 1 << channel.scale
        total, witness = 0, Loss(1, 1, 0, None, 0)
        for y in range(channel.output_count):
            # Inputs with equal weights share one logarithm.
            by_weight: dict[int, tuple[int, int]] = {}
            for x, (p, weight) in enumerate(zip(self.prior, channel.column(y), strict=True)):
                first, mass = by_weight.get(weight, (x, 0))
                by_weight[weight] = first, mass + p
            marginal = sum(weight * mass for weight, (_, mass) in by_weight.items())
            for weight, (x, mass) in by_weight.items():
                if weight:
                    lift = Loss(weight * prior_sum, marginal, x, None, y)
                    total += mass * weight * _log(lift.numerator, lift.denominator)
                    witness = lift if lift.worse_than(witness) else witness
        audited = max(0, -(-total // (prior_sum * unit)))
        return audited <= self.level, audited, witness

    def encode(self) -> codec.Value:
        return [self.name, self.level, list(self.prior)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> MutualInformation:
        _, level, weights = codec.fields(value, 3, cls.name, NotionError)
        return cls(
            codec.integer(level, "a level", NotionError),
            codec.integers(weights, "a prior weight", NotionError, 0, MAX_PRIOR_WEIGHT),
        )


def _log(numerator: int, denominator: int) -> int:
    """Return an upper bound of ln(numerator / denominator), in nanonats; it is at most two nanonats too high."""
    if numerator >= denominator:
        return exact.level_of(numerator, denominator) or 0
    # Let L be the level of the inverse. The inverse is above exp_lower(L - 1), so its logarithm is above L - 2.
    return 2 - (exact.level_of(denominator, numerator) or 0)

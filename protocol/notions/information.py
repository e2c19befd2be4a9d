"""Local information privacy: |ln P(x|y) - ln P(x)| <= eps, under a prior (Jiang, Li, Tandon 2020, Def. 3).

The notion bounds how much a report changes an observer's probability of a value, for an observer with this prior. A
prior is a guess, so a campaign may also declare a radius: the channel then satisfies the level for every observer whose
prior is within that distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from protocol import codec, exact
from protocol.channels import Channel, Loss
from protocol.effort import MAX_HELD, MAX_STEPS
from protocol.errors import NotionError, Uncertified
from protocol.notions.notion import Certificate, Notion, require_level, worst_pair

MAX_PRIOR_WEIGHT = 2**53
"""Maximum sum of the weights of a prior."""

RADIUS_UNITS = 10**9
"""A total variation of 1 in units of a radius, which are parts per billion."""


@dataclass(frozen=True)
class Lip(Notion):
    """Local information privacy under a prior: e^-eps <= P(x|y) / P(x) <= e^eps for all x and y.

    With a radius, the bounds apply under every prior within that radius.

    Attributes:
        prior: k positive integers, such as counts; P(x) = prior[x] / sum(prior), exactly.
        radius: the radius of the ball of priors, in parts per billion of total variation; 0 if none is declared.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    level: int
    prior: tuple[int, ...]
    radius: int = 0
    name: ClassVar[str] = "lip"

    def __post_init__(self) -> None:
        require_level(self.level)
        require_prior(self.prior)
        if not 0 <= self.radius <= RADIUS_UNITS:
            raise NotionError(
                f"the radius of a ball of priors must lie in 0 .. {RADIUS_UNITS}, not {self.radius}: a total variation "
                "in parts per billion"
            )

    @property
    def input_count(self) -> int | None:
        return len(self.prior)

    def covers_sets(self, dummies: int) -> bool:
        return True

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        loss = channel.loss_against_prior(self.prior)
        level = loss.level
        if level is None:
            raise Uncertified(
                f"output {channel.spelled(loss.y)} rules out input {loss.x}, which no LIP level allows: choose a "
                "channel in which every input gives this output with a probability above zero"
            )
        return exact.satisfies(loss.numerator, loss.denominator, self.level), level, loss

    def audit_steps(self, channel: Channel) -> int:
        return channel.prior_steps

    def certificate_steps(self, channel: Channel) -> int:
        steps = super().certificate_steps(channel)
        return self.ldp_steps(channel) if steps > MAX_STEPS and self._follows_from_ldp(channel) else steps

    def _follows_from_ldp(self, channel: Channel) -> bool:
        """Return whether an affordable audit proves LDP at the level, which implies LIP under every prior."""
        if self.ldp_steps(channel) > MAX_STEPS or channel.numbers_held > MAX_HELD:
            return False
        loss = worst_pair(channel)
        return exact.satisfies(loss.numerator, loss.denominator, self.level)

    def certificate(self, channel: Channel) -> Certificate:
        if super().certificate_steps(channel) <= MAX_STEPS:
            return super().certificate(channel)
        # The channel is too large for an audit under the prior, but LDP at the level implies the notion (SPEC 6.3).
        loss = worst_pair(channel)
        level = loss.level
        if level is None:
            raise Uncertified(
                f"output {channel.spelled(loss.y)} rules out input {loss.other}, which no LIP level allows: choose a "
                "channel in which every input gives this output with a probability above zero"
            )
        return Certificate(self.level, level, level, loss, ball_level=level if self.radius else None)

    def ball_steps(self, channel: Channel) -> int:
        if not self.radius:
            return 0
        from protocol import levels

        return levels.structure_of(channel, MAX_STEPS).worst_column_steps

    def ball_level(self, channel: Channel) -> int | None:
        if not self.radius:
            return None
        from protocol import levels  # imported here because only campaigns with a radius need it

        # Device and aggregator have the same limit of steps, so that they certify the same campaigns.
        structure = levels.structure_of(channel, MAX_STEPS)
        try:
            level = levels.lip_in_ball(structure, self.prior, Fraction(self.radius, RADIUS_UNITS))
        except levels.TooLarge as error:
            raise Uncertified(f"{error}; so a ball of priors cannot be declared: leave the radius out") from None
        if level.nanonats is None:
            raise Uncertified(
                f"output {channel.spelled(level.y or 0)} rules out an input, which no LIP level allows: choose a "
                "channel in which every input gives this output with a probability above zero"
            )
        if level.nanonats > self.level:
            raise Uncertified(
                f"the channel's level is {exact.in_nats(level.nanonats)} for a prior within the radius "
                f"{exact.decimal_text(Fraction(self.radius, RADIUS_UNITS))} of the declared one, but lip declares "
                f"{exact.in_nats(self.level)} (output {channel.spelled(level.y or 0)}; nats: see docs/GLOSSARY.md): "
                "declare a higher level or a smaller radius, or choose a channel with more noise"
            )
        return level.nanonats

    def encode(self) -> codec.Value:
        return [self.name, self.level, list(self.prior), self.radius]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Lip:
        _, level, weights, radius = codec.fields(value, 4, cls.name, NotionError)
        return cls(
            codec.integer(level, "a level", NotionError),
            codec.integers(weights, "a prior weight", NotionError, 0, MAX_PRIOR_WEIGHT),
            codec.integer(radius, "a radius", NotionError, 0, RADIUS_UNITS),
        )


def require_prior(prior: tuple[int, ...]) -> None:
    """Refuse a prior that a notion does not allow.

    Raises:
        NotionError: fewer than two weights, a weight below 1, or too large a sum.
    """
    if len(prior) < 2:
        raise NotionError(f"a prior must have at least two values, not {len(prior)}")
    if min(prior) < 1:
        x = prior.index(min(prior))
        raise NotionError(f"the prior of input {x} must be above zero: give it a small weight, or leave the value out")
    if sum(prior) > MAX_PRIOR_WEIGHT:
        raise NotionError(f"the prior weights must sum to at most 2^53, not to {sum(prior)}")

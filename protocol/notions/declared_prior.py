"""Local information privacy under the prior that each person declares (Jiang, Li, Tandon 2020: the local-prior model).

Each device declares its person's prior, which is public, and one fixed rule derives a channel from it, a randomised
response. So the persons' channels are not part of the campaign: anybody can derive a person's channel and its
certificate from the declaration. The campaign's channel is either the rule's channel for the uniform prior, or a plain
LDP channel at the campaign's level. A device uses the LDP channel if it is more accurate than the rule's channel for
its person's prior and the person declares no personal level.

The module ``personal`` defines the rule and the wire form of a declaration, and ``report`` the enrolment that
contains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from protocol import codec, personal
from protocol.channels import Channel, Loss
from protocol.channels.response.channel import RESPONSE_STEPS, RandomizedResponse
from protocol.errors import NotionError, Uncertified
from protocol.notions.information import Lip
from protocol.notions.notion import Certificate, Notion, certify, require_level
from protocol.notions.pairwise import Ldp

MAX_OUTPUT_RATIO = 4
"""Maximum ratio of outputs to inputs of the campaign's channel, because each device compares every cell."""


@dataclass(frozen=True)
class DeclaredPrior(Notion):
    """LIP at ``level`` for every person, under the prior that the person's device declares.

    Attributes:
        size: k, the number of values of every declared prior.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    level: int
    size: int
    name: ClassVar[str] = "own-lip"

    def __post_init__(self) -> None:
        require_level(self.level)
        if not 2 <= self.size <= personal.MAX_DECLARED_VALUES:
            raise NotionError(f"declared priors must have 2 to {personal.MAX_DECLARED_VALUES} values, not {self.size}")

    @property
    def input_count(self) -> int | None:
        return self.size

    @property
    def uniform(self) -> tuple[int, ...]:
        """The uniform prior, (1, ..., 1)."""
        return (1,) * self.size

    @cached_property
    def response(self) -> RandomizedResponse:
        """The rule's channel for the uniform prior."""
        return personal.lip_response(self.uniform, self.level)

    def channel_of(self, prior: Sequence[int], campaign_channel: Channel | None = None, level: int = 0) -> Channel:
        """Return the channel of a person who declares ``prior``.

        Args:
            prior: the declared prior, ``size`` positive integers.
            campaign_channel: the campaign's channel; None for ``response``.
            level: a personal level below the campaign's, in nanonats, for which the rule's channel is always used; 0
                for the campaign's level.
        """
        if level or campaign_channel is None or campaign_channel == self.response:
            return personal.lip_response(prior, level or self.level)
        return personal.declared_prior_channel(tuple(prior), self.level, campaign_channel)

    def certificate_of(
        self, prior: Sequence[int], campaign_channel: Channel | None = None, level: int = 0
    ) -> Certificate:
        """Return the certificate of the channel that ``channel_of`` returns for the same arguments.

        Raises:
            Uncertified: the channel does not satisfy the level.
        """
        return certify(self.channel_of(prior, campaign_channel, level), Lip(level or self.level, tuple(prior)))

    def max_cost(self, priors: Iterable[Sequence[int]], campaign_channel: Channel) -> int:
        """Return an upper bound of the cost of one fresh output under any of ``priors``, in nanonats.

        It is the largest cost of the rule's channels for all these priors and of the campaign's channel, although a
        device uses only one of these channels. The rule treats all values alike, so two priors with the same weights in
        another order have the same cost.

        Raises:
            Uncertified: one of these channels does not satisfy the level.
        """
        different = {tuple(sorted(prior)) for prior in priors}
        costs = [certify(personal.lip_response(prior, self.level), Lip(self.level, prior)).cost for prior in different]
        return max(self.certificate(campaign_channel).cost, *costs)

    def covers_sets(self, dummies: int) -> bool:
        return True

    def audit_steps(self, channel: Channel) -> int:
        # These are the steps for the rule's channel; the audit of any other channel takes ``ldp_steps``, which are
        # counted too.
        return channel.input_count * 2 * RESPONSE_STEPS

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        if channel == self.response:
            return Lip(self.level, self.uniform).audit(channel)
        if channel.unary or not self.size <= channel.output_count <= MAX_OUTPUT_RATIO * self.size:
            raise Uncertified(
                "the channel for declared priors must be the rule's channel for the uniform prior, or an LDP "
                f"channel with {self.size} to {MAX_OUTPUT_RATIO * self.size} outputs that are not bit vectors"
            )
        return Ldp(self.level).audit(channel)

    def encode(self) -> codec.Value:
        return [self.name, self.level, self.size]

    @classmethod
    def from_wire(cls, value: codec.Value) -> DeclaredPrior:
        _, level, size = codec.fields(value, 3, cls.name, NotionError)
        return cls(
            codec.integer(level, "a level", NotionError),
            codec.integer(size, "the number of values", NotionError, 2, personal.MAX_DECLARED_VALUES),
        )

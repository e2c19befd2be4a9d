"""Local information privacy under each person's own prior (Jiang, Li, Tandon 2020: the local-prior model).

One idea: collector and adversary know every person's prior, because each device declares one, and each device's
channel is derived for it by one fixed rule. So the campaign need not hold a channel for every person: it holds the
rule's channel for the uniform prior, and whoever has a declaration derives the channel and its certificate.

The rule: personal. How a prior is declared: report.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from protocol import codec, personal
from protocol.channels import Channel, Loss
from protocol.channels.response import RandomizedResponse
from protocol.errors import NotionError, Uncertified
from protocol.notions.information import Information
from protocol.notions.notion import Certificate, Notion, certify, require_level


@dataclass(frozen=True)
class OwnPrior(Notion):
    """LIP at ``level`` for every person under the prior that their device declares.

    Attributes:
        size: k, the number of values of every declared prior.
    """

    level: int
    size: int
    name: ClassVar[str] = "own-lip"

    def __post_init__(self) -> None:
        require_level(self.level)
        if not 2 <= self.size <= personal.MAX_DECLARED_VALUES:
            raise NotionError(
                f"priors of people's own have 2 to {personal.MAX_DECLARED_VALUES} values, not {self.size}"
            )

    @property
    def inputs(self) -> int | None:
        return self.size

    @property
    def uniform(self) -> tuple[int, ...]:
        """The prior that the campaign's own channel is for."""
        return (1,) * self.size

    def channel_of(self, prior: Sequence[int]) -> RandomizedResponse:
        """The channel of whoever declares ``prior``."""
        return personal.lip_response(prior, self.level)

    def certificate_of(self, prior: Sequence[int]) -> Certificate:
        """The certificate of that channel, under that prior.

        Raises:
            Uncertified
        """
        return certify(self.channel_of(prior), Information(self.level, tuple(prior)))

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        if channel != self.channel_of(self.uniform):
            raise Uncertified(
                "a campaign for people's own priors holds the channel that the rule gives the uniform prior"
            )
        return Information(self.level, self.uniform).audit(channel)

    def encode(self) -> codec.Value:
        return [self.name, self.level, self.size]

    @classmethod
    def from_wire(cls, value: codec.Value) -> OwnPrior:
        _, level, size = codec.fields(value, 3, cls.name, NotionError)
        return cls(
            codec.integer(level, "a level", NotionError),
            codec.integer(size, "the number of values", NotionError, 2, personal.MAX_DECLARED_VALUES),
        )

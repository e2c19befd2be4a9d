"""What a privacy notion is, and the certificate that a channel keeps one (SPEC 6).

A notion is a predicate on a channel's integers. ``certify`` computes the channel's level exactly, names
the worst pair as witness, and refuses a channel above its declared level: there is no other way to a certificate.

How a channel is made to keep a notion is the author's business, not here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from protocol import codec, exact
from protocol.channels import Channel, Loss
from protocol.effort import require_affordable
from protocol.errors import NotionError, Uncertified


@dataclass(frozen=True)
class Certificate:
    """What a channel's integers prove. All levels in nanonats, rounded up.

    Attributes:
        declared: the level the notion claims.
        audited: the smallest level the channel provably keeps under its own notion.
        ldp: its plain LDP level, which needs no prior; None where it is infinite.
        witness: the ratio that comes nearest to its bound.
        adds: whether the declared levels of a device's reports add up.
        ball: of LIP with a declared radius: the LIP level for an observer with any prior that near, at most the
            declared one. None where no radius is declared.
        classes: the certificate of each class, where the notion is one of classes.
        view: the place of the view that the witness is of; its inputs and output are those of that view's channel.
    """

    declared: int
    audited: int
    ldp: int | None
    witness: Loss
    adds: bool = False
    ball: int | None = None
    classes: tuple[Certificate, ...] = ()
    view: int = 0

    @property
    def cost(self) -> int:
        """What one fresh answer is charged.

        The declared level, where the notion makes levels add up. Else the LDP level, which adds up over answers
        whatever the prior; where it is infinite, the level between the inputs that the notion protects from each other.
        """
        if self.adds:
            return self.declared
        return self.audited if self.ldp is None else self.ldp


class Notion(ABC):
    """A privacy notion at a declared level.

    Attributes:
        adds: whether the levels of a device's reports add up, since each is designed for the earlier ones.
    """

    name: ClassVar[str]
    adds: ClassVar[bool] = False
    level: int

    @property
    @abstractmethod
    def inputs(self) -> int | None:
        """The number of inputs it speaks of; None where it fits any."""

    @abstractmethod
    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        """Whether the channel keeps the notion, the audited level, and the worst case.

        Raises:
            Uncertified: a loss without bound where a bound is declared.
        """

    @abstractmethod
    def audit_steps(self, channel: Channel) -> int:
        """Steps of ``audit`` (SPEC 6.11)."""

    def ldp(self, channel: Channel) -> int | None:
        """The LDP level of ``channel`` over all the inputs that this notion compares; None where it is infinite."""
        return worst_pair(channel).level

    def ldp_steps(self, channel: Channel) -> int:
        """Steps of ``ldp``."""
        everything = channel.apart(range(channel.inputs))
        return 2 * channel.inputs + channel.pair_steps(everything, everything)

    def ball_steps(self, channel: Channel) -> int:
        """Steps of ``ball``."""
        return 0

    def ball(self, channel: Channel) -> int | None:
        """The level of ``channel`` over a declared ball of priors; None where the notion declares none.

        Raises:
            Uncertified: it is above the declared level, or the channel is too large for it.
        """
        return None

    def steps(self, channel: Channel) -> int:
        """Steps of everything that its certificate states."""
        ldp = 0 if self.name == "ldp" else self.ldp_steps(channel)
        return self.audit_steps(channel) + ldp + self.ball_steps(channel)

    def certificate(self, channel: Channel) -> Certificate:
        """What the integers of ``channel`` prove; ``certify`` has found that it can be afforded.

        Raises:
            Uncertified: the channel does not keep the declared level, by however little.
        """
        kept, audited, witness = self.audit(channel)
        if not kept:
            raise Uncertified(
                f"the channel's level is {exact.in_nats(audited)} where {self.name} declares "
                f"{exact.in_nats(self.level)} (input {witness.x}"
                + (f" against {witness.other}" if witness.other is not None else " against the prior")
                + f", output {channel.spelled(witness.y)})"
            )
        ldp = audited if self.name == "ldp" else self.ldp(channel)
        return Certificate(self.level, audited, ldp, witness, self.adds, self.ball(channel))

    @property
    def carries_views(self) -> bool:
        """Whether it can be said of the inputs of a view (SPEC 6.12)."""
        return False

    @property
    def coarsening_steps(self) -> int:
        """Steps of ``coarsened``."""
        raise NotImplementedError(f"{self.name} does not carry views")

    def coarsened(self, input_of: Callable[[int], int], size: int) -> Notion:
        """The notion of the inputs of a view: two of them are bounded as the pair of values that is bounded most.

        Args:
            input_of: the view's input for each input that the notion speaks of.
            size: k_j, the number of the view's inputs.
        Raises:
            NotionError: it bounds no two of them.
        """
        raise NotImplementedError(f"{self.name} does not carry views")

    @abstractmethod
    def encode(self) -> codec.Value:
        """The wire form (SPEC 6)."""


def worst_pair(channel: Channel) -> Loss:
    """The largest ratio of two inputs' probabilities of one output."""
    everything = channel.apart(range(channel.inputs))
    return channel.loss(everything, everything)


def certify(channel: Channel, notion: Notion) -> Certificate:
    """The certificate of ``channel`` under ``notion``.

    Raises:
        Uncertified: the channel does not keep the declared level, by however little; or to find out would take more
            than an audit may.
    """
    require_inputs(notion, channel)
    require_affordable(notion.steps(channel), channel.held)
    return notion.certificate(channel)


def require_inputs(notion: Notion, channel: Channel) -> None:
    """Refuse a notion that speaks of other inputs than the channel's.

    Raises:
        NotionError
    """
    if notion.inputs not in (None, channel.inputs):
        raise NotionError(f"the notion speaks of {notion.inputs} values, the channel of {channel.inputs}")


def require_level(level: int) -> None:
    """Refuse levels that protect nothing or measure nothing.

    Raises:
        NotionError
    """
    if not exact.MIN_LEVEL <= level <= exact.MAX_LEVEL:
        raise NotionError(
            f"epsilon lies in {exact.nats(exact.MIN_LEVEL):g} .. {exact.nats(exact.MAX_LEVEL):g} nats, "
            f"not {exact.nats(level):g}"
        )

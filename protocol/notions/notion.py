"""The base class of privacy notions, and the certificate that a channel satisfies a notion (SPEC 6).

A notion is a predicate on a channel's integers. ``certify`` computes the channel's level, rounded up to a nanonat,
names the worst case as witness, and refuses a channel above its declared level. Every certificate is the result of such
an audit.

The author's tools (aggregator.families) construct channels that satisfy a notion.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from protocol import codec, exact
from protocol.channels import Channel, Loss
from protocol.effort import require_affordable
from protocol.errors import CampaignError, NotionError, Uncertified


@dataclass(frozen=True)
class Certificate:
    """The levels that a channel's integers prove, in nanonats, rounded up.

    Attributes:
        declared_level: the declared level of the notion.
        audited_level: the smallest level that the channel provably satisfies under its notion.
        ldp_level: the plain LDP level of the channel, which needs no prior; None if it is infinite.
        witness: the ratio that is nearest to its bound; for mutual information, the largest Q(y|x) / P(y).
        lip_levels_add: True if the LIP levels of a device's reports add up; then a report costs the declared level.
        ball_level: for LIP with a declared radius, the LIP level for an observer with any prior within the radius; at
            most the declared level. None without a radius.
        class_certificates: the certificate of each class; empty if the notion is not one of classes.
        view_index: the position of the witness's view; the inputs and the output of the witness are numbered as in the
            channel of this view.
    """

    declared_level: int
    audited_level: int
    ldp_level: int | None
    witness: Loss
    lip_levels_add: bool = False
    ball_level: int | None = None
    class_certificates: tuple[Certificate, ...] = ()
    view_index: int = 0

    @property
    def cost(self) -> int:
        """The cost of one fresh output, in nanonats.

        The cost is the declared level if the LIP levels of a device's reports add up. Otherwise it is the LDP level,
        which adds up over answers under every prior, or the audited level if the LDP level is infinite.
        """
        if self.lip_levels_add:
            return self.declared_level
        return self.audited_level if self.ldp_level is None else self.ldp_level

    @property
    def nearness(self) -> float:
        """The level of the witness as a share of the declared level, for display; infinity if its ratio is infinite."""
        if not self.witness.denominator:
            return float("inf")
        return exact.rough_log(self.witness.numerator, self.witness.denominator) / self.declared_level


class Notion(ABC):
    """A privacy notion at a declared level.

    Attributes:
        name: the name of the notion on the wire.
        level: the declared level, in nanonats.
        lip_levels_add: True if the LIP levels of a device's reports add up, because each report's channel is derived
            from the earlier reports.
    """

    name: ClassVar[str]
    lip_levels_add: ClassVar[bool] = False
    level: int

    @property
    @abstractmethod
    def input_count(self) -> int | None:
        """The number of inputs of the notion; None if it applies to any number of inputs."""

    @abstractmethod
    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        """Return whether the channel satisfies the notion, the audited level (nanonats, rounded up) and the worst case.

        Raises:
            Uncertified: a ratio that the notion bounds is infinite, or the notion does not allow this channel.
        """

    @abstractmethod
    def audit_steps(self, channel: Channel) -> int:
        """Return the number of steps of ``audit`` (SPEC 6.11)."""

    def bound_of(self, loss: Loss) -> int:
        """Return the bound of a ratio that the notion bounds, in nanonats."""
        return self.level

    def ldp_level(self, channel: Channel) -> int | None:
        """Return the plain LDP level of ``channel`` in nanonats, rounded up; None if it is infinite."""
        return worst_pair(channel).level

    def ldp_steps(self, channel: Channel) -> int:
        """Return the number of steps of ``ldp_level``."""
        everything = channel.selected(range(channel.input_count))
        return 2 * channel.input_count + channel.pair_steps(everything, everything)

    def ball_steps(self, channel: Channel) -> int:
        """Return the number of steps of ``ball_level``."""
        return 0

    def ball_level(self, channel: Channel) -> int | None:
        """Return the level of ``channel`` over a declared ball of priors, in nanonats, rounded up; None without a ball.

        Raises:
            Uncertified: the level is above the declared level, or the channel is too large to compute it.
        """
        return None

    def certificate_steps(self, channel: Channel) -> int:
        """Return the number of steps of the whole certificate."""
        ldp = 0 if self.name == "ldp" else self.ldp_steps(channel)
        return self.audit_steps(channel) + ldp + self.ball_steps(channel)

    def certificate(self, channel: Channel) -> Certificate:
        """Return the certificate of ``channel``; ``certify`` has already checked that its audit is affordable.

        Raises:
            Uncertified: the channel exceeds the declared level, even minimally, or the notion does not allow it.
        """
        satisfied, audited, witness = self.audit(channel)
        if not satisfied:
            raise Uncertified(
                f"the channel's level under {self.name} is {exact.in_nats(audited)}, above the bound of "
                f"{exact.in_nats(self.bound_of(witness))} (input {witness.x}"
                + (f" against {witness.other}" if witness.other is not None else " against the prior")
                + f", output {channel.spelled(witness.y)}; nats: see docs/GLOSSARY.md): declare a higher level, or "
                "choose a channel with more noise"
            )
        ldp = audited if self.name == "ldp" else self.ldp_level(channel)
        return Certificate(self.level, audited, ldp, witness, self.lip_levels_add, self.ball_level(channel))

    @property
    def carries_views(self) -> bool:
        """True if the notion can be applied to the inputs of a view (SPEC 6.12)."""
        return False

    @property
    def coarsening_steps(self) -> int:
        raise NotImplementedError(f"{self.name} cannot be applied to the inputs of a view")

    def coarsened(self, input_of: Callable[[int], int], size: int) -> Notion:
        """Return the notion for the inputs of a view; the bound of two of its inputs is the least bound of any two
        values mapped to them.

        Args:
            input_of: maps an input of this notion to the view's input.
            size: k_j, the number of the view's inputs.
        Raises:
            NotionError: no two inputs of the view are bounded, or only at levels below the least level of a notion.
        """
        raise NotImplementedError(f"{self.name} cannot be applied to the inputs of a view")

    def covers_sets(self, dummies: int) -> bool:
        """Return whether the promise is true for sets of items too, of which a device reports one input (SPEC 6.14).

        Args:
            dummies: the number of dummies, which are the last inputs.
        """
        return False

    @property
    def assumes_independent_inputs(self) -> bool:
        """True if the promise assumes that the input of a changed answer is independent of the earlier input (SPEC
        6.9)."""
        return False

    @abstractmethod
    def encode(self) -> codec.Value:
        """Return the wire form of the notion (SPEC 6); ``from_wire`` of its class is the inverse."""


def worst_pair(channel: Channel) -> Loss:
    """Return the largest ratio of the probabilities of one output for two inputs."""
    everything = channel.selected(range(channel.input_count))
    return channel.loss(everything, everything)


def certify(channel: Channel, notion: Notion) -> Certificate:
    """Return the certificate of ``channel`` under ``notion``.

    Raises:
        NotionError: the notion has another number of inputs.
        Uncertified: the channel exceeds the declared level, even minimally, the notion does not allow it, or its audit
            is too large.
    """
    require_inputs(notion, channel)
    require_affordable(notion.certificate_steps(channel), channel.numbers_held)
    return notion.certificate(channel)


def require_inputs(notion: Notion, channel: Channel) -> None:
    """Refuse a notion with another number of inputs than the channel.

    Raises:
        NotionError: the numbers differ.
    """
    if notion.input_count not in (None, channel.input_count):
        raise NotionError(
            f"the channel must have {notion.input_count} inputs, one for each value of the notion, not "
            f"{channel.input_count}"
        )


def require_covers_sets(notion: Notion, dummies: int, name: str = "") -> None:
    """Refuse a notion whose promise is not true for sets of items.

    Args:
        notion: the campaign's notion, or that of one class.
        dummies: the number of dummies, which are the last inputs.
        name: the author's name of the notion, for the error; empty for its name on the wire.
    Raises:
        CampaignError: the promise is not true for sets.
    """
    if not notion.covers_sets(dummies):
        raise CampaignError(
            f"the promise of {name or notion.name} does not cover sets of items, because a device reports only one "
            "item of a set, or a dummy: choose ldp, mutual-information, lip (not a transcript with a drift), or minid "
            "or avgid with every pair bounded and the same budget for all dummies"
        )


def require_covers_rounding(notion: Notion) -> None:
    """Refuse a notion for numbers rounded at random if its promise assumes independent inputs: the dither of a device
    stays the same, so the inputs of two numbers depend on each other (SPEC 6.14).

    Args:
        notion: the campaign's notion, or that of one class.
    Raises:
        CampaignError: the promise assumes independent inputs.
    """
    if notion.assumes_independent_inputs:
        raise CampaignError(
            "the promise of a drift does not cover numbers rounded at random, because a device rounds all its numbers "
            "with the same random threshold: set drift to 0, or use a domain without random rounding"
        )


def require_level(level: int, subject: str = "epsilon") -> None:
    """Refuse a level, in nanonats, that a notion must not have.

    Args:
        subject: the name of the level in the text of the error.
    Raises:
        NotionError: too high to protect, or too low for any estimate.
    """
    if not exact.MIN_LEVEL <= level <= exact.MAX_LEVEL:
        raise NotionError(
            f"{subject} must be from {exact.nats(exact.MIN_LEVEL):g} to {exact.nats(exact.MAX_LEVEL):g} nats, "
            f"not {exact.in_nats(level)} (nats: see docs/GLOSSARY.md)"
        )

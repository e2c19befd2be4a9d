"""The effect and the costs of declaring a prior, for the person before they agree.

Everything is computed from the signed campaign and the weights; nothing is stored or drawn.

campaigns/consent stores a declaration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from edge_sdk.campaigns.role import Role, candidates_of, declared_prior, personal_level
from protocol import exact
from protocol.channels import Channel

if TYPE_CHECKING:
    from edge_sdk.records import Records


@dataclass(frozen=True)
class DeclaredValue:
    """One value, and the probabilities that an observer with the declared prior assigns to it.

    Attributes:
        label: the label of the value.
        before: the declared probability.
        lowest, highest: the lowest and the highest posterior probability after one report, over all possible reports.
    """

    label: str
    before: Fraction
    lowest: Fraction
    highest: Fraction


@dataclass(frozen=True)
class Declaration:
    """The level and the costs of a prior that is declared or could be declared.

    Attributes:
        values: the campaign's values, in its order.
        declared_before: whether this prior was declared before; a declared prior is permanent and cannot be replaced.
        level_nanonats: the level of protection.
        personal: whether this is a personal level, and not the campaign's.
        cost_nanonats: the cost of one fresh output under this prior.
        worst_case_nanonats: the cost of all answers together.
        candidates: number of priors in the public list from which ``Device.choose_prior`` chooses.
        chosen_worst_case_nanonats: the cost of all answers together under the most expensive prior of this list,
            without the cost of the choice.
    """

    values: tuple[DeclaredValue, ...]
    declared_before: bool
    level_nanonats: int
    personal: bool
    cost_nanonats: int
    worst_case_nanonats: int
    candidates: int
    chosen_worst_case_nanonats: int

    @property
    def level(self) -> float:
        """The level of protection in nats."""
        return exact.nats(self.level_nanonats)

    @property
    def cost(self) -> float:
        """The cost of one fresh output in nats."""
        return exact.nats(self.cost_nanonats)

    @property
    def worst_case(self) -> float:
        """The cost of all answers together in nats."""
        return exact.nats(self.worst_case_nanonats)

    @property
    def chosen_worst_case(self) -> float:
        """The cost in nats of all answers together under the most expensive prior of the public list."""
        return exact.nats(self.chosen_worst_case_nanonats)


def declaration(
    records: Records, campaign_id: bytes, prior: Mapping[str, int] | None, level: float | None
) -> Declaration:
    """Return the level and the costs of declaring a prior (see ``Device.declaration``)."""
    joined, number = records.campaigns.find(campaign_id), records.campaigns.number(campaign_id)
    campaign, listed = joined.campaign, candidates_of(joined.campaign)
    named = Role(None, None if prior is None else declared_prior(campaign, prior), personal_level(campaign, level))
    role = records.consents.with_declared(number, named)
    weights = role.prior or listed[0]
    known = joined.with_role(replace(role, prior=weights))
    total = sum(weights)
    labels = (campaign.domain.label(x) for x in range(campaign.domain.size))
    return Declaration(
        tuple(
            DeclaredValue(label, Fraction(weight, total), *posteriors)
            for label, weight, posteriors in zip(labels, weights, posterior_ranges(known.channel, weights), strict=True)
        ),
        records.consents.declared_role(number) is not None,
        known.certificate.declared_level,
        role.level > 0,
        known.certificate.cost,
        known.commitment.worst_case,
        len(listed),
        joined.max_commitment(listed).worst_case,
    )


def posterior_ranges(channel: Channel, prior: Sequence[int]) -> list[tuple[Fraction, Fraction]]:
    """Return (lowest posterior, highest posterior) of each value, over all outputs with positive probability.

        P(x|y) = P(x) Q(y|x) / sum over x' of P(x') Q(y|x')

    Args:
        channel: the channel under this prior.
        prior: a weight above zero for each input.
    """
    lowest = [(1, 1)] * len(prior)
    highest = [(0, 1)] * len(prior)
    for y in range(channel.output_count):
        joint = [weight * channel.weight(x, y) for x, weight in enumerate(prior)]
        total = sum(joint)
        if not total:
            continue
        for x, part in enumerate(joint):
            if part * lowest[x][1] < lowest[x][0] * total:
                lowest[x] = part, total
            if part * highest[x][1] > highest[x][0] * total:
                highest[x] = part, total
    return [(Fraction(*low), Fraction(*high)) for low, high in zip(lowest, highest, strict=True)]

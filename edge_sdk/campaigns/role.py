"""The role: the class or the declared prior under which a person answers.

A role is public. It must not depend on the person's answers, except by the random choice of the module consent, which
is charged. It is a class of the campaign, or a prior that the device declares permanently. The role and the signed
campaign determine the person's channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edge_sdk.errors import ConsentMissing
from protocol.errors import CampaignError, NotInDomain, ReportError

# At run time, these are imported only with the first campaign.
if TYPE_CHECKING:
    from protocol.campaign import Campaign
    from protocol.notions.declared_prior import DeclaredPrior


@dataclass(frozen=True)
class Role:
    """The class or the declared prior of a person.

    Attributes:
        class_index: index of the class, in a campaign with classes.
        prior: the declared prior, in a campaign for declared priors.
        level: a personal level declared with the prior, in nanonats; 0 for the campaign's level.
    """

    class_index: int | None = None
    prior: tuple[int, ...] | None = None
    level: int = 0


NO_ROLE = Role()
"""The empty role: before consent, and in campaigns without classes and declared priors."""


def counts_of(campaign: Campaign, counts: Mapping[str, int]) -> list[int]:
    """Return the count of each input of the campaign, from counts by label.

    Raises:
        NotInDomain: a label is not a value of the campaign.
        ReportError: a count is not a whole number, or is negative. The text does not repeat it.
    """
    from protocol.domain import DITHER_BYTES

    domain = campaign.domain
    by_input = [0] * domain.size
    for label, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ReportError("each count or weight must be a whole number, not negative")
        try:
            x = domain.index(domain.parse(label), bytes(DITHER_BYTES))
        except NotInDomain:
            raise NotInDomain("a count or weight is for a value that the campaign does not have: correct it") from None
        by_input[x] += count
    return by_input


def declared_prior(campaign: Campaign, prior: Mapping[str, int]) -> tuple[int, ...]:
    """Return the canonical form of the prior that a person declares as weights by label.

    Raises:
        CampaignError: the campaign asks for no prior.
        NotInDomain: a label is not a value of the campaign.
        ReportError: the prior cannot be declared.
    """
    from protocol import personal

    _declared_prior_notion(campaign)
    return personal.canonical_prior(counts_of(campaign, prior))


def personal_level(campaign: Campaign, level: float | None) -> int:
    """Return a personal level in nanonats; 0 if it is the campaign's level or None.

    Raises:
        CampaignError: the campaign has no personal levels, or its own level is lower.
        NotionError: the level is outside the allowed range.
        ValueError: the level is not a finite number.
    """
    from protocol import exact
    from protocol.notions import require_level

    if level is None:
        return 0
    notion, nanonats = _declared_prior_notion(campaign), exact.level_from(level)
    require_level(nanonats, "a personal level")
    if nanonats > notion.level:
        raise CampaignError(
            f"the personal level is above the campaign's, {exact.in_nats(notion.level)} (nats: see docs/GLOSSARY.md): "
            "choose a lower one"
        )
    return nanonats if nanonats < notion.level else 0


def candidates_of(campaign: Campaign) -> tuple[tuple[int, ...], ...]:
    """Return the public list from which a declared prior may be chosen by the person's history.

    Raises:
        CampaignError: the campaign asks for no prior.
    """
    from protocol import personal

    return personal.candidate_priors(_declared_prior_notion(campaign).size)


def _declared_prior_notion(campaign: Campaign) -> DeclaredPrior:
    from protocol.notions.declared_prior import DeclaredPrior

    if not isinstance(campaign.notion, DeclaredPrior):
        raise CampaignError(f"{campaign.title!r} asks for no prior: leave out the prior and the level")
    return campaign.notion


def priors_of(campaign: Campaign) -> list[Sequence[int]]:
    """Return the prior of each class.

    Raises:
        CampaignError: the campaign has no classes, or a class has no prior.
    """
    from protocol.notions import Lip
    from protocol.notions.classes import Classes

    inner = campaign.notion.notions if isinstance(campaign.notion, Classes) else ()
    priors: list[Sequence[int]] = [notion.prior for notion in inner if isinstance(notion, Lip)]
    if not campaign.classes:
        raise CampaignError(f"{campaign.title!r} has no classes of people: leave the class out")
    if len(priors) < len(campaign.classes):
        raise CampaignError(
            f"not every class of {campaign.title!r} has a prior, so the device cannot choose one: name the class"
        )
    return priors


def incomplete_role_error(campaign: Campaign) -> ConsentMissing:
    """Return the error for a consent without the class or the prior that the campaign asks for."""
    if campaign.classes:
        return ConsentMissing(
            f"{campaign.title!r} needs a class at consent: give as_class= (option --class), one of "
            f"{', '.join(campaign.classes)}"
        )
    return ConsentMissing(
        f"{campaign.title!r} needs a declared prior at consent: give prior= (option --prior), a weight for every value"
    )

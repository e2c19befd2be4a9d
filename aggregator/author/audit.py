"""The audit of a campaign: the privacy levels that its channel's integers prove, and the expected errors.

Claims of the author are ignored; every number is computed again from the channel's integers. Levels are exact and
rounded up; errors are floats, for display.

``audit`` returns the levels of the campaign's certificate. With a ``LevelsRequest`` it also returns the channel's
levels under the other notions, as far as they apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, chain, pairwise
from typing import Any

from aggregator.campaign_facts import certificate_facts
from aggregator.estimate.error import campaign_error, lip_mse, lip_mse_bound, view_errors
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.families.decoder import NotInvertible
from protocol import levels
from protocol.campaign import Campaign
from protocol.channels import Channel
from protocol.errors import HalftruthError
from protocol.levels import METRICS, LevelsRequest, LevelTable, Metric, Pufferfish, structure_of
from protocol.notions import Classes, Lip, MutualInformation, Notion, TranscriptPrior
from protocol.notions.classes import class_channels
from protocol.views import View, is_plain
from protocol.views.view import channel_places

MAX_STEPS = 2**21
"""Maximum number of steps for one level on the aggregator, more than on a device: about two seconds, but mutual
information may take a hundred times as long."""


class AuditError(HalftruthError, ValueError):
    """A requested level is not defined for the campaign."""


@dataclass(frozen=True)
class Audit:
    """The audited levels and expected errors of a campaign.

    Attributes:
        campaign: the campaign that was audited.
        raw_mse: expected squared error of the unbiased estimate from one report, summed over the values, for people
            spread evenly; divide by n for n reports. With item sets, it is the error of the shares of people who have
            each item; with classes, the error of the shares of everybody; with views, the error of the finest view
            alone. None without an unbiased estimate.
        people_per_report: the largest number of people that one output can count for in the unbiased estimate; None
            without an unbiased estimate.
        mse: for LIP with a prior, the expected squared error of the posterior as an estimate of one person's value (1
            at their value, 0 elsewhere) if the prior is right, summed over the values (for item sets: over
            the items, times the square of the padding). None without such a prior, and for bit vectors.
        mse_bound: lower bound of ``mse`` for any mechanism at this level (MATH 2.2); None without such a prior.
        table: the levels under the other notions, as far as they apply; None if they were not requested.
        prior: the name of the prior of the levels in ``table``, such as campaign, uniform, or a file.
        request: the request from which ``table`` was computed.
    """

    campaign: Campaign
    raw_mse: float | None
    people_per_report: float | None
    mse: float | None
    mse_bound: float | None
    table: LevelTable | None = None
    prior: str | None = None
    request: LevelsRequest | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the audit as a JSON object.

        Returns:
            An object for ``json.dumps``; levels in nats, null where infinite. Scripts depend on the names of its keys.
        """
        audit_json = certificate_facts(self.campaign) | {
            "raw_mse": self.raw_mse,
            "people_per_report": self.people_per_report,
        }
        for view, view_error in (
            zip(audit_json["views"], view_errors(self.campaign), strict=True) if audit_json["views"] else ()
        ):
            view |= view_error.as_json()
        if self.mse is not None:
            audit_json |= {"mse": self.mse, "mse_bound": self.mse_bound}
        if self.table is not None and self.request is not None:
            places, channels = _distinct_views(self.campaign, self.request)
            table_json: dict[str, Any] = levels.as_json(self.table, channels)
            for witness in table_json["witnesses"].values():
                if "channel" in witness:
                    witness["view"] = places[witness.pop("channel")]
            # The certificate's levels are kept; only the level of the declared ball is replaced if another ball is
            # requested.
            certificate_levels = dict(audit_json["levels"])
            if self.request.radius is not None:
                certificate_levels.pop("lip-ball", None)
            audit_json["levels"] = table_json["levels"] | certificate_levels
            audit_json["ball"] = audit_json.get("ball") if self.request.radius is None else float(self.request.radius)
            audit_json |= {name: value for name, value in table_json.items() if name != "levels"}
            audit_json |= {
                "prior": self.prior,
                "metric": None if self.request.metric is None else self.request.metric.name,
            }
            audit_json |= self._pufferfish()
        return audit_json

    def _pufferfish(self) -> dict[str, Any]:
        if self.table is None or self.table.distinction is None or self.request is None or not self.request.pufferfish:
            return {}
        worst, pufferfish, channel = self.table.distinction, self.request.pufferfish, self.campaign.channel
        return {
            "pufferfish": {
                "secret": pufferfish.secrets[worst.secret],
                "other": pufferfish.secrets[worst.other],
                "scenario": pufferfish.scenarios[worst.scenario].name,
                "output": None if worst.level.y is None else channel.spelled(worst.level.y),
            }
        }


def levels_request(
    campaign: Campaign,
    *,
    prior: Sequence[int] | None = None,
    epsilons: Sequence[int] = (),
    radius: Fraction | None = None,
    metric: str | None = None,
    pufferfish: Pufferfish | None = None,
) -> LevelsRequest:
    """Return the request for levels under other notions.

    Args:
        prior: positive integers, one for each value, the same in all classes; default: the prior of the campaign or of
            each class, else uniform.
        epsilons: levels for which delta is computed, nanonats; default: 0, half and all of the declared level.
        radius: total-variation radius of a ball of priors, for LIP; None for no ball.
        metric: one of the ``METRICS`` of the campaign's domain; default: the first one, if there is one.
        pufferfish: secrets, pairs and scenarios; None for no Pufferfish level.
    Raises:
        DomainError: the domain has no such metric.
        AuditError: a metric or Pufferfish is requested for a campaign with views.
    """
    if not is_plain(campaign.views):
        if metric is not None or pufferfish is not None:
            raise AuditError(
                "this campaign asks devices for views of the answer, whose values have no distance and no secrets: "
                "leave out --metric and --pufferfish"
            )
        weights = prior or (1,) * campaign.domain.size
        chained = chain(*(_coarsened(campaign, view, weights) for view in campaign.views))
        return LevelsRequest(tuple(chained), epsilons or (0, campaign.notion.level // 2, campaign.notion.level), radius)
    notions = campaign.notion.notions if isinstance(campaign.notion, Classes) else (campaign.notion,)
    priors = [prior or prior_of(notion) or (1,) * campaign.domain.size for notion in notions]
    level = campaign.notion.level
    distance = Metric.of(campaign.domain, metric) if metric or campaign.domain.kind in METRICS else None
    return LevelsRequest(tuple(chain(*priors)), epsilons or (0, level // 2, level), radius, distance, pufferfish)


def prior_of(notion: Notion) -> tuple[int, ...] | None:
    """Return the prior of a notion; None without one."""
    return notion.prior if isinstance(notion, Lip | MutualInformation | TranscriptPrior) else None


def _table(campaign: Campaign, request: LevelsRequest) -> LevelTable:
    """Return the levels of the campaign under all notions, each the worst over its classes and views."""
    places, channels = _distinct_views(campaign, request)
    starts = [0, *accumulate(view.channel.input_count for view in campaign.views)]
    request = replace(
        request, prior=tuple(chain(*(request.prior[starts[place] : starts[place + 1]] for place in places)))
    )
    if campaign.classes:
        channels = [
            class_channel for channel in channels for class_channel in class_channels(channel, len(campaign.classes))
        ]
    table = levels.worst_table([structure_of(channel, MAX_STEPS) for channel in channels], request)
    if is_plain(campaign.views):
        return table
    missing = dict.fromkeys(("geo", "pufferfish"), "devices are asked for views of the answer")
    return replace(table, missing=table.missing | missing)


def _distinct_views(campaign: Campaign, request: LevelsRequest) -> tuple[list[int], list[Channel]]:
    """Return the positions and the channels of the views, without views whose channel and prior an earlier view has."""
    starts = [0, *accumulate(view.channel.input_count for view in campaign.views)]
    priors = [tuple(request.prior[begin:end]) for begin, end in pairwise(starts)]
    distributions = zip(channel_places(campaign.views), priors, strict=True)
    first: dict[tuple[int, tuple[int, ...]], int] = {}
    for place, distribution in enumerate(distributions):
        first.setdefault(distribution, place)
    return list(first.values()), [campaign.views[place].channel for place in first.values()]


def _coarsened(campaign: Campaign, view: View, weights: Sequence[int]) -> list[int]:
    """Return a prior of the answers as a prior of a view's values, for each class."""
    sums = [0] * view.map.input_count(campaign.domain)
    for x, weight in enumerate(weights):
        sums[view.map.input(campaign.domain, x)] += weight
    return sums * max(1, len(campaign.classes))


def _default_prior_name(campaign: Campaign) -> str:
    """Return the name of the prior under which levels are computed by default."""
    notions = campaign.notion.notions if isinstance(campaign.notion, Classes) else (campaign.notion,)
    known = [prior_of(notion) is not None for notion in notions]
    if not any(known):
        return "uniform"
    return "campaign" if all(known) else "campaign, and uniform for classes without a prior"


def audit(campaign: Campaign, request: LevelsRequest | None = None, prior_name: str | None = None) -> Audit:
    """Audit a campaign. The campaign's certificate was computed from the same integers when the campaign was made.

    Args:
        campaign: an unsigned or a verified campaign.
        request: a request for levels under other notions, from ``author.audit.levels_request``; None for none.
        prior_name: the name of the request's prior; default: that of the default prior of ``levels_request``.
    Returns:
        Exact levels, rounded up, and the expected errors of one report.
    Raises:
        NotionError: the request's Pufferfish scenarios do not have the campaign's number of values.
    """
    prior = campaign.notion.prior if isinstance(campaign.notion, Lip | TranscriptPrior) else None
    shown_inputs = ShownInputs.of(campaign.domain)
    raw_mse: float | None = None
    people_per_report: float | None = None
    # A LIP campaign without an unbiased estimate still has an MMSE estimate.
    with suppress(NotInvertible):
        raw_mse, people_per_report = campaign_error(campaign)
    return Audit(
        campaign,
        raw_mse,
        people_per_report,
        None if prior is None or campaign.channel.unary else lip_mse(campaign.channel, prior, shown_inputs),
        None if prior is None else lip_mse_bound(campaign.notion.level, prior, shown_inputs),
        None if request is None else _table(campaign, request),
        None if request is None else prior_name or _default_prior_name(campaign),
        request,
    )

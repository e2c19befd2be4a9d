"""The expected error of an estimate, computed before any report exists.

The variance of a linear estimate follows from the distribution of its features, so the exact expected error takes one
pass through the channel and no simulation. The planner chooses channels by this error, and the audit prints it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.campaign_facts import view_name
from aggregator.estimate.classes import even_decoder
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.families.decoder import Decoder, Floats, NotInvertible
from aggregator.families.registry import decoder_of
from aggregator.json_number import json_number
from protocol import exact
from protocol.campaign import Campaign
from protocol.channels import Channel
from protocol.domain import Domain
from protocol.notions import Lip
from protocol.views import QuestionsMap, View, is_plain


def expected_mse(channel: Channel, p: Sequence[float] | Floats | None = None) -> float:
    """Return the expected squared error of the raw estimate from one report, summed over the values.

        sum over x of the variance of one report's contribution to raw[x], under p                    (MATH 4.1)

    Args:
        p: the true shares of the inputs; uniform if not given.
    Returns:
        The error of one report; divide by n for n reports.
    Raises:
        NotInvertible: no unbiased estimate exists.
    """
    shown_inputs = ShownInputs(channel.input_count)
    return decoder_mse(shown_inputs.decoder(channel), p, shown_inputs)


def decoder_mse(decoder: Decoder, p: Sequence[float] | Floats | None, shown_inputs: ShownInputs) -> float:
    """Return the expected squared error of one report; see ``expected_mse``.

    Raises:
        NotInvertible: no unbiased estimate exists.
    """
    share = np.full(decoder.input_count, 1 / decoder.input_count) if p is None else np.asarray(p, dtype=np.float64)
    return shown_inputs.squared_error(decoder.variances(decoder.forward(share)))


@dataclass(frozen=True)
class ExpectedViewError:
    """The expected error of one view, and the number of people that one of its reports counts for.

    Attributes:
        mse: the expected squared error of one report, summed over the view's values, if all answers are equally
            frequent; divide by n for n reports of all views together. NaN if the view has no unbiased estimate.
        people_per_report: the largest number of people that one report of this view counts for; NaN if the view has
            no unbiased estimate.
    """

    mse: float
    people_per_report: float

    def as_json(self) -> dict[str, float | None]:
        numbers = {"raw_mse": self.mse, "people_per_report": self.people_per_report}
        return {name: json_number(number) for name, number in numbers.items()}


def view_errors(campaign: Campaign) -> list[ExpectedViewError]:
    return errors_of_views(campaign.domain, campaign.views, len(campaign.classes))


def errors_of_views(domain: Domain, views: Sequence[View], class_count: int = 0) -> list[ExpectedViewError]:
    """Return for each view the variance of one report and the largest number of people that it counts for, in the
    estimate from the reports of this view alone.

    View j has the weight w_j among views of total weight W, so it has about n w_j / W of n reports. So both numbers are
    W / w_j times the numbers of the view's channel alone.

    Args:
        domain: the domain of the answers.
        views: the views of the campaign.
        class_count: the number of classes, assumed to be of equal size; 0 if the campaign has none.
    """
    total, errors = sum(view.weight for view in views), []
    for view in views:
        decoder, times = even_decoder(view.channel, class_count), total / view.weight
        try:
            variances = decoder.variances(decoder.forward(_even_shares(domain, view)))
            errors.append(ExpectedViewError(float(variances.sum()) * times, decoder.people_per_report * times))
        except NotInvertible:
            errors.append(ExpectedViewError(math.nan, math.nan))
    return errors


def _even_shares(domain: Domain, view: View) -> Floats:
    """Return the shares of a view's values if all answers are equally frequent, shape (k_j,)."""
    if isinstance(view.map, QuestionsMap):  # the answers of a form are too many to list
        return np.full(view.map.input_count(domain), 1 / view.map.input_count(domain))
    counts = np.bincount(
        [view.map.input(domain, x) for x in range(domain.size)], minlength=view.map.input_count(domain)
    )
    return counts / domain.size


def campaign_error(campaign: Campaign) -> tuple[float, float]:
    """Return the expected squared error of one report in the unbiased estimate of a campaign, and the largest number of
    people that one report counts for.

    All inputs are assumed to be equally frequent (with views: all answers), and classes to be of equal size. With
    several views, the error is that of the finest view, estimated from its reports alone, and the number of people is
    the largest of any view.

    Returns:
        the error, summed over the shown values (divide by n for n reports), and the number of people. For item sets
        both refer to the shares of people who have an item.
    Raises:
        NotInvertible: the channel, or that of a view, has no unbiased estimate.
    """
    if not is_plain(campaign.views):
        errors = view_errors(campaign)
        finest = max(range(len(errors)), key=lambda place: campaign.views[place].map.input_count(campaign.domain))
        if unknown := [place for place, view_error in enumerate(errors) if math.isnan(view_error.mse)]:
            raise NotInvertible(
                f"the view of {view_name(campaign.domain, campaign.views[unknown[0]])} has no unbiased estimate, so "
                "the campaign has no expected error: leave the view out, or choose another mechanism"
            )
        return errors[finest].mse, max(view_error.people_per_report for view_error in errors)
    shown_inputs = ShownInputs.of(campaign.domain)
    prior = campaign.notion.prior if isinstance(campaign.notion, Lip) else None
    decoder = shown_inputs.decoder(
        campaign.channel, None if prior is None else np.array(prior, dtype=np.float64) / sum(prior)
    )
    if campaign.classes:
        decoder = even_decoder(campaign.channel, len(campaign.classes))
    share = np.full(decoder.input_count, 1 / decoder.input_count)
    variances = decoder.variances(decoder.forward(share))
    return shown_inputs.squared_error(variances), decoder.people_per_report * shown_inputs.factor


def lip_mse(channel: Channel, prior: Sequence[int], shown_inputs: ShownInputs | None = None) -> float:
    """Return the expected squared error of the posterior as an estimate of one person's value (1 at their value, 0
    elsewhere), under the prior.

        sum over x of (P[x] - sum over y of (P[x] Q(y|x))^2 / P(y))                                   (MATH 2.1)

    For two values this is twice the error of either coordinate, which Jiang, Li, Tandon 2020 plot.

    Args:
        prior: positive integers; P[x] = prior[x] / sum(prior).
        shown_inputs: the values x and their factor; all inputs if not given.
    Raises:
        ValueError: a report has several bits.
    """
    shown_inputs = shown_inputs or ShownInputs(channel.input_count)
    decoder = decoder_of(channel)
    distribution = np.asarray(prior, dtype=np.float64) / sum(prior)
    marginal = decoder.forward(distribution)
    shares = np.where(np.arange(len(distribution)) < shown_inputs.count, distribution, 0.0)
    gained = np.divide(decoder.forward_squares(shares**2), marginal, out=np.zeros_like(marginal), where=marginal > 0)
    return float(shares.sum() - gained.sum()) * shown_inputs.factor**2


def report_mae(channel: Channel, prior: Sequence[int]) -> float | None:
    """Return the mean absolute error E|X - Y| under the prior if a one-bit report Y is taken as the answer X.

    A channel does not define which output means yes, so the interpretation with the smaller error is used.

    Args:
        prior: two positive integers.
    Returns:
        None if the channel does not have two inputs and two outputs.
    Source: Jiang, Li, Tandon 2020, eq. 22.
    """
    if channel.unary or (channel.input_count, channel.output_count) != (2, 2):
        return None
    wrong = sum(weight * channel.weight(x, 1 - x) for x, weight in enumerate(prior)) / (sum(prior) << channel.scale)
    return min(wrong, 1 - wrong)


def prior_mse(prior: Sequence[int], shown_inputs: ShownInputs | None = None) -> float:
    """Return the expected squared error without any report: the sum over x of P[x] - P[x]^2."""
    shown_inputs, total = shown_inputs or ShownInputs(len(prior)), sum(prior)
    shares = [weight / total for weight in prior[: shown_inputs.count]]
    return (math.fsum(shares) - math.fsum(part**2 for part in shares)) * shown_inputs.factor**2


def lip_mse_bound(level: int, prior: Sequence[int], shown_inputs: ShownInputs | None = None) -> float:
    """Return a lower bound on ``lip_mse`` over all channels that satisfy LIP at ``level``; it is not always attained.

        sum over x of P[x] - P[x]^2 (1 + (u[x] - 1) (1 - l[x])),
        u[x] = min(b, (1 - a (1 - P[x])) / P[x]),   l[x] = max(a, (1 - b (1 - P[x])) / P[x]),
        b = e^level, a = e^-level                                                                     (MATH 2.2)

    Args:
        level: the LIP level in nanonats.
        prior: positive integers.
        shown_inputs: see ``lip_mse``.
    """
    shown_inputs = shown_inputs or ShownInputs(len(prior))
    b = math.exp(exact.nats(level))
    a = 1 / b
    distribution = np.asarray(prior, dtype=np.float64) / sum(prior)
    highest = np.minimum(b, (1 - a * (1 - distribution)) / distribution)
    lowest = np.maximum(a, (1 - b * (1 - distribution)) / distribution)
    errors = distribution - distribution**2 * (1 + (highest - 1) * (1 - lowest))
    return shown_inputs.squared_error(errors)

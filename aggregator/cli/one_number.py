"""Estimate and print one number, for `estimate` with --value, --mean, --sum or --weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggregator.cli import printing
from aggregator.cli.estimate_options import EstimateOptions
from aggregator.cli.failure import BAD_DATA, Failure
from aggregator.cli.value_names import read_weights, value_or_district
from aggregator.coefficients_file import read_coefficients
from aggregator.estimate import query
from aggregator.estimate.coefficients import sum_by_class
from aggregator.estimate.tally import Tally
from aggregator.estimate.weighting import KnownMargin
from aggregator.families.decoder import Floats
from aggregator.present.document import query_csv
from aggregator.present.table import query_table
from protocol.campaign import Campaign
from protocol.domain import Dates, Items, Line


def one_number(
    chosen: EstimateOptions, campaign: Campaign, tally: Tally, margins: Sequence[KnownMargin]
) -> query.QueryResult:
    """Return the requested number with its interval: the share of a value, the mean, a weighted sum or, by default, the
    sum.

    Args:
        margins: known shares of the population by class, for the mean.
    Raises:
        Failure: the campaign has no such value, or no unbiased estimate of it, or a value has no weight.
        BadData, OSError: the file of weights or coefficients does not fit the campaign, or cannot be read.
        NotANumber: the answers have no sum or no mean.
        NotEnough: fewer devices have answered than the campaign's minimum.
        NotInvertible: the channel has no unbiased estimate.
    """
    if chosen.coefficients is not None:
        coefficients = read_coefficients(chosen.coefficients, campaign)
        return sum_by_class(campaign, tally, _numbers(chosen, campaign), coefficients, confidence=chosen.confidence)
    if chosen.value is not None:
        target = value_or_district(campaign, chosen.value)
        result = query.value_share(
            campaign, tally, target.number, resolution=target.resolution, confidence=chosen.confidence
        )
        if np.isnan(result.estimate) and result.mmse is None:
            others = "use --bins V,..., or " if campaign.domain.ordered else ""
            raise Failure(
                f"{campaign.title!r} has no unbiased estimate of this value: {others}leave out --value", BAD_DATA
            )
        if chosen.population is None:
            return result
        return result.times(chosen.population, result.query.replace("share of", "people with", 1))
    if chosen.mean:
        return query.mean(campaign, tally, confidence=chosen.confidence, margins=margins)
    if chosen.weights is None:
        _require_sum(campaign)
        return query.total(campaign, tally, population=chosen.population, confidence=chosen.confidence)
    numbers = read_weights(chosen.weights, campaign.domain)
    return query.weighted_sum(
        campaign, tally, numbers, offset=chosen.offset, population=chosen.population, confidence=chosen.confidence
    )


def _numbers(chosen: EstimateOptions, campaign: Campaign) -> Floats:
    """Return for each value of the domain the number that is summed over people."""
    if chosen.weights is not None:
        return read_weights(chosen.weights, campaign.domain)
    if chosen.value is None:
        _require_sum(campaign)
        return np.array(query.points_of(campaign))
    size = campaign.domain.item_count if isinstance(campaign.domain, Items) else campaign.domain.size
    indicator: Floats = np.eye(size)[value_or_district(campaign, chosen.value).number]
    return indicator


def _require_sum(campaign: Campaign) -> None:
    """Refuse answers that are not numbers."""
    if isinstance(campaign.domain, Dates):
        raise query.NotANumber(f"the answers to {campaign.title!r} are dates, which have no sum: use --mean")
    if not isinstance(campaign.domain, Line):
        raise query.NotANumber(
            f"the answers to {campaign.title!r} have no sum (domain kind {campaign.domain.kind!r}): give each value a "
            "weight with --weights"
        )


def print_result(
    result: query.QueryResult, output_format: str, campaign: Campaign, name: str | None, reports: int
) -> None:
    """Print a number as a table, as JSON or as CSV.

    Args:
        output_format: "table", "json" or "csv".
        name: the class of people; None for everybody.
    """
    if output_format == "json":
        printing.print_json({"campaign": campaign.title, "class": name, "reports": reports} | result.as_json())
    elif output_format == "csv":
        printing.say(query_csv(result).rstrip())
    else:
        printing.console().print(query_table(result, campaign, reports))

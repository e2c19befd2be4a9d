"""The values of a change that are shown, and the texts beside them, for tables, pictures and pages alike.

``trends`` makes tables, ``trend_plot`` pictures, and ``page_comparison`` a section of a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from aggregator.estimate.change import Difference, DistrictDifference
from aggregator.estimate.form_change import FormDifference
from aggregator.estimate.resolutions import FINEST, ValueOrDistrict
from aggregator.estimate.result import Estimate
from aggregator.estimate.span import Span
from aggregator.present.shown_shares import MIN_SELECTED, MINUS
from aggregator.utc import day_text, minute_text
from protocol.campaign import Campaign

BY_RESOLUTION = "intervals are for all districts of a resolution together"


def title_with_class(estimate: Estimate) -> str:
    """Return the campaign's title, with the class of people if only one class is estimated."""
    return estimate.campaign.title + ("" if estimate.class_name is None else f", class {estimate.class_name}")


def comparison_title(difference: Difference) -> str:
    """Return the title of a comparison: two classes or periods of a campaign, or two campaigns."""
    sides = " and ".join(difference.names)
    return (
        f"{difference.after.campaign.title}: {sides}"
        if difference.before.campaign_id == difference.after.campaign_id
        else sides
    )


def foremost_values(difference: Difference, rows: int) -> list[int]:
    """Return the values to show: all in domain order, or at most ``rows``, the most significant first.

    A selection has the values that differ significantly; if these are fewer than ``MIN_SELECTED``, it also has the next
    most significant values.
    """
    if len(difference.raw) <= rows:
        return list(range(len(difference.raw)))
    order = np.argsort(-difference.evidence, kind="stable")
    return [int(x) for x in order[: min(rows, max(MIN_SELECTED, len(difference.significant)))]]


def significant_values_and_districts(difference: Difference) -> list[ValueOrDistrict]:
    """Return the districts and values that differ significantly at their resolution, the coarsest first."""
    return [
        ValueOrDistrict(districts.resolution, z) for districts in difference.resolutions for z in districts.significant
    ]


def foremost_values_and_districts(difference: Difference, rows: int) -> list[ValueOrDistrict]:
    """Return the values to draw; with views, the districts and values that differ significantly.

    At most ``rows`` are returned: the most significant ones, in order from the coarsest resolution. If none differs
    significantly, the most significant ones of the coarsest resolution are returned. Without views, see
    ``foremost_values``.
    """
    if not difference.coarser:
        return [ValueOrDistrict(FINEST, x) for x in foremost_values(difference, rows)]
    significant = significant_values_and_districts(difference)
    if not significant:
        coarsest = difference.coarser[0]
        order = np.argsort(-coarsest.evidence, kind="stable")[: min(MIN_SELECTED, rows)]
        return [ValueOrDistrict(coarsest.resolution, int(z)) for z in order]
    strength = np.array([difference.at(target.resolution).evidence[target.number] for target in significant])
    strongest = np.argsort(-strength, kind="stable")[:rows]
    return [significant[index] for index in sorted(strongest.tolist())]


def selection_of_values_and_districts(difference: Difference, shown: int) -> str:
    """Return a description of the selection of ``foremost_values_and_districts``."""
    if not difference.coarser:
        return selection_of_values(difference, shown) if shown < len(difference.raw) else ""
    count, noun = len(significant_values_and_districts(difference)), "changes" if difference.paired else "differences"
    if not count:
        return (
            f"no {noun[:-1]} is significant at any resolution; the picture shows the {shown} districts of the coarsest "
            f"resolution with the strongest evidence of a {noun[:-1]}"
        )
    words = f"the {shown} most significant of {count:,}" if shown < count else f"the {count:,}"
    return f"{words} significant {noun if count > 1 else noun[:-1]}; {BY_RESOLUTION}"


def selection_of_values(difference: Difference, shown: int) -> str:
    """Return a description of the selection of ``foremost_values``."""
    count, noun = len(difference.significant), "changes" if difference.paired else "differences"
    words = f"the {shown} most significant {noun} of {len(difference.raw):,} values"
    return words if count >= shown else f"{words}; {shown - count} of these {noun} may be zero"


def places_of(difference: Difference | DistrictDifference, shown: Iterable[int]) -> int:
    """Return the decimal places of percentages, 1 to 4: enough for two digits of a quarter of the narrowest interval
    shown.

    The standard error is not used, because it is zero where no device has changed.
    """
    widths = [float(difference.high[x] - difference.low[x]) / 4 for x in shown]
    errors = [width for width in widths if width > 0]
    return min(max(1, 1 - math.floor(math.log10(100 * min(errors)))), 4) if errors else 1


def percentage_points(difference: float, places: int) -> str:
    """Return a difference of shares in percentage points, with its sign; a dash if the difference is unknown."""
    if math.isnan(difference):
        return "-"
    text = f"{100 * difference:+.{places}f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)


def interval_in_points(low: float, high: float, places: int) -> str:
    """Return the interval of a difference of shares, in percentage points."""
    return "-" if math.isnan(low) else f"{percentage_points(low, places)} to {percentage_points(high, places)}"


def dates(campaign: Campaign, span: Span) -> tuple[str, str]:
    """Return the beginning and the end of a span as text, UTC; the next span begins at its end."""
    begins = campaign.opens + span.first * campaign.period_seconds
    closes = min(campaign.opens + (span.last + 1) * campaign.period_seconds, campaign.closes)
    return moment(begins, campaign.period_seconds), moment(closes, campaign.period_seconds)


def moment(seconds: int, period: int) -> str:
    """Return a time in UTC as text; without hours and minutes if it is midnight and periods last whole days."""
    return minute_text(seconds) if seconds % 86_400 or period % 86_400 else day_text(seconds)


def comparison_basis(difference: Difference | FormDifference) -> str:
    """Return a phrase that explains how the two sides were compared."""
    if difference.paired:
        return "devices that answered on both sides were compared with themselves"
    return "the two sides were treated as independent"

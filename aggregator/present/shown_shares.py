"""The values of an estimate that are shown, and the texts beside them, for tables, pictures and pages alike.

If not all values fit, values whose simultaneous interval lies above zero come first. A few of the other values, whose
shares may be zero, are shown with a mark.

``table`` makes tables for a terminal, ``plot`` pictures, and ``page_numbers`` a section of a page. ``shown_changes`` is
the counterpart for changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from aggregator.estimate.distribution import total_variation
from aggregator.estimate.query import QueryResult
from aggregator.estimate.resolutions import FINEST, Resolution
from aggregator.estimate.result import Estimate
from aggregator.families.decoder import Floats
from aggregator.present.items import numbering
from aggregator.quantity import quantity
from protocol import exact
from protocol.domain import Domain, Grid, Items
from protocol.notions import Classes

if TYPE_CHECKING:
    from aggregator.estimate.change import Difference

MAX_TABLE_ROWS = 25
"""Maximum number of rows of values in a table for a terminal."""

MIN_SELECTED = 10
"""Minimum number of values in a selection, even if fewer have shares significantly above zero."""

MAX_DISTRICTS = 12
"""Maximum number of districts shown of a coarser resolution."""

HALF_THE_SUM = " (half the sum of the absolute differences)"
"""The definition of the total variation distance, as texts give it."""

MAY_BE_ZERO = "may be zero"

MINUS = "\N{MINUS SIGN}"

ROUNDING = 1e-7
"""Standard errors of at most this fraction of a number are float rounding, and zero in fact."""


def significant_districts(resolution: Resolution) -> list[int]:
    """Return the districts of a resolution whose shares are significantly above zero: at most ``MAX_DISTRICTS``, the
    largest first."""
    order = np.argsort(-resolution.share, kind="stable")
    return [int(z) for z in order[resolution.above_zero[order]][:MAX_DISTRICTS]]


def district_words(estimate: Estimate, resolution: Resolution) -> str:
    """Return a phrase that describes the districts of a resolution: their size, their number, and the number of them
    with a share significantly above zero."""
    name = district_name(estimate.campaign.domain, resolution.name, resolution.size)
    return f"{resolution.size:,} {name}: {int(resolution.above_zero.sum()):,} with a share above zero"


def district_name(domain: Domain, resolution: str, number: int) -> str:
    """Return the name of ``number`` districts of a resolution, in the singular for one."""
    s = "" if number == 1 else "s"
    if not resolution.isdecimal():
        return f"{resolution.removesuffix('s')}{s}"
    if isinstance(domain, Grid):
        return f"cell{s}" if resolution == FINEST else f"square{s} of {resolution} x {resolution}"
    return f"value{s}" if resolution == FINEST else f"group{s} of {resolution} values"


def query_texts(result: QueryResult) -> tuple[str, str, str, str]:
    """Return the texts of estimate, standard error, low and high end, to two digits of the standard error.

    Shares are percentages, and days are written YYYY-MM-DD.
    """
    number, se, low, high = in_result_units(result, [result.estimate, result.se, result.low, result.high])
    if days := result.days:
        return days["estimate"], f"{se} days", days["low"], days["high"]
    return f"{number} {result.unit}".strip(), se, low, high


def in_result_units(result: QueryResult, numbers: Sequence[float]) -> list[str]:
    """Return numbers in the unit of a query result as text, to two digits of its standard error; shares in percent."""
    if not result.is_share:
        return rounded_to_error(numbers, result.se)
    texts = rounded_to_error([100 * number for number in numbers], 100 * result.se)
    return [text if text == "-" else f"{text}%".replace("-", MINUS) for text in texts]


def distance_from_truth(estimate: Estimate, truth: Floats) -> float:
    """Return the distance between the shares and the truth of a rehearsal, in the measure of ``distance_name``."""
    # These shares are not a distribution, because people have several items or none.
    if isinstance(estimate.campaign.domain, Items):
        return float(np.abs(estimate.share - truth).mean())
    return total_variation(estimate.share, truth)


def distance_name(domain: Domain) -> str:
    """Return the name of the distance that ``distance_from_truth`` computes."""
    return "mean absolute difference" if isinstance(domain, Items) else "total variation distance"


def distance_text(estimate: Estimate, truth: Floats) -> str:
    """Return a phrase that states the distance of an estimate from the true shares."""
    far = percent(distance_from_truth(estimate, truth), 2)
    if isinstance(estimate.campaign.domain, Items):
        return f"{distance_name(estimate.campaign.domain)} of an item's share from the truth: {far}"
    return f"distance from the truth{HALF_THE_SUM}: {far}"


def listed_values(estimate: Estimate, rows: int, fewest: int = MIN_SELECTED) -> list[int]:
    """Return the values to show: all in domain order, or a selection.

    A selection has at most ``rows`` values whose shares are significantly above zero, in order of share. If these are
    fewer than ``fewest``, it also has other values, up to ``fewest`` in total. If no intervals are known, it has the
    ``rows`` values with the largest shares.
    """
    if estimate.size <= rows:
        return list(range(estimate.size))
    order = np.lexsort((-np.nan_to_num(estimate.raw), -estimate.share, ~estimate.above_zero))
    limit = (
        rows if np.isnan(estimate.simultaneous_low).all() else min(rows, max(fewest, int(estimate.above_zero.sum())))
    )
    return [int(x) for x in order[:limit]]


def selection_of_shares(estimate: Estimate, shown: int) -> str:
    """Return a description of the values that ``listed_values`` selects."""
    if np.isnan(estimate.simultaneous_low).all():
        return f"the {shown:,} of {estimate.size:,} values with the largest shares"
    count = int(estimate.above_zero.sum())
    confidence = f"{100 * estimate.confidence:.4g}%"
    have = "has a share" if count == 1 else "have shares"
    words = f"{count:,} of {estimate.size:,} values {have} significantly above zero, by the simultaneous"
    words += f" {confidence} intervals of all values"
    if count > shown:
        return f"{words}; the {shown:,} largest shares are shown"
    if count == shown:
        return words
    return f"{words}; {shown - count:,} more {'is' if shown - count == 1 else 'are'} shown whose share may be zero"


def may_be_zero(estimate: Estimate, x: int, shown: int) -> bool:
    """Return whether a value's share may be zero, by its simultaneous interval; False if all values are shown."""
    return shown < estimate.size and not estimate.above_zero[x] and not math.isnan(estimate.simultaneous_low[x])


def shown_intervals(estimates: Estimate | Difference, shown: int) -> tuple[Floats, Floats]:
    """Return the intervals to show: pointwise ones if all values are shown, simultaneous ones for a selection."""
    return estimates.intervals[:2] if shown == len(estimates.raw) else estimates.intervals[2:]


def interval_name(estimates: Estimate | Difference, shown: int) -> str:
    """Return the name of the intervals that ``shown_intervals`` returns."""
    return f"{'' if shown == len(estimates.raw) else 'simultaneous '}{100 * estimates.confidence:.4g}% interval"


def decimals(estimate: Estimate | Resolution, shown: Iterable[int]) -> int:
    """Return the decimal places of percentages, 1 to 4: enough for two digits of the smallest standard error shown.

    A standard error that is zero up to float rounding, because all reports are equal, does not count.
    """
    errors = [float(estimate.se[x]) for x in shown if estimate.se[x] > ROUNDING]
    if not errors:
        return 1
    return min(max(1, 1 - math.floor(math.log10(100 * min(errors)))), 4)


def percent(share: float, places: int) -> str:
    """Return a share as text in percent; an unknown share is a dash."""
    return "-" if math.isnan(share) else f"{100 * share:.{places}f}%".replace("-", MINUS)


def interval_text(low: float, high: float, places: int) -> str:
    """Return an interval of a share in percent; a dash if the interval is unknown."""
    return "-" if math.isnan(low) else f"{percent(low, places)} to {percent(high, places)}"


def rounded_to_error(numbers: Sequence[float], error: float) -> list[str]:
    """Return numbers as text, to two digits of their standard error; to three decimal places if it is zero up to float
    rounding."""
    size = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    places = max(0, 1 - math.floor(math.log10(error))) if error > ROUNDING * size else 3
    return ["-" if math.isnan(number) else f"{number:,.{min(places, 9)}f}" for number in numbers]


def level_text(estimate: Estimate) -> str:
    """Return the privacy level of an estimate's campaign, with its notion; the largest level for people of several
    classes."""
    notion = estimate.campaign.notion
    if isinstance(notion, Classes):
        return f"level up to {exact.in_nats(notion.level)} (by class)"
    return f"level {exact.in_nats(notion.level)} ({notion.name})"


def subtitle(estimate: Estimate, shown: int) -> str:
    """Return the subtitle of an estimate: number of outputs, privacy level, confidence."""
    devices = "" if estimate.devices in (None, estimate.reports) else f" of {quantity(estimate.devices, 'device')}"
    numbered = numbering(estimate.campaign.domain)
    items = f" · items {numbered}" if numbered else ""
    weighted = "" if estimate.weighting is None else f" · weighted by {estimate.weighting.by}"
    intervals = f"{interval_name(estimate, shown)}s"
    return f"{estimate.counted}{devices} · {level_text(estimate)} · {intervals}{items}{weighted}"


def prior_comparison(estimate: Estimate) -> str:
    """Return a text on how far the estimate is from the prior, and whether the reports contradict the prior; empty
    without a prior."""
    if estimate.distance_from_prior is None:
        return ""
    words = f"distance from the prior{HALF_THE_SUM}: {percent(estimate.distance_from_prior, 2)}"
    if estimate.prior_test is None:
        return words
    contradict = "contradict" if estimate.prior_test.rejected else "do not contradict"
    return f"{words}; the reports {contradict} the prior (p-value {estimate.prior_test.p_value:.2g})"

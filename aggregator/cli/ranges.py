"""Quantiles and ranges of ordered values, for `estimate` and `compare`: --quantiles, --cdf, --bins, --above, --between.

``estimate.ordered`` computes the estimates, and ``present.ordered`` makes the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aggregator.cli import printing
from aggregator.cli.failure import BAD_DATA, Failure
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import DITHER_BYTES, Answer, Domain
from protocol.errors import NotInDomain

if TYPE_CHECKING:  # imported at run time only when an estimate is made
    from aggregator.estimate.change import Side
    from aggregator.estimate.ordered_comparison import OrderedComparison
    from aggregator.estimate.ordered_result import OrderedStatistics
    from aggregator.estimate.tally import Tally
    from aggregator.estimate.weighting import KnownMargin


@dataclass(frozen=True)
class Ranges:
    """The requested quantiles and ranges, as text in the form of the options, or the defaults of ``usual``.

    A statistic that is not requested is None or False.

    Attributes:
        starts: the first value of each bin except the first bin; used instead of --bins.
        mean: whether the mean is estimated as well.
    """

    quantiles: str | None = None
    cdf: bool = False
    bins: str | None = None
    above: str | None = None
    between: str | None = None
    starts: tuple[Answer, ...] = ()
    mean: bool = False

    @classmethod
    def usual(cls, campaign: Campaign) -> Ranges:
        """Return the defaults for comparisons: the mean if the campaign has one, and for a wave also five quantiles
        and a few bins."""
        from aggregator.estimate.bins import MAX_COMPARED_BINS, bin_starts
        from aggregator.estimate.ordered_campaign import has_mean, is_wave

        if not is_wave(campaign):
            return cls(mean=has_mean(campaign))
        domain = campaign.domain
        starts = tuple(domain.parse(domain.label(start)) for start in bin_starts(domain, MAX_COMPARED_BINS))
        return cls(".1,.25,.5,.75,.9", starts=starts, mean=has_mean(campaign))

    @property
    def named(self) -> list[str]:
        """The names of the given options for quantiles and ranges; --mean is not one of them."""
        names = ("quantiles", "cdf", "bins", "above", "between")
        return [name for name in names if getattr(self, name) not in (None, False)]

    def require_parts(self) -> tuple[float, ...]:
        """Return the numbers of the option --quantiles; refuse other words, 0, 1 and numbers outside 0 to 1."""
        try:
            parts = tuple(float(part) for part in (self.quantiles or "").split(",") if part.strip())
        except ValueError:
            parts = (0.0,)
        if not all(0 < part < 1 for part in parts) or (self.quantiles is not None and not parts):
            raise click.UsageError(
                f"--quantiles {self.quantiles!r}: each number must be above 0 and below 1, as in .1,.5,.9"
            )
        return parts


def estimate_ranges(
    ranges: Ranges,
    signed: SignedCampaign,
    tally: Tally,
    method: str | None,
    confidence: float,
    class_name: str | None,
    margins: Sequence[KnownMargin] = (),
) -> OrderedStatistics:
    """Estimate the requested quantiles and ranges of one tally."""
    from aggregator.estimate.ordered import ordered_statistics

    domain, parts = signed.campaign.domain, ranges.require_parts()
    between = [] if ranges.between is None else _answers(domain, ranges.between, "between")
    if len(between) not in (0, 2):
        raise click.UsageError(f"--between must be the two ends of a range, as in 30,40, not {ranges.between!r}")
    return ordered_statistics(
        signed,
        tally,
        quantiles=parts,
        cdf=ranges.cdf,
        bins=ranges.starts if ranges.bins is None else _answers(domain, ranges.bins, "bins"),
        above=None if ranges.above is None else _answer(domain, ranges.above, "above"),
        between=(between[0], between[1]) if between else None,
        mean=ranges.mean,
        method=method,
        confidence=confidence,
        class_name=class_name,
        margins=margins,
    )


def compare_ranges(ranges: Ranges, sides: Sequence[Side], method: str | None, confidence: float) -> OrderedComparison:
    """Estimate the requested quantiles and ranges of two campaigns or classes, and their differences."""
    from aggregator.estimate.ordered_comparison import of_sides

    def estimate_side(signed: SignedCampaign, tally: Tally, name: str | None) -> OrderedStatistics:
        return estimate_ranges(ranges, signed, tally, method, confidence, name)

    return of_sides(sides, estimate_side)


def print_comparison(
    comparison: OrderedComparison, ranges: Ranges, output_format: str, plot: Path | None = None
) -> None:
    """Print the estimates of each period or class and the differences; if ``plot`` is given, draw the distribution
    functions."""
    from aggregator.cli.spans import warn_left_out, warn_single
    from aggregator.present.ordered_comparison import comparison_csv, comparison_tables

    printed = comparison if ranges.cdf else comparison.without_cdf()
    if output_format == "json":
        printing.print_json(printed.as_json())
    elif output_format == "csv":
        printing.say(comparison_csv(printed).rstrip())
    else:
        for table in comparison_tables(printed):
            printing.console().print(table)
    few = [side.name_in_text for side in comparison.sides if side.statistics is None]
    warn_left_out(few, comparison.known[0][1].estimate.campaign.minimum_devices)
    if not comparison.differences:
        warn_single(comparison.known[0][0].name_in_text)
    for side, statistics in comparison.known:
        printing.warn(*statistics.warnings, subject=side.name_in_text)
    if plot:
        from aggregator.present.ordered_comparison_plot import draw_comparison  # matplotlib takes a second to load

        draw_comparison(comparison, plot)
        printing.note(f"{plot}  drawn")


def print_ranges(statistics: OrderedStatistics, ranges: Ranges, output_format: str, plot: Path | None) -> None:
    """Print the requested quantiles and ranges; if ``plot`` is given, draw them with the distribution function."""
    from aggregator.present.ordered import ordered_csv, ordered_table

    printed = statistics if ranges.cdf else replace(statistics, cdf=())
    if output_format == "json":
        printing.print_json(printed.as_json())
    elif output_format == "csv":
        printing.say(ordered_csv(printed).rstrip())
    else:
        printing.console().print(ordered_table(printed))
    printing.warn(*statistics.warnings)
    if plot:
        from aggregator.present.ordered_plot import draw_ordered  # matplotlib takes a second to load

        draw_ordered(statistics, plot)
        printing.note(f"{plot}  drawn")


def _answers(domain: Domain, text: str, option: str) -> list[Answer]:
    """Return the values in a list separated by commas; a value whose text contains a comma cannot be listed."""
    return [_answer(domain, part, option) for part in text.split(",")]


def _answer(domain: Domain, text: str, option: str) -> Answer:
    try:
        answer = domain.parse(text.strip())
        if domain.ordered:
            domain.index(answer, bytes(DITHER_BYTES))  # ``parse`` accepts every label and number
        return answer
    except NotInDomain as error:
        from aggregator.author.value_table import not_a_value  # loads numpy, which completion does not need

        raise Failure(f"--{option}: {not_a_value(domain, text.strip(), error)}", BAD_DATA) from None

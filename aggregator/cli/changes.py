"""Output of `halftruth estimate --by`: estimates by period or class of people, and their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from aggregator.cli import printing
from aggregator.cli.estimate_options import EstimateOptions
from aggregator.cli.ranges import Ranges, estimate_ranges, print_comparison
from aggregator.cli.shares import true_shares
from aggregator.cli.spans import ends_of, spans_of, warn_left_out, warn_single
from aggregator.cli.value_names import value_or_district
from aggregator.engines import Engine
from aggregator.estimate.ordered_campaign import has_summary
from aggregator.estimate.ordered_comparison import OrderedComparison, by_class, by_period
from aggregator.estimate.ordered_result import OrderedStatistics
from aggregator.estimate.tally import Tally
from aggregator.estimate.trend import Trend, trend
from aggregator.present.table import estimate_table
from aggregator.present.trends import change_table, spans_table, steps_table, trend_csv, value_table
from aggregator.quantity import quantity
from aggregator.study import Study
from protocol.campaign import SignedCampaign

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


def print_changes(
    chosen: EstimateOptions, study: Study, engine: Engine, signed: SignedCampaign
) -> Trend | OrderedComparison:
    """Print the estimates of each period or class, and their differences, and return them."""
    campaign, ranges = signed.campaign, chosen.ranges
    in_order = bool(ranges.named) or ranges.mean
    if not in_order and chosen.value is None and has_summary(campaign):
        if chosen.truth_files:
            raise click.UsageError(
                "true counts cannot be compared with the means and quantiles of several periods or classes: leave out "
                "--truth or --by"
            )
        ranges, in_order = Ranges.usual(campaign), True
    if in_order:
        comparison = _estimate_comparison(chosen.with_cdf(ranges), chosen, study, engine, signed)
        print_comparison(comparison, ranges, chosen.output_format, chosen.plot)
        return comparison
    if chosen.by == "class":
        if not campaign.classes:
            raise click.UsageError(f"{campaign.title!r} has no classes of people: leave out --by class")
        raise click.UsageError(
            "--by class needs --quantiles, --cdf, --bins, --above, --between or --mean; for the shares of one class "
            "give --where class=NAME, for the differences of two classes `compare --classes`"
        )
    return _print_trend(chosen, study, engine, signed)


def _estimate_comparison(
    ranges: Ranges, chosen: EstimateOptions, study: Study, engine: Engine, signed: SignedCampaign
) -> OrderedComparison:
    """Estimate the quantiles and ranges of each period or class."""

    def estimate_side(signed: SignedCampaign, tally: Tally, name: str | None) -> OrderedStatistics:
        return estimate_ranges(ranges, signed, tally, chosen.method, chosen.confidence, name)

    if chosen.by == "class":
        return by_class(signed, engine.tally(study, signed, chosen.period), estimate_side)
    spans = spans_of(study, signed, chosen.periods)
    ends, counted = ends_of(chosen.ends, spans), engine.spans(study, signed, spans)
    with printing.tracked("periods", counted, len(spans)) as tallies:
        return by_period(
            signed, spans, tallies, estimate_side, class_name=chosen.class_name, ends=ends, steps=chosen.steps
        )


def _print_trend(chosen: EstimateOptions, study: Study, engine: Engine, signed: SignedCampaign) -> Trend:
    """Print the estimates of the requested spans of periods (default: each period) and the changes, and return them."""
    campaign, name = signed.campaign, chosen.class_name
    truths = [true_shares(file, campaign.domain, campaign.classes, name) for file in chosen.truth_files]
    target = None if chosen.value is None else value_or_district(campaign, chosen.value)
    spans = spans_of(study, signed, chosen.periods)
    ends = ends_of(chosen.ends, spans)
    if len(truths) not in (0, 1, len(spans)):
        raise click.UsageError(
            f"--truth was given {len(truths)} times for {quantity(len(spans), 'span')}: give it once, or once for each "
            "span in the order of the spans"
        )
    with printing.tracked("periods", engine.spans(study, signed, spans), len(spans)) as tallies:
        shown = trend(
            signed, spans, tallies, confidence=chosen.confidence, method=chosen.method, class_name=name,
            ends=ends, steps=chosen.steps, only=target, truths=truths,
        )  # fmt: skip
    if chosen.output_format == "json":
        printing.print_json(shown.as_json())
    elif chosen.output_format == "csv":
        printing.say(trend_csv(shown).rstrip())
    else:
        first = spans_table(shown) if shown.only is None else value_table(shown, shown.only)
        tables: list[Table | Text] = [first]
        if shown.change is not None and shown.only is None:
            tables.append(change_table(shown.change, shown))
        elif shown.only is None:
            tables.append(estimate_table(shown.latest, next(point.truth for point in shown.points if point.estimate)))
        if shown.steps:
            tables.append(steps_table(shown))
        for table in tables:
            printing.console().print(table)
    _warn(shown)
    if chosen.plot:
        from aggregator.present.trend_plot import draw_trend  # matplotlib takes a second to load

        draw_trend(shown, chosen.plot)
        printing.note(f"{chosen.plot}  drawn")
    return shown


def _warn(shown: Trend) -> None:
    few = [point.span.name_in_text for point in shown.points if point.estimate is None]
    warn_left_out(few, shown.latest.campaign.minimum_devices)
    if shown.change is None:
        warn_single(shown.known[0][0].name_in_text)
    for span, known in shown.known:
        printing.warn(*known.warnings, subject=span.name_in_text)

"""Output of `halftruth estimate`: the distribution of the answers, and the page of an estimate."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import click

from aggregator.author.audit import audit, levels_request
from aggregator.campaign_facts import estimated_noun
from aggregator.cli import new_files, printing
from aggregator.cli.estimate_options import EstimateOptions
from aggregator.cli.failure import FAILED, Failure
from aggregator.cli.ranges import estimate_ranges, print_ranges
from aggregator.estimate.estimator import estimate as estimate_shares
from aggregator.estimate.ordered import summary_statistics
from aggregator.estimate.ordered_campaign import has_summary
from aggregator.estimate.ordered_comparison import OrderedComparison
from aggregator.estimate.ordered_result import OrderedStatistics
from aggregator.estimate.result import Estimate
from aggregator.estimate.tally import Tally
from aggregator.estimate.trend import Trend
from aggregator.estimate.weighting import KnownMargin
from aggregator.families.decoder import Floats
from aggregator.present.document import estimate_csv, estimate_parquet, estimates_geojson
from aggregator.present.ordered import summary_table
from aggregator.present.page import page
from aggregator.present.table import estimate_table
from aggregator.truth_file import read_truth
from protocol.campaign import SignedCampaign
from protocol.domain import Domain


def print_ordered(
    chosen: EstimateOptions,
    signed: SignedCampaign,
    tally: Tally,
    margins: tuple[KnownMargin, ...],
    closed_early: int | None,
) -> OrderedStatistics:
    """Print and return the requested quantiles and ranges; with --report, also write the page."""
    ranges = chosen.ranges
    statistics = estimate_ranges(
        chosen.with_cdf(ranges), signed, tally, chosen.method, chosen.confidence, chosen.class_name, margins
    )
    print_ranges(statistics, ranges, chosen.output_format, chosen.plot)
    if chosen.report:
        _write_page(chosen.report, statistics.estimate, tally, chosen.period, closed_early, ordered=statistics)
    return statistics


def print_distribution(
    chosen: EstimateOptions,
    signed: SignedCampaign,
    tally: Tally,
    margins: tuple[KnownMargin, ...],
    classes: tuple[str, ...],
    comparison: Trend | OrderedComparison | None,
    closed_early: int | None,
) -> Estimate:
    """Estimate the distribution, print it without a ``comparison``, write the page if one is requested, and return the
    estimate.

    Args:
        classes: the campaign's classes; ``signed`` may be restricted to one of them.
        closed_early: the time of an early closing, UTC seconds; None if the campaign was not closed early.
    """
    if chosen.forged is not None and chosen.forged > tally.reports:
        raise click.UsageError(
            f"--forged must be at most the number of {estimated_noun(signed.campaign)}s, {tally.reports:,}, not "
            f"{chosen.forged:,}"
        )
    name = chosen.class_name
    estimate = estimate_shares(
        signed,
        tally,
        method=chosen.method,
        confidence=chosen.confidence,
        forged=chosen.forged,
        class_name=name,
        pool=chosen.pool,
        margins=margins,
    )
    if chosen.forged is not None and math.isnan(estimate.influence.people_per_report):
        raise click.UsageError(
            "the influence of forged reports is computed only for unbiased estimates, which this campaign's mechanism "
            "does not have: leave out --forged"
        )
    files = chosen.truth_files
    truth = true_shares(files[-1], signed.campaign.domain, classes, name) if files else None
    if comparison is None:
        _print_shares(estimate, tally, chosen.period, chosen.output_format, chosen.plot, truth)
    if chosen.report:
        _write_page(chosen.report, estimate, tally, chosen.period, closed_early, truth=truth, comparison=comparison)
    return estimate


def _print_shares(
    estimate: Estimate, tally: Tally, period: int | None, output_format: str, plot: Path | None, truth: Floats | None
) -> None:
    read = (
        summary_statistics(tally, estimate)
        if has_summary(estimate.campaign) and (output_format in ("table", "json") or plot)
        else None
    )
    if output_format == "json":
        printing.print_json(estimate.as_json() | ({} if read is None else read.numbers()))
    elif output_format == "csv":
        printing.say_parts(estimate_csv(estimate, period))
    elif output_format == "geojson":
        printing.say(estimates_geojson([(estimate, period)]).rstrip())
    elif output_format == "parquet":
        _write_binary(estimate_parquet(estimate, period))
    else:
        shown = summary_table(read, truth) if read is not None and read.known else estimate_table(estimate, truth)
        printing.console().print(shown)
    printing.warn(*(estimate.warnings if read is None or (read.known and output_format != "table") else read.warnings))
    if plot:
        # The imports are here because matplotlib takes a second to load.
        if read is not None and read.bins:
            from aggregator.present.ordered_plot import draw_histogram

            draw_histogram(read, plot, truth)
        else:
            from aggregator.present.plot import draw_estimate

            draw_estimate(estimate, plot, truth)
        printing.note(f"{plot}  drawn")


def _write_binary(data: bytes) -> None:
    """Write bytes to stdout; refuse if stdout is a terminal."""
    if sys.stdout.isatty():
        raise Failure("parquet is binary: redirect it to a file, with > estimate.parquet", FAILED)
    click.echo(data, nl=False)


def true_shares(path: Path, domain: Domain, classes: tuple[str, ...], name: str | None) -> Floats:
    """Return the true shares, (k,), from a file in the format of ``simulate --truth``: of the class ``name``, or of
    everybody if it is None."""
    truth = read_truth(path, domain, classes)
    return (truth if name is None else truth.within(classes.index(name))).shares(domain)


def _write_page(
    path: Path,
    estimate: Estimate,
    tally: Tally,
    period: int | None,
    closed_early: int | None,
    *,
    truth: Floats | None = None,
    ordered: OrderedStatistics | None = None,
    comparison: Trend | OrderedComparison | None = None,
) -> None:
    campaign = estimate.campaign
    with printing.progress("auditing", None):
        # Levels under other notions are defined for a channel that all people share, which campaigns with classes lack.
        campaign_audit = audit(campaign, None if campaign.classes else replace(levels_request(campaign), epsilons=()))
    with new_files.new_file(path) as file:
        text = page(
            estimate,
            campaign_audit,
            tally,
            period=period,
            truth=truth,
            ordered=ordered,
            comparison=comparison,
            closed_early=closed_early,
        )
        file.write(text.encode("utf-8"))
    printing.note(f"{path}  written")

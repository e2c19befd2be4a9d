"""The command estimate: estimate the distribution of a campaign's answers, or one number computed from it.

Options that cannot be combined are refused before anything is counted. Then the engine makes the needed tallies (with
--by period, one for each span of periods), and every output of the command comes from them.

``compare`` prints estimates by period, and their changes. The estimators are imported when an estimate is made, so that
the completion of an option stays fast.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aggregator.campaign_facts import estimated_noun
from aggregator.cli import arguments, new_files, options, printing
from aggregator.cli.completion import CampaignName
from aggregator.cli.estimate_options import FILES, EstimateOptions
from aggregator.cli.failure import FAILED, Failure
from aggregator.cli.forms import (
    FormRequest,
    print_form,
    print_form_classes,
    print_form_trend,
    require_form,
    write_form_page,
)
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import RealNumber, WholeNumber
from aggregator.cli.ranges import (
    OrderedComparisonRequest,
    Ranges,
    estimate_comparison,
    estimate_ranges,
    print_comparison,
    print_ranges,
)
from aggregator.engines import engine_of
from aggregator.estimate.names import POOLS
from protocol.domain import Domain, Form

if TYPE_CHECKING:  # imported at run time only when an estimate is made
    from aggregator.engines import Engine
    from aggregator.estimate import query
    from aggregator.estimate.form_result import FormEstimate
    from aggregator.estimate.form_sides import FormClasses, FormTrend
    from aggregator.estimate.ordered_comparison import OrderedComparison
    from aggregator.estimate.ordered_result import OrderedStatistics
    from aggregator.estimate.result import Estimate
    from aggregator.estimate.tally import Tally
    from aggregator.estimate.trend import Trend
    from aggregator.estimate.weighting import KnownMargin
    from aggregator.families.decoder import Floats
    from aggregator.study import Study
    from protocol.campaign import SignedCampaign


@halftruth.command()
@click.argument("campaign", type=CampaignName())
@click.option(
    "--format",
    "output_format",
    type=click.Choice((*options.FORMATS, *FILES)),
    default=options.FORMATS[0],
    show_default=True,
    help="Output format. parquet is binary, so redirect it to a file; geojson is for grids only.",
)
@options.as_json
@options.plot("Draw the shares with their intervals (a map for grids, a heat map for tables of two questions)")
@click.option("--report", type=new_files.writable, help="Write the estimate as a page, one self-contained HTML file.")
@click.option(
    "--period", type=WholeNumber(min=0), help="Estimate one period. [default: the latest period of each device]"
)
@click.option(
    "--by",
    type=click.Choice(["period", "class"]),
    help="period: estimate each period, and the change between periods. class: estimate each class of people "
    "(quantiles and ranges, or a question or table of a form).",
)
@click.option(
    "--periods",
    type=options.SpanList(),
    help="With --by period: combine periods, for example 0-3,4-7.",
    metavar="SPANS",
)
@click.option(
    "--ends",
    type=options.SpanList(),
    metavar="A,B",
    help="With --by period: the two periods to compare. [default: the first and the last]",
)
@click.option("--steps", is_flag=True, help="With --by period: also the change from each period to the next.")
@click.option("--where", "class_filter", help="Only this class of people.", metavar="class=NAME")
@options.method
@options.confidence
@click.option(
    "--truth",
    "truth_files",
    type=arguments.existing,
    multiple=True,
    help="True counts for comparison, in the format of simulate --truth. With --by period: one file for all periods, "
    "or one for each.",
)
@click.option(
    "--pool",
    type=click.Choice(POOLS),
    default=POOLS[0],
    show_default=True,
    help="Pooling of classes. equal: every report has the same weight. precision: classes with smaller errors count "
    "more; refused if a test shows that the shares of the classes differ.",
)
@click.option(
    "--question", metavar="NAME", help="Form: the shares of one question, from all devices that were asked it."
)
@click.option("--cross", "pair", metavar="NAME,NAME", help="Form: the estimated table of two questions.")
@click.option(
    "--value",
    help="Only this value, or district of a map with views: its share, or with --population the number of people.",
)
@click.option("--mean", is_flag=True, help="The mean of numbers or dates.")
@click.option("--quantiles", metavar="P,...", help="Quantiles of ordered values, for example .1,.5,.9.")
@click.option("--cdf", is_flag=True, help="Cumulative distribution function with a confidence band.")
@click.option(
    "--bins", metavar="V,...", help="The shares of people between these values; an edge belongs to the upper bin."
)
@click.option("--above", metavar="V", help="The share of people above this value.")
@click.option("--between", metavar="A,B", help="The share of people from value A to value B.")
@click.option("--sum", "total", is_flag=True, help="The sum of a number over the reports, or over --population.")
@click.option(
    "--weights", type=arguments.existing, help="CSV value,weight: the sum of the weights of all people's answers."
)
@click.option(
    "--coefficients",
    type=arguments.existing,
    help="TOML: a weight and an offset for each class of people, for a weighted --sum, --weights or --value.",
)
@click.option(
    "--margins",
    "margins_file",
    type=arguments.existing,
    help="TOML: known shares of the population by class or by questions of a form; the estimate is weighted to them.",
)
@click.option("--offset", type=RealNumber(-1e15, 1e15), default=0.0, help="Constant added to every weight.")
@click.option(
    "--population", type=WholeNumber(1, options.MOST), help="Size of the population that the reports represent."
)
@click.option(
    "--forged",
    type=WholeNumber(1, options.MOST),
    help="Print the influence of this many forged reports; of outputs, if a report may have several.",
)
@options.engine
@arguments.in_study
def estimate(
    ctx: click.Context, campaign: str, output_format: str, as_json: bool, **typed: Any
) -> (
    Estimate
    | Trend
    | query.QueryResult
    | OrderedStatistics
    | OrderedComparison
    | FormEstimate
    | FormTrend
    | FormClasses
    | None
):
    """Estimate the distribution of answers from the reports of CAMPAIGN (its name in the study, or its id).

    If the channel has an unbiased estimate, each share has a confidence interval, and a simultaneous interval for all
    values together. --value, --mean, --sum and --weights print one number instead.

    For numbers, dates and ordered values, --quantiles, --cdf, --bins, --above and --between print quantiles and shares
    of ranges. They can be combined with --mean, and with --plot, which draws the distribution function. With --by
    period or --by class, the command prints these numbers for each period or class, and the differences.

    With --by period and none of these options, the command prints the estimate of each period (for the goal mean: the
    mean; for the wave mechanism: also quantiles and ranges) and the change from the first to the last. --ends A,B
    compares two other periods, --steps adds the change from each period to the next, and --value prints one value only.

    A form needs --question for one question, --cross for the table of two questions, or --report for a page of all
    questions. With --by period or --by class, --question and --cross print the shares of each period or class, and the
    differences.

    If fewer devices have answered than the campaign's minimum, the command ends with exit code 75.
    """
    chosen = EstimateOptions("json" if as_json else output_format, **typed)
    chosen.require_compatible()
    name = chosen.class_name

    from aggregator.cli.one_number import NumberRequest, one_number, print_result
    from aggregator.estimate.classes import signed_within
    from aggregator.population import read_population
    from aggregator.study import Study

    study = Study.open(arguments.study_folder(ctx))
    signed = study.campaign(campaign)
    classes = signed.campaign.classes
    require_form(signed.campaign, chosen.questions, page=chosen.report is not None)
    if chosen.period is not None:
        options.require_period(signed.campaign, chosen.period)
    if name is not None and not classes:
        raise click.UsageError(f"{signed.campaign.title!r} has no classes of people: leave out --where")
    with engine_of(chosen.engine_name) as engine:
        margins = () if chosen.margins_file is None else read_population(chosen.margins_file, signed.campaign)
        if isinstance(signed.campaign.domain, Form):
            return _of_form(chosen, study, engine, signed, margins)
        comparison = _comparison(chosen, study, engine, signed) if chosen.by else None
        if comparison is not None and chosen.report is None:
            return comparison
        tally = engine.tally(study, signed, chosen.period)
    closed_early = study.cached_campaign(signed.id.hex()).closed_early
    signed, tally = signed_within(signed, tally, name)
    if chosen.by is None and chosen.ranges.named:
        return _in_order(chosen, signed, tally, margins, closed_early)
    if chosen.numbers:
        request = NumberRequest(
            chosen.value, chosen.mean, chosen.weights, chosen.offset, chosen.population, chosen.coefficients
        )
        number = one_number(request, signed.campaign, tally, chosen.confidence, margins)
        print_result(number, chosen.output_format, signed.campaign, name, tally.reports)
        return number
    estimate = _distribution(chosen, signed, tally, margins, classes, comparison, closed_early)
    return estimate if comparison is None else comparison


def _of_form(
    chosen: EstimateOptions,
    study: Study,
    engine: Engine,
    signed: SignedCampaign,
    margins: tuple[KnownMargin, ...],
) -> FormEstimate | FormTrend | FormClasses | None:
    """Print the requested questions of a form, and return them; or write the page of all its questions, and return
    None."""
    request = FormRequest(chosen.questions, chosen.confidence, margins, chosen.output_format)
    if not chosen.questions and chosen.report is not None:
        chosen.require_page_alone()
        tally = engine.tally(study, signed, chosen.period)
        closed_early = study.cached_campaign(signed.id.hex()).closed_early
        write_form_page(chosen.report, signed, tally, chosen.period, chosen.confidence, margins, closed_early)
        return None
    if chosen.by == "period":
        return print_form_trend(
            study, engine, signed, request, chosen.periods, chosen.ends, chosen.steps, chosen.class_name
        )
    tally = engine.tally(study, signed, chosen.period)
    if chosen.by == "class":
        return print_form_classes(signed, tally, request)
    truth_file = chosen.truth_files[-1] if chosen.truth_files else None
    return print_form(request, signed, tally, truth_file, chosen.plot, chosen.class_name)


def _comparison(
    chosen: EstimateOptions, study: Study, engine: Engine, signed: SignedCampaign
) -> Trend | OrderedComparison:
    """Print the estimates of each period or class, and their differences, and return them."""
    from aggregator.cli.compare import ChangeOutput, TrendRequest, show_trend
    from aggregator.cli.value_names import region_of
    from aggregator.estimate.ordered_campaign import has_summary

    campaign, name, ranges = signed.campaign, chosen.class_name, chosen.ranges
    in_order = bool(ranges.named) or ranges.mean
    if not in_order and chosen.value is None and has_summary(campaign):
        if chosen.truth_files:
            raise click.UsageError(
                "--truth cannot be compared with the means and quantiles of several periods or classes: leave out --by"
            )
        ranges, in_order = Ranges.usual(campaign), True
    if in_order:
        request = OrderedComparisonRequest(str(chosen.by), chosen.period, chosen.periods, chosen.ends, chosen.steps)
        comparison = estimate_comparison(
            _drawn(ranges, chosen), study, engine, signed, request, chosen.method, chosen.confidence, name
        )
        print_comparison(comparison, ranges, chosen.output_format, chosen.plot)
        return comparison
    if chosen.by == "class":
        raise click.UsageError(
            "--by class needs --quantiles, --cdf, --bins, --above, --between or --mean; for the shares of one class "
            "give --where class=NAME, for the differences of two classes `compare --classes`"
        )
    truths = [_true_shares(file, campaign.domain, campaign.classes, name) for file in chosen.truth_files]
    region = None if chosen.value is None else region_of(campaign, chosen.value)
    trend_request = TrendRequest(chosen.periods, chosen.ends, chosen.steps, region, truths)
    output = ChangeOutput(chosen.output_format, chosen.plot)
    return show_trend(engine, study, signed, trend_request, name, chosen.method, chosen.confidence, output)


def _in_order(
    chosen: EstimateOptions,
    signed: SignedCampaign,
    tally: Tally,
    margins: tuple[KnownMargin, ...],
    closed_early: int | None,
) -> OrderedStatistics:
    """Print and return the requested quantiles and ranges; with --report, also write the page."""
    ranges = chosen.ranges
    statistics = estimate_ranges(
        _drawn(ranges, chosen), signed, tally, chosen.method, chosen.confidence, chosen.class_name, margins
    )
    print_ranges(statistics, ranges, chosen.output_format, chosen.plot)
    if chosen.report:
        _write_page(chosen.report, statistics.estimate, tally, chosen.period, closed_early, ordered=statistics)
    return statistics


def _drawn(ranges: Ranges, chosen: EstimateOptions) -> Ranges:
    """Return the ranges, with the distribution function if it is printed, drawn or put on a page."""
    return replace(ranges, cdf=ranges.cdf or chosen.plot is not None or chosen.report is not None)


def _distribution(
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
    from aggregator.estimate.estimator import estimate as estimate_shares

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
    files = chosen.truth_files
    truth = _true_shares(files[-1], signed.campaign.domain, classes, name) if files else None
    if comparison is None:
        _print_shares(estimate, tally, chosen.period, chosen.output_format, chosen.plot, truth)
    if chosen.report:
        _write_page(chosen.report, estimate, tally, chosen.period, closed_early, truth=truth, comparison=comparison)
    return estimate


def _print_shares(
    estimate: Estimate, tally: Tally, period: int | None, output_format: str, plot: Path | None, truth: Floats | None
) -> None:
    from aggregator.estimate.ordered import summary
    from aggregator.estimate.ordered_campaign import has_summary
    from aggregator.present.document import estimate_csv, estimate_parquet, estimates_geojson
    from aggregator.present.ordered import summary_table
    from aggregator.present.table import estimate_table

    read = (
        summary(tally, estimate)
        if has_summary(estimate.campaign) and (output_format in ("table", "json") or plot)
        else None
    )
    if output_format == "json":
        printing.print_json(estimate.as_json() | ({} if read is None else read.numbers()))
    elif output_format == "csv":
        printing.say_pieces(estimate_csv(estimate, period))
    elif output_format == "geojson":
        printing.say(estimates_geojson([(estimate, period)]).rstrip())
    elif output_format == "parquet":
        _write_binary(estimate_parquet(estimate, period))
    else:
        printing.console().print(estimate_table(estimate, truth) if read is None else summary_table(read, truth))
    printing.warn(*(estimate.warnings if read is None or output_format != "table" else read.warnings))
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


def _true_shares(path: Path, domain: Domain, classes: tuple[str, ...], name: str | None) -> Floats:
    """Return the true shares from a file in the format of ``simulate --truth``: those of the class ``name``, or of
    everybody if it is None."""
    from aggregator.truth_file import read_truth

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
    from aggregator.author.audit import audit, levels_request
    from aggregator.present.page import page

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

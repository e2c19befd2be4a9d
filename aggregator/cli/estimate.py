"""The command estimate: estimate the distribution of a campaign's answers, or one number computed from it.

Options that cannot be combined are refused before anything is counted. Then the engine makes the needed tallies, from
which ``shares``, ``changes``, ``forms`` or ``one_number`` prints the output. Estimators are imported only then, so the
completion of an option stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from aggregator.cli import arguments, new_files, options
from aggregator.cli.completion import CampaignName
from aggregator.cli.estimate_options import FILES, EstimateOptions
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import RealNumber, WholeNumber
from aggregator.engines import engine_of
from aggregator.estimate.names import POOLS
from protocol.domain import Form

if TYPE_CHECKING:  # imported at run time only when an estimate is made
    from aggregator.estimate import query
    from aggregator.estimate.form_result import FormEstimate
    from aggregator.estimate.form_sides import FormClasses, FormTrend
    from aggregator.estimate.ordered_comparison import OrderedComparison
    from aggregator.estimate.ordered_result import OrderedStatistics
    from aggregator.estimate.result import Estimate
    from aggregator.estimate.trend import Trend


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
@options.plot("the shares with their intervals (a map for grids, a heat map for tables of two questions)")
@click.option(
    "--report", type=new_files.NewFile(".html"), help="Write the estimate as a page, one self-contained HTML file."
)
@click.option(
    "--period",
    type=WholeNumber(min=0),
    help="Estimate one period. [default: the latest period of each device; with transcripts, all periods]",
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
    help="With --by period: the two periods, or spans of --periods, to compare. [default: the first and the last]",
)
@click.option("--steps", is_flag=True, help="With --by period: also the change from each period or span to the next.")
@click.option("--where", "class_filter", help="Only this class of people.", metavar="class=NAME")
@options.method
@options.confidence
@click.option(
    "--truth",
    "truth_files",
    type=arguments.existing,
    multiple=True,
    help="True counts for comparison, in the format of simulate --truth. With --by period: one file for all periods or "
    "spans, or one for each.",
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
    help="Only this value or, with views, this district or group of values: its share, or with --population the number "
    "of people.",
)
@click.option("--mean", is_flag=True, help="The mean of numbers or dates.")
@click.option("--quantiles", metavar="P,...", help="Quantiles of ordered values, for example .1,.5,.9.")
@click.option("--cdf", is_flag=True, help="Cumulative distribution function with a confidence band.")
@click.option(
    "--bins",
    metavar="V,...",
    help="The shares of people between these values, in any order; an edge belongs to the upper bin.",
)
@click.option("--above", metavar="V", help="The share of people above this value.")
@click.option("--between", metavar="A,B", help="The share of people whose value is from A to B, both included.")
@click.option("--sum", "total", is_flag=True, help="The sum of a number over the reports, or over --population.")
@click.option(
    "--weights",
    type=arguments.existing,
    help="CSV value,weight: a weight for each answer; estimate the sum of all people's weights.",
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
@click.option(
    "--offset", type=RealNumber(-1e15, 1e15), default=0.0, help="With --weights: a constant added to every weight."
)
@click.option(
    "--population", type=WholeNumber(1, options.MAX_PEOPLE), help="Size of the population that the reports represent."
)
@click.option(
    "--forged",
    type=WholeNumber(1, options.MAX_PEOPLE),
    help="Print how far this number of forged reports could move a share. The number counts outputs if a report may "
    "have several, and devices in a campaign with transcripts.",
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

    With --by period and none of these options, the command prints the shares of each period and their change from the
    first to the last. If the campaign's goal is a mean, it prints the mean instead of shares. For the wave mechanism,
    it prints quantiles and shares of ranges, and for numbers and dates also the mean. --ends A,B compares two other
    periods or spans, --steps adds the change from each period or span to the next, and --value prints one value only.

    A form needs --question for one question, --cross for the table of two questions, or --report for a page of all
    questions. With --by period or --by class, --question and --cross print the shares of each period or class, and the
    differences.

    If fewer devices have answered than the campaign's minimum, the command ends with exit code 75.
    """
    chosen = EstimateOptions("json" if as_json else output_format, **typed)
    chosen.require_compatible()
    name = chosen.class_name

    from aggregator.cli.changes import print_changes
    from aggregator.cli.forms import print_form, require_form
    from aggregator.cli.one_number import one_number, print_result
    from aggregator.cli.shares import print_distribution, print_ordered
    from aggregator.estimate.classes import signed_of_class
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
            return print_form(chosen, study, engine, signed, margins)
        comparison = print_changes(chosen, study, engine, signed) if chosen.by else None
        if comparison is not None and chosen.report is None:
            return comparison
        tally = engine.tally(study, signed, chosen.period)
    closed_early = study.cached_campaign(signed.id.hex()).closed_early
    signed, tally = signed_of_class(signed, tally, name)
    if chosen.by is None and chosen.ranges.named:
        return print_ordered(chosen, signed, tally, margins, closed_early)
    if chosen.numbers:
        number = one_number(chosen, signed.campaign, tally, margins)
        print_result(number, chosen.output_format, signed.campaign, name, tally.reports)
        return number
    estimate = print_distribution(chosen, signed, tally, margins, classes, comparison, closed_early)
    return estimate if comparison is None else comparison

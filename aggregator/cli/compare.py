"""The command compare: differences between two campaigns, or between two classes of people."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import click

from aggregator.cli import arguments, options, printing
from aggregator.cli.completion import CampaignName
from aggregator.cli.estimate_options import requested_questions
from aggregator.cli.failure import BAD_DATA, Failure
from aggregator.cli.forms import FormRequest, print_form_difference, require_form
from aggregator.cli.group import halftruth
from aggregator.cli.ranges import Ranges, compare_ranges, print_comparison
from aggregator.engines import engine_of
from aggregator.estimate.change import Difference, Side, difference
from aggregator.estimate.classes import signed_of_class
from aggregator.estimate.form_change import FormDifference
from aggregator.estimate.ordered_campaign import has_summary
from aggregator.estimate.ordered_comparison import OrderedComparison
from aggregator.present.trends import change_csv, change_table
from aggregator.study import Study
from protocol.campaign import Campaign


@halftruth.command()
@click.argument("campaigns", nargs=-1, required=True, metavar="A [B]", type=CampaignName())
@click.option("--classes", help="Two classes of campaign A.", metavar="X,Y")
@options.output_format
@options.as_json
@options.plot("both sides and their differences; for quantiles, ranges and means, both distribution functions")
@click.option(
    "--quantiles", metavar="P,...", help="Ordered values: the differences of these quantiles, for example .1,.5,.9."
)
@click.option("--cdf", is_flag=True, help="Ordered values: the difference of the cumulative distribution functions.")
@click.option(
    "--bins", metavar="V,...", help="Ordered values: for each bin between these values, the difference of its share."
)
@click.option("--mean", is_flag=True, help="Numbers or dates: the difference of the means.")
@click.option("--question", metavar="NAME", help="Form: the differences of one question's shares.")
@click.option("--cross", "pair", metavar="NAME,NAME", help="Form: the differences of the table of two questions.")
@options.method
@options.confidence
@options.engine
@arguments.in_study
def compare(
    ctx: click.Context,
    campaigns: tuple[str, ...],
    classes: str | None,
    output_format: str,
    as_json: bool,
    plot: Path | None,
    quantiles: str | None,
    cdf: bool,
    bins: str | None,
    mean: bool,
    question: str | None,
    pair: str | None,
    method: str | None,
    confidence: float,
    engine_name: str,
) -> Difference | OrderedComparison | FormDifference:
    """Compare the shares of campaigns A and B, or of two classes of people in campaign A.

    Both sides must have the same values. Each difference (second minus first) has a confidence interval, and a
    simultaneous interval for all values together. A form needs --question or --cross. With --quantiles, --cdf, --bins
    or --mean, the command compares quantiles, means and shares of ranges instead, each with a confidence interval.
    For the wave mechanism, and for campaigns whose goal is a mean, this comparison is the default.

    The two campaigns are treated as independent samples: a device has a new key in each campaign, so it is unknown
    whether one person answered both.
    """
    study = Study.open(arguments.study_folder(ctx))
    output_format = "json" if as_json else output_format
    if classes is not None and len(campaigns) != 1:
        raise click.UsageError(
            f"--classes compares two classes of one campaign: name one campaign, not {len(campaigns)}"
        )
    if classes is None and len(campaigns) != 2:
        raise click.UsageError(
            f"name two campaigns, not {len(campaigns)}; or name one campaign and two of its --classes"
        )
    compared = [study.campaign(name) for name in campaigns]
    questions = requested_questions(question, pair)
    of_one: list[tuple[str, object]] = [("method", method), ("plot", plot), ("mean", mean)]
    of_one += [(name, True) for name in Ranges(quantiles, cdf, bins).named]
    if questions and (others := [name for name, word in of_one if word]):
        raise click.UsageError(f"--question and --cross cannot be combined with --{others[0]}: leave out --{others[0]}")
    for signed in compared:
        require_form(signed.campaign, questions)
    if len({signed.id for signed in compared}) < len(compared):
        raise click.UsageError(
            "both names mean the same campaign: name two campaigns, or one campaign and two of its --classes"
        )
    named = None if classes is None else _two_of(classes, compared[0].campaign)
    with engine_of(engine_name) as engine:
        tallies = [engine.tally(study, signed) for signed in compared]
    sides = (
        [Side(*entry) for entry in zip(campaigns, compared, tallies, strict=True)]
        if named is None
        else [Side(name, *signed_of_class(compared[0], tallies[0], name), name) for name in named]
    )
    if questions:
        return print_form_difference(sides, FormRequest(questions, confidence, (), output_format))
    ranges = Ranges(quantiles, cdf, bins, mean=mean)
    if ranges.named or mean or has_summary(compared[0].campaign):
        if not ranges.named and not mean:
            ranges = Ranges.usual(compared[0].campaign)
        drawn = replace(ranges, cdf=cdf or plot is not None)
        comparison = compare_ranges(drawn, sides, method, confidence)
        print_comparison(comparison, ranges, output_format, plot)
        return comparison
    change = difference(sides[0], sides[1], confidence=confidence, method=method)
    if output_format == "json":
        printing.print_json(change.as_json() | {"sides": [side.as_json() for side in (change.before, change.after)]})
    elif output_format == "csv":
        printing.say(change_csv(change).rstrip())
    else:
        printing.console().print(change_table(change))
    for name, side in zip(change.names, (change.before, change.after), strict=True):
        printing.warn(*side.warnings, subject=name)
    if plot:
        from aggregator.present.trend_plot import draw_difference  # matplotlib takes a second to load

        draw_difference(change, plot)
        printing.note(f"{plot}  drawn")
    return change


def _two_of(text: str, campaign: Campaign) -> tuple[str, str]:
    """Return the two classes of ``X,Y``. The name of a class may itself contain commas."""
    if not campaign.classes:
        raise Failure(f"{campaign.title!r} has no classes of people: leave out --classes", BAD_DATA)
    pairs = itertools.permutations(campaign.classes, 2)
    pair = next((pair for pair in pairs if f"{pair[0]},{pair[1]}" == text or f"{pair[0]}, {pair[1]}" == text), None)
    if pair is None:
        known = ", ".join(campaign.classes)
        raise Failure(
            f"--classes {text[:60]!r} does not name two classes of the campaign; name two, separated by a comma; the "
            f"classes are: {known}",
            BAD_DATA,
        )
    return pair

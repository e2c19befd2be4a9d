"""The author's command ``plan``: compare mechanisms by expected error and people needed."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import click

from aggregator.author.classes import DraftClasses
from aggregator.author.draft import (
    bins_sentences_of_draft,
    draft_classes,
    draft_form,
    draft_question,
    draft_views,
    read_padded,
)
from aggregator.author.form_section import DraftForm
from aggregator.author.value_table import read_prior
from aggregator.author.views_section import EXPECTED_DEVICES
from aggregator.campaign_facts import view_name
from aggregator.cli import arguments, options, printing
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import RealNumber, WholeNumber
from aggregator.estimate.error import errors_of_views
from aggregator.families.mechanism import EXPECTED_REPORTS, PlannedQuestion
from aggregator.planner.catalogue import CATALOGUE
from aggregator.planner.class_plan import plan_classes
from aggregator.planner.form_plan import FormPlan, plan_form
from aggregator.planner.goals import GoalPlan, default_target_error, goal_plans, goals_of
from aggregator.planner.mean_edges import rounded_for_mean
from aggregator.planner.plan import CURVE, curve
from aggregator.planner.plan import plan as plan_of
from aggregator.present.plan_tables import classes_table, form_tables, goals_table, plan_table, plan_views_table
from aggregator.quantity import quantity
from protocol import exact
from protocol.domain import MAX_VALUES, Domain, Line, NumberRange, Values
from protocol.errors import DomainError
from protocol.notions import Block, HighLow, Ldp, Lip, Notion
from protocol.notions.information import RADIUS_UNITS

ParsedDraft: TypeAlias = tuple[dict[str, Any], Path]
"""A parsed draft, and the folder to which the names of files in it are relative."""

Epsilon = RealNumber(min=exact.nats(exact.MIN_LEVEL), max=exact.nats(exact.MAX_LEVEL))


@halftruth.command()
@click.argument("draft", type=arguments.existing, required=False)
@click.option("--values", "size", type=WholeNumber(2, MAX_VALUES), help="Number of values of the question.")
@click.option("--number", "ends", metavar="LOW,HIGH[,STEP]", help="The question asks for a number in this range.")
@click.option("--epsilon", type=Epsilon, help="The privacy level in nats; see docs/GLOSSARY.md.")
@click.option(
    "--reports",
    type=WholeNumber(1, options.MAX_PEOPLE),
    help=f"Expected number of reports. [default: from the draft, else {EXPECTED_REPORTS:,}]",
)
@click.option("--sensitive-values", type=WholeNumber(min=1), help="Number of sensitive values.")
@click.option("--block-size", type=WholeNumber(min=2), help="Number of values in each block.")
@click.option(
    "--prior",
    type=arguments.existing,
    help="CSV value,count: the prior, for the notion LIP (see docs/GLOSSARY.md). With --values, the values are 1, 2, 3 "
    "and so on.",
)
@click.option(
    "--radius",
    type=RealNumber(0, 1),
    help="With --prior: the maximum error of the prior, as a total variation distance (see docs/GLOSSARY.md).",
)
@click.option(
    "--bits",
    type=WholeNumber(min=1),
    help="Maximum size of an output in bits. [default: 62; if a device answers several times per period, 8 more "
    "than log2 of the number of values]",
)
@click.option(
    "--error", "target_errors", type=RealNumber(min=1e-9), multiple=True, default=(0.01,), show_default=True,
    help="Target error: the standard error of one share, or the mean absolute error of the share of a range; may be "
    "repeated.",
)  # fmt: skip
@click.option(
    "--within", "distances", type=RealNumber(min=1e-9), multiple=True,
    help="For numbers, dates and ordered values: target error of the deciles and of the mean, in the unit of the "
    "numbers, in days or in steps; may be repeated. "
    "[default: a hundredth of the range; unless devices round at random, at least a quarter of a step]",
)  # fmt: skip
@click.option("--all", "all_of_them", is_flag=True, help="Also list the mechanisms that cannot be used, and why.")
@options.plot("the error of each mechanism against epsilon")
@arguments.as_json
def plan(
    draft: Path | None,
    size: int | None,
    ends: str | None,
    epsilon: float | None,
    reports: int | None,
    sensitive_values: int | None,
    block_size: int | None,
    prior: Path | None,
    radius: float | None,
    bits: int | None,
    target_errors: tuple[float, ...],
    distances: tuple[float, ...],
    all_of_them: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Compare all mechanisms for a question by their expected error, the bits of a report and the people needed, and
    list the chosen one first. Errors are exact, except those of deciles, distributions and ranges, which are simulated.

    Describe the question by a DRAFT, or by --values or --number together with --epsilon and at most one of
    --sensitive-values, --block-size and --prior. The chosen mechanism is the one that `name = "auto"` takes. If
    the draft names a mechanism, only the tables of a form, of classes and of views are for this mechanism.

    For numbers, dates and ordered values, a first table compares the goals of [analysis]. For a form, the tables have
    the expected error of each question and the associations that can be found. For classes of people, the tables have
    the errors of each class and of everybody.

    For a draft with [views], the first table assumes that every device is asked for the answer itself; a second table
    lists the views. If [views] has neither shares nor devices, the planner chooses the shares for --reports.
    """
    described = [draft is None, size is None, ends is None].count(False)
    if described != 1:
        fault = "several" if described else "none"
        raise click.UsageError(f"{fault} of DRAFT, --values and --number are given: give exactly one of them")
    parsed: ParsedDraft | None = None
    if draft is not None:
        of_draft = {
            "epsilon": epsilon,
            "sensitive-values": sensitive_values,
            "block-size": block_size,
            "prior": prior,
            "radius": radius,
        }
        if conflicts := [name for name, value in of_draft.items() if value is not None]:
            raise click.UsageError(f"--{conflicts[0]} cannot be combined with DRAFT: change the draft's entry instead")
        document, folder = parsed = read_padded(draft), draft.parent
        form = draft_form(document, folder)
        if form is not None:
            if bits is not None or distances or all_of_them or plot is not None:
                raise click.UsageError(
                    "--bits, --within, --all and --plot need a single question, and the draft is a form: leave them out"
                )
            for note in bins_sentences_of_draft(document, form.form):
                printing.note(f"Note: {note}")
            _plan_form(form, form.question.reports if reports is None else reports, target_errors, as_json)
            return
        classes = draft_classes(document, folder)
        if classes is not None:
            if bits is not None or all_of_them or plot is not None:
                raise click.UsageError(
                    "--bits, --all and --plot need a single channel, and the draft has one for each class: "
                    "leave them out"
                )
            _plan_classes(parsed, classes, reports, target_errors, distances, as_json)
            return
        full_question = draft_question(document, folder)
    elif radius is not None and prior is None:
        raise click.UsageError("--radius needs --prior: name the CSV file of the prior, or leave out --radius")
    elif epsilon is None:
        option = "values" if ends is None else "number"
        raise click.UsageError(
            f"--{option} needs --epsilon, the privacy level (nats: see docs/GLOSSARY.md), such as --epsilon 1"
        )
    else:
        domain = Values(tuple(f"{number}" for number in range(1, (size or 0) + 1))) if ends is None else _number(ends)
        goal = "distribution" if domain.ordered else ""
        notion = _notion(domain, exact.level_from(epsilon), sensitive_values, block_size, prior, radius)
        full_question = PlannedQuestion(domain, notion, goal=goal)
    reports = full_question.reports if reports is None else reports
    views = [] if parsed is None else _views(parsed, reports, reports)
    question = full_question if views else rounded_for_mean(full_question)
    if distances and views:
        raise click.UsageError("--within cannot be used for a draft with [views]: leave it out")
    if distances and not goals_of(full_question):
        fault = "the notion has a prior" if full_question.domain.ordered else "the values have no order"
        if isinstance(full_question.domain, Line) and not full_question.domain.evenly_spaced:
            fault = "the values are not evenly spaced"
        raise click.UsageError(f"--within cannot be used, because {fault}: leave it out")
    with printing.progress("mechanisms", len(CATALOGUE)) as advance:
        rows = plan_of(question, reports, max_bits=bits, target_errors=target_errors, progress=advance)
    goals: list[GoalPlan] = []
    if not views:
        known = [] if question is not full_question else [row.candidate for row in rows if row.candidate is not None]
        plans = goal_plans(
            full_question,
            reports,
            max_bits=bits,
            target_errors=distances,
            share_target_errors=target_errors,
            known=known,
        )
        with printing.tracked("goals", plans, len(goals_of(full_question))) as planned:
            goals = list(planned)
    if as_json:
        listed = rows.as_json()
        if views:
            listed[0]["views"] = views
        if goals:
            listed[0]["goals"] = [goal_plan.as_json() for goal_plan in goals]
        printing.print_json(listed)
    else:
        if goals:
            printing.console().print(goals_table(goals, full_question))
        console = printing.console()
        console.print(plan_table(rows, question, reports, width=console.width, unsuited=all_of_them))
        if parsed is not None and views:
            _print_views(parsed, views, reports, bundled=question.bundled)
    if plot:
        from aggregator.present.curve import draw_curve  # matplotlib takes a second to load

        with printing.tracked("levels", curve(question), len(CURVE)) as levels:
            points = list(levels)
        draw_curve(points, rows, question, plot)
        printing.note(f"{plot}  drawn")


def _plan_form(form: DraftForm, reports: int, target_errors: tuple[float, ...], as_json: bool) -> None:
    """Print the expected errors of a form; with classes, the errors of each class if all classes have equal size."""
    if not form.classes:
        form_plan = plan_form(form, reports, target_errors=target_errors)
        if as_json:
            printing.print_json(form_plan.as_json())
        else:
            _print_form_plan(form_plan)
        return
    class_reports = max(reports // len(form.classes), 1)
    plans = {
        name: plan_form(form.of_class(place), class_reports, target_errors=target_errors)
        for place, name in enumerate(form.classes)
    }
    if as_json:
        printing.print_json({"classes": {name: class_plan.as_json() for name, class_plan in plans.items()}})
        return
    for name, class_plan in plans.items():
        printing.say(f"Class {name}, {class_reports:,} of {quantity(reports, 'person', 'people')}:")
        _print_form_plan(class_plan)


def _print_form_plan(form_plan: FormPlan) -> None:
    for table in form_tables(form_plan):
        printing.console().print(table)
    printing.say(" ".join(form_plan.sentences))


def _views(parsed: ParsedDraft, reports: int, expected: int) -> list[dict[str, Any]]:
    """Return the channel of each view of the draft, and the standard error of its shares; empty without views.

    Args:
        expected: the number of devices for which shares are chosen, if the draft gives no number.
    """
    views_of_draft = draft_views(*parsed, expected)
    if views_of_draft is None:
        return []
    domain, views, classes = views_of_draft
    total = sum(view.weight for view in views)
    return [
        {
            "view": view_name(domain, view),
            "values": view.map.input_count(domain),
            "share": view.weight / total,
            "family": view.channel.family,
            "output_bits": view.channel.output_bits,
            "se": None
            if math.isnan(view_error.mse)
            else math.sqrt(view_error.mse / view.map.input_count(domain) / reports),
            "people_per_report": None if math.isnan(view_error.people_per_report) else view_error.people_per_report,
        }
        for view, view_error in zip(views, errors_of_views(domain, views, classes), strict=True)
    ]


def _print_views(parsed: ParsedDraft, views: list[dict[str, Any]], reports: int, *, bundled: bool) -> None:
    """Print the views, and a hint if ``campaign`` would choose other shares for them."""
    printing.console().print(plan_views_table(views, bundled=bundled))
    if reports != EXPECTED_DEVICES and _views(parsed, reports, EXPECTED_DEVICES) != views:
        printing.say(
            f"These shares are chosen for {quantity(reports, 'device')}. `campaign` chooses them for "
            f"{EXPECTED_DEVICES:,} if the draft gives no number: to sign these, write devices = {reports} under "
            "[views]."
        )


def _plan_classes(
    parsed: ParsedDraft,
    classes: DraftClasses,
    reports: int | None,
    target_errors: tuple[float, ...],
    distances: tuple[float, ...],
    as_json: bool,
) -> None:
    """Print the expected errors of each class, of everybody, and of each view of the draft."""
    question = classes.questions[0]
    of_distance = question.goal in ("distribution", "mean") and question.domain.ordered
    if distances and not of_distance:
        raise click.UsageError(
            "--within needs numbers, dates or ordered values, and the goal distribution or mean: leave it out"
        )
    targets = (distances or (default_target_error(question),)) if of_distance else target_errors
    reports = sum(class_question.reports for class_question in classes.questions) if reports is None else reports
    with printing.progress("classes", None):
        class_plans = plan_classes(classes.names, classes.questions, classes.choices, reports, targets)
        views = _views(parsed, reports, reports)
    if views:
        # Classes with views cannot be pooled by precision.
        class_plans[-1] = replace(class_plans[-1], se_precision=None)
    if as_json:
        listed = [class_plan.as_json() for class_plan in class_plans]
        if views:
            listed[-1]["views"] = views
        printing.print_json(listed)
    else:
        printing.console().print(classes_table(class_plans, question))
        if views:
            _print_views(parsed, views, reports, bundled=question.bundled)


def _number(text: str) -> NumberRange:
    """Return the range of numbers that the option --number describes."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) not in (2, 3):
        raise click.UsageError(
            f"--number {text[:40]!r} is not two or three numbers: write the lowest, the highest and, if it is not "
            "1, the step, as in 17,90 or 0,5,0.5"
        )
    try:
        return NumberRange.of(*parts)
    except DomainError as error:
        raise click.UsageError(f"--number: {error}") from None


def _notion(
    domain: Domain,
    level: int,
    sensitive_values: int | None,
    block_size: int | None,
    prior: Path | None,
    radius: float | None,
) -> Notion:
    names = [
        name
        for name, value in (("sensitive-values", sensitive_values), ("block-size", block_size), ("prior", prior))
        if value is not None
    ]
    if len(names) > 1:
        raise click.UsageError(f"--{names[0]} and --{names[1]} cannot be combined: run the command once for each")
    if sensitive_values is not None:
        if sensitive_values >= domain.size:
            raise click.UsageError(
                f"--sensitive-values must be below the number of values, {domain.size}, not {sensitive_values}; if all "
                "are sensitive, leave it out"
            )
        return HighLow(level, domain.size, tuple(range(sensitive_values)))
    if block_size is not None:
        if block_size >= domain.size:
            raise click.UsageError(
                f"--block-size must be below the number of values, {domain.size}, not {block_size}; for one block of "
                "all values, leave it out"
            )
        return Block.over(level, [x // block_size for x in range(domain.size)])
    if prior is not None:
        weights = read_prior(prior, domain, whole_numbers=True)
        return Lip(level, weights, math.ceil(exact.rational(radius or 0) * RADIUS_UNITS))
    return Ldp(level)

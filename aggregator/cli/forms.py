"""Output of `estimate` and `compare` for forms: one question, or the table of two questions.

``estimate.form_result`` computes the estimates, and ``present.forms`` makes the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from aggregator.cli import new_files, printing
from aggregator.cli.estimate_options import EstimateOptions
from aggregator.cli.failure import BAD_DATA, Failure
from aggregator.cli.spans import ends_of, spans_of, warn_left_out, warn_single
from aggregator.engines import Engine
from aggregator.estimate.change import NotComparable, Side
from aggregator.estimate.classes import signed_of_class
from aggregator.estimate.form import NotAsked
from aggregator.estimate.form_change import FormDifference, form_difference
from aggregator.estimate.form_result import FormEstimate, estimate_form
from aggregator.estimate.form_sides import FormClasses, FormSides, FormTrend, form_classes, form_trend
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.tally import Tally
from aggregator.estimate.weighting import KnownMargin
from aggregator.present.forms import (
    form_csv,
    form_difference_csv,
    form_difference_table,
    form_sides_csv,
    form_sides_table,
    form_table,
)
from aggregator.study import Study
from aggregator.truth_file import read_truth
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain.form import Form


def require_form(campaign: Campaign, names: tuple[str, ...], *, page: bool | None = None) -> None:
    """Refuse --question and --cross for a campaign that is not a form, unknown questions of a form, and a form without
    either option.

    Args:
        page: whether a page is written, which covers all questions of a form; None if the command has no --report.
    """
    if isinstance(campaign.domain, Form) and not names and not page:
        either = "--question NAME or --cross NAME,NAME"
        options = either if page is None else "--question NAME, --cross NAME,NAME or --report"
        raise Failure(
            f"{campaign.title!r} is a form: give {options}; its questions are {', '.join(campaign.domain.positions)}",
            BAD_DATA,
        )
    if names and not isinstance(campaign.domain, Form):
        raise Failure(f"{campaign.title!r} is not a form: leave out --question and --cross", BAD_DATA)
    for name in names:
        if isinstance(campaign.domain, Form) and name not in campaign.domain.positions:
            known = ", ".join(campaign.domain.positions)
            raise Failure(f"the form has no question {name[:40]!r}; its questions are {known}", BAD_DATA)


@dataclass(frozen=True)
class FormRequest:
    """The requested questions of a form, with the options for their estimates and the output.

    Attributes:
        names: the questions.
        confidence: the confidence level of the intervals.
        margins: known shares that the reports are weighted to.
        output_format: the output format: table, json or csv.
    """

    names: tuple[str, ...]
    confidence: float
    margins: tuple[KnownMargin, ...]
    output_format: str

    def estimate(self, signed: SignedCampaign, tally: Tally, class_name: str | None = None) -> FormEstimate:
        """Return the estimate of the questions from a tally.

        Args:
            class_name: the class of people to which ``signed`` and ``tally`` are restricted; None for everybody.
        """
        return estimate_form(
            signed, tally, self.names, confidence=self.confidence, margins=self.margins, class_name=class_name
        )


def print_form(
    chosen: EstimateOptions, study: Study, engine: Engine, signed: SignedCampaign, margins: tuple[KnownMargin, ...]
) -> FormEstimate | FormTrend | FormClasses | None:
    """Print the requested questions of a form, and return them; or write the page of all its questions, and return
    None."""
    request = FormRequest(chosen.questions, chosen.confidence, margins, chosen.output_format)
    if not chosen.questions and chosen.report is not None:
        from aggregator.author.audit import audit
        from aggregator.present.form_page import form_page  # only the page needs it

        chosen.require_form_page()
        tally = engine.tally(study, signed, chosen.period)
        closed_early = study.cached_campaign(signed.id.hex()).closed_early
        with printing.progress("estimating", None):
            text = form_page(
                signed,
                audit(signed.campaign),
                tally,
                period=chosen.period,
                confidence=chosen.confidence,
                margins=margins,
                closed_early=closed_early,
            )
        with new_files.new_file(chosen.report) as file:
            file.write(text.encode("utf-8"))
        printing.note(f"{chosen.report}  written")
        return None
    if chosen.by == "period":
        return _print_trend(study, engine, signed, request, chosen)
    tally = engine.tally(study, signed, chosen.period)
    if chosen.by == "class":
        return _print_classes(signed, tally, request)
    return _print_questions(request, signed, tally, chosen)


def _print_questions(
    request: FormRequest, signed: SignedCampaign, tally: Tally, chosen: EstimateOptions
) -> FormEstimate:
    """Print and return the estimates of the requested questions, weighted to known margins."""
    class_name, plot = chosen.class_name, chosen.plot
    classes = signed.campaign.classes
    signed, tally = signed_of_class(signed, tally, class_name)
    form_estimate = request.estimate(signed, tally, class_name)
    truth = None
    if chosen.truth_files:
        people = read_truth(chosen.truth_files[-1], form_estimate.form, classes)
        people = people if class_name is None else people.within(classes.index(class_name))
        truth = people.among_answered(form_estimate.form, request.names)
    if request.output_format == "json":
        printing.print_json(form_estimate.as_json())
    elif request.output_format == "csv":
        printing.say(form_csv(form_estimate).rstrip())
    else:
        printing.console().print(form_table(form_estimate, truth))
    printing.warn(*form_estimate.warnings)
    if plot is not None:
        from aggregator.present.form_plot import draw_form  # matplotlib takes a second to load

        draw_form(form_estimate, plot, truth)
        printing.note(f"{plot}  drawn")
    return form_estimate


def _print_trend(
    study: Study, engine: Engine, signed: SignedCampaign, request: FormRequest, chosen: EstimateOptions
) -> FormTrend:
    """Estimate the requested questions in each span of periods (default: each period), print estimates and
    changes, and return them."""
    spans, name = spans_of(study, signed, chosen.periods), chosen.class_name
    ends = ends_of(chosen.ends, spans)

    def estimate_tally(tally: Tally) -> FormEstimate:
        return request.estimate(*signed_of_class(signed, tally, name), name)

    with printing.tracked("periods", engine.spans(study, signed, spans), len(spans)) as tallies:
        trend = form_trend(spans, tallies, estimate_tally, ends=ends, steps=chosen.steps)
    known = {step.names for step in trend.differences}
    changes = [] if trend.change is None or trend.change.names in known else [trend.change]
    _print_sides(trend, request, [*changes, *trend.differences], trend.as_json())
    warn_refused([(span.name_in_text, reason) for span, reason in trend.refused], signed.campaign.minimum_devices)
    if trend.change is None:
        warn_single(trend.sides[0][0].name_in_text)
    for span, form_estimate in trend.sides:
        printing.warn(*form_estimate.warnings, subject=span.name_in_text)
    return trend


def _print_classes(signed: SignedCampaign, tally: Tally, request: FormRequest) -> FormClasses:
    """Estimate the requested questions in each class of people, print estimates and differences from the first
    class, and return them."""
    if not signed.campaign.classes:
        raise click.UsageError(f"--by class: {signed.campaign.title!r} has no classes of people: leave out --by")
    classes = form_classes(signed, tally, request.estimate)
    _print_sides(classes, request, classes.differences, classes.as_json())
    warn_refused(classes.refused, signed.campaign.minimum_devices)
    for name, form_estimate in classes.sides:
        printing.warn(*form_estimate.warnings, subject=name)
    return classes


def warn_refused(refused: Sequence[tuple[str, NotEnough | NotAsked]], minimum: int) -> None:
    """Warn of periods or classes without an estimate, and name the reasons."""
    warn_left_out([name for name, reason in refused if isinstance(reason, NotEnough)], minimum)
    for name, reason in refused:
        if isinstance(reason, NotAsked):
            printing.warn(str(reason), subject=name)


def _print_sides(
    sides: FormSides[Any], request: FormRequest, differences: Sequence[FormDifference], as_json: dict[str, Any]
) -> None:
    if request.output_format == "json":
        printing.print_json(as_json)
    elif request.output_format == "csv":
        printing.say(form_sides_csv(sides).rstrip())
    else:
        for table in [
            form_sides_table(sides),
            *(form_difference_table(difference, request.names) for difference in differences),
        ]:
            printing.console().print(table)


def print_form_difference(sides: Sequence[Side], request: FormRequest) -> FormDifference:
    """Estimate the requested questions on two sides that share no device, print the difference, and return it."""
    for side in sides:
        require_form(side.unsigned, request.names)
    before, after = (request.estimate(side.signed, side.tally, side.class_name) for side in sides)
    if before.labels != after.labels:
        raise NotComparable(
            f"{sides[0].name} and {sides[1].name} do not have the same values, so their shares cannot be compared: "
            "name a question that has equal values on both sides"
        )
    difference = form_difference(
        (sides[0].name, sides[1].name), after.labels, before.answered, after.answered, confidence=request.confidence
    )
    if request.output_format == "json":
        printing.print_json(difference.as_json() | {"sides": [before.as_json(), after.as_json()]})
    elif request.output_format == "csv":
        printing.say(form_difference_csv(difference, request.names).rstrip())
    else:
        printing.console().print(form_difference_table(difference, request.names))
    for side, form_estimate in zip(sides, (before, after), strict=True):
        printing.warn(*form_estimate.warnings, subject=side.name)
    return difference

"""What `halftruth estimate` is asked of a form: --question, or --cross for the table of two questions.

How they are estimated: estimate.form_result. How they are shown: present.forms.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aggregator.cli import shell
from aggregator.cli.shell import BAD_DATA, Failure
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain.form import Form

if TYPE_CHECKING:  # loaded when an estimate is made
    from aggregator.engines import Engine
    from aggregator.estimate.form_result import FormCourse, FormEstimate
    from aggregator.estimate.span import Span
    from aggregator.estimate.tally import Tally
    from aggregator.estimate.weighting import KnownMargin
    from aggregator.study import Study


def asked_of_form(question: str | None, pair: str | None) -> tuple[str, ...]:
    """The questions that --question or --cross names; none where neither was given."""
    if question is not None and pair is not None:
        raise click.UsageError("--question is of one question, --cross of two: ask twice")
    if question is not None:
        return (question.strip(),)
    if pair is None:
        return ()
    names = tuple(part.strip() for part in pair.split(","))
    if len(names) != 2 or not all(names):
        raise click.UsageError("--cross takes two questions, as --cross age,vote")
    return names


def require_form(terms: Campaign, names: tuple[str, ...], *, page: bool = False) -> None:
    """Refuse questions of what is no form, and to print a form as a whole, of which there is only a ``page``."""
    if isinstance(terms.domain, Form) and not names and not page:
        raise Failure(
            f"{terms.title!r} is a form: ask for --question NAME, for --cross NAME,NAME or for --report; its "
            f"questions are {', '.join(terms.domain.places)}",
            BAD_DATA,
        )
    if names and not isinstance(terms.domain, Form):
        raise Failure(f"{terms.title!r} is no form: leave out --question and --cross", BAD_DATA)
    for name in names:
        if isinstance(terms.domain, Form) and name not in terms.domain.places:
            known = ", ".join(terms.domain.places)
            raise Failure(f"the form has no question {name[:40]!r}; its questions are {known}", BAD_DATA)


def print_form(
    signed: SignedCampaign,
    tally: Tally,
    names: tuple[str, ...],
    level: float,
    form: str,
    margins: tuple[KnownMargin, ...] = (),
    truth_file: Path | None = None,
    plot: Path | None = None,
) -> FormEstimate:
    """Estimate what is asked, weighted to known margins, print it beside the truth of a rehearsal, and draw it."""
    from aggregator.estimate.form_result import estimate_form
    from aggregator.present.forms import form_csv, form_table

    found = estimate_form(signed, tally, names, level=level, margins=margins)
    truth = None
    if truth_file is not None:
        from aggregator.simulation import read_truth

        truth = read_truth(truth_file, found.form).among_answered(found.form, names)
    if form == "json":
        shell.print_json(found.as_json())
    elif form == "csv":
        shell.say(form_csv(found).rstrip())
    else:
        shell.console().print(form_table(found, truth))
    for warning in found.warnings:
        shell.warn(f"Warning: {warning}")
    if plot is not None:
        from aggregator.present.form_plot import draw_form  # matplotlib takes a second to load

        draw_form(found, plot, truth)
        shell.warn(f"{plot}  drawn")
    return found


def print_form_course(
    study: Study,
    engine: Engine,
    signed: SignedCampaign,
    names: tuple[str, ...],
    spans: list[Span] | None,
    level: float,
    form: str,
    margins: tuple[KnownMargin, ...],
) -> FormCourse:
    """Estimate what is asked in each span of periods, of every period if none is named, and print it."""
    from aggregator.cli.spans import spans_of
    from aggregator.estimate.form_result import estimate_form, form_course
    from aggregator.present.forms import form_course_csv, form_course_table

    chosen = spans_of(study, signed, spans)
    tallies = engine.spans(study, signed, [(span.first, span.last) for span in chosen])
    found = form_course(
        chosen, tallies, lambda tally: estimate_form(signed, tally, names, level=level, margins=margins)
    )
    if form == "json":
        shell.print_json(found.as_json())
    elif form == "csv":
        shell.say(form_course_csv(found).rstrip())
    else:
        shell.console().print(form_course_table(found))
    if found.few:
        few = ", ".join(span.name for span in found.few[:5])
        shell.warn(f"Warning: too few devices in {few}: left out")
    for span, one in found.sides:
        for warning in one.warnings:
            shell.warn(f"Warning: {span.words}: {warning}")
    return found


def write_form_page(
    path: Path, signed: SignedCampaign, tally: Tally, period: int | None, level: float, margins: tuple[KnownMargin, ...]
) -> None:
    """Write the page of all questions and tables of a form."""
    from aggregator.author.audit import audit
    from aggregator.present.form_page import form_page

    with shell.progress("estimating", None):
        text = form_page(signed, audit(signed.terms), tally, period=period, level=level, margins=margins)
    with shell.new_file(path) as file:
        file.write(text.encode("utf-8"))
    shell.warn(f"{path}  written")

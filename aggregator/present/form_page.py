"""The page of a form as one HTML file: its questions, its tables of two questions, and the tests of association.

The heat maps are HTML tables. Each cell has its share and interval as text, so colour is never the only sign, and
narrow screens can scroll a table. ``page`` has the parts that the pages of all campaigns share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from aggregator.author.audit import Audit
from aggregator.campaign_facts import counted_noun, counted_text
from aggregator.estimate.form import NotAsked
from aggregator.estimate.form_result import FormEstimate, estimate_form
from aggregator.estimate.form_table import SIMULATED_TABLES
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.result import ROUNDED
from aggregator.estimate.tally import Tally
from aggregator.estimate.weighting import KnownMargin, MarginRefused
from aggregator.present.form_page_classes import classes_section
from aggregator.present.forms import PLACES
from aggregator.present.markup import Html, label_markup, tag
from aggregator.present.page import html_page, source_section
from aggregator.present.page_method import introduction, weights_tables
from aggregator.present.page_parts import scrolled, warning_boxes
from aggregator.present.page_promise import promise_section
from aggregator.present.page_reports import campaign_section, refused_section
from aggregator.present.shown_shares import interval_text, percent
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Line, NumberRange
from protocol.domain.form import Form

SHADES = 9
"""Number of shades of a heat map, besides white."""


def form_page(
    signed: SignedCampaign,
    audit: Audit,
    tally: Tally,
    *,
    period: int | None = None,
    confidence: float = 0.95,
    margins: Sequence[KnownMargin] = (),
    closed_early: int | None = None,
) -> str:
    """Return the page of all questions of a form, and of all tables of two questions that devices were asked together.

    Args:
        audit: the audit of the campaign.
        tally: the tally of all its views.
        period: the period; None for each device's latest period.
        confidence: confidence level of the intervals.
        margins: known shares of the population, to which the reports are weighted.
        closed_early: the time of an early closing, UTC seconds; None if the campaign was not closed early.
    Raises:
        NotEnough, NotAsked, MarginRefused: no question can be estimated; the error is that of the first question.
        TypeError: the campaign has no form.
    """
    campaign, form = signed.campaign, signed.campaign.domain
    if not isinstance(form, Form):
        raise TypeError(
            f"form_page needs a campaign with a form, and the domain of {campaign.title!r} is of kind {form.kind!r}: "
            "use page() for this campaign"
        )
    names = tuple(form.positions)
    selections = [(name,) for name in names], list(combinations(names, 2))
    (questions, missing), (tables, _) = (
        _estimates(signed, tally, selection, confidence, margins) for selection in selections
    )
    if not questions:
        raise missing[0][1]
    ranked = sorted(tables, key=lambda estimate: estimate.association.p_value if estimate.association else 1.0)
    by_class = classes_section(signed, tally, names, [estimate.questions for estimate in ranked], confidence)
    weighted = [estimate for estimate in questions if estimate.weighting is not None]
    sections: list[tuple[str, str, Sequence[Html]]] = [
        ("questions", "Questions", [part for estimate in questions for part in _question(estimate, form)]),
        ("associations", "Which questions are associated", _associations(ranked)),
        ("classes", "Classes of people", by_class),
        ("tables", "Tables of two questions", [part for estimate in ranked for part in _table(estimate, form)]),
        ("method", "How the numbers were made", _method(campaign, form, confidence, weighted)),
        ("promise", "What people were promised", promise_section(audit)),
        ("refused", "Refused reports", refused_section(tally.refused)),
        ("campaign", "The campaign", campaign_section(campaign, tally.reports, period, closed_early)),
        ("source", "Where this page comes from", source_section(signed.id, "", confidence, tally, period)),
    ]
    counted = counted_text(tally.reports, campaign)
    facts = [f"{len(names)} questions, {counted}. Each device was asked one or two of them."]
    if weighted and weighted[0].weighting is not None:
        facts.append(f"The shares are weighted by {weighted[0].weighting.by}.")
    return html_page(campaign, facts, _warnings([*questions, *tables], missing), [s for s in sections if s[2]])


def _estimates(
    signed: SignedCampaign,
    tally: Tally,
    selections: Sequence[tuple[str, ...]],
    confidence: float,
    margins: Sequence[KnownMargin],
) -> tuple[list[FormEstimate], list[tuple[str, Exception]]]:
    """Return the estimates that can be computed, and the questions and errors of the others."""
    estimates: list[FormEstimate] = []
    missing: list[tuple[str, Exception]] = []
    for names in selections:
        try:
            estimates.append(estimate_form(signed, tally, names, confidence=confidence, margins=margins))
        except (NotAsked, NotEnough, MarginRefused) as reason:
            missing.append((" and ".join(names), reason))
    return estimates, missing


def _warnings(estimates: Iterable[FormEstimate], missing: Iterable[tuple[str, Exception]]) -> list[Html]:
    errors = (f"{name}: {reason}" for name, reason in missing)
    return warning_boxes(dict.fromkeys([*(text for estimate in estimates for text in estimate.warnings), *errors]))


def _question(estimate: FormEstimate, form: Form) -> list[Html]:
    (name,) = estimate.questions
    confidence = f"{100 * estimate.confidence:.4g}%"
    heads = ("value", "share", f"{confidence} interval", f"simultaneous {confidence} interval")
    shares = estimate.shares
    rows = [
        tag(
            "tr",
            tag("th", label_markup(value), scope="row", dir="auto"),
            tag("td", percent(float(shares.share[x]), PLACES)),
            tag("td", interval_text(shares.low[x], shares.high[x], PLACES)),
            tag("td", interval_text(shares.simultaneous_low[x], shares.simultaneous_high[x], PLACES)),
        )
        for x, (value,) in enumerate(estimate.labels)
    ]
    caption = f"{_with_unit(form, name)}: {estimate.counted}"
    if estimate.skipping:
        caption += "; shares of the people who did not skip it"
    text = form.questions[form.positions[name]].text
    return [tag("h3", text, dir="auto"), scrolled(caption, heads, rows, class_="numbers")]


def _associations(tables: Sequence[FormEstimate]) -> list[Html]:
    if not tables:
        return []
    rows, counted = [], f"{counted_noun(tables[0].campaign)}s"
    for estimate in tables:
        test = estimate.association
        if test is None:
            continue
        link = tag("a", " and ".join(estimate.questions), href=f"#{_anchor(estimate)}")
        verdict = "yes" if test.significant else "not found"
        rows.append(
            tag("tr", tag("th", link, scope="row"), tag("td", verdict), tag("td", f"{test.p_value:.3g}"),
                tag("td", f"{estimate.reports:,}"))
        )  # fmt: skip
    return [
        tag("p", "Two questions are associated if the answers to one depend on the answers to the other. Each pair "
            "that was asked together is tested. If no association is found, the reports may be too few to show "
            f"it. Number of tests: {len(rows)}. Where there is no association, about one test in twenty finds one by "
            "chance. The number p is the probability of a result at least as strong if there is no association. It is "
            f"computed from {SIMULATED_TABLES} simulated surveys, so it is at least {1 / (SIMULATED_TABLES + 1):.3g}."),
        scrolled("The most significant come first.", ("questions", "associated", "p", counted), rows),
    ]  # fmt: skip


def _table(estimate: FormEstimate, form: Form) -> list[Html]:
    rows = list(dict.fromkeys(row for row, _ in estimate.labels))
    columns = list(dict.fromkeys(column for _, column in estimate.labels))
    shares, top = estimate.shares, max(float(estimate.shares.share.max()), 1e-9)
    lines = []
    for y, row in enumerate(rows):
        cells = []
        for x in range(y * len(columns), (y + 1) * len(columns)):
            share, low, high = (float(numbers[x]) for numbers in (shares.share, shares.low, shares.high))
            interval = tag("small", interval_text(low, high, PLACES))
            cells.append(tag("td", percent(share, PLACES), interval, class_=shade(share, low, top)))
        lines.append(tag("tr", tag("th", label_markup(row), scope="row", dir="auto"), *cells))
    first, second = (_with_unit(form, name) for name in estimate.questions)
    caption = f"{first} (rows) and {second} (columns): {estimate.counted}"
    if estimate.skipping:
        caption += f"; shares of the people who did not skip {' or '.join(estimate.skipping)}"
    return [
        tag("h3", " and ".join(estimate.questions), id=_anchor(estimate)),
        scrolled(caption, ("", *columns), lines, class_="numbers heat"),
    ]


def shade(share: float, low: float, top: float) -> str:
    """Return the style class of a cell of a heat map. A cell has no colour exactly if its interval contains zero.

    Args:
        share: the share of the cell.
        low: the lower end of its interval.
        top: the largest share of the table.
    """
    return f"heat{max(1, round(SHADES * share / top))}" if low > 0 else "unsure"


def _with_unit(form: Form, name: str) -> str:
    """Return the name of a question, with the unit of its numbers."""
    domain = form.questions[form.positions[name]].domain
    return f"{name}, in {domain.unit}" if isinstance(domain, NumberRange) and domain.unit else name


def _method(campaign: Campaign, form: Form, confidence: float, weighted: Sequence[FormEstimate]) -> list[Html]:
    confidence_text = f"{100 * confidence:.4g}%"
    notes = {
        "Share": "of the people who answered. A question is estimated from all devices that were asked it. The margins "
        "of a table are the shares of its two questions. Random noise makes two questions look more strongly "
        "associated than they are. The shares of a table are corrected for this: they lie nearer to the shares that "
        "would be expected without an association.",
        "Interval": f"in about {confidence_text} of such surveys, or more, it contains the true share of that value or "
        "cell. To look for the largest or an unusual value of a question, use the simultaneous intervals.",
        "No colour": "the interval of the cell contains zero.",
    }
    if any(isinstance(question.domain, Line) and question.domain.rounds_randomly for question in form.questions):
        notes["Numbers"] = f"{ROUNDED}."
    parts = [
        introduction(campaign),
        tag("ul", *(tag("li", tag("strong", f"{name}:"), f" {text}") for name, text in notes.items())),
    ]  # fmt: skip
    for estimate in weighted[:1]:
        if estimate.weighting is not None:
            words = (
                f"The shares of {estimate.questions[0]} are "
                f"{estimate.weighting.description(counted_noun(estimate.campaign))}. The tests of association use "
            )
            parts += [tag("p", f"{words}no weights."), *weights_tables(estimate.weighting)]
    return parts


def _anchor(estimate: FormEstimate) -> str:
    return "table-" + "-".join(estimate.questions)

"""The part of a form's page that compares the classes of people: shares, differences and associations.

The class of a person is public, so each class is a separate survey. ``form_page`` makes the page of all people
together.
"""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.estimate.form import NotAsked
from aggregator.estimate.form_result import FormEstimate, estimate_form
from aggregator.estimate.form_sides import FormClasses, form_classes
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.tally import Tally
from aggregator.present.forms import PLACES
from aggregator.present.markup import Html, label_markup, tag
from aggregator.present.page_parts import scrolled
from aggregator.present.shown_changes import interval_in_points, percentage_points
from aggregator.present.shown_shares import interval_text, percent
from protocol.campaign import SignedCampaign


def classes_section(
    signed: SignedCampaign, tally: Tally, questions: Sequence[str], pairs: Sequence[tuple[str, ...]], confidence: float
) -> list[Html]:
    """Return the questions by class with the differences from the first class, and the associations in each class.

    Args:
        tally: the tally of everybody.
        questions: the names of the questions.
        pairs: the pairs of questions that were asked together.
        confidence: confidence level of the intervals.
    Returns:
        The elements; empty if the form has no classes, or the classes have too few devices.
    """
    if not signed.campaign.classes:
        return []
    parts: list[Html] = []
    for name in questions:
        if (comparison := _comparison(signed, tally, (name,), confidence)) is not None:
            parts.append(_question(name, comparison, confidence))
    tests = [
        (names, comparison)
        for names in pairs
        if (comparison := _comparison(signed, tally, names, confidence)) is not None
    ]
    if tests:
        parts.append(_associations(signed.campaign.classes, tests))
    if not parts:
        return []
    words = (
        "The class of a person is public. Each class is estimated from its own reports, without weights. A difference "
        f"in bold is significant: its simultaneous {100 * confidence:.4g}% interval, for all differences of the "
        "question, does not contain zero. Differences are computed from the unbiased estimates, which may be below "
        "zero. The shares beside a difference are consistent shares, so the difference of the two shares may be "
        "another number."
    )
    return [tag("p", words), *parts]


def _comparison(signed: SignedCampaign, tally: Tally, names: tuple[str, ...], confidence: float) -> FormClasses | None:
    def ask(restricted: SignedCampaign, part: Tally, class_name: str) -> FormEstimate:
        return estimate_form(restricted, part, names, confidence=confidence, class_name=class_name)

    try:
        return form_classes(signed, tally, ask)
    except (NotAsked, NotEnough):
        return None


def _question(name: str, comparison: FormClasses, confidence: float) -> Html:
    first, _ = comparison.sides[0]
    differences = [f"{difference.names[1]} minus {first}" for difference in comparison.differences]
    rows = []
    for x, (value,) in enumerate(comparison.sides[0][1].labels):
        cells = []
        for shares in (estimate.shares for _, estimate in comparison.sides):
            interval = tag("small", interval_text(shares.low[x], shares.high[x], PLACES))
            cells.append(tag("td", percent(float(shares.share[x]), PLACES), interval))
        for difference in comparison.differences:
            text = percentage_points(difference.raw[x], PLACES)
            interval = tag("small", interval_in_points(difference.low[x], difference.high[x], PLACES))
            cells.append(tag("td", tag("strong", text) if x in difference.significant else text, interval))
        rows.append(tag("tr", tag("th", label_markup(value), scope="row", dir="auto"), *cells))
    reports = ", ".join(f"{estimate.counted} of {side}" for side, estimate in comparison.sides)
    caption = f"{name}: {reports}; {100 * confidence:.4g}% intervals, differences in percentage points"
    heads = ["value", *(side for side, _ in comparison.sides), *differences]
    return scrolled(caption, heads, rows, class_="numbers heat")


def _associations(classes: Sequence[str], tests: Sequence[tuple[tuple[str, ...], FormClasses]]) -> Html:
    rows = []
    for names, comparison in tests:
        known = dict(comparison.sides)
        cells = []
        for name in classes:
            test = known[name].association if name in known else None
            words = "-" if test is None else f"{'yes' if test.significant else 'not found'} (p = {test.p_value:.3g})"
            cells.append(tag("td", words))
        rows.append(tag("tr", tag("th", " and ".join(names), scope="row", dir="auto"), *cells))
    return scrolled("Which questions are associated within each class", ("questions", *classes), rows)

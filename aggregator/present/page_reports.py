"""The sections of an estimate's page on the campaign, and on refused and forged reports.

``page`` assembles the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from aggregator.campaign_facts import counted_noun, estimated_noun
from aggregator.estimate.result import Estimate
from aggregator.present.items import numbering
from aggregator.present.listing import ADVICE
from aggregator.present.markup import Html, tag
from aggregator.present.page_parts import definition_list, page_table
from aggregator.quantity import quantity, upper_bound
from aggregator.utc import day_text, minute_text
from protocol.campaign import Campaign
from protocol.domain import MICRODEGREES, Dates, Domain, Form, Grid, Items, Line

REFUSED = {
    "malformed": "not a report, or too damaged to be read as one",
    "unknown-campaign": "for a campaign that is not in this study",
    "unknown-key": "signed with a key that is not registered",
    "revoked-key": "signed with a key that is revoked for their period",
    "bad-signature": "with a signature that does not verify",
    "early": "for a period later than the next one",
    "late": "for a period after the campaign's last, or after its early closing",
    "over-quota": "more answers than a device may give in a period",
    "bad-output": "with an output that no honest device can make",
    "replayed": "for a slot whose report was counted before",
}
"""A description of each reason for a refusal."""


def refused_section(refused: Mapping[str, int]) -> list[Html]:
    """Return the section with a table of the refused reports by reason."""
    counted = {name: count for name, count in refused.items() if count}
    if not counted:
        return [tag("p", "None: no report for this campaign was refused.")]
    rows = [
        (name, f"{count:,}", REFUSED.get(name, name) + (f" (remedy: {ADVICE[name]})" if name in ADVICE else ""))
        for name, count in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
    return [
        tag("p", f"Refused: {sum(counted.values()):,}. Each is listed under the first check that it failed."),
        page_table("Refused reports by reason", ("reason", "reports", "explanation"), rows),
    ]


def forged_section(estimate: Estimate) -> list[Html]:
    """Return the section with a table of the largest effect of forged reports."""
    weight = estimate.influence.people_per_report
    if math.isnan(weight):
        return [tag("p", "Not known, because the shares of single values have no unbiased estimate.")]
    noun = estimated_noun(estimate.campaign)
    outputs = estimate.campaign.answers_per_period
    bundled = "" if outputs == 1 else f"A report may have up to {outputs:,} perturbed answers, its outputs. "
    rows = [
        (f"{forged['reports']:,}", upper_bound(forged["people"], 1), upper_bound(100 * forged["share"], 3))
        for forged in estimate.influence.as_json()["forged"]
    ]
    return [
        tag("p", f"{bundled}A forged {noun}, from somebody with a valid key, changes the unbiased estimate of a value "
        f"by at most {upper_bound(weight, 1)} people."),
        page_table("In the worst case",
            (f"forged {noun}s", "change of a count, in people", "change of a share, in percentage points"), rows),
        tag("p", "If the counts are unlikely to come from honest devices alone, there is a warning at the top of "
        "this page. No report is removed for that reason."),
    ]  # fmt: skip


def campaign_section(
    campaign: Campaign, reports: int, period: int | None, closed_early: int | None, class_name: str | None = None
) -> list[Html]:
    """Return the section with a list of the campaign's settings.

    Args:
        reports: the number of counted reports.
        period: the period; None for each device's latest period, with transcripts for all periods.
        closed_early: the time of an early closing, UTC seconds; None if the campaign was not closed early.
        class_name: the class of people; None for everybody.
    """
    answers = "one answer" if campaign.answers_per_period == 1 else f"{campaign.answers_per_period:,} answers"
    per_device = f"{answers} per device"
    ends = campaign.closes if closed_early is None else closed_early
    closes, periods = time_text(ends), campaign.periods_until(ends)
    if closed_early is not None:
        closes += f", closed early by its author (planned: {time_text(campaign.closes)})"
    if campaign.periods == 1:
        schedule, counted = f"one, with {per_device}", "all answers"
    else:
        schedule = f"{periods:,} of {length_text(campaign.period_seconds)} each, with {per_device} and period"
        counted = f"{'all reports' if campaign.transcript else 'the latest period'} of each device"
    if period is not None:
        start = campaign.opens + period * campaign.period_seconds
        end = min(start + campaign.period_seconds, campaign.closes)
        counted = f"period {period}, from {time_text(start)} to {time_text(end)}"
    of_class = "" if class_name is None else f", of the class {class_name}"
    bits = quantity(campaign.output_bits, "bit")
    participants = (
        "devices whose keys were registered" if campaign.enrolment == "enrolled" else "any device (open enrolment)"
    )
    return [
        definition_list([
            ("asked by", campaign.organisation),
            ("opens", time_text(campaign.opens)),
            ("closes", closes),
            ("periods", schedule),
            ("counted", f"{quantity(reports, estimated_noun(campaign))}: {counted}{of_class}"),
            ("open to", participants),
            ("minimum", f"{quantity(campaign.minimum_devices, 'device')}; with fewer, nothing is estimated"),
            ("answers", _answers(campaign.domain)),
            ("mechanism", f"{campaign.mechanism}, {bits} per {counted_noun(campaign)}"),
        ])
    ]  # fmt: skip


def _answers(domain: Domain) -> str:
    if isinstance(domain, Grid):
        return (
            f"a place on a map of {domain.rows:,} by {domain.columns:,} cells, {domain.step / MICRODEGREES:.9g}° a "
            "side; a cell is named by the latitude and the longitude of its middle"
        )
    if isinstance(domain, Line):
        noun = "day" if isinstance(domain, Dates) else "number"
        return f"a {noun} from {domain.range_text}, rounded to one of {domain.size:,} {noun}s"
    if isinstance(domain, Items):
        items = ", ".join(filter(None, (quantity(domain.item_count, "item"), numbering(domain))))
        return (
            f"any of {items}; each device fills its set up to {quantity(domain.padding, 'item')} with dummies, and "
            "reports one item of it, chosen at random"
        )
    if isinstance(domain, Form):
        return f"a form of {len(domain.questions)} questions; each device is asked one or two"
    return f"one of {domain.size:,} values"


def time_text(seconds: int) -> str:
    """Return a time in UTC as text."""
    return f"{minute_text(seconds)} UTC" if seconds % 86_400 else day_text(seconds)


def length_text(seconds: int) -> str:
    """Return a duration as text, in the largest unit that divides it."""
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds % length == 0:
            return f"{quantity(seconds // length, unit)}"
    return quantity(seconds, "second")

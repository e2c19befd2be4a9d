"""The page of an estimate: one self-contained HTML file.

The page has the question, the numbers with their errors, the privacy promise, the refused reports, and a digest of the
inputs. It loads no other file, runs no script and has no time of creation. So as long as the study does not change, the
same command gives the same bytes.

``page_numbers``, ``page_comparison``, ``page_method``, ``page_promise`` and ``page_reports`` make the sections.
``markup`` escapes texts, and ``document`` writes files with every value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from aggregator.author.audit import Audit
from aggregator.campaign_facts import counted_noun
from aggregator.estimate.ordered import summary_statistics
from aggregator.estimate.ordered_campaign import has_summary, is_wave
from aggregator.estimate.ordered_comparison import OrderedComparison
from aggregator.estimate.ordered_result import OrderedStatistics
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.result import Estimate
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.estimate.transcript import TranscriptTally
from aggregator.estimate.trend import Trend
from aggregator.families.decoder import Floats
from aggregator.present.markup import Html, html_document, source_hash, tag
from aggregator.present.page_comparison import ordered_comparison_section, trend_section
from aggregator.present.page_method import method_section
from aggregator.present.page_numbers import coverage_sentence, numbers_section, results_section, values_section
from aggregator.present.page_parts import definition_list, warning_boxes
from aggregator.present.page_promise import promise_section
from aggregator.present.page_reports import campaign_section, forged_section, refused_section
from aggregator.present.shown_shares import subtitle
from protocol.campaign import Campaign
from protocol.domain import Form

STYLE = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")


POLICY = f"default-src 'none'; img-src data:; style-src {source_hash(STYLE)}"
"""The page's content security policy: it may load only its own style and embedded pictures."""


DIGEST_KEYS = (
    ("campaign", "its id"),
    ("counts", "of each output or bit, or of each transcript (the sequence of a device's outputs)"),
    ("reports", "the number of counted outputs; with transcripts, of devices"),
    ("views", "in a campaign with several views: counts and reports of each view, in place of the two above"),
    ("period", "its number; null for each device's latest period, or with transcripts for all periods"),
    ("rejected", "the number of refused envelopes for each reason that occurred"),
    ("class", "its name, if one is chosen"),
    ("groups", "the counts by group of devices, if devices have several outputs"),
    ("declared", "the levels and priors that people declared, if they may"),
    ("transcripts", "in a campaign with transcripts: each transcript"),
    ("lost", "in a campaign with transcripts: the number of reports that cannot be decoded"),
)
"""The keys of the JSON text of ``digest``, in words."""


def page(
    estimate: Estimate,
    audit: Audit,
    tally: Tally,
    *,
    period: int | None = None,
    truth: Floats | None = None,
    ordered: OrderedStatistics | None = None,
    comparison: Trend | OrderedComparison | None = None,
    closed_early: int | None = None,
) -> str:
    """Return the page of an estimate.

    Args:
        audit: the audit of the estimate's campaign.
        tally: the counts that were estimated.
        period: the period; None for each device's latest period.
        truth: (k,) the true shares to show beside the estimate, in rehearsals.
        ordered: quantiles and ranges to show instead of the default ones, with the distribution function to draw.
        comparison: changes between periods or differences between classes, shown in a section of their own; None for no
            such section.
        closed_early: the time of an early closing, UTC seconds; None if the campaign was not closed early.
    Raises:
        ValueError: estimate, audit and tally are not of the same campaign and reports.
    """
    if audit.campaign != estimate.campaign or tally.reports != estimate.reports:
        raise ValueError("estimate, audit and tally differ: expected the same campaign and reports")
    campaign, weighting = estimate.campaign, estimate.weighting
    statistics = ordered or (summary_statistics(tally, estimate) if has_summary(campaign) else None)
    boxes = _warnings(estimate, truth, statistics)
    if statistics is not None and not statistics.known:
        statistics = None
    sections = [
        ("results", "Results", results_section(estimate, truth, statistics)),
        ("values", "Numbers", _numbers(estimate, truth, statistics)),
        *([] if comparison is None else [_comparison(comparison)]),
        ("method", "How the numbers were made", method_section(estimate, _with_values(estimate, statistics))),
        ("promise", "What people were promised", promise_section(audit)),
        ("refused", "Refused reports", refused_section(estimate.refused)),
        ("forged", "What forged reports could do", forged_section(estimate)),
        (
            "campaign",
            "The campaign",
            campaign_section(campaign, estimate.reports, period, closed_early, estimate.class_name),
        ),
        (
            "source",
            "Where this page comes from",
            source_section(
                estimate.campaign_id, f"{estimate.method}, ", estimate.confidence, tally, period, estimate.class_name
            ),
        ),
    ]
    facts = [
        subtitle(estimate, estimate.size),
        *([f"Only people of the class {estimate.class_name}."] if estimate.class_name is not None else []),
        *([] if weighting is None else [f"The shares are {weighting.description(counted_noun(campaign))}."]),
    ]
    return html_page(campaign, facts, boxes, sections)


def _numbers(estimate: Estimate, truth: Floats | None, statistics: OrderedStatistics | None) -> list[Html]:
    """Return the tables of quantiles and ranges, and of single values if their shares are estimated."""
    ranges = [] if statistics is None or not (statistics.bins or statistics.cdf) else numbers_section(statistics, truth)
    return [*ranges, *(values_section(estimate, truth) if _with_values(estimate, statistics) else [])]


def _with_values(estimate: Estimate, statistics: OrderedStatistics | None) -> bool:
    """Return whether the page has the table of single values. For the wave mechanism, the table of ranges takes its
    place."""
    return statistics is None or not (statistics.bins or statistics.cdf) or not is_wave(estimate.campaign)


def _comparison(comparison: Trend | OrderedComparison) -> tuple[str, str, list[Html]]:
    """Return the section on changes between periods or differences between classes: anchor, title and parts."""
    if isinstance(comparison, Trend):
        return "comparison", "Over the periods", trend_section(comparison)
    title = "By class" if comparison.by == "class" else "Over the periods"
    return "comparison", title, ordered_comparison_section(comparison)


def html_page(
    campaign: Campaign, facts: Sequence[str], boxes: Sequence[Html], sections: Sequence[tuple[str, str, Sequence[Html]]]
) -> str:
    """Return a complete HTML page.

    Args:
        facts: the sentences of the header about the reports.
        boxes: the elements before the sections.
        sections: the anchor, title and parts of each section.
    """
    question = tag("blockquote", tag("p", campaign.question, class_="text", dir="auto"))
    body = [
        tag(
            "header",
            tag("p", campaign.organisation, class_="soft", dir="auto"),
            tag("h1", campaign.title, dir="auto"),
            *([] if isinstance(campaign.domain, Form) else [question]),
            *([tag("p", campaign.purpose, class_="text", dir="auto")] if campaign.purpose.strip() else []),
            *(tag("p", fact, dir="auto") for fact in facts),
        ),
        *boxes,
        tag("nav", *(tag("a", title, href=f"#{name}") for name, title, _ in sections), aria_label="On this page"),
        tag(
            "main",
            *(
                tag("section", tag("h2", title, id=f"{name}-title"), *parts, id=name, aria_labelledby=f"{name}-title")
                for name, title, parts in sections
            ),
        ),
    ]
    policy = tag("meta", http_equiv="Content-Security-Policy", content=POLICY)
    return html_document(f"{campaign.title} · {campaign.organisation}", tag("body", *body), STYLE, policy)


def digest(tally: Tally, campaign_id: bytes, period: int | None, class_name: str | None = None) -> str:
    """Return the SHA-256 in hex of the counts from which an estimate is computed.

    It is the digest of a JSON text in ASCII with sorted keys and no blanks: {"campaign": id in hex, "counts": [...],
    "period": p or null, "rejected": {reason: count above zero}, "reports": n}, where "rejected" contains the refused
    envelopes. The counts are those of the tally's features. In a campaign with several views, "views" takes the place
    of "counts" and "reports": a list with an object of these two for each view.

    Where applicable, the text also has

        "class"        the name of the class
        "declared"     [[level, weight, ...], ...], the declared priors
        "transcripts"  [[output or -1, ...], ...], each with one entry for each period; -1 is a period without a report
        "lost"         the number of reports that cannot be decoded, beside "transcripts"

    If a device has several outputs, so that the error is computed from groups of devices, then beside "counts", for
    each view with such a device:

        "groups"       {"counts": [[group, feature, count], ...], "devices": number, "most": most outputs of one
                       device, "reports": [outputs of each group]}

    A section about changes between periods has counts of its own, which the digest does not cover.
    """
    inputs: dict[str, Any] = {
        "campaign": campaign_id.hex(),
        "period": period,
        "rejected": {name: count for name, count in tally.refused.items() if count},
    }
    inputs |= {"views": [_counts(part) for part in tally.by_view]} if isinstance(tally, ViewsTally) else _counts(tally)
    if isinstance(tally, PersonalTally):
        inputs["declared"] = tally.declared.tolist()
    if isinstance(tally, TranscriptTally):
        inputs |= {"transcripts": tally.chains.tolist(), "lost": tally.lost}
    if class_name is not None:
        inputs["class"] = class_name
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


def _counts(tally: Tally) -> dict[str, Any]:
    """Return the counts of a tally without views, as objects of JSON."""
    counts = {"counts": tally.counts.tolist(), "reports": tally.reports}
    if (groups := tally.correlated) is not None:
        rows = np.stack([groups.group, groups.feature, groups.count], axis=1)
        counts["groups"] = {
            "counts": rows.tolist(),
            "devices": groups.devices,
            "most": groups.max_outputs,
            "reports": groups.reports.tolist(),
        }
    return counts


def _warnings(estimate: Estimate, truth: Floats | None, statistics: OrderedStatistics | None) -> list[Html]:
    boxes = warning_boxes(estimate.warnings if statistics is None else statistics.warnings)
    if truth is not None:
        words = "This is a rehearsal with simulated reports: the true shares are known and shown beside the estimate."
        if statistics is None:
            words += f" {coverage_sentence(estimate, truth)}"
        boxes.append(tag("p", words, class_="warning"))
    return boxes


def source_section(
    campaign_id: bytes, method: str, confidence: float, tally: Tally, period: int | None, class_name: str | None = None
) -> list[Html]:
    """Return the section with the digest of the input.

    Args:
        method: the name of the method followed by a comma; empty if the campaign supports only one method.
    """
    rows: list[tuple[str, str]] = [
        ("campaign", tag("code", campaign_id.hex()) if campaign_id else "not signed"),
        ("table version", "none" if tally.version is None else str(tally.version)),
        ("method, confidence", f"{method}{100 * confidence:.4g}%"),
        ("inputs, SHA-256", tag("code", digest(tally, campaign_id, period, class_name))),
    ]
    return [
        definition_list(rows),
        tag("p", "Made by halftruth from verified reports. As long as the study and the version of halftruth do not "
        "change, the same command gives the same page, byte for byte. The SHA-256 is that of a JSON text with sorted "
        "keys and no blanks. It does not cover changes between periods, which have counts of their own. The keys are:",
            class_="soft"),
        definition_list(DIGEST_KEYS),
    ]  # fmt: skip

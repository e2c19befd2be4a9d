"""Short tables of a command's result: audits, ingests, status, batches and check-ups.

Scripts use ``as_json`` of the same objects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from aggregator.campaign_facts import counted_noun, study_facts, view_facts, view_name
from aggregator.inspection import BatchFile
from aggregator.present.items import numbering
from aggregator.quantity import quantity, upper_bound
from aggregator.utc import day_text
from protocol import exact
from protocol.campaign import Campaign
from protocol.domain import Domain, Form, Items, Line
from protocol.notions import Certificate, Classes, Lip, Notion, Promise
from protocol.notions.information import RADIUS_UNITS
from protocol.views import Identity, View, is_plain

if TYPE_CHECKING:  # a table must not load the libraries that compute the other kinds of objects
    from aggregator.anonymity import Release
    from aggregator.author.audit import Audit
    from aggregator.doctor import CheckResult
    from aggregator.intake.ingest import IngestResult
    from aggregator.status import CampaignStatus

ADVICE = {
    "unknown-campaign": "import the campaign of these reports, and ingest again",
    "unknown-key": "if these devices belong to the campaign, register their keys with halftruth enrol, and ingest "
    "again",
    "early": "the period of these reports has not begun: check the clocks, or ingest again later",
}
"""Advice for the analyst, by the reason of a refusal."""

GLOSSARY = "docs/GLOSSARY.md explains the words of this table."
"""The caption of a table with privacy levels."""

MAX_LISTED_VALUES = 16
"""Maximum number of values that are listed individually."""


def certificate_table(campaign: Campaign) -> Table:
    """Return a table of a campaign's study information and its certificate."""
    return _pairs(_certified(campaign), GLOSSARY)


def _certified(campaign: Campaign) -> list[tuple[str, str]]:
    certificate = campaign.certificate
    bits = quantity(campaign.output_bits, "bit")
    return [
        ("campaign", campaign.title),
        *_study(campaign),
        ("mechanism", f"{campaign.mechanism}, {_inputs(campaign)}, {bits} per {counted_noun(campaign)}"),
        *_rounding(campaign),
        *_views(campaign),
        ("notion", campaign.notion.name),
        ("declared", exact.in_nats(certificate.declared_level)),
        ("audited", f"{exact.in_nats(certificate.audited_level)}, from the channel's integers"),
        ("plain LDP", "no bound" if certificate.ldp_level is None else exact.in_nats(certificate.ldp_level)),
        *_ball(campaign.notion, certificate),
        *_promises(campaign),
        (
            "worst case",
            f"{exact.in_nats(campaign.worst_case)} over the whole campaign, {quantity(campaign.max_draws, 'draw')}",
        ),
    ]


def audit_table(audit: Audit) -> Table:
    """Return a table of an audit: the certificate, the expected errors, and the levels under other notions."""
    campaign = audit.campaign
    rows = _certified(campaign)
    if audit.people_per_report is None:
        rows.append(("error", "single shares have no unbiased estimate, and so no intervals"))
    else:
        outputs = campaign.answers_per_period
        several = "" if outputs == 1 else f"; a report may have up to {outputs:,} outputs"
        counts_for = f"counts for at most {upper_bound(audit.people_per_report, 1)} people{several}"
        rows.append((f"one {counted_noun(campaign)}", counts_for))
        rows += _errors(audit)
    if audit.mse is not None and audit.mse_bound is not None:
        rows.append(
            ("LIP error", f"{audit.mse:.5f} per person under the prior; no mechanism is below {audit.mse_bound:.5f}")
        )
    return _pairs(rows + _other_levels(audit), GLOSSARY)


def _study(campaign: Campaign) -> list[tuple[str, str]]:
    """Return rows with the facts about the study that devices show to a person."""
    facts = {name: ", ".join(fact) if isinstance(fact, list) else fact for name, fact in study_facts(campaign).items()}
    return [(name, fact) for name, fact in facts.items() if fact]


def _inputs(campaign: Campaign) -> str:
    domain = campaign.domain
    if isinstance(domain, Items):
        items = ", ".join(filter(None, (quantity(domain.item_count, "item"), numbering(domain))))
        padding = quantity(domain.padding, "item")
        return f"{items}; a set is filled up to {padding} with dummies, and one item of it is reported"
    if isinstance(domain, Form):
        return f"a form of {len(domain.questions)} questions"
    in_classes = f" in each of {len(campaign.classes):,} classes" if campaign.classes else ""
    return f"{domain.size:,} values{in_classes}"


def _views(campaign: Campaign) -> list[tuple[str, str]]:
    """Return a row for each view if there are several; the key of a device determines its view."""
    return [
        (
            f"view {place}",
            f"{view['share']:.1%} of the devices: {view['view']}, family {view['family']}, audited "
            + exact.in_nats(round(view["audited"] * exact.NANONATS)),
        )
        for place, view in enumerate(view_facts(campaign), 1)
    ]


def _rounding(campaign: Campaign) -> list[tuple[str, str]]:
    """Return the row that states to which numbers answers are randomly rounded; empty without such rounding, or for
    many numbers."""
    domain = campaign.domain
    if not isinstance(domain, Line) or not domain.rounds_randomly or domain.size > MAX_LISTED_VALUES:
        return []
    *others, last = map(domain.label, range(domain.size))
    words = f"each device rounds its number at random to {', '.join(others)} or {last}; the mean stays unbiased"
    return [("rounding", words)]


def _errors(audit: Audit) -> list[tuple[str, str]]:
    """Return rows with the expected error of n outputs; one for each view if there are several."""
    campaign, noun = audit.campaign, counted_noun(audit.campaign)
    if is_plain(campaign.views):
        return [
            (
                "error",
                f"{audit.raw_mse:.4g} / n: the expected squared error of n {noun}s, summed over the "
                f"{_summed(campaign)}",
            )
        ]
    from aggregator.estimate.error import view_errors  # imported here because `status` does not need it

    return [
        (
            "error" if not place else "",
            f"{view_error.mse:.4g} / n: the expected squared error, summed over {_of_view(campaign.domain, view)}, "
            f"from this view's part of n {noun}s",
        )
        for place, (view, view_error) in enumerate(zip(campaign.views, view_errors(campaign), strict=True))
    ]


def _of_view(domain: Domain, view: View) -> str:
    return f"{view.map.input_count(domain):,} values" if isinstance(view.map, Identity) else view_name(domain, view)


def _summed(campaign: Campaign) -> str:
    return "shares of people who have each item" if isinstance(campaign.domain, Items) else "values"


LEVEL_NAMES = {
    "lip": "LIP, {prior}",
    "lip-ball": "LIP, every prior within {radius:g} of the {prior}",
    "mutual-information": "mutual information, {prior}",
    "maximal-leakage": "maximal leakage",
    "differential-identifiability": "differential identifiability, {prior}",
    "geo": "geo-indistinguishability, per unit of distance ({metric})",
    "pufferfish": "Pufferfish",
}
"""The printed name of each level; plain LDP has its own row."""


def levels_of(audit: Audit) -> dict[str, tuple[str, str]]:
    """Return the printed name and level of each notion except plain LDP; empty if no levels were computed."""
    table, request = audit.table, audit.request
    if table is None or request is None:
        return {}
    words = {
        "prior": f"{audit.prior} prior",
        "radius": float(request.radius or 0),
        "metric": request.metric.name if request.metric else "",
    }
    levels = {}
    for name, title in LEVEL_NAMES.items():
        if name in table.levels:
            nats = table.levels[name].nats
            text = "no bound" if nats is None else exact.in_nats(round(nats * exact.NANONATS))
            levels[name] = title.format(**words), text
    return levels


def _other_levels(audit: Audit) -> list[tuple[str, str]]:
    """Return rows with the channel's levels under other notions; empty if the audit computed none."""
    table, request, noun = audit.table, audit.request, counted_noun(audit.campaign)
    if table is None or request is None:
        return []
    rows = [
        (title, f"{text}, {table.mutual_information_bits:.9f} bits" if name == "mutual-information" else text)
        for name, (title, text) in levels_of(audit).items()
    ]
    if table.distinction is not None and request.pufferfish is not None:
        worst, secrets = table.distinction, request.pufferfish.secrets
        scenario = request.pufferfish.scenarios[worst.scenario].name
        rows.append(("", f"{secrets[worst.secret]!r} against {secrets[worst.other]!r}, {scenario}"))
    for row in table.curve:
        deltas = [
            f"{exact.decimal_text(exact.rounded_up(Fraction(delta.float_above), 3))} {name}"
            for name, delta in (("LDP", row.ldp), (f"LIP, {audit.prior} prior", row.lip))
            if delta is not None
        ]
        if deltas:
            rows.append((f"delta at {exact.in_nats(row.epsilon)}", "; ".join(deltas)))
    if table.posterior is not None:
        before, after = (_percent_above(share) for share in table.posterior)
        rows.append(
            (
                f"posterior, {audit.prior} prior",
                f"the most probable answer has probability {before} before one {noun}, and at most {after} after it",
            )
        )
    names = {name: title.partition(",")[0] for name, title in LEVEL_NAMES.items()}
    names["lip-ball"] = "LIP within the radius"
    rows += [(f"{names.get(name, name)}: not computed", reason) for name, reason in table.missing.items()]
    return rows


def _percent_above(share: Fraction) -> str:
    """Return a share in percent, rounded up to a tenth, so that no disclosure is understated."""
    return f"{exact.decimal_text(Fraction(math.ceil(1000 * share), 10))}%"


def release_table(release: Release) -> Table:
    """Return a table with the k-anonymity and l-diversity of a release."""

    def like(cells: Mapping[str, str]) -> str:
        return ", ".join(f"{name} {cell!r}" for name, cell in cells.items())

    count = quantity(release.equivalence_classes, "equivalence class", "equivalence classes")
    rows = [("rows", f"{release.rows:,} in {count}")]
    smallest = f", the size of the equivalence class of {like(release.smallest)}" if release.smallest else ""
    rows.append(("k", f"{release.k:,}{smallest}"))
    if release.l is not None:
        diverse = f", the number of sensitive values in the equivalence class of {like(release.least_diverse)}"
        rows.append(("l", f"{release.l:,}{diverse if release.least_diverse else ''}"))
    return _pairs(rows, GLOSSARY)


def ingest_table(result: IngestResult) -> Table:
    """Return a table of an ingest: the reports read, those accepted, those refused by reason, and the enrolments."""
    rows = [("read", f"{result.read:,}"), ("accepted", f"{result.accepted:,}")]
    for reason, count in result.refused.items():
        advice = f" ({ADVICE[reason]})" if reason in ADVICE else ""
        rows.append((reason, f"{count:,} refused{advice}"))
    if result.enrolments:
        rows.append(("enrolments", f"{result.enrolments:,}"))
    return _pairs(rows)


def status_table(rows: Sequence[CampaignStatus]) -> RenderableType:
    """Return a table of a study's campaigns, with the views of each campaign that has several."""
    table = Table(box=None, pad_edge=False, title_justify="left")
    # Each report with one output is one output, so "outputs" is right for every campaign of the table.
    counted = "outputs" if any(row.noun == "output" for row in rows) else "reports"
    for name in ("campaign", "title", "open for answers"):
        table.add_column(name)
    for name in ("keys", counted, "refused"):
        table.add_column(name, justify="right")
    for row in rows:
        keys = f"{row.keys:,}" + (f" ({_revoked(row.revoked_from)})" if row.revoked else "")
        refused = ", ".join(f"{count:,} {reason}" for reason, count in row.refused.items() if count) or "none"
        dates = f"{day_text(row.opens)} to {day_text(row.closes - 1)}"
        if row.closed_early is not None:
            dates += f", early closing on {day_text(row.closed_early)}"
        reports = f"{row.outputs:,} in {quantity(len(row.periods), 'period')}"
        cells = (row.name, row.title, dates, keys, reports, refused)
        table.add_row(*map(Text, cells))
    return Group(table, *(_views_counted(row) for row in rows if row.views))


def _views_counted(row: CampaignStatus) -> Table:
    """Return a table with the number of devices of each view, beside the expected number."""
    table = Table(box=None, pad_edge=False, title=Text(f"\nViews of {row.name}"), title_justify="left")
    for name in ("view", "devices", "expected"):
        table.add_column(name, justify="right")
    table.add_column("asked for")
    total = sum(view.devices for view in row.views)
    for place, view in enumerate(row.views, 1):
        expected = f"{view.share * total:,.0f} ({view.share:.1%})"
        table.add_row(*map(Text, (f"{place}", f"{view.devices:,}", expected, view.name)))
    return table


def _revoked(periods: Mapping[int, int]) -> str:
    """Return the number of revoked keys and, if keys are revoked only from a later period than 0 on, this period: such
    as "5 revoked", "5 revoked from period 3 on" or "5 revoked: 2 of them from one of periods 3 to 7 on".

    Args:
        periods: for each period, the number of keys that are revoked from it on.
    """
    later = [period for period in periods if period]
    words = f"{sum(periods.values()):,} revoked"
    if not later:
        return words
    span = f"period {later[0]}" if len(later) == 1 else f"one of periods {min(later)} to {max(later)}"
    counted = "" if len(later) == len(periods) else f": {sum(periods[period] for period in later):,} of them"
    return f"{words}{counted} from {span} on"


def batch_table(batch: BatchFile) -> Table:
    """Return a table of the unverified content of a batch."""
    rows = [("bytes", f"{batch.size:,}"), ("keys of reports", f"{batch.keys:,}")]
    names = {"malformed": "malformed", "closing": "closing notices"}
    rows += [(names.get(kind, f"{kind}s"), f"{count:,}") for kind, count in batch.kinds.items()]
    rows += [
        (f"period {period}", f"{quantity(reports, 'report')}, {quantity(outputs, 'output')}, campaign {campaign}")
        for (campaign, period), (reports, outputs) in sorted(batch.reports.items())
    ]
    rows += [(f"reports of {length} bytes", f"{count:,}") for length, count in sorted(batch.lengths.items())]
    return _pairs(rows)


def checkup_table(findings: Iterable[CheckResult]) -> Table:
    return _pairs([(finding.name, finding.text if finding.ok else f"WRONG: {finding.text}") for finding in findings])


def _promises(campaign: Campaign) -> list[tuple[str, str]]:
    """Return rows with the privacy promise in the words that devices show; one for each class."""
    outputs = campaign.answers_per_period
    if not isinstance(campaign.notion, Classes):
        return [("promise", Promise.of(campaign.notion, campaign.certificate, max_outputs=outputs).text())]
    return [
        (f"promise to {name}", Promise.of(campaign.notion, certificate, place, max_outputs=outputs).text())
        for place, (name, certificate) in enumerate(zip(campaign.classes, campaign.certificates, strict=True))
    ]


def _ball(notion: Notion, certificate: Certificate) -> list[tuple[str, str]]:
    """Return the row that describes a declared ball of priors; empty without a ball."""
    if not isinstance(notion, Lip) or certificate.ball_level is None:
        return []
    radius = exact.decimal_text(Fraction(notion.radius, RADIUS_UNITS))
    level = exact.in_nats(certificate.ball_level)
    text = f"{level} for every prior within {radius} of the declared one, in total variation"
    return [("other priors", text)]


def _pairs(rows: Iterable[tuple[str, str]], caption: str | None = None) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, caption=caption, caption_justify="left")
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(Text(name), Text(text))
    return table

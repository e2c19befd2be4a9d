"""Small tables for people: an audit, an ingest, a status, a batch, a check-up.

One idea: each takes the object a command made and says it in the fewest rows; what scripts need is in ``as_json`` of
the same objects.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

from rich.table import Table

from aggregator.audit import Audit
from aggregator.checkup import Finding
from aggregator.inspection import BatchFile
from aggregator.intake.ingest import IngestResult
from aggregator.study import CampaignStatus
from protocol import exact
from protocol.notions import Certificate

PROMISES = {
    "ldp": "no answer makes any report more than {factor} times as likely as another answer does",
    "high-low": "no sensitive answer makes any report more than {factor} times as likely as another answer does",
    "block": "within a block, no answer makes any report more than {factor} times as likely; the block is told",
    "pairwise": "each pair of answers keeps its own level, {factor} times at most where there is one",
    "lip": "no report changes what the prior says of an answer by more than {factor} times either way",
}

ADVICE = {
    "unknown-campaign": "import their campaign, and ingest again",
    "unknown-key": "enrol their keys, and ingest again",
    "early": "their period is still ahead: look at the clocks, or ingest again later",
}
"""What an analyst can do about a reject class."""


def audit_table(audit: Audit) -> Table:
    """What a campaign's integers prove."""
    terms = audit.terms
    certificate, channel = terms.certificate, terms.channel
    rows = [
        ("campaign", terms.title),
        ("mechanism", f"{terms.mechanism}, {channel.inputs} values, {channel.output_bits} bits a report"),
        ("notion", f"{terms.notion.name}: {_promise(terms.notion.name, certificate)}"),
        ("declared", f"{exact.nats(certificate.declared):.9f} nats"),
        ("audited", f"{exact.nats(certificate.audited):.9f} nats, from the channel's integers"),
        ("plain LDP", "none" if certificate.ldp is None else f"{exact.nats(certificate.ldp):.9f} nats"),
        ("worst case", f"{exact.nats(terms.worst_case):g} nats over the whole campaign, {terms.most_draws} draws"),
    ]
    if audit.raw_mse is None:
        rows.append(("error", "this channel has no unbiased estimate: different answers look alike"))
    else:
        rows.append(("one report", f"counts for {audit.people_per_report:.1f} people at most"))
        rows.append(("error", f"{audit.raw_mse:.4g} / n expected squared error, summed over the values"))
    if audit.mse is not None and audit.mse_bound is not None:
        rows.append(
            ("LIP error", f"{audit.mse:.5f} a person under the prior; no mechanism below {audit.mse_bound:.5f}")
        )
    return _pairs(rows)


def ingest_table(result: IngestResult) -> Table:
    """What became of the reports of an ingest."""
    rows = [("read", f"{result.read:,}"), ("accepted", f"{result.accepted:,}")]
    for reject, count in result.rejected.items():
        advice = f" ({ADVICE[reject]})" if reject in ADVICE else ""
        rows.append((reject, f"{count:,} refused{advice}"))
    if result.enrolments:
        rows.append(("enrolments", f"{result.enrolments:,}"))
    return _pairs(rows)


def status_table(rows: Sequence[CampaignStatus]) -> Table:
    """What a study holds, a row a campaign."""
    table = Table(box=None, pad_edge=False, title_justify="left")
    for name in ("campaign", "title", "open", "keys", "reports", "periods", "refused"):
        table.add_column(name, justify="right" if name in ("keys", "reports", "periods", "refused") else "left")
    for row in rows:
        keys = f"{row.keys:,}" + (f" ({row.revoked:,} revoked)" if row.revoked else "")
        refused = ", ".join(f"{count:,} {reject}" for reject, count in row.rejected.items() if count) or "none"
        dates = f"{_day(row.opens)} to {_day(row.closes)}"
        table.add_row(row.name, row.title, dates, keys, f"{row.reports:,}", str(len(row.periods)), refused)
    return table


def batch_table(batch: BatchFile) -> Table:
    """What a batch claims to hold."""
    rows = [("bytes", f"{batch.size:,}"), ("keys", f"{batch.keys:,}")]
    rows += [(kind, f"{count:,}") for kind, count in batch.kinds.items()]
    rows += [
        (f"period {period}", f"{reports:,} reports, {outputs:,} outputs, campaign {campaign}")
        for (campaign, period), (reports, outputs) in sorted(batch.reports.items())
    ]
    rows += [(f"{length} bytes", f"{count:,} reports") for length, count in sorted(batch.lengths.items())]
    return _pairs(rows)


def checkup_table(findings: Iterable[Finding]) -> Table:
    """The findings of a check-up."""
    return _pairs([(found.name, found.text if found.ok else f"WRONG: {found.text}") for found in findings])


def _promise(notion: str, certificate: Certificate) -> str:
    factor = exact.exp_lower(certificate.declared) / (1 << exact.EXP_BITS)
    return PROMISES[notion].format(factor=f"{factor:.3g}")


def _pairs(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, text)
    return table


def _day(seconds: int) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()

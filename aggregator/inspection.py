"""What is in a file: a campaign, a batch, a key.

One idea: looking needs no trust. Nothing here verifies, and every line says what the bytes claim.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from protocol import envelope
from protocol.campaign import Campaign, campaign_id, unverified_campaign
from protocol.envelope import Envelope, Kind
from protocol.errors import BadData
from protocol.report import Report


@dataclass(frozen=True)
class CampaignFile:
    """A signed campaign: what it claims, its id, its author's key id, and its length."""

    terms: Campaign
    id: bytes
    author: bytes
    size: int


@dataclass(frozen=True)
class BatchFile:
    """A batch.

    Attributes:
        size: bytes.
        kinds: envelopes by kind; "malformed" counts the runs of bytes that are none.
        reports: by campaign id, period: number of reports and of outputs.
        keys: number of different key ids among the reports.
        lengths: bytes of a report's envelope: how many have each length.
    """

    size: int
    kinds: dict[str, int]
    reports: dict[tuple[str, int], tuple[int, int]]
    keys: int
    lengths: dict[int, int]

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {
            "bytes": self.size,
            "envelopes": self.kinds,
            "reports": [
                {"campaign": campaign, "period": period, "reports": reports, "outputs": outputs}
                for (campaign, period), (reports, outputs) in sorted(self.reports.items())
            ],
            "keys": self.keys,
            "report_bytes": {str(length): count for length, count in sorted(self.lengths.items())},
        }


def look_into(data: bytes) -> CampaignFile | BatchFile:
    """What the bytes of a file claim to be.

    Raises:
        BadData: neither a campaign nor a batch with a single envelope in it.
    """
    if not data:
        raise BadData("the file is empty")
    start = envelope.find_envelope(data, 0)
    if start == len(data):
        raise BadData("the file holds no envelope: it is neither a campaign nor a batch")
    first, end = envelope.decode_first(data, start)
    if first.kind is Kind.CAMPAIGN and (start, end) == (0, len(data)):
        return CampaignFile(unverified_campaign(data), campaign_id(data), first.key_id, len(data))
    return _batch(data)


def _batch(data: bytes) -> BatchFile:
    kinds: Counter[str] = Counter()
    reports: dict[tuple[str, int], tuple[int, int]] = {}
    lengths: Counter[int] = Counter()
    keys = set()
    for item in envelope.read_batch(data):
        if not isinstance(item, Envelope):
            kinds["malformed"] += 1
            continue
        kinds[item.kind.name.lower()] += 1
        if item.kind is not Kind.REPORT:
            continue
        keys.add(item.key_id)
        lengths[len(item.encode())] += 1
        try:
            report = Report.decode(item.unverified)
        except BadData:
            kinds["malformed"] += 1
            kinds["report"] -= 1
            continue
        place = (report.campaign_id.hex(), report.period)
        count, outputs = reports.get(place, (0, 0))
        reports[place] = count + 1, outputs + report.count
    return BatchFile(len(data), dict(kinds), reports, len(keys), dict(lengths))

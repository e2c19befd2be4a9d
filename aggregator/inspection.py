"""The content of a file: a campaign, a closing notice or a batch.

No signature is verified here, so every line is only a claim of the file.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from protocol import envelope
from protocol.campaign import Campaign, campaign_id, unverified_campaign
from protocol.closing import Closing, unverified_closing
from protocol.envelope import Envelope, Kind
from protocol.errors import BadData
from protocol.report import Report


@dataclass(frozen=True)
class CampaignFile:
    """The unverified content of a signed campaign, with its id, its author's key id, and its size in bytes."""

    campaign: Campaign
    id: bytes
    author_key_id: bytes
    size: int


@dataclass(frozen=True)
class BatchFile:
    """The unverified content of a batch.

    Attributes:
        size: the size of the batch in bytes.
        kinds: envelopes by kind; "malformed" counts runs of bytes that are not envelopes, and reports that cannot be
            decoded.
        reports: numbers of reports and of outputs, by (campaign id, period).
        keys: number of different key ids of all reports, including reports that cannot be decoded.
        lengths: the number of all reports by the size of their envelope in bytes.
    """

    size: int
    kinds: dict[str, int]
    reports: dict[tuple[str, int], tuple[int, int]]
    keys: int
    lengths: dict[int, int]

    def as_json(self) -> dict[str, Any]:
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


@dataclass(frozen=True)
class ClosingFile:
    """The unverified content of a closing notice: the closing, its author's key id, and size in bytes."""

    closing: Closing
    author_key_id: bytes
    size: int


def require_envelope(data: bytes, expected: str = "a campaign, a closing notice or a batch") -> int:
    """Return the offset of the first envelope in a file.

    Args:
        expected: the kinds of files that the command takes, for the error.
    Raises:
        BadData: the file has none.
    """
    if not data:
        raise BadData(f"the file is empty: name {expected}, or copy the file again")
    start = envelope.find_envelope(data, 0)
    if start == len(data):
        raise BadData(
            f"the file has no envelope of halftruth: name {expected}, or copy the file again if it is damaged"
        )
    return start


def read_content(data: bytes) -> CampaignFile | ClosingFile | BatchFile:
    """Return the unverified content of a file.

    Raises:
        BadData: the file is not a campaign, not a closing notice, and not a batch with at least one envelope.
    """
    start = require_envelope(data)
    first, end = envelope.decode_first(data, start)
    if first.kind is Kind.CAMPAIGN and (start, end) == (0, len(data)):
        return CampaignFile(unverified_campaign(data), campaign_id(data), first.key_id, len(data))
    if first.kind is Kind.CLOSING and (start, end) == (0, len(data)):
        return ClosingFile(unverified_closing(data), first.key_id, len(data))
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

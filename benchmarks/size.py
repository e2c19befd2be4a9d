"""The sizes of signed reports on the wire."""

from __future__ import annotations

from collections.abc import Iterator

from aggregator.families.hadamard.recipe import hadamard
from aggregator.reproduce.simulated_people import values
from benchmarks.ingest import US_GRID
from protocol import exact
from protocol.campaign import Campaign, campaign_id, seal_campaign
from protocol.keys import SigningKey
from protocol.notions import Ldp
from protocol.report import Report
from protocol.views import plain_views

LEVEL = exact.NANONATS


def run() -> Iterator[tuple[str, str]]:
    """Yield the sizes of signed reports."""
    key = SigningKey(bytes(range(32)))
    sixteen = values(16)
    for domain, count, target in ((US_GRID, 1, "at most 112"), (sixteen, 1, ""), (sixteen, 64, "at most 4 per output")):
        channel = hadamard(domain.size, LEVEL)
        campaign = Campaign(
            "T", "Q?", "", "O", domain, Ldp(LEVEL), "hadamard", plain_views(channel), 0, 10**9, 10**6, max(count, 1), 1,
            "open",
        )  # fmt: skip
        data = seal_campaign(campaign, key)
        sealed = Report.of(campaign_id(data), campaign, 0, 0, [0] * count).seal(key)
        per_output = f" ({len(sealed) / count:.2f} per output)" if count > 1 else ""
        outputs = "1 output" if count == 1 else f"{count} outputs"
        title = f"signed report of {outputs}, k = {domain.size}"
        yield f"{title}{f' [{target}]' if target else ''}", f"{len(sealed)} bytes{per_output}"

"""What a device hands back: for an answer given or collected, for one not given yet, and what was told so far.

One idea: all are for the person and the app beside them. Levels are exact in nanonats, and in nats for print.

How an answer is given: answering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from protocol import exact

if TYPE_CHECKING:  # loaded with the first campaign
    from edge_sdk.prior import Belief


@dataclass(frozen=True)
class Receipt:
    """What became of an answer. Its repr does not tell what the answer was.

    Attributes:
        campaign_id, period, slot: the place of the output.
        envelope: the signed report that carries it, as it was queued.
        cost_nanonats: what was charged now.
        repeated: whether this very report was queued before, and nothing was now.
    """

    campaign_id: bytes
    period: int
    slot: int
    envelope: bytes
    cost_nanonats: int
    repeated: bool

    @property
    def cost(self) -> float:
        """Nats that were charged now."""
        return exact.nats(self.cost_nanonats)


@dataclass(frozen=True)
class Collected:
    """What became of an answer that waits to be bundled. Its repr does not tell what the answer was.

    Attributes:
        campaign_id, period, slot: the place that its output takes.
        cost_nanonats: what was charged now.
        repeated: whether this very reading was given before, and nothing was now.
    """

    campaign_id: bytes
    period: int
    slot: int
    cost_nanonats: int
    repeated: bool

    @property
    def cost(self) -> float:
        """Nats that were charged now."""
        return exact.nats(self.cost_nanonats)


@dataclass(frozen=True)
class Preview:
    """What would leave, and what it could tell. Computed on the device, for the person alone.

    Attributes:
        report_bytes: length of the report, whatever the answer; the early ones are a few bytes shorter.
        truth: probability that the output is one of those the answer makes likeliest, or, in words of independent bits,
            has the answer's own bit; for the answer the audit found most exposed, where none was given.
        belief: what an observer who knew this person's history could believe.
        cost_nanonats: what would be charged; for a fresh answer, where none was given.
    """

    report_bytes: int
    truth: float
    belief: Belief
    cost_nanonats: int

    @property
    def cost(self) -> float:
        """Nats that would be charged."""
        return exact.nats(self.cost_nanonats)


@dataclass(frozen=True)
class Transcript:
    """What the reports of one device told in a campaign where each is designed for the earlier ones.

    Attributes:
        periods: of the reports, in order.
        nanonats: what they were charged, the bound for an observer who believed the campaign's prior.
        ldp_nanonats: the sum of their LDP levels, the bound for every observer.
    """

    periods: tuple[int, ...]
    nanonats: int
    ldp_nanonats: int

"""The return values of ``Device.answer`` and ``Device.collect``.

Costs in nanonats are exact; costs in nats are floats for display. The module answering makes these results, and
disclosure/preview predicts them.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol import exact


@dataclass(frozen=True)
class Receipt:
    """The result of an answer. Its repr does not reveal the answer.

    Attributes:
        campaign_id: the campaign's id, 16 bytes.
        period: the period of the output.
        slot: the slot of the output in its period; with transcripts, the number of this device's earlier reports.
        envelope: the signed report that carries the output, as queued.
        cost_nanonats: the amount charged now.
        repeated: whether this report was queued before, so that nothing was charged or queued now.
    """

    campaign_id: bytes
    period: int
    slot: int
    envelope: bytes
    cost_nanonats: int
    repeated: bool

    @property
    def cost(self) -> float:
        """Nats charged by this call."""
        return exact.nats(self.cost_nanonats)


@dataclass(frozen=True)
class Collected:
    """The result of an answer that waits to be bundled. Its repr does not reveal the answer.

    Attributes:
        campaign_id: the campaign's id, 16 bytes.
        period: the period of its output.
        slot: the slot of its output in the period.
        cost_nanonats: the amount charged now.
        repeated: whether this answer was given before, so that nothing was charged now.
    """

    campaign_id: bytes
    period: int
    slot: int
    cost_nanonats: int
    repeated: bool

    @property
    def cost(self) -> float:
        """Nats charged by this call."""
        return exact.nats(self.cost_nanonats)

"""The return values of ``Device.answer`` and ``Device.collect``.

Levels are exact in nanonats, and in nats for print. How an answer is given: answering. What one could tell before it is
given: disclosure/preview.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocol import exact


@dataclass(frozen=True)
class Receipt:
    """The result of an answer. Its repr does not reveal the answer.

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
        """Nats charged by this call."""
        return exact.nats(self.cost_nanonats)


@dataclass(frozen=True)
class Collected:
    """The result of an answer that waits to be bundled. Its repr does not reveal the answer.

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
        """Nats charged by this call."""
        return exact.nats(self.cost_nanonats)

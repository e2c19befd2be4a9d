"""Simulated people who all answer in one period."""

from __future__ import annotations

from collections.abc import Iterator

from aggregator.simulation import SimulatedUpload, simulate
from aggregator.truth_file import Truth
from protocol.campaign import Campaign


def population(
    campaign: Campaign, campaign_id: bytes, truth: Truth, period: int, seed: int | None = None, processes: int = 1
) -> Iterator[SimulatedUpload]:
    """Yield the uploads of every person of ``truth`` in one period; see ``simulate``."""
    return simulate(campaign, campaign_id, truth, range(period, period + 1), seed=seed, processes=processes)

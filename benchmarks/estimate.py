"""The time of an estimate: shares, errors, pointwise and simultaneous intervals, and the influence of a forged report.

The tally is drawn from the exact distribution of the outputs, so its counts are distributed like those of real reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from aggregator.estimate.estimator import estimate
from aggregator.families.blocks.recipe import high_low, in_blocks
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from aggregator.reproduce.simulated_people import drawn_tally
from benchmarks.ingest import US_GRID, timed
from protocol.campaign import Campaign
from protocol.channels import Channel
from protocol.exact import NANONATS
from protocol.notions import Block, HighLow, Ldp, Notion
from protocol.views import plain_views

TARGET = 0.2
REPORTS = 3_671_812
BLOCK = 5
ROUNDS = 5


def run() -> Iterator[tuple[str, str]]:
    """Yield the seconds to estimate the 43,750 cells of a grid under three notions."""
    size, columns = US_GRID.size, US_GRID.columns
    blocks = [x // columns // BLOCK * (columns // BLOCK) + x % columns // BLOCK for x in range(size)]
    marked = tuple(range(0, size, 10))
    campaigns: list[tuple[str, Notion, Channel]] = [
        ("plain LDP", Ldp(NANONATS), hadamard(size, NANONATS)),
        (f"blocks of {BLOCK} x {BLOCK}", Block.over(NANONATS, blocks), in_blocks(blocks, NANONATS, hadamard)),
        ("a tenth sensitive", HighLow(NANONATS, size, marked), high_low(size, marked, NANONATS, hadamard)),
    ]
    for name, notion, channel in campaigns:
        task = _question(notion, channel)
        seconds = min(timed(task)[0].wall for _ in range(ROUNDS))
        yield f"estimate of {size:,} values, {name} [below {TARGET} s]", f"{seconds:.3f} s"


def _question(notion: Notion, channel: Channel) -> Callable[[], object]:
    campaign = Campaign(
        "Check-ins", "Where?", "", "Town", US_GRID, notion, "hadamard", plain_views(channel), 0, 86_400, 86_400, 1, 1,
        "open",
    )  # fmt: skip
    people = np.random.default_rng(1).dirichlet(np.full(channel.input_count, 0.1))
    tally = drawn_tally(channel, decoder_of(channel), people, REPORTS, np.random.default_rng(2))
    return lambda: estimate(campaign, tally)

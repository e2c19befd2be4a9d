"""The time of an estimate, from a tally to shares, errors, both kinds of intervals and the influence.

The tally is drawn from the exact distribution of the outputs, so its counts are distributed like those of real reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from aggregator.estimate.estimator import estimate
from aggregator.estimate.tally import Tally
from aggregator.families.blocks.recipe import high_low, in_blocks
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from protocol.campaign import Campaign
from protocol.channels import Channel
from protocol.domain import Grid
from protocol.exact import NANONATS
from protocol.notions import Block, HighLow, Ldp, Notion
from protocol.views import plain_views

US_GRID = Grid(25_000_000, 50_000_000, -130_000_000, -60_000_000, 200_000)
AIM = 0.2
REPORTS = 3_671_812
BLOCK = 5
ROUNDS = 5


def run() -> Iterator[tuple[str, str]]:
    """Yield the seconds to estimate the 43,750 cells of a grid under three notions."""
    size, columns = US_GRID.size, US_GRID.columns
    blocks = [x // columns // BLOCK * (columns // BLOCK) + x % columns // BLOCK for x in range(size)]
    marked = tuple(range(0, size, 10))
    campaigns: list[tuple[str, Notion, Channel]] = [
        ("one block", Ldp(NANONATS), hadamard(size, NANONATS)),
        (f"blocks of {BLOCK} x {BLOCK}", Block.over(NANONATS, blocks), in_blocks(blocks, NANONATS, hadamard)),
        ("a tenth sensitive", HighLow(NANONATS, size, marked), high_low(size, marked, NANONATS, hadamard)),
    ]
    for name, notion, channel in campaigns:
        seconds = _fastest(_question(notion, channel))
        yield f"estimate of {size:,} values, {name} [below {AIM} s]", f"{seconds:.3f} s"


def _question(notion: Notion, channel: Channel) -> Callable[[], object]:
    campaign = Campaign(
        "Check-ins", "Where?", "", "Town", US_GRID, notion, "hadamard", plain_views(channel), 0, 86_400, 86_400, 1, 1,
        "open",
    )  # fmt: skip
    people = np.random.default_rng(1).dirichlet(np.full(channel.inputs, 0.1))
    distribution = decoder_of(channel).forward(people)
    tally = Tally.of(np.random.default_rng(2).multinomial(REPORTS, distribution / distribution.sum()))
    return lambda: estimate(campaign, tally)


def _fastest(task: Callable[[], object]) -> float:
    def once() -> float:
        begun = time.perf_counter()
        task()
        return time.perf_counter() - begun

    return min(once() for _ in range(ROUNDS))

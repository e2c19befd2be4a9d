"""A campaign with estimators of its reports, the paper's distributions, and the number of people needed.

If people are drawn from a distribution, the outputs have one distribution too, so a survey of half a million people is
one multinomial draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from aggregator.estimate import likelihood
from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.distribution import project, total_variation
from aggregator.estimate.linear import unbiased_estimate
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Decoder, Floats, Integers
from aggregator.families.registry import decoder_of
from aggregator.reproduce import simulated_people
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.campaign import Campaign
from protocol.channels import ProjectiveResponse
from protocol.notions import Block, Ldp, Notion

VALUES, EPS = 1000, 1.0
"""The paper's k and epsilon."""

BLOCKS = (10, 20, 50, 100)
"""The paper's numbers of blocks."""

DECAY, EXPONENT = 0.95, 1.0
"""Parameters of the geometric and of the Zipf distribution."""

TV = "total variation from the truth"

METHODS = {
    "clip": "clipped and rescaled",
    "projection": "projected",
    "empirical-bayes": "empirical Bayes",
    "map": "posterior mode, uniform prior",
}
"""The methods that compute a distribution from the unbiased estimates or, for the posterior mode, from the reports."""


LEVELS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)
FEW = (0.5, 1.0, 2.0, 4.0)


def even_blocks(size: int, count: int) -> list[int]:
    """Return the block of each value: neighbouring values in blocks of nearly equal size."""
    return [x * count // size for x in range(size)]


def block_notion(size: int, count: int, eps: float) -> Notion:
    """Return block-structured LDP with ``count`` blocks, or plain LDP for one block."""
    return Block.over(level_of_nats(eps), even_blocks(size, count)) if count > 1 else Ldp(level_of_nats(eps))


@dataclass(frozen=True)
class CampaignReader:
    """A campaign and the estimators of its reports."""

    campaign: Campaign

    @cached_property
    def decoder(self) -> Decoder:
        return decoder_of(self.campaign.channel)

    def drawn(self, distribution: Floats, people: int, generator: np.random.Generator) -> Tally:
        """Return the tally of one simulated report of each of ``people`` people, whose values are drawn from
        ``distribution``."""
        return simulated_people.drawn_tally(self.campaign.channel, self.decoder, distribution, people, generator)

    def tally(self, people: Integers, generator: np.random.Generator) -> Tally:
        """Return the tally of one simulated report of each person, with ``people[x]`` people who have value x.

        For projective response, whose rows are too long, each person's value is drawn with the shares of ``people``.
        """
        if isinstance(self.campaign.channel, ProjectiveResponse):
            return self.drawn(people / people.sum(), int(people.sum()), generator)
        return simulated_people.tally(self.campaign.channel, people, generator)

    def shares(self, tally: Tally, method: str, steps: int = likelihood.MAX_EM_STEPS) -> Floats:
        """Return the distribution that one of ``METHODS`` estimates from a tally."""
        if method == "map":
            even = np.full(self.decoder.input_count, 1 / self.decoder.input_count)
            share = tally.counts / tally.reports
            return likelihood.posterior_mode(self.decoder, share, tally.reports, even, steps=steps).share
        linear = unbiased_estimate(self.decoder, tally)
        if method == "clip":
            clipped: Floats = np.maximum(linear.raw, 0)
            clipped /= clipped.sum()
            return clipped
        return empirical_bayes(linear.raw, linear.se) if method == "empirical-bayes" else project(linear.raw)

    def distance(
        self, tallies: Sequence[Tally], truth: Floats, method: str, steps: int = likelihood.MAX_EM_STEPS
    ) -> float:
        """Return the mean total variation distance between ``truth`` and the estimates from the tallies."""
        return fmean(total_variation(self.shares(tally, method, steps), truth) for tally in tallies)


def distributions(generator: np.random.Generator) -> dict[str, Floats]:
    """Return the four distributions of fig. 2 over ``VALUES``."""
    rank = np.arange(VALUES)
    geometric, zipf = DECAY**rank, 1 / (rank + 1.0) ** EXPONENT
    shapes = {
        f"Geo({DECAY:g})": geometric,
        f"Zipf({EXPONENT:g})": zipf,
        "uniform": np.ones(VALUES),
        f"Geo({DECAY:g})*, permuted": generator.permutation(geometric),
    }
    return {name: weights / weights.sum() for name, weights in shapes.items()}


def people_needed(reader: CampaignReader, distribution: Floats, distance: float) -> float:
    """Return the number of people for which the unbiased estimate, taken as normal, has the expected total variation
    distance ``distance`` from the truth.

    E[TV] = 1/2 sum over x of sqrt(2 v[x] / (pi n)),   v[x]: one report's contribution to the variance of x
    """
    deviations = np.sqrt(np.maximum(reader.decoder.variances(reader.decoder.forward(distribution)), 0))
    return float((deviations.sum() / distance) ** 2 / (2 * math.pi))

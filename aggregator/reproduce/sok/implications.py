"""The paper's implications between notions, on random channels and priors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from aggregator.families.response.recipe import random_sampling
from aggregator.reproduce.experiment import ExperimentResult, Finding, Setting, reason
from aggregator.reproduce.simulated_people import level_of_nats
from protocol import levels
from protocol.channels import Table
from protocol.levels import Pufferfish, Scenario

RELATIONS: Mapping[str, str] = {
    "eps-LDP implies eps-LIP": "lip <= ldp",
    "eps-LIP implies 2 eps-LDP": "ldp <= 2 lip",
    "eps-LIP implies eps-MIP": "mutual-information <= lip",
    "MIP below maximal leakage": "mutual-information <= maximal-leakage",
    "maximal leakage below LDP": "maximal-leakage <= ldp",
}

ROUNDING = 2e-9
"""Differences of levels in nats, and of probabilities, up to this come from rounding."""


def relations(setting: Setting) -> ExperimentResult:
    """Test the paper's implications between notions on random channels and priors."""
    broken = dict.fromkeys(RELATIONS, 0)
    near = dict.fromkeys(RELATIONS, 0.0)
    odds_excess, pufferfish_difference, ball_difference, sampling_difference = 0.0, 0.0, 0.0, 0.0
    for _ in setting.track(range(setting.repeats)):
        size, output_count = (int(n) for n in setting.generator.integers(2, 6, 2))
        rows = (
            setting.generator.dirichlet(np.full(output_count, setting.generator.choice([0.7, 5.0, 50.0])), size) + 1e-4
        )
        table = Table.rounded([[Fraction(cell) / sum(map(Fraction, row)) for cell in row] for row in rows.tolist()])
        prior = tuple((1 + 10**6 * setting.generator.dirichlet(np.ones(size))).astype(int).tolist())
        structure = levels.structure_of(table)
        single = tuple(tuple(int(x == secret) for x in range(size)) for secret in range(size))
        every = Pufferfish(
            tuple(f"v{x}" for x in range(size)),
            tuple((x, y) for x in range(size) for y in range(x)),
            (Scenario("certain", single),),
        )
        level_table = levels.table(structure, levels.LevelsRequest(prior, radius=Fraction(1), pufferfish=every)).levels
        nats = {key: notion_level.nats or 0.0 for key, notion_level in level_table.items()}
        for claim, sides in RELATIONS.items():
            low, high = sides.split(" <= ")
            bound = 2 * nats["lip"] if high == "2 lip" else nats[high]
            broken[claim] += nats[low] > bound + ROUNDING
            near[claim] = max(near[claim], nats[low] / bound)
        spread = math.log(max(prior) / min(prior))
        odds_excess = max(odds_excess, nats["differential-identifiability"] - (nats["ldp"] + spread))
        pufferfish_difference = max(pufferfish_difference, abs(nats["pufferfish"] - nats["ldp"]))
        ball_difference = max(ball_difference, abs(nats["lip-ball"] - nats["ldp"]))
        sampling_difference = max(sampling_difference, _largest_difference(prior))
    findings = (
        *(
            Finding(
                claim,
                f"{sides}: broken by {broken[claim]} of {setting.repeats:,} random channels and priors; the left side "
                f"is at most {near[claim]:.0%} of the right side",
                reason(not broken[claim]),
            )
            for claim, sides in RELATIONS.items()
        ),
        Finding(
            "Pufferfish with a large enough set of priors is context-free",
            f"if every value is a separate secret, its level {_beside_ldp(pufferfish_difference)}",
            reason(pufferfish_difference <= ROUNDING),
        ),
        Finding(
            "LIP bounds what an output adds under the prior",
            f"its largest level over all priors {_beside_ldp(ball_difference)}",
            "the advantage of LIP comes from knowing one prior"
            if ball_difference <= ROUNDING
            else "the levels should be equal, because all priors are within total variation 1 of any prior",
        ),
        Finding(
            "differential identifiability is like LDP, with a prior",
            "its level exceeds the LDP level plus the log odds of the most and the least likely value by at most "
            f"{odds_excess:.0e} nats{', from rounding' if odds_excess <= ROUNDING else ''}. Even if a report reveals "
            "nothing, its level is these log odds",
            "no channel can satisfy a bound below the odds of the prior; LIP measures only what the report adds",
        ),
        Finding(
            "random sampling translates into randomised response",
            "the probabilities of random sampling, and of randomised response with the prior as cover weights, differ "
            f"by at most {sampling_difference:.0e}",
            reason(sampling_difference <= ROUNDING, "; for a uniform prior it is randomised response itself"),
        ),
    )
    failures = [f"{claim}: broken by {number}" for claim, number in broken.items() if number]
    verdict = f"In {setting.repeats:,} random channels " + (
        f"not every implication held. {'; '.join(failures)}."
        if failures
        else "mutual information was never above LIP, LIP never above LDP, and LDP never above twice LIP: a promise "
        "of LDP or LIP bounds the others."
    )
    return ExperimentResult((), findings, verdict)


def _beside_ldp(difference: float) -> str:
    """Return the difference between a level and that of LDP, in nats, as text."""
    return f"differs from that of LDP by up to {difference:.0e} nats" if difference else "equals that of LDP"


def _largest_difference(prior: Sequence[int]) -> float:
    """Return the largest difference between the cells of the random sampling channel and the paper's formula."""
    channel, distribution = random_sampling(prior, level_of_nats(1)), np.array(prior) / sum(prior)
    rows = (
        np.array([[channel.weight(x, y) for y in range(len(distribution))] for x in range(len(distribution))])
        / 2**channel.scale
    )
    reveal = rows[0, 0] - rows[1, 0]
    return float(np.abs(rows - reveal * np.eye(len(distribution)) - (1 - reveal) * distribution).max())

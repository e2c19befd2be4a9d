"""Block-structured LDP, which reveals the block and protects the value inside: fig. 2, and the exact gain of blocks.

The noise of a report affects only the values of the report's block.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from aggregator.estimate.error import expected_mse
from aggregator.families.sets.recipe import subset_error
from aggregator.reproduce import simulated_people
from aggregator.reproduce.context.reader import (
    BLOCKS,
    DECAY,
    EPS,
    FEW,
    LEVELS,
    TV,
    VALUES,
    CampaignReader,
    block_notion,
    distributions,
    people_needed,
)
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, by_level, reason
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.notions import Ldp

PEOPLE = tuple(1000 * 2**i for i in range(10))


class _LastDistances(NamedTuple):
    """The distances with the most people: LDP, the most blocks with Hadamard, and the most blocks with `auto` and
    empirical Bayes."""

    ldp: float
    hadamard: float
    bayes: float


def distances_in_blocks(setting: Setting) -> ExperimentResult:
    """Compute fig. 2: the total variation by number of people, with LDP and with blocks."""
    domain = simulated_people.values(VALUES)
    plain = CampaignReader(simulated_people.campaign(domain, Ldp(level_of_nats(EPS)), "hadamard"))
    inside = {
        m: CampaignReader(simulated_people.campaign(domain, block_notion(VALUES, m, EPS), "hadamard")) for m in BLOCKS
    }
    auto = CampaignReader(simulated_people.campaign(domain, block_notion(VALUES, BLOCKS[-1], EPS), "auto"))
    lines = [
        ("LDP, Hadamard", "ldp", plain, "projection"),
        *((f"{m} blocks, Hadamard", "published", inside[m], "projection") for m in BLOCKS),
        (f"{BLOCKS[-1]} blocks, auto", "optimum", auto, "projection"),
        (f"{BLOCKS[-1]} blocks, auto, empirical Bayes", "ours", auto, "empirical-bayes"),
    ]
    everything = distributions(setting.generator)
    distances: dict[str, list[list[float]]] = {shape: [] for shape in everything}
    for shape, (_, _, reader, method) in setting.track([(shape, line) for shape in everything for line in lines]):
        truth = everything[shape]
        distances[shape].append([
            reader.distance(
                [reader.drawn(truth, people, setting.generator) for _ in range(setting.repeats)], truth, method
            )
            for people in PEOPLE
        ])  # fmt: skip
    plots = tuple(
        Plot(
            shape, "people", TV,
            tuple(Curve(name, PEOPLE, far, role) for (name, role, _, _), far in zip(lines, by_line, strict=True)),
            log_x=True,
        )
        for shape, by_line in distances.items()
    )  # fmt: skip
    ratios = [expected_mse(plain.campaign.channel) / expected_mse(inside[m].campaign.channel) for m in BLOCKS]
    last = {
        shape: _LastDistances(ldp[-1], hadamard[-1], bayes[-1])
        for shape, (ldp, *_, hadamard, _, bayes) in distances.items()
    }
    findings = _findings(distances, last, ratios)
    zipf = last[list(everything)[1]]
    verdict = (
        f"If the block may be known, use notion `block`. With {BLOCKS[-1]} blocks of {VALUES // BLOCKS[-1]} values, 1 "
        f"nat and {PEOPLE[-1]:,} people (Zipf distribution), the distance of the estimate from the truth is "
        f"{zipf.hadamard:.3f}, and under LDP {zipf.ldp:.3f}. With the channel of `auto` and empirical Bayes it is "
        f"{zipf.bayes:.3f}."
    )
    return ExperimentResult(plots, findings, verdict)


def _findings(
    distances: dict[str, list[list[float]]], last: dict[str, _LastDistances], ratios: list[float]
) -> tuple[Finding, ...]:
    """Return the findings of fig. 2.

    Args:
        distances: the distances by distribution, line of the figure, and number of people.
        last: the distances with the most people.
        ratios: the ratio of the errors of LDP and of each number of blocks.
    """
    better, steps, behind = [], [], []
    for ldp, *inside, projected, bayes in distances.values():
        better += [ours < theirs for line in inside for theirs, ours in zip(ldp, line, strict=True)]
        steps += [more < fewer for two in pairwise(inside) for fewer, more in zip(*two, strict=True)]
        behind += [ours - theirs for theirs, ours in zip(projected, bayes, strict=True)]
    farther = [more for more in behind if more > 0]
    geometric, *_, permuted = last.values()
    printed = (1 - DECAY) ** np.arange(VALUES) * DECAY
    return (
        Finding(
            "with blocks, accuracy is consistently better than under LDP",
            f"true at {sum(better)} of {len(better)} points plotted ({len(PEOPLE)} numbers of people, "
            f"{len(BLOCKS)} numbers of blocks, {len(distances)} distributions). Distances with {PEOPLE[-1]:,} people: "
            + "; ".join(
                f"{far.ldp:.3f} under LDP and {far.hadamard:.3f} with {BLOCKS[-1]} blocks ({shape})"
                for shape, far in last.items()
            ),
            reason(all(better)) + ". Reports reveal the blocks, so the two promises are not the same",
        ),
        Finding(
            "the more blocks, the better",
            f"true at {sum(steps)} of {len(steps)} steps from one number of blocks to the next",
            "no difference" if all(steps) else
            "if few people answer, both estimates are as far from the truth as possible, and only chance decides",
        ),
        Finding(
            "equal blocks save a factor of m in the number of people",
            "if people are spread evenly, the exact squared error of LDP (Hadamard) is "
            + ", ".join(f"{ratio:.2f} times that with {m} blocks" for m, ratio in zip(BLOCKS, ratios, strict=True)),
            reason(
                all(0.99 < ratio / m < 1.01 for m, ratio in zip(BLOCKS, ratios, strict=True)),
                ": the noise of a report affects only the k/m values of its block",
            ),
        ),
        Finding(
            f"Geo(λ): p(i) ∝ (1 - λ)^i λ, plotted for λ = {DECAY:g}",
            f"p(i) ∝ λ^i is plotted here: as printed, one value of {VALUES:,} would have {printed[0]:.0%} of the "
            "people",
            "λ and 1 - λ seem to be exchanged; the captions name a single λ, so Zipf(1) is our choice",
        ),
        Finding(
            "spreading the heavy values over many blocks is another case, Geo(λ)*",
            f"with {BLOCKS[-1]} blocks and {PEOPLE[-1]:,} people the distance is {permuted.hadamard:.3f} for Geo(λ)*, "
            f"and {geometric.hadamard:.3f} for Geo(λ), whose heavy values share a few blocks. Under LDP it is "
            f"{permuted.ldp:.3f} for Geo(λ)* and {geometric.ldp:.3f} for Geo(λ)",
            "the noise of a block grows with the number of its people: if the heavy values are in few blocks, the "
            "reports show that the others are nearly empty",
        ),
        Finding(
            "(the paper does not state how the unbiased estimates become a distribution)",
            f"they are projected on the simplex here. With {BLOCKS[-1]} blocks, the channel of `auto` and "
            f"empirical Bayes, the distance with {PEOPLE[-1]:,} people is "
            + "; ".join(f"{far.bayes:.3f} instead of {far.hadamard:.3f} ({shape})" for shape, far in last.items()),
            "these are two gains: the channel improves every unbiased estimate, and the estimator uses the shape of "
            "the distribution. Empirical Bayes is nearer to the truth than the projection at "
            f"{len(behind) - len(farther)} of {len(behind)} points"
            + (f", and farther by at most {max(farther):.2f} at the others" if farther else ""),
        ),
    )  # fmt: skip


def block_gains(setting: Setting) -> ExperimentResult:
    """Compute the exact errors of LDP and of blocks by level (Theorem 4)."""
    domain = simulated_people.values(VALUES)
    shown = (1, BLOCKS[0], BLOCKS[-1])
    error: dict[tuple[int, str, float], float] = {}
    bits: dict[tuple[int, str], int] = {}
    even = np.full(VALUES, 1 / VALUES)
    constants, bounded = [], []
    for eps in setting.track(LEVELS):
        for m in (1, *BLOCKS):
            for name in ("hadamard", "auto"):
                reader = CampaignReader(simulated_people.campaign(domain, block_notion(VALUES, m, eps), name))
                error[m, name, eps] = expected_mse(reader.campaign.channel)
                bits[m, name] = max(bits.get((m, name), 0), reader.campaign.channel.output_bits)
                if name == "hadamard" and eps <= 1:
                    squares = m * (VALUES / m) ** 2
                    people = people_needed(reader, even, 0.1)
                    constants.append(people * 0.1**2 * eps**2 / squares)
                    odds = math.exp(eps)
                    bounded.append(0.1 / (2 * (odds + 1) / (odds - 1) * math.sqrt(3 * squares / people)))
    names = {1: "LDP", **{m: f"{m} blocks" for m in BLOCKS}}

    def curve(m: int, name: str) -> tuple[float, ...]:
        return tuple(error[m, name, eps] for eps in LEVELS)

    errors = Plot(
        f"{VALUES:,} values, uniform", "epsilon, nats", "squared error of one report, summed",
        (
            *(Curve(f"{names[m]}, Hadamard", LEVELS, curve(m, "hadamard"), "published") for m in shown),
            *(Curve(f"{names[m]}, auto", LEVELS, curve(m, "auto"), "optimum") for m in shown),
        ),
        log_y=True,
    )  # fmt: skip
    gain = Plot(
        "the loss by Hadamard", "epsilon, nats", "times the error of auto",
        tuple(
            Curve(names[m], LEVELS, [error[m, "hadamard", eps] / error[m, "auto", eps] for eps in LEVELS], "other")
            for m in shown
        ),
        log_y=True,
    )  # fmt: skip
    saved, saved_at_four = ({m: error[1, "auto", eps] / error[m, "auto", eps] for m in BLOCKS} for eps in (1.0, 4.0))
    lost = {eps: error[BLOCKS[0], "hadamard", eps] / error[BLOCKS[0], "auto", eps] for eps in (1.0, 4.0)}
    verdict = (
        f"{BLOCKS[-1]} blocks reduce the number of people needed by a factor of {saved[BLOCKS[-1]]:.0f} at 1 nat, and "
        f"of {saved_at_four[BLOCKS[-1]]:.0f} at 4 nats. Let `auto` choose the channel: in blocks of "
        f"{VALUES // BLOCKS[0]} values, Hadamard response needs {lost[1.0] - 1:.0%} more people than the channel of "
        f"`auto` at 1 nat, and {lost[4.0]:.0f} times as many at 4 nats."
    )
    findings = _findings_of_gains(error, bits, (saved, saved_at_four), constants, bounded)
    remark = (
        "Hadamard response within each block is optimal in order for eps = O(1), as the paper says. The channel of "
        "`auto` has a smaller error, above all where eps is large. It is projective response, and at larger levels "
        "randomised response (under LDP, the mechanism `triples`)."
    )
    return ExperimentResult((errors, gain), findings, verdict, remark=remark)


def _findings_of_gains(
    error: dict[tuple[int, str, float], float],
    bits: dict[tuple[int, str], int],
    saved: tuple[dict[int, float], dict[int, float]],
    constants: list[float],
    bounded: list[float],
) -> tuple[Finding, ...]:
    """Return the findings about the gain of blocks.

    Args:
        error: the error by number of blocks, channel and level.
        bits: the largest size of a report, by number of blocks and channel.
        saved: LDP's error divided by that of each number of blocks, at 1 and at 4 nats.
        constants: the number of people needed as a multiple of the order of Theorem 4.
        bounded: the expected distance as a part of the bound of eq. 20.
    """
    beside = {
        m: max(
            error[m, "auto", eps]
            / (min(subset_error(VALUES // m, d, level_of_nats(eps)) for d in range(1, VALUES // m)) + (m - 1) / VALUES)
            for eps in LEVELS
        )
        for m in (1, *BLOCKS)
    }  # fmt: skip
    return (
        Finding(
            "Theorem 4: the number of people is of the order of the sum of k_j^2 / (alpha^2 eps^2)",
            f"by the exact variances, the number is {min(constants):.2f} to {max(constants):.2f} times this sum, for "
            f"levels up to 1 nat, 1 to {BLOCKS[-1]} blocks and a uniform distribution",
            reason(max(constants) < 2 * min(constants), ": the order is right"),
        ),
        Finding(
            "eq. 20: the expected distance is at most 2 (e^eps + 1)/(e^eps - 1) sqrt(3 sum of k_j^2 / n)",
            f"the exact distance is at most {max(bounded):.0%} of the bound",
            "the bound is for all distributions and is not tight: plan with the exact error and not with the bound",
        ),
        *(
            Finding(
                "Hadamard within each block is optimal"
                + (" (LDP: one block)" if m == 1 else f" ({m} blocks of {VALUES // m})"),
                "the ratio of its error to that of the channel of `auto` is "
                + by_level((f"{error[m, 'hadamard', eps] / error[m, 'auto', eps]:.2f}" for eps in FEW), FEW)
                + f". Its reports have {bits[m, 'hadamard']} bits, those of `auto` at most {bits[m, 'auto']}",
                "",
            )
            for m in (1, *BLOCKS)
        ),
        Finding(
            "(for equally common values, no channel has less error than subset selection)",
            "at the levels plotted, the error of the channel of `auto` is at most "
            + ", ".join(f"{ratio:.2f} (blocks of {VALUES // m})" for m, ratio in beside.items())
            + " times that of subset selection",
            "subset selection needs one bit for each value; here the outputs of `auto` have at most "
            f"{max(bits[m, 'auto'] for m in beside)} bits",
        ),
        Finding(
            "a factor of m is saved in the number of people",
            "with the channels that `auto` chooses for LDP and for blocks, the factor is "
            + "; ".join(
                ", ".join(f"{ratio:.1f} for {m} blocks" for m, ratio in factors.items()) + f" at {nats}"
                for nats, factors in zip(("1 nat", "4 nats"), saved, strict=True)
            ),
            "the factor can exceed m, because small blocks have better channels than large blocks. At large levels it "
            "can be below m, because blocks do not reduce the sampling error",
        ),
    )

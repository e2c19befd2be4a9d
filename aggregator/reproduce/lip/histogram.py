"""The histogram of 20 values (fig. 7).

"Our best valid LIP" is the channel that the planner chooses. It may be slightly worse than the optimum, and the lower
bound is plotted beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aggregator.estimate.error import expected_mse, lip_mse, lip_mse_bound, prior_mse
from aggregator.families.bits.recipe import oue
from aggregator.families.response.recipe import published_lip_response, randomized_response
from aggregator.reproduce import simulated_people
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, series
from aggregator.reproduce.lip.published import (
    BEST_LDP,
    CONDITION,
    FULL,
    SPARSE,
    at_levels,
    error_plot,
    ldp_channels,
    published_curves,
    roots,
    true_level,
    valid_from,
)
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.channels import Channel
from protocol.notions import Ldp, Lip

SIZE = 20
LAWS = {"uniform": (1,) * SIZE, "Zipf": tuple(math.ceil(2**40 / rank) for rank in range(1, SIZE + 1))}
EVEN, ZIPF = LAWS["uniform"], LAWS["Zipf"]

NATS, PEOPLE, WRONG = 2.0, 10_000, 0.3
"""The comparison of estimators: the level in nats, the number of people, and the share of the people whose answers do
not follow a wrong prior."""

ESTIMATORS = (
    ("LIP MMSE", "lip", "mmse"),
    ("LIP map", "lip", "map"),
    ("LDP projected", "ldp", "projection"),
    ("LDP empirical Bayes", "ldp", "empirical-bayes"),
)


def _of_prior(prior: Sequence[int], eps: float) -> dict[str, float]:
    """Return the squared error of one person's histogram with each channel, and its lower bound."""
    optimum = simulated_people.campaign(simulated_people.values(SIZE), Lip(level_of_nats(eps), tuple(prior)), "lip")
    distribution = [weight / sum(prior) for weight in prior]
    return {
        "best": lip_mse(optimum.channel, prior),
        "ldp": lip_mse(randomized_response(SIZE, level_of_nats(eps)), prior),
        "best ldp": min(lip_mse(channel, prior) for channel in ldp_channels(SIZE, eps)),
        "oue": expected_mse(oue(SIZE, level_of_nats(eps)), distribution) - prior_mse(prior),
        "bound": lip_mse_bound(level_of_nats(eps), prior),
    }


def figure_7(setting: Setting) -> ExperimentResult:
    """Compute fig. 7: histograms of 20 values, with a uniform and with a Zipf prior."""
    levels = SPARSE if setting.quick else FULL
    points: dict[str, list[dict[str, float]]] = {name: [] for name in LAWS}
    for name, eps in setting.track([(name, eps) for name in LAWS for eps in levels]):
        points[name].append(_of_prior(LAWS[name], eps))
    errors = {name: series(of_name) for name, of_name in points.items()}
    plots = tuple(_plot(name, levels, errors[name]) for name in LAWS)
    ratio = {
        eps: math.sqrt(errors["Zipf"]["best"][place] / errors["Zipf"]["best ldp"][place])
        for place, eps in enumerate(levels)
        if eps in (1.0, 2.0, 4.0)
    }
    verdict = (
        f"Valid LIP has {ratio[1.0]:.0%} of the error of the best LDP channel at 1 nat, {ratio[2.0]:.0%} at 2 nats and "
        f"{ratio[4.0]:.0%} at 4 nats, if both estimates use the same prior (histogram of {SIZE} values, Zipf prior)."
    )
    return ExperimentResult(plots, _findings(levels, errors, _distances(setting)), verdict, remark=BEST_LDP)


def _plot(name: str, levels: tuple[float, ...], errors: dict[str, list[float]]) -> Plot:
    prior = LAWS[name]

    def root(channel: Channel) -> float:
        return math.sqrt(max(lip_mse(channel, prior), 0.0))

    one_value = tuple(2 * math.exp(eps / 2) / (math.exp(eps) - 1) for eps in levels)
    return error_plot(
        f"{SIZE} values, {name} prior",
        Curve("OUE (LDP), unbiased, all values", levels, roots(errors["oue"]), "free"),
        Curve("OUE, one value, as the paper counts", levels, one_value, "free"),
        Curve("randomised response, MMSE", levels, roots(errors["ldp"]), "ldp"),
        Curve("best LDP, MMSE", levels, roots(errors["best ldp"]), "ldp"),
        *published_curves("published LIP", levels, prior, root),
        *published_curves("published LIP at eps/2", levels, prior, root, part=0.5),
        Curve("our best valid LIP", levels, roots(errors["best"]), "optimum"),
        Curve("lower bound of valid LIP", levels, roots(errors["bound"]), "bound"),
        Curve("prior alone", levels, (math.sqrt(prior_mse(prior)),) * len(levels), "alone"),
    )


def _distances(setting: Setting) -> dict[str, tuple[float, float]]:
    """Return the total variation distance of each estimator with a correct and with a wrong Zipf prior."""
    domain, distribution = simulated_people.values(SIZE), np.array(ZIPF) / sum(ZIPF)
    campaigns = {
        "lip": simulated_people.campaign(domain, Lip(level_of_nats(NATS), ZIPF), "lip"),
        "ldp": simulated_people.campaign(domain, Ldp(level_of_nats(NATS)), "auto"),
    }
    populations = [
        np.rint(PEOPLE * share).astype(np.int64)
        for share in (distribution, (1 - WRONG) * distribution + WRONG * setting.generator.permutation(distribution))
    ]
    distances = {}
    for name, notion, method in ESTIMATORS:
        right, wrong = (
            simulated_people.simulated_variation(
                campaigns[notion], population, method, setting.generator, setting.repeats
            )
            for population in populations
        )
        distances[name] = (right, wrong)
    return distances


def _findings(
    levels: tuple[float, ...], errors: dict[str, dict[str, list[float]]], far: dict[str, tuple[float, float]]
) -> tuple[Finding, ...]:
    theirs = published_lip_response(EVEN, level_of_nats(1))
    at_one = {
        name: {key: numbers[levels.index(1.0)] for key, numbers in of_distribution.items()}
        for name, of_distribution in errors.items()
    }
    gap = {
        name: max(
            (best - bound) / (prior_mse(LAWS[name]) - bound)
            for best, bound in zip(of_distribution["best"], of_distribution["bound"], strict=True)
        )
        for name, of_distribution in errors.items()
    }
    smaller = [
        eps
        for eps, error in zip(levels, errors["uniform"]["best ldp"], strict=True)
        if error < lip_mse(published_lip_response(EVEN, level_of_nats(eps / 2)), EVEN)
    ]
    return (
        Finding(
            "the published channel with 20 values is eps-LIP at every level from 0 to 10 nats",
            f"with a uniform prior it is eps-LIP from {valid_from(EVEN):.2f} nats on, with a Zipf prior from "
            f"{valid_from(ZIPF):.2f} nats on. At 1 nat its true level is {true_level(theirs, EVEN):.2f} nats with the "
            f"uniform prior and {true_level(published_lip_response(ZIPF, level_of_nats(1)), ZIPF):.2f} nats with the "
            "Zipf prior",
            CONDITION,
        ),
        Finding(
            f"at 1 nat the published error is {math.sqrt(lip_mse(theirs, EVEN)):.3f} (uniform prior)",
            "errors: "
            + "; ".join(
                f"best valid channel {math.sqrt(at_one[name]['best']):.3f}, LDP with MMSE "
                f"{math.sqrt(at_one[name]['best ldp']):.3f}, prior alone {math.sqrt(prior_mse(prior)):.3f} "
                f"({name} prior)"
                for name, prior in LAWS.items()
            ),
            "one person's report reveals little about 20 values at 1 nat, under any notion; the advantage of LIP over "
            "LDP is small at 1 nat and larger at larger levels",
        ),
        Finding(
            "OUE's error is n 4 e^eps / (e^eps - 1)^2",
            f"over all {SIZE} values it is {at_one['uniform']['oue']:.4g} per person at 1 nat, "
            f"{at_one['uniform']['oue'] / (4 * math.e / (math.e - 1) ** 2):.3g} times the formula's error",
            "the formula is for one value, and the other curves are sums over all values",
        ),
        Finding(
            "context-aware LDP lies between LIP at eps and at eps/2",
            "the best LDP channel has less error than even the published channel at eps/2 "
            + at_levels(smaller, levels),
            "from 3 nats on the best LDP channel is randomised response, whose error falls faster with eps than that "
            "of LIP at eps/2",
        ),
        Finding(
            "the published channel is the optimum",
            f"our channels' reduction of the prior's error is at most {gap['uniform']:.1%} (uniform) and "
            f"{gap['Zipf']:.1%} (Zipf) smaller than the reduction that the bound allows",
            "for some priors and levels no channel reaches the bound; a linear program over posteriors finds the "
            "optimum",
        ),
        Finding(
            "the estimate is the mean of everybody's posterior (MMSE)",
            f"total variation from the truth at {NATS:g} nats, Zipf prior, {PEOPLE:,} people. With the right prior: "
            + "; ".join(f"{name} {right:.3f}" for name, (right, _) in far.items())
            + f". With a prior that is wrong for {WRONG:.0%} of them: "
            + "; ".join(f"{name} {wrong:.3f}" for name, (_, wrong) in far.items()),
            "MMSE is best if the prior is right; if the prior is wrong, more people do not improve MMSE. Empirical "
            "Bayes needs no prior; the posterior mode (map) is between",
        ),
    )

"""The priors for which the published channel is valid, and the claimed and true errors of one bit.

A channel is called valid if it satisfies the definition at its claimed level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aggregator.estimate.error import prior_mse
from aggregator.families.response.recipe import published_lip_response
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, reason
from aggregator.reproduce.lip.published import (
    EPSILON,
    FULL,
    bit_prior,
    claimed_error,
    of_bit,
    satisfies,
    true_level,
    valid_from,
    warner,
)
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.personal import lip_response


def validity(setting: Setting) -> ExperimentResult:
    """Find the priors and levels for which the published channel satisfies its definition."""
    grid = tuple(step / 20 for step in range(1, 201))
    named = {"20 values, uniform": (1,) * 20, "P1 = 0.1": bit_prior("0.1"), "P1 = 0.01": bit_prior("0.01")}
    smallest = {name: min(prior) / sum(prior) for name, prior in named.items()}
    edge = Plot(
        "where the published channel is valid", EPSILON, "smallest share of the prior",
        (
            Curve("1/(e^eps + 1), valid above it", grid, [1 / (math.exp(eps) + 1) for eps in grid], "optimum"),
            *(Curve(name, grid, (share,) * len(grid), "other") for name, share in smallest.items()),
        ),
        log_y=True,
    )  # fmt: skip

    def true_levels(prior: Sequence[int]) -> tuple[float, ...]:
        return tuple(true_level(published_lip_response(prior, level_of_nats(eps)), prior) for eps in FULL)

    levels = Plot(
        "true level of the published channel", EPSILON, "true level, nats",
        (Curve("claimed", FULL, FULL, "published"),
         *(Curve(name, FULL, true_levels(prior), "other") for name, prior in named.items())),
    )  # fmt: skip
    exceeded = Plot(
        "people for whom the level is exceeded, P1 uniform", EPSILON, "share of people",
        (Curve("2/(e^eps + 1)", FULL, [2 / (math.exp(eps) + 1) for eps in FULL], "invalid"),),
    )  # fmt: skip
    wrong, valid, far = 0, 0, 0.0
    for _ in setting.track(range(setting.repeats)):
        size = int(setting.generator.integers(2, 9))
        shares = setting.generator.dirichlet(np.full(size, setting.generator.choice([1.0, 20.0])))
        prior = tuple((1 + shares * 10**9).astype(np.int64).tolist())
        eps = float(setting.generator.uniform(0.1, 6))
        channel = published_lip_response(prior, level_of_nats(eps))
        nats = true_level(channel, prior)
        share = min(prior) / sum(prior)
        lowest = math.exp(-eps)
        far = max(far, abs(nats - max(eps, math.log((1 - lowest) / share + lowest))))
        predicted = share >= 1 / (math.exp(eps) + 1)
        wrong += predicted != satisfies(channel, prior, eps)
        valid += predicted
    findings = (
        Finding(
            "Theorems 2, 3, 5: optimal and eps-LIP for every prior",
            f"valid exactly where every share is at least 1/(e^eps + 1): in {setting.repeats:,} random priors of 2 to "
            f"8 values (valid for {valid:,}), this condition and the exact level of the integers disagree "
            f"{wrong} times",
            "Lemma 3 assumes without proof that the diagonal entry stays feasible; step 3 of the binary proof "
            "drops the two constraints that are violated",
        ),
        Finding(
            "the level of the channel is eps",
            "the level is max(eps, ln((1 - e^-eps) / P_min + e^-eps)). It differs from the level of the integers by at "
            f"most {far:.1e} nats",
            "an output changes the probability of its own value by the factor (1 - (1 - P) e^-eps) / P",
        ),
        Finding(
            "the experiments: P1 = 0.1, 0.01 and 0.99; 20 equally likely values; P1 uniform in 0 .. 1",
            f"the channel is valid from {valid_from(bit_prior('0.1')):.2f} nats on for P1 = 0.1, from "
            f"{valid_from(bit_prior('0.01')):.2f} nats on for P1 = 0.01 and 0.99, and from "
            f"{valid_from((1,) * 20):.2f} nats on for 20 equally likely values. It is not valid for "
            f"{2 / (math.exp(1) + 1):.1%} of uniformly drawn P1 at 1 nat, and for {2 / (math.exp(2) + 1):.1%} at 2 "
            "nats",
            "the figures show these cases; halftruth refuses the published channel where it is not valid, and "
            "offers the optimum",
        ),
    )
    verdict = (
        f"The published LIP channel is valid only for nearly uniform priors of few values: at 1 nat all shares must be "
        f"at least {1 / (math.e + 1):.1%}. For other priors halftruth refuses it."
    )
    return ExperimentResult((edge, levels, exceeded), findings, verdict)


def claimed_errors(setting: Setting) -> ExperimentResult:
    """Compare the claimed and the true errors of one bit."""
    cases = [(1.0, "0.01"), (1.0, "0.1"), (2.0, "0.01"), (2.0, "0.1"), (2.0, "0.3"), (4.0, "0.01"), (4.0, "0.1")]
    findings, shares = [], []
    for eps, share in setting.track(cases):
        prior = bit_prior(share)
        theirs = published_lip_response(prior, level_of_nats(eps))
        best, ldp = of_bit(lip_response(prior, level_of_nats(eps)), prior), of_bit(warner(eps), prior)
        alone = prior_mse(prior) / 2
        shares.append((alone - best) / (alone - of_bit(theirs, prior)))
        valid = satisfies(theirs, prior, eps)
        findings.append(
            Finding(
                f"eps = {eps:g}, P1 = {share}: an error of {claimed_error(float(share), eps):.5f} (eq. 19)",
                f"valid optimum {best:.5f}; LDP with MMSE {ldp:.5f}; prior alone {alone:.5f}",
                f"valid: {reason(abs(claimed_error(float(share), eps) - best) < 1e-6)}"
                if valid
                else f"the published channel's true level is {true_level(theirs, prior):.2f} nats",
            )
        )
    verdict = (
        "The paper claims that its channel has a smaller error than the prior alone. The valid optimum reaches "
        f"{min(shares):.0%} to {max(shares):.0%} of this reduction: less if a yes is rarer, and less if eps is smaller."
    )
    return ExperimentResult((), tuple(findings), verdict)

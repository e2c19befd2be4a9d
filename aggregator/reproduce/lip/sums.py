"""Sums of one number per person: random priors (fig. 6a) and larger domains (fig. 6b).

The valid optimum of a sum is that of a linear program (``summation``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aggregator.families.response.recipe import published_lip_response, randomized_response
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, series
from aggregator.reproduce.lip.published import (
    CONDITION,
    ERROR,
    FULL,
    SPARSE,
    at_levels,
    compared_curves,
    error_plot,
    satisfies,
    true_level,
)
from aggregator.reproduce.lip.summation import best_for_sum, sum_mse
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.channels import Channel


def _of_prior(prior: Sequence[int], eps: float) -> dict[str, float]:
    """Return the numbers of ``compared_curves`` for one person's value, 0 .. k - 1, and the true "level" of the
    published channel."""
    nats = {"": eps, " half": eps / 2}
    theirs = {half: published_lip_response(prior, level_of_nats(target)) for half, target in nats.items()}
    channels: dict[str, Channel] = {
        "ldp": randomized_response(len(prior), level_of_nats(eps)),
        **{f"published{half}": channel for half, channel in theirs.items()},
        **{
            f"best{half}": best_for_sum(prior, range(len(prior)), level_of_nats(target))
            for half, target in nats.items()
        },
    }
    errors = {name: sum_mse(channel, prior, range(len(prior))) for name, channel in channels.items()}
    protected = {f"protected{half}": float(satisfies(theirs[half], prior, target)) for half, target in nats.items()}
    return errors | protected | {"level": true_level(theirs[""], prior)}


def figure_6a(setting: Setting) -> ExperimentResult:
    """Compute fig. 6a: sums of five values with random priors."""
    size, people = 5, 40 if setting.quick else 500
    levels = SPARSE if setting.quick else FULL
    priors = [
        tuple((1 + 999_999 * setting.generator.dirichlet(np.ones(size))).astype(int).tolist()) for _ in range(people)
    ]
    points = []
    for eps in setting.track(levels):
        of_priors = series([_of_prior(prior, eps) for prior in priors])
        points.append(
            {name: float(np.mean(numbers)) for name, numbers in of_priors.items()} | {"worst": max(of_priors["level"])}
        )
    errors = series(points)
    protected, worst = errors["protected"], errors["worst"]
    plot = error_plot(
        f"{size} values, {people} people, random priors",
        *compared_curves(levels, errors),
        Curve("prior alone", levels, (math.sqrt(_mean_variance(priors)),) * len(levels), "alone"),
    )
    place = {eps: index for index, eps in enumerate(levels)}
    halves = [eps for eps, half, ldp in zip(levels, errors["best half"], errors["ldp"], strict=True) if half < ldp]
    findings = (
        Finding(
            "the published channel is eps-LIP for every random prior",
            f"of {people} people with random priors, it is eps-LIP for {protected[place[1.0]]:.0%} at 1 nat, "
            f"{protected[place[2.0]]:.0%} at 2 nats, {protected[place[4.0]]:.0%} at 4 nats. The largest true level at "
            f"1 nat is {worst[place[1.0]]:.2f} nats",
            f"{CONDITION}, and one of five random shares is mostly small",
        ),
        Finding(
            "eps/2-LIP has less error than eps-LDP",
            "the valid optimum at eps/2 has less error than LDP " + at_levels(halves, levels),
            "for a sum there are valid channels nearly as good as the published one: at 1 nat the valid optimum has an "
            f"error of {math.sqrt(errors['best'][place[1.0]]):.3f}, and the published channel one of "
            f"{math.sqrt(errors['published'][place[1.0]]):.3f}",
        ),
    )
    verdict = (
        f"For sums of {size} values LIP has less error than LDP: at 1 nat the valid optimum has "
        f"{math.sqrt(errors['best'][place[1.0]] / errors['ldp'][place[1.0]]):.0%} of the error of randomised response "
        "with the same priors."
    )
    return ExperimentResult((plot,), findings, verdict)


def _mean_variance(priors: Sequence[Sequence[int]]) -> float:
    """Return the mean over people of the prior variance of a value 0 .. k - 1."""
    variances = []
    for prior in priors:
        distribution, f = np.array(prior) / sum(prior), np.arange(len(prior))
        variances.append(float(distribution @ f**2 - (distribution @ f) ** 2))
    return float(np.mean(variances))


def figure_6b(setting: Setting) -> ExperimentResult:
    """Compute fig. 6b: sums by size of the domain, with uniform priors at 1 nat."""
    eps = 1.0
    sizes = tuple(range(2, 21))
    errors = series([_of_prior((1,) * size, eps) for size in setting.track(sizes)])
    true = errors["level"]
    plot = Plot(
        f"eps = {eps:g}, uniform priors", "size of the domain", ERROR,
        (
            *compared_curves(sizes, errors),
            Curve("prior alone", sizes, [math.sqrt((size**2 - 1) / 12) for size in sizes], "alone"),
        ),
    )  # fmt: skip
    levels = Plot(
        "true level of the published channel", "size of the domain", "true level, nats",
        (
            Curve("published LIP, true level", sizes, true, "invalid"),
            Curve("claimed", sizes, (eps,) * len(sizes), "published"),
        ),
    )  # fmt: skip
    valid = max(size for size, nats in zip(sizes, true, strict=True) if nats <= eps)
    overtakes = [size for size, a, b in zip(sizes, errors["best half"], errors["ldp"], strict=True) if a < b]
    theirs = [size for size, a, b in zip(sizes, errors["published half"], errors["ldp"], strict=True) if a < b]
    findings = (
        Finding(
            "the published channel is 1-LIP for 2 to 20 values",
            f"it is 1-LIP for up to {valid} values; with {sizes[-1]} values its true level is {true[-1]:.2f} nats",
            f"{CONDITION}: for a uniform prior, k <= e^eps + 1 = {math.e + 1:.2f}",
        ),
        Finding(
            "eps/2-LIP has less error than eps-LDP if the domain is large enough",
            f"the published channel at eps/2 has less error than LDP from {theirs[0]} values on; the valid optimum at "
            "eps/2 " + (f"from {overtakes[0]} values on" if overtakes else "at no size up to 20"),
            "randomised response reveals little in a large domain; a channel made for sums distinguishes large and "
            f"small values. With {sizes[-1]} values at 1 nat the valid optimum has an error of "
            f"{math.sqrt(errors['best'][-1]):.2f}, the published channel {math.sqrt(errors['published'][-1]):.2f}, "
            f"LDP {math.sqrt(errors['ldp'][-1]):.2f}, the prior alone {math.sqrt((sizes[-1] ** 2 - 1) / 12):.2f}",
        ),
    )
    verdict = (
        f"With {sizes[-1]} equally likely values and 1 nat, the error of a channel made for the sum is "
        f"{math.sqrt(errors['best'][-1]):.2f}, and that of randomised response is {math.sqrt(errors['ldp'][-1]):.2f}. "
        f"The published channel's true level is {true[-1]:.2f} nats."
    )
    return ExperimentResult((plot, levels), findings, verdict)

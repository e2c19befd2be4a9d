"""People who declare a prior for their bit, compared with a trusted curator (fig. 8).

People are simulated with the integers that devices use, and their reports are decoded with halftruth's estimators.
Exact values are computed where possible, and simulations are shown for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from aggregator.estimate.personal import PersonalDecoder
from aggregator.families.decoder import Floats, Integers
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, reason, series
from aggregator.reproduce.lip.published import (
    SPARSE,
    at_levels,
    bit_prior,
    claimed_error,
    compared_curves,
    error_plot,
    of_bit,
    roots,
    z_score,
)
from aggregator.reproduce.lip.trusted_curator import (
    MAX_EXACT_PEOPLE,
    curator_error,
    curator_error_of,
    curator_sum_error,
)
from aggregator.reproduce.simulated_people import level_of_nats
from protocol import personal
from protocol.personal import lip_response

UNIT = personal.MAX_DECLARED_WEIGHT
"""Denominator of a declared prior of one bit."""

SIMULATED = 4.0
"""The largest level in nats at which surveys are simulated; above it, hardly any survey has a measurable error."""

DRAWS = 8_000_000
"""Maximum number of people simulated at a level, unless ``MIN_SURVEYS`` surveys need more."""
MIN_SURVEYS = 20
MIN_PLOTTED = 1e-4
"""Errors of the curator below this are not plotted, because they would compress the other curves."""

PEOPLE = (5, 500, 50_000)
FEW, SOME, MANY = PEOPLE


Errors = Mapping[str, Sequence[float]]
"""Errors of one person's bit by name as in ``declared_errors``, for each level in ``SPARSE``."""


def figure_8(setting: Setting) -> ExperimentResult:
    """Compare devices with declared priors, uniform in 0 .. 1, with a trusted curator, for 5, 500 and 50,000 people."""
    yes = {people: np.clip(np.rint(setting.generator.random(people) * UNIT), 1, UNIT - 1) for people in PEOPLE}
    points: dict[int, list[dict[str, float]]] = {people: [] for people in PEOPLE}
    simulated: dict[int, list[float]] = {people: [] for people in PEOPLE}
    off = 0.0
    for people, eps in setting.track([(people, eps) for people in PEOPLE for eps in SPARSE]):
        level_errors = declared_errors(yes[people], eps)
        points[people].append(level_errors | {"curator": _of_curator(yes[people] / UNIT, eps, level_errors["best"])})
        if eps <= SIMULATED:
            squares = _surveyed(yes[people], eps, setting)
            simulated[people].append(float(squares.mean()))
            off = max(off, z_score(squares, level_errors["best"]))
    errors = {people: series(of_level) for people, of_level in points.items()}
    plots = tuple(_plot(people, errors[people], simulated[people]) for people in PEOPLE)
    at_one = {name: numbers[SPARSE.index(1.0)] for name, numbers in errors[MANY].items()}
    verdict = (
        f"With declared priors (uniform), valid LIP at 1 nat has {math.sqrt(at_one['best'] / at_one['ldp']):.0%} "
        f"of LDP's error; the published channel has {math.sqrt(at_one['published'] / at_one['ldp']):.0%}, and exceeds "
        f"its level for {1 - at_one['protected']:.0%} of the people."
    )
    return ExperimentResult(plots, _findings(errors, off, setting.repeats), verdict)


def _findings(errors: Mapping[int, Errors], off: float, repeats: int) -> tuple[Finding, ...]:
    """Return the findings of fig. 8.

    Args:
        off: the largest distance of a simulated error from the exact one, in standard errors.
        repeats: the number of simulated surveys at each level.
    """
    of_many, one_nat = errors[MANY], SPARSE.index(1.0)

    def root(name: str, people: int = MANY) -> float:
        return math.sqrt(errors[people][name][one_nat])

    protected = [of_many["protected"][SPARSE.index(eps)] for eps in (1.0, 2.0, 4.0)]
    between = [
        best <= ldp <= half
        for best, ldp, half in zip(of_many["best"], of_many["ldp"], of_many["best half"], strict=True)
    ]
    smaller = [eps for eps, best, ldp in zip(SPARSE, of_many["best"], of_many["ldp"], strict=True) if best < ldp]
    better = all(
        curator <= best
        for of_people in errors.values()
        for curator, best in zip(of_people["curator"], of_people["best"], strict=True)
    )
    global_prior = " and ".join(
        f"{curator_error(number, float(share), level_of_nats(1)).mse:.3g} with N = {number}, P1 = {share} "
        f"(devices {number * of_bit(lip_response(bit_prior(share), level_of_nats(1)), bit_prior(share)):.3g})"
        for number, share in ((5, "0.5"), (100, "0.1"))
    )
    return (
        Finding(
            "everybody is protected at eps",
            f"the published channel satisfies the level for {protected[0]:.1%} of {MANY:,} people at 1 nat, "
            f"{protected[1]:.1%} at 2 nats, {protected[2]:.1%} at 4 nats",
            "it exceeds the level if a person's prior of either answer is below 1/(e^eps + 1). If priors are drawn "
            f"uniformly from 0 to 1, this is the case for 2/(e^eps + 1) of the people, {2 / (math.e + 1):.1%} at 1 nat",
        ),
        Finding(
            "eps-LIP always has less error than eps-LDP",
            f"the valid optimum has less error {at_levels(smaller, SPARSE)}: {root('best'):.4f} at 1 nat, where LDP "
            f"has {root('ldp'):.4f} and the published channel {root('published'):.4f}",
            "the gap is smaller than published, because a valid channel needs more noise for the people for whom the "
            "published channel exceeds the level",
        ),
        Finding(
            "eps-LDP lies almost everywhere between LIP at eps/2 and at eps",
            f"true at {sum(between)} of {len(between)} levels plotted, with valid channels and {MANY:,} people",
            reason(all(between), ", although valid channels replace the published one"),
        ),
        Finding(
            "a trusted curator (centralised information privacy, CIP) does better than any local model",
            f"with {FEW} people at 1 nat, the curator's error is {root('curator', FEW):.3f} and that of the devices "
            f"{root('best', FEW):.3f}; with {SOME} people the curator's error is {root('curator', SOME):.1g} and that "
            f"of the devices {root('best', SOME):.3f}",
            reason(better) + f". With {FEW} people this is the optimum over all mechanisms that "
            "Def. 4 allows; the sum over many people reveals hardly anything about one of them, so the curator "
            "publishes it and merges only extreme sums, which practically never occur",
        ),
        Finding(
            "Prop. 5: with a global prior the trade-off is the solution of an optimisation problem; the paper gives "
            "its range, e^-eps N P1 <= E[S|Y] <= N - e^-eps N (1 - P1)",
            "the solution has a closed form: publish the sum, and pool each tail until its mean is at the end of the "
            f"range. The least error of the sum at 1 nat is {global_prior}",
            "the range is narrower where P1 is far from 1/2: e^eps also bounds the probability of each answer from "
            "above",
        ),
        Finding(
            "each simulation is run 10,000 times",
            f"simulated surveys up to {SIMULATED:g} nats are within {off:.1f} standard errors of the exact error",
            f"{repeats:,} surveys at each level, or as many as {DRAWS:,} people allow; each person has "
            "the channel that their device derives",
        ),
    )


def _plot(people: int, errors: Errors, simulated: Sequence[float]) -> Plot:
    curator = tuple(root if root > MIN_PLOTTED else math.nan for root in roots(errors["curator"]))
    curves = (
        *compared_curves(SPARSE, errors, " for all"),
        Curve("valid optimum, simulated", SPARSE[: len(simulated)], roots(simulated), "optimum", marks=True),
    )
    if sum(not math.isnan(root) for root in curator) > 1:
        curves = (*curves, Curve("trusted curator", SPARSE, curator, "server"))
    return error_plot(f"N = {people:,}, priors uniform in 0 .. 1", *curves)


def _of_curator(p: Floats, eps: float, local: float) -> float:
    """Return the error of a trusted curator per person: at most ``local``, the error of the devices."""
    if len(p) <= MAX_EXACT_PEOPLE:
        return curator_error_of(p.tolist(), level_of_nats(eps)) / len(p)
    return min(curator_sum_error(p, eps) / len(p), local)  # a curator can simulate the devices (Theorem 6)


def declared_errors(yes: Floats, eps: float) -> dict[str, float]:
    """Return the mean error of the bits of people with declared priors ``yes`` / ``UNIT``.

    Returns:
        The errors of "ldp", and of "published" and "best", the valid optimum; "protected" is the share of the people
        for whom the published channel satisfies ``eps``. The names with " half" are the same at ``eps`` / 2.
    """
    p, flip = yes / UNIT, np.full(len(yes), 1 / (math.exp(eps) + 1))
    errors = {"ldp": float(_bit_errors(p, flip, flip).mean())}
    for half, nats in (("", eps), (" half", eps / 2)):
        errors["best" + half] = float(best_errors(yes, nats).mean())
        errors["published" + half] = float(np.mean([claimed_error(share, nats) for share in p.tolist()]))
        errors["protected" + half] = float((np.minimum(p, 1 - p) >= 1 / (math.exp(nats) + 1)).mean())
    return errors


def _decoder(yes: Floats, eps: float) -> tuple[PersonalDecoder, Floats]:
    """Return the decoder of people with declared priors ``yes`` / ``UNIT``, and the probabilities P(Y = x | X = x),
    (people, 2)."""
    priors: Integers = np.stack([UNIT - yes, yes], axis=1).astype(np.int64)
    decoder = PersonalDecoder(priors, level_of_nats(eps), np.full(len(yes), 1 / len(yes)))
    truths: Floats = decoder.ceiling.reshape(priors.shape) * len(yes)
    return decoder, truths


def best_errors(yes: Floats, eps: float) -> Floats:
    """Return the error of each person's bit with the channel for the person's prior, shape (people,)."""
    _, truths = _decoder(yes, eps)
    return _bit_errors(yes / UNIT, 1 - truths[:, 0], 1 - truths[:, 1])


def _bit_errors(p: Floats, zero_as_one: Floats, one_as_zero: Floats) -> Floats:
    """Return the error of each person's bit, P (1 - P) - [P (lambda0 - q1)]^2 / (lambda0 lambda1), shape (people,)
    (Jiang, Li, Tandon 2018, eq. 16)."""
    ones = (1 - p) * zero_as_one + p * (1 - one_as_zero)
    return p * (1 - p) - (p * (1 - ones - one_as_zero)) ** 2 / (ones * (1 - ones))


def _surveyed(yes: Floats, eps: float, setting: Setting) -> Floats:
    """Return (S - E[S|Y])^2 / N of simulated surveys of people with declared priors, shape (surveys,)."""
    decoder, truths = _decoder(yes, eps)
    people, p = len(yes), yes / UNIT
    squares = []
    for _ in range(max(min(setting.repeats, DRAWS // people), MIN_SURVEYS)):
        answers = setting.generator.random(people) < p
        output = answers ^ (setting.generator.random(people) >= np.where(answers, truths[:, 1], truths[:, 0]))
        share = np.stack([~output, output], axis=1).ravel() / people
        squares.append((people * float(decoder.posterior_mean(share)[1]) - float(answers.sum())) ** 2 / people)
    return np.array(squares)

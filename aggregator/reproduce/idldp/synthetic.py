"""Synthetic data: fig. 2 of Gu et al. 2020, with a power law and a uniform distribution.

Errors of unbiased estimates are computed exactly from the integers of the channel; marks are the means of simulated
surveys. The figure also shows empirical Bayes from the reports of these surveys, and a lower bound for all unary
encodings.
"""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np

from aggregator.estimate.error import expected_mse
from aggregator.families.decoder import Floats
from aggregator.reproduce import simulated_people
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, reason, series
from aggregator.reproduce.idldp.mechanisms import (
    BAYES,
    COMPARED,
    FLOOR,
    PLAIN_BAYES,
    RECIPES,
    ROLES,
    SIMULATED,
    estimated,
    exact_errors,
    method_curves,
    repeated_surveys,
    unary_channel,
)
from aggregator.reproduce.idldp.points import LABEL, in_few_bits, point_errors
from aggregator.reproduce.idldp.surveys import (
    EPSILON,
    FULL,
    MSE,
    SPARSE,
    ItemHolders,
    campaign,
    total_error,
    total_error_bound,
)
from protocol import exact
from protocol.channels.bits.channel import S
from protocol.notions import Ldp

PEOPLE = 100_000
"""Number of people."""
POWER, EVEN = 100, 1000
"""Numbers of items of the power law and of the uniform distribution."""


def synthetic_errors(setting: Setting) -> ExperimentResult:
    """Compute expected and simulated errors of six mechanisms, for power-law and uniform data."""
    levels = SPARSE if setting.quick else FULL
    rank = np.arange(1, POWER + 1)
    steep = 1 / rank - 1 / (rank + 1)
    populations = {
        "power law": _drawn(steep / steep.sum(), "power law", setting),
        "uniform": _drawn(np.full(EVEN, 1 / EVEN), "uniform", setting),
    }
    points: dict[str, list[dict[str, float]]] = {label: [] for label in populations}
    off: list[float] = []
    for label, eps in setting.track([(label, eps) for label in populations for eps in levels]):
        level_errors, deviations = _errors(populations[label], eps, setting)
        points[label].append(level_errors)
        off += deviations
    errors = {label: series(of_label) for label, of_label in points.items()}
    plots = tuple(
        Plot(
            f"{label}, {people.size:,} items, {PEOPLE:,} people", EPSILON, MSE,
            (
                *method_curves(levels, errors[label], ROLES, COMPARED),
                Curve(LABEL + SIMULATED, levels, errors[label][LABEL + SIMULATED], "ours", marks=True),
                Curve(FLOOR, levels, [total_error_bound(people.size, eps) for eps in levels], "bound"),
            ),
            log_y=True,
        )
        for label, people in populations.items()
    )  # fmt: skip
    even, one_nat, two_nats = errors["uniform"], levels.index(1.0), levels.index(2.0)
    verdict = (
        "Budgets by item reduce the error if few items are sensitive. If 5% of the items have the budget eps, 5% have "
        f"1.2 eps and the others 2 eps, IDUE has {even['IDUE'][one_nat] / even['OUE'][one_nat]:.0%} of OUE's total "
        f"error at 1 nat and {even['IDUE'][two_nats] / even['OUE'][two_nats]:.0%} at 2 nats. The total error of our "
        f"graded projective response is {even[LABEL][one_nat] / even['IDUE'][one_nat]:.2f} times IDUE's at 1 nat and "
        f"{even[LABEL][two_nats] / even['IDUE'][two_nats]:.2f} times at 2 nats. At 1 nat its reports have "
        f"{even['bits'][one_nat]:.0f} bits instead of {EVEN:,}."
    )
    return ExperimentResult(plots, _findings(levels, errors, off, setting.repeats), verdict)


def _drawn(distribution: Floats, label: str, setting: Setting) -> ItemHolders:
    """Return simulated people with one item each, drawn from ``distribution``."""
    return ItemHolders(
        np.arange(PEOPLE + 1),
        setting.generator.choice(len(distribution), size=PEOPLE, p=distribution),
        len(distribution),
        label,
    )


def _errors(people: ItemHolders, eps: float, setting: Setting) -> tuple[dict[str, float], list[float]]:
    """Return the total errors by name of the curve, with the "bits" of a report of graded projective response; and
    the distances of the simulated errors from the exact ones, in standard errors."""
    points = point_errors(people, eps, setting.generator)
    short = [total_error(survey.raw, people) for survey in repeated_surveys(people, 0, eps, LABEL, setting)]
    errors, off = {LABEL: points.mse, "bits": points.bits, LABEL + SIMULATED: fmean(short)}, []
    for name in ROLES:
        true = exact_errors(people, 0, eps, name)
        errors[name] = true.mse
        for kind, estimates in estimated(name, repeated_surveys(people, 0, eps, name, setting)).items():
            errors[kind] = fmean([total_error(estimate, people) for estimate in estimates])
        off.append(abs(errors[name + SIMULATED] - true.mse) * math.sqrt(setting.repeats) / true.spread)
    return errors, off


def _findings(
    levels: tuple[float, ...], errors: dict[str, dict[str, list[float]]], off: list[float], repeats: int
) -> tuple[Finding, ...]:
    power, even = errors["power law"], errors["uniform"]
    one_nat, two_nats = levels.index(1.0), levels.index(2.0)
    # Only the last term of eq. 7 depends on the distribution of values.
    classes = unary_channel(campaign(POWER, 0, 2.0, RECIPES["IDUE"]).channel)
    a, b = np.array(classes.own_weights) / S, np.array(classes.other_weights) / S
    last = (1 - a - b) / (a - b)
    reading = (last.max() - last.min()) / power["IDUE"][two_nats]
    better = max(
        min(first, second) / best - 1
        for of_label in (power, even)
        for first, second, best in zip(of_label["IDUE opt1"], of_label["IDUE opt2"], of_label["IDUE"], strict=True)
    )
    outperforms = all(
        idue < min(oue, rappor)
        for of_label in (power, even)
        for idue, oue, rappor in zip(of_label["IDUE"], of_label["OUE"], of_label["RAPPOR"], strict=True)
    )
    equal = [eps for eps, opt2, oue in zip(levels, even["IDUE opt2"], even["OUE"], strict=True) if opt2 > 0.999 * oue]
    same = f" from {equal[0]:g} nats on" if equal else " at no level"
    plain = _projective(EVEN, 2.0)
    return (
        Finding(
            "the simulated error is very close to eq. 7",
            f"{len(off)} errors, each the mean of {repeats} simulated surveys, differ from the exact expectation by at "
            f"most {max(off):.1f} standard errors, and by {fmean(off):.1f} on average",
            reason(max(off) < 5, "; simulated people answer through the integers of the campaign"),
        ),
        Finding(
            "IDUE outperforms RAPPOR and OUE",
            f"at 1 nat IDUE has {power['IDUE'][one_nat] / power['OUE'][one_nat]:.0%} (power law) and "
            f"{even['IDUE'][one_nat] / even['OUE'][one_nat]:.0%} (uniform) of OUE's error; RAPPOR has "
            f"{even['RAPPOR'][one_nat] / even['OUE'][one_nat]:.0%} of it (uniform)",
            reason(outperforms)
            + ". There is a limit: whatever the budgets of the other items are, no unbiased estimate from a "
            "unary encoding has less than a quarter of OUE's error for an item that nobody has. At 1 nat IDUE's error "
            f"is {even['IDUE'][one_nat] / total_error_bound(EVEN, 1.0):.2f} times the sum of this limit over all items "
            "(uniform)",
        ),
        Finding(
            "opt1 and opt2 are near-optimal",
            f"for uniform data, opt1 has {even['IDUE opt1'][one_nat] / even['IDUE'][one_nat] - 1:.0%} more error than "
            f"opt0 at 1 nat and {even['IDUE opt1'][-1] / even['IDUE'][-1] - 1:.0%} more at {levels[-1]:g} nats; opt2 "
            f"has {even['IDUE opt2'][one_nat] / even['IDUE'][one_nat] - 1:.0%} more at 1 nat and "
            f"{even['IDUE opt2'][-1] / even['IDUE'][-1] - 1:.0%} more at {levels[-1]:g} nats. Over all levels and "
            f"both distributions, even the better of the two has up to {better:.0%} more error than opt0",
            f"opt1 is near-optimal only at small levels, and opt2 has the error of OUE{same}. Opt0 can be solved in "
            "its convex form, so neither is needed",
        ),
        Finding(
            "the power law has exponent 2, scaled and rounded to 1 .. 100",
            "here the shares are proportional to 1/i - 1/(i+1). The assignment of the budgets to the items "
            f"changes the error of IDUE at 2 nats by at most {reading:.1%}",
            "the paper does not state the scaling; only the last term of eq. 7 depends on it, and the expectation "
            "does not if budgets are assigned at random",
        ),
        Finding(
            "(the estimate is the unbiased one)",
            "error of empirical Bayes as a percentage of that of the unbiased estimate from the same reports. "
            f"Uniform: {even[BAYES][one_nat] / even['IDUE'][one_nat]:.1%} at 1 nat and "
            f"{even[BAYES][two_nats] / even['IDUE'][two_nats]:.1%} at 2 nats with IDUE, "
            f"{even[PLAIN_BAYES][one_nat] / even['OUE'][one_nat]:.1%} at 1 nat with OUE. Power law: "
            f"{power[BAYES][one_nat] / power['IDUE'][one_nat]:.0%} at 1 nat and "
            f"{power[BAYES][two_nats] / power['IDUE'][two_nats]:.0%} at 2 nats with IDUE, "
            f"{power[PLAIN_BAYES][one_nat] / power['OUE'][one_nat]:.0%} at 1 nat with OUE",
            "empirical Bayes learns the typical size of a share from all items together; this changes the total "
            "error far more than any choice of a mechanism",
        ),
        Finding(
            "(the size of a report is not counted)",
            f"a report of IDUE or OUE has {EVEN:,} bits here. Under plain LDP at 2 nats, the error of projective "
            f"response is {plain[0]:.2f} times OUE's, and its reports have {plain[1]} bits",
            "a unary encoding needs a bit for each item",
        ),
        in_few_bits(even, EVEN, levels),
    )


def _projective(size: int, eps: float) -> tuple[float, int]:
    """Return the error of projective response at uniform shares divided by that of OUE, and its number of bits."""
    plain = simulated_people.campaign(simulated_people.values(size), Ldp(exact.level_from(eps)), "projective").channel
    unary = simulated_people.campaign(simulated_people.values(size), Ldp(exact.level_from(eps)), "oue").channel
    return expected_mse(plain) / expected_mse(unary), plain.output_bits

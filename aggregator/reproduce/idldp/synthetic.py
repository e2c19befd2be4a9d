"""Synthetic data: fig. 2 of Gu et al. 2020, with a power law and a uniform distribution.

Errors of unbiased estimates are computed exactly from the integers of the channel; marks are the means of simulated
surveys. The figure also shows empirical Bayes from the reports of these surveys, and a lower bound for all unary
encodings.
"""

from __future__ import annotations

import math

import numpy as np

from aggregator.estimate.error import expected_mse
from aggregator.families.decoder import Floats
from aggregator.reproduce import simulated_people
from aggregator.reproduce.experiment import ExperimentResult, Finding, Panel, Setting, series
from aggregator.reproduce.idldp.mechanisms import (
    BAYES,
    COMPARED,
    FLOOR,
    PLAIN_BAYES,
    RECIPES,
    ROLES,
    SIMULATED,
    bits,
    curve,
    estimated,
    exact_errors,
    method_curves,
    repeated,
)
from aggregator.reproduce.idldp.points import LABEL, in_few_bits, point_errors
from aggregator.reproduce.idldp.surveys import (
    EPSILON,
    FULL,
    MSE,
    SPARSE,
    ItemHolders,
    campaign,
    floor,
    mean,
    squared,
)
from protocol import exact
from protocol.channels.bits.channel import S
from protocol.notions import Ldp

PEOPLE = 100_000
"""Number of people."""
POWER, EVEN = 100, 1000
"""Numbers of items of the power law and of the uniform distribution."""


def figure_2(setting: Setting) -> ExperimentResult:
    """Compute expected and simulated errors of six mechanisms, for power-law and uniform data."""
    levels = SPARSE if setting.quick else FULL
    rank = np.arange(1, POWER + 1)
    steep = 1 / rank - 1 / (rank + 1)
    populations = {
        "power law": _drawn(steep / steep.sum(), "power law", setting),
        "uniform": _drawn(np.full(EVEN, 1 / EVEN), "uniform", setting),
    }
    found: dict[str, list[dict[str, float]]] = {label: [] for label in populations}
    off: list[float] = []
    for label, eps in setting.track([(label, eps) for label in populations for eps in levels]):
        each, deviations = _errors(populations[label], eps, setting)
        found[label].append(each)
        off += deviations
    errors = {label: series(each) for label, each in found.items()}
    panels = tuple(
        Panel(
            f"{label}, {people.size:,} items, {PEOPLE:,} people", EPSILON, MSE,
            (
                *method_curves(levels, errors[label], ROLES, COMPARED),
                curve(LABEL + SIMULATED, levels, errors[label][LABEL + SIMULATED], "ours", marks=True),
                curve(FLOOR, levels, [floor(people.size, eps) for eps in levels], "bound"),
            ),
            log_y=True,
        )
        for label, people in populations.items()
    )  # fmt: skip
    even, one, two = errors["uniform"], levels.index(1.0), levels.index(2.0)
    verdict = (
        "Budgets by item reduce the error if few items are sensitive. If 5% of the items have the budget eps, 5% have "
        f"1.2 eps and the others 2 eps, IDUE has {even['IDUE'][one] / even['OUE'][one]:.0%} of OUE's total error at "
        f"1 nat and {even['IDUE'][two] / even['OUE'][two]:.0%} at 2 nats. The total error of our graded projective "
        f"response is {even[LABEL][one] / even['IDUE'][one]:.2f} times IDUE's at 1 nat and "
        f"{even[LABEL][two] / even['IDUE'][two]:.2f} times at 2 nats. At 1 nat its reports have "
        f"{even['bits'][one]:.0f} bits instead of {EVEN:,}."
    )
    return ExperimentResult(panels, _findings(levels, errors, off, setting.repeats), verdict)


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
    short = [squared(each.raw, people) for each in repeated(people, 0, eps, LABEL, setting)]
    found, off = {LABEL: points.mse, "bits": points.bits, LABEL + SIMULATED: mean(short)}, []
    for name in ROLES:
        true = exact_errors(people, 0, eps, name)
        found[name] = true.mse
        for kind, estimates in estimated(name, repeated(people, 0, eps, name, setting)).items():
            found[kind] = mean([squared(each, people) for each in estimates])
        off.append(abs(found[name + SIMULATED] - true.mse) * math.sqrt(setting.repeats) / true.spread)
    return found, off


def _findings(
    levels: tuple[float, ...], errors: dict[str, dict[str, list[float]]], off: list[float], repeats: int
) -> tuple[Finding, ...]:
    power, even = errors["power law"], errors["uniform"]
    one, two = levels.index(1.0), levels.index(2.0)
    # Only the last term of eq. 7 depends on the distribution of values.
    classes = bits(campaign(POWER, 0, 2.0, RECIPES["IDUE"]).channel)
    own, other = np.array(classes.own_weights) / S, np.array(classes.other_weights) / S
    last = (1 - own - other) / (own - other)
    reading = (last.max() - last.min()) / power["IDUE"][two]
    better = max(
        min(first, second) / best - 1
        for found in (power, even)
        for first, second, best in zip(found["IDUE opt1"], found["IDUE opt2"], found["IDUE"], strict=True)
    )
    equal = [eps for eps, opt2, oue in zip(levels, even["IDUE opt2"], even["OUE"], strict=True) if opt2 > 0.999 * oue]
    same = f" from {equal[0]:g} nats on" if equal else " at no level"
    plain = _projective(EVEN, 2.0)
    return (
        Finding(
            "the simulated error is very close to eq. 7",
            f"{len(off)} errors, each the mean of {repeats} simulated surveys, differ from the exact expectation by at "
            f"most {max(off):.1f} standard errors, and by {mean(off):.1f} on average",
            "no difference; simulated people answer through the integers of the campaign",
        ),
        Finding(
            "IDUE outperforms RAPPOR and OUE",
            f"at 1 nat IDUE has {power['IDUE'][one] / power['OUE'][one]:.0%} (power law) and "
            f"{even['IDUE'][one] / even['OUE'][one]:.0%} (uniform) of OUE's error; RAPPOR has "
            f"{even['RAPPOR'][one] / even['OUE'][one]:.0%} of it (uniform)",
            "no difference. There is a limit: whatever the budgets of the other items are, no unbiased estimate from a "
            "unary encoding has less than a quarter of OUE's error for an item that nobody has. At 1 nat IDUE's error "
            f"is {even['IDUE'][one] / floor(EVEN, 1.0):.2f} times the sum of this limit over all items (uniform)",
        ),
        Finding(
            "opt1 and opt2 are near-optimal",
            f"for uniform data, opt1 has {even['IDUE opt1'][one] / even['IDUE'][one] - 1:.0%} more error than opt0 at "
            f"1 nat and {even['IDUE opt1'][-1] / even['IDUE'][-1] - 1:.0%} more at {levels[-1]:g} nats; opt2 has "
            f"{even['IDUE opt2'][one] / even['IDUE'][one] - 1:.0%} more at 1 nat and "
            f"{even['IDUE opt2'][-1] / even['IDUE'][-1] - 1:.0%} more at {levels[-1]:g} nats. Over all levels and both "
            f"distributions, even the better of the two has up to {better:.0%} more error than opt0",
            f"opt1 is near-optimal only at small levels, and opt2 has the error of OUE{same}. Opt0 can be solved in "
            "its convex form, so neither is needed",
        ),
        Finding(
            "the power law has exponent 2, scaled and rounded to 1 .. 100",
            "here the shares are proportional to 1/i - 1/(i+1). Which items get which budgets changes the error of "
            f"IDUE at 2 nats by {reading:.1%} at most",
            "the paper does not state the scaling; only the last term of eq. 7 depends on it, and the expectation "
            "does not if budgets are assigned at random",
        ),
        Finding(
            "(the estimate is the unbiased one)",
            "error of empirical Bayes as a percentage of that of the unbiased estimate from the same reports. "
            f"Uniform: {even[BAYES][one] / even['IDUE'][one]:.1%} at 1 nat and "
            f"{even[BAYES][two] / even['IDUE'][two]:.1%} at 2 nats with IDUE, "
            f"{even[PLAIN_BAYES][one] / even['OUE'][one]:.1%} at 1 nat with OUE. Power law: "
            f"{power[BAYES][one] / power['IDUE'][one]:.0%} at 1 nat and "
            f"{power[BAYES][two] / power['IDUE'][two]:.0%} at 2 nats with IDUE, "
            f"{power[PLAIN_BAYES][one] / power['OUE'][one]:.0%} at 1 nat with OUE",
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

"""The padding of sets: figs. 7 and 8 of Gu et al. 2020.

Padding to l multiplies the standard error of a count by about l and reduces the bias. The error of every l is computed
exactly for every level from the true sets, so the best l is found without simulated surveys. The paper leaves the
choice of l open; its two rules of thumb are compared with the best l.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from aggregator.families.bits import recipe as unary
from aggregator.families.decoder import Decoder
from aggregator.families.registry import decoder_of
from aggregator.planner.padding import Padding, choose_padding
from aggregator.reproduce.data import DataFolder
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, by_level
from aggregator.reproduce.idldp.mechanisms import (
    COMPARED,
    RECIPES,
    ROLES,
    exact_errors,
    partly_read_remark,
    read_baskets,
    repeated_surveys,
)
from aggregator.reproduce.idldp.surveys import ItemHolders, campaign, mean_relative_error
from protocol import exact

LEVELS = (1.0, 2.0, 4.0)
"""The levels in nats."""

LENGTHS, FEWER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30), (1, 2, 3, 5, 8, 12, 20)
"""The padding lengths that are compared, in a full and in a quick run."""


@dataclass(frozen=True)
class ItemSetData:
    """A data set of item sets, with the settings of its experiments.

    Attributes:
        name: the name of the data set in figures.
        k: the number of most frequent items whose mean relative error RE(k) is computed.
        longest: the largest padding that is tried.
        small: a padding that is small for this data set.
    """

    name: str
    k: int
    longest: int
    small: int

    def lengths(self, *, quick: bool) -> tuple[int, ...]:
        """Return the padding lengths that are compared."""
        return tuple(length for length in (FEWER if quick else LENGTHS) if length <= self.longest)

    def read(self, data: DataFolder) -> ItemHolders:
        """Return the people of the data set with their items."""
        return ItemHolders.of(read_baskets(data, self.name))


CLOTHING = ItemSetData("Clothing", 20, 8, 1)
KOSARAK = ItemSetData("Kosarak", 100, 30, 5)
RETAIL = ItemSetData("Retail", 100, 30, 5)


def planned(
    people: ItemHolders,
    sets: Sequence[tuple[int, ...]],
    eps: float,
    name: str,
    lengths: tuple[int, ...],
    *,
    unbiased: bool,
) -> Padding:
    """Return the planner's padding for the sets of all people, for the paper's unbiased estimate or for the default
    estimate."""

    def decoder(length: int) -> Decoder:
        if name == "OUE":
            return decoder_of(unary.oue(people.size + length, exact.level_from(eps))).uncorrected
        return decoder_of(campaign(people.size, length, eps, RECIPES[name]).channel).uncorrected

    return choose_padding(sets, people.size, decoder, len(people), lengths, unbiased=unbiased)


@dataclass(frozen=True)
class _ErrorsByLength:
    """Errors by level and padding.

    Attributes:
        lengths: the padding lengths that are compared.
        errors: RE(k) of each mechanism, by level, for each length.
        best_total: the length with the least total error of IDUE-PS, by level.
        plan: the planner's length for IDUE-PS and OUE-PS, by level.
        simulated: RE(k) of IDUE-PS in simulated surveys, by level, for each length.
    """

    lengths: tuple[int, ...]
    errors: dict[str, dict[float, list[float]]]
    best_total: dict[float, int]
    plan: dict[str, dict[float, int]]
    simulated: dict[float, list[float]]

    def error(self, eps: float, length: int) -> float:
        """Return RE(k) of IDUE-PS."""
        return self.errors["IDUE"][eps][self.lengths.index(length)]

    @property
    def best(self) -> dict[float, int]:
        """The length with the least RE(k) of IDUE-PS, by level."""
        return {eps: self.lengths[int(np.argmin(errors))] for eps, errors in self.errors["IDUE"].items()}


def paddings(lengths: Mapping[float, int]) -> str:
    """Return the padding lengths by level in nats, as text."""
    return by_level((f"l = {length}" for length in lengths.values()), lengths)


def by_length(data_set: ItemSetData, setting: Setting) -> ExperimentResult:
    """Compute RE(k) of a data set by padding and level."""
    people, k = data_set.read(setting.data), data_set.k
    comparison = _of_lengths(data_set, people, setting)
    lengths = comparison.lengths
    plots = tuple(
        Plot(
            f"{data_set.name}{', a part' if partly_read_remark(people) else ''}, eps = {eps:g}", "padding l",
            f"mean relative error, top {k}",
            (
                *(Curve(f"{name}-PS", lengths, comparison.errors[name][eps], ROLES[name]) for name in COMPARED),
                Curve("IDUE-PS, simulated", lengths, comparison.simulated[eps], "published", marks=True),
                Curve("the planner's l for IDUE-PS (least total error)", [comparison.plan["IDUE"][eps]],
                      [comparison.error(eps, comparison.plan["IDUE"][eps])], "optimum", marks=True),
            ),
        )
        for eps in LEVELS
    )  # fmt: skip
    low, high, average = LEVELS[0], LEVELS[-1], people.sizes.mean()
    verdict = (
        f"For {data_set.name}, whose sets have a mean size of {average:.1f}, the padding with the least total error is "
        f"{paddings({eps: comparison.plan['IDUE'][eps] for eps in (low, high)})}. For the {k} most frequent items "
        f"alone, it is {paddings({eps: comparison.best[eps] for eps in (low, high)})}."
    )
    return ExperimentResult(plots, _findings_by_length(data_set, people, comparison), verdict, people.label)


def _of_lengths(data_set: ItemSetData, people: ItemHolders, setting: Setting) -> _ErrorsByLength:
    lengths, sets, k = data_set.lengths(quick=setting.quick), people.sets(), data_set.k
    errors: dict[str, dict[float, list[float]]] = {name: {} for name in COMPARED}
    plan: dict[str, dict[float, int]] = {name: {} for name in ("OUE", "IDUE")}
    simulated: dict[float, list[float]] = {}
    best_total: dict[float, int] = {}
    for eps in setting.track(LEVELS):
        for name in COMPARED:
            errors_by_length = [exact_errors(people, length, eps, name) for length in lengths]
            errors[name][eps] = [length_errors.relative(k) for length_errors in errors_by_length]
            if name == "IDUE":
                best_total[eps] = lengths[int(np.argmin([length_errors.mse for length_errors in errors_by_length]))]
        for name, of_name in plan.items():
            of_name[eps] = planned(people, sets, eps, name, lengths, unbiased=True).length
        simulated[eps] = [
            fmean(
                [
                    mean_relative_error(survey.raw, people, k)
                    for survey in repeated_surveys(people, length, eps, "IDUE", setting)
                ]
            )
            for length in lengths
        ]
    return _ErrorsByLength(lengths, errors, best_total, plan, simulated)


def _findings_by_length(data_set: ItemSetData, people: ItemHolders, comparison: _ErrorsByLength) -> tuple[Finding, ...]:
    k, best, plan = data_set.k, comparison.best, comparison.plan
    average, upper = people.sizes.mean(), np.percentile(people.sizes, 90)
    chosen = {eps: comparison.error(eps, length) for eps, length in plan["IDUE"].items()}
    cut = exact_errors(people, data_set.small, LEVELS[-1], "IDUE").relative_bias(k)

    def words(numbers: Mapping[float, float]) -> str:
        return by_level((f"{number:.2f}" for number in numbers.values()), numbers)

    return (
        Finding(
            "the best l is larger at a larger eps",
            f"best for the RE({k}) of IDUE-PS: {paddings(best)}. Best for its total error: "
            f"{paddings(comparison.best_total)}",
            ("no difference" if best[LEVELS[0]] < best[LEVELS[-1]] else "at these levels the same l is best")
            + partly_read_remark(people),
        ),
        Finding(
            "l is best near the mean size at 4 nats, below it at 2; earlier work takes the 90th percentile",
            f"the mean size of the sets is {average:.1f}, the 90th percentile {upper:.0f}. The planner chooses "
            f"{paddings(plan['IDUE'])} for IDUE-PS; for OUE-PS it chooses {paddings(plan['OUE'])}",
            f"for RE({k}) the paper's rule is about right: the best is {paddings(best)}. Here the planner "
            "minimises the expected total error of the unbiased estimate, for this channel and number of people. "
            "(For a campaign it minimises that of the default estimate, whose best l is larger.) The chosen l is "
            + ("the exact optimum" if plan["IDUE"] == comparison.best_total else "not the exact optimum")
            + ". It is small, because the counts of the many rare items are mostly noise, whose variance grows with "
            "l^2",
        ),
        Finding(
            "with a small l (5 for Kosarak), RE hardly falls with eps",
            f"with l = {data_set.small}, the RE({k}) of IDUE-PS is "
            f"{words({eps: comparison.error(eps, data_set.small) for eps in LEVELS})}. Without any noise it would be "
            f"{cut:.2f}",
            "items left out of large sets cause a bias, which no budget removes; at the smaller levels there is also "
            "noise",
        ),
        Finding(
            "(l is left open: future work)",
            f"with the planner's l, the RE({k}) of IDUE-PS is {words(chosen)}; with the best l for RE({k}) it is "
            + words({eps: min(errors) for eps, errors in comparison.errors["IDUE"].items()}),
            "at the larger levels, the best padding for the most frequent items is larger than that for all items",
        ),
    )

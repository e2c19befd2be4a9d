"""Sets of items: figs. 6 to 8 of Gu et al. 2020, and the padding that the planner chooses.

Padding to l multiplies the noise by l and reduces the bias. The error of every l is computed exactly for every level,
so the best l is known before anybody has answered. The paper leaves the choice of l open; its two rules of thumb are
compared with the best l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.families.bits import recipe as unary
from aggregator.families.decoder import Decoder, Floats
from aggregator.families.registry import decoder_of
from aggregator.planner.padding import Padding, choose_padding
from aggregator.reproduce.data import DataFolder
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Panel, Setting
from aggregator.reproduce.idldp.single import COMPARED, RECIPES, ROLES, exactly, repeated, shown
from aggregator.reproduce.idldp.surveys import (
    EPSILON,
    MSE,
    ItemHolders,
    campaign,
    mean,
    precision,
    relative,
    squared,
)  # fmt: skip
from protocol import exact

LEVELS = (1.0, 2.0, 4.0)
"""The levels in nats of the figures that vary the padding."""

LENGTHS, FEWER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30), (1, 2, 3, 5, 8, 12, 20)
"""The padding lengths that are compared, in a full and in a quick run."""

PADDED = 2.0
"""Levels in nats at which sentences compare paddings."""

BAYES = "IDUE-PS, empirical Bayes"
PLAIN_BAYES = "OUE-PS, empirical Bayes"
FURTHER, PLAIN_FURTHER = f"{BAYES}, its best l", PLAIN_BAYES

CHANCE = 0.01
"""Smaller differences of mean precisions may be due to chance."""

BY_EPS, BY_K = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0), (10, 20, 30, 40, 50, 60, 80, 100)


@dataclass(frozen=True)
class Set:
    """A data set of item sets, with the settings of its experiments.

    Attributes:
        name: the name of the data set in figures.
        most: k of the RE(k) that is computed for this data set.
        longest: the largest padding that is tried.
        small: a padding that is small for this data set.
    """

    name: str
    most: int
    longest: int
    small: int

    def lengths(self, *, quick: bool) -> tuple[int, ...]:
        """Return the padding lengths that are compared."""
        return tuple(length for length in (FEWER if quick else LENGTHS) if length <= self.longest)

    def read(self, data: DataFolder) -> ItemHolders:
        """Return the people of the data set with their items."""
        found = {"Clothing": data.clothing, "Retail": data.retail, "Kosarak": data.kosarak}[self.name]()
        return ItemHolders.of(found)


CLOTHING = Set("Clothing", 20, 8, 1)
KOSARAK = Set("Kosarak", 100, 30, 5)
RETAIL = Set("Retail", 100, 30, 5)


def partly(people: ItemHolders) -> str:
    """Return a remark if only a part of the data was read."""
    return (
        ""
        if ", whole" in people.label
        else "; only a part of the data is used, so the figures are not comparable with the paper's"
    )


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
            return decoder_of(unary.oue(people.size + length, exact.level_from(eps))).plain
        return decoder_of(campaign(people.size, length, eps, RECIPES[name]).channel).plain

    return choose_padding(sets, people.size, decoder, len(people), lengths, unbiased=unbiased)


def _by_k(estimates: Sequence[Floats], people: ItemHolders, ks: Sequence[int]) -> list[tuple[float, float]]:
    """Return the mean precision and the mean RE over the estimates, for each k."""
    return [
        (
            mean([precision(each, people, k) for each in estimates]),
            mean([relative(each, people, k) for each in estimates]),
        )
        for k in ks
    ]


def _curves(
    x: Sequence[float], found: dict[str, list[tuple[float, float]]], true: dict[str, list[float]]
) -> tuple[tuple[Curve, ...], tuple[Curve, ...]]:
    """Return the curves of the simulated precision, and the curves of RE, which is exact except for empirical Bayes."""
    roles = {f"{name}-PS": ROLES[name] for name in COMPARED} | {PLAIN_BAYES: "server", BAYES: "ours"}
    precise = [shown(name, x, [one for one, _ in found[name]], role) for name, role in roles.items()]
    relatives = [shown(name, x, true.get(name, [two for _, two in found[name]]), role) for name, role in roles.items()]
    marks = shown("IDUE-PS, simulated", x, [two for _, two in found["IDUE-PS"]], "published", marks=True)
    return tuple(precise), (*relatives, marks)


def _measured(
    people: ItemHolders, length: int, eps: float, ks: Sequence[int], setting: Setting
) -> tuple[dict[str, list[tuple[float, float]]], dict[str, list[float]]]:
    """Return the simulated precision and RE of each mechanism and estimate by k, and the exact RE of each mechanism by
    k."""
    found: dict[str, list[tuple[float, float]]] = {}
    true: dict[str, list[float]] = {}
    for name in COMPARED:
        true[f"{name}-PS"] = [exactly(people, length, eps, name).relative(k) for k in ks]
        surveys = repeated(people, length, eps, name, setting)
        found[f"{name}-PS"] = _by_k([each.raw for each in surveys], people, ks)
        if name != "RAPPOR":
            found[f"{name}-PS, empirical Bayes"] = _by_k([each.shrunk for each in surveys], people, ks)
    return found, true


def _sides(found: dict[str, list[tuple[float, float]]], name: str, other: str, x: Sequence[float], label: str) -> str:
    """Return words for the settings where ``name`` is more precise than ``other`` by more than chance.

    Args:
        label: the format of a list of settings, with {} for the numbers.
    """
    more = [f"{at:g}" for at, (a, _), (b, _) in zip(x, found[name], found[other], strict=True) if a > b + CHANCE]
    if len(more) == len(x):
        return "everywhere"
    return f"only at {label.format(', '.join(more))}" if more else "nowhere"


def figure_6_eps(setting: Setting) -> ExperimentResult:
    """Compute precision and RE of the 20 most frequent items of Clothing by level, with l = 2."""
    length, most, many = 2, 20, 100
    people = CLOTHING.read(setting.data)
    found: dict[str, list[tuple[float, float]]] = {}
    wide: dict[str, list[tuple[float, float]]] = {}
    true: dict[str, list[float]] = {}
    for eps in setting.track(BY_EPS):
        measured, by_k = _measured(people, length, eps, (most, many), setting)
        for name, (of_most, of_many) in measured.items():
            found.setdefault(name, []).append(of_most)
            wide.setdefault(name, []).append(of_many)
        for name, each in by_k.items():
            true.setdefault(name, []).append(each[0])
    precise, relatives = _curves(BY_EPS, found, true)
    title = f"Clothing, l = {length}"
    panels = (
        Panel(f"{title}, top {most}", EPSILON, "precision", precise),
        Panel(f"{title}, top {many}", EPSILON, "precision", _curves(BY_EPS, wide, {})[0]),
        Panel(f"{title}, top {most}", EPSILON, "mean relative error", relatives, log_y=True),
    )
    at = {eps: place for place, eps in enumerate(BY_EPS)}

    def precise_at(name: str, eps: float) -> float:
        return found[name][at[eps]][0]

    findings = (
        Finding(
            "IDUE-PS has the smallest RE of the three",
            f"confirmed: at most {max(a / b for a, b in zip(true['IDUE-PS'], true['OUE-PS'], strict=True)):.0%} of "
            "OUE-PS's",
            f"k is not given for this side of the figure; it is {most} here, and {many} beside it",
        ),
        Finding(
            "at small levels its precision may be below OUE-PS's; at larger ones it is the highest",
            f"it is above OUE-PS's, by more than chance, {_sides(found, 'IDUE-PS', 'OUE-PS', BY_EPS, '{} nats')} for "
            f"the top {most}, and {_sides(wide, 'IDUE-PS', 'OUE-PS', BY_EPS, '{} nats')} for the top {many}. For the "
            f"top {most} it is "
            + ", ".join(
                f"{precise_at('IDUE-PS', eps):.2f} beside {precise_at('OUE-PS', eps):.2f} at {eps:g}"
                for eps in (1.0, 2.0, 4.0)
            )
            + " nats",
            "the best protected items have the noisiest counts, so some of them reach the top of a ranking of raw "
            "counts, above all if k is small; the paper does not give its k",
        ),
        Finding(
            "(the ranking is of the unbiased estimates)",
            "ranked by empirical Bayes, the same reports of IDUE-PS have a precision of "
            + ", ".join(f"{precise_at(BAYES, eps):.2f} at {eps:g}" for eps in (1.0, 2.0, 4.0))
            + " nats; by more than chance, it is above OUE-PS's "
            + _sides(found, BAYES, PLAIN_BAYES, BY_EPS, "{} nats"),
            "a posterior mean takes the noise of each item into account, so items with less budget no longer reach "
            "the top by noise; under OUE all counts are equally noisy, and the ranking stays the same",
        ),
    )
    verdict = (
        f"To name the {most} most frequent of {people.size:,} items, rank IDUE-PS by empirical Bayes: at 2 nats its "
        f"precision is {precise_at(BAYES, 2.0):.2f}; by raw counts it is {precise_at('IDUE-PS', 2.0):.2f}, and "
        f"that of OUE-PS {precise_at('OUE-PS', 2.0):.2f}."
    )
    return ExperimentResult(panels, findings, verdict, people.label)


def figure_6_k(setting: Setting) -> ExperimentResult:
    """Compute precision and RE by k of Clothing, with l = 2 at 3 nats."""
    length, eps = 2, 3.0
    people = CLOTHING.read(setting.data)
    ((found, true),) = (_measured(people, length, eps, BY_K, setting) for _ in setting.track((eps,)))
    precise, relatives = _curves(BY_K, found, true)
    title = f"Clothing, l = {length}, eps = {eps:g}"
    panels = (
        Panel(title, "k", "precision of the top k", precise),
        Panel(title, "k", "mean relative error, top k", relatives),
    )
    findings = (
        Finding(
            "with k of 10 or 20 the precision of IDUE-PS may be below OUE-PS's; with larger k it is the highest",
            "its precision is above OUE-PS's, by more than chance, "
            f"{_sides(found, 'IDUE-PS', 'OUE-PS', BY_K, 'k = {}')}; it is "
            + ", ".join(
                f"{found['IDUE-PS'][BY_K.index(k)][0]:.2f} beside {found['OUE-PS'][BY_K.index(k)][0]:.2f} at {k}"
                for k in (10, 20, 100)
            ),
            f"the level is not given for this side of the figure; it is {eps:g} nats here",
        ),
        Finding(
            "a larger k generally leads to a lower precision",
            f"IDUE-PS {found['IDUE-PS'][0][0]:.2f} at {BY_K[0]} and {found['IDUE-PS'][-1][0]:.2f} at {BY_K[-1]}, "
            f"OUE-PS {found['OUE-PS'][0][0]:.2f} and {found['OUE-PS'][-1][0]:.2f}",
            "the shares of items in the middle of the ranking are close to each other",
        ),
        Finding(
            "(the ranking is of the unbiased estimates)",
            "ranked by empirical Bayes, IDUE-PS has "
            + ", ".join(f"{found[BAYES][BY_K.index(k)][0]:.2f} at {k}" for k in (10, 20, 100))
            + f"; by more than chance, it is above OUE-PS's {_sides(found, BAYES, PLAIN_BAYES, BY_K, 'k = {}')}",
            "the limitation that the paper finds for its notion is caused by the ranking",
        ),
    )
    verdict = (
        f"At {eps:g} nats and k = {BY_K[-1]}, precision is {found[BAYES][-1][0]:.2f} for IDUE-PS ranked by empirical "
        f"Bayes, {found['IDUE-PS'][-1][0]:.2f} ranked by raw counts, {found['OUE-PS'][-1][0]:.2f} for OUE-PS."
    )
    return ExperimentResult(panels, findings, verdict, people.label)


def figure_7(setting: Setting) -> ExperimentResult:
    """Compute RE(20) of Clothing by padding and level."""
    return _by_length(CLOTHING, setting)


def figure_8(setting: Setting) -> ExperimentResult:
    """Compute RE(100) of Kosarak by padding and level."""
    return _by_length(KOSARAK, setting)


def figure_8_retail(setting: Setting) -> ExperimentResult:
    """Compute RE(100) of Retail; the paper reports similar results without a figure."""
    return _by_length(RETAIL, setting)


def _by_length(which: Set, setting: Setting) -> ExperimentResult:
    people, most = which.read(setting.data), which.most
    low, high = LEVELS[0], LEVELS[-1]
    lengths, sets = which.lengths(quick=setting.quick), people.sets()
    errors: dict[tuple[float, str], list[float]] = {}
    totals: dict[tuple[float, str], list[float]] = {}
    plan: dict[tuple[float, str], int] = {}
    simulated: dict[float, list[float]] = {}
    for eps in setting.track(LEVELS):
        for name in COMPARED:
            found = [exactly(people, length, eps, name) for length in lengths]
            errors[eps, name] = [one.relative(most) for one in found]
            totals[eps, name] = [one.mse for one in found]
        for name in ("OUE", "IDUE"):
            plan[eps, name] = planned(people, sets, eps, name, lengths, unbiased=True).length
        simulated[eps] = [
            mean([relative(each.raw, people, most) for each in repeated(people, length, eps, "IDUE", setting)])
            for length in lengths
        ]
    panels = tuple(
        Panel(
            f"{which.name}{', a part' if partly(people) else ''}, eps = {eps:g}", "padding l",
            f"mean relative error, top {most}",
            (
                *(shown(f"{name}-PS", lengths, errors[eps, name], ROLES[name]) for name in COMPARED),
                shown("IDUE-PS, simulated", lengths, simulated[eps], "published", marks=True),
                shown(
                    "the planner's l for IDUE-PS (least total error)", [plan[eps, "IDUE"]],
                    [errors[eps, "IDUE"][lengths.index(plan[eps, "IDUE"])]], "optimum", marks=True,
                ),
            ),
        )
        for eps in LEVELS
    )  # fmt: skip
    least = {eps: lengths[int(np.argmin(errors[eps, "IDUE"]))] for eps in LEVELS}
    chosen = {eps: errors[eps, "IDUE"][lengths.index(plan[eps, "IDUE"])] for eps in LEVELS}
    best_total = {eps: lengths[int(np.argmin(totals[eps, "IDUE"]))] for eps in LEVELS}
    cut = exactly(people, which.small, high, "IDUE").lost(most)
    average, upper = float(people.sizes.mean()), float(np.percentile(people.sizes, 90))

    def words(numbers: dict[float, float] | dict[float, int], form: str = "g") -> str:
        return ", ".join(f"{number:{form}} at {eps:g}" for eps, number in numbers.items())

    findings = (
        Finding(
            "the best l is larger at a larger eps",
            f"for RE({most}) of IDUE-PS: {words(least)} nats; for its total squared error: {words(best_total)}",
            ("no difference" if least[low] < least[high] else "at these levels the same l is best") + partly(people),
        ),
        Finding(
            "l is best near the mean size at 4 nats, below it at 2; earlier work takes the 90th percentile",
            f"the mean size is {average:.1f}, the 90th percentile {upper:.0f}; the planner takes "
            f"{words(_of(plan, 'IDUE'))} for IDUE-PS, {words(_of(plan, 'OUE'))} for OUE-PS",
            f"for RE({most}) the paper's rule is about right: {words(least)}. The planner's l has another aim, the "
            "least expected squared error of the unbiased estimate over all items, for this channel and number of "
            "people; "
            + ("it is the exact optimum" if _of(plan, "IDUE") == best_total else "it is not the exact optimum")
            + ", and smaller, because the counts of the many rare items are mostly noise, which grows with l^2",
        ),
        Finding(
            "with a small l (5 for Kosarak), RE hardly falls with eps",
            f"at l = {which.small}, IDUE-PS's RE({most}) is "
            + ", ".join(f"{errors[eps, 'IDUE'][lengths.index(which.small)]:.2f} at {eps:g}" for eps in LEVELS)
            + f" nats; without any noise it would be {cut:.2f}",
            "items left out of large sets cause a bias, which no budget removes; at the smaller levels there is also "
            "noise",
        ),
        Finding(
            "(l is left open: future work)",
            f"at the planner's l IDUE-PS's RE({most}) is {words(chosen, '.2f')} nats; at its best l "
            + words({eps: min(errors[eps, "IDUE"]) for eps in LEVELS}, ".2f"),
            "if only the most frequent items matter, a larger padding is better than for all items",
        ),
    )
    verdict = (
        f"For {which.name} the padding with the least total error is {plan[low, 'IDUE']} at {low:g} nat and "
        f"{plan[high, 'IDUE']} at {high:g} (mean size {average:.1f}); for the {most} most frequent items alone it is "
        f"{least[low]} and {least[high]}."
    )
    return ExperimentResult(panels, findings, verdict, people.label)


def _of(plan: dict[tuple[float, str], int], name: str) -> dict[float, int]:
    return {eps: length for (eps, of), length in plan.items() if of == name}


def padding(setting: Setting) -> ExperimentResult:
    """Compare IDUE-PS and OUE-PS on the three data sets, each with the planner's padding for its estimate."""
    levels = (1.0, 2.0, 4.0) if setting.quick else (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
    every = {which.name: which for which in (CLOTHING, RETAIL, KOSARAK)}
    crowds = {name: which.read(setting.data) for name, which in every.items()}
    sets = {name: people.sets() for name, people in crowds.items()}
    upper = {name: max(1, round(float(np.percentile(people.sizes, 90)))) for name, people in crowds.items()}
    found: dict[tuple[str, str], list[float]] = {}
    chosen: dict[tuple[str, str], list[int]] = {}

    def keep(label: str, name: str, error: float, length: int) -> None:
        found.setdefault((label, name), []).append(error)
        chosen.setdefault((label, name), []).append(length)

    for label, eps in setting.track([(label, eps) for label in every for eps in levels]):
        people, lengths = crowds[label], every[label].lengths(quick=setting.quick)
        for name in ("OUE", "IDUE"):
            length = planned(people, sets[label], eps, name, lengths, unbiased=True).length
            keep(label, f"{name}-PS", exactly(people, length, eps, name).mse, length)
        keep(label, "percentile", exactly(people, upper[label], eps, "IDUE").mse, upper[label])
        shrunk = {length: _shrunk(people, length, eps, "IDUE", setting) for length in lengths}
        furthest = min(shrunk, key=shrunk.__getitem__)
        length = planned(people, sets[label], eps, "IDUE", lengths, unbiased=False).length
        keep(label, BAYES, shrunk[length], length)
        keep(label, FURTHER, shrunk[furthest], furthest)
        keep(label, PLAIN_FURTHER, _shrunk(people, furthest, eps, "OUE", setting), furthest)
    nothing = {
        label: float((people.counts.astype(np.float64) ** 2).sum() / len(people)) for label, people in crowds.items()
    }
    panels = tuple(
        Panel(
            f"{label}{', a part' if partly(people) else ''}, {people.size:,} items", EPSILON, MSE,
            (
                shown("IDUE-PS, l of the 90th percentile", levels, found[label, "percentile"], "other"),
                shown("OUE-PS, planner's l", levels, found[label, "OUE-PS"], "ldp"),
                shown("IDUE-PS, planner's l", levels, found[label, "IDUE-PS"], "published"),
                shown(f"{BAYES}, planner's l", levels, found[label, BAYES], "ours"),
                shown(FURTHER, levels, found[label, FURTHER], "optimum"),
                shown(f"{PLAIN_FURTHER}, same l", levels, found[label, PLAIN_FURTHER], "server"),
                shown("every count estimated as 0", levels, [nothing[label]] * len(levels), "alone"),
            ),
            log_y=True,
        )
        for label, people in crowds.items()
    )  # fmt: skip
    one, at = levels.index(1.0), levels.index(PADDED)

    def part(label: str, name: str, other: str) -> float:
        return found[label, name][at] / found[label, other][at]

    def by_level(label: str, name: str) -> str:
        return ", ".join(f"{length} at {eps:g}" for length, eps in zip(chosen[label, name], levels, strict=True))

    findings = [
        Finding(
            f"(the padding of least error is left open) {label}",
            f"the planner's l for IDUE-PS is {by_level(label, 'IDUE-PS')} nats. At {PADDED:g} nats IDUE-PS then has "
            f"{part(label, 'IDUE-PS', 'percentile'):.1%} of its squared error with the 90th percentile, "
            f"{upper[label]}, and {part(label, 'IDUE-PS', 'OUE-PS'):.0%} of the error of OUE-PS with the planner's l "
            "for OUE-PS",
            "the noise grows with the square of l, and with thousands of items it outweighs the bias" + partly(people),
        )
        for label, people in crowds.items()
    ]
    findings += [
        Finding(
            "(the estimate is the unbiased one)",
            f"relative to the unbiased estimate's squared error at {PADDED:g} nats, empirical Bayes, the default, "
            "with the planner's l for it has "
            + ", ".join(f"{part(label, BAYES, 'IDUE-PS'):.0%} ({label})" for label in crowds),
            "empirical Bayes reduces the noise of rare items, so a larger l is better, which leaves out fewer items: "
            + "; ".join(f"{by_level(label, BAYES)} ({label})" for label in crowds),
        ),
        Finding(
            "(the planner predicts the error of empirical Bayes)",
            "the best padding for empirical Bayes in simulated surveys, among those tried, is "
            + "; ".join(f"{by_level(label, FURTHER)} ({label})" for label in crowds)
            + f". At {PADDED:g} nats it has "
            + ", ".join(f"{part(label, FURTHER, BAYES):.0%} ({label})" for label in crowds)
            + " of the squared error at the planner's l",
            "the planner uses no survey, only the sets and the expected noise; the least of several simulated errors "
            "is also smaller by chance",
        ),
        Finding(
            "IDUE-PS has less error than OUE-PS",
            f"with empirical Bayes for both and that best padding, its part of OUE-PS's error at {PADDED:g} nats is "
            + ", ".join(f"{part(label, FURTHER, PLAIN_FURTHER):.0%} ({label})" for label in crowds),
            f"these are means of {setting.repeats} surveys, and depend on which of the few large counts have the "
            "smallest budget; the padding and the estimate make far larger differences than the mechanism",
        ),
        Finding(
            "(the error is not compared with that of an estimate of zero)",
            "at 1 nat the unbiased counts of IDUE-PS have, with the planner's l, "
            + ", ".join(f"{found[label, 'IDUE-PS'][one] / nothing[label]:.2g} ({label})" for label in crowds)
            + " times the squared error of estimating every count as 0; empirical Bayes with the planner's l for "
            "it has " + ", ".join(f"{found[label, BAYES][one] / nothing[label]:.2g}" for label in crowds),
            "the total over thousands of items is mostly the noise of the many rare items",
        ),
    ]
    verdict = (
        f"For sets at {PADDED:g} nats, padded for least error, IDUE-PS has "
        + ", ".join(f"{part(label, 'IDUE-PS', 'OUE-PS'):.0%} ({label})" for label in crowds)
        + " of OUE-PS's squared error; empirical Bayes, with the padding that the planner chooses for it, has "
        + ", ".join(f"{part(label, BAYES, 'IDUE-PS'):.0%}" for label in crowds)
        + " of IDUE-PS's."
    )
    return ExperimentResult(panels, tuple(findings), verdict, "; ".join(people.label for people in crowds.values()))


def _shrunk(people: ItemHolders, length: int, eps: float, name: str, setting: Setting) -> float:
    """Return the simulated total squared error of empirical Bayes."""
    return mean([squared(each.shrunk, people) for each in repeated(people, length, eps, name, setting)])

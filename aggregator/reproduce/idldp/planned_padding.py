"""The padding that the planner chooses, for the unbiased estimate and for empirical Bayes, on three data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, series
from aggregator.reproduce.idldp.lengths import CLOTHING, KOSARAK, RETAIL, paddings, planned
from aggregator.reproduce.idldp.mechanisms import exact_errors, partly_read_remark, repeated_surveys
from aggregator.reproduce.idldp.surveys import EPSILON, MSE, ItemHolders, total_error

PADDED = 2.0
"""The level, in nats, at which the findings compare padding lengths."""

BAYES = "IDUE-PS, empirical Bayes"
BEST, PLAIN_BEST = f"{BAYES}, its best l", "OUE-PS, empirical Bayes"


@dataclass(frozen=True)
class _Paddings:
    """Total errors and padding lengths by data set, name of the estimate, and level."""

    levels: tuple[float, ...]
    errors: dict[str, dict[str, list[float]]]
    lengths: dict[str, dict[str, list[int]]]

    def part(self, label: str, name: str, other: str, eps: float = PADDED) -> float:
        """Return the ratio of the errors of two estimates."""
        place = self.levels.index(eps)
        return self.errors[label][name][place] / self.errors[label][other][place]

    def chosen(self, label: str, name: str) -> str:
        """Return the padding lengths of an estimate by level, as text."""
        return paddings(dict(zip(self.levels, self.lengths[label][name], strict=True)))


def padding(setting: Setting) -> ExperimentResult:
    """Compare IDUE-PS and OUE-PS on the three data sets, each with the planner's padding for its estimate."""
    levels = (1.0, 2.0, 4.0) if setting.quick else (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
    every = {data_set.name: data_set for data_set in (CLOTHING, RETAIL, KOSARAK)}
    populations = {name: data_set.read(setting.data) for name, data_set in every.items()}
    sets = {name: people.sets() for name, people in populations.items()}
    errors: dict[str, list[dict[str, float]]] = {label: [] for label in every}
    chosen: dict[str, list[dict[str, int]]] = {label: [] for label in every}
    for label, eps in setting.track([(label, eps) for label in every for eps in levels]):
        lengths = every[label].lengths(quick=setting.quick)
        level_errors, used = _padded(populations[label], sets[label], eps, lengths, setting)
        errors[label].append(level_errors)
        chosen[label].append(used)
    comparison = _Paddings(
        levels,
        {label: series(of_label) for label, of_label in errors.items()},
        {label: series(of_label) for label, of_label in chosen.items()},
    )
    part = comparison.part
    plots = tuple(
        Plot(
            f"{label}{', a part' if partly_read_remark(people) else ''}, {people.size:,} items", EPSILON, MSE,
            (
                Curve("IDUE-PS, l of the 90th percentile", levels, comparison.errors[label]["percentile"], "other"),
                Curve("OUE-PS, planner's l", levels, comparison.errors[label]["OUE-PS"], "ldp"),
                Curve("IDUE-PS, planner's l", levels, comparison.errors[label]["IDUE-PS"], "published"),
                Curve(f"{BAYES}, planner's l", levels, comparison.errors[label][BAYES], "ours"),
                Curve(BEST, levels, comparison.errors[label][BEST], "optimum"),
                Curve(f"{PLAIN_BEST}, same l", levels, comparison.errors[label][PLAIN_BEST], "server"),
                Curve("every count estimated as 0", levels, [_of_zero(people)] * len(levels), "alone"),
            ),
            log_y=True,
        )
        for label, people in populations.items()
    )  # fmt: skip
    verdict = (
        f"These percentages are for sets at {PADDED:g} nats, and each estimate has the padding that the planner "
        "chooses for it. IDUE-PS has "
        + ", ".join(f"{part(label, 'IDUE-PS', 'OUE-PS'):.0%} ({label})" for label in populations)
        + " of the total error of OUE-PS. For IDUE-PS, empirical Bayes has "
        + ", ".join(f"{part(label, BAYES, 'IDUE-PS'):.0%} ({label})" for label in populations)
        + " of the total error of the unbiased estimate."
    )
    label = "; ".join(people.label for people in populations.values())
    remark = (
        "For the unbiased estimate the planner chooses a small l: the squared error from noise grows with the square "
        "of l, and with thousands of items it outweighs the squared error from bias."
    )
    findings = _findings_of_padding(populations, comparison, setting.repeats)
    return ExperimentResult(plots, findings, verdict, label, remark)


def _padded(
    people: ItemHolders, sets: Sequence[tuple[int, ...]], eps: float, lengths: tuple[int, ...], setting: Setting
) -> tuple[dict[str, float], dict[str, int]]:
    """Return the total error and the padding length of each estimate."""
    errors, chosen = {}, {"percentile": _percentile(people)}
    for name in ("OUE", "IDUE"):
        length = planned(people, sets, eps, name, lengths, unbiased=True).length
        errors[f"{name}-PS"], chosen[f"{name}-PS"] = exact_errors(people, length, eps, name).mse, length
    errors["percentile"] = exact_errors(people, chosen["percentile"], eps, "IDUE").mse
    shrunk = {length: _shrunk(people, length, eps, "IDUE", setting) for length in lengths}
    best = min(shrunk, key=shrunk.__getitem__)
    length = planned(people, sets, eps, "IDUE", lengths, unbiased=False).length
    errors |= {BAYES: shrunk[length], BEST: shrunk[best]}
    errors[PLAIN_BEST] = _shrunk(people, best, eps, "OUE", setting)
    return errors, chosen | {BAYES: length, BEST: best, PLAIN_BEST: best}


def _percentile(people: ItemHolders) -> int:
    """Return the 90th percentile of the sizes of the sets, at least 1."""
    return max(1, round(float(np.percentile(people.sizes, 90))))


def _of_zero(people: ItemHolders) -> float:
    """Return the total error of estimating every count as 0."""
    return float((people.counts.astype(np.float64) ** 2).sum() / len(people))


def _findings_of_padding(
    populations: Mapping[str, ItemHolders], comparison: _Paddings, repeats: int
) -> tuple[Finding, ...]:
    part, chosen = comparison.part, comparison.chosen

    def to_zero(label: str, name: str) -> float:
        return comparison.errors[label][name][comparison.levels.index(1.0)] / _of_zero(populations[label])

    return (
        *(
            Finding(
                f"(the padding with the least error is left open; {label})",
                f"for IDUE-PS the planner chooses {chosen(label, 'IDUE-PS')}. At {PADDED:g} nats its total error is "
                f"{part(label, 'IDUE-PS', 'percentile'):.1%} of that with l = {_percentile(people)}, the 90th "
                f"percentile of the set sizes, and {part(label, 'IDUE-PS', 'OUE-PS'):.0%} of that of OUE-PS with the l "
                "that the planner chooses for OUE-PS",
                partly_read_remark(people).removeprefix("; "),
            )
            for label, people in populations.items()
        ),
        Finding(
            "(the estimate is the unbiased one)",
            f"at {PADDED:g} nats the total error of empirical Bayes, the default, is "
            + ", ".join(f"{part(label, BAYES, 'IDUE-PS'):.0%} ({label})" for label in populations)
            + " of that of the unbiased estimate. Each has the l that the planner chooses for it",
            "empirical Bayes reduces the noise of rare items, so for large sets a larger l is better, which leaves out "
            "fewer items. The planner chooses "
            + "; ".join(f"{chosen(label, BAYES)} ({label})" for label in populations),
        ),
        Finding(
            "(the planner predicts the error of empirical Bayes)",
            "the best padding for empirical Bayes in simulated surveys, among those tried, is "
            + "; ".join(f"{chosen(label, BEST)} ({label})" for label in populations)
            + f". At {PADDED:g} nats the total error with this padding is "
            + ", ".join(f"{part(label, BEST, BAYES):.0%} ({label})" for label in populations)
            + " of that with the planner's l",
            "the planner uses no survey, only the sets and the expected noise; the least of several simulated errors "
            "is also smaller by chance",
        ),
        Finding(
            "IDUE-PS has less error than OUE-PS",
            f"at {PADDED:g} nats, if both are estimated by empirical Bayes with the best padding of IDUE-PS in the "
            "simulated surveys, IDUE-PS has "
            + ", ".join(f"{part(label, BEST, PLAIN_BEST):.0%} ({label})" for label in populations)
            + " of the total error of OUE-PS",
            f"these are means of {repeats} surveys, and depend on which of the few large counts have the "
            "smallest budget. The padding and the estimate make far larger differences than the mechanism",
        ),
        Finding(
            "(the error is not compared with that of an estimate of zero)",
            "total error of IDUE-PS at 1 nat as a multiple of that of estimating every count as 0: unbiased counts "
            + ", ".join(f"{to_zero(label, 'IDUE-PS'):.2g} ({label})" for label in populations)
            + "; empirical Bayes "
            + ", ".join(f"{to_zero(label, BAYES):.2g} ({label})" for label in populations)
            + ". Each has the l that the planner chooses for it",
            "the total over thousands of items is mostly the noise of the many rare items",
        ),
    )


def _shrunk(people: ItemHolders, length: int, eps: float, name: str, setting: Setting) -> float:
    """Return the simulated total error of empirical Bayes."""
    return fmean(
        [total_error(survey.shrunk, people) for survey in repeated_surveys(people, length, eps, name, setting)]
    )

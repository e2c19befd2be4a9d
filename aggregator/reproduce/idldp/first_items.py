"""The first item of each person: figs. 3 to 5 of Gu et al. 2020, with Retail and Kosarak.

Errors of unbiased estimates are computed exactly from the integers of the channel, and those of empirical Bayes are
simulated. Marks are the means of simulated surveys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from aggregator.families.decoder import Floats
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, by_level, reason, series
from aggregator.reproduce.idldp.mechanisms import (
    BAYES,
    COMPARED,
    FLOOR,
    PLAIN_BAYES,
    SHRUNK,
    estimated,
    exact_errors,
    method_curves,
    partly_read_remark,
    read_baskets,
    repeated_surveys,
)
from aggregator.reproduce.idldp.points import LABEL, in_few_bits, point_errors
from aggregator.reproduce.idldp.surveys import (
    EPSILON,
    FULL,
    MSE,
    SPARSE,
    ExactErrors,
    ItemHolders,
    Parts,
    count_variation,
    mean_relative_error,
    most_frequent_items,
    total_error,
    total_error_bound,
)

BY_K = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


def _title(label: str, people: ItemHolders) -> str:
    return f"{label}, first items" + (", of a part" if partly_read_remark(people) else "")


def _measured(
    exact: Mapping[str, ExactErrors], estimates: Mapping[str, Sequence[Floats]], people: ItemHolders, k: int
) -> dict[tuple[str, str], float]:
    """Return the total error, "mse", and RE(k), "re", of each name in ``exact`` and in ``estimates``."""
    measures = {}
    for name, errors in exact.items():
        measures["mse", name], measures["re", name] = errors.mse, errors.relative(k)
    for name, every in estimates.items():
        measures["mse", name] = fmean([total_error(estimate, people) for estimate in every])
        measures["re", name] = fmean([mean_relative_error(estimate, people, k) for estimate in every])
    return measures


def _ratios(ours: Sequence[float], others: Sequence[float]) -> list[float]:
    return [first / other for first, other in zip(ours, others, strict=True)]


def _by_share(texts: Mapping[float, str]) -> str:
    """Return texts for shares of sensitive items as one text."""
    (share, text), *rest = texts.items()
    return ", ".join([f"{text} with {share:.0%} sensitive items", *(f"{more} with {part:.0%}" for part, more in rest)])


def errors_by_eps(label: str, setting: Setting) -> ExperimentResult:
    """Compute the total error and RE(20) by level, for the first items of Retail or of Kosarak."""
    people, k = ItemHolders.first(read_baskets(setting.data, label)), 20
    levels = SPARSE if setting.quick else FULL
    measures = series([_at_level(people, eps, k, setting) for eps in setting.track(levels)])
    squares, relatives = (
        {name: numbers for (kind, name), numbers in measures.items() if kind == measure} for measure in ("mse", "re")
    )
    bound = Curve(FLOOR, levels, [total_error_bound(people.size, eps) for eps in levels], "bound")
    plots = tuple(
        Plot(_title(label, people), EPSILON, y_label, curves, log_y=True)
        for y_label, curves in (
            (MSE, (*method_curves(levels, squares), bound)),
            (f"mean relative error, top {k}", method_curves(levels, relatives)),
        )
    )
    one_nat, two_nats, four_nats = (levels.index(eps) for eps in (1.0, 2.0, 4.0))

    def ratio(measure: str, name: str, other: str, index: int) -> float:
        return measures[measure, name][index] / measures[measure, other][index]

    worst = max(
        ratio(measure, "IDUE", other, index)
        for measure in ("mse", "re") for other in ("OUE", "RAPPOR") for index in range(len(levels))
    )  # fmt: skip
    findings = (
        Finding(
            "IDUE has the smallest total error and RE(20) at every level",
            ("confirmed" if worst < 1 else "not everywhere")
            + f": IDUE has {ratio('mse', 'IDUE', 'OUE', one_nat):.0%} of OUE's total error at 1 nat and "
            f"{ratio('mse', 'IDUE', 'OUE', four_nats):.0%} at 4 nats; it has "
            f"{ratio('re', 'IDUE', 'OUE', one_nat):.0%} of OUE's RE({k}) at 1 nat and "
            f"{ratio('re', 'IDUE', 'OUE', four_nats):.0%} at 4 nats",
            reason(worst < 1)
            + "; RE is averaged over random assignments of budgets to items"
            + partly_read_remark(people),
        ),
        Finding(
            "(the estimate is the unbiased one)",
            f"at 2 nats, empirical Bayes has {ratio('mse', BAYES, 'IDUE', two_nats):.2%} of the total error of the "
            f"unbiased estimate with IDUE's reports, and {ratio('mse', PLAIN_BAYES, 'OUE', two_nats):.2%} with OUE's "
            f"reports. But with IDUE's reports its RE({k}) is {measures['re', BAYES][two_nats]:.2f}, and that of the "
            f"unbiased estimate is {measures['re', 'IDUE'][two_nats]:.2f}",
            "most items are rare, and empirical Bayes estimates this; it keeps the frequent items whose counts exceed "
            "the noise, and shrinks the others to zero. Use the unbiased estimate for counts of frequent items, and "
            "empirical Bayes for the whole distribution",
        ),
        Finding(
            "(no consistent distribution is made)",
            "total variation from the truth: "
            + "; ".join(
                f"{name}: {by_level((f'{far[levels.index(eps)]:.2f}' for eps in (1.0, 2.0, 4.0)), (1.0, 2.0, 4.0))}"
                for name, far in (
                    ("empirical Bayes", measures["tv", BAYES]),
                    ("projection", measures["tv", "projected"]),
                )
            ),
            "halftruth offers both beside the unbiased estimate; its default for many values and much noise is "
            "empirical Bayes",
        ),
        in_few_bits(squares, people.size, levels),
    )
    verdict = (
        f"For the first items of {label} ({people.size:,} "
        f"items{'' if not partly_read_remark(people) else ', a part of the data'}) at 1 nat, IDUE has "
        f"{ratio('mse', 'IDUE', 'OUE', one_nat):.0%} of OUE's total error. With IDUE's reports, empirical Bayes has "
        f"{ratio('mse', BAYES, 'IDUE', one_nat):.1%} of the total error of the unbiased estimate, but its RE({k}) is "
        f"{measures['re', BAYES][one_nat]:.2f}, and that of the unbiased estimate is "
        f"{measures['re', 'IDUE'][one_nat]:.2f}: it shrinks many frequent items to zero as well."
    )
    return ExperimentResult(plots, findings, verdict, people.label)


def _at_level(people: ItemHolders, eps: float, k: int, setting: Setting) -> dict[tuple[str, str], float]:
    """Return the errors of ``_measured``, the total variation, "tv", of two distributions, and the "bits" of a report
    of graded projective response."""
    points = point_errors(people, eps, setting.generator)
    surveys = {name: repeated_surveys(people, 0, eps, name, setting) for name in SHRUNK}
    exact = {LABEL: points, **{name: exact_errors(people, 0, eps, name) for name in COMPARED}}
    estimates = {kind: every for name in SHRUNK for kind, every in estimated(name, surveys[name]).items()}
    return _measured(exact, estimates, people, k) | {
        ("mse", "bits"): points.bits,
        ("tv", BAYES): fmean([count_variation(survey.shrunk, people) for survey in surveys["IDUE"]]),
        ("tv", "projected"): fmean([count_variation(survey.projected, people) for survey in surveys["IDUE"]]),
    }


def errors_by_k(setting: Setting) -> ExperimentResult:
    """Compute RE(k) by k at 2 nats."""
    eps = 2.0
    populations = {label: ItemHolders.first(read_baskets(setting.data, label)) for label in ("Retail", "Kosarak")}
    relatives: dict[str, dict[str, list[float]]] = {}
    for label in setting.track(populations):
        people = populations[label]
        exact: dict[str, ExactErrors] = {LABEL: point_errors(people, eps, setting.generator)}
        estimates: dict[str, list[Floats]] = {}
        for name in COMPARED:
            exact[name] = exact_errors(people, 0, eps, name)
            estimates |= estimated(name, repeated_surveys(people, 0, eps, name, setting))
        relatives[label] = {name: [errors.relative(k) for k in BY_K] for name, errors in exact.items()}
        for kind, every in estimates.items():
            relatives[label][kind] = [
                fmean([mean_relative_error(estimate, people, k) for estimate in every]) for k in BY_K
            ]
    plots = tuple(
        Plot(
            f"{_title(label, people)}, eps = {eps:g}",
            "k",
            "mean relative error, top k",
            method_curves(BY_K, relatives[label]),
        )
        for label, people in populations.items()
    )
    parts = {label: _ratios(by_name["IDUE"], by_name["OUE"]) for label, by_name in relatives.items()}
    largest = max(map(max, parts.values()))
    short = {label: max(_ratios(by_name[LABEL], by_name["IDUE"])) for label, by_name in relatives.items()}
    crossing = {
        label: next(
            (k for k, part in zip(BY_K, _ratios(by_name[BAYES], by_name["IDUE"]), strict=True) if part < 1), None
        )
        for label, by_name in relatives.items()
    }
    findings = (
        Finding(
            "IDUE has the smallest RE for every k",
            ("confirmed" if largest < 1 else "not everywhere")
            + ": over all k, IDUE's RE is at most "
            + " and ".join(f"{max(ratios):.0%} ({label})" for label, ratios in parts.items())
            + " of OUE's",
            reason(largest < 1)
            + f"; the paper does not give the level of this figure, which is {eps:g} nats here"
            + partly_read_remark(populations["Kosarak"]).replace("; only", "; of Kosarak only"),
        ),
        Finding(
            "(the estimate is the unbiased one)",
            "; ".join(
                f"{label}: empirical Bayes has a smaller RE than the unbiased estimate "
                + (f"from k = {crossing[label]} on" if crossing[label] else "at no k")
                + f", and has {by_name[BAYES][-1] / by_name['IDUE'][-1]:.0%} of that RE at k = 100"
                for label, by_name in relatives.items()
            ),
            "an item that is shrunk to zero has a relative error of 1, however noisy its count is; unbiased counts of "
            "rarer items have a larger relative error",
        ),
        Finding(
            "(with budgets by item, a report has a bit for each item)",
            "over all k, the RE of our graded projective response is at most "
            + " and ".join(f"{ratio:.2f} ({label})" for label, ratio in short.items())
            + " times IDUE's",
            "a report is a point of a projective geometry, and not a bit vector",
        ),
    )
    verdict = (
        f"For the k most frequent items of Retail, IDUE has at most {max(parts['Retail']):.0%} of OUE's relative error "
        f"at {eps:g} nats, for every k from 10 to 100."
    )
    return ExperimentResult(plots, findings, verdict, "; ".join(people.label for people in populations.values()))


def errors_by_share(setting: Setting) -> ExperimentResult:
    """Compute the error with budgets eps and 2 eps, by the share of the items with the smaller budget."""
    k, eps = 50, 2.0
    people = ItemHolders.first(read_baskets(setting.data, "Retail"))
    shares = (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8) if setting.quick else (0.01, *(p / 20 for p in range(1, 20)))
    main, little = "IDUE, others at 2 eps", "IDUE, others at 1.2 eps"
    measures_by_share = []
    for share in setting.track(shares):
        parts: Parts = ((share, 1.0), (1 - share, 2.0))
        points = point_errors(people, eps, setting.generator, parts)
        exact: dict[str, ExactErrors] = {LABEL: points, main: exact_errors(people, 0, eps, "IDUE", parts)}
        exact |= {name: exact_errors(people, 0, eps, name, parts) for name in ("RAPPOR", "OUE")}
        exact[little] = exact_errors(people, 0, eps, "IDUE", ((share, 1.0), (1 - share, 1.2)))
        surveys = repeated_surveys(people, 0, eps, "IDUE", setting, parts)
        measures_by_share.append(_measured(exact, {BAYES: [survey.shrunk for survey in surveys]}, people, k))
    measures = series(measures_by_share)
    percent = [100 * share for share in shares]
    names = {"RAPPOR": "free", "OUE": "ldp", main: "published", little: "other", BAYES: "ours", LABEL: "ours"}
    plots = []
    for measure, y_label in (("mse", MSE), ("re", f"mean relative error, top {k}")):
        curves = [Curve(name, percent, measures[measure, name], role) for name, role in names.items()]
        if measure == "mse":
            curves.append(Curve(FLOOR, percent, [total_error_bound(people.size, eps)] * len(percent), "bound"))
        plots.append(
            Plot(
                f"{_title('Retail', people)}, eps = {eps:g}", "items of the smaller budget, percent", y_label,
                tuple(curves), log_y=measure == "mse",
            )
        )  # fmt: skip
    ratio, of_re = (_ratios(measures[measure, main], measures[measure, "OUE"]) for measure in ("mse", "re"))
    of_little = _ratios(measures["mse", little], measures["mse", "OUE"])
    in_points = _ratios(measures["mse", LABEL], measures["mse", main])
    place = {share: index for index, share in enumerate(shares)}
    top = most_frequent_items(people.counts, k)
    findings = (
        Finding(
            "IDUE gains more if fewer items are sensitive",
            "IDUE's total error as a percentage of OUE's: "
            + _by_share({share: f"{ratio[place[share]]:.0%}" for share in (0.01, 0.05, 0.1, 0.2)}),
            reason(all(fewer < more + 1e-6 for fewer, more in pairwise(ratio)))
            + "; no unbiased estimate from bits goes below "
            f"{total_error_bound(people.size, eps) / measures['mse', 'OUE'][0]:.0%} of OUE's error, however few items "
            "are sensitive",
        ),
        Finding(
            "with more than 40% of the items at the smaller budget IDUE is almost the same as OUE",
            "IDUE's total error as a percentage of OUE's: "
            + _by_share({share: f"{ratio[place[share]]:.1%}" for share in (0.4, 0.6, 0.8)})
            + f". IDUE's RE({k}) as a percentage of OUE's: "
            + _by_share({share: f"{of_re[place[share]]:.1%}" for share in (0.4, 0.6, 0.8)}),
            "the paper does not give the two budgets, the level and the data set of this figure; here the data set is "
            "Retail, and the budgets are 2 and 4 nats",
        ),
        Finding(
            "the level of a pair of inputs is at most twice the least budget (Lemma 1)",
            "IDUE's total error as a percentage of OUE's, if the other items have a budget of 1.2 eps instead of 2 "
            "eps: " + _by_share({share: f"{of_little[place[share]]:.0%}" for share in (0.01, 0.05, 0.2)}),
            "a pair with a sensitive item satisfies the smaller budget, whatever the budget of the other item is",
        ),
        Finding(
            "(with budgets by item, a report has a bit for each item)",
            "the ratio of the total error of our graded projective response to that of IDUE, if the other items have a "
            "budget of 2 eps: "
            + _by_share({share: f"{in_points[place[share]]:.2f}" for share in (0.01, 0.05, 0.2, 0.6)})
            + f". A report has {points.bits} bits instead of {people.size:,}",
            "a report is a point of a projective geometry, and not a bit vector",
        ),
        Finding(
            "(the estimate is the unbiased one)",
            f"with {shares[1]:.0%} sensitive items, empirical Bayes has "
            f"{measures['mse', BAYES][1] / measures['mse', main][1]:.1%} of the total error and "
            f"{measures['re', BAYES][1] / measures['re', main][1]:.0%} of the RE({k}) of the unbiased estimate",
            f"only {int(people.counts[top[-1]])} of {len(people):,} people have the item of rank {k}. The unbiased "
            "count of such an item is mostly noise, and empirical Bayes shrinks it nearly to zero",
        ),
    )
    verdict = (
        f"If all other items have twice the budget, the total error of IDUE at {eps:g} nats is smaller than OUE's by "
        f"{1 - ratio[place[0.05]]:.0%} with 5% sensitive items, by {1 - ratio[place[0.2]]:.0%} with 20%, and by "
        f"{1 - ratio[place[0.4]]:.0%} with 40%."
    )
    return ExperimentResult(tuple(plots), findings, verdict, people.label)

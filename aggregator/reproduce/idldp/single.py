"""One item for each person: figs. 2 to 5 of Gu et al. 2020.

Errors are computed exactly from the integers of the channel; simulated surveys are plotted as marks. The figures also
show empirical Bayes from the same reports, and a lower bound for all unary encodings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from aggregator.estimate.error import expected_mse
from aggregator.reproduce import crowd
from aggregator.reproduce.data import DataFolder
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Panel, Setting
from aggregator.reproduce.idldp.points import GRADED, LABEL, OfPoints, in_few_bits, of_points
from aggregator.reproduce.idldp.surveys import (
    EPSILON,
    FULL,
    MSE,
    SPARSE,
    USUAL,
    Exact,
    ItemHolders,
    Parts,
    Simulated,
    campaign,
    expected,
    floor,
    frequent,
    mean,
    relative,
    squared,
    survey,
    variation,
)  # fmt: skip
from protocol import exact
from protocol.channels import Bits, Channel
from protocol.channels.bits.channel import S
from protocol.notions import Ldp

ROLES = {"RAPPOR": "free", "OUE": "ldp", "IDUE": "published", "IDUE opt1": "other", "IDUE opt2": "other"}
"""Name and role of each mechanism's curve."""

RECIPES = {
    "RAPPOR": "rappor", "OUE": "oue", "IDUE": "idue", "IDUE opt1": "idue-opt1", "IDUE opt2": "idue-opt2", LABEL: GRADED,
}  # fmt: skip
UNARY = tuple(ROLES)
COMPARED = ("RAPPOR", "OUE", "IDUE")

BAYES = "IDUE, empirical Bayes"
PLAIN_BAYES = "OUE, empirical Bayes"
FLOOR = "lower bound of unbiased estimates from bits"
SIMULATED = ", simulated"

CROWD = 100_000
POWER, EVEN = 100, 1000
"""Synthetic data: number of people, and numbers of items."""

BY_K = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)


def bits(channel: Channel) -> Bits:
    """Return the channel as the channel of a unary encoding."""
    if not isinstance(channel, Bits):
        raise ValueError(f"a channel of bit vectors is expected, not {channel.family}")
    return channel


def repeated(
    people: ItemHolders, length: int, eps: float, name: str, setting: Setting, parts: Parts = USUAL
) -> list[Simulated]:
    """Return simulated surveys, one for each repetition of the setting."""
    terms = campaign(people.size, length, eps, RECIPES[name], parts)
    return [survey(people, length, terms, setting.generator) for _ in range(setting.repeats)]


def exactly(people: ItemHolders, length: int, eps: float, name: str, parts: Parts = USUAL) -> Exact:
    """Return the exact errors of a mechanism. OUE and RAPPOR have the same integers with and without dummies."""
    if name in ("RAPPOR", "OUE"):
        return expected(people, length, bits(campaign(people.size, 0, eps, RECIPES[name], parts).channel))
    return expected(people, length, bits(campaign(people.size, length, eps, RECIPES[name], parts).channel))


def shown(name: str, x: Iterable[float], y: Iterable[float], role: str, *, marks: bool = False) -> Curve:
    """Return a curve with the points (x, y)."""
    return Curve(name, tuple(map(float, x)), tuple(map(float, y)), role, marks)


def synthetic(
    size: int, law: np.ndarray[tuple[int, ...], np.dtype[np.float64]], label: str, setting: Setting
) -> ItemHolders:
    """Return simulated people with one item each, drawn from ``law``."""
    return ItemHolders(np.arange(CROWD + 1), setting.generator.choice(size, size=CROWD, p=law), size, label)


def figure_2(setting: Setting) -> ExperimentResult:
    """Compute expected and simulated errors of five mechanisms, for power-law and uniform data."""
    levels = SPARSE if setting.quick else FULL
    rank = np.arange(1, POWER + 1)
    steep = 1 / rank - 1 / (rank + 1)
    crowds = {
        "power law": synthetic(POWER, steep / steep.sum(), "power law", setting),
        "uniform": synthetic(EVEN, np.full(EVEN, 1 / EVEN), "uniform", setting),
    }
    errors: dict[tuple[str, str], list[float]] = {}
    points: dict[str, list[OfPoints]] = {}
    exactly_idue: dict[str, list[Exact]] = {}
    off: list[float] = []
    for label, eps in setting.track([(label, eps) for label in crowds for eps in levels]):
        people = crowds[label]
        points.setdefault(label, []).append(of_points(people, eps, setting.generator))
        errors.setdefault((label, LABEL), []).append(points[label][-1].mse)
        short = [squared(each.raw, people) for each in repeated(people, 0, eps, LABEL, setting)]
        errors.setdefault((label, LABEL + SIMULATED), []).append(mean(short))
        for name in UNARY:
            true = exactly(people, 0, eps, name)
            if name == "IDUE":
                exactly_idue.setdefault(label, []).append(true)
            errors.setdefault((label, name), []).append(true.mse)
            found = repeated(people, 0, eps, name, setting)
            simulated = mean([squared(each.raw, people) for each in found])
            errors.setdefault((label, name + SIMULATED), []).append(simulated)
            off.append(abs(simulated - true.mse) * math.sqrt(setting.repeats) / true.spread)
            if name in ("OUE", "IDUE"):
                shrunk = mean([squared(each.shrunk, people) for each in found])
                errors.setdefault((label, f"{name}, empirical Bayes"), []).append(shrunk)
    panels = tuple(
        Panel(
            f"{label}, {people.size:,} items, {CROWD:,} people", EPSILON, MSE,
            (
                *(shown(name, levels, errors[label, name], role) for name, role in ROLES.items()),
                *(
                    shown(name + SIMULATED, levels, errors[label, name + SIMULATED], ROLES[name], marks=True)
                    for name in COMPARED
                ),
                shown(PLAIN_BAYES, levels, errors[label, PLAIN_BAYES], "server"),
                shown(BAYES, levels, errors[label, BAYES], "ours"),
                shown(LABEL, levels, errors[label, LABEL], "ours"),
                shown(LABEL + SIMULATED, levels, errors[label, LABEL + SIMULATED], "ours", marks=True),
                shown(FLOOR, levels, [floor(people.size, eps) for eps in levels], "bound"),
            ),
            log_y=True,
        )
        for label, people in crowds.items()
    )  # fmt: skip
    one, two = levels.index(1.0), levels.index(2.0)

    def at(label: str, name: str, place: int) -> float:
        return errors[label, name][place]

    # Only the last term of eq. 7 depends on the distribution of values.
    classes = bits(campaign(POWER, 0, 2.0, RECIPES["IDUE"]).channel)
    own, other = np.array(classes.own) / S, np.array(classes.other) / S
    last = (1 - own - other) / (own - other)
    reading = (last.max() - last.min()) / at("power law", "IDUE", two)
    better = max(
        min(at(label, "IDUE opt1", place), at(label, "IDUE opt2", place)) / at(label, "IDUE", place) - 1
        for label in crowds for place in range(len(levels))
    )  # fmt: skip
    plain = _projective(EVEN, 2.0)
    findings = (
        Finding(
            "the simulated error is very close to eq. 7",
            f"{len(off)} means of {setting.repeats} surveys are within {max(off):.1f} standard errors of the exact "
            f"expectation, {mean(off):.1f} on average",
            "no difference; simulated people answer through the integers of the campaign",
        ),
        Finding(
            "IDUE outperforms RAPPOR and OUE",
            "at 1 nat, relative to OUE's error, IDUE has "
            f"{at('power law', 'IDUE', one) / at('power law', 'OUE', one):.0%} (power law) and "
            f"{at('uniform', 'IDUE', one) / at('uniform', 'OUE', one):.0%} (uniform), RAPPOR "
            f"{at('uniform', 'RAPPOR', one) / at('uniform', 'OUE', one):.0%}",
            "no difference. There is a limit: for any other budgets, no unbiased estimate from a unary "
            "encoding has less than a quarter of OUE's error of an item that nobody has. IDUE has "
            f"{at('uniform', 'IDUE', one) / floor(EVEN, 1.0):.2f} times that limit at 1 nat (uniform)",
        ),
        Finding(
            "opt1 and opt2 are near-optimal",
            f"opt1 has {at('uniform', 'IDUE opt1', one) / at('uniform', 'IDUE', one) - 1:.0%} more error than opt0 at "
            f"1 nat and {at('uniform', 'IDUE opt1', -1) / at('uniform', 'IDUE', -1) - 1:.0%} more at {levels[-1]:g}, "
            f"opt2 {at('uniform', 'IDUE opt2', one) / at('uniform', 'IDUE', one) - 1:.0%} and "
            f"{at('uniform', 'IDUE opt2', -1) / at('uniform', 'IDUE', -1) - 1:.0%} (uniform); even the better of the "
            f"two is up to {better:.0%} above opt0",
            "opt1 is near-optimal only at small levels, and opt2 is mostly the same as OUE. "
            "Opt0 can be solved in its convex form, so neither is needed",
        ),
        Finding(
            "the power law has exponent 2, scaled and rounded to 1 .. 100",
            "shares in proportion to 1/i - 1/(i+1); over all assignments of items, the error of IDUE at 2 nats differs "
            f"by {reading:.1%} at most",
            "the paper does not state the scaling; only the last term of eq. 7 depends on it, and the expectation "
            "does not if budgets are assigned at random",
        ),
        Finding(
            "(the estimate is the unbiased one)",
            "relative to the unbiased estimate's error, empirical Bayes from the same reports of IDUE has "
            f"{at('uniform', BAYES, one) / at('uniform', 'IDUE', one):.1%} at 1 nat and "
            f"{at('uniform', BAYES, two) / at('uniform', 'IDUE', two):.1%} at 2 (uniform), "
            f"{at('power law', BAYES, one) / at('power law', 'IDUE', one):.0%} and "
            f"{at('power law', BAYES, two) / at('power law', 'IDUE', two):.0%} (power law); from OUE's reports "
            f"{at('uniform', PLAIN_BAYES, one) / at('uniform', 'OUE', one):.1%} and "
            f"{at('power law', PLAIN_BAYES, one) / at('power law', 'OUE', one):.0%} at 1",
            "empirical Bayes learns the typical size of a share from all items together; this changes the total "
            "error far more than any choice of a mechanism",
        ),
        Finding(
            "(the size of a report is not counted)",
            f"a bit vector of IDUE or OUE has {EVEN:,} bits here; projective geometry at the least budget, plain LDP, "
            f"has {plain[0]:.2f} times OUE's error at 2 nats in {plain[1]} bits",
            "a unary encoding needs a bit for each item",
        ),
        in_few_bits(points["uniform"], exactly_idue["uniform"], EVEN, levels),
    )
    verdict = (
        "Budgets by item reduce the error if few items are sensitive: with 5% of them at eps, 5% at 1.2 eps and the "
        f"rest at 2 eps, IDUE has {at('uniform', 'IDUE', one) / at('uniform', 'OUE', one):.0%} of OUE's squared error "
        f"at 1 nat and {at('uniform', 'IDUE', two) / at('uniform', 'OUE', two):.0%} at 2; our graded projective "
        f"response has {at('uniform', LABEL, one) / at('uniform', 'IDUE', one):.2f} and "
        f"{at('uniform', LABEL, two) / at('uniform', 'IDUE', two):.2f} times IDUE's, in {points['uniform'][one].bits} "
        f"bits instead of {EVEN:,}."
    )
    return ExperimentResult(panels, findings, verdict)


def _projective(size: int, eps: float) -> tuple[float, int]:
    """Return the error of projective response at uniform shares divided by that of OUE, and its number of
    bits."""
    plain = crowd.campaign(crowd.values(size), Ldp(exact.level_from(eps)), "projective").channel
    unary = crowd.campaign(crowd.values(size), Ldp(exact.level_from(eps)), "oue").channel
    return expected_mse(plain) / expected_mse(unary), plain.output_bits


def _read(data: DataFolder, label: str) -> ItemHolders:
    return ItemHolders.first(data.retail() if label == "Retail" else data.kosarak())


def _partly(people: ItemHolders) -> str:
    return (
        ""
        if ", whole" in people.label
        else "; only a part of the data is used, so the figures are not comparable with the paper's"
    )


def _title(label: str, people: ItemHolders) -> str:
    return f"{label}, first items" + (", of a part" if _partly(people) else "")


def figure_3_retail(setting: Setting) -> ExperimentResult:
    """Compute the total error and RE(20) by level, for the first items of Retail."""
    return _figure_3("Retail", _read(setting.data, "Retail"), setting)


def figure_3_kosarak(setting: Setting) -> ExperimentResult:
    """Compute the total error and RE(20) by level, for the first items of Kosarak."""
    return _figure_3("Kosarak", _read(setting.data, "Kosarak"), setting)


def _figure_3(label: str, people: ItemHolders, setting: Setting) -> ExperimentResult:
    most = 20
    levels = SPARSE if setting.quick else FULL
    found: dict[tuple[str, str], list[float]] = {}

    def keep(what: str, name: str, number: float) -> None:
        found.setdefault((what, name), []).append(number)

    points: list[OfPoints] = []
    exactly_idue: list[Exact] = []
    for eps in setting.track(levels):
        points.append(of_points(people, eps, setting.generator))
        keep("mse", LABEL, points[-1].mse)
        keep("re", LABEL, points[-1].relative(most))
        for name in COMPARED:
            true = exactly(people, 0, eps, name)
            if name == "IDUE":
                exactly_idue.append(true)
            keep("mse", name, true.mse)
            keep("re", name, true.relative(most))
        for name in ("OUE", "IDUE"):
            simulated = repeated(people, 0, eps, name, setting)
            if name == "IDUE":
                keep("tv", BAYES, mean([variation(each.shrunk, people) for each in simulated]))
                keep("tv", "projected", mean([variation(each.projected, people) for each in simulated]))
            for kind, estimates in (
                (name + SIMULATED, [each.raw for each in simulated]),
                (f"{name}, empirical Bayes", [each.shrunk for each in simulated]),
            ):
                keep("mse", kind, mean([squared(each, people) for each in estimates]))
                keep("re", kind, mean([relative(each, people, most) for each in estimates]))
    panels = []
    for what, y_label in (("mse", MSE), ("re", f"mean relative error, top {most}")):
        curves = [shown(name, levels, found[what, name], ROLES[name]) for name in COMPARED]
        curves += [
            shown("IDUE" + SIMULATED, levels, found[what, "IDUE" + SIMULATED], "published", marks=True),
            shown(PLAIN_BAYES, levels, found[what, PLAIN_BAYES], "server"),
            shown(BAYES, levels, found[what, BAYES], "ours"),
            shown(LABEL, levels, found[what, LABEL], "ours"),
        ]
        if what == "mse":
            curves.append(shown(FLOOR, levels, [floor(people.size, eps) for eps in levels], "bound"))
        panels.append(Panel(_title(label, people), EPSILON, y_label, tuple(curves), log_y=True))
    one, two, four = (levels.index(eps) for eps in (1.0, 2.0, 4.0))

    def part(what: str, name: str, of: str, place: int) -> float:
        return found[what, name][place] / found[what, of][place]

    worst = max(
        part(what, "IDUE", other, place)
        for what in ("mse", "re") for other in ("OUE", "RAPPOR") for place in range(len(levels))
    )  # fmt: skip
    findings = (
        Finding(
            "IDUE has the smallest total error and RE(20) at every level",
            ("confirmed" if worst < 1 else "not everywhere")
            + f": it has {part('mse', 'IDUE', 'OUE', one):.0%} of OUE's total error at 1 nat and "
            f"{part('mse', 'IDUE', 'OUE', four):.0%} at 4, and {part('re', 'IDUE', 'OUE', one):.0%} and "
            f"{part('re', 'IDUE', 'OUE', four):.0%} of OUE's RE({most})",
            "no difference; RE is averaged over random assignments of budgets to items" + _partly(people),
        ),
        Finding(
            "(the estimate is the unbiased one)",
            f"empirical Bayes from IDUE's reports has {part('mse', BAYES, 'IDUE', two):.2%} of its total error at 2 "
            f"nats, from OUE's {part('mse', PLAIN_BAYES, 'OUE', two):.2%}; but an RE({most}) of "
            f"{found['re', BAYES][two]:.2f} instead of {found['re', 'IDUE'][two]:.2f}",
            "most items are rare, and empirical Bayes estimates this; it keeps the frequent items whose counts exceed "
            "the noise, and shrinks the others to zero. Use the unbiased estimate for counts of frequent items, and "
            "empirical Bayes for the whole distribution",
        ),
        Finding(
            "(no consistent distribution is made)",
            "total variation from the truth by empirical Bayes and by projection: "
            + ", ".join(
                f"{found['tv', BAYES][place]:.2f} and {found['tv', 'projected'][place]:.2f} at {levels[place]:g}"
                for place in (one, two, four)
            )
            + " nats",
            "halftruth offers both beside the unbiased estimate; its default for many values and much noise is "
            "empirical Bayes",
        ),
        in_few_bits(points, exactly_idue, people.size, levels),
    )
    verdict = (
        f"On first items of {label} ({people.size:,} items{'' if not _partly(people) else ', a part of the data'}), "
        f"IDUE has {part('mse', 'IDUE', 'OUE', one):.0%} of OUE's squared error at 1 nat; empirical Bayes has "
        f"{part('mse', BAYES, 'IDUE', one):.1%} of that of IDUE, but estimates frequent items near zero, too."
    )
    return ExperimentResult(tuple(panels), findings, verdict, people.label)


def figure_4(setting: Setting) -> ExperimentResult:
    """Compute RE(k) by k at 2 nats."""
    eps = 2.0
    crowds = {label: _read(setting.data, label) for label in ("Retail", "Kosarak")}
    found: dict[tuple[str, str], list[float]] = {}
    for label in setting.track(crowds):
        people = crowds[label]
        points = of_points(people, eps, setting.generator)
        found[label, LABEL] = [points.relative(most) for most in BY_K]
        for name in COMPARED:
            true = exactly(people, 0, eps, name)
            found[label, name] = [true.relative(most) for most in BY_K]
            simulated = repeated(people, 0, eps, name, setting)
            for kind, estimates in (
                (name + SIMULATED, [each.raw for each in simulated]),
                (f"{name}, empirical Bayes", [each.shrunk for each in simulated]),
            ):
                found[label, kind] = [mean([relative(each, people, most) for each in estimates]) for most in BY_K]
    panels = tuple(
        Panel(
            f"{_title(label, people)}, eps = {eps:g}", "k", "mean relative error, top k",
            (
                *(shown(name, BY_K, found[label, name], ROLES[name]) for name in COMPARED),
                shown("IDUE" + SIMULATED, BY_K, found[label, "IDUE" + SIMULATED], "published", marks=True),
                shown(PLAIN_BAYES, BY_K, found[label, PLAIN_BAYES], "server"),
                shown(BAYES, BY_K, found[label, BAYES], "ours"),
                shown(LABEL, BY_K, found[label, LABEL], "ours"),
            ),
        )
        for label, people in crowds.items()
    )  # fmt: skip
    parts = {label: [a / b for a, b in zip(found[label, "IDUE"], found[label, "OUE"], strict=True)] for label in crowds}
    short = {
        label: max(a / b for a, b in zip(found[label, LABEL], found[label, "IDUE"], strict=True)) for label in crowds
    }
    crossing = {
        label: next((k for k, a, b in zip(BY_K, found[label, BAYES], found[label, "IDUE"], strict=True) if a < b), None)
        for label in crowds
    }
    findings = (
        Finding(
            "IDUE has the smallest RE for every k",
            ("confirmed" if max(map(max, parts.values())) < 1 else "not everywhere")
            + ": relative to OUE's, it is "
            + ", ".join(f"at most {max(each):.0%} ({label})" for label, each in parts.items()),
            f"no difference; the paper does not give the level of this figure, which is {eps:g} nats here"
            + _partly(crowds["Kosarak"]).replace("; a", "; of Kosarak a"),
        ),
        Finding(
            "(the estimate is the unbiased one)",
            "empirical Bayes has the smaller RE "
            + ", ".join(f"from k = {k} on ({label})" if k else f"at no k ({label})" for label, k in crossing.items())
            + "; at k = 100 it has "
            + ", ".join(f"{found[label, BAYES][-1] / found[label, 'IDUE'][-1]:.0%} ({label})" for label in crowds),
            "an item that is shrunk to zero has a relative error of one, however noisy its count; unbiased counts of "
            "rarer items have a larger one",
        ),
        Finding(
            "(budgets by item take a bit for each item)",
            "the ratio of the REs of our graded projective response and of IDUE is, over all k, "
            + ", ".join(f"at most {most:.2f} ({label})" for label, most in short.items()),
            "a report is a point of a projective geometry, and not a bit vector",
        ),
    )
    best = parts["Retail"]
    verdict = (
        f"For frequent items, IDUE has at most {max(best):.0%} of OUE's relative error at {eps:g} nats, for every k "
        "(Retail, k = 10 to 100)."
    )
    return ExperimentResult(panels, findings, verdict, "; ".join(people.label for people in crowds.values()))


def figure_5(setting: Setting) -> ExperimentResult:
    """Compute the error with budgets eps and 2 eps, by the share of the items with the smaller budget."""
    most, eps = 50, 2.0
    people = ItemHolders.first(setting.data.retail())
    shares = (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8) if setting.quick else (0.01, *(p / 20 for p in range(1, 20)))
    cases: tuple[tuple[str, float, str], ...] = (("2 eps", 2.0, "published"), ("1.2 eps", 1.2, "other"))
    measures: dict[str, Callable[[Exact], float]] = {"mse": lambda one: one.mse, "re": lambda one: one.relative(most)}
    found: dict[tuple[str, str], list[float]] = {}
    for share in setting.track(shares):
        points = of_points(people, eps, setting.generator, ((share, 1.0), (1 - share, 2.0)))
        for what, number in (("mse", points.mse), ("re", points.relative(most))):
            found.setdefault((what, LABEL), []).append(number)
        for of, times, _ in cases:
            parts: Parts = ((share, 1.0), (1 - share, times))
            for name in COMPARED if times == 2 else ("IDUE",):
                true = exactly(people, 0, eps, name, parts)
                for what, measure in measures.items():
                    found.setdefault((what, f"IDUE, others at {of}" if name == "IDUE" else name), []).append(
                        measure(true)
                    )
        simulated = repeated(people, 0, eps, "IDUE", setting, ((share, 1.0), (1 - share, 2.0)))
        found.setdefault(("mse", BAYES), []).append(mean([squared(each.shrunk, people) for each in simulated]))
        found.setdefault(("re", BAYES), []).append(mean([relative(each.shrunk, people, most) for each in simulated]))
    percent = [100 * share for share in shares]
    names = {"RAPPOR": "free", "OUE": "ldp", **{f"IDUE, others at {of}": role for of, _, role in cases}, BAYES: "ours"}
    names[LABEL] = "ours"
    panels = []
    for what, y_label in (("mse", MSE), ("re", f"mean relative error, top {most}")):
        curves = [shown(name, percent, found[what, name], role) for name, role in names.items()]
        if what == "mse":
            curves.append(shown(FLOOR, percent, [floor(people.size, eps)] * len(percent), "bound"))
        panels.append(
            Panel(
                f"{_title('Retail', people)}, eps = {eps:g}", "items of the smaller budget, percent", y_label,
                tuple(curves), log_y=what == "mse",
            )
        )  # fmt: skip
    main = "IDUE, others at 2 eps"
    ratio = [a / b for a, b in zip(found["mse", main], found["mse", "OUE"], strict=True)]
    of_re = [a / b for a, b in zip(found["re", main], found["re", "OUE"], strict=True)]
    little = [a / b for a, b in zip(found["mse", "IDUE, others at 1.2 eps"], found["mse", "OUE"], strict=True)]
    at = {share: place for place, share in enumerate(shares)}
    top = frequent(people.counts, most)
    findings = (
        Finding(
            "IDUE gains more if fewer items are sensitive",
            "its part of OUE's total error is "
            + ", ".join(f"{ratio[at[share]]:.0%} with {share:.0%}" for share in (0.01, 0.05, 0.1, 0.2)),
            "no difference; no unbiased estimate from bits goes below "
            f"{floor(people.size, eps) / found['mse', 'OUE'][0]:.0%}, however few items are sensitive",
        ),
        Finding(
            "with more than 40% of the items at the smaller budget IDUE is almost the same as OUE",
            "IDUE's part of OUE's total error is "
            + ", ".join(f"{ratio[at[share]]:.1%} with {share:.0%}" for share in (0.4, 0.6, 0.8))
            + f"; of OUE's RE({most}) "
            + ", ".join(f"{of_re[at[share]]:.1%}" for share in (0.4, 0.6, 0.8)),
            "the paper does not give the two budgets, the level and the data set of this figure: here Retail, 2 "
            "and 4 nats",
        ),
        Finding(
            "a pair of inputs gains twice the least budget at most (Lemma 1)",
            "the gain is seldom so large: if the other items have 1.2 eps instead of 2 eps, IDUE's part of OUE's "
            "total error is " + ", ".join(f"{little[at[share]]:.0%} with {share:.0%}" for share in (0.01, 0.05, 0.2)),
            "a pair with a sensitive item keeps the smaller budget, whatever the budget of the other item is",
        ),
        Finding(
            "(budgets by item take a bit for each item)",
            "the ratio of the total errors of our graded projective response and of IDUE is "
            + ", ".join(
                f"{found['mse', LABEL][at[share]] / found['mse', main][at[share]]:.2f} with {share:.0%}"
                for share in (0.01, 0.05, 0.2, 0.6)
            )
            + f" sensitive items, the others at 2 eps, in {points.bits} bits instead of {people.size:,}",
            "a report is a point of a projective geometry, and not a bit vector",
        ),
        Finding(
            "(the estimate is the unbiased one)",
            f"empirical Bayes has {found['mse', BAYES][1] / found['mse', main][1]:.1%} of the total error with "
            f"{shares[1]:.0%}; of RE({most}) {found['re', BAYES][1] / found['re', main][1]:.0%}",
            f"{int(people.counts[top[-1]])} of {len(people):,} people have the item of rank {most}",
        ),
    )
    verdict = (
        f"At {eps:g} nats IDUE saves {1 - ratio[at[0.05]]:.0%} of OUE's squared error with 5% sensitive items, "
        f"{1 - ratio[at[0.2]]:.0%} with 20%, {1 - ratio[at[0.4]]:.0%} with 40%, if all others have twice the budget."
    )
    return ExperimentResult(tuple(panels), findings, verdict, people.label)

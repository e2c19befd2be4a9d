"""Experiments with several values: sums (figs. 6a, 6b) and the histogram (fig. 7).

The best channel depends on the question, so each figure has a different legal optimum: a linear program for the sum
(``summation``), and the planner's choice for the histogram.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aggregator.estimate.error import expected_mse, lip_mse, lip_mse_bound, prior_mse
from aggregator.families.bits.recipe import oue
from aggregator.families.mechanism import Question
from aggregator.families.response.recipe import published_lip_response, randomized_response
from aggregator.planner.choice import Candidate, candidates
from aggregator.reproduce import crowd
from aggregator.reproduce.crowd import level
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Panel, Setting, parted
from aggregator.reproduce.lip.published import (
    BROKEN,
    EPSILON,
    ERROR,
    FULL,
    SPARSE,
    keeps,
    legal_from,
    published,
    roots,
    true_level,
)  # fmt: skip
from aggregator.reproduce.lip.summation import best_for_sum, sum_mse
from protocol.channels import Channel
from protocol.notions import Information, Ldp


def figure_6a(setting: Setting) -> ExperimentResult:
    size, people = 5, 40 if setting.quick else 500
    levels = SPARSE if setting.quick else FULL
    priors = [
        tuple((1 + 999_999 * setting.generator.dirichlet(np.ones(size))).astype(int).tolist()) for _ in range(people)
    ]
    f = range(size)
    names = ("published", "half", "ldp", "best", "best half")
    errors: dict[str, list[float]] = {name: [] for name in names}
    kept: list[float] = []
    worst: list[float] = []
    for eps in setting.track(levels):
        made: dict[str, list[Channel]] = {
            "published": [published_lip_response(prior, level(eps)) for prior in priors],
            "half": [published_lip_response(prior, level(eps / 2)) for prior in priors],
            "ldp": [randomized_response(size, level(eps))] * people,
            "best": [best_for_sum(prior, f, level(eps)) for prior in priors],
            "best half": [best_for_sum(prior, f, level(eps / 2)) for prior in priors],
        }
        for name, channels in made.items():
            each = [sum_mse(channel, prior, f) for channel, prior in zip(channels, priors, strict=True)]
            errors[name].append(float(np.mean(each)))
        true = [true_level(channel, prior) for channel, prior in zip(made["published"], priors, strict=True)]
        kept.append(sum(one <= eps for one in true) / people)
        worst.append(max(true))
    panel = Panel(
        f"{size} values, {people} people, random priors", EPSILON, ERROR,
        (
            Curve("LDP, MMSE", levels, roots(errors["ldp"]), "ldp"),
            *parted("published LIP", levels, roots(errors["published"]), [all_of == 1 for all_of in kept], "eps-LIP"),
            *parted("published LIP at eps/2", levels, roots(errors["half"]), _legal_half(priors, levels), "eps/2-LIP"),
            Curve("legal optimum at eps/2", levels, roots(errors["best half"]), "ours"),
            Curve("legal optimum", levels, roots(errors["best"]), "optimum"),
            Curve("prior alone", levels, (math.sqrt(_mean_variance(priors)),) * len(levels), "alone"),
        ),
        log_y=True,
    )  # fmt: skip
    at = {eps: place for place, eps in enumerate(levels)}
    halves = [eps for eps, half, ldp in zip(levels, errors["best half"], errors["ldp"], strict=True) if half < ldp]
    findings = (
        Finding(
            "the published channel is eps-LIP for every random prior",
            f"it is eps-LIP for {kept[at[1.0]]:.0%} of {people} people at 1 nat, {kept[at[2.0]]:.0%} at 2, "
            f"{kept[at[4.0]]:.0%} at 4; the worst has a true level of {worst[at[1.0]]:.2f} nats at 1",
            f"{BROKEN}, and one of five random shares is mostly small",
        ),
        Finding(
            "eps/2-LIP has less error than eps-LDP",
            "the legal optimum at eps/2 has less error " + _spans(halves, levels),
            "for a sum there are legal channels nearly as good as the published one: at 1 nat the error is "
            f"{math.sqrt(errors['best'][at[1.0]]):.3f}, and that of the published one "
            f"{math.sqrt(errors['published'][at[1.0]]):.3f}",
        ),
    )
    verdict = (
        f"For sums of {size} values LIP has less error than LDP: at 1 nat the legal optimum has "
        f"{math.sqrt(errors['best'][at[1.0]] / errors['ldp'][at[1.0]]):.0%} of the error of k-ary LDP with the same "
        "priors."
    )
    return ExperimentResult((panel,), findings, verdict)


def _legal_half(priors: Sequence[Sequence[int]], levels: Sequence[float]) -> list[bool]:
    return [
        all(keeps(published_lip_response(prior, level(eps / 2)), prior, eps / 2) for prior in priors) for eps in levels
    ]


def _mean_variance(priors: Sequence[Sequence[int]]) -> float:
    """Return the mean over people of the prior variance of a value 0 .. k - 1."""
    found = []
    for prior in priors:
        law, f = np.array(prior) / sum(prior), np.arange(len(prior))
        found.append(float(law @ f**2 - (law @ f) ** 2))
    return float(np.mean(found))


def _spans(chosen: Sequence[float], levels: Sequence[float]) -> str:
    """Return words for the levels ``chosen`` among the plotted levels."""
    if len(chosen) == len(levels):
        return "at every level drawn"
    return f"at {', '.join(f'{eps:g}' for eps in chosen)} nats" if chosen else "at no level drawn"


def figure_6b(setting: Setting) -> ExperimentResult:
    eps = 1.0
    sizes = tuple(range(2, 21))
    names = ("published", "half", "ldp", "best", "best half")
    errors: dict[str, list[float]] = {name: [] for name in names}
    true: list[float] = []
    for size in setting.track(sizes):
        prior, f = (1,) * size, range(size)
        made: dict[str, Channel] = {
            "published": published_lip_response(prior, level(eps)),
            "half": published_lip_response(prior, level(eps / 2)),
            "ldp": randomized_response(size, level(eps)),
            "best": best_for_sum(prior, f, level(eps)),
            "best half": best_for_sum(prior, f, level(eps / 2)),
        }
        for name, channel in made.items():
            errors[name].append(sum_mse(channel, prior, f))
        true.append(true_level(made["published"], prior))
    x = tuple(float(size) for size in sizes)
    half = [keeps(published_lip_response((1,) * size, level(eps / 2)), (1,) * size, eps / 2) for size in sizes]
    panel = Panel(
        f"eps = {eps:g}, uniform priors", "size of the domain", ERROR,
        (
            Curve("LDP, MMSE", x, roots(errors["ldp"]), "ldp"),
            *parted("published LIP", x, roots(errors["published"]), [one <= eps for one in true], "eps-LIP"),
            *parted("published LIP at eps/2", x, roots(errors["half"]), half, "eps/2-LIP"),
            Curve("legal optimum at eps/2", x, roots(errors["best half"]), "ours"),
            Curve("legal optimum", x, roots(errors["best"]), "optimum"),
            Curve("prior alone", x, tuple(math.sqrt((size**2 - 1) / 12) for size in sizes), "alone"),
        ),
    )  # fmt: skip
    levels = Panel(
        "true level of the published channel", "size of the domain", "true level, nats",
        (
            Curve("published LIP, true level", x, tuple(true), "illegal"),
            Curve("claimed", x, (eps,) * len(x), "published"),
        ),
    )  # fmt: skip
    legal = max(size for size, one in zip(sizes, true, strict=True) if one <= eps)
    overtakes = [size for size, a, b in zip(sizes, errors["best half"], errors["ldp"], strict=True) if a < b]
    theirs = [size for size, a, b in zip(sizes, errors["half"], errors["ldp"], strict=True) if a < b]
    findings = (
        Finding(
            "the published channel is 1-LIP for 2 to 20 values",
            f"it is 1-LIP for up to {legal} values; with {sizes[-1]} values its true level is {true[-1]:.2f} nats",
            f"{BROKEN}: for a uniform prior, k <= e^eps + 1 = {math.e + 1:.2f}",
        ),
        Finding(
            "eps/2-LIP has less error than eps-LDP if the domain is large enough",
            f"the published channel at eps/2 has less error from {theirs[0]} values on; the legal optimum at eps/2 "
            + (f"from {overtakes[0]} on" if overtakes else "nowhere up to 20"),
            "k-ary response reveals little in a large domain; a channel made for sums distinguishes large and small "
            f"values. With {sizes[-1]} values at 1 nat the legal optimum has an error of "
            f"{math.sqrt(errors['best'][-1]):.2f}, the published channel {math.sqrt(errors['published'][-1]):.2f}, "
            f"LDP {math.sqrt(errors['ldp'][-1]):.2f}, the prior alone {math.sqrt((sizes[-1] ** 2 - 1) / 12):.2f}",
        ),
    )
    verdict = (
        f"With {sizes[-1]} equally likely values and 1 nat, the error of a channel made for the sum is "
        f"{math.sqrt(errors['best'][-1]):.2f}, that of k-ary LDP {math.sqrt(errors['ldp'][-1]):.2f}; the published "
        f"channel's level is {true[-1]:.2f} nats."
    )
    return ExperimentResult((panel, levels), findings, verdict)


# Histograms (Fig. 7)


NATS, PEOPLE, WRONG = 2.0, 10_000, 0.3
"""The comparison of estimators: the level in nats, the number of people, and the share of people for whom a wrong prior
is wrong."""

ESTIMATORS = (
    ("LIP MMSE", "lip", "mmse"),
    ("LIP map", "lip", "map"),
    ("LDP projected", "ldp", "projection"),
    ("LDP empirical Bayes", "ldp", "empirical-bayes"),
)


def _far(prior: Sequence[int], setting: Setting) -> dict[str, tuple[float, float]]:
    """Return the total variation distance of each estimator with a correct and with a wrong prior."""
    domain, law = crowd.values(len(prior)), np.array(prior) / sum(prior)
    campaigns = {
        "lip": crowd.campaign(domain, Information(level(NATS), tuple(prior)), "lip"),
        "ldp": crowd.campaign(domain, Ldp(level(NATS)), "auto"),
    }
    crowds = [
        np.rint(PEOPLE * share).astype(np.int64)
        for share in (law, (1 - WRONG) * law + WRONG * setting.generator.permutation(law))
    ]
    found = {}
    for name, notion, method in ESTIMATORS:
        right, wrong = (
            crowd.variation(campaigns[notion], held, method, setting.generator, setting.repeats) for held in crowds
        )
        found[name] = (right, wrong)
    return found


def figure_7(setting: Setting) -> ExperimentResult:
    size = 20
    levels = SPARSE if setting.quick else FULL
    laws = {
        "uniform": (1,) * size,
        "Zipf": tuple(math.ceil(2**40 / rank) for rank in range(1, size + 1)),
    }
    panels, best_of = [], {}
    work = [(name, eps) for name in laws for eps in levels]
    found: dict[tuple[str, float], dict[str, float]] = {}
    for name, eps in setting.track(work):
        prior = laws[name]
        law = [weight / sum(prior) for weight in prior]
        optimum = crowd.campaign(crowd.values(size), Information(level(eps), prior), "lip")
        plain = [
            one.channel
            for _, one in candidates(Question(crowd.values(size), Ldp(level(eps))))
            if isinstance(one, Candidate) and not one.channel.unary  # the MMSE is computed from outputs, not from bits
        ]
        found[name, eps] = {
            "best": lip_mse(optimum.channel, prior),
            "ldp": lip_mse(randomized_response(size, level(eps)), prior),
            "best ldp": min(lip_mse(channel, prior) for channel in plain),
            "oue": expected_mse(oue(size, level(eps)), law) - prior_mse(prior),
            "bound": lip_mse_bound(level(eps), prior),
        }
    for name, prior in laws.items():

        def curve(of: str, name: str = name) -> tuple[float, ...]:
            return roots([found[name, eps][of] for eps in levels])

        def root(channel: Channel, prior: Sequence[int] = prior) -> float:
            return math.sqrt(max(lip_mse(channel, prior), 0.0))

        one = tuple(2 * math.exp(eps / 2) / (math.exp(eps) - 1) for eps in levels)
        panels.append(
            Panel(
                f"{size} values, {name} prior", EPSILON, ERROR,
                (
                    Curve("OUE (LDP), unbiased, all values", levels, curve("oue"), "free"),
                    Curve("OUE, one value, as the paper counts", levels, one, "free"),
                    Curve("k-ary LDP, MMSE", levels, curve("ldp"), "ldp"),
                    Curve("best LDP, MMSE", levels, curve("best ldp"), "ldp"),
                    *published("published LIP", levels, prior, root),
                    *published("published LIP at eps/2", levels, prior, root, part=0.5),
                    Curve("our best legal LIP", levels, curve("best"), "optimum"),
                    Curve("lower bound of legal LIP", levels, curve("bound"), "bound"),
                    Curve("prior alone", levels, (math.sqrt(prior_mse(prior)),) * len(levels), "alone"),
                ),
                log_y=True,
            )
        )  # fmt: skip
        best_of[name] = found[name, 1.0]
    even, zipf = laws["uniform"], laws["Zipf"]
    far = _far(zipf, setting)
    one_nat = published_lip_response(even, level(1))
    gap = {
        name: max(
            (found[name, eps]["best"] - found[name, eps]["bound"]) / (prior_mse(prior) - found[name, eps]["bound"])
            for eps in levels
        )
        for name, prior in laws.items()
    }
    smaller = [
        eps
        for eps in levels
        if found["uniform", eps]["best ldp"] < lip_mse(published_lip_response(even, level(eps / 2)), even)
    ]
    findings = (
        Finding(
            "LIP of the published channel with 20 values, 0 to 10 nats",
            f"with a uniform prior it is eps-LIP from {legal_from(even):.2f} nats on, with a Zipf prior from "
            f"{legal_from(zipf):.2f}; at 1 nat its true level is {true_level(one_nat, even):.2f} and "
            f"{true_level(published_lip_response(zipf, level(1)), zipf):.2f}",
            BROKEN,
        ),
        Finding(
            f"at 1 nat the published error is {math.sqrt(lip_mse(one_nat, even)):.3f} (uniform prior)",
            f"the best legal channel has {math.sqrt(best_of['uniform']['best']):.3f}, LDP with MMSE "
            f"{math.sqrt(best_of['uniform']['best ldp']):.3f}, the prior alone {math.sqrt(prior_mse(even)):.3f}; with "
            f"a Zipf prior {math.sqrt(best_of['Zipf']['best']):.3f}, {math.sqrt(best_of['Zipf']['best ldp']):.3f}, "
            f"{math.sqrt(prior_mse(zipf)):.3f}",
            "one person's report reveals little about 20 values at 1 nat, under any notion; LIP has an advantage over "
            "LDP from 2 nats on",
        ),
        Finding(
            "OUE's error is n 4 e^eps / (e^eps - 1)^2",
            f"over all {size} values it is {best_of['uniform']['oue']:.4g} per person at 1 nat, "
            f"{best_of['uniform']['oue'] / (4 * math.e / (math.e - 1) ** 2):.3g} times that",
            "the formula is for one value, and the other curves are sums over all values",
        ),
        Finding(
            "context-aware LDP lies between LIP at eps and at eps/2",
            "the best LDP channel has less error than even the published channel at eps/2 " + _spans(smaller, levels),
            "k-ary response is not the best LDP channel for 20 values",
        ),
        Finding(
            "the published channel is the optimum",
            f"the gain of our channels is at most {gap['uniform']:.1%} (uniform) and {gap['Zipf']:.1%} (Zipf) smaller "
            "than the gain that the bound allows",
            "the bound itself is not always reached by any channel; the optimum is a linear program over posteriors",
        ),
        Finding(
            "the estimate is the mean of everybody's posterior (MMSE)",
            f"total variation from the truth at {NATS:g} nats, Zipf prior, {PEOPLE:,} people. With the right prior: "
            + "; ".join(f"{name} {right:.3f}" for name, (right, _) in far.items())
            + f". With a prior that is wrong for {WRONG:.0%} of them: "
            + "; ".join(f"{name} {wrong:.3f}" for name, (_, wrong) in far.items()),
            "MMSE is best if the prior is right and does not improve if it is wrong; empirical Bayes needs no prior; "
            "the posterior mode (map) is between",
        ),
    )
    ratio = {eps: math.sqrt(found["Zipf", eps]["best"] / found["Zipf", eps]["best ldp"]) for eps in (1.0, 2.0, 4.0)}
    verdict = (
        "For a histogram of 20 values (Zipf prior), the ratio of the errors of legal LIP and of the best LDP "
        "channel, with the same prior in the estimate, is "
        + ", ".join(f"{part:.0%} at {eps:g}" for eps, part in ratio.items())
        + " nats."
    )
    return ExperimentResult(tuple(panels), findings, verdict)

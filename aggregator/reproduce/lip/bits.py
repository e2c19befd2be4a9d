"""Experiments with one bit: Example 1, and figs. 5, 9a and 6 (first version).

For two values all results are exact, except the simulated surveys of Example 1. The valid optimum has a closed form
(MATH 2.3), so the gap between it and the published curve is the apparent gain from the violated constraint.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile

import numpy as np

from aggregator.estimate.distribution import posterior_mean
from aggregator.estimate.error import prior_mse
from aggregator.families.decoder import Floats
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import published_lip_response, symmetric_lip
from aggregator.reproduce import simulated_people
from aggregator.reproduce.data import SOURCES
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, reason
from aggregator.reproduce.lip.published import (
    CONDITION,
    EPSILON,
    FULL,
    bit_prior,
    claimed_error,
    error_plot,
    of_bit,
    published_curves,
    root_of_bit,
    true_level,
    unary_bit,
    unbiased_error,
    valid_from,
    warner,
    z_score,
)  # fmt: skip
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.channels import Channel
from protocol.personal import lip_response


def example_1(setting: Setting) -> ExperimentResult:
    """Compute Example 1 (fig. 2): a survey of 100 people."""
    people, prior = 100, bit_prior("0.1")
    share = prior[1] / sum(prior)
    levels = tuple(quarter / 4 for quarter in range(2, 21))
    simulated = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
    marks, off = [], []
    for eps in setting.track(simulated):
        channel = lip_response(prior, level_of_nats(eps))
        squares = _simulated_bits(channel, prior, people, setting)
        marks.append(float(squares.mean()))
        off.append(z_score(squares, people * of_bit(channel, prior)))
    best = [people * of_bit(lip_response(prior, level_of_nats(eps)), prior) for eps in levels]
    plot = Plot(
        f"N = {people}, P1 = {share:g}", EPSILON, "expected squared error of the sum",
        (
            Curve("LDP, unbiased", levels, [people * unbiased_error(warner(eps), prior) for eps in levels], "free"),
            Curve("unary encoding (LDP), unbiased", levels,
                  [people * unbiased_error(unary_bit(eps), prior) for eps in levels], "free"),
            Curve("LDP, MMSE", levels, [people * of_bit(warner(eps), prior) for eps in levels], "ldp"),
            *published_curves("published LIP", levels, prior, lambda channel: people * of_bit(channel, prior)),
            Curve("valid optimum", levels, best, "optimum"),
            Curve("valid optimum, simulated", simulated, marks, "optimum", marks=True),
            Curve("prior alone", levels, (people * share * (1 - share),) * len(levels), "alone"),
        ),
        log_y=True,
    )  # fmt: skip
    theirs = published_lip_response(prior, level_of_nats(1))
    optimum, ldp = (people * of_bit(channel, prior) for channel in (lip_response(prior, level_of_nats(1)), warner(1)))
    findings = (
        Finding(
            f"LIP's error is far below LDP's; at 1 nat, eq. 19 gives {people * claimed_error(share, 1):.3g}",
            f"the published channel has an error of {people * of_bit(theirs, prior):.3g}, but its true level is "
            f"{true_level(theirs, prior):.2f} nats; the best valid channel has {optimum:.3g}, LDP with MMSE {ldp:.3g}, "
            f"the prior without any report {people * share * (1 - share):.3g}",
            f"{CONDITION}; with P1 = {share:g} this holds from {valid_from(prior):.2f} nats on",
        ),
        Finding(
            f"E_LDP = 100 e^eps / (e^eps + 1)^2, which would be {people * math.e / (math.e + 1) ** 2:.3g} at 1 nat",
            f"the error at 1 nat is {people * unbiased_error(warner(1), prior):.4g}",
            "a misprint: the denominator must be the square of e^eps - 1, as in eq. 25",
        ),
        Finding(
            "the unary encoding with p = 1/2 is the better LDP mechanism; q* = 1 - e^eps/2; "
            f"error 25 / (1/2 - q)^2, which is {25 / (0.5 - 1 / (math.e + 1)) ** 2:.4g} at 1 nat",
            f"the error at 1 nat is {people * unbiased_error(unary_bit(1), prior):.4g} with q = 1/(e^eps + 1)",
            f"q is misprinted, and the printed error assumes that everybody says yes; if {share:.0%} of them do, the "
            "error is smaller. For one bit, plain randomised response has "
            f"{people * unbiased_error(warner(1), prior):.4g}",
        ),
        Finding(
            "all errors are expected errors",
            f"the means of {setting.repeats:,} simulated surveys of the valid optimum are within {max(off):.1f} "
            "standard errors of the expected error",
            "simulated people answer through the same integers",
        ),
    )
    verdict = (
        f"With one sick person in ten, 1 nat and {people} people, LIP's valid optimum has {optimum / ldp:.0%} of the "
        f"error of LDP with the same prior. The published channel has {people * of_bit(theirs, prior) / ldp:.0%}, but "
        f"its true level is {true_level(theirs, prior):.2f} nats."
    )
    return ExperimentResult((plot,), findings, verdict)


def _simulated_bits(channel: Channel, prior: Sequence[int], people: int, setting: Setting) -> Floats:
    """Return the squared errors (S - E[S|Y])^2 of simulated surveys, shape (surveys,)."""
    distribution, decoder = np.array(prior) / sum(prior), decoder_of(channel)
    squares = []
    for yes in setting.generator.binomial(people, distribution[1], size=setting.repeats).tolist():
        counted = simulated_people.tally(channel, [people - yes, yes], setting.generator)
        posterior = posterior_mean(decoder, counted.counts / people, distribution)
        squares.append((people * float(posterior[1]) - yes) ** 2)
    return np.array(squares)


def bit_errors(setting: Setting) -> ExperimentResult:
    """Compute fig. 5: errors with and without a prior."""
    levels = tuple(half / 2 for half in range(2, 11))
    plots = []
    for share in setting.track(("0.5", "0.99", "0.1")):
        prior = bit_prior(share)
        plots.append(_bit_plot(f"P1 = {share}", prior, levels, free=True))
    # The last curve is that of the prior alone, without a channel.
    worst = not any(
        error > limit
        for plot in plots
        for curve in plot.curves[1:-1]
        for error, limit in zip(curve.y, plot.curves[0].y, strict=True)
    )
    skewed = bit_prior("0.99")
    theirs = published_lip_response(skewed, level_of_nats(1))
    gains = {
        share: math.sqrt(
            of_bit(lip_response(bit_prior(share), level_of_nats(1)), bit_prior(share))
            / of_bit(warner(1), bit_prior(share))
        )
        for share in ("0.5", "0.99")
    }
    at_one, at_four = (
        f"{math.sqrt(unbiased_error(warner(eps), (1, 1))):.3f}, {root_of_bit(warner(eps), (1, 1)):.3f} and "
        f"{root_of_bit(lip_response((1, 1), level_of_nats(eps)), (1, 1)):.3f}"
        for eps in (1, 4)
    )
    findings = (
        Finding(
            "with P1 = 0.99 LIP's advantage over LDP is largest; at 1 nat, eq. 19 gives "
            f"{math.sqrt(claimed_error(0.99, 1)):.4f}",
            f"the published channel's true level is {true_level(theirs, skewed):.2f} nats; the valid optimum has an "
            f"error of {root_of_bit(lip_response(skewed, level_of_nats(1)), skewed):.4f}, LDP with MMSE "
            f"{root_of_bit(warner(1), skewed):.4f}, the prior alone {math.sqrt(prior_mse(skewed) / 2):.4f}",
            f"{CONDITION}; with P1 = 0.99 this holds from {valid_from(skewed):.2f} nats on, so the channel is "
            "invalid in nearly the whole plot",
        ),
        Finding(
            "the gap between LIP and LDP grows as the prior gets skewed",
            f"at 1 nat the valid optimum has {gains['0.5']:.1%} of LDP's error with P1 = 0.5 and {gains['0.99']:.1%} "
            "with P1 = 0.99",
            "the gain of a valid channel falls if the prior is more skewed: a report must not make a rare answer "
            "likely, and the error is small even without a report",
        ),
        Finding(
            "LDP without a prior is worst throughout",
            ("confirmed for every channel" if worst else "not everywhere")
            + f": at 1 nat and P1 = 0.5 its error is {math.sqrt(unbiased_error(warner(1), bit_prior('0.5'))):.3f}, and "
            f"{root_of_bit(warner(1), bit_prior('0.5')):.3f} with a prior",
            reason(worst, ": at small levels most of the gain comes from the prior in the estimate, under LDP as well"),
        ),
    )
    verdict = (
        "At 1 nat a prior in the estimate reduces the error more than LIP in the channel; at 4 nats it is the reverse. "
        f"With a uniform prior, the error of LDP without the prior, of LDP with it, and of valid LIP is {at_one} at 1 "
        f"nat, and {at_four} at 4 nats."
    )
    return ExperimentResult(tuple(plots), findings, verdict)


def _bit_plot(title: str, prior: Sequence[int], levels: Sequence[float], *, free: bool) -> Plot:
    x, root = tuple(levels), partial(root_of_bit, prior=prior)
    curves = [Curve("LDP, MMSE", x, [root(warner(eps)) for eps in x], "ldp")]
    if free:
        curves.insert(
            0, Curve("LDP, unbiased", x, [math.sqrt(unbiased_error(warner(eps), prior)) for eps in x], "free")
        )
    curves += published_curves("published LIP", x, prior, root)
    if not free:
        curves += [
            *published_curves("published LIP at eps/2", x, prior, root, part=0.5),
            Curve(
                "symmetric LIP at eps/2", x, [root(symmetric_lip(prior, level_of_nats(eps / 2))) for eps in x], "other"
            ),
            Curve(
                "valid optimum at eps/2", x, [root(lip_response(prior, level_of_nats(eps / 2))) for eps in x], "ours"
            ),
        ]
    curves += [
        Curve("valid optimum", x, [root(lip_response(prior, level_of_nats(eps))) for eps in x], "optimum"),
        Curve("prior alone", x, (math.sqrt(prior_mse(prior) / 2),) * len(x), "alone"),
    ]
    return error_plot(title, *curves)


def _crossings(prior: Sequence[int]) -> str:
    """Return words for the levels eps, 0.05 .. 10 nats, up to which a channel at eps/2 has at most the error of LDP."""

    def crossing(recipe: Callable[[Sequence[int], int], Channel]) -> float:
        def not_worse(eps: float) -> bool:
            return of_bit(recipe(prior, level_of_nats(eps / 2)), prior) <= of_bit(warner(eps), prior)

        return max(takewhile(not_worse, (step / 20 for step in range(1, 201))), default=0.0)

    theirs, valid = crossing(published_lip_response), crossing(lip_response)
    return (
        f"the published channel at eps/2 has less error than LDP up to {theirs:g} nats; the valid optimum at eps/2 "
        + (f"has less error up to {valid:g} nats" if valid else "has less error at no level")
    )


def figure_6_cns(setting: Setting) -> ExperimentResult:
    """Compute fig. 6 of the first version: LIP at half the level of LDP."""
    plots = [_bit_plot(f"P1 = {share}", bit_prior(share), FULL, free=False) for share in setting.track(("0.5", "0.01"))]
    rare = bit_prior("0.01")
    symmetric = [
        of_bit(symmetric_lip((1, 1), level_of_nats(eps / 2)), (1, 1))
        / of_bit(lip_response((1, 1), level_of_nats(eps / 2)), (1, 1))
        for eps in FULL
    ]
    apart = max(abs(ratio - 1) for ratio in symmetric)
    theirs = published_lip_response(rare, level_of_nats(0.5))
    findings = (
        Finding(
            "with P1 = 0.01, eps/2-LIP has less error than eps-LDP up to 8.3 nats",
            _crossings(rare),
            f"at eps = 1 the published channel at eps/2 has a true level of {true_level(theirs, rare):.2f} nats, not "
            f"0.5; it satisfies eps/2 from eps = {2 * valid_from(rare):.2f} on",
        ),
        Finding(
            "with P1 = 0.5 the symmetric and the general channel are the same",
            f"the relative difference of their errors is at most {apart:.1e}"
            if apart
            else "their errors are equal in double precision",
            reason(apart < 1e-9),
        ),
        Finding(
            "with P1 = 0.5, eps-LDP lies between LIP at eps/2 and at eps",
            "confirmed at every level plotted"
            if all(
                of_bit(lip_response((1, 1), level_of_nats(eps)), (1, 1))
                <= of_bit(warner(eps), (1, 1))
                <= of_bit(lip_response((1, 1), level_of_nats(eps / 2)), (1, 1))
                for eps in FULL
            )
            else "not at every level plotted",
            "a uniform prior is where the published channel is valid at every level",
        ),
    )
    verdict = (
        "For one bit, valid LIP at eps/2 is not more accurate than LDP at eps. In the paper it is, because the true "
        "level of the paper's channel is several times the stated one "
        f"({true_level(theirs, rare):.2f} nats instead of 0.5 with P1 = 0.01)."
    )
    return ExperimentResult(tuple(plots), findings, verdict)


def figure_9a(setting: Setting) -> ExperimentResult:
    """Compute fig. 9a: popular pages of Kosarak."""
    clicks = setting.data.baskets("kosarak")
    times = clicks.occurrences
    pages = int((times > 0).sum())
    bar = 15_000 if clicks.complete else round(15_000 * len(clicks.items) / SOURCES["kosarak"].records)
    popular = int((times > bar).sum())
    prior = (pages - popular, popular)
    share = popular / pages
    levels = FULL
    for _ in setting.track((0,)):
        plot = _bit_plot(f"{popular} of {pages:,} pages with more than {bar:,} clicks", prior, levels, free=False)
    theirs = published_lip_response(prior, level_of_nats(1))
    findings = (
        Finding(
            "LIP has less error than LDP, and the difference is larger if popular pages are rarer",
            f"at 1 nat the published channel has an error of {root_of_bit(theirs, prior):.5f} and a true level of "
            f"{true_level(theirs, prior):.2f} nats; the valid optimum has "
            f"{root_of_bit(lip_response(prior, level_of_nats(1)), prior):.5f}, LDP with MMSE "
            f"{root_of_bit(warner(1), prior):.5f}, the prior alone {math.sqrt(share * (1 - share)):.5f}",
            f"{CONDITION}; here this holds from {valid_from(prior):.2f} nats on",
        ),
        Finding(
            "for some smaller levels eps/2-LIP has less error than eps-LDP",
            _crossings(prior),
            "the advantage came from the higher true level",
        ),
        Finding(
            "pages with more than 15,000 clicks, of 41,270",
            f"pages with more than {bar:,} clicks, of {pages:,}",
            "the paper's own data" if clicks.complete else
            "only a part of the data is used, and the threshold is lowered in proportion, so the numbers "
            "cannot be compared with the paper's",
        ),
    )  # fmt: skip
    of_prior = {
        eps: math.sqrt(of_bit(lip_response(prior, level_of_nats(eps)), prior) / (share * (1 - share)))
        for eps in (1, 4, 6)
    }
    verdict = (
        f"If a yes is as rare as {share:.2%}, no valid channel improves much on the prior up to 4 nats: valid LIP has "
        f"{of_prior[1]:.2%} of the prior's error at 1 nat and {of_prior[4]:.0%} at 4 nats. At 6 nats it has "
        f"{of_prior[6]:.0%}."
    )
    return ExperimentResult((plot,), findings, verdict, clicks.label)

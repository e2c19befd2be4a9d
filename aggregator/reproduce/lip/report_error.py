"""The distance between report and answer: the mean absolute error of one bit, and the distribution of a report.

The long version of the paper also requires a small E|X - Y| (eq. 22), so that a report is meaningful to a reader
without a prior. It states that the published channel minimises E|X - Y| together with the squared error (Proposition
3). This is true wherever the channel is valid. It also states that a report is distributed as the answer. This is true
of the published channel for every prior, but not of the valid optimum where the published channel is not valid (MATH
2.14).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from aggregator.estimate.error import report_mae
from aggregator.families.response.recipe import published_lip_response
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, reason
from aggregator.reproduce.lip.published import EPSILON, FULL, bit_prior, published_curves, true_level, warner
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.channels import Channel
from protocol.personal import lip_response


def least_mae(prior: Sequence[int], eps: float) -> float:
    """Return the least mean absolute error of one bit under LIP, over all valid channels and the constant guess without
    a report (MATH 2.14)."""
    rare, raised = min(prior) / sum(prior), math.exp(eps)
    edge = 1 / (raised + 1)
    best = 2 * rare * (1 - rare) / raised if rare >= edge else edge * (1 - (raised - 1) * rare)
    return min(best, rare)


def _mae(channel: Channel, prior: Sequence[int]) -> float:
    error = report_mae(channel, prior)
    if error is None:
        raise ValueError(
            "the mean absolute error needs a channel of two values and two outputs, "
            f"not {channel.input_count} and {channel.output_count}"
        )
    return error


def _yes(channel: Channel, prior: Sequence[int]) -> float:
    """Return the probability of a report of yes."""
    total = sum(weight * channel.weight(x, 1) for x, weight in enumerate(prior))
    return total / (sum(prior) << channel.scale)


def report_error(setting: Setting) -> ExperimentResult:
    """Test Proposition 3, that one channel minimises the squared and the absolute error."""
    plots = []
    for text in ("0.3", "0.1"):
        prior = bit_prior(text)
        plots.append(
            Plot(
                f"P1 = {text}", EPSILON, "E|X - Y|",
                (
                    Curve("LDP", FULL, [_mae(warner(eps), prior) for eps in FULL], "ldp"),
                    *published_curves("published LIP", FULL, prior, partial(_mae, prior=prior)),
                    Curve("valid optimum of the squared error", FULL,
                          [_mae(lip_response(prior, level_of_nats(eps)), prior) for eps in FULL], "ours"),
                    Curve("least valid", FULL, [least_mae(prior, eps) for eps in FULL], "optimum"),
                    Curve("no report", FULL, (float(text),) * len(FULL), "alone"),
                ),
            )
        )  # fmt: skip
    valid = same = 0
    far = apart = shifted = 0.0
    for _ in setting.track(range(setting.repeats)):
        rare, eps = float(setting.generator.uniform(0.002, 0.5)), float(setting.generator.uniform(0.1, 6))
        prior = tuple(np.rint(np.array([1 - rare, rare]) * 10**9).astype(np.int64).tolist())
        share, edge = prior[1] / sum(prior), 1 / (math.exp(eps) + 1)
        channel = lip_response(prior, level_of_nats(eps))
        if share >= edge:
            valid += 1
            theirs = published_lip_response(prior, level_of_nats(eps))
            far = max(far, abs(_mae(theirs, prior) - least_mae(prior, eps)))
            apart = max(apart, abs(_yes(theirs, prior) - share))
        else:
            same += _mae(channel, prior) <= least_mae(prior, eps) + 1e-9
            shifted = max(shifted, abs(_yes(channel, prior) - edge))
    skewed, optimum = bit_prior("0.1"), lip_response(bit_prior("0.1"), level_of_nats(1))
    theirs = published_lip_response(skewed, level_of_nats(1))
    findings = (
        Finding(
            "Proposition 3: q0 = P1 / e^eps, q1 = P0 / e^eps minimise both the MSE and the MAE (eq. 22)",
            "where the channel is valid, E|X - Y| = 2 P1 P0 e^-eps differs from the least error of any valid channel "
            f"by at most {far:.0e} in {valid:,} random priors and levels",
            reason(far < 1e-8, " where every share is at least 1/(e^eps + 1)"),
        ),
        Finding(
            f"the same for P1 = 0.1 at 1 nat: E|X - Y| = {2 * 0.09 / math.e:.4f}",
            f"the published channel's true level is {true_level(theirs, skewed):.2f} nats; among valid channels, the "
            f"one with the least squared error has an absolute error of {_mae(optimum, skewed):.4f}, and always saying "
            f"no has {least_mae(skewed, 1):.4f}",
            "elsewhere the two aims differ: the valid optimum of the squared error is also that of the absolute error "
            f"in {same:,} of {setting.repeats - valid:,} priors, those with P1 above 1 / (2 e^eps); for a smaller "
            "P1, always giving the more frequent answer has the least absolute error",
        ),
        Finding(
            "the distribution of each X is identical to that of Y",
            f"where the channel is valid, P(Y = 1) differs from P1 by at most {apart:.0e}. Elsewhere the valid optimum "
            "reports a yes with probability 1/(e^eps + 1) for every P1, with a difference of at most "
            f"{shifted:.0e}: with probability {_yes(optimum, skewed):.3f} at 1 nat and P1 = 0.1",
            "a report may raise the probability of a rare yes at most by the factor e^eps, so reports of yes also come "
            "from people whose answer is no, and the valid optimum has more reports of yes than there are such "
            "answers. Counts of reports are not estimates of counts of answers, and halftruth never shows them as "
            "estimates",
        ),
    )  # fmt: skip
    verdict = (
        "Where the published channel is valid, it has both the least squared and the least absolute error, and its "
        "reports have the distribution of the answers. It is not valid at 1 nat and P1 = 0.1: there the valid optimum "
        f"reports a yes with probability {_yes(optimum, skewed):.0%}."
    )
    return ExperimentResult(tuple(plots), findings, verdict)

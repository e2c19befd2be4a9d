"""Last check-ins of Gowalla: one district (fig. 8b of the first version) and the world's districts (fig. 9b)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aggregator.estimate.distribution import total_variation
from aggregator.families.decoder import Floats
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import published_lip_response, randomized_response
from aggregator.reproduce import simulated_people
from aggregator.reproduce.data import DISTRICTS
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Setting, series
from aggregator.reproduce.lip.declared_priors import UNIT, declared_errors
from aggregator.reproduce.lip.published import (
    BEST_LDP,
    CONDITION,
    SPARSE,
    compared_curves,
    error_plot,
    ldp_channels,
    published_curves,
    roots,
    true_level,
    valid_from,
)
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.channels import Channel
from protocol.notions import Ldp, Lip

REGION = 28 * DISTRICTS + 17
"""Latitude 50 to 55, longitude -10 to 0: the district with the paper's region, most of the United Kingdom."""


def figure_8b_cns(setting: Setting) -> ExperimentResult:
    """Compute fig. 8b of the first version: errors by level, for a bit that is 1 if the last check-in was in one
    district. Each person's earlier check-ins give the person's prior."""
    places = setting.data.last_check_ins()
    people = len(places.last)
    in_region = places.district == REGION
    inside = np.bincount(places.user[in_region], places.count[in_region], minlength=people)
    total = np.bincount(places.user, places.count, minlength=people)
    # Each person gets one more check-in inside and one outside, because the notion allows no prior of zero.
    yes = np.clip(np.rint(UNIT * (inside + 1) / (total + 2)), 1, UNIT - 1)
    errors = series([declared_errors(yes, eps) for eps in setting.track(SPARSE)])
    p = yes / UNIT
    alone = math.sqrt(float((p * (1 - p)).mean()))
    plot = error_plot(
        f"{people:,} users, one district",
        *compared_curves(SPARSE, errors, " for all"),
        Curve("prior alone", SPARSE, (alone,) * len(SPARSE), "alone"),
    )
    at_one = {name: numbers[SPARSE.index(1.0)] for name, numbers in errors.items()}
    best, ldp = math.sqrt(at_one["best"]), math.sqrt(at_one["ldp"])
    findings = (
        Finding(
            "LIP has less error than LDP for local priors from people's own history",
            f"at 1 nat the valid optimum has an error of {best:.4f}, LDP with MMSE {ldp:.4f}, the priors alone "
            f"{alone:.4f}; the published channel {math.sqrt(at_one['published']):.4f}, and it satisfies "
            f"the level for {at_one['protected']:.1%} of the users",
            f"{CONDITION}: people who are nearly always, or never, in one district have a prior near 0 or 1",
        ),
        Finding(
            "users who were never in the region have a prior of zero",
            f"{int((inside == 0).sum()):,} of {people:,} users had never been there; "
            f"{int(((places.last == REGION) & (inside == 0)).sum())} of them checked in there last",
            "a prior of zero is outside the notion; here a check-in inside and one outside are added to everybody's "
            "history",
        ),
        Finding(
            "the region is latitude 50 to 55, longitude 0 to -5",
            f"the district that contains it, twice as wide: {int((places.last == REGION).sum())} users checked in "
            f"there last; the priors alone predict {float(p.sum()):.1f} users",
            "here local priors predict most answers, so a report adds little",
        ),
    )
    verdict = (
        f"For a bit that people's own history nearly determines, valid LIP at 1 nat has {best / ldp:.1%} of LDP's "
        f"error and {best / alone:.1%} of that of the priors alone: a report can add little."
    )
    return ExperimentResult((plot,), findings, verdict, places.label)


def figure_9b(setting: Setting) -> ExperimentResult:
    """Estimate the histogram of last check-ins over the world's districts; all earlier check-ins give the common
    prior."""
    places = setting.data.last_check_ins()
    earlier = places.earlier
    used = np.flatnonzero(earlier)
    size, prior = len(used), tuple(int(count) for count in earlier[used])
    covered = np.isin(places.last, used)
    population = np.bincount(np.searchsorted(used, places.last[covered]), minlength=size)
    distribution, truth = np.array(prior) / sum(prior), population / population.sum()
    levels = (1.0, 2.0, 4.0, 8.0) if setting.quick else SPARSE
    shown = (levels[0] if setting.quick else 1.0, 4.0)
    domain = simulated_people.values(size)
    campaigns = {
        eps: simulated_people.campaign(domain, Lip(level_of_nats(eps), prior), "lip")
        for eps in sorted({*levels, *(eps / 2 for eps in levels)})
    }
    best = [population_error(campaigns[eps].channel, prior, truth) for eps in levels]
    half = [population_error(campaigns[eps / 2].channel, prior, truth) for eps in levels]
    ldp: list[float] = []
    far: dict[float, dict[str, float]] = {}
    for eps in setting.track(levels):
        ldp.append(min(population_error(channel, prior, truth) for channel in ldp_channels(size, eps)))
        if eps in shown:
            plain = simulated_people.campaign(domain, Ldp(level_of_nats(eps)), "auto")
            methods = {"mmse": campaigns[eps], "map": campaigns[eps], "projection": plain, "empirical-bayes": plain}
            far[eps] = {
                method: simulated_people.simulated_variation(
                    campaign, population, method, setting.generator, setting.repeats
                )
                for method, campaign in methods.items()
            }
    alone = math.sqrt(1 - 2 * float(truth @ distribution) + float(distribution @ distribution))

    def root(channel: Channel) -> float:
        return math.sqrt(max(population_error(channel, prior, truth), 0.0))

    plot = error_plot(
        f"last check-in of {int(population.sum()):,} users, {size} districts",
        Curve(
            "randomised response, MMSE",
            levels,
            [root(randomized_response(size, level_of_nats(eps))) for eps in levels],
            "ldp",
        ),
        Curve("best LDP, MMSE", levels, roots(ldp), "ldp"),
        *published_curves("published LIP", levels, prior, root),
        *published_curves("published LIP at eps/2", levels, prior, root, part=0.5),
        Curve("our best valid LIP at eps/2", levels, roots(half), "ours"),
        Curve("our best valid LIP", levels, roots(best), "optimum"),
        Curve("prior alone", levels, (alone,) * len(levels), "alone"),
    )
    place = {eps: index for index, eps in enumerate(levels)}
    theirs = published_lip_response(prior, level_of_nats(1))

    def distances(method: str) -> str:
        return " and ".join(f"{far[eps][method]:.3f}" for eps in shown)

    findings = (
        Finding(
            "with more values the advantage of LIP is more evident; 83 districts in use",
            f"{size} districts; at 1 nat the published channel has an error of {root(theirs):.3f} and a true level of "
            f"{true_level(theirs, prior):.2f} nats; valid LIP has {math.sqrt(best[place[1.0]]):.3f}, the best LDP "
            f"channel {math.sqrt(ldp[place[1.0]]):.3f}, the prior alone {alone:.3f}",
            f"{CONDITION}; the rarest district has {min(prior)} of {sum(prior):,} earlier check-ins, so the published "
            f"channel is valid from {valid_from(prior):.2f} nats on",
        ),
        Finding(
            "districts without earlier check-ins are never reported",
            f"{int((~covered).sum())} of {len(places.last):,} users checked in last in one of these",
            "the figure leaves out these users, because the notion excludes a prior of zero. A campaign gives such a "
            "value a small share",
        ),
        Finding(
            "the estimate is the mean of everybody's posterior (MMSE)",
            f"total variation from the truth at {shown[0]:g} and {shown[1]:g} nats: MMSE {distances('mmse')}, "
            f"posterior mode (map) {distances('map')}, LDP projected {distances('projection')}, LDP with empirical "
            f"Bayes {distances('empirical-bayes')}; the prior alone {total_variation(distribution, truth):.3f}",
            f"means of {setting.repeats} simulated surveys, under LDP with the channel that `auto` chooses; there are "
            "few people and many districts, so a nearly right prior matters more than the reports",
        ),
    )
    verdict = (
        f"Over {size} districts valid LIP has {math.sqrt(best[place[2.0]] / ldp[place[2.0]]):.0%} of the error of the "
        f"best LDP channel at 2 nats, and {math.sqrt(best[place[4.0]] / ldp[place[4.0]]):.0%} at 4 nats, with the same "
        "prior in the estimate."
    )
    return ExperimentResult((plot,), findings, verdict, places.label, BEST_LDP)


def population_error(channel: Channel, prior: Sequence[int], truth: Floats) -> float:
    """Return the mean of |one-hot - posterior|^2 over people distributed as ``truth``, with the posterior of ``prior``.

    With t = truth, P = prior, Q(y|x) = channel, and P(y), t(y) the distributions of the outputs under both, it is

    1 - 2 sum over y of (sum over x of t P Q^2) / P(y) + sum over y of t(y) (sum over x of P^2 Q^2) / P(y)^2
    """
    distribution, decoder = np.array(prior) / sum(prior), decoder_of(channel)
    marginal = decoder.forward(distribution)
    inverse = np.divide(1.0, marginal, out=np.zeros_like(marginal), where=marginal > 0)
    cross = float((decoder.forward_squares(truth * distribution) * inverse).sum())
    square = float((decoder.forward(truth) * decoder.forward_squares(distribution**2) * inverse**2).sum())
    return max(1 - 2 * cross + square, 0.0)

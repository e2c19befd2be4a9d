"""The papers' estimate, the mean of everybody's posterior, is one step of expectation maximisation from the prior."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aggregator.estimate.distribution import total_variation
from aggregator.estimate.estimator import estimate
from aggregator.estimate.tally import Tally
from aggregator.families.registry import decoder_of
from aggregator.reproduce import simulated_people
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, series
from aggregator.reproduce.simulated_people import level_of_nats
from protocol import personal
from protocol.campaign import Campaign
from protocol.notions import Ldp, Lip

METHODS = {
    "lip mmse": ("LIP, MMSE (the papers' estimate)", "published"),
    "lip map": ("LIP, posterior mode (map)", "ours"),
    "lip projection": ("LIP, unbiased, projected", "other"),
    "lip em": ("LIP, maximum likelihood", "other"),
    "ldp projection": ("LDP, projected", "ldp"),
    "ldp empirical-bayes": ("LDP, empirical Bayes", "optimum"),
}
"""Name and role of the curve, by notion and method."""


def one_step(setting: Setting) -> ExperimentResult:
    """Test that the papers' estimate is one step of expectation maximisation, and compute its error if the prior is
    wrong."""
    size, eps, wrong = 100, 1.0, 0.3
    prior = tuple(math.ceil(2**40 / rank) for rank in range(1, size + 1))
    distribution = np.array(prior) / sum(prior)
    truth = (1 - wrong) * distribution + wrong * setting.generator.permutation(distribution)
    sizes = tuple(10**power for power in range(3, 8))
    domain = simulated_people.values(size)
    campaigns = {
        "lip": simulated_people.campaign(domain, Lip(level_of_nats(eps), prior), "lip"),
        "ldp": simulated_people.campaign(domain, Ldp(level_of_nats(eps)), "auto"),
    }
    # Maximum likelihood takes ten seconds for a survey, so a quick run leaves it out.
    methods = [name for name in METHODS if name != "lip em" or not setting.quick]
    means: list[dict[str, float]] = []
    step = 0.0
    for people in setting.track(sizes):
        distances: dict[str, list[float]] = {name: [] for name in methods}
        for _ in range(setting.repeats):
            population = setting.generator.multinomial(people, truth)
            tallies = {
                notion: simulated_people.tally(campaign.channel, population, setting.generator)
                for notion, campaign in campaigns.items()
            }
            for name in methods:
                notion, method = name.split()
                share = estimate(campaigns[notion], tallies[notion], method=method).share
                distances[name].append(total_variation(share, truth))
            if people == sizes[0]:
                step = max(step, _step_distance(campaigns["lip"], prior, tallies["lip"]))
        means.append({name: float(np.mean(numbers)) for name, numbers in distances.items()})
    far = series(means)
    right = np.floor(distribution * 10**5).astype(np.int64)
    near = simulated_people.simulated_variation(campaigns["lip"], right, "mmse", setting.generator, setting.repeats)
    mmse, bayes = far["lip mmse"], far["ldp empirical-bayes"]
    plot = Plot(
        f"{size} values, eps = {eps:g}, the prior wrong for {wrong:.0%} of the people", "people",
        "total variation from the truth",
        (
            *(Curve(METHODS[name][0], sizes, numbers, METHODS[name][1]) for name, numbers in far.items()),
            Curve("prior alone", sizes, (total_variation(distribution, truth),) * len(sizes), "alone"),
        ),
        log_x=True, log_y=True,
    )  # fmt: skip
    better = [people for people, a, b in zip(sizes, bayes, mmse, strict=True) if a < b]
    findings = (
        Finding(
            "the estimate is the sum of E[X_i | Y_i]",
            f"computed by Bayes' rule from the integers, report by report, it differs by at most {step:.0e} "
            "from one step of expectation maximisation that starts at the prior",
            "this is an identity, up to rounding: the estimate is one step away from the prior, even if very many "
            "people report",
        ),
        Finding(
            "the more users, the better the estimate",
            f"the distance of MMSE from the truth is {mmse[0]:.3f} with {sizes[0]:,} people, {mmse[2]:.3f} with "
            f"{sizes[2]:,} and {mmse[-1]:.3f} with {sizes[-1]:,}; that of the prior alone is "
            f"{total_variation(distribution, truth):.3f}",
            f"the papers assume that the prior is right. If it is, the distance of MMSE is {near:.4f} with "
            f"{int(right.sum()):,} people",
        ),
        Finding(
            "(no other estimate is considered)",
            f"distances with {sizes[-1]:,} people: posterior mode (map) {far['lip map'][-1]:.3f}, LIP unbiased and "
            f"projected {far['lip projection'][-1]:.3f}, LDP with empirical Bayes {bayes[-1]:.3f}, which is better "
            "than MMSE " + (f"from {better[0]:,} people on" if better else "nowhere"),
            "if the reports contradict the prior, halftruth warns, and its default is then the posterior mode",
        ),
    )
    verdict = (
        f"Do not rely on a prior that may be wrong. If it is wrong for {wrong:.0%} of the people, the distance of MMSE "
        f"from the truth stays near {mmse[-1]:.2f} for any number of people, while that of LDP at the same eps is "
        f"{bayes[-1]:.2f} with {sizes[-1]:,} people."
    )
    return ExperimentResult((plot,), findings, verdict)


def _step_distance(campaign: Campaign, prior: Sequence[int], counted: Tally) -> float:
    """Return the distance between the mean posterior, computed by Bayes' rule from the integers, and one EM step of the
    decoder."""
    distribution, share = np.array(prior) / sum(prior), counted.counts / counted.reports
    mean = np.zeros(len(distribution))
    for y in np.flatnonzero(counted.counts).tolist():
        joint = personal.posterior(prior, campaign.channel, y)
        total = sum(joint)
        mean += share[y] * np.array([weight / total for weight in joint])
    decoder = decoder_of(campaign.channel)
    marginal = decoder.forward(distribution)
    ratio = np.divide(share, marginal, out=np.zeros_like(share), where=marginal > 0)
    return float(np.abs(distribution * decoder.backward(ratio) - mean).max())

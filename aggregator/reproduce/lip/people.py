"""Experiments with many people: declared priors (fig. 8), last check-ins (fig. 9b), and the papers' estimate.

People are simulated with the integers that devices use, and their reports are decoded with the estimators of this
software. Exact values are computed where possible, and simulations are shown for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.signal import fftconvolve

from aggregator.estimate.estimator import estimate
from aggregator.estimate.personal import PersonalDecoder
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Floats, Integers
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import lip_response, published_lip_response, randomized_response
from aggregator.present.table import total_variation
from aggregator.reproduce import crowd
from aggregator.reproduce.crowd import level
from aggregator.reproduce.data import DISTRICTS
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Panel, Setting, parted
from aggregator.reproduce.lip.published import (
    BROKEN,
    EPSILON,
    ERROR,
    SPARSE,
    bit,
    claimed,
    legal_from,
    of_bit,
    published,
    roots,
    standard_errors,
    true_level,
)  # fmt: skip
from aggregator.reproduce.lip.trusted_curator import MOST_PEOPLE, central, central_of
from protocol import personal
from protocol.campaign import Campaign
from protocol.channels import Channel
from protocol.notions import Information, Ldp

UNIT = personal.MAX_DECLARED_WEIGHT
"""Denominator of a declared prior of one bit."""

SIMULATED = 4.0
"""The largest level in nats at which surveys are simulated; above it, hardly any survey has a measurable error."""

DRAWS = 8_000_000
"""Maximum number of people simulated at a level, but at least ``LEAST_SURVEYS`` surveys."""
LEAST_SURVEYS = 20
LEAST_DRAWN = 1e-4
"""Errors below this are not plotted, because they would compress the other curves."""

FAINT = 1e-12
"""Probabilities of sums below this part of the largest probability are too inexact for a comparison."""


def figure_8(setting: Setting) -> ExperimentResult:
    """Compare devices with declared priors, uniform in 0 .. 1, with a trusted server, for 5, 500 and 50,000 people."""
    crowds, levels = (5, 500, 50_000), SPARSE
    shares = {people: np.clip(np.rint(setting.generator.random(people) * UNIT), 1, UNIT - 1) for people in crowds}
    errors: dict[str, list[float]] = {}
    legal: dict[tuple[int, float], float] = {}
    off: list[float] = []
    simulated: dict[int, list[float]] = {people: [] for people in crowds}
    for people, eps in setting.track([(people, eps) for people in crowds for eps in levels]):
        p = shares[people] / UNIT
        flip = 1 / (math.exp(eps) + 1)
        best = _own_errors(shares[people], eps)
        found = {
            "best": float(best.mean()),
            "best half": float(_own_errors(shares[people], eps / 2).mean()),
            "ldp": float(_bit_errors(p, np.full(people, flip), np.full(people, flip)).mean()),
            "published": float(np.mean([claimed(each, eps) for each in p.tolist()])),
            "half": float(np.mean([claimed(each, eps / 2) for each in p.tolist()])),
        }
        if people <= MOST_PEOPLE:
            found["server"] = central_of(p.tolist(), level(eps)) / people
        else:  # a server can simulate the devices (Theorem 6), so its error is never larger
            found["server"] = min(trusted_sum(p, eps) / people, found["best"])
        for name, error in found.items():
            errors.setdefault(f"{name} {people}", []).append(error)
        legal[people, eps] = float((np.minimum(p, 1 - p) >= flip).mean())
        if eps <= SIMULATED:
            squares = _surveyed(shares[people], eps, setting)
            simulated[people].append(float(squares.mean()))
            off.append(standard_errors(squares, found["best"]))
    panels = tuple(
        _own_panel(
            people, levels, {name: errors[f"{name} {people}"] for name in found}, simulated[people], shares[people]
        )
        for people in crowds
    )
    many = crowds[-1]
    at = {eps: place for place, eps in enumerate(levels)}

    def root(name: str, people: int = many, eps: float = 1.0) -> float:
        return math.sqrt(errors[f"{name} {people}"][at[eps]])

    global_prior = [
        (number, float(share), central(number, float(share), level(1)), _alone(share))
        for number, share in ((5, "0.5"), (100, "0.1"))
    ]
    between = [eps for eps in levels if root("best", eps=eps) <= root("ldp", eps=eps) <= root("best half", eps=eps)]
    findings = (
        Finding(
            "everybody is protected at eps",
            f"of {many:,} people the published channel protects {legal[many, 1.0]:.1%} at 1 nat, "
            f"{legal[many, 2.0]:.1%} at 2, {legal[many, 4.0]:.1%} at 4",
            "a person is not protected if their prior of either answer is below 1/(e^eps + 1). This is the case for "
            f"2/(e^eps + 1) of all uniform priors, {2 / (math.e + 1):.1%} at 1 nat",
        ),
        Finding(
            "eps-LIP always has less error than eps-LDP",
            f"the legal optimum has less error, too: at 1 nat {root('best'):.4f}, and LDP {root('ldp'):.4f}; the "
            f"published channel has {root('published'):.4f}",
            "the gap is smaller than published, because the unprotected people need more noise",
        ),
        Finding(
            "eps-LDP lies almost everywhere between LIP at eps/2 and at eps",
            f"confirmed with legal channels and {many:,} people at "
            + ("every level drawn" if len(between) == len(levels) else f"{len(between)} of {len(levels)} levels drawn"),
            "no difference except for the channels",
        ),
        Finding(
            "a trusted server (CIP) does better than any local model",
            f"at 1 nat the server's error is {root('server', crowds[0]):.3f} and that of the devices "
            f"{root('best', crowds[0]):.3f} with {crowds[0]} people, {root('server', crowds[1]):.1g} and "
            f"{root('best', crowds[1]):.3f} with {crowds[1]}",
            f"no difference: the paper is right. With {crowds[0]} people this is the optimum over all mechanisms that "
            "Def. 4 allows; the sum over many people reveals hardly anything about one of them, so the server "
            "publishes it and merges only extreme sums, which practically never occur",
        ),
        Finding(
            "Prop. 5: with a global prior the trade-off is the solution of a program; the paper gives its range, "
            "e^-eps N P1 <= E[S|Y] <= N - e^-eps N (1 - P1)",
            "the program has a closed form: publish the sum, and pool each tail until its mean is at the end of the "
            "range. The least error of the sum at 1 nat is "
            + " and ".join(
                f"{found.mse:.3g} with N = {number}, P1 = {share:g} (devices {number * alone:.3g})"
                for number, share, found, alone in global_prior
            ),
            "the range is narrower where P1 is far from 1/2: e^eps also bounds the probability of each answer from "
            "above",
        ),
        Finding(
            "each simulation is run 10,000 times",
            f"simulated surveys up to {SIMULATED:g} nats are within {max(off):.1f} standard errors of the exact error",
            f"{setting.repeats:,} surveys at each level, or as many as {DRAWS:,} people allow; each person has "
            "the channel that their device derives",
        ),
    )
    verdict = (
        f"With people's own priors (uniform), legal LIP at 1 nat has {root('best') / root('ldp'):.0%} of LDP's error; "
        f"the published channel has {root('published') / root('ldp'):.0%}, and does not protect "
        f"{1 - legal[many, 1.0]:.0%} of the people."
    )
    return ExperimentResult(panels, findings, verdict)


def _alone(share: str) -> float:
    """Return the least error at 1 nat of one device's bit with a prior of ``share`` for a one."""
    return of_bit(lip_response(bit(share), level(1)), bit(share))


def _own_panel(
    people: int, levels: Sequence[float], errors: dict[str, list[float]], simulated: Sequence[float], yes: Floats
) -> Panel:
    rarest = float((np.minimum(yes, UNIT - yes) / UNIT).min())
    legal = [rarest >= 1 / (math.exp(eps) + 1) for eps in levels]
    half = [rarest >= 1 / (math.exp(eps / 2) + 1) for eps in levels]
    x = tuple(levels)
    server = tuple(root if root > LEAST_DRAWN else math.nan for root in roots(errors["server"]))
    curves = (
        Curve("LDP, MMSE", x, roots(errors["ldp"]), "ldp"),
        *parted("published LIP", x, roots(errors["published"]), legal, "eps-LIP for all"),
        *parted("published LIP at eps/2", x, roots(errors["half"]), half, "eps/2-LIP for all"),
        Curve("legal optimum at eps/2", x, roots(errors["best half"]), "ours"),
        Curve("legal optimum", x, roots(errors["best"]), "optimum"),
        Curve("legal optimum, simulated", x[: len(simulated)], roots(simulated), "optimum", marks=True),
    )
    if sum(not math.isnan(root) for root in server) > 1:
        curves = (*curves, Curve("trusted server", x, server, "server"))
    return Panel(f"N = {people:,}, priors uniform in 0 .. 1", EPSILON, ERROR, curves, log_y=True)


def _rule(yes: Floats, eps: float) -> tuple[PersonalDecoder, Floats]:
    """Return the decoder of people with declared priors ``yes`` / ``UNIT``, and the probabilities P(Y = x | X = x),
    (people, 2)."""
    priors: Integers = np.stack([UNIT - yes, yes], axis=1).astype(np.int64)
    decoder = PersonalDecoder(priors, level(eps), np.full(len(yes), 1 / len(yes)))
    truths: Floats = decoder.ceiling.reshape(priors.shape) * len(yes)
    return decoder, truths


def _own_errors(yes: Floats, eps: float) -> Floats:
    """Return the error of each person's bit with the channel for the person's prior, shape (people,)."""
    _, truths = _rule(yes, eps)
    return _bit_errors(yes / UNIT, 1 - truths[:, 0], 1 - truths[:, 1])


def _bit_errors(p: Floats, zero_as_one: Floats, one_as_zero: Floats) -> Floats:
    """Return the error of each person's bit, P (1 - P) - [P (lambda0 - q1)]^2 / (lambda0 lambda1), shape (people,)
    (Jiang, Li, Tandon 2018, eq. 16)."""
    ones = (1 - p) * zero_as_one + p * (1 - one_as_zero)
    errors: Floats = p * (1 - p) - (p * (1 - ones - one_as_zero)) ** 2 / (ones * (1 - ones))
    return errors


def _surveyed(yes: Floats, eps: float, setting: Setting) -> Floats:
    """Return (S - E[S|Y])^2 / N of simulated surveys of people with declared priors, shape (surveys,)."""
    decoder, truths = _rule(yes, eps)
    people, p = len(yes), yes / UNIT
    squares = []
    for _ in range(max(min(setting.repeats, DRAWS // people), LEAST_SURVEYS)):
        held = setting.generator.random(people) < p
        output = held ^ (setting.generator.random(people) >= np.where(held, truths[:, 1], truths[:, 0]))
        share = np.stack([~output, output], axis=1).ravel() / people
        squares.append((people * float(decoder.posterior_mean(share)[1]) - float(held.sum())) ** 2 / people)
    return np.array(squares)


def trusted_sum(p: Floats, eps: float) -> float:
    """Return the error of a server that publishes the sum of bits and merges the extreme sums of each tail.

    With R = P(S - X_i = s) / P(S - X_i = s - 1), a sum s multiplies the probability of person i's yes by 1 / (p_i + (1
    - p_i) R), and that of a no by R / (p_i + (1 - p_i) R). R lies between P(S = s + 1) / P(S = s) and P(S = s) / P(S =
    s
    - 1), because the distribution of a sum of bits is log-concave. So a sum satisfies eps for all people if both bounds
    are between e^-eps and e^eps. A merged tail satisfies eps if F(c) / F(c - 1) is at most e^eps, where F is the tail's
    probability. This ratio is at least P(c + 1) / P(c), so all sums outside the tail satisfy eps too. The shortest
    tails that satisfy eps are merged.

    Args:
        p: (n,) the prior probability of a one, for each person.
    """
    law = _law_of_sum(p)
    sums = np.arange(len(law), dtype=np.float64)
    error, factor, merged = 0.0, math.exp(eps), 0
    for one, number in ((law, sums), (law[::-1], sums[::-1])):
        # The first pass is over the lower tail 0 .. c, and the second over the upper tail, with the sums reversed.
        below = np.cumsum(one)
        # The ratio of the tail 0 .. c to the tail 0 .. c - 1; it falls in c.
        tail = below / np.maximum(np.append(0.0, below[:-1]), 1e-300)
        allowed = (one > FAINT * law.max()) & (tail <= factor)
        last = int(np.argmax(allowed))
        merged += last + 1
        if merged > len(law) or not allowed.any():
            # The two tails would meet, so nothing is published.
            return float((p * (1 - p)).sum())
        mean = float(one[: last + 1] @ number[: last + 1]) / below[last]
        error += float(one[: last + 1] @ (number[: last + 1] - mean) ** 2)
    return error


def _law_of_sum(p: Floats) -> Floats:
    """Return the distribution of a sum of independent bits, shape (n + 1,), computed by recursive halving."""
    if len(p) <= 64:
        law = np.ones(1)
        for share in p.tolist():
            law = np.convolve(law, (1 - share, share))
        return law
    middle = len(p) // 2
    joined: Floats = np.maximum(fftconvolve(_law_of_sum(p[:middle]), _law_of_sum(p[middle:])), 0)
    joined /= joined.sum()
    return joined


REGION = 28 * DISTRICTS + 17
"""Latitude 50 to 55, longitude -10 to 0: the district with the paper's region, most of the United Kingdom."""


def figure_8b_cns(setting: Setting) -> ExperimentResult:
    """Compute fig. 8b of the first version: a bit that states whether the last check-in was in one district. Each
    person's earlier check-ins give their prior."""
    places = setting.data.last_check_ins()
    people = len(places.last)
    here = places.district == REGION
    inside = np.bincount(places.owner[here], places.count[here], minlength=people)
    whole = np.bincount(places.owner, places.count, minlength=people)
    # Each person gets one more check-in inside and one outside, because the notion allows no prior of zero.
    yes = np.clip(np.rint(UNIT * (inside + 1) / (whole + 2)), 1, UNIT - 1)
    p, levels = yes / UNIT, SPARSE
    rarest = np.minimum(p, 1 - p)
    errors: dict[str, list[float]] = {"best": [], "best half": [], "ldp": []}
    for eps in setting.track(levels):
        flip = np.full(people, 1 / (math.exp(eps) + 1))
        errors["best"].append(float(_own_errors(yes, eps).mean()))
        errors["best half"].append(float(_own_errors(yes, eps / 2).mean()))
        errors["ldp"].append(float(_bit_errors(p, flip, flip).mean()))
    theirs = {
        part: [float(np.mean([claimed(each, eps * part) for each in p.tolist()])) for eps in levels]
        for part in (1.0, 0.5)
    }
    kept = {part: [float((rarest >= 1 / (math.exp(eps * part) + 1)).mean()) for eps in levels] for part in (1.0, 0.5)}
    alone = float((p * (1 - p)).mean())
    panel = Panel(
        f"{people:,} users, one district",
        EPSILON,
        ERROR,
        (
            Curve("LDP, MMSE", levels, roots(errors["ldp"]), "ldp"),
            *parted("published LIP", levels, roots(theirs[1.0]), [part == 1 for part in kept[1.0]], "eps-LIP for all"),
            *parted(
                "published LIP at eps/2",
                levels,
                roots(theirs[0.5]),
                [part == 1 for part in kept[0.5]],
                "eps/2-LIP for all",
            ),
            Curve("legal optimum at eps/2", levels, roots(errors["best half"]), "ours"),
            Curve("legal optimum", levels, roots(errors["best"]), "optimum"),
            Curve("prior alone", levels, (math.sqrt(alone),) * len(levels), "alone"),
        ),
        log_y=True,
    )
    one = levels.index(1.0)
    best, ldp = math.sqrt(errors["best"][one]), math.sqrt(errors["ldp"][one])
    findings = (
        Finding(
            "LIP has less error than LDP for local priors from people's own history",
            f"at 1 nat the legal optimum has an error of {best:.4f}, LDP with MMSE {ldp:.4f}, the priors alone "
            f"{math.sqrt(alone):.4f}; the published channel {math.sqrt(theirs[1.0][one]):.4f}, and it protects "
            f"{kept[1.0][one]:.1%} of the users",
            f"{BROKEN}: people who are nearly always, or never, in one district have a prior near 0 or 1",
        ),
        Finding(
            "users who were never there have a prior of zero",
            f"{int((inside == 0).sum()):,} of {people:,} users; {int(((places.last == REGION) & (inside == 0)).sum())} "
            "of them checked in there last",
            "a prior of zero is outside the notion; here a check-in inside and one outside are added to everybody's "
            "history",
        ),
        Finding(
            "the region is latitude 50 to 55, longitude 0 to -5",
            f"the district that contains it, twice as wide: {int((places.last == REGION).sum())} users checked in "
            f"there last; the priors alone predict {float(p.sum()):.1f}",
            "here local priors predict most answers, so a report adds little",
        ),
    )
    verdict = (
        f"For a bit that people's own history nearly determines, legal LIP at 1 nat has {best / ldp:.1%} of LDP's "
        f"error and {best / math.sqrt(alone):.1%} of that of the priors alone: a report can add little."
    )
    return ExperimentResult((panel,), findings, verdict, places.label)


def figure_9b(setting: Setting) -> ExperimentResult:
    """Estimate the histogram of last check-ins over the world's districts; all earlier check-ins give the common
    prior."""
    places = setting.data.last_check_ins()
    earlier = places.earlier
    used = np.flatnonzero(earlier)
    size, prior = len(used), tuple(int(count) for count in earlier[used])
    seen = np.isin(places.last, used)
    held = np.bincount(np.searchsorted(used, places.last[seen]), minlength=size)
    law, truth = np.array(prior) / sum(prior), held / held.sum()
    levels = (1.0, 2.0, 4.0, 8.0) if setting.quick else SPARSE
    shown = (levels[0] if setting.quick else 1.0, 4.0)
    domain = crowd.values(size)
    made = {
        eps: crowd.campaign(domain, Information(level(eps), prior), "lip")
        for eps in sorted({*levels, *(eps / 2 for eps in levels)})
    }
    best = [_population_error(made[eps].channel, prior, truth) for eps in levels]
    half = [_population_error(made[eps / 2].channel, prior, truth) for eps in levels]
    ldp, far = [], {}
    for eps in setting.track(levels):
        plain = crowd.campaign(domain, Ldp(level(eps)), "auto")
        ldp.append(_population_error(plain.channel, prior, truth))
        if eps in shown:
            for method in ("mmse", "map"):
                far[method, eps] = crowd.variation(made[eps], held, method, setting.generator, setting.repeats)
            for method in ("projection", "empirical-bayes"):
                far[method, eps] = crowd.variation(plain, held, method, setting.generator, setting.repeats)
    alone = 1 - 2 * float(truth @ law) + float(law @ law)

    def root(channel: Channel) -> float:
        return math.sqrt(max(_population_error(channel, prior, truth), 0.0))

    panel = Panel(
        f"last check-in of {int(held.sum()):,} users, {size} districts",
        EPSILON,
        ERROR,
        (
            Curve(
                "k-ary LDP, MMSE", levels, tuple(root(randomized_response(size, level(eps))) for eps in levels), "ldp"
            ),
            Curve("best LDP, MMSE", levels, roots(ldp), "ldp"),
            *published("published LIP", levels, prior, root),
            *published("published LIP at eps/2", levels, prior, root, part=0.5),
            Curve("our best legal LIP at eps/2", levels, roots(half), "ours"),
            Curve("our best legal LIP", levels, roots(best), "optimum"),
            Curve("prior alone", levels, (math.sqrt(alone),) * len(levels), "alone"),
        ),
        log_y=True,
    )
    at = {eps: place for place, eps in enumerate(levels)}
    one = published_lip_response(prior, level(1))

    def distances(method: str) -> str:
        return " and ".join(f"{far[method, eps]:.3f}" for eps in shown)

    findings = (
        Finding(
            "with more values the advantage of LIP is more evident; 83 districts in use",
            f"{size} districts; at 1 nat the published channel has an error of {root(one):.3f} and a true level of "
            f"{true_level(one, prior):.2f} nats; legal LIP has {math.sqrt(best[at[1.0]]):.3f}, the best LDP channel "
            f"{math.sqrt(ldp[at[1.0]]):.3f}, the prior alone {math.sqrt(alone):.3f}",
            f"{BROKEN}; the rarest district has {min(prior)} of {sum(prior):,} earlier check-ins, so the published "
            f"channel is legal from {legal_from(prior):.2f} nats on",
        ),
        Finding(
            "districts without earlier check-ins are never reported",
            f"{int((~seen).sum())} of {len(places.last):,} users checked in last in one of these",
            "the figure leaves out these users, because the notion excludes a prior of zero. A campaign gives such a "
            "value a small share",
        ),
        Finding(
            "the estimate is the mean of everybody's posterior (MMSE)",
            f"total variation from the truth at {shown[0]:g} and {shown[1]:g} nats: MMSE {distances('mmse')}, "
            f"posterior mode (map) {distances('map')}, LDP projected {distances('projection')}, LDP with empirical "
            f"Bayes {distances('empirical-bayes')}; the prior alone {total_variation(law, truth):.3f}",
            f"means of {setting.repeats} simulated surveys; there are few people and many districts, so a nearly "
            "right prior matters more than the reports",
        ),
    )
    verdict = (
        f"Over {size} districts legal LIP has {math.sqrt(best[at[2.0]] / ldp[at[2.0]]):.0%} of the best LDP channel's "
        f"error at 2 nats and {math.sqrt(best[at[4.0]] / ldp[at[4.0]]):.0%} at 4, with the same prior in the estimate."
    )
    return ExperimentResult((panel,), findings, verdict, places.label)


def _population_error(channel: Channel, prior: Sequence[int], truth: Floats) -> float:
    """Return the mean of |one-hot - posterior|^2 over people distributed as ``truth``, with the posterior of ``prior``.

    1 - 2 sum over y of (sum over x of t P Q^2) / P(y) + sum over y of t(y) (sum over x of P^2 Q^2) / P(y)^2
    """
    law, decoder = np.array(prior) / sum(prior), decoder_of(channel)
    marginal = decoder.forward(law)
    inverse = np.divide(1.0, marginal, out=np.zeros_like(marginal), where=marginal > 0)
    cross = float((decoder.forward_squares(truth * law) * inverse).sum())
    square = float((decoder.forward(truth) * decoder.forward_squares(law**2) * inverse**2).sum())
    return max(1 - 2 * cross + square, 0.0)


METHODS = {
    "lip mmse": ("LIP, MMSE (the papers' estimate)", "published"),
    "lip map": ("LIP, posterior mode (map)", "ours"),
    "lip projection": ("LIP, unbiased, projected", "other"),
    "lip em": ("LIP, maximum likelihood", "other"),
    "ldp projection": ("best LDP, projected", "ldp"),
    "ldp empirical-bayes": ("best LDP, empirical Bayes", "optimum"),
}
"""Name and role of the curve, by notion and method."""


def one_step(setting: Setting) -> ExperimentResult:
    """Test that the papers' estimate is one step of expectation maximisation, and compute its error if the prior is
    wrong."""
    size, eps, wrong = 100, 1.0, 0.3
    prior = tuple(math.ceil(2**40 / rank) for rank in range(1, size + 1))
    law = np.array(prior) / sum(prior)
    truth = (1 - wrong) * law + wrong * setting.generator.permutation(law)
    crowds = tuple(10**power for power in range(3, 8))
    domain = crowd.values(size)
    campaigns = {
        "lip": crowd.campaign(domain, Information(level(eps), prior), "lip"),
        "ldp": crowd.campaign(domain, Ldp(level(eps)), "auto"),
    }
    # Maximum likelihood takes ten seconds for a survey, so the quick form leaves it out.
    methods = [name for name in METHODS if name != "lip em" or not setting.quick]
    far: dict[str, list[float]] = {name: [] for name in methods}
    step = 0.0
    for people in setting.track(crowds):
        found: dict[str, list[float]] = {name: [] for name in methods}
        for _ in range(setting.repeats):
            held = setting.generator.multinomial(people, truth)
            tallies = {
                notion: crowd.tally(terms.channel, held, setting.generator) for notion, terms in campaigns.items()
            }
            for name in methods:
                notion, method = name.split()
                share = estimate(campaigns[notion], tallies[notion], method=method).share
                found[name].append(total_variation(share, truth))
            if people == crowds[0]:
                step = max(step, _step_apart(campaigns["lip"], prior, tallies["lip"]))
        for name, each in found.items():
            far[name].append(float(np.mean(each)))
    x = tuple(float(people) for people in crowds)
    right = np.floor(law * 10**5).astype(np.int64)
    near = crowd.variation(campaigns["lip"], right, "mmse", setting.generator, setting.repeats)
    mmse, bayes = far["lip mmse"], far["ldp empirical-bayes"]
    panel = Panel(
        f"{size} values, eps = {eps:g}, the prior wrong for {wrong:.0%} of the people",
        "people",
        "total variation from the truth",
        (
            *(Curve(METHODS[name][0], x, tuple(numbers), METHODS[name][1]) for name, numbers in far.items()),
            Curve("prior alone", x, (total_variation(law, truth),) * len(x), "alone"),
        ),
        log_x=True,
        log_y=True,
    )
    better = [people for people, a, b in zip(crowds, bayes, mmse, strict=True) if a < b]
    findings = (
        Finding(
            "the estimate is the sum of E[X_i | Y_i]",
            "computed by Bayes' rule from the integers, report by report, it equals one step of expectation "
            f"maximisation from the prior up to {step:.0e}",
            "this is an identity, up to rounding: the estimate is one step away from the prior, even if very many "
            "people report",
        ),
        Finding(
            "the more users, the better the estimate",
            f"MMSE is {mmse[0]:.3f}, {mmse[2]:.3f}, {mmse[-1]:.3f} from the truth for {crowds[0]:,}, {crowds[2]:,} and "
            f"{crowds[-1]:,} people; the prior alone {total_variation(law, truth):.3f}",
            f"the papers assume that the prior is right. If it is, MMSE is {near:.4f} from the truth with "
            f"{int(right.sum()):,} people",
        ),
        Finding(
            "(no other estimate is considered)",
            f"with {crowds[-1]:,} people: posterior mode (map) {far['lip map'][-1]:.3f}, LIP unbiased and projected "
            f"{far['lip projection'][-1]:.3f}, LDP with empirical Bayes {bayes[-1]:.3f}, which is better than MMSE "
            + (f"from {better[0]:,} people on" if better else "nowhere"),
            "halftruth warns where the reports contradict the prior, and names the method to take instead",
        ),
    )
    verdict = (
        f"Do not rely on a prior that may be wrong: if it is wrong for {wrong:.0%} of the people, MMSE stays "
        f"{mmse[-1]:.2f} from the "
        f"truth for any number of people, while LDP at the same eps comes within {bayes[-1]:.2f} with {crowds[-1]:,} "
        "people."
    )
    return ExperimentResult((panel,), findings, verdict)


def _step_apart(terms: Campaign, prior: Sequence[int], counted: Tally) -> float:
    """Return the distance between the mean posterior, computed by Bayes' rule from the integers, and one EM step of the
    decoder."""
    law, share = np.array(prior) / sum(prior), counted.counts / counted.reports
    mean = np.zeros(len(law))
    for y in np.flatnonzero(counted.counts).tolist():
        joint = personal.after(prior, terms.channel, y)
        whole = sum(joint)
        mean += share[y] * np.array([weight / whole for weight in joint])
    decoder = decoder_of(terms.channel)
    marginal = decoder.forward(law)
    ratio = np.divide(share, marginal, out=np.zeros_like(share), where=marginal > 0)
    return float(np.abs(law * decoder.backward(ratio) - mean).max())

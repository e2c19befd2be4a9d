"""The levels of the example campaigns under every notion of the paper, and of three channels by declared level."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aggregator.anonymity import ReleaseError, anonymity_of_reports
from aggregator.author.audit import MAX_STEPS, Audit, audit, levels_request
from aggregator.reproduce import simulated_people
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, reason, series
from aggregator.reproduce.simulated_people import level_of_nats
from aggregator.reproduce.sok.examples import DOMAIN, PRIOR, examples, pufferfish_of_halves
from protocol import levels
from protocol.campaign import Campaign
from protocol.notions import Ldp, Lip

PEOPLE = 10_000
"""Number of reports in the release whose anonymity is computed."""


@dataclass(frozen=True)
class SokRow:
    """A notion of the paper.

    Attributes:
        name: the name of the notion.
        kind: whether it is point-wise or average-case, and context-free or context-aware.
        claim: the paper's statement about it.
        level_of: a function from an audit of a campaign to the campaign's level, as text.
        why: the reason for a difference from the statement, or a remark.
    """

    name: str
    kind: str
    claim: str
    level_of: Callable[[Audit], str]
    why: str


def _nats(key: str) -> Callable[[Audit], str]:
    def level_of(audit: Audit) -> str:
        number = audit.as_json()["levels"].get(key, math.nan)
        return "infinite" if number is None else "-" if math.isnan(number) else f"{number:.3f}"

    return level_of


def _delta(key: str) -> Callable[[Audit], str]:
    def delta_of(audit: Audit) -> str:
        number = audit.as_json()["delta"][0][key]
        return "-" if number is None else f"{number:.3f}"

    return delta_of


def _bits(audit: Audit) -> str:
    return f"{audit.as_json()['mutual_information_bits']:.3f}"


POINT, MEAN = "point-wise", "average-case"
FREE, AWARE = "context-free", "context-aware"

ROWS = (
    SokRow("eps-LDP (Def. 1)", f"{POINT}, {FREE}", "prior-agnostic; the ratio of every pair is bounded", _nats("ldp"),
        "infinite where some pair is not protected: high-low, blocks, and a channel that sometimes sends the truth"),
    SokRow("(eps, delta)-LDP", f"{POINT} up to delta, {FREE}", "delta is the probability that the ratio is not bounded",
        _delta("ldp"),
        "the smallest delta at eps = 1/2. Delta is not that probability: it is the sum over outputs of "
        "max(0, Q(y|x) - e^eps Q(y|x')) for the worst pair, and a channel that reveals everything with probability "
        "delta has the same delta"),
    SokRow("(eps, delta)-LIP, delta = 0 (Def. 6)", f"{POINT}, {AWARE}", "output adds limited information of any input",
        _nats("lip"),
        "at most the LDP level, and at least half of it. No report raises the log-probability of a value by more "
        "than {ceiling:.2f} nats under this prior; a higher level comes from values that a report makes less likely"),
    SokRow("(eps, delta)-LIP at eps = 1/2", f"{POINT} up to delta, {AWARE}", "failure probability delta", _delta("lip"),
        "the smallest delta at eps = 1/2"),
    SokRow("L-MIP, nats (Def. 5)", f"{MEAN}, {AWARE}", "the expected log ratio of posterior and prior",
        _nats("mutual-information"),
        "small even for a channel that sometimes sends the truth: a mean does not limit the worst output"),
    SokRow("L-MIP, bits", f"{MEAN}, {AWARE}", "(the unit is not named)", _bits, "the same in bits"),
    SokRow("differential identifiability (Def. 7)", f"{POINT}, {AWARE}", "pair-wise protection of all values",
        _nats("differential-identifiability"),
        "the odds of the prior count: a report without information has a level of ln({commonest} / {rarest}) = "
        "{silent:.2f}, so no lower level can be satisfied; a report adds only the difference"),
    SokRow("Pufferfish (Def. 8)", f"{POINT}, by its scenarios", "context-free where all priors are scenarios",
        _nats("pufferfish"),
        "the secrets are 'below 3' and 'not below 3', under the prior and under a uniform distribution. Such a set of "
        "values is hidden at least as well as the worst pair of values"),
    SokRow("maximal leakage (Def. 9)", f"{MEAN}, worst prior", "no pair-wise protection", _nats("maximal-leakage"),
        "at most the LDP level, and at least the mutual information under any prior; the paper lists it with the "
        "context-aware notions, but it depends on no prior"),
    SokRow("geo-indistinguishability (eq. 8)", f"{POINT}, {FREE}", "noise by distance", _nats("geo"),
        "nats for each step between two of the six numbers; geometric noise is made for this notion, and its LDP level "
        "is five times as large"),
)  # fmt: skip


def _released(campaign: Campaign, generator: np.random.Generator) -> str:
    """Return words for k and l of a release of reports, or "-" for reports of bits."""
    population = np.array(PRIOR) * PEOPLE // sum(PRIOR)
    try:
        tally = simulated_people.tally(campaign.channel, population, generator)
        anonymity = anonymity_of_reports(campaign.channel, tally)
    except ReleaseError:
        return "-"
    return f"k = {anonymity.k:,}, l = {anonymity.l}"


def example_levels(setting: Setting) -> ExperimentResult:
    """Audit the example campaigns under every notion of the paper."""
    campaigns = examples()
    audits = {
        name: audit(
            campaign,
            levels_request(campaign, prior=PRIOR, epsilons=(level_of_nats(0.5),), pufferfish=pufferfish_of_halves()),
        )
        for name, campaign in setting.track(campaigns.items())
    }
    minimum, maximum, total = min(PRIOR), max(PRIOR), sum(PRIOR)
    words = {
        "ceiling": math.log(total / minimum), "silent": math.log(maximum / minimum),
        "commonest": f"{maximum}%", "rarest": f"{minimum}%",
    }  # fmt: skip
    names = list(campaigns)
    rows = [
        Finding(
            f"{row.name}: {row.kind}; {row.claim}",
            "; ".join(f"{name} {row.level_of(audits[name])}" for name in names),
            row.why.format(**words),
        )
        for row in ROWS
    ]
    released = {name: _released(campaign, setting.generator) for name, campaign in campaigns.items()}
    rows.append(
        Finding(
            "local k-anonymity and l-diversity (Def. 3, 4): notions of a release, which protect a person's "
            "identity and prevent attribute disclosure",
            "; ".join(f"{name} {words}" for name, words in released.items()),
            f"k is the number of reports, of {PEOPLE:,}, with the rarest output; l is the least number of answers that "
            "can give an output. Both are properties of one release: k grows with the number of people and "
            "does not describe the channel; l = 1 means that some report reveals its answer. Reports of bits (-) "
            "are counted bit by bit",
        )
    )  # fmt: skip
    rare = audits["truth once in 100"].as_json()["levels"]
    verdict = (
        "Choose a point-wise notion. A channel that sends the true answer once in a hundred times reveals one answer "
        f"in a hundred. But its mutual information is only {rare['mutual-information']:.3f} nats, and that of "
        f"randomised response at 1 nat is {_nats('mutual-information')(audits['randomised response'])} nats. Its "
        f"maximal leakage is only {rare['maximal-leakage']:.3f} nats, and that of randomised response is "
        f"{_nats('maximal-leakage')(audits['randomised response'])} nats."
    )
    return ExperimentResult((), tuple(rows), verdict)


SHOWN = {
    "ldp": ("LDP", "ldp"),
    "differential-identifiability": ("differential identifiability", "other"),
    "lip": ("LIP", "optimum"),
    "maximal-leakage": ("maximal leakage", "server"),
    "mutual-information": ("mutual information", "ours"),
}
LEVELS = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)


def _levels(campaign: Campaign, prior: Sequence[int]) -> dict[str, float]:
    """Return the level of a campaign in nats under each notion in ``SHOWN``; NaN if it has none."""
    table = levels.table(levels.structure_of(campaign.channel, MAX_STEPS), levels_request(campaign, prior=prior))
    nats = {key: table.levels[key].nats for key in SHOWN}
    return {key: math.nan if number is None else number for key, number in nats.items()}


def levels_by_eps(setting: Setting) -> ExperimentResult:
    """Compute the levels of channels under five notions."""
    even = (1,) * len(PRIOR)
    cases: dict[str, tuple[Sequence[int], Callable[[float], Campaign]]] = {
        "randomised response, uniform prior": (
            even, lambda eps: simulated_people.campaign(DOMAIN, Ldp(level_of_nats(eps)), "randomized-response")),
        "randomised response, skewed prior": (
            PRIOR, lambda eps: simulated_people.campaign(DOMAIN, Ldp(level_of_nats(eps)), "randomized-response")),
        "LIP, skewed prior": (
            PRIOR, lambda eps: simulated_people.campaign(DOMAIN, Lip(level_of_nats(eps), PRIOR), "lip-table")),
    }  # fmt: skip
    plots, level_series = [], {}
    for name, (prior, make) in setting.track(cases.items()):
        by_notion = level_series[name] = series([_levels(make(eps), prior) for eps in LEVELS])
        plots.append(
            Plot(
                name, "declared level, nats", "level under each notion, nats",
                tuple(Curve(title, LEVELS, by_notion[key], role) for key, (title, role) in SHOWN.items()),
            )
        )  # fmt: skip
    one_nat, top = LEVELS.index(1.0), len(LEVELS) - 1
    flat, skewed, lip = level_series.values()
    ratio = lip["mutual-information"][one_nat] / skewed["mutual-information"][one_nat]
    entropy = -sum(p / sum(PRIOR) * math.log(p / sum(PRIOR)) for p in PRIOR)
    findings = (
        Finding(
            "context-free notions hold for every prior",
            "levels of randomised response at 1 nat, under a uniform and a skewed prior: "
            + "; ".join(
                f"{title} {flat[key][one_nat]:.3f} and {skewed[key][one_nat]:.3f}"
                for key, (title, _) in SHOWN.items()
                if key != "differential-identifiability"
            ),
            reason(all(flat[key] == skewed[key] for key in ("ldp", "maximal-leakage")))
            + ". The paper does not state that one channel has several context-aware levels",
        ),
        Finding(
            "context-aware notions give more utility for the same eps",
            f"a LIP campaign of 1 nat has an LDP level of {lip['ldp'][one_nat]:.2f} and a mutual information of "
            f"{lip['mutual-information'][one_nat]:.3f}, {ratio:.1f} times that of randomised response under the same "
            "prior",
            "the LDP level of a LIP campaign may be up to twice its own level; compare campaigns at the same LDP "
            "level as well",
        ),
        Finding(
            "(limits are not given)",
            f"randomised response at {LEVELS[-1]:g} nats of LDP has a LIP level of {skewed['lip'][top]:.2f}, because a "
            "report may lower the probability of a value that much; a report raises it by at most "
            f"{math.log(sum(PRIOR) / min(PRIOR)):.2f}. The maximal leakage is {skewed['maximal-leakage'][top]:.2f} and "
            f"cannot exceed {math.log(len(PRIOR)):.2f}; the mutual information is "
            f"{skewed['mutual-information'][top]:.2f} and cannot exceed {entropy:.2f}",
            "average-case levels cannot exceed the information in the answers; the same number of nats is a strict "
            "promise under one notion and none under another",
        ),
    )
    verdict = (
        "A number of nats has no meaning without its notion: under one and the same prior, randomised response at 1 "
        f"nat of LDP has a LIP level of {skewed['lip'][one_nat]:.2f} nats, a maximal leakage of "
        f"{skewed['maximal-leakage'][one_nat]:.2f} nats and a mutual information of "
        f"{skewed['mutual-information'][one_nat]:.2f} nats."
    )
    return ExperimentResult(tuple(plots), findings, verdict)

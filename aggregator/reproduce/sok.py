"""Experiments on the notions of the SoK, with example campaigns: Wang, Qin, Qiu 2023.

Every campaign is audited under every notion that the paper defines. So the level of a promise under another notion is
computed, not argued.

Point-wise notions bound every output, and average-case notions bound a mean over outputs. Context-free notions hold for
every prior, and context-aware notions hold for the prior that they name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from aggregator.anonymity import ReleaseError, judge_reports
from aggregator.author.audit import MOST_STEPS, Audit, ask, audit
from aggregator.estimate.error import lip_mse, prior_mse
from aggregator.families.response.recipe import random_sampling
from aggregator.reproduce import crowd
from aggregator.reproduce.crowd import level
from aggregator.reproduce.experiment import Curve, Experiment, ExperimentResult, Finding, Panel, Setting
from protocol import levels
from protocol.campaign import Campaign
from protocol.channels import Channel, Table
from protocol.domain import Buckets
from protocol.errors import BadData
from protocol.levels import Pufferfish, Scenario
from protocol.notions import Block, Geo, HighLow, Information, Ldp, MinId, MutualInformation, Notion
from protocol.views import plain_views

DOMAIN = Buckets.of([0, 1, 2, 3, 4, 5])
"""Six numbers, so that values have distances."""

PRIOR = (40, 25, 15, 10, 6, 4)

PEOPLE = 10_000
"""Number of reports in the release whose anonymity is computed."""

RARELY = Fraction(1, 100)
"""Probability with which the last example reports the true value."""


def halves() -> Pufferfish:
    """Return Pufferfish privacy for two secrets (the answer is below 3, or not) in two scenarios: the prior, and a
    uniform distribution."""
    laws = {"prior": PRIOR, "even": (1,) * len(PRIOR)}
    scenarios = tuple(
        Scenario(name, ((*law[:3], 0, 0, 0), (0, 0, 0, *law[3:]))) for name, law in laws.items()
    )  # fmt: skip
    return Pufferfish(("low", "high"), ((0, 1),), scenarios)


def rarely() -> Table:
    """Return a channel that reports the answer in 1 of 100 cases, and otherwise a constant."""
    size = len(PRIOR)
    return Table.nearest([[RARELY * (x == y) for y in range(size)] + [1 - RARELY] for x in range(size)])


def examples() -> dict[str, Campaign]:
    """Return a campaign for every kind of promise, at 1 nat if the promise has a level."""
    one, size = level(1), len(PRIOR)
    settings: dict[str, tuple[Notion, str]] = {
        "randomised response": (Ldp(one), "randomized-response"),
        "Hadamard": (Ldp(one), "hadamard"),
        "OUE": (Ldp(one), "oue"),
        "ID-LDP": (MinId.over([one, one, *[2 * one] * (size - 2)]), "idue"),
        "geometric noise": (Geo.between(one, 1, [0], list(range(size))), "geometric"),
        "high-low": (HighLow(one, size, (0, 1)), "randomized-response"),
        "blocks": (Block.over(one, [0, 0, 0, 1, 1, 1]), "randomized-response"),
        "LIP": (Information(one, PRIOR), "lip-table"),
        "random sampling": (Information(one, PRIOR), "random-sampling"),
        "OUE-LIP": (Information(one, PRIOR), "oue-lip"),
        "mutual information": (MutualInformation(one, PRIOR), "mutual-information"),
    }
    found = {name: crowd.campaign(DOMAIN, notion, mechanism) for name, (notion, mechanism) in settings.items()}
    notion = MutualInformation(one, PRIOR)
    found["truth once in 100"] = Campaign(
        "Reproduction", "Which?", "", "A paper", DOMAIN, notion, "table", plain_views(rarely()), 0, 1, 1, 1, 1, "open"
    )
    return found


@dataclass(frozen=True)
class SokRow:
    """A notion of the SoK, with the paper's statement about it and a function from an audit to the level of a
    campaign."""

    name: str
    kind: str
    said: str
    found: Callable[[Audit], str]
    why: str


def _nats(key: str) -> Callable[[Audit], str]:
    def found(audit: Audit) -> str:
        number = audit.as_json()["levels"].get(key, math.nan)
        return "infinite" if number is None else "-" if math.isnan(number) else f"{number:.3f}"

    return found


def _delta(key: str) -> Callable[[Audit], str]:
    def found(audit: Audit) -> str:
        number = audit.as_json()["delta"][0][key]
        return "-" if number is None else f"{number:.3f}"

    return found


def _bits(audit: Audit) -> str:
    return f"{audit.as_json()['mutual_information_bits']:.3f}"


POINT, MEAN = "point-wise", "average-case"
FREE, AWARE = "context-free", "context-aware"

ROWS = (
    SokRow("eps-LDP (Def. 1)", f"{POINT}, {FREE}", "prior-agnostic; the ratio of every pair is bounded", _nats("ldp"),
        "infinite where some pair is not protected: high-low, blocks, and a channel that sometimes sends the truth"),
    SokRow("(eps, delta)-LDP", f"{POINT} up to delta, {FREE}", "delta is the probability that the ratio is not bounded",
        _delta("ldp"),
        "the smallest delta at eps = 1/2. Delta is not that probability: it is the mass above e^eps, and a channel "
        "that reveals everything with probability delta has the same delta"),
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
        "the odds of the prior count: a report without information has a level of ln({most} / {rarest}) = "
        "{silent:.2f}, so no lower level can be kept; most of each level comes from the prior, not from the report"),
    SokRow("Pufferfish (Def. 8)", f"{POINT}, by its scenarios", "context-free where all priors are scenarios",
        _nats("pufferfish"),
        "secrets: below 3 or not, under the prior and a uniform distribution. Such sets of values are better hidden "
        "than the worst pair of values"),
    SokRow("maximal leakage (Def. 9)", f"{MEAN}, worst prior", "no pair-wise protection", _nats("maximal-leakage"),
        "at most the LDP level, and at least the mutual information under any prior; the paper lists it with the "
        "context-aware notions, but it depends on no prior"),
    SokRow("geo-indistinguishability (eq. 8)", f"{POINT}, {FREE}", "noise by distance", _nats("geo"),
        "nats for each step between two of the six numbers; geometric noise is made for this notion, and its LDP level "
        "is five times as large"),
)  # fmt: skip


def notions(setting: Setting) -> ExperimentResult:
    """Audit the example campaigns under every notion of the paper."""
    campaigns = examples()
    found = {
        name: audit(terms, ask(terms, prior=PRIOR, epsilons=(level(0.5),), pufferfish=halves()))
        for name, terms in setting.track(campaigns.items())
    }
    least, most, whole = min(PRIOR), max(PRIOR), sum(PRIOR)
    words = {
        "least": least / whole, "ceiling": math.log(whole / least), "silent": math.log(most / least),
        "most": f"{most}%", "rarest": f"{least}%",
    }  # fmt: skip
    names = list(campaigns)
    rows = [
        Finding(
            f"{row.name}: {row.kind}; {row.said}",
            "; ".join(f"{name} {row.found(found[name])}" for name in names),
            row.why.format(**words),
        )
        for row in ROWS
    ]
    held = np.array(PRIOR) * PEOPLE // whole
    released: dict[str, tuple[int, int | None] | None] = {}
    for name, terms in campaigns.items():
        try:
            one = judge_reports(terms.channel, crowd.tally(terms.channel, held, setting.generator))
            released[name] = one.k, one.l
        except ReleaseError:
            released[name] = None
    rows.append(
        Finding(
            "local k-anonymity and l-diversity (Def. 3, 4): notions of a release, which protect the identity and "
            "against attribute disclosure",
            "; ".join(f"{name} {'-' if pair is None else f'{pair[0]:,} and {pair[1]}'}"
                      for name, pair in released.items()),
            f"of {PEOPLE:,} reports: the number of reports with the rarest output, and the least number of answers "
            "that can give an output. Both are properties of one release: k grows with the number of people and "
            "does not describe the channel; l = 1 means that some report reveals its answer. Reports of bits (-) "
            "are counted bit by bit",
        )
    )  # fmt: skip
    rare = found["truth once in 100"].as_json()["levels"]
    verdict = (
        "Choose a point-wise notion: a channel that sends the true answer once in a hundred times has a mutual "
        f"information of {rare['mutual-information']:.3f} nats and a maximal leakage of "
        f"{rare['maximal-leakage']:.3f}, less than randomised response at 1 nat ("
        f"{_nats('mutual-information')(found['randomised response'])} and "
        f"{_nats('maximal-leakage')(found['randomised response'])}), although it reveals one answer in a hundred."
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


def sweep(setting: Setting) -> ExperimentResult:
    """Compute the levels of channels under five notions."""
    even = (1,) * len(PRIOR)
    cases: dict[str, tuple[Sequence[int], Callable[[float], Campaign]]] = {
        "randomised response, uniform prior": (
            even, lambda eps: crowd.campaign(DOMAIN, Ldp(level(eps)), "randomized-response")),
        "randomised response, skewed prior": (
            PRIOR, lambda eps: crowd.campaign(DOMAIN, Ldp(level(eps)), "randomized-response")),
        "LIP, skewed prior": (
            PRIOR, lambda eps: crowd.campaign(DOMAIN, Information(level(eps), PRIOR), "lip-table")),
    }  # fmt: skip
    panels, found = [], {}
    for name, (prior, make) in setting.track(cases.items()):
        at: dict[str, list[float]] = {key: [] for key in SHOWN}
        for eps in LEVELS:
            terms = make(eps)
            table = levels.table(levels.structure_of(terms.channel, MOST_STEPS), ask(terms, prior=prior))
            for key in SHOWN:
                number = table.levels[key].nats
                at[key].append(math.nan if number is None else number)
        found[name] = at
        panels.append(
            Panel(
                name, "declared level, nats", "level under each notion, nats",
                tuple(Curve(title, LEVELS, tuple(at[key]), role) for key, (title, role) in SHOWN.items()),
            )
        )  # fmt: skip
    one, top = LEVELS.index(1.0), len(LEVELS) - 1
    flat, skewed, lip = found.values()
    ratio = lip["mutual-information"][one] / skewed["mutual-information"][one]
    entropy = -sum(p / sum(PRIOR) * math.log(p / sum(PRIOR)) for p in PRIOR)
    findings = (
        Finding(
            "context-free notions hold for every prior",
            f"randomised response at 1 nat has an LDP level of {flat['ldp'][one]:.3f} and a maximal leakage of "
            f"{flat['maximal-leakage'][one]:.3f} under both priors; its LIP level is {flat['lip'][one]:.3f} (uniform) "
            f"and {skewed['lip'][one]:.3f} (skewed), its mutual information {flat['mutual-information'][one]:.3f} and "
            f"{skewed['mutual-information'][one]:.3f}",
            "no difference. The paper does not state that one channel has several context-aware levels",
        ),
        Finding(
            "context-aware notions give more utility for the same eps",
            f"a LIP campaign of 1 nat has an LDP level of {lip['ldp'][one]:.2f} and a mutual information of "
            f"{lip['mutual-information'][one]:.3f}, {ratio:.1f} times that of randomised response under the same prior",
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
        f"A number of nats has no meaning without its notion: randomised response at 1 nat of LDP has "
        f"{skewed['lip'][one]:.2f} of LIP, {skewed['maximal-leakage'][one]:.2f} of maximal leakage and "
        f"{skewed['mutual-information'][one]:.2f} of mutual information under one and the same prior."
    )
    return ExperimentResult(tuple(panels), findings, verdict)


CAPS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4)


@dataclass(frozen=True)
class _Point:
    """A campaign: its level in nats, a person's squared error, and its mutual information in nats."""

    level: float
    error: float
    leak: float
    channel: Channel


def utility(setting: Setting) -> ExperimentResult:
    """Compare the errors of point-wise and average-case notions."""
    notion_of: dict[str, tuple[Callable[[float], Notion], str, str]] = {
        "LDP, best": (lambda eps: Ldp(level(eps)), "auto", "ldp"),
        "LIP, best": (lambda eps: Information(level(eps), PRIOR), "lip-table", "optimum"),
        "mutual information": (lambda eps: MutualInformation(level(eps), PRIOR), "mutual-information", "ours"),
    }
    found: dict[str, list[_Point]] = {}
    for name, (notion, mechanism, _) in setting.track(notion_of.items()):
        found[name] = []
        for eps in CAPS if name == "mutual information" else LEVELS:
            try:
                terms = crowd.campaign(DOMAIN, notion(eps), mechanism)
            except BadData:  # with this cap, every channel is allowed
                continue
            structure = levels.structure_of(terms.channel, MOST_STEPS)
            leak = levels.mutual_information(structure, PRIOR).nats or 0.0
            found[name].append(_Point(eps, lip_mse(_joint(terms.channel), PRIOR), leak, terms.channel))
    alone = prior_mse(PRIOR)
    roles = {name: role for name, (_, _, role) in notion_of.items()}

    def lines(x_of: Callable[[_Point], float]) -> tuple[Curve, ...]:
        curves = [
            Curve(name, tuple(map(x_of, points)), tuple(point.error for point in points), roles[name])
            for name, points in found.items()
        ]
        widest = max(max(curve.x) for curve in curves)
        return (*curves, Curve("prior alone", (0.0, widest), (alone, alone), "alone"))

    panels = (
        Panel(
            "against the level of its own notion",
            "declared level, nats",
            "squared error of one person",
            lines(lambda point: point.level),
        ),
        Panel(
            "against the mean leakage",
            "mutual information, nats",
            "squared error of one person",
            lines(lambda point: point.leak),
        ),
    )
    half = next(row for row in found["mutual information"] if row.level == 0.4)
    structure = levels.structure_of(half.channel, MOST_STEPS)
    kept, lip = levels.ldp(structure).nats, levels.information(structure, PRIOR).nats
    same = _between(found["LIP, best"], half.leak)
    plain = _between(found["LDP, best"], half.leak)
    least = min(PRIOR) / sum(PRIOR)
    findings = (
        Finding(
            "average-case protection retains a better balance of utility and privacy",
            f"at the same mutual information of {half.leak:.2f} nats a person's error is {half.error:.3f} with the "
            f"channel made for it, {same:.3f} with LIP and {plain:.3f} with LDP; the prior alone {alone:.3f}",
            f"the average-case channel gains at the expense of the worst case: its LDP level is {_or_none(kept)}, its "
            f"LIP level {_or_none(lip)}",
        ),
        Finding(
            "average-case suits trends over many people, point-wise the individual",
            "all of these levels are of one person's report; the average is over that person's outputs, not over "
            "people",
            "collecting reports from many people does not turn one into the other: if people are independent, "
            "statistics of the reports reveal at most as much about a person as their own report, under each of the "
            "notions",
        ),
        Finding(
            "point-wise protection demands higher overheads in processing and storage",
            "an output takes "
            + "; ".join(
                f"{max(row.channel.output_bits for row in rows)} bits ({name})" for name, rows in found.items()
            ),
            "this is not so for today's channels: only the convex program of the average-case channel is expensive, "
            "and the author solves it once",
        ),
        Finding(
            "mutual information allows no closed-form mechanism (Def. 5)",
            f"at a cap of {half.level:g} nats {_never(half.channel)} of {len(PRIOR)} values are never an output of the "
            "optimum",
            "the optimum is found by convex optimisation, and ignores rare values (the rarest has "
            f"{least:.0%}) to leak less: people with these values answer like others, so a histogram lacks these "
            "values",
        ),
    )
    verdict = (
        "Average-case protection reduces the error little and bounds no single output: at "
        f"{half.leak:.2f} nats of mutual information a person's error is {half.error:.3f} instead of LIP's {same:.3f}, "
        f"and the worst case is {_or_none(kept)} nats of LDP."
    )
    return ExperimentResult(panels, findings, verdict)


def _or_none(nats: float | None) -> str:
    return "infinite" if nats is None else f"{nats:.2f}"


def _joint(channel: Channel) -> Channel:
    """Return a channel with one output for each bit vector; other channels unchanged."""
    if not channel.unary:
        return channel
    rows = [
        [Fraction(channel.weight(x, y), 2**channel.scale) for y in range(channel.outputs)]
        for x in range(channel.inputs)
    ]
    return Table.nearest(rows)


def _never(channel: Channel) -> int:
    return sum(not any(channel.weight(x, y) for x in range(channel.inputs)) for y in range(channel.outputs))


def _between(points: Sequence[_Point], leak: float) -> float:
    """Return the error at the mutual information ``leak``, interpolated between points."""
    return float(np.interp(leak, [point.leak for point in points], [point.error for point in points]))


RELATIONS: Mapping[str, str] = {
    "eps-LDP implies eps-LIP": "lip <= ldp",
    "eps-LIP implies 2 eps-LDP": "ldp <= 2 lip",
    "eps-LIP implies eps-MIP": "mutual-information <= lip",
    "MIP below maximal leakage": "mutual-information <= maximal-leakage",
    "maximal leakage below LDP": "maximal-leakage <= ldp",
}


def relations(setting: Setting) -> ExperimentResult:
    """Test the paper's implications between notions on random channels and priors."""
    broken = dict.fromkeys(RELATIONS, 0)
    near = dict.fromkeys(RELATIONS, 0.0)
    odds, fish, ball, sampled = 0.0, 0.0, 0.0, 0.0
    for _ in setting.track(range(setting.repeats)):
        size, outputs = (int(n) for n in setting.generator.integers(2, 6, 2))
        rows = setting.generator.dirichlet(np.full(outputs, setting.generator.choice([0.7, 5.0, 50.0])), size) + 1e-4
        table = Table.nearest([[Fraction(cell) / sum(map(Fraction, row)) for cell in row] for row in rows.tolist()])
        prior = tuple((1 + 10**6 * setting.generator.dirichlet(np.ones(size))).astype(int).tolist())
        structure = levels.structure_of(table)
        single = tuple(tuple(int(x == secret) for x in range(size)) for secret in range(size))
        every = Pufferfish(
            tuple(f"v{x}" for x in range(size)),
            tuple((x, y) for x in range(size) for y in range(x)),
            (Scenario("certain", single),),
        )
        found = levels.table(structure, levels.LevelsRequest(prior, radius=Fraction(1), pufferfish=every)).levels
        at = {key: one.nats or 0.0 for key, one in found.items()}
        for claim, sides in RELATIONS.items():
            low, high = sides.split(" <= ")
            bound = 2 * at["lip"] if high == "2 lip" else at[high]
            broken[claim] += at[low] > bound + 2e-9  # both levels are rounded up to nanonats
            near[claim] = max(near[claim], at[low] / bound)
        spread = math.log(max(prior) / min(prior))
        odds = max(odds, at["differential-identifiability"] - (at["ldp"] + spread))
        fish = max(fish, abs(at["pufferfish"] - at["ldp"]))
        ball = max(ball, abs(at["lip-ball"] - at["ldp"]))
        sampled = max(sampled, _apart(prior))
    findings = (
        *(
            Finding(
                claim,
                f"{sides}: broken by {broken[claim]} of {setting.repeats:,} random channels and priors; the left side "
                f"is at most {near[claim]:.0%} of the right side",
                "no difference" if not broken[claim] else "it does not hold",
            )
            for claim, sides in RELATIONS.items()
        ),
        Finding(
            "Pufferfish with a large enough set of priors is context-free",
            f"if every value is a separate secret, its level is that of LDP, up to {fish:.0e} nats",
            "no difference",
        ),
        Finding(
            "LIP bounds what an output adds under the prior",
            f"its largest level over all priors is the level of LDP, up to {ball:.0e} nats",
            "the ball of radius 1 around any prior is all priors: the advantage of LIP comes from knowing one prior",
        ),
        Finding(
            "differential identifiability is like LDP, with a prior",
            f"it exceeds LDP by at most the log odds of the most and the least likely value (by {odds:.0e} more at the "
            "most), and it contains those odds even if a report reveals nothing",
            "no channel can keep a bound below the odds of the prior; LIP measures only what the report adds",
        ),
    )
    findings += (
        Finding(
            "random sampling translates into randomised response",
            "random sampling is a randomised response: with the prior as cover weights, both have the same "
            "probabilities, up to "
            f"{sampled:.0e}",
            "no difference; for a uniform prior it is k-ary randomised response itself",
        ),
    )
    verdict = (
        f"In {setting.repeats:,} random channels mutual information was never above LIP, LIP never above LDP, and LDP "
        "never above twice LIP: a promise of LDP or LIP bounds the others."
    )
    return ExperimentResult((), findings, verdict)


def _apart(prior: Sequence[int]) -> float:
    """Return the largest difference between the cells of the random sampling channel and the paper's formula."""
    channel, law = random_sampling(prior, level(1)), np.array(prior) / sum(prior)
    rows = np.array([[channel.weight(x, y) for y in range(len(law))] for x in range(len(law))]) / 2**channel.scale
    reveal = rows[0, 0] - rows[1, 0]
    return float(np.abs(rows - reveal * np.eye(len(law)) - (1 - reveal) * law).max())


EXPERIMENTS = (
    Experiment("notions", "B8", "Every notion, on twelve campaigns", notions),
    Experiment("sweep", "B8", "One channel under five notions", sweep),
    Experiment("utility", "B8", "Point-wise against average-case", utility),
    Experiment("relations", "B8", "Which notion implies which", relations, 3000, 300),
)

"""Context-aware LDP, the experiments: Acharya, Bonawitz, Kairouz, Ramage, Sun 2020.

One idea: what a channel gains is exact, from its integers; what an estimate makes of it depends on the law of the
answers and is simulated. The paper draws both as one curve, so they are taken apart here.

Blocks are told and hidden within, or sensitive values are hidden among all: the channels are the product's, with
Hadamard inside, as published, and with what has least error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aggregator.estimate import distribution, likelihood
from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.decoders import Decoder, decoder_of
from aggregator.estimate.decoders.decoder import Floats, Integers
from aggregator.estimate.error import expected_mse
from aggregator.estimate.linear import solve
from aggregator.estimate.tally import Tally
from aggregator.present.table import total_variation
from aggregator.reproduce import crowd
from aggregator.reproduce.data import GRID_COLUMNS, GRID_ROWS, SOURCES
from aggregator.reproduce.experiment import Curve, Experiment, Finding, Outcome, Panel, Setting
from protocol import exact
from protocol.campaign import Campaign
from protocol.domain import Domain
from protocol.notions import Block, HighLow, Ldp, Notion

VALUES, EPS = 1000, 1.0
"""The paper's k and epsilon."""

BLOCKS = (10, 20, 50, 100)
"""Its numbers of blocks."""

PEOPLE = tuple(1000 * 2**i for i in range(10))

DECAY, EXPONENT = 0.95, 1.0
"""Of the geometric and the Zipf law."""

TV = "total variation from the truth"

METHODS = {
    "clip": "clipped and normed",
    "projection": "projected",
    "empirical-bayes": "empirical Bayes",
    "map": "posterior mode, even prior",
}
"""How a distribution is made of the unbiased estimates, or, for the posterior mode, of the reports."""

GRIDS = ((1, 1), (5, 7), (25, 35), (25, 70))
"""Table 1: into how many parts latitude and longitude are cut; not at all for plain LDP."""

PAPERS_TV = (0.591, 0.298, 0.108, 0.082)

MAP_STEPS = 150
"""Of the search for the posterior mode over the grid, where a step takes a tenth of a second."""

BANDS = ((1e-2, 1.0, "1% or more", "published"), (2e-3, 1e-2, "0.2% to 1%", "server"),
         (4e-4, 2e-3, "0.04% to 0.2%", "optimum"), (0.0, 4e-4, "less, but some", "alone"))  # fmt: skip
"""Of a map: from, below, name and role of the cells' shares."""


def level(eps: float) -> int:
    """Nanonats."""
    return exact.level_from(eps)


def blocks_of(size: int, count: int) -> list[int]:
    """Blocks of neighbouring values, as equal as can be."""
    return [x * count // size for x in range(size)]


def block(size: int, count: int, eps: float) -> Notion:
    """Block-structured LDP over so many blocks; plain LDP over one."""
    return Block.over(level(eps), blocks_of(size, count)) if count > 1 else Ldp(level(eps))


@dataclass(frozen=True)
class Reader:
    """A campaign and what reads its reports."""

    terms: Campaign

    @cached_property
    def decoder(self) -> Decoder:
        return decoder_of(self.terms.channel)

    def drawn(self, law: Floats, people: int, generator: np.random.Generator) -> Tally:
        """One report of each of ``people`` who are drawn from ``law``: their outputs are drawn from one law too."""
        outputs = np.maximum(self.decoder.forward(law), 0)
        return Tally(generator.multinomial(people, outputs / outputs.sum()), people)

    def shares(self, tally: Tally, method: str, steps: int = likelihood.MAX_STEPS) -> Floats:
        """The distribution that one of ``METHODS`` makes."""
        if method == "map":
            even = np.full(self.decoder.inputs, 1 / self.decoder.inputs)
            share = tally.counts / tally.reports
            return likelihood.posterior_mode(self.decoder, share, tally.reports, even, steps=steps).share
        found = solve(self.decoder, tally)
        if method == "clip":
            kept = np.maximum(found.raw, 0)
            return kept / kept.sum()
        return empirical_bayes(found.raw, found.se) if method == "empirical-bayes" else distribution.project(found.raw)


def laws(generator: np.random.Generator) -> dict[str, Floats]:
    """The four laws of fig. 2, each over ``VALUES``."""
    rank = np.arange(VALUES)
    geometric, zipf = DECAY**rank, 1 / (rank + 1.0) ** EXPONENT
    found = {
        f"Geo({DECAY:g})": geometric,
        f"Zipf({EXPONENT:g})": zipf,
        "uniform": np.ones(VALUES),
        f"Geo({DECAY:g})*, permuted": generator.permutation(geometric),
    }
    return {name: weights / weights.sum() for name, weights in found.items()}


def figure_2(setting: Setting) -> Outcome:
    domain = crowd.values(VALUES)
    plain = Reader(crowd.campaign(domain, Ldp(level(EPS)), "hadamard"))
    inside = {m: Reader(crowd.campaign(domain, block(VALUES, m, EPS), "hadamard")) for m in BLOCKS}
    best = Reader(crowd.campaign(domain, block(VALUES, BLOCKS[-1], EPS), "best-in-blocks"))
    lines = [
        ("LDP, Hadamard", "ldp", plain, "projection"),
        *((f"{m} blocks, Hadamard", "published", inside[m], "projection") for m in BLOCKS),
        (f"{BLOCKS[-1]} blocks, best inside", "optimum", best, "projection"),
        (f"{BLOCKS[-1]} blocks, best inside, empirical Bayes", "ours", best, "empirical-bayes"),
    ]
    everything = laws(setting.generator)
    work = [(law, line) for law in everything for line in range(len(lines))]
    found: dict[tuple[str, int], list[float]] = {}
    for law, line in setting.track(work):
        _, _, reader, method = lines[line]
        truth = everything[law]
        found[law, line] = [
            float(np.mean([
                total_variation(reader.shares(reader.drawn(truth, people, setting.generator), method), truth)
                for _ in range(setting.repeats)
            ]))
            for people in PEOPLE
        ]  # fmt: skip
    x = tuple(float(people) for people in PEOPLE)
    panels = tuple(
        Panel(
            law, "people", TV,
            tuple(Curve(name, x, tuple(found[law, at]), role) for at, (name, role, _, _) in enumerate(lines)),
            log_x=True,
        )
        for law in everything
    )  # fmt: skip
    pairs = [
        (law, m, found[law, 0][at], found[law, 1 + place][at])
        for law in everything for place, m in enumerate(BLOCKS) for at in range(len(PEOPLE))
    ]  # fmt: skip
    worse = [(law, m) for law, m, ldp, ours in pairs if ours >= ldp]
    steps = [
        found[law, 2 + place][at] < found[law, 1 + place][at]
        for law in everything for place in range(len(BLOCKS) - 1) for at in range(len(PEOPLE))
    ]  # fmt: skip
    last = {law: (found[law, 0][-1], found[law, len(BLOCKS)][-1], found[law, len(lines) - 1][-1]) for law in everything}
    ratios = [expected_mse(plain.terms.channel) / expected_mse(inside[m].terms.channel) for m in BLOCKS]
    geometric, permuted = list(everything)[0], list(everything)[-1]
    printed = (1 - DECAY) ** np.arange(VALUES) * DECAY
    findings = (
        Finding(
            "with blocks, accuracy is consistently better than under LDP",
            f"at {len(pairs) - len(worse)} of {len(pairs)} points drawn ({len(PEOPLE)} numbers of people, "
            f"{len(BLOCKS)} of blocks, {len(everything)} laws); with {PEOPLE[-1]:,} people LDP and {BLOCKS[-1]} blocks "
            "are " + "; ".join(f"{ldp:.3f} and {ours:.3f} away ({law})" for law, (ldp, ours, _) in last.items()),
            "no difference. The blocks themselves are told, so these are not two ways to the same privacy",
        ),
        Finding(
            "the more blocks, the better",
            f"at {sum(steps)} of {len(steps)} steps from one number of blocks to the next",
            "no difference" if all(steps) else "where few answer, both are as far away as can be and only chance tells",
        ),
        Finding(
            "equal blocks save a factor of m in the number of people",
            "the exact squared error of LDP (Hadamard) is "
            + ", ".join(f"{ratio:.2f}" for ratio in ratios)
            + f" times that with {', '.join(map(str, BLOCKS))} blocks, people spread evenly",
            "no difference: the noise of a report falls on the k/m values of its block alone",
        ),
        Finding(
            f"Geo(λ): p(i) ∝ (1 - λ)^i λ, drawn for λ = {DECAY:g}",
            f"p(i) ∝ λ^i is drawn here: as printed, one value of {VALUES:,} would have {printed[0]:.0%} of the people",
            "λ and 1 - λ look exchanged; what is left of the captions names one λ only, so Zipf(1) is our choice",
        ),
        Finding(
            "spreading the heavy values over many blocks is another case, Geo(λ)*",
            f"with {BLOCKS[-1]} blocks and {PEOPLE[-1]:,} people {last[permuted][1]:.3f} against "
            f"{last[geometric][1]:.3f} where they share a few blocks; LDP {last[permuted][0]:.3f} and "
            f"{last[geometric][0]:.3f}",
            "a block is as noisy as it is populous: packed into few blocks, the others are known to be nearly empty",
        ),
        Finding(
            "(how a distribution is made of the unbiased estimates is not said)",
            "they are projected on the simplex here; with the best channel in each block and empirical Bayes "
            + "; ".join(f"{ours:.3f} instead of {theirs:.3f} ({law})" for law, (_, theirs, ours) in last.items()),
            "two gains of different kinds: the channel's is in every unbiased estimate, the estimator's in the shape",
        ),
    )  # fmt: skip
    zipf = last[list(everything)[1]]
    verdict = (
        f"If the block may be known, say so: with {BLOCKS[-1]} blocks of {VALUES // BLOCKS[-1]} values, 1 nat and "
        f"{PEOPLE[-1]:,} people (Zipf law) the estimate is {zipf[1]:.3f} away instead of LDP's {zipf[0]:.3f}; with the "
        f"best channel inside and empirical Bayes {zipf[2]:.3f}."
    )
    return Outcome(panels, findings, verdict)


LEVELS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)
FEW = (0.5, 1.0, 2.0, 4.0)


def people_needed(reader: Reader, law: Floats, distance: float) -> float:
    """How many people bring the raw estimate that near in expectation, its errors being normal.

        E[TV] = 1/2 sum over x of sqrt(2 v[x] / (pi n)),   v: what one report adds to the variance of x
    """
    deviations = np.sqrt(np.maximum(reader.decoder.variances(reader.decoder.forward(law)), 0))
    return float((deviations.sum() / distance) ** 2 / (2 * math.pi))


def block_gains(setting: Setting) -> Outcome:
    domain = crowd.values(VALUES)
    shown = (1, BLOCKS[0], BLOCKS[-1])
    error: dict[tuple[int, str, float], float] = {}
    bits: dict[tuple[int, str], int] = {}
    even = np.full(VALUES, 1 / VALUES)
    constants, bounded = [], []
    for eps in setting.track(LEVELS):
        for m in (1, *BLOCKS):
            for name in ("hadamard", "best"):
                mechanism = "hadamard" if name == "hadamard" else "projective" if m == 1 else "best-in-blocks"
                reader = Reader(crowd.campaign(domain, block(VALUES, m, eps), mechanism))
                error[m, name, eps] = expected_mse(reader.terms.channel)
                bits[m, name] = max(bits.get((m, name), 0), reader.terms.channel.output_bits)
                if name == "hadamard" and eps <= 1:
                    squares = m * (VALUES / m) ** 2
                    needed = people_needed(reader, even, 0.1)
                    constants.append(needed * 0.1**2 * eps**2 / squares)
                    odds = math.exp(eps)
                    bounded.append(0.1 / (2 * (odds + 1) / (odds - 1) * math.sqrt(3 * squares / needed)))
    names = {1: "LDP", **{m: f"{m} blocks" for m in BLOCKS}}

    def curve(m: int, name: str) -> tuple[float, ...]:
        return tuple(error[m, name, eps] for eps in LEVELS)

    errors = Panel(
        f"{VALUES:,} values, even", "epsilon, nats", "squared error of one report, summed",
        (
            *(Curve(f"{names[m]}, Hadamard", LEVELS, curve(m, "hadamard"), "published") for m in shown),
            *(Curve(f"{names[m]}, best channel", LEVELS, curve(m, "best"), "optimum") for m in shown),
        ),
        log_y=True,
    )  # fmt: skip
    gain = Panel(
        "what Hadamard loses", "epsilon, nats", "times the error of the best channel",
        tuple(
            Curve(names[m], LEVELS, tuple(error[m, "hadamard", eps] / error[m, "best", eps] for eps in LEVELS), "other")
            for m in shown
        ),
        log_y=True,
    )  # fmt: skip
    saved = {m: error[1, "best", 1.0] / error[m, "best", 1.0] for m in BLOCKS}
    findings = (
        Finding(
            "Theorem 4: the number of people is of the order of the sum of k_j^2 / (alpha^2 eps^2)",
            f"{min(constants):.2f} to {max(constants):.2f} times that, by the exact variances, for up to 1 nat, 1 to "
            f"{BLOCKS[-1]} blocks and an even law",
            "no difference: the order is right, and the constant is small",
        ),
        Finding(
            "eq. 20: the expected distance is at most 2 (e^eps + 1)/(e^eps - 1) sqrt(3 sum of k_j^2 / n)",
            f"it is {min(bounded):.0%} to {max(bounded):.0%} of that",
            "a bound for all laws, and a loose one: plan with the exact error, not with it",
        ),
        *(
            Finding(
                "Hadamard within each block is optimal"
                + (" (LDP: one block)" if m == 1 else f" ({m} blocks of {VALUES // m})"),
                "its error is "
                + ", ".join(f"{error[m, 'hadamard', eps] / error[m, 'best', eps]:.2f}" for eps in FEW)
                + f" times that of the best channel at {', '.join(f'{eps:g}' for eps in FEW)} nats "
                f"({bits[m, 'hadamard']} bits and at most {bits[m, 'best']})",
                "optimal in order for eps = O(1), and so it is; projective geometry, or k-ary response in small "
                "blocks, keeps its error where eps is large, at hardly more bits",
            )
            for m in (1, *BLOCKS)
        ),
        Finding(
            "a factor of m is saved in the number of people",
            "with the best channel on both sides and 1 nat: "
            + ", ".join(f"{ratio:.1f} for {m}" for m, ratio in saved.items()),
            "more than m, since in small blocks there are better channels than in large ones",
        ),
    )
    at = {m: error[m, "hadamard", 4.0] / error[m, "best", 4.0] for m in shown}
    verdict = (
        f"Blocks divide the people needed by their number or more ({saved[BLOCKS[-1]]:.0f} for {BLOCKS[-1]} at 1 nat); "
        f"Hadamard inside costs {error[BLOCKS[0], 'hadamard', 1.0] / error[BLOCKS[0], 'best', 1.0] - 1:.0%} more people "
        f"at 1 nat and {at[BLOCKS[0]]:.0f} times as many at 4 (blocks of {VALUES // BLOCKS[0]}), so `auto` takes "
        "projective geometry."
    )
    return Outcome((errors, gain), findings, verdict)


HIGH_LOW = ((100, 0.1), (100, 0.5), (10, 0.5), (500, 0.5))
"""Sensitive values of ``VALUES``, and the share of the people who hold one of them."""


def high_low_law(size: int, sensitive: int, part: float) -> Floats:
    """Even within the sensitive values and within the others."""
    return np.where(np.arange(size) < sensitive, part / sensitive, (1 - part) / (size - sensitive))


def high_low_gains(setting: Setting) -> Outcome:
    domain = crowd.values(VALUES)
    error: dict[tuple[int, float, str, float], float] = {}
    bits: dict[str, int] = {}
    constants = []
    for eps in setting.track(LEVELS):
        plain = crowd.campaign(domain, Ldp(level(eps)), "projective")
        for sensitive in sorted({s for s, _ in HIGH_LOW}):
            notion = HighLow(level(eps), VALUES, tuple(range(sensitive)))
            made = {name: crowd.campaign(domain, notion, name) for name in ("hadamard", "projective", "utility-oue")}
            for part in sorted({p for s, p in HIGH_LOW if s == sensitive}):
                law = high_low_law(VALUES, sensitive, part)
                error[sensitive, part, "ldp", eps] = expected_mse(plain.channel, law)
                for name, terms in made.items():
                    error[sensitive, part, name, eps] = expected_mse(terms.channel, law)
                    bits[name] = max(bits.get(name, 0), terms.channel.output_bits)
                if eps <= 1:
                    needed = people_needed(Reader(made["hadamard"]), law, 0.1)
                    constants.append(needed * 0.1**2 / (sensitive**2 / eps**2 + VALUES / eps))
    lines = (
        ("LDP, projective", "ldp", "ldp"),
        ("high-low, Hadamard", "hadamard", "published"),
        ("high-low, projective", "projective", "optimum"),
        ("high-low, unary (a bit a value)", "utility-oue", "other"),
    )
    panels = tuple(
        Panel(
            f"{sensitive} of {VALUES:,} sensitive, {part:.0%} of the people", "epsilon, nats",
            "squared error of one report, summed",
            tuple(
                Curve(name, LEVELS, tuple(error[sensitive, part, key, eps] for eps in LEVELS), role)
                for name, key, role in lines
            ),
            log_y=True,
        )
        for sensitive, part in HIGH_LOW
    )  # fmt: skip
    findings = (
        Finding(
            "Theorem 3: the number of people is of the order of s^2 / (alpha^2 eps^2) + k / (alpha^2 eps)",
            f"{min(constants):.2f} to {max(constants):.2f} times that, by the exact variances of the Hadamard channel, "
            f"for up to 1 nat and the cases below",
            "no difference for laws that are even within both sets: the order is right",
        ),
        *(
            Finding(
                f"the Hadamard channel (13)-(14) is optimal ({sensitive} sensitive, {part:.0%} of the people)",
                "its error is "
                + ", ".join(
                    f"{error[sensitive, part, 'hadamard', eps] / error[sensitive, part, 'projective', eps]:.2f}"
                    for eps in FEW
                )
                + f" times that with projective geometry at {', '.join(f'{eps:g}' for eps in FEW)} nats; plain LDP has "
                + ", ".join(
                    f"{error[sensitive, part, 'ldp', eps] / error[sensitive, part, 'projective', eps]:.1f}"
                    for eps in FEW
                )
                + " times",
                "optimal in order for eps = O(1); the projective channel tells more of the sensitive values and "
                "slightly less of the others",
            )
            for sensitive, part in HIGH_LOW
        ),
        Finding(
            "log k + 1 bits, where the unary mechanism of Murakami and Kawamoto needs k",
            f"{bits['hadamard']} bits (Hadamard), at most {bits['projective']} (projective), {bits['utility-oue']:,} "
            "(unary, with the bits of OUE); the unary error is "
            + ", ".join(
                f"{error[s, p, 'utility-oue', 1.0] / error[s, p, 'projective', 1.0]:.2f}" for s, p in HIGH_LOW
            )
            + " times the projective one at 1 nat, in the order of the panels",
            "no difference",
        ),
    )
    first = HIGH_LOW[0]
    verdict = (
        f"If only {first[0]} of {VALUES:,} values are sensitive and {first[1]:.0%} of the people hold one, say so: at 1 "
        f"nat plain LDP has {error[*first, 'ldp', 1.0] / error[*first, 'projective', 1.0]:.0f} times the squared error; "
        f"projective geometry instead of Hadamard matters from 2 nats on "
        f"({error[*first, 'hadamard', 2.0] / error[*first, 'projective', 2.0]:.2f} times at 2, "
        f"{error[*first, 'hadamard', 4.0] / error[*first, 'projective', 4.0]:.1f} at 4)."
    )
    return Outcome(panels, findings, verdict)


CROWD = 100_000


def estimators(setting: Setting) -> Outcome:
    domain = crowd.values(VALUES)
    channels = {
        "LDP, Hadamard": Reader(crowd.campaign(domain, Ldp(level(EPS)), "hadamard")),
        "LDP, projective": Reader(crowd.campaign(domain, Ldp(level(EPS)), "projective")),
        f"{BLOCKS[-1]} blocks, Hadamard": Reader(crowd.campaign(domain, block(VALUES, BLOCKS[-1], EPS), "hadamard")),
        "100 sensitive, Hadamard": Reader(
            crowd.campaign(domain, HighLow(level(EPS), VALUES, tuple(range(100))), "hadamard")
        ),
    }
    everything = laws(setting.generator)
    crowds = (1000, 10_000, CROWD, 1_000_000)
    zipf = list(everything)[1]
    work = [(law, people, name) for law in everything for people in (crowds if law == zipf else (CROWD,))
            for name in channels]  # fmt: skip
    found: dict[tuple[str, int, str, str], float] = {}
    for law, people, name in setting.track(work):
        reader, truth = channels[name], everything[law]
        tallies = [reader.drawn(truth, people, setting.generator) for _ in range(setting.repeats)]
        for method in METHODS:
            away = [total_variation(reader.shares(tally, method), truth) for tally in tallies]
            found[law, people, name, method] = float(np.mean(away))
    roles = {"clip": "free", "projection": "published", "empirical-bayes": "ours", "map": "alone"}
    x = tuple(float(people) for people in crowds)
    panels = tuple(
        Panel(
            f"{name}, {zipf}", "people", TV,
            tuple(
                Curve(title, x, tuple(found[zipf, people, name, method] for people in crowds), roles[method])
                for method, title in METHODS.items()
            ),
            log_x=True,
        )
        for name in channels
    )  # fmt: skip

    def row(law: str, name: str) -> str:
        return ", ".join(f"{found[law, CROWD, name, method]:.3f}" for method in METHODS)

    won = [
        found[law, people, name, "empirical-bayes"] < found[law, people, name, "projection"]
        for law, people, name in work
    ]
    mode = [found[law, people, name, "map"] < found[law, people, name, "empirical-bayes"] for law, people, name in work]
    findings = (
        *(
            Finding(
                f"(estimates are not compared; {law}, {CROWD:,} people, 1 nat)",
                "; ".join(f"{name}: {row(law, name)}" for name in channels),
                f"total variation: {', '.join(METHODS.values())}",
            )
            for law in everything
        ),
        Finding(
            "(any estimate of the right order will do)",
            f"empirical Bayes is nearer than the projection in {sum(won)} of {len(won)} cases, the posterior mode "
            f"nearer than empirical Bayes in {sum(mode)}",
            "empirical Bayes learns from the estimates how the shares are spread; an even prior pulls towards an even "
            "law, which helps where it is even. Without a declared prior halftruth offers no posterior mode",
        ),
    )
    told = {name: (found[zipf, CROWD, name, "projection"], found[zipf, CROWD, name, "empirical-bayes"])
            for name in channels}  # fmt: skip
    verdict = (
        f"Take empirical Bayes, the default for many values: at {CROWD:,} people, 1 nat and a Zipf law it is "
        + "; ".join(f"{ours:.3f} away instead of {theirs:.3f} ({name})" for name, (theirs, ours) in told.items())
        + "."
    )
    return Outcome(panels, findings, verdict)


def grid_blocks(rows: int, columns: int) -> list[int]:
    """The block of each cell of the grid, latitude cut into ``rows`` parts and longitude into ``columns``."""
    down = np.arange(GRID_ROWS) * rows // GRID_ROWS
    across = np.arange(GRID_COLUMNS) * columns // GRID_COLUMNS
    found: list[int] = (down[:, None] * columns + across).ravel().tolist()
    return found


def _on_grid(domain: Domain, grid: tuple[int, int], mechanism: str) -> Reader:
    parts = grid_blocks(*grid)
    notion: Notion = Block.over(level(EPS), parts) if grid != (1, 1) else Ldp(level(EPS))
    return Reader(crowd.campaign(domain, notion, mechanism))


def _of_everybody(reader: Reader, held: Integers, generator: np.random.Generator) -> Tally:
    """One report of everybody, in parts of so few cells that rows of the channel can be written down."""
    somebody = np.flatnonzero(held)
    counts = np.zeros(reader.terms.channel.features, dtype=np.int64)
    for part in np.array_split(somebody, -(-len(somebody) // 250)):
        few = np.zeros_like(held)
        few[part] = held[part]
        counts += crowd.tally(reader.terms.channel, few, generator).counts
    return Tally(counts, int(held.sum()))


def _named(grid: tuple[int, int]) -> str:
    return "LDP" if grid == (1, 1) else f"({grid[0]}, {grid[1]})"


def table_1(setting: Setting) -> Outcome:
    places = setting.data.check_ins_on_grid()
    domain, truth = crowd.values(len(places.counts)), places.counts / places.counts.sum()
    whole = SOURCES["gowalla-grid"].records
    work = [(grid, mechanism) for grid in GRIDS for mechanism in ("hadamard", "best")]
    far: dict[tuple[tuple[int, int], str, str], float] = {}
    error: dict[tuple[tuple[int, int], str], float] = {}
    many: list[float] = []
    surveys: dict[str, int] = {}
    for grid, name in setting.track(work):
        mechanism = "hadamard" if name == "hadamard" else "projective" if grid == (1, 1) else "best-in-blocks"
        reader = _on_grid(domain, grid, mechanism)
        error[grid, name] = expected_mse(reader.terms.channel, truth)
        # Rows of the projective channel over the whole grid take seconds a survey.
        surveys[name] = min(setting.repeats, 2 if setting.quick else 10) if name == "best" else setting.repeats
        once = 1 if mechanism == "projective" and setting.quick else surveys[name]
        tallies = [_of_everybody(reader, places.counts, setting.generator) for _ in range(once)]
        for method in ("projection", "empirical-bayes"):
            far[grid, name, method] = float(
                np.mean([total_variation(reader.shares(tally, method), truth) for tally in tallies])
            )
        if name == "hadamard":
            if not setting.quick or grid in (GRIDS[0], GRIDS[-1]):
                far[grid, name, "map"] = total_variation(reader.shares(tallies[0], "map", MAP_STEPS), truth)
            held = setting.generator.multinomial(whole, truth)
            counted = reader.drawn(truth, whole, setting.generator) if grid == (1, 1) else _of_everybody(
                reader, held, setting.generator)  # fmt: skip
            many.append(total_variation(reader.shares(counted, "projection"), truth))
    x = tuple(float(rows * columns) for rows, columns in GRIDS)

    def curve(name: str, method: str) -> tuple[float, ...]:
        return tuple(far[grid, name, method] for grid in GRIDS)

    panel = Panel(
        f"{int(places.counts.sum()):,} check-ins, {len(places.counts):,} cells, 1 nat", "blocks", TV,
        (
            Curve("Hadamard, projected", x, curve("hadamard", "projection"), "published"),
            Curve("best channel, projected", x, curve("best", "projection"), "optimum"),
            Curve("Hadamard, empirical Bayes", x, curve("hadamard", "empirical-bayes"), "ours"),
            Curve("best channel, empirical Bayes", x, curve("best", "empirical-bayes"), "ours"),
            Curve(f"Hadamard, projected, {whole:,} drawn from the same law", x, tuple(many), "other", marks=True),
        ),
        log_x=True, log_y=True,
    )  # fmt: skip

    def said(numbers: Iterable[float]) -> str:
        return ", ".join(f"{number:.3f}" for number in numbers)

    used = int(np.count_nonzero(places.counts))
    mode = [(grid, far[grid, "hadamard", "map"]) for grid in GRIDS if (grid, "hadamard", "map") in far]
    theirs = ("the same data" if places.whole else "other people and fewer places: not the paper's numbers")
    findings = (
        Finding(
            f"{', '.join(map(_named, GRIDS))}: {said(PAPERS_TV)}, of {whole:,} check-ins",
            f"{said(curve('hadamard', 'projection'))}, of {int(places.counts.sum()):,} check-ins in {used:,} cells",
            theirs,
        ),
        Finding(
            "the same, as ratios to LDP: " + ", ".join(f"{PAPERS_TV[0] / number:.1f}" for number in PAPERS_TV[1:]),
            ", ".join(
                f"{far[GRIDS[0], 'hadamard', 'projection'] / number:.1f}"
                for number in curve("hadamard", "projection")[1:]
            ),
            "the gain of blocks depends less on the data than the distance itself",
        ),
        Finding(
            f"with {whole:,} check-ins",
            f"{said(many)}, where as many are drawn from our law" if not places.whole else said(many),
            f"our law has {used:,} cells with anybody in them; the more cells are in use, the farther the estimate",
        ),
        Finding(
            "(Hadamard response throughout)",
            f"the best channel for each block, projected: {said(curve('best', 'projection'))}; its exact squared error "
            "is " + ", ".join(f"{error[grid, 'best'] / error[grid, 'hadamard']:.0%}" for grid in GRIDS)
            + " of Hadamard's",
            "projective geometry over the grid and in large blocks, what is best of three in small ones",
        ),
        Finding(
            "(how a distribution is made of the estimates is not said)",
            f"empirical Bayes: {said(curve('hadamard', 'empirical-bayes'))} with Hadamard, "
            f"{said(curve('best', 'empirical-bayes'))} with the best channel; posterior mode under an even prior: "
            + ", ".join(f"{away:.3f} {_named(grid)}" for grid, away in mode),
            f"an even prior puts people into cells where nobody is; its search is stopped after {MAP_STEPS} steps",
        ),
    )  # fmt: skip
    low, high = far[GRIDS[0], "hadamard", "projection"], far[GRIDS[-1], "hadamard", "projection"]
    ours = far[GRIDS[-1], "best", "empirical-bayes"]
    verdict = (
        f"Where everybody may know the {GRIDS[-1][0]} x {GRIDS[-1][1]} districts and only the cell within is private, "
        f"the map of check-ins is {high:.3f} away instead of LDP's {low:.3f} at 1 nat (a part of Gowalla); with our "
        f"channels and empirical Bayes {ours:.3f}."
    )
    if places.whole:
        verdict = verdict.replace("a part of Gowalla", "all of Gowalla")
    return Outcome((panel,), findings, verdict, places.label)


def figure_3(setting: Setting) -> Outcome:
    places = setting.data.check_ins_on_grid()
    domain, truth = crowd.values(len(places.counts)), places.counts / places.counts.sum()
    shown = {"check-ins": truth}
    for grid in setting.track((GRIDS[0], GRIDS[-1])):
        reader = _on_grid(domain, grid, "hadamard")
        tally = _of_everybody(reader, places.counts, setting.generator)
        name = "LDP" if grid == (1, 1) else f"{grid[0]} x {grid[1]} blocks"
        shown[f"{name}, 1 nat, empirical Bayes"] = reader.shares(tally, "empirical-bayes")
    panels = tuple(
        Panel(title, "longitude, degrees", "latitude, degrees", _map(share)) for title, share in shown.items()
    )
    top = np.argsort(-truth, kind="stable")[:100]
    hits = [int(np.isin(np.argsort(-share, kind="stable")[:100], top).sum()) for share in list(shown.values())[1:]]
    seen = [int(np.count_nonzero(share >= BANDS[2][0])) for share in shown.values()]
    findings = (
        Finding(
            "a map of the check-ins; most are along the coasts and in the large cities",
            f"{int(np.count_nonzero(places.counts)):,} of {len(places.counts):,} cells are in use; the most popular "
            f"holds {truth.max():.1%} of the check-ins, the 100 most popular {truth[top].sum():.0%}",
            "the paper's map holds all of Gowalla" if not places.whole else "the same data",
        ),
        Finding(
            "(no map of the estimates)",
            f"of the 100 most popular cells LDP's estimate names {hits[0]} among its first 100, blocks {hits[1]}; cells "
            f"of at least {BANDS[2][0]:.2%}: {seen[0]} in truth, {seen[1]} by LDP, {seen[2]} by blocks",
            "blocks are told, so no report puts anybody into a district where nobody is",
        ),
    )
    verdict = (
        f"At 1 nat LDP finds {hits[0]} of the 100 most popular cells of {len(places.counts):,}, blocks of "
        f"{GRIDS[-1][0]} x {GRIDS[-1][1]} districts {hits[1]}."
    )
    return Outcome(panels, findings, verdict, places.label)


def _map(share: Floats) -> Sequence[Curve]:
    """The cells of a share in each of ``BANDS``, at their middles; no more than can be seen."""
    curves = []
    for least, most, name, role in reversed(BANDS):
        cells = np.flatnonzero((share >= least) & (share < most) & (share > BANDS[2][0] / 40))
        if len(cells):
            row, column = np.divmod(cells, GRID_COLUMNS)
            x, y = (-130 + 0.2 * column + 0.1).round(1), (25 + 0.2 * row + 0.1).round(1)
            curves.append(Curve(name, tuple(x.tolist()), tuple(y.tolist()), role, marks=True))
    return tuple(curves)


EXPERIMENTS = (
    Experiment("fig2", "C7", "Fig. 2: blocks and plain LDP, four laws", figure_2, 10, 10),
    Experiment("blocks", "C7", "Theorem 4: what blocks gain, with Hadamard and with the best channel", block_gains),
    Experiment("high-low", "C7", "Theorem 3: what a sensitive set gains, with Hadamard and with projective geometry",
               high_low_gains),
    Experiment("estimators", "C7", "What the estimator adds", estimators, 10, 2),
    Experiment("table1", "C7", "Table 1: check-ins on the grid", table_1, 100, 3, needs=("gowalla-grid",)),
    Experiment("fig3", "C7", "Fig. 3: the map of check-ins, and what is estimated of it", figure_3,
               needs=("gowalla-grid",)),
)  # fmt: skip

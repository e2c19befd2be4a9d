"""The errors of numbers: distributions, deciles, ranges and means, beside published mechanisms.

`python -m benchmarks.numbers DATA` reads ages and hours of work from the folder DATA, prints every figure beside its
target, and rewrites the section of docs/BENCHMARKS.md.

Outputs are drawn from the exact distribution of each channel, for people whose numbers are drawn from the true shares.
These shares are the same for all mechanisms. Errors of means are computed, not simulated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.distribution import project
from aggregator.estimate.error import expected_mse
from aggregator.estimate.interval import standard_errors
from aggregator.estimate.merged import MergedReports
from aggregator.estimate.query import expected_variance
from aggregator.estimate.smoothed import smoothed_shares
from aggregator.estimate.tree import Tree, combine, consistent
from aggregator.families.decoder import Decoder, Floats, Integers
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.families.wave.recipe import wave
from aggregator.planner.choice import AUTO, chosen_channel
from aggregator.planner.ordered_error import reference_shapes
from aggregator.reproduce.simulated_people import values
from benchmarks import page
from benchmarks.map_surveys import view_estimate
from protocol import exact
from protocol.channels import Channel
from protocol.domain import Buckets
from protocol.exact import NANONATS
from protocol.notions import Ldp

FILE = "adult_categorical.npz"
SURVEYS = 20
DECILES = np.arange(1, 10) / 10
WIDE = 0.4
"""Each queried range covers this fraction of all numbers."""

EPS = (0.5, 1.0, 2.0, 4.0)
EDGES = ((0.6, 2), (2.5, 3), (math.inf, 5))
"""(nats, edges): the number of edges up to these nats. At the levels ``EPS``, the error of the mean is at most 2% above
that of the best number of edges."""

BASE = 4
"""Number of neighbours that the next coarser resolution of a hierarchy merges into one."""
TREE = "hierarchy, base 4"

MANY = 100_000

Estimator = Callable[[np.random.Generator], Floats]
"""A function that draws the outputs of one survey and returns the estimated shares of the numbers."""


def counted(distribution: Floats, n: int, rng: np.random.Generator) -> Integers:
    """Return the number of each output in the reports of ``n`` people."""
    return rng.multinomial(n, distribution / distribution.sum())


def by_wave(p: Floats, n: int) -> Estimator:
    """Return the estimator by the wave on integers, with the smoothing that cross-validation selects."""
    decoder = decoder_of(wave(len(p), NANONATS))

    def estimated(rng: np.random.Generator) -> Floats:
        merged = MergedReports.of(decoder, counted(decoder.forward(p), n, rng))
        return merged.of_numbers(smoothed_shares(merged))

    return estimated


def by_square_wave(p: Floats, n: int, smooth: bool) -> Estimator:
    """Return the estimator by the square wave, with equal numbers of input and output buckets and the published EM or
    EMS (Li et al. 2020)."""
    eps, k = 1.0, len(p)
    odds = math.exp(eps)
    b = (eps * odds - odds + 1) / (2 * odds * (odds - 1 - eps))
    near = odds / (2 * b * odds + 1)
    ends = np.linspace(-b, 1 + b, k + 1)
    x = (np.arange(k)[:, np.newaxis] + 0.5) / k
    inside = np.diff(np.clip(ends, x - b, x + b), axis=1)
    channel = near / odds * (ends[1] - ends[0] - inside) + near * inside

    def estimated(rng: np.random.Generator) -> Floats:
        counts, shares, before = counted(p @ channel, n, rng), np.full(k, 1 / k), -math.inf
        for _ in range(10_000):
            distribution = shares @ channel
            value = float(counts @ np.log(distribution))
            if value - before < (1e-3 if smooth else 1e-3 * odds):
                break
            before = value
            shares = shares * (channel @ (counts / n / distribution))
            if smooth:
                around = np.concatenate([shares[:1], shares, shares[-1:]])
                shares = (around[:-2] + 2 * shares + around[2:]) / 4
            shares /= shares.sum()
        return shares

    return estimated


def by_tree(p: Floats, n: int) -> Estimator:
    """Return the estimator by a hierarchy: equal numbers of people report each of the resolutions k, k / 4, k / 16 and
    so on, and the estimates are made consistent from the top."""
    maps = [np.arange(len(p))]
    while int(maps[0].max()) >= BASE:
        maps.insert(0, maps[0] // BASE)
    channels = [_one_hot(int(grouping.max()) + 1) for grouping in maps]
    tree, decoders, even = Tree.of(maps), list(map(decoder_of, channels)), np.full(len(maps), 1 / len(maps))

    def estimated(rng: np.random.Generator) -> Floats:
        views = zip(channels, decoders, maps, rng.multinomial(n, even).tolist(), strict=True)
        return consistent(tree, combine(tree, [view_estimate(*view, p, count, rng) for *view, count in views]))[-1]

    return estimated


def _one_hot(size: int) -> Channel:
    """Return the best of three channels whose outputs are not sets, so that a whole survey is one multinomial draw."""
    question = PlannedQuestion(values(size), Ldp(NANONATS))
    return min(
        (chosen_channel(name, question)[1] for name in ("randomized-response", "hadamard", "projective")),
        key=expected_mse,
    )


def by_labels(p: Floats, n: int, method: Callable[[Floats, Floats], Floats]) -> Estimator:
    """Return an estimator that treats numbers as labels without an order, with ``auto``'s channel for k edges.

    Args:
        method: the function from the unbiased estimate and its standard errors to the estimated shares.
    """
    decoder = decoder_of(chosen_channel(AUTO, PlannedQuestion(Buckets.of(range(len(p))), Ldp(NANONATS)))[1])
    distribution = np.maximum(decoder.forward(p), 0)

    def estimated(rng: np.random.Generator) -> Floats:
        share = counted(distribution, n, rng) / n
        return method(decoder.invert(share), standard_errors(decoder, share, n))

    return estimated


def estimators(p: Floats, n: int) -> dict[str, Estimator]:
    """Return all mechanisms that estimate the distribution at 1 nat, by name."""
    return {
        "wave, smooth": by_wave(p, n),
        TREE: by_tree(p, n),
        "square wave, EM": by_square_wave(p, n, smooth=False),
        "square wave, EMS": by_square_wave(p, n, smooth=True),
        "labels, projection": by_labels(p, n, lambda raw, _: project(raw)),
        "labels, empirical Bayes": by_labels(p, n, empirical_bayes),
    }


def errors(estimate: Floats, p: Floats) -> tuple[float, float, float]:
    """Return the Wasserstein distance as a fraction of the range, and the mean errors of nine deciles (in steps) and of
    the shares of ranges."""
    ours, true = np.cumsum(estimate), np.cumsum(p)
    deciles = [np.searchsorted(cumulative, DECILES - 1e-12) for cumulative in (ours, true)]
    width = round(WIDE * len(p))
    ranges = [cumulative[width - 1 :] - np.r_[0, cumulative[: len(p) - width]] for cumulative in (ours, true)]
    return (
        float(np.abs(ours - true)[:-1].sum() / (len(p) - 1)),
        float(np.abs(deciles[0] - deciles[1]).mean()),
        float(np.abs(ranges[0] - ranges[1]).mean()),
    )


def beta(k: int) -> Floats:
    """Return the distribution Beta(2, 5) at the middles of k equal parts of [0, 1]."""
    x = (np.arange(k) + 0.5) / k
    p = x * (1 - x) ** 4
    return p / p.sum()


def distributions(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the first table: errors of the distributions."""
    with np.load(folder / FILE) as file:
        ages, hours = np.bincount(file["age"])[17:], np.bincount(file["hours_per_week"])[1:]
    cases = [
        ("age, 17 to 90 years", ages / ages.sum(), int(ages.sum()), ("0.0075", "0.5", "")),
        ("hours a week, 1 to 99", hours / hours.sum(), int(hours.sum()), ("0.012", "", "")),
        ("hours a week, more people", hours / hours.sum(), 100_000, ("", "", "")),
        ("Beta(2, 5), 1,024 numbers", beta(1024), 10_000, ("0.0135", "", "0.019")),
    ]
    for label, p, n, targets in cases:
        for name, estimator in estimators(p, n).items():
            rng = np.random.default_rng(1)
            means = np.mean([errors(estimator(rng), p) for _ in range(SURVEYS)], axis=0)
            ours = name == "wave, smooth"
            means_text = (f"{means[0]:.4f}", f"{means[1]:.2f}", f"{means[2]:.4f}")
            cells = (
                f"{text} [{target}]" if ours and target else text
                for text, target in zip(means_text, targets, strict=True)
            )
            yield (label, f"{n:,}", name, *cells)


def wave_and_hierarchy() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of the planner's reference shapes: wave and hierarchy, by number of people."""
    for n in (10_000, 100_000, 1_000_000):
        mean_errors = []
        for estimator in (by_wave, by_tree):
            rng = np.random.default_rng(1)
            shapes = reference_shapes(74)
            every = [errors(estimator(p, n)(rng), p) for p in shapes for _ in range(SURVEYS)]
            mean_errors.append(np.mean(every, axis=0))
        cells = [f"{of_estimator[field]:.4f}" for field in (0, 2) for of_estimator in mean_errors]
        yield (f"{n:,}", *cells)


def rounding(decoder: Decoder, domain: Buckets, numbers: Floats, p: Floats) -> float:
    """Return the variance that one report adds to the mean, for numbers rounded at random to one of the two nearest
    edges."""
    edges = np.array([float(edge) for edge in domain.points])
    distribution = np.array([np.interp(numbers, edges, unit) @ p for unit in np.eye(len(edges))])
    centre = float(p @ numbers)
    return expected_variance(decoder, edges, None, distribution) - float(p @ (numbers - centre) ** 2)


def means() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the last table: the root mean squared error of the mean of Beta(2, 5), divided by that of the
    best published mechanism."""
    p = beta(1024)
    numbers = 2 * (np.arange(1024) + 0.5) / 1024 - 1
    for eps in EPS:
        odds, root = math.exp(eps), math.exp(eps / 2)
        duchi = float(p @ (((odds + 1) / (odds - 1)) ** 2 - numbers**2))
        piecewise = float(p @ (numbers**2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)))
        mixed = 1 - math.exp(-eps / 2) if eps > 0.61 else 0.0
        published = (duchi, piecewise, mixed * piecewise + (1 - mixed) * duchi)
        level, few = exact.level_from(eps), next(edges for highest, edges in EDGES if eps <= highest)
        ours = []
        for count in (few, 64):
            domain = Buckets.of(np.linspace(-1, 1, count).tolist())
            decoder = decoder_of(chosen_channel(AUTO, PlannedQuestion(domain, Ldp(level)))[1])
            ours.append(rounding(decoder, domain, numbers, p))
        domain = Buckets.of([x / 1000 for x in range(-1000, 1001, 20)])
        ours.append(rounding(decoder_of(wave(101, level)), domain, numbers, p))
        best = min(published)
        cells = [math.sqrt(variance / best) for variance in (*published, *ours)]
        yield (f"{eps:g}", *(f"{ratio:.2f}" for ratio in cells[:3]), f"{few}", f"{cells[3]:.2f} [at most 1.1]",
               *(f"{ratio:.2f}" for ratio in cells[4:]))  # fmt: skip


def decoding_time() -> str:
    """Return the seconds of processor time to decode 100,000 numbers from 10^6 people."""
    decoder, p = decoder_of(wave(MANY, NANONATS)), beta(MANY)
    counts = counted(decoder.forward(p), 10**6, np.random.default_rng(1))
    started = time.process_time()
    merged = MergedReports.of(decoder, counts)
    merged.of_numbers(smoothed_shares(merged))
    return f"{time.process_time() - started:.1f}"


def main() -> None:
    """Measure, print the figures, and write the section of docs/BENCHMARKS.md."""
    folder = page.folder_with(FILE, ", the UCI Adult data set")
    sections = {
        "shares": (("numbers", "people", "estimator", "W1", "deciles", "40% ranges"), distributions(folder)),
        "rivals": (
            ("people", "W1, wave", "W1, hierarchy", "40% ranges, wave", "40% ranges, hierarchy"),
            wave_and_hierarchy(),
        ),
        "means": (("nats", "Duchi", "piecewise", "hybrid", "edges", "rounding", "64 edges", "wave"),
                  means()),
    }  # fmt: skip
    tables = {name: page.table(heads, page.print_rows(rows)) for name, (heads, rows) in sections.items()}
    page.write("numbers", Path(__file__).with_suffix(".md"), surveys=SURVEYS, seconds=decoding_time(), **tables)


if __name__ == "__main__":
    main()

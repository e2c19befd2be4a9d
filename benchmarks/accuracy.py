"""The accuracy of estimators in total variation, and the exact error of each mechanism beside the best known error.

Counts are drawn from the exact distribution of the outputs, so a simulated survey is one multinomial draw. Figures
without simulation are computed from the channel's own integers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np

from aggregator.estimate import likelihood
from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.distribution import project, total_variation
from aggregator.estimate.error import expected_mse, lip_mse, lip_mse_bound, prior_mse
from aggregator.estimate.interval import standard_errors
from aggregator.families.bits import idue
from aggregator.families.decoder import Floats
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.mechanism import LIP, PlannedQuestion
from aggregator.families.projective.recipe import projective
from aggregator.families.registry import decoder_of
from aggregator.families.sets.recipe import subset_error
from aggregator.families.windows.recipe import windows
from aggregator.planner.choice import AUTO, chosen_channel
from aggregator.reproduce.simulated_people import drawn_tally, values
from protocol import codec, exact
from protocol.channels import Channel
from protocol.channels import decode as decode_channel
from protocol.exact import NANONATS
from protocol.notions import Graded, Ldp, Lip, certify

SIZES = (8, 12, 16, 18, 24, 32, 48, 64, 100, 128, 131, 135, 200, 256, 300, 512, 700, 1000, 1024)
LARGE = 43_750
LEVELS = (0.1, 0.5, 1, 2, 4, 8)

VALUES = 1024
REPORTS = 100_000
SURVEYS = 200
EM_SURVEYS = 10
"""Number of surveys for maximum likelihood, which takes about a second for one."""
TARGET = 0.40
"""Target: maximum total variation of empirical Bayes for k = 1024, Zipf(1), n = 10^5, eps = 1."""


def run() -> Iterator[tuple[str, str]]:
    """Yield the figures of accuracy beside their targets."""
    yield from estimator_distances()
    yield from squared_error()
    yield from lip_gain()
    yield from authoring()
    yield from idue_table()


def estimator_distances() -> Iterator[tuple[str, str]]:
    """Yield the total variation of three estimators on two channels (MATH 6.1)."""
    p = 1 / np.arange(1, VALUES + 1)
    p /= p.sum()
    for name, channel in (("Hadamard", hadamard(VALUES, NANONATS)), ("projective", projective(VALUES, NANONATS))):
        distances = _distances(channel, p)
        title = f"total variation, Zipf(1), k={VALUES}, n={REPORTS:,}, eps=1, {name}"
        for estimator, numbers in distances.items():
            target = f" [at most {TARGET}]" if estimator == "empirical Bayes" else ""
            yield (
                f"{title}, {estimator}{target}",
                f"{np.mean(numbers):.3f} +- {np.std(numbers):.3f} ({len(numbers)} runs)",
            )


def _distances(channel: Channel, p: Floats) -> dict[str, list[float]]:
    decoder, rng = decoder_of(channel), np.random.default_rng(1)
    distances: dict[str, list[float]] = {"projection": [], "empirical Bayes": [], "em": []}
    for survey in range(SURVEYS):
        share = drawn_tally(channel, decoder, p, REPORTS, rng).counts / REPORTS
        raw, se = decoder.invert(share), standard_errors(decoder, share, REPORTS)
        bayes = empirical_bayes(raw, se)
        shares = {"projection": project(raw), "empirical Bayes": bayes}
        if survey < EM_SURVEYS:
            shares["em"] = likelihood.em(decoder, share, REPORTS, bayes).share
        for estimator, estimate in shares.items():
            distances[estimator].append(total_variation(estimate, p))
    return distances


def squared_error() -> Iterator[tuple[str, str]]:
    """Yield the expected squared error of ``auto``'s channel, relative to subset selection of the best size (MATH
    4.2)."""
    for sizes_text, sizes in ((f"k={SIZES[0]} .. {SIZES[-1]}", SIZES), (f"k={LARGE}", (LARGE,))):
        worst, total = (0.0, ""), []
        for size in sizes:
            for eps in LEVELS:
                level = exact.level_from(eps)
                name, channel = chosen_channel(AUTO, PlannedQuestion(values(size), Ldp(level)))
                ratio = expected_mse(channel) / best_subset(size, level)
                total.append(ratio)
                worst = max(worst, (ratio, f"k={size}, eps={eps}, {name}, {channel.output_bits} bits"))
        limit = "1.035" if sizes == (LARGE,) else "1.18"
        yield (
            f"squared error, auto / best subset selection, {sizes_text}, eps={LEVELS[0]} .. {LEVELS[-1]} [at most "
            f"{limit}]",
            f"worst {worst[0]:.4f} ({worst[1]}), mean {np.mean(total):.4f}",
        )
    for eps in LEVELS:
        level = exact.level_from(eps)
        ratio = expected_mse(hadamard(LARGE, level)) / (4 * math.exp(eps) / (math.exp(eps) - 1) ** 2 * LARGE)
        yield (
            f"squared error of Hadamard response / asymptote, k={LARGE}, eps={eps} [cosh^2(eps/2)]",
            f"{ratio:.4f} [{math.cosh(eps / 2) ** 2:.4f}]",
        )


def best_subset(size: int, level: int) -> float:
    """Return the expected squared error of subset selection with the best set size, without a limit on bits."""
    around = size / (math.exp(exact.nats(level)) + 1)
    return min(subset_error(size, ones, level) for ones in {max(1, math.floor(around)), max(1, math.ceil(around))})


def lip_gain() -> Iterator[tuple[str, str]]:
    """Yield the fraction of the largest possible gain over the prior that the best LIP mechanism reaches (MATH 2.2)."""
    for size in (20, 100, 1000):
        for exponent in (1.0, 1.5):
            gains = []
            for eps in (0.1, 1, 2, 3, 4, 5, 7, 10):
                prior, level = [math.ceil(2**40 / rank**exponent) for rank in range(1, size + 1)], exact.level_from(eps)
                started = time.perf_counter()
                name, channel = chosen_channel(LIP, PlannedQuestion(values(size), Lip(level, tuple(prior))))
                took = time.perf_counter() - started
                certify(channel, Lip(level, tuple(prior)))
                nothing = prior_mse(prior)
                gain = (nothing - lip_mse(channel, prior)) / (nothing - lip_mse_bound(level, prior))
                gains.append(f"{gain:.3f}")
            yield (
                f"LIP, gain over the prior / largest gain that the bound allows, Zipf({exponent:g}), k={size}, "
                "eps=0.1 1 2 3 4 5 7 10 [at least 0.97]",
                f"{' '.join(gains)} ({name}, {channel.output_bits} bits, {took:.1f} s at the last)",
            )


def authoring() -> Iterator[tuple[str, str]]:
    """Yield the time to design a windows channel, to read and certify it, and to draw an output."""
    for size, target in ((1000, "2 s"), (100_000, "30 s")):
        prior = tuple(math.ceil(2**40 / rank) for rank in range(1, size + 1))
        notion = Lip(NANONATS, prior)
        started = time.perf_counter()
        channel = windows(prior, NANONATS)
        designed = time.perf_counter()
        wire = codec.encode(channel.encode())
        joined = time.perf_counter()
        device_channel = decode_channel(codec.decode(wire, limit=2**26))
        certify(device_channel, notion)
        certified = time.perf_counter()
        rand = bytes(device_channel.rand_bytes)
        device_channel.sample(size - 1, rand)
        drawn = time.process_time()
        for x in range(100):
            device_channel.sample(x * size // 100, bytes([x] * device_channel.rand_bytes))
        seconds = (time.process_time() - drawn) / 100
        yield f"windows, Zipf(1), k={size}, eps=1: design [under {target}]", f"{designed - started:.2f} s"
        yield f"windows, k={size}: a device reads and certifies it [under 1 s]", f"{certified - joined:.2f} s"
        yield (
            f"windows, k={size}: a draw [under 1 ms of CPU]",
            f"{1000 * seconds:.3f} ms ({len(wire):,} bytes of channel)",
        )


def idue_table() -> Iterator[tuple[str, str]]:
    """Yield the total variance per report of IDUE on the toy survey of Gu et al. 2020, Table I (MATH 3.2).

    There are two estimates: the paper's, and halftruth's, which is corrected by the known sum of the shares.
    """
    levels = (exact.level_from(f"{math.log(4):.9f}"), exact.level_from(f"{math.log(6):.9f}"))
    for kind, target in (("opt0", "8.387 to 8.567"), ("opt1", "8.609"), ("opt2", "9.889")):
        decoder = decoder_of(idue.idue(Graded.over([levels[0]] + [levels[1]] * 4), kind))
        for name, variant in (
            (f", Table I, total variance [{target}]", decoder.uncorrected),
            (", Table I, corrected by the sum of the shares", decoder),
        ):
            totals = [float(variant.variances(variant.forward(corner)).sum()) for corner in np.eye(5)]
            yield f"IDUE {kind}{name}", f"{min(totals):.3f} to {max(totals):.3f}"

"""The choice of the padding length of item sets: the least expected error of the default estimate.

Padding to l multiplies every estimate by l, so the noise grows with l; and of a set larger than l each item counts for
l over the size, so what is cut off is a bias that falls with l. From a sample of sets both are known before anybody has
answered, for every channel; which l is best depends on the level, on the crowd and on the estimate as much as on the
sets, so no fixed percentile of the sizes will do (Gu et al. 2020, sec. VII-B, leave this open).

What decides is the error of what a reader gets, the default estimate: the projection, or empirical Bayes where values
are many and noise is large. That takes away most of the noise of rare items, so it bears a larger l than the unbiased
estimate. Its error has no closed form and is simulated from the exact law of the raw estimates, with the same draws for
every l and every author. The unbiased estimate's is exact.

The sample is the author's: public baskets, or those of an earlier campaign. What the padding does: protocol.items.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggregator.author.value_table import SheetError, stranger
from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.distribution import project
from aggregator.estimate.method import default_method
from aggregator.estimate.reported import Reported
from aggregator.families.decoder import Decoder, Floats
from protocol.domain import Items
from protocol.errors import NotInDomain

LEAST_SURVEYS, MOST_SURVEYS, DRAWS = 2, 8, 2**15
"""Number of simulated surveys for the error of a padding, and of raw estimates computed at once."""


@dataclass(frozen=True)
class Padding:
    """What padding to ``length`` is expected to cost.

    Attributes:
        length: l.
        method: of the estimate that the error is of, a name of ``aggregator.estimate.method.METHODS``.
        error: the expected squared error of the shares of people who hold each item, summed over the items.
    """

    length: int
    method: str
    error: float


def read_sets(path: Path, domain: Items) -> list[tuple[int, ...]]:
    """The sets of a text file, one a line, items separated by ";"; an empty line is an empty set.

    Raises:
        SheetError: no such file, or a line with something that is no item.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SheetError(f"cannot read {path.name}: {error}") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(domain.members(domain.parse(line)))
        except NotInDomain as error:
            raise SheetError(
                f"{path.name}, line {number}: {stranger(domain, line)[:40]!r} is not an item of the campaign: {error}"
            ) from None
    if not found:
        raise SheetError(f"{path.name} has no sets")
    return found


def choose_padding(
    baskets: Sequence[Collection[int]],
    items: int,
    decoder: Callable[[int], Decoder],
    reports: int,
    lengths: Iterable[int] | None = None,
    *,
    unbiased: bool = False,
) -> Padding:
    """The padding of least expected error.

    Args:
        baskets: a sample of sets, of inputs below ``items``.
        items: m.
        decoder: of the channel on m + l inputs, for each l.
        reports: n, how many people will answer.
        lengths: the paddings to try; where not given, all to 16 and then by fifths up to the largest set.
        unbiased: whether the error is that of the unbiased estimate, method "linear", instead of the default one's.
    Raises:
        ValueError: no sets, or no lengths.
    """
    if not baskets:
        raise ValueError("a padding is chosen from a sample of sets, but the sample is empty")
    sizes = np.array([len(basket) for basket in baskets])
    held = np.fromiter((x for basket in baskets for x in basket), dtype=np.int64, count=int(sizes.sum()))
    among = np.repeat(sizes, sizes)  # the size of the set that each held item is in
    shares = np.bincount(held, minlength=items) / len(baskets)

    def expected(length: int) -> Padding:
        chosen = np.bincount(held, weights=1 / np.maximum(among, length), minlength=items) / len(sizes)
        dummies = float(np.maximum(length - sizes, 0).mean()) / length**2
        law = np.concatenate([chosen, np.full(length, dummies)])
        reader = decoder(length)
        variances = reader.variances(reader.forward(law)) / reports
        if unbiased:
            bias = float(((length * chosen - shares) ** 2).sum())
            return Padding(length, "linear", float(variances[:items].sum()) * length**2 + bias)
        se = np.sqrt(np.maximum(variances, 0))
        method = default_method(reader, None, se)
        return Padding(length, method, _simulated(Reported(items, length), shares, law, se, method))

    return min(map(expected, _lengths(int(sizes.max())) if lengths is None else lengths), key=lambda one: one.error)


def _simulated(reported: Reported, shares: Floats, law: Floats, se: Floats, method: str) -> float:
    """The mean squared error of ``method``'s estimate from raw estimates that are nearly normal."""
    generator, items, length = np.random.default_rng(0), reported.count, reported.factor
    surveys = max(LEAST_SURVEYS, min(MOST_SURVEYS, DRAWS // items))
    # Items are drawn before dummies, so they are the same for every length.
    noise = generator.standard_normal((surveys, items))
    among_dummies = generator.standard_normal((surveys, length))
    errors = []
    for draws in np.hstack([noise, among_dummies]):
        raw = law + se * draws
        told = empirical_bayes(raw, se) if method == "empirical-bayes" else project(raw, reported)
        estimate = reported.possible(reported.shares(told))
        errors.append(float(((estimate - shares) ** 2).sum()))
    return float(np.mean(errors))


def _lengths(largest: int) -> list[int]:
    lengths = list(range(1, min(16, max(largest, 1)) + 1))
    while lengths[-1] < largest:
        lengths.append(min(lengths[-1] * 6 // 5, largest))
    return lengths

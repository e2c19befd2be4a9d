"""Choose the padding length of item sets that gives the least expected error of the default estimate.

Padding to l multiplies every estimate by l, so the noise grows with l. An item of a set with more than l items counts
only as l / (size of the set). This causes a bias, which falls with l. Noise and bias can be computed from a sample of
sets before anybody has answered. The best l depends as much on the level, the number of people and the estimator as on
the sets. So no fixed percentile of the set sizes is best (Gu et al. 2020, sec. VII-B, leave this open).

The error is that of the default estimate: the projection, or empirical Bayes for many values with much noise. The
default estimate removes most of the noise of rare items, so its best l is larger than that of the unbiased estimate.
Its error has no closed form, and is simulated from normal raw estimates, with the same random numbers for every l. The
error of the unbiased estimate is exact.

The author provides the sample: public sets, or the sets of an earlier campaign. ``protocol.domain.items`` does the
padding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggregator.author.value_table import ValueTableError, not_a_persons_answer
from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.distribution import project
from aggregator.estimate.method import default_method
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.families.decoder import Decoder, Floats
from protocol.domain import Items
from protocol.errors import NotInDomain

MIN_SURVEYS, MAX_SURVEYS, DRAWS = 2, 8, 2**15
"""The least and the largest number of simulated surveys for the error of a padding. Above the least number, all surveys
together have at most ``DRAWS`` raw estimates of items."""


@dataclass(frozen=True)
class Padding:
    """A padding length and its expected error.

    Attributes:
        length: the padding length l.
        method: the estimator that has this error, one of ``aggregator.estimate.names.METHODS``.
        error: the expected squared error of the shares of people who have each item, summed over the items.
    """

    length: int
    method: str
    error: float


def read_sets(path: Path, domain: Items) -> list[tuple[int, ...]]:
    """Return the sets in a text file, which has one set per line with items separated by ";"; an empty line is an empty
    set. A set may be a person's, so no error quotes it.

    Raises:
        ValueTableError: the file cannot be read, has no sets, or a line has an unknown item.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ValueTableError(
            f"cannot read {path.name}: {error.strerror}. Check its permissions, or name another file"
        ) from None
    except UnicodeDecodeError:
        raise ValueTableError(f"{path.name} is not UTF-8 text: save it as UTF-8, with one set per line") from None
    sets = []
    for number, line in enumerate(lines, 1):
        try:
            sets.append(domain.members(domain.parse(line)))
        except NotInDomain as error:
            fault = not_a_persons_answer("the line", domain, error)
            raise ValueTableError(f"{path.name}, line {number}: {fault}") from None
    if not sets:
        raise ValueTableError(f"{path.name} has no sets: write one set per line")
    return sets


def choose_padding(
    sets: Sequence[Collection[int]],
    items: int,
    decoder: Callable[[int], Decoder],
    reports: int,
    lengths: Iterable[int] | None = None,
    *,
    unbiased: bool = False,
) -> Padding:
    """Return the padding length with the least expected error.

    Args:
        sets: a sample of sets of items, as item numbers below ``items``.
        items: m, the number of items.
        decoder: a function from l to the decoder of the channel on m + l inputs.
        reports: n, the number of people.
        lengths: the lengths to try; by default all up to 16, then steps of a fifth up to the largest set.
        unbiased: whether to use the error of the unbiased estimate, method "linear", instead of that of the default
            estimate.
    Raises:
        ValueError: ``sets`` or ``lengths`` is empty.
    """
    if not sets:
        raise ValueError("the sample has no sets, and the padding is chosen from their sizes: give at least one set")
    sizes = np.array([len(members) for members in sets])
    held_items = np.fromiter((x for members in sets for x in members), dtype=np.int64, count=int(sizes.sum()))
    size_of_holders_set = np.repeat(sizes, sizes)
    shares = np.bincount(held_items, minlength=items) / len(sets)

    def expected(length: int) -> Padding:
        chosen = np.bincount(held_items, weights=1 / np.maximum(size_of_holders_set, length), minlength=items) / len(
            sizes
        )
        dummies = float(np.maximum(length - sizes, 0).mean()) / length**2
        distribution = np.concatenate([chosen, np.full(length, dummies)])
        reader = decoder(length)
        variances = reader.variances(reader.forward(distribution)) / reports
        if unbiased:
            bias = float(((length * chosen - shares) ** 2).sum())
            return Padding(length, "linear", float(variances[:items].sum()) * length**2 + bias)
        se = np.sqrt(np.maximum(variances, 0))
        method = default_method(reader, None, se)
        return Padding(length, method, _simulated(ShownInputs(items, length), shares, distribution, se, method))

    return min(
        map(expected, _lengths(int(sizes.max())) if lengths is None else lengths), key=lambda padding: padding.error
    )


def _simulated(shown_inputs: ShownInputs, shares: Floats, distribution: Floats, se: Floats, method: str) -> float:
    """Return the expected squared error of the method's estimate, summed over the items; it is simulated from normal
    raw estimates."""
    generator, items, length = np.random.default_rng(0), shown_inputs.count, shown_inputs.factor
    surveys = max(MIN_SURVEYS, min(MAX_SURVEYS, DRAWS // items))
    # Items are drawn before dummies, so they are the same for every length.
    noise = generator.standard_normal((surveys, items))
    among_dummies = generator.standard_normal((surveys, length))
    errors = []
    for draws in np.hstack([noise, among_dummies]):
        raw = distribution + se * draws
        estimated = empirical_bayes(raw, se) if method == "empirical-bayes" else project(raw, shown_inputs)
        estimate = shown_inputs.possible(shown_inputs.shares(estimated))
        errors.append(float(((estimate - shares) ** 2).sum()))
    return float(np.mean(errors))


def _lengths(largest: int) -> list[int]:
    lengths = list(range(1, min(16, max(largest, 1)) + 1))
    while lengths[-1] < largest:
        lengths.append(min(lengths[-1] * 6 // 5, largest))
    return lengths

"""How far to pad sets of items: the padding with the least expected error.

One idea: padding to l multiplies every estimate by l, so the variance grows with l^2; and of a set larger than l each
item counts for l over the size, so what is cut off is a bias that falls with l. From a sample of sets both are known
before anybody has answered, for every channel; which l is best depends on the level and on the crowd as much as on the
sets, so no fixed percentile of the sizes will do (Gu et al. 2020, sec. VII-B, leave this open).

The sample is the author's: public baskets, or those of an earlier campaign. What the padding does: protocol.items.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggregator.estimate.decoders.decoder import Decoder, Floats, Integers
from aggregator.sheet import SheetError
from protocol.domain import Items
from protocol.errors import NotInDomain


@dataclass(frozen=True)
class Padding:
    """What padding to ``length`` is expected to cost, in squared shares of people, summed over the items.

    Attributes:
        length: l.
        variance: l^2 times the variance of the inputs' shares.
        bias: the squared error of what sets larger than l hide.
    """

    length: int
    variance: float
    bias: float

    @property
    def error(self) -> float:
        """The expected squared error of the shares of people who hold each item, summed over the items."""
        return self.variance + self.bias


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
            raise SheetError(f"{path.name}, line {number}: {error}") from None
    if not found:
        raise SheetError(f"{path.name} has no sets")
    return found


def choose_padding(
    baskets: Sequence[Collection[int]],
    items: int,
    decoder: Callable[[int], Decoder],
    reports: int,
    lengths: Iterable[int] | None = None,
) -> Padding:
    """The padding of least expected error.

    Args:
        baskets: a sample of sets, of inputs below ``items``.
        items: m.
        decoder: of the channel on m + l inputs, for each l.
        reports: n, how many people will answer.
        lengths: the paddings to try; where not given, all to 16 and then by fifths up to the largest set.
    Raises:
        ValueError: no sets, or no lengths.
    """
    if not baskets:
        raise ValueError("a padding is chosen from a sample of sets, and there are none")
    sizes = np.array([len(basket) for basket in baskets])
    held = np.fromiter((x for basket in baskets for x in basket), dtype=np.int64, count=int(sizes.sum()))
    among = np.repeat(sizes, sizes)  # the size of the set that each held item is in
    shares = np.bincount(held, minlength=items) / len(baskets)
    tried = _lengths(int(sizes.max())) if lengths is None else lengths
    return min(
        (_expected(length, shares, held, among, sizes, decoder(length), reports) for length in tried),
        key=lambda found: found.error,
    )


def _expected(
    length: int, shares: Floats, held: Integers, among: Integers, sizes: Integers, decoder: Decoder, reports: int
) -> Padding:
    items = len(shares)
    chosen = np.bincount(held, weights=1 / np.maximum(among, length), minlength=items) / len(sizes)
    dummies = float(np.maximum(length - sizes, 0).mean()) / length**2
    law = np.concatenate([chosen, np.full(length, dummies)])
    spread = decoder.variances(decoder.forward(law))[:items]
    return Padding(
        length,
        float(spread.sum()) * length**2 / reports,
        float(((length * chosen - shares) ** 2).sum()),
    )


def _lengths(largest: int) -> list[int]:
    lengths = list(range(1, min(16, max(largest, 1)) + 1))
    while lengths[-1] < largest:
        lengths.append(min(lengths[-1] * 6 // 5, largest))
    return lengths

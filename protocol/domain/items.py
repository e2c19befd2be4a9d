"""Sets of items, reported one item at a time: padding and sampling (SPEC 4).

A set of fewer than l items is padded with dummies to l inputs, and the channel receives one input. Each item of a set
of at most l items is chosen with probability 1/l. So l times the share of an input is an unbiased estimate of the
share of people who have the item. An item of a larger set of s items is chosen with probability 1/s, and a person who
has it counts as l/s.

The dither alone, drawn once with each consent, chooses the item, so an unchanged set gives an unchanged input.
``dither_counts`` returns the exact distribution of the choice: how many of the 2^64 dithers choose each input. The
number of dithers that choose an item differs by less than one from its share of 2^64, so its probability is off by less
than 2^-64. Plain LDP is not affected, because a mixture of a channel's rows satisfies every level that all pairs of
rows satisfy. For a level that depends on the items, ``set_level`` uses the exact numbers.

The author chooses l with aggregator.planner.padding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, cast

from protocol import codec, exact
from protocol.domain.domain import DITHER_BYTES, MAX_VALUES, Answer, Domain, require_label
from protocol.errors import DomainError, NotInDomain
from protocol.spelling import repeated

SEPARATOR = ";"
"""Separates the items of a set in text; no label contains it."""

MAX_PADDING = 2**12
DITHERS = 1 << 8 * DITHER_BYTES
_NUMBER = re.compile(r"[1-9][0-9]{0,6}")
_DUMMY, _DUMMY_END = "(none ", ")"


@dataclass(frozen=True)
class Items(Domain):
    """Sets of m items; a device reports one item of its set, or possibly a dummy if the set has fewer than l items.

    The inputs are the m items, in the author's order, and l dummies after them. An answer is a list, tuple or set of
    labels, possibly empty; a single label is a set of one item. If the only label is a dummy's, the input is this
    dummy.

    Attributes:
        padding: l, 1 to ``MAX_PADDING``.
        labels: the items' labels; or m, if they are the numbers 1 .. m.
    Raises:
        DomainError: an attribute is invalid, or does not fit the others.
    """

    padding: int
    labels: tuple[str, ...] | int
    kind: ClassVar[str] = "items"

    def __post_init__(self) -> None:
        if not 1 <= self.padding <= MAX_PADDING:
            raise DomainError(f"the padding of sets must lie in 1 .. {MAX_PADDING}, not {self.padding}")
        if self.item_count < 1:
            raise DomainError("a domain of items must have at least one item")
        if self.size > MAX_VALUES:
            raise DomainError(
                f"items and padding together must be at most {MAX_VALUES}, not {self.item_count} items with padding "
                f"{self.padding}"
            )
        if isinstance(self.labels, int):
            return
        for label in self.labels:
            require_label(label, "an item", DomainError)
            if SEPARATOR in label:
                raise DomainError(f"item {label[:40]!r} contains {SEPARATOR!r}, which separates items: leave it out")
            if label.startswith(_DUMMY):
                raise DomainError(f"item {label[:40]!r} begins with {_DUMMY!r}, like a dummy: rename the item")
        if len(self._index) != self.size:
            raise DomainError(f"item {(repeated(self.labels) or '')[:40]!r} is listed more than once: list it once")

    @property
    def item_count(self) -> int:
        """The number of items m."""
        return self.labels if isinstance(self.labels, int) else len(self.labels)

    @property
    def size(self) -> int:
        return self.item_count + self.padding

    @property
    def named(self) -> tuple[str, ...]:
        return () if isinstance(self.labels, int) else self.labels

    def renamed(self, names: Sequence[str]) -> Items:
        return replace(self, labels=tuple(names)) if names else self

    @cached_property
    def _index(self) -> dict[str, int]:
        """The input of each label; only of the dummies' labels if the items are numbers."""
        first = self.item_count if isinstance(self.labels, int) else 0
        return {self.label(x): x for x in range(first, self.size)}

    def _place(self, label: object) -> int:
        """Return the input of a label; -1 if the domain has no such label."""
        text = str(label) if isinstance(label, str | int) else ""
        number = int(text) if isinstance(self.labels, int) and _NUMBER.fullmatch(text) else 0
        return number - 1 if 0 < number <= self.item_count else self._index.get(text, -1)

    def members(self, answer: Answer) -> tuple[int, ...]:
        """Return the inputs of the items of a set, increasing.

        Raises:
            NotInDomain: an element is not an item, or a dummy is not the only element.
        """
        labels = answer if isinstance(answer, tuple | list | set | frozenset) else (answer,)
        places = {self._place(label) for label in labels}
        if -1 in places:
            numbered = f", which are the numbers 1 to {self.item_count}" if isinstance(self.labels, int) else ""
            raise NotInDomain(
                f"the answer has a member that is not one of the campaign's items{numbered}: choose only from them"
            )
        if len(places) > 1 and max(places) >= self.item_count:
            raise NotInDomain("the answer has a dummy beside other members: give it alone, or items only")
        return tuple(sorted(places))

    def index(self, answer: Answer, dither: bytes) -> int:
        if len(dither) != DITHER_BYTES:
            raise ValueError(f"the dither must be {DITHER_BYTES} bytes, not {len(dither)}")
        return self._choice(self.members(answer), int.from_bytes(dither, "big"))

    def _choice(self, members: tuple[int, ...], dither: int) -> int:
        """Return the input that a dither chooses for a set of items."""
        if members and members[0] >= self.item_count:
            return members[0]
        if len(members) >= self.padding:
            return members[dither * len(members) >> 8 * DITHER_BYTES]
        # One uniform number below l^2 gives a place below l and, if that place has no item, a dummy below l.
        place, dummy = divmod(dither * self.padding**2 >> 8 * DITHER_BYTES, self.padding)
        return members[place] if place < len(members) else self.item_count + dummy

    def dither_counts(self, members: tuple[int, ...]) -> dict[int, int]:
        """Return how many of the 2^64 dithers choose each input, for a set of items; the numbers sum to 2^64.

        Args:
            members: the inputs of the set's items, increasing, all below m.
        """
        counts: dict[int, int] = {}
        choices = len(members) if len(members) >= self.padding else self.padding**2
        if len(members) < self.padding:
            # The dithers that choose one item are consecutive.
            ends = [*range(0, len(members) * self.padding + 1, self.padding)]
            ends += range(ends[-1] + 1, choices + 1)
        else:
            ends = list(range(choices + 1))
        for start, end in pairwise(ends):
            # These are the dithers d with start <= d * choices / 2^64 < end.
            low, high = -(-start * DITHERS // choices), -(-end * DITHERS // choices)
            x = self._choice(members, low)
            counts[x] = counts.get(x, 0) + high - low
        return counts

    def label(self, x: int) -> str:
        if x >= self.item_count:
            return f"{_DUMMY}{x - self.item_count + 1}{_DUMMY_END}"
        return str(x + 1) if isinstance(self.labels, int) else self.labels[x]

    def parse(self, text: str) -> Answer:
        labels = (label.strip() for label in text.split(SEPARATOR))
        return cast(Answer, tuple(label for label in labels if label))

    def encode(self) -> codec.Value:
        return [self.kind, self.padding, self.labels if isinstance(self.labels, int) else list(self.labels)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Items:
        """Return the domain of a wire form (SPEC 4)."""
        _, padding, labels = codec.fields(value, 3, "an items domain", DomainError)
        length = codec.integer(padding, "a padding", DomainError, 1, MAX_PADDING)
        if isinstance(labels, list):
            return cls(length, tuple(codec.text(label, "an item", DomainError) for label in labels))
        return cls(length, codec.integer(labels, "the number of items", DomainError, 1, MAX_VALUES))


def set_level(
    bound: Callable[[int, int], int | None], first: Mapping[int, int], second: Mapping[int, int]
) -> int | None:
    """Return an upper bound of ln Q(y|S) - ln Q(y|S') over all y, for two sets of items S and S'.

    Let w and w' be the distributions of the chosen inputs, and E[i][j] a bound for two inputs: Q(y|j) >= Q(y|i) /
    E[i][j]. Then

        Q(y|S) / Q(y|S') <= sum over i of S of w_i / (sum over j of S' of w'_j / E[i][j])

    Under MinID-LDP E[i][j] is at most e^eps_i and e^eps_j. So the bound is at most the mean of e^eps over S, which is
    the budget of Theorem 4. It is also at most the harmonic mean of e^eps over S', which is sharper than the theorem.
    It is valid for every channel that satisfies the bounds of pairs, not only for bits.

    Source: Gu et al. 2020, Theorem 4, from its proof.

    Args:
        bound: function of two inputs i and j that returns ln E[i][j] in nanonats; 0 if i = j, None if it is unbounded.
        first, second: the number of dithers that choose each input of S and of S', from ``Items.dither_counts``.
    Returns:
        Nanonats, rounded up; None if infinite.
    """
    total = Fraction()
    for i, count in first.items():
        # A certified ratio is at most the lower bound of e^level, so the code takes that bound as the ratio.
        lower_bound = Fraction(
            sum(
                Fraction(weight << exact.EXP_BITS, exact.exp_lower(level))
                for j, weight in second.items()
                if (level := bound(i, j)) is not None
            )
        )
        if not lower_bound:
            return None
        total += count / lower_bound
    return exact.level_of(total.numerator, total.denominator)

"""Graded notions: the bound of two inputs is a function of their budgets   (Gu et al. 2020, Def. 2).

Inputs of a budget class have the same budget, so t classes have t^2 bounds. The function is the smaller budget
(MinID-LDP, Def. 3) or their mean (AvgID-LDP, sec. VIII), rounded down. Pairs of classes that need no protection from
each other may have no bound. Only then can an audit find an infinite LDP level.

If all pairs are bounded, MinID-LDP implies LDP at min(largest budget, twice the least) (Lemma 1), and the budgets of
each input add up over answers (Theorem 2).
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

from protocol import codec, exact, runs
from protocol.channels import Loss
from protocol.errors import NotionError
from protocol.notions.notion import require_level
from protocol.notions.pairwise import Pairwise
from protocol.runs import Runs, members_of, require_runs, runs_of

MAX_BUDGET_CLASSES = 64


@dataclass(frozen=True)
class Graded(Pairwise):
    """A budget for each budget class; the bound of a pair of inputs is a function of the two budgets.

    Attributes:
        level: the largest bound of a pair of inputs.
        budgets: nanonats, for each budget class.
        runs: (budget class, length) pairs in input order; budget classes are numbered from 0 in order of first
            appearance.
        unbounded_pairs: pairs (c, d) of budget classes, c <= d, increasing, whose inputs need no protection from each
            other. If the list is empty, no two budgets are equal.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    budgets: tuple[int, ...]
    runs: Runs
    unbounded_pairs: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        require_runs(self.runs, 0, NotionError)
        count = 1 + max((number for number, _ in self.runs), default=-1)
        if not 1 <= count <= MAX_BUDGET_CLASSES or len(self.budgets) != count:
            raise NotionError(
                f"a graded notion must have 1 to {MAX_BUDGET_CLASSES} budget classes with one budget each, not "
                f"{count} with {len(self.budgets)}"
            )
        for budget in self.budgets:
            require_level(budget)
        if not self.unbounded_pairs and len(set(self.budgets)) != count:
            raise NotionError("two budget classes have equal budgets, and all pairs are bounded: write them as one")
        sizes = [len(members) for members in self.inputs_by_class]
        for c, d in self.unbounded_pairs:
            if not 0 <= c <= d < count:
                raise NotionError(f"a pair without a bound must be classes c <= d below {count}, not {c} and {d}")
            if c == d and sizes[c] == 1:
                raise NotionError(
                    f"budget class {c} has a single input, so it has no pair of inputs: remove the pair ({c}, {c})"
                )
        codec.require_increasing(self.unbounded_pairs, "pairs without a bound", NotionError)
        largest = max((bound for _, _, bound in self.bounds()), default=None)
        if largest is None:
            raise NotionError(f"{self.name} bounds no pair of values, so it would protect nothing: bound at least one")
        if self.level != largest:
            raise NotionError(
                f"the declared level must be {exact.in_nats(largest)}, the largest bound of a pair, not "
                f"{exact.in_nats(self.level)} (nats: see docs/GLOSSARY.md)"
            )

    @staticmethod
    def over(budgets: Sequence[int], function: str = "minid", pairs: Iterable[tuple[int, int]] | None = None) -> Graded:
        """Return the notion for a budget per input.

        Args:
            budgets: the budgets of the k inputs in nanonats.
            function: "minid" or "avgid".
            pairs: the pairs of budgets (nanonats) whose inputs are protected from each other; None for all pairs. A
                pair of equal budgets protects the inputs of one class from each other.
        Raises:
            NotionError: unknown function, a pair with a budget that no input has, or an invalid notion.
        """
        kinds: dict[str, type[Graded]] = {kind.name: kind for kind in (MinId, AvgId)}
        if function not in kinds:
            raise NotionError(f"the function of a graded notion must be minid or avgid, not {function[:40]!r}")
        kind = kinds[function]
        blocks = runs_of(budgets)
        levels = tuple(dict.fromkeys(budgets))
        classes = range(len(levels))
        known = set(levels)
        bounded = None if pairs is None else {frozenset(pair) for pair in pairs}
        unknown = set().union(*bounded or ()) - known
        if unknown:
            level = exact.in_nats(min(unknown))
            raise NotionError(
                f"a pair has a budget of {level} (nats: see docs/GLOSSARY.md), but no value has this budget: leave the "
                "pair out"
            )
        counts = Counter(budgets)
        several = {number for number in classes if counts[levels[number]] > 1}
        every = [(c, d) for c in classes for d in classes if c < d or (c == d and c in several)]
        open_pairs = tuple(
            (c, d) for c, d in every if bounded is not None and frozenset((levels[c], levels[d])) not in bounded
        )
        bounds = [kind.pair_bound(levels[c], levels[d]) for c, d in every if (c, d) not in open_pairs]
        return kind(max(bounds, default=exact.MIN_LEVEL), levels, blocks, open_pairs)

    @staticmethod
    @abstractmethod
    def pair_bound(budget: int, other: int) -> int:
        """Return the bound of two inputs with these budgets, in nanonats."""

    @property
    def carries_views(self) -> bool:
        return not self.unbounded_pairs

    def covers_sets(self, dummies: int) -> bool:
        return not self.unbounded_pairs and self.runs[-1][1] >= dummies

    @property
    def coarsening_steps(self) -> int:
        return 4 * (self.input_count or 0)

    def coarsened(self, input_of: Callable[[int], int], size: int) -> Graded:
        # The bound of two values grows with each of their budgets, so the least budget of the values of a view's
        # input gives its least bounds.
        cell_budgets = [exact.MAX_LEVEL] * size
        for budget, members in zip(self.budgets, self.inputs_by_class, strict=True):
            for x in members:
                cell = input_of(x)
                cell_budgets[cell] = min(cell_budgets[cell], budget)
        return self.over(cell_budgets, self.name)

    @property
    def input_count(self) -> int | None:
        return sum(length for _, length in self.runs)

    @cached_property
    def inputs_by_class(self) -> Sequence[Sequence[int]]:
        return members_of(self.runs)

    def bounds(self) -> Iterator[tuple[int, int, int]]:
        left_out = frozenset(self.unbounded_pairs)
        for c, budget in enumerate(self.budgets):
            for d, other in enumerate(self.budgets):
                if (min(c, d), max(c, d)) not in left_out and (c != d or len(self.inputs_by_class[c]) > 1):
                    yield c, d, self.pair_bound(budget, other)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(length for _, length in self.runs))

    def class_of(self, x: int) -> int:
        """Return the budget class of input ``x``."""
        return self.runs[bisect_right(self._ends, x)][0]

    def bound(self, x: int, other: int) -> int | None:
        """Return the bound of two inputs, in nanonats: 0 if they are equal, None if they need no protection from each
        other."""
        if x == other:
            return 0
        c, d = sorted((self.class_of(x), self.class_of(other)))
        return None if (c, d) in self.unbounded_pairs else self.pair_bound(self.budgets[c], self.budgets[d])

    def bound_of(self, loss: Loss) -> int:
        return self.bound(loss.x, loss.other or 0) or 0

    def encode(self) -> codec.Value:
        pairs: list[codec.Value] = [number for pair in self.unbounded_pairs for number in pair]
        return [self.name, self.level, list(self.budgets), runs.encode(self.runs), pairs]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Graded:
        """Return the notion of a wire form (SPEC 6.6).

        Raises:
            NotionError: wrong fields, or an invalid notion.
        """
        _, level, budgets, blocks, pairs = codec.fields(value, 5, cls.name, NotionError)
        flat = codec.integers(pairs, "a budget class", NotionError, 0, MAX_BUDGET_CLASSES - 1)
        if len(flat) % 2:
            raise NotionError(
                f"pairs without a bound must be pairs of budget classes, so an even number of integers, not {len(flat)}"
            )
        return cls(
            codec.integer(level, "a level", NotionError),
            codec.integers(budgets, "a budget", NotionError),
            runs.decode(blocks, NotionError),
            tuple(zip(flat[::2], flat[1::2], strict=True)),
        )


@dataclass(frozen=True)
class MinId(Graded):
    """MinID-LDP: the smaller of the two budgets   (Gu et al. 2020, Def. 3)."""

    name: ClassVar[str] = "minid"

    @staticmethod
    def pair_bound(budget: int, other: int) -> int:
        return min(budget, other)


@dataclass(frozen=True)
class AvgId(Graded):
    """AvgID-LDP: the mean of the two budgets, rounded down to a nanonat   (Gu et al. 2020, sec. VIII)."""

    name: ClassVar[str] = "avgid"

    @staticmethod
    def pair_bound(budget: int, other: int) -> int:
        return (budget + other) // 2

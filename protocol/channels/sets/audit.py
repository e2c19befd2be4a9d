"""The audit structure of channels whose outputs are sets of inputs: subset selection, and triples.

All sets that contain the input have one weight. All other sets have another weight, and one of them also gets the
remainder of the row. So under a prior a column is determined by the mass of the set, and only the few sets with a
remainder are computed one by one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import comb
from typing import ClassVar

from protocol.channels.sets.subset import SubsetSelection
from protocol.channels.sets.triples import Triples
from protocol.channels.structure import OutputClass, PairProfile, Structure


class SetsStructure(Structure):
    """The audit structure of channels whose outputs are sets of inputs.

    All inputs are in equally many sets, and all pairs of inputs are in equally many sets.
    """

    channel: SubsetSelection | Triples
    profile_steps: ClassVar[int] = 8

    @property
    @abstractmethod
    def counts(self) -> tuple[int, int, int]:
        """The number of sets, of sets that contain an input, and of sets that contain two given inputs."""

    @abstractmethod
    def raised(self, x: int) -> int:
        """Return the output that has the remainder of row ``x``."""

    @abstractmethod
    def members(self, y: int) -> Sequence[int]:
        """Return the inputs of an output."""

    @abstractmethod
    def masses(self, prior: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield (output, mass of its members) for each output that some input gives."""

    @abstractmethod
    def rarest(self, prior: Sequence[int], inputs: Sequence[int]) -> Iterable[tuple[int, int]]:
        """Yield (x, y) for x in ``inputs``, where y is the set of least mass among those that contain x and have no
        remainder; an x without such a set is skipped."""

    @cached_property
    def _raised_by(self) -> dict[int, list[int]]:
        """The inputs that give each output the remainder of their row."""
        inputs_by_output: dict[int, list[int]] = {}
        for x in range(self.channel.input_count):
            inputs_by_output.setdefault(self.raised(x), []).append(x)
        return inputs_by_output

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        channel, (sets, having, _) = self.channel, self.counts
        rest = (channel.outside, sets - having - 1), (channel.outside + channel.remainder, 1)
        return [(channel.inside, having), *rest]

    def profile(self, x: int, other: int) -> PairProfile:
        channel, (sets, having, shared) = self.channel, self.counts
        inside, outside = channel.inside, channel.outside
        counts = {
            (inside, inside): shared,
            (inside, outside): having - shared,
            (outside, inside): having - shared,
            (outside, outside): sets - 2 * having + shared,
        }
        for y in {self.raised(x), self.raised(other)}:
            members = self.members(y)
            counts[inside if x in members else outside, inside if other in members else outside] -= 1
            weights = (channel.weight(x, y), channel.weight(other, y))
            counts[weights] = counts.get(weights, 0) + 1
        return [(mine, theirs, count) for (mine, theirs), count in counts.items()]

    def of_set(self, y: int, prior: Sequence[int], count: int = 1) -> OutputClass:
        """Return the class of one output, with the weights and prior masses of its column."""
        channel = self.channel
        mass_inside = sum(map(prior.__getitem__, self.members(y)))
        more = sum(map(prior.__getitem__, self._raised_by.get(y, ())))
        masses = {channel.inside: mass_inside}
        for weight, mass in (
            (channel.outside + channel.remainder, more),
            (channel.outside, sum(prior) - mass_inside - more),
        ):
            masses[weight] = masses.get(weight, 0) + mass
        return OutputClass(y, count, tuple(part for part in masses.items() if part[1]))

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        inside, outside, total = self.channel.inside, self.channel.outside, sum(prior)
        for y, mass in self.masses(prior):
            if y in self._raised_by:
                yield self.of_set(y, prior)
            else:
                parts = (inside, mass), (outside, total - mass)
                yield OutputClass(y, 1, tuple(part for part in parts if part[1]))

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        self.require_steps(self.channel.output_count, "listing its outputs")
        base, gap = self.channel.outside * sum(prior), self.channel.inside - self.channel.outside
        marginals = [0] * self.channel.output_count
        for y, mass in self.masses(prior):
            marginals[y] = base + gap * mass
        for y, inputs in self._raised_by.items():
            marginals[y] += self.channel.remainder * sum(map(prior.__getitem__, inputs))
        return marginals

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        channel = self.channel
        no_mass = [0] * channel.input_count
        gained = [0] * channel.input_count
        base = 0
        for y, _ in self.masses(no_mass):
            without = term(channel.outside, marginals[y])
            more = term(channel.inside, marginals[y]) - without
            base += without
            for x in self.members(y):
                gained[x] += more
        for x, more in enumerate(gained):
            marginal = marginals[self.raised(x)]
            yield base + more + term(channel.outside + channel.remainder, marginal) - term(channel.outside, marginal)

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        best = (0, 1, inputs[0])

        def look(x: int, column: OutputClass) -> None:
            nonlocal best
            joint, marginal = prior[x] * self.channel.weight(x, column.y), column.marginal
            if joint * best[1] > best[0] * marginal:
                best = (joint, marginal, x)

        # A set raises the posterior of x only if it contains x or has a remainder, so no other set is tried.
        for y in self._raised_by:
            column = self.of_set(y, prior)
            for x in inputs:
                look(x, column)
        for x, y in self.rarest(prior, inputs):
            look(x, self.of_set(y, prior))
        return best


class SubsetStructure(SetsStructure):
    """The audit structure of subset selection (SPEC 5.5).

    The sets that have a remainder lie within the first d + 1 inputs.
    """

    channel: SubsetSelection

    @property
    def counts(self) -> tuple[int, int, int]:
        k, d = self.channel.input_count, self.channel.ones
        return comb(k, d), comb(k - 1, d - 1), comb(k - 2, d - 2)

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        k, d = self.channel.input_count, self.channel.ones
        # Input d has its remainder at the same output as all later inputs. It is a kind of its own, because it is also
        # a member of the outputs with the remainders of earlier inputs.
        return [kind for kind in (range(d), range(d, d + 1), range(d + 1, k)) if kind]

    def raised(self, x: int) -> int:
        return self.channel._last(x)

    def members(self, y: int) -> Sequence[int]:
        return [x for x in range(self.channel.input_count) if y >> (self.channel.input_count - 1 - x) & 1]

    def masses(self, prior: Sequence[int]) -> Iterator[tuple[int, int]]:
        size = self.channel.ones
        self.require_steps(self.counts[0] * (size + 2), "listing its sets")
        for members in combinations(range(self.channel.input_count), size):
            yield self.channel._vector(members), sum(map(prior.__getitem__, members))

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        if len(set(prior)) > 1:
            yield from super().columns(prior)
            return
        yield from (self.of_set(y, prior) for y in self._raised_by)
        others = self._beyond(range(self.channel.input_count))
        if others is not None:
            yield self.of_set(others, prior, self.counts[0] - len(self._raised_by))

    @property
    def worst_column_steps(self) -> int:
        return 2 * self.channel.prior_steps

    def worst_columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        yield from (self.of_set(y, prior) for y in self._raised_by)
        ranked = sorted(range(self.channel.input_count), key=prior.__getitem__)
        for y in (self._beyond(ranked), self._beyond(ranked[::-1])):
            if y is not None:
                yield self.of_set(y, prior)

    def rarest(self, prior: Sequence[int], inputs: Sequence[int]) -> Iterable[tuple[int, int]]:
        ranked = sorted(range(self.channel.input_count), key=prior.__getitem__)
        for x in inputs:
            y = self._beyond(ranked, x)
            if y is not None:
                yield x, y

    def _beyond(self, ranked: Sequence[int], holding: int | None = None) -> int | None:
        """Return the first set by rank that has no remainder and contains ``holding``, if given; None if there is no
        such set."""
        size = self.channel.ones
        start = [] if holding is None else [holding]
        if holding is None or holding <= size:
            beyond = next((x for x in ranked if x > size), None)
            if beyond is None:
                return None
            start.append(beyond)
        return self.channel._vector((start + [x for x in ranked if x not in start])[:size])


class TriplesStructure(SetsStructure):
    """The audit structure of triples (SPEC 5.10). Only outputs 0 and 1 have remainders."""

    channel: Triples

    @property
    def counts(self) -> tuple[int, int, int]:
        return self.channel.output_count, self.channel.support, 1

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        # The profile of an input depends on whether its place on its ring is 0, 1 or any other.
        kinds: list[list[int]] = [[], [], []]
        for x in range(self.channel.input_count):
            kinds[min(x % self.channel.ring_size, 2)].append(x)
        return [kind for kind in kinds if kind]

    def raised(self, x: int) -> int:
        return self.channel._first(x)

    def members(self, y: int) -> Sequence[int]:
        return [x for x in self.channel.members(y) if x < self.channel.input_count]

    def masses(self, prior: Sequence[int]) -> Iterator[tuple[int, int]]:
        self.require_steps(self.channel.output_count, "listing its outputs")
        return enumerate(self.channel._masses(prior))

    @property
    def worst_column_steps(self) -> int:
        return 2 * self.channel.prior_steps

    def worst_columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        yield from (self.of_set(y, prior) for y in sorted({0, 1, *self.channel.extremes(prior)}))

    def rarest(self, prior: Sequence[int], inputs: Sequence[int]) -> Iterable[tuple[int, int]]:
        self.require_steps(len(inputs) * self.channel.support + self.channel.output_count, "listing its triples")
        masses = list(self.channel._masses(prior))
        for x in inputs:
            having = (self.channel._nth_with(x, place) for place in range(self.channel.support))
            yield x, min((y for y in having if y > 1), key=masses.__getitem__)

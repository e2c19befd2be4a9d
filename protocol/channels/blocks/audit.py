"""The audit structure of a channel of blocks, composed of the structures of its inner channels.

Inputs of different blocks share no output, so no pair across blocks needs computing. An open input gives every output
of block 1 with the same weight, which adds the same part to each column of block 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from protocol.channels.blocks.channel import BLOCKS_SCALE, ONE, OPEN, Blocks
from protocol.channels.channel import Channel
from protocol.channels.structure import OutputClass, PairProfile, Structure


class BlocksStructure(Structure):
    """The audit structure of channels in blocks, with open inputs (SPEC 5.7).

    Attributes:
        inner: the structure of each block; block 1 first.
    """

    channel: Blocks

    def __init__(self, channel: Blocks, max_steps: int, structure_of: Callable[[Channel, int], Structure]) -> None:
        super().__init__(channel, max_steps)
        structures: dict[Channel, Structure] = {}
        self.inner = [structures.setdefault(block, structure_of(block, max_steps)) for block in channel.channels]
        self._own_weight = ONE - channel.hidden

    def _shift(self, block: int) -> int:
        return BLOCKS_SCALE - self.channel.channels[block - 1].scale

    def _prior_of(self, block: int, prior: Sequence[int]) -> list[int]:
        return [prior[x] for x in self.channel.inputs_by_block[block]]

    @property
    def kinds(self) -> Sequence[Sequence[int]]:
        kinds: list[Sequence[int]] = [self.channel.inputs_by_block[OPEN]] if self.channel.inputs_by_block[OPEN] else []
        for members, inner in zip(self.channel.inputs_by_block[1:], self.inner, strict=True):
            kinds += [[members[place] for place in kind] for kind in inner.kinds]
        return kinds

    def row(self, x: int) -> Iterable[tuple[int, int]]:
        block, place = self.channel.block_of[x], self.channel.place_of[x]
        if block == OPEN:
            return [(self._own_weight, 1), (self.channel.cover, self.channel.channels[0].output_count)]
        return [(weight << self._shift(block), count) for weight, count in self.inner[block - 1].row(place)]

    def fits(self, x: int) -> tuple[int, int, int]:
        block, place = self.channel.block_of[x], self.channel.place_of[x]
        row = list(self.row(x))
        largest = max(weight for weight, count in row if count)
        output_count = sum(count for weight, count in row if weight == largest)
        # Blocks share no output. An open input gives its own output, and each output of block 1 with the cover weight.
        wrong = []
        if block == OPEN:
            hides = self.channel.channels[0].output_count if largest == self.channel.cover else 0
            wrong = [self.channel.cover * hides if len(self.inner) == 1 else 0]
        else:
            if len(self.channel.inputs_by_block[block]) > 1:
                wrong.append(self.inner[block - 1].fits(place)[1] << self._shift(block))
            if len(self.inner) > 1:
                wrong.append(0)
            if self.channel.inputs_by_block[OPEN]:
                wrong.append(self.channel.cover * output_count if block == 1 else 0)
        return largest * output_count, min(wrong), ONE

    def profile(self, x: int, other: int) -> PairProfile:
        block, other_block = self.channel.block_of[x], self.channel.block_of[other]
        if block == other_block == OPEN:
            return [(self._own_weight, 0, 1), (0, self._own_weight, 1), (self.channel.hidden, self.channel.hidden, 1)]
        if block == other_block:
            shift = self._shift(block)
            inner_profile = self.inner[block - 1].profile(self.channel.place_of[x], self.channel.place_of[other])
            return [(mine << shift, theirs << shift, count) for mine, theirs, count in inner_profile]
        if OPEN not in (block, other_block) or not self.channel.cover:
            return [(ONE, 0, 1), (0, ONE, 1)]
        if block == OPEN:
            return [(theirs, mine, count) for mine, theirs, count in self.profile(other, x)]
        return [(0, self._own_weight, 1), *((weight, self.channel.cover, count) for weight, count in self.row(x))]

    @property
    def profile_steps(self) -> int:
        return max(inner.profile_steps for inner in self.inner)

    def columns(self, prior: Sequence[int]) -> Iterator[OutputClass]:
        total, open_mass = sum(prior), sum(self._prior_of(OPEN, prior))
        for block, inner in enumerate(self.inner, 1):
            inside, shift = self._prior_of(block, prior), self._shift(block)
            rest = {self.channel.cover: open_mass} if block == 1 else {}
            rest[0] = rest.get(0, 0) + total - sum(inside) - sum(rest.values())
            for column in inner.columns(inside):
                masses = dict(rest)
                for weight, mass in column.parts:
                    masses[weight << shift] = masses.get(weight << shift, 0) + mass
                parts = tuple(part for part in masses.items() if part[1])
                yield OutputClass(self.channel.offsets[block] + column.y, column.count, parts)
        for place, x in enumerate(self.channel.inputs_by_block[OPEN]):
            parts = tuple(part for part in ((self._own_weight, prior[x]), (0, total - prior[x])) if part[1])
            yield OutputClass(self.channel.offsets[OPEN] + place, 1, parts)

    def marginals(self, prior: Sequence[int]) -> Sequence[int]:
        marginals: list[int] = []
        for block, inner in enumerate(self.inner, 1):
            shift = self._shift(block)
            hidden = self.channel.cover * sum(self._prior_of(OPEN, prior)) if block == 1 else 0
            marginals += [hidden + (marginal << shift) for marginal in inner.marginals(self._prior_of(block, prior))]
        return marginals + [self._own_weight * mass for mass in self._prior_of(OPEN, prior)]

    def row_sums(self, marginals: Sequence[int], term: Callable[[int, int], int]) -> Iterable[int]:
        nothing = [term(0, marginal) for marginal in marginals]
        totals = [sum(nothing)] * self.channel.input_count
        for block, inner in enumerate(self.inner, 1):
            start, shift = self.channel.offsets[block], self._shift(block)
            stop = start + inner.channel.output_count
            without = sum(nothing[start:stop])
            sums = inner.row_sums(marginals[start:stop], partial(_shifted_term, term, shift))
            for x, inside in zip(self.channel.inputs_by_block[block], sums, strict=True):
                totals[x] += inside - without
        hiding = sum(
            term(self.channel.cover, marginals[y]) - nothing[y] for y in range(self.inner[0].channel.output_count)
        )
        for place, x in enumerate(self.channel.inputs_by_block[OPEN]):
            y = self.channel.offsets[OPEN] + place
            totals[x] += hiding + term(self._own_weight, marginals[y]) - nothing[y]
        return totals

    def largest_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        if self.channel.cover:
            return self._covered_posterior(prior, inputs)
        best = (0, 1, inputs[0])
        by_block: dict[int, dict[int, int]] = {}
        for x in inputs:
            by_block.setdefault(self.channel.block_of[x], {})[self.channel.place_of[x]] = x
        for block, inputs_by_place in by_block.items():
            # Only one input gives the output of an open input, and only inputs of a block give the outputs of that
            # block.
            places = [*inputs_by_place]
            numerator, denominator, place = 1, 1, places[0]
            if block != OPEN:
                numerator, denominator, place = self.inner[block - 1].largest_posterior(
                    self._prior_of(block, prior), places
                )
            if numerator * best[1] > best[0] * denominator:
                best = (numerator, denominator, inputs_by_place[place])
        return best

    def _covered_posterior(self, prior: Sequence[int], inputs: Sequence[int]) -> tuple[int, int, int]:
        """Return the result of ``largest_posterior`` if open inputs also give the outputs of the only block."""
        is_open = next((x for x in inputs if self.channel.block_of[x] == OPEN), None)
        if is_open is not None:
            return 1, 1, is_open  # only one input gives the output of an open input
        output_count = self.inner[0].channel.output_count
        self.require_steps(len(inputs) * output_count, "listing the outputs of a block")
        marginals = self.marginals(prior)
        best = (0, 1, inputs[0])
        for x in inputs:
            for y, marginal in enumerate(marginals[:output_count]):
                joint = prior[x] * self.channel.weight(x, y)
                if joint * best[1] > best[0] * marginal:
                    best = (joint, marginal, x)
        return best


def _shifted_term(term: Callable[[int, int], int], shift: int, weight: int, marginal: int) -> int:
    """Return the term of an inner channel's weight at the scale of the whole channel."""
    return term(weight << shift, marginal)

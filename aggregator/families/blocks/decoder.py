"""The decoder of channels in blocks: inner decoders for the blocks, and counts of own outputs for the open inputs.

Inner decoders do not need shares that sum to one, so each block is decoded by itself. An open input gives an output of
block 1 with probability tau, and otherwise its own output. So each report of an own output corresponds to
tau / (1 - tau) reports in block 1 that come from open inputs. These hidden reports are uniform over the m outputs of
block 1. With the relative frequencies f of the outputs,

    p[x] = f[own output of x] / (1 - tau)                                           x open
    p[block 1] = L(f[block 1] - hidden / m),  hidden = tau / (1 - tau) * sum of f over own outputs

So a report of an open input's own output adds ``aside`` = -tau / (1 - tau) * mean over y of L[y, x] to each x of block
1. With Hadamard response inside, ``aside`` is 0, and this is the published estimate (Acharya et al. 2020, eq. 15-16 and
19). Blocks with equal inner channels are decoded together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from aggregator.families.decoder import BinomialSteps, Decoder, Floats, Integers
from aggregator.families.hadamard.decoder import HadamardDecoder
from protocol.channels import Blocks, Channel
from protocol.channels.blocks.channel import ONE, OPEN, Constant

NEGLIGIBLE = 1e-10
"""Steps lower than this fraction of a report's weight are ignored; they come from rounding."""


class ConstantDecoder(Decoder):
    """Decoder of a block with one input, in which each report of the block counts for one person."""

    input_count = features = 1
    people_per_report: ClassVar[float] = 1.0

    def forward(self, p: Floats) -> Floats:
        return p

    def forward_squares(self, p: Floats) -> Floats:
        return p

    def backward(self, w: Floats) -> Floats:
        return w

    def invert(self, mean_features: Floats) -> Floats:
        return mean_features

    def adjoint(self, v: Floats) -> Floats:
        return v

    def variances(self, mean_features: Floats) -> Floats:
        return mean_features - mean_features**2

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        return BinomialSteps(np.ones(1), np.zeros((1, 1)), counts[np.newaxis], reports)

    @property
    def ceiling(self) -> Floats:
        return np.ones(1)


@dataclass(frozen=True)
class _EqualBlocks:
    """The blocks that have the same inner channel.

    Attributes:
        inner: the decoder of the inner channel, for k' inputs and m' outputs.
        columns: (b, m') the outputs of each block.
        members: (b, k') the inputs of each block.
    """

    inner: Decoder
    columns: Integers
    members: Integers

    def per_block(self, method: Callable[[Floats], Floats], rows: Floats) -> Floats:
        """Return the result of the inner decoder's ``method`` for the vector of each block."""
        if isinstance(self.inner, HadamardDecoder):
            return method(rows)
        return np.array([method(row) for row in rows])

    def binomial_steps(self, counts: Integers) -> BinomialSteps:
        """Return the steps of the inner decoders, as arrays in which the axis of blocks comes before the axis of
        inputs."""
        rows, total = counts[self.columns], int(counts.sum())
        if isinstance(self.inner, HadamardDecoder):
            return self.inner.binomial_steps(rows, total)
        steps = [self.inner.binomial_steps(row, total) for row in rows]
        return BinomialSteps(
            np.array([block.base for block in steps]),
            np.stack([block.heights for block in steps], axis=1),
            np.stack([block.counts for block in steps], axis=1),
            total,
            np.array([np.broadcast_to(block.slack, block.base.shape) for block in steps]),
        )


class BlocksDecoder(Decoder):
    """Decoder that applies the inner decoder of each block."""

    def __init__(self, channel: Blocks, decoder_of: Callable[[Channel], Decoder]) -> None:
        self.input_count, self.features = channel.input_count, channel.output_count
        self._cover = channel.cover / ONE
        # These are tau and 1 - tau of the formulas above.
        self._hidden = channel.hidden / ONE
        self._shown = (ONE - channel.hidden) / ONE
        self._open = np.array(channel.inputs_by_block[OPEN], dtype=np.int64)
        self._own = channel.offsets[OPEN] + np.arange(len(self._open))
        equal_blocks: dict[Channel, list[int]] = {}
        for block, inner in enumerate(channel.channels, 1):
            equal_blocks.setdefault(inner, []).append(block)
        self._groups = [
            _EqualBlocks(
                ConstantDecoder() if isinstance(inner, Constant) else decoder_of(inner),
                np.array([channel.offsets[block] for block in blocks])[:, np.newaxis] + np.arange(inner.output_count),
                np.array([channel.inputs_by_block[block] for block in blocks], dtype=np.int64),
            )
            for inner, blocks in equal_blocks.items()
        ]

    @cached_property
    def _aside(self) -> Floats:
        """The contribution of an open input's own output to the estimate of each other input, shape (k,)."""
        adds = np.zeros(self.input_count)
        if self._cover:
            # The hidden reports of open inputs are uniform over the outputs of block 1, so their mean is subtracted.
            first = self._groups[0]
            even = np.full(first.inner.features, 1 / first.inner.features)
            adds[first.members[0]] = -self._hidden / self._shown * first.inner.invert(even)
        return adds

    def forward(self, p: Floats) -> Floats:
        distribution = np.empty(self.features)
        for group in self._groups:
            distribution[group.columns] = group.per_block(group.inner.forward, p[group.members])
        return self._with_open(distribution, p, self._shown, self._cover)

    def forward_squares(self, p: Floats) -> Floats:
        distribution = np.empty(self.features)
        for group in self._groups:
            distribution[group.columns] = group.per_block(group.inner.forward_squares, p[group.members])
        return self._with_open(distribution, p, self._shown**2, self._cover**2)

    def _with_open(self, distribution: Floats, p: Floats, shown: float, cover: float) -> Floats:
        distribution[self._own] = shown * p[self._open]
        if cover:
            distribution[self._groups[0].columns] += cover * p[self._open].sum()
        return distribution

    def backward(self, w: Floats) -> Floats:
        mean = np.empty(self.input_count)
        for group in self._groups:
            mean[group.members] = group.per_block(group.inner.backward, w[group.columns])
        mean[self._open] = self._shown * w[self._own]
        if self._cover:
            mean[self._open] += self._cover * w[self._groups[0].columns].sum()
        return mean

    def invert(self, mean_features: Floats) -> Floats:
        raw = np.empty(self.input_count)
        for group in self._groups:
            raw[group.members] = group.per_block(group.inner.invert, mean_features[group.columns])
        raw[self._open] = mean_features[self._own] / self._shown
        raw += mean_features[self._own].sum() * self._aside
        return raw

    def adjoint(self, v: Floats) -> Floats:
        adds = np.empty(self.features)
        for group in self._groups:
            adds[group.columns] = group.per_block(group.inner.adjoint, v[group.members])
        adds[self._own] = v[self._open] / self._shown + self._aside @ v
        return adds

    def variances(self, mean_features: Floats) -> Floats:
        moment: Floats = np.empty(self.input_count)
        for group in self._groups:
            rows = mean_features[group.columns]
            # The inner decoder subtracts the square of an estimate that ignores the open inputs. This square is added
            # back, and the square of the full estimate is subtracted at the end.
            moment[group.members] = (
                group.per_block(group.inner.variances, rows) + group.per_block(group.inner.invert, rows) ** 2
            )
        moment[self._open] = mean_features[self._own] / self._shown**2
        moment += mean_features[self._own].sum() * self._aside**2
        return moment - self.invert(mean_features) ** 2

    def binomial_steps(self, counts: Integers, reports: int) -> BinomialSteps:
        """Return the steps of the inner channels; reports from outside the block divide each step in two."""
        pieces = [(self._open, *self._open_steps(counts))]
        pieces += [(group.members.ravel(), *self._steps(group, counts, reports)) for group in self._groups]
        base, slack = np.zeros(self.input_count), np.zeros(self.input_count)
        heights = np.zeros((max(len(rows) for _, _, rows, _ in pieces), self.input_count))
        reached = np.zeros(heights.shape, dtype=np.int64)
        for members, bottom, rows, times in pieces:
            base[members] = bottom
            heights[: len(rows), members] = rows
            reached[: len(rows), members] = times
        for group in self._groups:
            # The slack of one block alone is an upper bound, because the block has only a part of the people.
            slack[group.members] = group.binomial_steps(counts).slack
        return BinomialSteps(base, heights, reached, reports, slack)

    def _open_steps(self, counts: Integers) -> tuple[Floats, Floats, Integers]:
        base = np.zeros(len(self._open))
        return base, np.full((1, len(self._open)), 1 / self._shown), counts[self._own][np.newaxis]

    def _steps(self, group: _EqualBlocks, counts: Integers, reports: int) -> tuple[Floats, Floats, Integers]:
        """Return base, heights and counts of the inputs of ``group``, block by block."""
        steps = group.binomial_steps(counts)
        outside = self._aside[group.members]
        inside_count = np.broadcast_to(counts[group.columns].sum(axis=1, keepdims=True), outside.shape)
        # From the top down, ``upper`` and ``lower`` are the ends of each step. A report from outside the block
        # contributes ``outside``, which may lie inside a step and then divides it in two.
        upper = steps.base + np.cumsum(steps.heights[::-1], axis=0)[::-1]
        lower = np.concatenate([upper[1:], steps.base[np.newaxis]])
        heights = np.concatenate([
            np.maximum(upper, outside) - np.maximum(lower, outside),
            np.maximum(lower[-1:] - outside, 0),
            np.maximum(outside - upper[:1], 0),
            np.minimum(upper, outside) - np.minimum(lower, outside),
        ])  # fmt: skip
        elsewhere = reports - inside_count
        reached = np.concatenate([
            steps.counts, inside_count[np.newaxis], elsewhere[np.newaxis], steps.counts + elsewhere
        ])  # fmt: skip
        heights[heights < NEGLIGIBLE * self.people_per_report] = 0
        heights, reached = (part.reshape(len(part), -1) for part in (heights, reached))
        used = heights.any(axis=1)
        return np.minimum(steps.base, outside).ravel(), heights[used], reached[used]

    @property
    def ceiling(self) -> Floats:
        largest = np.empty(self.features)
        for group in self._groups:
            largest[group.columns] = np.maximum(group.inner.ceiling, self._cover)
        largest[self._own] = self._shown
        return largest

    @property
    def people_per_report(self) -> float:
        unperturbed = 1 / self._shown if len(self._open) else 0.0
        return max(
            unperturbed, float(np.abs(self._aside).max()), *(group.inner.people_per_report for group in self._groups)
        )

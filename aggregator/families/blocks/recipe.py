"""Recipes for channels of blocks: a plain mechanism inside each block, and high-low channels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

from aggregator.families.mechanism import Build, PlannedQuestion, Recipe, for_ldp
from aggregator.families.rounding import D, ceil
from protocol.channels import Blocks, Channel
from protocol.channels.blocks.channel import OPEN, Constant, largest_weight
from protocol.exact import exp_lower
from protocol.notions import Block, HighLow


def in_blocks(blocks: Sequence[int], level: int, build: Build) -> Channel:
    """Return a channel of blocks, in which a report reveals the block and a value that is alone in its block is not
    perturbed.

    Source: Acharya et al. 2020, sec. 6; eq. 19 with Hadamard response inside.

    Args:
        blocks: the block number of each input, from 0.
        level: the LDP level inside the blocks in nanonats.
        build: the recipe of the inner channels, called once for each block size.
    """
    sizes = Counter(blocks)
    if len(sizes) == 1:
        return build(len(blocks), level)
    built = cache(lambda size: build(size, level))
    return Blocks.over(0, [OPEN if sizes[block] == 1 else block + 1 for block in blocks], built)


def high_low(size: int, sensitive: Sequence[int], level: int, build: Build) -> Blocks:
    """Return a high-low channel: an inner channel for the sensitive values, whose outputs other values give with the
    smallest sufficient probability.

        cover = largest weight of the inner channel / e^eps, rounded up

    A single sensitive value always gives one output, and other values give this output with probability e^-eps. For two
    values this is optimal for every linear or convex loss: Mangat's response (Acharya et al. 2020, Theorem 2).

    With Hadamard response inside, other values give an output of the sensitive values with probability 2 / (e^eps + 1)
    (Acharya et al. 2020, eq. 13-14, here with S strictly larger than s and without row 0: x in [s], as printed, would
    include the all-ones row, whose probabilities sum to 2 e^eps / (e^eps + 1)). With k-ary response inside it is
    utility-optimised response (Murakami, Kawamoto 2019, Definition 3).

    Args:
        sensitive: the sensitive values, at least one and fewer than ``size``.
        level: the level in nanonats.
        build: the recipe of the inner channel, for two sensitive values or more.
    """
    marked = frozenset(sensitive)
    inner = Constant() if len(marked) == 1 else build(len(marked), level)
    cover = ceil(largest_weight(inner) * D, exp_lower(level))
    return Blocks.over(cover, [int(x in marked) for x in range(size)], lambda _: inner)


def for_ldp_block_and_high_low(build: Build) -> Callable[[PlannedQuestion], Recipe | str]:
    """Return the ``Mechanism.recipe_for`` of a mechanism for sensitive sets, for blocks, and for plain LDP."""

    def recipe_for(question: PlannedQuestion) -> Recipe | str:
        notion = question.notion
        if isinstance(notion, HighLow):
            return lambda: high_low(notion.size, notion.sensitive, notion.level, build)
        if isinstance(notion, Block):
            return lambda: in_blocks(block_numbers(notion), notion.level, build)
        return for_ldp(build)(question)

    return recipe_for


def block_numbers(notion: Block) -> list[int]:
    return [block for block, length in notion.runs for _ in range(length)]

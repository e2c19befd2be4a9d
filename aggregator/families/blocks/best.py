"""Choice of a plain mechanism for each block: the family with the least error in the block."""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.estimate.error import expected_mse
from aggregator.families.blocks.recipe import block_numbers, in_blocks
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.mechanism import COUNT, Build, Mechanism, PlannedQuestion, Recipe
from aggregator.families.projective.recipe import projective
from aggregator.families.response.recipe import randomized_response
from protocol.channels import Channel
from protocol.notions import Block


def best_in_blocks(blocks: Sequence[int], level: int, builders: Sequence[Build]) -> Channel:
    """Return a channel of blocks. Each block has the channel with the least expected error if its values are equally
    common.

    The ranking does not depend on the block's share of the people, which only affects the number of its reports.

    Args:
        blocks: the block number of each input, from 0.
        level: the LDP level inside the blocks in nanonats.
        builders: the recipes of the channels to choose from.
    """
    return in_blocks(
        blocks, level, lambda size, level: min((build(size, level) for build in builders), key=expected_mse)
    )


def _in_each_block(question: PlannedQuestion) -> Recipe | str:
    notion = question.notion
    if not isinstance(notion, Block):
        return "it needs blocks of values: notion block"
    builders = (randomized_response, hadamard, projective)
    return lambda: best_in_blocks(block_numbers(notion), notion.level, builders)


MECHANISMS = (
    Mechanism(
        "best-in-blocks",
        "the mechanism with the least error in each block",
        "after Acharya et al. 2020, sec. 6",
        COUNT,
        _in_each_block,
    ),
)

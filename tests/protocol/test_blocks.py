"""Properties of blocks (SPEC 5.7): any inner channel in each block, and open inputs that one block covers."""

from __future__ import annotations

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import channels, codec, exact, notions
from protocol.channels import Bits, Blocks, Channel, Hadamard, RandomizedResponse, Table
from protocol.channels.blocks.channel import BLOCKS_SCALE, INNER, OPEN, Constant, largest_weight
from protocol.channels.projective.channel import ProjectiveResponse
from protocol.errors import ChannelError, Uncertified
from tests.families import CHANNELS
from tests.families.blocks import in_blocks
from tests.families.hadamard import truth_of
from tests.families.response import cover_of
from tests.families.shapes import ONE
from tests.families.table import random_table
from tests.protocol.test_channels import ChannelProperties, check_loss, weights

NAT = exact.NANONATS
SEED = 20260102
WHOLE = 1 << BLOCKS_SCALE
PLANE = ProjectiveResponse(6, 2, 3, 2**128 % 3 + 3 * 2**122)
"""Six points of the Fano plane, as both inputs and outputs."""


def inner_of(kind: str, size: int) -> Channel:
    """Return an inner channel with ``size`` inputs."""
    if size == 1:
        return Constant()
    if kind == "table":
        return random_table(size, size + 1, SEED)
    if kind == "response":
        return RandomizedResponse(size, tuple(range(7, 7 + size)))
    return Hadamard(truth_of(NAT), size)


GRID: dict[str, Blocks] = {
    **{name: channel for name, channel in CHANNELS.items() if isinstance(channel, Blocks)},
    "a plane and open inputs": Blocks(0, ((1, 6), (0, 2)), (PLANE,)),
    "a plane with a cover": Blocks(PLANE.outside, ((0, 2), (1, 6)), (PLANE,)),
    "a table with zeros and a cover": Blocks(
        2**126, ((1, 3), (0, 2)), (Table(((2**62, 0, 0), (0, 2**61, 2**61), (2**60, 0, 3 * 2**60))),)
    ),
    "a response of unequal weights with a cover": Blocks(
        2**120, ((0, 1), (1, 3), (0, 1)), (RandomizedResponse(3, (2**60, 3 * 2**62, 0)),)
    ),
    "one sensitive input among many": Blocks(WHOLE - 1, ((0, 3), (1, 1), (0, 2)), (Constant(),)),
}


@pytest.mark.parametrize("channel", GRID.values(), ids=GRID)
class TestBlocks(ChannelProperties):
    """The properties of every channel, over this grid."""


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=20),
    st.sampled_from(["table", "response", "hadamard"]),
    st.integers(0, 2**128 // 20) | st.just(0),
)
def test_any_blocks_have_the_losses_of_brute_force(blocks: list[int], kind: str, cover: int) -> None:
    """Any assignment of inputs to blocks gives a channel with the losses of brute force, or raises a ChannelError if
    the blocks do not fit together."""
    counts = Counter(blocks)
    sizes = [count for block, count in counts.items() if block]
    if cover:
        valid = len(sizes) == 1 and bool(counts[OPEN]) and cover * inner_of(kind, sizes[0]).output_count < WHOLE
    else:
        valid = bool(sizes) and 1 not in sizes and (len(sizes) > 1 or bool(counts[OPEN]))
    if not valid:
        with pytest.raises(ChannelError):
            Blocks.over(cover, blocks, lambda size: inner_of(kind, size))
        return
    channel = Blocks.over(cover, blocks, lambda size: inner_of(kind, size))
    matrix = weights(channel)
    assert all(sum(row) == WHOLE for row in matrix)
    for block in counts:
        members = [x for x, other in enumerate(blocks) if other == block]
        check_loss(channel, matrix, members, members)
        check_loss(channel, matrix, members, members[:1])
        check_loss(channel, matrix, members, range(channel.input_count))
    assert channels.decode(channel.encode()) == channel


@pytest.mark.parametrize(
    "inner", [*(made for made in CHANNELS.values() if isinstance(made, tuple(INNER.values()))), PLANE, Constant()]
)
def test_the_largest_weight_is_that_of_the_matrix(inner: Channel) -> None:
    """``largest_weight`` is the greatest cell of the dense matrix, scaled to rows that sum to 2^128."""
    assert largest_weight(inner) == max(map(max, weights(inner))) << BLOCKS_SCALE - inner.scale


@pytest.mark.parametrize("sensitive", [2, 3, 8])
def test_the_cover_is_the_least_that_satisfies_the_level(sensitive: int) -> None:
    """With ceil(largest weight / e^eps) the channel is certified at the level; with one less it is refused."""
    for inner in (Hadamard(truth_of(NAT), sensitive), RandomizedResponse(sensitive, (cover_of(NAT, sensitive),))):
        cover = -(-(largest_weight(inner) << exact.EXP_BITS) // exact.exp_lower(NAT))
        notion = notions.HighLow(NAT, sensitive + 2, tuple(range(sensitive)))
        runs = ((1, sensitive), (0, 2))
        assert notions.certify(Blocks(cover, runs, (inner,)), notion).audited_level == NAT
        with pytest.raises(Uncertified):
            notions.certify(Blocks(cover - 1, runs, (inner,)), notion)


def test_a_map_in_blocks_is_certified_quickly() -> None:
    """43,750 cells in 1,750 blocks are decoded and certified under the block notion in less than 10 seconds of
    processor time."""
    size, side, columns = 43_750, 5, 350
    blocks = [1 + x // columns // side * (columns // side) + x % columns // side for x in range(size)]
    made = in_blocks(NAT, blocks)
    assert len(made.channels) == 1750
    wire = codec.encode(made.encode())
    begun = time.process_time()
    channel = channels.decode(codec.decode(wire, limit=2**20))
    certificate = notions.certify(channel, notions.Block.over(NAT, blocks))
    assert time.process_time() - begun < 10
    assert (certificate.audited_level, certificate.ldp_level) == (NAT, None)
    assert channel == made
    assert len(wire) < 80_000


def test_unary_channels_and_blocks_are_refused_in_a_block() -> None:
    """A unary channel, and a channel of blocks, raise a ChannelError as the inner channel of a block."""
    for inner in (Blocks(0, ((1, 2), (0, 1)), (Hadamard(ONE - 1, 2),)), Bits.over([(1 << 31, 1 << 30)] * 3)):
        with pytest.raises(ChannelError, match="inner channel must be one of"):
            Blocks(0, ((1, 3), (0, 1)), (inner,))


def test_a_constant_channel_is_refused_outside_blocks() -> None:
    """The wire form of a constant channel is refused as a campaign's channel."""
    with pytest.raises(ChannelError, match="family"):
        channels.decode(Constant().encode())

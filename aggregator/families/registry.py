"""Registry of channel families on the aggregator: the decoder and the recipes of each family.

A family is a folder beside this file. It contains the family's decoder, which computes shares from counts, and its
recipe, which computes the integers of a channel from a level. To add a family, add its decoder to ``DECODERS`` and the
modules of its recipes to ``RECIPES``. Recipes are given as module names, which ``aggregator.planner.catalogue``
imports: recipes need decoders, and an estimate should not have to import the solvers of the recipes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from aggregator.families.bits.balanced import BalancedDecoder
from aggregator.families.blocks.decoder import BlocksDecoder
from aggregator.families.decoder import Decoder, Floats
from aggregator.families.graded.decoder import GradedDecoder
from aggregator.families.hadamard.decoder import HadamardDecoder
from aggregator.families.noise.decoder import NoiseDecoder
from aggregator.families.projective.decoder import ProjectiveDecoder
from aggregator.families.response.decoder import ResponseDecoder
from aggregator.families.sets.subset import SubsetDecoder
from aggregator.families.sets.triples import TriplesDecoder
from aggregator.families.table.decoder import TableDecoder
from aggregator.families.wave.decoder import WaveDecoder
from aggregator.families.windows.decoder import WindowsDecoder
from protocol.channels import (
    Bits,
    Blocks,
    Channel,
    GradedProjective,
    Hadamard,
    Noise,
    ProjectiveResponse,
    RandomizedResponse,
    SubsetSelection,
    Table,
    Triples,
    Wave,
    Windows,
)

Reference: TypeAlias = Sequence[float] | Floats | None
"""The shares of the inputs at which a decoder has the least error; None for uniform shares."""


def decoder_of(channel: Channel, reference: Reference = None) -> Decoder:
    """Return the decoder of a channel.

    Args:
        reference: the shares of the inputs at which the decoder has the least error; uniform by default. They affect
            the variance of the estimate, never its expected value.
    Raises:
        ValueError: the family has no decoder. Constant channels have none, because they occur only inside blocks.
    """
    make = DECODERS.get(channel.family)
    if make is None:
        raise ValueError(
            f"a channel of family {channel.family} has no decoder: decode the channel of blocks that contains it, or "
            "add the family's decoder to DECODERS"
        )
    return make(channel, reference)


def _without_reference(decoder: Callable[[Any], Decoder]) -> Callable[[Any, Reference], Decoder]:
    """Return a function that ignores the reference and calls ``decoder``, for a family with a single left inverse."""
    return lambda channel, _: decoder(channel)


def _of_bits(channel: Bits, reference: Reference) -> Decoder:
    even = np.full(channel.input_count, 1 / channel.input_count)
    return BalancedDecoder(channel, even if reference is None else np.asarray(reference, dtype=np.float64))


DECODERS: dict[str, Callable[[Any, Reference], Decoder]] = {
    Table.family: TableDecoder,
    RandomizedResponse.family: _without_reference(ResponseDecoder),
    Hadamard.family: _without_reference(HadamardDecoder),
    ProjectiveResponse.family: _without_reference(ProjectiveDecoder),
    SubsetSelection.family: _without_reference(SubsetDecoder),
    Bits.family: _of_bits,
    Blocks.family: lambda channel, _: BlocksDecoder(channel, decoder_of),
    Noise.family: _without_reference(NoiseDecoder),
    Windows.family: WindowsDecoder,
    Triples.family: _without_reference(TriplesDecoder),
    Wave.family: _without_reference(WaveDecoder),
    GradedProjective.family: _without_reference(GradedDecoder),
}
"""The decoder factory of each family, by its wire name; it takes a channel and a reference."""

RECIPES = {
    "randomized-response": "response.recipe",
    "hadamard": "hadamard.recipe",
    "projective": "projective.recipe",
    "subset": "sets.recipe",
    "triples": "sets.recipe",
    "rappor": "bits.recipe",
    "oue": "bits.recipe",
    "best-in-blocks": "blocks.best",
    "utility-rappor": "bits.recipe",
    "utility-oue": "bits.recipe",
    "graded": "graded.recipe",
    "idue": "bits.idue",
    "idue-opt1": "bits.idue",
    "idue-opt2": "bits.idue",
    "binary-optimum": "table.recipe",
    "designed": "table.recipe",
    "geometric": "noise.recipe",
    "wave": "wave.recipe",
    "planar": "noise.recipe",
    "lip-response": "response.recipe",
    "lip-windows": "windows.recipe",
    "lip-table": "table.recipe",
    "lip-estimable": "table.recipe",
    "lip-centre": "table.recipe",
    "lip-symmetric": "response.recipe",
    "lip-published": "response.recipe",
    "random-sampling": "response.recipe",
    "oue-lip": "bits.recipe",
    "mutual-information": "table.recipe",
}
"""The module of each mechanism's recipe, below ``aggregator.families``. Mechanisms are listed in this order, the
most widely useful first. If two mechanisms have equal errors and equally many bits, the earlier one is chosen."""

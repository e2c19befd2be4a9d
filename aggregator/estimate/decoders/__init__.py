"""The decoders: how the counts of each channel family are turned back into shares.

``decoder`` holds what all families share; each other file is one family, as in ``protocol.channels``. ``decoder_of``
is the only place that knows them all.
"""

from __future__ import annotations

from collections.abc import Sequence

from aggregator.estimate.decoders.bits import BitsDecoder
from aggregator.estimate.decoders.blocks import BlocksDecoder
from aggregator.estimate.decoders.decoder import Decoder, Floats, NotInvertible, Staircase
from aggregator.estimate.decoders.hadamard import HadamardDecoder
from aggregator.estimate.decoders.noise import NoiseDecoder
from aggregator.estimate.decoders.projective import ProjectiveDecoder
from aggregator.estimate.decoders.response import ResponseDecoder
from aggregator.estimate.decoders.subset import SubsetDecoder
from aggregator.estimate.decoders.table import TableDecoder
from aggregator.estimate.decoders.triples import TriplesDecoder
from aggregator.estimate.decoders.windows import WindowsDecoder
from protocol.channels import (
    Bits,
    Blocks,
    Channel,
    Hadamard,
    Noise,
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    Table,
    Triples,
    Windows,
)

__all__ = ["Decoder", "NotInvertible", "Staircase", "decoder_of"]


def decoder_of(channel: Channel, reference: Sequence[float] | Floats | None = None) -> Decoder:
    """The decoder of ``channel``.

    Args:
        reference: the shares of the inputs at which the decoder's error should be least, where there is a choice;
            uniform where nothing is known. It changes the error only, never what is estimated.
    """
    if isinstance(channel, Hadamard):
        return HadamardDecoder(channel)
    if isinstance(channel, RandomizedResponse):
        return ResponseDecoder(channel)
    if isinstance(channel, Table):
        return TableDecoder(channel, reference)
    if isinstance(channel, Blocks):
        return BlocksDecoder(channel, decoder_of)
    if isinstance(channel, ProjectiveGeometry):
        return ProjectiveDecoder(channel)
    if isinstance(channel, SubsetSelection):
        return SubsetDecoder(channel)
    if isinstance(channel, Triples):
        return TriplesDecoder(channel)
    if isinstance(channel, Bits):
        return BitsDecoder(channel)
    if isinstance(channel, Noise):
        return NoiseDecoder(channel, reference)
    if isinstance(channel, Windows):
        return WindowsDecoder(channel, reference)
    raise ValueError(f"there is no decoder for {channel.family} channels")

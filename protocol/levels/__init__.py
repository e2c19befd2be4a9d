"""Levels: what a channel's integers say under each notion of the SoK, whatever the campaign declares (SPEC 6.5).

``structure`` is what they ask of a channel; ``response``, ``hadamard``, ``projective``, ``sets``, ``bits``, ``noise``,
``windows`` and ``blocks`` are families with a faster way. ``pairs``, ``priors``, ``leakage`` and ``pufferfish`` are the
notions; ``survey`` is all of them at once. ``structure_of`` is the only place that knows all structures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.channels import (
    Bits,
    Blocks,
    Channel,
    Hadamard,
    Noise,
    ProjectiveGeometry,
    RandomizedResponse,
    SubsetSelection,
    Triples,
    Windows,
)
from protocol.levels.bits import BitsStructure
from protocol.levels.blocks import BlocksStructure
from protocol.levels.hadamard import HadamardStructure
from protocol.levels.leakage import bits_above, maximal_leakage, mutual_information
from protocol.levels.level import Delta, Level, above, log_above
from protocol.levels.metric import METRICS, Metric
from protocol.levels.noise import NoiseStructure
from protocol.levels.pairs import delta, geo, identifiability, ldp
from protocol.levels.priors import (
    belief,
    information,
    information_delta,
    information_in_ball,
    information_in_ratio,
)
from protocol.levels.projective import ProjectiveStructure
from protocol.levels.pufferfish import Distinction, Pufferfish, Scenario, pufferfish
from protocol.levels.response import ResponseStructure
from protocol.levels.sets import SubsetStructure, TriplesStructure
from protocol.levels.structure import MOST_STEPS, Column, Structure, TooLarge
from protocol.levels.survey import Asked, Row, Survey, as_json, survey, uniform
from protocol.levels.windows import WindowsStructure

__all__ = [
    "METRICS", "MOST_STEPS",
    "Asked", "Column", "Delta", "Distinction", "Level", "Metric", "Pufferfish", "Row", "Scenario", "Structure",
    "Survey", "TooLarge", "above", "as_json", "belief", "bits_above", "delta", "geo", "identifiability", "information",
    "information_delta", "information_in_ball", "information_in_ratio", "ldp", "log_above", "maximal_leakage",
    "mutual_information", "pufferfish", "structure_of", "survey", "uniform",
]  # fmt: skip

STRUCTURES: dict[type[Channel], Callable[[Any, int], Structure]] = {
    Bits: BitsStructure,
    Hadamard: HadamardStructure,
    Noise: NoiseStructure,
    ProjectiveGeometry: ProjectiveStructure,
    RandomizedResponse: ResponseStructure,
    SubsetSelection: SubsetStructure,
    Triples: TriplesStructure,
    Windows: WindowsStructure,
}


def structure_of(channel: Channel, most: int = MOST_STEPS) -> Structure:
    """The structure of a channel: its family's, or the one that looks at each cell.

    Args:
        most: the most steps of a walk.
    """
    if isinstance(channel, Blocks):
        return BlocksStructure(channel, most, structure_of)
    return STRUCTURES.get(type(channel), Structure)(channel, most)

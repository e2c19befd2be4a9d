"""Levels of a channel under every notion of the SoK, including notions that its campaign does not declare (SPEC 6.5).

``pairs``, ``priors``, ``leakage`` and ``pufferfish`` compute the levels of the notions; ``table`` computes all of
them. They read a channel through its audit structure (protocol.channels.structure) and its worst ratios.

The SoK is Wang, Qin, Qiu 2023 (docs/MECHANISMS.md).
"""

from __future__ import annotations

from protocol.channels import structure_of
from protocol.channels.structure import OutputClass, Structure, TooLarge
from protocol.levels.leakage import bits_above, maximal_leakage, mutual_information
from protocol.levels.level import Level, log_above
from protocol.levels.metric import METRICS, Metric
from protocol.levels.pairs import delta, geo, identifiability, ldp
from protocol.levels.priors import lip, lip_delta, lip_in_ball, most_probable
from protocol.levels.pufferfish import Pufferfish, Scenario, pufferfish
from protocol.levels.table import LevelsRequest, LevelTable, as_json, table, worst_table

__all__ = [
    "METRICS",
    "Level",
    "LevelTable",
    "LevelsRequest",
    "Metric",
    "OutputClass",
    "Pufferfish",
    "Scenario",
    "Structure",
    "TooLarge",
    "as_json",
    "bits_above",
    "delta",
    "geo",
    "identifiability",
    "ldp",
    "lip",
    "lip_delta",
    "lip_in_ball",
    "log_above",
    "maximal_leakage",
    "most_probable",
    "mutual_information",
    "pufferfish",
    "structure_of",
    "table",
    "worst_table",
]  # fmt: skip

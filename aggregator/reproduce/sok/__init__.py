"""Experiments on the notions that Wang, Qin, Qiu 2023 compare ("SoK"), with example campaigns.

Every campaign is audited under every notion that the paper defines. So the level of a promise under another notion is
computed, not argued.

Point-wise notions bound every output, and average-case notions bound a mean over outputs. Context-free notions hold for
every prior, and context-aware notions hold for the prior that they name.
"""

from __future__ import annotations

from aggregator.reproduce.experiment import Experiment
from aggregator.reproduce.sok.audits import example_levels, levels_by_eps
from aggregator.reproduce.sok.implications import relations
from aggregator.reproduce.sok.tradeoffs import utility

EXPERIMENTS = (
    Experiment("notions", "B8", "Every notion, on twelve campaigns", example_levels),
    Experiment("sweep", "B8", "The same channels under five notions", levels_by_eps),
    Experiment("utility", "B8", "Point-wise against average-case", utility),
    Experiment("relations", "B8", "Which notion implies which", relations, 3000, 300),
)

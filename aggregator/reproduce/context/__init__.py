"""Experiments on context-aware LDP: Acharya, Bonawitz, Kairouz, Ramage, Sun 2020.

The gain of a channel is computed exactly from its integers. The gain of an estimate depends on the distribution of the
answers and is simulated. The paper plots both as one curve; here they are separate.

A report reveals the block and protects the value inside the block, or it protects the sensitive values only. The
channels are those of halftruth: Hadamard response, as published, and for comparison the channel that `auto` chooses or,
for sensitive values, projective response and a unary encoding.
"""

from __future__ import annotations

from aggregator.reproduce.context.blocks import block_gains, distances_in_blocks
from aggregator.reproduce.context.estimators import estimators
from aggregator.reproduce.context.places import distances_on_grid, maps_of_estimates
from aggregator.reproduce.context.sensitive import high_low_gains
from aggregator.reproduce.experiment import Experiment

EXPERIMENTS = (
    Experiment("fig2", "C7", "Fig. 2: blocks and plain LDP, four distributions", distances_in_blocks, 10, 10),
    Experiment("blocks", "C7", "Theorem 4: the gain of blocks, with Hadamard and with auto", block_gains),
    Experiment("high-low", "C7", "Theorem 3: the gain of a sensitive set, with Hadamard and with projective response",
               high_low_gains),
    Experiment("estimators", "C7", "The effect of the estimator", estimators, 10, 6),
    Experiment("table1", "C7", "Table 1: check-ins on the grid", distances_on_grid, 100, 6, needs=("gowalla-grid",)),
    Experiment("fig3", "C7", "Fig. 3: the map of check-ins, and its estimate", maps_of_estimates,
               needs=("gowalla-grid",)),
)  # fmt: skip

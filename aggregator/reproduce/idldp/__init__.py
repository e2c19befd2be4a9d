"""Experiments on input-discriminative LDP: Gu, Li, Xiong, Cao 2020.

Budgets are assigned to items at random, and an error depends on the assignment. The expected error of an unbiased
estimate is computed exactly: over all assignments for unary encodings, and over some random ones for graded projective
response. Simulated surveys of the same campaigns are plotted as marks. Errors of empirical Bayes are simulated.

The errors are those of the paper: the sum of squared errors of the counts divided by n, and RE(k), the mean relative
error of the k most frequent items. Precision is simulated. If the paper does not state a figure's level, k or data set,
the result names the one that is used here.
"""

from __future__ import annotations

from functools import partial

from aggregator.reproduce.experiment import Experiment
from aggregator.reproduce.idldp.first_items import errors_by_eps, errors_by_k, errors_by_share
from aggregator.reproduce.idldp.lengths import CLOTHING, KOSARAK, RETAIL, by_length
from aggregator.reproduce.idldp.planned_padding import padding
from aggregator.reproduce.idldp.ranking import ranks_by_eps, ranks_by_k
from aggregator.reproduce.idldp.synthetic import synthetic_errors
from aggregator.reproduce.idldp.table import theorem_4, toy_survey

EXPERIMENTS = (
    Experiment("table1", "D3, D5", "Table I: exact and rounded", toy_survey),
    Experiment("theorem4", "D4", "Theorem 4: the budget of a set", theorem_4),
    Experiment("fig2", "D5", "Fig. 2: synthetic data", synthetic_errors, 10, 4),
    Experiment("fig3a", "D5", "Fig. 3: first items of Retail", partial(errors_by_eps, "Retail"), 10, 2, ("retail",)),
    Experiment("fig3b", "D5", "Fig. 3: first items of Kosarak", partial(errors_by_eps, "Kosarak"), 10, 2, ("kosarak",)),
    Experiment("fig4", "D5", "Fig. 4: the k most frequent items", errors_by_k, 10, 6, ("retail", "kosarak")),
    Experiment("fig5", "D5", "Fig. 5: how many items are sensitive", errors_by_share, 10, 2, ("retail",)),
    Experiment("fig6a", "D5", "Fig. 6: naming the most frequent items, by level", ranks_by_eps, 40, 10, ("clothing",)),
    Experiment("fig6b", "D5", "Fig. 6: naming the most frequent items, by k", ranks_by_k, 40, 10, ("clothing",)),
    Experiment("fig7", "D5", "Fig. 7: the padding of Clothing", partial(by_length, CLOTHING), 10, 2, ("clothing",)),
    Experiment("fig8a", "D5", "Fig. 8: the padding of Kosarak", partial(by_length, KOSARAK), 10, 2, ("kosarak",)),
    Experiment("fig8b", "D5", "The padding of Retail, which the paper calls similar to fig. 8",
               partial(by_length, RETAIL), 10, 2, ("retail",)),
    Experiment("padding", "D4, D5", "The planner's padding", padding, 10, 2, ("clothing", "retail", "kosarak")),
)  # fmt: skip

"""Experiments on local information privacy: Jiang, Li, Tandon 2018 (CNS) and 2020 (the long version).

The published channel is plotted as published; where it violates the paper's definition, the name of the curve says so.
It is compared with the best channel that satisfies the definition, and with plain LDP and an estimate that uses the
prior.

Figures and propositions are numbered as in the long version; "cns" marks figures of the first version. Equation 22 is
of the long version, equations 16, 19 and 25 are of the first. Unless a figure states a different error, errors are
square roots of the mean squared error of one person, as in the papers' plots.
"""

from __future__ import annotations

from aggregator.reproduce.experiment import Experiment
from aggregator.reproduce.lip.bits import bit_errors, example_1, figure_6_cns, figure_9a
from aggregator.reproduce.lip.declared_priors import figure_8
from aggregator.reproduce.lip.districts import figure_8b_cns, figure_9b
from aggregator.reproduce.lip.em_step import one_step
from aggregator.reproduce.lip.histogram import figure_7
from aggregator.reproduce.lip.report_error import report_error
from aggregator.reproduce.lip.rough_prior import rough_prior
from aggregator.reproduce.lip.sums import figure_6a, figure_6b
from aggregator.reproduce.lip.valid_priors import claimed_errors, validity

EXPERIMENTS = (
    Experiment("validity", "A9", "The priors for which the published channel is valid", validity, 4000, 1000),
    Experiment("numbers", "A9", "Claimed and true errors of one bit", claimed_errors),
    Experiment("report-error", "A6", "Eq. 22, Proposition 3: the error of a single report", report_error, 4000, 1000),
    Experiment("example1", "A9", "Example 1 (fig. 2): a survey of 100 people", example_1, 10_000, 400),
    Experiment("fig5", "A9", "Fig. 5: with and without a prior", bit_errors),
    Experiment("fig6-cns", "A9", "Fig. 6 of the first version: half the level of LIP against LDP", figure_6_cns),
    Experiment("fig6a", "A9", "Fig. 6a: five values, random priors", figure_6a),
    Experiment("fig6b", "A9", "Fig. 6b: larger domains", figure_6b),
    Experiment("fig7", "A9", "Fig. 7: the histogram of 20 values", figure_7, 200, 4),
    Experiment("fig8", "A9", "Fig. 8: declared priors, and a trusted curator", figure_8, 10_000, 400),
    Experiment("fig9a", "A9", "Fig. 9a: popular pages of Kosarak", figure_9a, needs=("kosarak",)),
    Experiment("fig9b", "A9", "Fig. 9b: last check-ins of Gowalla", figure_9b, 100, 4, needs=("gowalla-last",)),
    Experiment("fig8b-cns", "A9", "Fig. 8b of the first version: one district", figure_8b_cns, needs=("gowalla-last",)),
    Experiment("rough-prior", "A5", "Priors that are only roughly known", rough_prior),
    Experiment("one-step", "A9", "The estimate is one step from the prior", one_step, 5, 2),
)

"""Priors that are only roughly known: the error of the best channel whose level holds for all near priors (MATH 2.13).

The papers assume a correct prior, and leave other priors to future work (sec. III of the first version).
"""

from __future__ import annotations

import math

from aggregator.estimate.error import lip_mse, prior_mse
from aggregator.families.lifts import level_for_ball
from aggregator.families.response.recipe import randomized_response
from aggregator.families.table.prior_table import optimal_table
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting
from aggregator.reproduce.lip.published import true_level
from aggregator.reproduce.simulated_people import level_of_nats
from protocol import exact, levels
from protocol.channels import Channel
from protocol.notions.information import RADIUS_UNITS
from protocol.personal import lip_response

RADII = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
EPSILONS = (1.0, 2.0)
PRIORS = {"P1 = 0.3": (7, 3), "6 values, Zipf(1)": tuple(round(10**6 / rank) for rank in range(1, 7))}
SHOWN = 0.05
"""The radius for which numbers are given: 5 of 100 people have a different answer."""


def _units(radius: float) -> int:
    return round(radius * RADIUS_UNITS)


def _level_in_ball(channel: Channel, prior: tuple[int, ...], radius: float) -> float:
    """Return the level in nats that a channel satisfies for all priors within the radius."""
    structure = levels.Structure(channel)
    nanonats = levels.lip_in_ball(structure, prior, exact.rational(str(radius))).nanonats
    return math.inf if nanonats is None else exact.nats(nanonats)


def rough_prior(setting: Setting) -> ExperimentResult:
    """Compare channels designed for one prior and for all priors within a radius."""
    plots, findings, shares = [], [], []
    for name, prior in setting.track(list(PRIORS.items())):
        alone = prior_mse(prior)
        for eps in EPSILONS:
            nano = level_of_nats(eps)
            centre = optimal_table(prior, nano)
            ours = [lip_mse(optimal_table(prior, nano, _units(radius)), prior) for radius in RADII]
            shrunk = [lip_mse(optimal_table(prior, level_for_ball(nano, _units(radius))), prior) for radius in RADII]
            plain = lip_mse(randomized_response(len(prior), nano), prior)
            plots.append(
                Plot(
                    f"{name}, {exact.in_nats(nano)}", "radius, total variation", "a person's expected squared error",
                    (
                        Curve("designed for all priors within the radius", RADII, ours, "optimum"),
                        Curve("for the prior alone, at a lower level", RADII, shrunk, "ours"),
                        Curve("randomised response (LDP)", RADII, (plain,) * len(RADII), "ldp"),
                        Curve("no report", RADII, (alone,) * len(RADII), "alone"),
                    ),
                )
            )  # fmt: skip
            place = RADII.index(SHOWN)
            shares.append((alone - ours[place]) / (alone - ours[0]))
            findings.append(
                Finding(
                    f"(the prior is assumed to be right; {name}, {exact.in_nats(nano)}: the valid optimum then has an "
                    f"error of {ours[0]:.5f})",
                    f"errors for a radius of {SHOWN:g}: {ours[place]:.5f} with the channel for all priors within the "
                    f"radius, {shrunk[place]:.5f} with the channel for the campaign's prior alone at "
                    f"{exact.nats(level_for_ball(nano, _units(SHOWN))):.3f} nats. Error of randomised response: "
                    f"{plain:.5f}; of the LIP channel if nothing is known about the prior: {ours[-1]:.5f}",
                    f"the channel for the campaign's prior alone at {exact.in_nats(nano)} has a level of "
                    f"{_level_in_ball(centre, prior, SHOWN):.3f} nats for the worst prior within the radius",
                )
            )
    response = lip_response(PRIORS["P1 = 0.3"], level_of_nats(1))
    findings.append(
        Finding(
            "the analyst may know the priors less accurately, which is left to future work",
            "halftruth's campaigns declare this radius; the level is then certified from integers for all priors "
            "within it. The published form for P1 = 0.3 at 1 nat satisfies "
            f"{true_level(response, PRIORS['P1 = 0.3']):.3f} nats at its prior and "
            f"{_level_in_ball(response, PRIORS['P1 = 0.3'], SHOWN):.3f} within {SHOWN:g}",
            "the papers promise nothing about observers with another prior",
        )
    )
    verdict = (
        f"With a radius of {SHOWN:g} (total variation) the promise holds for every prior within the radius, and "
        f"accuracy is lost: a report's gain over the prior is {min(shares):.0%} to {max(shares):.0%} of the gain with "
        "an exactly known prior."
    )
    return ExperimentResult(tuple(plots), tuple(findings), verdict)

"""Example campaigns for six numbers, with different promises."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from aggregator.reproduce import simulated_people
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.campaign import Campaign
from protocol.channels import Table
from protocol.domain import Buckets
from protocol.levels import Pufferfish, Scenario
from protocol.notions import Block, Geo, HighLow, Ldp, Lip, MinId, MutualInformation, Notion
from protocol.views import plain_views

DOMAIN = Buckets.of([0, 1, 2, 3, 4, 5])
"""Six numbers, so that values have distances."""

PRIOR = (40, 25, 15, 10, 6, 4)

RARELY = Fraction(1, 100)
"""Probability with which the last example reports the true value."""


def pufferfish_of_halves() -> Pufferfish:
    """Return Pufferfish privacy for two secrets (the answer is below 3, or not) in two scenarios: the prior, and a
    uniform distribution."""
    distributions = {"prior": PRIOR, "even": (1,) * len(PRIOR)}
    scenarios = tuple(
        Scenario(name, ((*weights[:3], 0, 0, 0), (0, 0, 0, *weights[3:]))) for name, weights in distributions.items()
    )  # fmt: skip
    return Pufferfish(("low", "high"), ((0, 1),), scenarios)


def rarely() -> Table:
    """Return a channel that reports the answer in 1 of 100 cases, and otherwise a constant."""
    size = len(PRIOR)
    return Table.rounded([[RARELY * (x == y) for y in range(size)] + [1 - RARELY] for x in range(size)])


def examples() -> dict[str, Campaign]:
    """Return campaigns with different promises, by name, at 1 nat if the promise has a level."""
    nat, size = level_of_nats(1), len(PRIOR)
    settings: dict[str, tuple[Notion, str]] = {
        "randomised response": (Ldp(nat), "randomized-response"),
        "Hadamard": (Ldp(nat), "hadamard"),
        "OUE": (Ldp(nat), "oue"),
        "ID-LDP": (MinId.over([nat, nat, *[2 * nat] * (size - 2)]), "idue"),
        "geometric noise": (Geo.between(nat, 1, [0], list(range(size))), "geometric"),
        "high-low": (HighLow(nat, size, (0, 1)), "randomized-response"),
        "blocks": (Block.over(nat, [0, 0, 0, 1, 1, 1]), "randomized-response"),
        "LIP": (Lip(nat, PRIOR), "lip-table"),
        "random sampling": (Lip(nat, PRIOR), "random-sampling"),
        "OUE-LIP": (Lip(nat, PRIOR), "oue-lip"),
        "mutual information": (MutualInformation(nat, PRIOR), "mutual-information"),
    }
    campaigns = {
        name: simulated_people.campaign(DOMAIN, notion, mechanism) for name, (notion, mechanism) in settings.items()
    }
    mutual_information = campaigns["mutual information"]
    campaigns["truth once in 100"] = replace(mutual_information, mechanism="table", views=plain_views(rarely()))
    return campaigns

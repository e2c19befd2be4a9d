"""The errors of point-wise and of average-case notions, by declared level and by mutual information."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from aggregator.author.audit import MAX_STEPS
from aggregator.estimate.error import lip_mse, prior_mse
from aggregator.reproduce import simulated_people
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting
from aggregator.reproduce.simulated_people import level_of_nats
from aggregator.reproduce.sok.audits import LEVELS
from aggregator.reproduce.sok.examples import DOMAIN, PRIOR
from protocol import levels
from protocol.channels import Channel, Table
from protocol.notions import Ldp, Lip, MutualInformation, Notion

CAPS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4)


@dataclass(frozen=True)
class _MeasuredCampaign:
    """A campaign: its level in nats, a person's squared error, and its mutual information in nats."""

    nats: float
    error: float
    leak: float
    channel: Channel


def utility(setting: Setting) -> ExperimentResult:
    """Compare the errors of point-wise and average-case notions."""
    notion_of: dict[str, tuple[Callable[[float], Notion], str, str]] = {
        "LDP, best": (lambda eps: Ldp(level_of_nats(eps)), "auto", "ldp"),
        "LIP, best": (lambda eps: Lip(level_of_nats(eps), PRIOR), "lip-table", "optimum"),
        "mutual information": (lambda eps: MutualInformation(level_of_nats(eps), PRIOR), "mutual-information", "ours"),
    }
    measurements: dict[str, list[_MeasuredCampaign]] = {}
    for name, (notion, mechanism, _) in setting.track(notion_of.items()):
        measurements[name] = []
        for eps in CAPS if name == "mutual information" else LEVELS:
            campaign = simulated_people.campaign(DOMAIN, notion(eps), mechanism)
            structure = levels.structure_of(campaign.channel, MAX_STEPS)
            leak = levels.mutual_information(structure, PRIOR).nats or 0.0
            error = lip_mse(joint(campaign.channel), PRIOR)
            measurements[name].append(_MeasuredCampaign(eps, error, leak, campaign.channel))
    alone = prior_mse(PRIOR)
    roles = {name: role for name, (_, _, role) in notion_of.items()}

    def lines(x_of: Callable[[_MeasuredCampaign], float]) -> tuple[Curve, ...]:
        curves = [
            Curve(name, list(map(x_of, points)), [point.error for point in points], roles[name])
            for name, points in measurements.items()
        ]
        widest = max(max(curve.x) for curve in curves)
        return (*curves, Curve("prior alone", (0.0, widest), (alone, alone), "alone"))

    plots = (
        Plot("against the level of its own notion", "declared level, nats", "squared error of one person",
              lines(lambda point: point.nats)),
        Plot("against the mutual information", "mutual information, nats", "squared error of one person",
              lines(lambda point: point.leak)),
    )  # fmt: skip
    half = next(row for row in measurements["mutual information"] if row.nats == 0.4)
    verdict = (
        "Average-case protection reduces the error little and bounds no single output. At "
        f"{half.leak:.2f} nats of mutual information, a person's error is {half.error:.3f} with the channel made for "
        f"this notion, and {_between(measurements['LIP, best'], half.leak):.3f} with LIP. The LDP level of the first "
        f"channel is {_or_none(levels.ldp(levels.structure_of(half.channel, MAX_STEPS)).nats)} nats."
    )
    return ExperimentResult(plots, _findings(measurements, half, alone), verdict)


def _findings(
    measurements: dict[str, list[_MeasuredCampaign]], half: _MeasuredCampaign, alone: float
) -> tuple[Finding, ...]:
    """Return the findings at the campaign ``half`` of mutual information."""
    structure = levels.structure_of(half.channel, MAX_STEPS)
    ldp, lip = levels.ldp(structure).nats, levels.lip(structure, PRIOR).nats
    same = _between(measurements["LIP, best"], half.leak)
    plain = _between(measurements["LDP, best"], half.leak)
    rarest = min(PRIOR) / sum(PRIOR)
    return (
        Finding(
            "average-case protection retains a better balance of utility and privacy",
            f"at the same mutual information of {half.leak:.2f} nats a person's error is {half.error:.3f} with the "
            f"channel made for it, {same:.3f} with LIP and {plain:.3f} with LDP; the prior alone {alone:.3f}",
            f"the average-case channel gains at the expense of the worst case: its LDP level is {_or_none(ldp)}, its "
            f"LIP level {_or_none(lip)}",
        ),
        Finding(
            "average-case notions suit trends over many people, point-wise notions suit an individual",
            "all of these levels are of one person's report; the average is over that person's outputs, not over "
            "people",
            "many reports do not turn average-case protection into point-wise protection: if people are independent, "
            "statistics of all reports reveal at most as much about a person as that person's report, under each "
            "notion",
        ),
        Finding(
            "point-wise protection demands higher overheads in processing and storage",
            "an output takes at most "
            + ", ".join(
                f"{max(row.channel.output_bits for row in rows)} bits ({name})" for name, rows in measurements.items()
            ),
            "outputs are a few bits under each notion. Only the convex program of the average-case channel is "
            "expensive, and the author solves it once",
        ),
        Finding(
            "mutual information allows no closed-form mechanism (Def. 5)",
            f"with a cap of {half.nats:g} nats, the optimum never outputs {_never(half.channel)} of the {len(PRIOR)} "
            "values",
            "the optimum is found by convex optimisation, and ignores rare values (the rarest has "
            f"{rarest:.0%}) to leak less: people with these values answer like others, so a histogram lacks these "
            "values",
        ),
    )


def _or_none(nats: float | None) -> str:
    return "infinite" if nats is None else f"{nats:.2f}"


def joint(channel: Channel) -> Channel:
    """Return a channel with one output for each bit vector; other channels unchanged."""
    if not channel.unary:
        return channel
    rows = [
        [Fraction(channel.weight(x, y), 2**channel.scale) for y in range(channel.output_count)]
        for x in range(channel.input_count)
    ]
    return Table.rounded(rows)


def _never(channel: Channel) -> int:
    return sum(not any(channel.weight(x, y) for x in range(channel.input_count)) for y in range(channel.output_count))


def _between(points: Sequence[_MeasuredCampaign], leak: float) -> float:
    """Return the error at the mutual information ``leak``, interpolated between points."""
    return float(np.interp(leak, [point.leak for point in points], [point.error for point in points]))

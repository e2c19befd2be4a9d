"""Four estimates from one tally, which show the effect of the estimation method.

An unbiased estimate of many values is mostly noise, so the method matters as much as the channel.
"""

from __future__ import annotations

from aggregator.reproduce import simulated_people
from aggregator.reproduce.context.reader import (
    BLOCKS,
    EPS,
    METHODS,
    TV,
    VALUES,
    CampaignReader,
    block_notion,
    distributions,
)
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.notions import HighLow, Ldp

PEOPLE = 100_000


def estimators(setting: Setting) -> ExperimentResult:
    """Compare the total variation of four estimates, for four channels and distributions."""
    domain = simulated_people.values(VALUES)
    channels = {
        "LDP, Hadamard": CampaignReader(simulated_people.campaign(domain, Ldp(level_of_nats(EPS)), "hadamard")),
        "LDP, projective": CampaignReader(simulated_people.campaign(domain, Ldp(level_of_nats(EPS)), "projective")),
        f"{BLOCKS[-1]} blocks, Hadamard": CampaignReader(
            simulated_people.campaign(domain, block_notion(VALUES, BLOCKS[-1], EPS), "hadamard")
        ),
        "100 sensitive, Hadamard": CampaignReader(
            simulated_people.campaign(domain, HighLow(level_of_nats(EPS), VALUES, tuple(range(100))), "hadamard")
        ),
    }
    everything = distributions(setting.generator)
    sizes = (1000, 10_000, PEOPLE, 1_000_000)
    zipf = list(everything)[1]
    work = [(shape, people, name) for shape in everything for people in (sizes if shape == zipf else (PEOPLE,))
            for name in channels]  # fmt: skip
    distances: dict[tuple[str, int, str, str], float] = {}
    for shape, people, name in setting.track(work):
        reader, truth = channels[name], everything[shape]
        tallies = [reader.drawn(truth, people, setting.generator) for _ in range(setting.repeats)]
        for method in METHODS:
            distances[shape, people, name, method] = reader.distance(tallies, truth, method)
    roles = {"clip": "free", "projection": "published", "empirical-bayes": "ours", "map": "alone"}
    plots = tuple(
        Plot(
            f"{name}, {zipf}", "people", TV,
            tuple(
                Curve(title, sizes, [distances[zipf, people, name, method] for people in sizes], roles[method])
                for method, title in METHODS.items()
            ),
            log_x=True,
        )
        for name in channels
    )  # fmt: skip

    def row(shape: str, name: str) -> str:
        return ", ".join(
            f"{words.removesuffix(', uniform prior')} {distances[shape, PEOPLE, name, method]:.3f}"
            for method, words in METHODS.items()
        )

    won = [
        distances[shape, people, name, "empirical-bayes"] < distances[shape, people, name, "projection"]
        for shape, people, name in work
    ]
    mode = [
        distances[shape, people, name, "map"] < distances[shape, people, name, "empirical-bayes"]
        for shape, people, name in work
    ]
    findings = (
        *(
            Finding(
                f"(estimates are not compared; {shape}, {PEOPLE:,} people, 1 nat)",
                "; ".join(f"{name}: {row(shape, name)}" for name in channels),
                "",
            )
            for shape in everything
        ),
        Finding(
            "(any estimate whose error has the optimal order suffices)",
            f"empirical Bayes is nearer to the truth than the projection in {sum(won)} of {len(won)} cases; the "
            f"posterior mode is nearer than empirical Bayes in {sum(mode)} of {len(mode)}",
            "empirical Bayes learns from the estimates how the shares are spread; a uniform prior moves the estimate "
            "towards a uniform distribution, which helps if the true shares are equal. Without a prior "
            "halftruth offers no posterior mode",
        ),
    )
    ratios = [distances[zipf, PEOPLE, name, "empirical-bayes"] / distances[zipf, PEOPLE, name, "projection"]
              for name in channels]  # fmt: skip
    verdict = (
        f"Use empirical Bayes, the default for many values. For {PEOPLE:,} people, 1 nat and a Zipf distribution, its "
        f"distance from the truth is {min(ratios):.0%} to {max(ratios):.0%} of that of the projection, depending on "
        "the channel."
    )
    remark = "The numbers are total variation distances from the truth. The prior of the posterior mode is uniform."
    return ExperimentResult(plots, findings, verdict, remark=remark)

"""High-low LDP: some values are sensitive, and people with other values sometimes report a sensitive value.

The best probability of such a report depends on the share of people who have a sensitive value.
"""

from __future__ import annotations

import numpy as np

from aggregator.estimate.error import expected_mse
from aggregator.families.decoder import Floats
from aggregator.reproduce import crowd
from aggregator.reproduce.context.reader import FEW, LEVELS, VALUES, CampaignReader, people_needed
from aggregator.reproduce.crowd import level
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Panel, Setting
from protocol.notions import HighLow, Ldp

HIGH_LOW = ((100, 0.1), (100, 0.5), (10, 0.5), (500, 0.5))
"""The number of sensitive values among ``VALUES``, and the share of the people who have one."""


def high_low_shares(size: int, sensitive: int, part: float) -> Floats:
    """Return a distribution, (k,), that is uniform within the sensitive values (with the sum ``part``) and within the
    others."""
    return np.where(np.arange(size) < sensitive, part / sensitive, (1 - part) / (size - sensitive))


def high_low_gains(setting: Setting) -> ExperimentResult:
    domain = crowd.values(VALUES)
    error: dict[tuple[int, float, str, float], float] = {}
    bits: dict[str, int] = {}
    constants = []
    for eps in setting.track(LEVELS):
        plain = crowd.campaign(domain, Ldp(level(eps)), "projective")
        for sensitive in sorted({s for s, _ in HIGH_LOW}):
            notion = HighLow(level(eps), VALUES, tuple(range(sensitive)))
            made = {name: crowd.campaign(domain, notion, name) for name in ("hadamard", "projective", "utility-oue")}
            for part in sorted({p for s, p in HIGH_LOW if s == sensitive}):
                distribution = high_low_shares(VALUES, sensitive, part)
                error[sensitive, part, "ldp", eps] = expected_mse(plain.channel, distribution)
                for name, terms in made.items():
                    error[sensitive, part, name, eps] = expected_mse(terms.channel, distribution)
                    bits[name] = max(bits.get(name, 0), terms.channel.output_bits)
                with_part = crowd.campaign(domain, notion, "projective", part)
                error[sensitive, part, "order", eps] = expected_mse(with_part.channel, distribution)
                if eps <= 1:
                    needed = people_needed(CampaignReader(made["hadamard"]), distribution, 0.1)
                    constants.append(needed * 0.1**2 / (sensitive**2 / eps**2 + VALUES / eps))
    lines = (
        ("LDP, projective", "ldp", "ldp"),
        ("high-low, Hadamard", "hadamard", "published"),
        ("high-low, projective", "projective", "optimum"),
        ("high-low, unary (a bit a value)", "utility-oue", "other"),
        ("high-low, projective, share stated", "order", "bound"),
    )
    panels = tuple(
        Panel(
            f"{sensitive} of {VALUES:,} sensitive, {part:.0%} of the people", "epsilon, nats",
            "squared error of one report, summed",
            tuple(
                Curve(name, LEVELS, tuple(error[sensitive, part, key, eps] for eps in LEVELS), role)
                for name, key, role in lines
            ),
            log_y=True,
        )
        for sensitive, part in HIGH_LOW
    )  # fmt: skip
    first, at = HIGH_LOW[0], {eps: error[*HIGH_LOW[0], "projective", eps] for eps in FEW}
    verdict = (
        f"If only {first[0]} of {VALUES:,} values are sensitive and {first[1]:.0%} of the people have one of "
        f"them, use notion `high-low`: at 1 nat plain LDP has {error[*first, 'ldp', 1.0] / at[1.0]:.0f} times "
        "the squared error; projective response instead of Hadamard matters at large levels (the error at 4 nats "
        f"is smaller by a factor of {error[*first, 'hadamard', 4.0] / at[4.0]:.1f})."
    )
    return ExperimentResult(panels, _findings(error, bits, constants), verdict)


def _findings(
    error: dict[tuple[int, float, str, float], float], bits: dict[str, int], constants: list[float]
) -> tuple[Finding, ...]:
    """Return the findings about high-low LDP.

    Args:
        error: the squared errors by number of sensitive values, share of the people, channel and level.
        bits: the largest size of a report by channel.
        constants: the number of people needed as a multiple of the order of Theorem 3.
    """
    worth = max(error[s, p, "projective", eps] / error[s, p, "order", eps] for s, p in HIGH_LOW for eps in LEVELS)
    return (
        Finding(
            "Theorem 3: the number of people is of the order of s^2 / (alpha^2 eps^2) + k / (alpha^2 eps)",
            f"{min(constants):.2f} to {max(constants):.2f} times that, by the exact variances of the Hadamard channel, "
            f"for up to 1 nat and the cases below",
            "no difference for distributions that are uniform within both sets: the order is right",
        ),
        *(
            Finding(
                f"the Hadamard channel (13)-(14) is optimal ({sensitive} sensitive, {part:.0%} of the people)",
                "its error is "
                + ", ".join(
                    f"{error[sensitive, part, 'hadamard', eps] / error[sensitive, part, 'projective', eps]:.2f}"
                    for eps in FEW
                )
                + f" times that with projective response at {', '.join(f'{eps:g}' for eps in FEW)} nats; plain LDP has "
                + ", ".join(
                    f"{error[sensitive, part, 'ldp', eps] / error[sensitive, part, 'projective', eps]:.1f}"
                    for eps in FEW
                )
                + " times",
                "optimal in order for eps = O(1); the projective channel reveals more about the sensitive values and "
                "slightly less about the others",
            )
            for sensitive, part in HIGH_LOW
        ),
        Finding(
            "(the distribution is not considered in the choice of a channel)",
            "if the share of people with a sensitive value is stated, Hadamard has "
            + "; ".join(
                ", ".join(f"{error[s, p, 'hadamard', eps] / error[s, p, 'order', eps]:.2f}" for eps in FEW)
                for s, p in HIGH_LOW
            )
            + f" times the error, in the order of the panels and at {', '.join(f'{eps:g}' for eps in FEW)} nats",
            "a large order reveals more about the sensitive values and hides the others more often. Without a stated "
            "share, halftruth takes the order with the smallest worst-case loss over an equal share, a tenth and a "
            f"half: at most {worth:.2f} times the error, at the levels drawn",
        ),
        Finding(
            "log k + 1 bits, where the unary mechanism of Murakami and Kawamoto needs k",
            f"{bits['hadamard']} bits (Hadamard), at most {bits['projective']} (projective), {bits['utility-oue']:,} "
            "(unary, with the bits of OUE); the unary error is "
            + ", ".join(f"{error[s, p, 'utility-oue', 1.0] / error[s, p, 'projective', 1.0]:.2f}" for s, p in HIGH_LOW)
            + " times the projective one at 1 nat, in the order of the panels",
            "no difference",
        ),
    )

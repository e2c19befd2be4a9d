"""High-low LDP: some values are sensitive, and people with other values sometimes report a sensitive value.

The best probability of such a report depends on the share of people who have a sensitive value.
"""

from __future__ import annotations

import numpy as np

from aggregator.estimate.error import expected_mse
from aggregator.families.decoder import Floats
from aggregator.reproduce import simulated_people
from aggregator.reproduce.context.reader import FEW, LEVELS, VALUES, CampaignReader, people_needed
from aggregator.reproduce.experiment import Curve, ExperimentResult, Finding, Plot, Setting, by_level, reason
from aggregator.reproduce.simulated_people import level_of_nats
from protocol.notions import HighLow, Ldp

HIGH_LOW = ((100, 0.1), (100, 0.5), (10, 0.5), (500, 0.5))
"""The number of sensitive values among ``VALUES``, and the share of the people who have one."""


def high_low_shares(size: int, sensitive: int, share: float) -> Floats:
    """Return a distribution, (k,), that is uniform within the sensitive values (with the sum ``share``) and within the
    others."""
    return np.where(np.arange(size) < sensitive, share / sensitive, (1 - share) / (size - sensitive))


def high_low_gains(setting: Setting) -> ExperimentResult:
    """Compute the exact errors of high-low LDP by level, and of plain LDP for comparison."""
    domain = simulated_people.values(VALUES)
    error: dict[tuple[int, float, str, float], float] = {}
    bits: dict[str, int] = {}
    constants = []
    for eps in setting.track(LEVELS):
        plain = simulated_people.campaign(domain, Ldp(level_of_nats(eps)), "projective")
        for sensitive in sorted({s for s, _ in HIGH_LOW}):
            notion = HighLow(level_of_nats(eps), VALUES, tuple(range(sensitive)))
            campaigns = {
                name: simulated_people.campaign(domain, notion, name)
                for name in ("hadamard", "projective", "utility-oue")
            }
            for share in sorted({p for s, p in HIGH_LOW if s == sensitive}):
                distribution = high_low_shares(VALUES, sensitive, share)
                error[sensitive, share, "ldp", eps] = expected_mse(plain.channel, distribution)
                for name, campaign in campaigns.items():
                    error[sensitive, share, name, eps] = expected_mse(campaign.channel, distribution)
                    bits[name] = max(bits.get(name, 0), campaign.channel.output_bits)
                of_share = simulated_people.campaign(domain, notion, "projective", share)
                error[sensitive, share, "order", eps] = expected_mse(of_share.channel, distribution)
                if eps <= 1:
                    people = people_needed(CampaignReader(campaigns["hadamard"]), distribution, 0.1)
                    constants.append(people * 0.1**2 / (sensitive**2 / eps**2 + VALUES / eps))
    lines = (
        ("LDP, projective", "ldp", "ldp"),
        ("high-low, Hadamard", "hadamard", "published"),
        ("high-low, projective", "projective", "optimum"),
        ("high-low, unary (a bit a value)", "utility-oue", "other"),
        ("high-low, projective, share stated", "order", "bound"),
    )
    plots = tuple(
        Plot(
            f"{sensitive} of {VALUES:,} sensitive, {share:.0%} of the people", "epsilon, nats",
            "squared error of one report, summed",
            tuple(
                Curve(name, LEVELS, [error[sensitive, share, key, eps] for eps in LEVELS], role)
                for name, key, role in lines
            ),
            log_y=True,
        )
        for sensitive, share in HIGH_LOW
    )  # fmt: skip
    first, projective = HIGH_LOW[0], {eps: error[*HIGH_LOW[0], "projective", eps] for eps in FEW}
    verdict = (
        f"If only some values are sensitive, use notion `high-low`. With {first[0]} of {VALUES:,} values sensitive and "
        f"{first[1]:.0%} of the people having one of them, plain LDP at 1 nat has "
        f"{error[*first, 'ldp', 1.0] / projective[1.0]:.0f} times the squared error of `high-low` with projective "
        f"response. At 4 nats, Hadamard has {error[*first, 'hadamard', 4.0] / projective[4.0]:.1f} times the error of "
        "projective response."
    )
    remark = (
        "The Hadamard channel is optimal in order for eps = O(1). The projective channel reveals more about the "
        "sensitive values and less about the others."
    )
    return ExperimentResult(plots, _findings(error, bits, constants), verdict, remark=remark)


def _findings(
    error: dict[tuple[int, float, str, float], float], bits: dict[str, int], constants: list[float]
) -> tuple[Finding, ...]:
    """Return the findings about high-low LDP.

    Args:
        error: the squared errors by number of sensitive values, share of the people, channel and level.
        bits: the largest size of a report by channel.
        constants: the number of people needed as a multiple of the order of Theorem 3.
    """
    titles = {case: f"{case[0]} sensitive, {case[1]:.0%} of the people" for case in HIGH_LOW}

    def ratios(case: tuple[int, float], mechanism: str, other: str, digits: int) -> str:
        return by_level((f"{error[*case, mechanism, eps] / error[*case, other, eps]:.{digits}f}" for eps in FEW), FEW)

    worth = max(error[s, p, "projective", eps] / error[s, p, "order", eps] for s, p in HIGH_LOW for eps in LEVELS)
    return (
        Finding(
            "Theorem 3: the number of people is of the order of s^2 / (alpha^2 eps^2) + k / (alpha^2 eps)",
            "by the exact variances of the Hadamard channel, the number is "
            f"{min(constants):.2f} to {max(constants):.2f} times this sum, for levels up to 1 nat and the cases below",
            reason(
                max(constants) < 2 * min(constants),
                " for distributions that are uniform within both sets: the order is right",
            ),
        ),
        *(
            Finding(
                f"the Hadamard channel (13)-(14) is optimal ({title})",
                "error divided by that of projective response: Hadamard "
                + ratios(case, "hadamard", "projective", 2)
                + "; plain LDP "
                + ratios(case, "ldp", "projective", 1),
                "",
            )
            for case, title in titles.items()
        ),
        Finding(
            "(the distribution is not considered in the choice of a channel)",
            "error of Hadamard divided by that of projective response, if the share of the people with a sensitive "
            "value is stated: "
            + "; ".join(f"{ratios(case, 'hadamard', 'order', 2)} ({title})" for case, title in titles.items()),
            "projective response with a field of larger order reveals more about the sensitive values and hides the "
            "others more often. Without a stated share, halftruth takes the order whose loss is smallest in the worst "
            "of three cases: all values have equal shares, or the sensitive values together have 10% or 50%. Its error "
            f"at the levels plotted is then at most {worth:.2f} times that with the stated share",
        ),
        Finding(
            "log k + 1 bits, where the unary mechanism of Murakami and Kawamoto needs k",
            f"a report has {bits['hadamard']} bits (Hadamard), at most {bits['projective']} bits (projective) or "
            f"{bits['utility-oue']:,} bits (unary, with the bits of OUE). Error of unary at 1 nat divided by that of "
            "projective response: "
            + "; ".join(
                f"{error[*case, 'utility-oue', 1.0] / error[*case, 'projective', 1.0]:.2f} ({title})"
                for case, title in titles.items()
            ),
            reason(bits["hadamard"] <= (VALUES - 1).bit_length() + 1),
        ),
    )

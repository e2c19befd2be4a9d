"""The section of an estimate's page on the method.

``page`` assembles the page.
"""

from __future__ import annotations

from aggregator.campaign_facts import counted_noun
from aggregator.estimate.result import Estimate
from aggregator.estimate.weighting import Weighting
from aggregator.present.markup import Html, tag
from aggregator.present.page_parts import page_table
from aggregator.present.shown_shares import percent, prior_comparison
from aggregator.quantity import quantity
from protocol.campaign import Campaign
from protocol.domain import Items
from protocol.notions import DeclaredPrior

SHARES = {
    "projection": "possible shares near the unbiased estimates (the nearest if all values have the same noise); none "
    "is below zero",
    "empirical-bayes": "the unbiased estimates, each moved towards the typical size of a share; noisy estimates are "
    "moved further (empirical Bayes)",
    "em": "the distribution that makes the reports most likely",
    "smooth": "the distribution that makes the reports most likely, smoothed; the strength of the smoothing was chosen "
    "such that either half of the reports predicts the other half well (cross-validation)",
    "mmse": "the probability of each value that follows from a report and the prior (the posterior probability), "
    "averaged over all reports; if the prior is wrong, so are the shares",
    "map": "the most probable distribution, given the reports and the prior",
    "linear": "the unbiased estimates as they are: some may be below zero, and their sum need not be 100%",
}
"""The meaning of the shares, by method."""

PROJECTION_INSIDE = (
    "inside each district, the distribution nearest to the unbiased estimates; if the reports show that people are "
    "spread more evenly, it is mixed with equal shares"
)
"""The meaning of projected shares in a campaign with views."""


def introduction(campaign: Campaign) -> Html:
    """Return the first paragraph of the section, on the pages of forms too."""
    noun = counted_noun(campaign)
    sent = "a random report instead of its answer" if noun == "report" else "random outputs instead of its answers"
    likely = f"; the answer only makes some {noun}s more likely"
    if campaign.certificate.ldp_level is None:  # some outputs rule out some answers
        likely = ""
    return tag(
        "p",
        f"Each device sent {sent}{likely}. “What people were promised” states how much a single {noun} may reveal. All "
        f"{noun}s together give the shares, with the errors shown here.",
    )


def method_section(estimate: Estimate, with_values: bool) -> list[Html]:
    """Return the section that explains the columns and the method.

    Args:
        with_values: whether the page has the table of single values.
    """
    shares = PROJECTION_INSIDE if estimate.resolutions and estimate.method == "projection" else SHARES[estimate.method]
    entries = {"Share": f"{shares} (method {estimate.method}).", **_columns(estimate, with_values)}
    added = prior_comparison(estimate)
    if added:
        declared = isinstance(estimate.campaign.notion, DeclaredPrior)
        meaning = "mean of the declared priors" if declared else "distribution that was expected before any report"
        entries["Prior"] = f"the {meaning}. {added[:1].upper()}{added[1:]}."
    if estimate.devices not in (None, estimate.reports):
        noun = counted_noun(estimate.campaign)
        entries["Devices"] = (
            f"the {estimate.counted} come from {quantity(estimate.devices, 'device')}. The {noun}s of one "
            "device are similar to each other. So the standard error is computed from the differences between devices, "
            f"and many {noun}s from few devices say little."
        )
    if isinstance(estimate.campaign.domain, Items):
        entries["Sets"] = (
            "a share is the part of the people who have an item, so shares need not sum to 100%. Each device "
            f"fills its set up to {quantity(estimate.campaign.domain.padding, 'item')} with dummies, and reports one "
            "item of it, chosen at random. If a set has more items, each of them counts for less, so shares are too "
            "low if there are many such sets."
        )
    if estimate.pool == "precision":
        entries["Classes"] = (
            "the estimate of each class of people is weighted by its precision. That is valid if all classes have the "
            "same shares; a test found no difference."
        )
    if estimate.weighting is not None:
        entries["Weights"] = (
            "a population group whose share of the reports is below its share of the population gets a higher weight; "
            "other groups get a lower one. This corrects for differences between these groups in who answered."
        )
    if estimate.note is not None:
        entries["Numbers"] = f"{estimate.note}."
    return [
        introduction(estimate.campaign),
        tag("ul", *(tag("li", tag("strong", f"{name}:"), f" {text}") for name, text in entries.items())),
        *([] if estimate.weighting is None else weights_tables(estimate.weighting)),
        tag("p", "The intervals include the random noise and the random choice of people. They cannot show whether "
        f"people who did not answer{'' if estimate.weighting is None else ', within each group,'} would have answered "
        "differently."),
    ]  # fmt: skip


def _columns(estimate: Estimate, with_values: bool) -> dict[str, str]:
    """Return the meaning of the columns beside the share, by name."""
    confidence = f"{100 * estimate.confidence:.4g}%"
    if not with_values:
        return {
            "Interval": f"the confidence interval: in about {confidence} of such surveys, or more, it contains the "
            "true share, value or mean."
        }
    return {
        "Unbiased": "the unbiased estimate: correct on average, with no assumption about the people. Use it for sums "
        "and comparisons. It may be below zero or above 100%.",
        "Standard error": _standard_error(estimate),
        "Interval": f"the confidence interval: in about {confidence} of such surveys, or more, it contains the true "
        "share of that value. It is computed from the unbiased estimate, and extended to the share if the share lies "
        "outside.",
        "Simultaneous interval": f"in about {confidence} of such surveys, or more, all these intervals contain their "
        "true shares. Use them to look for the largest or an unusual value.",
    }


def weights_tables(weighting: Weighting) -> list[Html]:
    """Return tables of the known shares to which the reports were weighted."""
    return [
        page_table(
            f"Known shares of the population by {margin.by}{f' ({margin.source})' if margin.source else ''}",
            ("group", "of the population", "of the reports"),
            [
                (name, percent(known, 2), percent(reported, 2))
                for name, known, reported in zip(margin.names, margin.shares, shares, strict=True)
            ],
        )
        for margin, shares in zip(weighting.margins, weighting.group_shares, strict=True)
    ]


def _standard_error(estimate: Estimate) -> str:
    words = "the typical distance between the unbiased estimate and the true share, estimated from these reports."
    rough = 0 if estimate.rough is None else int(estimate.rough.sum())
    if not rough:
        return words
    return (
        f"{words} At {rough:,} of {estimate.size:,} values the estimate depends on few reports, so the standard error "
        "is unreliable: use the interval there."
    )

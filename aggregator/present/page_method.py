"""How the numbers on the page of an estimate were made.

The rest of the page: page.
"""

from __future__ import annotations

from aggregator.estimate.result import Estimate
from aggregator.present.markup import Html, tag
from aggregator.present.page_parts import sheet
from aggregator.present.table import percent, what_was_added
from protocol.domain import Items

SHARES = {
    "projection": "the distribution nearest to the unbiased estimates",
    "empirical-bayes": "the unbiased estimates, each drawn towards what all of them together suggest, as far as its "
    "noise warrants",
    "em": "the distribution that makes the reports most likely",
    "smooth": "the distribution that makes the reports most likely, smoothed as strongly as held-out reports confirm",
    "mmse": "the mean of what each report makes one believe, starting from the campaign's prior; where the prior is "
    "wrong, so are they",
    "map": "the most probable distribution, given the reports and the campaign's prior",
    "linear": "the unbiased estimates as they are: some may be below zero, and their sum need not be 100%",
}
"""By method, what the shares are."""


def method_section(found: Estimate) -> list[Html]:
    sure = f"{100 * found.level:.4g}%"
    told = {
        "Share": f"{SHARES[found.method]} (method {found.method}).",
        "Unbiased": "what the reports say when the noise of the devices is taken out, and nothing else is assumed; for "
        "sums and comparisons. It may be below zero or above 100%.",
        "Standard error": _standard_error(found),
        "Interval": f"in {sure} of such surveys, or more, it holds the true share of that value. It is made from the "
        "unbiased estimate, and reaches as far as the share where that lies outside.",
        "For all together": f"in {sure} of such surveys all of these intervals hold at once. Whoever looks for the "
        "largest or the strangest value goes by these.",
    }
    added = what_was_added(found)
    if added:
        told["Prior"] = f"what was expected before any report. {added[:1].upper()}{added[1:]}."
    if found.devices not in (None, found.reports):
        told["Devices"] = (
            f"the {found.reports:,} reports come from {found.devices:,} devices. What one device says hangs together, "
            "so the doubt is that between devices: many reports of few devices say little."
        )
    if isinstance(found.terms.domain, Items):
        told["Sets"] = (
            "a share is the part of the people who hold an item, so shares need not sum to 100%. A device tells of one "
            f"among {found.terms.domain.padding} items; a larger set counts for less, and shares lean low where there "
            "are many of those."
        )
    if found.pool == "precision":
        told["Classes"] = (
            "each class is weighted by how sure it is. That is right where all classes have the same shares, and a "
            "test found no difference."
        )
    if found.weighting is not None:
        told["Weights"] = (
            "a report of a group that answered less than its part of the population counts for more, and the other way "
            "round. That removes the error of who answered, as far as these groups explain it."
        )
    if found.note is not None:
        told["Numbers"] = f"{found.note}."
    return [
        tag("p", "Each device added noise to its answer before anything left it. One report says next to nothing; what "
            "all of them say together is known up to the doubt shown here."),
        tag("ul", *(tag("li", tag("strong", f"{name}:"), f" {text}") for name, text in told.items())),
        *_weights(found),
        tag("p", "The doubt is that of the noise and of who happened to answer. Whether those who answered are like "
            f"those who did not{'' if found.weighting is None else ' within each group'}, no number here says."),
    ]  # fmt: skip


def _weights(found: Estimate) -> list[Html]:
    """The margins that the reports were weighted to."""
    if found.weighting is None:
        return []
    return [
        sheet(
            f"Known shares of the population by {margin.by}{f' ({margin.source})' if margin.source else ''}",
            ("group", "of the population", "of the reports"),
            [
                (name, percent(known, 2), percent(got, 2))
                for name, known, got in zip(margin.names, margin.shares, reported, strict=True)
            ],
        )
        for margin, reported in zip(found.weighting.margins, found.weighting.reported, strict=True)
    ]


def _standard_error(found: Estimate) -> str:
    said = "the root of the mean squared error of the unbiased estimate, as far as these reports tell it."
    rough = 0 if found.rough is None else int(found.rough.sum())
    if not rough:
        return said
    return (
        f"{said} At {rough:,} of {found.size:,} values few reports weigh much, and this number is known badly itself: "
        "twice the standard error is no 95% interval there. Go by the interval."
    )

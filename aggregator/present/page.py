"""The page: an estimate as one HTML file that an analyst can hand on.

Whoever gets the page has nothing else. It holds the question, the numbers with their doubt, what people were
promised, what was refused, and a digest of what went in; it loads nothing, runs nothing and knows no clock, so the same
study gives the same bytes.

The pictures on it: plot, trend_plot. Why nobody's text is read as markup: markup. Every value, in full: document.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from aggregator.author.audit import Audit
from aggregator.estimate.change import DistrictDifference
from aggregator.estimate.ordered import Ordered, has_summary, summary
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.resolutions import Resolution
from aggregator.estimate.result import Estimate, unbiased
from aggregator.estimate.tally import Tally
from aggregator.estimate.trend import Trend
from aggregator.families.decoder import Floats
from aggregator.present.items import numbering
from aggregator.present.listing import ADVICE, LEVELS
from aggregator.present.markup import Html, label, tag
from aggregator.present.ordered import TrueOrdered, range_text, value_text
from aggregator.present.table import (
    MAY_BE_ZERO,
    answer_texts,
    decimals,
    distance,
    district_name,
    district_words,
    held,
    listed,
    may_be_zero,
    percent,
    selection,
    subtitle,
    what_was_added,
)
from aggregator.present.trends import basis, between, dates, ends, foremost, places_of, points
from aggregator.present.trends import interval_name as interval_of_change
from protocol import exact
from protocol.campaign import Campaign
from protocol.domain import MICRODEGREES, Dates, Domain, Grid, Items, Line
from protocol.notions import Certificate, Classes, Information, OwnPrior, Promise, TranscriptPrior
from protocol.notions.information import RADIUS_UNITS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 200
"""The most values in the table."""

LAST_DATE = 253_402_300_799
"""The last second of the year 9999, where calendars end."""

REFUSED = {
    "malformed": "not a report, or too damaged to be read as one",
    "unknown-campaign": "for a campaign that the study does not hold",
    "unknown-key": "signed with a key that nobody enrolled",
    "revoked-key": "signed with a key that was revoked before they arrived",
    "bad-signature": "altered on the way, or signed by somebody else",
    "early": "for a period that has not begun, by any honest clock",
    "late": "for a period after the campaign's last",
    "over-quota": "beyond the answers that a device has in a period",
    "bad-output": "with an output that no honest device can make",
    "replayed": "counted before",
}
"""What the reports of a reject class were."""

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

STYLE = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")

_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode("ascii")
POLICY = f"default-src 'none'; img-src data:; style-src 'sha256-{_STYLE_HASH}'"
"""What a browser may load for the page: nothing but its own style and the pictures in it."""


def page(
    found: Estimate,
    audit: Audit,
    tally: Tally,
    *,
    period: int | None = None,
    truth: Floats | None = None,
    trend: Trend | None = None,
) -> str:
    """The page of an estimate.

    Args:
        audit: of the estimate's campaign.
        tally: what the estimate was made from.
        period: the one it is of; None: everybody's latest answer.
        truth: (k,) the true shares to set beside it, in rehearsals.
        trend: the course over the periods, which the page then has too.
    """
    if audit.terms != found.terms or tally.reports != found.reports:
        raise ValueError("estimate, audit and tally are of one campaign and the same reports")
    terms = found.terms
    read = summary(tally, found) if has_summary(terms) else None
    sections = [
        ("results", "Results", _results(found, truth, read)),
        ("values", "Numbers", _numbers(read, truth) if read and read.bins else _values(found, truth)),
        *([] if trend is None else [("course", "Over the periods", _trend(trend))]),
        ("method", "How the numbers were made", _method(found)),
        ("promise", "What people were promised", _promise(audit)),
        ("refused", "Reports that were not counted", _refused(found)),
        ("forged", "What forged reports could do", _forged(found)),
        ("campaign", "The campaign", _campaign(found, period)),
        ("source", "Where this page comes from", _source(found, tally, period)),
    ]
    header = tag(
        "header",
        tag("p", terms.organisation, class_="soft", dir="auto"),
        tag("h1", terms.title, dir="auto"),
        tag("blockquote", tag("p", terms.question, class_="text", dir="auto")),
        *([tag("p", terms.purpose, class_="text", dir="auto")] if terms.purpose.strip() else []),
        tag("p", subtitle(found, found.size)),
        *([tag("p", f"Of the class {found.where} only.", dir="auto")] if found.where is not None else []),
        *([] if found.weighting is None else [tag("p", f"The shares are {found.weighting.words}.", dir="auto")]),
    )
    body = [
        header,
        *_warnings(found, truth, read),
        tag("nav", *(tag("a", title, href=f"#{name}") for name, title, _ in sections), aria_label="On this page"),
        tag(
            "main",
            *(
                tag("section", tag("h2", title, id=f"{name}-title"), *parts, id=name, aria_labelledby=f"{name}-title")
                for name, title, parts in sections
            ),
        ),
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{terms.title} · {terms.organisation}"),
        tag("style", Html(STYLE)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, Html(chr(10)), tag('body', *body), lang='en')}\n"


def digest(tally: Tally, campaign_id: bytes, period: int | None, where: str | None = None) -> str:
    """SHA-256, in hex, of what an estimate is made from.

    It is taken of a JSON text in ASCII, keys sorted and no blanks: {"campaign": id in hex, "counts": [...], "period":
    p or null, "rejected": {class: count above zero}, "reports": n}. Beside them "priors": [[...], ...] where people
    declared priors of their own; "class": name where it is of one class; and where devices have several reports each,
    "groups": [[group, output or bit, count], ...], by which their error is found.
    """
    inputs = {
        "campaign": campaign_id.hex(),
        "counts": tally.counts.tolist(),
        "period": period,
        "rejected": {name: count for name, count in tally.rejected.items() if count},
        "reports": tally.reports,
    }
    if isinstance(tally, PersonalTally):
        inputs["priors"] = tally.priors.tolist()
    if where is not None:
        inputs["class"] = where
    if tally.groups is not None and tally.groups.dependent:
        rows = np.stack([tally.groups.group, tally.groups.feature, tally.groups.count], axis=1)
        inputs["groups"] = rows.tolist()
    return hashlib.sha256(json.dumps(inputs, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


# The sections, in the page's order.


def _warnings(found: Estimate, truth: Floats | None, read: Ordered | None) -> list[Html]:
    boxes = []
    texts = found.warnings if read is None else read.warnings
    if texts:
        heading = tag("h2", "Read this first", id="warnings-title")
        warnings = tag("ul", *(tag("li", f"{text[:1].upper()}{text[1:]}.") for text in texts))
        boxes.append(tag("section", heading, warnings, class_="warning", aria_labelledby="warnings-title"))
    if truth is not None:
        words = "A rehearsal: the truth is known and set beside the estimate."
        if read is None:
            words += f" {_missed(found, truth)}"
        boxes.append(tag("p", words, class_="warning"))
    return boxes


def _missed(found: Estimate, truth: Floats) -> str:
    known = ~np.isnan(found.low)
    inside = int(((found.low <= truth) & (truth <= found.high))[known].sum())
    within = f"{inside:,} of {int(known.sum()):,} intervals hold it"
    return f"{within}; {distance(found, truth)}."


def _results(found: Estimate, truth: Floats | None, read: Ordered | None) -> list[Html]:
    if read is not None and read.bins:
        from aggregator.present.ordered_plot import histogram_figure  # matplotlib takes a second to load

        median = next(one for one in read.quantiles if one.p == 0.5)
        words = f"Shares of ranges, and deciles. The median is {value_text(median.value)}."
        return [tag("figure", _picture(histogram_figure(read, truth), words))]
    if read is not None:
        return _numbers(read, truth)
    from aggregator.present.marks import marks
    from aggregator.present.plot import figure  # matplotlib takes a second to load

    grid = found.terms.domain
    top = int(np.argmax(found.share))
    share = percent(found.share[top], min(decimals(found, listed(found, ROWS)), 2))
    kind = "Map" if isinstance(grid, Grid) else "Bar chart"
    drawn = figure(found, truth)
    picture = _picture(drawn, f"{kind} of the shares. The largest is {found.label(top)} with {share}.")
    if not isinstance(grid, Grid):
        return [tag("figure", picture)]
    marked, words = marks(found, grid, drawn)
    return [tag("figure", tag("div", picture, *marked, class_="map"), tag("figcaption", words, class_="soft"))]


def _numbers(read: Ordered, truth: Floats | None) -> list[Html]:
    """The mean, the deciles and the shares of ranges of a summary as tables."""
    sure = f"{100 * read.found.level:.4g}% interval"
    true = None if truth is None else TrueOrdered(read, truth)
    names = ("truth", sure) if true else (sure,)
    parts = []
    if read.mean is not None:
        estimate, _, low, high = answer_texts(read.mean)
        held = [true.mean(read.mean)] if true else []
        parts.append(
            _sheet("The mean of all numbers.", ("", "value", *names), [("mean", estimate, *held, f"{low} to {high}")])
        )
    if read.quantiles:
        deciles = [
            (f"{one.p:.0%}", value_text(one.value), *([value_text(true.quantile(one.p))] if true else []),
             f"{value_text(one.low)} to {value_text(one.high)}")
            for one in read.quantiles
        ]  # fmt: skip
        words = "Deciles: this part of the people is at or below the value."
        parts.append(_sheet(words, ("people", "value", *names), deciles))
    if read.bins:
        shares = [
            (range_text(one), percent(one.estimate, 1), *([percent(true.share_of(one), 1)] if true else []),
             _between(one.low, one.high, 1))
            for one in read.bins
        ]  # fmt: skip
        parts.append(_sheet("Shares of ranges, both ends in them.", ("range", "share", *names), shares))
    return parts


def _picture(drawn: Figure, alt: str) -> Html:
    from aggregator.present.picture import png

    data = base64.b64encode(png(drawn)).decode("ascii")
    return tag("img", src=f"data:image/png;base64,{data}", alt=f"{alt} Numbers are in the table below.")


def _values(found: Estimate, truth: Floats | None) -> list[Html]:
    shown = listed(found, ROWS, ROWS)
    places = decimals(found, shown)
    sure = f"{100 * found.level:.4g}%"
    names = ["value", "share", "unbiased", "standard error", f"{sure} interval", f"{sure} for all together"]
    columns = [found.share, found.raw, found.se]
    if truth is not None:
        names.insert(2, "truth")
        columns.insert(1, truth)
    if found.prior is not None:
        names.insert(2, "prior")
        columns.insert(1, found.prior)
    rows = [
        tag(
            "tr",
            tag("th", label(found.label(x)), *_doubtful(found, x, len(shown)), scope="row", dir="auto"),
            *(tag("td", percent(column[x], places)) for column in columns),
            tag("td", _between(found.low[x], found.high[x], places)),
            tag("td", _between(found.all_low[x], found.all_high[x], places)),
        )
        for x in shown
    ]
    words = f"All {found.size:,} values." if len(shown) == found.size else _picked(found, len(shown))
    table = tag(
        "table",
        tag("caption", tag("span", words)),
        tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names))),
        tag("tbody", *rows),
        class_="numbers",
    )
    parts = [_districts(found, each, truth) for each in found.resolutions[:-1]]
    parts.append(tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="Numbers, a row a value"))
    if np.isnan(np.stack([found.raw, found.se])[:, shown]).any():
        parts.append(tag("p", "A dash: not known, as the warning above says.", class_="soft"))
    return parts


def _districts(found: Estimate, each: Resolution, truth: Floats | None) -> Html:
    """The districts of one resolution that are surely above zero."""
    shown = held(each)
    places = decimals(each, shown)
    names = ["district", "share", "unbiased", "standard error", f"{100 * found.level:.4g}% for all together"]
    columns = [each.share, each.raw, each.se]
    if truth is not None:
        names.insert(2, "truth")
        columns.insert(1, np.bincount(each.districts, truth, each.size).astype(np.float64))
    rows = [
        [each.label(z), *(percent(float(column[z]), places) for column in columns),
         _between(each.all_low[z], each.all_high[z], places)]
        for z in shown
    ]  # fmt: skip
    more = f", the {len(shown)} largest" if len(shown) < int(each.above_zero.sum()) else ""
    return _sheet(f"{district_words(found, each)}{more}. {each.reports:,} reports of its own.", names, rows)


def _picked(found: Estimate, shown: int) -> str:
    words = selection(found, shown)
    return f"{words[0].upper()}{words[1:]}. Go by the intervals for all together. The study's CSV has every value."


def _doubtful(found: Estimate, x: int, shown: int) -> list[Html]:
    """The mark of a selected value that cannot be told from one that nobody has."""
    return [tag("span", f" {MAY_BE_ZERO}", class_="soft")] if may_be_zero(found, x, shown) else []


def _trend(trend: Trend) -> list[Html]:
    from aggregator.present.trend_plot import trend_figure

    terms, change = trend.latest.terms, trend.change
    rows = [
        (
            point.span.name,
            " to ".join(dates(terms, point.span)),
            f"{point.reports:,}",
            "too few" if point.estimate is None else "counted",
        )
        for point in trend.points
    ]
    parts = [
        tag("figure", _picture(trend_figure(trend), "The course of each value, with the interval of each period.")),
        tag("p", "Devices that answered at both ends were compared with themselves"
            + ("" if terms.transcript else "; and a device repeats what it once said for as long as its answer stays, "
               "so most of the noise of one end is that of the other")
            + ". So a change is known better than the two shares it is between: go by the interval of the change."),
        _sheet("The periods", ("periods", "from, to (UTC)", "reports", ""), rows),
    ]  # fmt: skip
    if change is not None:
        sure = len(change.sure)
        told = f"{sure:,} of {len(change.raw):,} values have changed" if sure else "No value has changed for sure"
        shown = foremost(change, ROWS)
        places, (low, high) = places_of(change, range(len(change.raw))), ends(change, len(shown))
        parts[1:1] = [
            *(_changed_districts(trend, each) for each in change.coarser),
            tag("p", f"{told}, by intervals that hold for all values together."),
            _sheet(
                f"Changes in percentage points; {basis(change)}",
                ("value", *change.names, "change", interval_of_change(change, len(shown)), ""),
                [
                    (
                        change.after.label(x),
                        *(percent(unbiased(side)[x], 1) for side in (change.before, change.after)),
                        points(change.raw[x], places),
                        between(low[x], high[x], places),
                        "sure" if x in change.sure else "",
                    )
                    for x in shown
                ],
            ),
        ]
    return parts


def _changed_districts(trend: Trend, each: DistrictDifference) -> Html:
    """The districts of one resolution that have surely changed."""
    latest, shown = trend.latest, each.sure[:ROWS]
    places = places_of(each, shown)
    name = district_name(latest.terms.domain, each.resolution)
    words = f"{len(each.labels):,} {name}: {len(each.sure):,} have changed for sure"
    if len(shown) < len(each.sure):
        words += f", the {len(shown)} largest changes"
    names = trend.change.names if trend.change is not None else ()
    rows = [
        [each.labels[z], *(percent(float(side[z]), places) for side in (each.before, each.after)),
         points(float(each.raw[z]), places), between(float(each.all_low[z]), float(each.all_high[z]), places)]
        for z in shown
    ]  # fmt: skip
    sure = f"{100 * latest.level:.4g}% for all together"
    return _sheet(f"{words}. Changes in percentage points.", ("district", *names, "change", sure), rows)


def _method(found: Estimate) -> list[Html]:
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
        _sheet(
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


def _promise(audit: Audit) -> list[Html]:
    terms = audit.terms
    notion = terms.notion
    parts = []
    if isinstance(notion, Classes):
        parts.append(tag("p", "People are of classes, which are public. Within each class:"))
        kept = enumerate(zip(terms.classes, terms.certificates, strict=True))
        parts.append(
            tag(
                "ul",
                *(
                    tag(
                        "li",
                        tag("strong", name, dir="auto"),
                        f": {Promise.of(notion, certificate, place).told()} {_audited(certificate)}",
                    )
                    for place, (name, certificate) in kept
                ),
            )
        )
    else:
        parts.append(tag("p", "Each person was told before they agreed:"))
        parts.append(tag("blockquote", tag("p", Promise.of(notion, terms.certificate).told())))
    if isinstance(notion, OwnPrior):
        parts.append(
            tag("p", "Each device makes and certifies the channel of its own prior, or takes the campaign's where that "
                "tells more. The levels below are of the campaign's channel.")
        )  # fmt: skip
    elif isinstance(notion, TranscriptPrior):
        parts.append(tag("p", "The levels below are of a device's first report; it certifies each later one anew."))
    elif terms.certificate.ldp is not None:
        parts.append(tag("p", _odds(terms)))
    parts.append(_pairs(_levels(audit)))
    return parts


def _audited(certificate: Certificate) -> str:
    ldp = "none" if certificate.ldp is None else exact.in_nats(certificate.ldp)
    return f"Audited: {exact.in_nats(certificate.audited)}; plain LDP: {ldp}."


def _odds(terms: Campaign) -> str:
    """What the plain LDP level means for somebody who wonders which of two answers a person has."""
    level = terms.certificate.ldp or 0
    words = f"Somebody who holds two answers for equally likely is at most {_sure(level)} sure after a report"
    if terms.most_draws > 1 and not terms.certificate.adds:
        most = _sure(terms.worst_case)
        words += f", and at most {most} after all that one device can ever draw"
        words += ", which may leave no doubt" if most == "100%" else ""
    return f"{words}. Without a report it is 50%."


def _levels(audit: Audit) -> list[tuple[str, str]]:
    terms = audit.terms
    certificate, draws = terms.certificate, terms.most_draws
    ldp = certificate.ldp
    rows = [
        ("declared", f"{exact.in_nats(certificate.declared)} ({terms.notion.name})"),
        ("audited", f"{exact.in_nats(certificate.audited)}, from the channel's own integers"),
        ("plain LDP", "none" if ldp is None else f"{exact.in_nats(ldp)}: a factor of {_factor(ldp)}"),
    ]
    if isinstance(terms.notion, Information) and certificate.ball is not None:
        near = (
            f"LIP for every prior within {exact.written(Fraction(terms.notion.radius, RADIUS_UNITS))} of the campaign's"
        )
        rows.append((near, f"{exact.in_nats(certificate.ball)}: a factor of {_factor(certificate.ball)}"))
    if audit.survey is not None and audit.asked is not None:
        metric = audit.asked.metric
        words = {
            "prior": f"{audit.prior} prior",
            "ball": float(audit.asked.radius or 0),
            "metric": metric.name if metric else "",
        }
        rows += [
            (title.format(**words), "none" if nats is None else exact.in_nats(round(nats * exact.NANONATS)))
            for title, nats in (
                (title, audit.survey.levels[name].nats) for name, title in LEVELS.items() if name in audit.survey.levels
            )
        ]
    worst = f"{exact.in_nats(terms.worst_case)} over the whole campaign: at most {draws:,} reports are drawn anew"
    if not certificate.adds:
        worst += ", one for each answer a person may come to have"
    rows.append(("worst case", f"{worst}. A device sets this aside when the person consents."))
    if audit.mse is not None and audit.mse_bound is not None:
        rows.append(
            ("error of one person", f"{audit.mse:.5f} under the prior; no mechanism is below {audit.mse_bound:.5f}")
        )
    return rows


def _refused(found: Estimate) -> list[Html]:
    counted = {name: count for name, count in found.rejected.items() if count}
    if not counted:
        return [tag("p", "None: every report for this campaign that the study received was counted.")]
    rows = [
        (
            name,
            f"{count:,}",
            REFUSED.get(name, name) + (f" (what to do: {ADVICE[name]})" if name in ADVICE else ""),
        )
        for name, count in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
    return [
        tag("p", f"{sum(counted.values()):,} were refused, each under the first check that it failed."),
        _sheet("Refused reports by class", ("class", "reports", "they were"), rows),
    ]


def _forged(found: Estimate) -> list[Html]:
    weight = found.influence.people_per_report
    if math.isnan(weight):
        return [tag("p", "Not known: without an unbiased estimate, no report has a weight of its own.")]
    rows = [
        (f"{forged['reports']:,}", f"{forged['people']:,.1f}", percent(forged["share"], 3))
        for forged in found.influence.as_json()["forged"]
    ]
    return [
        tag("p", "Noise hides people, and forgers too. A report made to mislead, by somebody with a valid key, counts "
            f"for up to {weight:,.1f} people in the unbiased estimate of a value."),
        _sheet("At the worst", ("forged reports", "count for people", "move a share by"), rows),
        tag("p", "Counts that no honest devices could make raise a warning at the top of this page. No report is "
            "dropped for it."),
    ]  # fmt: skip


def _campaign(found: Estimate, period: int | None) -> list[Html]:
    terms = found.terms
    each = f"{terms.answers_per_period:,} a device" if terms.answers_per_period > 1 else "one a device"
    if terms.periods == 1:
        schedule, counted = f"one, with {each}", "everybody's answer"
    else:
        schedule = f"{terms.periods:,} of {_span(terms.period_seconds)} each, with {each}"
        counted = "everybody's latest answer"
    if period is not None:
        start = terms.opens + period * terms.period_seconds
        end = min(start + terms.period_seconds, terms.closes)
        counted = f"period {period}, from {_time(start)} to {_time(end)}"
    of_class = "" if found.where is None else f", of the class {found.where}"
    who = "devices whose keys were enrolled" if terms.enrolment == "enrolled" else "any device that introduces itself"
    return [
        _pairs([
            ("asked by", terms.organisation),
            ("opens", _time(terms.opens)),
            ("closes", _time(terms.closes)),
            ("periods", schedule),
            ("counted", f"{found.reports:,} reports: {counted}{of_class}"),
            ("may answer", who),
            ("at least", f"{terms.minimum_reports:,} devices, or nothing is estimated"),
            ("answers", _answers(terms.domain)),
            ("mechanism", f"{terms.mechanism}, {terms.output_bits:,} bits a report"),
        ])
    ]  # fmt: skip


def _answers(domain: Domain) -> str:
    if isinstance(domain, Grid):
        return (
            f"a place on a map of {domain.rows:,} by {domain.columns:,} cells, {domain.step / MICRODEGREES:.9g}° a side"
        )
    if isinstance(domain, Line):
        what = "day" if isinstance(domain, Dates) else "number"
        return f"a {what} from {domain.span}, rounded to one of {domain.size:,}"
    if isinstance(domain, Items):
        items = ", ".join(filter(None, (f"{domain.count:,} items", numbering(domain))))
        return f"a set of {items}, of which one among {domain.padding:,} is told"
    return f"one of {domain.size:,} values"


def _source(found: Estimate, tally: Tally, period: int | None) -> list[Html]:
    rows: list[tuple[str, str]] = [
        ("campaign", tag("code", found.campaign_id.hex()) if found.campaign_id else "not signed"),
        ("table version", "none" if found.version is None else str(found.version)),
        ("method, level", f"{found.method}, {100 * found.level:.4g}%"),
        ("inputs, SHA-256", tag("code", digest(tally, found.campaign_id, period, found.where))),
    ]
    return [
        _pairs(rows),
        tag("p", "Made by halftruth from verified reports. The same study gives this page again, byte for byte. The "
            "digest is of the JSON text with the keys campaign (its id), counts (of each output or bit), period, "
            "rejected (above zero) and reports; class and groups of devices where it is by these, priors where people "
            "declared their own: sorted, without blanks.",
            class_="soft"),
    ]  # fmt: skip


# Small parts.


def _pairs(rows: Iterable[tuple[str, str]]) -> Html:
    return tag("dl", *(part for name, text in rows for part in (tag("dt", name), tag("dd", text, dir="auto"))))


def _sheet(caption: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    lines = [
        tag("tr", tag("th", label(first), scope="row", dir="auto"), *(tag("td", cell) for cell in rest))
        for first, *rest in rows
    ]
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    return tag("div", tag("table", tag("caption", tag("span", caption)), head, tag("tbody", *lines)), class_="scroll")


def _between(low: float, high: float, places: int) -> str:
    return "-" if math.isnan(low) else f"{percent(low, places)} to {percent(high, places)}"


def _factor(level: int) -> str:
    """e^level as people are told it, rounded up."""
    return exact.written(exact.factor_above(level))


def _sure(level: int) -> str:
    """The larger of two probabilities whose ratio is e^level, rounded up to a tenth of a percent."""
    return f"{exact.written(Fraction(math.ceil(1000 * exact.sure_above(level)), 10))}%"


def _time(seconds: int) -> str:
    if seconds > LAST_DATE:
        return f"{seconds:,} seconds after 1970"
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{moment:%Y-%m-%d}" + (f" {moment:%H:%M} UTC" if seconds % 86_400 else "")


def _span(seconds: int) -> str:
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds % length == 0:
            return f"{seconds // length:,} {unit}{'' if seconds == length else 's'}"
    return f"{seconds:,} seconds"

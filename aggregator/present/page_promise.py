"""The section of an estimate's page on the privacy promise.

``page`` assembles the page.
"""

from __future__ import annotations

import math
from fractions import Fraction

from aggregator.author.audit import Audit
from aggregator.author.trade_off import NoTradeOff, trade_offs
from aggregator.campaign_facts import counted_noun
from aggregator.present.listing import levels_of
from aggregator.present.markup import Html, tag
from aggregator.present.page_parts import definition_list, page_table
from aggregator.present.trade_off_chart import trade_off_chart
from aggregator.quantity import quantity
from protocol import exact
from protocol.campaign import Campaign
from protocol.channels.structure import TooLarge
from protocol.notions import Certificate, Classes, DeclaredPrior, Lip, Promise, TranscriptPrior
from protocol.notions.information import RADIUS_UNITS

COMPARED_FALSE_ALARM = 0.05
"""The false alarm rate at which tests are compared in numbers."""

OTHER_NOTIONS = {
    "mutual-information": "Mutual information is the amount that one {noun} reveals about the answer on average; it "
    "bounds no single {noun}.",
    "maximal-leakage": "With maximal leakage, a correct guess of anything about the answer is at most e^L "
    "times as likely after one {noun} as before, on average over all {noun}s.",
    "differential-identifiability": "With differential identifiability, an answer is at most e^L times as "
    "probable as any other after one {noun}.",
    "geo": "With geo-indistinguishability, the bound grows with the distance between two answers; the level is that "
    "for a distance of 1.",
    "pufferfish": "With Pufferfish, pairs of secrets about a person and scenarios are declared. Under each scenario, "
    "one {noun} is at most e^L times as likely with one secret of a pair as with the other.",
}
"""Explanations of notions other than plain LDP and LIP, with ``counted_noun`` in braces."""


def promise_section(audit: Audit) -> list[Html]:
    """Return the section with the promise, its levels, and the best tests of one output."""
    campaign = audit.campaign
    notion = campaign.notion
    parts, outputs, noun = [], campaign.answers_per_period, counted_noun(campaign)
    if isinstance(notion, Classes):
        parts.append(tag("p", "Each person belongs to a class, which is public. The promise to each class:"))
        certificates = enumerate(zip(campaign.classes, campaign.certificates, strict=True))
        parts.append(
            tag(
                "ul",
                *(
                    tag(
                        "li",
                        tag("strong", name, dir="auto"),
                        f": {Promise.of(notion, certificate, place, max_outputs=outputs).text()} ",
                        _audited(certificate),
                    )
                    for place, (name, certificate) in certificates
                ),
            )
        )
    else:
        parts.append(tag("p", "Devices show this promise before a person, or the owner of a sensor, agrees:"))
        parts.append(tag("blockquote", tag("p", Promise.of(notion, campaign.certificate, max_outputs=outputs).text())))
    if outputs > 1:
        parts.append(
            tag("p", "Each perturbed answer in a report is called an output. The numbers below are for one output, "
            "except the worst case of a device.")
        )  # fmt: skip
    if isinstance(notion, DeclaredPrior):
        parts.append(
            tag("p", f"Each device computes its channel, the probabilities of its {noun}s for each answer, from its "
            "declared prior, and certifies it. If the campaign's own channel gives better estimates, the device uses "
            "the campaign's channel instead. The levels below are those of the campaign's channel.")
        )  # fmt: skip
    elif isinstance(notion, TranscriptPrior):
        parts.append(
            tag(
                "p",
                "The levels below are those of a device's first report. The device certifies the channel of each "
                "later report, too.",
            )
        )
    elif campaign.certificate.ldp_level is not None:
        parts.append(tag("p", _odds(campaign)))
    parts.append(
        tag("p", "Levels, also called epsilon, are in nats. A level of L nats means the factor e^L: 1 nat means "
        f"{_factor(exact.NANONATS)}, 2 nats mean {_factor(2 * exact.NANONATS)}, both rounded up. With plain LDP (local "
        f"differential privacy), one {noun} is at most e^L times as likely with one answer as with another. With LIP "
        f"(local information privacy), one {noun} raises or lowers the probability of an answer by at most the factor "
        "e^L.")
    )  # fmt: skip
    levels = levels_of(audit)
    if explained := " ".join(words.format(noun=noun) for name, words in OTHER_NOTIONS.items() if name in levels):
        parts.append(tag("p", f"A prior is the distribution of answers that an observer expects. {explained}"))
    if campaign.certificate.ball_level is not None:
        parts.append(
            tag("p", "The distance between two priors is half the sum of the absolute differences of their shares.")
        )
    parts.append(definition_list(_level_rows(audit)))
    return [*parts, *_tests(campaign)]


def _tests(campaign: Campaign) -> list[Html]:
    """Return a chart of the best tests of one output; empty if each class has a channel of its own, or a channel is too
    large."""
    try:
        curves = trade_offs(campaign)
    except (NoTradeOff, TooLarge):
        return []
    noun, rows, bounded = counted_noun(campaign), [], any(None not in curve.bounds for curve in curves)
    for curve in curves:
        promised = curve.promised(COMPARED_FALSE_ALARM)
        rows.append((
            f"{curve.answer} or {curve.other}",
            _below(curve.missed(COMPARED_FALSE_ALARM)),
            "-" if promised is None else f"at least {_below(promised)}",
        ))  # fmt: skip
    return [
        tag(
            "p",
            f"Suppose somebody sees one {noun} and tests whether the answer was the first or the second of two. A "
            "false alarm is a decision for the first answer if it was the second; a missed detection is a decision "
            "for the second if it was the first. No test has errors below the line of its two answers."
            + (" The dashed line is the bound that the campaign promises for these two answers." if bounded else "")
            + " Tests of other answers may have fewer errors.",
        ),
        tag("figure", trade_off_chart(curves, noun)),
        page_table(
            f"The best test with {COMPARED_FALSE_ALARM:.0%} false alarms",
            ("answers", "missed detections", "promised"),
            rows,
        ),
    ]


def _below(part: float) -> str:
    """Return a rate in percent, rounded down, so that the error of a test is not overstated by more than float
    rounding."""
    return f"{math.floor(part * 1000 + 1e-9) / 10:.1f}%"


def _audited(certificate: Certificate) -> str:
    ldp = "no bound" if certificate.ldp_level is None else exact.in_nats(certificate.ldp_level)
    return f"Audited: {exact.in_nats(certificate.audited_level)}; plain LDP: {ldp}."


def _odds(campaign: Campaign) -> str:
    """Return a sentence that states the posterior probability that the plain LDP level allows."""
    level, noun = campaign.certificate.ldp_level or 0, counted_noun(campaign)
    words = (
        f"Suppose an observer considers two answers equally likely: 50% each. One {noun} raises the probability of "
        f"either to at most {_larger(level)}"
    )
    if campaign.max_draws > 1 and not campaign.certificate.lip_levels_add:
        bound = _larger(campaign.worst_case)
        words += f", and all {noun}s of one device raise it to at most {bound}"
        words += ", so they may reveal the answer" if bound == "100%" else ""
    return f"{words}."


def _level_rows(audit: Audit) -> list[tuple[str, str]]:
    campaign = audit.campaign
    certificate, draws = campaign.certificate, campaign.max_draws
    ldp = certificate.ldp_level
    rows = [
        ("declared", f"{exact.in_nats(certificate.declared_level)} ({campaign.notion.name})"),
        ("audited", f"{exact.in_nats(certificate.audited_level)}, from the channel's integers"),
        ("plain LDP", "no bound" if ldp is None else f"{exact.in_nats(ldp)}: a factor of {_factor(ldp)}"),
    ]
    if isinstance(campaign.notion, Lip) and certificate.ball_level is not None:
        radius = exact.decimal_text(Fraction(campaign.notion.radius, RADIUS_UNITS))
        near = f"LIP for every prior within {radius} of the campaign's"
        rows.append((near, f"{exact.in_nats(certificate.ball_level)}: a factor of {_factor(certificate.ball_level)}"))
    rows += levels_of(audit).values()
    worst = f"{exact.in_nats(campaign.worst_case)} over the whole campaign"
    worst += f": a device draws at most {quantity(draws, 'output')}"
    if draws > 1 and not certificate.lip_levels_add:
        worst += ", one for each different answer of a person"
    reserved = "When the person consents, the device reserves at most this."
    if isinstance(campaign.notion, DeclaredPrior):
        reserved = "Each device reserves the worst case of its own channel, which may be higher."
    rows.append(("worst case", f"{worst}. {reserved}"))
    if audit.mse is not None and audit.mse_bound is not None:
        rows.append(
            (
                "error of one person",
                f"{audit.mse:.5f} from one {counted_noun(campaign)}, under the prior; no mechanism is below "
                f"{audit.mse_bound:.5f}",
            )
        )
    return rows


def _factor(level: int) -> str:
    """Return e^level as text, rounded up."""
    return exact.decimal_text(exact.factor_above(level))


def _larger(level: int) -> str:
    """Return the larger of two probabilities whose ratio is e^level, rounded up to a tenth of a percent."""
    return f"{exact.decimal_text(Fraction(math.ceil(1000 * exact.posterior_above(level)), 10))}%"

"""Warnings for an author before signing.

A certified campaign can still have useless accuracy, be easy to manipulate, or lack information for the person. Each
warning names what the author can change and what it would do.

Forbidden campaigns are not treated here: they cannot be constructed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from aggregator.estimate.error import campaign_error, view_worths
from aggregator.estimate.ordered import is_wave
from aggregator.estimate.query import expected_variance
from aggregator.estimate.reported import Reported
from aggregator.families.decoder import NotInvertible
from aggregator.families.registry import decoder_of
from aggregator.inspection import view_name
from protocol import exact
from protocol.campaign import Campaign
from protocol.channels import Channel, Wave
from protocol.domain import Form, NumberRange
from protocol.notions.classes import class_channels
from protocol.views import is_plain

HEAVY = 20.0
"""Weight of one report, in people, above which the author is warned."""

APART = 0.05
"""Half the distance between two deciles of people who are spread evenly over a range, as a part of the range. A larger
standard error of the mean is a warning."""


def lint(terms: Campaign) -> tuple[str, ...]:
    """Return the warnings about a campaign; an empty list if it deserves no warning."""
    return tuple(_findings(terms))


def _findings(terms: Campaign) -> Iterator[str]:
    reported = Reported.of(terms.domain)
    size, even = reported.count, float(Fraction(reported.factor) / terms.domain.size)
    try:
        mse, weight = campaign_error(terms)
    except NotInvertible as reason:
        # What the decoder says of it ends with advice.
        yield f"shares will have no unbiased estimate and no error bars: {reason}"
    else:
        if weight > HEAVY:
            yield (
                f"one report weighs {weight:,.0f} people: whoever sends a few forged ones moves a share at will. A "
                "higher epsilon, fewer values, or a mechanism whose reports speak of many values at once weighs less"
            )
        if not is_plain(terms.views):
            yield from _unseen(terms)
        # The root mean square error of a value beside the even share, people spread evenly.
        elif (error := math.sqrt(mse / size / terms.minimum_reports)) > even:
            needed = mse / size / even**2
            yield (
                f"with {terms.minimum_reports:,} devices, the least you wait for, a share is off by {error:.2%} where "
                f"{size:,} even shares are {even:.2%} each: expect only values well above that to be seen. "
                f"Wait for {_rounded(needed):,} devices, or ask for fewer values"
            )
    if terms.certificate.ldp is None:
        yield (
            f"some answers rule out others for certain, so this has no LDP level: only what {terms.notion.name} "
            f"protects is protected, at a charge of {exact.in_nats(terms.certificate.cost)}. What people "
            "know of each other outside the notion may complete it"
        )
    if is_wave(terms):
        yield from _mean_off(terms)
    yield from _left_unsaid(terms)
    yield from _untranslated(terms)


def _unseen(terms: Campaign) -> Iterator[str]:
    """Warn of resolutions of a campaign with views at which the minimum number of devices is too small."""
    if isinstance(terms.domain, Form):
        return
    n, parts = terms.minimum_reports, []
    for view, worth in zip(terms.views, view_worths(terms), strict=True):
        size = view.map.inputs(terms.domain)
        if (error := math.sqrt(worth.mse / size / n)) > 1 / size:
            wanted = _rounded(worth.mse * size)
            parts.append(
                f"off by {error:.2%} where {size:,} even shares are {1 / size:.2%} each "
                f"({view_name(terms.domain, view)}; {wanted:,} devices would do)"
            )
    if parts:
        yield (
            f"with {n:,} devices, the least you wait for, a share is {', and '.join(parts)}: expect only values well "
            "above that to be seen. Wait for more, or give a coarser view more of the devices"
        )


def _mean_off(terms: Campaign) -> Iterator[str]:
    """Warn of classes with a wave channel for which the minimum number of devices is too small even for the mean."""
    channels = class_channels(terms.channel, len(terms.classes)) if terms.classes else (terms.channel,)
    asked: list[tuple[str, tuple[Channel, ...]]] = [
        ("", channels),
        *((f"class {name}: ", (one,)) for name, one in zip(terms.classes, channels, strict=False)),
    ]
    n = terms.minimum_reports
    for name, of in asked:
        if not any(isinstance(one, Wave) for one in of):
            continue
        # Of places on the line, which every channel has a mean of; classes of equal size.
        line = np.linspace(0, 1, terms.domain.size)
        variance = sum(expected_variance(decoder_of(one), line, None) for one in of) / len(of)
        if (off := math.sqrt(variance / n)) > APART:
            yield (
                f"{name}with {n:,} devices, the least you wait for, even the mean is off by {off:.0%} of the range, "
                f"and deciles by more: wait for {_rounded(variance / APART**2):,} devices, which leave {APART:.0%}"
            )


def _left_unsaid(terms: Campaign) -> Iterator[str]:
    if not terms.addresses:
        yield (
            "the campaign has no address, so each device must be told one when it joins, and nobody has signed it: "
            'give [study] address = "https://HOST"'
        )
    if not terms.contact:
        yield (
            "the campaign has no contact, so a person with a question or a complaint cannot reach you: "
            "give [study] contact"
        )


def _untranslated(terms: Campaign) -> Iterator[str]:
    """Warn of translations that leave labels, units, or names of districts or classes as they are."""
    for one in terms.translations:
        own, said = terms.domain, terms.domain_in(one.language)
        pairs = [("", own, said)]
        if isinstance(own, Form) and isinstance(said, Form):
            questions = zip(own.questions, said.questions, strict=True)
            pairs = [(f" of {here.name!r}", here.domain, there.domain) for here, there in questions]
        kept = [
            f"the {'unit' if isinstance(here, NumberRange) else 'labels'}{of}"
            for of, here, there in pairs
            if here.named and here.named == there.named
        ]
        districts = slice(len(own.named), None)
        if terms.own_texts.labels[districts] == terms.texts(one.language).labels[districts] != ():
            kept.append("the names of the districts")
        if terms.classes and terms.classes == terms.texts(one.language).classes:
            kept.append("the names of the classes")
        if kept:
            yield (
                f"[text.{one.language}] leaves {', '.join(kept)} in the campaign's own language: add what is missing, "
                "unless both languages have the same words"
            )


def _rounded(number: float) -> int:
    """Return the number rounded up to two digits, so that it does not look more exact than it is."""
    unit = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * int(unit)

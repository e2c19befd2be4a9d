"""Warnings for an author before signing.

A certified campaign can still be too inaccurate, be easy to manipulate, or lack information for the person. Each
warning names a change and its effect.

Forbidden campaigns need no check here, because they cannot be constructed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from aggregator.author.audit import prior_of
from aggregator.campaign_facts import counted_noun, view_name
from aggregator.estimate.error import campaign_error, view_errors
from aggregator.estimate.ordered_campaign import is_wave
from aggregator.estimate.query import expected_variance
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.families.decoder import NotInvertible
from aggregator.families.registry import decoder_of
from aggregator.planner.goals import rounded_up_people
from aggregator.quantity import quantity, upper_bound
from protocol import exact
from protocol.campaign import Campaign
from protocol.channels import Channel, Wave
from protocol.domain import Form, Items, NumberRange
from protocol.notions import Classes
from protocol.notions.classes import class_channels
from protocol.views import is_plain

HEAVY = 20.0
"""Weight of one output, in people, above which the author is warned."""

MIN_SHOWN = 1e-4
"""A smaller share is not printed in percent, because two decimals are too few for it."""

MAX_MEAN_SE = 0.05
"""Maximum standard error of the mean without a warning, as a part of the range: half the distance between two
neighbouring deciles of people who are spread evenly."""


def lint(campaign: Campaign) -> tuple[str, ...]:
    """Return the warnings about a campaign, one sentence for each; empty if there are none."""
    return tuple(_findings(campaign))


def _findings(campaign: Campaign) -> Iterator[str]:
    shown_inputs = ShownInputs.of(campaign.domain)
    size, even = shown_inputs.count, float(Fraction(shown_inputs.factor) / campaign.domain.size)
    try:
        mse, people_per_report = campaign_error(campaign)
    except NotInvertible as reason:
        # No advice is added here, because the reason ends with advice.
        yield f"single shares will have no unbiased estimate and no intervals: {reason}"
    else:
        if people_per_report > HEAVY:
            noun = counted_noun(campaign)
            yield (
                f"one {noun} counts for at most {upper_bound(people_per_report, 0)} people, so a few forged {noun}s "
                "can change a share a lot. A higher epsilon, fewer values or another mechanism lowers this number"
            )
        if not is_plain(campaign.views):
            yield from _unseen(campaign)
        # A value of average frequency is not found if the standard error of its share is larger than the share.
        elif (error := math.sqrt(mse / size / campaign.minimum_devices)) > even:
            devices = mse / size / even**2
            even_share = f"{even:.2%}" if even >= MIN_SHOWN else "smaller"
            values = "items" if isinstance(campaign.domain, Items) else "values"
            discoverable = f"no {values[:-1]} can" if error >= 1 else f"only much more frequent {values} will"
            yield (
                f"the minimum of {quantity(campaign.minimum_devices, 'device')} is too small for {size:,} {values}: "
                f"the standard error of a share is {error:.2%}. If all {values} were equally frequent, each share "
                f"would be {even_share}, so {discoverable} be found. Set minimum_reports, which counts devices, to "
                f"{rounded_up_people(devices):,}, or ask for fewer {values}"
            )
    if campaign.certificate.ldp_level is None:
        yield (
            "some reports rule out some answers for certain, so the campaign has no LDP level: it keeps the promise of "
            f"{campaign.notion.name} only, and each fresh output costs {exact.in_nats(campaign.certificate.cost)} "
            "(docs/GLOSSARY.md). A report may show the answer to somebody who can rule out the other answers"
        )
    if is_wave(campaign):
        yield from _imprecise_mean(campaign)
    yield from _impossible_prior(campaign)
    yield from _missing_facts(campaign)
    yield from _untranslated(campaign)


def _unseen(campaign: Campaign) -> Iterator[str]:
    """Yield a warning about the resolutions at which the minimum number of devices is too small, in a campaign with
    views."""
    if isinstance(campaign.domain, Form):
        return
    n, parts = campaign.minimum_devices, []
    for view, view_error in zip(campaign.views, view_errors(campaign), strict=True):
        size = view.map.input_count(campaign.domain)
        if (error := math.sqrt(view_error.mse / size / n)) > 1 / size:
            devices = rounded_up_people(view_error.mse * size)
            parts.append(
                f"{error:.2%} for {view_name(campaign.domain, view)}, where each of {size:,} equally frequent values "
                f"has {100 / size:.2g}% ({devices:,} devices would be enough)"
            )
    if parts:
        yield (
            f"the minimum of {quantity(n, 'device')} is too small: the standard error of a share is "
            f"{'; '.join(parts)}. Only much more frequent values will be found. Raise minimum_reports, which counts "
            "devices, or give a coarser view more of the devices"
        )


def _impossible_prior(campaign: Campaign) -> Iterator[str]:
    """Yield a warning about a prior that no sets of items have, because a device reports an item with probability 1 / l
    at most."""
    domain = campaign.domain
    if not isinstance(domain, Items):
        return
    notions = campaign.notion.notions if isinstance(campaign.notion, Classes) else (campaign.notion,)
    for notion in notions:
        if (prior := prior_of(notion)) is None:
            continue
        x = max(range(domain.item_count), key=prior.__getitem__)
        if prior[x] * domain.padding > sum(prior):
            yield (
                f"the prior gives {domain.label(x)!r} a share of {prior[x] / sum(prior):.1%}, but with padding "
                f"{domain.padding} a report is about one item with a probability of at most {1 / domain.padding:.1%}: "
                "nobody who knows the padding can expect this share, so the promise is empty. Divide each share of "
                "people who have an item by the padding, and give the rest to the dummies in equal parts"
            )


def _imprecise_mean(campaign: Campaign) -> Iterator[str]:
    """Yield a warning for all people and for each class, if they use a wave channel and the minimum number of devices
    is too small even for the mean."""
    channels = class_channels(campaign.channel, len(campaign.classes)) if campaign.classes else (campaign.channel,)
    groups: list[tuple[str, tuple[Channel, ...]]] = [
        ("", channels),
        *((f"class {name}: ", (channel,)) for name, channel in zip(campaign.classes, channels, strict=False)),
    ]
    n = campaign.minimum_devices
    for name, group in groups:
        if not any(isinstance(channel, Wave) for channel in group):
            continue
        # The values are replaced by positions from 0 to 1, so that the error is a part of the range. Classes are
        # assumed to have equal sizes.
        line = np.linspace(0, 1, campaign.domain.size)
        variance = sum(expected_variance(decoder_of(channel), line, None) for channel in group) / len(group)
        if (mean_se := math.sqrt(variance / n)) > MAX_MEAN_SE:
            yield (
                f"{name}with the minimum of {quantity(n, 'device')}, the standard error of the mean is {mean_se:.1%} "
                f"of the range, and that of a decile is larger: to get {MAX_MEAN_SE:.0%} for the mean, set "
                f"minimum_reports, which counts devices, to {rounded_up_people(variance / MAX_MEAN_SE**2):,}"
            )


def _missing_facts(campaign: Campaign) -> Iterator[str]:
    if not campaign.addresses:
        yield (
            "the campaign has no address: each device must be given an address when it joins, and no signature "
            'protects this address. Give [study] address = "https://HOST"'
        )
    if not campaign.contact:
        yield (
            "the campaign has no contact, so a person with a question or a complaint cannot reach you: "
            "give [study] contact"
        )


def _untranslated(campaign: Campaign) -> Iterator[str]:
    """Yield a warning for each translation in which labels, units, or names of districts or classes are not
    translated."""
    for translation in campaign.translations:
        domain, translated_domain = campaign.domain, campaign.domain_in(translation.language)
        pairs = [("", domain, translated_domain)]
        if isinstance(domain, Form) and isinstance(translated_domain, Form):
            questions = zip(domain.questions, translated_domain.questions, strict=True)
            pairs = [
                (f" of {question.name!r}", question.domain, translated.domain) for question, translated in questions
            ]
        untranslated = [
            f"the {'unit' if isinstance(original, NumberRange) else 'labels'}{suffix}"
            for suffix, original, translated in pairs
            if original.named and original.named == translated.named
        ]
        districts = slice(len(domain.named), None)
        if campaign.own_texts.labels[districts] == campaign.texts(translation.language).labels[districts] != ():
            untranslated.append("the names of the districts")
        if campaign.classes and campaign.classes == campaign.texts(translation.language).classes:
            untranslated.append("the names of the classes")
        if untranslated:
            yield (
                f"[text.{translation.language}] leaves {', '.join(untranslated)} in the campaign's own language: add "
                "the missing texts, unless both languages have the same words"
            )

"""Decoders for campaigns with classes of people, each class with its own channel.

``pooled`` adds the estimates of the classes. ``personal`` has a class for each declared prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.personal import PersonalDecoder, PersonalTally, offered_by
from aggregator.estimate.pooled import Pooled
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.estimate.transcript import TranscriptDecoder, TranscriptTally
from aggregator.families.decoder import BinomialSteps, ContributionBounds, Decoder, Floats, Integers
from aggregator.families.registry import decoder_of
from protocol.channels import Channel
from protocol.errors import HalftruthError
from protocol.notions import DeclaredPrior, Lip, MutualInformation
from protocol.notions.classes import Classes, class_channels

if TYPE_CHECKING:
    from protocol.campaign import Campaign, SignedCampaign


Scalar = TypeVar("Scalar", np.float64, np.int64)


class NoSuchClass(HalftruthError, ValueError):
    """The campaign has no class of that name."""


class ClassesDecoder(Pooled):
    """A decoder for several classes, whose features are the concatenated features of the classes."""

    def __init__(self, decoders: Sequence[Decoder], members: Floats, priors: Floats | None) -> None:
        """Set the decoder of each class, and the shares and priors of the classes.

        Args:
            decoders: the decoders of the classes, each with k inputs and one-hot features.
            members, priors: see ``Pooled``.
        """
        self.decoders = decoders
        self.classes, self.input_count = len(decoders), decoders[0].input_count
        self.features = sum(decoder.features for decoder in decoders)
        self.members, self.priors = members, priors
        self._cuts = np.cumsum([decoder.features for decoder in decoders])[:-1]
        self.by_value = all(decoder.by_value for decoder in decoders)

    @property
    def parts(self) -> Floats:
        """Share of the population that each class counts for, here its share of the reports, shape (C,)."""
        return self.members

    def of_classes(self, features: NDArray[Scalar]) -> list[NDArray[Scalar]]:
        """Return numbers by feature, (m,), as one array for each class."""
        return np.split(features, self._cuts)

    def _forward(self, p: Floats) -> Floats:
        return np.concatenate([decoder.forward(row) for decoder, row in zip(self.decoders, p, strict=True)])

    def _forward_squares(self, p: Floats) -> Floats:
        return np.concatenate([decoder.forward_squares(row) for decoder, row in zip(self.decoders, p, strict=True)])

    def _backward(self, w: Floats) -> Floats:
        return np.array([decoder.backward(part) for decoder, part in self._parts(w)])

    def _invert(self, mean_features: Floats) -> Floats:
        return np.array([decoder.invert(part) for decoder, part in self._parts(mean_features)])

    def _moments(self, mean_features: Floats) -> Floats:
        return np.array(
            [decoder.variances(part) + decoder.invert(part) ** 2 for decoder, part in self._parts(mean_features)]
        )

    def adjoint(self, v: Floats) -> Floats:
        return np.concatenate([decoder.adjoint(v) for decoder in self.decoders])

    def _contributions(self, counts: Integers) -> tuple[Floats, Integers]:
        contributions = [
            _contributions_of(decoder.binomial_steps(part, int(part.sum()))) for decoder, part in self._parts(counts)
        ]
        return np.concatenate([values for values, _ in contributions]), np.concatenate(
            [times for _, times in contributions]
        )

    def _slack(self, counts: Integers) -> Floats:
        slack = [decoder.binomial_steps(part, int(part.sum())).slack for decoder, part in self._parts(counts)]
        parts = np.array([part.sum() for part in self.of_classes(counts)]) / max(int(counts.sum()), 1)
        total: Floats = np.zeros(self.input_count)
        for share, class_slack in zip(parts * self.scales, slack, strict=True):
            total += share * class_slack
        return total

    @property
    def scales(self) -> Floats:
        """Weight of a report of each class, shape (C,)."""
        return np.ones(self.classes)

    @property
    def contribution_bounds(self) -> ContributionBounds | None:
        # Classes are independent, so the skewness of the sum is at most the largest of any class's sum.
        if all(decoder.contribution_bounds is None for decoder in self.decoders):
            return None
        bounds_by_class = [decoder.contribution_bounds or _bounds_of_steps(decoder) for decoder in self.decoders]
        bearing = [
            share * bounds.inverse_skewness
            for share, bounds in zip(self.members, bounds_by_class, strict=True)
            if share > 0
        ]
        scaled = list(zip(self.scales, bounds_by_class, strict=True))
        return ContributionBounds(
            np.min(bearing, axis=0),
            np.min([scale * bounds.smallest for scale, bounds in scaled], axis=0),
            np.max([scale * bounds.largest for scale, bounds in scaled], axis=0),
        )

    def _parts(self, features: NDArray[Scalar]) -> list[tuple[Decoder, NDArray[Scalar]]]:
        return list(zip(self.decoders, self.of_classes(features), strict=True))

    @property
    def ceiling(self) -> Floats:
        parts = zip(self.members, self.decoders, strict=True)
        return np.concatenate([share * decoder.ceiling for share, decoder in parts])

    @cached_property
    def people_per_report(self) -> float:
        return max(decoder.people_per_report for decoder in self.decoders)


def _bounds_of_steps(decoder: Decoder) -> ContributionBounds:
    """Return the bounds of a decoder that has steps only, at equal shares of all inputs."""
    steps = decoder.binomial_steps(np.zeros(decoder.features, dtype=np.int64), 1)
    reach = steps.heights.sum(axis=0)
    even = np.full(decoder.input_count, 1 / decoder.input_count)
    return ContributionBounds(decoder.variances(decoder.forward(even)) / reach**2, steps.base, steps.base + reach)


def _contributions_of(steps: BinomialSteps) -> tuple[Floats, Integers]:
    """Return the contributions of the steps from the highest to the base, and the number of reports with each."""
    contributions = steps.base + np.concatenate(
        [np.cumsum(steps.heights[::-1], axis=0)[::-1], np.zeros((1, len(steps.base)))]
    )
    # Steps of height 0 are skipped, whatever their number of reports.
    reached = np.maximum.accumulate(np.where(steps.heights > 0, steps.counts, 0), axis=0)
    everybody = np.full((1, len(steps.base)), steps.reports)
    times: Integers = np.diff(np.concatenate([reached, everybody]), axis=0, prepend=0)
    return contributions, times


def campaign_of_class(campaign: Campaign, tally: Tally, name: str) -> tuple[Campaign, Tally]:
    """Return the campaign and the tally of one class.

    Raises:
        NoSuchClass: the campaign has no class ``name``.
    """
    if not isinstance(campaign.notion, Classes) or name not in campaign.classes:
        known = f"; its classes are: {', '.join(campaign.classes)}"
        known = known if campaign.classes else ", because it has no classes: leave out --where"
        raise NoSuchClass(f"{campaign.title!r} has no class {name[:40]!r}{known}")
    place = campaign.classes.index(name)
    views = tuple(
        replace(view, channel=campaign.channel_of(place, number)) for number, view in enumerate(campaign.views)
    )
    texts = tuple(replace(translation, classes=()) for translation in campaign.translations)
    cut = replace(campaign, notion=campaign.notion.notions[place], views=views, classes=(), translations=texts)
    parts = [_of_class(part, campaign, view, place) for view, part in enumerate(tally.by_view)]
    if len(campaign.views) > 1:
        return cut, ViewsTally.of_parts(parts, tally.refused, tally.version)
    return cut, parts[0]


def signed_of_class(signed: SignedCampaign, tally: Tally, name: str | None) -> tuple[SignedCampaign, Tally]:
    """Return a signed campaign and its tally, restricted to one class; both unchanged without a name.

    Raises:
        NoSuchClass: the campaign has no class ``name``.
    """
    if name is None:
        return signed, tally
    campaign, part = campaign_of_class(signed.campaign, tally, name)
    return replace(signed, campaign=campaign), part


def _of_class(tally: Tally, campaign: Campaign, view: int, place: int) -> Tally:
    """Return the part of a view's tally that belongs to the class at ``place``."""
    channels = class_channels(campaign.views[view].channel, len(campaign.classes))
    first = sum(channel.output_count for channel in channels[:place])
    past = first + channels[place].output_count
    counts = tally.counts[first:past]
    groups = None if tally.groups is None else tally.groups.within(first, past)
    return replace(tally, counts=counts, reports=int(counts.sum()), groups=groups)


def classes_decoder(
    channel: Channel, counts: Integers, priors: Floats | None = None, *, class_count: int
) -> ClassesDecoder:
    """Return the decoder of all classes together.

    Args:
        channel: the channel of all classes, in a campaign or in one of its views.
        counts: (m,) the number of reports with each output, from which the class sizes follow.
        priors: (C, k) the priors of the classes; None if a class has none.
        class_count: C, the number of classes.
    """
    channels = class_channels(channel, class_count)
    parts = np.split(counts, np.cumsum([inner.output_count for inner in channels])[:-1])
    sizes = np.array([part.sum() for part in parts])
    references = [None] * class_count if priors is None else [row.tolist() for row in priors]
    decoders = [decoder_of(inner, reference) for inner, reference in zip(channels, references, strict=True)]
    return ClassesDecoder(decoders, sizes / max(int(sizes.sum()), 1), priors)


def even_decoder(channel: Channel, class_count: int) -> Decoder:
    """Return the decoder of a view's channel for ``class_count`` classes of equal size, or without classes for 0."""
    if not class_count:
        return decoder_of(channel)
    return ClassesDecoder(
        [*map(decoder_of, class_channels(channel, class_count))], np.full(class_count, 1 / class_count), None
    )


def view_decoder(campaign: Campaign, view: int, tally: Tally) -> Decoder:
    """Return the decoder of one view, for all classes together."""
    channel = campaign.views[view].channel
    return (
        classes_decoder(channel, tally.counts, class_count=len(campaign.classes))
        if campaign.classes
        else decoder_of(channel)
    )


def pooled_decoder(campaign: Campaign, tally: Tally) -> Pooled | None:
    """Return the decoder of a campaign with classes, declared priors or transcripts; None for other campaigns.

    Raises:
        ValueError: the tally is not of the kind that the campaign needs.
    """
    if campaign.transcript:
        if not isinstance(tally, TranscriptTally):
            raise ValueError(f"a campaign with transcripts needs a TranscriptTally, not a {type(tally).__name__}")
        return TranscriptDecoder(campaign.transcript, tally.chains, tally.period)
    if isinstance(campaign.notion, DeclaredPrior):
        if not isinstance(tally, PersonalTally):
            raise ValueError(f"a campaign for declared priors needs a PersonalTally, not a {type(tally).__name__}")
        return PersonalDecoder(
            tally.priors,
            campaign.notion.level,
            tally.members,
            offered_by(campaign.notion, campaign.channel),
            tally.levels,
        )
    if not isinstance(campaign.notion, Classes):
        return None
    notions = [notion for notion in campaign.notion.notions if isinstance(notion, Lip | MutualInformation)]
    weights = [np.array(notion.prior, dtype=np.float64) for notion in notions]
    priors = np.array([row / row.sum() for row in weights]) if len(notions) == len(campaign.classes) else None
    return classes_decoder(campaign.channel, tally.counts, priors, class_count=len(campaign.classes))

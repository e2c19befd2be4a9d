"""Estimates of a campaign whose people answer through channels of different classes.

One idea: the share of a value is the sum over the classes of the share of people who are in the class and hold the
value. A report speaks of its own class only, so each class is decoded by its own channel, and the estimates add; no
class is taken to be like another.

People with priors of their own are classes too, one for each prior that anybody declared: personal.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aggregator.estimate.decoders.decoder import Decoder, Floats, Integers, Staircase
from aggregator.estimate.likelihood import PRIOR_REPORTS
from protocol.errors import HalftruthError

if TYPE_CHECKING:
    from aggregator.estimate.tally import Tally
    from protocol.campaign import Campaign

MAX_ROUNDS = 2000
SETTLED = 1e-9
"""Expectation maximisation ends where a round moves less than this."""

NEGLIGIBLE = 1e-10
"""A step lower than this part of a report's weight is none: two levels that differ by rounding."""


class NoSuchClass(HalftruthError, ValueError):
    """The campaign has no class of that name."""


class Pooled(Decoder):
    """A decoder for the k values, over the features of C classes.

    What it asks of each class comes and goes as rows of (C, k) arrays; ``members`` are the shares of the classes, which
    travel in clear and are therefore known.

    Attributes:
        classes: C.
        members: (C,) the share of the reports that each class sent.
        priors: (C, k) the prior of each class; None where not every class has one.
    """

    classes: int
    members: Floats
    priors: Floats | None

    @abstractmethod
    def _forward(self, p: Floats) -> Floats:
        """(C, k) shares of class and value -> (m,) mean features."""

    @abstractmethod
    def _forward_squares(self, p: Floats) -> Floats:
        """The same of squared responses."""

    @abstractmethod
    def _backward(self, w: Floats) -> Floats:
        """(m,) -> (C, k): the mean of w . f(Y) for each class and value."""

    @abstractmethod
    def _invert(self, share: Floats) -> Floats:
        """(m,) -> (C, k): the unbiased shares of class and value."""

    @abstractmethod
    def _moments(self, share: Floats) -> Floats:
        """(m,) -> (C, k): mean square of what one report adds to each of these shares."""

    @abstractmethod
    def _levels(self, counts: Integers) -> tuple[Floats, Integers]:
        """(l, k) all that a report can add to the estimate of each value, and (l, k) how many reports do."""

    @property
    def prior(self) -> Floats | None:
        """(k,) the prior of a person of whom only is known that they report; None where not every class has one."""
        return None if self.priors is None else self.members @ self.priors

    def forward(self, p: Floats) -> Floats:
        return self._forward(np.outer(self.members, p))

    def forward_squares(self, p: Floats) -> Floats:
        return self._forward_squares(np.outer(self.members, p))

    def backward(self, w: Floats) -> Floats:
        return self.members @ self._backward(w)

    def invert(self, share: Floats) -> Floats:
        raw: Floats = self._invert(share).sum(axis=0)
        return raw

    def variances(self, share: Floats) -> Floats:
        # A report adds to one class only, so products between classes are zero.
        moment: Floats = self._moments(share).sum(axis=0)
        return moment - self.invert(share) ** 2

    def staircase(self, counts: Integers, reports: int) -> Staircase:
        levels, times = self._levels(counts)
        order = np.argsort(-levels, axis=0, kind="stable")
        stairs = np.take_along_axis(levels, order, axis=0)
        heights = stairs[:-1] - stairs[1:]
        heights[heights < NEGLIGIBLE * self.weight] = 0
        reached = np.cumsum(np.take_along_axis(times, order, axis=0), axis=0)[:-1]
        return Staircase(stairs[-1], heights, reached, reports)

    def posterior_mean(self, share: Floats) -> Floats:
        """(k,) the mean, over the reports, of each person's posterior under the prior of their own class.

        p[x] = sum over classes c and their outputs y of share[y] P_c[x] Q_c(y|x) / P_c(y)

        Source: Jiang, Li, Tandon 2020, sec. III, where every person has a prior and a channel of their own.
        """
        better: Floats = self._better(share, self._joint).sum(axis=0)
        return better

    def posterior_mode(self, share: Floats) -> Floats:
        """(k,) the most probable shares, if each class is drawn from a distribution that is Dirichlet around its prior.

        Expectation maximisation over classes and values together, as ``likelihood.posterior_mode`` over values alone:
        no class is taken to be distributed like another.
        """
        prior = p = self._joint
        for _ in range(MAX_ROUNDS):
            better = (self._better(share, p) + PRIOR_REPORTS * prior) / (1 + PRIOR_REPORTS)
            settled = np.abs(better - p).sum() < SETTLED
            p = better
            if settled:
                break
        shares: Floats = p.sum(axis=0)
        return shares

    @property
    def _joint(self) -> Floats:
        """(C, k) the prior of class and value together."""
        if self.priors is None:
            raise ValueError("not every class has a prior")
        return self.members[:, np.newaxis] * self.priors

    def _better(self, share: Floats, p: Floats) -> Floats:
        marginal = self._forward(p)
        seen = marginal > 0
        posterior: Floats = p * self._backward(np.divide(share, marginal, out=np.zeros_like(share), where=seen))
        posterior /= posterior.sum()
        return posterior


class ClassesDecoder(Pooled):
    """A decoder for each class, their outputs one after another."""

    def __init__(self, decoders: Sequence[Decoder], members: Floats, priors: Floats | None) -> None:
        """Decode classes by ``decoders``, each of k inputs and one-hot features; see ``Pooled`` for the rest."""
        self._decoders = decoders
        self.classes, self.inputs = len(decoders), decoders[0].inputs
        self.features = sum(decoder.features for decoder in decoders)
        self.members, self.priors = members, priors
        self._cuts = np.cumsum([decoder.features for decoder in decoders])[:-1]

    def _forward(self, p: Floats) -> Floats:
        return np.concatenate([decoder.forward(row) for decoder, row in zip(self._decoders, p, strict=True)])

    def _forward_squares(self, p: Floats) -> Floats:
        return np.concatenate([decoder.forward_squares(row) for decoder, row in zip(self._decoders, p, strict=True)])

    def _backward(self, w: Floats) -> Floats:
        return np.array([decoder.backward(part) for decoder, part in self._parts(w)])

    def _invert(self, share: Floats) -> Floats:
        return np.array([decoder.invert(part) for decoder, part in self._parts(share)])

    def _moments(self, share: Floats) -> Floats:
        return np.array([decoder.variances(part) + decoder.invert(part) ** 2 for decoder, part in self._parts(share)])

    def adjoint(self, v: Floats) -> Floats:
        return np.concatenate([decoder.adjoint(v) for decoder in self._decoders])

    def _levels(self, counts: Integers) -> tuple[Floats, Integers]:
        found = [_levels_of(decoder.staircase(part, int(part.sum()))) for decoder, part in self._counted(counts)]
        return np.concatenate([levels for levels, _ in found]), np.concatenate([times for _, times in found])

    def _parts(self, numbers: Floats) -> list[tuple[Decoder, Floats]]:
        return list(zip(self._decoders, np.split(numbers, self._cuts), strict=True))

    def _counted(self, counts: Integers) -> list[tuple[Decoder, Integers]]:
        return list(zip(self._decoders, np.split(counts, self._cuts), strict=True))

    @property
    def ceiling(self) -> Floats:
        parts = zip(self.members, self._decoders, strict=True)
        return np.concatenate([share * decoder.ceiling for share, decoder in parts])

    @cached_property
    def weight(self) -> float:
        return max(decoder.weight for decoder in self._decoders)


def _levels_of(stairs: Staircase) -> tuple[Floats, Integers]:
    """What the steps of a staircase lead to, from the top to the base, and how many reports stand at each level."""
    levels = stairs.base + np.concatenate(
        [np.cumsum(stairs.heights[::-1], axis=0)[::-1], np.zeros((1, len(stairs.base)))]
    )
    # A step without height is none, whatever its count.
    reached = np.maximum.accumulate(np.where(stairs.heights > 0, stairs.counts, 0), axis=0)
    everybody = np.full((1, len(stairs.base)), stairs.reports)
    times: Integers = np.diff(np.concatenate([reached, everybody]), axis=0, prepend=0)
    return levels, times


def within(terms: Campaign, tally: Tally, name: str) -> tuple[Campaign, Tally]:
    """The campaign as the class called ``name`` has it, and the reports of that class.

    Raises:
        NoSuchClass
    """
    from protocol.notions.classes import Classes, class_channels

    if not isinstance(terms.notion, Classes) or name not in terms.classes:
        known = ", ".join(terms.classes) or "none"
        raise NoSuchClass(f"{terms.title!r} has no class {name[:40]!r}; its classes are: {known}")
    place = terms.classes.index(name)
    channels = class_channels(terms.channel, len(terms.classes))
    first = sum(channel.outputs for channel in channels[:place])
    past = first + channels[place].outputs
    counts = tally.counts[first:past]
    groups = None if tally.groups is None else tally.groups.within(first, past)
    cut = replace(terms, notion=terms.notion.notions[place], channel=channels[place], classes=())
    return cut, replace(tally, counts=counts, reports=int(counts.sum()), groups=groups)


def pooled(terms: Campaign, tally: Tally) -> Pooled | None:
    """The decoder of a campaign with classes, people's own priors or transcripts; None for every other campaign."""
    from aggregator.estimate.decoders import decoder_of
    from aggregator.estimate.personal import PersonalDecoder, PersonalTally
    from aggregator.estimate.transcript import TranscriptDecoder, TranscriptTally
    from protocol.notions import Information
    from protocol.notions.classes import Classes, class_channels
    from protocol.notions.own import OwnPrior

    if terms.transcript:
        if not isinstance(tally, TranscriptTally):
            raise ValueError("the tally of a campaign with transcripts is counted by transcript")
        return TranscriptDecoder(terms.transcript, tally.chains, tally.period)
    if isinstance(terms.notion, OwnPrior):
        if not isinstance(tally, PersonalTally):
            raise ValueError("the tally of a campaign for people's own priors is counted by prior")
        return PersonalDecoder(tally.priors, terms.notion.level, tally.members)
    if not isinstance(terms.notion, Classes):
        return None
    channels = class_channels(terms.channel, len(terms.classes))
    parts = np.split(tally.counts, np.cumsum([channel.outputs for channel in channels])[:-1])
    members = np.array([part.sum() for part in parts]) / max(tally.reports, 1)
    notions = [notion for notion in terms.notion.notions if isinstance(notion, Information)]
    weights = [np.array(notion.prior, dtype=np.float64) for notion in notions]
    priors = np.array([row / row.sum() for row in weights]) if len(notions) == len(channels) else None
    references = [None] * len(channels) if priors is None else [row.tolist() for row in priors]
    decoders = [decoder_of(channel, reference) for channel, reference in zip(channels, references, strict=True)]
    return ClassesDecoder(decoders, members, priors)

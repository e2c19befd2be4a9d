"""Estimates of a campaign in which each person declares a prior.

People who declare the same prior answer through the same channel, because one rule computes the channel from the prior.
So reports are counted by (declared prior, output), and the people with the same prior form a class (Jiang, Li, Tandon
2020, sec. III: the local-prior model).

``protocol.personal`` contains the rule. ``pooled`` adds the estimates of the classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate.pooled import Pooled
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Floats, Integers
from aggregator.families.registry import decoder_of
from protocol import exact, personal
from protocol.notions import DeclaredPrior

if TYPE_CHECKING:
    from protocol.campaign import Campaign
    from protocol.channels import Channel

SOME = 4096
"""The number of priors that are processed together."""

ROUNDING = 1e-9
"""If floats differ by less than this, two channels are compared in integers."""

_NO_DECLARATIONS: Integers = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True)
class PersonalTally(Tally):
    """Counts of outputs by declaration.

    Attributes:
        counts: (d * m,) the number of each of the m outputs, by declaration in the order of ``declared``.
        declared: (d, 1 + k) the distinct declarations: a level in nanonats (the campaign's or a personal level), and
            the weights of the prior.
    """

    refused: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    version: int | None = None
    declared: Integers = field(default_factory=lambda: _NO_DECLARATIONS)

    @property
    def levels(self) -> Integers:
        """Declared levels in nanonats, shape (d,)."""
        return self.declared[:, 0]

    @property
    def priors(self) -> Integers:
        """Weights of the declared priors, shape (d, k)."""
        return self.declared[:, 1:]

    @property
    def members(self) -> Floats:
        """Share of each declaration among the reports, shape (d,)."""
        shares: Floats = self.counts.reshape(len(self.declared), -1).sum(axis=1) / max(self.reports, 1)
        return shares


def offered_by(notion: DeclaredPrior, channel: Channel) -> Channel | None:
    """Return the LDP channel that a campaign offers as an alternative to the rule's channel; None without one."""
    return None if channel == notion.response else channel


def possible_outputs(campaign: Campaign, declared: Integers) -> NDArray[np.bool_]:
    """Return a mask of the campaign's outputs that are possible under each declaration.

    Args:
        campaign: a campaign for declared priors.
        declared: (d, 1 + k) the levels and the weights of the priors.
    Returns:
        (d, m) True for each possible output.
    Raises:
        ValueError: the campaign takes no declared priors.
    """
    notion = campaign.notion
    if not isinstance(notion, DeclaredPrior):
        raise ValueError(f"the campaign must take declared priors, and its notion is {notion.name!r}")
    offered = offered_by(notion, campaign.channel)
    takes = np.zeros(len(declared), dtype=np.bool_)
    if offered is not None:
        takes = takes_offered(declared[:, 1:], notion.level, offered) & (declared[:, 0] == notion.level)
    return takes[:, np.newaxis] | (np.arange(campaign.channel.output_count) < notion.size)


def takes_offered(priors: Integers, level: int, offered: Channel) -> NDArray[np.bool_]:
    """Return for each prior whether people who declare it answer through the offered channel, as
    ``protocol.personal.declared_prior_channel`` decides.

    Floats are used if they certainly give the same result as the protocol's integers; otherwise the integers are used.

    Args:
        priors: (d, k) the weights of the priors.
        level: the level in nanonats.
        offered: the alternative channel.
    Returns:
        (d,) True for priors whose people use the offered channel.
    """
    distribution, squares = _distribution_of(offered), _distribution_of(offered) ** 2
    takes = np.zeros(len(priors), dtype=np.bool_)
    for start in range(0, len(priors), SOME):
        some = priors[start : start + SOME]
        share = some / some.sum(axis=1, keepdims=True)
        cover, truth = _response(share, level)
        marginal = share @ distribution
        information = np.divide((share**2) @ squares, marginal, out=np.zeros_like(marginal), where=marginal > 0)
        every = (share**2).sum(axis=1, keepdims=True) * cover**2 + share**2 * truth * (2 * cover + truth)
        more = information.sum(axis=1) - (every / (cover + share * truth)).sum(axis=1)
        takes[start : start + SOME] = more > 0
        for near in np.flatnonzero(np.abs(more) < ROUNDING).tolist():
            prior = tuple(some[near].tolist())
            takes[start + near] = personal.declared_prior_channel(prior, level, offered) == offered
    return takes


def _response(prior: Floats, levels: int | Integers) -> tuple[Floats, Floats]:
    """Return the parameters of the response under each prior, as floats (``protocol.personal.lip_response``).

    Args:
        prior: (d, k) the probabilities of the values under each prior.
        levels: the levels in nanonats, one for all priors or (d,).
    Returns:
        cover, (d, k), and truth, (d, 1). The protocol's integers are these parameters times 2^64; each cover is rounded
        up, and the truth is the remainder.
    """
    different, index = np.unique(levels, return_inverse=True)
    factors = np.array([exact.exp_lower(level) / (1 << exact.EXP_BITS) for level in different.tolist()])
    factor = factors[index].reshape(-1, 1)
    minimum = np.maximum(prior, 1 - factor * prior)
    truth: Floats = (factor - 1) / (factor - 1 + minimum.sum(axis=1, keepdims=True))
    return minimum * truth / (factor - 1), truth


@lru_cache(maxsize=4)
def _distribution_of(channel: Channel) -> Floats:
    """Return the channel's probabilities Q(y|x), shape (k, m)."""
    return np.array(
        [
            [channel.weight(x, y) / (1 << channel.scale) for y in range(channel.output_count)]
            for x in range(channel.input_count)
        ]
    )


class PersonalDecoder(Pooled):
    """The decoder of all declared priors together; each declared prior is a class with its own channel.

    Class i has the response Q_i(y|x) = c_i[y] + t_i [y = x], or the offered channel, which is the same for all classes.
    """

    def __init__(
        self,
        priors: Integers,
        level: int,
        members: Floats,
        offered: Channel | None = None,
        class_levels: Integers | None = None,
    ) -> None:
        """Compute the channel of each declared prior.

        Args:
            priors: (d, k) the weights of the priors.
            level: the campaign's level in nanonats.
            members: (d,) the share of each class among the reports.
            offered: the campaign's LDP channel; None without one.
            class_levels: (d,) the level of each class in nanonats, the campaign's or lower; None if all have the
                campaign's level. The offered channel does not satisfy a lower level, so people with a lower level do
                not use it.
        """
        self.classes, self.input_count = priors.shape
        self._width = self.input_count if offered is None else offered.output_count
        self.features = self.classes * self._width
        self.members = members
        self.priors = priors / priors.sum(axis=1, keepdims=True)
        levels = np.full(self.classes, level) if class_levels is None else class_levels
        self._cover, self._truth = _response(self.priors, levels)
        self._takes = np.zeros(self.classes, dtype=np.bool_)
        self._distribution: Floats = np.zeros((self.input_count, self._width))
        self._left: Floats = self._distribution
        if offered is not None:
            self._takes = takes_offered(priors, level, offered) & (levels == level)
            self._distribution = _distribution_of(offered)
            inner = decoder_of(offered)
            self._left = np.array([inner.adjoint(unit) for unit in np.eye(self.input_count)])
        # A class that uses the offered channel has no response.
        self._cover = np.where(self._takes[:, np.newaxis], 0.0, self._cover)
        self._responds = np.where(self._takes[:, np.newaxis], 0.0, self._truth)

    def _rows(self, numbers: Floats) -> Floats:
        return numbers.reshape(self.classes, self._width)

    def _spread(self, responses: Floats, offered: Floats) -> Floats:
        """Return numbers by output for all classes, (d * m,), from those for the responses, (d, k), and those for the t
        classes that use the offered channel, (t, m)."""
        numbers = np.zeros((self.classes, self._width))
        numbers[:, : self.input_count] = responses
        numbers[self._takes] = offered
        return numbers.ravel()

    def _joined(self, responses: Floats, offered: Floats) -> Floats:
        """Return numbers by value for all classes, (d, k), from those for the responses, (d, k), and those for the t
        classes that use the offered channel, (t, k)."""
        numbers = responses.copy()
        numbers[self._takes] = offered
        return numbers

    def _forward(self, p: Floats) -> Floats:
        distribution = self._cover * p.sum(axis=1, keepdims=True) + self._responds * p
        return self._spread(distribution, p[self._takes] @ self._distribution)

    def _forward_squares(self, p: Floats) -> Floats:
        distribution = (
            self._cover**2 * p.sum(axis=1, keepdims=True) + self._responds * (2 * self._cover + self._responds) * p
        )
        return self._spread(distribution, p[self._takes] @ self._distribution**2)

    def _backward(self, w: Floats) -> Floats:
        rows = self._rows(w)
        responses = rows[:, : self.input_count]
        mean = (self._cover * responses).sum(axis=1, keepdims=True) + self._responds * responses
        return self._joined(mean, rows[self._takes] @ self._distribution.T)

    def _invert(self, mean_features: Floats) -> Floats:
        rows = self._rows(mean_features)
        responses = rows[:, : self.input_count]
        raw = (responses - self._cover * responses.sum(axis=1, keepdims=True)) / self._truth
        return self._joined(raw, rows[self._takes] @ self._left.T)

    def _moments(self, mean_features: Floats) -> Floats:
        rows = self._rows(mean_features)
        responses = rows[:, : self.input_count]
        others = responses.sum(axis=1, keepdims=True) - responses
        moment = (responses * (1 - self._cover) ** 2 + others * self._cover**2) / self._truth**2
        return self._joined(moment, rows[self._takes] @ (self._left**2).T)

    def adjoint(self, v: Floats) -> Floats:
        contributions = (v - (self._cover @ v)[:, np.newaxis]) / self._truth
        return self._spread(contributions, np.tile(v @ self._left, (int(self._takes.sum()), 1)))

    def _contributions(self, counts: Integers) -> tuple[Floats, Integers]:
        rows = counts.reshape(self.classes, self._width)
        responses, cover, truth = (
            part[~self._takes] for part in (rows[:, : self.input_count], self._cover, self._truth)
        )
        contributions = [(1 - cover) / truth, -cover / truth]
        times = [responses, responses.sum(axis=1, keepdims=True) - responses]
        if self._takes.any():
            contributions.append(self._left.T)
            offered = rows[self._takes].sum(axis=0)
            times.append(np.repeat(offered[:, np.newaxis], self.input_count, axis=1))
        return np.concatenate(contributions), np.concatenate(times)

    @property
    def ceiling(self) -> Floats:
        offered = np.tile(self._distribution.max(axis=0), (int(self._takes.sum()), 1))
        return self._spread(self._cover + self._responds, offered) * np.repeat(self.members, self._width)

    @property
    def people_per_report(self) -> float:
        largest = np.maximum(1 - self._cover, self._cover) / self._truth
        responses = float(largest[~self._takes].max()) if not self._takes.all() else 0.0
        return max(responses, float(np.abs(self._left).max()) if self._takes.any() else 0.0)

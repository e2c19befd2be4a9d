"""People with items, and surveys of these people: the exact error of each item, and simulated reports.

With padding to l, person u's set yields item i with probability q_u: 0, or 1 / max(l, size of the set). For fixed
people, the contribution of a bit to the estimate has the variance

    (b (1 - b) + (a - b) (1 - 2b) fmean(q) - (a - b)^2 fmean(q^2)) / (a - b)^2

For sets of one item and l = 1 this is eq. 7 of Gu et al. 2020. Budgets are assigned to the items at random, so an
item's expected error is exactly the mean over the classes of budgets. Each simulated survey has a new assignment.

``mechanisms`` names the mechanisms that the figures compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import erf

from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.distribution import project, total_variation
from aggregator.estimate.linear import Linear, unbiased_estimate
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.families.bits.idue import item_budgets
from aggregator.families.decoder import Floats, Integers
from aggregator.families.registry import decoder_of
from aggregator.reproduce import simulated_people
from aggregator.reproduce.data import Baskets
from protocol import exact
from protocol.campaign import Campaign
from protocol.channels import Bits
from protocol.channels.bits.channel import S
from protocol.domain import Items
from protocol.notions.graded import Graded

EPSILON = "smallest budget, nats"
MSE = "total error: squared errors of the counts / n"

FULL = tuple(0.5 + quarter / 4 for quarter in range(19))
SPARSE = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
"""The levels of the best protected items in nats, for a full and for a quick run."""

Parts = tuple[tuple[float, float], ...]
"""The parts of the items, each with its budget as a multiple of eps; the least budget comes first."""

USUAL: Parts = ((0.05, 1.0), (0.05, 1.2), (0.9, 2.0))
"""Three budgets, as in most of the paper's experiments."""


@dataclass(frozen=True, eq=False)
class ItemHolders:
    """The set of items of each person.

    Attributes:
        offsets: (n + 1,) the ends of the sets: person u's set is ``items[offsets[u]:offsets[u + 1]]``.
        items: all sets, one after another; an item occurs in a set at most once.
        size: m, the number of items, which are 0 .. m - 1.
        label: the name of the data.
    """

    offsets: Integers
    items: Integers
    size: int
    label: str

    @classmethod
    def of(cls, baskets: Baskets) -> ItemHolders:
        """Return the sets of all baskets; an item that is in a basket twice is in its set once."""
        domain, codes = np.unique(baskets.items, return_inverse=True)
        basket = np.repeat(np.arange(len(baskets)), np.diff(baskets.offsets))
        pairs = np.unique(basket * len(domain) + codes)
        sizes = np.bincount(pairs // len(domain), minlength=len(baskets))
        return cls(np.append(0, np.cumsum(sizes)), pairs % len(domain), len(domain), baskets.label)

    @classmethod
    def first(cls, baskets: Baskets) -> ItemHolders:
        """Return the first item of every basket, as sets of one item."""
        domain, codes = np.unique(baskets.items, return_inverse=True)
        return cls(np.arange(len(baskets) + 1), codes[baskets.offsets[:-1]], len(domain), baskets.label)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def counts(self) -> Integers:
        """The number of people who have each item, shape (m,)."""
        return np.bincount(self.items, minlength=self.size)

    @cached_property
    def sizes(self) -> Integers:
        """The number of items in each set, shape (n,)."""
        return np.diff(self.offsets)

    def sets(self) -> list[tuple[int, ...]]:
        """Return the sets as tuples of items."""
        items = self.items.tolist()
        ends = self.offsets.tolist()
        return [tuple(items[start:end]) for start, end in pairwise(ends)]

    def reported(self, length: int, generator: np.random.Generator) -> Integers:
        """Return random numbers of people who sample each item or dummy, (m + l,), with the probabilities
        of ``Items.dither_counts``."""
        sizes = self.sizes
        place = generator.integers(np.maximum(sizes, length))
        of_set = place < sizes
        counts = np.zeros(self.size + length, dtype=np.int64)
        counts[: self.size] = np.bincount(self.items[(self.offsets[:-1] + place)[of_set]], minlength=self.size)
        dummies = generator.integers(length, size=int((~of_set).sum()))
        counts[self.size :] = np.bincount(dummies, minlength=length)
        return counts


@lru_cache(maxsize=64)
def chances(people: ItemHolders, length: int) -> tuple[Floats, Floats]:
    """Return for each item, (m,), the mean over people of the probability of sampling it, and the mean of the
    square."""
    probability = 1 / np.maximum(np.repeat(people.sizes, people.sizes), length)
    once, twice = (
        np.bincount(people.items, weights=weights, minlength=people.size) / len(people)
        for weights in (probability, probability**2)
    )
    return once, twice


def budgets(size: int, eps: float, parts: Parts) -> list[int]:
    """Return the budgets in nanonats in increasing order; each survey assigns them to the items at random."""
    ends = np.rint(size * np.cumsum([part for part, _ in parts])).astype(int).tolist()
    levels: list[int] = []
    for end, (_, times) in zip(ends, parts, strict=True):
        levels += [round(times * eps * exact.NANONATS)] * (end - len(levels))
    return levels


@lru_cache(maxsize=2048)
def campaign(size: int, length: int, eps: float, mechanism: str, parts: Parts = USUAL) -> Campaign:
    """Return the campaign with item budgets, for single items if ``length`` is 0, and otherwise for sets padded to
    ``length``."""
    levels = budgets(size, eps, parts)
    if not length:
        return simulated_people.campaign(simulated_people.values(size), Graded.over(levels), mechanism)
    domain = Items(length, size)
    return simulated_people.campaign(domain, Graded.over(item_budgets(domain, levels)), mechanism)


@dataclass(frozen=True)
class ExactErrors:
    """The expected errors of the items' counts, over reports and over the random assignment of the budgets.

    Attributes:
        counts: (m,) the true counts.
        bias: (m,) the mean of the estimated count minus the true count.
        deviation: (t, m) the standard deviation of the estimated count if the item is in each class of budgets.
        parts: (t,) the share of the items in each class.
        people: n, the number of people.
    """

    counts: Integers
    bias: Floats
    deviation: Floats
    parts: Floats
    people: int

    @property
    def mse(self) -> float:
        """The expected total error: the squared errors summed over the items, divided by n."""
        return float((self.parts @ self.deviation**2 + self.bias**2).sum() / self.people)

    @property
    def spread(self) -> float:
        """The standard deviation of one survey's total error if there is no bias.

        The square of a normal error with mean zero has a standard deviation of sqrt(2) times the mean of the square.
        """
        return float(np.sqrt(2 * (self.parts @ self.deviation**4).sum()) / self.people)

    def relative_bias(self, k: int) -> float:
        """Return RE(k) of the expected estimates, which is the relative error from bias alone."""
        top = most_frequent_items(self.counts, k)
        return float((np.abs(self.bias[top]) / self.counts[top]).mean())

    def relative(self, k: int) -> float:
        """Return RE(k), the mean relative error of the ``k`` most frequent items, for normal estimates."""
        top = most_frequent_items(self.counts, k)
        bias, deviation = self.bias[top], np.maximum(self.deviation[:, top], 1e-12)
        ratio = bias / deviation
        errors = deviation * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + bias * erf(ratio / np.sqrt(2))
        return float((self.parts @ errors / self.counts[top]).mean())


def exact_survey_errors(people: ItemHolders, length: int, channel: Bits) -> ExactErrors:
    """Return the exact errors of a survey; ``length`` is 0 if each person has one item, without padding."""
    chance, square = chances(people, max(length, 1))
    a, b = (np.array(weights)[:, np.newaxis] / S for weights in (channel.own_weights, channel.other_weights))
    gap = a - b
    variances = (b * (1 - b) + gap * (1 - 2 * b) * chance - gap**2 * square) / gap**2
    n, scale = len(people), max(length, 1)
    of_items = (
        np.bincount(np.asarray(channel.class_of)[: people.size], minlength=len(channel.own_weights)) / people.size
    )
    return ExactErrors(
        people.counts, n * scale * chance - people.counts, scale * np.sqrt(n * np.maximum(variances, 0)), of_items, n
    )


@dataclass(frozen=True)
class ItemSurvey:
    """A simulated survey on items: its reports, and the estimates of the items' counts from these reports.

    Attributes:
        campaign: the campaign of the survey.
        linear: the unbiased estimate of the inputs.
        order: (m,) the item of each input.
        people: n, the number of people.
    """

    campaign: Campaign
    linear: Linear
    order: Integers
    people: int

    @cached_property
    def raw(self) -> Floats:
        """The counts that the paper's estimate gives, shape (m,), unbiased except for sets that are truncated."""
        return self._counts(self.linear.raw)

    @cached_property
    def projected(self) -> Floats:
        """The counts of the distribution nearest to the unbiased estimate, shape (m,)."""
        return self._counts(project(self.linear.raw, self._shown_inputs))

    @cached_property
    def shrunk(self) -> Floats:
        """The counts that empirical Bayes gives, shape (m,)."""
        counts = self._counts(empirical_bayes(self.linear.raw, self.linear.se))
        return self.people * self._shown_inputs.possible(counts / self.people)

    @property
    def _shown_inputs(self) -> ShownInputs:
        return ShownInputs.of(self.campaign.domain)

    def _counts(self, share: Floats) -> Floats:
        counts = np.empty(len(self.order))
        counts[self.order] = self.people * self._shown_inputs.shares(share)
        return counts


def simulated_survey(
    people: ItemHolders, length: int, campaign: Campaign, generator: np.random.Generator
) -> ItemSurvey:
    """Return a simulated survey with one report of each person, and a new assignment of the budgets to the items."""
    order = generator.permutation(people.size)
    reported = people.reported(max(length, 1), generator)
    inputs = reported[: people.size][order]
    if length:
        inputs = np.append(inputs, reported[people.size :])
    tally = simulated_people.tally(campaign.channel, inputs, generator)
    return ItemSurvey(campaign, unbiased_estimate(decoder_of(campaign.channel).uncorrected, tally), order, len(people))


def most_frequent_items(counts: Integers | Floats, k: int) -> Integers:
    """Return the indices of the ``k`` items with the largest counts."""
    return np.argsort(-counts, kind="stable")[:k]


def total_error(estimate: Floats, people: ItemHolders) -> float:
    """Return the total error: the squared errors of the counts, summed over the items and divided by n (Gu et al. 2020,
    sec. VII)."""
    return float(((estimate - people.counts) ** 2).sum() / len(people))


def mean_relative_error(estimate: Floats, people: ItemHolders, k: int) -> float:
    """Return RE(k), the mean relative error of the ``k`` most frequent items (Gu et al. 2020, sec. VII)."""
    truth = people.counts
    top = most_frequent_items(truth, k)
    return float((np.abs(estimate[top] - truth[top]) / truth[top]).mean())


def count_variation(estimate: Floats, people: ItemHolders) -> float:
    """Return the total variation distance of estimated counts from the true counts, as a share of the people."""
    return total_variation(estimate / len(people), people.counts / len(people))


def precision(estimate: Floats, people: ItemHolders, k: int) -> float:
    """Return the share of the ``k`` items with the largest estimates that are among the ``k`` most frequent items."""
    return len(np.intersect1d(most_frequent_items(estimate, k), most_frequent_items(people.counts, k))) / k


def total_error_bound(size: int, eps: float) -> float:
    """Return a lower bound on the total error for unary encodings under MinID-LDP.

    An item has u = ln(a/b) and v = ln((1-b)/(1-a)). For an item and another item with the least budget (u', v'), u + v'
    <= eps with v' > 0 and u' + v <= eps with u' > 0. So u and v of every item are below eps. The variance decreases as
    u or v increases, and at u = v = eps it is e^eps / (e^eps - 1)^2, whether the person has the item or not. OUE has
    four times this variance for an item that the person does not have.
    """
    return size * float(np.exp(eps) / np.expm1(eps) ** 2)

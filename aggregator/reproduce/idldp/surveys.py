"""People with items, and what surveys of them come to: the exact error of each item, and simulated reports.

With padding to l, person u's set gives item i with a chance q_u of 0 or 1 / max(l, size of the set). What a
bit adds to the estimate has, over people who stay as they are, the variance

    (b (1 - b) + (a - b) (1 - 2b) mean(q) - (a - b)^2 mean(q^2)) / (a - b)^2

and with sets of one item and l = 1 this is eq. 7 of Gu et al. 2020. Budgets are dealt to the items by chance, so an
item's expected error is a mean over the classes of budgets, exactly; simulated surveys deal them anew each time.

Which experiment asks for what: single, sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from scipy.special import erf

from aggregator.estimate.bayes import empirical_bayes
from aggregator.estimate.distribution import project
from aggregator.estimate.linear import Linear, solve
from aggregator.estimate.reported import Reported
from aggregator.families.bits.idue import item_budgets
from aggregator.families.decoder import Floats, Integers
from aggregator.families.registry import decoder_of
from aggregator.reproduce import crowd
from aggregator.reproduce.data import Baskets
from protocol import exact
from protocol.campaign import Campaign
from protocol.channels import Bits
from protocol.channels.bits.channel import S
from protocol.domain import Items
from protocol.notions.graded import Graded

EPSILON = "epsilon of the best protected, nats"
MSE = "total squared error of the counts / n"

FULL = tuple(0.5 + quarter / 4 for quarter in range(19))
SPARSE = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0)
"""Levels of the best protected items: all, and enough for a quick run."""

Parts = tuple[tuple[float, float], ...]
"""Parts of the items, and the multiple of eps that is their budget; the least budget first."""

USUAL: Parts = ((0.05, 1.0), (0.05, 1.2), (0.9, 2.0))
"""Three levels of budget, as in most of the paper's experiments."""


@dataclass(frozen=True, eq=False)
class ItemHolders:
    """Everybody's set of items.

    Attributes:
        offsets: (n + 1,); person u's set is ``items[offsets[u]:offsets[u + 1]]``.
        items: all sets, one after another; an item is in a set once.
        size: m, the items 0 .. m - 1 that there are.
        label: of the data.
    """

    offsets: Integers
    items: Integers
    size: int
    label: str

    @classmethod
    def of(cls, baskets: Baskets) -> ItemHolders:
        """The sets of all baskets; what is in a basket twice is in its set once."""
        catalogue, codes = np.unique(baskets.items, return_inverse=True)
        owner = np.repeat(np.arange(len(baskets)), np.diff(baskets.offsets))
        pairs = np.unique(owner * len(catalogue) + codes)
        sizes = np.bincount(pairs // len(catalogue), minlength=len(baskets))
        return cls(np.append(0, np.cumsum(sizes)), pairs % len(catalogue), len(catalogue), baskets.label)

    @classmethod
    def first(cls, baskets: Baskets) -> ItemHolders:
        """The first item of every basket, among all items."""
        catalogue, codes = np.unique(baskets.items, return_inverse=True)
        return cls(np.arange(len(baskets) + 1), codes[baskets.offsets[:-1]], len(catalogue), baskets.label)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def counts(self) -> Integers:
        """(m,) people who hold each item."""
        return np.bincount(self.items, minlength=self.size)

    @cached_property
    def sizes(self) -> Integers:
        """(n,) of the sets."""
        return np.diff(self.offsets)

    def sets(self) -> list[tuple[int, ...]]:
        """The sets, one by one."""
        items = self.items.tolist()
        ends = self.offsets.tolist()
        return [tuple(items[start:end]) for start, end in pairwise(ends)]

    def told(self, length: int, generator: np.random.Generator) -> Integers:
        """(m + l,) how many people tell each item or dummy, by the law of ``Items.draws``."""
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
    """(m,) and (m,): the mean over people of the chance to tell an item, and of its square."""
    each = 1 / np.maximum(np.repeat(people.sizes, people.sizes), length)
    once, twice = (
        np.bincount(people.items, weights=weights, minlength=people.size) / len(people) for weights in (each, each**2)
    )
    return once, twice


def budgets(size: int, eps: float, parts: Parts) -> list[int]:
    """Nanonats, the least first: which item has which is for a survey to deal."""
    ends = np.rint(size * np.cumsum([part for part, _ in parts])).astype(int).tolist()
    found: list[int] = []
    for end, (_, times) in zip(ends, parts, strict=True):
        found += [round(times * eps * exact.NANONATS)] * (end - len(found))
    return found


@lru_cache(maxsize=2048)
def campaign(size: int, length: int, eps: float, mechanism: str, parts: Parts = USUAL) -> Campaign:
    """The campaign of item budgets: of single items where ``length`` is 0, else of sets padded to it."""
    asked = budgets(size, eps, parts)
    if not length:
        return crowd.campaign(crowd.values(size), Graded.over(asked), mechanism)
    domain = Items(length, size)
    return crowd.campaign(domain, Graded.over(item_budgets(domain, asked)), mechanism)


@dataclass(frozen=True)
class Exact:
    """What the count of each item is off by, in expectation over reports and over the dealing of the budgets.

    Attributes:
        counts: (m,) what is true.
        bias: (m,) the mean of the estimate beyond it.
        deviation: (t, m) the estimate's standard deviation, if the item is in a class of budgets.
        parts: (t,) of the items in each class.
        people: n.
    """

    counts: Integers
    bias: Floats
    deviation: Floats
    parts: Floats
    people: int

    @property
    def mse(self) -> float:
        """Sum over the items of the squared error, over n."""
        return float((self.parts @ self.deviation**2 + self.bias**2).sum() / self.people)

    @property
    def spread(self) -> float:
        """Standard deviation of one survey's squared error about ``mse``, where nothing is biased: squares of normal
        errors vary by sqrt(2) times their mean."""
        return float(np.sqrt(2 * (self.parts @ self.deviation**4).sum()) / self.people)

    def lost(self, most: int) -> float:
        """What RE(k) would be without any noise."""
        top = frequent(self.counts, most)
        return float((np.abs(self.bias[top]) / self.counts[top]).mean())

    def relative(self, most: int) -> float:
        """RE(k): the mean relative error of the ``most`` frequent items, the estimates being nearly normal."""
        top = frequent(self.counts, most)
        bias, deviation = self.bias[top], np.maximum(self.deviation[:, top], 1e-12)
        ratio = bias / deviation
        each = deviation * np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + bias * erf(ratio / np.sqrt(2))
        return float((self.parts @ each / self.counts[top]).mean())


def expected(people: ItemHolders, length: int, channel: Bits) -> Exact:
    """The exact errors of a survey; ``length`` is 0 where a person holds one item and nothing is padded."""
    chance, square = chances(people, max(length, 1))
    own, other = np.array(channel.own) / S, np.array(channel.other) / S
    gap = (own - other)[:, np.newaxis]
    b = other[:, np.newaxis]
    each = (b * (1 - b) + gap * (1 - 2 * b) * chance - gap**2 * square) / gap**2
    n, scale = len(people), max(length, 1)
    of_items = np.bincount(np.asarray(channel.class_of)[: people.size], minlength=len(own)) / people.size
    return Exact(
        people.counts, n * scale * chance - people.counts, scale * np.sqrt(n * np.maximum(each, 0)), of_items, n
    )


@dataclass(frozen=True)
class Simulated:
    """The reports of a survey, and two estimates of everybody's counts from them.

    Attributes:
        terms: its campaign.
        linear: its unbiased estimate, by input.
        order: (m,) the item that each input stands for.
        people: n.
    """

    terms: Campaign
    linear: Linear
    order: Integers
    people: int

    @cached_property
    def raw(self) -> Floats:
        """(m,) the paper's estimate, unbiased but for sets that are cut off."""
        return self._counts(self.linear.raw)

    @cached_property
    def projected(self) -> Floats:
        """(m,) of the nearest distribution to the unbiased estimate."""
        return self._counts(project(self.linear.raw, self._reported))

    @cached_property
    def shrunk(self) -> Floats:
        """(m,) empirical Bayes."""
        counts = self._counts(empirical_bayes(self.linear.raw, self.linear.se))
        return self.people * self._reported.possible(counts / self.people)

    @property
    def _reported(self) -> Reported:
        return Reported.of(self.terms.domain)

    def _counts(self, share: Floats) -> Floats:
        found = np.empty(len(self.order))
        found[self.order] = self.people * self._reported.shares(share)
        return found


def survey(people: ItemHolders, length: int, terms: Campaign, generator: np.random.Generator) -> Simulated:
    """One report of everybody, the budgets dealt to the items anew."""
    order = generator.permutation(people.size)
    told = people.told(max(length, 1), generator)
    inputs = told[: people.size][order]
    if length:
        inputs = np.append(inputs, told[people.size :])
    tally = crowd.tally(terms.channel, inputs, generator)
    return Simulated(terms, solve(decoder_of(terms.channel).plain, tally), order, len(people))


def frequent(counts: Integers | Floats, most: int) -> Integers:
    """The ``most`` items of the largest counts."""
    top: Integers = np.argsort(-counts, kind="stable")[:most]
    return top


def squared(found: Floats, people: ItemHolders) -> float:
    """Sum over the items of the squared error of the counts, over n   (Gu et al. 2020, sec. VII)."""
    return float(((found - people.counts) ** 2).sum() / len(people))


def relative(found: Floats, people: ItemHolders, most: int) -> float:
    """RE(k): the mean relative error of the ``most`` frequent items   (Gu et al. 2020, sec. VII)."""
    truth = people.counts
    top = frequent(truth, most)
    return float((np.abs(found[top] - truth[top]) / truth[top]).mean())


def variation(found: Floats, people: ItemHolders) -> float:
    """Half the sum of the errors, in shares of the people."""
    return float(np.abs(found - people.counts).sum() / 2 / len(people))


def precision(found: Floats, people: ItemHolders, most: int) -> float:
    """The part of the ``most`` items of largest estimate that are among the ``most`` frequent."""
    return len(np.intersect1d(frequent(found, most), frequent(people.counts, most))) / most


def floor(size: int, eps: float) -> float:
    """No unary encoding under MinID-LDP has an unbiased estimate of less total squared error for one person.

    For an item and another of the least budget, u + v' <= eps with v' > 0 and u' + v <= eps with u' > 0, so u and v of
    every item are below eps; the variance falls in both, and at u = v = eps it is e^eps / (e^eps - 1)^2, whether the
    person holds the item or not. That is a quarter of what OUE has of the items a person does not hold.
    """
    return size * float(np.exp(eps) / np.expm1(eps) ** 2)


def mean(numbers: Sequence[float]) -> float:
    """Of simulated surveys."""
    return float(np.mean(numbers))

"""Simulated tallies of a population; many reports are drawn at once from the device's exact distribution.

The reports of people with the same value have the same distribution, so their counts are one multinomial draw. If a row
of the channel is too long, the draw follows the steps of the channel's ``sample``. These reports are not signed;
`halftruth simulate` makes signed reports.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggregator.estimate.distribution import total_variation
from aggregator.estimate.estimator import estimate
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Decoder, Floats, Integers
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import chosen_channel
from protocol import exact
from protocol.campaign import Campaign
from protocol.channels import Bits, Blocks, Channel, Hadamard, RandomizedResponse, SubsetSelection
from protocol.channels.bits.channel import S
from protocol.channels.hadamard.channel import ONE
from protocol.domain import Domain, Values
from protocol.notions import Notion
from protocol.views import plain_views

_MAX_CELLS = 2**24
"""Maximum number of cells of a channel's rows that are computed."""


def level_of_nats(eps: float) -> int:
    """Return a level in nanonats, from ``eps`` in nats."""
    return exact.level_from(eps)


def values(size: int) -> Values:
    """Return a domain of ``size`` values with the names v0, v1 and so on."""
    return Values(tuple(f"v{x}" for x in range(size)))


def campaign(domain: Domain, notion: Notion, mechanism: str, sensitive_share: float | None = None) -> Campaign:
    """Return the campaign of a question, with its certified channel.

    Args:
        mechanism: the name of the mechanism in drafts, such as "auto", "lip" or "hadamard".
        sensitive_share: the share of the people who have a sensitive value; None if it is unknown.
    """
    name, channel = chosen_channel(mechanism, PlannedQuestion(domain, notion, sensitive_share))
    return Campaign(
        "Reproduction", "Which?", "", "A paper", domain, notion, name, plain_views(channel), 0, 1, 1, 1, 1, "open"
    )


def tally(channel: Channel, population: Sequence[int] | Integers, generator: np.random.Generator) -> Tally:
    """Return the tally of one simulated report of each person.

    Args:
        population: (k,) the number of people who have each value.
        generator: the random generator of the experiment; devices use the operating system's random source.
    Raises:
        ValueError: ``population`` has another shape, or a negative number.
    """
    people = np.asarray(population, dtype=np.int64)
    if people.shape != (channel.input_count,):
        raise ValueError(
            f"the numbers of people have shape {people.shape}, but must have shape ({channel.input_count},)"
        )
    if people.min() < 0:
        raise ValueError(f"a number of people must be 0 or more, not {people.min()}")
    return Tally(_counts(channel, people, generator), int(people.sum()))


def drawn_tally(
    channel: Channel, decoder: Decoder, shares: Floats, people: int, generator: np.random.Generator
) -> Tally:
    """Return the tally of one simulated report of each of ``people`` people, whose values are drawn from ``shares``.

    Args:
        channel: subset selection, or a channel whose outputs are counted one by one.
        shares: (k,) the true shares of the values.
    """
    if not isinstance(channel, SubsetSelection):
        outputs = np.maximum(decoder.forward(shares), 0)
        return Tally.of(generator.multinomial(people, outputs / outputs.sum()))
    # A set contains the person's value with the probability of the channel. The other values are equally likely, so
    # those with the smallest random numbers are taken.
    answers = generator.choice(len(shares), people, p=shares)
    rank = generator.random((people, len(shares)))
    having = generator.random(people) < channel.support * channel.inside / 2**channel.scale
    rank[np.arange(people), answers] = np.where(having, -1, 2)
    members = np.argpartition(rank, channel.ones - 1, axis=1)[:, : channel.ones]
    return Tally(np.bincount(members.ravel(), minlength=len(shares)), people)


def simulated_variation(
    campaign: Campaign, population: Sequence[int] | Integers, method: str, generator: np.random.Generator, surveys: int
) -> float:
    """Return the mean total variation distance between the true shares and their estimates in simulated surveys.

    Args:
        population: (k,) the number of people who have each value.
        method: the estimation method, one of ``estimate.names.METHODS``.
    """
    truth = np.asarray(population) / np.sum(population)
    tallies = (tally(campaign.channel, population, generator) for _ in range(surveys))
    shares = (estimate(campaign, counts, method=method).share for counts in tallies)
    return float(np.mean([total_variation(share, truth) for share in shares]))


def _counts(channel: Channel, people: Integers, generator: np.random.Generator) -> Integers:
    if isinstance(channel, RandomizedResponse):
        return _responses(channel, people, generator)
    if isinstance(channel, Bits):
        return _bits(channel, people, generator)
    if isinstance(channel, Blocks):
        return _blocks(channel, people, generator)
    somebody = np.flatnonzero(people)
    if not channel.unary and len(somebody) * channel.output_count <= _MAX_CELLS:
        return _rows(channel, people, generator)
    if isinstance(channel, Hadamard):
        return _columns(channel, people, generator)
    return _one_by_one(channel, people, generator)


def _responses(channel: RandomizedResponse, people: Integers, generator: np.random.Generator) -> Integers:
    """Return random counts of outputs: true values, plus values drawn from the cover."""
    truthful = generator.binomial(people, channel.truth / 2**channel.scale)
    cover = np.array([channel.cover_of(y) for y in range(channel.input_count)], dtype=np.float64)
    if not channel.covered:
        return truthful
    return truthful + generator.multinomial(int((people - truthful).sum()), cover / cover.sum())


def _bits(channel: Bits, people: Integers, generator: np.random.Generator) -> Integers:
    """Return random counts of set bits; people who have the value of a bit set it with probability a, others with b."""
    class_of = np.asarray(channel.class_of, dtype=np.int64)
    a, b = (np.array(weights)[class_of] / S for weights in (channel.own_weights, channel.other_weights))
    return generator.binomial(people, a) + generator.binomial(people.sum() - people, b)


def _blocks(channel: Blocks, people: Integers, generator: np.random.Generator) -> Integers:
    """Return random counts of outputs. People in a block report an output of the block's inner channel. An open input,
    which is in no block, is reported as it is, or replaced by a uniform output of the only block."""
    counts = np.zeros(channel.output_count, dtype=np.int64)
    for block, inner in enumerate(channel.channels, 1):
        start = channel.offsets[block]
        inside = people[list(channel.inputs_by_block[block])]
        counts[start : start + inner.output_count] = (
            _counts(inner, inside, generator) if inner.output_count > 1 else inside.sum()
        )
    reported = people[list(channel.inputs_by_block[0])]
    if channel.cover:
        hidden = generator.binomial(reported, channel.hidden / 2**channel.scale)
        output_count = channel.channels[0].output_count
        start = channel.offsets[1]
        counts[start : start + output_count] += generator.multinomial(
            int(hidden.sum()), np.full(output_count, 1 / output_count)
        )
        reported = reported - hidden
    counts[channel.offsets[0] : channel.offsets[0] + len(reported)] += reported
    return counts


def _rows(channel: Channel, people: Integers, generator: np.random.Generator) -> Integers:
    decoder = decoder_of(channel)
    counts = np.zeros(channel.output_count, dtype=np.int64)
    unit = np.zeros(channel.input_count)
    for x in np.flatnonzero(people):
        unit[x] = 1
        row = np.maximum(decoder.forward(unit), 0)
        unit[x] = 0
        counts += generator.multinomial(people[x], row / row.sum())
    return counts


def _columns(channel: Hadamard, people: Integers, generator: np.random.Generator) -> Integers:
    """Return random counts of the columns of Hadamard response, drawn in the same way as in ``Hadamard.sample``."""
    row = np.repeat(np.arange(1, channel.input_count + 1), people)
    column = generator.integers(channel.output_count, size=len(row))
    lies = generator.random(len(row)) >= channel.truth / ONE
    wrong = (np.bitwise_count(row & column) & 1).astype(bool) ^ lies
    return np.bincount(column ^ (row & -row) * wrong, minlength=channel.output_count)


def _one_by_one(channel: Channel, people: Integers, generator: np.random.Generator) -> Integers:
    """Return random counts of outputs; each report is drawn in the same way as on a device."""
    counts = np.zeros(channel.features, dtype=np.int64)
    for x in np.flatnonzero(people):
        for _ in range(people[x]):
            y = channel.sample(int(x), generator.bytes(channel.rand_bytes))
            if channel.unary:
                counts += np.array([y >> channel.input_count - 1 - bit & 1 for bit in range(channel.input_count)])
            else:
                counts[y] += 1
    return counts

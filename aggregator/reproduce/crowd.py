"""A population through a channel: what its reports count to, drawn many at once with the device's exact law.

People with the same value answer by the same law, so their counts are one multinomial draw; where a row of
the channel is too long to write down, the draw follows the steps of the channel's own ``sample``. Nothing is signed or
sealed: `halftruth simulate` does that, with real keys.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggregator.estimate.estimator import estimate
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Integers
from aggregator.families.mechanism import Question
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import chosen
from aggregator.present.table import total_variation
from protocol.campaign import Campaign
from protocol.channels import Bits, Blocks, Channel, Hadamard, RandomizedResponse
from protocol.channels.bits.channel import S
from protocol.channels.hadamard.channel import ONE
from protocol.domain import Domain, Values
from protocol.notions import Notion
from protocol.views import plain_views

_WRITTEN = 2**24
"""Cells of the rows of a channel that are written down."""


def values(size: int) -> Values:
    """A domain of so many values without names of their own."""
    return Values(tuple(f"v{x}" for x in range(size)))


def campaign(domain: Domain, notion: Notion, mechanism: str, part: float | None = None) -> Campaign:
    """The campaign of a question: its channel made, certified, and chosen where ``mechanism`` is a choice.

    Args:
        mechanism: as drafts name it, such as "auto", "lip" or "hadamard".
        part: of the people who hold a sensitive value, where it is said.
    """
    name, channel = chosen(mechanism, Question(domain, notion, part))
    return Campaign(
        "Reproduction", "Which?", "", "A paper", domain, notion, name, plain_views(channel), 0, 1, 1, 1, 1, "open"
    )


def tally(channel: Channel, held: Sequence[int] | Integers, generator: np.random.Generator) -> Tally:
    """One report of everybody.

    Args:
        held: (k,) how many people hold each value.
        generator: for experiments; devices take the operating system's randomness.
    """
    people = np.asarray(held, dtype=np.int64)
    if people.shape != (channel.inputs,) or people.min() < 0:
        raise ValueError(f"a number of people for each of {channel.inputs} values is expected")
    return Tally(_counts(channel, people, generator), int(people.sum()))


def variation(
    terms: Campaign, held: Sequence[int] | Integers, method: str, generator: np.random.Generator, surveys: int
) -> float:
    """Mean total variation between the shares of ``held`` and their estimates in simulated surveys.

    Args:
        method: of ``estimate.names.METHODS``.
    """
    truth = np.asarray(held) / np.sum(held)
    found = (estimate(terms, tally(terms.channel, held, generator), method=method) for _ in range(surveys))
    return float(np.mean([total_variation(each.share, truth) for each in found]))


def _counts(channel: Channel, people: Integers, generator: np.random.Generator) -> Integers:
    if isinstance(channel, RandomizedResponse):
        return _responses(channel, people, generator)
    if isinstance(channel, Bits):
        return _bits(channel, people, generator)
    if isinstance(channel, Blocks):
        return _blocks(channel, people, generator)
    somebody = np.flatnonzero(people)
    if not channel.unary and len(somebody) * channel.outputs <= _WRITTEN:
        return _rows(channel, people, generator)
    if isinstance(channel, Hadamard):
        return _columns(channel, people, generator)
    return _one_by_one(channel, people, generator)


def _responses(channel: RandomizedResponse, people: Integers, generator: np.random.Generator) -> Integers:
    """The truth of some, and a draw from the cover of the others."""
    told = generator.binomial(people, channel.truth / 2**channel.scale)
    cover = np.array([channel.cover_of(y) for y in range(channel.inputs)], dtype=np.float64)
    if not channel.covered:
        return told
    counts: Integers = told + generator.multinomial(int((people - told).sum()), cover / cover.sum())
    return counts


def _bits(channel: Bits, people: Integers, generator: np.random.Generator) -> Integers:
    """Each bit by itself: set with probability a by those who hold its value, b by all others."""
    class_of = np.asarray(channel.class_of, dtype=np.int64)
    own, other = (np.array(weights)[class_of] / S for weights in (channel.own, channel.other))
    counts: Integers = generator.binomial(people, own) + generator.binomial(people.sum() - people, other)
    return counts


def _blocks(channel: Blocks, people: Integers, generator: np.random.Generator) -> Integers:
    """Each block through its inner channel; open inputs as they are, or hidden evenly in the one block there is."""
    counts = np.zeros(channel.outputs, dtype=np.int64)
    for block, inner in enumerate(channel.channels, 1):
        start = channel.offsets[block]
        held = people[list(channel.members[block])]
        counts[start : start + inner.outputs] = _counts(inner, held, generator) if inner.outputs > 1 else held.sum()
    told = people[list(channel.members[0])]
    if channel.cover:
        hidden = generator.binomial(told, channel.hidden / 2**channel.scale)
        outputs = channel.channels[0].outputs
        start = channel.offsets[1]
        counts[start : start + outputs] += generator.multinomial(int(hidden.sum()), np.full(outputs, 1 / outputs))
        told = told - hidden
    counts[channel.offsets[0] : channel.offsets[0] + len(told)] += told
    return counts


def _rows(channel: Channel, people: Integers, generator: np.random.Generator) -> Integers:
    decoder = decoder_of(channel)
    counts = np.zeros(channel.outputs, dtype=np.int64)
    unit = np.zeros(channel.inputs)
    for x in np.flatnonzero(people):
        unit[x] = 1
        row = np.maximum(decoder.forward(unit), 0)
        unit[x] = 0
        counts += generator.multinomial(people[x], row / row.sum())
    return counts


def _columns(channel: Hadamard, people: Integers, generator: np.random.Generator) -> Integers:
    """Hadamard's columns, as ``Hadamard.sample`` draws them."""
    row = np.repeat(np.arange(1, channel.inputs + 1), people)
    column = generator.integers(channel.outputs, size=len(row))
    lies = generator.random(len(row)) >= channel.truth / ONE
    wrong = (np.bitwise_count(row & column) & 1).astype(bool) ^ lies
    return np.bincount(column ^ (row & -row) * wrong, minlength=channel.outputs)


def _one_by_one(channel: Channel, people: Integers, generator: np.random.Generator) -> Integers:
    """Everybody as a device does it."""
    counts = np.zeros(channel.features, dtype=np.int64)
    for x in np.flatnonzero(people):
        for _ in range(people[x]):
            y = channel.sample(int(x), generator.bytes(channel.rand_bytes))
            if channel.unary:
                counts += np.array([y >> channel.inputs - 1 - bit & 1 for bit in range(channel.inputs)])
            else:
                counts[y] += 1
    return counts

"""Simulated people: each has a device with its own key that sends signed reports.

Only the people are simulated. Keys are derived, answers indexed, outputs drawn, reports sealed and enrolments signed by
the functions of ``protocol`` that a device calls, in the same order. Consent, ledger and store are left out: they bound
a person's spending over time and leave no trace in a report. A test checks that a device with the same randomness sends
the same bytes.

A seed replaces the operating system's randomness, including that of keys. It is for experiments: whoever knows the
seed knows every answer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from aggregator.truth_file import Truth
from protocol import personal
from protocol.campaign import Campaign
from protocol.domain import DITHER_BYTES, Answer
from protocol.keys import SECRET_BYTES, SigningKey
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.transcript import TranscriptPrior
from protocol.report import Enrolment, Report
from protocol.views import view_of

MAX_DEVICES = 10**8
"""Maximum number of simulated devices: each takes about 16 bytes of memory, and 8 for each period."""
CHUNK = 2_000
"""Number of people that a process simulates before it returns their bytes."""
CHUNKS_EACH = 3
"""Minimum number of chunks per process: with fewer, one process is faster, since loading another takes time."""


@dataclass(frozen=True)
class Person:
    """One simulated person.

    Attributes:
        answers: values of the campaign's domain, one for each period.
        class_index: index of the person's class; 0 in a campaign without classes.
        prior: the declared prior, in a campaign with declared priors.
        level: the declared level in nanonats; 0 for the campaign's level.
    """

    answers: tuple[Answer, ...]
    class_index: int = 0
    prior: tuple[int, ...] | None = None
    level: int = 0


@dataclass(frozen=True)
class SimulatedUpload:
    """The envelopes sent by a part of the simulated devices.

    Attributes:
        reports: the batch. In a campaign with open enrolment, each device's reports follow its enrolment.
        enrolments: the enrolments alone, one for each device.
        people: number of devices.
    """

    reports: bytes
    enrolments: bytes
    people: int


def simulate(
    campaign: Campaign,
    campaign_id: bytes,
    truth: Truth,
    periods: range,
    change: float = 0.0,
    *,
    seed: int | None = None,
    processes: int = 1,
) -> Iterator[SimulatedUpload]:
    """Simulate the answers of all people of ``truth`` in each period, in random order. A person uses one device in all
    periods.

    From one period to the next a person keeps their answer with probability 1 - ``change``. Otherwise they draw an
    answer, which may be the same one, from the true answers of the people of the same class and declaration; if
    ``truth.chances`` is set, these are the relative probabilities. So each period has the same expected shares. Like a
    real device, a simulated one draws once for each value and repeats that output whenever the value is the same;
    with transcripts it draws for every report.

    Args:
        campaign: the campaign that the devices have joined.
        campaign_id: its id, 16 bytes.
        truth: the true answers.
        periods: at least one, consecutive.
        change: probability of drawing a new answer, 0 to 1.
        seed: for experiments; None uses the operating system's randomness. With transcripts and a seed, everybody
            answered in all earlier periods; without a seed, in none.
        processes: number of processes; the result of a seed does not depend on it. A script that asks for several must
            begin its work under ``if __name__ == "__main__"``, because each process imports the script.
    Returns:
        An iterator over the uploads, each from a part of the devices; their ``reports`` can be ingested.
    Raises:
        ValueError: no period, periods that are not consecutive, or a ``change`` outside 0 to 1.
    """
    if not periods or periods.step != 1:
        raise ValueError(f"periods must be one or more consecutive periods, not {periods}")
    if not 0 <= change <= 1:
        raise ValueError(f"change must be a probability from 0 to 1, not {change}")
    order = shuffled(truth, seed)
    class_indices, declared = classes_of(campaign, truth, order, seed), _declared(campaign, truth)
    history = histories(truth, declared, order, len(periods), change, seed)
    starts = range(0, len(order), CHUNK)
    chunks = (
        [
            Person(
                tuple(truth.answers[group] for group in groups), class_index, *(declared[groups[0]] if declared else ())
            )
            for groups, class_index in zip(
                history[start : start + CHUNK].tolist(), class_indices[start : start + CHUNK], strict=True
            )
        ]
        for start in starts
    )
    work = (repeat(campaign), repeat(campaign_id), chunks, starts, repeat(periods), repeat(seed))
    processes = min(processes, len(starts) // CHUNKS_EACH)
    if processes < 2:
        yield from map(_answer_all, *work)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_answer_all, *work)


def shuffled(truth: Truth, seed: int | None) -> NDArray[np.int64]:
    """Return the (people,) index of each person's group, in random answering order; a seed fixes the order."""
    order = np.repeat(np.arange(len(truth.answers)), truth.counts)
    np.random.default_rng(seed).shuffle(order)
    return order


def classes_of(campaign: Campaign, truth: Truth, order: NDArray[np.int64], seed: int | None) -> list[int]:
    """Return the (people,) class of each person; 0 in a campaign without classes.

    Args:
        order: (people,) index of each person's group; see ``shuffled``.
    """
    if not campaign.classes:
        return [0] * len(order)
    if truth.class_indices:
        return [truth.class_indices[group] for group in order]
    generator = np.random.default_rng(None if seed is None else [seed, len(campaign.classes)])
    class_indices: list[int] = generator.integers(len(campaign.classes), size=len(order)).tolist()
    return class_indices


def histories(
    truth: Truth, declared: Sequence[Hashable], order: NDArray[np.int64], periods: int, change: float, seed: int | None
) -> NDArray[np.int64]:
    """Return the (people, periods) index of the group whose answer each person gives in each period.

    A person only moves between groups of the same class and declaration, because a device never changes these two.
    """
    history = np.repeat(order[:, np.newaxis], periods, axis=1)
    generator = np.random.default_rng(None if seed is None else [seed, periods, 1])
    counts = np.array(truth.chances or truth.counts, dtype=np.float64)
    kinds = list(zip(truth.class_indices or (0,) * len(counts), declared or ((),) * len(counts), strict=True))
    number_of = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    kind_of = np.array([number_of[kind] for kind in kinds])
    for period in range(1, periods):
        history[:, period] = history[:, period - 1]
        changed = generator.random(len(order)) < change
        for number in range(int(kind_of.max()) + 1):
            movers = np.flatnonzero(changed & (kind_of[order] == number))
            groups = np.flatnonzero(kind_of == number)
            if len(movers):
                history[movers, period] = generator.choice(groups, len(movers), p=counts[groups] / counts[groups].sum())
    return history


def _declared(campaign: Campaign, truth: Truth) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return the declared prior and level of each group; empty if people of the campaign declare no priors."""
    if not isinstance(campaign.notion, DeclaredPrior):
        return ()
    levels = truth.levels or (0,) * len(truth.answers)
    if truth.priors:
        return tuple(zip(truth.priors, levels, strict=True))
    half = personal.MAX_DECLARED_WEIGHT // 2
    shares = truth.shares(campaign.domain).tolist()
    prior = personal.canonical_prior([1 + int(share * half) for share in shares])
    return tuple((prior, level) for level in levels)


def _answer_all(
    campaign: Campaign, campaign_id: bytes, people: Sequence[Person], first: int, periods: range, seed: int | None
) -> SimulatedUpload:
    reports, enrolments = bytearray(), bytearray()
    for number, person in enumerate(people, first):
        draw = random_source(seed, number)
        sealed, enrolment = _answer(campaign, campaign_id, person, periods, draw, repeats=seed is not None)
        enrolments += enrolment
        if campaign.enrolment == "open":
            reports += enrolment
        reports += sealed
    return SimulatedUpload(bytes(reports), bytes(enrolments), len(people))


def _answer(
    campaign: Campaign,
    campaign_id: bytes,
    person: Person,
    periods: range,
    draw: Callable[[int], bytes],
    *,
    repeats: bool,
) -> tuple[bytes, bytes]:
    """Return the reports and the enrolment of one device; its key is drawn before the answer is read.

    Args:
        repeats: with transcripts, whether the device answered in all earlier periods, with the same randomness.
    """
    key = SigningKey.for_campaign(draw(SECRET_BYTES), campaign_id)
    view = view_of(campaign_id, key.public, campaign.view_ends)
    dither = draw(DITHER_BYTES)
    inputs = [campaign.domain.index(answer, dither) for answer in person.answers]
    if campaign.transcript:
        before = range(0 if repeats else periods.start, periods.start)
        inputs = [inputs[0]] * len(before) + inputs
        chain = _transcript(campaign.transcript, inputs, range(before.start, periods.stop), draw)
        outputs, slots = chain[len(before) :], list(range(len(before), len(chain)))
    else:
        outputs, slots = _memoized(campaign, person, view, inputs, draw), [0] * len(periods)
    reports = b"".join(
        Report.of(campaign_id, campaign, period, slot, [output], view).seal(key)
        for period, slot, output in zip(periods, slots, outputs, strict=True)
    )
    return reports, Enrolment(campaign_id, key.public, person.prior, person.level).seal(key)


def _memoized(
    campaign: Campaign, person: Person, view: int, inputs: Sequence[int], draw: Callable[[int], bytes]
) -> list[int]:
    """Return the outputs of one device: drawn once for each value of its view, then repeated."""
    channel = campaign.views[view].channel
    if isinstance(campaign.notion, DeclaredPrior) and person.prior is not None:
        channel = campaign.notion.channel_of(person.prior, channel, person.level)
    inputs = [campaign.input_of(x, person.class_index, view) for x in inputs]
    memo: dict[int, int] = {}
    for z in inputs:
        # As on a device, the bytes are drawn before the value is read, and even if they are not needed.
        rand = draw(channel.rand_bytes)
        if z not in memo:
            memo[z] = channel.sample(z, rand)
    return [memo[z] for z in inputs]


def _transcript(
    notion: TranscriptPrior, inputs: Sequence[int], periods: range, draw: Callable[[int], bytes]
) -> list[int]:
    """Return the outputs of one device with transcripts, in each of ``periods``."""
    reported: list[tuple[int, int]] = []
    for x, period in zip(inputs, periods, strict=True):
        channel = notion.channel_of(notion.prior_after(reported, period))
        reported.append((period, channel.sample(x, draw(channel.rand_bytes))))
    return [y for _, y in reported]


def random_source(seed: int | None, number: int) -> Callable[[int], bytes]:
    """Return the source of random bytes of person ``number``: the operating system, or a stream of the seed."""
    if seed is None:
        return os.urandom
    drawn = 0

    def draw(count: int) -> bytes:
        nonlocal drawn
        drawn += 1
        return hashlib.shake_256(f"halftruth simulation {seed} {number} {drawn}".encode()).digest(count)

    return draw

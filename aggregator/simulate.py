"""Simulated people: for each one, what a device does, from a key of its own to a signed report.

One idea: nothing is simulated but the people. Keys are derived, answers indexed, dice thrown, reports sealed and
enrolments signed by the same functions of ``protocol`` that a device calls, in the same order; only consent, ledger
and store are left out, which bound a person's spending over time and leave no trace in a report. A test holds that a
device with the same dice sends the same bytes.

A seed replaces the operating system's randomness, keys included. That is for experiments: whoever knows the seed
knows every answer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aggregator.sheet import SheetError, read_sheet
from protocol.campaign import Campaign
from protocol.domain import DITHER_BYTES, Answer, Buckets, Domain
from protocol.keys import SECRET_BYTES, SigningKey
from protocol.report import Enrolment, Report

CHUNK = 2_000
"""People a process works through before it hands over their bytes."""


@dataclass(frozen=True)
class Truth:
    """What a simulated population holds.

    Attributes:
        answers: the distinct answers, of the campaign's domain.
        counts: how many people hold each.
    """

    answers: tuple[Answer, ...]
    counts: tuple[int, ...]

    @property
    def people(self) -> int:
        """How many there are."""
        return sum(self.counts)

    def shares(self, domain: Domain) -> NDArray[np.float64]:
        """(k,) the distribution over the domain's inputs.

        A number between two bucket edges counts for both, by its distance, as stochastic rounding would have it
        on average.
        """
        shares = np.zeros(domain.size)
        for answer, count in zip(self.answers, self.counts, strict=True):
            if isinstance(domain, Buckets):
                lower, part = domain.place(answer)
                shares[lower + 1] += count * part
                shares[lower] += count * (1 - part)
            else:
                shares[domain.index(answer, bytes(DITHER_BYTES))] += count
        return shares / self.people


def read_truth(path: Path, domain: Domain) -> Truth:
    """The truth of a CSV file with the header ``value,count``.

    Raises:
        SheetError: the header, a value outside the domain, or a count that is not a whole number.
    """
    answers, counts = [], []
    for answer, count, where in read_sheet(path, domain, "count"):
        if count.denominator != 1 or count < 0:
            raise SheetError(f"{where}: a count is a whole number of people")
        answers.append(answer)
        counts.append(count.numerator)
    if not sum(counts):
        raise SheetError(f"{path.name} counts nobody")
    return Truth(tuple(answers), tuple(counts))


@dataclass(frozen=True)
class Sent:
    """What some devices sent: envelopes, one after another.

    Attributes:
        reports: the batch. For a campaign that takes any key, each report follows its device's enrolment.
        enrolments: the enrolments alone.
        people: how many devices.
    """

    reports: bytes
    enrolments: bytes
    people: int


def population(
    terms: Campaign,
    campaign_id: bytes,
    truth: Truth,
    period: int,
    seed: int | None = None,
    processes: int | None = None,
) -> Iterator[Sent]:
    """Let every person of ``truth`` answer once; people come in random order.

    Args:
        terms, campaign_id: the campaign they answer.
        truth: what they hold.
        period: the period they answer in.
        seed: for experiments; None takes the operating system's randomness.
        processes: how many work at once; the result of a seed does not depend on it.
    """
    order = shuffled(truth, seed)
    starts = range(0, len(order), CHUNK)
    chunks = ([truth.answers[place] for place in order[start : start + CHUNK]] for start in starts)
    work = (repeat(terms), repeat(campaign_id), chunks, starts, repeat(period), repeat(seed))
    processes = processes or os.cpu_count() or 1
    if len(starts) < 2 or processes < 2:
        yield from map(_answer_all, *work)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_answer_all, *work)


def shuffled(truth: Truth, seed: int | None) -> NDArray[np.int64]:
    """(people,) which answer each person holds, in the order in which they come."""
    order = np.repeat(np.arange(len(truth.answers)), truth.counts)
    np.random.default_rng(seed).shuffle(order)
    return order


def _answer_all(
    terms: Campaign, campaign_id: bytes, answers: Sequence[Answer], first: int, period: int, seed: int | None
) -> Sent:
    reports, enrolments = bytearray(), bytearray()
    for number, answer in enumerate(answers, first):
        draw = dice(seed, number)
        report, enrolment = _answer(terms, campaign_id, answer, period, draw)
        enrolments += enrolment
        if terms.enrolment == "open":
            reports += enrolment
        reports += report
    return Sent(bytes(reports), bytes(enrolments), len(answers))


def _answer(
    terms: Campaign, campaign_id: bytes, answer: Answer, period: int, draw: Callable[[int], bytes]
) -> tuple[bytes, bytes]:
    """One device: its report and its enrolment. Randomness is drawn before the answer is looked at."""
    key = SigningKey.for_campaign(draw(SECRET_BYTES), campaign_id)
    dither, rand = draw(DITHER_BYTES), draw(terms.channel.rand_bytes)
    output = terms.channel.sample(terms.domain.index(answer, dither), rand)
    report = Report.of(campaign_id, terms, period, 0, [output])
    return report.seal(key), Enrolment(campaign_id, key.public).seal(key)


def dice(seed: int | None, number: int) -> Callable[[int], bytes]:
    """Where person ``number`` gets random bytes: the operating system, or a stream of the seed."""
    if seed is None:
        return os.urandom
    drawn = 0

    def draw(count: int) -> bytes:
        nonlocal drawn
        drawn += 1
        return hashlib.shake_256(f"halftruth simulation {seed} {number} {drawn}".encode()).digest(count)

    return draw

"""Simulated people: for each one, what a device does, from a key of its own to a signed report.

One idea: nothing is simulated but the people. Keys are derived, answers indexed, dice thrown, reports sealed and
enrolments signed by the same functions of ``protocol`` that a device calls, in the same order; only consent, ledger
and store are left out, which bound a person's spending over time and leave no trace in a report. A test holds that a
device with the same dice sends the same bytes.

A seed replaces the operating system's randomness, keys included. That is for experiments: whoever knows the seed
knows every answer.
"""

from __future__ import annotations

import csv
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
from protocol import personal
from protocol.campaign import Campaign
from protocol.domain import DITHER_BYTES, Answer, Buckets, Domain, Items
from protocol.errors import NotInDomain
from protocol.keys import SECRET_BYTES, SigningKey
from protocol.notions.own import OwnPrior
from protocol.notions.transcript import TranscriptPrior
from protocol.report import Enrolment, Report

CHUNK = 2_000
"""People a process works through before it hands over their bytes."""


@dataclass(frozen=True)
class Truth:
    """What a simulated population holds.

    Attributes:
        answers: answers, of the campaign's domain, one for each group of people.
        counts: how many people hold each.
        places: the class of each group, in a campaign of classes; if empty, each person's is drawn evenly.
        priors: what the people of each group declare, in a campaign for people's own priors; if empty, everybody
            declares what the whole population holds.
    """

    answers: tuple[Answer, ...]
    counts: tuple[int, ...]
    places: tuple[int, ...] = ()
    priors: tuple[tuple[int, ...], ...] = ()

    @property
    def people(self) -> int:
        """How many there are."""
        return sum(self.counts)

    def shares(self, domain: Domain) -> NDArray[np.float64]:
        """(k,) the distribution over the domain's inputs.

        A number between two bucket edges counts for both, by its distance, as stochastic rounding would have it
        on average.
        """
        if isinstance(domain, Items):
            return self._holders(domain)
        shares = np.zeros(domain.size)
        for answer, count in zip(self.answers, self.counts, strict=True):
            if isinstance(domain, Buckets):
                lower, part = domain.place(answer)
                shares[lower + 1] += count * part
                shares[lower] += count * (1 - part)
            else:
                shares[domain.index(answer, bytes(DITHER_BYTES))] += count
        return shares / self.people

    def _holders(self, domain: Items) -> NDArray[np.float64]:
        """(m,) the share of people who hold each item."""
        holders = np.zeros(domain.count)
        for answer, count in zip(self.answers, self.counts, strict=True):
            members = [x for x in domain.members(answer) if x < domain.count]
            holders[members] += count
        return holders / self.people


def read_truth(path: Path, domain: Domain, classes: Sequence[str] = ()) -> Truth:
    """The truth of a CSV file with the header ``value,count``; of classes, ``value,count,class`` is good too.

    Raises:
        SheetError: the header, a value outside the domain, a class the campaign does not have, or a count that is not a
            whole number.
    """
    if classes and (found := _by_class(path, domain, classes)) is not None:
        return found
    answers, counts = [], []
    for answer, count, where in read_sheet(path, domain, "count"):
        if count.denominator != 1 or count < 0:
            raise SheetError(f"{where}: a count is a whole number of people")
        answers.append(answer)
        counts.append(count.numerator)
    if not sum(counts):
        raise SheetError(f"{path.name} counts nobody")
    return Truth(tuple(answers), tuple(counts))


def _by_class(path: Path, domain: Domain, classes: Sequence[str]) -> Truth | None:
    """The truth of a file with a column of classes; None where it has none."""
    answers, counts, places = [], [], []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            if next(rows, None) != ["value", "count", "class"]:
                return None
            for row in rows:
                where = f"{path.name}, line {rows.line_num}"
                if len(row) < 3 or not row[-2].strip().isdecimal() or row[-1] not in classes:
                    raise SheetError(f"{where}: a row is a value, a whole number of people, and one of the classes")
                try:
                    answers.append(domain.parse(",".join(row[:-2])))
                    domain.index(answers[-1], bytes(DITHER_BYTES))
                except NotInDomain as error:
                    raise SheetError(f"{where}: no value of the campaign: {error}") from None
                counts.append(int(row[-2]))
                places.append(classes.index(row[-1]))
    except (UnicodeDecodeError, csv.Error) as error:
        raise SheetError(f"{path.name} is not a CSV file: {error}") from None
    if not sum(counts):
        raise SheetError(f"{path.name} counts nobody")
    return Truth(tuple(answers), tuple(counts), tuple(places))


@dataclass(frozen=True)
class Person:
    """What one simulated person holds and answers as.

    Attributes:
        answer: of the campaign's domain.
        place: of their class; 0 in a campaign without classes.
        prior: what they declare, in a campaign for people's own priors.
    """

    answer: Answer
    place: int = 0
    prior: tuple[int, ...] | None = None


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
        seed: for experiments; None takes the operating system's randomness. With transcripts, the people of a seed
            answered in all periods before, and other people never did.
        processes: how many work at once; the result of a seed does not depend on it.
    """
    order, places = shuffled(truth, seed), classes_of(terms, truth, seed)
    declared = _declared(terms, truth)
    starts = range(0, len(order), CHUNK)
    chunks = (
        [
            Person(truth.answers[group], place, declared[group] if declared else None)
            for group, place in zip(order[start : start + CHUNK], places[start : start + CHUNK], strict=True)
        ]
        for start in starts
    )
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


def classes_of(terms: Campaign, truth: Truth, seed: int | None) -> list[int]:
    """(people,) the class of each person, in the order in which they come; 0 in a campaign without classes."""
    if not terms.classes:
        return [0] * truth.people
    if truth.places:
        return [truth.places[group] for group in shuffled(truth, seed)]
    generator = np.random.default_rng(None if seed is None else [seed, len(terms.classes)])
    places: list[int] = generator.integers(len(terms.classes), size=truth.people).tolist()
    return places


def _declared(terms: Campaign, truth: Truth) -> tuple[tuple[int, ...], ...]:
    """What the people of each group declare; empty where the campaign asks for nothing."""
    if not isinstance(terms.notion, OwnPrior):
        return ()
    if truth.priors:
        return truth.priors
    half = personal.MAX_DECLARED_WEIGHT // 2
    shares = truth.shares(terms.domain).tolist()
    return (personal.declared([1 + int(share * half) for share in shares]),) * len(truth.answers)


def _answer_all(
    terms: Campaign, campaign_id: bytes, people: Sequence[Person], first: int, period: int, seed: int | None
) -> Sent:
    reports, enrolments = bytearray(), bytearray()
    for number, person in enumerate(people, first):
        draw = dice(seed, number)
        report, enrolment = _answer(terms, campaign_id, person, period, draw, repeats=seed is not None)
        enrolments += enrolment
        if terms.enrolment == "open":
            reports += enrolment
        reports += report
    return Sent(bytes(reports), bytes(enrolments), len(people))


def _answer(
    terms: Campaign, campaign_id: bytes, person: Person, period: int, draw: Callable[[int], bytes], *, repeats: bool
) -> tuple[bytes, bytes]:
    """One device: its report and its enrolment. Randomness is drawn before the answer is looked at.

    Args:
        repeats: with transcripts, whether it answered in all periods before, by the same dice.
    """
    key = SigningKey.for_campaign(draw(SECRET_BYTES), campaign_id)
    dither, rand = draw(DITHER_BYTES), draw(terms.channel.rand_bytes)
    if terms.transcript:
        x = terms.domain.index(person.answer, dither)
        told = _told(terms.transcript, x, range(0 if repeats else period, period + 1), rand, draw)
        report = Report.of(campaign_id, terms, period, len(told) - 1, told[-1:])
        return report.seal(key), Enrolment(campaign_id, key.public).seal(key)
    channel = terms.channel
    if isinstance(terms.notion, OwnPrior) and person.prior is not None:
        channel = terms.notion.channel_of(person.prior)
    output = channel.sample(terms.input_of(terms.domain.index(person.answer, dither), person.place), rand)
    report = Report.of(campaign_id, terms, period, 0, [output])
    return report.seal(key), Enrolment(campaign_id, key.public, person.prior).seal(key)


def _told(notion: TranscriptPrior, x: int, periods: range, rand: bytes, draw: Callable[[int], bytes]) -> list[int]:
    """The outputs of one device whose value stays, in each of ``periods``; ``rand`` is for the first."""
    told: list[tuple[int, int]] = []
    for period in periods:
        channel = notion.channel_of(notion.prior_after(told, period))
        told.append((period, channel.sample(x, draw(channel.rand_bytes) if told else rand)))
    return [y for _, y in told]


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

"""Simulated people: for each one, what a device does, from a key of its own to a signed report.

Nothing is simulated but the people. Keys are derived, answers indexed, dice thrown, reports sealed and
enrolments signed by the same functions of ``protocol`` that a device calls, in the same order; only consent, ledger
and store are left out, which bound a person's spending over time and leave no trace in a report. A test holds that a
device with the same dice sends the same bytes.

A seed replaces the operating system's randomness, keys included. That is for experiments: whoever knows the seed
knows every answer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aggregator.author.value_table import SheetError, read_people, read_sheet_by_class
from protocol import personal
from protocol.campaign import Campaign
from protocol.domain import DITHER_BYTES, Answer, Domain, Form, Items, Line
from protocol.keys import SECRET_BYTES, SigningKey
from protocol.notions.own import OwnPrior
from protocol.notions.transcript import TranscriptPrior
from protocol.report import Enrolment, Report
from protocol.views import view_of

MOST_PEOPLE = 10**8
"""Devices that are simulated at once, at most: each is 8 bytes of memory before it has answered."""
CHUNK = 2_000
"""People a process works through before it hands over their bytes."""
CHUNKS_EACH = 3
"""Minimum number of chunks per process: with fewer, one process is faster, since loading another takes time."""


@dataclass(frozen=True)
class Truth:
    """What a simulated population holds.

    Attributes:
        answers: answers, of the campaign's domain, one for each group of people.
        counts: how many people hold each.
        places: the class of each group, in a campaign of classes; if empty, each person's is drawn evenly.
        priors: what the people of each group declare, in a campaign for people's own priors; if empty, everybody
            declares what the whole population holds.
        levels: of the people of each group, nanonats, which they declare with their priors; 0 for the campaign's, and
            if empty, of everybody.
        chances: of each group, in proportion, how often somebody who draws anew comes into it; if empty, as often as
            ``counts`` says.
    """

    answers: tuple[Answer, ...]
    counts: tuple[int, ...]
    places: tuple[int, ...] = ()
    priors: tuple[tuple[int, ...], ...] = ()
    levels: tuple[int, ...] = ()
    chances: tuple[float, ...] = ()

    @property
    def people(self) -> int:
        """How many there are."""
        return sum(self.counts)

    def within(self, place: int) -> Truth:
        """The truth of the people of the class at ``place``; of everybody, where no classes are stated.

        Args:
            place: a class, by its position in the campaign.
        Returns:
            The truth of these people.
        Raises:
            SheetError: nobody is of that class.
        """
        if not self.places:
            return self
        groups = [group for group, of in enumerate(self.places) if of == place]
        if not sum(self.counts[group] for group in groups):
            raise SheetError("the truth counts nobody of that class")
        return Truth(tuple(self.answers[group] for group in groups), tuple(self.counts[group] for group in groups))

    def shares(self, domain: Domain) -> NDArray[np.float64]:
        """The distribution over the domain's inputs.

        A number that devices round at random counts for the two inputs around it, by its distance from each.

        Args:
            domain: of the campaign.
        Returns:
            (k,) fractions that sum to 1; of items, (k,) shares of people who hold each.
        """
        if isinstance(domain, Items):
            return self._holders(domain)
        shares = np.zeros(domain.size)
        for answer, count in zip(self.answers, self.counts, strict=True):
            if isinstance(domain, Line) and domain.rounds_randomly:
                lower, part = domain.place(answer)
                shares[lower + 1] += count * part
                shares[lower] += count * (1 - part)
            else:
                shares[domain.index(answer, bytes(DITHER_BYTES))] += count
        return shares / self.people

    def among_answered(self, form: Form, names: Sequence[str]) -> NDArray[np.float64]:
        """The distribution of the answers to some questions of a form among the people who answer all of them.

        Args:
            names: of one question or two.
        Returns:
            (a,), or (a * b,) row by row: fractions that sum to 1.
        Raises:
            SheetError: nobody answers them.
        """
        domains = [form.questions[form.places[name]].domain for name in names]
        found, people = np.zeros([domain.size for domain in domains]), 0
        for answer, count in zip(self.answers, self.counts, strict=True):
            if not isinstance(answer, Mapping):
                raise ValueError("people of a form answer with a mapping")
            said = [each for name in names if (each := answer[name]) is not None]
            if count and len(said) == len(names):
                one = [Truth((each,), (1,)).shares(domain) for each, domain in zip(said, domains, strict=True)]
                found += count * reduce(np.multiply.outer, one)
                people += count
        if not people:
            raise SheetError(f"the truth counts nobody who answers {' and '.join(names)}")
        return found.ravel() / people

    def _holders(self, domain: Items) -> NDArray[np.float64]:
        """(m,) the share of people who hold each item."""
        holders = np.zeros(domain.count)
        for answer, count in zip(self.answers, self.counts, strict=True):
            members = [x for x in domain.members(answer) if x < domain.count]
            holders[members] += count
        return holders / self.people


def read_truth(path: Path, domain: Domain, classes: Sequence[str] = (), *, most: int | None = None) -> Truth:
    """The truth of a CSV file with the header ``value,count`` or, with classes, ``value,count,class``.

    Of a form, the header names its questions, with classes perhaps also ``class``, and each row is a person, or as many
    as a last column ``count`` says.

    Args:
        classes: the names of the campaign's classes.
        most: people, if that is limited.
    Returns:
        The number of people by value, and by class if the file has classes.
    Raises:
        SheetError: the header, a value outside the domain, a class the campaign does not have, or a count that is not a
            whole number.
    """
    if isinstance(domain, Form):
        return _require_people(path, _people(path, domain, classes), most)
    answers, counts, places = [], [], []
    for answer, count, place, where in read_sheet_by_class(path, domain, "count", classes):
        if count.denominator != 1 or count < 0:
            raise SheetError(f"{where}: a count is a whole number of people")
        answers.append(answer)
        counts.append(count.numerator)
        if place is not None:
            places.append(place)
    return _require_people(path, Truth(tuple(answers), tuple(counts), tuple(places)), most)


def _people(path: Path, form: Form, classes: Sequence[str]) -> Truth:
    """The truth of a CSV file of people who fill in a form: equal rows are one group."""
    found: dict[tuple[str, ...], int] = {}
    answers: list[Answer] = []
    counts: list[int] = []
    places: list[int] = []
    for texts, answer, place, count in read_people(path, form, classes):
        group = found.setdefault(texts, len(answers))
        if group == len(answers):
            answers.append(answer)
            counts.append(0)
            places += [] if place is None else [place]
        counts[group] += count
    return Truth(tuple(answers), tuple(counts), tuple(places))


def _require_people(path: Path, truth: Truth, most: int | None) -> Truth:
    if not truth.people:
        raise SheetError(f"{path.name} counts nobody")
    if most is not None and truth.people > most:
        raise SheetError(f"{path.name} counts more than {most:,} people, for each of whom a device would be simulated")
    return truth


@dataclass(frozen=True)
class Person:
    """What one simulated person holds and answers as.

    Attributes:
        answers: of the campaign's domain, one for each period they answer in.
        place: of their class; 0 in a campaign without classes.
        prior: what they declare, in a campaign for people's own priors.
        level: of their own, nanonats; 0 for the campaign's.
    """

    answers: tuple[Answer, ...]
    place: int = 0
    prior: tuple[int, ...] | None = None
    level: int = 0


@dataclass(frozen=True)
class SimulatedUpload:
    """What some devices sent: envelopes, one after another.

    Attributes:
        reports: the batch. For a campaign that takes any key, a device's reports follow its enrolment.
        enrolments: the enrolments alone, one for each device.
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
    processes: int = 1,
) -> Iterator[SimulatedUpload]:
    """Let every person of ``truth`` answer once; people come in random order.

    Args:
        terms, campaign_id: the campaign they answer.
        truth: what they hold.
        period: the period they answer in.
        seed: for experiments; None takes the operating system's randomness. With transcripts, the people of a seed
            answered in all periods before, and other people never did.
        processes: how many work at once; the result of a seed does not depend on it. A script that asks for more than
            one begins its work under ``if __name__ == "__main__"``, because each process imports the script.
    Returns:
        What the devices sent, some devices at a time.
    """
    return simulate(terms, campaign_id, truth, range(period, period + 1), seed=seed, processes=processes)


def simulate(
    terms: Campaign,
    campaign_id: bytes,
    truth: Truth,
    periods: range,
    change: float = 0.0,
    *,
    seed: int | None = None,
    processes: int = 1,
) -> Iterator[SimulatedUpload]:
    """Let every person of ``truth`` answer in each of ``periods``, always with the same device.

    From one period to the next a person keeps their answer with probability 1 - ``change``, and else draws a new one
    from the truth (of their class, if the truth states classes), perhaps the same. So each period has the same expected
    shares. Like a real device, a simulated one draws once for each value and repeats that output whenever the value is
    the same.

    Args:
        periods: consecutive, one at least.
        change: 0 to 1.
        terms: as in ``population``.
        campaign_id: as in ``population``.
        truth: as in ``population``.
        seed: as in ``population``.
        processes: as in ``population``.
    Returns:
        What the devices sent, some devices at a time; ``reports`` of each go to ``ingest``.
    Raises:
        ValueError: no period, periods that are not consecutive, or a change beyond 0 to 1.
    """
    if not periods or periods.step != 1 or not 0 <= change <= 1:
        raise ValueError("devices answer in one or more consecutive periods, and its change is from 0 to 1")
    order = shuffled(truth, seed)
    places, declared = classes_of(terms, truth, order, seed), _declared(terms, truth)
    held = histories(truth, declared, order, len(periods), change, seed)
    starts = range(0, len(order), CHUNK)
    chunks = (
        [
            Person(tuple(truth.answers[group] for group in groups), place, *(declared[groups[0]] if declared else ()))
            for groups, place in zip(held[start : start + CHUNK].tolist(), places[start : start + CHUNK], strict=True)
        ]
        for start in starts
    )
    work = (repeat(terms), repeat(campaign_id), chunks, starts, repeat(periods), repeat(seed))
    processes = min(processes, len(starts) // CHUNKS_EACH)
    if processes < 2:
        yield from map(_answer_all, *work)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_answer_all, *work)


def shuffled(truth: Truth, seed: int | None) -> NDArray[np.int64]:
    """(people,) which group of the truth each person is of, in the order in which they come; random without a seed."""
    order = np.repeat(np.arange(len(truth.answers)), truth.counts)
    np.random.default_rng(seed).shuffle(order)
    return order


def classes_of(terms: Campaign, truth: Truth, order: NDArray[np.int64], seed: int | None) -> list[int]:
    """(people,) the class of each person; 0 in a campaign without classes.

    Args:
        order: (people,) the group of each person, as ``shuffled`` returned it.
    """
    if not terms.classes:
        return [0] * len(order)
    if truth.places:
        return [truth.places[group] for group in order]
    generator = np.random.default_rng(None if seed is None else [seed, len(terms.classes)])
    places: list[int] = generator.integers(len(terms.classes), size=len(order)).tolist()
    return places


def histories(
    truth: Truth,
    declared: Sequence[Hashable],
    order: NDArray[np.int64],
    periods: int,
    change: float,
    seed: int | None,
) -> NDArray[np.int64]:
    """(people, periods) the group whose answer each person holds in each period.

    A person stays among the groups of their class and declared prior, which hold for the life of a device.
    """
    held = np.repeat(order[:, np.newaxis], periods, axis=1)
    generator = np.random.default_rng(None if seed is None else [seed, periods, 1])
    counts = np.array(truth.chances or truth.counts, dtype=np.float64)
    kinds = list(zip(truth.places or (0,) * len(counts), declared or ((),) * len(counts), strict=True))
    number_of = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    kin = np.array([number_of[kind] for kind in kinds])
    for period in range(1, periods):
        held[:, period] = held[:, period - 1]
        changed = generator.random(len(order)) < change
        for number in range(int(kin.max()) + 1):
            who = np.flatnonzero(changed & (kin[order] == number))
            groups = np.flatnonzero(kin == number)
            if len(who):
                held[who, period] = generator.choice(groups, len(who), p=counts[groups] / counts[groups].sum())
    return held


def _declared(terms: Campaign, truth: Truth) -> tuple[tuple[tuple[int, ...], int], ...]:
    """The prior and the level that the people of each group declare; empty where the campaign asks for nothing."""
    if not isinstance(terms.notion, OwnPrior):
        return ()
    levels = truth.levels or (0,) * len(truth.answers)
    if truth.priors:
        return tuple(zip(truth.priors, levels, strict=True))
    half = personal.MAX_DECLARED_WEIGHT // 2
    shares = truth.shares(terms.domain).tolist()
    prior = personal.declared([1 + int(share * half) for share in shares])
    return tuple((prior, level) for level in levels)


def _answer_all(
    terms: Campaign, campaign_id: bytes, people: Sequence[Person], first: int, periods: range, seed: int | None
) -> SimulatedUpload:
    reports, enrolments = bytearray(), bytearray()
    for number, person in enumerate(people, first):
        draw = dice(seed, number)
        told, enrolment = _answer(terms, campaign_id, person, periods, draw, repeats=seed is not None)
        enrolments += enrolment
        if terms.enrolment == "open":
            reports += enrolment
        reports += told
    return SimulatedUpload(bytes(reports), bytes(enrolments), len(people))


def _answer(
    terms: Campaign, campaign_id: bytes, person: Person, periods: range, draw: Callable[[int], bytes], *, repeats: bool
) -> tuple[bytes, bytes]:
    """One device: its reports and its enrolment. Randomness is drawn before the answer is looked at.

    Args:
        repeats: with transcripts, whether it answered in all periods before, by the same dice.
    """
    key = SigningKey.for_campaign(draw(SECRET_BYTES), campaign_id)
    view = view_of(campaign_id, key.public, terms.view_ends)
    dither = draw(DITHER_BYTES)
    inputs = [terms.domain.index(answer, dither) for answer in person.answers]
    if terms.transcript:
        before = range(0 if repeats else periods.start, periods.start)
        inputs = [inputs[0]] * len(before) + inputs
        told = _told(terms.transcript, inputs, range(before.start, periods.stop), draw)
        outputs, slots = told[len(before) :], list(range(len(before), len(told)))
    else:
        outputs, slots = _remembered(terms, person, view, inputs, draw), [0] * len(periods)
    reports = b"".join(
        Report.of(campaign_id, terms, period, slot, [output], view).seal(key)
        for period, slot, output in zip(periods, slots, outputs, strict=True)
    )
    return reports, Enrolment(campaign_id, key.public, person.prior, person.level).seal(key)


def _remembered(
    terms: Campaign, person: Person, view: int, inputs: Sequence[int], draw: Callable[[int], bytes]
) -> list[int]:
    """The outputs of one device: drawn once for each value of its view, and repeated when that comes again."""
    channel = terms.views[view].channel
    if isinstance(terms.notion, OwnPrior) and person.prior is not None:
        channel = terms.notion.channel_of(person.prior, channel, person.level)
    asked = [terms.input_of(x, person.place, view) for x in inputs]
    memo: dict[int, int] = {}
    for z in asked:
        rand = draw(channel.rand_bytes)  # before the value is looked at, needed or not
        if z not in memo:
            memo[z] = channel.sample(z, rand)
    return [memo[z] for z in asked]


def _told(notion: TranscriptPrior, inputs: Sequence[int], periods: range, draw: Callable[[int], bytes]) -> list[int]:
    """The outputs of one device with transcripts, in each of ``periods``."""
    told: list[tuple[int, int]] = []
    for x, period in zip(inputs, periods, strict=True):
        channel = notion.channel_of(notion.prior_after(told, period))
        told.append((period, channel.sample(x, draw(channel.rand_bytes))))
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

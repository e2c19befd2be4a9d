"""The questions of a unit's campaign, each with its source.

A campaign that is not a form has one question, which has the name "" here. A form needs a source for every question,
because the questions that a unit is asked are unknown before consent. The unit then reads the sources of these
questions only.

The module sensor reads a source, config defines its entries, and agent follows the schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from edge_sdk.unit.config import DEFAULT_TIMEOUT, Configuration, ConfigurationRefused, Source, in_seconds
from edge_sdk.unit.sensor import NO_READING, answer_of

if TYPE_CHECKING:
    from protocol.campaign import Campaign
    from protocol.domain import Answer, Domain, SingleAnswer
    from protocol.views import Map

SETTLE_SECONDS = 0.25
"""Seconds reserved to write a reading to the disk."""

Read = Callable[[str, float], tuple[str, str]]
"""A function of a question's name and a timeout in seconds that reads the source; it returns (reading, reason of
failure), one of them ""."""


@dataclass(frozen=True)
class SourcedQuestion:
    """A question and its source.

    Attributes:
        name: the name of a form's question; "" if the campaign is not a form.
        domain: the possible answers.
        skippable: True if the question may be left out.
        source: the source of its readings.
        timeout: maximum seconds of a reading; 0 for a file.
        instead: the answer, by the question's name, if the source gives none; None to report nothing.
    """

    name: str
    domain: Domain
    skippable: bool
    source: Source
    timeout: float
    instead: Mapping[str, Answer | None] | None = field(default=None, repr=False)

    def answer(self, text: str) -> dict[str, Answer | None] | None:
        """Return the answer for a reading, by the question's name; None if the question does not allow the reading.

        The answer to a skipped question is None, as in every answer to a form.
        """
        from protocol.domain.form import SKIPPED

        if self.skippable and text.strip() == SKIPPED:
            return {self.name: None}
        answer = answer_of(self.domain, text, self.source)
        return None if answer is None else {self.name: answer}

    def labels(self, answer: Answer | None) -> tuple[str, ...]:
        """Return the labels that an answer may be rounded to: at most two for a number rounded at random, else one."""
        from protocol.domain import DITHER_BYTES
        from protocol.domain.form import SKIPPED

        if answer is None:
            return (SKIPPED,)
        # The largest dither rounds down, and the smallest one rounds up.
        ends = (b"\xff" * DITHER_BYTES, bytes(DITHER_BYTES))
        return tuple(dict.fromkeys(self.domain.label(self.domain.index(answer, dither)) for dither in ends))


@dataclass(frozen=True)
class UnitSchedule:
    """The schedule of a unit's readings for a campaign.

    Attributes:
        every: seconds between two readings.
        timeout: maximum seconds of all readings for one answer, over all views, so that the times of uploads do not
            depend on the view.
        questions: all questions of the campaign, in order.
    """

    every: int
    timeout: float
    questions: tuple[SourcedQuestion, ...]

    def questions_of(self, map_: Map, domain: Domain) -> tuple[SourcedQuestion, ...]:
        """Return the questions that a view asks."""
        names = _names(map_, domain)
        return tuple(question for question in self.questions if question.name in names)


def unit_schedule(configuration: Configuration, campaign: Campaign) -> UnitSchedule:
    """Return the schedule of a unit for a campaign.

    Raises:
        ConfigurationRefused: the sources do not match the questions, an entry does not apply to this campaign, or the
            times do not fit its schedule.
    """
    _require_same(configuration.sources, campaign.domain)
    every = configuration.every or max(1, campaign.period_seconds // campaign.answers_per_period)
    if every > campaign.period_seconds:
        raise ConfigurationRefused(
            f"[schedule] every must be at most the campaign's period of {in_seconds(campaign.period_seconds)}, "
            f"not {every}"
        )
    together = [_names(view.map, campaign.domain) for view in campaign.views]
    share = min(DEFAULT_TIMEOUT, every / 2) / max(map(len, together))
    questions = tuple(
        _sourced(name, domain, skippable, configuration.sources[name], share)
        for name, domain, skippable in _parts(campaign.domain)
    )
    seconds = {question.name: question.timeout for question in questions}
    longest = max(together, key=lambda names: sum(seconds[name] for name in names))
    timeout = sum(seconds[name] for name in longest)
    if timeout + SETTLE_SECONDS >= every:
        entries = " and ".join(f"{_table(name)} timeout" for name in longest)
        total = entries if len(longest) == 1 else f"the sum of {entries}"
        raise ConfigurationRefused(
            f"{total} must be below {in_seconds(every - SETTLE_SECONDS)}, not {timeout:g}: a reading begins every "
            f"{in_seconds(every)}, and {in_seconds(SETTLE_SECONDS)} are reserved to store it"
        )
    return UnitSchedule(every, timeout, questions)


def read_all(questions: Iterable[SourcedQuestion], read: Read) -> tuple[Answer | None, str]:
    """Read the sources of the asked questions, one after another; return the answer.

    Every source is read, even after one that failed, so that the programs that run do not depend on a reading.

    Returns:
        (answer, ""); or (None, reason) if a source gave no answer and the configuration has no ``instead``. The reason
        does not name the question.
    """
    answers: dict[str, Answer | None] = {}
    why = ""
    for question in questions:
        text, reason = read(question.name, question.timeout)
        answer = (None if reason else question.answer(text)) or question.instead
        if answer is None:
            why = why or reason or NO_READING
        else:
            answers.update(answer)
    if why:
        return None, why
    form: dict[str, SingleAnswer | None] = answers  # type: ignore[assignment]  # no question of a form is a form
    return answers.get("", form), ""


def _names(map_: Map, domain: Domain) -> tuple[str, ...]:
    """Return the names of the questions that a view asks; ("",) if the campaign is not a form."""
    from protocol.views import QuestionsMap

    return tuple(question.name for question in map_.questions(domain)) if isinstance(map_, QuestionsMap) else ("",)


def _parts(domain: Domain) -> list[tuple[str, Domain, bool]]:
    """Return (name, domain, whether the question may be skipped) for each question."""
    from protocol.domain import Form

    if not isinstance(domain, Form):
        return [("", domain, False)]
    return [(question.name, question.domain, question.skippable) for question in domain.questions]


def _table(name: str) -> str:
    """Return the name of a question's table in the configuration."""
    return f"[source.{name}]" if name else "[source]"


def _require_same(sources: Mapping[str, Source], domain: Domain) -> None:
    """Refuse sources that do not match the questions.

    Raises:
        ConfigurationRefused: a question has no source, or a source belongs to no question.
    """
    names = [name for name, _, _ in _parts(domain)]
    if names == [""] and "" not in sources:
        raise ConfigurationRefused(
            f"{_table(next(iter(sources)))} is for a question of a form, but this campaign is not a form: name its "
            "source in [source]"
        )
    if names != [""] and "" in sources:
        raise ConfigurationRefused(
            f"this campaign is a form: give each question a source of its own, {', '.join(map(_table, names))}"
        )
    for name in sources:
        if name not in names:
            raise ConfigurationRefused(
                f"{_table(name)} is for a question that the form does not have; it has {', '.join(names)}"
            )
    for name in names:
        if name not in sources:
            raise ConfigurationRefused(
                f"question {name!r} has no source: add {_table(name)}, since any question of a form may be asked"
            )


def _sourced(name: str, domain: Domain, skippable: bool, source: Source, share: float) -> SourcedQuestion:
    """Return a question with its source.

    Args:
        share: the timeout in seconds if the source names none.
    Raises:
        ConfigurationRefused: the source has a scale, but the question asks for no number; or the question does not
            allow ``instead``.
    """
    from protocol.domain import Dates, Line

    asker = "question" if name else "campaign"
    if source.scale is not None and (not isinstance(domain, Line) or isinstance(domain, Dates)):
        raise ConfigurationRefused(
            f"{_table(name)} scale is for numbers, but this {asker} does not ask for a number: leave scale out"
        )
    instead = None
    if source.instead is not None:
        instead = SourcedQuestion(name, domain, skippable, Source(outside="skip"), 0).answer(source.instead)
        if instead is None:
            owner = "the question" if name else "the campaign's question"
            raise ConfigurationRefused(
                f"{_table(name)} instead is not an answer that {owner} allows: give one that it allows, or leave "
                "instead out"
            )
    timeout = share if source.timeout is None else source.timeout
    return SourcedQuestion(name, domain, skippable, source, 0 if source.file else timeout, instead)

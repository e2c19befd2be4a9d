"""Forms: several named questions, each with a domain of its own (SPEC 4).

A form is the product of its questions' domains. An input is a number in mixed radix, in which the first question is the
most significant digit. There may be far too many inputs to list, so every computation uses the inputs of single
questions. The map of a device's view lists the questions that the device is asked, and an answer contains only these.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import prod
from typing import ClassVar

from protocol import codec
from protocol.domain.domain import DITHER_BYTES, Answer, Domain, Grid, OrderedValues, SingleAnswer, Values, require_size
from protocol.domain.numbers import Buckets, Dates, NumberRange
from protocol.errors import DomainError, NotInDomain
from protocol.spelling import repeated

MIN_QUESTIONS, MAX_QUESTIONS = 2, 32
MAX_QUESTION = 500
"""Maximum number of characters of a question's text."""

SKIPPED = "skipped"
"""The label of the input for a skipped question."""

SEPARATOR, EQUALS = ";", "="
"""In an answer as text, the mark between two questions, and the mark between a question's name and its answer."""

_CONTEXT = b"halftruth question\0"
_NAME = re.compile(r"[a-z0-9_]{1,40}")
_SINGLE: dict[str, Callable[[codec.Value], Domain]] = {
    kind.kind: kind.from_wire for kind in (Values, OrderedValues, Grid, Buckets, NumberRange, Dates)
}
"""Decoders of the domains that a question may have, by kind on the wire."""


@dataclass(frozen=True)
class FormQuestion:
    """One question of a form.

    Attributes:
        name: the key of its answer, 1 to 40 characters of a-z, 0-9 and _.
        text: the question as shown to the person.
        domain: the possible answers: values, ordered values, a grid, buckets, a number or a date.
        skippable: True if a person may leave the question out; the input "skipped" then follows the domain's inputs.
    Raises:
        DomainError: an attribute is invalid, or does not fit the others.
    """

    name: str
    text: str
    domain: Domain
    skippable: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise DomainError(f"a question's name must be 1 to 40 characters of a-z, 0-9 and _, not {self.name[:40]!r}")
        if not self.text or len(self.text) > MAX_QUESTION or not codec.readable(self.text) or self.text.isspace():
            raise DomainError(
                f"the text of question {self.name!r} must be 1 to {MAX_QUESTION} readable characters, not only blanks; "
                f"this one has {len(self.text)}: {self.text[:40]!r}"
            )
        if self.domain.kind not in _SINGLE:
            raise DomainError(
                f"the domain of question {self.name!r} must be one of {', '.join(_SINGLE)}, not {self.domain.kind}"
            )
        for label in self.domain.labels if isinstance(self.domain, Values) else ():
            if SEPARATOR in label:
                raise DomainError(
                    f"question {self.name!r}: value {label[:40]!r} contains {SEPARATOR!r}, which separates answers: "
                    "leave it out"
                )
            if self.skippable and label == SKIPPED:
                raise DomainError(
                    f"question {self.name!r} can be skipped and has the value {SKIPPED!r}, which means a skipped "
                    "question: rename the value"
                )
        require_size(self.size)

    @property
    def size(self) -> int:
        """Number of inputs, including "skipped" if the question is skippable."""
        return self.domain.size + self.skippable

    def index(self, answer: SingleAnswer | None, dither: bytes) -> int:
        """Return the input for ``answer``; an ``answer`` of None is a skipped question.

        Raises:
            NotInDomain: the question does not allow the answer, or cannot be skipped.
        """
        if answer is None:
            if not self.skippable:
                raise NotInDomain(f"question {self.name!r} has no answer, and it cannot be skipped: answer it")
            return self.domain.size
        try:
            return self.domain.index(answer, dither)
        except NotInDomain as error:
            raise NotInDomain(f"question {self.name!r}: {error}") from None

    def label(self, x: int) -> str:
        return SKIPPED if x == self.domain.size else self.domain.label(x)

    def parse(self, text: str) -> SingleAnswer | None:
        """Return the answer written in ``text``; None for "skipped", if the question is skippable.

        Raises:
            NotInDomain: the question does not allow the answer.
        """
        if self.skippable and text.strip() == SKIPPED:
            return None
        try:
            # The type is right, because a position is the only answer to one question that is a tuple.
            return self.domain.parse(text.strip())  # type: ignore[return-value]
        except NotInDomain as error:
            raise NotInDomain(f"question {self.name!r}: {error}") from None

    def encode(self) -> codec.Value:
        """Return the wire form of the question (SPEC 4)."""
        return [self.name, self.text, self.domain.encode(), int(self.skippable)]

    @classmethod
    def from_wire(cls, value: codec.Value) -> FormQuestion:
        """Return the question of a wire form.

        Raises:
            DomainError: wrong fields, or an invalid question.
        """
        name, text, domain, skippable = codec.fields(value, 4, "a question", DomainError)
        kind = codec.tag(domain, "a question's domain", "kind", DomainError)
        if kind not in _SINGLE:
            raise DomainError(f"the domain of a question must be one of {', '.join(_SINGLE)}, not {kind[:40]!r}")
        return cls(
            codec.text(name, "a question's name", DomainError),
            codec.text(text, "a question's text", DomainError),
            _SINGLE[kind](domain),
            bool(codec.integer(skippable, "the skip flag of a question", DomainError, 0, 1)),
        )


@dataclass(frozen=True)
class Form(Domain):
    """A form of 2 to 32 questions; an answer is a mapping from their names to answers.

    Raises:
        DomainError: the attribute is invalid.
    """

    questions: tuple[FormQuestion, ...]
    kind: ClassVar[str] = "form"

    def __post_init__(self) -> None:
        if not MIN_QUESTIONS <= len(self.questions) <= MAX_QUESTIONS:
            raise DomainError(
                f"a form must have {MIN_QUESTIONS} to {MAX_QUESTIONS} questions, not {len(self.questions)}"
            )
        if len(self.positions) < len(self.questions):
            name = repeated([question.name for question in self.questions])
            raise DomainError(f"two questions of the form have the name {name!r}: rename one")

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each question in the form, by name."""
        return {question.name: position for position, question in enumerate(self.questions)}

    @cached_property
    def size(self) -> int:
        """Number of inputs of the form, the product over its questions. It may be very large; the inputs are never
        listed."""
        return prod(question.size for question in self.questions)

    @property
    def named(self) -> tuple[str, ...]:
        return tuple(name for question in self.questions for name in question.domain.named)

    def renamed(self, names: Sequence[str]) -> Form:
        rest, questions = iter(names), []
        for question in self.questions:
            domain = question.domain
            questions.append(replace(question, domain=domain.renamed(tuple(islice(rest, len(domain.named))))))
        return Form(tuple(questions))

    def reworded(self, texts: Sequence[str]) -> Form:
        """Return the same form with other question texts.

        Args:
            texts: one for each question, in order.
        Raises:
            DomainError: a text is not allowed for a question.
        """
        return Form(tuple(replace(question, text=text) for question, text in zip(self.questions, texts, strict=True)))

    def index(self, answer: Answer, dither: bytes) -> int:
        return self.index_of(range(len(self.questions)), answer, dither)

    def index_of(self, positions: Sequence[int], answer: Answer, dither: bytes) -> int:
        """Return the form's input for an answer to the questions at ``positions``; every other question has input 0.

        Args:
            positions: positions of the questions in the form.
            answer: a mapping from names of these questions to answers; other names are refused. A question is skipped
                if its answer is None or missing.
            dither: as for ``index``; the dither of each question is derived from it.
        Raises:
            NotInDomain: if the fault is in one question, the text names it.
            ValueError: the dither does not have ``DITHER_BYTES`` bytes.
        """
        if len(dither) != DITHER_BYTES:
            raise ValueError(f"the dither must be {DITHER_BYTES} bytes, not {len(dither)}")
        if not isinstance(answer, Mapping):
            raise NotInDomain(
                "the answer to a form must be a mapping from the names of the asked questions to answers, not "
                f"{type(answer).__name__}"
            )
        names = {self.questions[position].name for position in positions}
        if unasked := [question.name for question in self.questions if question.name in set(answer) - names]:
            pronoun = "it" if len(unasked) == 1 else "them"
            raise NotInDomain(f"this device is not asked {', '.join(map(repr, unasked))}: leave {pronoun} out")
        if set(answer) - names:
            raise self._unknown_question()
        inputs = [0] * len(self.questions)
        for position in positions:
            question = self.questions[position]
            inputs[position] = question.index(answer.get(question.name), _dither_of(position, dither))
        return self.join(inputs)

    def join(self, inputs: Sequence[int]) -> int:
        """Return the form's input for the given inputs of all its questions."""
        x = 0
        for question, digit in zip(self.questions, inputs, strict=True):
            x = x * question.size + digit
        return x

    def split(self, x: int) -> list[int]:
        """Return the input of each question that input ``x`` of the form is composed of."""
        digits = []
        for question in reversed(self.questions):
            x, digit = divmod(x, question.size)
            digits.append(digit)
        return digits[::-1]

    def label(self, x: int) -> str:
        return self.answer_text(range(len(self.questions)), self.split(x))

    def answer_text(self, positions: Sequence[int], inputs: Sequence[int]) -> str:
        """Return an answer to the questions at ``positions`` as text, such as ``age=30; vote=yes``."""
        pairs = zip((self.questions[position] for position in positions), inputs, strict=True)
        return f"{SEPARATOR} ".join(f"{question.name}{EQUALS}{question.label(x)}" for question, x in pairs)

    def parse(self, text: str) -> Answer:
        answers: dict[str, SingleAnswer | None] = {}
        for part in text.split(SEPARATOR):
            name, equals, value = part.partition(EQUALS)
            if not equals:
                raise NotInDomain(
                    f"a part of the answer has no {EQUALS!r}: write name{EQUALS}answer for each question that this "
                    f"device is asked; the form has {', '.join(self.positions)}"
                )
            position = self.positions.get(name.strip())
            if position is None:
                raise self._unknown_question()
            question = self.questions[position]
            if question.name in answers:
                raise NotInDomain(f"question {question.name!r} is answered more than once: answer it once")
            answers[question.name] = question.parse(value)
        return answers

    def _unknown_question(self) -> NotInDomain:
        names = ", ".join(self.positions)
        return NotInDomain(
            f"the answer names an unknown question; the form has {names}: answer those that this device is asked"
        )

    def encode(self) -> codec.Value:
        return [self.kind, [question.encode() for question in self.questions]]

    @classmethod
    def from_wire(cls, value: codec.Value) -> Form:
        _, questions = codec.fields(value, 2, "a form", DomainError)
        listed = codec.array(questions, "the questions of a form", DomainError)
        if len(listed) > MAX_QUESTIONS:
            raise DomainError(f"a form must have {MIN_QUESTIONS} to {MAX_QUESTIONS} questions, not {len(listed)}")
        return cls(tuple(map(FormQuestion.from_wire, listed)))


def _dither_of(position: int, dither: bytes) -> bytes:
    """Return the dither of one question.

    If all questions shared one dither, a person's numbers would be rounded up or down together, and estimates of the
    relation between two questions would be biased.
    """
    return hashlib.sha256(_CONTEXT + dither + bytes([position])).digest()[:DITHER_BYTES]

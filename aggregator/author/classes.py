"""Read ``[classes.NAME]``: classes of people, each with its own channel.

A class is a draft within the draft. Its table overrides entries of ``[privacy]`` and has the entries of ``[prior]``.
Each class gets a channel as if it were a campaign of its own; the campaign's channel has these channels as blocks.

    [privacy]
    notion = "lip"
    epsilon = 1.0

    [classes.farmers]
    counts = [50, 20, 10]

    [classes.gardeners]
    epsilon = 0.5
    counts = "gardeners.csv"

Budgets that people choose themselves (personalised LDP; Gu et al. 2020, sec. IV-A) are written as a class for each
choice:

    [privacy]
    notion = "minid"
    default = 2.0
    budgets = { HIV = 0.5 }

    [classes.open]

    [classes.careful]
    default = 1.0
    budgets = { HIV = 0.25 }

``privacy_section`` reads the notion of a class, and ``aggregator.planner.choice`` chooses its channel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aggregator.author.privacy_section import notion_of
from aggregator.author.toml_section import DraftError, Section, toml_text
from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.choice import AUTO, Candidate, Unsuited, chosen_candidate
from aggregator.planner.mean_edges import rounded_for_means
from protocol.channels import Blocks
from protocol.channels.blocks.channel import INNER
from protocol.domain import Domain
from protocol.notions import Notion
from protocol.notions.classes import Classes

CLASS_ENTRIES = ("epsilon", "budgets", "default", "pairs", "sensitive")
"""Entries of ``[privacy]`` that a class may set for itself."""


def classes_of(
    classes: dict[str, Any], privacy: dict[str, Any], domain: Domain, folder: Path
) -> tuple[Classes, tuple[str, ...]]:
    """Return the notion of ``[classes.NAME]``, and the names of the classes.

    Args:
        classes: a table for each class, with its overrides of ``CLASS_ENTRIES`` and the entries of ``[prior]``.
        privacy: ``[privacy]``, the default for every class.
        folder: the folder to which the names of files in the draft are relative.
    Raises:
        DraftError, BadData: there is one class or none, or an entry is invalid.
        OSError: a file cannot be read.
    """
    if len(classes) < 2:
        raise DraftError(f"[classes] needs at least two classes, not {len(classes)}: give each a table [classes.NAME]")
    return Classes.of(tuple(_of_class(name, table, privacy, domain, folder) for name, table in classes.items())), tuple(
        classes
    )


def _of_class(name: str, table: object, privacy: dict[str, Any], domain: Domain, folder: Path) -> Notion:
    if not isinstance(table, dict):
        raise DraftError(
            f"[classes] {name} must be a table, not {toml_text(table)}: write its entries under [classes.{name}]"
        )
    overrides = {key: value for key, value in table.items() if key in CLASS_ENTRIES}
    promise = Section("privacy", privacy | overrides, dict.fromkeys(overrides, f"classes.{name}"))
    prior = Section(f"classes.{name}", {key: value for key, value in table.items() if key not in overrides})
    notion = notion_of(promise, prior, domain, folder)
    promise.refuse_unknown()
    prior.refuse_unknown(CLASS_ENTRIES)
    return notion


@dataclass(frozen=True)
class DraftClasses:
    """The classes of people that a draft describes.

    Attributes:
        names: the names of the classes.
        questions: the question of each class, all over one domain, each with the class's part of the expected reports.
        choices: the mechanism and channel of each class.
    """

    names: tuple[str, ...]
    questions: tuple[PlannedQuestion, ...]
    choices: tuple[Candidate, ...]

    @classmethod
    def of(cls, names: tuple[str, ...], question: PlannedQuestion, name: str) -> DraftClasses:
        """Return the classes, each with the channel of the mechanism ``name``; for ``auto``, of the best mechanism.

        Args:
            names: the names of the classes.
            question: the question to all classes, with all expected reports; classes have equal size. For a mean,
                ``auto`` replaces the domain by a few numbers, the same for all classes.
        Raises:
            DraftError: no mechanism applies to a class, or the named mechanism does not.
        """
        questions = class_questions(question)
        if name == AUTO:
            questions = rounded_for_means(questions)
        return cls(names, tuple(questions), tuple(class_choice(name, of_class) for of_class in questions))

    @property
    def mechanism(self) -> str:
        """The names of the mechanisms."""
        return side_by_side(self.choices)[0]

    @property
    def channel(self) -> Blocks:
        """The combined channel of all classes."""
        return side_by_side(self.choices)[1]


def class_questions(question: PlannedQuestion) -> list[PlannedQuestion]:
    """Return the question of each class.

    Raises:
        TypeError: the question has no classes.
    """
    if not isinstance(question.notion, Classes):
        raise TypeError(
            f'the question has no classes (its notion is "{question.notion.name}"): use the question itself'
        )
    reports = math.ceil(question.reports / len(question.notion.notions))
    return [replace(question, notion=inner, reports=reports) for inner in question.notion.notions]


def class_choice(name: str, question: PlannedQuestion) -> Candidate:
    """Return the candidate of the mechanism ``name`` for the question to one class; for ``auto``, the best candidate.

    Raises:
        DraftError: no mechanism applies to the question, or the named mechanism does not.
    """
    inner = tuple(INNER.values())
    try:
        choice = chosen_candidate(name, question, inner)
    except Unsuited as error:
        raise DraftError(f"[mechanism] {error}") from None
    if not isinstance(choice.channel, inner):
        raise DraftError(
            f'[mechanism] "{name}" makes {choice.channel.family} channels, which classes cannot have; use "{AUTO}"'
        )
    return choice


def side_by_side(choices: Sequence[Candidate]) -> tuple[str, Blocks]:
    """Return the names of the mechanisms of all classes, and the combined channel."""
    runs = tuple((block, choice.channel.input_count) for block, choice in enumerate(choices, 1))
    names = dict.fromkeys(choice.mechanism.name for choice in choices)
    return ", ".join(names), Blocks(0, runs, tuple(choice.channel for choice in choices))

"""Drafts of campaigns whose people answer through channels of different classes.

A class is a draft within the draft. Its table says what is promised to it beside what ``[privacy]`` promises to all,
and it is asked like a campaign of its own; the channels then stand side by side as blocks.

    [privacy]
    notion = "lip"
    epsilon = 1.0

    [classes.farmers]
    counts = [50, 20, 10]

    [classes.gardeners]
    epsilon = 0.5
    counts = "gardeners.csv"

So budgets of values that people choose between (Gu et al. 2020, sec. IV-A: together with personalised LDP) are a
class for each choice:

    [privacy]
    notion = "minid"
    default = 2.0
    budgets = { HIV = 0.5 }

    [classes.open]

    [classes.careful]
    default = 1.0
    budgets = { HIV = 0.25 }

How one notion is read: privacy_section. How one channel is found: aggregator.planner.choice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aggregator.author.privacy_section import notion_of
from aggregator.author.toml_section import DraftError, Section
from aggregator.families.mechanism import Question
from aggregator.planner.choice import AUTO, Unsuited, best, candidates, chosen, most_bits_of
from protocol.channels import Blocks, Channel, Wave
from protocol.channels.blocks.channel import INNER
from protocol.domain import Domain
from protocol.notions import Notion
from protocol.notions.classes import Classes

PROMISES = ("epsilon", "budgets", "default", "pairs", "sensitive")
"""Entries of ``[privacy]`` that a class may have of its own, in place of those for all."""


def classes_of(
    classes: dict[str, Any], privacy: dict[str, Any], domain: Domain, folder: Path
) -> tuple[Classes, tuple[str, ...]]:
    """The notion of ``[classes.NAME]``, and the names.

    Args:
        classes: a table for each class: ``PROMISES`` of its own, and the entries of ``[prior]``.
        privacy: ``[privacy]``, which holds for every class that says nothing else.
        folder: where files that the draft names are looked for.
    Raises:
        DraftError, BadData
    """
    if len(classes) < 2:
        raise DraftError("[classes] holds two classes or more, each a table [classes.NAME]")
    return Classes.of(tuple(_of_class(name, table, privacy, domain, folder) for name, table in classes.items())), tuple(
        classes
    )


def _of_class(name: str, table: object, privacy: dict[str, Any], domain: Domain, folder: Path) -> Notion:
    if not isinstance(table, dict):
        raise DraftError(f"[classes] {name} is a table of its own, [classes.{name}]")
    own = {key: value for key, value in table.items() if key in PROMISES}
    promise = Section("privacy", privacy | own)
    prior = Section(f"classes.{name}", {key: value for key, value in table.items() if key not in own})
    notion = notion_of(promise, prior, domain, folder)
    promise.done()
    prior.done()
    return notion


def class_channel(name: str, domain: Domain, notion: Classes) -> tuple[str, Blocks]:
    """The channel of all classes, each made by the mechanism called ``name``, or for ``auto`` by the best for it.

    Returns:
        the names of the mechanisms, and the channel.
    Raises:
        DraftError: a class that no mechanism serves, or not the one named.
    """
    found = [_one(name, Question(domain, inner)) for inner in notion.notions]
    runs = tuple((block, domain.size) for block in range(1, len(found) + 1))
    return ", ".join(dict.fromkeys(made for made, _ in found)), Blocks(0, runs, tuple(channel for _, channel in found))


def _one(name: str, question: Question) -> tuple[str, Channel]:
    inner = tuple(INNER.values())
    try:
        if name == AUTO:
            serving = [one for _, one in candidates(question) if not isinstance(one, str)]
            fitting = [one for one in serving if isinstance(one.channel, inner)]
            choice, _ = best(question, fitting, most_bits_of(question, None))
            return choice.mechanism.name, choice.channel
        name, channel = chosen(name, question)
    except Unsuited as error:
        raise DraftError(f"[mechanism] {error}") from None
    if isinstance(channel, Wave):
        raise DraftError(
            "[mechanism] classes have no wave, which is read as a whole: make a campaign for each class, and set them "
            f"beside each other with `halftruth compare`; or use {AUTO}, which is read value by value"
        )
    if not isinstance(channel, inner):
        raise DraftError(
            f'[mechanism] "{name}" makes {channel.family} channels, which cannot be a class\'s; use {AUTO}'
        )
    return name, channel

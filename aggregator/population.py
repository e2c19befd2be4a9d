"""Known shares of the population (margins), by class or by a question of a form.

The analyst writes them as a TOML file, which is not signed and which no device reads.

    [[margin]]
    by = "class"                                  # or the name of a question of the form
    shares = { town = 0.6, village = 0.4 }        # or people = { town = 61000, village = 40500 }
    source = "Census 2021"                        # optional, printed beside the estimate

    [[margin]]
    by = "education"
    groups = { school = ["none", "primary"], more = ["secondary", "bachelor"] }
    shares = { school = 0.55, more = 0.45 }

A margin names every class or value exactly once, either alone or in one group. The margin of a question that may be
skipped describes the people who would answer it.

``estimate.class_weights`` and ``estimate.form_weights`` compute weights from margins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from aggregator.author.toml_section import (
    SUM_TOLERANCE,
    DraftError,
    Section,
    finite_number,
    normalised,
    read_toml,
    toml_text,
)
from aggregator.estimate.weighting import BY_CLASS, KnownMargin
from protocol.campaign import Campaign
from protocol.domain.form import Form
from protocol.spelling import suggestion


def read_population(path: Path, campaign: Campaign) -> tuple[KnownMargin, ...]:
    """Return the margins in a file, for a campaign.

    Raises:
        DraftError: the file is invalid, or does not fit the campaign. The text names the file and the entry.
        OSError: the file cannot be read.
    """
    document = read_toml(path)
    try:
        return _margins(document, campaign)
    except DraftError as error:
        raise DraftError(f"{path.name}: {error}") from None


def _margins(document: dict[str, Any], campaign: Campaign) -> tuple[KnownMargin, ...]:
    top = Section("", document)
    tables = top.list_of("margin", dict, "tables [[margin]]")
    if unknown := sorted(set(document) - {"margin"}):
        raise DraftError(f"the file may only have tables [[margin]], not {toml_text(unknown[0])}: leave it out")
    if not tables:
        raise DraftError("the file has no margins: give at least one table [[margin]]")
    margins, people = [], []
    for table in tables:
        margin, total = _margin(table, campaign)
        margins.append(margin)
        people.append(total)
    counted = [total for total in people if total is not None]
    if counted and max(counted) - min(counted) > SUM_TOLERANCE * max(counted):
        raise DraftError(
            f"one margin counts {float(min(counted)):,.0f} people and another {float(max(counted)):,.0f}; all margins "
            "must count the same population: correct the counts, or give shares"
        )
    return tuple(margins)


def _margin(table: dict[str, Any], campaign: Campaign) -> tuple[KnownMargin, Fraction | None]:
    """Return a margin and its total number of people; the number is None if the margin has shares."""
    section = Section("margin", table)
    variable = section.take("by", str, f'"{BY_CLASS}", or the name of a question of the form')
    section.name = f"margin {toml_text(variable)}"
    question, labels, noun = _of(variable, campaign)
    groups = _groups(section, labels, noun)
    people = "people" in section
    if people == ("shares" in section):
        entries = "both shares and people" if people else "neither shares nor people"
        raise DraftError(f"[{section.name}] has {entries}: give one of them, with a number for each {noun} or group")
    numbers = section.take("people" if people else "shares", dict, "a table of numbers")
    source = section.take("source", str, "a text", "")
    section.refuse_unknown()
    exact = {name: finite_number(section, name, number) for name, number in numbers.items()}
    for name in exact:
        if name not in groups:
            raise DraftError(
                f"[{section.name}] there is no {noun} or group {toml_text(name)}"
                f"{suggestion(name, groups) or '; expected one of: ' + ', '.join(groups)}"
            )
    if missing := [name for name in groups if name not in exact]:
        raise DraftError(
            f"[{section.name}] has no number for {toml_text(missing[0])}: give each {noun} or group a number"
        )
    if empty := [name for name, number in exact.items() if number <= 0]:
        raise DraftError(
            f"[{section.name}] the number for {toml_text(empty[0])} must be above zero: put an empty {noun} into a "
            "group"
        )
    shares, total = [exact[name] for name in groups], sum(exact.values(), Fraction())
    if not people:
        shares = normalised(shares, f"[{section.name}] the shares")
    of_label = {label: place for place, members in enumerate(groups.values()) for label in members}
    margin = KnownMargin(
        variable,
        question,
        tuple(groups),
        np.array([float(share / sum(shares, Fraction())) for share in shares]),
        np.array([of_label[label] for label in labels], dtype=np.int64),
        source,
    )
    return margin, total if people else None


def _of(variable: str, campaign: Campaign) -> tuple[int | None, Sequence[str], str]:
    """Return the position of the question (None for classes), the names of its values or of the classes, and the noun
    for such a name."""
    if isinstance(campaign.domain, Form) and not (campaign.classes and variable == BY_CLASS):
        if variable not in campaign.domain.positions:
            known = campaign.domain.positions
            raise DraftError(
                f"[margin] the form has no question {toml_text(variable)}"
                f"{suggestion(variable, known) or '; its questions are ' + ', '.join(known)}"
                f"{', and its margins may be by class' if campaign.classes else ''}"
            )
        place = campaign.domain.positions[variable]
        domain = campaign.domain.questions[place].domain
        return place, [domain.label(x) for x in range(domain.size)], "value"
    if variable != BY_CLASS:
        raise DraftError(f'[margin] by must be "{BY_CLASS}", not {toml_text(variable)}: the campaign is not a form')
    if not campaign.classes:
        raise DraftError(
            f"{campaign.title!r} is not a form and has no classes, so it has no margins: leave out --margins"
        )
    return None, campaign.classes, BY_CLASS


def _groups(section: Section, labels: Sequence[str], noun: str) -> Mapping[str, Sequence[str]]:
    """Return the labels of each group; a label without a group forms a separate group."""
    listed = section.take("groups", dict, f"a table of lists, such as {{ more = [{toml_text(labels[0])}] }}", {})
    grouped: dict[str, str] = {}
    for name, members in listed.items():
        if not isinstance(members, list) or not members or not all(isinstance(member, str) for member in members):
            raise DraftError(
                f"[{section.name}] group {toml_text(name)} must be a list of {noun} names, not {toml_text(members)}"
            )
        for member in members:
            if member not in labels:
                expected = suggestion(member, labels) or f"; expected a {noun} such as {toml_text(labels[0])}"
                raise DraftError(f"[{section.name}] there is no {noun} {toml_text(member)}{expected}")
            if grouped.setdefault(member, name) != name or members.count(member) > 1:
                raise DraftError(f"[{section.name}] the groups name the {noun} {toml_text(member)} twice: name it once")
    alone = [label for label in labels if label not in grouped]
    if both := [label for label in alone if label in listed]:
        raise DraftError(f"[{section.name}] {toml_text(both[0])} is a {noun} and a group: give the group another name")
    groups: dict[str, list[str]] = {name: list(members) for name, members in listed.items()}
    groups |= {label: [label] for label in alone}
    if len(groups) < 2:
        raise DraftError(f"[{section.name}] has a single group of everybody: leave the margin out")
    return groups

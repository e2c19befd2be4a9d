"""Known shares of the population (margins), by class or by a question of a form.

A TOML file of the study, which the analyst writes; nothing of it is signed, and no device reads it.

    [[margin]]
    by = "class"                                  # or the name of a question of the form
    shares = { town = 0.6, village = 0.4 }        # or people = { town = 61000, village = 40500 }
    source = "Census 2021"                        # optional, printed beside the estimate

    [[margin]]
    by = "education"
    groups = { school = ["none", "primary"], more = ["secondary", "bachelor"] }
    shares = { school = 0.55, more = 0.45 }

A margin names every class or value once, by itself or in one group. Of a question that may be skipped, it is of the
people who would answer it.

What weights are made of it: estimate.class_weights, estimate.form_weights.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from aggregator.author.toml_section import ROUNDING, DraftError, Section, finite, normalised, shown, suggestion
from aggregator.estimate.weighting import CLASS, KnownMargin
from protocol.campaign import Campaign
from protocol.domain.form import Form
from protocol.errors import BadData

MOST_BYTES = 1 << 20
"""Of a file."""


class PopulationError(BadData):
    """An invalid file of known shares. The text names the entry."""

    stage = "population"


def read_population(path: Path, terms: Campaign) -> tuple[KnownMargin, ...]:
    """Return the margins of a file, as they fit a campaign.

    Raises:
        PopulationError: what is wrong, and where.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PopulationError(f"{path.name} is longer than {MOST_BYTES:,} bytes: it is no file of margins")
        told = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PopulationError(f"{path.name} is not TOML: {error}") from None
    except RecursionError:
        raise PopulationError(f"{path.name} is not TOML that can be read: it is nested too deeply") from None
    try:
        return _margins(told, terms)
    except PopulationError:
        raise
    except DraftError as error:
        raise PopulationError(f"{path.name}: {error}") from None


def _margins(told: dict[str, Any], terms: Campaign) -> tuple[KnownMargin, ...]:
    top = Section("", told)
    tables = top.list_of("margin", dict, "tables [[margin]]")
    if left := sorted(set(told) - {"margin"}):
        raise DraftError(f"a file of margins has tables [[margin]] alone, not {shown(left[0])}")
    if not tables:
        raise DraftError("a file of margins has a table [[margin]] or more")
    found, people = [], []
    for table in tables:
        margin, total = _margin(table, terms)
        found.append(margin)
        people.append(total)
    counted = [total for total in people if total is not None]
    if counted and max(counted) - min(counted) > ROUNDING * max(counted):
        raise DraftError(
            f"one margin counts {float(min(counted)):,.0f} people and another {float(max(counted)):,.0f}: they are of "
            "one population, so give counts of the same people, or shares"
        )
    return tuple(found)


def _margin(table: dict[str, Any], terms: Campaign) -> tuple[KnownMargin, Fraction | None]:
    """A margin, and how many people it counts, where it has counts."""
    section = Section("margin", table)
    by = section.take("by", str, f'"{CLASS}", or the name of a question of the form')
    section = Section(f"margin {shown(by)}", table)
    section.take("by", str, "")
    question, labels, what = _of(by, terms)
    groups = _groups(section, labels, what)
    people = "people" in section
    if people == ("shares" in section):
        raise DraftError(f"[{section.name}] has either shares or people, a number for each {what} or group")
    numbers = section.take("people" if people else "shares", dict, "a table of numbers")
    source = section.take("source", str, "a text", "")
    section.done()
    exact = {name: finite(section.name, name, number) for name, number in numbers.items()}
    for name in exact:
        if name not in groups:
            raise DraftError(
                f"[{section.name}] there is no {what} or group {shown(name)}"
                f"{suggestion(name, groups) or '; known here: ' + ', '.join(groups)}"
            )
    if missing := [name for name in groups if name not in exact]:
        raise DraftError(f"[{section.name}] says nothing of {shown(missing[0])}: give each {what} or group a number")
    if any(number <= 0 for number in exact.values()):
        raise DraftError(f"[{section.name}] has a number that is not above zero: leave no {what} without people")
    shares, total = [exact[name] for name in groups], sum(exact.values(), Fraction())
    if not people:
        shares = normalised(shares, f"[{section.name}] the shares")
    of_label = {label: place for place, held in enumerate(groups.values()) for label in held}
    margin = KnownMargin(
        by,
        question,
        tuple(groups),
        np.array([float(share / sum(shares, Fraction())) for share in shares]),
        np.array([of_label[label] for label in labels], dtype=np.int64),
        source,
    )
    return margin, total if people else None


def _of(by: str, terms: Campaign) -> tuple[int | None, Sequence[str], str]:
    """The place of the question, the names of its values or of the classes, and what one is called."""
    if isinstance(terms.domain, Form) and not (terms.classes and by == CLASS):
        if by not in terms.domain.places:
            raise DraftError(
                f"[margin] the form has no question {shown(by)}"
                f"{suggestion(by, terms.domain.places) or '; its questions are ' + ', '.join(terms.domain.places)}"
                f"{', and its margins may be by class' if terms.classes else ''}"
            )
        place = terms.domain.places[by]
        domain = terms.domain.questions[place].domain
        return place, [domain.label(x) for x in range(domain.size)], "value"
    if by != CLASS:
        raise DraftError(f'[margin] by = {shown(by)}: this campaign is no form, so a margin of it is by "{CLASS}"')
    if not terms.classes:
        raise DraftError(f"[margin] {terms.title!r} has no classes, so no margin of it can be known")
    return None, terms.classes, CLASS


def _groups(section: Section, labels: Sequence[str], what: str) -> Mapping[str, Sequence[str]]:
    """The labels of each group; those in no group are groups of their own."""
    told = section.take("groups", dict, f"a table of lists, such as {{ more = [{shown(labels[0])}] }}", {})
    grouped: dict[str, str] = {}
    for name, held in told.items():
        if not isinstance(held, list) or not held or not all(isinstance(one, str) for one in held):
            raise DraftError(f"[{section.name}] group {shown(name)} is a list of {what} names, not {shown(held)}")
        for one in held:
            if one not in labels:
                raise DraftError(f"[{section.name}] there is no {what} {shown(one)}{suggestion(one, labels)}")
            if grouped.setdefault(one, name) != name or held.count(one) > 1:
                raise DraftError(f"[{section.name}] {what} {shown(one)} is in two groups: name it once")
    alone = [label for label in labels if label not in grouped]
    if both := [label for label in alone if label in told]:
        raise DraftError(f"[{section.name}] {shown(both[0])} is a {what} and a group: give the group another name")
    found: dict[str, list[str]] = {name: list(held) for name, held in told.items()}
    found |= {label: [label] for label in alone}
    if len(found) < 2:
        raise DraftError(f"[{section.name}] has one group of everybody, which says nothing: leave the margin out")
    return found

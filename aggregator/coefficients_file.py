"""Coefficients for a sum over people, by class, from a TOML file that the analyst writes.

    [town]
    weight = 2          # a person of the class counts twice
    offset = 0.5        # added for each person of the class; default 0
    people = 61000      # size of the class; default: the number of its reports

The file has a table with a weight for every class of the campaign. The file is not signed, and no device reads it.

``estimate.coefficients`` computes the sum.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from aggregator.author.toml_section import DraftError, Section, read_toml, toml_text
from aggregator.estimate.coefficients import Coefficients
from protocol.campaign import Campaign
from protocol.spelling import suggestion

MAX_NUMBER = 10**15
"""Maximum of a class's people, and of the absolute value of its weight and its offset."""


def read_coefficients(path: Path, campaign: Campaign) -> tuple[Coefficients, ...]:
    """Return the coefficients in a file, one for each class in the campaign's order.

    Raises:
        DraftError: the campaign has no classes; or the file is invalid, and then the text names the file and the entry.
        OSError: the file cannot be read.
    """
    if not campaign.classes:
        raise DraftError(
            f"{campaign.title!r} has no classes, and coefficients are by class: give weights of values with --weights"
        )
    document = read_toml(path)
    try:
        for name in document:
            if name not in campaign.classes:
                raise DraftError(
                    f"the campaign has no class {toml_text(name)}"
                    f"{suggestion(name, campaign.classes) or '; its classes are: ' + ', '.join(campaign.classes)}"
                )
        if missing := [name for name in campaign.classes if name not in document]:
            raise DraftError(f"[{missing[0]}] is missing: give each class a weight, 0 if it adds nothing")
        return tuple(_of_class(Section(name, document[name])) for name in campaign.classes)
    except DraftError as error:
        raise DraftError(f"{path.name}: {error}") from None


def _of_class(section: Section) -> Coefficients:
    numbers = {}
    for key, default in (("weight", None), ("offset", Decimal(0))):
        number = section.number(key, "a number", default)
        if abs(number) > MAX_NUMBER:
            raise DraftError(f"[{section.name}] {key} must be between -10^15 and 10^15, not {float(number):g}")
        numbers[key] = float(number)
    has_people = "people" in section
    people = section.take("people", int, "a whole number of people", 0)
    if not 0 <= people <= MAX_NUMBER:
        raise DraftError(f"[{section.name}] people must be from 0 to 10^15, not {people}")
    section.refuse_unknown()
    return Coefficients(numbers["weight"], numbers["offset"], people if has_people else None)

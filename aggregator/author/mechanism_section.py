"""Read ``[mechanism]``: the name of the mechanism, and the entries of some mechanisms.

    [mechanism]
    name = "auto"                          # or a mechanism by name
    families = ["response", "subset"]      # the families of channels that the devices' firmware supports
    rows = [[0.8, 0.2], [0.2, 0.8]]        # name = "table": the probabilities of the outputs of each value
    sigma = 2.5                            # name = "gaussian": sigma of the Gaussian in steps
    distortion = "squared"                 # notion = "mutual-information": the distortion to minimise

Sensors may support only a few families, and refuse campaigns with any other. With ``families``, ``auto`` chooses among
the listed families, and a draft that needs another family is refused before it is signed.

``aggregator.planner.choice`` chooses the channel of every other mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aggregator.author.toml_section import DraftError, Section, finite_number, normalised, toml_text
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.noise.recipe import discrete_gaussian
from aggregator.families.table.mutual_information import mutual_information_table
from aggregator.families.table.recipe import MAX_CONVEX
from aggregator.planner.choice import AUTO, GAUSSIAN, TABLE, Unsuited, chosen_channel, offered_channel
from protocol.channels import FAMILIES, Channel, Table
from protocol.channels.noise.channel import MAX_LATTICE_POINTS
from protocol.domain import Line
from protocol.errors import NotionError
from protocol.notions import DeclaredPrior, Ldp, MutualInformation, TranscriptPrior
from protocol.spelling import suggestion
from protocol.views import View

OWN = "lip-response"
"""The mechanism by which every device and the study derive the channel of a declared prior."""
AVERAGE = "mutual-information"
"""The notion and mechanism with the additional entry ``distortion``."""
POWERS = {"wrong": 0, "absolute": 1, "squared": 2}
"""The power of the distance between two numbers, by distortion; with 0, all wrong answers count equally."""
FAMILIES_ENTRY = 'a list of names of families, such as ["response", "subset"]'


def mechanism_name(section: Section) -> str:
    """Return the name of the mechanism in ``[mechanism]``.

    Raises:
        DraftError: the name is not a text.
    """
    name: str = section.take("name", str, "a mechanism's name, or auto", AUTO)
    return name.lower()


def mechanism_of(name: str, section: Section, question: PlannedQuestion) -> tuple[str, Channel]:
    """Return the name of the mechanism and the channel for a question.

    Args:
        name: the name in the draft, or ``auto`` for the best mechanism.
        section: ``[mechanism]``.
    Raises:
        DraftError: the mechanism has no channel for the question, or one of its entries is invalid.
        ChannelError: the rows of a table do not make a channel.
    """
    if isinstance(question.notion, (DeclaredPrior, TranscriptPrior)):
        if name not in (AUTO, OWN):
            raise DraftError(
                f'with [prior] kind "own" or "transcript", [mechanism] name must be "{OWN}" or be left out, not '
                f"{name[:60]!r}"
            )
        if isinstance(question.notion, TranscriptPrior):
            return OWN, question.notion.channel_of(question.notion.prior)
        return (OWN, question.notion.response) if name == OWN else offered_channel(question)
    if name == TABLE:
        return name, _table(section, question.size)
    if name == GAUSSIAN:
        return name, _gaussian(section, question)
    if "distortion" in section:
        return AVERAGE, _averaged(section, name, question)
    try:
        return chosen_channel(name, question)
    except Unsuited as error:
        raise DraftError(f"[mechanism] {error}") from None


def _gaussian(section: Section, question: PlannedQuestion) -> Channel:
    """Return the channel of Gaussian noise with the draft's sigma. It satisfies the draft's level of pure LDP; the
    audit computes (epsilon, delta)."""
    sigma = section.number("sigma", "a number of steps above 0")
    if not 0 < sigma <= MAX_LATTICE_POINTS:
        raise DraftError(
            f"[mechanism] sigma must be a number of steps above 0 and at most {MAX_LATTICE_POINTS:,}, not "
            f"{float(sigma):g}"
        )
    if not (isinstance(question.domain, Line) and isinstance(question.notion, Ldp)):
        raise DraftError(
            f'[mechanism] "{GAUSSIAN}" needs numbers, dates or buckets, and notion "{Ldp.name}": use "{AUTO}"'
        )
    return discrete_gaussian(question.size, float(sigma), question.notion.level)


def _averaged(section: Section, name: str, question: PlannedQuestion) -> Channel:
    """Return the channel with the least mean distortion under mutual information."""
    distortion = section.choice("distortion", tuple(POWERS))
    notion, domain = question.notion, question.domain
    if not isinstance(notion, MutualInformation) or name not in (AUTO, AVERAGE):
        raise DraftError(
            f'[mechanism] distortion needs notion "{AVERAGE}" and name = "{AVERAGE}" or "{AUTO}", not notion '
            f'"{notion.name}" and name = "{name}"'
        )
    if question.size > MAX_CONVEX:
        raise DraftError(
            f"[mechanism] distortion needs at most {MAX_CONVEX} values, not {question.size}: ask for fewer"
        )
    power = POWERS[distortion]
    if power and not isinstance(domain, Line):
        raise DraftError(f'[mechanism] distortion "{distortion}" needs numbers, dates or buckets: use "wrong"')
    edges = [float(number) for number in domain.points] if isinstance(domain, Line) else range(question.size)
    apart = [[abs(edge - other) ** power if edge != other else 0.0 for other in edges] for edge in edges]
    diameter = max(map(max, apart))
    try:
        return mutual_information_table(
            notion.prior, notion.level, [[cell / diameter for cell in row] for row in apart]
        )
    except NotionError as error:
        raise DraftError(f"[mechanism] {error}") from None


def _table(section: Section, size: int) -> Table:
    rows = [
        [finite_number(section, "rows", cell) for cell in row]
        for row in section.list_of("rows", list, "lists of probabilities, one list for each value")
    ]
    if len(rows) != size:
        raise DraftError(f"[mechanism] rows must have {size} rows, one for each value of the domain, not {len(rows)}")
    for x, row in enumerate(rows):
        if (minimum := min(row, default=0)) < 0:
            raise DraftError(
                f"[mechanism] rows: a probability in row {x + 1} must be at least 0, not {float(minimum):g}"
            )
    return Table.rounded([normalised(row, f"[mechanism] rows: the cells of row {x + 1}") for x, row in enumerate(rows)])


def families_of(document: dict[str, Any]) -> frozenset[str]:
    """Return the families that a draft lists; empty without the entry, because devices are then assumed to support all
    families.

    Raises:
        DraftError: an empty list, or an unknown family.
    """
    mechanism = document.get("mechanism")
    listed = mechanism.get("families") if isinstance(mechanism, dict) else None
    if listed is None:
        return frozenset()
    if not isinstance(listed, list) or not listed:
        raise DraftError(f"[mechanism] families must be {FAMILIES_ENTRY}, not {toml_text(listed)}")
    for name in listed:
        if not isinstance(name, str) or name.strip().lower() not in FAMILIES:
            hint = suggestion(name, FAMILIES) if isinstance(name, str) else ""
            raise DraftError(
                f"[mechanism] families: each must be one of {', '.join(FAMILIES)}, not {toml_text(name)}{hint}"
            )
    return frozenset(name.strip().lower() for name in listed)


def require_families(question: PlannedQuestion, views: Sequence[View]) -> None:
    """Refuse views whose channels belong to families that the draft does not list.

    Raises:
        DraftError: a channel needs a family that the draft does not list.
    """
    missing = sorted({name for view in views for name in question.missing(view.channel)})
    if missing:
        had = ", ".join(sorted(question.families))
        raise DraftError(
            f"[mechanism] families lists {had}, but the channel needs {' and '.join(missing)}: extend the list, or "
            "choose another mechanism or notion"
        )

"""The draft: a campaign as its author writes it, in TOML.

One idea: a draft is read once, strictly, into the ``Campaign`` that will be signed. Every key is known or refused,
numbers stay decimals until they are integers, and an error names the entry and what would do instead.

How a channel's integers are found: mechanisms.
"""

from __future__ import annotations

import csv
import datetime
import math
import tomllib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from aggregator.design import mechanisms
from aggregator.estimate.error import expected_mse
from protocol import exact, notions
from protocol.campaign import Campaign
from protocol.channels import Channel, Table
from protocol.domain import MICRODEGREES, Buckets, Domain, Grid, Values
from protocol.errors import BadData, Uncertified
from protocol.notions import Block, HighLow, Information, Ldp, Matrix, Notion

DAY = 86_400
MECHANISMS = ("auto", "hadamard", "randomized-response", "lip", "lip-published", "table")


class DraftError(BadData):
    """A draft that does not describe a campaign. The text names the entry."""

    stage = "draft"


class Section:
    """One table of the TOML, whose keys are taken one by one; ``done`` refuses what nobody asked for."""

    def __init__(self, name: str, table: object) -> None:
        if not isinstance(table, dict):
            raise DraftError(f"[{name}] is a table of its own")
        self.name = name
        self._left: dict[str, Any] = dict(table)

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def _entry(self, key: str) -> str:
        return f"[{self.name}] {key}" if self.name else key

    def take(self, key: str, kind: type | tuple[type, ...], what: str, default: object = None) -> Any:
        """The value of ``key``, of type ``kind``.

        Raises:
            DraftError: missing without a default, or of another type.
        """
        if key not in self._left:
            if default is None:
                raise DraftError(f"{self._entry(key)} is missing: it is {what}")
            return default
        value = self._left.pop(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DraftError(f"{self._entry(key)} is {what}, not {_shown(value)}")
        return value

    def list_of(self, key: str, kind: type | tuple[type, ...], what: str) -> list[Any]:
        """The list at ``key``, every element of type ``kind``."""
        values: list[Any] = self.take(key, list, f"a list of {what}")
        for value in values:
            if not isinstance(value, kind) or isinstance(value, bool):
                raise DraftError(f"{self._entry(key)} is a list of {what}; {_shown(value)} is none")
        return values

    def done(self) -> None:
        """Refuse the keys that are left."""
        if self._left:
            raise DraftError(f"{self._entry(next(iter(self._left)))} is not an entry halftruth knows")


def read_draft(path: Path) -> Campaign:
    """The campaign of the draft at ``path``; files it names are looked for beside it.

    Raises:
        DraftError, BadData: what is wrong, and where.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        document = tomllib.loads(text, parse_float=Decimal)
    except UnicodeDecodeError:
        raise DraftError(f"{path.name} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise DraftError(f"{path.name} is not TOML: {error}") from None
    return campaign_of(document, path.parent)


def campaign_of(document: dict[str, Any], folder: Path) -> Campaign:
    """The campaign of a parsed draft.

    Args:
        document: TOML, floats as ``Decimal``.
        folder: where files that the draft names are looked for.
    """
    top = Section("", document)
    sections = {
        name: Section(name, top.take(name, dict, "a table of its own", default))
        for name, default in (
            ("domain", None), ("privacy", None), ("schedule", None), ("mechanism", {}), ("limits", {}), ("prior", {}),
        )
    }  # fmt: skip
    domain = _domain(sections["domain"])
    notion = _notion(sections["privacy"], sections["prior"], domain, folder)
    mechanism, channel = _channel(sections["mechanism"], notion, domain.size)
    schedule, limits = sections["schedule"], sections["limits"]
    opens, closes = _time(schedule, "opens"), _time(schedule, "closes")
    if closes <= opens:
        raise DraftError("[schedule] closes comes after opens")
    campaign = Campaign(
        title=top.take("title", str, "the campaign's name"),
        question=top.take("question", str, "what the person is asked"),
        purpose=top.take("purpose", str, "why it is asked", ""),
        organisation=top.take("organisation", str, "who asks"),
        domain=domain,
        notion=notion,
        mechanism=mechanism,
        channel=channel,
        opens=opens,
        closes=closes,
        period_seconds=_period(schedule, closes - opens),
        answers_per_period=_count(schedule, "answers_per_period", 1),
        minimum_reports=_count(limits, "minimum_reports", 100),
        enrolment=limits.take("enrolment", str, '"open" or "enrolled"', "open"),
    )
    for section in (*sections.values(), top):
        section.done()
    return campaign


def _domain(section: Section) -> Domain:
    kind = section.take("kind", str, '"values", "grid" or "buckets"')
    if kind == "values":
        return Values(tuple(section.list_of("values", str, "texts, one for each value")))
    if kind == "grid":
        return Grid(*(_microdegrees(section, name) for name in ("south", "north", "west", "east", "step")))
    if kind == "buckets":
        return Buckets.of(section.list_of("edges", (int, Decimal), "increasing numbers"))
    raise DraftError(f'[domain] kind is "values", "grid" or "buckets", not {_shown(kind)}')


def _microdegrees(section: Section, name: str) -> int:
    degrees = section.take(name, (int, Decimal), "a number of degrees")
    scaled = _finite(section.name, name, degrees) * MICRODEGREES
    if scaled.denominator != 1:
        raise DraftError(f"[domain] {name} has at most six decimal places")
    return scaled.numerator


def _notion(section: Section, prior: Section, domain: Domain, folder: Path) -> Notion:
    name = section.take("notion", str, '"ldp", "high-low", "block", "pairwise" or "lip"')
    if name == "pairwise":
        return _matrix(section, domain, folder)
    level = _level(section)
    if name == "ldp":
        return Ldp(level)
    if name == "lip":
        return Information(level, _prior(prior, domain.size))
    if name == "high-low":
        labels = section.list_of("sensitive", str, "values that need protection")
        return HighLow(level, domain.size, tuple(sorted({_input(domain, label, "sensitive") for label in labels})))
    if name == "block":
        return Block.over(level, _blocks(section, domain))
    raise DraftError(f'[privacy] notion is "ldp", "high-low", "block", "pairwise" or "lip", not {_shown(name)}')


def _level(section: Section) -> int:
    epsilon = section.take("epsilon", (int, Decimal), "a number of nats, such as 1.0")
    level = exact.level_from(_finite(section.name, "epsilon", epsilon))
    try:
        notions.require_level(level)
    except BadData as error:
        raise DraftError(f"[privacy] {error}") from None
    return level


def _matrix(section: Section, domain: Domain, folder: Path) -> Matrix:
    file = folder / section.take("matrix", str, "a CSV file of k rows of k levels in nats, inf where there is no bound")
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            rows = [row for row in csv.reader(lines) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise DraftError(f"[privacy] matrix: cannot read {file.name}: {error}") from None
    if len(rows) != domain.size:
        raise DraftError(f"[privacy] matrix: {file.name} has {len(rows)} rows, the domain {domain.size} values")
    levels = tuple(
        tuple(0 if x == y else _matrix_level(cell, file.name, x, y) for y, cell in enumerate(row))
        for x, row in enumerate(rows)
    )
    return Matrix(max(max(row) for row in levels), levels)


def _matrix_level(cell: str, file: str, x: int, y: int) -> int:
    if cell.strip().lower() in ("inf", "infinity"):
        return notions.UNBOUNDED
    try:
        return exact.level_from(cell.strip())
    except ValueError:
        raise DraftError(f"[privacy] matrix: {file}, row {x + 1}, column {y + 1} is not a number of nats") from None


def _prior(section: Section, size: int) -> tuple[int, ...]:
    kind = section.take("kind", str, '"campaign"', "campaign")
    if kind != "campaign":
        raise DraftError(f'[prior] kind is "campaign", the public prior of everybody, not {_shown(kind)}')
    key = "counts" if "counts" in section else "weights"
    weights = section.list_of(key, (int, Decimal), "a share or a count for each value, in the domain's order")
    if len(weights) != size:
        raise DraftError(f"[prior] {key} has {len(weights)} entries, the domain {size} values")
    shares = [_finite("prior", key, weight) for weight in weights]
    if any(share <= 0 for share in shares):
        place = next(place for place, share in enumerate(shares) if share <= 0)
        raise DraftError(
            f"[prior] {key}: entry {place + 1} is not above zero. LIP promises nothing about a value of prior zero; "
            "give it a small share"
        )
    counts = all(share.denominator == 1 for share in shares)
    if not counts and sum(shares) != 1:
        raise DraftError(f"[prior] weights sum to {float(sum(shares)):.9g}, not to 1; counts may have any sum")
    if key == "counts" and not counts:
        raise DraftError("[prior] counts are whole numbers")
    scale = math.lcm(*(share.denominator for share in shares))
    return tuple(int(share * scale) for share in shares)


def _blocks(section: Section, domain: Domain) -> list[int]:
    if "blocks" not in section and isinstance(domain, Grid):
        rows, columns = _count(section, "block_rows"), _count(section, "block_columns")
        across = -(-domain.columns // columns)
        return [x // domain.columns // rows * across + x % domain.columns // columns for x in range(domain.size)]
    block_of: dict[int, int] = {}
    for number, block in enumerate(section.list_of("blocks", list, "lists of values")):
        for label in block:
            x = _input(domain, label, "blocks")
            if x in block_of:
                raise DraftError(f"[privacy] blocks: {_shown(label)} stands in two places; blocks do not overlap")
            block_of[x] = number
    missing = next((x for x in range(domain.size) if x not in block_of), None)
    if missing is not None:
        raise DraftError(f"[privacy] blocks: {_shown(domain.label(missing))} is in no block; every value is in one")
    return [block_of[x] for x in range(domain.size)]


def _input(domain: Domain, label: object, entry: str) -> int:
    try:
        return domain.index(domain.parse(str(label)), bytes(8))
    except ValueError:
        raise DraftError(f"[privacy] {entry}: {_shown(label)} is not a value of the domain") from None


def _channel(section: Section, notion: Notion, size: int) -> tuple[str, Channel]:
    name = section.take("name", str, f"one of {', '.join(MECHANISMS)}", "auto")
    if name not in MECHANISMS:
        raise DraftError(f"[mechanism] name is one of {', '.join(MECHANISMS)}, not {_shown(name)}")
    if name == "table":
        return name, _table(section, size)
    recipes = _recipes(notion, size)
    if name == "auto":
        name = _best(recipes)
    if name not in recipes:
        raise DraftError(
            f'[mechanism] "{name}" does not serve notion "{notion.name}"; '
            f"what does: {', '.join(recipe for recipe in recipes)}, table"
        )
    channel = recipes[name]()
    if name == "lip-published":
        try:
            notions.certify(channel, notion)
        except Uncertified as error:
            raise DraftError(
                f'[mechanism] "lip-published" breaks its own definition for this prior: {error}. '
                'It is legal only where every share is at least 1 / (e^epsilon + 1); use "lip"'
            ) from None
    return name, channel


def _recipes(notion: Notion, size: int) -> dict[str, Callable[[], Channel]]:
    """What can keep ``notion``, the more widely useful first."""
    if isinstance(notion, Information):
        prior, level = notion.prior, notion.level
        return {
            "lip": lambda: mechanisms.lip_response(prior, level),
            "lip-published": lambda: mechanisms.published_lip_response(prior, level),
            # eps-LDP implies eps-LIP under every prior (Jiang, Li, Tandon 2020, Prop. 1).
            "randomized-response": lambda: mechanisms.randomized_response(size, level),
        }
    if isinstance(notion, HighLow):
        return {"hadamard": lambda: mechanisms.high_low_hadamard(size, notion.sensitive, notion.level)}
    if isinstance(notion, Block):
        blocks = [block for block, length in notion.runs for _ in range(length)]
        return {"hadamard": lambda: mechanisms.block_hadamard(blocks, notion.level)}
    level = notion.level
    if isinstance(notion, Matrix):
        # LDP at the smallest entry keeps every entry (Acharya et al. 2020, sec. 3).
        level = min(bound for _, _, bound in notion.bounds())
        if level < exact.MIN_LEVEL:
            raise DraftError("[privacy] matrix: its smallest level is too small for a channel that keeps it everywhere")
    return {
        "hadamard": lambda: mechanisms.hadamard(size, level),
        "randomized-response": lambda: mechanisms.randomized_response(size, level),
    }


def _best(recipes: dict[str, Callable[[], Channel]]) -> str:
    """The recipe of smallest exact expected error of the unbiased estimate, people spread evenly."""
    if "lip" in recipes or len(recipes) == 1:
        return next(iter(recipes))
    return min(recipes, key=lambda name: expected_mse(recipes[name]()))


def _table(section: Section, size: int) -> Table:
    rows = [
        [_finite("mechanism", "rows", cell) for cell in row]
        for row in section.list_of("rows", list, "lists of probabilities, one list for each value")
    ]
    if len(rows) != size:
        raise DraftError(f"[mechanism] rows has {len(rows)} rows, the domain {size} values")
    return Table.nearest(rows)


def _time(section: Section, name: str) -> int:
    value = section.take(name, datetime.date, "a date, such as 2026-12-01, or a time with its offset")
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.UTC)
    return math.floor(value.timestamp())


def _period(section: Section, whole: int) -> int:
    days = _finite("schedule", "period_days", section.take("period_days", (int, Decimal), "days", Fraction(whole, DAY)))
    seconds = days * DAY
    if seconds.denominator != 1 or seconds < 1:
        raise DraftError("[schedule] period_days is a positive number of days that makes whole seconds")
    return seconds.numerator


def _count(section: Section, name: str, default: int | None = None) -> int:
    value: int = section.take(name, int, "a whole number, at least 1", default)
    if value < 1:
        raise DraftError(f"[{section.name}] {name} is a whole number, at least 1")
    return value


def _finite(section: str, name: str, value: int | Decimal | Fraction | object) -> Fraction:
    try:
        return exact.rational(value)  # type: ignore[arg-type]  # refuses what is no number
    except ValueError:
        raise DraftError(f"[{section}] {name} takes finite numbers, not {_shown(value)}") from None


def _shown(value: object) -> str:
    text = repr(str(value)) if isinstance(value, Decimal | str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

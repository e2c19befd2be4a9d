"""Read the privacy notion of a draft, with its prior if it has one.

An error names the entry and the expected value. The certificate of the campaign proves that its channel satisfies the
notion.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path

from aggregator.author.pufferfish_file import read_scenarios
from aggregator.author.toml_section import DraftError, Section, finite_number, normalised, toml_text, whole_number
from aggregator.author.value_table import csv_rows, input_of, not_a_value, read_prior
from aggregator.families.noise.recipe import METRICS, geo_over
from aggregator.families.noise.wasserstein import geo_for
from aggregator.quantity import quantity
from protocol import exact, notions
from protocol.domain import Domain, Grid, Items, Line
from protocol.errors import BadData, NotInDomain
from protocol.notions import (
    Block,
    DeclaredPrior,
    Graded,
    HighLow,
    Ldp,
    Lip,
    Matrix,
    MutualInformation,
    Notion,
    TranscriptPrior,
)
from protocol.notions.information import MAX_PRIOR_WEIGHT, RADIUS_UNITS
from protocol.notions.notion import require_covers_rounding, require_covers_sets
from protocol.personal import DRIFT_ONE

NOTIONS = (
    "ldp", "high-low", "block", "minid", "avgid", "geo", "pairwise", "pufferfish", "lip", "mutual-information",
)  # fmt: skip


def notion_of(section: Section, prior: Section, domain: Domain, folder: Path) -> Notion:
    """Return the notion of ``[privacy]`` and ``[prior]``; names of files in the sections are relative to ``folder``.

    Raises:
        DraftError, BadData: an entry or a file is missing or invalid. The text names it.
        OSError: a file cannot be read.
    """
    name = section.choice("notion", NOTIONS)
    notion = _notion(name, section, prior, domain, folder)
    if isinstance(domain, Items):
        try:
            require_covers_sets(notion, domain.padding, name)
        except BadData as error:
            raise DraftError(f"{section.entry('notion')}: {error}") from None
    if isinstance(domain, Line) and domain.rounds_randomly:
        try:
            require_covers_rounding(notion)
        except BadData as error:
            raise DraftError(f"{prior.entry('drift')}: {error}") from None
    return notion


def _notion(name: str, section: Section, prior: Section, domain: Domain, folder: Path) -> Notion:
    if name == "pairwise":
        return _matrix(section, domain, folder)
    if name in ("minid", "avgid"):
        return _graded(section, name, domain)
    level = _level(section)
    if name == "geo":
        return _geo(section, domain, level)
    if name == "pufferfish":
        return _pufferfish(section, domain, level, folder)
    if name == "mutual-information":
        return MutualInformation(level, _prior(prior, domain, folder))
    if name == "lip":
        kind = prior.take("kind", str, '"campaign", "transcript" or "own"', "campaign").lower()
        if kind == "own":
            return DeclaredPrior(level, domain.size)
        if kind == "transcript":
            return TranscriptPrior(level, _prior(prior, domain, folder), _drift(prior))
        if kind != "campaign":
            raise DraftError(
                f'{prior.entry("kind")} must be "campaign", a public prior for everybody; "transcript", a prior '
                'updated by each device\'s earlier reports; or "own", declared by each device; '
                f"not {toml_text(kind)}. Classes of people have tables [classes.NAME]"
            )
        return Lip(level, _prior(prior, domain, folder), _radius(prior))
    if name == "high-low":
        return HighLow(level, domain.size, _sensitive(section, domain))
    if name == "block":
        blocks = _blocks(section, domain)
        if len(set(blocks)) == len(blocks):
            raise DraftError(
                "[privacy] blocks: every value is alone in its block, so reports would show every answer; put values "
                "that must stay indistinguishable into one block"
            )
        return Block.over(level, blocks)
    return Ldp(level)


def sensitive_share_of(section: Section, notion: Notion) -> float | None:
    """Return the share of the people with a sensitive value; None if ``[privacy]`` has no sensitive_share.

    The choice of a channel depends on this share; the promise does not.

    Raises:
        DraftError: the notion has no sensitive values, or the share is not above 0 and below 1.
    """
    if "sensitive_share" not in section:
        return None
    if not isinstance(notion, HighLow):
        raise DraftError('[privacy] sensitive_share needs notion = "high-low": leave it out')
    expected = "the share of people with a sensitive value, above 0 and below 1, such as 0.1"
    written = section.take("sensitive_share", (int, Decimal), expected)
    share = float(finite_number(section, "sensitive_share", written))
    if not 0 < share < 1:
        raise DraftError(f"[privacy] sensitive_share must be {expected}, not {toml_text(written)}")
    return share


def _sensitive(section: Section, domain: Domain) -> tuple[int, ...]:
    labels = section.list_of("sensitive", str, "values that need protection")
    marked = sorted({_input(section, "sensitive", domain, label) for label in labels})
    if not marked:
        raise DraftError(
            f"{section.entry('sensitive')} names no value, so nothing would be protected: name at least one"
        )
    if len(marked) == domain.size:
        raise DraftError(f'{section.entry("sensitive")} names all {domain.size} values: use notion "ldp" instead')
    return tuple(marked)


def _graded(section: Section, name: str, domain: Domain) -> Notion:
    """Return MinID- or AvgID-LDP: a budget for each value, and optionally the pairs of budgets whose values are
    protected from each other."""
    budgets: list[int] = []
    named = {
        _input(section, "budgets", domain, label): _nats(section, "budgets", value)
        for label, value in section.take(
            "budgets", dict, "a table of values and their budgets in nats (see docs/GLOSSARY.md)"
        ).items()
    }
    others = section.take("default", (int, Decimal), "the budget of every other value", Decimal(0))
    default = _nats(section, "default", others)
    items = domain.item_count if isinstance(domain, Items) else domain.size
    if dummies := [x for x in named if x >= items]:
        raise DraftError(
            f"{section.entry('budgets')}: {toml_text(domain.label(dummies[0]))} is a dummy, whose budget is the "
            "smallest one of the items: leave it out"
        )
    for x in range(items):
        budget = named.get(x, default)
        if not budget:
            raise DraftError(
                f"{section.entry('budgets')}: {toml_text(domain.label(x))} has no budget; give it a budget, or give a "
                "default"
            )
        budgets.append(budget)
    # Dummy items get the protection of the best protected item (Gu et al. 2020, sec. VI-B).
    budgets += [min(budgets)] * (domain.size - items)
    edges = None
    if "pairs" in section:
        pairs = section.list_of("pairs", list, "pairs of budgets whose values are protected from each other")
        if wrong := [pair for pair in pairs if len(pair) != 2]:
            raise DraftError(
                f"{section.entry('pairs')} must be pairs of budgets, such as [[1.0, 2.0], [1.0, 1.0]], not "
                f"{toml_text(wrong[0])}"
            )
        edges = [(_nats(section, "pairs", first), _nats(section, "pairs", second)) for first, second in pairs]
    return Graded.over(budgets, name, edges)


def _nats(section: Section, key: str, value: object) -> int:
    """Return a budget in nanonats; 0, which means no budget, if ``value`` is 0."""
    budget = exact.level_from(finite_number(section, key, value))
    if budget and not exact.MIN_LEVEL <= budget <= exact.MAX_LEVEL:
        minimum, maximum = exact.nats(exact.MIN_LEVEL), exact.nats(exact.MAX_LEVEL)
        raise DraftError(
            f"{section.entry(key)}: a budget must be from {minimum:g} to {maximum:g} nats, not {toml_text(value)} "
            "(nats: see docs/GLOSSARY.md)"
        )
    return budget


def _geo(section: Section, domain: Domain, level: int) -> Notion:
    metric = section.choice("metric", METRICS, "steps")
    scale = section.number("scale", "the distance at which the level is epsilon", Decimal(1))
    try:
        return geo_over(domain, level, metric, scale)
    except BadData as error:
        raise DraftError(f"[privacy] {error}") from None


def _pufferfish(section: Section, domain: Domain, level: int, folder: Path) -> Notion:
    """Return the notion of Pufferfish privacy by the Wasserstein mechanism."""
    file = section.file("scenarios", "a JSON file of secrets, pairs and scenarios", folder)
    return geo_for(read_scenarios(file, domain), level)


def _level(section: Section) -> int:
    level = exact.level_from(section.number("epsilon", "a number of nats (see docs/GLOSSARY.md), such as 1.0"))
    try:
        notions.require_level(level)
    except BadData as error:
        raise DraftError(str(error).replace("epsilon", section.entry("epsilon"), 1)) from None
    return level


def _radius(prior: Section) -> int:
    """Return the radius of the ball of priors, in parts per billion, rounded up."""
    radius = prior.number("radius", "the maximum error of the prior", Decimal(0))
    if not 0 <= radius <= 1:
        raise DraftError(
            f"{prior.entry('radius')} must be a total variation distance (docs/GLOSSARY.md) from 0 to 1, such as 0.05, "
            f"not {float(radius):g}"
        )
    return math.ceil(radius * RADIUS_UNITS)


def _matrix(section: Section, domain: Domain, folder: Path) -> Matrix:
    expected = "a CSV file of k rows of k levels in nats (see docs/GLOSSARY.md), inf for a pair without protection"
    file = section.file("matrix", expected, folder)
    with csv_rows(file) as lines:
        rows = [row for row in lines if row]
    if len(rows) != domain.size:
        raise DraftError(
            f"[privacy] matrix: {file.name} must have {domain.size} rows, one for each value, not {len(rows)}"
        )
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
        raise DraftError(
            f"[privacy] matrix: {file}, row {x + 1}, column {y + 1} must be a number of nats or inf, not "
            f"{toml_text(cell)} (nats: see docs/GLOSSARY.md)"
        ) from None


def _prior(prior: Section, domain: Domain, folder: Path) -> tuple[int, ...]:
    if prior.holds("counts", str):
        return read_prior(prior.file("counts", "a CSV file", folder), domain, whole_numbers=True)
    if "estimate" in prior:
        return _earlier_estimate(prior, domain, folder)
    key = "counts" if "counts" in prior else "weights"
    return weights_of(prior, key, domain)


def _drift(prior: Section) -> int:
    """Return the probability that a value is drawn again before a period, as a whole number of 1 / ``DRIFT_ONE``,
    rounded to the nearest."""
    drift = prior.number("drift", "a probability for each period", Decimal(0))
    if not 0 <= drift < 1:
        raise DraftError(
            f"{prior.entry('drift')}, the probability that a person's answer is drawn again from the prior before a "
            f"period, must be at least 0 and below 1, not {float(drift):g}"
        )
    return min(round(drift * DRIFT_ONE), DRIFT_ONE - 1)


def weights_of(section: Section, key: str, domain: Domain) -> tuple[int, ...]:
    """Return prior weights, whole numbers, from a list of shares or counts in the domain's order.

    Raises:
        DraftError: the list does not have one number above zero for each value, counts are not whole, or shares do
            not sum to 1.
    """
    weights = section.list_of(key, (int, Decimal), "shares or counts, one for each value in the domain's order")
    if len(weights) != domain.size:
        places = "value"
        if isinstance(domain, Items):
            places = f"of {quantity(domain.item_count, 'item')} and {quantity(domain.padding, 'padding item')}"
        raise DraftError(
            f"{section.entry(key)} must have {domain.size} entries, one for each {places}, not {len(weights)}"
        )
    shares = [finite_number(section, key, weight) for weight in weights]
    if any(share <= 0 for share in shares):
        place = next(place for place, share in enumerate(shares) if share <= 0)
        raise DraftError(
            f"{section.entry(key)}: entry {place + 1} is not above zero. Notions with a prior promise nothing about "
            "a value of prior zero; give it a small share"
        )
    counts = all(share.denominator == 1 for share in shares)
    if key == "counts" and not counts:
        place = next(place for place, share in enumerate(shares) if share.denominator != 1)
        raise DraftError(
            f"{section.entry(key)}: entry {place + 1} is not a whole number of people; for shares, write weights = "
            "instead of counts ="
        )
    if not counts:
        shares = normalised(shares, section.entry(key), "; whole numbers may have any sum")
    scale = math.lcm(*(share.denominator for share in shares))
    if not counts and scale > MAX_PRIOR_WEIGHT:
        # The shares have more digits than a prior can represent, so each is rounded to the nearest weight above 0.
        scale = MAX_PRIOR_WEIGHT // 2
    return tuple(max(1, round(share * scale)) for share in shares)


def _earlier_estimate(prior: Section, domain: Domain, folder: Path) -> tuple[int, ...]:
    """Return the prior from the `halftruth estimate --json` output of an earlier campaign, matched by value.

    A share below its standard error or below a millionth is raised to the larger of the two, because it is not known
    more precisely.

    Raises:
        DraftError: there is no such file, or it is not the JSON of an estimate for these values.
        OSError: the file cannot be read.
    """
    path = prior.file("estimate", "the JSON of an earlier campaign's estimate", folder)
    try:
        rows = {str(row["value"]): row for row in json.loads(path.read_text(encoding="utf-8"))["values"]}
        ordered_rows = [rows[domain.label(x)] for x in range(domain.size)]
        shares = [max(float(row["estimate"]), float(row["se"] or 0), 1e-6) for row in ordered_rows]
        return tuple(math.ceil(share * 10**6) for share in shares)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise DraftError(
            f"{prior.entry('estimate')}: {path.name} must be the output of `halftruth estimate --json` for a question "
            "with the same values"
        ) from None


def _blocks(section: Section, domain: Domain) -> list[int]:
    if "blocks" not in section and isinstance(domain, Grid):
        rows, columns = whole_number(section, "block_rows"), whole_number(section, "block_columns")
        across = -(-domain.columns // columns)
        return [x // domain.columns // rows * across + x % domain.columns // columns for x in range(domain.size)]
    block_of: dict[int, int] = {}
    for number, block in enumerate(section.list_of("blocks", list, "lists of values")):
        for label in block:
            x = _input(section, "blocks", domain, label)
            if x in block_of:
                raise DraftError(f"[privacy] blocks: {toml_text(label)} is listed twice; keep it in one block")
            block_of[x] = number
    missing = next((x for x in range(domain.size) if x not in block_of), None)
    if missing is not None:
        raise DraftError(f"[privacy] blocks: {toml_text(domain.label(missing))} is in no block; add it to exactly one")
    return [block_of[x] for x in range(domain.size)]


def _input(section: Section, key: str, domain: Domain, label: object) -> int:
    try:
        return input_of(domain, domain.parse(str(label)))
    except NotInDomain as error:
        raise DraftError(f"{section.entry(key)}: {not_a_value(domain, str(label), error)}") from None

"""The plan of a question as tables for people: its mechanisms side by side, and its views.

What is planned: planner.plan. What scripts need is in ``as_json`` of the same objects.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from protocol import exact
from protocol.domain import Items
from protocol.notions import Information

if TYPE_CHECKING:
    from aggregator.families.mechanism import Question
    from aggregator.planner.plan import PlanRow


def plan_table(rows: Sequence[PlanRow], question: Question, reports: int, *, unsuited: bool = False) -> Table:
    """Every mechanism that serves a question, the chosen one first.

    Args:
        unsuited: the caption says of each other mechanism why it does not serve; else how many they are.
    """
    lip = isinstance(question.notion, Information)
    wanted = sorted({error for row in rows for error in row.people_for}, reverse=True)
    people = [f"people for {error:g}" for error in wanted]
    numbers = any(row.mean_se is not None for row in rows)
    headings = ["mechanism", "bits", "standard error", *(["se of the mean"] if numbers else []), *people]
    headings += [*(["a person's error"] if lip else []), "people a report", "why"]
    table = Table(
        box=None,
        pad_edge=False,
        title=f"{_size(question)}, {question.notion.name} at {exact.nats(question.notion.level):g} nats, "
        f"{reports:,} reports",
        title_justify="left",
        caption=Text(_unsuited(rows) if unsuited else _left_out(rows)),
        caption_justify="left",
    )
    for name in headings:
        table.add_column(name, justify="left" if name in ("mechanism", "why") else "right")
    for row in rows:
        one = row.candidate
        if one is None:
            continue
        cells = [row.mechanism, f"{one.channel.output_bits:,}"]
        cells.append("-" if math.isnan(row.se) else f"{row.se:.3g}")
        if numbers:
            cells.append("-" if row.mean_se is None or math.isnan(row.mean_se) else f"{row.mean_se:.3g}")
        cells += [f"{row.people_for[error]:,}" if error in row.people_for else "-" for error in wanted]
        if lip:
            cells.append("-" if one.person_mse is None else f"{one.person_mse:.5f}")
        cells.append("-" if math.isnan(one.weight) else f"{one.weight:.3g}")
        table.add_row(Text(cells[0], "bold" if row.chosen else ""), *map(Text, [*cells[1:], row.reason]))
    return table


def _size(question: Question) -> str:
    domain = question.domain
    if isinstance(domain, Items):
        return f"shares of people who hold each of {domain.count:,} items, padding {domain.padding:,}"
    return f"{question.size:,} values"


def _unsuited(rows: Sequence[PlanRow]) -> str:
    """The mechanisms that do not serve, by reason."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.candidate is None:
            reasons.setdefault(row.reason, []).append(row.mechanism)
    return "\n".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())


def _left_out(rows: Sequence[PlanRow]) -> str:
    """How many mechanisms do not serve."""
    number = sum(row.candidate is None for row in rows)
    return (
        f"{number:,} more {'does' if number == 1 else 'do'} not serve this question: --all says why" if number else ""
    )


def plan_views_table(views: Sequence[Mapping[str, Any]]) -> Table:
    """What each view of a draft would be, a row a view.

    Args:
        views: with the keys of ``views`` in the JSON of a plan.
    """
    table = Table(box=None, pad_edge=False, title="\nViews, each estimated from its own reports", title_justify="left")
    for name in ("view", "devices", "bits", "standard error", "people a report"):
        table.add_column(name, justify="right")
    for name in ("mechanism", "asked for"):
        table.add_column(name)
    for place, view in enumerate(views):
        numbers = ["-" if view[name] is None else f"{view[name]:.3g}" for name in ("se", "people_per_report")]
        cells = [f"{place}", f"{view['share']:.1%}", f"{view['output_bits']:,}", *numbers, view["family"], view["view"]]
        table.add_row(*map(Text, cells))
    return table

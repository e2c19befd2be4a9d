"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from aggregator.cli import new_files
from aggregator.cli.numbers import RealNumber
from aggregator.engines import is_engine
from aggregator.estimate.names import METHODS
from aggregator.estimate.span import Span, all_periods
from protocol.campaign import MAX_PERIODS

if TYPE_CHECKING:
    from protocol.campaign import Campaign

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv")


MAX_PEOPLE = 10**15
"""Largest number of people or reports; its square fits in a float."""


class SpanList(click.ParamType[list[Span]]):
    """The type of options for spans of periods, written ``0-3,4-7`` or ``0,9``."""

    name = "spans"

    def __init__(self, expected: str = "0,9 or 0-3,4-7") -> None:
        """Create the type.

        Args:
            expected: spans that the option accepts, for the error.
        """
        self.expected = expected

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[Span]:
        spans = []
        for part in str(value).split(","):
            first, dash, last = (text.strip() for text in part.partition("-"))
            ends = (first, last if dash else first)
            if not all(end.isascii() and end.isdecimal() and len(end) < 9 for end in ends):
                self.fail(f"{part[:20]!r} is not a period or a span of periods: write {self.expected}", param, ctx)
            span = Span(int(ends[0]), int(ends[1]))
            if span.last < span.first:
                self.fail(f"{part.strip()} ends before it begins: write the earlier period first", param, ctx)
            if span.last >= MAX_PERIODS:
                self.fail(f"a period must be at most {MAX_PERIODS - 1:,}, not {span.last:,}", param, ctx)
            spans.append(span)
        return spans


def _engine_name(_ctx: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not is_engine(name):
        raise click.BadParameter(
            f"{name!r} is not an engine: write local, dask, dask://HOST:PORT or dask+tls://HOST:PORT"
        )
    return name


engine = click.option(
    "--engine",
    "engine_name",
    default="local",
    show_default=True,
    callback=_engine_name,
    metavar="ENGINE",
    help="Where to compute: local (threads), dask (processes on this machine), or a scheduler, dask://HOST:PORT.",
)

output_format = click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="Output format.",
)

as_json = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")

method = click.option(
    "--method",
    type=click.Choice(METHODS),
    help="The estimator; docs/ESTIMATES.md describes each. [default: chosen for the campaign]",
)

confidence = click.option(
    "--confidence",
    type=RealNumber(0.5, 0.9999),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)


def require_period(campaign: Campaign, period: int) -> None:
    """Refuse a period that a campaign does not have."""
    if period >= campaign.periods:
        raise click.UsageError(f"{campaign.title!r} has no period {period:,}: it has {all_periods(campaign.periods)}")


def plot(subject: str) -> Callable[[Command], Command]:
    """Return the option --plot, whose help names the subject of the picture."""
    return click.option("--plot", type=new_files.NewFile(".png"), help=f"Draw a PNG file: {subject}.")

"""The options of the command estimate, and the checks of their combinations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import click

from aggregator.cli import options
from aggregator.cli.ranges import Ranges
from aggregator.estimate.names import POOLS
from aggregator.estimate.span import Span

FILES = ("parquet", "geojson")
"""Formats that contain a whole distribution, for other programs."""

ONE_NUMBER = ("value", "mean", "sum", "weights")
"""Options that print one number instead of the distribution."""

_NAMES = {"truth_files": "truth", "pair": "cross", "total": "sum", "margins_file": "margins", "class_filter": "where"}
"""Names of options by the names of their parameters, where the two differ."""


@dataclass(frozen=True)
class EstimateOptions:
    """The options of the command estimate; an option that was not given has the default.

    The attributes are the parameters of the command, whose help describes them.
    """

    output_format: str
    confidence: float
    engine_name: str
    plot: Path | None = None
    report: Path | None = None
    period: int | None = None
    by: str | None = None
    periods: list[Span] | None = None
    ends: list[Span] | None = None
    steps: bool = False
    class_filter: str | None = None
    method: str | None = None
    truth_files: tuple[Path, ...] = ()
    pool: str = POOLS[0]
    question: str | None = None
    pair: str | None = None
    value: str | None = None
    mean: bool = False
    quantiles: str | None = None
    cdf: bool = False
    bins: str | None = None
    above: str | None = None
    between: str | None = None
    total: bool = False
    weights: Path | None = None
    coefficients: Path | None = None
    margins_file: Path | None = None
    offset: float = 0.0
    population: int | None = None
    forged: int | None = None

    @cached_property
    def changed(self) -> frozenset[str]:
        """The names of the options that differ from their defaults; ``format`` only for a format of ``FILES``, and
        never ``confidence`` or ``engine``."""
        changed = [
            field.name
            for field in fields(self)
            if field.default is not MISSING and getattr(self, field.name) != field.default
        ]
        named = [_NAMES.get(name, name) for name in changed]
        return frozenset([*named, *(["format"] if self.output_format in FILES else [])])

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """The questions that --question or --cross names; empty without these options."""
        return requested_questions(self.question, self.pair)

    @property
    def ranges(self) -> Ranges:
        """The requested quantiles and ranges."""
        return Ranges(self.quantiles, self.cdf, self.bins, self.above, self.between, mean=self.mean)

    def with_cdf(self, ranges: Ranges) -> Ranges:
        """Return the ranges, with the distribution function if it is printed, drawn or put on a page."""
        return replace(ranges, cdf=ranges.cdf or self.plot is not None or self.report is not None)

    @property
    def numbers(self) -> list[str]:
        """The given options that print one number instead of the distribution; empty with ranges, and --mean counts
        only without --by."""
        if self.ranges.named:
            return []
        return [name for name in ONE_NUMBER if name in self.changed and not (name == "mean" and self.by)]

    @cached_property
    def class_name(self) -> str | None:
        """The class that --where class=NAME names; None without the option."""
        if self.class_filter is None:
            return None
        kind, sign, name = self.class_filter.partition("=")
        if kind.strip() != "class" or not sign or not name:
            raise click.UsageError(
                f"--where {self.class_filter[:60]!r} does not name a class: write --where class=NAME"
            )
        return name

    def require_compatible(self) -> None:
        """Refuse options that exclude each other, and an option without the one that it needs."""
        _refuse(self._exclusions(), self.changed)

    def require_form_page(self) -> None:
        """Refuse options that do not apply to the page of all questions of a form."""
        changed = self.changed | ({"format"} if self.output_format != options.FORMATS[0] else set())
        others = ("by", "where", "method", "plot", "truth", "forged", "format", *self.numbers, *self.ranges.named)
        _refuse([(True, others, "--report of a form covers all its questions: leave out --{}")], changed)

    def _exclusions(self) -> Iterator[tuple[object, Sequence[str], str]]:
        """Yield (condition, options, message): if the condition holds, none of these options may be given.

        ``{}`` or ``{0}`` in a message is replaced by the option that was given.
        """
        ranges, numbers = self.ranges.named, self.numbers
        range_, number = "".join(ranges[:1]), "".join(numbers[:1])
        by_period, sums = self.by == "period", numbers in (["value"], ["sum"], ["weights"])
        yield (
            self.questions,
            (*("method", "value", "pool", "mean", "sum", "weights", "report", "forged", "population"), *ranges),
            "--question and --cross cannot be combined with --{0}: leave out --{0}",
        )
        yield (
            self.questions,
            ("format",),
            f"--question and --cross cannot be combined with --format {self.output_format}: choose table, json or csv",
        )
        yield (
            self.questions and self.by,
            ("plot", "truth", *(("margins",) if self.by == "class" else ())),
            f"--question and --cross by {self.by} cannot be combined with --{{0}}: leave out --{{0}}",
        )
        yield (
            self.by == "class",
            ("where",),
            "--by class estimates every class, and --{} a single one: leave out one of the two",
        )
        yield (
            range_,
            ("value", "sum", "weights", "truth", "forged", "pool"),
            f"--{range_} and --{{}} cannot be combined: run the command once for each",
        )
        yield (
            self.output_format in FILES,
            ("by", *ONE_NUMBER, *ranges),
            f"--format {self.output_format} writes a whole distribution: leave out --{{}}",
        )
        yield self.margins_file and self.questions, ("where",), "--margins needs all classes: leave out --{}"
        yield (
            self.margins_file and not self.questions,
            ("by", "where", "value", "sum", "weights"),
            "--margins needs the distribution, ranges or mean of everybody: leave out --{}",
        )
        yield (
            self.pool != POOLS[0],
            ("by", "where", *ONE_NUMBER),
            f"--pool {self.pool} estimates the distribution of everybody: leave out --{{}}",
        )
        yield number, numbers[1:], f"--{number} and --{{}} cannot be combined: run the command once for each"
        yield (
            number,
            (*(() if self.by else ("plot", "truth")), "report", "forged"),
            f"--{number} prints one number, and --{{}} needs the distribution: leave out one of the two",
        )
        yield not sums, ("population", "coefficients"), "--{} needs --value, --sum or --weights"
        yield (
            self.coefficients,
            ("by", "where", "population", "offset"),
            "the file of --coefficients states the offset and the number of people of each class: leave out --{}",
        )
        yield numbers != ["weights"], ("offset",), "--{} needs --weights"
        yield not by_period, ("periods", "ends", "steps"), "--{} needs --by period"
        yield not by_period and len(self.truth_files) > 1, ("truth",), "--{} can be repeated only with --by period"
        yield (
            by_period,
            ("sum", "weights", "period", "population", "forged"),
            "--by period cannot be combined with --{}: leave out one of the two",
        )


def requested_questions(question: str | None, pair: str | None) -> tuple[str, ...]:
    """Return the questions that --question or --cross names; empty without these options."""
    if question is not None and pair is not None:
        raise click.UsageError("--question and --cross cannot be combined: run the command once for each")
    if question is not None:
        return (question.strip(),)
    if pair is None:
        return ()
    names = tuple(part.strip() for part in pair.split(","))
    if len(names) != 2 or not all(names):
        raise click.UsageError(
            f"--cross {pair[:60]!r} does not name two questions: write two names, as in --cross age,vote"
        )
    return names


def _refuse(exclusions: Iterable[tuple[object, Sequence[str], str]], changed: Set[str]) -> None:
    """Refuse the first excluded option that was given."""
    for condition, excluded, message in exclusions:
        name = next((name for name in excluded if name in changed), None)
        if condition and name is not None:
            raise click.UsageError(message.format(name))

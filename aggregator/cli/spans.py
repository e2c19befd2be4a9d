"""Options that select periods of a campaign: --periods and --between."""

from __future__ import annotations

from collections.abc import Sequence

import click

from aggregator.cli import options
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.span import Span
from aggregator.study import Study
from protocol.campaign import SignedCampaign

MOST_SPANS = 200
"""Maximum number of spans in one estimate."""


def spans_of(study: Study, signed: SignedCampaign, asked: list[Span] | None) -> list[Span]:
    """Return the spans of --periods; without the option, every period that has reports."""
    spans = _periods_of(study, signed) if asked is None else asked
    for span in spans:
        options.require_period(signed.terms, span.last)
    return spans


def ends_of(asked: list[Span] | None, spans: Sequence[Span]) -> tuple[Span, Span] | None:
    """Return the two spans of --between; None without the option."""
    if asked is None:
        return None
    names = ", ".join(span.name for span in spans[:20])
    if len(asked) != 2 or asked[0] == asked[1] or any(span not in spans for span in asked):
        raise click.UsageError(f"--between must name two of the spans, as in 0,3; the spans are: {names}")
    return asked[0], asked[1]


def _periods_of(study: Study, signed: SignedCampaign) -> list[Span]:
    """Return every period that has reports."""
    counted = study.periods(signed)
    if not counted:
        raise NotEnough(f"{signed.terms.title!r} has no reports yet: ingest some")
    if len(counted) > MOST_SPANS:
        last = max(counted)
        raise click.UsageError(
            f"{len(counted):,} periods have reports, more than {MOST_SPANS}: combine them, for example with "
            f"--periods 0-{last // 2},{last // 2 + 1}-{last}"
        )
    return [Span(period, period) for period in sorted(counted)]

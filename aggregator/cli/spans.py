"""Options that select periods of a campaign: --periods and --ends."""

from __future__ import annotations

from collections.abc import Sequence

import click

from aggregator.cli import options, printing
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.span import Span
from aggregator.quantity import names_text, quantity
from aggregator.study import Study
from protocol.campaign import SignedCampaign

MAX_SPANS = 200
"""Maximum number of periods that are estimated one by one if --periods is not given."""


def spans_of(study: Study, signed: SignedCampaign, periods: list[Span] | None) -> list[Span]:
    """Return the spans of the option --periods; without the option, one for every period that has reports."""
    spans = _periods_of(study, signed) if periods is None else periods
    for span in spans:
        options.require_period(signed.campaign, span.last)
    return spans


def ends_of(ends: list[Span] | None, spans: Sequence[Span]) -> tuple[Span, Span] | None:
    """Return the two spans of the option --ends; None without the option."""
    if ends is None:
        return None
    if len(spans) < 2:
        raise click.UsageError(
            f"--ends compares two spans, and the only one is {spans[0].name_in_text}: leave out --ends"
        )
    if len(ends) != 2 or ends[0] == ends[1] or any(span not in spans for span in ends):
        names = names_text([span.name for span in spans])
        raise click.UsageError(f"--ends must name two different spans, separated by a comma; the spans are: {names}")
    return ends[0], ends[1]


def _periods_of(study: Study, signed: SignedCampaign) -> list[Span]:
    """Return one span for every period that has reports."""
    counted = study.periods(signed)
    if not counted:
        raise NotEnough(f"{signed.campaign.title!r} has no reports yet: run `halftruth ingest`")
    if len(counted) > MAX_SPANS:
        last = max(counted)
        raise click.UsageError(
            f"{len(counted):,} periods have reports, more than {MAX_SPANS}: combine them, for example with "
            f"--periods 0-{last // 2},{last // 2 + 1}-{last}"
        )
    return [Span(period, period) for period in sorted(counted)]


def warn_left_out(names: Sequence[str], minimum: int) -> None:
    """Warn of periods or classes that are left out because they have fewer devices than the campaign's minimum."""
    if names:
        printing.warn(
            f"each of these has fewer than {quantity(minimum, 'device')} and is left out: {names_text(names)}"
        )


def warn_single(name: str) -> None:
    """Warn that nothing can be compared with the only span of periods, or class, that is estimated."""
    printing.warn(f"no difference can be computed, because the only estimate is that of {name}")

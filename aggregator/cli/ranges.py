"""What `halftruth estimate` is asked of ordered values: --quantiles, --cdf, --bins, --above, --between.

How they are estimated: estimate.ordered. How they are shown: present.ordered.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from aggregator.cli import shell
from aggregator.cli.shell import BAD_DATA, Failure
from protocol.campaign import SignedCampaign
from protocol.domain import Answer, Domain
from protocol.errors import NotInDomain

if TYPE_CHECKING:  # loaded when an estimate is made
    from aggregator.estimate.ordered import Ordered
    from aggregator.estimate.tally import Tally


@dataclass(frozen=True)
class Ranges:
    """The options as they were typed; None, or False, where one was not given."""

    quantiles: str | None
    cdf: bool
    bins: str | None
    above: str | None
    between: str | None

    @property
    def named(self) -> list[str]:
        """The options that were given."""
        return [name for name, given in vars(self).items() if given]

    def require_parts(self) -> tuple[float, ...]:
        """The parts of --quantiles, as typed in 0.1,0.5."""
        try:
            parts = tuple(float(part) for part in (self.quantiles or "").split(",") if part.strip())
        except ValueError:
            parts = (0.0,)
        if not all(0 < part < 1 for part in parts) or (self.quantiles is not None and not parts):
            raise click.UsageError("--quantiles takes parts of the people between 0 and 1, as .1,.5,.9")
        return parts


def estimate_ranges(
    asked: Ranges, signed: SignedCampaign, tally: Tally, mean: bool, method: str | None, level: float, where: str | None
) -> Ordered:
    """What was asked, of one tally."""
    from aggregator.estimate.ordered import NotOrdered, ordered

    domain, parts = signed.terms.domain, asked.require_parts()
    between = [] if asked.between is None else _answers(domain, asked.between, "between")
    if len(between) not in (0, 2):
        raise click.UsageError("--between takes the two ends of a range, as 30,40")
    try:
        return ordered(
            signed,
            tally,
            quantiles=parts,
            cdf=asked.cdf,
            bins=[] if asked.bins is None else _answers(domain, asked.bins, "bins"),
            above=None if asked.above is None else _answers(domain, asked.above, "above")[0],
            between=(between[0], between[1]) if between else None,
            mean=mean,
            method=method,
            level=level,
            where=where,
        )
    except (NotInDomain, NotOrdered) as error:
        raise Failure(str(error), BAD_DATA) from None


def print_ranges(found: Ordered, form: str, plot: Path | None) -> None:
    """Print what was found, and draw it."""
    from aggregator.present.ordered import ordered_csv, ordered_table

    if form == "json":
        shell.print_json(found.as_json())
    elif form == "csv":
        shell.say(ordered_csv(found).rstrip())
    else:
        shell.console().print(ordered_table(found))
    for warning in found.warnings:
        shell.warn(f"Warning: {warning}")
    if plot:
        from aggregator.present.ordered_plot import draw_ordered  # matplotlib takes a second to load

        draw_ordered(found, plot)
        shell.warn(f"{plot}  drawn")


def _answers(domain: Domain, text: str, option: str) -> list[Answer]:
    """The values that are typed with commas between them; one that has a comma is in no list."""
    try:
        return [domain.parse(part.strip()) for part in text.split(",")]
    except NotInDomain as error:
        raise Failure(f"--{option}: {error}", BAD_DATA) from None

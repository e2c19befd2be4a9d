"""The author's commands on campaigns: campaign, close, audit."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import Any

import click

from aggregator.author.audit import audit as audit_of
from aggregator.author.audit import levels_request
from aggregator.author.draft import bins_sentences_of_draft, campaign_of
from aggregator.author.lint import lint
from aggregator.author.pufferfish_file import read_scenarios
from aggregator.author.toml_section import read_toml
from aggregator.author.trade_off import trade_offs
from aggregator.author.value_table import read_prior
from aggregator.cli import arguments, author_files, new_files, options, printing
from aggregator.cli.failure import BAD_DATA, Failure
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import RealNumber
from aggregator.present.listing import audit_table
from aggregator.utc import second_text
from protocol import envelope, exact
from protocol.campaign import Campaign, campaign_id, open_campaign, seal_campaign, unverified_campaign
from protocol.closing import seal_closing
from protocol.errors import HalftruthError


@halftruth.command()
@click.argument("draft", type=arguments.existing)
@click.option("--key", "key_file", type=arguments.existing, required=True, help="The author's secret key, NAME.key.")
@click.option("--out", type=new_files.writable, required=True, help="File to write the signed campaign to.")
@arguments.as_json
def campaign(draft: Path, key_file: Path, out: Path, as_json: bool) -> None:
    """Turn DRAFT (TOML) into a signed campaign.

    The planner designs the channel, the audit computes its privacy level, and the key signs the campaign. A signed
    campaign cannot be changed; publish a new campaign instead.
    """
    key = author_files.secret_key(key_file)
    document = read_toml(draft)
    campaign = campaign_of(document, draft.parent)
    data = seal_campaign(campaign, key)
    with new_files.new_file(out) as file:
        file.write(data)
    campaign_audit, warnings = (
        audit_of(campaign),
        (*bins_sentences_of_draft(document, campaign.domain), *lint(campaign)),
    )
    if as_json:
        facts = {"file": str(out), "bytes": len(data), "id": campaign_id(data).hex()}
        printing.print_json(facts | {"audit": campaign_audit.as_json(), "warnings": list(warnings)})
    else:
        printing.say(f"{out}  {len(data):,} bytes, id {campaign_id(data).hex()}")
        printing.console().print(audit_table(campaign_audit))
    printing.warn(*warnings)


class _Time(click.DateTime):
    """The type of options for a day, or for a time to the second."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime.datetime:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            expected = "a day such as 2026-12-01, or a time such as 2026-12-01T18:30:00"
            self.fail(f"must be {expected}, not {str(value)[:40]!r}", param, ctx)


@halftruth.command()
@click.argument("file", metavar="CAMPAIGN", type=arguments.existing)
@click.option("--key", "key_file", type=arguments.existing, required=True, help="The author's secret key, NAME.key.")
@click.option("--out", type=new_files.writable, required=True, help="File to write the signed closing notice to.")
@click.option(
    "--at",
    "closing_time",
    type=_Time(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    metavar="TIME",
    help="Time of the closing, UTC: a day, such as 2026-12-01, or a time, such as 2026-12-01T18:30:00. [default: now]",
)
@arguments.as_json
def close(file: Path, key_file: Path, out: Path, closing_time: datetime.datetime | None, as_json: bool) -> None:
    """Sign a closing notice, which closes CAMPAIGN before its end.

    A closing notice cannot be withdrawn, and no further notice can postpone the closing.

    Import the notice into the study. The study then refuses reports of periods that begin at or after the closing, and
    devices that fetch the notice from the study stop answering. Reports that were counted stay counted.
    """
    key = author_files.secret_key(key_file)
    data = author_files.campaign_file(file)
    if envelope.decode_first(data, 0)[0].key_id != key.id:
        raise Failure(f"{file} was signed with another key than {key_file}: name the key that signed it", BAD_DATA)
    signed = open_campaign(data, [key.public])
    closes = int(time.time()) if closing_time is None else int(closing_time.replace(tzinfo=datetime.UTC).timestamp())
    if closes >= signed.campaign.closes:
        raise Failure(_too_late(signed.campaign, closing_time), BAD_DATA)
    notice = seal_closing(signed, closes, key)
    with new_files.new_file(out) as notice_file:
        notice_file.write(notice)
    if as_json:
        printing.print_json({"file": str(out), "bytes": len(notice), "id": signed.id.hex(), "closes": closes})
        return
    printing.say(f"{out}  {len(notice):,} bytes; the notice closes {signed.campaign.title!r} at {second_text(closes)}")
    printing.say("import it into every study that has the campaign: halftruth --study DIR import FILE")


def _too_late(campaign: Campaign, closing_time: datetime.datetime | None) -> str:
    """Return the text of the error for a closing that is not before the campaign's own."""
    ends = second_text(campaign.closes)
    if closing_time is None:
        return f"{campaign.title!r} already closed at {ends}: no closing notice is needed"
    return f"--at must be before {ends}, when {campaign.title!r} closes: name an earlier time"


@halftruth.command()
@click.argument("file", type=arguments.existing)
@click.option(
    "--epsilon",
    type=RealNumber(0, exact.nats(exact.MAX_LEVEL)),
    multiple=True,
    help="Level in nats (see docs/GLOSSARY.md) for which delta is computed; may be repeated. [default: 0, half of the "
    "declared level, and the declared level]",
)
@click.option(
    "--prior",
    help="The prior: a CSV file value,count, or uniform. [default: the prior of the campaign's notion, else uniform]",
)
@click.option(
    "--radius",
    type=RealNumber(0, 1),
    help="Also report LIP for every prior within this total variation distance of --prior (see docs/GLOSSARY.md).",
)
@click.option("--pufferfish", type=arguments.existing, help="Pufferfish file: secrets, pairs and scenarios as JSON.")
@click.option(
    "--metric",
    help="Unit of distance for geo-indistinguishability: steps or degrees (grid), numbers or steps (numbers, "
    "dates and buckets), steps (ordered values). [default: the first one named for the domain]",
)
@options.plot(
    "the error rates of the best test that distinguishes two answers by one report (by one output of a "
    "bundle). It shows the worst pair of answers, and pairs for other bounds of the notion, at most four pairs in all"
)
@arguments.as_json
def audit(
    file: Path,
    epsilon: tuple[float, ...],
    prior: str | None,
    radius: float | None,
    pufferfish: Path | None,
    metric: str | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Recompute every privacy claim of a campaign from the integers of its channel, and compute its level under the
    other notions, as far as they apply. docs/GLOSSARY.md explains the notions.

    If the channel exceeds the declared level, even slightly, the command ends with exit code 65.
    """
    try:
        campaign = unverified_campaign(author_files.campaign_file(file))
    except (Failure, HalftruthError) as error:
        if as_json:
            printing.print_json({"certified": False, "error": str(error)})
        raise
    weights = None
    if prior not in (None, "uniform") and not Path(prior).is_file():
        raise click.UsageError(f"--prior {prior[:60]!r} is not a file: give a CSV file value,count, or uniform")
    if prior is not None:
        weights = (1,) * campaign.domain.size if prior == "uniform" else read_prior(Path(prior), campaign.domain)
    request = levels_request(
        campaign,
        prior=weights,
        epsilons=tuple(exact.level_from(nats) for nats in epsilon),
        radius=None if radius is None else exact.rational(radius),
        metric=metric,
        pufferfish=None if pufferfish is None else read_scenarios(pufferfish, campaign.domain),
    )
    campaign_audit = audit_of(campaign, request, prior)
    if as_json:
        printing.print_json(campaign_audit.as_json())
    else:
        printing.console().print(audit_table(campaign_audit))
    if plot:
        from aggregator.present.trade_off_plot import draw_trade_offs  # matplotlib takes a second to load

        draw_trade_offs(trade_offs(campaign), campaign, plot)
        printing.note(f"{plot}  drawn")

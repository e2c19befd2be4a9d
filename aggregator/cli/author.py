"""The author's commands: keygen, campaign, audit, simulate."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

import click

from aggregator import simulate as simulation
from aggregator.audit import ask, audit_campaign, read_prior
from aggregator.cli import options, shell
from aggregator.cli.shell import FAILED, Failure, halftruth
from aggregator.design.draft import read_draft
from aggregator.design.lint import lint
from aggregator.present.listing import audit_table
from aggregator.scenarios import read_scenarios
from protocol import exact, keys
from protocol.campaign import Campaign, campaign_id, require_campaign, seal_campaign, unverified_campaign
from protocol.errors import HalftruthError, OutsideSchedule
from protocol.levels import uniform


@halftruth.command(short_help="Make an author's key pair.")
@click.argument("name", type=click.Path(path_type=Path))
@shell.as_json
def keygen(name: Path, as_json: bool) -> None:
    """Make a key pair: NAME.key signs campaigns, NAME.pub is what devices and studies trust."""
    secret, public = name.with_name(name.name + ".key"), name.with_name(name.name + ".pub")
    if public.exists():
        raise Failure(f"{public} exists; it is not overwritten", FAILED)
    key = keys.SigningKey(os.urandom(keys.SECRET_BYTES))
    with shell.new_file(secret, mode=0o600) as file:
        file.write(key.line().encode())
    with shell.new_file(public) as file:
        file.write(keys.public_line(key.public).encode())
    if as_json:
        shell.print_json({"secret": str(secret), "public": str(public), "key": key.id.hex()})
        return
    shell.say(f"{secret}  keep it: whoever has it can sign campaigns in your name")
    shell.say(f"{public}  give it to devices and studies (key {key.id.hex()})")


@halftruth.command(short_help="Turn a draft (TOML) into a signed campaign.")
@click.argument("draft", type=shell.existing)
@click.option("--key", "key_file", type=shell.existing, required=True, help="The author's secret key, NAME.key.")
@click.option("--out", type=shell.writable, required=True, help="Where the signed campaign goes.")
@shell.as_json
def campaign(draft: Path, key_file: Path, out: Path, as_json: bool) -> None:
    """Turn DRAFT (TOML) into a signed campaign.

    The channel is designed, audited on its integers, and signed. From then on it cannot be changed, only followed by
    another campaign.
    """
    key = keys.SigningKey.from_line(_text(key_file))
    terms = read_draft(draft)
    data = seal_campaign(terms, key)
    with shell.new_file(out) as file:
        file.write(data)
    found, warnings = audit_campaign(terms), lint(terms)
    if as_json:
        made = {"file": str(out), "bytes": len(data), "id": campaign_id(data).hex()}
        shell.print_json(made | {"audit": found.as_json(), "warnings": list(warnings)})
    else:
        shell.say(f"{out}  {len(data)} bytes, id {campaign_id(data).hex()}")
        shell.console().print(audit_table(found))
    for warning in warnings:
        shell.warn(f"Warning: {warning}")


@halftruth.command(short_help="Recompute a campaign's privacy claims from its integers.")
@click.argument("file", type=shell.existing)
@click.option(
    "--epsilon", type=options.Number(), multiple=True, help="Nats at which deltas are computed; may be repeated."
)
@click.option("--prior", help="CSV value,count, or uniform. [default: the campaign's for LIP, else uniform]")
@click.option("--ball", type=options.Number(0, 1), help="Also LIP for priors this far away, in total variation.")
@click.option("--pufferfish", type=shell.existing, help="JSON with secrets, pairs and scenarios.")
@click.option("--metric", help="Of geo-indistinguishability: steps or degrees; numbers or steps.")
@shell.as_json
def audit(
    file: Path,
    epsilon: tuple[float, ...],
    prior: str | None,
    ball: float | None,
    pufferfish: Path | None,
    metric: str | None,
    as_json: bool,
) -> None:
    """Recompute every privacy claim of a campaign from its own integers, and its level under every other notion.

    A campaign whose channel exceeds its declared level, by however little, ends with exit code 65.
    """
    data = file.read_bytes()
    try:
        require_campaign(data)
        terms = unverified_campaign(data)
    except HalftruthError as error:
        if as_json:
            shell.print_json({"certified": False, "error": str(error)})
        raise
    if any(not 0 <= nats <= exact.nats(exact.MAX_LEVEL) for nats in epsilon):
        raise click.UsageError(f"--epsilon is 0 to {exact.nats(exact.MAX_LEVEL):g} nats")
    weights = None
    if prior is not None:
        weights = uniform(terms.channel) if prior == "uniform" else read_prior(Path(prior), terms.domain)
    asked = ask(
        terms,
        prior=weights,
        epsilons=tuple(exact.level_from(nats) for nats in epsilon),
        radius=None if ball is None else exact.rational(ball),
        metric=metric,
        pufferfish=None if pufferfish is None else read_scenarios(pufferfish, terms.domain),
    )
    found = audit_campaign(terms, asked, prior)
    if as_json:
        shell.print_json(found.as_json())
    else:
        shell.console().print(audit_table(found))


@halftruth.command(short_help="Let everybody in a file of true counts answer.")
@click.argument("file", type=shell.existing)
@click.option("--truth", "truth_file", type=shell.existing, required=True, help="CSV with the header value,count.")
@click.option("--out", type=shell.writable, required=True, help="Where the batch of reports goes.")
@click.option("--keys", "keys_file", type=shell.writable, help="Where the devices' enrolments go.")
@click.option("--seed", type=click.IntRange(min=0), help="Repeatable randomness. For experiments only.")
@click.option("--period", type=click.IntRange(min=0), help="The period they answer in. [default: the current one]")
@shell.as_json
def simulate(
    file: Path, truth_file: Path, out: Path, keys_file: Path | None, seed: int | None, period: int | None, as_json: bool
) -> None:
    """Let everybody in a file of true counts answer, each with a device of their own.

    Every simulated device has its own key and dice, and signs its report as a real one does. For a campaign that
    takes any key, the batch carries the devices' enrolments too; for one that takes enrolled keys only, hand the file
    of --keys to `halftruth enrol`.
    """
    data = file.read_bytes()
    require_campaign(data)
    terms = unverified_campaign(data)
    truth = simulation.read_truth(truth_file, terms.domain, terms.classes)
    if terms.enrolment == "enrolled" and keys_file is None:
        raise Failure("this campaign takes enrolled keys only: name a file for them with --keys", FAILED)
    if period is None:
        period = _period_near(terms, int(time.time()))
    if period >= terms.periods:
        raise Failure(f"the campaign has periods 0 to {terms.periods - 1}", FAILED)
    if seed is not None:
        shell.warn("--seed is for experiments only: whoever knows it knows every answer. Real devices have no seed.")
    with ExitStack() as files:
        batch = files.enter_context(shell.new_file(out))
        enrolments = files.enter_context(shell.new_file(keys_file)) if keys_file else None
        advance = files.enter_context(shell.progress("devices answer", truth.people))
        for sent in simulation.population(terms, campaign_id(data), truth, period, seed):
            batch.write(sent.reports)
            if enrolments:
                enrolments.write(sent.enrolments)
            advance(sent.people)
    if as_json:
        files_made = {"file": str(out), "keys": None if keys_file is None else str(keys_file)}
        shell.print_json(files_made | {"reports": truth.people, "period": period, "bytes": out.stat().st_size})
        return
    shell.say(f"{out}  {truth.people} reports for period {period}, {out.stat().st_size} bytes")
    if keys_file:
        shell.say(f"{keys_file}  {truth.people} enrolments, {keys_file.stat().st_size} bytes")


def _period_near(terms: Campaign, now: int) -> int:
    """The period that ``now`` is in; before the opening the first, after the closing the last."""
    try:
        return terms.period_at(now)
    except OutsideSchedule:
        return 0 if now < terms.opens else terms.periods - 1


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("ascii")
    except UnicodeDecodeError:
        raise Failure(f"{path} is not a key file", shell.BAD_DATA) from None

"""The commands of ``python -m edge_sdk``, with their arguments and help.

The module arguments defines the parsers and their errors; joining, commands, sending and upkeep implement the commands.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from edge_sdk.cli import commands, joining, sending, upkeep
from edge_sdk.cli.arguments import (
    CommandParser,
    Parser,
    SkippedParser,
    command_in,
    json_anywhere,
    nats_from,
    unknown_arguments,
    whole_number,
)
from edge_sdk.cli.output import Printed
from protocol.spelling import suggestion

STORELESS = upkeep.run, commands.audit
"""Commands without --store: a configuration names the store, and a campaign's file needs none."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of one command, and the function ``run`` that implements it.

    Raises:
        SystemExit: the arguments are invalid, or help was requested.
    """
    command = command_in(arguments)
    parser, names = parser_of(command)
    if command is not None and command not in names:
        expected = suggestion(command, names) or f": expected one of {', '.join(sorted(names))}"
        parser.error(f"unknown command {command[:40]!r}{expected}")
    options, rest = parser.parse_known_args(arguments)
    if rest:
        options.parser.refuse(unknown_arguments(rest, options.parser, parser))
    if options.store is None and options.run not in STORELESS:
        parser.error("--store is missing: name the device's folder before the command, as in --store DIR ledger")
    return options


def parser_of(command_name: str | None) -> tuple[Parser, list[str]]:
    """Return the parser of one command, or of all if ``command_name`` is None, and the names of all commands."""
    parser = Parser(
        prog="python -m edge_sdk",
        description="Answer the questions of signed campaigns: answers are perturbed before they are sent, and their "
        "privacy cost is counted.",
        epilog="An ID is a campaign's id in hex, or the beginning of it. Exit codes: 0 done, 1 refused or failed, "
        "2 usage, 65 bad data, 75 not yet.",
    )
    parser.add_argument(
        "--store",
        metavar="DIR",
        help="the device's own folder, created if missing; not needed for the commands 'run' and 'audit FILE'",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")
    parser.add_argument(
        "--key-store",
        choices=["file", "keyring", "android"],
        help="where a new store keeps its secret: in files of DIR, the desktop's keyring, or the phone's Keystore",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FILE",
        type=Path,
        help="where a file key store keeps a second checkpoint, outside DIR and its backups, "
        "so that a restored copy of DIR is detected",
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", prog=parser.prog)
    names, parents = [], [json_anywhere()]

    def command(name: str, run: Callable[[argparse.Namespace], Printed], text: str) -> CommandParser:
        names.append(name)
        if command_name not in (None, name):
            return SkippedParser()
        subparser = subparsers.add_parser(name, help=text, description=text, parents=parents)
        subparser.set_defaults(run=run, parser=subparser)
        return subparser

    def campaign(subparser: CommandParser) -> CommandParser:
        subparser.add_argument("id", metavar="ID", help="the campaign's id, or the beginning of it")
        return subparser

    join = command("join", joining.join, "verify, audit and store a signed campaign, and show its terms")
    join.add_argument(
        "campaign",
        metavar="FILE|LINK",
        help="the file of a signed campaign, or a link to a campaign (put the link in quotes)",
    )
    join.add_argument("--yes", action="store_true", help="join by a link without confirmation")
    join.add_argument("--address", metavar="URL", help="address of the study; used if the signed campaign names none")
    join.add_argument(
        "--trust",
        metavar="PUB",
        type=Path,
        action="append",
        default=[],
        help="file of an author's public key, trusted for this command only",
    )
    trusted = command(
        "trust",
        joining.trust,
        "show the trusted authors, or add or remove one; join --trust trusts an author for one campaign file only",
    )
    trusted.add_argument(
        "verb",
        metavar="{add,remove}",
        choices=["add", "remove"],
        nargs="?",
        help="add or remove an author [default: show all authors]",
    )
    trusted.add_argument(
        "key",
        metavar="FILE|ID|FINGERPRINT",
        nargs="?",
        help="add: the file of a public key, or the id of a joined campaign, to trust its author; remove: the "
        "beginning of a fingerprint",
    )
    trusted.add_argument("--name", help="name of the author, for display only")
    shown = campaign(command("terms", joining.terms, "show the terms of a joined campaign"))
    for subparser in (join, shown):
        subparser.add_argument(
            "--language", metavar="TAG", help="language of the texts, such as de or pt-BR, if the campaign has it"
        )
    closed = command("close", joining.close, "close a campaign early, by its author's signed closing notice")
    closed.add_argument("file", metavar="FILE", type=Path, help="the signed closing notice, from the study")
    consent = campaign(command("consent", commands.consent, "agree to a campaign: reserve its worst-case cost"))
    named = consent.add_mutually_exclusive_group()
    named.add_argument(
        "--class", dest="as_class", metavar="NAME", help="the class of people you belong to; the choice is public"
    )
    named.add_argument(
        "--choose-class",
        type=nats_from,
        metavar="NATS",
        help="let the device choose your class at random; the class nearest to your earlier answers is the most "
        "likely; the choice costs NATS (the unit of the privacy level; see docs/GLOSSARY.md)",
    )
    named.add_argument(
        "--choose-prior",
        type=nats_from,
        metavar="NATS",
        help="declare a prior that the device chooses at random from a public list; the prior nearest to your earlier "
        "answers is the most likely; the choice costs NATS (for prior and nats see docs/GLOSSARY.md)",
    )
    consent.add_argument(
        "--prior",
        type=Path,
        metavar="CSV",
        help="your prior, if the campaign asks for one: a CSV file with the header value,count and a row for each "
        "value. It becomes public and stays public; preview --prior shows its effect and cost",
    )
    consent.add_argument(
        "--history",
        type=Path,
        metavar="CSV",
        help="with --choose-class or --choose-prior: a CSV file as for --prior with the counts of your earlier "
        "answers, by which the device chooses. They are not sent. [default: your answers on this device to all "
        "campaigns with the same possible answers, except campaigns that ask this device for a coarser answer]",
    )
    consent.add_argument(
        "--level",
        type=nats_from,
        metavar="NATS",
        help="with --prior: also declare a personal level below the campaign's, in nats (see docs/GLOSSARY.md); it "
        "becomes public too",
    )
    answer = campaign(
        command(
            "answer", commands.answer, "perturb one answer, charge its cost, and put the signed report into the outbox"
        )
    )
    answer.add_argument(
        "value",
        metavar="VALUE",
        nargs="+",
        help="the answer, or name=answer for each question of a form; - reads the answer from standard input",
    )
    answer.add_argument(
        "--slot",
        type=whole_number,
        metavar="N",
        help="slot of the answer in its period, from 0. The same slot with the same value gives the same report again; "
        "without a slot, each call fills the next one (with one answer per period, always slot 0)",
    )
    answer.add_argument(
        "--collect", action="store_true", help="draw and charge now, and sign later with: outbox bundle"
    )
    outbox = command("outbox", sending.outbox, "show, export or send waiting envelopes, or bundle collected answers")
    outbox.add_argument(
        "verb",
        metavar="{export,send,bundle}",
        choices=["export", "send", "bundle"],
        nargs="?",
        help="export: write one campaign's envelopes to a new file; send: upload the envelopes that are due, each "
        "campaign to its own study; bundle: sign the collected answers",
    )
    outbox.add_argument(
        "to",
        metavar="FILE|URL|ID",
        nargs="?",
        help="export: the new file; send: send only to this address [default: each campaign's own]; bundle: "
        "bundle only this campaign [default: all]",
    )
    outbox.add_argument("--campaign", metavar="ID", help="export or send this campaign only")
    campaign(
        command(
            "follow",
            joining.follow,
            "join and agree to the study's next campaign, if it closes later, costs no more, and has the same or a "
            "stricter promise; apart from this, only its title, languages, schedule, minimum number of devices and "
            "mechanism may differ",
        )
    )
    addressed = campaign(
        command(
            "address",
            joining.address,
            "show the address for a campaign's reports, or set it if the campaign names none",
        )
    )
    addressed.add_argument(
        "url",
        metavar="URL",
        nargs="?",
        help="the study's address for reports: https://HOST, or http:// on this machine",
    )
    command("ledger", commands.ledger, "show the amounts reserved, spent and remaining, and all entries of the ledger")
    preview = campaign(
        command(
            "preview",
            commands.preview,
            "show the size, cost and possible disclosure of an answer, without drawing or charging",
        )
    )
    preview.add_argument(
        "value",
        metavar="VALUE",
        nargs="*",
        default=[],
        help="an answer to preview; - reads the answer from standard input [default: the answer that one report can "
        "make most probable]",
    )
    preview.add_argument(
        "--prior",
        type=Path,
        metavar="CSV",
        help="a CSV file: the header value,count, then one row for each value. Show the level, the costs and the "
        "possible posteriors of declaring these counts as your prior",
    )
    preview.add_argument(
        "--level", type=nats_from, metavar="NATS", help="with --prior: a personal level in nats (see docs/GLOSSARY.md)"
    )
    exposed = campaign(
        command(
            "exposure",
            commands.exposure,
            "show an upper bound on what all reports about the same values reveal together",
        )
    )
    exposed.add_argument(
        "value",
        metavar="VALUE",
        nargs="*",
        default=[],
        help="an answer; - reads the answer from standard input [default: the answer with the highest bound]",
    )
    audited = command(
        "audit",
        commands.audit,
        "compute how much a report can reveal under each privacy notion (see docs/GLOSSARY.md), from the numbers in "
        "the signed campaign; for a joined campaign, the levels that need a prior use your earlier answers on this "
        "device, if there are any",
    )
    audited.add_argument("campaign", metavar="ID|FILE", help="the id of a joined campaign, or any campaign file")
    forget = command(
        "forget",
        commands.forget,
        "delete a campaign, or all: answers, waiting envelopes and consent; each used slot is charged "
        "like a new value, and the rest of the reserve is released",
    )
    forget.add_argument("id", metavar="ID", nargs="?", help="the campaign's id, or the beginning of it [default: all]")
    enrolment = campaign(
        command("enrolment", commands.enrolment, "write the file that enrols this device for a campaign")
    )
    enrolment.add_argument("file", metavar="FILE", type=Path, help="the new file; give it to the organisation")
    budget = command(
        "budget",
        upkeep.budget,
        "show the caps, or lower them; the first lifetime cap replaces the default of 8 nats (the unit of the "
        "privacy level; see docs/GLOSSARY.md)",
    )
    budget.add_argument("--lifetime", type=nats_from, metavar="NATS", help="cap for all answers of this device")
    budget.add_argument("--per-campaign", type=nats_from, metavar="NATS", help="cap for each campaign")
    budget.add_argument("--window", nargs=2, metavar=("SECONDS", "NATS"), help="cap for any interval of SECONDS")
    command(
        "adopt",
        upkeep.adopt,
        "continue with a store that was restored, copied or damaged; all joined campaigns are forgotten",
    )
    clocked = command(
        "clock",
        upkeep.clock,
        "show the latest recorded time of each campaign; a unit does not answer while the clock shows an earlier time",
    )
    clocked.add_argument(
        "--set",
        action="store_true",
        help="accept the current time as correct, if the clock was ahead and was corrected; spending is not refunded",
    )
    command("doctor", upkeep.doctor, "show where the secret is stored, and the guarantees and limits of this store")
    unit = command(
        "run",
        upkeep.run,
        "answer automatically, as configured, until the campaign is over; for units, which answer without a person",
    )
    unit.add_argument("configuration", metavar="CONFIG", type=Path, help="a TOML file; edge_sdk/units has examples")
    unit.add_argument(
        "--check",
        action="store_true",
        help="show the campaign's terms and the unit's plan, test the sources except standard input, and join nothing",
    )
    return parser, names

"""``python -m edge_sdk``: the device on a command line, for cron jobs, daemons and the curious.

One idea: a thin skin. Each command is one call of ``Device``, printed for a person or, with ``--json``, for a
script. An error is one line on stderr that never repeats a value.

Exit codes: 0 done, 1 refused or failed, 2 usage, 65 bad data, 75 not yet.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from edge_sdk.budget import BudgetPolicy
from edge_sdk.device import Device
from edge_sdk.errors import UnknownCampaign
from edge_sdk.terms import Terms
from protocol import exact, keys
from protocol.campaign import unverified_campaign
from protocol.errors import BadData, HalftruthError, NotInDomain, NotYet

if TYPE_CHECKING:  # loaded when needed
    from edge_sdk.keeper import Keeper
    from edge_sdk.send import Sent

DONE, FAILED, USAGE, BAD_DATA, NOT_YET = 0, 1, 2, 65, 75
MOST_CAMPAIGN_BYTES = 4 * 2**20 + 1024
"""Longer files are not read to their end: no campaign is as long."""

Printed = dict[str, object]


class _Usage(HalftruthError):
    """Arguments that are well-formed and mean nothing."""


class _Undone(HalftruthError):
    """Not everything was done; what was is printed for a script all the same."""

    def __init__(self, text: str, printed: Printed, code: int) -> None:
        super().__init__(text)
        self.printed = printed
        self.code = code


class _Parser(argparse.ArgumentParser):
    """argparse repeats the arguments it does not understand, and one of them may be the person's answer."""

    def error(self, message: str) -> NoReturn:
        if self.prog.endswith((" answer", " preview", " exposure")) or "unrecognized arguments" in message:
            message = "the arguments do not fit; write -- before a value that begins with a dash, and quote blanks"
        super().error(message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.store is None and options.run is not _run:
        parser.error("the following arguments are required: --store")
    run: Callable[[argparse.Namespace], Printed] = options.run
    try:
        if (options.keeper or options.mark) and run is not _adopt:
            Device.open(_store(options), keeper=_keeper(options)).close()  # the store remembers them from here on
        printed = run(options)
    except _Usage as error:
        return _fail(str(error), USAGE)
    except _Undone as error:
        if options.json:
            print(json.dumps(error.printed))
        return _fail(str(error), error.code)
    except NotYet as error:
        return _fail(str(error), NOT_YET)
    except (BadData, NotInDomain) as error:
        return _fail(str(error), BAD_DATA)
    except HalftruthError as error:
        return _fail(str(error), FAILED)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), FAILED)
    print(json.dumps(printed) if options.json else "\n".join(_lines(printed)))
    return DONE


def _fail(text: str, code: int) -> int:
    print(f"edge_sdk: {text}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m edge_sdk",
        description="Answer signed questions with half-truths: what leaves is noisy, and what it costs is counted.",
        epilog="An ID is a campaign's id in hex, or the beginning of it. Exit codes: 0 done, 1 refused or failed, "
        "2 usage, 65 bad data, 75 not yet.",
    )
    parser.add_argument("--store", metavar="DIR", help="the device's own folder, made if missing; all but run need it")
    parser.add_argument("--json", action="store_true", help="print for a script")
    parser.add_argument(
        "--keeper",
        choices=["file", "keyring", "android"],
        help="what keeps the secret of a new store: files of DIR, the desktop's keyring, or the phone's Keystore",
    )
    parser.add_argument(
        "--mark",
        metavar="FILE",
        type=Path,
        help="where a file keeper keeps a second mark, outside DIR and its backups, so that DIR restored is noticed",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], Printed], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text, parents=[_json_anywhere()])
        made.set_defaults(run=run)
        return made

    def campaign(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
        made.add_argument("id", metavar="ID", help="the campaign's id, or the beginning of it")
        return made

    join = command("join", _join, "verify and audit a signed campaign, and show its terms")
    join.add_argument("file", metavar="FILE", type=Path)
    join.add_argument("--trust", metavar="PUB", type=Path, action="append", default=[], help="the author's public key")
    consent = campaign(command("consent", _consent, "agree to a campaign: reserve what it can cost at worst"))
    named = consent.add_mutually_exclusive_group()
    named.add_argument("--class", dest="as_class", metavar="NAME", help="the class of people you belong to, openly")
    named.add_argument(
        "--choose-class", type=float, metavar="NATS", help="have one chosen that fits you, charged so many nats"
    )
    consent.add_argument(
        "--prior",
        type=Path,
        metavar="CSV",
        help="value,count for each value: declared openly where the campaign asks for it; with --choose-class, what "
        "your class is chosen by, which never leaves",
    )
    answer = campaign(command("answer", _answer, "draw, charge, sign and queue one answer"))
    answer.add_argument("value", metavar="VALUE", help="the answer; - reads it from standard input")
    answer.add_argument(
        "--reading",
        type=int,
        metavar="N",
        help="which of the period's answers it is, from 0; the same one with the same value again is the same report "
        "again, and without it every call is another",
    )
    answer.add_argument("--collect", action="store_true", help="draw and charge now, and sign later: outbox bundle")
    outbox = command("outbox", _outbox, "what waits to leave")
    outbox.add_argument(
        "verb",
        choices=["export", "send", "bundle"],
        nargs="?",
        help="export: write it to a new file; send: upload what is due; bundle: sign what was collected",
    )
    outbox.add_argument(
        "to",
        metavar="FILE|URL|ID",
        nargs="?",
        help="the new file; where the study takes uploads; the campaign to bundle, or else all",
    )
    command("ledger", _ledger, "what was reserved and spent, and what remains")
    preview = campaign(command("preview", _preview, "what would leave, and what it could tell; nothing is drawn"))
    preview.add_argument(
        "value", metavar="VALUE", nargs="?", help="an answer to preview; - reads it from standard input"
    )
    exposed = campaign(command("exposure", _exposure, "what all reports about the same values told together, at most"))
    exposed.add_argument("value", metavar="VALUE", nargs="?", help="one value, or where it is worst; - reads it")
    audited = command("audit", _audit, "the levels of a campaign under every notion, from its own integers")
    audited.add_argument("campaign", metavar="ID|FILE", help="a joined campaign's id, or a campaign file of anybody's")
    forget = command("forget", _forget, "delete a campaign, or all: answers, queue and consent; what was spent stays")
    forget.add_argument("id", metavar="ID", nargs="?")
    enrolment = campaign(command("enrolment", _enrolment, "write the file that enrols this device for a campaign"))
    enrolment.add_argument("file", metavar="FILE", type=Path)
    budget = command("budget", _budget, "show the caps, or tighten them; a cap is never raised")
    budget.add_argument("--lifetime", type=float, metavar="NATS", help="for everything this device ever answers")
    budget.add_argument("--per-campaign", type=float, metavar="NATS", help="for one campaign")
    budget.add_argument("--window", nargs=2, metavar=("SECONDS", "NATS"), help="for any stretch of so many seconds")
    command("adopt", _adopt, "go on with a store that was restored, copied or damaged; all joined is forgotten")
    command("doctor", _doctor, "where the secret is kept, and what this store can and cannot promise")
    unit = command("run", _run, "answer by itself, as a configuration says, until the campaign is over; for IoT units")
    unit.add_argument("configuration", metavar="CONFIG", type=Path, help="a TOML file; edge_sdk/units has examples")
    unit.add_argument("--check", action="store_true", help="show what it would do, try its source, and join nothing")
    return parser


def _json_anywhere() -> _Parser:
    """``--json`` after the command as well as before it."""
    parent = _Parser(add_help=False)
    parent.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print for a script")
    return parent


def _join(options: argparse.Namespace) -> Printed:
    trust = [keys.public_from_line(_text(path)) for path in options.trust]
    with options.file.open("rb") as file:
        data = file.read(MOST_CAMPAIGN_BYTES)
    with Device.open(options.store, trust) as device:
        return _terms(device.join(data))


def _consent(options: argparse.Namespace) -> Printed:
    with Device.open(options.store) as device:
        campaign_id = _find(device, options.id)
        counts = None if options.prior is None else _counts(options.prior)
        if options.choose_class is None:
            device.consent(campaign_id, as_class=options.as_class, prior=counts)
        else:
            try:
                device.choose_class(campaign_id, options.choose_class, counts)
            except ValueError as error:
                raise error if isinstance(error, HalftruthError) else _Usage(f"no such level: {error}") from None
        terms, budget = device.terms(campaign_id), device.budget
        printed: Printed = {
            "campaign": campaign_id.hex(),
            "reserved": terms.worst_case,
            "remaining": budget.remaining,
            "enrolment": terms.enrolment,
        }
        if terms.member_of is not None:
            printed["class"] = terms.member_of
        if terms.enrolment == "enrolled":
            printed["next"] = "hand the organisation this device's enrolment: enrolment ID FILE"
        return printed


def _answer(options: argparse.Namespace) -> Printed:
    with Device.open(options.store) as device:
        campaign_id = _find(device, options.id)
        value = device.parse(campaign_id, _value(options.value))
        most = device.terms(campaign_id).answers_per_period
        if options.reading is not None and not 0 <= options.reading < most:
            raise _Usage(f"the campaign's readings of a period are 0 to {most - 1}")
        if options.collect:
            kept = device.collect(campaign_id, value, options.reading)
            return {
                "campaign": campaign_id.hex(),
                "period": kept.period,
                "slot": kept.slot,
                "cost": kept.cost,
                "repeated": kept.repeated,
                "collected": device.collected(campaign_id),
            }
        receipt = device.answer(campaign_id, value, options.reading)
        return {
            "campaign": campaign_id.hex(),
            "period": receipt.period,
            "slot": receipt.slot,
            "bytes": len(receipt.envelope),
            "cost": receipt.cost,
            "repeated": receipt.repeated,
            "queued": len(device.outbox),
        }


def _outbox(options: argparse.Namespace) -> Printed:
    with Device.open(options.store) as device:
        if options.verb is None:
            return {"queued": len(device.outbox), "bytes": device.outbox.bytes}
        if options.verb == "bundle":
            chosen = device.campaigns if options.to is None else [_find(device, options.to)]
            chosen = [campaign_id for campaign_id in chosen if device.collected(campaign_id)]
            return {
                "bundled": sum(map(device.bundle, chosen)),
                "collected": sum(map(device.collected, chosen)),
                "queued": len(device.outbox),
            }
        if options.to is None:
            raise _Usage("name the file to write, or the address: outbox export FILE, outbox send URL")
        if options.verb == "export":
            return {"exported": device.outbox.export(options.to), "file": options.to}
        return _sent(device.outbox.send(options.to), len(device.outbox), options.json)


def _sent(sent: Sent, queued: int, whole: bool) -> Printed:
    """What was sent; where anything was not, one line that says why and when again.

    Raises:
        _Undone: it is not time for the next attempt, one failed, or the study refused what was sent.
    """
    from edge_sdk.send import Outcome

    failed, refused = sent.of(Outcome.FAILED), sent.of(Outcome.REFUSED)
    printed: Printed = {
        "sent": sent.envelopes,
        "queued": queued,
        "failed": sum(attempt.envelopes for attempt in failed),
        "refused": sum(attempt.envelopes for attempt in refused),
        "again": sent.again,
    }
    text = f"{sent.envelopes} sent, {queued} queued"
    if sent.again is not None:
        text += f", the next attempt not before {_shown('time', sent.again)}"
    if failed or refused:
        raise _Undone(f"{(refused + failed)[0].reason}; {text}", printed, FAILED)
    if sent.again is not None:
        raise _Undone(text, printed, NOT_YET)
    return {name: value for name, value in printed.items() if whole or name in ("sent", "queued")}


def _ledger(options: argparse.Namespace) -> Printed:
    with Device.open(options.store) as device:
        budget = device.budget
        titles = {campaign_id: device.terms(campaign_id).title for campaign_id in device.campaigns}
        return {
            "spent": budget.spent,
            "reserved": budget.reserved,
            "remaining": budget.remaining,
            "campaigns": [
                {"campaign": campaign_id.hex(), "title": title, "consented": device.consented(campaign_id)}
                for campaign_id, title in titles.items()
            ],
            "entries": [
                {
                    "time": entry.time,
                    "campaign": entry.campaign_id.hex(),
                    "kind": entry.kind.name.lower(),
                    "nats": entry.nats,
                }
                for entry in device.ledger
            ],
        }


def _preview(options: argparse.Namespace) -> Printed:
    with Device.open(options.store) as device:
        campaign_id = _find(device, options.id)
        value = None if options.value is None else device.parse(campaign_id, _value(options.value))
        preview = device.preview(campaign_id, value)
        return {
            "campaign": campaign_id.hex(),
            "bytes": preview.report_bytes,
            "cost": preview.cost,
            "truth": preview.truth,
            "other": 1 - preview.truth,
            "belief_before": preview.belief.before,
            "belief_after": preview.belief.after,
            "notion": device.terms(campaign_id).notion,
        }


def _exposure(options: argparse.Namespace) -> Printed:
    with Device.open(options.store) as device:
        campaign_id = _find(device, options.id)
        value = None if options.value is None else device.parse(campaign_id, _value(options.value))
        exposure = device.exposure(campaign_id)
        found = exposure.worst if value is None else exposure.about(value)
        return {
            "campaign": campaign_id.hex(),
            "about": "the value where it is worst" if value is None else "the value given, against any other",
            "together": found.nats,
            "odds": None if found.nats is None else float(f"{math.exp(min(found.nats, 700)):.3g}"),
            "forgotten": exact.nats(exposure.forgotten_nanonats),
            "campaigns": [
                {
                    "campaign": told.campaign_id.hex(),
                    "title": told.title,
                    "draws": told.drawn,
                    "level": None if told.nanonats is None else exact.nats(told.nanonats),
                }
                for told in exposure.told
            ],
        }


def _audit(options: argparse.Namespace) -> Printed:
    from edge_sdk.audit import audit  # which no other command needs
    from protocol.levels import as_json

    file = Path(options.campaign)
    if file.is_file():
        with file.open("rb") as opened:
            found = audit(unverified_campaign(opened.read(MOST_CAMPAIGN_BYTES)))
    else:
        with Device.open(options.store) as device:
            campaign_id = _find(device, options.campaign)
            found = audit(device._joined(campaign_id).campaign, device.prior(campaign_id))
    certificate = found.campaign.certificate
    surveyed: Printed = {
        "title": found.campaign.title,
        "notion": found.campaign.notion.name,
        "declared": exact.nats(certificate.declared),
        "audited": exact.nats(certificate.audited),
        **({} if certificate.ball is None else {"lip-ball": exact.nats(certificate.ball)}),
        "prior": "own" if found.own else "uniform",
        **as_json(found.survey),
    }
    if options.json:
        return surveyed
    belief = surveyed.pop("belief")
    del surveyed["witnesses"]
    for name in ("levels", "missing"):
        rows = surveyed[name]
        if isinstance(rows, dict):
            what = "nats" if name == "levels" else "why"
            surveyed[name] = [{"name": key, what: value} for key, value in rows.items()]
    if isinstance(belief, dict):
        surveyed |= {"belief_before": belief["before"], "belief_after": belief["after"]}
    return surveyed


def _forget(options: argparse.Namespace) -> Printed:
    with Device.open(options.store) as device:
        if options.id is None:
            gone = device.campaigns
            device.forget()
        else:
            gone = [_find(device, options.id)]
            device.forget(gone[0])
        return {"forgotten": [campaign_id.hex() for campaign_id in gone], "spent": device.budget.spent}


def _enrolment(options: argparse.Namespace) -> Printed:
    with Device.open(options.store) as device:
        data = device.enrolment(_find(device, options.id))
    with options.file.open("xb") as file:
        file.write(data)
    return {"file": str(options.file), "bytes": len(data)}


def _budget(options: argparse.Namespace) -> Printed:
    try:
        window = (int(options.window[0]), float(options.window[1])) if options.window else None
        policy = BudgetPolicy(options.lifetime, options.per_campaign, window)
    except ValueError as error:
        raise _Usage(f"no such cap: {error}") from None
    with Device.open(options.store, budget=policy) as device:
        return {
            "caps": [
                {"kind": cap.kind, "seconds": cap.seconds, "nats": exact.nats(cap.nanonats)}
                for cap in device.budget.caps
            ],
            "spent": device.budget.spent,
            "reserved": device.budget.reserved,
            "remaining": device.budget.remaining,
        }


def _adopt(options: argparse.Namespace) -> Printed:
    from edge_sdk.errors import StoreDamaged, StoreRestored

    store, keeper = _store(options), _keeper(options)
    try:
        device, adopted = Device.open(store, keeper=keeper), False
    except (StoreRestored, StoreDamaged):
        device, adopted = Device.adopt(store, keeper=keeper), True
    with device:
        printed: Printed = {"adopted": adopted, "spent": device.budget.spent, "remaining": device.budget.remaining}
        if not adopted:
            printed["next"] = "nothing: this store is neither restored nor damaged, and was not changed"
        return printed


def _store(options: argparse.Namespace) -> str:
    if options.store is None:
        raise _Usage("--keeper and --mark are of a store: name it with --store")
    return str(options.store)


def _keeper(options: argparse.Namespace) -> Keeper | None:
    """The keeper that was named; None where none was."""
    from edge_sdk.keeper import FileKeeper, keeper_of

    folder = Path(_store(options))
    if options.mark and options.keeper not in (None, "file"):
        raise _Usage("--mark is a file keeper's: the keyring and the Keystore are outside the folder themselves")
    if options.keeper in ("keyring", "android"):
        return keeper_of(f"{options.keeper} {folder.absolute()}", folder)
    return FileKeeper(folder, options.mark) if options.keeper or options.mark else None


def _doctor(options: argparse.Namespace) -> Printed:
    with Device.open(options.store) as device:
        return {**device.doctor()}


def _run(options: argparse.Namespace) -> Printed:
    from edge_sdk import config, daemon

    try:
        configuration = config.load(options.configuration)
        planned = daemon.plan(configuration)
    except config.ConfigurationRefused as error:
        raise _Usage(str(error)) from None
    if not options.check:
        # In place of this process, so that what a command line loads does not stay for months.
        os.execv(sys.executable, [sys.executable, "-m", "edge_sdk.daemon", str(options.configuration)])  # noqa: S606
    return {**planned, "source": daemon.tried(configuration)}


def _find(device: Device, beginning: str) -> bytes:
    """The one joined campaign whose id begins with the hex digits ``beginning``."""
    found = [campaign_id for campaign_id in device.campaigns if campaign_id.hex().startswith(beginning.lower())]
    if len(found) != 1:
        what = "more than one joined campaign begins" if found else "no joined campaign begins"
        raise UnknownCampaign(f"{what} with the given id: the ledger command lists them")
    return found[0]


def _value(text: str) -> str:
    """The value given; read so that no error can repeat it."""
    return sys.stdin.buffer.readline().decode(errors="replace").rstrip("\r\n") if text == "-" else text


def _counts(path: Path) -> dict[str, int]:
    """The numbers of a CSV file with the header ``value,count``. No error repeats a row."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            header, *rows = list(csv.reader(file)) or [[]]
        if header != ["value", "count"]:
            raise ValueError("another header")
        # A position is "latitude,longitude": quoted it is one field, unquoted it is two.
        return {",".join(row[:-1]): int(row[-1]) for row in rows}
    except (ValueError, IndexError, csv.Error):
        raise _Usage(f"{path.name} is not a CSV file of value,count with whole numbers") from None


def _text(path: Path) -> str:
    return path.read_bytes()[:1024].decode("ascii", "replace")


def _terms(terms: Terms) -> Printed:
    return {
        "campaign": terms.campaign_id.hex(),
        "title": terms.title,
        "question": terms.question,
        "purpose": terms.purpose,
        "organisation": terms.organisation,
        "opens": terms.opens,
        "closes": terms.closes,
        "period_seconds": terms.period_seconds,
        "answers_per_period": terms.answers_per_period,
        "enrolment": terms.enrolment,
        "level": terms.level,
        "cost": terms.cost,
        "worst_case": terms.worst_case,
        "notion": terms.notion,
        "answers": terms.answers,
        "values": list(terms.values),
        "classes": [
            {"name": one.name, "level": one.level, "cost": one.cost, "worst_case": one.worst_case}
            for one in terms.classes
        ],
        "declares_prior": terms.declares_prior,
    }


NATS = {
    "cost", "level", "worst_case", "spent", "reserved", "remaining", "nats", "declared", "audited", "epsilon",
    "together", "forgotten",
}  # fmt: skip
TIMES = {"opens", "closes", "time"}
SHARES = {"truth", "other", "belief_before", "belief_after"}


def _lines(printed: Printed) -> list[str]:
    """For people: a name and what it is on each line, rows of a list indented."""
    lines = []
    for name, value in printed.items():
        if isinstance(value, list):
            lines.append(f"{name}: {'none' if not value else ''}".rstrip())
            lines += [f"  {_row(item)}" for item in value]
        else:
            lines.append(f"{name.replace('_', ' ')}: {_shown(name, value)}")
    return lines


def _row(item: object) -> str:
    if not isinstance(item, dict):
        return str(item)
    return "  ".join(f"{name} {_shown(name, value)}" for name, value in item.items())


def _shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in NATS:
        return "no bound" if value is None else f"{value:g} nats"
    if name in TIMES and isinstance(value, int):
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(value))
    if name in SHARES and isinstance(value, float):
        return f"{value:.1%}"
    return str(value)


if __name__ == "__main__":
    sys.exit(main())

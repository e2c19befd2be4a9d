"""The command ``python -m edge_sdk``, used as by people and by scripts."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edge_sdk import Device
from edge_sdk.__main__ import main
from edge_sdk.cli.arguments import command_in
from edge_sdk.cli.output import lines_for_people
from edge_sdk.cli.parser import parser_of
from protocol import envelope
from protocol.campaign import campaign_id
from protocol.envelope import Kind, seal
from protocol.errors import BadData
from protocol.keys import SigningKey, public_line
from tests.edge_sdk.conftest import AUTHOR, campaign


@pytest.fixture
def folder(tmp_path):
    """Return a folder with ``c.campaign``, other campaigns and ``analyst.pub``."""
    now = int(time.time())
    (tmp_path / "c.campaign").write_bytes(campaign(opens=now - 60))
    (tmp_path / "later.campaign").write_bytes(campaign("Later", opens=now + 86_400))
    (tmp_path / "over.campaign").write_bytes(campaign("Over", opens=now - 100, periods=1, period_seconds=50))
    (tmp_path / "dear.campaign").write_bytes(campaign("Dear", opens=now - 60, level=2 * 10**9))
    (tmp_path / "invited.campaign").write_bytes(campaign("Invited", opens=now - 60, level=10**8, enrolment="enrolled"))
    (tmp_path / "empty.campaign").write_bytes(b"")
    report = seal(Kind.REPORT, AUTHOR, b"a report")
    (tmp_path / "batch.htr").write_bytes(2 * report)
    (tmp_path / "analyst.pub").write_text(public_line(AUTHOR.public))
    (tmp_path / "stranger.pub").write_text(public_line(SigningKey(bytes(32)).public))
    return tmp_path


def checked_output(code, out, err):
    """Check that a command printed no traceback, and one line of error unless it is about usage; return the output."""
    assert "Traceback" not in err
    assert code in (0, 2) or err.count("\n") == 1, "the error must be one line"
    return code, out, err


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Return a function that runs the command in ``folder``, in this process; it returns exit code, stdout and
    stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["edge_sdk"])

    def call(*arguments, stdin=""):
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            try:
                code = main(["--store", "store", *arguments])
            except SystemExit as usage:
                code = usage.code
        return checked_output(code, *capsys.readouterr())

    return call


@pytest.fixture
def run_apart(folder):
    """Return a function that runs ``python -m edge_sdk`` in ``folder``; it returns exit code, stdout and stderr."""

    def call(*arguments):
        words = [sys.executable, "-m", "edge_sdk", "--store", "store", *arguments]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        return checked_output(done.returncode, done.stdout, done.stderr)

    return call


def test_a_script_can_run_a_complete_session(run, tmp_path):
    """A script can read the output of join, consent, preview, answer, export, ledger, doctor and forget."""
    ident = campaign_id((tmp_path / "c.campaign").read_bytes()).hex()

    def script(*arguments, **options):
        code, out, err = run(*arguments, "--json", **options)
        assert (code, err) == (0, "")
        return json.loads(out)

    terms = script("join", "c.campaign", "--trust", "stranger.pub", "--trust", "analyst.pub")
    assert (terms["campaign"], terms["worst_case"]) == (ident, 6.0)
    assert script("terms", ident[:5], "--language", "de") == terms
    assert script("consent", ident)["remaining"] == 2.0
    assert script("preview", ident, "bachelor")["cost"] == 1.0
    assert script("preview", ident)["about"] == "the answer that one report can make most probable"
    first = script("answer", ident[:6], "bachelor")
    assert (first["cost"], first["repeated"], first["queued"]) == (1.0, False, 2)
    assert script("answer", ident[:6], "-", stdin="bachelor\n")["repeated"] is True
    assert script("consent", ident)["reserved"] == 5.0
    waiting = script("outbox")
    assert script("outbox", "export", "upload.htr")["exported"] == 2
    upload = (tmp_path / "upload.htr").read_bytes()
    assert (waiting["queued"], waiting["bytes"]) == (2, len(upload))
    assert not any(isinstance(item, BadData) for item in envelope.read_batch(upload))
    ledger = script("ledger")
    assert [entry["kind"] for entry in ledger["entries"]] == ["reserve", "charge"]
    assert (ledger["spent"], ledger["reserved"], ledger["remaining"]) == (1.0, 5.0, 2.0)
    assert script("doctor")["journal_mode"] == "wal"
    assert script("forget", ident[:4]) == {"forgotten": [ident], "spent": 1.0}
    assert script("forget") == {"forgotten": [], "spent": 1.0}
    assert script("ledger")["remaining"] == 7.0


@pytest.mark.slow
def test_results_are_printed_in_lines_without_json(run_apart):
    """Without ``--json`` the results are printed in lines for people; each command is a separate process, as people run
    them."""
    run = run_apart
    code, out, _ = run("join", "c.campaign", "--trust", "analyst.pub")
    assert code == 0
    assert "worst case: 6 nats" in out
    assert "organisation: Town library" in out
    ident = out.split()[1]
    assert run("consent", ident)[0] == 0
    assert "cost: 1 nat\nrepeated: no" in run("answer", ident, "none")[1]
    assert "kind charge  amount 1 nat" in run("ledger")[1]
    assert "  lifetime cap: 8 nats\n" in run("budget")[1]
    assert "probability of the answer after one report, at most: " in run("preview", ident)[1]


def test_output_with_nats_names_the_glossary_once(run):
    """The last line for people names the glossary if another line has an amount in nats; JSON never names it."""
    last = "\ndocs/GLOSSARY.md explains nats and the other terms.\n"
    joined = run("join", "c.campaign", "--trust", "analyst.pub")[1]
    assert joined.endswith(last)
    ident = joined.split()[1]
    for command in (
        ["terms", ident], ["consent", ident], ["answer", ident, "none"], ["preview", ident], ["exposure", ident],
        ["ledger"], ["budget"], ["audit", ident], ["audit", "c.campaign"], ["doctor"],
    ):  # fmt: skip
        out = run(*command)[1]
        assert out.endswith(last), command
        assert out.count("GLOSSARY") == 1, command
        assert "GLOSSARY" not in run("--json", *command)[1], command
    for command in (["trust"], ["clock"], ["outbox"]):
        assert "GLOSSARY" not in run(*command)[1], command


def test_names_of_files_are_printed_unchanged():
    """Only a name that is one word of code gets spaces for its underscores."""
    assert lines_for_people({"journal_mode": "wal", "mode of my_folder": "0700"}) == [
        "journal mode: wal",
        "mode of my_folder: 0700",
    ]


def test_every_refusal_has_its_exit_code_and_one_line(run, tmp_path):
    """A refused command ends with exit code 1 (refused), 2 (usage), 65 (bad data) or 75 (not yet). Its error does not
    contain the value, and is one line unless it is about usage."""
    trust = "--trust", "analyst.pub"
    assert run("join", "c.campaign", *trust)[0] == 0
    assert run("join", "later.campaign", *trust)[0] == 0
    ident, later = (campaign_id((tmp_path / name).read_bytes()).hex() for name in ("c.campaign", "later.campaign"))
    data = (tmp_path / "c.campaign").read_bytes()
    (tmp_path / "bent.campaign").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    # The consent is missing.
    assert run("answer", ident, "none")[0] == 1
    assert run("consent", ident)[0] == 0
    expected = [
        (1, "leaves 2 nats of 8 nats", ("consent", later)),
        (75, "opens in", ("answer", later, "none")),
        (65, "not one of the campaign's 6 values", ("answer", ident, "SECRETVALUE")),
        (1, "no joined campaign", ("answer", "ffff", "SECRETVALUE")),
        (1, "there is no file 'nothing', and no joined campaign", ("audit", "nothing")),
        (1, "beginning of its id", ("answer", "", "SECRETVALUE")),
        (1, "beginning of its id", ("consent", "")),
        (1, "beginning of its id", ("forget", "")),
        (1, "not overwritten", ("enrolment", ident, "c.campaign")),
        (2, "one answer", ("answer", ident, "SECRETVALUE", "SECRETVALUE")),
        (2, "required: VALUE. Put -- before", ("answer", ident, "-SECRETVALUE")),
        (2, "Put -- before an answer", ("answer", ident, "x", "--SECRETVALUE")),
        (2, "Put -- before an answer", ("answer", ident, "x", "--json=SECRETVALUE")),
        (2, "Put -- before an answer", ("preview", ident, "SECRETVALUE", "-SECRETVALUE")),
        (2, "did you mean '--slot'? Put --", ("answer", ident, "--slto", "3", "SECRETVALUE")),
        (2, "--slot: must be a whole number", ("answer", ident, "--slot", "SECRETVALUE", "x")),
        (2, "--level: must be a number of nats", ("consent", ident, "--level", "SECRETVALUE")),
        (2, "1 more than expected", ("answer", ident, "x", "--collect", "SECRETVALUE")),
        (2, "1 more than expected", ("budget", "SECRETVALUE")),
        (2, "options last", ("outbox", "export", "--campaign", ident, "SECRETVALUE")),
        (2, "required: ID\n", ("preview",)),
        (2, "unknown option '--widnow'; did you mean '--window'?", ("budget", "--widnow=3")),
        (2, "unknown option '-x': see --help", ("trust", "remove", "-x")),
        (2, "--name is only for trust add", ("trust", "--name", "Town")),
        (2, "--store must stand before the command", ("ledger", "--store", "other")),
        (2, "unknown command 'bugdet'; did you mean 'budget'?", ("bugdet",)),
        (65, "not one of", ("answer", ident, "--", "-SECRETVALUE")),
        (65, "no trusted author", ("join", "dear.campaign", "--trust", "stranger.pub")),
        (65, "public key", ("join", "dear.campaign")),
        (1, "up to 12 nats", ("join", "dear.campaign", *trust)),
        (1, "closed", ("join", "over.campaign", *trust)),
        (65, "empty.campaign: this is not a campaign file", ("join", "empty.campaign", *trust)),
        (
            65,
            "bent.campaign: the signature does not verify: the bytes were altered, or another key signed them; "
            "ask its author for the file again",
            ("join", "bent.campaign", *trust),
        ),
        (65, "analyst.pub: this is not a campaign file", ("join", "analyst.pub")),
        (65, "analyst.pub: this is not a closing notice", ("close", "analyst.pub")),
        (65, "contains an envelope of kind report, not a campaign", ("join", "batch.htr", *trust)),
        (65, "contains an envelope of kind report, not a campaign", ("audit", "batch.htr")),
        (65, "public key file", ("join", "c.campaign", "--trust", "c.campaign")),
        (1, "missing.campaign: there is no such file or folder: check the path", ("join", "missing.campaign", *trust)),
        (1, "directory", ("join", ".", *trust)),
        (2, "file to write is missing", ("outbox", "export")),
        (2, "--campaign is only for export and send", ("outbox", "--campaign", ident)),
        (2, "--campaign is only for export and send", ("outbox", "bundle", "--campaign", ident)),
        (65, "asks for no prior: leave out the prior and the level", ("consent", ident, "--level", "0.5")),
        (1, "no address", ("outbox", "send")),
        (75, "no address, so no study was asked for its next campaign: set one", ("follow", ident)),
        (1, "use https", ("address", ident, "http://study.example")),
        (1, "use https", ("outbox", "send", "http://study.example")),
        (1, "not overwritten", ("outbox", "export", "c.campaign")),
        (2, "", ("send",)),
        (2, "invalid cap", ("budget", "--lifetime", "nan")),
        (2, "invalid cap", ("budget", "--window", "0", "1")),
        (2, "whole number of seconds and a number of nats (see docs/GLOSSARY.md)", ("budget", "--window", "a", "1")),
        (2, "not UTF-8", ("run", "c.campaign")),
    ]
    for code, text, arguments in expected:
        found, out, err = run(*arguments)
        assert (found, out) == (code, ""), (arguments, err)
        assert text in err, arguments
        assert "SECRETVALUE" not in err, arguments
    assert run("outbox", "export", "upload.htr")[0] == 0
    assert run("outbox", "export", "again.htr")[0] == 1
    assert not (tmp_path / "again.htr").exists()


def test_an_invited_device_writes_its_enrolment(run, tmp_path):
    """If the organisation enrols keys, the device writes its enrolment to a file, which is never overwritten."""
    out = run("join", "invited.campaign", "--trust", "analyst.pub", "--json")[1]
    ident = json.loads(out)["campaign"]
    assert "enrolment ID FILE" in run("consent", ident)[1]
    assert run("enrolment", ident, "device.enrolment")[0] == 0
    assert envelope.decode((tmp_path / "device.enrolment").read_bytes()).kind is envelope.Kind.ENROLMENT
    assert run("enrolment", ident, "device.enrolment")[0] == 1


def test_a_device_with_a_code_is_not_asked_for_its_enrolment(run, tmp_path):
    """A code enrols the device with its first upload, so consent asks for no file."""
    ident = json.loads(run("join", "invited.campaign", "--trust", "analyst.pub", "--json")[1])["campaign"]
    with Device.open(tmp_path / "store") as device:
        device.present_code(bytes.fromhex(ident), "XJM4-K5VV-HE2H-EP7Q")
    assert "enrolment ID FILE" not in run("consent", ident)[1]


def test_budget_lowers_caps_and_never_raises_them(run):
    """The command shows the caps that are in force, and only lowers them."""
    assert json.loads(run("budget", "--lifetime", "4", "--window", "3600", "0.5", "--json")[1])["remaining"] == 4.0
    shown = json.loads(run("budget", "--lifetime", "9", "--per-campaign", "2", "--json")[1])["caps"]
    assert {(cap["kind"], cap["nats"]) for cap in shown} == {("lifetime", 4.0), ("campaign", 2.0), ("window", 0.5)}


def test_budget_states_which_caps_stay_lower_than_asked(run):
    """A cap above the one in force changes nothing, and the command says so; the default can be replaced once."""
    assert run("budget", "--lifetime", "100")[2] == ""
    assert run("budget", "--lifetime", "1", "--window", "60", "0.5")[2] == ""
    code, out, err = run("budget", "--lifetime", "100", "--window", "60", "2", "--json")
    assert (code, err.splitlines()) == (
        0,
        [
            "edge_sdk: a cap can only be lowered: the lifetime cap stays at 1 nat",
            "edge_sdk: a cap can only be lowered: the window cap of 60 s stays at 0.5 nats",
        ],
    )
    assert json.loads(out)["remaining"] == 1.0
    assert run("budget", "--lifetime", "1", "--window", "3600", "2")[2] == ""


def test_a_closed_output_stops_no_command(run, tmp_path):
    """If the reader of the output has closed it, the command is carried out all the same and prints no traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "edge_sdk", "--store", "store", "budget", "--lifetime", "3"]
    done = subprocess.run(words, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(run("ledger", "--json")[1])["remaining"] == 3.0


def test_a_command_is_carried_out_if_its_output_cannot_be_written(run, tmp_path):
    """If the output cannot be written, one line states that the command was carried out."""
    words = [sys.executable, "-m", "edge_sdk", "--store", "store", "budget", "--lifetime", "3"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "is done, but its result cannot be printed: No space" in done.stderr
    assert json.loads(run("ledger", "--json")[1])["remaining"] == 3.0


def test_a_level_that_was_not_computed_is_said_to_be_so():
    """People see "not computed" where JSON has null, and "no bound" for an infinite level."""
    delta = [{"epsilon": 1.0, "ldp": None, "lip": None}]
    shown = lines_for_people({"levels": {"ldp": None}, "delta": delta, "mutual_information_bits": None})
    assert shown[:5] == [
        "levels:",
        "  ldp: no bound",
        "delta:",
        "  epsilon 1 nat  ldp not computed  lip not computed",
        "mutual information bits: not computed",
    ]


def test_a_file_is_audited_without_a_store(tmp_path, capsys):
    """An audit of a campaign file needs no device."""
    (tmp_path / "c.campaign").write_bytes(campaign())
    assert main(["audit", str(tmp_path / "c.campaign"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["declared"] == 1.0
    assert main(["audit", str(tmp_path / "nowhere")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_an_interrupted_command_prints_one_line(tmp_path, capsys, monkeypatch):
    """Ctrl-C prints one line and no traceback."""

    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Device, "open", interrupted)
    assert main(["--store", str(tmp_path / "store"), "ledger"]) == 1
    assert capsys.readouterr().err == "edge_sdk: interrupted: changes that were not yet on the disk are lost\n"


def test_a_single_parser_has_the_help_of_the_full_parser():
    """The parser of a single command, which is built faster, has the same help as the parser of all commands; the
    general help lists every command."""
    full_parser, names = parser_of(None)
    for word in names:
        outputs = []
        for parser in (parser_of(word)[0], full_parser):
            with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as printed:
                parser.parse_args([word, "--help"])
            outputs.append(printed.getvalue())
        assert outputs[0] == outputs[1]
        assert outputs[0].startswith(f"usage: python -m edge_sdk {word}")
    with contextlib.redirect_stdout(io.StringIO()) as printed, pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^    ([a-z]+)  ", printed.getvalue(), re.MULTILINE)
    assert listed == names


def test_the_value_of_an_option_is_not_the_command():
    """After every option before the command that takes a value, the next word is this value."""
    before = [action for action in parser_of(None)[0]._actions if action.option_strings and action.nargs != 0]
    options = [action.option_strings[0] for action in before]
    assert "--checkpoint" in options
    for option in options:
        assert command_in([option, "answer", "ledger"]) == "ledger", option


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--store", "answer", "ledger"], "ledger"),
        (["--json", "--store", "s", "--checkpoint", "ledger", "answer", "0", "run"], "answer"),
        (["--help", "answer"], None),
        (["--store=s", "ledger"], None),
        (["--js", "--store", "answer", "ledger"], None),
        (["--store"], None),
    ],
)
def test_the_command_is_found_after_the_options(arguments, word):
    """Only a word that argparse would parse as the command is used as the command; in doubtful cases, the parsers of
    all commands are built."""
    assert command_in(arguments) == word

"""Properties of the command line on which people and scripts rely, for any input."""

import errno
import inspect
import json
import os
import stat
import subprocess
import sys

import click
import nacl.bindings
import pytest

from aggregator import doctor
from aggregator.cli import new_files, printing
from aggregator.cli.commands import COMMANDS
from aggregator.cli.group import halftruth
from aggregator.doctor import check_up
from aggregator.present.listing import _revoked
from aggregator.whole_file import whole_file
from protocol import keys
from tests.aggregator.command import invalid_command_lines, require_one_clear_line, run
from tests.altered import flipped

DRAFT = """
title = "Highest education"
question = "What is it?"
organisation = "Town library"
[study]
address = "https://study.example"
contact = "privacy@library.example"
[domain]
kind = "values"
values = ["none", "primary", "secondary", "bachelor"]
[privacy]
notion = "ldp"
epsilon = 1.0
[schedule]
opens = 2020-01-01
closes = 2120-01-01
[limits]
minimum_reports = 50
enrolment = "enrolled"
"""
COUNTS = "value,count\nnone,40\nprimary,100\nsecondary,200\nbachelor,60\n"


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A folder with keys, a campaign, a study and 400 ingested reports."""
    folder = tmp_path_factory.mktemp("session")
    (folder / "education.toml").write_text(DRAFT, encoding="utf-8")
    (folder / "counts.csv").write_text(COUNTS, encoding="utf-8")
    run("keygen", folder / "analyst")
    run("campaign", folder / "education.toml", "--key", folder / "analyst.key", "--out", folder / "education.campaign")
    study = ("--study", folder / "lib")
    run(*study, "import", folder / "education.campaign", "--trust", folder / "analyst.pub")
    run("simulate", folder / "education.campaign", "--truth", folder / "counts.csv", "--out", folder / "batch.htr",
        "--keys", folder / "devices.pub", "--seed", 1)  # fmt: skip
    run(*study, "enrol", folder / "devices.pub")
    found = json.loads(run(*study, "ingest", "--json", folder / "batch.htr").stdout)
    assert (found["read"], found["accepted"], sum(found["rejected"].values())) == (400, 400, 0)
    return folder


def test_every_command_and_option_has_a_help_text():
    """Every command and every option has a help text, and every --help can be printed."""
    assert "keygen" in run("--help").output
    for name in COMMANDS:
        command = halftruth.get_command(click.Context(halftruth), name)
        assert command.help, name
        for parameter in command.params:
            assert parameter.param_type_name == "argument" or parameter.help, f"{name} {parameter.name}"
        run(name, "--help")


def test_a_misspelt_name_gets_the_nearest_one(session):
    """For a misspelt command, option or value the error has the nearest name; if no value is near, the first values."""
    assert "no such command 'estimat'; did you mean 'estimate'?" in run("estimat", code=2).stderr
    assert "no such command 'zz'; halftruth --help lists" in run("zz", code=2).stderr
    words = "--study", session / "lib", "estimate", "education"
    assert "--confidence" in run(*words, "--confidnce", 0.9, code=2).stderr
    wrong = run(*words, "--value", "bachelr", code=65).stderr
    assert "--value: 'bachelr' is not one of the question's 4 values; did you mean 'bachelor'?" in wrong
    assert "values: expected 'none', 'primary'" in run(*words, "--value", "zz", code=65).stderr


def test_the_options_in_scripts_keep_their_names():
    """The commands that plan, sign, import, simulate, receive, estimate and reproduce keep the option names on which
    scripts depend."""
    for command, options in {
        "plan": {"--values", "--epsilon", "--reports"},
        "campaign": {"--key", "--out"},
        "import": {"--trust"},
        "simulate": {"--truth", "--seed", "--out", "--keys"},
        "estimate": {"--format", "--plot", "--report"},
        "receive": {"--study", "--listen"},
        "reproduce": {"--data"},
    }.items():
        made = halftruth.get_command(click.Context(halftruth), command)
        assert options <= {name for option in made.params for name in option.opts}, command


def test_only_the_owner_may_read_a_secret_key(session):
    """keygen writes the secret with mode 0600, does not overwrite a key, and does not print the secret."""
    secret = session / "analyst.key"
    before = secret.read_bytes()
    shown = run("keygen", session / "analyst", code=1).output
    assert "not overwritten" in shown
    assert secret.read_bytes() == before
    printed, other = run("keygen", session / "other").output, session / "other.key"
    for file in (secret, other):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "other.pub" in printed
    assert keys.SigningKey.from_line(other.read_text()).secret.hex() not in printed


def test_the_json_of_audit_has_the_documented_entries(session):
    """audit --json has the entries that scripts read; they state that the campaign is certified at 1 nat."""
    found = json.loads(run("audit", "--json", session / "education.campaign").stdout)
    assert {"mechanism", "values", "output_bits", "notion", "levels", "certified"} <= found.keys()
    assert found["certified"] is True
    assert found["levels"]["ldp"] == pytest.approx(1.0, abs=1e-9)


def test_the_json_of_estimate_has_the_documented_entries(session):
    """estimate --format json has the entries that scripts read; the shares sum to 1, before and after projection."""
    found = json.loads(run("--study", session / "lib", "estimate", "education", "--format", "json").stdout)
    assert {"campaign", "reports", "values", "rejected", "influence"} <= found.keys()
    assert found["reports"] == 400
    assert [row["value"] for row in found["values"]] == ["none", "primary", "secondary", "bachelor"]
    assert all({"value", "estimate", "raw", "se", "low", "high"} <= row.keys() for row in found["values"])
    assert sum(row["estimate"] for row in found["values"]) == pytest.approx(1)
    assert sum(row["raw"] for row in found["values"]) == pytest.approx(1)


def test_json_is_the_same_in_parts_of_any_size(monkeypatch, capsys):
    """JSON printed in parts of a few tokens is the text of ``json.dumps``, except that hidden characters are escaped;
    so it is read back unchanged."""
    value = {"one": ["a\u200b", "b\n\x1b[1m", "c\u00a0d\u202fé"], "two": {"three": [1, None, 0.5, True]}, "four": []}
    for parts in (1, 2, 7, 1000):
        monkeypatch.setattr(printing, "PARTS", parts)
        printing.print_json(value)
        printed = capsys.readouterr().out
        expected = json.dumps(value, indent=2, ensure_ascii=False).replace("\u200b", "\\u200b")
        assert printed == f"{expected}\n"
        assert json.loads(printed) == value


def test_an_estimate_is_written_in_every_format(session):
    """An estimate is printed as a table and as CSV, and drawn as a PNG; --value gives one row of the JSON."""
    study = ("--study", session / "lib")
    assert "secondary" in run(*study, "estimate", "education").stdout
    lines = run(*study, "estimate", "education", "--format", "csv").stdout.splitlines()
    assert lines[0].startswith("value,estimate,raw,se,low,high,")
    assert len(lines) == 5
    picture = session / "education.png"
    run(*study, "estimate", "education", "--plot", picture, "--truth", session / "counts.csv")
    assert picture.read_bytes().startswith(b"\x89PNG")
    one = json.loads(run(*study, "estimate", "education", "--value", "none", "--json").stdout)
    row = json.loads(run(*study, "estimate", "education", "--json").stdout)["values"][0]
    within = min(max(row["raw"], 0), 1)  # the estimate of a single value is its raw share, within 0 and 1
    assert (one["estimate"], one["se"], one["low"], one["high"]) == (within, row["se"], row["low"], row["high"])


def test_a_file_ingested_twice_counts_once(session):
    """If a file is ingested twice, each of its reports is refused as replayed, and the estimate stays the same."""
    study = ("--study", session / "lib")
    before = json.loads(run(*study, "estimate", "education", "--json").stdout)["values"]
    found = json.loads(run(*study, "ingest", "--json", session / "batch.htr").stdout)
    assert (found["accepted"], found["rejected"]["replayed"]) == (0, 400)
    assert json.loads(run(*study, "estimate", "education", "--json").stdout)["values"] == before


def test_status_counts_reports_and_inspect_recognises_files(session):
    """status counts the study's keys and reports; inspect distinguishes a campaign from a batch.

    inspect and audit show the address and the contact of the campaign.
    """
    (row,) = json.loads(run("--study", session / "lib", "status", "--json").stdout)
    assert (row["name"], row["keys"], row["outputs"]) == ("education", 400, 400)
    assert json.loads(run("inspect", "--json", session / "education.campaign").stdout)["title"] == "Highest education"
    for command in ("inspect", "audit"):
        facts = json.loads(run(command, "--json", session / "education.campaign").stdout)
        assert facts.get("study", facts)["addresses"] == ["https://study.example"]
        assert "privacy@library.example" in run(command, session / "education.campaign").stdout
    batch = json.loads(run("inspect", "--json", session / "batch.htr").stdout)
    assert batch["envelopes"] == {"report": 400}
    assert batch["keys"] == 400
    for file in ("education.campaign", "batch.htr"):
        assert run("inspect", session / file).stdout.strip()
    assert "  minimum devices  " in run("inspect", session / "education.campaign").stdout


def test_inspect_refuses_to_verify_a_batch(session):
    """inspect refuses --trust for a batch, of which it verifies nothing, and names the command that does."""
    refused = run("inspect", session / "batch.htr", "--trust", session / "analyst.pub", code=2)
    assert "batch.htr is a batch: leave out --trust" in " ".join(refused.stderr.split())
    assert "`halftruth ingest` verifies it" in " ".join(refused.stderr.split())


def test_revoked_keys_are_refused_from_then_on(session, tmp_path):
    """After revoke, new reports under those keys are refused as revoked."""
    study = ("--study", tmp_path / "lib")
    run(*study, "import", session / "education.campaign", "--trust", session / "analyst.pub")
    run(*study, "enrol", session / "devices.pub")
    refused = run(*study, "revoke", session / "devices.pub", "--from-period", 1, code=65)
    assert "has no period 1: give period 0; no key was revoked" in refused.stderr
    assert "400 keys revoked" in run(*study, "revoke", session / "devices.pub").stdout
    found = json.loads(run(*study, "ingest", "--json", session / "batch.htr").stdout)
    assert found["rejected"] == {"revoked-key": 400}


def test_anonymity_of_too_few_reports_names_the_remedy(session, tmp_path):
    """If k or l of a campaign's reports is below the limit, the advice is about reports and not about columns."""
    study = ("--study", tmp_path / "lib")
    run(*study, "import", session / "education.campaign", "--trust", session / "analyst.pub")
    below = run(*study, "anonymity", "education", "--at-least-k", 2, code=1).stderr
    assert "k is 0, below 2: wait for more reports" in below
    below = run(*study, "anonymity", "education", "--at-least-l", 2, code=1).stderr
    assert "l is 0, below 2: wait for reports" in below


def test_keys_are_revoked_from_a_period(session, tmp_path):
    """revoke --from-period prints, as text and as JSON, what it revoked and the reports already counted.

    status shows the revocation and a rebuilt study applies it. A period after an earlier
    revocation, or outside the campaign, is refused.
    """
    study, keys, batch = ("--study", tmp_path / "lib"), tmp_path / "devices.pub", tmp_path / "batch.htr"
    signed, draft = tmp_path / "weekly.campaign", tmp_path / "weekly.toml"
    draft.write_text(DRAFT.replace("[limits]", "period_days = 7\n[limits]"), encoding="utf-8")
    run("campaign", draft, "--key", session / "analyst.key", "--out", signed)
    run(*study, "import", signed, "--trust", session / "analyst.pub")
    run("simulate", signed, "--truth", session / "counts.csv", "--out", batch, "--keys", keys)
    run(*study, "enrol", keys)
    run(*study, "ingest", batch)
    done = run(*study, "revoke", keys, "--from-period", 5000)
    assert (done.stdout, done.stderr) == ("400 keys revoked from period 5000 on\n", "")
    done = run(*study, "revoke", keys, "--from-period", 1)
    assert done.stdout == "400 keys revoked from period 1 on\n"
    assert "the study still counts 400 outputs under these keys, of period 1 and later periods." in done.stderr
    status = run(*study, "status").stdout
    assert all(words in status for words in ("400 (400 revoked from", "period 1 on)"))
    (row,) = json.loads(run(*study, "status", "--json").stdout)
    assert (row["outputs"], row["revoked"], row["revoked_from"]) == (400, 400, {"1": 400})
    again = run(*study, "revoke", keys, "--from-period", 2, code=1)
    assert "all keys in the files are already revoked, from period 2 or an earlier one on" in again.stderr
    assert "have no enrolments for a campaign of this study" in run(*study, "revoke", batch, code=65).stderr
    done = run(*study, "revoke", keys, keys, "--json")
    assert json.loads(done.stdout) == {"revoked": 400, "from_period": 0, "counted": 400}
    assert "the study still counts 400 outputs under these keys." in done.stderr
    assert "400 (400 revoked)" in run(*study, "status").stdout
    run(*study, "rebuild", "--afresh", "--from", batch, "--out", tmp_path / "new")
    (row,) = json.loads(run("--study", tmp_path / "new", "status", "--json").stdout)
    assert (row["outputs"], row["rejected"]) == (0, {"revoked-key": 400})
    for period, code, words in (
        (9999, 65, "give a period from 0 to 5217"),
        (-1, 2, "must be a whole number of at least 0, not '-1'"),
        ("x", 2, "must be a whole number of at least 0, not 'x'"),
    ):
        assert words in run(*study, "revoke", keys, "--from-period", period, code=code).stderr


def test_revoked_keys_are_counted_with_their_periods():
    """The number of revoked keys is followed by the later periods from which keys are revoked, and by the number of
    such keys unless all are."""
    assert _revoked({0: 2}) == "2 revoked"
    assert _revoked({3: 5}) == "5 revoked from period 3 on"
    assert _revoked({0: 2, 3: 5}) == "7 revoked: 5 of them from period 3 on"
    assert _revoked({2: 1, 3: 5}) == "6 revoked from one of periods 2 to 3 on"


def test_estimate_with_too_few_reports_ends_with_75(session, tmp_path):
    """With reports of fewer devices than the campaign's minimum, estimate ends with exit code 75 and prints both
    numbers of devices."""
    study = ("--study", tmp_path / "lib")
    run(*study, "import", session / "education.campaign", "--trust", session / "analyst.pub")
    needed = "needs reports of 50 devices, and this one has reports of 0"
    assert needed in " ".join(run(*study, "estimate", "education", code=75).output.split())


def test_simulate_with_a_seed_repeats_its_bytes_and_warns(session, tmp_path):
    """simulate --seed writes the same bytes twice, and warns that a seed is for experiments only."""
    batches = []
    for name in "ab":
        result = run("simulate", session / "education.campaign", "--truth", session / "counts.csv", "--seed", 1,
                     "--out", tmp_path / f"{name}.htr", "--keys", tmp_path / f"{name}.pub")  # fmt: skip
        assert "experiments only" in result.stderr
        batches.append((tmp_path / f"{name}.htr").read_bytes())
    assert batches[0] == batches[1]


@pytest.mark.parametrize(("words", "code"), invalid_command_lines("cli"))
def test_invalid_input_causes_a_short_message(session, tmp_path, words, code):
    """Invalid input ends with its exit code, a short message and no traceback, and writes no file."""
    campaign = (session / "education.campaign").read_bytes()
    made = {
        "empty": b"",
        "noise": bytes(range(256)) * 3,
        "cut": campaign[:-10],
        "bent": flipped(campaign),
        "crowded": b"value,count\nnone,1000000000000\nprimary,1\n",
        "beyond": b"value,count\nnone,1e30\nprimary,1\n",
        "digits": DRAFT.replace("epsilon = 1.0", f"epsilon = {'1' * 400}").encode(),
        "thousands": DRAFT.replace("epsilon = 1.0", f"epsilon = {'1' * 5000}").encode(),
        "nul": DRAFT.replace('"ldp"', '"pairwise"\nmatrix = "a\\u0000.csv"').replace("epsilon = 1.0", "").encode(),
    }
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    run("keygen", tmp_path / "other")
    places = {name: tmp_path / name for name in (*made, "missing", "new")} | {
        "folder": tmp_path, "lib": session / "lib", "key": session / "analyst.key", "pub": session / "analyst.pub",
        "other": tmp_path / "other.pub", "draft": session / "education.toml", "batch": session / "batch.htr",
        "campaign": session / "education.campaign", "counts": session / "counts.csv",
    }  # fmt: skip
    require_one_clear_line(words, code, places, tmp_path)


def test_a_campaign_whose_signature_does_not_verify_is_named(session, tmp_path):
    """`import` and `invite` name the changed file, and say to ask the author for it."""
    data = (session / "education.campaign").read_bytes()
    (tmp_path / "bent").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    trust = "--trust", session / "analyst.pub"
    for words in (("--study", tmp_path / "new", "import", tmp_path / "bent"), ("invite", tmp_path / "bent")):
        error = " ".join(run(*words, *trust, code=65).stderr.split())
        assert f"{tmp_path / 'bent'}: the signature does not verify" in error
        assert error.endswith("; ask its author for the file again")


def test_simulate_suggests_a_single_span(session, tmp_path):
    """The error for invalid periods of a panel suggests a single span: simulate refuses several."""
    words = ("simulate", session / "education.campaign", "--truth", session / "counts.csv", "--out", tmp_path / "x.htr")
    error = run(*words, "--panel", "--periods", "abc", code=2).stderr
    assert "write a single span, such as 0-3" in " ".join(error.split())


@pytest.mark.parametrize("content", [b"", b"no envelope"])
def test_a_command_names_the_files_that_it_takes(tmp_path, content):
    """For a file without an envelope, `audit` asks for a campaign, and `inspect` for any file that it can read."""
    (tmp_path / "file").write_bytes(content)
    assert "name a signed campaign" in run("audit", tmp_path / "file", code=65).stderr
    expected = "name a campaign, a closing notice or a batch"
    assert expected in " ".join(run("inspect", tmp_path / "file", code=65).stderr.split())


@pytest.mark.parametrize("words", [["audit"], ["simulate", "--truth", "counts.csv", "--out", "x.htr"]])
def test_a_draft_in_place_of_its_campaign_is_to_be_signed_first(session, tmp_path, words):
    """A command that takes a signed campaign and is given a draft names the command that signs it."""
    draft = tmp_path / "education.toml"
    draft.write_text('title = "Highest education"\n')
    options = [
        session / word if word == "counts.csv" else tmp_path / word if word == "x.htr" else word for word in words
    ]
    error = run(*options[:1], draft, *options[1:], code=65).stderr
    assert "sign the draft with `halftruth campaign`" in " ".join(error.split())


def test_an_empty_file_is_named_and_a_truncated_batch_is_counted(session, tmp_path):
    """An empty file in a folder is named in a warning; a truncated batch has one malformed item."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "a.htr").write_bytes(b"")
    (inbox / "b.htr").write_bytes((session / "batch.htr").read_bytes()[:-7])
    done = run("--study", session / "lib", "ingest", "--json", inbox)
    assert f"{inbox / 'a.htr'} is empty" in done.stderr
    found = json.loads(done.stdout)
    assert found["read"] == found["accepted"] + sum(found["rejected"].values()) == 400
    assert found["rejected"]["malformed"] == 1


def test_files_that_are_not_batches_are_named(session, tmp_path):
    """A warning names at most five of the files in a folder that contain no envelope. It does not name a truncated
    batch."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    for name in ("notes.txt", "photo.jpg", "z.csv", "y.csv", "x.csv", "w.csv"):
        (folder / name).write_bytes(name.encode() * 3)
    (folder / "cut.htr").write_bytes((session / "batch.htr").read_bytes()[:-7])
    done = run("--study", session / "lib", "ingest", "--json", folder)
    assert json.loads(done.stdout)["rejected"]["malformed"] == 7
    (warning,) = [line for line in done.stderr.splitlines() if "no envelope" in line]
    assert "notes.txt" in warning
    assert "and 1 more" in warning
    assert "cut.htr" not in warning
    assert "no envelope" not in run("--study", session / "lib", "ingest", session / "batch.htr").stderr


def test_a_campaign_among_the_batches_is_named(session, tmp_path):
    """ingest refuses a campaign's file as one malformed item, and a warning names the command that imports it; the
    warning of rebuild names the option that takes it."""
    name = next(session.glob("*.campaign"))
    done = run("--study", session / "lib", "ingest", "--json", name)
    assert json.loads(done.stdout)["rejected"] == {"malformed": 1}
    warning = f"{name}: no reports, but a signed campaign or closing notice; add it with"
    assert f"{warning} `halftruth import`" in done.stderr
    rebuilt = run("--study", session / "lib", "rebuild", "--from", name, "--out", tmp_path / "new")
    assert f"{warning} --campaign" in rebuilt.stderr
    assert "no envelope" not in done.stderr


def test_a_file_name_that_is_too_long_is_refused_with_a_remedy(tmp_path):
    """A command refuses a name that is too long for a file, or for the temporary file beside it, and asks for a
    shorter one."""
    for length in (250, 300):
        refused = run("keygen", tmp_path / ("x" * length), code=1)
        assert "the file name is too long. Choose a shorter name" in refused.stderr
    too_long = pytest.raises(OSError, match=r"cannot be written: File name too long\. Choose a shorter name")
    with too_long, whole_file(tmp_path / ("x" * 250)):
        pass


def test_another_name_for_an_imported_campaign_is_not_ignored_silently(session, tmp_path):
    """import with --name states that a campaign of the study keeps its name; without --name, or with the same name, it
    prints no warning."""
    study = ("--study", tmp_path / "lib")
    command = (*study, "import", session / "education.campaign", "--trust", session / "analyst.pub")
    assert run(*command, "--name", "first").stderr == ""
    again = run(*command, "--name", "second")
    assert again.stdout.startswith("first  ")
    assert "already in the study under the name 'first', and keeps this name" in again.stderr
    assert run(*command, "--name", "first").stderr == run(*command).stderr == ""


def test_empty_input_causes_a_warning(session, tmp_path):
    """An empty enrolment file and an empty folder cause a warning that names them; enrol fails if it registers no
    key."""
    study = ("--study", session / "lib")
    (tmp_path / "empty").write_bytes(b"")
    enrolled = run(*study, "enrol", tmp_path / "empty", "--json", code=65)
    assert (f"{tmp_path / 'empty'} is empty" in enrolled.stderr, json.loads(enrolled.stdout)["rejected"]) == (True, {})
    assert "no key was registered: name files of enrolments" in enrolled.stderr
    assert "is empty" in run(*study, "enrol", tmp_path / "empty", session / "devices.pub").stderr
    assert f"{tmp_path} has no files" not in run(*study, "ingest", tmp_path).stderr
    (tmp_path / "empty").unlink()
    assert f"{tmp_path} has no files" in run(*study, "ingest", tmp_path).stderr


def test_a_batch_in_place_of_a_campaign_is_refused(session):
    """A batch in place of a campaign is refused, and the error names its kind."""
    assert "contains an envelope of kind report, not a campaign" in run("audit", session / "batch.htr", code=65).stderr
    found = json.loads(run("audit", session / "batch.htr", "--json", code=65).stdout)
    assert found["certified"] is False


def test_tables_show_brackets_of_an_author_as_text(session, tmp_path):
    """Brackets in titles, labels and names appear as the author wrote them in the tables of six commands."""
    title, label, name = "[red]Highest[/red]", "[bold]none[/]", "[/x]it"
    draft = DRAFT.replace("Highest education", title).replace('"none"', f'"{label}"').replace("enrolled", "open")
    (tmp_path / "it.toml").write_text(draft, encoding="utf-8")
    (tmp_path / "it.csv").write_text(COUNTS.replace("none", label), encoding="utf-8")
    signed, batch, study = tmp_path / "it.campaign", tmp_path / "it.htr", ("--study", tmp_path / "lib")
    assert title in run("campaign", tmp_path / "it.toml", "--key", session / "analyst.key", "--out", signed).stdout
    assert title in run("audit", signed).stdout
    assert name in run(*study, "import", signed, "--trust", session / "analyst.pub", "--name", name).stdout
    run("simulate", signed, "--truth", tmp_path / "it.csv", "--out", batch, "--seed", 1)
    run(*study, "ingest", batch)
    shown = run(*study, "status").stdout
    assert name in shown
    assert title in shown
    for words in ((), ("--value", label), ("--by", "period")):
        assert title in run(*study, "estimate", name, *words).stdout
    assert label in run(*study, "estimate", name).stdout
    (tmp_path / "people.csv").write_text("[red]town,illness\n[/y],1\n[/y],2\n", encoding="utf-8")
    printed = run("anonymity", tmp_path / "people.csv", "--known", "[red]town", "--sensitive", "illness").stdout
    assert "[red]town '[/y]'" in printed


def test_a_number_between_edges_is_not_a_value(session, tmp_path):
    """A campaign for numbers has a mean and a sum, and shares only of its edges."""
    draft = DRAFT.replace('kind = "values"', 'kind = "buckets"').replace('"enrolled"', '"open"')
    draft = draft.replace('values = ["none", "primary", "secondary", "bachelor"]', "edges = [0, 10, 40]")
    (tmp_path / "hours.toml").write_text(draft, encoding="utf-8")
    (tmp_path / "hours.csv").write_text("value,count\n5,200\n25,200\n", encoding="utf-8")
    run("campaign", tmp_path / "hours.toml", "--key", session / "analyst.key", "--out", tmp_path / "hours.campaign")
    study = ("--study", tmp_path / "lib")
    run(*study, "import", tmp_path / "hours.campaign", "--trust", session / "analyst.pub")
    batch = tmp_path / "hours.htr"
    run("simulate", tmp_path / "hours.campaign", "--truth", tmp_path / "hours.csv", "--out", batch, "--seed", 1)
    run(*study, "ingest", batch)
    mean, total = (
        json.loads(run(*study, "estimate", "hours", query, "--json").stdout)["estimate"]
        for query in ("--mean", "--sum")
    )
    assert total == pytest.approx(400 * mean)
    assert "name 10 or 40" in run(*study, "estimate", "hours", "--value", "25", code=65).stderr
    run(*study, "estimate", "hours", "--value", "10")


def failing(error):
    """Return a function that raises an error, in place of ``os.fsync``."""

    def fail(_):
        raise error

    return fail


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_an_error(session, tmp_path, monkeypatch):
    """If the disk is full when a file is written, the command prints an error, ends with exit code 1 and leaves no
    file."""
    monkeypatch.setattr(os, "fsync", failing(FULL))
    result = run(
        "campaign", session / "education.toml", "--key", session / "analyst.key", "--out", tmp_path / "x", code=1
    )
    assert "disk is full" in result.stderr
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_system_and_an_interrupt_have_a_remedy(session, tmp_path, monkeypatch):
    """If the system refuses to write a file, or the user interrupts the command, the error names the next step."""
    command = ("campaign", session / "education.toml", "--key", session / "analyst.key", "--out", tmp_path / "x")
    monkeypatch.setattr(os, "fsync", failing(PermissionError(errno.EPERM, os.strerror(errno.EPERM))))
    refused = run(*command, code=1)
    assert f"{os.strerror(errno.EPERM)}. Remove the cause, or name another file, and run the command" in refused.stderr
    monkeypatch.setattr(os, "fsync", failing(KeyboardInterrupt()))
    assert "interrupted. Finished commits to a study are kept; run the command again" in run(*command, code=1).stderr


def test_no_existing_file_is_overwritten(session, tmp_path, monkeypatch):
    """No option that names an output file overwrites an existing file, and estimate --plot leaves no file if the disk
    is full."""
    drawn, listed, page, new = (tmp_path / name for name in ("there.png", "there.csv", "there.html", "new"))
    for file in (drawn, listed, page):
        file.write_bytes(b"mine")
    campaign, key, counts = session / "education.campaign", session / "analyst.key", session / "counts.csv"
    commands = {
        "plan": (("--values", 8, "--epsilon", 1), {"--plot": drawn}),
        "campaign": ((session / "education.toml", "--key", key), {"--out": drawn}),
        "close": ((campaign, "--key", key), {"--out": drawn}),
        "audit": ((campaign,), {"--plot": drawn}),
        "simulate": (
            (campaign, "--truth", counts, "--out", new), {"--out": drawn, "--keys": drawn, "--answers": listed}
        ),
        "invite": (("education",), {"--out": drawn}),
        "page": (("education",), {"--out": page}),
        "codes": (("education", "--count", 1), {"--out": listed}),
        "estimate": (("education",), {"--plot": drawn, "--report": page}),
        "compare": (("education", "education-2027"), {"--plot": drawn}),
        "export": (("education",), {"--out": listed}),
    }  # fmt: skip
    study = ("--study", session / "lib")
    for command, (words, outputs) in commands.items():
        for option, file in outputs.items():
            refused = run(*study, command, *words, option, file, code=1).stderr
            assert f"{file} exists; it is not overwritten" in refused, (command, option)
    for name in COMMANDS:
        of_files = [
            option.opts[0]
            for option in halftruth.get_command(click.Context(halftruth), name).params
            if isinstance(option.type, new_files.NewFile)
        ]
        assert set(of_files) == set(commands.get(name, ((), {}))[1]), f"{name} has an output that is not tested"
    picture = tmp_path / "x.png"
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", failing(FULL))
        assert f"{picture}: the disk is full" in run(*study, "estimate", "education", "--plot", picture, code=1).stderr
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == dict.fromkeys((drawn, listed, page), b"mine")


def test_a_study_is_named_before_a_command_or_after_it(session, tmp_path):
    """Every command on a study takes --study before and after its name; if both are given, the second counts."""
    lib, other = ("--study", session / "lib"), ("--study", tmp_path / "none")
    assert run("status", *lib).stdout == run(*lib, "status").stdout == run(*other, "status", *lib).stdout
    assert "does not exist: name the folder of a study" in run(*lib, "status", *other, code=1).stderr
    for name in COMMANDS:
        command = halftruth.get_command(click.Context(halftruth), name)
        source = inspect.getsource(inspect.unwrap(command.callback))
        on_study = "study_folder(" in source or "named_campaign(" in source
        assert on_study == any("--study" in option.opts for option in command.params), name


def test_doctor_names_a_missing_library(monkeypatch):
    """A library that is not installed fails the check of the libraries; the text says how to install it."""
    monkeypatch.setattr(doctor, "LIBRARIES", ("numpy", "no-such-library"))
    (found,) = (found for found in check_up() if found.name == "libraries")
    assert not found.ok
    assert found.text.startswith("no-such-library is not installed: pip install")


@pytest.mark.parametrize(
    ("error", "reason"), [(OSError("the disk is full"), "the disk is full"), (KeyError(), "KeyError")]
)
def test_doctor_describes_an_unexpected_error_in_a_sentence(monkeypatch, error, reason):
    """A check that raises an unexpected error fails. Its text is a sentence with the error's text; the name of the
    error's class stands in place of a missing text."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(doctor.deltalake, "write_deltalake", fail)
    (found,) = (found for found in check_up() if found.name == "storage")
    assert not found.ok
    assert found.text.startswith(f"the check ended with an unexpected error: {reason}. Remove its cause")


def test_doctor_succeeds_on_this_machine():
    """All checks of doctor succeed on this machine."""
    assert all(found["ok"] for found in json.loads(run("doctor", "--json").stdout))


@pytest.mark.parametrize(
    ("module", "name", "library"), [(keys, "verify", "OpenSSL"), (nacl.bindings, "crypto_sign_open", "libsodium")]
)
def test_doctor_fails_if_a_library_accepts_a_forged_signature(monkeypatch, module, name, library):
    """A library whose verification accepts every signature fails the check of the signatures."""
    monkeypatch.setattr(module, name, lambda *_: b"")
    (found,) = (found for found in check_up() if found.name == "signatures")
    assert not found.ok
    assert found.text.startswith(f"{library} accepted a forged signature: ingest nothing")
    assert "failed checks: signatures" in run("doctor", code=1).stderr


@pytest.mark.parametrize(("redirected", "encoding"), [(">&-", "utf-8"), ("2>&-", "utf-8"), ("", "ascii")])
def test_a_command_needs_neither_open_streams_nor_utf_8(redirected, encoding):
    """With stdout or stderr closed, or on a terminal without UTF-8, a command does its work without an error."""
    program = "from aggregator.cli import main; main()"
    words = ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", program]
    ran = subprocess.run(
        [*words, "plan", "--number", "0,10", "--epsilon", "1"],
        env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr, bool(ran.stdout)) == (0, b"", redirected != ">&-")

"""A unit that answers by itself: by the clock alone, each reading once despite kills, no value in the log."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import edge_sdk
from aggregator.estimate.estimator import estimate
from aggregator.intake.ingest import ingest
from aggregator.receive import inbox
from aggregator.study import Study
from edge_sdk import BudgetPolicy, Device
from edge_sdk.__main__ import main
from edge_sdk.errors import BudgetRefused, ConsentMissing
from edge_sdk.timestamps import utc_text
from edge_sdk.unit import sensor as sources
from edge_sdk.unit.agent import CLOCK_SECONDS, MAX_PAUSE, Unit
from edge_sdk.unit.config import Configuration, ConfigurationRefused, Source, in_seconds, read_configuration
from edge_sdk.unit.questions import SETTLE_SECONDS
from edge_sdk.unit.sensor import MAX_PRINTED_BYTES, NO_READING, Reader, Stopped, answer_of, named_field
from protocol.campaign import campaign_id, open_campaign
from protocol.domain import Buckets, Dates, Grid, Values
from protocol.envelope import Kind, read_batch
from protocol.errors import OutsideSchedule
from protocol.keys import public_line
from protocol.report import Report
from tests.aggregator.fault_proxy import Fault, fault_proxy
from tests.aggregator.test_receive import served
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, Dice, campaign
from tests.edge_sdk.test_roles import of_classes
from tests.edge_sdk.test_transcript import made as of_transcripts

pytestmark = pytest.mark.slow

UNITS = Path(edge_sdk.__file__).parent / "units"
EDGES = Buckets.of([0, 0.25, 0.5, 1, 2, 4, 8])
EVERY, READINGS = 900, 4
PATIENCE = 300
"""Maximum seconds that a test waits for a process or an event. A test that waits this long has found a defect."""
PERIOD = EVERY * READINGS

PLAIN = """
store = "store"
trust = ["author.pub"]
campaign = "c.campaign"
consent = true

[budget]
lifetime = 1000

[source]
file = "reading"
"""


def written(folder: Path, text: str = PLAIN, data: bytes | None = None) -> Path:
    """Write a configuration and the files that it names; return the configuration's path."""
    folder.mkdir(exist_ok=True)
    (folder / "author.pub").write_text(public_line(AUTHOR.public))
    (folder / "c.campaign").write_bytes(data or load_average())
    (folder / "reading").write_text("0.3\n")
    (folder / "unit.toml").write_text(text)
    return folder / "unit.toml"


def load_average(**changes: object) -> bytes:
    """Return a campaign with four readings in each of ten hours."""
    return campaign(**({"title": "Load", "domain": EDGES, "period_seconds": PERIOD, "answers": READINGS} | changes))


class World:
    """A unit whose clock, source and random bytes the test controls. ``log`` has its log lines, and ``asked`` the times
    of its readings."""

    def __init__(self, file: Path, readings: object = "0.3", seed: int = 1) -> None:
        self.configuration: Configuration = read_configuration(file)
        self.readings = readings
        self.now = float(OPENS)
        self.takes = 0.0
        """The duration of a reading, in seconds."""
        self.left: list[tuple[float, str]] = []
        """The time and the file name of each export."""
        self.log: list[str] = []
        self.asked: list[float] = []
        self.dice = Dice(seed)
        self.unit = self.made()

    def made(self, past: float = 0) -> Unit:
        return Unit(self.configuration, self.read, self.say, clock=lambda: self.now, urandom=self.dice, past=past)

    def say(self, level: int, text: str) -> None:
        self.log.append(text)
        if "written to" in text:
            self.left.append((self.now, text.rpartition("/")[2]))

    def again(self, past: float = 0) -> None:
        """End the unit's process and begin another one."""
        self.unit.close()
        self.unit = self.made(past)

    def read(self, name: str, timeout: float) -> tuple[str, str]:
        self.asked.append(self.now)
        self.now += min(self.takes, timeout)
        given = self.readings(self.now) if callable(self.readings) else self.readings
        return given if isinstance(given, tuple) else (given, "")

    def until(self, end: float) -> bool:
        """Run the unit from step to step up to a time; return whether it continues after that."""
        while self.now < end:
            pause = self.unit.step()
            if pause is None:
                return False
            assert 0 <= pause <= MAX_PAUSE
            self.now = min(end, self.now + max(pause, 0.001))
        return True

    @property
    def device(self) -> Device:
        return self.unit._device

    def slots(self) -> list[tuple[int, int]]:
        """Return the (period, reading) of all readings that were taken and not forgotten, sealed or not."""
        return sorted(self.device._store.rows("SELECT period, slot FROM reading"))

    def reports(self) -> list[tuple[int, int, int]]:
        """Return (period, slot, count) of the waiting envelopes."""
        rows = self.device._store.rows("SELECT envelope FROM outbox ORDER BY number")
        return reports(b"".join(bytes(row) for (row,) in rows))


def reports(batch: bytes) -> list[tuple[int, int, int]]:
    found = [Report.decode(item.unverified) for item in read_batch(batch) if item.kind is Kind.REPORT]
    return [(report.period, report.slot, report.count) for report in found]


@pytest.fixture
def world(tmp_path):
    """Return a function that makes worlds; their stores are closed after the test."""
    made: list[World] = []

    def make(
        text: str = PLAIN, data: bytes | None = None, readings: object = "0.3", name: str = "unit", seed: int = 1
    ) -> World:
        made.append(World(written(tmp_path / name, text, data), readings, seed))
        return made[-1]

    yield make
    for one in made:
        one.unit.close()


# The configuration


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('store = "store"', "", "store is missing"),
        ('store = "store"', "store = 3", "store must be a path: the folder"),
        ('store = "store"', 'store = ""', "store must be a path: the folder"),
        ('trust = ["author.pub"]', "", "trust is missing"),
        ('trust = ["author.pub"]', 'trust = "author.pub"', "trust must be a list"),
        ('campaign = "c.campaign"', "", "campaign is missing"),
        ("consent = true", "", "consent must be true"),
        ("consent = true", "consent = false", "consent must be true"),
        ("consent = true", 'consent = "yes"', "consent must be true or false"),
        ("consent = true", "consent = true\nconsnet = true", "unknown entry consnet; did you mean 'consent'"),
        ("[source]", "[sorce]", "unknown entry sorce; did you mean 'source'"),
        ("consent = true", "consent = true\nschedule = 3", "schedule must be a table"),
        ("lifetime = 1000", 'lifetime = "8"', r"\[budget\] lifetime must be a cap in nats"),
        ("lifetime = 1000", "lifetime = -1", r"\[budget\] lifetime"),
        ("lifetime = 1000", "per_campaign = nan", r"\[budget\] per_campaign"),
        ("lifetime = 1000", "window = 3", r"\[budget\] window must be \[seconds, nats\]"),
        ("lifetime = 1000", "window = [0, 1.0]", r"\[budget\] window"),
        ("lifetime = 1000", 'window = [60, "1"]', r"\[budget\] window"),
        ("lifetime = 1000", "lifetine = 8", r"unknown entry \[budget\] lifetine; did you mean 'lifetime'"),
        ('file = "reading"', "", "exactly one of command, file and stdin"),
        ('file = "reading"', 'file = "reading"\nstdin = true', "exactly one of command, file and stdin"),
        ('file = "reading"', 'command = "cat"', r"\[source\] command must be a list"),
        ('file = "reading"', 'file = "reading"\ntimeout = 1', r"\[source\] timeout is given for a file"),
        ('file = "reading"', "stdin = true\ntimeout = 0", r"\[source\] timeout must be a number of seconds above 0"),
        ('file = "reading"', "stdin = true\ntimeout = nan", r"\[source\] timeout"),
        ('file = "reading"', 'file = "reading"\nfield = true', r"\[source\] field must be a whole number"),
        ('file = "reading"', 'file = "reading"\nseparator = ","', r"\[source\] separator is given, but field is not"),
        ('file = "reading"', 'file = "reading"\nscale = 0', r"\[source\] scale must be the number by which"),
        ('file = "reading"', 'file = "reading"\nscale = inf', r"\[source\] scale"),
        ('file = "reading"', 'file = "reading"\noutside = "drop"', r'\[source\] outside must be "clamp" or "skip"'),
        ('file = "reading"', 'file = "reading"\ninstead = 3', r"\[source\] instead must be the answer"),
        ('file = "reading"', 'file = "reading"\n[schedule]\nevery = 0', r"\[schedule\] every must be a whole number"),
        ('file = "reading"', 'file = "reading"\n[schedule]\nevery = 1.5', r"\[schedule\] every must be a whole number"),
        ('file = "reading"', 'file = "reading"\n[send]\nurl = "https://a"\nexport = "b"', "name one of them"),
        ('file = "reading"', "file = ", "not TOML"),
    ],
)
def test_an_invalid_configuration_is_refused_with_its_entry(tmp_path, old, new, says):
    """For a missing, misspelt or wrongly typed entry, the text names the file, the entry and the expected value."""
    assert PLAIN.count(old) == 1
    with pytest.raises(ConfigurationRefused, match=says) as refused:
        read_configuration(written(tmp_path / "unit", PLAIN.replace(old, new)))
    assert "unit.toml" in str(refused.value)


def test_paths_are_relative_to_the_configuration(tmp_path, monkeypatch):
    """A unit that is started in another folder finds the same files."""
    file = written(tmp_path / "unit", PLAIN.replace('file = "reading"', 'command = ["./sensor", "-1"]'))
    monkeypatch.chdir(tmp_path)
    found = read_configuration(Path("unit/unit.toml"))
    assert dataclasses.replace(found, file=file) == read_configuration(file)
    assert found.store == tmp_path / "unit" / "store"
    assert found.trust == (tmp_path / "unit" / "author.pub",)
    assert found.sources[""].command == (str(tmp_path / "unit" / "sensor"), "-1")


@pytest.mark.parametrize("example", sorted(path.name for path in UNITS.glob("*.toml")))
def test_the_examples_are_valid(example):
    """Every packaged example is a valid configuration."""
    assert read_configuration(UNITS / example).store == Path("/var/lib/halftruth")


def test_a_check_shows_the_terms_and_does_not_join(tmp_path, capsys):
    """``run CONFIG --check`` prints the title, the cost, and when a unit would read and send; it makes no store. The
    owner may check before agreeing."""
    unread = PLAIN.replace("consent = true", "")
    file = written(tmp_path / "unit", unread + '[send]\nurl = "https://study.example"\nevery = 60\n')
    assert main(["run", str(file), "--check", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["title"] == "Load"
    assert (said["cost"], said["worst_case"]) == (1.0, 7.0)
    assert {"addresses", "contact", "retention", "notice", "withdrawal", "values"} <= set(said)
    assert said["readings"] == f"one every {EVERY} seconds, {READINGS} in a period of {PERIOD} seconds"
    assert said["leaves"] == "https://study.example, every 60 seconds"
    assert said["source"] == "gives a reading that the question allows"
    assert not (tmp_path / "unit" / "store").exists()
    assert main(["run", str(file), "--check"]) == 0
    printed = capsys.readouterr().out
    assert "0.3" not in printed
    assert "reports go to: https://study.example, every 60 seconds\n" in printed


@pytest.mark.parametrize(
    ("old", "new", "code", "says"),
    [
        ("lifetime = 1000", "lifetime = 2", 1, "may cost up to 7 nats"),
        (
            'file = "reading"',
            'file = "reading"\n[send]\nurl = "http://study.example"',
            2,
            "[send] url is refused: data sent to",
        ),
        ('file = "reading"', 'file = "reading"\n[send]\nurl = "x"', 2, "[send] url is refused: an address must begin"),
        ('file = "reading"', f'file = "reading"\n[schedule]\nevery = {PERIOD + 1}', 2, "every must be at most"),
        ('file = "reading"', 'file = "reading"\ninstead = "unknown"', 2, "instead is not an answer"),
        (
            'file = "reading"',
            f"stdin = true\ntimeout = {EVERY}",
            2,
            f"must be below {EVERY - 0.25} seconds, not {EVERY}",
        ),
        ('campaign = "c.campaign"', 'campaign = "author.pub"', 65, "author.pub: this is not a campaign file"),
        ('campaign = "c.campaign"', 'campaign = "nowhere"', 1, "nowhere: there is no such file"),
        ('campaign = "c.campaign"', 'campagin = "c.campaign"', 2, "unknown entry campagin"),
    ],
)
def test_an_invalid_configuration_is_refused_before_a_unit_starts(tmp_path, capsys, monkeypatch, old, new, code, says):
    """A campaign above the caps, an unencrypted address and an unknown entry are each refused with one line and an exit
    code."""
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("a unit started although its configuration is invalid"))
    file = written(tmp_path / "unit", PLAIN.replace(old, new))
    assert main(["run", str(file)]) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert says in err
    assert not (tmp_path / "unit" / "store").exists()


def test_a_command_of_a_device_needs_a_store(capsys):
    """A command of a device, such as ``ledger``, is a usage error without ``--store``."""
    with pytest.raises(SystemExit) as refused:
        main(["ledger"])
    assert refused.value.code == 2
    assert "--store" in capsys.readouterr().err


# The source


@pytest.mark.parametrize(
    ("text", "field", "separator", "found"),
    [
        ("0.42 0.31 0.18 1/123 4567\n", 0, None, "0.42"),
        ("0.42 0.31 0.18 1/123 4567\n", -1, None, "4567"),
        ("old\n\n 3.5 \n\n", None, None, "3.5"),
        ("12:00,3.5, 7\n", 2, ",", "7"),
        ("72 01 4b : crc=d7 YES\n72 01 4b t=23125\n", -1, "=", "23125"),
        ("1 2", 2, None, ""),
        ("1 2", -3, None, ""),
        ("", 0, None, ""),
        ("\n\n", None, None, ""),
        ('{"cpu": {"temps": [40.10, 41]}}', "cpu.temps.0", None, "40.10"),
        ('{\n "cpu":\n {"temp": 41}}\n', "cpu.temp", None, "41"),
        ('{"n": 1}\n{"n": 2}\n', "n", None, "2"),
        ('{"place": " somewhere "}', "place", None, "somewhere"),
        ('{"n": true}', "n", None, ""),
        ('{"n": null}', "n", None, ""),
        ('{"n": 1}', "m", None, ""),
        ('{"n": [1]}', "n.x", None, ""),
        ('{"n": 1}', "n.m", None, ""),
        ("[" * 100_000, "n", None, ""),
        ("nonsense", "n", None, ""),
    ],
)
def test_the_field_is_read_from_the_configured_place(text, field, separator, found):
    """The field is a word of the last line, or a place in a JSON value with its digits as written; a missing field
    gives no reading."""
    assert named_field(text, field, separator) == found


@pytest.fixture
def reader():
    """Return a function that makes readers; any byte written to ``wake`` stops them."""
    stop, wake = os.pipe()

    def make(timeout: float = 10, **keys: object) -> Callable[[], tuple[str, str]]:
        one = Reader(Source(**keys), stop)
        make.last = one
        return lambda: one.read(timeout)

    make.wake = lambda: os.write(wake, b"x")
    yield make
    os.close(stop)
    os.close(wake)


def test_a_reading_is_the_last_line_of_standard_output(reader, capfd):
    """The reading is the last line of standard output; the program's standard error is discarded, so no log receives a
    reading."""
    script = "echo 1 2; echo 3.5 4; echo secret 3.5 >&2"
    assert reader(command=("sh", "-c", script), field=0)() == ("3.5", "")
    assert capfd.readouterr() == ("", "")


def test_one_second_is_in_the_singular():
    """A text says 1 second, and seconds after every other number; a large whole number has all its digits."""
    texts = [in_seconds(number) for number in (0.5, 1, 1.0, 10, 31_536_001)]
    assert texts == ["0.5 seconds", "1 second", "1 second", "10 seconds", "31536001 seconds"]


def test_a_program_that_hangs_is_killed_with_all_processes_it_started(reader, tmp_path):
    """After the timeout there is no reading, and no process that the program started is left, even if it ignores
    signals."""
    script = f"trap '' TERM; sleep {2 * PATIENCE} & echo $! > {tmp_path}/pid; echo 3.5; wait"
    begun = time.monotonic()
    # On a busy machine the program may not have started within the first timeout.
    for timeout in (0.3, 30):
        text, reason = reader(command=("sh", "-c", script), timeout=timeout)()
        assert (text, reason) == ("", f"the source did not finish within {timeout:g} seconds")
        if (tmp_path / "pid").exists():
            break
    assert time.monotonic() - begun < PATIENCE
    pid = (tmp_path / "pid").read_text().strip()
    deadline = time.monotonic() + PATIENCE
    while (status := Path(f"/proc/{pid}/stat")).exists() and " Z " not in status.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_program_is_stopped_with_the_unit(reader):
    """SIGTERM does not wait for a source's timeout, and the interrupted reading counts neither as a reading nor as a
    failure."""
    reader.wake()
    begun = time.monotonic()
    for source in ({"command": ("sleep", str(2 * PATIENCE))}, {"stdin": True}):
        with pytest.raises(Stopped):
            reader(timeout=2 * PATIENCE, **source)()
    assert time.monotonic() - begun < PATIENCE


def test_a_failed_source_gives_a_reason_without_a_value(reader, tmp_path):
    """A missing program, an exit code, no output, endless output, a missing file and an empty pipe each give a reason
    without a value. Bytes that are not UTF-8 are replaced, and give no reason."""
    assert reader(command=("no-such-program",))() == ("", "the source cannot be read: No such file or directory")
    assert reader(command=("sh", "-c", "echo 3.5; exit 7"))() == ("", "the source failed with exit code 7")
    assert reader(command=("sh", "-c", "kill -9 $$"))() == ("", "the source failed with exit code -9")
    assert reader(command=("true",))() == ("", NO_READING)
    assert reader(command=("sh", "-c", "while :; do echo 35; done"))() == (
        "",
        "the source printed 65,536 bytes or more",
    )
    assert reader(command=("sh", "-c", r"printf '\377\376'"))() == ("\ufffd\ufffd", "")
    missing = tmp_path / "missing"
    assert reader(file=missing)() == ("", "the source cannot be read: No such file or directory")
    os.mkfifo(tmp_path / "pipe")
    assert reader(file=tmp_path / "pipe")() == ("", NO_READING)


def test_a_file_is_read_from_its_end(reader, tmp_path):
    """The last line of a long log is read, and so are files that the kernel generates."""
    log = tmp_path / "log"
    log.write_text("1.5\n" * MAX_PRINTED_BYTES + "2.5\n")
    assert reader(file=log)() == ("2.5", "")
    assert float(reader(file=Path("/proc/loadavg"), field=0)()[0]) >= 0


def test_each_reading_takes_one_line_of_standard_input(reader, monkeypatch):
    """Lines are read in order, one for each reading; a line that comes too late is the next reading; a last line
    without a line end is used."""
    reading, writing = os.pipe()
    monkeypatch.setattr(sources, "STDIN", reading)
    one = reader(stdin=True, timeout=0.05)
    assert one() == ("", "the source gave no line within 0.05 seconds")
    os.write(writing, b"1.5\n2.5\n\n3.")
    assert [one() for _ in range(3)] == [("1.5", ""), ("2.5", ""), ("", NO_READING)]
    os.write(writing, b"5")
    os.close(writing)
    assert one() == ("3.5", "")
    assert reader.last.ended
    os.close(reading)


def test_a_line_of_standard_input_that_is_too_long_gives_no_reading(reader, monkeypatch):
    """No part of a line of more than 65,536 bytes is used as a reading; the line after it is."""
    reading, writing = os.pipe()
    monkeypatch.setattr(sources, "STDIN", reading)
    one = reader(stdin=True, timeout=0.05)
    writer = threading.Thread(target=os.write, args=(writing, b"7" * (2 * MAX_PRINTED_BYTES) + b"7.5\n1.5\n"))
    writer.start()
    found = [one() for _ in range(2)]
    writer.join()
    os.close(writing)
    os.close(reading)
    assert found == [("", NO_READING), ("1.5", "")]


def test_every_number_is_reported_by_default():
    """By default every number, position and day gives an answer; for a reading outside the question's range it is the
    nearest value inside. With ``outside = "skip"``, a reading outside the range gives no answer. Any other text never
    gives an answer."""
    for number in ("-1e300", "-0.001", "0", "3.3", "8", "8.0001", "1e300"):
        answer = answer_of(EDGES, number, Source())
        assert answer is not None
        assert EDGES.points[0] <= answer <= EDGES.points[-1]
    assert answer_of(EDGES, "1e300", Source()) == 8
    assert answer_of(EDGES, "-1", Source()) == 0
    assert answer_of(EDGES, "4000", Source(scale=Fraction(1, 1000))) == 4
    box = Grid(0, 2_000_000, 0, 3_000_000, 1_000_000)
    assert box.index(answer_of(box, "90,-180", Source()), bytes(8)) == box.index((2, 0), bytes(8))
    assert answer_of(box, "91,180", Source(outside="skip")) is None
    assert answer_of(EDGES, "9", Source(outside="skip")) is None
    for nonsense in ("", "nan", "inf", "warm", "1,2", "1e9999"):
        assert answer_of(EDGES, nonsense, Source()) is None
    assert answer_of(box, "1", Source()) is None
    days = Dates.of("2026-01-01", "2026-01-29", 7)
    for day, taken in (("2027-01-01", "2026-01-29"), ("1999-12-31", "2026-01-01"), (" 2026-01-05 ", "2026-01-05")):
        assert answer_of(days, day, Source()) == taken
    assert answer_of(days, "2027-01-01", Source(outside="skip")) is None
    assert answer_of(days, "2026-02-30", Source()) is None
    assert answer_of(Values(LABELS), "none", Source()) == "none"
    assert answer_of(Values(LABELS), "other", Source()) is None


# The schedule


def test_readings_are_numbered_by_the_clock(world):
    """A unit reads once in each quarter of an hour, at its beginning, and fills the slot of that quarter."""
    one = world()
    one.until(OPENS + PERIOD)
    assert one.asked == pytest.approx([OPENS + EVERY * number for number in range(READINGS)], abs=0.01)
    assert one.slots() == [(0, number) for number in range(READINGS)]


def test_after_an_outage_only_the_current_slot_is_filled(world):
    """After an outage one reading is taken, for the current slot; after a restart in a slot that is filled, none is
    taken."""
    one = world()
    one.until(OPENS + EVERY)
    one.now = OPENS + 3 * EVERY + 100
    one.again()
    one.until(OPENS + 4 * EVERY - 1)
    one.again()
    one.until(OPENS + PERIOD + 2 * EVERY - 1)
    assert one.slots() == [(1, 0), (1, 1)]
    assert one.reports() == [(0, 0, 1), (0, 3, 1)]
    assert len(one.asked) == 4


def test_a_frequent_schedule_does_not_exceed_the_quota(world):
    """If more readings are scheduled in a period than the campaign allows answers, the unit reads until the period is
    full and then waits for the next period."""
    one = world(PLAIN + "[schedule]\nevery = 60\n")
    one.until(OPENS + PERIOD + 61)
    expected = [0, 60, 120, 180, PERIOD, PERIOD + 60]
    assert one.asked == pytest.approx([OPENS + second for second in expected], abs=0.01)


def test_a_bundle_is_made_when_its_period_is_full_or_over(world):
    """Four readings are signed once, at the last one; two readings of a period are signed together when the next
    period begins."""
    one = world(data=load_average(periods=3))
    one.until(OPENS + 3 * EVERY)
    assert one.reports() == []
    one.unit.step()
    assert one.reports() == [(0, 0, 4)]
    one.readings = lambda now: ("", "broken") if now < OPENS + PERIOD + EVERY else "0.3"
    one.until(OPENS + 2 * PERIOD - EVERY)
    one.readings = ("", "broken")
    one.until(OPENS + 2 * PERIOD)
    assert len(one.reports()) == 1
    one.readings = "0.3"
    one.until(OPENS + 2 * PERIOD + 1)
    assert one.reports() == [(0, 0, 4), (1, 1, 2)]


def test_times_and_logs_of_a_unit_do_not_depend_on_the_readings(world):
    """Two units have the same random bytes and schedule; one reads one value, the other reads many values, some outside
    the range. Both take their steps at the same times, write the same log, draw the same number of random bytes, and
    write the same number of envelopes, of the same lengths, to the same files."""
    text = PLAIN + '[send]\nexport = "out"\nevery = 5000\n'
    values = ["0.3", "7.9", "-5", "1e9", "0.26", "3", "0", "8"]
    worlds = [
        world(text, readings="0.3", name="same"),
        world(text, readings=lambda now: values[int(now) // EVERY % len(values)], name="many"),
    ]
    seen = []
    for one in worlds:
        moments = []
        while one.now < OPENS + 5 * PERIOD:
            pause = one.unit.step()
            moments.append(round(one.now, 3))
            one.now += pause
        files = {path.name: path.read_bytes() for path in (one.configuration.file.parent / "out").iterdir()}
        lengths = {name: [len(item.encode()) for item in read_batch(batch)] for name, batch in files.items()}
        log = [line.replace("/many/", "/same/") for line in one.log]
        seen.append((moments, lengths, log, one.dice.asked, one.reports()))
    assert seen[0] == seen[1]
    assert len(seen[0][1]) > 2


def test_each_unit_sends_at_a_random_moment_of_the_interval(world):
    """Sealed bundles are sent at a moment of each interval that is drawn once for each store: not at the start, and
    not at the same moment for two units. After a long sleep, bundles are sent once on waking, and then at the usual
    moment."""
    text = PLAIN.replace('file = "reading"', 'file = "reading"\n[schedule]\nevery = 60') + (
        f'[send]\nexport = "out"\nevery = {PERIOD}\n'
    )
    data = load_average(periods=1000)
    one, other = world(text, data, name="one"), world(text, data, name="other", seed=2)
    one.until(OPENS + 3 * PERIOD)
    phase = one.unit._phase
    first = OPENS + (phase - OPENS) % PERIOD
    assert [at for at, _ in one.left] == pytest.approx([first + number * PERIOD for number in range(3)], abs=0.01)
    one.again()
    assert one.unit.step() is not None
    assert one.unit._phase == phase
    assert len(one.left) == 3
    one.now += 10 * PERIOD
    one.until(one.now + PERIOD)
    assert [at for at, _ in one.left[3:]] == pytest.approx([OPENS + 13 * PERIOD, first + 13 * PERIOD], abs=0.01)
    other.until(OPENS + 1)
    assert other.unit._phase != phase


def test_times_of_sending_do_not_depend_on_the_duration_of_a_reading(world):
    """A sensor may take longer for some values. A reading always belongs to the moment at which it began, and bundles
    that are due during a reading are sent at the latest moment at which the reading could have ended."""
    text = (
        PLAIN.replace('file = "reading"', 'command = ["sensor"]\ntimeout = 10')
        + '[send]\nexport = "out"\nevery = 900\n'
    )
    seen = []
    for name, takes in (("quick", 0.0), ("slow", 7.3), ("hangs", 60.0)):
        one = world(text, name=name)
        one.unit.step()
        # Sending is due five seconds after the start of each reading.
        one.unit._phase = (OPENS + 5) % 900
        one.takes = takes
        one.until(OPENS + 3 * PERIOD)
        seen.append((one.left, one.slots()))
    assert seen[0] == seen[1] == seen[2]
    for at, _ in seen[0][0]:
        assert (at - OPENS) % 900 == pytest.approx(10 + SETTLE_SECONDS, abs=0.01)
    assert len(seen[0][0]) > 2


def test_two_units_of_two_campaigns_share_a_store(world):
    """Two units share one store. Each has its own readings, and the envelopes that each sealed are sent once, to its
    own destination."""
    text = PLAIN + '[send]\nexport = "out"\nevery = 5000\n'
    first = world(text)
    folder = first.configuration.file.parent
    (folder / "d.campaign").write_bytes(load_average(title="Other"))
    (folder / "other.toml").write_text(text.replace("c.campaign", "d.campaign").replace('"out"', '"theirs"'))
    second = World(folder / "other.toml")
    with contextlib.closing(second.unit):
        while first.now < OPENS + 5 * PERIOD:
            pauses = [one.unit.step() for one in (first, second)]
            first.now = second.now = first.now + min(pauses)
        assert first.slots() == second.slots()
        waits = {one.unit.campaign_id: one.unit._device.outbox.envelopes(one.unit._number) for one in (first, second)}
    for name, one in (("out", first), ("theirs", second)):
        left = b"".join(path.read_bytes() for path in sorted((folder / name).iterdir()))
        sealed = list(read_batch(left + b"".join(waits[one.unit.campaign_id])))
        assert all(one.unit.campaign_id in item.unverified for item in sealed), (
            "an envelope of another campaign was sent"
        )
        assert [item.kind for item in sealed].count(Kind.ENROLMENT) == 1
        found = reports(left + b"".join(waits[one.unit.campaign_id]))
        assert sorted(found) == [(period, 0, 4) for period in range(5)]


def test_a_configuration_cannot_replace_a_signed_address(world):
    """A unit of a campaign with a signed address sends there without configuration; another address is refused."""
    signed = load_average(addresses=("http://127.0.0.1:9",))
    one = world(data=signed)
    one.unit.step()
    assert one.unit._has_destination
    assert one.device.addresses(one.unit.campaign_id) == ("http://127.0.0.1:9",)
    other = world(PLAIN + '[send]\nurl = "https://study.example"\n', signed, name="other")
    with pytest.raises(ConfigurationRefused, match=r"127\.0\.0\.1"):
        other.unit.step()


def test_a_clock_that_is_not_set_yet_is_waited_for(world):
    """If the clock is before the files' time, the consent or the latest reading's period, nothing is read or joined.

    Each time, the unit logs one line: that it waits until the clock is set, or until a time if it knows one. It checks
    the clock every few seconds, and then continues by itself.
    """
    one = world()
    one.again(past=OPENS + 10)
    assert [one.unit.step() for _ in range(3)] == [CLOCK_SECONDS] * 3
    assert one.device.campaigns == []
    one.until(OPENS + PERIOD + 10)
    assert one.log == [
        "the clock shows a time before the configuration or the campaign file was written: waiting until the clock is "
        "set",
        f"answering 'Load': a reading every {EVERY} seconds",
        "the clock is set",
    ]
    asked = len(one.asked)
    one.now = 100.0
    assert [one.unit.step() for _ in range(3)] == [CLOCK_SECONDS] * 3
    one.now = OPENS + PERIOD - 1.0
    one.again()
    assert one.unit.step() == CLOCK_SECONDS
    assert len(one.asked) == asked
    written = "the clock shows a time before the configuration or the campaign file was written"
    assert one.log.count(f"{written}: waiting until the clock is set") == 2
    silent = f"waiting until {utc_text(OPENS + PERIOD)}, or until the clock is set"
    assert one.log.count(f"the clock shows a time before the latest recorded time: {silent}") == 1
    advice = one.device.doctor()["clock in 'Load'"]
    assert f"a unit answers again at {utc_text(OPENS + PERIOD)}; " in advice
    assert advice.endswith("clock --set"), "the advice does not end with the command"
    one.until(OPENS + PERIOD + EVERY + 1)
    assert one.log[-1] == "the clock is set"
    assert not any("clock" in name for name in one.device.doctor())
    assert len(one.asked) == asked + 1


def test_a_small_step_back_of_the_clock_gives_no_reading_twice(world):
    """If the clock goes back within a period, the unit waits for the next free reading and logs nothing."""
    one = world()
    one.until(OPENS + 2 * EVERY + 1)
    one.now = OPENS + EVERY + 0.0
    one.until(OPENS + 3 * EVERY + 1)
    assert one.slots() == [(0, number) for number in range(4)]
    assert len(one.asked) == 4


def test_a_unit_reads_nothing_before_the_campaign_opens(world):
    """A unit that joined and agreed reads nothing before the campaign opens."""
    one = world(data=load_average(opens=OPENS + 5000))
    one.until(OPENS + 4999)
    assert one.asked == []
    assert one.device.consented(one.unit.campaign_id)
    assert one.log[-1] == f"'Load' opens at {utc_text(OPENS + 5000)}: waiting until then"
    one.until(OPENS + 5001)
    assert len(one.asked) == 1


def test_a_unit_sends_its_last_bundle_after_the_closing_and_ends(world):
    """The last bundle is sealed when the campaign closes and sent at the next random sending time; then the unit ends,
    and after a restart it ends at once. A unit that never joined is refused after the end."""
    one = world(PLAIN + '[send]\nexport = "out"\nevery = 70000\n', load_average(periods=1))
    assert one.until(OPENS + PERIOD + 1)
    assert len(one.reports()) == 1
    one.again()
    assert not one.until(OPENS + 70000 + PERIOD)
    assert one.log[-1] == "'Load' is over"
    assert one.now > OPENS + PERIOD + 1
    [file] = (one.configuration.file.parent / "out").iterdir()
    assert reports(file.read_bytes()) == [(0, 0, 4)]
    late = world(data=load_average(periods=1), name="late")
    late.now = OPENS + PERIOD + 1
    with pytest.raises(OutsideSchedule):
        late.unit.step()


def test_without_a_destination_a_unit_ends_when_all_is_sealed(world):
    """Without a destination, the unit ends when all readings are sealed; a person exports the waiting envelopes."""
    one = world(data=load_average(periods=1))
    assert not one.until(OPENS + PERIOD + 10)
    assert one.reports() == [(0, 0, 4)]


def test_readings_are_sealed_singly_if_bundles_are_impossible(world):
    """If bundles are impossible, each reading is sealed at once."""
    one = world(data=of_transcripts(), readings="bachelor")
    one.until(OPENS + 1)
    assert len(one.reports()) == 1


# Faults


def test_a_source_without_a_reading_is_logged_once_and_skipped(world):
    """The log gives a reason without the value once, not for each slot, and has a line when the source works again."""
    one = world(
        PLAIN + '[send]\nexport = "out"\nevery = 100\n',
        readings=lambda now: "much too secret" if now < OPENS + 2 * EVERY else "0.3",
    )
    one.until(OPENS + PERIOD - 1)
    said = [line for line in one.log[1:] if "written" not in line]
    assert said == [f"{NO_READING}: the reading is skipped", "the source gives readings again"]
    assert len(one.asked) == READINGS
    assert one.slots() == [(0, 2), (0, 3)]


def test_a_configured_answer_replaces_a_missing_reading(world):
    """With ``instead``, an outside observer cannot detect that a source failed, and the log does not mention it."""
    text = PLAIN.replace('file = "reading"', 'file = "reading"\ninstead = "0"')
    one = world(text, readings=lambda now: ("", "broken") if now < OPENS + 2 * EVERY else "0.3")
    one.until(OPENS + PERIOD)
    assert one.reports() == [(0, 0, 4)]
    assert len(one.log) == 1


def test_a_full_disk_does_not_end_a_unit(world):
    """If the disk is full, the log has one line, and readings are lost and cost nothing; with free space the unit
    continues."""
    one = world()
    one.unit.step()
    ledger = one.device.ledger
    one.readings = "7.9"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Files cannot grow beyond this limit, as on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        one.until(OPENS + 3 * EVERY)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(one.asked) == 3
    assert one.device.ledger == ledger
    assert one.slots() == [(0, 0)]
    assert len(one.log) == 2
    assert "disk is full" in one.log[1]
    one.until(OPENS + 4 * EVERY - 1)
    assert one.slots() == [(0, 0), (0, 3)]
    assert one.log[-1] == "the store takes readings again"


def test_a_failed_upload_is_logged_and_readings_continue(world):
    """While a child process tries to send, readings continue; the result is one log line, and nothing is lost."""
    one = world(PLAIN + '[send]\nurl = "http://127.0.0.1:9"\nevery = 1000\n')
    one.until(OPENS + 1000 + 1)
    [sending] = one.unit.waits_for
    asked = len(one.asked)
    one.until(OPENS + 2 * EVERY + 1)
    assert len(one.asked) == asked + 1
    assert one.unit.waits_for == [sending]
    assert select.select([sending], [], [], PATIENCE)[0]
    while one.unit.waits_for:
        one.unit.step()
    assert one.log[-1].startswith("not everything was sent: no response from 127.0.0.1")
    assert "1 queued" in one.log[-1]
    assert len(one.device.outbox) == 1


def test_an_upload_that_hangs_is_killed(world, monkeypatch):
    """The process of a hanging upload is killed after a timeout, and the unit tries again at the next sending time.
    When the unit ends, a running upload is killed too."""
    monkeypatch.setattr("edge_sdk.unit.agent.SEND_SECONDS", 0)
    one = world(PLAIN + '[send]\nurl = "http://127.0.0.1:9"\nevery = 1000\n')
    one.unit.step()
    for ends in (one.unit.step, one.unit.step, one.again):
        one.now += 1000
        one.unit.step()
        [child] = [one.unit._sending]
        ends()
        assert one.unit.waits_for == []
        with pytest.raises(ProcessLookupError):
            os.kill(child.pid, 0)
    assert one.log[1:] == ["the upload was stopped after 0 seconds; it is tried again at the next sending time"]


def test_a_lowered_cap_and_forgetting_stop_a_unit(world):
    """A cap that is lowered below the reserved amount stops all readings; forgetting ends the unit."""
    one = world()
    one.until(OPENS + 1)
    with Device.open(one.configuration.store, budget=BudgetPolicy(lifetime=1)) as owner:
        one.until(OPENS + EVERY + 1)
        assert one.slots() == [(0, 0)]
        assert "lifetime cap was lowered" in one.log[-1]
        owner.forget()
    assert one.unit.step() is None
    assert "forgotten" in one.log[-1]
    assert one.device.campaigns == []


def test_a_unit_refuses_a_campaign_above_its_caps(world):
    """A campaign above the caps, or one that needs a class to be named, is refused at the first step, without
    consent."""
    poor = world(PLAIN.replace("lifetime = 1000", "lifetime = 2"), name="poor")
    with pytest.raises(BudgetRefused):
        poor.unit.step()
    classed = world(data=of_classes(), name="classed")
    with pytest.raises(ConsentMissing):
        classed.unit.step()
    assert not any(map(classed.device.consented, classed.device.campaigns))


def test_the_log_never_contains_a_value_or_the_amount_spent(world):
    """The log contains no reading, and neither the spent nor the remaining budget."""
    marked = "7.531246"
    one = world(
        PLAIN.replace('file = "reading"', 'file = "reading"\noutside = "skip"')
        + '[send]\nexport = "out"\nevery = 900\n',
        load_average(periods=2),
        readings=lambda now: [marked, "9" + marked, f"{marked} {marked}", ("", "broken")][int(now) // EVERY % 4],
    )
    one.until(OPENS + PERIOD + EVERY)
    one.device.lower_caps(BudgetPolicy(lifetime=0))
    one.until(OPENS + 3 * PERIOD)
    said = "\n".join(one.log)
    assert len(one.log) > 6
    for secret in (marked, marked[:4], "spent: ", "remaining"):
        assert secret not in said


def test_the_budget_in_the_log_does_not_depend_on_the_readings(world):
    """If the owner lowers a cap, the log states the amount that counts against it; after equal and after different
    readings the log is the same."""
    logs = []
    for name, spread in (("equal", 0), ("different", 1)):
        one = world(data=load_average(periods=3), readings=lambda now, s=spread: str(s * (now // EVERY % 4)), name=name)
        one.until(OPENS + PERIOD)
        one.device.lower_caps(BudgetPolicy(lifetime=0))
        one.until(OPENS + 2 * PERIOD)
        logs.append(([line.replace(name, "") for line in one.log], one.device.budget.spent))
    (equal, little), (different, much) = logs
    assert little < much
    assert equal == different
    assert any("counted against it" in line for line in equal)


# The daemon's process


def begun(file: Path, **options: object) -> subprocess.Popen[str]:
    run = [sys.executable, "-m", "edge_sdk", "run", str(file)]
    return subprocess.Popen(run, stderr=subprocess.PIPE, text=True, **options)


def open_now(periods: int, seconds: int, answers: int, ahead: int = 0) -> bytes:
    return campaign(
        "Load", EDGES, opens=int(time.time()) + ahead, periods=periods, period_seconds=seconds, answers=answers
    )


def test_a_signal_ends_a_unit_at_once_even_while_its_source_hangs(tmp_path):
    """SIGTERM ends a unit at once with exit code 0, although its source hangs; the unfinished reading is not
    answered."""
    hangs = f'command = ["sleep", "{3 * PATIENCE}"]\ntimeout = {2 * PATIENCE}\ninstead = "0"'
    file = written(tmp_path / "unit", PLAIN.replace('file = "reading"', hangs), open_now(100, 3 * PATIENCE, 1))
    with begun(file) as unit:
        assert "answering" in unit.stderr.readline()
        time.sleep(0.1)
        unit.send_signal(signal.SIGTERM)
        _, err = unit.communicate(timeout=PATIENCE)
    assert unit.returncode == 0
    assert err == "edge_sdk: stopped\n"
    with Device.open(tmp_path / "unit" / "store") as device:
        assert device._store.rows("SELECT * FROM reading") == []


def test_two_units_do_not_answer_one_campaign_with_one_store(tmp_path):
    """The second unit refuses with one line; when the first unit is killed, the next one begins."""
    file = written(tmp_path / "unit", PLAIN, open_now(100, 60, 1))
    with begun(file) as first:
        assert "answering" in first.stderr.readline()
        with begun(file) as second:
            _, err = second.communicate(timeout=PATIENCE)
        assert second.returncode == 1
        assert err == "edge_sdk: another process answers this campaign with this store: stop it first\n"
        first.kill()
        first.wait()
        with begun(file) as third:
            assert "answering" in third.stderr.readline()
            third.send_signal(signal.SIGTERM)
            third.wait(timeout=PATIENCE)


def test_in_the_journal_a_line_begins_with_its_level(tmp_path):
    """Log lines begin with their level only if standard error is the journal's own stream."""
    file = written(tmp_path / "unit", PLAIN, campaign("Load", EDGES))
    for stream, beginning in (("1:1", "edge_sdk: "), (None, "<3>")):
        with (tmp_path / "journal").open("w") as journal:
            known = os.fstat(journal.fileno())
            said = stream or f"{known.st_dev}:{known.st_ino}"
            run = [sys.executable, "-m", "edge_sdk.unit.daemon", str(file)]
            code = subprocess.run(run, stderr=journal, env={**os.environ, "JOURNAL_STREAM": said}, check=False)
        assert code.returncode == 1
        assert (tmp_path / "journal").read_text().startswith(beginning)


def test_a_unit_loads_neither_network_nor_command_line(tmp_path):
    """A unit's process loads no module for networks, command lines or child processes, and not hashlib's copy of
    OpenSSL."""
    file = written(tmp_path / "unit")
    program = (
        "import sys\nfrom edge_sdk.unit import daemon\ndaemon._spare_memory()\nfrom edge_sdk.unit.config import "
        f"read_configuration\nunit = daemon.Unit(read_configuration({str(file)!r}), "
        "lambda name, timeout: ('0.3', ''), print, clock=lambda: "
        f"{OPENS})\nunit.step()\nheavy = 'argparse', 'csv', 'json', 'ssl', 'http', 'socket', 'subprocess', 'email', "
        "'_hashlib', 'asyncio'\nprint(*[name for name in heavy if sys.modules.get(name)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize("runs", [30, pytest.param(1000, marks=pytest.mark.long)])
def test_a_killed_unit_resumes_with_the_readings_on_disk(tmp_path, runs):
    """After every kill -9, each reading that was on the disk is sent in its own slot with one output only. At most one
    reading for each kill was on the disk without a report. The charge equals the number of stored outputs.

    More than 0.8 ``runs`` children are killed. So 30 runs miss a fault that shows after one kill in five with a
    probability below 0.4%, and 1,000 runs miss one that shows after one kill in a hundred with a probability below
    0.04%.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.edge_sdk.daemon_run", str(runs), "7", str(tmp_path / "unit")],
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)
    assert found["killed"] > 0.8 * runs, "too few children died"
    assert found["reported"] > runs
    assert (found["lost"], found["conflicting"], found["undercharged"], found["overcharged"]) == (0, 0, 0, 0)
    assert found["unreported"] <= found["killed"]


def test_a_study_counts_every_reading_of_a_unit_once(tmp_path, world):
    """A unit takes hourly readings of this machine for three days, is restarted several times, and sends by real
    processes to a real service, which loses one acknowledgement. The study has every reading once, refuses nothing, and
    estimates from exactly that number."""
    data = campaign("Load", EDGES, periods=3, period_seconds=86_400, answers=24)
    study = Study.create(tmp_path / "lib")
    study.import_campaign(data, [AUTHOR.public], "load")
    signed = open_campaign(data, [AUTHOR.public])
    stop, wake = os.pipe()
    # After each acknowledged upload, the device asks once for notices.
    with served(study) as upstream, fault_proxy(upstream, [Fault.NONE, Fault.NONE, Fault.DROPPED_RESPONSE]) as proxy:
        text = PLAIN.replace('file = "reading"', 'command = ["cat", "/proc/loadavg"]\nfield = 0') + (
            f'[send]\nurl = "http://{proxy.address[0]}:{proxy.address[1]}"\nevery = 43200\n'
        )
        one = world(text, data)
        reader = Reader(one.configuration.sources[""], stop)
        one.read = lambda name, timeout: reader.read(timeout)
        one.again()
        steps = 0
        while (pause := one.unit.step()) is not None:
            steps += 1
            assert steps < 1000
            for sending in one.unit.waits_for:
                assert select.select([sending], [], [], PATIENCE)[0]
                pause = 0
            if steps % 10 == 0:
                one.again()
            # Make the next attempt due, because the real clock has hardly moved.
            with one.device._store.transaction():
                one.device._store.execute("UPDATE upload SET next_attempt = 0")
            one.now += pause
    os.close(stop)
    os.close(wake)
    assert "not everything was sent" in "".join(one.log)
    done = ingest(study, inbox.waiting(study.path), now=int(one.now), threads=1)
    assert not any(done.refused.values())
    assert done.outputs == 72
    relaxed = dataclasses.replace(signed.campaign, minimum_devices=1)
    assert [estimate(relaxed, study.tally(signed, period)).reports for period in range(3)] == [24] * 3


def test_a_unit_runs_from_the_opening_to_the_end(tmp_path):
    """A real process under the real clock answers in two short periods, and is killed and restarted in between. It ends
    by itself, and every slot that it filled is sent once."""
    text = PLAIN.replace('file = "reading"', 'command = ["cat", "/proc/loadavg"]\nfield = 0')
    for seconds in (2, 15, 100):  # a busy machine may start the process only after the end of short periods
        folder = tmp_path / f"{seconds}"
        data = open_now(2, seconds, 2, ahead=1)
        file = written(folder, text + '[send]\nexport = "out"\nevery = 1\n', data)
        with begun(file) as unit:
            first = unit.stderr.readline()
            time.sleep(1.5)
            unit.kill()
        with begun(file) as unit:
            _, err = unit.communicate(timeout=PATIENCE)
        if " closed " not in first:
            break
    assert "answering" in first
    assert unit.returncode == 0, err
    assert err.splitlines()[-1] == "edge_sdk: 'Load' is over"
    with Device.open(folder / "store") as device:
        taken = device._store.rows("SELECT period, slot FROM reading")
        assert len(device.outbox) == device.collected(campaign_id(data)) == 0
    left = reports(b"".join(path.read_bytes() for path in (folder / "out").iterdir()))
    slots = [(period, slot + offset) for period, slot, count in left for offset in range(count)]
    assert len(slots) == len(set(slots)) <= 4
    assert set(taken) <= set(slots)
    assert slots


# The systemd service


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_service(tmp_path):
    """systemd accepts every line of the packaged unit file."""
    text = (UNITS / "halftruth-device.service").read_text()
    assert "/opt/halftruth/bin/python -m edge_sdk run /etc/halftruth/unit.toml" in text
    service = tmp_path / "halftruth-device.service"
    service.write_text(text.replace("/opt/halftruth/bin/python", sys.executable))
    run = ["systemd-analyze", "verify", "--man=no", str(service)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")

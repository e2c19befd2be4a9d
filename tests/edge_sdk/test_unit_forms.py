"""A unit that answers a form: each question has a source; only those of the asked questions are read."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path

import pytest

from edge_sdk import Device
from edge_sdk.__main__ import main
from edge_sdk.presentation import given_answers
from edge_sdk.unit.config import ConfigurationRefused, Source, read_configuration
from edge_sdk.unit.questions import SourcedQuestion, unit_schedule
from edge_sdk.unit.sensor import NO_READING, Reader
from protocol.campaign import open_campaign
from protocol.domain import Dates, NumberRange
from protocol.envelope import Kind, read_batch
from protocol.report import Report
from tests.edge_sdk.conftest import AUTHOR, OPENS
from tests.edge_sdk.test_daemon import EVERY, PATIENCE, PERIOD, PLAIN, READINGS, World, begun, load_average, written
from tests.edge_sdk.test_forms import FORM, NAMES, each_view, form_campaign
from tests.edge_sdk.test_views import SECRETS, dice_of

pytestmark = pytest.mark.slow

HEAD = PLAIN.partition("[source]")[0]
READINGS_OF = {"vote": "yes", "age": "18", "home": "0.5,1.5"}


def tables(**sources: str) -> str:
    """Return a configuration with a table for each question."""
    return HEAD + "".join(f"[source.{name}]\n{keys}\n" for name, keys in sources.items())


def counted(name: str, reading: str) -> str:
    """Return a source that is a program; each run adds a line to the file ``runs``."""
    script = f"import sys; open('runs', 'a').write('{name}\\\\n'); print('{reading}')"
    return f'command = ["{sys.executable}", "-c", "{script}"]'


FILES = {name: f'file = "{name}"' for name in FORM.positions}


def form(**changes: object) -> bytes:
    return form_campaign(**({"period_seconds": PERIOD, "answers": READINGS} | changes))


class FormWorld(World):
    """A world with a reading for each question: a text, or ("", reason). ``names`` has the questions that were read."""

    def __init__(self, file: Path, readings: dict[str, object], seed: int) -> None:
        self.names: list[str] = []
        super().__init__(file, readings, seed)

    def read(self, name: str, timeout: float) -> tuple[str, str]:
        self.names.append(name)
        found = self.readings[name]
        return found if isinstance(found, tuple) else (found, "")


@pytest.fixture
def world(tmp_path):
    """Return a function that makes worlds of a form whose unit has a view; their stores are closed after the test."""
    with contextlib.ExitStack() as made:

        def make(
            view: int, text: str = tables(**FILES), readings: object = READINGS_OF, **changes: object
        ) -> FormWorld:
            data = form(**changes)
            dice_of(data, view)
            one = FormWorld(written(tmp_path / f"unit{view}", text, data), readings, SECRETS[data, view])
            made.callback(lambda: one.unit.close())
            return one

        yield make


# The configuration


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            HEAD + '[source]\nfile = "a"\n[source.age]\nfile = "b"\n',
            r"\[source\] has both entries and the table \[source.age",
        ),
        (tables(vote='file = "a"\nfeild = 0'), r"unknown entry \[source.vote\] feild; did you mean 'field'"),
        (tables(vote="timeout = 1"), r"\[source.vote\] must name exactly one of command, file and stdin"),
        (
            tables(vote='file = "a"', age='file = "b"\noutside = "drop"'),
            r'\[source.age\] outside must be "clamp" or "skip"',
        ),
        (tables(vote="stdin = true", age="stdin = true"), r"\[source.age\] stdin is true, but only one source"),
    ],
)
def test_an_invalid_table_is_refused_with_its_name(tmp_path, text, says):
    """An error in the table of a question names the table, in one line."""
    with pytest.raises(ConfigurationRefused, match=says) as refused:
        read_configuration(written(tmp_path / "unit", text))
    assert "\n" not in str(refused.value)


def test_a_question_may_be_named_as_a_key_of_a_source(tmp_path):
    """A table with any name belongs to a question; only keys that are not tables configure a single source."""
    found = read_configuration(
        written(tmp_path / "unit", tables(file='file = "a"', field='file = "b"\nfield = 1'))
    ).sources
    folder = tmp_path / "unit"
    assert found == {"file": Source(file=folder / "a"), "field": Source(file=folder / "b", field=1)}


@pytest.mark.parametrize(
    ("text", "data", "says"),
    [
        (PLAIN, form(), "give each question a source of its own, [source.vote], [source.age], [source.home]"),
        (tables(vote='file = "a"', age='file = "b"'), form(), "question 'home' has no source: add [source.home]"),
        (tables(**FILES, wage='file = "a"'), form(), "[source.wage] is for a question that the form does not have"),
        (
            tables(vote='file = "a"'),
            load_average(),
            "[source.vote] is for a question of a form, but this campaign is not a form",
        ),
        (tables(**FILES | {"vote": 'file = "a"\nscale = 2'}), form(), "[source.vote] scale is for numbers"),
        (
            PLAIN.replace('file = "reading"', 'file = "reading"\nscale = 2'),
            load_average(domain=Dates.of("2026-01-01", "2026-01-29", 7)),
            "[source] scale is for numbers",
        ),
        (
            tables(**FILES | {"age": 'file = "a"\ninstead = "x"'}),
            form(),
            "[source.age] instead is not an answer that the",
        ),
        (
            tables(**FILES | {"vote": 'file = "a"\ninstead = "skipped"'}),
            form(),
            "[source.vote] instead is not an answer",
        ),
        (
            tables(**FILES | dict.fromkeys(("vote", "age"), f'command = ["a"]\ntimeout = {EVERY // 2}')),
            form(),
            "the sum of [source.vote] timeout and [source.age] timeout must be below "
            f"{EVERY - 0.25} seconds, not {EVERY}: a reading begins every {EVERY} seconds",
        ),
    ],
)
def test_sources_that_do_not_fit_the_questions_are_refused_before_a_unit_begins(
    tmp_path, capsys, monkeypatch, text, data, says
):
    """A question without a source, a source without a question, and a [source] table that has both keys of its own and
    tables of questions are each refused with one line, and no store is made."""
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("a unit started although its configuration is invalid"))
    file = written(tmp_path / "unit", text, data)
    for words in ([], ["--check"]):
        assert main(["run", str(file), *words]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert says in err
    assert not (tmp_path / "unit" / "store").exists()


def test_two_sources_share_the_timeout_of_one(tmp_path):
    """Sources without a timeout share the timeout of a single source. A unit plans for the pair that may take longest,
    independently of its view; files take no time."""
    command = 'command = ["a"]'
    campaign = open_campaign(form(), [AUTHOR.public]).campaign
    single = unit_schedule(
        read_configuration(written(tmp_path / "a")), open_campaign(load_average(), [AUTHOR.public]).campaign
    )
    several = unit_schedule(
        read_configuration(written(tmp_path / "b", tables(**dict.fromkeys(FILES, command)))), campaign
    )
    assert [one.timeout for one in several.questions] == [5, 5, 5]
    assert (several.timeout, several.every, single.timeout) == (10, single.every, 0)
    mixed = {"vote": command + "\ntimeout = 3", "age": FILES["age"], "home": command + "\ntimeout = 7"}
    assert unit_schedule(read_configuration(written(tmp_path / "c", tables(**mixed))), campaign).timeout == 7


# The check before a start


def test_a_check_reads_every_source_once_and_does_not_join(tmp_path, capsys, monkeypatch):
    """The asked question is unknown before consent, so the check reads every source once and prints source, reading and
    resulting answer. Afterwards there is no store, so nothing was drawn or charged."""
    monkeypatch.chdir(tmp_path)
    text = tables(
        vote=counted("vote", "maybe"),
        age=counted("age", "40") + "\ninstead = 'skipped'",
        home='command = ["false"]',
    )
    file = written(tmp_path / "unit", text, form())
    assert main(["run", str(file), "--check", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in printed["questions"]] == ["vote", "age", "home"]
    assert printed["view_description"].startswith("The unit is asked one or two of these questions")
    vote, age, home = printed["sources"]
    assert [one["question"] for one in printed["sources"]] == list(FORM.positions)
    assert sys.executable in vote["source"]
    assert (vote["reading"], vote["answer"]) == ("maybe", f"no answer in this slot: {NO_READING}")
    assert (age["reading"], age["answer"]) == ("40", "19")
    failed = "the source failed with exit code 1"
    assert (home["reading"], home["answer"]) == (f"none: {failed}", f"no answer in this slot: {failed}")
    assert (tmp_path / "runs").read_text().split() == ["vote", "age"]
    assert not (tmp_path / "unit" / "store").exists()
    assert main(["run", str(file), "--check"]) == 0
    assert "question age  source command" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("keys", "program", "answer"),
    [
        ("", "'echo', 'skipped'", "skipped"),
        ("", "'true'", f"no answer in this slot: {NO_READING}"),
        ("instead = 'skipped'", "'true'", "skipped (instead)"),
        ("instead = '17'", "'echo', 'soon'", "17 (instead)"),
        ("scale = 0.5", "'echo', '35'", "18"),
        ("outside = 'skip'", "'echo', '99'", f"no answer in this slot: {NO_READING}"),
    ],
)
def test_a_check_shows_the_answer_of_each_reading(tmp_path, capsys, keys, program, answer):
    """The check shows skipped, scaled and out-of-range readings, and answers in place of a reading, as the unit would
    treat them."""
    file = written(tmp_path / "unit", tables(**FILES | {"age": f"command = [{program}]\n{keys}"}), form())
    assert main(["run", str(file), "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sources"][1]["answer"] == answer


def test_a_check_names_both_values_of_a_random_rounding():
    """The check names both values to which a reading may be rounded, and a single value if there is nothing to
    round."""
    age = SourcedQuestion("age", NumberRange.of(17, 19, rounds_randomly=True), False, Source(), 0)
    assert [age.labels(age.answer(text)["age"]) for text in ("17.5", "18", "99")] == [("17", "18"), ("18",), ("19",)]


# A unit from start to end


@each_view
def test_only_the_sources_of_the_asked_questions_are_read(world, view):
    """Each slot reads only the sources of the questions that the view asks, in the form's order; the device stores
    their readings."""
    one = world(view)
    one.until(OPENS + PERIOD)
    assert one.names == list(NAMES[view]) * READINGS
    assert one.reports() == [(0, 0, READINGS)]
    kept = given_answers(one.device, one.unit.campaign_id)
    assert [FORM.parse(each.label) for each in kept] == [
        {name: FORM.questions[FORM.positions[name]].parse(READINGS_OF[name]) for name in NAMES[view]}
    ]


@pytest.mark.parametrize("failing", ["vote", "age"])
def test_one_failed_reading_of_two_means_no_answer(world, failing):
    """If one of two readings fails, nothing is drawn, stored or charged. The log reports it once, in the words of a
    single source, and does not reveal which question failed; both sources are read in either case."""
    one = world(1, readings=READINGS_OF | {failing: "much too secret"})
    one.until(OPENS + 2 * EVERY)
    assert one.log[1:] == [f"{NO_READING}: the reading is skipped"]
    assert (one.slots(), one.device.budget.spent) == ([], 0)
    assert one.names == ["vote", "age"] * 2
    one.readings = READINGS_OF
    one.until(OPENS + PERIOD - 1)
    assert one.log[2:] == ["the source gives readings again"]
    assert one.slots() == [(0, 2), (0, 3)]


def test_an_answer_for_a_failed_source_is_for_its_question_only(world):
    """If a source fails, its question alone gets the configured answer, such as skipped, beside the reading of the
    other question; the log does not mention it."""
    text = tables(**FILES | {"age": FILES["age"] + "\ninstead = 'skipped'"})
    one = world(1, text, READINGS_OF | {"age": ("", "broken")})
    one.until(OPENS + PERIOD)
    assert [each.label for each in given_answers(one.device, one.unit.campaign_id)] == ["vote=yes; age=skipped"]
    assert len(one.log) == 1


def test_a_source_that_fits_no_question_is_refused_before_consent(tmp_path):
    """The unit itself also refuses before it agrees to anything, independently of the question that it would be
    asked."""
    file = written(tmp_path / "unit", tables(vote='file = "a"', home='file = "b"'), form())
    one = World(file)
    with contextlib.closing(one.unit), pytest.raises(ConfigurationRefused, match="question 'age' has no source"):
        one.unit.step()
    with Device.open(tmp_path / "unit" / "store", clock=lambda: OPENS) as device:
        assert not any(device.consented(each) for each in device.campaigns)


@each_view
def test_as_many_programs_run_as_questions_are_asked(world, tmp_path, monkeypatch, view):
    """During a whole campaign with programs as sources and a store on the disk, each slot runs the programs of the
    asked questions once, and each slot's answer is sent once."""
    monkeypatch.chdir(tmp_path)
    text = tables(**{name: counted(name, reading) for name, reading in READINGS_OF.items()})
    one = world(view, text + '[send]\nexport = "out"\nevery = 3600\n', answers=2, periods=2)
    stop, wake = os.pipe()
    readers = {name: Reader(source, stop) for name, source in one.configuration.sources.items()}
    one.read = lambda name, timeout: readers[name].read(timeout)
    one.again()
    assert not one.until(OPENS + 10 * PERIOD)
    os.close(stop)
    os.close(wake)
    assert (tmp_path / "runs").read_text().split() == list(NAMES[view]) * 4
    campaign = open_campaign(form(answers=2, periods=2), [AUTHOR.public]).campaign
    left = b"".join(path.read_bytes() for path in sorted((tmp_path / f"unit{view}" / "out").iterdir()))
    found = [Report.decode(item.unverified) for item in read_batch(left) if item.kind is Kind.REPORT]
    assert sorted((each.period, each.slot, each.count) for each in found) == [(0, 0, 2), (1, 0, 2)]
    assert all(len(each.outputs(campaign, view)) == 2 for each in found)


def test_the_process_answers_a_form(tmp_path):
    """The real command answers a form under the real clock, with two programs and a file as sources."""
    text = tables(vote='command = ["echo", "yes"]', age='command = ["echo", "18"]', home='file = "reading"')
    for seconds in (4, 15, 100):  # a busy machine may start the process only after the end of a short period
        folder = tmp_path / f"{seconds}"
        file = written(folder, text, form(opens=int(time.time()) + 1, periods=1, period_seconds=seconds, answers=2))
        (folder / "reading").write_text("0.5,1.5\n")
        with begun(file) as unit:
            _, err = unit.communicate(timeout=PATIENCE)
        if " closed " not in err:
            break
    assert unit.returncode == 0, err
    assert err.splitlines()[-1].endswith("is over")
    with Device.open(folder / "store") as device:
        [campaign_id] = device.campaigns
        [kept] = given_answers(device, campaign_id)
        names = device.terms(campaign_id).asked_names
        assert FORM.parse(kept.label) == {
            name: FORM.questions[FORM.positions[name]].parse(READINGS_OF[name]) for name in names
        }

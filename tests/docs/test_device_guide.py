"""docs/DEVICE.md, docs/SEND.md, docs/UNIT.md and docs/WEB.md are correct: the ten steps run as printed, the tables
name existing entries and methods, and the sizes are those of reports."""

from __future__ import annotations

import json
import re
import textwrap
import time
from dataclasses import fields, replace
from pathlib import Path

from aggregator.families.hadamard.recipe import hadamard
from aggregator.intake.ingest import ingest
from aggregator.study import Study
from edge_sdk.__main__ import main
from edge_sdk.unit.config import Configuration, Source
from protocol.campaign import campaign_id
from protocol.domain import Buckets, Form, FormQuestion, NumberRange, Values
from protocol.exact import NANONATS
from protocol.keys import fingerprint, public_line
from protocol.link import Link
from protocol.report import Report
from protocol.views import QuestionsMap
from tests.aggregator.campaigns import unsigned_campaign
from tests.aggregator.test_receive import served
from tests.edge_sdk.conftest import AUTHOR, WEEK, campaign

PAGE = Path(__file__).parents[2] / "docs" / "DEVICE.md"
GUIDE = PAGE.read_text(encoding="utf-8")
STEPS = [textwrap.dedent(code) for code in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)]


def test_the_ten_steps_run_as_printed(tmp_path, monkeypatch, capsys):
    """An app made of the guide's steps answers, sends to a real study, and forgets; the study counts one report."""
    assert len(STEPS) == len(re.findall(r"^[0-9]+\. \*\*", GUIDE, re.MULTILINE)) == 10
    data = campaign(opens=int(time.time()) - WEEK)
    study = Study.create(tmp_path / "lib")
    study.import_campaign(data, [AUTHOR.public], "education")
    monkeypatch.chdir(tmp_path)
    with served(study) as (host, port):
        link = Link(f"http://{host}:{port}", campaign_id(data), fingerprint(AUTHOR.public))
        names: dict[str, object] = {"pasted": str(link)}
        for number, code in enumerate(STEPS, 1):
            exec(compile(code, f"step {number}", "exec"), names)  # noqa: S102  # runs the guide under test
    printed = capsys.readouterr().out
    assert "Town library asks: What is the highest level of education" in printed
    assert "6 of 8 nats would be reserved" in printed
    assert re.search(r"2 sent; 0 waiting; next attempt: None\n", printed)
    found = ingest(study, [tmp_path / "lib" / "inbox"], now=int(time.time()))
    assert (found.read, found.accepted) == (1, 1)


def test_every_entry_of_a_unit_is_explained():
    """Every entry of a unit's configuration is in the guide, and the guide names no other."""
    page = (PAGE.parent / "UNIT.md").read_text(encoding="utf-8")
    table = page.split("| entry | meaning | if left out |")[1].split("\n\n")[0]
    named = set(re.findall(r"`(?:\[\w+\] )?(\w+)", "".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE))))
    known = {one.name for one in fields(Source)} | {one.name for one in fields(Configuration)} - {"file", "sources"}
    known = known - {"send_every", "budget"} | {"consent", "lifetime", "per_campaign", "window", "every"}
    assert named == known


def test_the_guides_sources_of_a_form_answer_it(tmp_path, capsys):
    """The tables in the guide fit its form: the check finds an answer to every question."""
    text = (PAGE.parent / "UNIT.md").read_text(encoding="utf-8")
    [tables] = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    form = Form((
        FormQuestion("load", "How busy is this machine?", Buckets.of([0, 1, 2, 4, 8])),
        FormQuestion("uptime", "For how many days has it been running?", NumberRange.of(0, 1000)),
        FormQuestion("temperature", "How warm is its processor?", Buckets.of([0, 40, 60, 80]), skippable=True),
    ))  # fmt: skip
    (tmp_path / "author.pub").write_text(public_line(AUTHOR.public))
    (tmp_path / "form.campaign").write_bytes(campaign(domain=form, maps=(QuestionsMap((0, 1)), QuestionsMap((2,)))))
    head = 'store = "store"\ntrust = ["author.pub"]\ncampaign = "form.campaign"\nconsent = true\n'
    (tmp_path / "unit.toml").write_text(head + "[budget]\nlifetime = 10000\n" + tables)
    assert main(["run", str(tmp_path / "unit.toml"), "--check", "--json"]) == 0
    sources = json.loads(capsys.readouterr().out)["sources"]
    assert [one["question"] for one in sources] == list(form.positions)
    for one, question in zip(sources, form.questions, strict=True):
        answers = set(one["answer"].removesuffix(" (instead)").split(" or "))
        assert answers <= {question.label(x) for x in range(question.size)}


def test_every_call_of_the_guide_is_a_method_of_the_device_in_a_browser():
    """The methods that WEB.md calls, in its example and its table of calls, are those of ``Device`` in device.js."""
    text = (PAGE.parent / "WEB.md").read_text(encoding="utf-8")
    called = set(re.findall(r"`(\w+)\(", text.split("| call | effect |")[1].split("\n\n")[0]))
    called |= set(re.findall(r"[dD]evice\.(\w+)\(", text))
    module = (PAGE.parents[1] / "edge_sdk" / "web" / "device.js").read_text(encoding="utf-8")
    assert called <= set(re.findall(r"^ {2}(?:static )?(?:async )?(\w+)\(", module, re.MULTILINE))


def test_the_sizes_in_the_guides_are_those_of_reports():
    """SEND.md and DEVICE.md have the sizes of reports and bundles of Hadamard response, over 16 and 43,750 values."""

    def size(k: int, readings: int) -> int:
        made = unsigned_campaign(Values(tuple(map(str, range(k)))), hadamard(k, NANONATS))
        made = replace(made, answers_per_period=readings)
        return len(Report.of(bytes(16), made, 0, 0, [0] * readings).seal(AUTHOR))

    send, guide = (
        " ".join((PAGE.parent / page).read_text(encoding="utf-8").split()) for page in ("SEND.md", "DEVICE.md")
    )
    assert f"a report has {size(16, 1)} bytes, of which 64 are the signature" in send
    assert f"a bundle of 24 answers has {size(16, 24)}. With 43,750 values" in send
    assert f"the report has {size(43_750, 1)} bytes, and the bundle {size(43_750, 24)}." in send
    assert f"43,750 values | {size(43_750, 1)} bytes; {size(16, 1)} for 16 values |" in guide
    assert f"64 answers by Hadamard response, 16 values | {size(16, 64)} bytes, or 2.3 bytes an answer |" in guide

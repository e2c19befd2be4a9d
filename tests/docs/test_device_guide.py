"""docs/DEVICE.md and docs/UNIT.md keep their word: the ten steps run as printed, the table of keys is the unit's."""

from __future__ import annotations

import re
import textwrap
import time
from dataclasses import fields
from pathlib import Path

from aggregator.intake.ingest import ingest
from aggregator.study import Study
from edge_sdk.unit.config import Configuration, Source
from protocol.campaign import campaign_id
from protocol.keys import fingerprint
from protocol.link import Link
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
            exec(compile(code, f"step {number}", "exec"), names)  # noqa: S102  # the guide is what is under test
    printed = capsys.readouterr().out
    assert "Town library asks: What is the highest level of education" in printed
    assert "6 of 8 nats would be set aside" in printed
    assert re.search(r"2 left; 0 wait; next attempt: None\n", printed)
    found = ingest(study, [tmp_path / "lib" / "inbox"], now=int(time.time()))
    assert (found.read, found.accepted) == (1, 1)


def test_the_units_keys_are_all_explained():
    """Every key of a unit's configuration is in the guide, and the guide names no other."""
    table = (PAGE.parent / "UNIT.md").read_text(encoding="utf-8").split("| key | | if left out |")[1].split("\n\n")[0]
    named = set(re.findall(r"`(?:\[\w+\] )?(\w+)", "".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE))))
    known = {one.name for one in fields(Source)} | {one.name for one in fields(Configuration)} - {"file", "source"}
    known = known - {"send_every", "budget"} | {"consent", "lifetime", "per_campaign", "window", "every"}
    assert named == known

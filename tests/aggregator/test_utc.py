"""Properties of times as text: every time that a campaign can state is shown."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from aggregator import utc
from aggregator.invite.wording import WORDINGS
from aggregator.present.shown_changes import moment
from aggregator.study import Study
from protocol.campaign import open_campaign, seal_campaign
from protocol.closing import seal_closing
from tests.aggregator.command import run
from tests.aggregator.fleet import AUTHOR, WEEK, campaign

LATEST = 2**40
"""The latest time at which a campaign can close: 36812-02-20 00:36:16 UTC."""


@given(st.integers(0, 253_402_300_799))
def test_texts_are_those_of_datetime(seconds):
    """Up to the last second of the year 9999, the texts are those of ``datetime``."""
    found = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    assert utc.second_text(seconds) == found.isoformat()
    assert utc.minute_text(seconds) == found.strftime("%Y-%m-%d %H:%M")
    assert utc.day_text(seconds) == found.date().isoformat()


def test_a_closing_after_the_year_9999_is_shown(tmp_path):
    """A campaign and a notice that close after the year 9999 are shown by inspect, import and status, and by posters
    and tables of changes."""
    plain = campaign(5).campaign
    data = seal_campaign(replace(plain, closes=LATEST, period_seconds=4 * WEEK), AUTHOR)
    file, closing = tmp_path / "far.campaign", tmp_path / "far.closing"
    file.write_bytes(data)
    closing.write_bytes(seal_closing(open_campaign(data, [AUTHOR.public]), LATEST - 1, AUTHOR))
    study = Study.create(tmp_path / "study")
    study.import_campaign(data, [AUTHOR.public], "far")
    assert json.loads(run("inspect", file, "--json").stdout)["closes"] == "36812-02-20T00:36:16+00:00"
    assert "36812-02-20T00:36:15" in run("inspect", closing).stdout
    assert "36812-02-20T00:36:15" in run("--study", study.path, "import", closing).stdout
    assert "36812-02-20" in run("--study", study.path, "status").stdout
    assert WORDINGS["en"].date(LATEST) == "20 February 36812"
    assert moment(LATEST, WEEK) == "36812-02-20 00:36"

"""``campaign`` signs the same mechanisms and the same channels that ``plan`` prints for a draft."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aggregator.author.draft import read_draft
from protocol.notions import Classes
from protocol.notions.classes import class_channels
from tests.aggregator.command import run

HEAD = """
title = "Plans"
question = "Which?"
organisation = "Council"

[schedule]
opens = 2026-12-01
closes = 2027-03-01
"""
VALUES = """
[domain]
kind = "values"
values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]
"""
NUMBER = """
[domain]
kind = "number"
low = 0
high = 63
step = 1
"""
MINID = """
[privacy]
notion = "minid"
default = 2.0
budgets = { a = 0.5 }
"""
LDP = """
[privacy]
notion = "ldp"
epsilon = 1.0
"""
CAREFUL = """
[classes.open]

[classes.careful]
default = 1.0
budgets = { a = 0.25 }
"""
LEVELS = """
[classes.open]

[classes.careful]
epsilon = 0.5
"""
VIEWS = """
[views]
resolutions = [[4, 0.5], [1, 0.5]]
"""
MEAN = """
[analysis]
goal = "mean"
"""

DRAFTS = {
    "minid": VALUES + MINID,
    "minid, classes": VALUES + MINID + CAREFUL,
    "minid, views": VALUES + MINID + VIEWS,
    "minid, classes, views": VALUES + MINID + CAREFUL + VIEWS,
    "ldp, classes, views": VALUES + LDP + LEVELS + VIEWS,
    "number": NUMBER + LDP,
    "number, mean": NUMBER + LDP + MEAN,
    "number, classes": NUMBER + LDP + LEVELS,
    "number, classes, mean": NUMBER + LDP + LEVELS + MEAN,
    "number, views": NUMBER + LDP + VIEWS,
    "number, classes, views": NUMBER + LDP + LEVELS + VIEWS,
}


QUICK = ("minid", "minid, views", "ldp, classes, views", "number, mean", "number, classes, mean")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in DRAFTS]
)
def test_plan_and_campaign_choose_the_same(name: str, tmp_path: Path) -> None:
    """The campaign has the mechanism that ``plan`` marks as chosen, for each class if it has classes.

    Its channel of the full answer has the planned bits, and its views are the planned ones.
    """
    draft = tmp_path / "draft.toml"
    draft.write_text(HEAD + DRAFTS[name])
    campaign = read_draft(draft)
    rows = json.loads(run("plan", draft, "--json").stdout)
    finest = campaign.views[-1].channel
    if isinstance(campaign.notion, Classes):
        *classes, all_people = rows
        assert [one["class"] for one in classes] == list(campaign.classes)
        chosen = [one["mechanism"] for one in classes]
        channels = class_channels(finest, len(campaign.classes))
        assert [one["output_bits"] for one in classes] == [one.output_bits for one in channels]
        views = all_people.get("views")
    else:
        chosen, channels = [rows[0]["mechanism"]], (finest,)
        assert rows[0]["chosen"]
        assert rows[0]["output_bits"] == finest.output_bits
        views = rows[0].get("views")
    named = campaign.mechanism.split(", ")
    if len(campaign.views) == 1:
        assert set(chosen) == set(named)
    else:
        assert set(chosen) <= set(named)
        assert [one["output_bits"] for one in views] == [view.channel.output_bits for view in campaign.views]


def test_the_table_of_classes_and_views_is_printed(tmp_path: Path) -> None:
    """The plan of a draft with classes and views has a row for each class and for each view, and omits mechanisms
    unsuited to classes."""
    draft = tmp_path / "draft.toml"
    draft.write_text(HEAD + DRAFTS["minid, classes, views"])
    text = run("plan", draft).stdout
    assert "careful" in text
    assert "3 groups of 4 neighbouring values" in text
    assert "idue" not in text

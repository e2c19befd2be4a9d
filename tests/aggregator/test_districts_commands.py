"""Districts of a GeoJSON file, from the draft to the picture, by the analyst's commands."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from aggregator.author.draft import DraftError, read_draft
from aggregator.author.lint import lint
from protocol.domain import Grid
from tests.aggregator.command import printed
from tests.aggregator.test_districts_file import box, feature, written

GRID = Grid(0, 6_000_000, 0, 8_000_000, 1_000_000)
DRAFT = """
title = "Shops"
question = "Where did you shop last?"
organisation = "Town"
[domain]
kind = "grid"
south = 0
north = 6
west = 0
east = 8
step = 1
[views]
districts = ["districts.geojson", 0.5]
[privacy]
notion = "ldp"
epsilon = 4.0
[schedule]
opens = 2020-01-01
closes = 2120-01-01
[limits]
enrolment = "open"
"""
PEOPLE = {"Harbour": 600, "Old town": 300, "elsewhere": 100}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A folder with a campaign of three uneven districts, and a study with 1,000 reports."""
    folder = tmp_path_factory.mktemp("districts")
    bent = [[0, 0], [5.2, 0], [3.1, 3.9], [0, 2.4], [0, 0]]
    written(folder, [feature("Harbour", bent), feature("Old town", box(4, 3, 8, 6))])
    (folder / "shops.toml").write_text(DRAFT, encoding="utf-8")
    cells = {"Harbour": "0.5,1.5", "Old town": "4.5,6.5", "elsewhere": "0.5,7.5"}
    counts = "".join(f'"{cells[name]}",{people}\n' for name, people in PEOPLE.items())
    (folder / "truth.csv").write_text(f"value,count\n{counts}", encoding="utf-8")
    printed("keygen", folder / "town")
    printed("campaign", folder / "shops.toml", "--key", folder / "town.key", "--out", folder / "shops.campaign")
    study = ("--study", folder / "lib")
    printed(*study, "import", folder / "shops.campaign", "--trust", folder / "town.pub")
    printed(
        "simulate", folder / "shops.campaign", "--truth", folder / "truth.csv", "--out", folder / "b.htr", "--seed", 1
    )
    printed(*study, "ingest", folder / "b.htr")
    return folder


def test_the_audit_has_the_districts(session):
    """The audit of the signed campaign states that half of the devices report one of three districts, at 4 nats or
    less."""
    views = json.loads(printed("audit", session / "shops.campaign", "--json"))["views"]
    assert [(view["view"], view["share"]) for view in views] == [("3 districts", 0.5), ("the answer itself", 0.5)]
    assert all(view["audited"] <= 4 for view in views)


@pytest.mark.parametrize(
    ("districts", "message"),
    [
        ('Harbour = "Hafen", "Old town" = "Altstadt", elsewhere = "anderswo"', ""),
        ('Harbour = "Hafen", "Old town" = "Altstadt"', "[text.de.districts] elsewhere is missing: it is 'elsewhere'"),
        ('Harbor = "Hafen"', "[text.de.districts] has an unknown entry 'Harbor'; did you mean 'Harbour'?"),
    ],
)
def test_districts_have_translations(session, districts, message):
    """Translations give the districts and the remaining area by name; a missing name is named in the error.

    Without any translated names the author is warned.
    """
    table = f'[text.de]\ntitle = "Läden"\nquestion = "Wo?"\ndistricts = {{ {districts} }}\n'
    (session / "german.toml").write_text(f'language = "en"\n{DRAFT}{table}', encoding="utf-8")
    if message:
        with pytest.raises(DraftError, match=re.escape(message)):
            read_draft(session / "german.toml")
        return
    campaign = read_draft(session / "german.toml")
    (place,) = (j for j, view in enumerate(campaign.views) if view.map.named)
    assert dict(zip(campaign.views[place].map.named, campaign.map_in(place, "de").named, strict=True)) == {
        "Harbour": "Hafen", "Old town": "Altstadt", "elsewhere": "anderswo",
    }  # fmt: skip
    assert campaign.map_in(place, "fr") is campaign.views[place].map
    left = replace(campaign, translations=(replace(campaign.translations[0], labels=()),))
    warned = "[text.de] leaves the names of the districts in the campaign's own language"
    assert [any(line.startswith(warned) for line in lint(one)) for one in (campaign, left)] == [False, True]


def test_every_format_of_an_estimate_has_the_districts_by_name(session):
    """Table, JSON, CSV, GeoJSON and the page name the districts, and the intervals of all three contain the truth.

    The seed is fixed.
    """
    estimate = ("--study", session / "lib", "estimate", "shops")
    found = json.loads(printed(*estimate, "--json"))["resolutions"]
    assert [each["resolution"] for each in found] == ["districts"]
    rows = {row["value"]: row for row in found[0]["values"]}
    assert set(rows) == set(PEOPLE)
    for name, people in PEOPLE.items():
        assert rows[name]["simultaneous_low"] <= people / 1000 <= rows[name]["simultaneous_high"]
    picture, page = session / "map.png", session / "map.html"
    table = printed(*estimate, "--plot", picture, "--report", page)
    assert picture.read_bytes().startswith(b"\x89PNG")
    lines = csv.DictReader(io.StringIO(printed(*estimate, "--format", "csv")))
    features = json.loads(printed(*estimate, "--format", "geojson"))["features"]
    named = {row["value"] for row in lines if row["resolution"] == "districts"}
    assert named == {each["properties"]["value"] for each in features[GRID.size :]} == set(PEOPLE)
    text = page.read_text(encoding="utf-8")
    marks = re.findall(r"<title>(.*?):", text)
    for name in PEOPLE:
        assert name in table
        assert name in text
        assert any(name in mark for mark in marks), marks

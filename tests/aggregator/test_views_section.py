"""Properties of drafts with views: the signed campaign has the author's views, and an unsuitable view is refused by
name."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from aggregator.author.audit import audit, levels_request
from aggregator.author.lint import lint
from aggregator.present.listing import audit_table
from protocol.campaign import decode_campaign, encode_campaign
from protocol.errors import BadData
from protocol.views import Coarse, Identity
from tests.aggregator.campaigns import campaign_of_draft
from tests.aggregator.command import printed
from tests.aggregator.test_districts_file import box, feature, written

DRAFT = """
title = "Map"
question = "Where?"
organisation = "Town"
[domain]
kind = "grid"
south = 0
north = 2
west = 0
east = 3
step = 0.1
[privacy]
notion = "ldp"
epsilon = 1.0
[schedule]
opens = 2026-12-01
closes = 2027-03-01
"""
"""A grid of 20 x 30 cells."""


def read(views, draft=DRAFT, folder=Path()):
    """Return the campaign of a draft with a section of views; names of files are relative to ``folder``."""
    return campaign_of_draft(draft + "[views]\n" + views, folder)


def test_signed_views_are_those_of_the_draft():
    """The signed campaign has the draft's squares and shares, the coarsest first, and decodes to the same."""
    campaign = read("resolutions = [[1, 0.5], [10, 0.2], [5, 0.3]]")
    assert [(view.weight, view.map) for view in campaign.views] == [(2, Coarse(10)), (3, Coarse(5)), (5, Identity())]
    assert [view.channel.input_count for view in campaign.views] == [6, 24, 600]
    assert decode_campaign(encode_campaign(campaign)) == campaign


def test_the_planner_chooses_missing_shares_of_views():
    """Without shares in the draft every view gets one; with fewer devices the coarse view gets more weight.

    With "auto" the planner chooses the resolutions too.
    """
    found = {n: read(f"resolutions = [5, 1]\ndevices = {n}").views for n in (1_000, 10_000_000)}
    coarse = {n: views[0].weight / sum(view.weight for view in views) for n, views in found.items()}
    assert 1 > coarse[1_000] > coarse[10_000_000] > 0
    assert [view.map for view in read('resolutions = "auto"').views] == [Coarse(5), Identity()]


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ("", "resolutions is missing"),
        ("resolutions = [1]", "at least two views"),
        ("resolutions = [5, 5, 1]", "lists a number twice"),
        ("resolutions = [10, 5]", "resolutions lacks 1"),
        ("resolutions = [10, 4, 1]", "10 must be a multiple of 4"),
        ("resolutions = [0, 1]", "of at least 1, not 0"),
        ("resolutions = [-5, 1]", "of at least 1, not -5"),
        ("resolutions = [30, 1]", "maps all 600 values to one group"),
        ("resolutions = [[5, 0.2], 1]", "give all or none"),
        ("resolutions = [[5, 0.2], [1, 0.5]]", "must sum to 1, but sum to 0.7"),
        ("resolutions = [[5, 0], [1, 1]]", "above 0 and below 1, not 0"),
        ("resolutions = [[5, nan], [1, 0.5]]", "[views] resolutions: a finite number"),
        ('districts = ["map.geojson", inf]', "[views] districts: a finite number"),
        ("resolutions = [[5, 0.2, 3], [1, 0.5]]", "a view must be a whole number"),
        ('resolutions = ["five", 1]', "it contains 'five'"),
        ("resolutions = 5", "must be a list of"),
        ('resolutions = "some"', 'or "auto"'),
        ("resolution = [5, 1]", "did you mean 'resolutions'"),
        ("resolutions = [5, 1]\ndevices = 0", "at least 1"),
        ("resolutions = [[5, 0.2000000001], [1, 0.7999999999]]", "fewer digits"),
        ('districts = ["map.geojson"]', "a view must be a file"),
    ],
)
def test_invalid_views_are_refused_with_their_entry(views, message):
    """An invalid view is refused with one sentence that names the entry."""
    with pytest.raises(BadData) as caught:
        read(views)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('notion = "ldp"', 'notion = "geo"', "not geo"),
        (
            'notion = "ldp"\nepsilon = 1.0',
            'notion = "minid"\ndefault = 2.0\npairs = [[1.0, 2.0]]\n[privacy.budgets]\n"0.05,0.05" = 1.0',
            "give the bound of every pair of values",
        ),
        ("[schedule]", '[mechanism]\nname = "planar"\n[schedule]', "for the view of 24 values"),
        (
            'notion = "ldp"\nepsilon = 1.0',
            'notion = "geo"\nepsilon = 1.0\n[classes.a]\n[classes.b]',
            "in every class, not geo",
        ),
    ],
)
def test_views_that_do_not_fit_the_rest_of_a_draft_are_refused(old, new, message):
    """Notions and classes that cannot have views, and mechanisms unsuited to a view, are refused by name."""
    with pytest.raises(BadData, match=message):
        read("resolutions = [5, 1]", DRAFT.replace(old, new))


@pytest.mark.parametrize(
    ("resolution", "message"),
    [
        (15, "[views] 'C', one of the districts, lies in several of the squares of resolution 15: leave out one"),
        (5, "[views] '0.05,0.55 .. 0.45,0.95', one of the squares of resolution 5, lies in several of the districts: "),
    ],
)
def test_views_that_are_not_nested_are_refused_by_name(tmp_path, resolution, message):
    """If a district crosses the border of a larger square, or a smaller square that of a district, the error names
    both."""
    written(tmp_path, [feature(name, box(0.6 * i, 0, 0.6 * (i + 1), 2)) for i, name in enumerate("ABCDE")])
    with pytest.raises(BadData) as caught:
        read(f'resolutions = [{resolution}, 1]\ndistricts = "districts.geojson"', folder=tmp_path)
    assert message in str(caught.value)


def test_the_audit_has_the_level_and_influence_of_each_view():
    """The audit has the level and the influence of one report for each view; the campaign's figures are those of the
    worst view."""
    campaign = read("resolutions = [[10, 0.02], [1, 0.98]]")
    found = audit(campaign, levels_request(campaign)).as_json()
    assert [view["share"] for view in found["views"]] == [0.02, 0.98]
    assert found["people_per_report"] == max(view["people_per_report"] for view in found["views"])
    assert found["levels"]["ldp"] == max(view["ldp"] for view in found["views"])
    assert any("one report counts for" in warning for warning in lint(campaign))


def test_errors_are_stated_at_each_resolution():
    """The warning names a view with too few devices for its districts, with the equal share; a view with enough is
    absent.

    The audit lists the error of every view.
    """
    few = read("resolutions = [[10, 0.5], [1, 0.5]]", DRAFT + "[limits]\nminimum_reports = 100\n")
    (text,) = (warning for warning in lint(few) if "standard error of a share" in warning)
    assert "6 squares of 10 x 10 cells" in text
    assert "equally frequent values has 0.17% (" in text
    fine = read("resolutions = [[10, 0.5], [1, 0.5]]", DRAFT.replace("step = 0.1", "step = 0.01"))
    (text,) = (warning for warning in lint(fine) if "standard error of a share" in warning)
    assert "equally frequent values has 0.0017% (" in text
    many = read("resolutions = [[10, 0.5], [1, 0.5]]", DRAFT + "[limits]\nminimum_reports = 10000\n")
    (text,) = (warning for warning in lint(many) if "standard error of a share" in warning)
    assert "squares" not in text
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(audit_table(audit(few)))
    text = console.export_text()
    for view, what in zip(audit(few).as_json()["views"], ("6 squares of 10 x 10 cells", "600 values"), strict=True):
        assert f"{view['raw_mse']:.4g} / n: the expected squared error, summed over {what}" in text


def test_the_plan_lists_the_views(tmp_path):
    """``plan`` lists each view of a draft with its share and errors."""
    draft = tmp_path / "map.toml"
    draft.write_text(DRAFT + "[views]\nresolutions = [[5, 0.25], [1, 0.75]]\n")
    views = json.loads(printed("plan", draft, "--json"))[0]["views"]
    assert [view["share"] for view in views] == [0.25, 0.75]
    assert [view["values"] for view in views] == [24, 600]
    assert all(view["se"] > 0 and view["people_per_report"] > 1 for view in views)


def test_the_plan_of_classes_with_views_names_no_option_that_estimate_refuses(tmp_path):
    """Classes with views cannot be pooled by precision, so ``plan`` states no error for this."""
    draft = tmp_path / "map.toml"
    draft.write_text(
        DRAFT.replace("epsilon = 1.0\n", "")
        + "[views]\nresolutions = [[5, 0.25], [1, 0.75]]\n[classes.a]\nepsilon = 1.0\n[classes.b]\nepsilon = 2.0\n"
    )
    rows = json.loads(printed("plan", draft, "--json"))
    assert [row["se_precision"] for row in rows] == [None, None, None]
    assert rows[-1]["views"]


def test_the_plan_chooses_shares_for_the_given_reports(tmp_path):
    """If the draft has no ``devices``, the shares are for --reports, and the text has the line to add; otherwise
    they are the draft's."""
    draft = tmp_path / "map.toml"

    def planned(section, *words):
        draft.write_text(f'{DRAFT}[views]\nresolutions = "auto"\n{section}')
        return printed("plan", draft, *words)

    def shares(section):
        return [view["share"] for view in json.loads(planned(section, "--reports", "1000", "--json"))[0]["views"]]

    def signed(devices):
        weights = [view.weight for view in read(f'resolutions = "auto"\ndevices = {devices}').views]
        return [weight / sum(weights) for weight in weights]

    assert signed(1000) != signed(10**7)
    assert shares("") == signed(1000)
    assert shares("devices = 10000000") == signed(10**7)
    assert "devices = 1000 under [views]" in planned("", "--reports", "1000").replace("\n", " ")
    assert "under [views]" not in planned("devices = 1000", "--reports", "1000")

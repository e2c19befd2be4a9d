"""Properties of forms in the analyst's commands: from reports by view to shares of a question and cells of a table."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from aggregator.author.value_table import ValueTableError
from aggregator.estimate.form import NotAsked
from aggregator.estimate.form_result import NotOfForm, estimate_form
from aggregator.estimate.groups import Groups
from aggregator.estimate.interval_estimates import SHARE_COLUMNS
from aggregator.estimate.minimum import NotEnough
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.intake.ingest import ingest
from aggregator.present.form_page import SHADES, shade
from aggregator.truth_file import read_truth
from protocol.campaign import Campaign, SignedCampaign, open_campaign, seal_campaign
from protocol.domain import Values
from protocol.domain.form import Form, FormQuestion
from protocol.exact import NANONATS
from protocol.notions import Ldp
from protocol.report import Report, pack
from protocol.views import View
from protocol.views.maps import QuestionsMap
from tests.aggregator import fleet
from tests.aggregator.command import printed
from tests.aggregator.fleet import AUTHOR, NOW, device

FORM = Form(
    (
        FormQuestion("town", "Where do you live?", Values(("north", "south", "west"))),
        FormQuestion("vote", "Did you vote?", Values(("no", "yes")), skippable=True),
        FormQuestion("pet", "Do you have a pet?", Values(("no", "yes"))),
    )
)
TRUTH = np.array([[[0.10, 0.10], [0.15, 0.05], [0.03, 0.02]], [[0.02, 0.03], [0.05, 0.25], [0.01, 0.04]],
                  [[0.04, 0.03], [0.02, 0.03], [0.02, 0.01]]])  # fmt: skip
"""(3, 3, 2) the share of each combination of answers."""

ASKED = ((0, 1), (0, 2), (1,))


def test_a_cell_of_a_heat_map_has_no_colour_only_if_its_interval_contains_zero() -> None:
    """A share that is small beside the largest share of the table, but certainly above zero, has the palest shade."""
    assert shade(0.01, 0.001, 0.6) == "heat1"
    assert shade(0.6, 0.5, 0.6) == f"heat{SHADES}"
    assert shade(0.3, 0.0, 0.6) == "unsure"


def signed_campaign(level: int = 3 * NANONATS) -> SignedCampaign:
    """A form in which a device is asked one of two pairs of questions, or one question."""
    sizes = [question.size for question in FORM.questions]
    views = tuple(
        View(1, QuestionsMap(asked), randomized_response(int(np.prod([sizes[q] for q in asked])), level))
        for asked in ASKED
    )
    campaign = fleet.campaign().campaign
    campaign = replace(campaign, domain=FORM, views=views, notion=Ldp(level), title="Form", minimum_devices=20)
    return open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])


def tally_of(campaign: Campaign, n: int) -> ViewsTally:
    """Return the expected counts of ``n`` people for each view."""
    parts = []
    for view, asked in zip(campaign.views, ASKED, strict=True):
        shares = TRUTH.sum(axis=tuple(q for q in range(3) if q not in asked)).ravel()
        distribution = decoder_of(view.channel).forward(shares)
        parts.append(Tally.of(np.round(n * distribution / distribution.sum()).astype(np.int64)))
    return ViewsTally.of_parts(parts, {}, None)


def test_a_question_has_shares_of_those_who_answered_it() -> None:
    """The shares of a question are those of the people who answered it, from all views that contain it."""
    campaign = signed_campaign().campaign
    found = estimate_form(campaign, tally_of(campaign, 10**7), ["vote"])
    vote = TRUTH.sum(axis=(0, 2))
    assert found.labels == (("no",), ("yes",))
    assert np.allclose(found.shares.raw, vote[:2] / vote[:2].sum(), atol=1e-4)
    assert found.skipping == ("vote",)
    assert found.reports == pytest.approx(2 * 10**7, abs=20), (
        "expected 10 million reports from each of the two views with the question"
    )


@pytest.mark.parametrize("names", [("town", "vote"), ("vote", "town"), ("town", "pet")])
def test_a_table_has_the_requested_order(names: tuple[str, str]) -> None:
    """A table has the requested order of questions, and its cells and the shares within each row are the true ones."""
    campaign = signed_campaign().campaign
    found = estimate_form(campaign, tally_of(campaign, 10**7), names)
    places = [FORM.positions[name] for name in names]
    table = np.moveaxis(TRUTH, places, (0, 1)).sum(axis=2)
    table = table[tuple(slice(FORM.questions[place].domain.size) for place in places)]
    assert np.allclose(found.shares.raw, (table / table.sum()).ravel(), atol=1e-4)
    assert np.allclose(found.shares.share, (table / table.sum()).ravel(), atol=2e-3)
    assert len(found.labels) == table.size
    for x, row in enumerate(found.within):
        assert np.allclose(row.raw, table[x] / table[x].sum(), atol=1e-3)
    assert found.association is not None
    assert found.association.significant
    document = found.as_json()
    assert [cell["values"] for cell in document["cells"]] == [list(label) for label in found.labels]
    assert [each["value"] for each in document["within"]] == [
        FORM.questions[places[0]].label(x) for x in range(len(table))
    ]
    assert [each["value"] for each in document["within"][0]["values"]] == [
        label[1] for label in found.labels[: len(table[0])]
    ]


def test_questions_without_a_joint_estimate_are_refused_with_a_message() -> None:
    """An unknown or repeated question, two questions that no device gets together, and too few devices are refused."""
    campaign = signed_campaign().campaign
    whole, few = tally_of(campaign, 1000), tally_of(campaign, 15)
    with pytest.raises(NotOfForm, match="town, vote, pet"):
        estimate_form(campaign, whole, ["towns"])
    with pytest.raises(NotOfForm, match="two different"):
        estimate_form(campaign, whole, ["town", "town"])
    with pytest.raises(NotAsked, match="asked both questions"):
        estimate_form(campaign, whole, ["vote", "pet"])
    with pytest.raises(NotEnough):
        estimate_form(campaign, few, ["town", "pet"])
    assert estimate_form(campaign, few, ["town"]).reports >= 20, (
        "the two views of the question must have enough devices together"
    )


def test_the_truth_of_a_rehearsal_is_of_the_people_who_answer(tmp_path) -> None:
    """True shares are those among the people who answer all the named questions; if no person does, they are
    refused."""
    file = tmp_path / "people.csv"
    file.write_text("town,vote,pet,count\nnorth,yes,no,5\nsouth,,yes,3\nwest,no,yes,2\nnorth,no,yes,3\n")
    truth = read_truth(file, FORM)
    assert truth.among_answered(FORM, ["vote"]).tolist() == [0.5, 0.5]
    assert truth.among_answered(FORM, ["pet", "vote"]).tolist() == [0, 0.5, 0.5, 0]
    assert truth.among_answered(FORM, ["pet"]).tolist() == pytest.approx([5 / 13, 8 / 13])
    file.write_text("town,vote,pet\nnorth,,no\n")
    with pytest.raises(ValueTableError, match="no people who answer vote"):
        read_truth(file, FORM).among_answered(FORM, ["vote"])


def test_reports_of_one_device_give_no_errors_and_no_table() -> None:
    """If all reports come from one device, a question has a warning instead of standard errors.

    A table is refused, because the noise of its interaction is unknown.
    """
    campaign = replace(signed_campaign().campaign, minimum_devices=1)
    parts = []
    for part in tally_of(campaign, 40).by_view:
        outputs = np.flatnonzero(part.counts)
        groups = Groups.of(np.zeros_like(outputs), outputs, part.counts[outputs], 1, part.reports)
        parts.append(replace(part, groups=groups))
    tally = ViewsTally.of_parts(parts, {}, None)
    found = estimate_form(campaign, tally, ["vote"])
    assert np.isnan(found.shares.se).all()
    assert "vote: all reports come from one device" in found.warnings[-1]
    with pytest.raises(NotEnough, match="one device"):
        estimate_form(campaign, tally, ["town", "pet"])


def test_reports_of_a_form_are_ingested_and_its_tables_printed(tmp_path) -> None:
    """Reports of a form are ingested like all reports, and estimate prints its questions and its tables.

    Known margins weight the shares; the page and the results of ``Study`` have the same figures as the command. True
    shares and single periods are shown. Options that exclude each other are usage errors.
    """

    signed, people = signed_campaign(), 240
    study, batch, rng = fleet.study(tmp_path / "study", signed, range(people)), [], np.random.default_rng(1)
    for number in range(people):
        view = signed.campaign.views[signed.view_of(device(number, signed).public)]
        x = int(rng.choice(TRUTH.size, p=TRUTH.ravel() / TRUTH.sum()))
        output = view.channel.sample(view.map.input(FORM, x), rng.bytes(view.channel.rand_bytes))
        packed = pack([output], signed.campaign.output_bits)
        batch.append(Report(signed.id, 0, 0, 1, packed).seal(device(number, signed)))
    file = tmp_path / "batch.htr"
    file.write_bytes(b"".join(batch))
    words = ["--study", study.path, "estimate", signed.id.hex()]
    assert "no reports on this question: ingest more" in printed(*words, "--question", "vote", code=75)
    assert ingest(study, [file], now=NOW).accepted == people
    document = json.loads(printed(*words, "--cross", "town,vote", "--format", "json"))
    assert len(document["cells"]) == 6
    assert {"values", *SHARE_COLUMNS} == set(document["cells"][0])
    assert {"statistic", "threshold", "significant"} <= set(document["association"])
    assert sum(cell["estimate"] for cell in document["cells"]) == pytest.approx(1)
    document = json.loads(printed(*words, "--question", "vote", "--format", "json"))
    assert [row["value"] for row in document["values"]] == ["no", "yes"]
    assert "association is found" in printed(*words, "--cross", "town,pet")
    assert "has no question 'toun'" in printed(*words, "--question", "toun", code=65)
    assert printed(*words, "--cross", "pet,town", "--format", "csv").startswith("pet_value,town_value,estimate,")
    assert "shares of the people who did not skip vote" in printed(*words, "--question", "vote")
    margins = tmp_path / "population.toml"
    counted = 'groups = { else = ["south", "west"] }\npeople = { north = 400, else = 600 }'
    margins.write_text(f'[[margin]]\nby = "town"\n{counted}\n')
    document = json.loads(printed(*words, "--question", "vote", "--margins", margins, "--json"))
    assert {each["group"]: each["population"] for each in document["weights"]["margins"][0]["groups"]} == {
        "else": 0.6, "north": 0.4,
    }  # fmt: skip
    assert "weighted to known shares of the population by town" in printed(
        *words, "--cross", "pet,town", "--margins", margins
    )
    for more, by in ([], ""), (["--margins", margins], "town"):
        header, *rows = printed(*words, "--question", "vote", "--format", "csv", *more).splitlines()
        assert header.endswith(",reports,weighted_by")
        assert {row.split(",")[-1] for row in rows} == {by}
    margins.write_text('[[margin]]\nby = "pet"\nshares = { no = 0.4, yes = 0.6 }\n')
    assert "both 'vote' and 'pet'" in printed(*words, "--question", "vote", "--margins", margins, code=65)
    part = tmp_path / "part.html"
    printed(*words, "--report", part, "--margins", margins)
    assert "<li>Vote: there are no reports of devices that were asked both" in part.read_text(encoding="utf-8")
    margins.write_text('[[margin]]\nby = "town"\nshares = { north = 0.4, south = 0.4, west = 0.4 }\n')
    assert "sum to 1.2" in printed(*words, "--question", "vote", "--margins", margins, code=65)
    margins.write_text(f'[[margin]]\nby = "town"\n{counted}\n')
    for asked, found in (
        (["--question", "vote"], study.question(signed.id.hex(), "vote", margins=margins)),
        (["--cross", "pet,town"], study.cross(signed.id.hex(), "pet", "town", margins=margins, confidence=0.95)),
    ):
        assert found.as_json() == json.loads(printed(*words, *asked, "--margins", margins, "--json"))
        lines = printed(*words, *asked, "--margins", margins, "--format", "csv").splitlines()
        assert found.table().column_names == lines[0].split(",")
        assert found.table().num_rows == len(lines) - 1 == len(found.labels)
        assert "weighted to known shares" in found._repr_html_()
        assert found.plot().axes
    page, again = tmp_path / "page.html", tmp_path / "again.html"
    for file in (page, again):
        printed(*words, "--report", file, "--margins", margins)
    text = page.read_text(encoding="utf-8")
    assert text == again.read_text(encoding="utf-8"), "the page of an unchanged study has changed"
    for question in FORM.questions:
        assert question.text in text
        for row in study.question(signed.id.hex(), question.name, margins=None).rows:
            assert row["value"] in text
    for x, y in (("town", "vote"), ("town", "pet")):
        found = study.cross(signed.id.hex(), x, y, margins=margins)
        assert f'id="table-{x}-{y}"' in text
        for row in found.rows:
            assert f"{100 * row['estimate']:.1f}%<small>{100 * row['low']:.1f}% to {100 * row['high']:.1f}%" in text
    assert "table-vote-pet" not in text, "the page shows a table of two questions that no device answers together"
    assert "weighted by town" in text
    assert "Known shares of the population by town" in text
    printed(*words, "--report", tmp_path / "no.html", "--format", "json", code=2)
    truth, drawn = tmp_path / "people.csv", tmp_path / "form.png"
    truth.write_text("town,vote,pet,count\nnorth,yes,no,6\nsouth,,yes,3\nwest,no,yes,1\n")
    shown = printed(*words, "--cross", "town,pet", "--truth", truth, "--plot", drawn)
    assert "truth" in shown
    assert "60.0%" in shown
    assert drawn.read_bytes().startswith(b"\x89PNG")
    drawn.unlink()
    assert "distance from the truth (half the sum" in printed(
        *words, "--question", "vote", "--truth", truth, "--plot", drawn
    )
    assert drawn.exists()
    printed(*words, "--question", "vote", "--truth", truth, "--truth", truth, code=2)
    (only,) = json.loads(printed(*words, "--question", "town", "--by", "period", "--json"))["spans"]
    assert (only["first"], only["last"]) == (0, 0)
    assert only["values"] == json.loads(printed(*words, "--question", "town", "--json"))["values"], (
        "the single period must equal the whole campaign"
    )
    assert "period 0: an association" in printed(*words, "--cross", "town,pet", "--by", "period")
    lines = printed(*words, "--question", "town", "--by", "period", "--format", "csv").splitlines()
    assert lines[0].startswith("first_period,last_period,town_value,estimate,")
    assert len(lines) == 4
    printed(*words, "--question", "town", "--by", "period", "--plot", tmp_path / "no.png", code=2)
    printed(*words, "--question", "town", "--by", "class", code=2)
    assert "--question NAME" in printed(*words, code=65)
    assert "towns" in printed(*words, "--question", "towns", code=65)
    for wrong in (["--cross", "town"], ["--question", "town", "--cross", "town,pet"], ["--question", "town", "--mean"]):
        printed(*words, *wrong, code=2)

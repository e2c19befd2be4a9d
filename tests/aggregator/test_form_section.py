"""Drafts of forms, and simulated people who fill them in: from the draft to the counts of each view."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from aggregator.author.audit import audit
from aggregator.author.draft import DraftError, bins_sentences_of_draft, draft_form, read_draft, read_question
from aggregator.author.lint import lint
from aggregator.author.toml_section import read_toml
from aggregator.author.value_table import ValueTableError
from aggregator.estimate.method import MethodRefused
from aggregator.families.registry import decoder_of
from aggregator.intake.ingest import ingest
from aggregator.present.listing import audit_table
from aggregator.study import Study
from aggregator.truth_file import read_truth
from protocol.campaign import open_campaign, seal_campaign
from protocol.domain import Form, NumberRange
from protocol.errors import BadData
from protocol.keys import SigningKey
from protocol.views import QuestionsMap
from tests.aggregator.simulated import population
from tests.aggregator.test_present_estimate import printed as printed_table

KEY = SigningKey(bytes(range(32)))
HEAD = 'title = "Town"\norganisation = "Town library"\n'
QUESTION = '[[question]]\nname = "{}"\ntext = "{}?"\nkind = "values"\nvalues = ["no", "yes"]\n'
AGE = '[[question]]\nname = "age"\ntext = "Age?"\nkind = "number"\nlow = 17\nhigh = 19\nskippable = true\n'
TAIL = (
    '[privacy]\nnotion = "ldp"\nepsilon = 1.0\n'
    "[schedule]\nopens = 2030-01-01T00:00:00Z\ncloses = 2030-02-01T00:00:00Z\n"
)
FORM = AGE + QUESTION.format("vote", "Vote") + QUESTION.format("work", "Work")


def drafted(folder: Path, questions: str = FORM, more: str = "", tail: str = TAIL) -> Path:
    file = folder / "form.toml"
    file.write_text(HEAD + questions + more + tail)
    return file


@pytest.mark.parametrize(
    ("analysis", "asked"),
    [
        ("", [(0, 1), (0, 2), (1, 2)]),
        ('[analysis]\ntables = [["vote", "age"]]\n', [(0, 1), (2,)]),
        ('[analysis]\noutcome = "vote"\n', [(0, 1), (1, 2)]),
    ],
)
def test_the_views_are_the_pairs_of_the_draft(tmp_path: Path, analysis: str, asked: list[tuple[int, ...]]) -> None:
    """The views are all pairs, the pairs of the listed tables, or the outcome with each other question.

    A question in no pair has a view alone. Each view has the inputs of its questions, and its channel has the draft's
    level: the level is not divided among views.
    """
    campaign = read_draft(drafted(tmp_path, more=analysis))
    assert isinstance(campaign.domain, Form)
    assert [view.map for view in campaign.views] == list(map(QuestionsMap, asked))
    assert [view.channel.input_count for view in campaign.views] == [
        view.map.input_count(campaign.domain) for view in campaign.views
    ]
    assert all(0.99e9 < found.audited_level <= 10**9 for found in campaign.view_certificates)
    assert campaign.question == "Age?\nVote?\nWork?"
    assert all("an equal share" not in finding for finding in lint(campaign))


@pytest.mark.parametrize(
    ("questions", "more", "message"),
    [
        (AGE, "", "2 to 32 questions"),
        (FORM + AGE, "", "two questions of the form have the name 'age'"),
        (FORM.replace("low = 17", "lo = 17"), "", "question age"),
        (FORM, '[domain]\nkind = "values"\nvalues = ["a", "b"]\n', "cannot be combined with"),
        (FORM, "[views]\nresolutions = [2, 1]\n", "cannot be combined with"),
        (FORM, '[analysis]\ntables = [["age", "s"]]\n', "no question"),
        (FORM, '[analysis]\ntables = [["age", "age"]]\n', "two different questions"),
        (FORM, '[analysis]\ntables = [["age", "vote"], ["vote", "age"]]\n', "twice"),
        (FORM, '[analysis]\ntables = [["age", "vote"]]\noutcome = "vote"\n', "cannot be combined"),
        (FORM, '[analysis]\ngoal = "mean"\n', "unknown entry"),
        (FORM.replace("high = 19", "high = 33\nbins = 1"), "", "at least 2"),
        (FORM.replace("high = 19", 'high = 33\nbins = "few"'), "", "whole number"),
        (FORM.replace("high = 19", "high = 19\nstep = 1.5"), "", r"^\[question age\] the step must divide"),
        (FORM.replace('"number"\nlow = 17\nhigh = 19', f'"buckets"\nedges = {list(range(17))}'), "", "at most 16"),
    ],
)
def test_an_invalid_form_is_refused_with_its_entry(tmp_path: Path, questions: str, more: str, message: str) -> None:
    """Too few questions, wrong entries, and sections that exclude each other are refused with a reason."""
    with pytest.raises(BadData, match=message):
        read_draft(drafted(tmp_path, questions, more))


def in_german(tmp_path: Path, tables: str, questions: str = FORM) -> Path:
    """Write the draft of a form with its German translation; return the file."""
    file = drafted(tmp_path, questions)
    file.write_text(f'language = "en"\n{file.read_text()}\n[text.de]\ntitle = "Stadt"\n{tables}')
    return file


GERMAN = """
[text.de.question.work]
text = "Arbeit?"
values = ["keine", "Arbeit"]
[text.de.question.age]
text = "Alter?"
unit = "Jahre"
[text.de.question.vote]
text = "Gewählt?"
values = { yes = "ja", no = "nein" }
"""


def test_questions_are_translated_by_name(tmp_path: Path) -> None:
    """Translated texts, values and units are in the form's order, whatever their order in the draft.

    A text that a translation omits is shown in the campaign's language, and so are all texts if there is no translation
    into the reader's language.
    """
    aged = FORM.replace("high = 19", 'high = 19\nunit = "years"')
    campaign = read_draft(in_german(tmp_path, GERMAN, aged))
    translated = campaign.domain_in("de")
    assert [one.text for one in translated.questions] == ["Alter?", "Gewählt?", "Arbeit?"]
    assert [one.domain.named for one in translated.questions] == [
        ("Jahre",), ("nein", "ja"), ("keine", "Arbeit"),
    ]  # fmt: skip
    assert campaign.domain_in("fr") is campaign.domain
    part = read_draft(in_german(tmp_path, GERMAN.replace('unit = "Jahre"\n', ""), aged)).domain_in("de")
    assert part.named == ("years", "nein", "ja", "keine", "Arbeit")
    none = re.sub("(values|unit) = .*", "", GERMAN)
    assert read_draft(in_german(tmp_path, none, aged)).translations[0].labels == ()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("question.work", "question.job", "[text.de.question] work is missing: it is a table"),
        ("question.vote]", "question.votes]", "[text.de.question] has an unknown entry 'votes'; did you mean 'vote'?"),
        (
            "[text.de.question.work]",
            "[text.de.question.x]\n[text.de.question.work]",
            "has an unknown entry 'x'; expected one of: ",
        ),
        ('text = "Arbeit?"', "", "[text.de.question.work] text is missing"),
        ("yes =", "yess =", "[text.de.question.vote.values] has an unknown entry 'yess'; did you mean 'yes'?"),
        ('yes = "ja", ', "", "[text.de.question.vote.values] yes is missing: it is 'yes' in this language"),
        ('yes = "ja"', 'yes = "ja", maybe = "x"', "values] has an unknown entry 'maybe'; expected one of: no, yes"),
        ('yes = "ja"', 'yes = "nein"', "[text.de.question.vote] values has 'nein' twice"),
        (
            '"keine", ',
            "",
            "[text.de.question.work] values must have 2 texts, as the draft has, not 1: translate each text",
        ),
        ('"keine"', '"Arbeit"', "[text.de.question.work] values has 'Arbeit' twice"),
        ('"keine"', "1", "[text.de.question.work] values must be a list of texts"),
        ('"keine"', '"a;b"', "question 'work': value 'a;b' contains ';'"),
        ("unit", "units", "[text.de.question.age] has an unknown entry 'units'; did you mean 'unit'?"),
        ('"Jahre"', "1", "[text.de.question.age] unit must be the unit 'years' in this language, not 1"),
        ('"Jahre"', '"Jahre, die jemand alt ist"', "a unit must be at most 20"),
        ("[text.de.question.work]", "[text.DE]\ntitle='x'\n[text.de.question.work]", "[text.DE] is the second table"),
    ],
)
def test_a_wrong_translation_of_a_form_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A missing, unknown or invalid text of a translation is refused, and the error names its entry."""
    assert old in GERMAN
    aged = FORM.replace("high = 19", 'high = 19\nunit = "years"')
    with pytest.raises(BadData, match=re.escape(message)):
        read_draft(in_german(tmp_path, GERMAN.replace(old, new, 1), aged))


def test_a_question_in_no_pair_keeps_all_its_numbers(tmp_path: Path) -> None:
    """A question for a number with many values keeps all of them if it is in no pair."""
    many, tables = FORM.replace("high = 19", "high = 90"), '[analysis]\ntables = [["vote", "work"]]\n'
    asked = draft_form(read_toml(drafted(tmp_path, many, tables)), tmp_path)
    assert asked is not None
    assert [view.map for view in asked.views] == [QuestionsMap((0,)), QuestionsMap((1, 2))]
    assert asked.form.questions[0].domain.size == 74


@pytest.mark.parametrize(
    ("entry", "reports", "epsilon", "high", "step"),
    [
        ("high = 32", 10_000, "1.0", 32, 1),  # the range has 16 values, so no step is needed
        ("high = 90", 10_000, "1.0", 92, 5),
        ("high = 97", 10_000, "1.0", 97, 8),  # the shortest step is 6, and 8 is the first that ends at 97
        ("high = 90", 300, "1.0", 92, 25),
        ("high = 90", 300, "4.0", 92, 5),
        ("high = 90\nbins = 5", 10**6, "1.0", 93, 19),
        ("high = 90\nbins = 5", 300, "1.0", 93, 19),
    ],
)
def test_a_number_in_a_pair_gets_a_longer_step(
    tmp_path: Path, entry: str, reports: int, epsilon: str, high: int, step: int
) -> None:
    """A numeric question in a pair gets a step at which the standard error of a cell is at most the share of a cell;
    it keeps at least four values, even if their standard error is larger.

    A question of at most 16 values keeps its step. The author may set the number of values instead (``bins``). The
    highest answer stays a value, and the notes of the draft state a step that the author did not choose.
    """
    draft = drafted(
        tmp_path,
        FORM.replace("high = 19", entry),
        f'[analysis]\nreports = {reports}\ntables = [["age", "vote"], ["age", "work"]]\n',
        TAIL.replace("1.0", epsilon),
    )
    campaign = read_draft(draft)
    assert isinstance(campaign.domain, Form)
    age = campaign.domain.questions[0]
    assert age.domain == NumberRange.of(17, high, step)
    notes = bins_sentences_of_draft(read_toml(draft), campaign.domain)
    chosen = step > 1 and "bins" not in entry
    assert len(notes) == chosen
    if not chosen:
        return
    assert f"reduced to {age.domain.size} (17 to {high} in steps of {step})" in notes[0]
    for view in campaign.views:
        cells = view.map.input_count(campaign.domain)
        decoder = decoder_of(view.channel)
        variance = decoder.variances(decoder.forward(np.full(cells, 1 / cells))).mean()
        held = math.sqrt(variance / (reports / 2)) <= 1 / cells
        assert held or age.domain.size == 4


def test_a_form_is_refused_without_ldp_and_as_a_single_question(tmp_path: Path) -> None:
    """A form with a notion other than LDP is refused, and so is reading a form as a single question."""
    other = TAIL.replace('"ldp"', '"high-low"')
    with pytest.raises(DraftError, match="notion of a form must be"):
        read_draft(drafted(tmp_path, tail=other))
    with pytest.raises(DraftError, match="a channel for each view"):
        read_question(drafted(tmp_path))


def test_a_form_of_one_pair_is_linted(tmp_path: Path) -> None:
    """A form of one pair has a single view, and lint reads it and warns that the campaign has no address."""
    campaign = read_draft(drafted(tmp_path, AGE + QUESTION.format("vote", "Vote")))
    assert len(campaign.views) == 1
    assert any("address" in warning for warning in lint(campaign))


def test_the_audit_of_a_form_states_the_error_of_each_view(tmp_path: Path) -> None:
    """Each table of two questions has the expected error of its cells, from the reports of its view."""
    made = audit(read_draft(drafted(tmp_path)))
    text = " ".join(printed_table(audit_table(made)).split())
    for view in made.as_json()["views"]:
        assert f"{view['raw_mse']:.4g} / n: the expected squared error, summed over {view['view']}, from this" in text


def test_simulated_reports_of_a_form_are_counted_by_view(tmp_path: Path) -> None:
    """Simulated devices answer the questions of their view, and every report is counted in one of the three views.

    Estimates of all questions at once are refused.
    """
    data = seal_campaign(read_draft(drafted(tmp_path)), KEY)
    signed = open_campaign(data, [KEY.public])
    people = tmp_path / "people.csv"
    people.write_text("vote,age,work,count\nyes,,no,150\nno,18,yes,50\nyes,17,no,100\nno,18,yes,50\n")
    truth = read_truth(people, signed.campaign.domain)
    assert (truth.counts, truth.people) == ((150, 100, 100), 350)
    assert truth.answers[0] == {"age": None, "vote": "yes", "work": "no"}
    [sent] = population(signed.campaign, signed.id, truth, 0, seed=1)
    assert sent.people == 350
    study = Study.create(tmp_path / "study")
    study.import_campaign(data, [KEY.public], "form")
    (tmp_path / "batch.htr").write_bytes(sent.reports)
    result = ingest(study, [tmp_path / "batch.htr"], now=signed.campaign.opens + 60)
    tally = study.tally(signed)
    assert (result.accepted, tally.reports) == (350, 350)

    assert all(view.reports > 60 for view in tally.by_view)
    with pytest.raises(MethodRefused, match="is a form"):
        study.estimate("form")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vote,age\nyes,17\n", "header"),
        ("vote,age,work,other\nyes,17,no,1\n", "header"),
        ("vote,age,work\nyes,17\n", "line 2"),
        ("vote,age,work\nyes,17,no\n,17,no\n", "line 3"),
        (
            "vote,age,work\nyes,99,no\n",
            "line 2: question 'age': the cell is not an answer to the question: the number lies",
        ),
        (
            "vote,age,work\nyess,17,no\n",
            "line 2: question 'vote': the cell is not one of .* values: expected 'no', 'yes'$",
        ),
        ("vote,age,work,count\nyes,17,no,1.5\n", "whole number"),
        ("vote,age,work\n", "has no people"),
    ],
)
def test_a_file_of_people_is_read_strictly(tmp_path: Path, text: str, message: str) -> None:
    """A wrong header, row, answer or count, and a file without people, are refused with the place or the reason."""
    form = read_draft(drafted(tmp_path)).domain
    (tmp_path / "people.csv").write_text(text)
    with pytest.raises(ValueTableError, match=message):
        read_truth(tmp_path / "people.csv", form)

"""Properties of the plan of a form: its figures are those of the estimate, and questions that cannot be answered are
named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aggregator.author.draft import draft_form
from aggregator.author.toml_section import read_toml
from aggregator.estimate.form import pooled_question
from aggregator.estimate.form_table import cross_table
from aggregator.estimate.form_view import FormView
from aggregator.families.registry import decoder_of
from aggregator.planner.form_plan import MEDIUM, FormPlan, plan_form
from aggregator.reproduce.simulated_people import drawn_tally
from protocol.exact import in_nats, nats
from protocol.views import QuestionsMap
from tests.aggregator.command import printed
from tests.aggregator.test_form_section import QUESTION, TAIL, drafted

SIZES = {"a": 4, "b": 6, "c": 3}


def planned(folder: Path, reports: int, more: str = "", epsilon: str = "1.0") -> FormPlan:
    asked = draft_form(read_toml(draft(folder, more, epsilon)), folder)
    assert asked is not None
    return plan_form(asked, reports)


def draft(folder: Path, more: str = "", epsilon: str = "1.0") -> Path:
    questions = "".join(
        f'[[question]]\nname = "{name}"\ntext = "?"\nkind = "values"\nvalues = {[str(x) for x in range(size)]}\n'
        for name, size in SIZES.items()
    )
    return drafted(folder, questions, more, TAIL.replace("1.0", epsilon))


def pattern(shape: tuple[int, int], v: float) -> np.ndarray:
    """Return a table with uniform margins and one pattern, for which Cramer's V is ``v``."""
    a, b = shape
    left, right = (np.where(np.arange(k) < k // 2, 1.0, -1.0) for k in shape)
    left, right = (side - side.mean() for side in (left, right))
    strength = v * np.sqrt(min(a, b) - 1) / np.sqrt(a * b)
    table = 1 / (a * b) + strength * np.outer(left, right) / np.linalg.norm(left) / np.linalg.norm(right)
    assert (table >= 0).all()
    return np.asarray(table)


def test_an_association_of_the_planned_strength_is_detected_in_four_of_five_surveys(tmp_path: Path) -> None:
    """An association of the planned strength is detected in .6 to .95 of 40 surveys, and one half as strong in at most
    half.

    The expected rate is .8 with a standard deviation of .06. A failure means that the planned strength is off by a
    tenth.
    """
    asked = draft_form(read_toml(draft(tmp_path, epsilon="2.0")), tmp_path)
    assert asked is not None
    people, (view, *_) = 18_000, asked.views
    found = next(table for table in plan_form(asked, people).tables if table.names == ("a", "b"))
    assert found.reports == pytest.approx(people / 3)
    decoder, rng, rates = decoder_of(view.channel), np.random.default_rng(1), []
    for v in (found.detectable, found.detectable / 2):
        distribution, significant = pattern((4, 6), v).ravel(), 0
        for _ in range(40):
            one = FormView((0, 1), (4, 6), decoder, drawn_tally(view.channel, decoder, distribution, people // 3, rng))
            significant += cross_table([one], 0, 1).association.significant
        rates.append(significant / 40)
    assert 0.6 <= rates[0] <= 0.95
    assert rates[1] <= 0.5


def test_the_error_of_a_question_is_that_of_its_estimate(tmp_path: Path) -> None:
    """The planned standard error of each question is that of an estimate from 90,000 people, within 3%; the seed is
    fixed.

    The number of people for an error of 0.01 is 90,000 times the squared ratio of the planned error to 0.01.
    """
    asked = draft_form(read_toml(draft(tmp_path)), tmp_path)
    assert asked is not None
    found = plan_form(asked, 90_000, target_errors=(0.01,))
    rng, views = np.random.default_rng(2), []
    for view in asked.views:
        assert isinstance(view.map, QuestionsMap)
        shape = tuple(question.size for question in view.map.questions(asked.form))
        decoder, even = decoder_of(view.channel), np.full(int(np.prod(shape)), 1 / np.prod(shape))
        views.append(
            FormView(view.map.positions, shape, decoder, drawn_tally(view.channel, decoder, even, 30_000, rng))
        )
    for place, question in enumerate(found.questions):
        assert question.se == pytest.approx(float(np.sqrt(pooled_question(views, place).variances.mean())), rel=0.03)
        assert question.people_for[0.01] == pytest.approx(90_000 * (question.se / 0.01) ** 2, rel=1e-4)


def test_the_detectable_strength_falls_with_the_root_of_the_people(tmp_path: Path) -> None:
    """With four times as many people half the strength is detectable; with the stated people a medium strength is."""
    few, many = planned(tmp_path, 10_000), planned(tmp_path, 40_000)
    for one, other in zip(few.tables, many.tables, strict=True):
        assert one.detectable == pytest.approx(2 * other.detectable)
        assert one.people == other.people
    enough = planned(tmp_path, max(table.people for table in few.tables))
    assert max(table.detectable for table in enough.tables) <= MEDIUM


def test_sentences_state_the_associations_that_can_be_found(tmp_path: Path) -> None:
    """The sentences of a plan say how many associations can be found, and which level suffices for more."""
    few = planned(tmp_path, 400)
    assert few.sentences[0].startswith("With 400 people at 1 nat, no association of medium strength")
    assert "In 3 of them, even the strongest association cannot be distinguished from none." in few.sentences
    assert few.sufficient_level is not None
    assert f"{in_nats(few.sufficient_level)} with 400 people" in few.sentences[-1]
    at_that = planned(tmp_path, 400, epsilon=str(nats(few.sufficient_level)))
    assert sorted(table.detectable for table in at_that.tables)[1] <= MEDIUM, (
        "at the stated level, the second easiest of three tables must be detectable at medium strength"
    )
    many = planned(tmp_path, 10**7)
    assert many.sentences == [
        "With 10,000,000 people at 1 nat, an association of medium strength (Cramer's V 0.3) can be found in 3 of 3 "
        "pairs of questions."
    ]
    assert many.sufficient_level is None
    alone = replace(many, tables=())
    assert alone.sentences == ["No device is asked two questions, so no association can be found."]


def test_sentences_of_a_single_pair_name_its_questions(tmp_path: Path) -> None:
    """If one pair is asked together, the sentences name its two questions, and state one number of people."""
    few, many = planned(tmp_path, 400), planned(tmp_path, 10**7)
    table = few.tables[0]
    names = " and ".join(table.names)
    medium = f"association of medium strength (Cramer's V 0.3) can be found between {names}."
    assert few.sufficient_level is not None
    assert replace(few, tables=(table,)).sentences == [
        f"With 400 people at 1 nat, no {medium}",
        "Even the strongest association cannot be distinguished from none.",
        f"An association of medium strength needs {table.people:,} people, or {in_nats(few.sufficient_level)} with 400 "
        "people.",
    ]
    one = replace(many, tables=many.tables[:1])
    assert one.sentences == [f"With 10,000,000 people at 1 nat, an {medium}"]


def test_the_command_prints_a_plan_of_a_form(tmp_path: Path) -> None:
    """The command prints the tables, questions and sentences of the plan; --bits, and a form of one question, are
    refused."""
    file = draft(tmp_path, '[analysis]\noutcome = "a"\n')
    document = json.loads(printed("plan", file, "--reports", 5000, "--json"))
    assert [table["questions"] for table in document["tables"]] == [["a", "c"], ["a", "b"]]
    assert {"question", "values", "reports", "se", "people_for"} == set(document["questions"][0])
    assert [question["reports"] for question in document["questions"]] == [5000, 2500, 2500]
    text = printed("plan", file, "--reports", 5000).replace("\n", " ")
    for words in (*document["says"], "the easiest to find first"):
        assert words in text
    printed("plan", file, "--bits", 9, code=2)
    lone = drafted(tmp_path, QUESTION.format("x", "X"))
    assert "2 to 32 questions" in printed("plan", lone, code=65)

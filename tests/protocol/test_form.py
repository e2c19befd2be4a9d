"""Properties of forms and of their views (SPEC 4, 7.3)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import codec, domain, exact
from protocol.campaign import SignedCampaign, encode_campaign
from protocol.domain import DITHER_BYTES, Answer, Form, FormQuestion
from protocol.errors import DomainError, NotInDomain
from protocol.keys import SigningKey
from protocol.views import QuestionsMap
from protocol.views.sentences import question_sentence
from tests.protocol.test_domain import assert_silent, buckets, dates, grids, labels, ordered, ranges
from tests.protocol.test_views import assert_mutants_are_bad
from tests.vectors.generate import of_questions

ZERO = bytes(DITHER_BYTES)
single = (labels | ordered | buckets | grids | ranges | dates).filter(
    lambda one: all(";" not in label and label != "skipped" for label in one.named)
)


@st.composite
def forms(draw: st.DrawFn) -> Form:
    found = draw(st.lists(st.tuples(single, st.booleans()), min_size=2, max_size=32))
    return Form(tuple(FormQuestion(f"q_{n}", "How many?", *one) for n, one in enumerate(found)))


@st.composite
def answered(draw: st.DrawFn) -> tuple[Form, list[int]]:
    """Draw a form, and an input of each question."""
    form = draw(forms())
    return form, [draw(st.integers(0, question.size - 1)) for question in form.questions]


@settings(max_examples=40)
@given(answered(), st.sampled_from([ZERO, b"\xff" * DITHER_BYTES]))
def test_inputs_labels_and_wire_forms_of_a_form_are_read_back(given_: tuple[Form, list[int]], dither: bytes) -> None:
    """split(join(inputs)) = inputs, index(parse(label(x))) = x under every dither, and the wire form decodes to the
    form, even if a list of all inputs would not fit in memory."""
    form, inputs = given_
    x = form.join(inputs)
    assert 0 <= x < form.size == prod(question.size for question in form.questions)
    assert form.split(x) == inputs
    assert form.index(form.parse(form.label(x)), dither) == x
    assert domain.decode(codec.decode(codec.encode(form.encode()), limit=2**20)) == form


@settings(max_examples=40)
@given(forms())
def test_a_form_in_another_language_asks_the_same(form: Form) -> None:
    """A translation replaces the texts and names of each question and can be reversed; inputs stay the same."""
    texts = [f"Frage {place}?" for place in range(len(form.questions))]
    said = form.renamed([f"n{place}" for place in range(len(form.named))]).reworded(texts)
    assert [(one.text, one.size) for one in said.questions] == [
        (text, one.size) for text, one in zip(texts, form.questions, strict=True)
    ]
    names = iter(said.named)
    for one, own in zip(said.questions, form.questions, strict=True):
        assert (one.name, one.skippable) == (own.name, own.skippable)
        assert one.domain == own.domain.renamed([next(names) for _ in own.domain.named])
    assert said.renamed(form.named).reworded([one.text for one in form.questions]) == form


@settings(max_examples=40)
@given(answered(), st.data())
def test_a_view_depends_only_on_its_questions(given_: tuple[Form, list[int]], data: st.DataObject) -> None:
    """f of the asked answers equals f of the whole form's answer, x_i s_j + x_j, so it does not depend on the other
    answers. The label of that input names the asked questions and their answers."""
    form, inputs = given_
    places = tuple(sorted(data.draw(st.sets(st.integers(0, len(inputs) - 1), min_size=1, max_size=2))))
    view = QuestionsMap(places)
    names = [form.questions[place].name for place in places]
    whole = form.parse(form.label(form.join(inputs)))
    assert isinstance(whole, Mapping)
    z = view.input(form, form.join(inputs))
    assert z == view.input(form, view.index(form, {name: whole[name] for name in names}, ZERO))
    assert view.split(form, z) == tuple(inputs[place] for place in places)
    if len(places) == 2:
        assert z == inputs[places[0]] * form.questions[places[1]].size + inputs[places[1]]
    assert view.input(form, view.index(form, form.parse(view.label(form, z)), ZERO)) == z


@given(st.data())
def test_mutated_forms_raise_bad_data(data: st.DataObject) -> None:
    """A payload with bytes of its form or views changed, lost and inserted is a campaign or raises BadData."""
    assert_mutants_are_bad(encode_campaign(of_questions()), b"form", 300, data)


def test_each_view_of_a_small_form_depends_on_its_questions_only() -> None:
    """For each view, the distribution of the output given one of the 18 answers is exactly Q_j of f_j, which satisfies
    the level for every two answers. Two answers have the same distribution if and only if they agree in the asked
    questions. Among 60 keys each view occurs."""
    made = of_questions()
    form = made.domain
    assert isinstance(form, Form)
    signed = SignedCampaign(made, bytes(range(16)), bytes(32), b"")
    keys = [SigningKey(number.to_bytes(32, "big")).public for number in range(60)]
    assert {signed.view_of(public) for public in keys} == set(range(len(made.views)))
    for view in made.views:
        assert isinstance(view.map, QuestionsMap)
        channel, places = view.channel, view.map.positions
        rows = [
            [
                Fraction(channel.weight(view.map.input(form, x), y), 2**channel.scale)
                for y in range(channel.output_count)
            ]
            for x in range(form.size)
        ]
        assert all(sum(row) == 1 for row in rows)
        for x, other in product(range(form.size), repeat=2):
            asked, asked_other = ([form.split(one)[place] for place in places] for one in (x, other))
            assert (rows[x] == rows[other]) is (asked == asked_other)
            for here, there in zip(rows[x], rows[other], strict=True):
                kept = (here.numerator * there.denominator, here.denominator * there.numerator)
                assert exact.satisfies(*kept, made.notion.level)


def test_each_question_has_a_separate_dither() -> None:
    """Two equal questions of a number are rounded by separate dithers of SPEC 4: over 2,000 dithers both are rounded up
    as often as by independent dithers, within 6 standard errors (a chance of 2 in 10^9)."""
    half = domain.Buckets.of([0, 1])
    form = Form((FormQuestion("a", "A?", half), FormQuestion("b", "B?", half)))
    count = 0
    for number in range(2000):
        dither = number.to_bytes(DITHER_BYTES, "big")
        heads = [hashlib.sha256(b"halftruth question\0" + dither + bytes([place])).digest() for place in (0, 1)]
        found = form.split(form.index({"a": "0.5", "b": "0.5"}, dither))
        assert found == [int(head[0] < 128) for head in heads]
        count += found == [1, 1]
    assert abs(count - 500) <= 6 * (2000 * 3 / 16) ** 0.5


VOTE = FormQuestion("vote", "Did you vote?", domain.Values(("no", "yes")))
AGE = FormQuestion("age", "How old are you?", domain.NumberRange.of(17, 90), skippable=True)
FORM = Form((VOTE, AGE, FormQuestion("day", "When?", domain.Dates.of("2026-01-01", "2026-01-31"))))

REFUSED: list[tuple[Answer, str]] = [
    ({"age": 30}, "vote"),
    ({"vote": None}, "vote"),
    ({"vote": "yes", "day": "2026-01-02"}, "'day'"),
    ({"vote": "yes", "age": 30, "day": None}, "'day'"),
    ({"vote": "yes", "s3cret": 1}, "unknown question"),
    ({"vote": "yes", 83117: 1}, "unknown question"),  # type: ignore[dict-item]  # an app may pass a wrong type
    ({"vote": "s3cret"}, "vote"),
    ({"vote": "yes", "age": 83117}, "age"),
    ({"vote": "yes", "age": "s3cret"}, "age"),
    ({"vote": "yes", "age": (83117, 83117)}, "age"),
    ({"vote": "yes", "age": {"s3cret": 1}}, "age"),  # type: ignore[dict-item]  # an app may pass a wrong type
    ("s3cret", "mapping"),
    (("s3cret", "83117"), "mapping"),
]


@pytest.mark.parametrize(("answer", "named"), REFUSED)
def test_refusals_name_the_question_and_never_the_answer(answer: Answer, named: str) -> None:
    """A question that is missing, is not asked, or has an answer outside its domain is named; no text of the error or
    of its causes has the answer."""
    with pytest.raises(NotInDomain, match=named) as refused:
        QuestionsMap((0, 1)).index(FORM, answer, ZERO)
    assert_silent(refused.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("s3cret", "no '='"),
        ("s3cret=1", "unknown question; the form has vote, age, day"),
        ("vote", "no '='"),
        ("vote=yes;s3cret", "no '='"),
        ("vote=yes;vote=s3cret", "more than once"),
        ("age=s3cret", "age"),
        ("age=", "age"),
        ("day=83117", "day"),
    ],
)
def test_invalid_texts_are_refused_and_not_repeated(text: str, named: str) -> None:
    """A text that is not an answer to the asked questions is refused, and neither the error nor its causes repeat the
    text."""
    with pytest.raises(NotInDomain, match=named) as refused:
        QuestionsMap((0, 1)).index(FORM, FORM.parse(text), ZERO)
    assert_silent(refused.value)


def test_a_missing_answer_to_a_skippable_question_is_skipped() -> None:
    """A missing answer, None and "skipped" are the last input of a skippable question."""
    view = QuestionsMap((0, 1))
    answers: tuple[Answer, ...] = ({"vote": "yes"}, {"vote": "yes", "age": None}, FORM.parse("vote=yes;age=skipped"))
    found = {view.input(FORM, view.index(FORM, answer, ZERO)) for answer in answers}
    assert [view.label(FORM, z) for z in found] == ["vote=yes; age=skipped"]
    assert view.input_count(FORM) == 2 * 75


@given(st.text(max_size=4))
def test_a_name_of_a_question_can_be_typed(name: str) -> None:
    """A name consists of a-z, 0-9 and _ only, so it can be typed and used in a header."""
    fits = len(name) > 0 and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")
    if fits:
        assert FormQuestion(name, "A?", VOTE.domain).name == name
    else:
        with pytest.raises(DomainError):
            FormQuestion(name, "A?", VOTE.domain)


def test_a_sentence_names_the_asked_questions() -> None:
    """The sentence names the asked questions of this device, one or two, in each language."""
    assert "asked two of 3 questions: vote, age." in question_sentence(QuestionsMap((0, 1)), FORM, 2, "en")
    assert "asked one of 3 questions: age." in question_sentence(QuestionsMap((1,)), FORM, 2, "en")
    assert "zwei von 3 Fragen" in question_sentence(QuestionsMap((0, 2)), FORM, 2, "de")

"""A device that answers questions of a form (SPEC 4, 7.3, 9)."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from math import prod

import pytest

from edge_sdk.__main__ import main
from edge_sdk.cli.output import lines_for_people, readable_terms
from edge_sdk.disclosure.exposure import CampaignExposure, Exposure, ViewChannel
from edge_sdk.errors import ConsentMissing
from edge_sdk.presentation import given_answers, questions
from protocol import envelope
from protocol.campaign import open_campaign, seal_campaign
from protocol.channels import Table
from protocol.domain import Form, FormQuestion, Grid, NumberRange, Values
from protocol.errors import CampaignError, NotInDomain
from protocol.keys import public_line
from protocol.report import Report
from protocol.texts import Texts
from protocol.views import QuestionsMap
from tests.edge_sdk.conftest import AUTHOR, agreed, campaign
from tests.edge_sdk.test_views import dice_of

NAT = 10**9
FORM = Form((
    FormQuestion("vote", "Did you vote?", Values(("no", "yes"))),
    FormQuestion("age", "How old are you?", NumberRange.of(17, 19, unit="years"), skippable=True),
    FormQuestion("home", "Where do you live?", Grid(0, 10**6, 0, 2 * 10**6, 10**6)),
))  # fmt: skip
MAPS = (QuestionsMap((0,)), QuestionsMap((0, 1)), QuestionsMap((1, 2)))
NAMES = (("vote",), ("vote", "age"), ("age", "home"))
WHOLE = {"vote": "yes", "age": 18, "home": (0.5, 1.5)}
each_view = pytest.mark.parametrize("view", range(len(MAPS)))


GERMAN = Texts("de", "Stadt", "Haben Sie gewählt?\nWie alt sind Sie?\nWo wohnen Sie?", labels=("nein", "ja", "Jahre"))


def form_campaign(**changes) -> bytes:
    return campaign(domain=FORM, maps=MAPS, **changes)


def in_german(**changes) -> bytes:
    """Return the same campaign with its questions, labels and unit in German."""
    own = open_campaign(form_campaign(**changes), [AUTHOR.public]).campaign
    return seal_campaign(replace(own, language="en", translations=(GERMAN,)), AUTHOR)


@pytest.fixture
def member(open_device):
    """Return a function that opens a device of a view that agreed to the form; it returns the device, the campaign's id
    and the device's randomness."""

    def make(data: bytes, view: int, **options):
        dice = dice_of(data, view)
        device = open_device(urandom=dice, **options)
        campaign_id = agreed(device, data)
        return device, campaign_id, dice

    return make


@each_view
def test_the_report_depends_only_on_the_asked_answers(member, view):
    """For each answer to the asked questions the report contains the output that Q_j draws for f_j(x), where x is any
    complete answer that agrees with them: for each key the channel is Q_j o f_j."""
    data = form_campaign()
    campaign = open_campaign(data, [AUTHOR.public]).campaign
    view_channel = campaign.views[view]
    places = MAPS[view].positions
    for x in range(FORM.size):
        if any(FORM.split(x)[place] for place in range(3) if place not in places):
            # The device takes no answers to questions that it is not asked.
            continue
        whole = FORM.parse(FORM.label(x))
        device, campaign_id, dice = member(data, view)
        sealed = device.answer(campaign_id, {name: whole[name] for name in NAMES[view]}).envelope
        [y] = Report.decode(envelope.decode(sealed).unverified).outputs(
            open_campaign(data, [AUTHOR.public]).campaign, view
        )
        assert y == view_channel.channel.sample(MAPS[view].input(FORM, x), dice.given[-1])
        [one] = given_answers(device, campaign_id)
        assert FORM.parse(one.label) == {name: whole[name] for name in NAMES[view]}
        device.close()


@each_view
def test_the_asked_questions_are_shown_only_after_consent(open_device, view):
    """Before consent, the terms and the preview describe the whole form, are the same for every view, and do not depend
    on an answer. After consent the terms name the questions of this device."""
    data = form_campaign()
    device = open_device(urandom=dice_of(data, view))
    terms = device.join(data)
    campaign_id = terms.campaign_id
    other = open_device(urandom=dice_of(data, (view + 1) % 3))
    assert terms.as_json() == other.join(data).as_json() == device.terms(campaign_id).as_json()
    assert device.preview(campaign_id) == other.preview(campaign_id)
    assert (terms.map, terms.view_description, terms.asked_names) == (None, "", ())
    assert [one.name for one in terms.questions] == ["vote", "age", "home"]
    assert terms.questions[1].values == ("17", "18", "19")
    with pytest.raises(ConsentMissing):
        device.preview(campaign_id, WHOLE)
    device.consent(campaign_id)
    terms = device.terms(campaign_id)
    assert terms.asked_names == NAMES[view]
    assert ", ".join(NAMES[view]) in terms.view_description
    assert terms.as_json()["asked_names"] == list(NAMES[view])
    device.preview(campaign_id)
    device.forget(campaign_id)
    assert device.join(data).asked_names == ()


@each_view
def test_invalid_answers_to_a_form_are_not_charged(member, view):
    """A question that is not asked, a missing answer to one that cannot be skipped, and an answer outside its domain
    are refused with the question's name, in every way of answering; nothing is stored, charged or queued."""
    device, campaign_id, _ = member(form_campaign(enrolment="enrolled"), view)
    right = {name: WHOLE[name] for name in NAMES[view]}
    unasked = next(name for name in WHOLE if name not in NAMES[view])
    needed = next(name for name in NAMES[view] if name != "age")
    wrong = [
        (WHOLE, unasked),
        ({**right, unasked: None}, unasked),
        ({name: one for name, one in right.items() if name != needed}, needed),
        ({**right, needed: None}, needed),
        ({**right, needed: "s3cret"}, needed),
        ({**right, "s3cret": 1}, "unknown question"),
        ("yes", "mapping"),
    ]
    for value, named in wrong:
        for hand in (device.answer, device.collect, device.preview):
            with pytest.raises(NotInDomain, match=named) as refused:
                hand(campaign_id, value)
            assert "s3cret" not in str(refused.value)
    assert (device.budget.spent, len(device.outbox), device.history(campaign_id)) == (0, 0, {})
    assert device.collected(campaign_id) == 0
    skipping = {name: one for name, one in right.items() if name != "age"}
    assert device.answer(campaign_id, skipping).cost == 1.0
    if "age" in NAMES[view]:
        assert "age=skipped" in given_answers(device, campaign_id)[0].label


@each_view
def test_exposure_is_of_the_asked_questions(member, view):
    """Exposure is bounded over the inputs of the view. The campaign of another form adds its worst case, because the
    answer does not concern its questions."""
    device, campaign_id, _ = member(form_campaign(), view)
    right = {name: WHOLE[name] for name in NAMES[view]}
    device.answer(campaign_id, right)
    exposure = device.exposure(campaign_id)
    assert exposure.together.nanonats == exposure.about(right).nanonats == NAT
    assert (exposure.together.x, exposure.together.other) != (None, None)
    with pytest.raises(NotInDomain):
        exposure.about(WHOLE)
    second = agreed(device, form_campaign(title="Again"))
    device.answer(second, {name: WHOLE[name] for name in device.terms(second).asked_names})
    both = device.exposure(campaign_id)
    assert NAT <= both.about(right).nanonats <= both.together.nanonats == 2 * NAT
    again = device.terms(second).asked_names
    assert {name: level.nanonats for name, level in both.question_levels.items()} == {
        name: NAT * ((name in right) + (name in again)) for name in WHOLE
    }


def test_people_see_each_list_of_labels_once(open_device):
    """For people, the terms of a form list the labels by question, and a translation only where it differs."""
    device = open_device()
    campaign_id = device.join(in_german()).campaign_id
    english, german = (
        "\n".join(lines_for_people(readable_terms(device.terms(campaign_id, language).as_json())))
        for language in ("en", "de")
    )
    for text in (english, german):
        assert "values: none" not in text
        assert "notice: none" in text  # a text that the campaign does not have
        assert "promise numbers" not in text
        assert "values 17; 18; 19  skippable yes" in text
    assert "values no; yes  skippable" in english
    assert "values no; yes  translated nein; ja  skippable" in german


def test_questions_are_shown_in_the_language_of_the_reader(open_device):
    """Texts, labels and units are translated, and names and answers are not; readers of other languages get the
    campaign's own texts."""
    device = open_device()
    campaign_id = device.join(in_german()).campaign_id
    german = device.terms(campaign_id, "de-AT").questions
    assert [one.text for one in german] == ["Haben Sie gewählt?", "Wie alt sind Sie?", "Wo wohnen Sie?"]
    others = device.terms(campaign_id, "fr").questions
    assert [one.text for one in others] == [one.text for one in FORM.questions]
    assert [(one.name, one.values) for one in german] == [(one.name, one.values) for one in others]
    assert [one.shown for one in german] == [("nein", "ja"), *(one.values for one in others[1:])]
    assert [one.shown for one in others] == [one.values for one in others]
    assert [one.answers.partition(" Jahre")[1] for one in german] == ["", " Jahre", ""]
    vote, age, _ = questions(device, campaign_id, "de-AT")
    assert (vote.labels, vote.shown, age.unit) == (("no", "yes"), ("nein", "ja"), "Jahre")
    assert questions(device, campaign_id, "fr")[1].unit == "years"
    for wrong, said in (("Gewählt?\nAlt?", "a line for each of the form"), ("Gewählt?\n \nWo?", "not only blanks")):
        with pytest.raises(CampaignError, match=said):
            replace(device.campaign(campaign_id), translations=(replace(GERMAN, question=wrong),))


def test_the_preview_before_consent_is_the_worst_case_of_the_views(member, open_device):
    """Before consent, the previewed posterior and cost of a report are the largest of any view, and the number of
    bytes is the same for all."""
    data = form_campaign()
    views = []
    for view in range(len(MAPS)):
        device, campaign_id, _ = member(data, view)
        views.append(device.preview(campaign_id))
    device = open_device()
    preview = device.preview(device.join(data).campaign_id)
    most = max(views, key=lambda one: one.posterior.after)
    assert len({one.posterior.after for one in views}) > 1
    assert (preview.fits_true, preview.fits_other, preview.posterior) == (
        most.fits_true,
        most.fits_other,
        most.posterior,
    )
    assert preview.cost_nanonats == max(one.cost_nanonats for one in views)
    assert {one.upload_bytes for one in views} == {preview.upload_bytes}


def test_a_form_of_32_questions_is_answered(open_device):
    """The device never lists the inputs of a form: a form of 32 numbers with 1,001 values each can be joined, shown,
    agreed to, previewed, answered, measured by exposure, and forgotten."""
    thousand = NumberRange.of(0, 1000)
    form = Form(tuple(FormQuestion(f"q{place}", "How many?", thousand) for place in range(32)))
    assert form.size == prod([1001] * 32)
    maps = (*(QuestionsMap((place,)) for place in range(30)), QuestionsMap((30, 31)))
    device = open_device()
    for data in (campaign(domain=form, maps=maps), campaign("Again", domain=form, maps=maps)):
        campaign_id = agreed(device, data)
        value = dict.fromkeys(device.terms(campaign_id).asked_names, 7)
        device.preview(campaign_id, value)
        device.answer(campaign_id, value)
        json.dumps(device.terms(campaign_id).as_json())
        assert device.exposure(campaign_id).about(value).nanonats >= NAT
        assert device.exposure(campaign_id).together.nanonats >= NAT
    device.forget()


def test_an_app_gets_the_parts_of_every_question(open_device):
    """An app gets all questions of a form in order, also before consent; each has the kind, the labels, the ends and
    the cells of a question of its own."""
    device = open_device()
    found = questions(device, device.join(form_campaign()).campaign_id)
    assert [(one.name, one.text, one.kind, one.skippable) for one in found] == [
        (one.name, one.text, one.domain.kind, one.skippable) for one in FORM.questions
    ]
    vote, age, home = found
    assert vote.labels == vote.shown == ("no", "yes")
    assert (age.low, age.high, age.counts_as("18")) == ("17", "19", "")
    assert FORM.questions[2].domain.parse(home.cell(0, 1)) == (0.5, 1.5)


def test_the_command_answer_takes_one_argument_for_each_asked_question(tmp_path, monkeypatch, capsys):
    """The command `answer` takes one argument for each asked question. An invalid one is refused with its question and
    the exit code of bad data; several arguments for a single answer are wrong usage."""
    monkeypatch.chdir(tmp_path)
    opens = int(time.time()) - 60
    (tmp_path / "form.campaign").write_bytes(form_campaign(opens=opens, level=NAT // 10))
    (tmp_path / "plain.campaign").write_bytes(campaign(opens=opens, level=NAT // 10))
    (tmp_path / "analyst.pub").write_text(public_line(AUTHOR.public))

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["edge_sdk"])
        capsys.readouterr()
        code = main(["--store", "store", "--json", *words])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else {}, err

    code, terms, _ = run("join", "form.campaign", "--trust", "analyst.pub")
    assert code == 0
    assert "view_description" not in terms
    assert [one["name"] for one in terms["questions"]] == ["vote", "age", "home"]
    form = terms["campaign"][:8]
    assert run("answer", form, "vote=yes")[0] == run("preview", form, "vote=yes")[0] == 1
    consented = run("consent", form)[1]
    names = run("terms", form)[1]["asked_names"]
    assert all(name in consented["view_description"] for name in names)
    typed = {"vote": "vote=yes", "age": "age=18", "home": "home=0.5,1.5"}
    words = [typed[name] for name in names]
    code, _, err = run("answer", form, *typed.values())
    assert code == 65
    assert "not asked" in err
    code, receipt, _ = run("answer", form, *words)
    assert (code, receipt["cost"]) == (0, 0.1)
    assert run("preview", form, *words)[1]["cost"] == 0.0
    assert run("exposure", form, *words)[1]["together"] == 0.1
    plain = run("join", "plain.campaign", "--trust", "analyst.pub")[1]["campaign"][:8]
    assert run("answer", plain, "primary", "none")[0] == 2


def test_an_answer_to_other_questions_gives_the_largest_exposure():
    """If another campaign asked another question, the exposure of an answer is the largest for any answer to that
    question, because the answer does not contain it."""
    quarter = 2**60
    view_channel = ViewChannel(
        QuestionsMap((1,)), Table(tuple((part * quarter, (4 - part) * quarter) for part in (2, 1, 3, 2)))
    )
    other = CampaignExposure(b"other", "Another form", FORM, {view_channel: 1})
    asked = Exposure(FORM, bytes(8), (other,), 0, QuestionsMap((0,)))
    assert asked.value(0).nanonats < asked.together.nanonats == asked.about({"vote": "no"}).nanonats
    own = Exposure(FORM, bytes(8), (other,), 0, QuestionsMap((1,)))
    assert own.about({"age": 17}).nanonats == asked.value(0).nanonats

"""The app's model, tested without a window: each screen shows the device's state; a touch has one effect."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

import edge_sdk.errors
import edge_sdk.transport.download
import protocol.errors
from demo_app import error_messages, texts
from demo_app.content.answer import Review
from demo_app.content.campaign import ANSWERED, LEVELS, NEW, OPEN, OVER, UPCOMING, CampaignSummary, QuestionNames
from demo_app.content.declaration import MAX_TYPED, shares_of, weights_of
from demo_app.error_messages import KEYS, NotAFile, NotTrusted, detail_after, message_of
from demo_app.model import Model
from demo_app.screens.spelling import answered, form_text, input_sentences, spelled
from demo_app.settings import FILE, Settings
from demo_app.worker import Worker
from edge_sdk.errors import StoreDamaged, StoreError, StoreRestored
from edge_sdk.store.sqlite import DATABASE_FILE
from protocol import personal
from protocol.campaign import campaign_id, open_campaign, seal_campaign
from protocol.closing import seal_closing
from protocol.domain import Buckets, Dates, Grid, Items, NumberRange, Values
from protocol.envelope import Kind, read_batch
from protocol.errors import BadData, ClosedEarly, HalftruthError, NotInDomain
from protocol.keys import SigningKey, fingerprint, fingerprint_text, public_line
from protocol.link import Link
from protocol.notions import HighLow
from protocol.texts import Texts
from protocol.views import Coarse, Districts
from tests.altered import flipped
from tests.demo_app.screen import ROOT
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, Clock, Dice, campaign
from tests.edge_sdk.fake_connection import FakeConnection
from tests.edge_sdk.test_form_classes import together
from tests.edge_sdk.test_forms import GERMAN as GERMAN_FORM
from tests.edge_sdk.test_forms import MAPS as FORM_MAPS
from tests.edge_sdk.test_forms import NAMES as FORM_NAMES
from tests.edge_sdk.test_forms import NAT, form_campaign, in_german
from tests.edge_sdk.test_roles import NAMES, made, of_classes, of_declared, of_levels
from tests.edge_sdk.test_transcript import made as of_transcripts
from tests.edge_sdk.test_views import dice_of
from tests.families.blocks import high_low
from tests.test_architecture import sources, tops
from tests.vectors.generate import GERMAN, informed

URL = "https://study.example"
LINE = public_line(AUTHOR.public)
DATA = campaign()
MICRO = 10**6


class FakeStudy(FakeConnection):
    """A replacement for the network: a study that accepts all uploads, and lists its campaigns."""

    def __init__(self, *campaigns: bytes) -> None:
        self.campaigns = {campaign_id(data).hex(): data for data in campaigns}
        self.stored: list[bytes] = []
        self.down = False
        self.has_campaign = True
        self.closing = b""
        self.author = AUTHOR.public
        self.paths: list[str] = []
        self.asked = b""

    def request(self, method: str, path: str, body: bytes = b"", headers: object = None) -> None:
        self.paths.append(path)
        if self.down:
            raise OSError(111, "Connection refused")
        if path == "/v1/campaigns":
            listed = [
                {"id": name, "title": "As listed", "opens": OPENS, "closes": OPENS + 10 * WEEK, "enrolment": "open"}
                for name in self.campaigns
            ]
            self.response = json.dumps({"campaigns": listed}).encode()
        elif path.endswith("/closing"):
            self.response = self.closing
        elif path.endswith("/author"):
            self.response = self.author
        elif path.startswith("/v1/campaigns/"):
            self.response = self.campaigns[path.rpartition("/")[2]]
        elif path == "/v1/counted":
            self.asked += body
            known = b"".join(self.stored)
            reports = [one.encode() in known for one in read_batch(body)]
            self.response = json.dumps({"counted": reports}).encode()
        else:
            self.stored.append(body)
            count = len(list(read_batch(body)))
            said = {
                "digest": hashlib.sha256(body).hexdigest(),
                "envelopes": count,
                "refused": [] if self.has_campaign else list(range(count)),
            }
            self.response = json.dumps(said).encode()


@pytest.fixture
def clock() -> Clock:
    """Return a clock that shows the moment at which the campaigns open."""
    return Clock()


@pytest.fixture
def study() -> FakeStudy:
    """Return a study with one campaign."""
    return FakeStudy(DATA)


@pytest.fixture
def model(tmp_path, clock, study):
    """Return an open model whose person trusts ``AUTHOR``."""
    made = Model(tmp_path / "store", [LINE], clock=clock, urandom=Dice(), opener=study)
    made.open()
    made.lower_caps(lifetime=1000)
    yield made
    made.close()


def joined(model, tmp_path, data=DATA):
    """Let the model join a campaign from a file; return its terms."""
    path = tmp_path / "some.campaign"
    path.write_bytes(data)
    content = model.read(path)
    model.set_address(of(content), URL)
    return content


def of(terms):
    return terms.summary.campaign_id


def test_a_campaign_that_its_author_closed_is_over(model, study, clock):
    """A closing notice that arrives while sending is shown at once. From its time on the campaign is over, and an
    answer is refused with an error message."""
    terms = model.join(model.fetch(URL, model.offers(URL)[0].campaign_id), URL)
    model.consent(of(terms))
    assert model.send().sent == 1
    assert not model.overview().campaigns[0].early
    model.answer(of(terms), "bachelor")
    study.closing = seal_closing(open_campaign(DATA, [AUTHOR.public]), OPENS + 60, AUTHOR)
    assert model.send().sent == 1
    assert (model.overview().campaigns[0].state, model.overview().campaigns[0].early) == (ANSWERED, True)
    clock.now = OPENS + 60
    [campaign] = model.overview().campaigns
    assert (campaign.state, campaign.closes, campaign.next_period) == (OVER, OPENS + 60, None)
    with pytest.raises(ClosedEarly) as refused:
        model.answer(of(terms), "none")
    assert message_of(refused.value).key == "schedule"


def test_the_terms_of_a_campaign_that_closes_early_end_at_the_closing(model):
    """The terms that a person agrees to have the time of the early closing, and count the answers until then."""
    terms = model.join(model.fetch(URL, model.offers(URL)[0].campaign_id), URL)
    assert (terms.terms.ends, terms.answers) == (terms.terms.closes, 10)
    for closes, answers in ((OPENS + WEEK + 1, 2), (OPENS + WEEK, 1), (OPENS - 1, 0)):
        model._device.close_early(seal_closing(open_campaign(DATA, [AUTHOR.public]), closes, AUTHOR))
        found = model.terms(of(terms))
        assert (found.terms.ends, found.answers) == (closes, answers)
    assert found.summary.state == OVER, "it closes before it opens"


def test_an_offer_ends_when_its_campaign_closes_early(model, clock, monkeypatch):
    """An offer ends when its campaign closes early, and is not shown from then on, or at all if it closes before it
    opens."""
    [offer] = model.offers(URL)
    early = replace(offer, closed_early=OPENS + 60)
    monkeypatch.setattr(edge_sdk.transport.download, "fetch_offers", lambda *_: [early])
    assert (offer.ends, [one.ends for one in model.offers(URL)]) == (offer.closes, [OPENS + 60])
    clock.now = OPENS + 60
    assert model.offers(URL) == ()
    clock.now = OPENS - 60
    early = replace(offer, closed_early=OPENS)
    assert model.offers(URL) == ()


def test_a_campaign_is_shown_in_the_persons_language_if_it_is_translated(model, tmp_path):
    """Terms and question are in the app's language if the campaign has it; the answer is the campaign's own label."""
    data = seal_campaign(informed(opens=OPENS, closes=OPENS + WEEK), AUTHOR)
    try:
        texts.use_language("de")
        terms = joined_as_signed(model, tmp_path, data)
        asked = model.consent(of(terms))
    finally:
        texts.use_language("en")
    assert (terms.summary.title, terms.terms.contact) == (GERMAN.title, GERMAN.contact)
    assert terms.terms.shown == asked.questions[0].shown == GERMAN.labels
    assert asked.questions[0].text == GERMAN.question
    assert asked.questions[0].labels == informed().domain.labels
    assert spelled("values", "bachelor", asked.summary.names) == "Bachelor"
    assert spelled("values", "bachelor", model.terms(of(terms)).summary.names) == "bachelor"
    assert model.terms(of(terms)).terms.title == "Highest education"


def test_a_form_is_shown_in_the_persons_language_if_it_is_translated(model, tmp_path):
    """Questions, labels and units of a form are in the app's language if the campaign has it, on every screen;
    the answers are the campaign's own labels."""
    try:
        texts.use_language("de")
        terms = joined(model, tmp_path, in_german())
        asked = model.consent(of(terms)).questions
        lines = tuple(GERMAN_FORM.question.split("\n"))
        assert {one.text for one in asked} < set(lines)
        for listed in (terms.questions, terms.summary.questions.values()):
            assert tuple(one.text for one in listed) == lines
        assert tuple(text for text, _ in model.exposure(of(terms)).questions) == lines
        whole = answered("form", "vote=yes; age=18; home=0.5,1.5", terms.summary)
        assert [answer for _, answer in whole][:2] == ["ja", "18 Jahre"]
    finally:
        texts.use_language("en")
    assert [terms.questions[0].labels, terms.questions[0].shown] == [("no", "yes"), ("nein", "ja")]


def test_a_number_has_its_unit_in_the_persons_language(model, tmp_path):
    """The question and the history show the unit in the person's language."""
    own = open_campaign(campaign(domain=NumberRange.of(17, 90, unit="years")), [AUTHOR.public]).campaign
    german = Texts("de", "Alter", "Wie alt sind Sie?", labels=("Jahre",))
    terms = joined(model, tmp_path, seal_campaign(replace(own, language="en", translations=(german,)), AUTHOR))
    model.consent(of(terms))
    model.answer(of(terms), "40")
    for language, unit in (("de", "Jahre"), ("en", "years")):
        texts.use_language(language)
        assert model.terms(of(terms)).questions[0].unit == unit
        [answers] = model.history().answers
        assert answered(answers.kind, "40", answers.summary) == (("", f"40 {unit}"),)


@pytest.mark.parametrize(
    ("map_", "names", "kept"),
    [
        (Coarse(2), (), "Ce .. De"),
        (Districts(((0, 2), (1, 3)), ("A to B", "C to E")), ("A bis B", "C bis E"), "C bis E"),
    ],
)
def test_groups_of_values_are_named_in_the_persons_language(model, tmp_path, map_, names, kept):
    """If a view asks for a group of values or a district, the history shows its translated name."""
    own = open_campaign(campaign(domain=Values(("a", "b", "c", "d", "e")), maps=(map_,)), [AUTHOR.public]).campaign
    german = Texts("de", "T", "F?", labels=("Ah", "Be", "Ce", "De", "Eh", *names))
    terms = joined(model, tmp_path, seal_campaign(replace(own, language="en", translations=(german,)), AUTHOR))
    model.consent(of(terms))
    model.answer(of(terms), "d")
    try:
        texts.use_language("de")
        [answers] = model.history().answers
        assert [answered(answers.kind, one.label, answers.summary) for one in answers.values] == [(("", kept),)]
        assert answered("values", "d", answers.summary) == (("", "De"),)
    finally:
        texts.use_language("en")
    assert model.history().answers[0].summary.names == {}


def joined_as_signed(model, tmp_path, data):
    """Return the terms of a campaign whose signed bytes contain the address for its reports."""
    (tmp_path / "signed.campaign").write_bytes(data)
    return model.read(tmp_path / "signed.campaign")


def test_every_step_of_a_session_shows_the_state_of_the_device(model, study):
    """In every step of a session (offered, read, agreed, answered, sent, counted, forgotten), the model shows the
    device's state."""
    [offer] = model.offers(URL)
    terms = model.join(model.fetch(URL, offer.campaign_id), URL)
    assert (terms.summary.state, terms.summary.title, terms.within_budget) == (NEW, "Highest education", True)
    assert model.offers(URL) == ()
    asked = model.consent(of(terms))
    assert (asked.summary.state, asked.questions[0].kind) == (OPEN, "values")
    before = model.review(of(terms), "bachelor")
    assert (before.report, before.envelopes) == (None, ())
    assert model.budget().spent == 0
    made = model.answer(of(terms), "bachelor")
    assert (made.fits_true, made.before, made.after, made.cost) == (
        before.fits_true,
        before.before,
        before.after,
        before.cost,
    )
    assert made.summary.state == ANSWERED
    assert [one.kind for one in made.envelopes] == ["enrolment", "report"]
    assert made.report == made.envelopes[1].data
    shown = [b"".join(part.data for part in one.parts) for one in made.envelopes]
    assert sum(map(len, shown)) == made.total <= before.total
    assert model.budget().spent == pytest.approx(made.cost) == pytest.approx(made.after_cost)
    assert (model.overview().waiting, model.outbox().envelopes) == (2, 2)
    delivery = model.send()
    assert (delivery.sent, delivery.left, delivery.reason) == (2, 0, "")
    assert study.stored == [b"".join(shown)]
    [answers] = model.history().answers
    assert ([one.label for one in answers.values], answers.counted) == (["bachelor"], None)
    assert model.counted(answers).counted == (True,)
    spent = model.budget().spent
    overview = model.forget(of(terms))
    assert (overview.campaigns, overview.budget.spent, overview.budget.reserved) == ((), spent, 0)
    assert model.history().answers == ()
    assert {row.title for row in model.history().rows} == {""}


def test_the_shown_envelope_is_the_uploaded_one(model, tmp_path, study):
    """The bytes on the screen are those in the upload, for every answer."""
    for number, value in enumerate(("none", "master")):
        terms = joined(model, tmp_path, campaign(f"Campaign {number}"))
        model.consent(of(terms))
        shown = model.answer(of(terms), value).report
        model.send()
        reports = [one.encode() for one in read_batch(study.stored[-1]) if one.kind is Kind.REPORT]
        assert reports == [shown]


@pytest.mark.parametrize(
    ("domain", "value", "label"),
    [
        (None, "primary", "primary"),
        (Buckets.of([0, 10, 40]), "40", "40"),
        (NumberRange.of(17, 90, unit="years"), "40", "40"),
        (Dates.of("2026-01-01", "2026-12-31", clamps=True), "2027-03-01", "2026-12-31"),
        (Grid(0, 10 * MICRO, 0, 10 * MICRO, 5 * MICRO), "2.5,7.5", "2.5,7.5"),
        (Items(1, ("tea", "milk", "soap")), "milk", "milk"),
    ],
)
def test_every_kind_of_question_is_answered_by_text(model, tmp_path, domain, value, label):
    """A value is a text in every kind of domain, and the history shows its label."""
    terms = joined(model, tmp_path, campaign(domain=domain))
    asked = model.consent(of(terms))
    if asked.questions[0].kind == "grid":
        assert asked.questions[0].cell(0, 1) == value
    review = model.answer(of(terms), value)
    [answers] = model.history().answers
    assert [one.label for one in answers.values] == [label]
    unit = " years" if isinstance(domain, NumberRange) else ""
    for kind, given, summary in ((review.kind, review.value, review.summary), (answers.kind, label, answers.summary)):
        [(_, read)] = answered(kind, given, summary)
        assert read.endswith(unit)
        assert "years" not in read.removesuffix(unit)


def test_a_device_with_a_view_stores_only_the_views_value(model, tmp_path):
    """The map takes any position. The terms name this device's question, in the person's language; the report in words,
    the history and the exposure contain the view's value and nothing finer."""
    grid = Grid(0, 10 * MICRO, 0, 10 * MICRO, MICRO)
    maps = (Coarse(5), Districts(((0, 30), (1, 70)), ("Süden", "Norden")))
    terms = joined(model, tmp_path, campaign(domain=grid, maps=maps, level=10**9 // 2))
    coarse = terms.terms.map == maps[0]
    asked = terms.terms.view_description_in("de")
    assert asked.startswith("Dieses Gerät wird nach dem Bezirk " + ("aus höchstens 5 x 5" if coarse else "gefragt"))
    assert model.consent(of(terms)).questions[0].kind == "grid"
    review = model.answer(of(terms), "7.5,2.5")
    label = "5.5,0.5 .. 9.5,4.5" if coarse else "Norden"
    [answers] = model.history().answers
    assert ([one.label for one in answers.values], review.group, review.input) == ([label], label, label)
    shown = "5.5° north, 0.5° east .. 9.5° north, 4.5° east" if coarse else label
    assert answered(answers.kind, label, answers.summary) == (("", shown),)
    [said] = review.meanings
    assert said.size == (4 if coarse else 2)
    for one in said.labels:
        [(_, read)] = answered(review.kept_kind, one, review.summary)
        assert re.search("° north, .* \\.\\. ", read) if coarse else read == one
    model.answer(of(terms), "9.5,0.5")
    assert [one.times for one in model.history().answers[0].values] == [1]
    assert model.exposure(of(terms)).level == pytest.approx(0.5, abs=1e-6)


MANY = NumberRange.of(20, 90, 10, clamps=True, rounds_randomly=True, unit="Jahre")
NUMBER, ITEM = "Ihre Zahl zählt als ", "Der Bericht und sein Risiko hängen nur von dieser Antwort ab: "
NONE = "Keine (dieses Gerät hat keine Ihrer gewählten Antworten ausgewählt)"


@pytest.mark.parametrize(
    ("domain", "value", "sentences"),
    [
        (MANY, "64.5", {f"{NUMBER}{number} Jahre." for number in (60, 70)}),
        (MANY, "70.0", {""}),
        (NumberRange.of(0, 9, "0.5", clamps=True), "2.7", {f"{NUMBER}2,5."}),
        (Buckets.of([0, 10, 40]), "30", {f"{NUMBER}{number}." for number in (10, 40)}),
        (Dates.of("2026-01-01", "2026-12-31", 7), "2026-01-09", {"Ihr Tag zählt als 8. Januar 2026."}),
        (Dates.of("2026-01-01", "2026-12-31", 7), "2026-01-08", {""}),
        (Items(1, ("tea", "milk", "soap")), "tea;soap", {f"{ITEM}tea.", f"{ITEM}soap."}),
        (Items(1, ("tea", "milk", "soap")), "tea", {""}),
        (Items(1, ("tea", "milk")), "", {f"{ITEM}{NONE}."}),
    ],
)  # fmt: skip
def test_the_report_names_the_input_that_its_figures_are_about(model, tmp_path, domain, value, sentences):
    """If a report is about one item of a set, or about a rounded number or day, the review names this input, before and
    after the report is made, and the history has the same one."""
    terms = joined(model, tmp_path, campaign(domain=domain))
    model.consent(of(terms))
    try:
        texts.use_language("de")
        for review in (model.review(of(terms), value), model.answer(of(terms), value)):
            [sentence] = input_sentences(review.kind, review.value, review.input, review.summary)
            assert sentence in sentences
    finally:
        texts.use_language("en")
    assert [one.label for one in model.history().answers[0].values] == [review.input]


def test_the_review_names_the_inputs_of_a_form():
    """Each rounded number of a form is named; an answer that is not rounded and a skipped question are not."""
    questions = {
        "vote": QuestionNames("Did you vote?", "values", {"yes": "yes"}, ""),
        "age": QuestionNames("How old are you?", "number", {}, "years"),
        "day": QuestionNames("When?", "date", {}, ""),
    }
    summary = CampaignSummary(b"", "", "", OPEN, 0, 0, None, 0, questions=questions)
    value, label = "vote=yes; age=25.4; day=2026-01-09", "vote=yes; age=25; day=2026-01-08"
    assert input_sentences("form", value, label, summary) == (
        "", "Your number counts as 25 years.", "Your day counts as 8 January 2026.",
    )  # fmt: skip
    assert input_sentences("form", *["vote=yes; age=skipped; day=skipped"] * 2, summary) == ("", "", "")


@pytest.mark.parametrize(
    ("domain", "map_", "value", "group"),
    [
        (Grid(51 * MICRO, 53 * MICRO, 20 * MICRO, 22 * MICRO, MICRO // 10), Coarse(5), "52.05,21.05",
         "52,05° Nord, 21,05° Ost .. 52,45° Nord, 21,45° Ost"),
        (NumberRange.of(20, 90, "2.5", clamps=True, unit="Jahre"), Coarse(4), "33", "30 Jahre .. 37,5 Jahre"),
        (NumberRange.of(20, 90, "2.5", clamps=True, unit="Jahre"), Coarse(4), "90", "90 Jahre"),
        (Dates.of("2026-01-01", "2026-12-31", 7), Coarse(4), "2026-02-10", "29. Januar 2026 .. 19. Februar 2026"),
        (NumberRange.of(1, 4, unit="Jahre"), Districts(((0, 2), (1, 2))), "1", "district 1"),
    ],
)  # fmt: skip
def test_the_ends_of_a_group_are_written_in_the_persons_language(model, tmp_path, domain, map_, value, group):
    """If a view asks for a group of places, numbers or days, the review, the report in words and the history show the
    ends of the group as other screens show answers."""
    terms = joined(model, tmp_path, campaign(domain=domain, maps=(map_,)))
    model.consent(of(terms))
    try:
        texts.use_language("de")
        review = model.answer(of(terms), value)
        [answers] = model.history().answers
        for kind, label, summary in (
            (review.kept_kind, review.group, review.summary),
            (answers.kind, answers.values[0].label, answers.summary),
        ):
            assert answered(kind, label, summary) == (("", group),)
    finally:
        texts.use_language("en")


def member(folder, data, view):
    """Return an open model of a device with this view of the form."""
    made = Model(folder, [LINE], clock=Clock(), urandom=dice_of(data, view))
    made.open()
    return made


@pytest.mark.parametrize("view", range(len(FORM_MAPS)))
def test_a_form_is_answered_question_by_question(tmp_path, view):
    """The terms have all questions; the asked ones are named only after consent. Their answers give one text, one
    preview and one report; the history and the exposure show them separately."""
    data = form_campaign()
    model = member(tmp_path / "store", data, view)
    terms = joined(model, tmp_path, data)
    assert [one.name for one in terms.questions] == list(terms.summary.questions) == ["vote", "age", "home"]
    assert (terms.terms.asked_names, model.question(of(terms)).questions) == ((), ())
    content = model.consent(of(terms))
    assert tuple(one.name for one in content.questions) == FORM_NAMES[view]
    typed = {"vote": "yes", "age": "skipped", "home": "0.5,1.5"}
    value = form_text({one.name: typed[one.name] for one in content.questions})
    before = model.review(of(terms), value)
    for wrong in (form_text(typed), value.replace("=", "=not ", 1), "yes"):
        for ask in (model.review, model.answer):
            with pytest.raises(NotInDomain):
                ask(of(terms), wrong)
    assert (model.budget().spent, model.overview().waiting) == (0, 1)
    made = model.answer(of(terms), value)
    assert (made.fits_true, made.after, made.total) == (before.fits_true, before.after, before.total)
    shown = {"vote": "yes", "age": "Left out", "home": "0.5° north, 1.5° east"}
    answers = tuple((one.text, shown[one.name]) for one in content.questions)
    assert answered(made.kind, made.value, made.summary) == answers
    [history] = model.history().answers
    assert answered(history.kind, history.values[0].label, history.summary) == answers
    of_text = dict(model.exposure(of(terms)).questions)
    assert [of_text[one.text] > 0 for one in terms.questions] == [
        one.name in FORM_NAMES[view] for one in terms.questions
    ]
    model.close()


@pytest.mark.parametrize("view", range(len(FORM_MAPS)))
def test_a_form_with_classes_is_answered_as_a_class(tmp_path, view):
    """The person picks a class and then gets the questions of their phone; an answer has the cost of the class."""
    data = together(NAT, NAT // 2)
    model = member(tmp_path / "store", data, view)
    terms = joined(model, tmp_path, data)
    assert [one.name for one in terms.terms.classes] == ["members", "guests"]
    with pytest.raises(edge_sdk.errors.ConsentMissing):
        model.consent(of(terms))
    content = model.consent(of(terms), as_class="guests")
    assert tuple(one.name for one in content.questions) == FORM_NAMES[view]
    typed = {"vote": "yes", "age": "skipped", "home": "0.5,1.5"}
    made = model.answer(of(terms), form_text({one.name: typed[one.name] for one in content.questions}))
    assert 0.49 < model.budget().spent <= 0.5
    [history] = model.history().answers
    assert history.values[0].label == made.value
    model.close()


def test_the_bytes_sent_for_a_form_do_not_depend_on_the_answer(tmp_path):
    """In every view, a device is asked the same questions and sends the same number of bytes, whether the person
    answers a question or leaves it out."""
    data, sizes = form_campaign(), set()
    typed = ({"vote": "yes", "age": "skipped", "home": "0.5,1.5"}, {"vote": "no", "age": "18", "home": "0,0"})
    for view, names in enumerate(FORM_NAMES):
        for number, answers in enumerate(typed):
            model = member(tmp_path / f"store {view} {number}", data, view)
            terms = joined(model, tmp_path, data)
            model.consent(of(terms))
            value = form_text({name: answers[name] for name in names})
            made = (model.review(of(terms), value).total, len(model.answer(of(terms), value).report))
            assert tuple(one.name for one in model.question(of(terms)).questions) == names
            sizes.add(made)
            model.close()
    assert len(sizes) == 1


def test_a_value_outside_the_domain_is_not_charged(model, tmp_path):
    """A value outside the domain is refused without a charge, and the error message does not repeat it."""
    terms = joined(model, tmp_path)
    model.consent(of(terms))
    for ask in (model.review, model.answer):
        with pytest.raises(NotInDomain) as refused:
            ask(of(terms), "nonsense")
        assert message_of(refused.value).key == "domain"
        assert "nonsense" not in message_of(refused.value).detail
    assert model.budget().spent == 0


def test_a_campaign_shows_its_state(model, tmp_path, clock):
    """A campaign is new, upcoming, open, answered or over, computed from clock, consent and answers; campaigns that
    need an action come first."""
    cases = {"Over": OPENS - WEEK, "Later": OPENS + WEEK, "Open": OPENS, "New": OPENS, "Answered": OPENS}
    ids = {}
    for title, opens in cases.items():
        clock.now = opens
        ids[title] = of(joined(model, tmp_path, campaign(title, opens=opens, periods=1 if title == "Over" else 10)))
        if title != "New":
            model.consent(ids[title])
    clock.now = OPENS
    model.answer(ids["Answered"], "none")
    shown = model.overview().campaigns
    assert [(card.title, card.state) for card in shown] == [
        ("Open", OPEN),
        ("New", NEW),
        ("Answered", ANSWERED),
        ("Later", UPCOMING),
        ("Over", OVER),
    ]
    following = {campaign.title: campaign.next_period for campaign in shown}
    assert following == {
        "Open": OPENS + WEEK,
        "New": OPENS + WEEK,
        "Answered": OPENS + WEEK,
        "Later": OPENS + WEEK,
        "Over": None,
    }
    clock.now = OPENS + 9 * WEEK
    assert {campaign.title: campaign.next_period for campaign in model.overview().campaigns}["Answered"] is None


def test_the_terms_show_the_worst_case_and_the_remaining_budget(model, tmp_path):
    """The worst case is shown beside the remaining budget, and a campaign that does not fit is marked before
    consent."""
    terms = joined(model, tmp_path)
    assert (terms.answers, terms.author) == (10, fingerprint_text(fingerprint(AUTHOR.public)))
    # Each of the six values is drawn once.
    assert terms.terms.worst_case == pytest.approx(6 * terms.terms.cost)
    assert terms.terms.promise.factor == Fraction(28, 10)
    assert terms.within_budget
    model.lower_caps(lifetime=5.0)
    assert not model.terms(of(terms)).within_budget


def test_a_class_is_named_and_a_prior_declared(model, tmp_path):
    """A person agrees to a campaign with classes as a member of one class; if a prior is needed, the uniform one is
    offered first."""
    terms = joined(model, tmp_path, of_classes())
    assert [one.name for one in terms.terms.classes] == ["workers", "students", "others"]
    model.consent(of(terms), "students")
    assert model.terms(of(terms)).terms.member_of == "students"
    declaring = joined(model, tmp_path, of_declared())
    assert declaring.terms.declares_prior
    assert declaring.statement.is_uniform
    assert not declaring.statement.declared_before
    assert model.consent(of(declaring), prior=declaring.statement.prior).summary.state == OPEN


def test_a_declaration_is_previewed_and_survives_forgetting(model, tmp_path):
    """The preview of a declaration has its posteriors, and the worst case that is then reserved; the declaration holds
    after forgetting, is shown, and cannot be typed again."""
    terms = joined(model, tmp_path, of_declared())
    model.lower_caps(lifetime=30.0)
    weights = weights_of(dict.fromkeys(LABELS, "") | {"none": "70"})
    statement = model.statement(of(terms), weights)
    assert [one.before for one in statement.values] == [Fraction(7, 10)] + [Fraction(6, 100)] * 5
    assert all(one.lowest < one.before < one.highest for one in statement.values)
    assert (statement.declared_before, statement.can_be_typed, statement.is_uniform, statement.personal) == (
        False,
        True,
        False,
        False,
    )
    stricter = model.statement(of(terms), weights, 0.25)
    assert (stricter.level, stricter.personal) == (0.25, True)
    assert stricter.worst_case < statement.worst_case
    assert statement.worst_case != terms.statement.worst_case
    assert model.budget().reserved == 0
    model.consent(of(terms), prior=statement.prior)
    assert model.budget().reserved == pytest.approx(statement.worst_case)
    model.forget(of(terms))
    again = joined(model, tmp_path, of_declared())
    assert again.statement.declared_before
    assert not again.statement.can_be_typed
    assert again.statement.values == statement.values
    assert again.random_choice is None
    assert model.consent(of(again), prior=again.statement.prior).summary.state == OPEN


def test_the_choice_of_a_prior_shows_the_earlier_answers_it_uses(model, tmp_path):
    """The choice of a prior is offered with the number of earlier answers on which it depends and the probability of
    the nearest prior; it charges the shown level at once."""
    other = of(joined(model, tmp_path, campaign("The same, asked by others")))
    model.consent(other)
    model.answer(other, "none")
    terms, spent = joined(model, tmp_path, of_declared()), model.budget().spent
    assert terms.random_choice.known == 1
    for one in terms.random_choice.strengths:
        assert one.share == pytest.approx(1 / (1 + 6 * 2.718281828**-one.level))
    level = terms.random_choice.strengths[0].level
    assert model.choose(of(terms), level).member_of is None
    assert model.budget().spent == pytest.approx(spent + level)
    assert model.terms(of(terms)).statement.declared_before


@pytest.mark.parametrize(
    ("typed", "wrong", "each"),
    [
        (("", "", ""), "", Fraction(100, 3)),
        (("70", "", ""), "", 15),
        (("12,5", "37.5 %", "50"), "", 0),
        (("50", "50", ""), "much", 0),
        (("50", "51", "1"), "much", 0),
        (("50", "40", "9.99"), "little", 0),
        (("0", "", ""), "number", 0),
        (("-1", "", ""), "number", 0),
        (("0.001", "", ""), "number", 0),
        (("many", "", ""), "number", 0),
        (("nan", "", ""), "number", 0),
        (("1e9", "", ""), "number", 0),
    ],
)
def test_typed_shares_are_weights_or_refused(typed, wrong, each):
    """Weights are exactly the typed shares, and empty fields share the rest; invalid shares are refused with one of
    three reasons."""
    by_label = dict(zip("abc", typed, strict=True))
    found = shares_of(by_label)
    assert (found.wrong, found.blank_share) == (wrong, each)
    if wrong:
        with pytest.raises(ValueError, match="100 percent"):
            weights_of(by_label)
        return
    weights = weights_of(by_label)
    whole = sum(weights.values())
    for label, text in by_label.items():
        share = Fraction(text.strip(" %").replace(",", ".")) if text else each
        assert Fraction(100 * weights[label], whole) == share
    assert personal.canonical_prior(list(weights.values()))


def test_the_largest_typed_prior_can_be_declared():
    """A prior of ``MAX_TYPED`` answers can be declared if no probability, one, or all but one are left empty."""
    for free in (0, 1, MAX_TYPED - 1):
        typed = {str(place): "" if place < free else "0.01" for place in range(MAX_TYPED)}
        if not free:
            typed["0"] = str((10_000 - (MAX_TYPED - 1)) / 100)
        personal.require_declared(personal.canonical_prior(list(weights_of(typed).values())))


def test_the_choice_of_a_class_shows_the_earlier_answers_it_uses(model, tmp_path):
    """The choice of a class is offered with its worst case, the number of earlier answers on which it depends, without
    coarsened ones, and the probability of the nearest class; it charges the shown level at once."""
    terms = joined(model, tmp_path, of_classes())
    assert terms.random_choice.known == 0
    coarse = campaign("The same, coarsened", maps=[Coarse(2)])
    for data in (campaign("The same, asked by others"), coarse):
        other = of(joined(model, tmp_path, data))
        model.consent(other)
        model.answer(other, "none")
    spent = model.budget().spent
    choice = model.terms(of(terms)).random_choice
    assert choice.known == 1
    assert [one.level for one in choice.strengths] == list(LEVELS)
    for one in choice.strengths:
        assert one.worst_case == pytest.approx(terms.terms.worst_case + one.level)
        assert one.share == pytest.approx(1 / (1 + 2 * 2.718281828**-one.level))
    asked = model.choose(of(terms), choice.strengths[1].level)
    assert asked.member_of in NAMES
    assert asked.summary.state == OPEN
    assert model.budget().spent == pytest.approx(spent + LEVELS[1])
    assert model.terms(of(terms)).terms.member_of == asked.member_of


def test_only_choices_under_the_caps_are_offered(model, tmp_path):
    """Of the levels at which a class can be chosen, only those that fit under the caps are offered."""
    terms = joined(model, tmp_path, of_classes())
    model.lower_caps(lifetime=terms.terms.worst_case + 1.2)
    assert [one.level for one in model.terms(of(terms)).random_choice.strengths] == [0.5, 1.0]
    model.lower_caps(lifetime=0.1)
    assert model.terms(of(terms)).random_choice.strengths == ()
    assert model.budget().spent == 0


@pytest.mark.parametrize("data", [DATA, of_levels()])
def test_no_class_is_chosen_without_priors(model, tmp_path, data):
    """For a campaign without classes, or whose classes have no priors, no class can be chosen, and viewing the screen
    costs nothing."""
    terms = joined(model, tmp_path, data)
    assert terms.random_choice is None
    assert (terms.summary.state, model.budget().spent, model.budget().reserved) == (NEW, 0, 0)


@pytest.mark.parametrize(("data", "each"), [(DATA, False), (of_transcripts(), True)], ids=["memo", "transcript"])
def test_the_terms_say_whether_the_same_answer_costs_again(model, tmp_path, clock, data, each):
    """The terms say that every report is charged if and only if the same answer costs again in the next period.
    Otherwise the output is repeated, and the exposure says that another output shows a change."""
    terms = joined(model, tmp_path, data)
    assert terms.each_costs is each
    model.consent(of(terms))
    first = model.answer(of(terms), "bachelor")
    clock.now += WEEK
    assert model.answer(of(terms), "bachelor").cost == (first.cost if each else 0)
    assert model.exposure(of(terms)).repeats is not each


def test_exposures_of_campaigns_about_the_same_values_add_up(model, tmp_path):
    """The exposures of two campaigns about the same values add up, another question's does not, and forgotten campaigns
    are listed separately."""
    ids = {}
    for title, options in {"One": {}, "Two": {"level": 5 * 10**8}, "Hours": {"domain": Buckets.of([0, 10])}}.items():
        ids[title] = of(joined(model, tmp_path, campaign(title, **options)))
        model.consent(ids[title])
    exposure = model.exposure(ids["One"])
    assert (exposure.level, exposure.sure, [one.draws for one in exposure.drawn]) == (0, 0.5, [0, 0])
    model.answer(ids["One"], "none")
    model.answer(ids["Two"], "none")
    model.answer(ids["Hours"], "5")
    exposure = model.exposure(ids["One"])
    assert [(one.title, one.draws) for one in exposure.drawn] == [("One", 1), ("Two", 1)]
    assert [one.level for one in exposure.drawn] == pytest.approx([1.0, 0.5], abs=1e-6)
    assert exposure.level == pytest.approx(1.5, abs=1e-6)
    assert exposure.sure == pytest.approx(0.8176, abs=1e-4)
    assert exposure.forgotten == 0
    model.forget(ids["Two"])
    exposure = model.exposure(ids["One"])
    assert (exposure.level, exposure.forgotten) == (pytest.approx(1.0, abs=1e-6), pytest.approx(0.5, abs=1e-6))
    for secret in (repr(exposure.level), repr(exposure.sure)):
        assert secret not in repr(exposure)


def test_an_unbounded_exposure_is_shown(model, tmp_path):
    """If one report may exclude an answer, the exposure has no level, and an observer may become certain."""
    notion, channel = HighLow(10**9, 6, (0, 3)), high_low(10**9, [1, 0, 0, 1, 0, 0])
    terms = joined(model, tmp_path, made(notion=notion, channel=channel))
    model.consent(of(terms))
    model.answer(of(terms), "none")
    exposure = model.exposure(of(terms))
    assert (exposure.level, exposure.sure, exposure.drawn[0].level) == (None, 1.0, None)


def test_a_cap_is_lowered_and_never_raised(model):
    """A lower cap is accepted and a higher one is not; the gauge shows the lowest cap of each kind."""
    assert model.lower_caps(lifetime=6.0).cap == 6
    assert model.lower_caps(lifetime=7.0).cap == 6
    budget = model.lower_caps(per_campaign=2.5, window=(7 * 86_400, 1.5))
    assert (budget.cap, budget.per_campaign, budget.windows) == (6, 2.5, {7 * 86_400: 1.5})
    budget = model.lower_caps(window=(30 * 86_400, 4.0))
    assert list(budget.windows.items()) == [(7 * 86_400, 1.5), (30 * 86_400, 4)]
    assert model.lower_caps(window=(30 * 86_400 + 9, 3.0)).windows == {7 * 86_400: 1.5, 30 * 86_400: 3}
    with pytest.raises(ValueError, match="cap"):
        model.lower_caps(lifetime=-1)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5_400, "90 minutes"), (3_600, "one hour"), (86_400, "24 hours"), (90_000, "24 hours"), (190_000, "2 days")],
)
def test_the_window_of_a_cap_is_never_shown_longer_than_it_is(model, seconds, words):
    """A cap holds for every time within its window, so the shown time is the window or a shorter one."""
    budget = model.lower_caps(window=(seconds, 1.5))
    [shown] = budget.windows
    assert shown <= seconds
    assert texts.span(shown) == words


def test_reports_wait_until_the_study_acknowledges_them(model, tmp_path, study, clock):
    """If a study is down, the queue stays unchanged and shows the time of the next attempt, at which it is sent."""
    terms = joined(model, tmp_path)
    model.consent(of(terms))
    model.answer(of(terms), "none")
    study.down = True
    failed = model.send()
    assert (failed.sent, failed.left, failed.refused) == (0, 2, False)
    assert failed.next_attempt >= clock.now
    assert "study.example" in failed.reason
    [upload] = model.outbox().uploads
    assert (upload.envelopes, upload.title) == (2, "Highest education")
    study.down = False
    clock.now = failed.next_attempt
    assert model.outbox().uploads[0].next_attempt is None
    assert model.send().sent == 2


def test_opening_another_studys_page_sends_nothing_there(tmp_path, clock):
    """Reports of campaigns from two studies' pages each go to their own study, independently of which page was opened
    last."""
    other = campaign("Another study")
    studies = {"one.example": FakeStudy(DATA), "other.example": FakeStudy(other)}
    model = Model(tmp_path / "store", [LINE], clock=clock, opener=lambda to: studies[to.host])
    model.open()
    model.lower_caps(lifetime=1000)
    for host, study in studies.items():
        [offer] = model.offers(f"https://{host}")
        model.join(model.fetch(f"https://{host}", offer.campaign_id), f"https://{host}")
        model.consent(offer.campaign_id)
        model.answer(offer.campaign_id, "none")
        assert not study.stored
    # The offers of the other study are read last.
    model.offers("https://other.example")
    assert model.send().sent == 4
    for study in studies.values():
        [named] = study.campaigns
        sealed = list(read_batch(b"".join(study.stored)))
        assert len(sealed) == 2
        assert all(bytes.fromhex(named) in one.unverified for one in sealed)
    for answers in model.history().answers:
        assert model.counted(answers).counted == (True,), "a study was asked about a report of another study"
    model.close()


def test_no_study_is_asked_about_a_campaign_without_an_address(model, tmp_path, study):
    """The history offers no check of reports to a campaign without an address, and no study is asked about them."""
    terms = joined_as_signed(model, tmp_path, DATA)
    model.consent(of(terms))
    model.answer(of(terms), "none")
    model.export(tmp_path / "out.htr", of(terms))
    [answers] = model.history().answers
    assert (answers.addresses, answers.askable) == ((), False)
    assert model.counted(answers) == answers
    assert study.paths == []


def test_no_study_is_asked_about_a_report_that_waits(model, tmp_path, study):
    """A check whether reports were counted does not send a report that waits in the outbox."""
    terms = joined(model, tmp_path, campaign(answers=2))
    model.consent(of(terms))
    model.answer(of(terms), "none")
    [answers] = model.history().answers
    assert (answers.addresses, answers.askable) == ((URL,), False)
    assert (model.counted(answers).counted, study.paths) == ((False,), [])
    model.send()
    waits = model.answer(of(terms), "bachelor").report
    [answers] = model.history().answers
    assert [(value.label, value.waits) for value in answers.values] == [("bachelor", True), ("none", False)]
    assert answers.askable
    assert model.counted(answers).counted == (False, True)
    assert waits not in study.asked


def test_the_outbox_shows_why_envelopes_stay(model, tmp_path, study, clock):
    """If a study does not have the campaign, or the campaign has no address, the envelopes stay, and the outbox says
    why."""
    first = joined(model, tmp_path)
    path = tmp_path / "other.campaign"
    path.write_bytes(campaign("Carried by hand"))
    second = model.read(path)
    for terms in (first, second):
        model.consent(of(terms))
    study.has_campaign = False
    delivery = model.send()
    assert (delivery.sent, delivery.left, delivery.refused) == (0, 2, False)
    assert "does not have this campaign" in delivery.reason
    assert "no address" in delivery.reason
    ours, theirs = model.outbox().uploads
    assert (ours.unknown_campaign, ours.addresses, theirs.unknown_campaign, theirs.addresses) == (
        True,
        (URL,),
        False,
        (),
    )
    study.has_campaign, clock.now = True, delivery.next_attempt
    assert (model.send().sent, len(model.outbox().uploads)) == (1, 1)
    assert model.set_address(of(second), URL).uploads[0].addresses == (URL,)
    assert model.export(tmp_path / "out.htr", of(second)) == 1


@pytest.mark.parametrize(("status", "stage", "of_code"), [(400, "envelope", False), (403, "code", True)])
def test_the_outbox_names_the_code_only_if_the_study_refused_it(model, tmp_path, status, stage, of_code):
    """If the study refused the envelopes, the outbox says whether it refused them or the person's code."""
    campaign_id = of(joined(model, tmp_path, campaign(enrolment="enrolled")))
    model._device.present_code(campaign_id, "x7Kq")
    model.consent(campaign_id)

    class Refusing(FakeConnection):
        def request(self, *_: object) -> None:
            self.status, self.response = status, json.dumps({"error": "no", "stage": stage}).encode()

    model._device.outbox.send(opener=Refusing())
    [upload] = model.outbox().uploads
    assert (upload.refused, upload.code_refused) == (True, of_code)


def test_a_home_folder_that_does_not_exist_is_no_mistake_of_the_program(model, tmp_path):
    """A typed name that begins with the home folder of an unknown user is refused as a name of no file."""
    campaign_id = of(joined(model, tmp_path))
    model.consent(campaign_id)
    with pytest.raises(NotAFile):
        model.read("~no such user/some.campaign")
    for save in (model.export, model.save_enrolment):
        with pytest.raises(StoreError, match="cannot write ~no such user"):
            save("~no such user/file", campaign_id)


def test_an_enrolment_is_saved_as_a_new_file(model, tmp_path, clock):
    """The outbox offers the enrolment of every campaign for enrolled devices, from consent until its end and unless a
    code waits to be redeemed. The file contains the enrolment, and no existing file is overwritten."""
    members = of(joined(model, tmp_path, campaign("Members", enrolment="enrolled")))
    coded = of(joined(model, tmp_path, campaign("Card", enrolment="enrolled")))
    assert model.outbox().enrolments == ()
    model._device.present_code(coded, "x7Kq")
    for one in (of(joined(model, tmp_path)), members, coded):
        model.consent(one)
    assert model.outbox().enrolments == ((members, "Members"),)
    model.save_enrolment(tmp_path / "device.enrolment", members)
    [enrolment] = read_batch((tmp_path / "device.enrolment").read_bytes())
    assert enrolment.kind is Kind.ENROLMENT
    assert model._device.enrolment(members) == enrolment.encode()
    for place, why in (("device.enrolment", "is not overwritten"), ("missing/device.enrolment", "cannot write")):
        with pytest.raises(StoreError, match=why):
            model.save_enrolment(tmp_path / place, members)
    model._device.close_early(seal_closing(model._device.records.campaigns.find(members).signed, OPENS + 60, AUTHOR))
    assert model.outbox().enrolments == ((members, "Members"),)
    clock.now = OPENS + 60
    assert model.outbox().enrolments == ()


def test_only_campaigns_of_added_authors_can_be_joined(tmp_path, clock, study):
    """Without its author's key a campaign is refused, and the key's id is shown; once the person adds the key, it can
    be joined, and it stays joined if the author is removed."""
    model = Model(tmp_path / "store", clock=clock, opener=study)
    model.open()
    with pytest.raises(NotTrusted, match=texts.spaced_fingerprint(fingerprint_text(AUTHOR.id)[:10])) as refused:
        model.join(model.fetch(URL, campaign_id(DATA)))
    assert message_of(refused.value).remedy == "authors"
    other = public_line(SigningKey(bytes(32)).public)
    stranger = SigningKey(bytes(32)).public
    assert [(author.public, author.name) for author in model.trust(other)] == [(stranger, "")]
    with pytest.raises(NotTrusted):
        model.join(model.fetch(URL, campaign_id(DATA)))
    trusted = model.trust(f"  {LINE.strip()} Town library\n")
    assert [(author.name, author.bundled) for author in trusted] == [("", False), ("Town library", False)]
    terms = model.join(model.fetch(URL, campaign_id(DATA)))
    assert terms.terms.author_name == "Town library"
    assert [author.public for author in model.distrust(AUTHOR.public)] == [stranger]
    assert model.terms(of(terms)).summary.state == NEW
    with pytest.raises(BadData) as wrong:
        model.trust("no key")
    assert message_of(wrong.value).key == "key"
    model.close()


def test_a_link_leads_to_the_terms_of_its_campaign(tmp_path, clock, study):
    """A person without trusted authors sees host and key before any request, and joins by link; the author is
    trusted for that campaign only, until the person decides otherwise."""
    text = str(Link(URL, campaign_id(DATA), fingerprint(AUTHOR.public), for_app=True))
    with contextlib.closing(Model(tmp_path / "store", clock=clock, opener=study)) as model:
        model.open()
        link = model.link(f" {text}\n")
        assert (link.text, link.host, link.trusted, link.name) == (text, "study.example", False, "")
        assert link.fingerprint == fingerprint_text(fingerprint(AUTHOR.public))
        assert study.paths == []
        terms = model.accept(model.follow(link.text))
        assert (terms.author, terms.trusted, model.authors()) == (link.fingerprint, False, ())
        with pytest.raises(NotTrusted):
            model.join(campaign("Another"))
        terms = model.trust_author_of(of(terms), "Town library")
        assert (terms.trusted, terms.terms.author_name) == (True, "Town library")
        assert (model.link(text).name, model.link(text).trusted) == ("Town library", True)
        model.join(campaign("Another"))


@pytest.mark.parametrize(
    ("spoil", "key"),
    [
        ({"author": SigningKey(bytes(32)).public}, "invitation"),
        ({"status": 404}, "absent"),
        ({"status": 500}, "answer"),
        ({"down": True}, "answer"),
    ],
)
def test_a_link_that_cannot_be_followed_is_an_error_message(tmp_path, clock, study, spoil, key):
    """A link with another key, to a campaign that the study does not have, or to a study that fails, leads to its own
    message, and nothing is stored."""
    for name, value in spoil.items():
        setattr(study, name, value)
    with contextlib.closing(Model(tmp_path / "store", clock=clock, opener=study)) as model:
        model.open()
        with pytest.raises(HalftruthError) as refused:
            model.follow(str(Link(URL, campaign_id(DATA), fingerprint(AUTHOR.public))))
        assert message_of(refused.value).key == key
        with pytest.raises(HalftruthError) as refused:
            model.link("https://study.example")
        assert message_of(refused.value).key == "link"
        assert model.overview().campaigns == ()


def test_the_key_in_the_app_is_trusted_and_cannot_be_removed(tmp_path, clock):
    """Campaigns of an author whose key is part of the app can be joined; the key is shown as part of the app and cannot
    be removed."""
    model = Model(tmp_path / "store", [LINE], clock=clock)
    model.open()
    assert [author.bundled for author in model.authors()] == [True]
    joined(model, tmp_path)
    assert [author.bundled for author in model.distrust(AUTHOR.public)] == [True]
    model.close()


@pytest.mark.parametrize("name", ["", "missing.campaign", "a\0b", "."])
def test_a_file_that_cannot_be_read_has_an_error_message(model, tmp_path, name):
    """If a path does not lead to a readable file, the person gets an error message."""
    with pytest.raises(NotAFile) as refused:
        model.read(tmp_path / name)
    assert message_of(refused.value).key == "file"


def test_a_file_that_is_not_a_campaign_is_refused(model, tmp_path):
    """A file with other content, or a campaign with one bit flipped, is refused as bad data."""
    for data in (b"", b"hello", flipped(DATA)):
        with pytest.raises(BadData) as refused:
            joined(model, tmp_path, data)
        assert message_of(refused.value).key in ("data", "signature")
    assert model.overview().campaigns == ()


def test_every_error_of_the_sdk_has_an_error_message():
    """Each class of error of the SDK, the protocol and the app leads to a message other than the unexpected one."""
    known = {
        kind
        for module in (edge_sdk.errors, edge_sdk.transport.download, protocol.errors, error_messages)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == module.__name__
    }
    abstract = {"HalftruthError", "NotYet"}
    for kind in known:
        if kind.__name__ not in abstract:
            assert message_of(kind("why")).key != error_messages.UNEXPECTED, kind
    named = {kind.__name__ for kind in known}
    assert set(KEYS) <= named


def test_an_unexpected_error_shows_only_its_class_and_line():
    """An unexpected error is shown by its class and line only, because its text might contain an answer."""
    try:
        int("a person's answer")
    except ValueError as error:
        message = message_of(error)
    assert (message.key, message.remedy) == (error_messages.UNEXPECTED, "")
    assert re.fullmatch(r"ValueError, test_model\.py \d+", message.detail)


def test_no_repr_of_a_screen_contains_an_answer(model, tmp_path):
    """No repr of a screen's content contains an answer, its report or its cost."""
    terms = joined(model, tmp_path)
    model.consent(of(terms))
    shown = model.answer(of(terms), "doctorate")
    for text in map(repr, (shown, model.history())):
        assert "doctorate" not in text
        assert shown.report.hex() not in text
        assert repr(shown.cost) not in text
    assert isinstance(shown, Review)


# Damaged and restored stores


def test_a_store_that_was_copied_back_is_adopted_or_not_used(tmp_path, clock, study):
    """An older copy of the folder is refused with an offer to continue; continuing counts the reserved amount as
    spent."""
    place, copy = tmp_path / "store", tmp_path / "copy"
    model = Model(place, [LINE], clock=clock, opener=study)
    model.open()
    model.lower_caps(lifetime=1000)
    terms = joined(model, tmp_path)
    model.consent(of(terms))
    model.close()
    shutil.copytree(place, copy)
    model.open()
    model.answer(of(terms), "none")
    reserved = model.budget().reserved + model.budget().spent
    model.close()
    shutil.rmtree(place)
    copy.rename(place)
    with pytest.raises(StoreRestored) as refused:
        model.open()
    assert (message_of(refused.value).key, message_of(refused.value).remedy) == ("restored", "adopt")
    assert not model.is_open
    model.adopt()
    budget = model.budget()
    assert (model.overview().campaigns, budget.spent, budget.reserved) == ((), pytest.approx(reserved), 0)
    model.close()


def test_a_store_that_is_damaged_is_adopted_or_not_used(tmp_path, clock):
    """A file that is not a database is refused with an offer to continue; continuing begins without campaigns and
    spends nothing."""
    model = Model(tmp_path / "store", [LINE], clock=clock)
    model.open()
    joined(model, tmp_path)
    model.close()
    (tmp_path / "store" / DATABASE_FILE).write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreDamaged) as refused:
        model.open()
    assert message_of(refused.value).remedy == "adopt"
    model.adopt()
    assert (model.overview().campaigns, model.budget().spent) == ((), 0)
    model.close()


# Settings


def test_settings_are_loaded_again(tmp_path):
    """Saved settings are loaded; without a file, all settings have their defaults."""
    assert Settings.load(tmp_path) == Settings()
    chosen = Settings("de", "dark")
    chosen.save(tmp_path / "made")
    assert Settings.load(tmp_path / "made") == chosen
    assert [path.name for path in (tmp_path / "made").iterdir()] == [FILE]


@pytest.mark.parametrize(
    "saved", [b"", b"{", b"[]", b"\xff", b'{"language": 1, "palette": "pink", "other": 1}', b"[" * 10**5]
)
def test_invalid_settings_are_ignored(tmp_path, saved):
    """A settings file with an invalid format is ignored: all settings have their defaults."""
    (tmp_path / FILE).write_bytes(saved)
    assert Settings.load(tmp_path) == Settings()


# The worker


def test_tasks_run_in_order_in_one_other_thread():
    """Tasks run one after another in a thread that is not the caller's, and results are delivered through the caller's
    function."""
    import queue
    import threading

    handed: queue.Queue = queue.Queue()
    worker = Worker(handed.put)
    threads, results = set(), []

    def work(number):
        threads.add(threading.get_ident())
        if number % 3 == 0:
            raise ValueError(number)
        return number

    for number in range(30):
        worker.ask(lambda number=number: work(number), results.append, lambda error: results.append(-error.args[0]))
    for _ in range(30):
        handed.get(timeout=10)()
    worker.end(lambda: threads.add(threading.get_ident()))
    assert results == [-number if number % 3 == 0 else number for number in range(30)]
    assert len(threads) == 1
    assert threads != {threading.get_ident()}


def test_the_end_drops_waiting_tasks_and_closes_last():
    """At the end, the running task is finished, waiting tasks are dropped, the closing task runs last, and no result is
    delivered."""
    import threading

    begun, go, done, handed = threading.Event(), threading.Event(), [], []
    worker = Worker(handed.append)

    def first():
        begun.set()
        go.wait(10)
        done.append("first")

    worker.ask(first, done.append, done.append)
    worker.ask(lambda: done.append("second"), done.append, done.append)
    begun.wait(10)
    threading.Timer(0.05, go.set).start()
    worker.end(lambda: done.append("last"))
    worker.end(lambda: done.append("again"))
    assert done == ["first", "last"]
    assert handed == []


# Imported modules


def test_the_model_imports_no_kivy_and_shows_its_first_screen_without_a_campaign(tmp_path):
    """The first screen of a new device needs neither Kivy nor the network nor a campaign's audit."""
    program = (
        "import sys; from demo_app.model import Model; model = Model(sys.argv[1]); model.open(); model.overview()\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('kivy', 'ssl', 'numpy', 'aggregator')\n"
        "    or name in ('protocol.campaign', 'edge_sdk.transport.upload')))"
    )
    run = [sys.executable, "-c", program, tmp_path / "store"]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_only_the_named_files_import_kivy():
    """Only the app, its frame, its starter, its screens, its widgets, and two named files import Kivy."""
    seen = {"__main__.py", "main.py", "app.py", "shell.py", "screens", "widgets", "coast.py", "idle_gc.py"}
    for path in sources("demo_app"):
        if not seen & set(path.relative_to(ROOT / "demo_app").parts):
            assert "kivy" not in tops(path), path


def test_an_english_text_is_announced_once():
    """An error's English text is announced, unless the text before it ends with a colon; an empty text is not."""
    texts.use_language("en")
    assert detail_after("It failed.", "disk full") == "For somebody who helps you: disk full"
    assert detail_after("It failed. The reason:", "disk full") == "disk full"
    assert detail_after("It failed.", "") == ""

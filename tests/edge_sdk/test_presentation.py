"""The state that an app displays: it equals the device's own state, and reading it changes nothing."""

from __future__ import annotations

import pytest

from edge_sdk.presentation import (
    AnswerChoices,
    answers_left,
    can_choose_class,
    claimed_signer,
    fingerprint_of,
    given_answers,
    named_author,
    questions,
    uniform_prior,
)
from edge_sdk.transport.waiting import waiting_by_campaign
from protocol.domain import Buckets, Dates, Grid, Items, NumberRange, OrderedValues
from protocol.errors import BadData, CampaignError, KeyRefused, NotInDomain
from protocol.keys import AuthorKey, SigningKey, public_line
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign
from tests.edge_sdk.test_roles import of_classes, of_declared, of_levels

MICRO = 10**6


@pytest.mark.parametrize(
    ("domain", "kind", "size", "labels"),
    [
        (None, "values", 6, LABELS),
        (Buckets.of([0, 2.5, 10]), "buckets", 3, ("0", "2.5", "10")),
        (OrderedValues(("never", "often")), "ordered", 2, ("never", "often")),
        (NumberRange.of(17, 90, "0.5", unit="years"), "number", 147, ()),
        (Dates(20_000, 20_002), "date", 3, ("2024-10-04", "2024-10-05", "2024-10-06")),
        (Items(2, ("tea", "milk")), "items", 2, ("tea", "milk")),
        (Items(1, 3), "items", 3, ("1", "2", "3")),
        (Grid(-10 * MICRO, 10 * MICRO, 0, 40 * MICRO, 5 * MICRO), "grid", 32, ()),
    ],
)
def test_a_question_has_its_kind_size_and_labels(open_device, domain, kind, size, labels):
    """A question has the kind, the size and the labels of its domain; every label is a valid answer."""
    device = open_device()
    joined = device.join(campaign(domain=domain)).campaign_id
    asked = questions(device, joined)[0]
    assert (asked.kind, asked.size, asked.labels) == (kind, size, labels)
    device.consent(joined)
    for label in labels:
        device.preview(joined, device.parse(joined, label))


def test_the_shown_number_is_the_one_that_the_device_reports():
    """The number or day as which an answer counts is the one that the device reports. It is empty if the answer itself
    counts, or if it is rounded at random. A number outside the range is refused if the campaign refuses it."""
    steps = NumberRange.of(0, 10, "2.5", clamps=True)
    for typed, counted in (("2.5", ""), ("3.75", "5"), ("3.74", "2.5"), ("11", "10"), ("-1", "0")):
        assert AnswerChoices("number", 5, line=steps).counts_as(typed) == counted
    assert AnswerChoices("number", 5, line=NumberRange.of(0, 10, 5, rounds_randomly=True)).counts_as("3") == ""
    days = AnswerChoices("date", 3, line=Dates.of("2026-01-01", "2026-01-15", 7))
    assert (days.counts_as("2026-01-08"), days.counts_as("2026-01-14")) == ("", "2026-01-08")
    for text in ("2026-01-16", "2026-02-30", "soon"):
        with pytest.raises(NotInDomain):
            days.counts_as(text)
    with pytest.raises(NotInDomain):
        AnswerChoices("number", 3, line=NumberRange.of(0, 10, 5)).counts_as("nan")


def test_many_days_are_asked_for_by_their_ends(open_device):
    """A question with too many days to read has its first and last day, and no list."""
    device = open_device()
    days = Dates.of("2026-01-01", "2026-12-31")
    found = questions(device, device.join(campaign(domain=days)).campaign_id)[0]
    assert (found.low, found.high, found.labels, found.size) == ("2026-01-01", "2026-12-31", (), 365)


def test_a_number_is_asked_for_in_its_range_and_unit(open_device):
    """The question has the ends, the decimal places and the unit; the terms state the range, and how other numbers
    count."""
    device = open_device()
    asked = campaign(domain=NumberRange.of(17, 90, "0.5", unit="years", clamps=True))
    terms = device.join(asked)
    found = questions(device, terms.campaign_id)[0]
    assert (found.low, found.high, found.places, found.unit, found.spacing) == ("17", "90", 1, "years", "0.5")
    assert terms.answers == (
        "A number from 17 to 90 years, rounded to one of 147 numbers. A number outside this range counts as the "
        "nearest number of the range."
    )
    device.consent(terms.campaign_id)
    device.answer(terms.campaign_id, 40)
    assert device.answer(terms.campaign_id, "40.1").repeated
    assert [one.label for one in given_answers(device, terms.campaign_id)] == ["40"]


@pytest.mark.parametrize(
    ("items", "start"),
    [
        (("tea", "milk"), "A set of items from a list of 2; it may be empty. Write ; between two items."),
        (5_000, "A set of numbers from 1 to 5,000; it may be empty. Write ; between two numbers."),
    ],
)
def test_the_terms_describe_a_set_of_items(open_device, items, start):
    """The terms of a campaign on sets of items count the items without the dummies, and say what a dummy is."""
    assert open_device().join(campaign(domain=Items(2, items))).answers == (
        f"{start} A label such as (none 1) names a dummy; the device adds dummies to a small set, and reports one "
        "member of the set, chosen at random."
    )


def test_the_text_of_each_cell_is_its_input(open_device):
    """The text of the cell in row r and column c is the answer of input r times the columns plus c."""
    domain = Grid(-10 * MICRO, 10 * MICRO, 0, 40 * MICRO, 2_500_000)
    device = open_device()
    joined = device.join(campaign(domain=domain)).campaign_id
    asked = questions(device, joined)[0]
    assert (asked.south, asked.north, asked.west, asked.east, asked.step) == (
        domain.south,
        domain.north,
        domain.west,
        domain.east,
        domain.step,
    )
    for row in range(domain.rows):
        for column in range(domain.columns):
            answer = device.parse(joined, asked.cell(row, column))
            assert domain.index(answer, bytes(8)) == row * domain.columns + column


def test_the_latest_report_has_the_queued_bytes(open_device, clock):
    """The latest report of each value has the bytes that were queued, and is marked as waiting until it is sent; the
    latest is first."""
    device = open_device()
    joined = agreed(device, campaign())
    assert given_answers(device, joined) == []
    receipts = {}
    for period, label in enumerate(["none", "primary", "none", "master"]):
        clock.now = OPENS + period * WEEK
        receipts[label] = device.answer(joined, label)
    found = given_answers(device, joined)
    assert [(one.label, one.times, one.period) for one in found] == [
        ("master", 1, 3),
        ("none", 2, 2),
        ("primary", 1, 1),
    ]
    assert {one.label: one.report for one in found} == {name: one.envelope for name, one in receipts.items()}
    assert all(one.waits for one in found)
    device.outbox.forget(1)
    assert not any(one.waits for one in given_answers(device, joined))
    assert "master" not in repr(found)
    assert receipts["master"].envelope.hex() not in repr(found)


def test_a_period_has_as_many_answers_left_as_it_takes(open_device):
    """Each report reduces the number of answers left in its period by one; another period has all answers left."""
    device = open_device()
    joined = agreed(device, campaign(answers=3))
    for taken, label in enumerate(LABELS[:3]):
        assert answers_left(device, joined, 0) == 3 - taken
        device.answer(joined, label)
    assert (answers_left(device, joined, 0), answers_left(device, joined, 1)) == (0, 3)


def test_reading_the_state_of_the_queue_sends_nothing(open_device):
    """Reading the state of the queue sends nothing and postpones nothing."""
    device = open_device()
    first, second = (device.join(campaign(title)).campaign_id for title in ("First", "Second"))
    device.consent(second)
    device.consent(first)
    device.answer(second, "none")
    for _ in range(3):
        found = waiting_by_campaign(device.outbox)
    assert [(one.campaign_id, one.envelopes, one.failures, one.next_attempt, one.refused) for one in found] == [
        (second, 2, 0, 0, False),
        (first, 1, 0, 0, False),
    ]
    assert sum(one.size for one in found) == device.outbox.bytes


def test_a_promise_is_of_the_persons_class(open_device):
    """After consent, the promise is that of the person's class, with a sentence that the class is public."""
    device = open_device()
    classes = device.join(of_classes()).campaign_id
    assert device.terms(classes).promise.notion_name == "classes"
    device.consent(classes, as_class="students")
    promise = device.terms(classes).promise
    assert (promise.notion_name, promise.of_class) == ("lip", True)
    assert promise.text().startswith("Your report shows openly which group of people you belong to.")


@pytest.mark.parametrize(("data", "fits"), [(of_classes(), True), (of_levels(), False), (of_declared(), False)])
def test_a_class_can_be_chosen_if_each_class_has_a_prior(open_device, data, fits):
    """An app offers the choice if and only if the device can make it."""
    device = open_device()
    joined = device.join(data).campaign_id
    assert can_choose_class(device, joined) == fits
    if not fits:
        with pytest.raises(CampaignError, match=r"has a prior|no classes of people"):
            device.choose_class(joined, 1.0)


def test_the_uniform_prior_can_be_declared(open_device):
    """A campaign for declared priors accepts the uniform prior that the app offers."""
    device = open_device()
    joined = device.join(of_declared()).campaign_id
    device.consent(joined, prior=uniform_prior(device, joined))
    assert device.consented(joined)


def test_the_line_of_a_key_names_the_author_of_its_campaigns(open_device):
    """A key's line gives the key whose id signs its campaigns; a text that is neither a line nor a campaign is
    refused."""
    device = open_device()
    data = campaign()
    joined = device.join(data).campaign_id
    key = AuthorKey.from_line(public_line(AUTHOR.public, "Town library"))
    assert (key.public, key.name, key.fingerprint_text) == (
        AUTHOR.public,
        "Town library",
        fingerprint_of(AUTHOR.public),
    )
    assert named_author(device, joined, " Town library ") == key
    assert (len(claimed_signer(data)), key.fingerprint_text.startswith(claimed_signer(data))) == (10, True)
    assert not key.fingerprint_text.startswith(claimed_signer(campaign(author=SigningKey(bytes(32)))))
    with pytest.raises(KeyRefused):
        AuthorKey.from_line("halftruth-public-key:00")
    device.consent(joined)
    for wrong in (b"", b"no campaign", data + b"!"):
        with pytest.raises(BadData):
            claimed_signer(wrong)
    report = device.answer(joined, "none").envelope
    for wrong, what in ((device.enrolment(joined), "enrolment"), (report, "report"), (2 * report, "report")):
        with pytest.raises(BadData, match=f"of kind {what}, not a campaign"):
            claimed_signer(wrong)

"""A device in a form whose people have public classes (SPEC 6.8, 6.12, 7.3, 9)."""

from __future__ import annotations

import itertools

import pytest

from edge_sdk.budget.policy import BudgetPolicy
from edge_sdk.disclosure.envelopes import output_meanings, waiting_envelopes
from edge_sdk.errors import BudgetRefused, ConsentMissing
from edge_sdk.presentation import given_answers
from protocol import envelope, exact
from protocol.campaign import open_campaign, seal_campaign
from protocol.channels import Blocks
from protocol.report import Report
from tests.edge_sdk.conftest import AUTHOR, OPENS, WEEK, agreed, campaign
from tests.edge_sdk.test_forms import FORM, MAPS, NAMES, NAT, WHOLE, form_campaign
from tests.edge_sdk.test_views import dice_of
from tests.vectors.generate import in_classes

LEVELS = (2 * NAT, NAT // 2)
CLASSES = ("members", "guests")
each = pytest.mark.parametrize(("view", "place"), list(itertools.product(range(len(MAPS)), range(2))))


def together(*levels: int) -> bytes:
    """Return the form with the given levels for members and guests."""
    alone = (open_campaign(form_campaign(level=level), [AUTHOR.public]).campaign for level in levels)
    return seal_campaign(in_classes(*alone), AUTHOR)


DATA = together(*LEVELS)
SIGNED = open_campaign(DATA, [AUTHOR.public])


def answers_in(view: int, whole: dict[str, object]) -> dict[str, object]:
    return {name: whole[name] for name in NAMES[view]}


@each
def test_the_report_is_drawn_from_the_channel_of_the_class_and_view(open_device, view: int, place: int) -> None:
    """Each answer to the asked questions is drawn from Q_j at the input c k_j + f_j(x). Every class and answer uses the
    same number of random bytes, and every output belongs to the class."""
    channel, inputs = SIGNED.campaign.views[view].channel, MAPS[view].input_count(FORM)
    lengths, drawn = set(), set()
    for z in range(inputs):
        whole = FORM.parse(FORM.label(MAPS[view].first_input(FORM, z)))
        dice = dice_of(DATA, view)
        device = open_device(urandom=dice)
        campaign_id = agreed(device, DATA, as_class=CLASSES[place])
        sealed = device.answer(campaign_id, answers_in(view, whole)).envelope
        [y] = Report.decode(envelope.decode(sealed).unverified).outputs(SIGNED.campaign, view)
        assert y == channel.sample(place * inputs + z, dice.given[-1])
        assert isinstance(channel, Blocks)
        first = channel.offsets[place + 1]
        assert first <= y < first + SIGNED.campaign.channel_of(place, view).output_count
        lengths.add(len(sealed))
        drawn.add(len(dice.given[-1]))
        [one] = given_answers(device, campaign_id)
        assert FORM.parse(one.label) == answers_in(view, whole)
        report = next(one for one in waiting_envelopes(device) if one.data == sealed)
        [meaning] = output_meanings(device, report)
        assert meaning.size == inputs
        device.close()
    assert len(lengths) == 1
    assert drawn == {channel.rand_bytes}


@each
def test_the_charge_is_the_cost_of_the_class_in_the_view(open_device, clock, view: int, place: int) -> None:
    """The reserved amount is the cost of all draws of the class in this view. An answer that is repeated in later
    periods is charged once, the cost of a draw."""
    device = open_device(urandom=dice_of(DATA, view))
    campaign_id = agreed(device, DATA, as_class=CLASSES[place])
    cost = SIGNED.campaign.certificate_of(place, view).cost
    assert cost <= LEVELS[place]
    assert device.budget.reserved_nanonats == cost * SIGNED.campaign.max_draws_of(view)
    answer = answers_in(view, WHOLE)
    sent = []
    for period in range(4):
        clock.now = OPENS + period * WEEK
        sent.append(device.answer(campaign_id, answer))
    assert [one.cost_nanonats for one in sent] == [cost, 0, 0, 0]
    outputs = [Report.decode(envelope.decode(one.envelope).unverified).outputs(SIGNED.campaign, view) for one in sent]
    assert len(set(map(tuple, outputs))) == 1
    assert device.budget.spent_nanonats == cost
    exposure = device.exposure(campaign_id)
    assert exposure.together.nanonats == exposure.about(answer).nanonats == cost
    device.forget(campaign_id)
    assert device.budget.spent_nanonats == cost * min(MAPS[view].input_count(FORM), 4), (
        "forgetting must count every answer as a new one"
    )


def test_the_room_for_consent_does_not_depend_on_the_view(open_device) -> None:
    """The person's class, and not the device's view, decides if the budget has room for the consent."""
    most, least = (exact.nats(SIGNED.campaign.worst_case_of(place)) for place in range(2))
    assert least < most
    for view, (level, refused) in itertools.product(range(len(MAPS)), ((NAT, CLASSES[:1]), (22 * NAT // 10, CLASSES))):
        device = open_device(urandom=dice_of(DATA, view), budget=BudgetPolicy(lifetime=most))
        joined = device.join(DATA).campaign_id
        # The six draws of this campaign leave room only for guests, or for no class.
        agreed(device, campaign(level=level))
        for name in refused:
            with pytest.raises(BudgetRefused):
                device.consent(joined, as_class=name)
        for name in CLASSES[len(refused) :]:
            device.consent(joined, as_class=name)
        device.close()


def test_terms_before_consent_do_not_depend_on_the_view(open_device) -> None:
    """Before consent, terms and preview are those of the costliest class and the same for every view; a class is needed
    to agree."""
    shown, previews = [], []
    for view in range(len(MAPS)):
        device = open_device(urandom=dice_of(DATA, view))
        terms = device.join(DATA)
        shown.append(terms.as_json())
        previews.append(device.preview(terms.campaign_id))
        with pytest.raises(ConsentMissing, match="members, guests"):
            device.consent(terms.campaign_id)
        assert (terms.map, terms.asked_names) == (None, ())
        assert [one.name for one in terms.classes] == list(CLASSES)
        assert [one.worst_case for one in terms.classes] == [
            exact.nats(SIGNED.campaign.worst_case_of(place)) for place in range(2)
        ]
        assert terms.worst_case_nanonats == SIGNED.campaign.worst_case
    assert shown[0] == shown[1] == shown[2]
    assert previews[0] == previews[1] == previews[2]
    assert previews[0].cost_nanonats == SIGNED.campaign.cost_of(0)


@each
def test_the_promise_is_that_of_the_class(open_device, view: int, place: int) -> None:
    """After consent the displayed bounds are those of the person's class, rounded up."""
    device = open_device(urandom=dice_of(DATA, view))
    campaign_id = agreed(device, DATA, as_class=CLASSES[place])
    terms = device.terms(campaign_id)
    assert terms.member_of == CLASSES[place]
    assert terms.promise.factor == exact.factor_above(LEVELS[place])
    assert terms.promise.of_class
    assert terms.level == LEVELS[place] / NAT
    assert terms.asked_names == NAMES[view]
    assert terms.cost_nanonats == SIGNED.campaign.cost_of(place)
    assert terms.worst_case_nanonats == SIGNED.campaign.worst_case_of(place)
    preview = device.preview(campaign_id, answers_in(view, WHOLE))
    assert preview.cost_nanonats == SIGNED.campaign.certificate_of(place, view).cost
    odds = exact.factor_above(SIGNED.campaign.certificate_of(place, view).audited_level)
    assert preview.fits_true <= odds * preview.fits_other

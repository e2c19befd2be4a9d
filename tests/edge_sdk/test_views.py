"""A device with a view: its question, charges, memo and reports."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from edge_sdk import BudgetPolicy, Device
from edge_sdk.__main__ import main
from edge_sdk.campaigns.succession import continues
from edge_sdk.disclosure.envelopes import output_meanings, waiting_envelopes
from edge_sdk.errors import BudgetRefused, QuotaReached
from edge_sdk.presentation import given_answers, kept_kind
from edge_sdk.unit.config import read_configuration
from edge_sdk.unit.dry_run import unit_plan
from protocol import envelope
from protocol.campaign import open_campaign
from protocol.domain import DITHER_BYTES, Grid, Values
from protocol.keys import SigningKey, public_line
from protocol.report import Report
from protocol.views import Coarse, Districts, Identity
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, Clock, Dice, agreed, campaign

NAT = 10**9
MAPS = (Identity(), Coarse(2), Districts(((0, 1), (1, 2), (0, 1), (1, 2)), ("ends", "middle")))
each_view = pytest.mark.parametrize("view", range(len(MAPS)))
SECRETS = {}
"""For each campaign and view, a seed of ``Dice`` that gives a device this view."""


def campaign_with_views(**changes) -> bytes:
    return campaign(maps=MAPS, enrolment="enrolled", **changes)


def dice_of(data: bytes, view: int) -> Dice:
    """Return a source of randomness that gives its device the given view of a campaign."""
    if (data, view) not in SECRETS:
        signed = open_campaign(data, [AUTHOR.public])
        secrets = ((seed, Dice(seed)(32)) for seed in itertools.count())
        seed = next(
            seed
            for seed, secret in secrets
            if signed.view_of(SigningKey.for_campaign(secret, signed.id).public) == view
        )
        SECRETS[data, view] = seed
    return Dice(SECRETS[data, view])


@pytest.fixture
def member(open_device):
    """Return a function that opens a device of a view that agreed to the campaign; it returns the device, the
    campaign's id and the device's randomness."""

    def make(data: bytes, view: int, **options):
        dice = dice_of(data, view)
        device = open_device(urandom=dice, **options)
        campaign_id = agreed(device, data)
        assert device.records.campaigns.find(campaign_id).view == view
        return device, campaign_id, dice

    return make


def output(data: bytes, sealed: bytes, view: int) -> int:
    campaign = open_campaign(data, [AUTHOR.public]).campaign
    [y] = Report.decode(envelope.decode(sealed).unverified).outputs(campaign, view)
    return y


@each_view
def test_the_channel_of_a_key_is_that_of_its_view_after_its_map(member, view):
    """For every answer, the report contains exactly the output that Q_j draws for f_j(x) from the random bytes that
    the device was given: for each key the channel is Q_j o f_j."""
    data = campaign_with_views()
    campaign = open_campaign(data, [AUTHOR.public]).campaign
    view_channel = campaign.views[view]
    for x, label in enumerate(LABELS):
        device, campaign_id, dice = member(data, view)
        report = device.answer(campaign_id, label).envelope
        rand = dice.given[-1]
        assert len(rand) == view_channel.channel.rand_bytes
        assert output(data, report, view) == view_channel.channel.sample(
            view_channel.map.input(campaign.domain, x), rand
        )
        device.close()


def test_the_view_of_a_device_never_changes(open_device, clock, place):
    """The view is the same before and after every answer, after a restart, and after forgetting and joining again, so
    it does not depend on an answer, period or draw."""
    data, seen = campaign_with_views(), set()
    for label in LABELS:
        with open_device(place) as device:
            campaign_id = device.join(data).campaign_id
            seen.add(device.records.campaigns.find(campaign_id).view)
            device.consent(campaign_id)
            device.answer(campaign_id, label)
            seen.add(device.records.campaigns.find(campaign_id).view)
        clock.now += WEEK
    with open_device(place) as device:
        device.forget(campaign_id)
        device.join(data)
        seen.add(device.records.campaigns.find(campaign_id).view)
    assert len(seen) == 1


@each_view
def test_all_answers_of_a_district_have_one_output(member, clock, view):
    """Over all answers, one output is drawn and charged for each input of the view, and all answers of a district have
    the same output. The cost is that of the view, and the memo stores only the view's inputs."""
    data = campaign_with_views(periods=40)
    device, campaign_id, _ = member(data, view)
    campaign = open_campaign(data, [AUTHOR.public]).campaign
    outputs: dict[int, set[int]] = {}
    costs = []
    for x, label in [*enumerate(LABELS)] * 3:
        receipt = device.answer(campaign_id, label)
        outputs.setdefault(MAPS[view].input(campaign.domain, x), set()).add(output(data, receipt.envelope, view))
        costs.append(receipt.cost_nanonats)
        clock.now += WEEK
    asked = campaign.views[view].channel.input_count
    assert {len(ys) for ys in outputs.values()} == {1}
    assert [cost for cost in costs if cost] == [NAT] * asked
    assert costs[len(LABELS) :] == [0] * 2 * len(LABELS)
    assert sorted(device.history(campaign_id)) == sorted(MAPS[view].label(campaign.domain, z) for z in range(asked))


@each_view
def test_a_retry_with_another_answer_of_the_district_is_the_same_bytes(member, view):
    """A slot stores the view's input: another answer with the same input is a retry, and an answer with another input
    is refused."""
    data = campaign_with_views()
    device, campaign_id, _ = member(data, view)
    first = device.answer(campaign_id, LABELS[0])
    domain = Values(LABELS)
    for x, label in enumerate(LABELS):
        if MAPS[view].input(domain, x) == MAPS[view].input(domain, 0):
            again = device.answer(campaign_id, label)
            assert (again.envelope, again.repeated, again.cost) == (first.envelope, True, 0)
        else:
            with pytest.raises(QuotaReached):
                device.answer(campaign_id, label)


@each_view
@pytest.mark.parametrize("value", LABELS)
def test_the_manner_of_answering_is_the_same_for_every_value_and_view(member, value, view):
    """For every answer and every view, random bytes are requested in the same sizes and order, and the report has the
    same length and cost."""
    device, campaign_id, dice = member(campaign_with_views(), view)
    receipt = device.answer(campaign_id, value)
    assert dice.asked == [32, DITHER_BYTES, 8]
    assert (len(receipt.envelope), receipt.cost) == (106, 1.0)
    assert len(receipt.envelope) == device.records.campaigns.find(campaign_id).longest_report


@each_view
def test_sending_with_a_view_does_not_depend_on_the_answers(member, view):
    """After any earlier answers, the same periods have reports, and the budget has room for the same campaigns."""
    data, seen = campaign_with_views(periods=8), set()
    other = campaign("Another question", level=NAT // 2)
    for history in [["none"] * 8, [*LABELS, "none", "primary"], ["none", "primary"] * 4, ["none", "master"] * 4]:
        clock = Clock()
        device, campaign_id, dice = member(data, view, clock=clock, lifetime=6.5)
        manner = []
        for value in history:
            manner.append(len(device.answer(campaign_id, value).envelope))
            try:
                device.join(other)
                manner.append(0)
            except BudgetRefused as error:
                manner.append(str(error))
            clock.now += WEEK
        seen.add((tuple(map(str, manner)), tuple(dice.asked), len(device.outbox), device.outbox.bytes))
        device.close()
    assert len(seen) == 1


@each_view
def test_consent_reserves_the_cost_of_the_view_of_the_device(member, clock, view):
    """Consent reserves the draws of the device's view; the terms state the campaign's worst case. Forgetting counts
    every answer as a new value, and at most as many as the view has inputs."""
    data = campaign_with_views(periods=40)
    device, campaign_id, _ = member(data, view)
    inputs = (6, 3, 2)[view]
    terms = device.terms(campaign_id)
    assert (terms.cost_nanonats, terms.worst_case_nanonats) == (NAT, 6 * NAT)
    assert device.budget.reserved_nanonats == inputs * NAT
    for label in LABELS:
        device.answer(campaign_id, label)
        clock.now += WEEK
    assert (device.budget.spent_nanonats, device.budget.reserved_nanonats) == (inputs * NAT, 0)
    device.forget(campaign_id)
    assert device.budget.spent_nanonats == inputs * NAT


@each_view
def test_a_cap_is_compared_with_the_costliest_view(open_device, view):
    """The decision to participate, and the words of a refusal, are the same for every view: at joining, and at consent
    after the caps were lowered."""
    data = campaign_with_views(periods=40)
    device = open_device(urandom=dice_of(data, view), lifetime=None, budget=BudgetPolicy(lifetime=5.5))
    with pytest.raises(BudgetRefused, match="may cost up to 6 nats"):
        device.join(data)
    device.close()
    device = open_device(urandom=dice_of(data, view), lifetime=None, budget=BudgetPolicy(lifetime=6))
    campaign_id = device.join(data).campaign_id
    device.lower_caps(BudgetPolicy(lifetime=5.5))
    with pytest.raises(BudgetRefused, match="may cost up to 6 nats"):
        device.consent(campaign_id)
    assert device.budget.reserved == 0
    device.close()
    device = open_device(urandom=dice_of(data, view), lifetime=None, budget=BudgetPolicy(lifetime=6))
    device.consent(device.join(data).campaign_id)
    assert device.budget.remaining == 6 - (6, 3, 2)[view]


def test_terms_and_preview_describe_the_view_of_the_device(member, open_device):
    """Terms, preview and the meaning of a report are those of this device's view: its sentence, its inputs and its
    labels."""
    expected = (
        "This device is asked for your answer itself.",
        "This device is asked for the group of at most 2 neighbouring answers that contains your answer, not for the "
        "answer itself.",
        "This device is asked which of 2 groups of answers contains your answer, not for the answer itself.",
    )
    data = campaign_with_views()
    for view, sentence in enumerate(expected):
        device, campaign_id, _ = member(data, view)
        terms, view_channel = device.terms(campaign_id), open_campaign(data, [AUTHOR.public]).campaign.views[view]
        assert terms.view_description.startswith(sentence)
        assert terms.as_json()["view_description"] == terms.view_description
        # The person still answers the whole question.
        assert terms.values == LABELS
        preview = device.preview(campaign_id, LABELS[-1])
        inputs = view_channel.channel.input_count
        assert float(preview.fits_true) == pytest.approx(2.718281828 / (2.718281828 + inputs - 1))
        assert float(preview.posterior.before) == pytest.approx(1 / inputs)
        last = view_channel.map.label(Values(LABELS), view_channel.map.input(Values(LABELS), len(LABELS) - 1))
        assert (preview.group, device.preview(campaign_id).group) == ("" if view == 0 else last, "")
        receipt = device.answer(campaign_id, "none")
        [envelope_] = waiting_envelopes(device, campaign_id)
        [meaning] = output_meanings(device, envelope_)
        assert device.preview(campaign_id, "none").cost == 0
        assert float(device.preview(campaign_id, "none").posterior.before) == pytest.approx(2 / (inputs + 1))
        y = output(data, receipt.envelope, view)
        assert (meaning.fits, meaning.size, meaning.labels) == (1, inputs, (view_channel.map.label(Values(LABELS), y),))
        [one] = given_answers(device, campaign_id)
        assert one.label == view_channel.map.label(Values(LABELS), view_channel.map.input(Values(LABELS), 0))
        assert kept_kind(device, campaign_id) == ("districts" if isinstance(view_channel.map, Districts) else "values")
        device.close()
    plain = open_device()
    assert plain.terms(plain.join(campaign()).campaign_id).view_description == ""


def test_a_map_is_asked_for_by_district_or_cell(open_device):
    """For a grid, the sentences ask for a square or a district."""
    grid = Grid(0, 10**6, 0, 10**6, 10**5)
    squares = Districts(((0, 30), (1, 70)))
    data = campaign(domain=grid, maps=(Identity(), Coarse(5), squares), level=NAT // 10)
    found = set()
    for view in range(3):
        device = open_device(urandom=dice_of(data, view))
        found.add(device.join(data).view_description.partition(". ")[0])
        assert device.terms(device.campaigns[0]).view_description_in("de").startswith("Dieses Gerät wird ")
    assert found == {
        "This device is asked for the square that contains your answer",
        "This device is asked for the district of at most 5 x 5 squares that contains your answer, not for the square "
        "itself",
        "This device is asked which of 2 districts contains your answer, not for the square itself",
    }


def test_exposures_of_districts_and_other_campaigns_add_up(open_device):
    """Two answers within a district are not distinguished at all. For other pairs, the exposure adds to that of a
    campaign about the same values that asks for the answer itself."""
    data = campaign_with_views()
    device = open_device(urandom=dice_of(data, 1))
    plain = campaign("Plain", level=NAT // 2)
    for one in (data, plain):
        device.consent(device.join(one).campaign_id)
        device.answer(device.campaigns[-1], "none")
    exposure = device.exposure(device.campaigns[0])
    assert [one.drawn for one in exposure.campaigns] == [1, 1]
    for x, other in itertools.permutations(range(6), 2):
        assert exposure.pair(x, other).nanonats == NAT // 2 + (0 if x // 2 == other // 2 else NAT)


@each_view
def test_readings_of_a_view_are_bundled(member, view):
    """Collected readings are sent in one report, in the width of the widest view, with one charge for each district."""
    data = campaign_with_views(answers=12)
    device, campaign_id, _ = member(data, view)
    campaign = open_campaign(data, [AUTHOR.public]).campaign
    for label in LABELS * 2:
        device.collect(campaign_id, label)
    assert device.bundle(campaign_id) == 1
    [envelope_] = waiting_envelopes(device, campaign_id)
    report = Report.decode(envelope.decode(envelope_.data).unverified)
    outputs = report.outputs(campaign, view)
    assert len(outputs) == 12
    assert outputs[:6] == outputs[6:]
    assert len(report.packed) == 12 * 3 // 8 + 1
    assert device.budget.spent_nanonats == (6, 3, 2)[view] * NAT


def test_the_permission_to_follow_covers_the_same_coarsenings_only(open_device):
    """The next campaign is followed if its views have the same shares of devices and the same maps. The decision
    depends on the terms of the whole campaign, and not on the device's view in either campaign."""
    later = {"title": "Next", "opens": OPENS + 10 * WEEK, "enrolment": "enrolled"}

    def joined(data: bytes, view: int):
        device = open_device(urandom=dice_of(data, view))
        device.join(data)
        return device.records.campaigns.find(device.campaigns[0])

    for view, then in itertools.product(range(len(MAPS)), repeat=2):
        assert continues(joined(campaign_with_views(), view), joined(campaign(maps=MAPS, **later), then))
    for maps in (MAPS[:2], MAPS[::-1], MAPS[:1]):
        assert not continues(joined(campaign_with_views(), 0), joined(campaign(maps=maps, **later), 0))


def test_a_check_requires_room_for_every_view(tmp_path):
    """Before a unit has a store, its view is not known: the check names no view, and requires in every run that the
    caps have room for each view."""
    (tmp_path / "c.campaign").write_bytes(campaign_with_views(periods=40, addresses=("https://study.example",)))
    (tmp_path / "analyst.pub").write_text(public_line(AUTHOR.public))
    text = (
        'campaign = "c.campaign"\ntrust = ["analyst.pub"]\nstore = "store"\nconsent = true\n[budget]\n'
        'lifetime = {cap}\n[source]\ncommand = ["echo", "none"]\n[send]\nevery = 7200\n'
    )
    for cap, fits in ((6.0, True), (5.5, False)):
        (tmp_path / "unit.toml").write_text(text.format(cap=cap))
        for _ in range(5):
            if fits:
                assert unit_plan(read_configuration(tmp_path / "unit.toml"))["view_description"].startswith(
                    "The unit reports one of 3 views"
                )
                continue
            with pytest.raises(BudgetRefused, match="may cost up to 6 nats"):
                unit_plan(read_configuration(tmp_path / "unit.toml"))


def test_a_single_coarse_view_mentions_no_other_view(open_device):
    """If all devices have the same coarse view, no other view is mentioned."""
    device = open_device()
    terms = device.join(campaign(maps=(Coarse(2),)))
    assert terms.view_description == (
        "This device is asked for the group of at most 2 neighbouring answers that contains your answer, not for the "
        "answer itself."
    )
    assert terms.worst_case == 3.0


def test_terms_preview_and_audit_print_the_question_of_this_device(tmp_path, monkeypatch, capsys):
    """The commands terms, preview and audit state this device's question; consent prints the reserved amount."""
    monkeypatch.chdir(tmp_path)
    data = campaign_with_views(opens=int(time.time()) - 60)
    (tmp_path / "c.campaign").write_bytes(data)
    (tmp_path / "analyst.pub").write_text(public_line(AUTHOR.public))

    def run(*words: str) -> dict:
        assert main(["--store", "store", *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    audited = run("audit", "c.campaign")
    assert (audited["views"], audited["levels"]["ldp"]) == (3, 1.0)
    terms = run("join", "c.campaign", "--trust", "analyst.pub")
    ident = terms["campaign"]
    with Device.open(tmp_path / "store") as device:
        view = device.records.campaigns.find(bytes.fromhex(ident)).view
    assert terms["view_description"].startswith("This device is asked ")
    assert terms["worst_case"] == 6.0
    assert run("consent", ident)["reserved"] == (6.0, 3.0, 2.0)[view]
    assert run("preview", ident, "none")["view_description"] == terms["view_description"]
    assert run("answer", ident, "none")["cost"] == 1.0
    own = run("audit", ident)
    assert (own["view"], own["prior"]) == (view, "your earlier answers")
    assert own["posterior"]["before"] == pytest.approx(2 / ((6, 3, 2)[view] + 1))

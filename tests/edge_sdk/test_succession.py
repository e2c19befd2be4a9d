"""Following: a unit continues with its study's next campaign only if its owner's permission covers it."""

from __future__ import annotations

import json
import select
import sys
from dataclasses import fields, replace

import pytest

from aggregator.families.blocks.recipe import high_low
from aggregator.families.hadamard.recipe import hadamard
from aggregator.study import Study
from edge_sdk.campaigns.joined import Joined
from edge_sdk.campaigns.succession import SAME, follow, followed_campaign_id
from edge_sdk.errors import OutboxFull
from edge_sdk.transport.address import Address
from edge_sdk.transport.download import NoResponse
from edge_sdk.unit.config import read_configuration
from edge_sdk.unit.sensor import Child
from protocol.campaign import Campaign, campaign_id, open_campaign, seal_campaign
from protocol.channels import Channel
from protocol.exact import NANONATS
from protocol.keys import SigningKey
from protocol.notions import HighLow
from protocol.views import Identity, View
from tests.aggregator.test_receive import served
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign, response
from tests.edge_sdk.fake_connection import FakeConnection
from tests.edge_sdk.test_daemon import EVERY, PATIENCE, PERIOD, PLAIN, load_average, world, written

__all__ = ["world"]
URL = "https://study.example"


class Offering(FakeConnection):
    """A replacement for the network: a study that offers the given campaigns."""

    def __init__(self, *campaigns: bytes, unreachable: str = "", closed_early: int | None = None) -> None:
        self.campaigns = {campaign_id(data).hex(): data for data in campaigns}
        self.unreachable = unreachable
        self.schedule = {"opens": OPENS, "closes": OPENS + 100 * WEEK, "closed_early": closed_early}

    def __call__(self, to: Address) -> Offering:
        if to.host == self.unreachable:
            raise ConnectionRefusedError
        return super().__call__(to)

    def request(self, method: str, path: str, *rest: object) -> None:
        name = path.rpartition("/")[2]
        listed = [{"id": one, "title": "Next", "enrolment": "open"} | self.schedule for one in self.campaigns]
        self.response = self.campaigns.get(name) or json.dumps({"campaigns": listed}).encode()


def test_a_unit_follows_only_a_permitted_successor(open_device, clock):
    """The unit does not agree to a next campaign with another author, promise, enrolment or address. It agrees to one
    with the same terms, and records this for the next start."""
    device = open_device()
    first = agreed(device, campaign(), URL)
    before = device.budget.reserved
    later = {"title": "Next", "opens": OPENS + 10 * WEEK}
    others = [
        campaign(**later, author=SigningKey(bytes(32))),
        campaign(**later, level=2 * 10**9),
        campaign(**later, enrolment="enrolled"),
        campaign(**later, addresses=("https://other.example",)),
    ]
    clock.now = OPENS + 10 * WEEK
    for other in others:
        assert follow(device, first, clock.now, Offering(other)) is None
    assert (device.campaigns, device.budget.reserved) == ([first], before)
    following = campaign(**later)
    assert follow(device, first, clock.now, Offering(*others, following)) == campaign_id(following)
    assert device.consented(campaign_id(following))
    assert device.addresses(campaign_id(following)) == (URL,)
    assert followed_campaign_id(device._store, first) == campaign_id(following)


def test_a_next_campaign_without_room_in_the_queue_is_followed_later(open_device, clock, monkeypatch):
    """If the queue has no room for the enrolment, the next campaign is joined without consent, and a later attempt
    agrees to it."""
    device = open_device()
    first = agreed(device, campaign(), URL)
    clock.now = OPENS + 10 * WEEK
    following = campaign(title="Next", opens=clock.now)
    with monkeypatch.context() as full:
        full.setattr("edge_sdk.transport.stored_outbox.MAX_ENVELOPES", len(device.outbox))
        with pytest.raises(OutboxFull):
            follow(device, first, clock.now, Offering(following))
    assert follow(device, first, clock.now, Offering(following)) == campaign_id(following)
    assert device.consented(campaign_id(following))


def test_a_campaign_that_was_closed_early_is_not_followed(open_device):
    """A next campaign that takes no more answers is neither joined nor agreed to, so nothing is reserved for it."""
    device, now = open_device(), OPENS + 10 * WEEK
    first = agreed(device, campaign(), URL)
    following = campaign(title="Next", opens=now)
    assert follow(device, first, now, Offering(following, closed_early=now)) is None
    assert device.campaigns == [first]
    assert follow(device, first, now, Offering(following, closed_early=now + 1)) == campaign_id(following)


def test_every_address_of_the_study_is_tried(open_device):
    """If an address does not answer, the next campaign is found at a later address; without a next campaign, the error
    names the address that did not answer."""
    device, addresses = open_device(), ("https://first.example", "https://second.example")
    first = agreed(device, campaign(addresses=addresses))
    now, following = OPENS + 10 * WEEK, campaign(title="Next", opens=OPENS + 10 * WEEK, addresses=addresses)
    for unreachable in ("first.example", "second.example"):
        with pytest.raises(NoResponse, match=unreachable):
            follow(device, first, now, Offering(unreachable=unreachable))
    assert follow(device, first, now, Offering(following, unreachable="first.example")) == campaign_id(following)


def test_a_new_field_of_campaigns_must_be_equal_or_listed_here():
    """Every field of a campaign is equal in a followed campaign, or is one of those that docs/UNIT.md lists."""
    may_differ = {"title", "language", "translations", "opens", "closes", "period_seconds", "answers_per_period"}
    may_differ |= {"minimum_devices", "mechanism", "notion", "views"}
    assert {field.name for field in fields(Campaign) if field.init} == may_differ | set(SAME)


def test_a_costlier_worst_case_is_not_followed(open_device):
    """The permission does not cover a campaign with more draws than the owner agreed to, even at the same level."""
    device = open_device()
    few = agreed(device, campaign(periods=2), URL)
    more = campaign(title="Next", opens=OPENS + 2 * WEEK, periods=3)
    assert follow(device, few, OPENS + 2 * WEEK, Offering(more)) is None


def of_two_sensitive(channel: Channel, **options: object) -> bytes:
    """Return a signed campaign whose first two answers are sensitive."""
    plain = open_campaign(campaign(**options), [AUTHOR.public]).campaign
    notion = HighLow(NANONATS, len(LABELS), (0, 1))
    return seal_campaign(replace(plain, notion=notion, views=(View(1, Identity(), channel),)), AUTHOR)


def test_a_channel_with_another_promise_is_not_followed(open_device):
    """The permission does not cover a channel of the same notion and cost whose promise has other limits, such as
    answers that can be distinguished with certainty."""
    device, later = open_device(), {"title": "Next", "opens": OPENS + 10 * WEEK}
    first = agreed(device, of_two_sensitive(response(len(LABELS))), URL)
    revealing = of_two_sensitive(high_low(len(LABELS), (0, 1), NANONATS, hadamard), **later)
    equal = of_two_sensitive(response(len(LABELS)), **later)
    offered, agreed_to = Joined.open(revealing, [AUTHOR.public], bytes(32)).terms, device.terms(first)
    assert (offered.cost, offered.promise.unbounded) == (agreed_to.cost, not agreed_to.promise.unbounded)
    assert follow(device, first, OPENS + 10 * WEEK, Offering(revealing)) is None
    assert follow(device, first, OPENS + 10 * WEEK, Offering(revealing, equal)) == campaign_id(equal)


def test_a_stricter_promise_is_followed(open_device):
    """The permission covers a lower level of the same notion, and a channel of the same notion whose promise has lower
    limits; it does not cover a level that is higher by a nanonat."""
    device, later = open_device(), {"title": "Next", "opens": OPENS + 10 * WEEK}
    first = agreed(device, campaign(), URL)
    weaker, stricter = (campaign(**later, level=level) for level in (NANONATS + 1, NANONATS // 2))
    assert follow(device, first, OPENS + 10 * WEEK, Offering(weaker)) is None
    assert follow(device, first, OPENS + 10 * WEEK, Offering(weaker, stricter)) == campaign_id(stricter)
    revealing = agreed(device, of_two_sensitive(high_low(len(LABELS), (0, 1), NANONATS, hadamard)), URL)
    stricter = of_two_sensitive(response(len(LABELS)), **later)
    assert follow(device, revealing, OPENS + 10 * WEEK, Offering(stricter)) == campaign_id(stricter)


def test_a_unit_follows_its_study_by_itself(world, tmp_path):
    """With ``follow = true``, a unit whose campaign is over queries its study, by a real process, and continues with
    the next campaign, also after a restart. The option is off by default."""
    # A time in the far future: the child process uses the real clock.
    opens = 10**10
    first = load_average(opens=opens, periods=1)
    second = load_average(title="Next load", opens=opens + PERIOD, periods=1)
    study = Study.create(tmp_path / "lib")
    for name, data in (("first", first), ("second", second)):
        study.import_campaign(data, [AUTHOR.public], name)
    with served(study) as (host, port):
        send = f'[send]\nurl = "http://{host}:{port}"\nevery = {EVERY}\n'
        one = world(PLAIN.replace("consent = true", "consent = true\nfollow = true") + send, first)
        one.now = float(opens)
        for _ in range(200):
            pause = one.unit.step()
            assert pause is not None
            for sending in one.unit.waits_for:
                assert select.select([sending], [], [], PATIENCE)[0]
                pause = 0
            one.now += pause
            if one.unit.campaign_id == campaign_id(second) and one.unit._campaign is not None:
                break
        assert one.unit.campaign_id == campaign_id(second)
        one.again()
        assert (one.unit.campaign_id, one.unit.agreed_to) == (campaign_id(second), campaign_id(first))
    assert not read_configuration(written(tmp_path / "other", PLAIN)).follow


@pytest.mark.parametrize("seconds", [0, PATIENCE])
def test_a_failed_request_for_the_next_campaign_is_not_called_an_upload(world, monkeypatch, seconds):
    """If the process that asks for the next campaign fails or hangs, the log names the next campaign."""
    monkeypatch.setattr("edge_sdk.unit.agent.SEND_SECONDS", seconds)
    one = world(PLAIN)
    one.unit._sending = one.unit._asking = Child([sys.executable, "-c", "import sys; sys.exit('no room')"], errors=True)
    while one.unit.waits_for:
        assert not seconds or select.select(one.unit.waits_for, [], [], PATIENCE)[0]
        one.unit._finish_sending()
    stopped = (
        "the request for the next campaign was stopped after 0 seconds; it is tried again at the next sending time"
    )
    assert one.log == ["the next campaign was not joined: no room" if seconds else stopped]

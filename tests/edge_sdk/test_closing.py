"""A campaign that its author closes early, on the device."""

from __future__ import annotations

import pytest

from aggregator.study import Study
from edge_sdk.errors import ConsentMissing, NotJoined, QuotaReached
from edge_sdk.transport import download
from protocol import envelope
from protocol.campaign import campaign_id, open_campaign
from protocol.closing import Closing, seal_closing
from protocol.envelope import Kind
from protocol.errors import BadData, CampaignError, ClosedEarly
from protocol.keys import SigningKey
from tests.aggregator.test_receive import served
from tests.altered import flipped
from tests.edge_sdk.conftest import AUTHOR, OPENS, WEEK, campaign

DATA = campaign(answers=3)
ID = campaign_id(DATA)
SIGNED = open_campaign(DATA, [AUTHOR.public])
SOON = OPENS + WEEK


def notice(closes, key=AUTHOR, campaign_id=ID):
    """Return a notice that is signed with ``key``."""
    return envelope.seal(Kind.CLOSING, key, Closing(campaign_id, closes).encode())


@pytest.fixture
def device(open_device):
    """Return a device that joined and agreed to the campaign."""
    made = open_device()
    made.join(DATA)
    made.consent(ID)
    return made


def test_every_answer_after_the_closing_is_refused(device, clock):
    """Before the notice's time answers are given as usual. From that time on, every value, valid or not, is refused in
    the same words, and nothing is charged or queued; an earlier reading is still bundled. No error names a period that
    begins after the notice's time."""
    device.collect(ID, "bachelor")
    assert device.terms(ID).closed_early is None
    assert device.close_early(seal_closing(SIGNED, SOON, AUTHOR)).closed_early == SOON
    for _ in range(2):
        device.answer(ID, "bachelor")
    with pytest.raises(QuotaReached, match=r"it is the last period$"):
        device.answer(ID, "none")
    clock.now = SOON
    spent, waits = device.budget.spent, len(device.outbox)
    for value in ("bachelor", "none", "no such value"):
        for give in (device.answer, device.collect):
            with pytest.raises(ClosedEarly, match=r"the author closed .* early"):
                give(ID, value)
    assert (device.budget.spent, len(device.outbox)) == (spent, waits)
    assert device.bundle(ID) == 1
    assert device.terms(ID).as_json()["closed_early"] == SOON


def test_a_closed_campaign_refuses_consent_and_joining(open_device, place):
    """Consent to a closed campaign is refused, and so is joining it after forgetting, in a store that was closed and
    opened again."""
    device = open_device(place)
    device.join(DATA)
    device.close_early(notice(OPENS))
    with pytest.raises(ClosedEarly):
        device.consent(ID)
    with pytest.raises(ConsentMissing):
        device.enrolment(ID)
    device.forget()
    device.close()
    with open_device(place) as again, pytest.raises(ClosedEarly):
        again.join(DATA)


@pytest.mark.parametrize(
    ("data", "stage"),
    [
        (notice(SOON, SigningKey(bytes(32))), "envelope"),
        (notice(SIGNED.campaign.closes), "campaign"),
        (notice(SIGNED.campaign.closes + WEEK), "campaign"),
        (envelope.seal(Kind.REPORT, AUTHOR, Closing(ID, SOON).encode()), "campaign"),
        (flipped(notice(SOON)), "signature"),
        (DATA, "campaign"),
        (b"", "codec"),
    ],
)
def test_a_forged_foreign_or_extending_notice_is_refused(device, clock, data, stage):
    """Bytes that are not a closing notice of the campaign's author, and a notice for a time that is not before the end,
    are refused and change nothing."""
    with pytest.raises(BadData) as refused:
        device.close_early(data)
    assert refused.value.stage == stage
    assert device.terms(ID).closed_early is None
    clock.now = SOON
    device.answer(ID, "bachelor")


def test_a_notice_cannot_be_rolled_back_or_swapped(device):
    """After a notice, one with a later time is refused, also after forgetting; the same notice changes nothing, and one
    with an earlier time is accepted. A notice for a campaign that is not joined is refused."""
    device.close_early(notice(SOON))
    with pytest.raises(CampaignError, match="cannot open it again"):
        device.close_early(notice(SOON + 1))
    assert device.close_early(notice(SOON)).closed_early == SOON
    assert device.close_early(notice(SOON - 1)).closed_early == SOON - 1
    device.forget()
    device.join(DATA)
    with pytest.raises(CampaignError, match="cannot open it again"):
        device.close_early(notice(SOON))
    with pytest.raises(NotJoined):
        device.close_early(notice(SOON, campaign_id=bytes(16)))


def test_a_device_fetches_the_notice_from_the_study(open_device, tmp_path):
    """A study that has the notice sends it to a device that requests it. Before that, and for a campaign without an
    address, the device learns of no closing."""
    study = Study.create(tmp_path / "lib")
    study.import_campaign(DATA, [AUTHOR.public], "education")
    device = open_device()
    # The campaign has no address, so no study is asked.
    assert download.learn_closings(device, [device.join(DATA).campaign_id]) == []
    with served(study) as (host, port):
        url = f"http://{host}:{port}"
        device.join(DATA, address=url)
        assert download.learn_closings(device, [ID]) == []
        with pytest.raises(download.NoResponse):
            download.fetch_closing(url, ID)
    study.close_early(notice(SOON))
    with served(study, listen=f"{host}:{port}"):
        assert download.learn_closings(device, [ID]) == [ID]
        assert download.fetch_closing(url, ID) == notice(SOON)
        assert download.learn_closings(device, [ID]) == []
    assert device.terms(ID).closed_early == SOON

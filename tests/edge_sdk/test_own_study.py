"""Destinations: a report goes only to its own study, independently of the response of that study."""

from __future__ import annotations

import contextlib
import json
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from aggregator.intake.ingest import ingest
from aggregator.receive import inbox
from aggregator.study import Study
from edge_sdk import BudgetPolicy, Device
from edge_sdk.__main__ import main
from edge_sdk.errors import AddressRefused, AmbiguousCampaign
from edge_sdk.transport.upload import MAX_SECONDS, Outcome
from edge_sdk.transport.waiting import waiting_by_campaign
from protocol.campaign import open_campaign
from protocol.envelope import read_batch
from protocol.keys import public_line
from tests.aggregator.test_receive import kept, served
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, Clock, Dice, campaign
from tests.edge_sdk.test_send import (
    DATA,
    PERIOD,
    SECOND,
    FakeResponse,
    UploadNetwork,
    acknowledgement,
    agreed,
    at,
    never,
    outcomes,
    waiting,
)

ELSEWHERE = "http://127.0.0.1:10"


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """Return two studies, each with a campaign and an address."""
    folder = tmp_path_factory.mktemp("studies")
    made = []
    with contextlib.ExitStack() as running:
        for name, data in (("first", DATA), ("second", SECOND)):
            study = Study.create(folder / name)
            study.import_campaign(data, [AUTHOR.public], name)
            made.append((study, at(running.enter_context(served(study)))))
        yield made


def emptied(study):
    """Return the envelopes that a study received since the last call."""
    found = b"".join(kept(study))
    for path in inbox.waiting(study.path):
        path.unlink()
    return found


def named(batch):
    """Return the campaigns that the envelopes of a batch name."""
    known = {open_campaign(data, [AUTHOR.public]).id: data for data in (DATA, SECOND)}
    return {data for one in read_batch(batch) for key, data in known.items() if key in one.unverified}


# A report goes to its own study


def test_each_study_receives_only_its_envelopes(studies, open_device):
    """Each of a device's two studies receives only its own envelopes; if one address is named, the envelopes for the
    other study stay in the queue."""
    (first, here), (second, there) = studies
    device = open_device()
    for data, url in ((DATA, here), (SECOND, there)):
        device.answer(agreed(device, data, url), "none")
    sent = device.outbox.send(here)
    assert outcomes(sent) == [Outcome.SENT, Outcome.ELSEWHERE]
    assert there in sent.attempts[1].reason
    assert (len(device.outbox), emptied(second)) == (2, b"")
    assert device.outbox.send().envelopes == 2
    assert named(emptied(first)) == {DATA}
    assert named(emptied(second)) == {SECOND}
    assert device.outbox.send(opener=never).attempts == ()


def test_envelopes_wait_until_the_study_imports_the_campaign(open_device, clock, tmp_path):
    """A study without the campaign stores none of its envelopes and says so; the device waits longer after each
    attempt. After the import every envelope is delivered and counted once."""
    study, url = Study.create(tmp_path / "late"), None
    device = open_device(urandom=lambda n: b"\xff" * n)
    with served(study) as address:
        url = at(address)
        device.answer(agreed(device, DATA, url), "none")
        before = waiting(device)
        for failures in range(3):
            sent = device.outbox.send()
            assert outcomes(sent) == [Outcome.UNKNOWN_CAMPAIGN]
            assert "does not have this campaign" in sent.attempts[0].reason
            assert (waiting(device), kept(study)) == (before, [])
            assert sent.next_attempt == clock.now + 60 * 2**failures
            clock.now += 1
            assert outcomes(device.outbox.send(opener=never)) == [Outcome.WAITING]
            clock.now = float(sent.next_attempt)
        [row] = waiting_by_campaign(device.outbox)
        assert (row.unknown_campaign, row.refused, row.failures) == (True, False, 3)
        assert any("does not have this campaign" in str(said) for said in device.doctor().values())
        study.import_campaign(DATA, [AUTHOR.public], "late")
        assert device.outbox.send().envelopes == 2
    assert (kept(study), len(device.outbox)) == ([b"".join(before)], 0)
    assert ingest(study, inbox.waiting(study.path), now=OPENS + 1, threads=1).accepted == 1


def test_a_study_stores_only_its_envelopes_of_a_mixed_upload(studies, open_device):
    """If an upload mixes envelopes of two studies, the acknowledgement lists the positions of those that were not
    stored."""
    (first, here), _ = studies
    device = open_device()
    for data in (DATA, SECOND):
        device.answer(agreed(device, data, here), "none")
    mixed = waiting(device)
    # The upload has two enrolments, then their reports.
    body = b"".join(mixed[place] for place in (0, 2, 1, 3))
    from tests.aggregator.test_receive import post

    host, _, port = here.removeprefix("http://").partition(":")
    status, said = post((host, int(port)), body)
    assert (status, said) == (200, json.loads(acknowledgement(body, 1, 3)))
    assert emptied(first) == mixed[0] + mixed[1]
    status, said = post((host, int(port)), mixed[2] + mixed[3])
    assert (status, said["refused"], emptied(first)) == (200, [0, 1], b"")


# Addresses


def test_addresses_are_tried_in_order_and_the_first_acknowledgement_ends_it(studies, open_device):
    """An address whose study does not answer or lacks the campaign is skipped; addresses after the first
    acknowledgement get nothing."""
    (first, here), (second, there) = studies
    signed = (ELSEWHERE, there, here, "http://127.0.0.1:11")
    device = open_device()
    device.answer(agreed(device, campaign(addresses=signed, periods=5000, period_seconds=PERIOD), None), "none")
    assert device.addresses(device.campaigns[0]) == signed
    sent = device.outbox.send()
    # No study of these addresses has the campaign.
    assert outcomes(sent) == [Outcome.UNKNOWN_CAMPAIGN]
    reason = sent.attempts[0].reason
    assert (reason.count("no response from 127.0.0.1"), reason.count("does not have this campaign")) == (2, 2)
    both = open_device()
    both.answer(agreed(both, DATA, here), "none")
    both._store.execute("UPDATE joined SET addresses = ?", " ".join(signed))
    assert outcomes(both.outbox.send()) == [Outcome.SENT]
    assert (named(emptied(first)), emptied(second)) == ({DATA}, b"")


def test_a_campaign_without_an_address_keeps_its_envelopes_and_is_named(open_device):
    """The envelopes of a campaign without an address stay in the queue, and the campaign is named. Its address can be
    given once, and changed only explicitly."""
    device, network = open_device(), UploadNetwork()
    joined = agreed(device, DATA, None)
    for url in (None, ELSEWHERE):
        sent = device.outbox.send(url, opener=never)
        assert outcomes(sent) == [Outcome.ELSEWHERE]
        assert "no address" in sent.attempts[0].reason
    device.join(DATA, "https://study.example/")
    assert device.addresses(joined) == ("https://study.example",)
    device.join(DATA)
    device.join(DATA, "https://study.example")
    with pytest.raises(AddressRefused, match=r"study\.example"):
        device.join(DATA, ELSEWHERE)
    assert outcomes(device.outbox.send(opener=UploadNetwork(FakeResponse(503)))) == [Outcome.FAILED]
    device.set_address(joined, ELSEWHERE)
    assert device.outbox.send(opener=network).envelopes == 1, "another address must be tried at once"


def test_a_signed_address_is_not_overruled(open_device):
    """If the author signed the address, neither joining nor any other call replaces it."""
    device = open_device()
    data = campaign(addresses=("https://study.example",))
    joined = device.join(data, ELSEWHERE).campaign_id
    assert device.addresses(joined) == ("https://study.example",)
    with pytest.raises(AddressRefused, match="signed"):
        device.set_address(joined, ELSEWHERE)
    device.consent(joined)
    sent = device.outbox.send(ELSEWHERE, opener=never)
    assert outcomes(sent) == [Outcome.ELSEWHERE]
    assert device.outbox.send("https://study.example:443/", opener=UploadNetwork()).envelopes == 1


def test_an_export_has_the_envelopes_of_one_campaign(open_device, tmp_path):
    """Waiting envelopes of two campaigns are not written to one file; those of a named campaign are."""
    device = open_device()
    first, second = agreed(device), agreed(device, SECOND)
    with pytest.raises(AmbiguousCampaign, match=second.hex()):
        device.outbox.export(tmp_path / "both.htr")
    assert not (tmp_path / "both.htr").exists()
    assert device.outbox.export(tmp_path / "first.htr", first) == 1
    assert named((tmp_path / "first.htr").read_bytes()) == {DATA}
    assert device.outbox.export(tmp_path / "second.htr") == 1


# The acknowledgement


@pytest.mark.parametrize(
    "refused",
    [None, "0", {}, [2], [-1], [1, 0], [0, 0], [0.0], [True], ["0"], [None], [[0]], [10**30]],
)
def test_an_invalid_acknowledgement_counts_as_a_failed_attempt(open_device, refused):
    """An acknowledgement with invalid positions, another number of envelopes or another digest counts as a failed
    attempt, and everything stays queued."""
    device = open_device()
    device.answer(agreed(device), "none")
    before = waiting(device)
    said = json.loads(acknowledgement(b"".join(before)))
    said["refused"] = refused
    for wrong in (said, {**said, "refused": [], "envelopes": 3}, {**said, "refused": [], "digest": "00"}):
        network = UploadNetwork(FakeResponse(200, json.dumps(wrong).encode()))
        assert outcomes(device.outbox.send(opener=network)) == [Outcome.FAILED]
        assert waiting(device) == before
        device._store.execute("DELETE FROM upload")


def test_only_refused_envelopes_stay_and_are_sent_again(open_device, place, clock):
    """After an acknowledgement that refuses some envelopes, exactly these wait, in order and with the same bytes, also
    after a restart."""
    device = open_device(place)
    joined = agreed(device)
    for period in range(4):
        clock.now = OPENS + PERIOD * period
        device.answer(joined, LABELS[period])
    everything = waiting(device)
    sent = device.outbox.send(opener=UploadNetwork(FakeResponse(200, acknowledgement(b"".join(everything), 1, 4))))
    assert [(one.outcome, one.envelopes) for one in sent.attempts] == [(Outcome.SENT, 3), (Outcome.UNKNOWN_CAMPAIGN, 2)]
    clock.now += PERIOD
    assert clock.now >= sent.next_attempt
    device.answer(joined, LABELS[5])
    later = waiting(device)[-1]
    device.close()
    network = UploadNetwork()
    assert open_device(place).outbox.send(opener=network).envelopes == 3
    assert network.bodies == [everything[1] + everything[4], later]


class Crash(BaseException):
    """Raised where the device's process would die."""


class Studies(UploadNetwork):
    """The studies of a ``TwoStudies``, with a chosen behaviour for the next request."""

    def __init__(self, world: TwoStudies, behaviour: str) -> None:
        super().__init__()
        self.world, self.behaviour = world, behaviour

    def __call__(self, to):
        self.host = to.host
        return self

    def getresponse(self) -> FakeResponse:
        body = self.bodies[-1]
        sealed = [one.encode() for one in read_batch(body)]
        refused = [at for at in range(len(sealed)) if self.behaviour != "accepts" and self.world.dice.random() < 0.4]
        if self.behaviour == "false response":
            return FakeResponse(200, acknowledgement(body, len(sealed)))
        self.world.received[self.host] += [one for at, one in enumerate(sealed) if at not in refused]
        if self.behaviour == "lost response":
            raise ConnectionResetError
        if self.behaviour == "crash":
            raise Crash
        return FakeResponse(200, acknowledgement(body, *refused))


class TwoStudies(RuleBasedStateMachine):
    """A state machine: a device in two studies over a network that delivers, refuses, loses and crashes at random."""

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.dice, self.clock = random.Random(seed), Clock()
        self.device = Device.open(
            ":memory:", [AUTHOR.public], BudgetPolicy(lifetime=10**4), clock=self.clock, urandom=Dice(seed)
        )
        self.received: dict[str, list[bytes]] = {"one.example": [], "two.example": []}
        self.sealed: dict[str, list[bytes]] = {"one.example": [], "two.example": []}
        # The campaigns outlast all steps, each of which may last a day.
        self.ids = {
            host: agreed(self.device, campaign(host, periods=10**6, period_seconds=PERIOD), f"https://{host}")
            for host in self.sealed
        }
        for host, campaign_id in self.ids.items():
            self.sealed[host].append(self.device.enrolment(campaign_id))

    @rule(label=st.sampled_from(LABELS))
    def answer(self, label: str) -> None:
        """Answer once more in each study."""
        self.clock.now += PERIOD
        for host, campaign_id in self.ids.items():
            self.sealed[host].append(self.device.answer(campaign_id, label).envelope)

    @rule(
        behaviour=st.sampled_from(["accepts", "refuses", "lost response", "false response", "crash"]),
        wait=st.booleans(),
    )
    def send(self, behaviour: str, wait: bool) -> None:
        """Call ``send`` once: if ``wait``, at a time after all planned attempts, otherwise at the time of the clock.

        Each study stores a random part of its envelopes. Its response may be lost or wrong, or the device may crash
        before it reads the response.
        """
        self.clock.now += MAX_SECONDS + 1 if wait else 0
        with contextlib.suppress(Crash):
            self.device.outbox.send(opener=Studies(self, behaviour))

    @invariant()
    def nothing_is_lost_or_sent_to_the_other_study(self) -> None:
        """Check that each envelope still waits, or was received by its own study only."""
        if not hasattr(self, "device"):
            return
        left = set(waiting(self.device))
        for host, sealed in self.sealed.items():
            assert set(sealed) <= left | set(self.received[host])
            assert set(self.received[host]) <= set(sealed)

    def teardown(self) -> None:
        """Check that nothing waits once the studies accept everything."""
        if hasattr(self, "device"):
            for _ in range(3):
                self.send("accepts", wait=True)
                self.clock.now += PERIOD
            assert len(self.device.outbox) == 0
            self.nothing_is_lost_or_sent_to_the_other_study()
            self.device.close()


TwoStudies.TestCase.settings = settings(max_examples=8, stateful_step_count=12, derandomize=True)
TestTwoStudies = TwoStudies.TestCase


# The command line


def test_the_commands_name_the_envelopes_that_stay(tmp_path, capsys):
    """The commands that join with an address, show it, send to it and change it say which envelopes stay and why."""
    store = ["--store", str(tmp_path / "store")]
    (tmp_path / "author.pub").write_text(public_line(AUTHOR.public))
    ids = []
    for name in ("One", "Two"):
        (tmp_path / name).write_bytes(campaign(name, opens=0, periods=1, period_seconds=2**38))
        options = ["--address", ELSEWHERE] if name == "One" else []
        joining = [*store, "join", str(tmp_path / name), "--trust", str(tmp_path / "author.pub"), *options, "--json"]
        assert main(joining) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["addresses"] == options[1:]
        ids.append(said["campaign"])
        assert main([*store, "consent", ids[-1]]) == 0
        capsys.readouterr()
    assert main([*store, "outbox", "send", "--campaign", ids[1]]) == 1
    assert "no address" in capsys.readouterr().err
    assert main([*store, "outbox", "send", "https://study.example"]) == 1, (
        "no envelope is for this address, so sending must fail"
    )
    assert main([*store, "outbox", "export", str(tmp_path / "out.htr")]) == 1
    assert ids[1] in capsys.readouterr().err
    assert main([*store, "outbox", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["campaigns"]
    assert [(row["title"], row["to"]) for row in rows] == [("One", ELSEWHERE), ("Two", "no address")]
    assert main([*store, "outbox", "export", str(tmp_path / "out.htr"), "--campaign", ids[1][:8]]) == 0
    assert main([*store, "address", ids[0], "http://study.example"]) == 1
    assert main([*store, "address", ids[0], "https://study.example"]) == 0

"""Years of answers, checked against the ledger and an observer who stores every sent envelope.

Two devices go through the same events with different values. An observer cannot distinguish them except by the outputs
themselves, and each stays within its owner's caps. Charges are taken from the receipts, so the ledger is tested and not
trusted.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from edge_sdk import BudgetPolicy, Device
from edge_sdk.errors import NothingWaiting, NotJoined, QuotaReached
from edge_sdk.store.sqlite import PAGE_BYTES
from protocol import envelope, exact, personal
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Blocks
from protocol.domain import Values
from protocol.errors import HalftruthError
from protocol.notions import Graded, Ldp, Lip, TranscriptPrior
from protocol.notions.classes import Classes
from protocol.report import Report
from protocol.views import plain_views
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, Clock, Dice, agreed, response

pytestmark = pytest.mark.slow

NAT = exact.NANONATS
HOUR, DAY, YEAR = 3600, 86_400, 365 * 86_400
K = len(LABELS)
PRIOR = (50, 20, 10, 10, 5, 5)


def signed(title: str, notion, channel, period_seconds: int, answers: int = 1, opens: int = OPENS, **changes) -> bytes:
    """Return a campaign of about three years."""
    campaign = Campaign(
        title, "Which?", "", "Town library", Values(LABELS), notion, "any", plain_views(channel), opens,
        opens + 3 * YEAR, period_seconds, answers, 1, "open", **changes,
    )  # fmt: skip
    return seal_campaign(campaign, AUTHOR)


GRADED = Graded.over([NAT // 4] * 2 + [NAT // 2] * 4)
ALONG = TranscriptPrior(NAT // 20, PRIOR, 6554)
CLASSES = Classes.of((Lip(NAT // 4, PRIOR), Ldp(NAT // 2)))
BLOCKS = Blocks(0, ((1, K), (2, K)), (personal.lip_response(PRIOR, NAT // 4), response(K, NAT // 2)))
CAMPAIGNS = {
    "weekly": signed("Weekly", Ldp(NAT // 4), response(K, NAT // 4), WEEK),
    "hourly": signed("Hourly", Ldp(NAT // 10), response(K, NAT // 10), DAY, 24),
    "lip": signed("LIP", Lip(NAT // 4, PRIOR), personal.lip_response(PRIOR, NAT // 4), WEEK, 2, OPENS + DAY),
    "minid": signed("MinID", GRADED, response(K, NAT // 4), 30 * DAY, 3),
    "transcript": signed("Transcript", ALONG, ALONG.channel_of(PRIOR), 20 * DAY),
    "classes": signed("Classes", CLASSES, BLOCKS, WEEK, 2, classes=("workers", "others")),
}
SIGNED = {name: open_campaign(data, [AUTHOR.public]) for name, data in CAMPAIGNS.items()}
NAMES = {one.id: name for name, one in SIGNED.items()}


class ObservedDevice:
    """One device, opened twice as by two processes, with the data that its owner and an observer have."""

    def __init__(self, folder: Path, clock: Clock, policy: BudgetPolicy) -> None:
        self.folder, self.clock, self.dice = folder, clock, Dice()
        self.handles = [self.opened(policy), self.opened()]
        self.charges: list[tuple[int, str, int]] = []
        self.given: dict[tuple[str, int, int], tuple[int, int]] = {}
        self.epoch: Counter[str] = Counter()
        self.exports: list[list[envelope.Envelope]] = []

    def opened(self, policy: BudgetPolicy | None = None) -> Device:
        return Device.open(self.folder / "store", [AUTHOR.public], policy, clock=self.clock, urandom=self.dice)

    def give(self, handle: int, name: str, x: int, reading: int | None, collects: bool) -> object:
        """Answer; return the data that an observer has: the filled slot, and the length of its content."""
        device = self.handles[handle]
        give = device.collect if collects else device.answer
        try:
            receipt = give(SIGNED[name].id, LABELS[x], reading)
        except QuotaReached:
            return "nothing"
        if receipt.repeated:
            assert receipt.cost_nanonats == 0
            assert self.given[name, receipt.period, receipt.slot] == (self.epoch[name], x)
            return "nothing"
        place = name, receipt.period, receipt.slot
        assert place not in self.given
        self.given[place] = self.epoch[name], x
        if receipt.cost_nanonats:
            self.charges.append((int(self.clock.now), name, receipt.cost_nanonats))
        return place, None if collects else len(receipt.envelope)

    def forget(self, handle: int, name: str) -> None:
        self.handles[handle].forget(SIGNED[name].id)
        self.epoch[name] += 1

    def export(self, handle: int) -> object:
        """Export the waiting envelopes; return the kind and the length of each."""
        outbox, batch = self.handles[handle].outbox, []
        for number, name in enumerate([one.campaign_id for one in outbox.destinations()] or [None]):
            path = self.folder / f"{len(self.exports)}-{number}.htr"
            outbox.export(path, name)
            batch += envelope.read_batch(path.read_bytes())
        self.exports.append(batch)
        return [(item.kind, len(item.encode())) for item in batch]

    def manner(self) -> object:
        """Return the observable behaviour: the queue, and the requests to the operating system for random bytes."""
        device = self.handles[0]
        waits = [device.collected(campaign_id) for campaign_id in device.campaigns]
        return (
            device.campaigns,
            waits,
            len(device.outbox),
            device.outbox.bytes,
            len(self.dice.asked),
            self.dice.asked[-9:],
        )

    def spent(self, name: str | None = None) -> int:
        return sum(cost for _, charged, cost in self.charges if name in (None, charged))

    def close(self) -> None:
        for handle in self.handles:
            handle.close()

    def observed(self) -> None:
        """Check that no slot is sent twice, each output is the returned one, and equal values have equal outputs."""
        filled: dict[tuple[str, int, int], int] = {}
        outputs: dict[tuple[str, int, int], set[int]] = {}
        for item in (item for batch in self.exports for item in batch if item.kind is envelope.Kind.REPORT):
            report = Report.decode(item.unverified)
            name = NAMES[report.campaign_id]
            campaign = SIGNED[name].campaign
            for slot, y in enumerate(report.outputs(campaign, None), report.slot):
                place = name, report.period, slot
                assert place not in filled
                filled[place] = y
                if not campaign.transcript:
                    outputs.setdefault((name, *self.given[place]), set()).add(y)
        assert all(len(found) == 1 for found in outputs.values())
        charged = Counter(name for _, name, _ in self.charges)
        drawn = Counter(name for name, _, _ in outputs)
        assert all(drawn[name] <= charged[name] for name in drawn)


class Years(RuleBasedStateMachine):
    """A state machine: two lives through years, campaigns, restarts, wrong clocks and forgetting."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
        self.clock = Clock()
        self.lives: list[ObservedDevice] = []

    @initialize(
        lifetime=st.sampled_from([1000, 1000, 12, 6, 3]),
        per_campaign=st.sampled_from([None, None, None, 3, 2]),
        window=st.sampled_from([None, None, None, (30 * DAY, 6), (YEAR, 8), (3, 4)]),
        later=st.sets(st.sampled_from(sorted(CAMPAIGNS)), max_size=2),
    )
    def begin(self, lifetime: int, per_campaign: int | None, window: tuple[int, int] | None, later: set[str]) -> None:
        self.lifetime, self.per_campaign, self.window = lifetime * NAT, per_campaign, window
        for number in range(2):
            place = self.folder / f"{number}"
            self.lives.append(ObservedDevice(place, self.clock, BudgetPolicy(lifetime, per_campaign, window)))
        for name in sorted(set(CAMPAIGNS) - later):
            self.join_and_consent(name, 0)

    def both(self, act: Callable[[ObservedDevice, int], object]) -> None:
        """Do the same in both lives; check that an observer's data, refusals and their words are the same."""
        seen = []
        for number, life in enumerate(self.lives):
            try:
                seen.append(act(life, number))
            except HalftruthError as error:
                seen.append((type(error), str(error).replace(str(life.folder), "")))
        assert seen[0] == seen[1]

    # Time

    @rule(seconds=st.sampled_from([1, HOUR, DAY, WEEK, 30 * DAY, YEAR]), times=st.integers(1, 3))
    def wait(self, seconds: int, times: int) -> None:
        self.clock.now += seconds * times

    @rule(seconds=st.sampled_from([1, HOUR, DAY, 40 * DAY, YEAR]))
    def go_back(self, seconds: int) -> None:
        self.clock.now = max(OPENS - YEAR // 200, self.clock.now - seconds)

    @rule(year=st.sampled_from([0, 0, 0, 1, 2, 40]), second=st.integers(0, 3 * DAY))
    def set_the_clock(self, year: int, second: int) -> None:
        self.clock.now = OPENS + year * YEAR + second

    # Campaigns

    @rule(name=st.sampled_from(sorted(CAMPAIGNS)), handle=st.integers(0, 1))
    def join_and_consent(self, name: str, handle: int) -> None:
        def act(life: ObservedDevice, number: int) -> None:
            life.handles[handle].join(CAMPAIGNS[name])
            life.handles[handle].consent(SIGNED[name].id, as_class="others" if name == "classes" else None)

        self.both(act)

    @rule(name=st.sampled_from(sorted(CAMPAIGNS)), handle=st.integers(0, 1))
    def forget(self, name: str, handle: int) -> None:
        self.both(lambda life, _: life.forget(handle, name))

    @rule(tenths=st.integers(6, 9))
    def lower_caps(self, tenths: int) -> None:
        self.lifetime = max(NAT, self.lifetime * tenths // 10)
        self.both(lambda life, _: life.handles[1].lower_caps(BudgetPolicy(lifetime=self.lifetime / NAT)))

    # Answers

    @rule(
        name=st.sampled_from(sorted(CAMPAIGNS)),
        values=st.tuples(st.integers(0, K - 1), st.integers(0, K - 1)),
        reading=st.sampled_from([None, None, None, 0, 1, 2, 23]),
        collects=st.booleans(),
        handle=st.integers(0, 1),
    )
    def give(self, name: str, values: tuple[int, int], reading: int | None, collects: bool, handle: int) -> None:
        if reading is not None and reading >= SIGNED[name].campaign.answers_per_period:
            reading = None
        self.both(lambda life, number: life.give(handle, name, values[number], reading, collects))

    @rule(
        seed=st.integers(0, 2**16),
        days=st.integers(1, 12),
        pause=st.sampled_from([DAY, HOUR, WEEK]),
        collects=st.booleans(),
        handle=st.integers(0, 1),
    )
    def live(self, seed: int, days: int, pause: int, collects: bool, handle: int) -> None:
        """Answer all joined campaigns on several days; one life repeats a value, the other changes it."""
        chance = random.Random(seed)
        for _ in range(days):
            self.clock.now += pause
            known = {NAMES[known] for life in self.lives for known in life.handles[0].campaigns}
            for name in sorted(known):
                values = chance.randrange(2), chance.randrange(K)
                self.both(
                    lambda life, number, name=name, values=values: life.give(
                        handle, name, values[number], None, collects
                    )
                )

    @rule(name=st.sampled_from(sorted(CAMPAIGNS)), handle=st.integers(0, 1))
    def bundle(self, name: str, handle: int) -> None:
        self.both(lambda life, _: life.handles[handle].bundle(SIGNED[name].id))

    @rule(handle=st.integers(0, 1))
    def export(self, handle: int) -> None:
        self.both(lambda life, _: life.export(handle))

    @rule(handle=st.integers(0, 1))
    def restart(self, handle: int) -> None:
        for life in self.lives:
            life.handles[handle].close()
            life.handles[handle] = life.opened()

    # Properties

    @invariant()
    def the_lives_look_alike(self) -> None:
        if self.lives:
            assert self.lives[0].manner() == self.lives[1].manner()

    @invariant()
    def every_cap_holds(self) -> None:
        for life in self.lives:
            budget = life.handles[0].budget
            # After forgetting, all answers count as if their values had been different.
            assert budget.spent_nanonats >= life.spent()
            assert life.epoch or budget.spent_nanonats == life.spent()
            assert budget.reserved_nanonats >= 0
            if self.per_campaign is not None:
                assert all(life.spent(name) <= self.per_campaign * NAT for name in CAMPAIGNS)
            if self.window is not None:
                seconds, nats = self.window
                for start, _, _ in life.charges:
                    assert sum(cost for at, _, cost in life.charges if start <= at < start + seconds) <= nats * NAT

    @invariant()
    def nothing_is_charged_beyond_the_lifetime(self) -> None:
        for life in self.lives:
            grown = life.spent() - getattr(life, "before", 0)
            assert not grown or life.spent() <= self.lifetime
            life.before = life.spent()

    def teardown(self) -> None:
        try:
            for life in self.lives:
                for name in CAMPAIGNS:
                    with contextlib.suppress(NotJoined):
                        with contextlib.suppress(NothingWaiting):
                            life.export(0)
                        life.handles[0].bundle(SIGNED[name].id)
                with contextlib.suppress(NothingWaiting):
                    life.export(0)
                life.observed()
        finally:
            for life in self.lives:
                life.close()
            shutil.rmtree(self.folder)


@pytest.mark.parametrize(("examples", "steps"), [(30, 40), pytest.param(1000, 100, marks=pytest.mark.long)])
def test_no_cap_is_exceeded_in_years_of_answers(examples, steps):
    """During years of answers, campaigns, wrong clocks, restarts, two processes and forgetting, no cap is exceeded, no
    slot is filled twice, equal values give equal outputs, and no other sent data depend on a value."""
    run_state_machine_as_test(Years, settings=settings(max_examples=examples, stateful_step_count=steps, database=None))


def test_two_people_cannot_be_distinguished_in_three_years(tmp_path):
    """One person repeats an answer for three years, and another always gives a new one. Their reports have the same
    slots and lengths, their devices make the same requests for random bytes, and neither is charged more than was
    reserved."""
    clock = Clock()
    lives = [ObservedDevice(tmp_path / f"{number}", clock, BudgetPolicy(lifetime=13)) for number in range(2)]
    for life in lives:
        for name, data in CAMPAIGNS.items():
            life.handles[0].join(data)
            life.handles[0].consent(SIGNED[name].id, as_class="others" if name == "classes" else None)
    reserved = sum(entry.nanonats for entry in lives[0].handles[0].ledger)
    for week in range(157):
        for number, life in enumerate(lives):
            for name in CAMPAIGNS:
                hours = 24 if name == "hourly" and week % 5 == 0 else 1
                clock.now = OPENS + week * WEEK + DAY
                for hour in range(hours):
                    with contextlib.suppress(QuotaReached):
                        life.give(week % 2, name, (week + hour) * number % K, None, name == "hourly")
                    clock.now += HOUR
            for handle in life.handles:
                handle.bundle(SIGNED["hourly"].id)
            life.export(0)
        assert lives[0].manner() == lives[1].manner()
    seen = [[[(item.kind, len(item.encode())) for item in batch] for batch in life.exports] for life in lives]
    assert seen[0] == seen[1]
    assert lives[0].given.keys() == lives[1].given.keys()
    given = Counter(name for name, _, _ in lives[1].given)
    assert (given["weekly"], given["hourly"], given["transcript"]) == (157, 157 + 32 * 23, 55)
    for life in lives:
        life.observed()
        assert life.spent() == life.handles[0].budget.spent_nanonats <= reserved
        life.close()
    assert lives[0].spent() < lives[1].spent() == reserved


def test_answers_of_years_take_little_space():
    """After its upload, a repeated answer takes less than 64 bytes of the store, and a new answer less than 400."""
    clock, values = Clock(), tuple(f"v{x}" for x in range(900))
    campaign = Campaign(
        "Daily", "Which?", "", "Town", Values(values), Ldp(NAT // 100), "any", plain_views(response(900, NAT // 100)),
        OPENS, OPENS + 5 * YEAR, DAY, 1, 1, "enrolled",
    )  # fmt: skip
    with Device.open(":memory:", [AUTHOR.public], BudgetPolicy(lifetime=10), clock=clock) as device:
        campaign_id = agreed(device, seal_campaign(campaign, AUTHOR))

        def grown(answers: list[str]) -> float:
            sizes = []
            for number, value in enumerate(answers):
                if number % 100 == 0:
                    with device._store.transaction():
                        device.outbox.forget(1)
                    sizes.append(int(device.doctor()["page_count"]) * PAGE_BYTES)
                device.answer(campaign_id, value)
                clock.now += DAY
            return (sizes[-1] - sizes[1]) / (len(answers) - 200)

        shuffled = random.Random(1).sample(values, 900)
        assert grown(shuffled) < 400
        assert grown(shuffled[:1] * 900) < 64

"""In random sequences of events, a person's privacy loss stays within the caps."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from edge_sdk import BudgetPolicy, Device
from edge_sdk.errors import BudgetRefused, ConsentMissing, NotJoined, OutboxFull, QuotaReached
from protocol.campaign import campaign_id
from protocol.errors import OutsideSchedule
from protocol.views import Coarse, Identity
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, Clock, campaign

pytestmark = pytest.mark.slow

NAT = 10**9
CAMPAIGNS = [
    campaign("A", level=NAT, periods=100, period_seconds=10, answers=1),
    campaign("B", level=NAT // 2, periods=300, period_seconds=3, answers=2, maps=(Identity(), Coarse(2), Coarse(3))),
    campaign("C", level=2 * NAT, periods=20, period_seconds=50, answers=3),
    campaign("D", level=NAT // 4, opens=OPENS + 30, periods=1000, period_seconds=1, answers=1),
]
IDS = [campaign_id(data) for data in CAMPAIGNS]
REFUSALS = (BudgetRefused, ConsentMissing, OutboxFull, OutsideSchedule, QuotaReached, NotJoined)
which = st.integers(0, len(CAMPAIGNS) - 1)


class BudgetMachine(RuleBasedStateMachine):
    """One device through answers, campaigns, restarts, clock jumps and forgetting.

    Its charges are taken from the receipts, so the ledger is tested and not trusted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")))
        self.clock = Clock()
        self.charges: list[tuple[int, int, int]] = []
        self.forgot = False

    @initialize(
        lifetime=st.sampled_from([3, 7, 12, 1000, 1000]),
        per_campaign=st.sampled_from([None, None, 4, 8]),
        window=st.sampled_from([None, (3, 1), (10, 1), (10, 2), (4, 2), (30, 4)]),
    )
    def begin(self, lifetime: int, per_campaign: int | None, window: tuple[int, int] | None) -> None:
        self.lifetime, self.per_campaign, self.window = lifetime * NAT, per_campaign, window
        self.device = self.opened(BudgetPolicy(lifetime, per_campaign, window))

    def opened(self, policy: BudgetPolicy | None = None) -> Device:
        return Device.open(self.folder / "store", [AUTHOR.public], policy, clock=self.clock)

    @rule(index=which)
    def join(self, index: int) -> None:
        with contextlib.suppress(*REFUSALS):
            self.device.join(CAMPAIGNS[index])

    @rule(index=which)
    def join_and_consent(self, index: int) -> None:
        with contextlib.suppress(*REFUSALS):
            self.device.join(CAMPAIGNS[index])
            self.device.consent(IDS[index])

    @rule(
        value=st.integers(0, len(LABELS) - 1),
        waits=st.lists(st.integers(1, 12), max_size=3),
        reading=st.sampled_from([None, None, 0]),
        collects=st.booleans(),
    )
    def answer(self, value: int, waits: list[int], reading: int | None = None, collects: bool = False) -> None:
        give = self.device.collect if collects else self.device.answer
        for step, wait in enumerate([0, *waits]):
            self.clock.now += wait
            for index in range(len(CAMPAIGNS)):
                with contextlib.suppress(*REFUSALS):
                    receipt = give(IDS[index], LABELS[(value + step) % len(LABELS)], reading)
                    if receipt.cost_nanonats:
                        self.charges.append((int(self.clock.now), index, receipt.cost_nanonats))
                        assert self.spent() <= self.lifetime

    @rule(seconds=st.integers(-60, 60))
    def jump(self, seconds: int) -> None:
        self.clock.now = max(OPENS, self.clock.now + seconds)

    @rule(index=which, ahead=st.sampled_from([0, 0, 3, 10, 30]), value=st.integers(0, len(LABELS) - 1))
    def begin_again_ahead_of_time(self, index: int, ahead: int, value: int) -> None:
        """Answer, forget, consent to another campaign under a clock that runs ahead, and answer under a correct
        clock."""
        self.answer(value, [5])
        self.forget(None)
        self.clock.now += ahead
        self.join_and_consent(index)
        self.clock.now -= ahead
        self.answer(value + 1, [5])

    @rule(index=which)
    def bundle(self, index: int) -> None:
        with contextlib.suppress(*REFUSALS):
            self.device.bundle(IDS[index])

    @rule()
    def restart(self) -> None:
        self.device.close()
        self.device = self.opened()

    @rule(index=st.none() | which)
    def forget(self, index: int | None) -> None:
        self.forgot = True
        with contextlib.suppress(*REFUSALS):
            self.device.forget(None if index is None else IDS[index])

    @rule(tenths=st.integers(5, 10))
    def lower_caps(self, tenths: int) -> None:
        self.lifetime = min(self.lifetime, max(NAT, self.lifetime * tenths // 10))
        self.device.lower_caps(BudgetPolicy(lifetime=self.lifetime / NAT))

    def spent(self, index: int | None = None) -> int:
        return sum(cost for _, charged, cost in self.charges if index in (None, charged))

    @invariant()
    def every_cap_holds(self) -> None:
        if self.per_campaign is not None:
            assert all(self.spent(index) <= self.per_campaign * NAT for index in range(len(CAMPAIGNS)))
        if self.window is not None:
            seconds, nats = self.window
            for start, _, _ in self.charges:
                inside = sum(cost for time, _, cost in self.charges if start <= time < start + seconds)
                assert inside <= nats * NAT

    @invariant()
    def the_ledger_agrees(self) -> None:
        if hasattr(self, "device"):
            budget = self.device.budget
            # After forgetting, all answers count as if their values had been different.
            assert budget.spent_nanonats >= self.spent()
            assert self.forgot or budget.spent_nanonats == self.spent()
            assert budget.reserved_nanonats >= 0

    def teardown(self) -> None:
        if hasattr(self, "device"):
            self.device.close()
        shutil.rmtree(self.folder)


@pytest.mark.parametrize(("examples", "steps"), [(30, 50), pytest.param(1000, 100, marks=pytest.mark.long)])
def test_the_sum_of_charges_stays_within_every_cap(examples, steps):
    """In no random sequence of answers, campaigns, restarts, clock jumps and forgetting is a cap exceeded.

    The test has 30 lives of up to 50 steps, the same in each run; the long test has 1,000 lives of up to 100 steps.
    """
    run_state_machine_as_test(
        BudgetMachine,
        settings=settings(max_examples=examples, stateful_step_count=steps, database=None),
    )

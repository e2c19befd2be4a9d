"""Answers with cached conditions, compared with a device that reads the conditions before every answer."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edge_sdk import BudgetPolicy, Device
from edge_sdk.errors import BudgetRefused, StoreError
from edge_sdk.rollback.checkpointing import CheckpointWriter, stored_checkpoint
from edge_sdk.store.sqlite import Store
from edge_sdk.transport.stored_outbox import StoredOutbox
from protocol.campaign import campaign_id, open_campaign
from protocol.closing import seal_closing
from protocol.errors import HalftruthError, OutsideSchedule
from tests.edge_sdk.conftest import AUTHOR, OPENS, WEEK, Clock, Dice, campaign

MANY = campaign(title="Many", answers=40, periods=3)
ONE = campaign(title="One a week", periods=3)
BOTH = (MANY, ONE)
CLOSINGS = [seal_closing(open_campaign(data, [AUTHOR.public]), OPENS + WEEK, AUTHOR) for data in BOTH]
OPERATIONS = (
    "answer",
    "answer",
    "answer",
    "collect",
    "bundle",
    "consent",
    "forget",
    "close",
    "lower_caps",
    "export",
    "week",
)


@given(
    st.lists(
        st.tuples(st.sampled_from(OPERATIONS), st.sampled_from((0, 1)), st.sampled_from((0, 1)), st.integers(0, 2))
    )
)
@example([("answer", 0, 0, 0), ("lower_caps", 0, 0, 0), ("answer", 0, 0, 1)])
@example([("answer", 0, 0, 0), ("lower_caps", 1, 0, 0), ("answer", 0, 0, 1)])
@example([("answer", 0, 0, 0), ("forget", 1, 0, 0), ("answer", 0, 0, 1)])
@example([("answer", 0, 0, 0), ("close", 1, 0, 0), ("week", 0, 0, 0), ("answer", 0, 0, 1)])
@example([("answer", 0, 0, 0), ("forget", 0, 0, 0), ("consent", 1, 0, 0), ("answer", 0, 0, 0), ("answer", 0, 0, 1)])
@example([("answer", 0, 0, value % 3) for value in range(6)] + [("export", 1, 0, 0), ("answer", 0, 0, 0)])
def test_cached_conditions_change_no_result(tmp_path_factory, operations):
    """Two devices use one store, and each operation is run by either of them. Every result (receipts byte by byte,
    refusals, the budget and the length of the queue) equals that of two devices whose cache is empty at every
    answer."""
    once, each_time = (tmp_path_factory.mktemp("store") for _ in range(2))
    assert results(once, operations, always=False) == results(each_time, operations, always=True)


def results(folder, operations, always):
    """Return the result or refusal of each operation, with the budget and the length of the queue after it."""
    clock, found = Clock(), []
    with contextlib.ExitStack() as stack:
        # Two of these are enrolments.
        stack.enter_context(few_envelopes(7))
        if always:
            stack.enter_context(reads_always())
        devices = [
            stack.enter_context(
                Device.open(folder / "store", [AUTHOR.public], BudgetPolicy(1000), clock=clock, urandom=Dice(seed))
            )
            for seed in (1, 2)
        ]
        for data in BOTH:
            devices[0].consent(devices[0].join(data).campaign_id)
        for number, (name, which, one, value) in enumerate(operations):
            device, data = devices[which], BOTH[one]
            try:
                found.append(done(device, name, data, CLOSINGS[one], value, clock, folder / f"{number}.htr"))
            except HalftruthError as error:
                found.append((type(error), str(error)))
            found.append((device.budget, len(device.outbox)))
    return found


def done(device, name, data, closing, value, clock, file):
    """Run one operation; return its result."""
    asked, label = campaign_id(data), ("none", "primary", "master")[value]
    match name:
        case "answer":
            return device.answer(asked, label)
        case "collect":
            return device.collect(asked, label)
        case "bundle":
            return device.bundle(asked)
        case "consent":
            device.join(data)
            return device.consent(asked)
        case "forget":
            return device.forget(asked)
        case "close":
            return device.close_early(closing).closed_early
        case "lower_caps":
            return device.lower_caps(BudgetPolicy(lifetime=2))
        case "export":
            return device.outbox.export(file, asked)
        case "week":
            clock.now += WEEK
            return clock.now


@contextlib.contextmanager
def few_envelopes(most):
    """Limit the outbox to ``most`` envelopes, so that a short list of operations fills it."""
    from edge_sdk.transport import stored_outbox

    before, stored_outbox.MAX_ENVELOPES = stored_outbox.MAX_ENVELOPES, most
    try:
        yield
    finally:
        stored_outbox.MAX_ENVELOPES = before


@contextlib.contextmanager
def reads_always():
    """Make every transaction begin with an empty cache, as the slow reference."""
    before = Store._refresh_cache
    Store._refresh_cache = lambda store, answer: store.cache.clear()
    try:
        yield
    finally:
        Store._refresh_cache = before


def test_of_two_unmet_conditions_the_earlier_one_is_named():
    """If the clock is before the consent and a cap is below the reserved amount, the error names the clock, as in the
    browser."""
    clock = Clock()
    with Device.open(":memory:", [AUTHOR.public], BudgetPolicy(1000), clock=clock, urandom=Dice(1)) as device:
        asked = device.join(MANY).campaign_id
        clock.now += 60
        device.consent(asked)
        device.lower_caps(BudgetPolicy(lifetime=1))
        with pytest.raises(BudgetRefused):
            device.answer(asked, "none")
        clock.now -= 30
        with pytest.raises(OutsideSchedule, match="before the consent"):
            device.answer(asked, "none")


def test_a_later_answer_reads_no_condition_again(monkeypatch):
    """The second and the third answer run fewer queries than the first, because consent, caps and the queue's length
    are cached."""
    device = Device.open(":memory:", [AUTHOR.public], BudgetPolicy(1000), clock=Clock(), urandom=Dice(1))
    asked = device.join(MANY).campaign_id
    device.consent(asked)
    read = []
    monkeypatch.setattr(
        Store, "rows", lambda store, sql, *rest, rows=Store.rows: read.append(sql) or rows(store, sql, *rest)
    )
    counted = []
    for value in ("none", "primary", "master"):
        read.clear()
        device.answer(asked, value)
        counted.append(len(read))
    assert counted[0] > counted[1] == counted[2]
    # A later answer must not call this method.
    monkeypatch.setattr(StoredOutbox, "_size", None)
    device.answer(asked, "secondary")
    device.close()


def test_a_failed_transaction_does_not_change_the_cache(place, monkeypatch):
    """If the commit of an answer fails after queue and checkpoint were cached, the next transaction has the stored
    queue length and checkpoint, not the cached ones."""
    device = Device.open(place, [AUTHOR.public], BudgetPolicy(1000), clock=Clock(), urandom=Dice(1))
    asked = device.join(MANY).campaign_id
    device.consent(asked)
    device.answer(asked, "none")
    store = device.records.store
    with monkeypatch.context() as patch:

        def refuse():
            before_commit()
            raise StoreError("the disk is full")

        before_commit = store.hooks.before_commit
        patch.setattr(store.hooks, "before_commit", refuse)
        with pytest.raises(StoreError, match="disk is full"):
            device.answer(asked, "primary")
    with store.transaction(answering=True):
        assert device.outbox._size_now() == device.outbox._size()
        assert store.cache.get(CheckpointWriter, stored_checkpoint(store)) == stored_checkpoint(store)
    device.close()

"""A store whose database does not have the content that was written, and the recovery from its remaining parts."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3

import pytest

import edge_sdk.rollback.file_store
import edge_sdk.rollback.recovery
import edge_sdk.store.files
import edge_sdk.store.sqlite
from edge_sdk import BudgetPolicy, Device
from edge_sdk.errors import StoreDamaged, StoreError
from edge_sdk.rollback.key_store import CHECKPOINT_FILE, SECRET_FILE
from edge_sdk.store.sqlite import DATABASE_FILE, Store
from protocol.errors import HalftruthError
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign

RESERVED = 6 * 10**9


def answered(place, clock, answers: int = 3) -> bytes:
    """Make a closed store with a campaign that may cost 6 nats and has the given number of answers; return the
    campaign's id."""
    policy = BudgetPolicy(lifetime=20, window=(100, 15))
    with Device.open(place, [AUTHOR.public], policy, clock=clock) as device:
        campaign_id = agreed(device, campaign("Distinctive title"))
        for period in range(answers):
            clock.now = OPENS + period * WEEK
            device.answer(campaign_id, LABELS[period])
    return campaign_id


def change(place, *statements: str) -> None:
    """Write into the database from outside the device."""
    with contextlib.closing(sqlite3.connect(place / DATABASE_FILE)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def headless(place) -> None:
    data = (place / DATABASE_FILE).read_bytes()
    (place / DATABASE_FILE).write_bytes(bytes(range(100)) + data[100:])


def scrambled(place) -> None:
    data = (place / DATABASE_FILE).read_bytes()
    (place / DATABASE_FILE).write_bytes(data[:1024] + b"\xa5" * (len(data) - 1024))


def cut(place) -> None:
    data = (place / DATABASE_FILE).read_bytes()
    (place / DATABASE_FILE).write_bytes(data[: len(data) // 3])


DAMAGES = {
    "header overwritten": headless,
    "scrambled": scrambled,
    "cut": cut,
    "a cheaper charge": lambda place: change(place, "UPDATE ledger SET nanonats = 1 WHERE kind = 2"),
    "a charge deleted": lambda place: change(place, "DELETE FROM ledger WHERE number = 3"),
    "no ledger": lambda place: change(place, "DELETE FROM ledger"),
    "a row of an unknown kind": lambda place: change(place, "UPDATE ledger SET kind = 9"),
    "text in place of a number": lambda place: change(place, "UPDATE ledger SET nanonats = 'much'"),
    "a raised cap": lambda place: change(place, "UPDATE cap SET nanonats = nanonats * 2"),
    "no checkpoint": lambda place: change(place, "DELETE FROM setting WHERE name = 'checkpoint'"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_store_is_refused_and_can_be_adopted(place, clock, damage) -> None:
    """A damaged store is reported as damaged. After adoption it has its caps and its secret, and its reserved amount
    counts as spent; the damaged database is kept in a private folder."""
    answered(place, clock)
    secret = (place / SECRET_FILE).read_bytes()
    damage(place)
    with pytest.raises(StoreDamaged, match="adopt"):
        Device.open(place)
    with Device.adopt(place, clock=clock) as device:
        assert (device.budget.spent_nanonats, device.budget.reserved_nanonats) == (RESERVED, 0)
        assert [cap.nanonats for cap in device.budget.caps] == [20 * 10**9, 15 * 10**9]
        assert device.campaigns == []
        assert device._store.secret == secret
        found = device.doctor()
        assert found["quarantine"].startswith("quarantine-1:")
        assert found["integrity"] == "checked, no damage found"
    aside = place / "quarantine-1"
    assert aside.stat().st_mode & 0o777 == 0o700
    assert (aside / DATABASE_FILE).exists()
    with Device.open(place) as device:
        assert device.budget.spent_nanonats == RESERVED


def test_a_campaign_whose_stored_copy_is_damaged_can_be_forgotten_and_joined_again(place, clock) -> None:
    """A damaged copy of a campaign is refused with the remedy, which works: the campaign can be forgotten and joined
    again, and its spending stays counted."""
    campaign_id = answered(place, clock)
    change(place, "UPDATE joined SET data = substr(data, 1, 100)")
    with Device.open(place, [AUTHOR.public], clock=clock) as device:
        spent = device.budget.spent_nanonats
        with pytest.raises(StoreError, match="forget the campaign, and join it again"):
            device.terms(campaign_id)
        device.forget(campaign_id)
        device.join(campaign("Distinctive title"))
        assert device.terms(campaign_id).title == "Distinctive title"
        assert device.budget.spent_nanonats >= spent > 0


def test_a_store_of_many_pages_is_checked_by_doctor(place, clock, monkeypatch) -> None:
    """A damaged database is refused at every opening if it is small; a large one is checked completely, and refused, by
    doctor only."""
    answered(place, clock)
    path = place / DATABASE_FILE
    data = bytearray(path.read_bytes())
    with contextlib.closing(sqlite3.connect(path)) as connection:
        [[root]] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memo'")
    data[(root - 1) * 1024 : root * 1024] = bytes(1024)
    path.write_bytes(data)
    with pytest.raises(StoreDamaged):
        Device.open(place)
    monkeypatch.setattr(edge_sdk.store.sqlite, "QUICK_PAGES", 0)
    with Device.open(place) as device, pytest.raises(StoreDamaged):
        device.doctor()


def test_a_second_quarantine_does_not_overwrite_the_first(place, clock) -> None:
    answered(place, clock)
    for number in (1, 2):
        headless(place)
        Device.adopt(place, clock=clock).close()
        assert (place / f"quarantine-{number}" / DATABASE_FILE).exists()


@pytest.mark.parametrize("everything", [False, True])
def test_forgetting_deletes_the_quarantined_database(place, clock, everything) -> None:
    """The first forgetting after an adoption deletes the answers of the damaged database."""
    answered(place, clock)
    DAMAGES["a charge deleted"](place)
    with Device.adopt(place, [AUTHOR.public], clock=clock) as device:
        assert b"Distinctive title" in (place / "quarantine-1" / DATABASE_FILE).read_bytes()
        campaign_id = device.join(campaign("Another")).campaign_id
        device.forget(None if everything else campaign_id)
        assert not (place / "quarantine-1").exists()
        assert "quarantine" not in device.doctor()


@pytest.mark.parametrize("damage", [headless, scrambled, cut])
def test_a_store_whose_spending_is_unknown_is_not_adopted(place, clock, damage) -> None:
    """With neither database nor checkpoint the spent amount is unknown, so adoption is refused and moves nothing."""
    answered(place, clock)
    damage(place)
    (place / CHECKPOINT_FILE).write_bytes(bytes(9000))
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    with pytest.raises(StoreError, match="unknown"):
        Device.adopt(place, clock=clock)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


def test_a_lost_checkpoint_is_computed_from_the_database(place, clock) -> None:
    answered(place, clock)
    (place / CHECKPOINT_FILE).unlink()
    with Device.adopt(place, clock=clock) as device:
        assert device.budget.spent_nanonats == RESERVED
    Device.open(place).close()


def test_the_database_replaces_a_lost_checkpoint(place, clock) -> None:
    """A database that is damaged in other places still has its totals, so a store with a lost checkpoint can be
    adopted."""
    answered(place, clock)
    (place / CHECKPOINT_FILE).unlink()
    DAMAGES["no ledger"](place)
    with Device.adopt(place, clock=clock) as device:
        assert device.budget.spent_nanonats == RESERVED


def test_the_spending_of_a_foreign_checkpoint_does_not_count(place, clock, tmp_path) -> None:
    """The spending in another store's checkpoint does not count in this store."""
    answered(place, clock)
    with Device.open(tmp_path / "other", [AUTHOR.public], BudgetPolicy(lifetime=100), clock=clock) as device:
        device.consent(device.join(campaign(level=9 * 10**9)).campaign_id)
    shutil.copy(tmp_path / "other" / CHECKPOINT_FILE, place / CHECKPOINT_FILE)
    with Device.adopt(place, clock=clock) as device:
        assert device.budget.spent_nanonats == RESERVED


@pytest.mark.parametrize(("rounds", "seed"), [(50, 1), pytest.param(3000, 2, marks=pytest.mark.long)])
def test_damage_never_lowers_the_spent_amount(place, clock, rounds, seed) -> None:
    """With random bytes of its database changed, a store opens with its total unchanged, or is refused; an adoption
    that succeeds does not lower the spent amount."""
    dice = random.Random(seed)
    answered(place, clock, answers=2)
    whole = {path.name: path.read_bytes() for path in place.iterdir()}
    adopted = 0
    for _ in range(rounds):
        for path in list(place.iterdir()):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in whole:
                path.unlink()
        for name, data in whole.items():
            (place / name).write_bytes(data)
        data = bytearray(whole[DATABASE_FILE])
        for _ in range(dice.choice((1, 1, 3, 30))):
            start = dice.randrange(len(data))
            data[start : start + dice.choice((1, 1, 8, 500))] = dice.randbytes(dice.choice((1, 1, 8, 500)))
        (place / DATABASE_FILE).write_bytes(data)
        try:
            with Device.open(place, clock=clock) as device:
                assert device.budget.spent_nanonats + device.budget.reserved_nanonats == RESERVED
        except HalftruthError:
            with contextlib.suppress(StoreError), Device.adopt(place, clock=clock) as device:
                adopted += 1
                assert device.budget.spent_nanonats >= RESERVED
    assert adopted > rounds / 4


STEPS = (
    (os, "write"),
    (os, "fsync"),
    (edge_sdk.rollback.file_store, "write_durably"),
    (edge_sdk.store.files, "sync"),
    (edge_sdk.rollback.recovery, "sync"),
    (edge_sdk.store.sqlite.Path, "rename"),
    (edge_sdk.store.sqlite.Path, "mkdir"),
    (Store, "set"),
    (Store, "vacuum"),
    (Store, "close"),
)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["header overwritten", "a charge deleted", None])
def test_an_adoption_can_be_repeated_after_a_kill(place, clock, monkeypatch, damage) -> None:
    """After a kill at any step of an adoption, a second adoption gives a store in which exactly the reserved amount is
    spent."""
    answered(place, clock)
    if damage is None:
        (place / SECRET_FILE).unlink()
    else:
        DAMAGES[damage](place)
    broken = {path.name: path.read_bytes() for path in place.iterdir()}
    for moment in range(300):
        shutil.rmtree(place)
        place.mkdir(mode=0o700)
        for name, data in broken.items():
            (place / name).write_bytes(data)
        child = os.fork()
        if child == 0:
            steps = iter(range(moment + 1))

            def counted(work, steps=steps, moment=moment):
                def step(*arguments, **options):
                    if next(steps, None) == moment:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return work(*arguments, **options)

                return step

            for owner, name in STEPS:
                monkeypatch.setattr(owner, name, counted(getattr(owner, name)))
            Device.adopt(place, clock=clock).close()
            os._exit(0)
        ended = os.waitpid(child, 0)[1]
        with Device.adopt(place, clock=clock) as device:
            assert (device.budget.spent_nanonats, device.budget.reserved_nanonats) == (RESERVED, 0), moment
        if os.WIFEXITED(ended):
            break
    assert ended == 0
    assert moment > 10

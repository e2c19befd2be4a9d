"""Stores that were restored from an older state or copied, and the checkpoint after forgetting."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from edge_sdk import BudgetPolicy, Device
from edge_sdk.__main__ import main
from edge_sdk.budget.ledger import EntryKind
from edge_sdk.errors import BudgetRefused, StoreDamaged, StoreError, StoreRestored
from edge_sdk.rollback.checkpoint import MAX_CAPS, Checkpoint
from edge_sdk.rollback.checkpointing import stored_checkpoint
from edge_sdk.rollback.file_store import RECORD_BYTES, FileKeyStore
from edge_sdk.rollback.host_identity import HostIdentity, _generation
from edge_sdk.rollback.key_store import CHECKPOINT_FILE, SECRET_FILE
from edge_sdk.rollback.store_identity import open_store
from edge_sdk.store.sqlite import DATABASE_FILE, Store
from tests.altered import flipped
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign


def files(place):
    """Return the content of every file of a folder, by name."""
    return {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}


def put_back(place, held, only=None):
    """Write a folder's earlier content into the same files, so that inodes stay the same and later changes are lost."""
    if only is None:
        for path in place.iterdir():
            if path.name not in held:
                path.unlink()
    for name, data in held.items():
        if only is None or name.startswith(only):
            (place / name).write_bytes(data)


@pytest.fixture
def answered(open_device, clock, place):
    """Return a function that opens the device at ``place``, answers new values of a long campaign, and closes the
    device."""
    data = campaign(periods=5000, period_seconds=10, answers=6)
    given = iter(range(5000))

    def answer(count: int = 1, **options) -> None:
        with open_device(place, **options) as device:
            campaign_id = agreed(device, data)
            for _ in range(count):
                number = next(given)
                clock.now = OPENS + 10 * (number // 6)
                device.answer(campaign_id, LABELS[number % 6])

    return answer


def spent(place, **options) -> float:
    """Return the spent amount according to the device."""
    with Device.open(place, clock=lambda: OPENS, **options) as device:
        return device.budget.spent


# A restored older state


def test_an_older_database_is_refused(answered, place) -> None:
    """If database and secret are restored without the newer checkpoint, the store is refused as an older state."""
    answered()
    held = files(place)
    answered()
    put_back(place, held, (DATABASE_FILE, SECRET_FILE))
    with pytest.raises(StoreRestored, match="older than its checkpoint"):
        spent(place)


def test_an_older_checkpoint_is_updated(answered, place) -> None:
    """After a crash a store may be ahead of its checkpoint; opening the store updates the checkpoint."""
    answered()
    held = files(place)
    answered()
    newer = files(place)
    put_back(place, held, CHECKPOINT_FILE)
    assert spent(place) == 2
    put_back(place, held, DATABASE_FILE)
    with pytest.raises(StoreRestored, match="older than its checkpoint"):
        spent(place)
    put_back(place, newer)
    assert spent(place) == 2


def test_a_folder_restored_as_new_files_is_refused(answered, place) -> None:
    """If the files are deleted and restored as new ones, the store is refused as a copy."""
    answered()
    held = files(place)
    answered()
    for path in list(place.iterdir()):
        path.unlink()
    put_back(place, held)
    with pytest.raises(StoreRestored, match="copied"):
        spent(place)


def test_a_folder_restored_byte_by_byte_is_refused_by_a_second_checkpoint_only(answered, place, tmp_path) -> None:
    """A copy into the same files cannot be detected from within the folder; doctor says so, and a checkpoint in another
    place detects the copy."""
    outside = tmp_path / "elsewhere" / "unit.checkpoint"
    answered()
    held = files(place)
    answered()
    with Device.open(place) as device:
        assert "cannot be detected" in device.doctor()["rollback"]
    put_back(place, held)
    assert spent(place) == 1
    answered(key_store=FileKeyStore(place, outside))
    assert outside.stat().st_mode & 0o777 == 0o600
    held = files(place)
    # The store records its key store, so it need not be named again.
    answered()
    with Device.open(place) as device:
        assert str(outside) in device.doctor()["rollback"]
    put_back(place, held)
    with pytest.raises(StoreRestored, match=r"older than its checkpoint.*unit\.checkpoint"):
        spent(place)


def test_a_second_checkpoint_outlives_the_folder(answered, place, tmp_path) -> None:
    """A folder that was deleted to start again is refused because of its checkpoint in another place; after adoption it
    continues from the spent amount."""
    key_store = FileKeyStore(place, tmp_path / "elsewhere" / "unit.checkpoint")
    answered(2, key_store=key_store)
    shutil.rmtree(place)
    with pytest.raises(StoreRestored, match="has its checkpoint"):
        spent(place, key_store=key_store)
    with Device.adopt(place, key_store=key_store, clock=lambda: OPENS) as device:
        assert device.budget.spent_nanonats == 6 * 10**9


@pytest.mark.parametrize("away", ["inside", "outside"])
def test_a_missing_checkpoint_is_refused(answered, place, tmp_path, away) -> None:
    """A store that has charged anything requires its checkpoint in every place where it was stored."""
    outside = tmp_path / "unit.checkpoint"
    answered(key_store=FileKeyStore(place, outside))
    (outside if away == "outside" else place / CHECKPOINT_FILE).unlink()
    with pytest.raises(StoreRestored, match="has no checkpoint"):
        spent(place)


def test_the_checkpoint_of_another_store_is_refused(answered, open_device, place, tmp_path) -> None:
    """Two stores cannot share one checkpoint, neither by a copied file nor by the same name in another place."""
    outside = tmp_path / "unit.checkpoint"
    answered(key_store=FileKeyStore(place, outside))
    other = tmp_path / "other"
    with pytest.raises(StoreRestored):
        open_device(other, key_store=FileKeyStore(other, outside))
    open_device(tmp_path / "third").close()
    put_back(place, {CHECKPOINT_FILE: (tmp_path / "third" / CHECKPOINT_FILE).read_bytes()}, CHECKPOINT_FILE)
    with pytest.raises(StoreRestored, match="another store"):
        spent(place)


def test_a_lost_database_is_refused(open_device, place) -> None:
    """A secret and a checkpoint without their database do not make a new device; after adoption it is the old device
    with its keys."""
    with open_device(place) as device:
        secret = device._store.secret
    (place / DATABASE_FILE).unlink()
    with pytest.raises(StoreRestored, match="no database"):
        open_device(place)
    with Device.adopt(place) as device:
        assert device._store.secret == secret
        assert [cap.nanonats for cap in device.budget.caps] == [1000 * 10**9]


def test_a_store_with_only_its_secret_is_not_opened(open_device, place) -> None:
    """With neither database nor checkpoint the spent amount is unknown, so opening and adoption are refused."""
    open_device(place).close()
    for name in (DATABASE_FILE, CHECKPOINT_FILE):
        (place / name).unlink()
    with pytest.raises(StoreDamaged, match="delete the folder"):
        open_device(place)
    with pytest.raises(StoreError, match="unknown"):
        Device.adopt(place)


# A copy of the store


def test_a_copy_is_refused(answered, place, tmp_path) -> None:
    """A copy of a folder beside the original is refused, and the original continues."""
    answered()
    shutil.copytree(place, tmp_path / "copy")
    with pytest.raises(StoreRestored, match="copied"):
        spent(tmp_path / "copy")
    answered()
    assert spent(place) == 2


def test_a_renamed_folder_is_accepted(answered, place) -> None:
    """A renamed folder is not refused as a copy."""
    answered()
    place.rename(place.with_name("renamed"))
    assert spent(place.with_name("renamed")) == 1


def test_another_machine_is_refused(place, monkeypatch) -> None:
    """A store is refused as a copy if the machine's identifier differs or is missing, even before the first charge."""

    def opened_on(machine: bytes) -> Store:
        monkeypatch.setattr("edge_sdk.rollback.host_identity.this_machine", lambda: machine)
        return open_store(place, os.urandom)

    opened_on(b"one").close()
    store = opened_on(b"one")
    assert store.doctor()["machine"].startswith("identified")
    store.close()
    for other in (b"two", b""):
        with pytest.raises(StoreRestored, match="another machine"):
            opened_on(other)
    opened_on(b"one").close()


def test_copies_that_cannot_be_detected_are_reported(monkeypatch, answered, place, tmp_path) -> None:
    """If neither the files nor the machine can be identified, a copy is not refused, and doctor says that copies are
    not detected."""
    monkeypatch.setattr("edge_sdk.rollback.host_identity.STABLE", set())
    monkeypatch.setattr("edge_sdk.rollback.host_identity.MACHINE_ID", "/nowhere")
    answered()
    with Device.open(place) as device:
        found = device.doctor()
    assert "not detected" in found["copies of the files"]
    assert "not identified" in found["machine"]
    shutil.copytree(place, tmp_path / "copy")
    assert spent(tmp_path / "copy") == 1


def test_a_machine_is_compared_only_if_it_was_known() -> None:
    """A machine that changes from unknown to known is accepted; a change from known to unknown, or to another machine,
    is refused."""
    unknown, one, two = HostIdentity(), HostIdentity(b"1" * 16, b"1" * 16), HostIdentity(b"1" * 16, b"2" * 16)
    assert not unknown.moved_to(one)
    assert not one.moved_to(one)
    assert one.moved_to(two)
    assert one.moved_to(unknown)
    assert HostIdentity.decode(bytes(two)) == two


def test_an_inode_that_is_used_again_is_another_file(tmp_path) -> None:
    """A file that replaces a deleted one often gets the same inode; if the file system counts generations, the
    replacement is detected."""
    path, database = tmp_path / "checkpoint", tmp_path / "database"
    database.touch()
    seen: dict[int, list[HostIdentity]] = {}
    for _ in range(50):
        path.write_bytes(b"")
        here = HostIdentity.of(bytes(32), database, [path])
        seen.setdefault(path.stat().st_ino, []).append(here)
        assert here == HostIdentity.of(bytes(32), database, [path])
        path.unlink()
    path.touch()
    again = [found for found in seen.values() if len(found) > 1]
    if not again or not _generation(path):
        pytest.skip("this file system uses no inode again, or counts no generations")
    assert all(len(set(found)) == len(found) for found in again)


MOUNTINFO = """\
22 1 0:21 / /proc rw - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 27 8:1 / /media/a\\040stick rw - vfat /dev/sdb1 rw
31 27 8:2 / /media rw shared:2 master:3 - nfs4 server:/x rw
32 31 8:3 / /media rw - xfs /dev/sdc1 rw
33 27 0:30 /machine-id /etc/machine-id ro - tmpfs tmpfs rw
"""


def test_the_deepest_mount_determines_the_file_system(monkeypatch, tmp_path) -> None:
    """The deepest mount above a file determines its file system, and of two mounts at one place the later one; an
    identifier that is valid for one boot only is not used."""
    from pathlib import Path

    from edge_sdk.rollback import host_identity

    (tmp_path / "mountinfo").write_text(MOUNTINFO)
    (tmp_path / "serial").write_bytes(b"10000000abcdef01\0")
    monkeypatch.setattr(host_identity, "MOUNTS", str(tmp_path / "mountinfo"))
    mounts = host_identity._mounts()
    for path, kind in {"/a": "ext4", "/media/a stick/b/c": "vfat", "/media/b": "xfs", "/mediated/b": "ext4"}.items():
        assert host_identity._file_system(Path(path), mounts) == kind
    monkeypatch.setattr(host_identity, "SERIALS", (str(tmp_path / "serial"), "/nowhere"))
    assert host_identity.this_machine() == b"10000000abcdef01"


# Crashes


def full(*arguments: object) -> None:
    """Raise the error of a full disk."""
    raise OSError(28, "No space left on device")


def in_a_child(work) -> int:
    """Run ``work`` in a child process; return the child's exit status."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            work()
            code = 0
        os._exit(code)
    return os.waitpid(child, 0)[1]


def die(*arguments: object, **options: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_store_killed_between_commit_and_checkpoint_opens(answered, place, monkeypatch) -> None:
    """A store that was killed after a commit and before the checkpoint opens, and its checkpoint is updated."""
    answered()
    held = files(place)
    with monkeypatch.context() as patch:
        patch.setattr(FileKeyStore, "_keep", die)
        assert os.WIFSIGNALED(in_a_child(answered))
    assert spent(place) == 2
    put_back(place, held, DATABASE_FILE)
    with pytest.raises(StoreRestored):
        spent(place)


@pytest.mark.slow
def test_an_incomplete_new_store_is_completed_at_opening(place, open_device, monkeypatch) -> None:
    """If the process dies after writing any part of a new store, the next opening completes the store."""
    import edge_sdk.rollback.file_store as key_store_module

    def dying_at(moment: int):
        steps = iter(range(moment + 1))

        def counted(work):
            def step(*arguments, **options):
                if next(steps, None) == moment:
                    die()
                return work(*arguments, **options)

            return step

        with monkeypatch.context() as patch:
            for owner, name in (
                (os, "open"),
                (os, "fsync"),
                (key_store_module, "write_durably"),
                (Store, "execute"),
                (Store, "set"),
            ):
                patch.setattr(owner, name, counted(getattr(owner, name)))
            return in_a_child(lambda: open_store(place, os.urandom).close())

    for moment in range(200):
        shutil.rmtree(place, ignore_errors=True)
        ended = dying_at(moment)
        if os.WIFEXITED(ended):
            break
        open_device(place).close()
        open_device(place).close()
    assert ended == 0
    assert moment > 15


@pytest.mark.parametrize("copy", [0, 1])
@pytest.mark.parametrize("kept_bytes", [0, 7, 100, 130])
def test_a_torn_checkpoint_leaves_the_previous_one(answered, place, copy, kept_bytes) -> None:
    """If either copy is half written, the store opens, because the other copy is a whole checkpoint; an older database
    is still refused."""
    answered(2)
    path = place / CHECKPOINT_FILE
    assert path.stat().st_size == 2 * RECORD_BYTES
    data = bytearray(path.read_bytes())
    start = copy * RECORD_BYTES
    data[start + kept_bytes : start + RECORD_BYTES] = os.urandom(RECORD_BYTES - kept_bytes)
    path.write_bytes(data)
    assert spent(place) == 2
    held = files(place)
    answered()
    put_back(place, held, DATABASE_FILE)
    with pytest.raises(StoreRestored):
        spent(place)


def test_the_copies_are_written_in_turn(open_device, place) -> None:
    """One copy is always the latest checkpoint and the other the one before, so a torn write loses one step only."""
    with open_device(place) as device:
        for nats in range(50, 45, -1):
            device.lower_caps(BudgetPolicy(lifetime=nats))
            data = (place / CHECKPOINT_FILE).read_bytes()
            sequences = [Checkpoint.decode(data[start:]).sequence for start in (0, RECORD_BYTES)]
            latest = stored_checkpoint(device._store).sequence
            assert sorted(sequences) == [latest - 1, latest]
            # A second process may keep the same checkpoint again, which writes nothing.
            FileKeyStore(place).keep_checkpoint(stored_checkpoint(device._store))
            assert (place / CHECKPOINT_FILE).read_bytes() == data


def test_a_damaged_checkpoint_is_rejected() -> None:
    """A changed or missing byte of a checkpoint is always detected."""
    with_caps = Checkpoint.of(bytes(32), 7, [(1, 2, EntryKind.RESERVE, 5)])
    data = with_caps.record
    assert Checkpoint.decode(data + bytes(9)) == with_caps
    for place in range(len(data)):
        assert Checkpoint.decode(data[:place]) is None
        assert Checkpoint.decode(flipped(data, 8 * place)) is None


def test_a_checkpoint_that_cannot_be_written_loses_no_receipt(answered, open_device, place, monkeypatch, clock) -> None:
    """If the checkpoint cannot be written, the report is still returned, because its charge is on the disk; doctor
    gives the reason for the old checkpoint."""
    answered()
    with open_device(place) as device:
        campaign_id = device.campaigns[0]

        clock.now += 100
        with monkeypatch.context() as patch:
            patch.setattr(FileKeyStore, "_keep", full)
            receipt = device.answer(campaign_id, LABELS[3])
            assert "No space left" in device.doctor()["checkpoint"]
        assert (receipt.cost, len(device.outbox)) == (1, 3)
        clock.now += 100
        device.answer(campaign_id, LABELS[4])
        assert "behind" not in device.doctor()["checkpoint"]


def test_doctor_raises_a_store_error_if_the_checkpoint_cannot_be_read(open_device, place) -> None:
    """An unreadable checkpoint is an error of the store, like every other error of the file system."""
    with open_device(place) as device:
        (place / CHECKPOINT_FILE).unlink()
        (place / CHECKPOINT_FILE).mkdir()
        with pytest.raises(StoreError, match="cannot be used"):
            device.doctor()


def test_a_repeated_answer_changes_no_checkpoint(open_device, clock, place) -> None:
    """The checkpoint changes only with the ledger: a repeated output writes nothing outside the database."""
    with open_device(place) as device:
        campaign_id = agreed(device, campaign())
        device.answer(campaign_id, "none")
        before = (place / CHECKPOINT_FILE).read_bytes()
        clock.now += WEEK
        assert device.answer(campaign_id, "none").cost == 0
        assert (place / CHECKPOINT_FILE).read_bytes() == before


# Several processes

WORKER = """
import sys
from edge_sdk import Device
from tests.edge_sdk.conftest import LABELS, OPENS
with Device.open(sys.argv[1], clock=lambda: OPENS + 10 * int(sys.argv[2])) as device:
    for label in LABELS:
        device.answer(device.campaigns[0], label)
"""


def test_processes_never_leave_an_older_checkpoint(answered, place) -> None:
    """If several processes write in any order, the checkpoint is that of the latest ledger row."""
    answered()
    run = [sys.executable, "-c", WORKER, str(place)]
    workers = [subprocess.Popen([*run, str(number + 1)], stderr=subprocess.PIPE) for number in range(3)]
    with Device.open(place) as device:
        for worker in workers:
            assert worker.communicate()[1] == b""
        [kept] = FileKeyStore(place).checkpoints().values()
        assert kept == stored_checkpoint(device._store)
        assert kept is not None
        assert kept.spent == device.budget.spent_nanonats


def test_a_store_older_than_its_checkpoint_does_not_overwrite_it(answered, open_device, place, clock) -> None:
    """A process whose database was replaced by an older copy raises an error and does not overwrite the newer
    checkpoint."""
    answered()
    with open_device(place) as device:
        [(where, kept)] = FileKeyStore(place).checkpoints().items()
        FileKeyStore(place).keep_checkpoint(
            Checkpoint(kept.store, kept.sequence + 9, kept.head, kept.committed, kept.spent)
        )
        clock.now += 100
        with pytest.raises(StoreRestored, match="older than its checkpoint"):
            device.answer(device.campaigns[0], LABELS[3])
        assert FileKeyStore(place).checkpoints()[where].sequence == kept.sequence + 9


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO ledger SELECT NULL, time, campaign, kind, nanonats FROM ledger LIMIT 1",
        "UPDATE ledger SET time = time + 1",
        "DELETE FROM ledger WHERE kind = 2",
        "UPDATE cap SET nanonats = nanonats - 1",
        "DELETE FROM cap",
    ],
)
def test_every_change_of_the_ledger_changes_the_checkpoint(answered, open_device, place, change) -> None:
    """Every change of a ledger row or a cap changes the checkpoint; a transaction that is rolled back does not."""
    answered()
    with open_device(place) as device:
        device.lower_caps(BudgetPolicy(lifetime=50))
        before = stored_checkpoint(device._store)
        with pytest.raises(StoreError):
            _undone(device._store, change)
        assert stored_checkpoint(device._store) == before
        with device._store.transaction():
            device._store.execute(change)
        assert list(FileKeyStore(place).checkpoints().values()) == [stored_checkpoint(device._store)] != [before]
    open_device(place).close()


def _undone(store, change) -> None:
    with store.transaction():
        store.execute(change)
        store.execute("no statement")


# Caps and forgetting


def test_a_lowered_cap_cannot_be_rolled_back(answered, place) -> None:
    """Like a charge, a new cap changes the checkpoint; naming the same cap again does not."""
    answered()
    held = files(place)
    answered(0, lifetime=100)
    sequence = FileKeyStore(place).checkpoints()[str(place / CHECKPOINT_FILE)].sequence
    answered(0, lifetime=100)
    assert FileKeyStore(place).checkpoints()[str(place / CHECKPOINT_FILE)].sequence == sequence
    put_back(place, held, DATABASE_FILE)
    with pytest.raises(StoreRestored):
        spent(place)


def test_more_caps_than_a_checkpoint_has_room_for_are_refused(open_device, place) -> None:
    """A device accepts as many caps as its checkpoint has room for; one more is refused and changes nothing."""
    with open_device(place) as device:
        for seconds in range(1, MAX_CAPS):
            device.lower_caps(BudgetPolicy(window=(seconds, 5)))
        with pytest.raises(ValueError, match="at most 32 caps"):
            device.lower_caps(BudgetPolicy(window=(MAX_CAPS, 5)))
        assert len(device.budget.caps) == MAX_CAPS


@pytest.mark.parametrize("outside", [False, True])
def test_forgetting_leaves_no_old_byte_in_the_checkpoint(answered, open_device, place, tmp_path, outside) -> None:
    """After forgetting, both copies contain the same checkpoint, and the hash of no earlier one."""
    elsewhere = tmp_path / "unit.checkpoint"
    key_store = FileKeyStore(place, elsewhere if outside else None)
    answered(3, key_store=key_store)
    checkpoints = [place / CHECKPOINT_FILE, *([elsewhere] if outside else [])]
    old = [Checkpoint.decode(path.read_bytes()[start:]) for path in checkpoints for start in (0, RECORD_BYTES)]
    with open_device(place) as device:
        device.forget()
        assert device.budget.spent == 3
        for path in checkpoints:
            data = path.read_bytes()
            assert data[:RECORD_BYTES] == data[RECORD_BYTES:]
            assert not [checkpoint for checkpoint in old if checkpoint.head in data]
    answered()


def test_forgetting_reports_a_checkpoint_that_cannot_be_written(answered, open_device, place, monkeypatch) -> None:
    """Old bytes in a checkpoint that cannot be written are reported like those in the database; a second forget clears
    them."""
    answered()
    with open_device(place) as device:
        with monkeypatch.context() as patch:
            patch.setattr(FileKeyStore, "_keep", full)
            with pytest.raises(StoreError, match="they are erased the next time a campaign is forgotten"):
                device.forget()
        device.forget()
        data = (place / CHECKPOINT_FILE).read_bytes()
        record = stored_checkpoint(device._store).record.ljust(RECORD_BYTES, b"\0")
        assert data[:RECORD_BYTES] == data[RECORD_BYTES:] == record


# Adoption


def test_adoption_never_lowers_the_spent_amount(answered, place) -> None:
    """The larger of the reservations in the store and in the checkpoint counts as spent; all joined campaigns are
    forgotten."""
    answered(1)
    held = files(place)
    answered(2)
    put_back(place, held, DATABASE_FILE)
    with Device.adopt(place, clock=lambda: OPENS) as device:
        assert (device.budget.spent, device.budget.reserved) == (6, 0)
        assert device.campaigns == []
        assert len(device.outbox) == 0
        assert device._store.rows("SELECT count(*) FROM memo") == [(0,)]
    put_back(place, held, DATABASE_FILE)
    with Device.adopt(place, clock=lambda: OPENS) as device:
        assert device.budget.spent == 6


def test_a_restored_total_that_is_lower_is_made_up_by_the_checkpoint(open_device, place, clock) -> None:
    """Spending that only the checkpoint records belongs to no campaign, and counts in the lifetime cap and in each
    campaign's."""
    one, two = campaign("One"), campaign("Two")
    with open_device(place) as device:
        device.consent(device.join(one).campaign_id)
    held = files(place)
    with open_device(place) as device:
        device.consent(device.join(two).campaign_id)
    put_back(place, held, DATABASE_FILE)
    policy = BudgetPolicy(lifetime=1000, per_campaign=11)
    with Device.adopt(place, [AUTHOR.public], policy, clock=clock) as device:
        assert device.budget.spent == 12
        assert {(entry.campaign_id == bytes(32), entry.kind) for entry in device.ledger} == {
            (False, EntryKind.RESERVE), (False, EntryKind.CARRY), (True, EntryKind.RESERVE), (True, EntryKind.CARRY),
        }  # fmt: skip
        for data in (one, two):
            with pytest.raises(BudgetRefused, match="the campaign cap"):
                device.join(data)
        device.forget()
        assert device.budget.spent == 12


def test_adopting_keeps_slots_keys_and_caps(answered, open_device, place) -> None:
    """After adoption a campaign continues at its next slot, under the same key; the lower of the two caps holds."""
    data = campaign(periods=5000, period_seconds=10, answers=6)
    answered(2)
    with open_device(place) as device:
        campaign_id = device.campaigns[0]
        secret = device._store.secret
    held = files(place)
    answered(0, lifetime=50)
    put_back(place, held, DATABASE_FILE)
    with Device.adopt(place, [AUTHOR.public], clock=lambda: OPENS) as device:
        assert device._store.secret == secret
        assert device.budget.caps[0].nanonats == 50 * 10**9
        device.join(data)
        device.consent(campaign_id)
        assert device.answer(campaign_id, "none").slot == 2


def test_a_healthy_store_is_not_adopted(answered, place) -> None:
    """Adoption of a store that opens changes nothing."""
    answered()
    before = (place / CHECKPOINT_FILE).read_bytes()
    with Device.adopt(place) as device:
        assert device.budget.spent == 1
        assert len(device.campaigns) == 1
    assert (place / CHECKPOINT_FILE).read_bytes() == before


def test_an_adopted_copy_does_not_change_the_original(answered, place, tmp_path) -> None:
    """A copy of a folder can be adopted: its reserved amount counts as spent, its secret is the original's, and the
    original does not change."""
    answered(2)
    copy = shutil.copytree(place, tmp_path / "copy")
    with Device.adopt(copy, clock=lambda: OPENS) as device:
        assert device.budget.spent == 6
        assert device._store.secret == (place / SECRET_FILE).read_bytes()
    assert spent(copy) == 6
    assert spent(place) == 2


def test_a_store_without_its_secret_gets_new_keys(answered, place) -> None:
    """A lost secret cannot be recovered, so an adopted store has new keys, and keeps the spent amount."""
    answered(2)
    lost = (place / SECRET_FILE).read_bytes()
    (place / SECRET_FILE).unlink()
    with Device.adopt(place, clock=lambda: OPENS) as device:
        assert device.budget.spent == 6
        assert device._store.secret != lost
    assert spent(place) == 6


def test_adopting_leaves_no_answer_in_the_files(answered, open_device, place) -> None:
    """The bytes of the adopted store do not contain the earlier queue."""
    answered()
    held = files(place)
    with open_device(place) as device:
        [(envelope,)] = device._store.rows("SELECT envelope FROM outbox ORDER BY number DESC LIMIT 1")
    answered()
    put_back(place, held, DATABASE_FILE)
    Device.adopt(place, clock=lambda: OPENS).close()
    assert not [name for name, data in files(place).items() if envelope[-40:] in data]


# The command line


def test_the_adopt_command_repairs_a_restored_store(answered, place, tmp_path, capsys) -> None:
    """For a restored store a command fails with one line that names ``adopt``. This command repairs the store, or says
    that the store needs no repair, or that it created the store."""
    assert main(["--store", str(tmp_path / "other"), "--json", "adopt"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["adopted"], "created" in found["next"]) == (False, True)
    assert main(["--store", str(tmp_path / "other"), "--json", "adopt"]) == 0
    assert json.loads(capsys.readouterr().out)["next"] == "nothing to do: this store is neither restored nor damaged"
    run = ["--store", str(place), "--json"]
    checkpoint = tmp_path / "unit.checkpoint"
    assert main([*run, "--checkpoint", str(checkpoint), "ledger"]) == 0
    answered()
    assert main([*run, "adopt"]) == 0
    assert [json.loads(line)["adopted"] for line in capsys.readouterr().out.splitlines()[1:]] == [False]
    held = files(place)
    answered()
    put_back(place, held)
    assert main([*run, "ledger"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "adopt" in line
    assert main([*run, "adopt"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["adopted"], found["spent"]) == (True, 6)
    assert main([*run, "doctor"]) == 0
    assert str(checkpoint) in json.loads(capsys.readouterr().out)["checkpoint"]
    for part in place.glob(f"{DATABASE_FILE}*"):
        part.unlink()
    assert main([*run, "adopt"]) == main([*run, "ledger"]) == 0
    [_, ledger] = map(json.loads, capsys.readouterr().out.splitlines())
    assert {entry["campaign"] for entry in ledger["entries"]} == {""}

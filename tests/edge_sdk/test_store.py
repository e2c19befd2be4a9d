"""The store under faults: the disk is full or read-only, or the file is foreign or shared. Damage: test_damage."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading

import pytest

from edge_sdk.errors import StoreError, StoreRestored
from edge_sdk.rollback.key_store import CHECKPOINT_FILE, SECRET_FILE
from edge_sdk.store.schema import VERSION
from edge_sdk.store.sqlite import DATABASE_FILE
from tests.edge_sdk.conftest import LABELS, OPENS, Dice, agreed, campaign


@pytest.fixture
def answering(open_device, place):
    """Return a device in a folder that agreed to a campaign, and the campaign's id."""
    device = open_device(place)
    campaign_id = agreed(device, campaign(periods=5000, period_seconds=10))
    return device, campaign_id


def test_only_the_owner_may_read_the_folder(answering, place):
    """Only the owner may read the folder and its files."""
    assert place.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in place.iterdir()} == {0o600}
    assert sorted(path.name for path in place.iterdir())[:3] == [CHECKPOINT_FILE, SECRET_FILE, DATABASE_FILE]


def test_the_store_has_the_promised_settings(answering):
    """The store uses WAL, synchronous=FULL and secure_delete, and doctor prints these settings in words."""
    found = answering[0].doctor()
    assert (found["journal_mode"], found["commits"], found["deleted bytes"]) == (
        "wal", "flushed to the disk", "overwritten",
    )  # fmt: skip
    assert (found["spent"], found["store format"]) == ("0 nats", 1)
    assert found["mode of device.secret"] == "0600"
    assert found["integrity"] == "checked, no damage found"


def test_the_secret_is_made_once(open_device, place):
    """A second opening reads the secret and draws no random bytes."""
    dice = Dice()
    with open_device(place, urandom=dice) as device:
        secret = device._store.secret
    with open_device(place, urandom=dice) as device:
        assert device._store.secret == secret == dice.given[0] == (place / SECRET_FILE).read_bytes()
    assert dice.asked == [32]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda path: path.unlink(), StoreRestored, "is missing"),
        (lambda path: path.write_bytes(bytes(32)), StoreError, "not that of the store"),
    ],
)
def test_a_secret_that_is_not_the_stores_is_refused(open_device, place, change, error, text):
    """A missing secret, and one that belongs to another store, are detected."""
    open_device(place).close()
    change(place / SECRET_FILE)
    with pytest.raises(error, match=text):
        open_device(place)


def test_every_charge_has_its_report_on_a_full_disk(answering, clock):
    """If no page can be added to the database, an answer fails with advice, and every charge has its report; with free
    space answers succeed again."""
    device, campaign_id = answering
    [[pages]] = device._store.rows("PRAGMA page_count")
    device._store.rows(f"PRAGMA max_page_count = {pages + 2}")

    def answer_on() -> None:
        for period in range(5000):
            clock.now = OPENS + 10 * period
            device.answer(campaign_id, LABELS[period % 6])

    with pytest.raises(StoreError, match="disk is full"):
        answer_on()
    assert device.budget.spent == len(device.history(campaign_id))
    assert sum(device.history(campaign_id).values()) == len(device.outbox) - 1
    device._store.rows("PRAGMA max_page_count = 1000000")
    waiting = len(device.outbox)
    device.answer(campaign_id, LABELS[5])
    assert len(device.outbox) == waiting + 1


FILE_LIMIT = """
import resource, signal, sys
from edge_sdk import Device
from edge_sdk.errors import StoreError
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, agreed, campaign
now = [OPENS]
with Device.open(sys.argv[1], clock=lambda: now[0]) as device:
    campaign_id = device.campaigns[0]
    spent = device.budget.spent
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    done = 0
    try:
        for period in range(5000):
            now[0] = OPENS + 10 * period
            device.answer(campaign_id, LABELS[period % 6])
            done += 1
    except StoreError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert sum(device.history(campaign_id).values()) == len(device.outbox) - 1 == done, "a report was lost or hidden"
    assert device.budget.spent == len(device.history(campaign_id))
"""


def test_a_refused_write_keeps_every_returned_report(answering, place):
    """If the system does not allow a file to grow, the error gives advice, and the returned reports are exactly the
    queued ones."""
    answering[0].close()
    size = (place / DATABASE_FILE).stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", FILE_LIMIT, str(place), str(size + 3000)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "this step changed nothing" in done.stdout


READ_ONLY = """
import os, sys
from edge_sdk import Device
from edge_sdk.errors import StoreError
import edge_sdk.campaigns.joined, sqlite3, cryptography.hazmat.primitives.asymmetric.ed25519
if os.getuid() == 0:
    os.setuid(65534)
try:
    with Device.open(sys.argv[1]) as device:
        device.answer(device.campaigns[0], "none")
except StoreError as error:
    print(error)
"""


def test_a_read_only_store_is_refused_with_a_message(answering, place):
    """For a store that this process must not write, the error says so, without a traceback."""
    answering[0].close()
    for folder in (place, *place.parents[:4]):
        folder.chmod(0o555)
    for file in place.iterdir():
        file.chmod(0o444)
    done = subprocess.run([sys.executable, "-c", READ_ONLY, str(place)], capture_output=True, text=True, check=False)
    for folder in (place, *place.parents[:4]):
        folder.chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert "cannot be" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("version", [VERSION + 1, 99])
def test_a_store_of_another_format_is_refused(open_device, place, version):
    """A store with the format of a later release is refused, and the error names this format."""
    open_device(place).close()
    with sqlite3.connect(place / DATABASE_FILE) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(StoreError, match=f"format {version}"):
        open_device(place)


def test_a_database_of_another_program_is_refused(open_device, place):
    """A database of another program is never opened as a store."""
    place.mkdir(parents=True)
    with sqlite3.connect(place / DATABASE_FILE) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    with pytest.raises(StoreError, match="another program"):
        open_device(place)


def test_a_file_in_place_of_the_folder_is_refused(open_device, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file: name a folder"):
        open_device(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot be used: Not a directory"):
        open_device(tmp_path / "file" / "store")
    with pytest.raises(StoreError, match="is a file: name a folder"):
        open_device(os.devnull)


def test_a_locked_store_waits_and_then_names_another_process(answering, open_device, place, monkeypatch):
    """While another connection writes, an answer waits; after a time limit it is refused with an error about another
    process, and nothing is charged."""
    device, campaign_id = answering
    monkeypatch.setattr("edge_sdk.store.sqlite.WAIT_SECONDS", 0.05)
    impatient = open_device(place)
    with device._store.transaction(), pytest.raises(StoreError, match="another process"):
        impatient.answer(campaign_id, "none")
    assert device.budget.spent == 0


WORKER = """
import sys
from edge_sdk import Device
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, agreed, campaign
with Device.open(sys.argv[1], [AUTHOR.public], clock=lambda: OPENS) as device:
    campaign_id = agreed(device, campaign(answers=4))
    device.answer(campaign_id, LABELS[int(sys.argv[2])])
"""


@pytest.mark.slow
def test_processes_share_a_store(open_device, place):
    """Four processes that create and use one store at the same time respect its quota and caps, and share one
    secret."""
    run = [sys.executable, "-c", WORKER, str(place)]
    workers = [subprocess.Popen([*run, str(number)], stderr=subprocess.PIPE) for number in range(4)]
    for worker in workers:
        assert worker.communicate()[1] == b""
        assert worker.returncode == 0
    device = open_device(place)
    assert (device.budget.spent, device.budget.reserved) == (4, 2)
    assert len(device.outbox) == 5


def test_opening_a_store_again_keeps_the_lock(answering, open_device, place):
    """If a process opens a store a second time, its first connection keeps its lock: another process that opens and
    closes the store does not delete the write-ahead log."""
    open_device(place).close()
    program = "import sys; from edge_sdk import Device; Device.open(sys.argv[1]).close()"
    subprocess.run([sys.executable, "-c", program, str(place)], check=True)
    assert (place / f"{DATABASE_FILE}-wal").exists()


def test_threads_share_a_device(open_device):
    """An app may answer from any of its threads with one device."""
    device = open_device()
    campaign_id = agreed(device, campaign(answers=6))
    threads = [threading.Thread(target=device.answer, args=(campaign_id, label)) for label in LABELS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert device.budget.spent == 6
    assert len(device.outbox) == 7


def test_hourly_answers_take_little_space(open_device, clock, place):
    """Once exported, 2,000 hourly answers leave less than 16 bytes each in the store, which has 16 KiB beside them."""
    device = open_device(place)
    device._store.rows("PRAGMA synchronous = OFF")
    campaign_id = agreed(device, campaign(periods=2000, period_seconds=3600))
    for hour in range(2000):
        clock.now = OPENS + 3600 * hour
        device.answer(campaign_id, LABELS[hour % 6])
        if hour % 100 == 99:
            device.outbox.export(place.parent / f"{hour}.htr")
    device._store.compact()
    assert (place / DATABASE_FILE).stat().st_size < 16 * 1024 + 16 * 2000

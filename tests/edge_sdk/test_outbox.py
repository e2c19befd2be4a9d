"""The outbox: an export has all envelopes in order, and a repeated export has the same bytes."""

from __future__ import annotations

import os

import pytest

from edge_sdk import Device
from edge_sdk.errors import NothingWaiting, StoreError
from protocol import envelope
from protocol.errors import BadData
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, agreed, campaign


@pytest.fixture
def queued(open_device, clock, place):
    """Return a device with an enrolment and three reports in its outbox."""
    device = open_device(place)
    campaign_id = agreed(device, campaign())
    for label in LABELS[:3]:
        device.answer(campaign_id, label)
        clock.now += WEEK
    return device


def test_an_export_is_a_batch_in_order_and_empties_the_queue(queued, tmp_path):
    """The queued envelopes are in the file, in order, and no longer in the queue."""
    waiting = [row for (row,) in queued._store.rows("SELECT envelope FROM outbox ORDER BY number")]
    assert len(queued.outbox) == 4
    assert queued.outbox.bytes == sum(map(len, waiting))
    assert queued.outbox.export(tmp_path / "upload.htr") == 4
    data = (tmp_path / "upload.htr").read_bytes()
    assert data == b"".join(waiting)
    assert not any(isinstance(item, BadData) for item in envelope.read_batch(data))
    assert len(queued.outbox) == queued.outbox.bytes == 0
    assert (tmp_path / "upload.htr").stat().st_mode & 0o777 == 0o600


def test_an_empty_queue_and_an_existing_file_are_refused(queued, tmp_path):
    """No file is overwritten, and no empty file is made."""
    taken = tmp_path / "taken.htr"
    taken.write_text("mine")
    with pytest.raises(StoreError, match="not overwritten"):
        queued.outbox.export(taken)
    assert taken.read_text() == "mine"
    assert len(queued.outbox) == 4
    queued.outbox.export(tmp_path / "upload.htr")
    with pytest.raises(NothingWaiting):
        queued.outbox.export(tmp_path / "second.htr")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app-data", "taken.htr", "upload.htr"]


def test_a_file_that_cannot_be_written_leaves_the_queue_and_no_part(queued, tmp_path, monkeypatch):
    """If the folder is missing, or the disk fails half-way, the queue stays unchanged, and no partial file is left."""
    with pytest.raises(StoreError, match="still queued"):
        queued.outbox.export(tmp_path / "no folder" / "upload.htr")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(StoreError, match="No space left"):
            queued.outbox.export(tmp_path / "upload.htr")
    assert [path.name for path in tmp_path.iterdir()] == ["app-data"]
    assert len(queued.outbox) == 4


def test_a_crash_after_the_file_and_before_the_queue_exports_the_same_bytes_again(queued, place, tmp_path, monkeypatch):
    """The envelopes leave the queue only after the file is written; if they are exported twice, the bytes are the
    same."""

    def crash(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(queued._store), "execute", crash)
        with pytest.raises(KeyboardInterrupt):
            queued.outbox.export(tmp_path / "first.htr")
    with Device.open(place, [AUTHOR.public], clock=lambda: OPENS) as device:
        device.outbox.export(tmp_path / "second.htr")
    assert (tmp_path / "first.htr").read_bytes() == (tmp_path / "second.htr").read_bytes()

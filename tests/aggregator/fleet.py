"""Devices for the tests of the study: their keys, enrolments, and reports with outputs that the test chooses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from aggregator.storage.paths import StoragePath
from aggregator.study import Study
from protocol import exact
from protocol.campaign import Campaign, SignedCampaign, open_campaign, seal_campaign
from protocol.channels import RandomizedResponse
from protocol.domain import Values
from protocol.keys import SigningKey
from protocol.notions import Ldp
from protocol.report import Enrolment, Report, pack
from protocol.views import plain_views

AUTHOR = SigningKey(bytes([7]) * 32)
OPENS, WEEK = 1_800_000_000, 604_800
NOW = OPENS + WEEK // 2


@lru_cache
def campaign(
    output_count: int = 16, *, enrolment: str = "enrolled", answers: int = 1, periods: int = 4, title: str = "Education"
) -> SignedCampaign:
    """Return a campaign whose channel has this number of outputs; ``NOW`` is in its period 0."""
    channel = RandomizedResponse(output_count, (2**64 // (output_count + 1),))
    campaign = Campaign(
        title, "Which?", "", "Town library", Values(tuple(map(str, range(output_count)))), Ldp(exact.NANONATS),
        "randomized-response", plain_views(channel), OPENS, OPENS + periods * WEEK, WEEK, answers, 1, enrolment,
    )  # fmt: skip
    return open_campaign(seal_campaign(campaign, AUTHOR), [AUTHOR.public])


@lru_cache(2**15)
def device(number: int, signed: SignedCampaign) -> SigningKey:
    """Return the key of a device in a campaign."""
    return SigningKey.for_campaign(hashlib.sha256(b"device %d" % number).digest(), signed.id)


def enrolment(number: int, signed: SignedCampaign) -> bytes:
    """Return a device's enrolment."""
    key = device(number, signed)
    return Enrolment(signed.id, key.public).seal(key)


def report(number: int, signed: SignedCampaign, *outputs: int, period: int = 0, slot: int = 0) -> bytes:
    """Return a device's report of ``outputs``, or of output 0. The report may contradict the campaign."""
    outputs = outputs or (0,)
    packed = pack(outputs, signed.campaign.channel.output_bits)
    return Report(signed.id, period, slot, len(outputs), packed).seal(device(number, signed))


@lru_cache
def _files(signed: SignedCampaign, devices: tuple[int, ...]) -> dict[str, bytes]:
    """Return the files of a study with one campaign and enrolled devices, by name."""
    with TemporaryDirectory() as folder:
        made = Study.create(folder)
        made.import_campaign(signed.data, [AUTHOR.public], "education")
        made.enrol(b"".join(enrolment(number, signed) for number in devices))
        files = (file for file in Path(folder).rglob("*") if file.is_file())
        return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def study(path: StoragePath, signed: SignedCampaign, devices: Iterable[int] = ()) -> Study:
    """Make a study with one campaign, ``education``, and enrolled devices.

    Studies of the same campaign and devices are copies of the first one: creating each one takes 50 ms of processor
    time.
    """
    for name, data in _files(signed, tuple(devices)).items():
        file = path / name
        if isinstance(file, Path):
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return Study(path)

"""Small signed campaigns, and a device whose clock and randomness the test controls."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from edge_sdk import BudgetPolicy, Device
from protocol import exact
from protocol.campaign import Campaign, seal_campaign
from protocol.channels import RandomizedResponse
from protocol.domain import Domain, Values
from protocol.keys import SigningKey
from protocol.notions import Ldp
from protocol.views import Identity, Map, View

AUTHOR = SigningKey(bytes(range(32)))
LABELS = ("none", "primary", "secondary", "bachelor", "master", "doctorate")
OPENS, WEEK = 1_000_000, 7 * 86_400


def response(k: int, level: int = exact.NANONATS) -> RandomizedResponse:
    """Return k-ary randomised response at ``level`` nanonats."""
    numerator, one = exact.exp_lower(level), 1 << exact.EXP_BITS
    return RandomizedResponse(k, (-(-(one << 64) // (numerator + (k - 1) * one)),))


def campaign(
    title: str = "Highest education",
    domain: Domain | None = None,
    level: int = 10**9,
    opens: int = OPENS,
    periods: int = 10,
    period_seconds: int = WEEK,
    answers: int = 1,
    enrolment: str = "open",
    author: SigningKey = AUTHOR,
    addresses: tuple[str, ...] = (),
    maps: Sequence[Map] = (Identity(),),
) -> bytes:
    """Return a signed campaign of randomised response, with a view for each map; all views are equally likely."""
    domain = domain or Values(LABELS)
    campaign = Campaign(
        title,
        "What is the highest level of education you have completed?",
        "Plan evening classes.",
        "Town library",
        domain,
        Ldp(level),
        "randomized-response",
        tuple(View(1, one, response(one.input_count(domain), level)) for one in maps),
        opens,
        opens + periods * period_seconds,
        period_seconds,
        answers,
        100,
        enrolment,
        addresses=addresses,
    )
    return seal_campaign(campaign, author)


def agreed(device: Device, data: bytes, *address: str, **role: object) -> bytes:
    """Let the device join and agree to a campaign; return the campaign's id."""
    campaign_id = device.join(data, *address).campaign_id
    device.consent(campaign_id, **role)
    return campaign_id


class Clock:
    """A clock that shows the time to which it was set."""

    def __init__(self) -> None:
        self.now = float(OPENS)

    def __call__(self) -> float:
        return self.now


class Dice:
    """A seeded source of random bytes that records the requested lengths and the returned bytes."""

    def __init__(self, seed: int = 1) -> None:
        self._generator = random.Random(seed)
        self.asked: list[int] = []
        self.given: list[bytes] = []

    def __call__(self, count: int) -> bytes:
        self.asked.append(count)
        self.given.append(self._generator.randbytes(count))
        return self.given[-1]


@pytest.fixture
def clock() -> Clock:
    """Return a clock that shows the moment at which the campaigns open."""
    return Clock()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the folder for a store."""
    return tmp_path / "app-data" / "halftruth"


@pytest.fixture
def open_device(clock: Clock) -> Iterator[Callable[..., Device]]:
    """Return a function that opens devices that trust ``AUTHOR``; they are closed after the test. Each has seeded
    randomness, so that no test fails by chance; test_black_box uses the system's randomness."""
    opened = []

    def make(place: object = ":memory:", lifetime: float | None = 1000, **options: object) -> Device:
        options.setdefault("clock", clock)
        options.setdefault("trust", [AUTHOR.public])
        options.setdefault("budget", BudgetPolicy(lifetime=lifetime))
        options.setdefault("urandom", Dice(1000 + len(opened)))
        device = Device.open(place, **options)
        opened.append(device)
        return device

    yield make
    for device in opened:
        device.close()

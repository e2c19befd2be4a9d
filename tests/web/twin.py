"""The same steps for a device in Python and one in a page: what both are told, and what Python's does."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edge_sdk import BudgetPolicy, Device
from protocol import exact
from protocol.campaign import campaign_id, open_campaign
from protocol.errors import HalftruthError
from tests.edge_sdk.conftest import AUTHOR, OPENS, campaign
from tests.vectors import generate

VECTORS = Path(__file__).parents[1] / "vectors"
TRUST = (AUTHOR.public, generate.ANALYST.public)
CHANCE = 4096
"""Random bytes of one step, of which each draw takes the first."""


@dataclass(frozen=True)
class Asked:
    """A signed campaign, and what may be said in it."""

    data: bytes
    answers: tuple[str, ...]
    role: dict[str, Any]

    @property
    def id(self) -> bytes:
        return campaign_id(self.data)


@dataclass(frozen=True)
class Step:
    """One thing that is done at a time, with chance of its own."""

    now: int
    what: str
    campaign: Asked | None
    given: tuple[Any, ...]
    rand: bytes = field(repr=False)

    def told(self) -> dict[str, Any]:
        """For a page."""
        given = list(self.given)
        if self.campaign is not None:
            given.insert(0, {"bytes": (self.campaign.data if self.what == "join" else self.campaign.id).hex()})
        return {"now": self.now, "what": self.what, "given": given, "rand": self.rand.hex()}


def _asked() -> list[Asked]:
    """The campaigns of the answer vectors, and two of six values with one answer a period and with three."""
    found = {}
    for case in json.loads((VECTORS / "answer.json").read_text(encoding="utf-8"))["cases"]:
        data = bytes.fromhex(case["campaign"])
        terms = open_campaign(data, TRUST).terms
        role: dict[str, Any] = {}
        if case["class"] is not None:
            role["asClass"] = terms.classes[case["class"]]
        if case["prior"] is not None:
            role["prior"] = {terms.domain.label(x): weight for x, weight in enumerate(case["prior"])}
            if case["level"]:
                role["level"] = case["level"]
        answers = tuple(answer["answer"] for answer in case["answers"])
        known = found.get(data)
        found[data] = Asked(data, (known.answers if known else ()) + answers, role)
    for answers_a_period in (1, 3):
        data = campaign(answers=answers_a_period, title=f"{answers_a_period} a week")
        found[data] = Asked(data, ("none", "primary", "master"), {})
    return list(found.values())


ASKED = _asked()


def steps(seed: int, length: int = 40) -> list[Step]:
    """What somebody does with two campaigns, in any order, with a clock that also goes back."""
    chance = random.Random(seed)
    some = chance.sample(ASKED, 2)
    terms = {one.id: open_campaign(one.data, TRUST).terms for one in some}
    caps = {"lifetime": exact.NANONATS * chance.choice((9, 30, 100, 500))}
    if chance.random() < 0.3:
        caps["campaign"] = exact.NANONATS * chance.choice((7, 30, 100))
    found = [Step(OPENS, "tighten", None, (caps,), b"")]
    periods = {one.id: 0 for one in some}
    for number in range(length):
        one = chance.choice(some)
        about = terms[one.id]
        periods[one.id] = min(about.periods, max(-1, periods[one.id] + chance.choice((0, 0, 0, 1, 1, 1, -1))))
        now = about.opens + about.period_seconds * periods[one.id] + chance.randrange(about.period_seconds)
        what = chance.choices(("answer", "consent", "join", "forget", "budget"), (14, 2, 2, 0.4, 1))[0]
        if number < 4:  # else most of what follows is refused
            one, what = some[number % 2], ("join", "consent")[number // 2]
            now = terms[one.id].opens
        given: tuple[Any, ...] = ()
        if what == "answer":
            reading = chance.choice((None, None, None, None, None, 0, 0, 1))
            given = (chance.choice((*one.answers, *one.answers, *one.answers, "no such answer")), reading)
        if what == "consent" and chance.random() < 0.9:
            given = (one.role,)
        found.append(Step(now, what, None if what == "budget" else one, given, chance.randbytes(CHANCE)))
    return found


class Twin:
    """Python's device, whose clock and chance are those of the step that it is at."""

    def __init__(self, secret: bytes) -> None:
        self.step = Step(OPENS, "", None, (), secret)
        self.device = Device.open(":memory:", TRUST, clock=lambda: self.step.now, urandom=lambda n: self.step.rand[:n])

    def do(self, step: Step) -> Any:
        """What the step gives, as a page tells it."""
        self.step = step
        try:
            return getattr(self, step.what)(step.campaign, *step.given)
        except HalftruthError as error:
            return {"refused": type(error).__name__}
        except ValueError:  # a reading that no period has
            return {"refused": "RangeError"}

    def tighten(self, _: None, caps: dict[str, int]) -> None:
        nats = {name: level // exact.NANONATS for name, level in caps.items()}
        self.device.tighten(BudgetPolicy(lifetime=nats["lifetime"], per_campaign=nats.get("campaign")))

    def join(self, asked: Asked) -> None:
        self.device.join(asked.data)

    def consent(self, asked: Asked, role: dict[str, Any] | None = None) -> None:
        role = role or {}
        level = role["level"] / exact.NANONATS if "level" in role else None
        self.device.consent(asked.id, as_class=role.get("asClass"), prior=role.get("prior"), level=level)

    def answer(self, asked: Asked, text: str, reading: int | None) -> dict[str, Any]:
        value: Any = text
        if text in asked.answers:
            value = open_campaign(asked.data, TRUST).terms.domain.parse(text)
        receipt = self.device.answer(asked.id, value, reading)
        return {
            "period": receipt.period,
            "slot": receipt.slot,
            "envelope": receipt.envelope.hex(),
            "charged": str(receipt.cost_nanonats),
            "repeated": receipt.repeated,
        }

    def forget(self, asked: Asked) -> None:
        self.device.forget(asked.id)

    def budget(self, _: None) -> dict[str, str]:
        found = self.device.budget
        levels = (found.spent_nanonats, found.reserved_nanonats, found.remaining_nanonats)
        return dict(zip(("spent", "reserved", "remaining"), map(str, levels), strict=True))

    def held(self) -> dict[str, Any]:
        """All that is there at the end: the ledger, and of each campaign what waits and what was answered."""
        records = self.device.records
        return {
            "history": [
                [entry.time, entry.campaign_id.hex(), entry.kind.name.lower(), str(entry.nanonats)]
                for entry in self.device.ledger
            ],
            "campaigns": {
                known.hex(): [
                    [envelope.hex() for envelope in records.outbox.waiting(records.campaigns.number(known))],
                    self.device.prior(known),
                ]
                for known in self.device.campaigns
            },
        }


def alike(given: Any) -> Any:
    """What Python's device and a page's both tell of a step: no text of a refusal, nothing of the terms."""
    if not isinstance(given, dict):
        return None
    if "refused" in given:
        return {"refused": given["refused"]}
    names = ("period", "slot", "envelope", "charged", "repeated", "spent", "reserved", "remaining")
    return {name: given[name] for name in names if name in given} or None


Page = Callable[[list[dict[str, Any]]], tuple[list[Any], dict[str, Any]]]


def difference(seed: int, page: Page) -> tuple[int, int]:
    """Do the steps of a seed in both.

    Returns:
        how many answers were given, and how many steps refused; an AssertionError where they differ.
    """
    secret = random.Random(-seed).randbytes(32)
    twin, done = Twin(secret), steps(seed)
    expected = [alike(twin.do(step)) for step in done]
    found, held = page([{"now": OPENS, "rand": secret.hex()}, *(step.told() for step in done)])
    for step, one, other in zip(done, expected, found, strict=True):
        assert alike(other) == one, (seed, step, other)
    assert held == twin.held(), seed
    twin.device.close()
    return sum("envelope" in (one or {}) for one in expected), sum("refused" in (one or {}) for one in expected)

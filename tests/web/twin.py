"""The same steps for Python's device and for a page's device: the inputs, and the results of Python's device."""

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
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, campaign
from tests.edge_sdk.test_roles import of_classes, of_declared
from tests.vectors import generate

VECTORS = Path(__file__).parents[1] / "vectors"
TRUST = (AUTHOR.public, generate.ANALYST.public)
CHANCE = 4096
"""Number of random bytes of one step; each draw takes its bytes from the beginning."""


@dataclass(frozen=True)
class AnswerableCampaign:
    """A signed campaign, and its possible answers."""

    data: bytes
    answers: tuple[str, ...]
    role: dict[str, Any]

    @property
    def id(self) -> bytes:
        return campaign_id(self.data)


@dataclass(frozen=True)
class Step:
    """One action at a time of the clock, with its random bytes."""

    now: int
    what: str
    campaign: AnswerableCampaign | None
    given: tuple[Any, ...]
    rand: bytes = field(repr=False)

    def message(self) -> dict[str, Any]:
        """Return the step as a message for the page."""
        given = list(self.given)
        if self.campaign is not None:
            given.insert(0, {"bytes": (self.campaign.data if self.what == "join" else self.campaign.id).hex()})
        first, *rest = self.what.split("_")
        what = first + "".join(word.capitalize() for word in rest)
        return {"now": self.now, "what": what, "given": given, "rand": self.rand.hex()}


def _answerable() -> list[AnswerableCampaign]:
    """Return the campaigns of the answer vectors, and ``CHOOSING``."""
    found = {}
    for case in json.loads((VECTORS / "answer.json").read_text(encoding="utf-8"))["cases"]:
        data = bytes.fromhex(case["campaign"])
        campaign = open_campaign(data, TRUST).campaign
        role: dict[str, Any] = {}
        if case["class"] is not None:
            role["asClass"] = campaign.classes[case["class"]]
        if case["prior"] is not None:
            role["prior"] = {campaign.domain.label(x): weight for x, weight in enumerate(case["prior"])}
            if case["level"]:
                role["level"] = case["level"]
        answers = tuple(answer["answer"] for answer in case["answers"])
        known = found.get(data)
        found[data] = AnswerableCampaign(data, (known.answers if known else ()) + answers, role)
    return [*found.values(), *CHOOSING]


def _choosing() -> list[AnswerableCampaign]:
    """Return campaigns for the same six values: with one and with three answers a period, with classes with priors,
    and for declared priors."""
    declared = {"prior": {label: 1 + place for place, label in enumerate(LABELS)}}
    made: list[tuple[bytes, dict[str, Any]]] = [
        *((campaign(answers=answers, title=f"{answers} a week"), {}) for answers in (1, 3)),
        (of_classes(), {"asClass": "students"}),
        (of_declared(), declared),
        (of_declared(title="At a personal level"), {**declared, "level": exact.NANONATS // 2}),
    ]
    return [AnswerableCampaign(data, ("none", "primary", "master"), role) for data, role in made]


CHOOSING = _choosing()
CAMPAIGNS = _answerable()
WRONG: tuple[dict[str, Any], ...] = (
    {"asClass": "strangers"}, {"asClass": "workers"}, {"prior": {"none": 1}}, {"prior": {"none": -1}},
    {"prior": {"nowhere": 1}}, {"prior": dict.fromkeys(LABELS, 3)}, {"level": 10**12}, {"level": 3 * 10**8},
)  # fmt: skip
"""Choices at the consent, which campaigns of other kinds refuse."""
HISTORIES: tuple[dict[str, int] | None, ...] = (
    None,
    None,
    {},
    {"doctorate": 9, "none": 1},
    {"none": -1},
    {"nowhere": 1},
)


def _caps(chance: random.Random) -> dict[str, Any]:
    """Return random caps of an owner, in nanonats."""
    caps: dict[str, Any] = {"lifetime": exact.NANONATS * chance.choice((9, 100, 100, 500))}
    if chance.random() < 0.3:
        caps["campaign"] = exact.NANONATS * chance.choice((7, 30, 100))
    if chance.random() < 0.4:
        seconds = chance.choice((1, WEEK, WEEK + 2, 3 * WEEK, 52 * WEEK))
        caps["window"] = {"seconds": seconds, "nanonats": exact.NANONATS // 10 * chance.choice((25, 60, 200, 900))}
    return caps


def _first(some: list[AnswerableCampaign], chooses: bool) -> list[tuple[str, AnswerableCampaign, tuple[Any, ...]]]:
    """Return the first steps: both campaigns are joined and agreed to, because most later steps would otherwise be
    refused.

    Args:
        chooses: whether a class or prior is chosen from the answers to the other campaign, which is then forgotten.
    """
    one, other = some
    if not chooses:
        return [(what, each, ()) for what in ("join", "consent") for each in some]
    chosen = (_choice_in(one), one, (3 * exact.NANONATS, None))
    answered, again = (("answer", each, (each.answers[-1], None)) for each in (other, one))
    joined = [(what, other, ()) for what in ("join", "consent")]
    return [*joined, answered, ("join", one, ()), chosen, again, again, ("forget", one, ()), ("join", one, ()), chosen]


def _choice_in(one: AnswerableCampaign) -> str:
    return "choose_prior" if "prior" in one.role else "choose_class"


def steps(seed: int, length: int = 40) -> list[Step]:
    """Return the steps of a person with two campaigns, in any order, with a clock that may go back."""
    chance = random.Random(seed)
    chooses = seed % 3 == 0
    some = [CHOOSING[2 + seed // 3 % 3], chance.choice(CHOOSING[:2])] if chooses else chance.sample(CAMPAIGNS, 2)
    campaigns = {one.id: open_campaign(one.data, TRUST).campaign for one in some}
    caps = {"lifetime": 500 * exact.NANONATS} if seed % 6 == 0 else _caps(chance)
    found = [Step(OPENS, "lower_caps", None, (caps,), b"")]
    for place, (what, one, given) in enumerate(_first(some, chooses)):
        # If the same value comes again, it is in the next period.
        now = campaigns[one.id].opens + campaigns[one.id].period_seconds * (place // 6)
        found.append(Step(now, what, one, given, chance.randbytes(CHANCE)))
    periods = {one.id: 0 for one in some}
    for _ in range(length):
        one = chance.choice(some)
        about = campaigns[one.id]
        periods[one.id] = min(about.periods, max(-1, periods[one.id] + chance.choice((0, 0, 0, 1, 1, 1, -1))))
        now = about.opens + about.period_seconds * periods[one.id] + chance.randrange(about.period_seconds)
        doing = {"answer": 14, "consent": 2, "join": 2, "forget": 0.4, "budget": 1, "set_clock": 1, "lower_caps": 0.2}
        what = chance.choices(list(doing), list(doing.values()))[0]
        if what == "consent" and chance.random() < (0.5 if one.role else 0.1):
            what = _choice_in(one)
        given: tuple[Any, ...] = ()
        if what == "answer":
            reading = chance.choice((None, None, None, None, None, 0, 0, 1))
            given = (chance.choice((*one.answers, *one.answers, *one.answers, "no such answer")), reading)
        if what == "lower_caps":
            given = (_caps(chance),)
        if what == "consent" and chance.random() < 0.9:
            given = (one.role if chance.random() < 0.8 else one.role | chance.choice(WRONG),)
        if what in ("choose_class", "choose_prior"):
            given = (chance.choice((10**5, 10**8, exact.NANONATS, 3 * exact.NANONATS)), chance.choice(HISTORIES))
        of_none = what in ("budget", "set_clock", "lower_caps")
        found.append(Step(now, what, None if of_none else one, given, chance.randbytes(CHANCE)))
    return found


class Twin:
    """Python's device with the clock and the random bytes of the current step."""

    def __init__(self, secret: bytes) -> None:
        self.step = Step(OPENS, "", None, (), secret)
        self.device = Device.open(":memory:", TRUST, clock=lambda: self.step.now, urandom=lambda n: self.step.rand[:n])

    def do(self, step: Step) -> Any:
        """Run a step; return its result in the same form as the page."""
        self.step = step
        try:
            return getattr(self, step.what)(step.campaign, *step.given)
        except HalftruthError as error:
            return {"refused": type(error).__name__, "message": str(error)}
        # The slot is outside the period.
        except ValueError:
            return {"refused": "RangeError"}

    def lower_caps(self, _: None, caps: dict[str, Any]) -> None:
        window = caps.get("window")
        self.device.lower_caps(
            BudgetPolicy(
                lifetime=exact.nats(caps["lifetime"]),
                per_campaign=exact.nats(caps["campaign"]) if "campaign" in caps else None,
                window=window and (window["seconds"], exact.nats(window["nanonats"])),
            )
        )

    def join(self, asked: AnswerableCampaign) -> None:
        self.device.join(asked.data)

    def consent(self, asked: AnswerableCampaign, role: dict[str, Any] | None = None) -> None:
        role = role or {}
        level = exact.nats(role["level"]) if "level" in role else None
        self.device.consent(asked.id, as_class=role.get("asClass"), prior=role.get("prior"), level=level)

    def answer(self, asked: AnswerableCampaign, text: str, reading: int | None) -> dict[str, Any]:
        value: Any = text
        if text in asked.answers:
            value = open_campaign(asked.data, TRUST).campaign.domain.parse(text)
        receipt = self.device.answer(asked.id, value, reading)
        return {
            "period": receipt.period,
            "slot": receipt.slot,
            "envelope": receipt.envelope.hex(),
            "cost": str(receipt.cost_nanonats),
            "repeated": receipt.repeated,
        }

    def forget(self, asked: AnswerableCampaign) -> None:
        self.device.forget(asked.id)

    def choose_class(self, asked: AnswerableCampaign, level: int, history: dict[str, int] | None) -> str:
        return self.device.choose_class(asked.id, exact.nats(level), history)

    def choose_prior(self, asked: AnswerableCampaign, level: int, history: dict[str, int] | None) -> dict[str, int]:
        return self.device.choose_prior(asked.id, exact.nats(level), history)

    def set_clock(self, _: None) -> list[str]:
        return [one.hex() for one in self.device.set_clock()]

    def budget(self, _: None) -> dict[str, Any]:
        found = self.device.budget
        caps = [{"kind": cap.kind, "seconds": cap.seconds, "nanonats": str(cap.nanonats)} for cap in found.caps]
        return {
            "caps": caps,
            "lifetime": next(cap["nanonats"] for cap in caps if cap["kind"] == "lifetime"),
            "spent": str(found.spent_nanonats),
            "reserved": str(found.reserved_nanonats),
            "remaining": str(found.remaining_nanonats),
        }

    def held(self) -> dict[str, Any]:
        """Return the whole state at the end: the ledger, and the waiting envelopes and answers of each campaign."""
        records = self.device.records
        return {
            "ledger": [
                [entry.time, entry.campaign_id.hex(), entry.kind.name.lower(), str(entry.nanonats)]
                for entry in self.device.ledger
            ],
            "campaigns": {
                known.hex(): [
                    [envelope.hex() for envelope in records.outbox.envelopes(records.campaigns.number(known))],
                    self.device.history(known),
                ]
                for known in self.device.campaigns
            },
        }


def alike(what: str, given: Any) -> Any:
    """Return the part of a step's result that both devices have in common: no terms, and the text of a refusal only if
    a cap refused a campaign or an answer."""
    if isinstance(given, dict) and "refused" in given:
        said = given["message"] if given["refused"] == "BudgetRefused" and what != "set_clock" else ""
        return {"refused": given["refused"], "said": said}
    if what == "answer":
        return {name: given[name] for name in ("period", "slot", "envelope", "cost", "repeated")}
    if what == "set_clock":
        return sorted(given)
    return given if what in ("budget", "choose_class", "choose_prior") else None


RunInPage = Callable[[list[dict[str, Any]]], tuple[list[Any], dict[str, Any]]]


def difference(seed: int, page: RunInPage) -> tuple[int, int]:
    """Run the steps of a seed in both devices, and assert that their results agree.

    Returns:
        The number of answers given, and the number of refused steps.
    """
    secret = random.Random(-seed).randbytes(32)
    twin, done = Twin(secret), steps(seed)
    expected = [alike(step.what, twin.do(step)) for step in done]
    found, held = page([{"now": OPENS, "rand": secret.hex()}, *(step.message() for step in done)])
    for step, one, other in zip(done, expected, found, strict=True):
        assert alike(step.what, other) == one, (seed, step, other)
    assert held == twin.held(), seed
    twin.device.close()
    dicts = [one for one in expected if isinstance(one, dict)]
    return sum("envelope" in one for one in dicts), sum("refused" in one for one in dicts)

"""Campaigns with one change: the browser and Python accept the same campaigns, with the same levels, and refuse the
same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from protocol import codec, envelope
from protocol.campaign import open_campaign
from protocol.envelope import Kind
from protocol.errors import BadData
from tests.altered import flipped
from tests.vectors import generate
from tests.web.test_core import CASES, NODE, Case, run

pytestmark = pytest.mark.skipif(NODE is None, reason="needs node")

TEXT_FIELDS = (0, 1, 2, 3, 6, 16, 17, 18, 21)
"""Fields with one text each; they are changed less often than the numbers."""


def parts(value: Any, *path: int) -> list[tuple[int, ...]]:
    """Return the paths of all values inside a value."""
    below = enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for place, part in below for found in parts(part, *path, place))]


DOMAIN, TRANSLATIONS = 4, 20
"""Fields that are checked together."""


def edited(payload: bytes, chance: random.Random, fields: tuple[int, ...]) -> bytes:
    """Return the payload of a campaign with one part changed, omitted or repeated, in ``fields`` (any field if
    empty)."""
    value: Any = codec.decode(payload, limit=2**20)
    *path, last = chance.choice(
        [
            path
            for path in parts(value)
            if path and (path[0] in fields or (not fields and (path[0] not in TEXT_FIELDS or chance.random() < 0.1)))
        ]
    )
    holder = value
    for place in path:
        holder = holder[place]
    part = holder[last]
    if chance.random() < 0.1:
        del holder[last]
    elif chance.random() < 0.1:
        holder.insert(last, part)
    elif isinstance(part, int):
        near = chance.choice((part + 1, part - 1, 2 * part, part // 2, 0, -1, part + 2**32, 2**64 - 1, part ^ 1))
        holder[last] = min(max(near, -(2**63)), 2**64 - 1)
    elif isinstance(part, str):
        holder[last] = chance.choice((part + " ", part[:-1], part.upper(), part + "\u200b", "", 3 * part, part + ";"))
    elif isinstance(part, bytes):
        holder[last] = chance.choice((part[:-1], part + b"\0", bytes(len(part)), flipped(part)))
    elif len(part) > 1:
        chance.choice((part.reverse, part.pop))()
    return codec.encode(value)


TOPICS = (*CASES["campaign"], *CASES["view"], *CASES["answer"])


def compare_edited(count: int, seed: int, topics: Sequence[Case] = TOPICS, fields: tuple[int, ...] = ()) -> None:
    chance = random.Random(seed)
    bases = dict.fromkeys(case["campaign"] for case in topics if "stage" not in case)
    payloads = [envelope.decode(bytes.fromhex(data)).unverified for data in bases if len(data) < 10_000]
    cases = []
    for _ in range(count):
        data = envelope.seal(Kind.CAMPAIGN, generate.ANALYST, edited(chance.choice(payloads), chance, fields))
        case: dict[str, Any] = {"campaign": data.hex()}
        try:
            campaign = open_campaign(data, [generate.ANALYST.public]).campaign
            found = campaign.certificate
            case |= {"audited": found.audited_level, "ldp": found.ldp_level, "worst_case": str(campaign.worst_case)}
            case["bits"] = campaign.output_bits
            case["names"] = {
                one.language: list(campaign.domain_in(one.language).named) for one in campaign.translations
            }
        except BadData as error:
            case["stage"] = error.stage
        cases.append(case)
    refused = sum("stage" in case for case in cases)
    assert count // 10 < refused < count - count // 10
    options = {"author": generate.ANALYST.public.hex(), "judged": cases}
    assert [fault for fault in run(options)["judged"] if fault] == []


@pytest.mark.parametrize(("number", "seed"), [(200, 1), pytest.param(5000, 2, marks=pytest.mark.long)])
def test_browser_and_python_agree_on_edited_campaigns(number: int, seed: int) -> None:
    """The browser and Python agree on the refusal or the levels of edited campaigns."""
    compare_edited(number, seed)


def test_browser_and_python_agree_on_edited_translations() -> None:
    """The browser and Python agree on 200 campaigns with a change in the domain or a translation, and show the same
    labels and units."""
    compare_edited(
        200,
        3,
        [case for case in CASES["campaign"] if "asked" in case and has_translated_names(case)],
        (DOMAIN, TRANSLATIONS),
    )


def has_translated_names(case: Case) -> bool:
    """Return whether a campaign's labels or units are translated."""
    return len({str(labels) for *_, labels, _ in case["shown"].values()}) > 1

"""The browser's core in node: every vector gives what it says, or is refused at the stage it names.

One node process reads all cases of all topics and says what was wrong with each.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import generate

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors"
NODE = shutil.which("node")
Case = dict[str, Any]

pytestmark = pytest.mark.skipif(NODE is None, reason="needs node")


def of_a_browser(topic: str, case: Case) -> bool:
    """Whether a browser meets what the case is about: it has no key files (SPEC 2.3)."""
    return topic != "keys" or "public" in case


def read(topic: str) -> list[Case]:
    cases: list[Case] = json.loads((VECTORS / f"{topic}.json").read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if of_a_browser(topic, case)]


# Not the batches: reading them is an aggregator's.
TOPICS = (
    "codec", "level", "keys", "envelope", "domain", "channel", "certificate", "view", "campaign", "closing", "report",
    "enrolment", "answer",
)  # fmt: skip
CASES = {topic: read(topic) for topic in TOPICS}


def run(script: str, told: object) -> Any:
    """What a script beside this file writes when it is told ``told``."""
    assert NODE is not None
    done = subprocess.run(
        [NODE, HERE / script], input=json.dumps(told), capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def faults() -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = run("vectors.mjs", CASES | {"author": generate.ANALYST.public.hex()})
    return found


@pytest.mark.parametrize(
    ("topic", "place"),
    [pytest.param(topic, i, id=f"{topic}: {case['name']}") for topic in CASES for i, case in enumerate(CASES[topic])],
)
def test_vector_holds(topic: str, place: int, faults: dict[str, list[str | None]]) -> None:
    assert faults[topic][place] is None, faults[topic][place]


def test_wycheproof(faults: dict[str, list[str | None]]) -> None:
    """WebCrypto after the byte checks of SPEC 2.1 gives Wycheproof's verdict on all its 151 Ed25519 cases."""
    groups = json.loads((VECTORS / "wycheproof_ed25519.json").read_text(encoding="utf-8"))["testGroups"]
    cases = [
        {"public": group["publicKey"]["pk"], "message": test["msg"], "signature": test["sig"]}
        | ({} if test["result"] == "valid" else {"stage": "signature"})
        for group in groups
        for test in group["tests"]
    ]
    assert len(cases) == 151
    assert [fault for fault in run("vectors.mjs", {"keys": cases})["keys"] if fault] == []

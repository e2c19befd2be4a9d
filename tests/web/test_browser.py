"""The browser's modules in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.vectors import generate
from tests.web import twin
from tests.web.chromium import CHROMIUM, Chromium, chromium
from tests.web.test_core import CASES, wycheproof

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


# Playwright's event loop runs in this thread until the browser is closed, and other tests have loops of their own: so
# no longer than this file.
@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def test_every_vector_holds(browser: Chromium) -> None:
    """Each case of each topic, and Wycheproof's, in one page: what node says of its WebCrypto is said of this one."""
    page = browser.page()
    told = CASES | {"author": generate.ANALYST.public.hex(), "keys": CASES["keys"] + wycheproof()}
    found = page.evaluate("async (told) => (await import('/tests/web/vectors.mjs')).faults(told)", told)
    page.close()
    assert {topic: len(faults) for topic, faults in found.items()} == {
        topic: len(cases) for topic, cases in told.items() if topic != "author"
    }
    wrong = [
        f"{topic}: {case.get('name', case)}: {fault}"
        for topic, faults in found.items()
        for case, fault in zip(told[topic], faults, strict=True)
        if fault is not None
    ]
    assert wrong == []


class Tab:
    """A tab in which steps of a device are done, on a database of its own name."""

    def __init__(self, page: Page, name: str) -> None:
        self.page = page
        self.name = name

    def run(self, steps: list[dict[str, Any]], name: str = "") -> tuple[list[Any], dict[str, Any]]:
        """What each step after the first gives, and all that is there then."""
        told = {"name": self.name + name, "trust": [public.hex() for public in twin.TRUST]}
        call = "async ([told, steps]) => (await import('/tests/web/device.mjs')).run(told, steps)"
        found, held = self.page.evaluate(call, [told, steps])
        return found, held


@pytest.fixture
def tab(browser: Chromium, request: pytest.FixtureRequest) -> Iterator[Tab]:
    page = browser.page()
    yield Tab(page, request.node.name)
    page.close()


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 400), marks=pytest.mark.long)])
def test_a_device_does_what_pythons_does(tab: Tab, seeds: range) -> None:
    """Two campaigns of any kind joined, agreed to, answered and forgotten in any order, under caps, with a clock that
    goes back: each envelope, charge, refusal and entry of the ledger is that of Python's device under the same chance.
    """
    answers, refusals = 0, 0
    for seed in seeds:
        answered, refused = twin.difference(seed, lambda steps, seed=seed: tab.run(steps, str(seed)))  # type: ignore[misc]
        answers, refusals = answers + answered, refusals + refused
    assert answers > 3 * len(seeds), "most sequences answer, or nothing is tested"
    assert refusals > 5 * len(seeds), "and something is refused"

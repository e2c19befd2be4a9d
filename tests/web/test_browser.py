"""The browser's modules in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.vectors import generate
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

"""The browser that the tests of a file share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.web.chromium import Chromium, chromium


# Playwright's event loop runs in this thread until the browser is closed, and other tests have their own loops. So the
# browser lives only as long as a file's tests.
@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Yield a browser with an empty profile."""
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started

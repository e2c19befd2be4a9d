"""Settings of the suite: the order of files, Hypothesis's profile, temporary files, and work that workers share.

The files that take longest come first, so that no worker runs one alone at the end. A file stays on one worker. The
files at the end take a few seconds each and are distributed evenly among the workers.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadline and no health check, because a property test must not fail on a slow machine. Its examples are the
# same in each run, 40 unless the test sets another number, so a run fails only after a change; `make test-long`
# searches with 100 others.
settings.register_profile("new", deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("same", settings.get_profile("new"), derandomize=True, max_examples=40)
settings.load_profile("same")

TESTS = Path(__file__).parent
MEMORY = Path("/dev/shm")  # noqa: S108  # pytest creates a private folder in it
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2**31:
    # Temporary files are in memory: on a disk, half of the time would be spent waiting. A killed process leaves the
    # same files in both; only a power failure would lose those in memory.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
# The suite has more processes than cores. Threads of the linear algebra libraries would wait for each other in loops:
# matrices of a hundred rows took ten times the processor time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
SLOWEST_FIRST = (
    "aggregator/test_object_storage.py",
    "aggregator/test_engine_dask.py",
    "web/test_page.py",
    "aggregator/test_receive.py",
    "web/test_browser.py",
    "demo_app/test_screens.py",
    "aggregator/test_intake_known.py",
    "aggregator/test_upkeep.py",
    "web/test_served_page.py",
    "aggregator/test_killed.py",
    "aggregator/test_wave_classes.py",
    "aggregator/test_desk.py",
    "aggregator/test_ordered_comparison.py",
    "aggregator/test_invite.py",
    "aggregator/test_items.py",
    "web/test_core.py",
    "aggregator/test_reproduce.py",
    "aggregator/test_intake_ingest.py",
    "test_distribution.py",
    "aggregator/test_intake_once.py",
    "web/test_promises.py",
    "demo_app/test_texts.py",
    "web/test_bundle.py",
    "protocol/test_projective.py",
    "docs/test_mechanisms.py",
    "protocol/test_channels.py",
    "aggregator/test_storage_paths.py",
    "edge_sdk/test_daemon.py",
    "aggregator/test_demo.py",
    "aggregator/test_ranges.py",
    "edge_sdk/test_send.py",
    "edge_sdk/test_black_box.py",
    "aggregator/test_estimate_intervals.py",
    "test_packaging.py",
    "aggregator/test_estimate_groups.py",
    "aggregator/test_reproduce_idldp.py",
    "web/test_promise_text.py",
    "demo_app/test_android.py",
    "aggregator/test_estimate_support.py",
    "aggregator/test_present_page.py",
    "aggregator/test_sequences.py",
    "docs/test_examples.py",
    "protocol/test_views.py",
    "aggregator/test_design_windows.py",
    "protocol/test_vectors.py",
    "demo_app/test_widgets.py",
    "aggregator/test_views.py",
    "aggregator/test_personal_budgets.py",
    "protocol/test_levels.py",
    "demo_app/test_session.py",
    "aggregator/test_plan.py",
    "protocol/test_effort.py",
    "aggregator/test_declared_priors.py",
    "aggregator/test_start.py",
    "aggregator/test_hostile.py",
    "protocol/test_triples.py",
    "aggregator/test_design_unary.py",
    "edge_sdk/test_crash.py",
)
"""Files of five seconds and more, by the time that they took (`--durations`); the others keep their order."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Let each worker begin the collection at another file, and exclude the collected objects from garbage collection.

    Pytest rewrites the asserts of a file that has changed, which takes longer than the rest of a collection, and keeps
    the result. Workers that begin at the same file would all rewrite the same files; these use the results of the
    others. Modules and tests live as long as the run, so no later garbage collection needs to visit them.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1 and [Path(argument).resolve() for argument in session.config.args] == [TESTS]:
        files = sorted(map(str, TESTS.rglob("test_*.py")))
        first = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw")) * len(files) // workers
        session.config.args = files[first:] + files[:first]
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow files first and the others in the order of their names; the order within a file stays."""
    gone = [name for name in SLOWEST_FIRST if not (TESTS / name).is_file()]
    if gone:
        raise pytest.UsageError(f"SLOWEST_FIRST in tests/conftest.py names files that do not exist: {', '.join(gone)}")
    places = {TESTS / name: place for place, name in enumerate(SLOWEST_FIRST)}
    items.sort(key=lambda item: (places.get(item.path, len(places)), item.path))

"""The random numbers of a test, the object store that several test files use, and studies in it and in folders."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.storage import tables
from aggregator.storage.paths import files_below
from aggregator.storage.remote import Remote
from aggregator.study import Study
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.keys import SigningKey
from tests.aggregator.object_store import BUCKET, object_store, prepared, using_store


@pytest.fixture
def rng():
    """A generator with a fixed seed for each test, so no result depends on the order of tests."""
    return np.random.default_rng(20260101)


@pytest.fixture(scope="module")
def stores():
    """The addresses of an object store that supports conditional writes and of one that ignores them."""
    with object_store() as addresses:
        yield addresses


@pytest.fixture
def bucket(stores, tmp_path):
    """A prefix of the bucket that no other test uses; its name contains characters that need quoting."""
    with using_store(stores[0]):
        yield Remote(BUCKET, f"{tmp_path.name} ü#1")


@pytest.fixture(scope="module")
def objects(stores):
    """Return the names and contents of the objects of a study in the bucket."""
    with using_store(stores[0]):
        made = prepared(Remote(BUCKET, "prepared")).path
        return {file.path.key.removeprefix(f"{made.key}/"): file.path.read_bytes() for file in files_below(made)}


@pytest.fixture
def study(bucket, objects):
    """A study in the bucket: ``PLAIN`` with ten devices, one of them revoked, and ``OPEN`` with none."""
    for name, data in objects.items():
        (bucket / "study" / name).write_bytes(data)
    return Study(bucket / "study")


@pytest.fixture
def study_of(tmp_path):
    """A function that makes a study with one campaign, named ``crops``, in a folder, and returns the study and the
    signed campaign."""

    def make(campaign: Campaign):
        author = SigningKey(bytes(range(32)))
        signed = open_campaign(seal_campaign(campaign, author), [author.public])
        made = Study.create(tmp_path / "study")
        made.import_campaign(signed.data, [author.public], "crops")
        return made, signed

    return make


@pytest.fixture
def before_commit(monkeypatch):
    """A function that lets other work happen between the scan and the first commit of the next ingest; it returns a
    list that then has the result of the work."""

    def make(work):
        real, done = tables.write_deltalake, []

        def late(*arguments, **options):
            if not done:
                done.append(None)
                done[0] = work()
            real(*arguments, **options)

        monkeypatch.setattr(tables, "write_deltalake", late)
        return done

    return make

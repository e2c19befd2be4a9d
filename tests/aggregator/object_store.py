"""An object store on loopback: moto's S3, in a separate process, with a bucket.

Tests reach it like any other store, over HTTP and with the address in environment variables, so that the aggregator
contains no code for these tests. A second port serves the same store with a fault that some real stores have: it
ignores If-None-Match.
"""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from aggregator.storage import remote
from aggregator.storage.paths import StoragePath
from aggregator.study import Study
from tests.aggregator import fleet
from tests.aggregator.fleet import AUTHOR, enrolment
from tests.aggregator.test_intake_ingest import OPEN, PLAIN

BUCKET = "lib"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "tests",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}
"""The environment of every client; AWS_ENDPOINT_URL, the address of the store, is added."""


@contextmanager
def object_store() -> Iterator[tuple[str, str]]:
    """The addresses of an object store that supports conditional writes and of one that ignores them."""
    command = [sys.executable, "-m", "tests.aggregator.object_store"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            correct, faulty = (f"http://127.0.0.1:{port}" for port in process.stdout.readline().split())
            made = urllib.request.Request(f"{correct}/{BUCKET}", method="PUT")  # noqa: S310  # a process on loopback
            urllib.request.urlopen(made).close()  # noqa: S310  # a process on loopback
            yield correct, faulty
        finally:
            process.kill()


@contextmanager
def using_store(address: str) -> Iterator[None]:
    """Make this process, and those that it starts, use the store at an address."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (ENVIRONMENT | {"AWS_ENDPOINT_URL": address}).items():
            patch.setenv(name, value)
        remote._store.cache_clear()
        yield
        remote._store.cache_clear()


def prepared(path: StoragePath) -> Study:
    """Make a study of ``PLAIN`` with ten devices, one of them revoked, and of ``OPEN`` with none."""
    made = fleet.study(path, PLAIN, range(10))
    made.import_campaign(OPEN.data, [AUTHOR.public], "open")
    made.revoke(enrolment(9, PLAIN))
    return made


def uploaded(folder: StoragePath, datas: Iterable[bytes]) -> StoragePath:
    """Write each upload as an object below a prefix, or as a file in a folder; the order of the names is that of the
    uploads."""
    if isinstance(folder, Path):
        folder.mkdir()
    for number, data in enumerate(datas):
        (folder / f"{number:03}.htr").write_bytes(data)
    return folder


def _without_conditions(application: Callable[..., Any]) -> Callable[..., Any]:
    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        environ.pop("HTTP_IF_NONE_MATCH", None)
        return application(environ, start)

    return answer


def main() -> None:
    """Serve until this process is killed or its parent process ends."""
    import threading

    from moto.moto_server.werkzeug_app import create_backend_app
    from werkzeug.serving import make_server

    application = create_backend_app("s3")  # detecting the service would double the time of a request
    applications = application, _without_conditions(application)
    servers = [make_server("127.0.0.1", 0, one, threaded=True) for one in applications]
    for one in servers:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    print(*(one.port for one in servers), flush=True)
    started_by = os.getppid()
    while os.getppid() == started_by:
        threading.Event().wait(1)


if __name__ == "__main__":
    main()

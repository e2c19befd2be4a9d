"""Checks of the components that the aggregator needs on this machine.

Signatures and storage are tried once, storage in a temporary folder. Of libraries, only the version is read.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import deltalake
import nacl.bindings
import nacl.exceptions
import numpy as np
import pyarrow as pa

from aggregator.extras import install_command
from aggregator.quantity import quantity
from protocol import keys
from protocol.errors import SignatureRefused

LIBRARIES = ("cryptography", "msgpack", "pynacl", "deltalake", "pyarrow", "numpy", "scipy", "matplotlib")
ROOM = 2**30
"""Free bytes that a large ingest needs."""


class CheckFailed(Exception):
    """A failed check; the text is for the user."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check: its name, whether it passed, and a text for the user."""

    name: str
    ok: bool
    text: str


def check_up() -> list[CheckResult]:
    """Return the result of every check; a check that raises an exception has failed."""
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("python", platform.python_version),
        ("libraries", _libraries),
        ("signatures", _signatures_agree),
        ("storage", _storage_commits),
        ("randomness", lambda: f"the operating system gave {len(os.urandom(32))} random bytes"),
        (
            "cores",
            lambda: (
                f"{quantity(os.cpu_count() or 1, 'processor')}; an ingest uses a thread for each to verify signatures"
            ),
        ),
        ("dask", lambda: _optional("dask", ("dask", "distributed"), "--engine dask")),
        (
            "s3",
            lambda: _optional("s3", ("obstore",), "s3:// locations", ", with the AWS_ variables of the environment"),
        ),
        ("room", _room),
    )
    results = []
    for name, check in checks:
        try:
            results.append(CheckResult(name, True, check()))
        except CheckFailed as failure:
            results.append(CheckResult(name, False, str(failure)))
        except Exception as error:  # a broken installation may raise any error
            reason = str(error) or type(error).__name__
            results.append(
                CheckResult(
                    name,
                    False,
                    f"the check ended with an unexpected error: {reason}. Remove its cause, or reinstall halftruth and "
                    "its libraries",
                )
            )
    return results


def _signatures_agree() -> str:
    key = keys.SigningKey(os.urandom(keys.SECRET_BYTES))
    message, forged = b"halftruth doctor", b"halftruth docter"
    signature = key.sign(message)
    keys.verify(key.public, signature, message)
    nacl.bindings.crypto_sign_open(signature + message, key.public)
    forgeries: tuple[tuple[str, str, Callable[[], object]], ...] = (
        ("OpenSSL", "cryptography", lambda: keys.verify(key.public, signature, forged)),
        ("libsodium", "pynacl", lambda: nacl.bindings.crypto_sign_open(signature + forged, key.public)),
    )
    for library, package, verify in forgeries:
        try:
            verify()
        except (SignatureRefused, nacl.exceptions.BadSignatureError):
            continue
        raise CheckFailed(f"{library} accepted a forged signature: ingest nothing, and reinstall the package {package}")
    return "OpenSSL and libsodium accept a valid signature and refuse a forged one"


def _storage_commits() -> str:
    with tempfile.TemporaryDirectory() as folder:
        rows = pa.table({"number": np.arange(1000)})
        deltalake.write_deltalake(folder, rows)
        deltalake.write_deltalake(folder, rows, mode="append")
        count = deltalake.DeltaTable(folder).to_pyarrow_table().num_rows
    if count != 2000:
        raise CheckFailed(
            f"2000 rows were written to a Delta table, but {count} were read: check the disk, and reinstall deltalake"
        )
    return "a Delta table was written, appended to and read"


def _libraries() -> str:
    try:
        return _versions(LIBRARIES)
    except metadata.PackageNotFoundError as error:
        raise CheckFailed(f"{error.name} is not installed: {install_command('aggregator')}") from None


def _versions(libraries: Sequence[str]) -> str:
    return ", ".join(f"{name} {metadata.version(name)}" for name in libraries)


def _optional(extra: str, libraries: Sequence[str], use: str, more: str = "") -> str:
    """Return the versions of the libraries of an extra, or a text on how to install it."""
    try:
        return f"{_versions(libraries)}, for {use}{more}"
    except metadata.PackageNotFoundError:
        return f"not installed, and needed for {use} only: {install_command(f'aggregator,{extra}')}"


def _room() -> str:
    free = shutil.disk_usage(Path.cwd()).free
    if free < ROOM:
        raise CheckFailed(
            f"{free / 2**30:.1f} GiB free in this folder; a large ingest needs at least {ROOM / 2**30:g} GiB: free "
            "some space"
        )
    return f"{free / 2**30:.0f} GiB free in this folder"

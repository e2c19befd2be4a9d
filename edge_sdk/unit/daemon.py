"""``python -m edge_sdk.unit.daemon CONFIG``: the process of a unit.

The process runs for months, so it loads only the modules that it needs. It ends at once on a signal, and logs one line
for each problem. At most one process answers a campaign with a store.

The module agent implements the unit.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from edge_sdk.errors import StoreError
from edge_sdk.unit.agent import ERROR, NOTICE, Say, Unit
from edge_sdk.unit.config import Configuration, ConfigurationRefused, read_configuration
from edge_sdk.unit.sensor import Reader, Stopped
from protocol.errors import BadData, HalftruthError


def run(configuration: Configuration, say: Say) -> None:
    """Run the unit until its campaign is over or forgotten, standard input ends, or SIGTERM or SIGINT arrives.

    Raises:
        HalftruthError, OSError: the unit cannot start, or the store is unusable.
    """
    stop, wake = os.pipe()
    for end in (stop, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT):
        # The descriptor reports the signal, so the handler does nothing.
        signal.signal(number, lambda *_: None)
    readers = {name: Reader(source, stop) for name, source in configuration.sources.items()}
    past = max(path.stat().st_mtime for path in (configuration.file, configuration.campaign))
    with (
        closing(Unit(configuration, lambda name, timeout: readers[name].read(timeout), say, past=past)) as unit,
        _alone(configuration, unit.agreed_to),
        suppress(Stopped),
    ):
        while (pause := unit.step()) is not None:
            if any(reader.ended for reader in readers.values()):
                say(NOTICE, "standard input has ended: collected readings are sent when the unit runs again")
                return
            ready, _, _ = select.select([stop, *unit.waits_for], [], [], pause)
            if stop in ready:
                raise Stopped
        return
    say(NOTICE, "stopped")


@contextmanager
def _alone(configuration: Configuration, campaign_id: bytes) -> Iterator[None]:
    """Lock a campaign of a store, so that only one unit answers it; the system releases the lock when the process ends.

    Raises:
        StoreError: another process has locked the campaign.
    """
    import fcntl

    path = configuration.store / f"unit-{campaign_id.hex()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError("another process answers this campaign with this store: stop it first") from None
        yield
    finally:
        os.close(descriptor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the unit of the configuration named on the command line.

    Returns:
        The exit code: 0 done or stopped, 1 refused or failed, 2 invalid configuration, 65 bad data.
    """
    say = _log()
    [path] = sys.argv[1:] if arguments is None else arguments
    try:
        run(read_configuration(path), say)
    except ConfigurationRefused as error:
        say(ERROR, str(error))
        return 2
    except BadData as error:
        say(ERROR, str(error))
        return 65
    except HalftruthError as error:
        say(ERROR, str(error))
        return 1
    except OSError as error:
        say(ERROR, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return 1
    return 0


def _log() -> Say:
    """Return a function that writes lines to standard error, with their level if standard error is the systemd
    journal."""
    journal = False
    # Standard error may be closed.
    with suppress(OSError):
        known = os.fstat(2)
        journal = os.environ.get("JOURNAL_STREAM") == f"{known.st_dev}:{known.st_ino}"

    def say(level: int, text: str) -> None:
        line = " ".join(text.split())
        # A full disk must not stop the unit.
        with suppress(OSError):
            print(f"<{level}>{line}" if journal else f"edge_sdk: {line}", file=sys.stderr, flush=True)

    return say


def _spare_memory() -> None:
    """Use Python's built-in digests instead of OpenSSL's; both give the same results.

    This saves 3 MB, because only the OpenSSL of ``cryptography`` is loaded.
    """
    from importlib.util import find_spec

    modules = ("_md5", "_sha1", "_sha3", "_blake2", *(("_sha2",) if find_spec("_sha2") else ("_sha256", "_sha512")))
    if "hashlib" not in sys.modules and all(map(find_spec, modules)):
        sys.modules["_hashlib"] = None  # type: ignore[assignment]  # importing it fails, and hashlib then uses its own


if __name__ == "__main__":
    _spare_memory()
    sys.exit(main())

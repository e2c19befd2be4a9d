"""Print the figures of the benchmarks that need no data set and none of the compared libraries: `make bench`.

Targets are in brackets. `python -m benchmarks NAME ...` runs only the named benchmarks.
"""

from __future__ import annotations

import sys
from importlib import import_module

BENCHMARKS = (
    "size", "estimate", "device", "form-answer", "joining", "daemon", "app", "ingest", "scale", "rows", "receive",
    "web", "accuracy",
)  # fmt: skip
"""The names of the benchmarks, in the order in which they run; each is a module of this package."""


def main() -> None:
    """Run the benchmarks named on the command line, or all of ``BENCHMARKS``."""
    unknown = [name for name in sys.argv[1:] if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}: expected one of {', '.join(BENCHMARKS)}")
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"\n{name}", flush=True)
        for title, measured in import_module(f"benchmarks.{name.replace('-', '_')}").run():
            print(f"  {title:<68} {measured}", flush=True)


if __name__ == "__main__":
    main()

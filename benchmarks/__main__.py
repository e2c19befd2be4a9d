"""Print the figures of the benchmarks that need no data set and no other library: `make bench`.

Targets are in brackets. `python -m benchmarks NAME ...` runs only the named benchmarks.
"""

from __future__ import annotations

import sys

from benchmarks import (
    accuracy,
    app,
    daemon,
    device,
    estimate,
    form_answer,
    ingest,
    joining,
    receive,
    rows,
    scale,
    size,
    web,
)

BENCHMARKS = {
    "size": size.run,
    "estimate": estimate.run,
    "device": device.run,
    "form-answer": form_answer.run,
    "joining": joining.run,
    "daemon": daemon.run,
    "app": app.run,
    "ingest": ingest.run,
    "scale": scale.run,
    "rows": rows.run,
    "receive": receive.run,
    "web": web.run,
    "accuracy": accuracy.run,
}


def main() -> None:
    """Run the benchmarks named on the command line, or all of ``BENCHMARKS``."""
    unknown = [name for name in sys.argv[1:] if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"there is no benchmark {unknown[0]!r}: expected one of {', '.join(BENCHMARKS)}")
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"\n{name}", flush=True)
        for title, measured in BENCHMARKS[name]():
            print(f"  {title:<68} {measured}", flush=True)


if __name__ == "__main__":
    main()

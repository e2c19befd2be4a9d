"""Fuzz a target, guided by coverage, until stopped: ``python -m tests.fuzz TARGET [libFuzzer's options]``.

Atheris reports to libFuzzer which branches an input took, so it finds cases that random mutation does not. The tests do
not depend on it: ``make fuzz`` installs it. New inputs, and an input that fails a check, are stored in the folder
``fuzz-output``; ``python -m tests.fuzz TARGET FILE`` runs an input again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

OUTPUT = Path("fuzz-output")


def main() -> None:
    """Fuzz the target that the first argument names, or run it on the given files."""
    with atheris.instrument_imports(include=["protocol", "aggregator.intake"]):
        from tests.fuzz.targets import TARGETS, seeds_of
    name, *options = sys.argv[1:] or [""]
    if name not in TARGETS:
        sys.exit(
            "usage: python -m tests.fuzz TARGET [-max_total_time=SECONDS ...] or TARGET FILE ...; "
            f"a target is {', '.join(TARGETS)}"
        )
    if options and not any(option.startswith("-") for option in options):
        for file in options:
            TARGETS[name](Path(file).read_bytes())
        return
    corpus = OUTPUT / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds_of(name)):
        (corpus / f"seed-{number}").write_bytes(seed)
    kept = [f"-artifact_prefix={corpus}-", "-timeout=20", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *kept, *options, str(corpus)], lambda data: TARGETS[name](bytes(data)))
    atheris.Fuzz()


main()

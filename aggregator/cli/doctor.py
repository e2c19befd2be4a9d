"""The command doctor: a check of this machine."""

from __future__ import annotations

from aggregator.cli import arguments, printing
from aggregator.cli.failure import FAILED, Failure
from aggregator.cli.group import halftruth
from aggregator.doctor import check_up
from aggregator.present.listing import checkup_table


@halftruth.command()
@arguments.as_json
def doctor(as_json: bool) -> None:
    """Check that this machine has all that halftruth needs: libraries, signatures, storage, randomness."""
    findings = check_up()
    if as_json:
        printing.print_json([{"check": check.name, "ok": check.ok, "found": check.text} for check in findings])
    else:
        printing.console().print(checkup_table(findings))
    if failed := [check.name for check in findings if not check.ok]:
        raise Failure(f"failed checks: {', '.join(failed)}", FAILED)

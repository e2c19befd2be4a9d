"""``python -m edge_sdk``: the device's command line, for cron jobs and daemons.

The output is for a person or, with ``--json``, for a script. An error is one line on stderr, after the usage if the
parser refuses an argument. It never repeats a person's answer.

cli/parser parses the arguments, cli/joining, cli/commands, cli/sending and cli/upkeep implement the commands, and
cli/output formats their results.

Exit codes: 0 done, 1 refused or failed, 2 usage, 65 bad data, 75 not yet.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from edge_sdk.cli import upkeep
from edge_sdk.cli.exit_codes import BAD_DATA, DONE, FAILED, NOT_YET, USAGE
from edge_sdk.cli.output import Incomplete, Printed, Usage, lines_for_people
from edge_sdk.cli.parser import parse
from edge_sdk.device import Device
from protocol.errors import BadData, HalftruthError, NotInDomain, NotYet


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    Raises:
        SystemExit: the arguments are invalid, or help was requested.
    """
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        if (options.key_store or options.checkpoint) and options.run is not upkeep.adopt:
            # Opening the store records both options in it, so later commands need not repeat them.
            Device.open(upkeep.store(options), key_store=upkeep.key_store(options)).close()
        printed: Printed = options.run(options)
    except Usage as error:
        return _fail(str(error), USAGE)
    except Incomplete as error:
        if options.json:
            _print(_json(error.printed))
        return _fail(str(error), error.code)
    except NotYet as error:
        return _fail(str(error), NOT_YET)
    except (BadData, NotInDomain) as error:
        return _fail(str(error), BAD_DATA)
    except HalftruthError as error:
        return _fail(str(error), FAILED)
    except OSError as error:
        missing = "there is no such file or folder: check the path"
        reason = missing if isinstance(error, FileNotFoundError) else error.strerror
        return _fail(f"{error.filename}: {reason}" if error.filename else str(error), FAILED)
    except KeyboardInterrupt:
        return _fail("interrupted: changes that were not yet on the disk are lost", FAILED)
    return _print(_json(printed) if options.json else "\n".join(lines_for_people(printed)))


def _json(printed: Printed) -> str:
    import json

    return json.dumps(printed, default=float)


def _print(text: str) -> int:
    try:
        print(text, flush=True)
    except OSError as error:
        # Python flushes stdout again at exit, and this flush must not fail too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # The program that reads the output has ended.
        if isinstance(error, BrokenPipeError):
            return DONE
        return _fail(f"the command is done, but its result cannot be printed: {error.strerror}", FAILED)
    return DONE


def _fail(text: str, code: int) -> int:
    print(f"edge_sdk: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

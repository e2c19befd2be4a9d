"""Run ``halftruth`` in this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from aggregator.cli.shell import halftruth


def run(*words: object, code: int = 0) -> Result:
    """Run a command; it must end with ``code`` and without a traceback."""
    result = CliRunner().invoke(halftruth, [str(word) for word in words], prog_name="halftruth")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result

"""The imports of a command before it does its work: only the libraries that the command uses."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.aggregator.fleet import campaign, report, study

HEAVY = {"numpy", "scipy", "pyarrow", "deltalake", "nacl", "starlette", "uvicorn", "matplotlib", "dask", "obstore"}
"""Libraries that take a tenth of a second or more to import, or that only few commands use."""

PROGRAM = """
import atexit, sys
atexit.register(lambda: print(*sorted({name.split(".")[0] for name in sys.modules}), file=sys.stderr))
from aggregator.cli import main
main()
"""

SIGNED = campaign()


@pytest.fixture(scope="module")
def prepared_folder(tmp_path_factory):
    """A folder with a campaign, a batch of one report, and a study that has the campaign and two keys."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "education.campaign").write_bytes(SIGNED.data)
    (folder / "batch.htr").write_bytes(report(0, SIGNED, 3))
    study(folder / "lib", SIGNED, range(2))
    return folder


def loaded(folder, *words, **environment):
    """Return the heavy libraries that a command has imported; assert that the command ends with exit code 0."""
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return HEAVY & set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "words",
    ["--help", "keygen --help", "keygen analyst", "completion bash", "inspect education.campaign", "inspect batch.htr"],
)
def test_help_and_inspect_load_no_heavy_library(prepared_folder, words):
    """Help, keygen, completion and inspect import none of the heavy libraries."""
    assert loaded(prepared_folder, *words.split()) == set()


def test_completing_a_command_loads_no_heavy_library(prepared_folder):
    """Completing the first letters of a command's name imports none of the heavy libraries."""
    words = {"_HALFTRUTH_COMPLETE": "bash_complete", "COMP_WORDS": "halftruth es", "COMP_CWORD": "1"}
    assert loaded(prepared_folder, **words) == set()


def test_completing_an_option_loads_no_heavy_library(prepared_folder):
    """Completing ``estimate --per`` imports none of the heavy libraries."""
    words = {"_HALFTRUTH_COMPLETE": "bash_complete", "COMP_WORDS": "halftruth estimate --per", "COMP_CWORD": "2"}
    assert loaded(prepared_folder, **words) == set()


def test_completing_a_campaign_loads_only_the_table_libraries(prepared_folder):
    """Completing ``estimate edu`` imports the libraries that read tables, and none that estimates, serves or draws."""
    words = {"_HALFTRUTH_COMPLETE": "bash_complete", "COMP_WORDS": "halftruth estimate edu", "COMP_CWORD": "2"}
    assert loaded(prepared_folder, HALFTRUTH_STUDY="lib", **words) <= {"numpy", "pyarrow", "deltalake", "nacl"}


def test_a_status_loads_the_tables_and_no_estimator(prepared_folder):
    """status imports the libraries that read tables, and none that estimates, serves or draws."""
    assert loaded(prepared_folder, "--study", "lib", "status") <= {"numpy", "pyarrow", "deltalake", "nacl"}

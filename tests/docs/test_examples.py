"""The page and programs of docs/examples: commands succeed, the notebook runs, and imported names are exported."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from aggregator.author.draft import read_draft
from protocol import envelope
from protocol.domain import Form

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
NOTEBOOK = EXAMPLES / "from_draft_to_estimate.ipynb"
OURS = {"aggregator", "demo_app", "edge_sdk", "protocol"}
PACKAGES = {"aggregator", "edge_sdk", "edge_sdk.errors", "protocol"}
"""The packages that a user imports from."""


def cells() -> list[str]:
    """Return the code cells of the notebook, in order."""
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def printed_code() -> dict[str, str]:
    """Return all Python code shown to users: programs, notebook cells, and the Python blocks of README and the
    guides."""
    code = {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    code[NOTEBOOK.name] = "\n".join(cells())
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        code[page.name] = "\n".join(map(textwrap.dedent, blocks))
    return code


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> dict[str, str]:
    """Return the output of each command on the examples' page, and the folders ``phone`` and ``unit``; all commands run
    in order in a copy of the folder."""
    folder = tmp_path_factory.mktemp("docs") / "examples"
    shutil.copytree(EXAMPLES, folder)
    (commands,) = re.findall(r"```console\n(.*?)```", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said = {}
    for line in commands.splitlines():
        words = shlex.split(line.removeprefix("$ "))
        ran = subprocess.run(
            words, cwd=folder, env=os.environ | {"PATH": beside}, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, (line, ran.stderr)
        said[words[1]] = ran.stdout
    said["phone"] = str(folder / "phone")
    said["unit"] = str(folder / "unit")
    return said


def test_every_program_is_run(printed):
    """The page's commands run every program of the folder, and each prints something."""
    assert {path.name for path in EXAMPLES.glob("*.py")} <= set(printed)
    assert all(printed.values())


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_a_program_without_arguments_prints_its_usage(path, monkeypatch):
    """Without arguments a program ends with one line, which names its arguments."""
    monkeypatch.setattr(sys, "argv", [str(path)])
    with pytest.raises(SystemExit, match=rf"\Ausage: python {path.name} .*\Z"):
        runpy.run_path(str(path), run_name="__main__")


def test_the_survey_counts_all_simulated_people(printed):
    """All 2,000 simulated people are counted, no report is refused, and the audit proves the declared level."""
    assert "2,000 reports counted, 0 refused" in printed["run_a_survey.py"]
    assert "ldp, in nats: 1" in printed["audit_received.py"]
    assert all(value in printed["estimate_to_table.py"] for value in ("on foot", "bicycle", "bus", "train", "car"))


def test_the_devices_upload_an_enrolment_and_a_report(printed):
    """The person's upload has an enrolment and a report; so has the unit's, with 24 readings in the report."""
    assert "cost of this answer, in nats: 1; left: 3" in printed["ask_one_question.py"]
    assert printed["sensor_unit.py"].startswith("readings: 24, ")
    for store in ("phone", "unit"):
        (upload,) = Path(printed[store]).glob("*.htr")
        kinds = [sealed.kind.name for sealed in envelope.read_batch(upload.read_bytes())]
        assert kinds == ["ENROLMENT", "REPORT"]


@pytest.mark.parametrize(
    "command",
    [
        "ask_one_question.py town/commute.campaign town/author.pub phone bicycle",
        "sensor_unit.py town/load.campaign town/gateways.pub unit 24",
    ],
)
def test_a_second_run_of_a_device_writes_no_upload(printed, command, monkeypatch, capsys):
    """In a period that is already answered, a program for devices succeeds, and writes no further file."""
    words = command.split()
    store = Path(printed[words[3]])
    monkeypatch.chdir(store.parent)
    monkeypatch.setattr(sys, "argv", words)
    runpy.run_path(words[0], run_name="__main__")
    assert capsys.readouterr().out
    assert len(list(store.glob("*.htr"))) == 1


def test_the_form_is_in_two_languages():
    """Every text, label and unit of the form has a German translation of its own."""
    campaign = read_draft(EXAMPLES / "journey.toml")
    own, german = campaign.domain_in("en"), campaign.domain_in("de")
    assert isinstance(own, Form)
    assert isinstance(german, Form)
    pairs = zip(own.questions, german.questions, strict=True)
    assert all(here.text != there.text and here.domain != there.domain for here, there in pairs)
    assert not set(own.named) & set(german.named)


def test_the_notebook_runs_from_top_to_bottom():
    """The cells run in order in a fresh process, count 5,000 people, and draw a figure.

    With n = 5,000 the standard error of a share is about 2.2 points. Each estimate is within 12 points of the truth, so
    the test fails by chance in less than one of 10^6 runs.
    """
    check = (
        "\nassert counted.accepted == 5000 and not counted.refused\nassert estimate._repr_html_().startswith('<pre>') "
        "and figure.axes\nassert abs(estimate.share - truth).max() < 0.12 and len(table) == 5"
    )
    program = "import matplotlib; matplotlib.use('Agg')\n" + "\n".join(cells()) + check
    ran = subprocess.run([sys.executable, "-c", program], cwd=EXAMPLES, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("name", sorted(printed_code()))
def test_every_name_in_shown_code_is_exported(name):
    """Code shown to users imports names of the project only from the packages themselves, and each name is in the
    package's __all__."""
    for node in ast.walk(ast.parse(printed_code()[name])):
        if isinstance(node, ast.Import):
            assert not OURS & {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in OURS:
            assert node.module in PACKAGES
            package = importlib.import_module(node.module)
            for alias in node.names:
                assert alias.name in getattr(package, "__all__", dir(package)), alias.name


def test_the_page_names_every_file():
    """Every program and notebook of the folder is linked from its page."""
    links = set(re.findall(r"\]\(([^)#:]+)\)", (EXAMPLES / "README.md").read_text(encoding="utf-8")))
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")} <= links

"""The distribution: the wheel and the source archive, built here and used from an empty environment."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.test_architecture import PACKAGES, ROOT

BUILD = "import hatchling.build as b, sys; b.build_wheel(sys.argv[1]); b.build_sdist(sys.argv[1])"
OF_A_DEVICE = ("cryptography", "msgpack", "cffi", "_cffi_backend")
"""The modules that `pip install halftruth` brings beside itself: its two dependencies, and what cryptography needs."""

DEVICE = """
import sys
from pathlib import Path
from edge_sdk import BudgetPolicy, Device
from protocol import SigningKey
with Device.open(Path(sys.argv[1]), trust=[SigningKey(bytes(32)).public], budget=BudgetPolicy(lifetime=1.0)) as device:
    assert device.budget.remaining == 1.0
import edge_sdk
print(Path(edge_sdk.__file__).parent.parent)
"""


def build(to: Path) -> tuple[Path, Path]:
    """Build the wheel and the source archive of this tree into ``to``."""
    to.mkdir()
    subprocess.run([sys.executable, "-c", BUILD, to], cwd=ROOT, check=True, capture_output=True)
    (wheel,), (source,) = to.glob("*.whl"), to.glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("first") / "dist")


def test_builds_are_reproducible(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Two builds of one tree have the same bytes, also in another folder."""
    again = build(tmp_path / "elsewhere")
    assert [one.name for one in again] == [one.name for one in built]
    assert [one.read_bytes() for one in again] == [one.read_bytes() for one in built]


def test_the_wheel_contains_exactly_the_files_of_the_packages(built: tuple[Path, Path]) -> None:
    """Style sheets, data and SPEC.md are in the wheel with the modules; tests, benchmarks and docs are not."""
    with zipfile.ZipFile(built[0]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
        facts = Parser().parsestr(wheel.read(metadata).decode())
        assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
    listed = subprocess.run(
        ["git", "ls-files", *PACKAGES],  # noqa: S607  # any installed git
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode == 0 and listed.stdout:
        assert names == set(listed.stdout.splitlines())
    assert facts["License-Expression"] == "Apache-2.0"
    needs = [line for line in facts.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert sorted(line.split(">")[0] for line in needs) == ["cryptography", "msgpack"]


def test_the_source_archive_contains_the_sources_of_the_wheel(built: tuple[Path, Path]) -> None:
    """The source archive has the project file, README, licence, and every file of the packages in the wheel."""
    with zipfile.ZipFile(built[0]) as wheel:
        packaged = {name for name in wheel.namelist() if ".dist-info/" not in name}
    with tarfile.open(built[1]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert packaged | {"pyproject.toml", "README.md", "LICENSE"} <= names


def test_a_device_runs_on_the_wheel_and_its_two_dependencies(built: tuple[Path, Path], tmp_path: Path) -> None:
    """In an environment with only the wheel and its dependencies, a device opens, and the command `halftruth` names the
    missing packages in one line."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    (site,) = (tmp_path / "venv").rglob("site-packages")
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(site)  # noqa: S202  # this test built the wheel
    for name in OF_A_DEVICE:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        found = Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
        (site / found.name).symlink_to(found)

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-I", *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    device = run("-c", DEVICE, tmp_path / "store")
    assert (device.stdout.strip(), device.stderr) == (str(site), "")
    assert run("-m", "edge_sdk", "--help").returncode == 0
    analyst = run("-c", "from aggregator.cli import main; main()")
    assert (analyst.returncode, analyst.stderr) == (
        1,
        "halftruth: the part for analysts (aggregator) is not installed: pip install 'halftruth[aggregator]' "
        "(in a clone of the repository: pip install '.[aggregator]')\n",
    )


def test_the_list_of_dependency_modules_is_complete() -> None:
    """The listed modules are all modules that the dependencies of a device install, so the test before is complete."""
    owners = packages_distributions()
    assert {owner for name in OF_A_DEVICE for owner in owners[name]} == {"cryptography", "msgpack", "cffi"}

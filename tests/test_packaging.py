"""The installation with pip: each part declares its dependencies."""

from __future__ import annotations

import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions

import pytest

from tests.test_architecture import PACKAGES, ROOT, sources, tops

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {
    "protocol": (),
    "edge_sdk": ("keyring",),
    "aggregator": ("aggregator", "dask", "s3"),
    "demo_app": ("demo",),
}
"""Extras that may be installed where a package is used, beside the dependencies of all."""
OF_THE_PHONE = {"android", "certifi", "jnius"}
"""The packages on the phone: demo_app/buildozer.spec."""


@cache
def distributions() -> dict[str, list[str]]:
    """Return the distributions that install each importable name."""
    return dict(packages_distributions())


def declared(package: str) -> set[str]:
    """Return the distributions that pyproject.toml names for a package."""
    lines = [*PROJECT["dependencies"], *(line for extra in EXTRAS[package] for line in extra_of(extra))]
    return {re.split(r"[\[<>=~! ]", line)[0].lower() for line in lines}


def extra_of(name: str) -> list[str]:
    return PROJECT["optional-dependencies"][name]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_imported_distribution_is_declared(package: str) -> None:
    """Every foreign module that a package imports belongs to a distribution that the package declares, not to an
    indirect dependency."""
    own = {*PACKAGES, *sys.stdlib_module_names, *OF_THE_PHONE}
    for path in sources(package):
        for name in tops(path) - own:
            brought = {one.lower() for one in distributions().get(name, [])}
            # The extra dask[distributed] installs distributed.
            assert brought & (declared(package) | {"distributed"}), (
                f"{path.relative_to(ROOT)} imports {name}, but pyproject.toml does not declare its distribution"
            )

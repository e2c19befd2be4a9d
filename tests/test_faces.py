"""The faces of the packages: what a user imports from `aggregator`, `edge_sdk` and `protocol` by its name alone."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
each_face = pytest.mark.parametrize("name", ["aggregator", "edge_sdk", "protocol"])


def typed(face):
    """The names that type checkers see in a face, each with the module that it is imported from."""
    tree = ast.parse((ROOT / face / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {alias.asname or alias.name: node.module for node in block.body for alias in node.names}


@each_face
def test_a_face_has_all_its_names_and_no_others(name):
    """Every name of __all__ can be imported, is the object that type checkers see, and is listed by dir()."""
    face = importlib.import_module(name)
    known = typed(name)
    assert face.__all__ == sorted(set(face.__all__))
    assert set(face.__all__) == set(known)
    for word, module in known.items():
        assert getattr(face, word) is getattr(importlib.import_module(module), word)
    assert set(face.__all__) <= set(dir(face))
    with pytest.raises(AttributeError, match="no 'Nothing'"):
        _ = face.Nothing


@each_face
def test_no_module_has_the_name_of_an_export(name):
    """A name of a face is never also a file or folder beside it: which of the two is meant would depend on the order
    of imports."""
    face = importlib.import_module(name)
    beside = {path.stem for path in (ROOT / name).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert not beside & set(face.__all__)


@each_face
def test_importing_a_package_loads_none_of_its_modules(name):
    """A face loads a module when a name of it is first used, so a program pays for what it uses."""
    program = f"import {name}, sys; print([module for module in sys.modules if module.startswith('{name}.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

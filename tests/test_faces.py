"""The faces of the packages: the names that a user imports from `aggregator`, `edge_sdk` and `protocol`."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
each_face = pytest.mark.parametrize("name", ["aggregator", "edge_sdk", "protocol"])


def typed(face):
    """Return the names that type checkers see in a face, each with the module from which it is imported."""
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


def documented(face):
    """Yield (name, function, whether a property) for each function of a face and each public method and property of its
    classes, including those inherited within the package."""
    for word in face.__all__:
        found = getattr(face, word)
        members = {word: found}
        if inspect.isclass(found):
            ours = [one for one in reversed(found.__mro__) if one.__module__.startswith(face.__name__)]
            members = {f"{word}.{key}": member for one in ours for key, member in vars(one).items()}
        for name, member in members.items():
            function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
            if inspect.isfunction(function) and not name.rpartition(".")[2].startswith("_"):
                yield name, function, isinstance(member, property)


@each_face
def test_every_public_function_is_documented(name):
    """Every function and method documents its arguments and its result; a property has a description."""
    for word, function, is_property in documented(importlib.import_module(name)):
        said, signature = inspect.getdoc(function) or "", inspect.signature(function)
        assert said, word
        takes = set(signature.parameters) - {"self", "cls"}
        assert not takes or "Args:\n" in said or "The arguments are those of" in said, (
            f"the docstring of {word} has no Args section"
        )
        returns = not is_property and signature.return_annotation not in (None, "None")
        assert not returns or "Returns:\n" in said, f"the docstring of {word} has no Returns section"


@each_face
def test_each_attribute_and_argument_has_a_line(name):
    """The API reference lists an attribute or argument by its own line, so no two share one."""
    face = importlib.import_module(name)
    described = {word: getattr(face, word) for word in face.__all__} | {word: it for word, it, _ in documented(face)}
    for word, it in described.items():
        shared = re.search(r"^ {4}[a-z]\w*(, \w+)+: ", inspect.getdoc(it) or "", re.MULTILINE)
        assert shared is None, f"{word}: {shared and shared[0].strip()}"


@each_face
def test_no_module_has_the_name_of_an_export(name):
    """A name of a face is never also a file or folder of the package, because its meaning would then depend on the
    order of imports."""
    face = importlib.import_module(name)
    beside = {path.stem for path in (ROOT / name).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert not beside & set(face.__all__)


@each_face
def test_importing_a_package_loads_none_of_its_modules(name):
    """A face loads a module when a name of it is first used, so a program loads only the modules that it uses."""
    program = f"import {name}, sys; print([module for module in sys.modules if module.startswith('{name}.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

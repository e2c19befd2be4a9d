"""The public APIs of the packages: the names that a user imports from `aggregator`, `edge_sdk` and `protocol`."""

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
each_package = pytest.mark.parametrize("name", ["aggregator", "edge_sdk", "protocol"])


def typed(package):
    """Return the names that type checkers see in a package, each with the module from which it is imported."""
    tree = ast.parse((ROOT / package / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {alias.asname or alias.name: node.module for node in block.body for alias in node.names}


@each_package
def test_all_lists_exactly_the_names_that_can_be_imported(name):
    """Every name of __all__ can be imported, is the object that type checkers see, and is listed by dir()."""
    package = importlib.import_module(name)
    known = typed(name)
    assert package.__all__ == sorted(set(package.__all__))
    assert set(package.__all__) == set(known)
    for word, module in known.items():
        assert getattr(package, word) is getattr(importlib.import_module(module), word)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no 'Nothing'"):
        _ = package.Nothing


def documented(package):
    """Yield (name, function, whether a property) for each exported function and each public method and property of the
    exported classes, including those inherited within the package."""
    for word in package.__all__:
        found = getattr(package, word)
        members = {word: found}
        if inspect.isclass(found):
            ours = [one for one in reversed(found.__mro__) if one.__module__.startswith(package.__name__)]
            members = {f"{word}.{key}": member for one in ours for key, member in vars(one).items()}
        for name, member in members.items():
            function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
            if inspect.isfunction(function) and not name.rpartition(".")[2].startswith("_"):
                yield name, function, isinstance(member, property)


@each_package
def test_every_public_function_is_documented(name):
    """Every function and method documents each argument and its result; a property has a description."""
    for word, function, is_property in documented(importlib.import_module(name)):
        said, signature = inspect.getdoc(function) or "", inspect.signature(function)
        assert said, word
        takes = [] if "The arguments are those of" in said else sorted({*signature.parameters} - {"self", "cls"})
        missing = [one for one in takes if not re.search(rf"^    {one}: ", said.partition("Args:\n")[2], re.MULTILINE)]
        assert not missing, f"the docstring of {word} does not describe {', '.join(missing)}"
        returns = not is_property and signature.return_annotation not in (None, "None")
        assert not returns or "Returns:\n" in said, f"the docstring of {word} has no Returns section"


@each_package
def test_each_attribute_and_argument_has_a_line(name):
    """The API reference lists an attribute or argument by its own line, so no two share one."""
    package = importlib.import_module(name)
    described = {word: getattr(package, word) for word in package.__all__} | {
        word: it for word, it, _ in documented(package)
    }
    for word, it in described.items():
        shared = re.search(r"^ {4}[a-z]\w*(, \w+)+: ", inspect.getdoc(it) or "", re.MULTILINE)
        assert shared is None, f"{word}: {shared and shared[0].strip()}"


@each_package
def test_no_module_has_the_name_of_an_export(name):
    """No exported name is also the name of a file or folder of the package, because the meaning of the name would then
    depend on the order of imports."""
    package = importlib.import_module(name)
    beside = {path.stem for path in (ROOT / name).iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert not beside & set(package.__all__)


@each_package
def test_importing_a_package_loads_none_of_its_modules(name):
    """A package imports a module when one of the names exported from the module is first used, so a program loads only
    the modules that it uses."""
    program = f"import {name}, sys; print([module for module in sys.modules if module.startswith('{name}.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

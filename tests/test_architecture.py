"""The rules of the structure: the directions of imports, the purity of the protocol, and forbidden names."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("protocol", "edge_sdk", "aggregator", "demo_app")
MAY_IMPORT = {
    "protocol": {"protocol"},
    "edge_sdk": {"edge_sdk", "protocol"},
    "aggregator": {"aggregator", "protocol"},
    "demo_app": {"demo_app", "edge_sdk"},
}
BESIDE = {"aggregator/page/document.py": {"edge_sdk"}}
"""Further packages that a file may import: the page of a study shows the device's own texts."""
DEVICE_NEEDS = {"cryptography", "msgpack"}
"""All that a device installs; `[project] dependencies` in pyproject.toml."""
EXTRAS = {"edge_sdk/rollback/keyring_store.py": {"keyring"}, "edge_sdk/rollback/android_store.py": {"jnius"}}
"""Optional packages that a file may import, if installed, when it is used."""


def sources(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imports(parsed: ast.AST) -> Iterator[str]:
    """Yield the full names of the modules and objects that a file imports, at any depth, also under TYPE_CHECKING."""
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "an import is relative; write the full name of the module"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def tops(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(tree(path))}


def modules() -> dict[str, Path]:
    """Return every module of the four packages by its full name."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in sources(package)
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_run_in_the_stated_direction_only(package: str) -> None:
    """Imports run demo_app -> edge_sdk -> protocol <- aggregator and in no other direction; nothing imports the
    tests."""
    own = set(PACKAGES) | {"tests", "benchmarks"}
    for path in sources(package):
        beside = BESIDE.get(path.relative_to(ROOT).as_posix(), set())
        assert tops(path) & own <= MAY_IMPORT[package] | beside, path


def test_no_module_imports_itself_through_others() -> None:
    """No module imports itself through other modules, at any depth and also under TYPE_CHECKING.

    ``from package import name`` counts as an import of the module of that name; without such a module, of the package.
    """
    known = modules()
    arrows: dict[str, set[str]] = {}
    for module, path in known.items():
        named = set(imports(tree(path)))
        found = {name if name in known else name.rpartition(".")[0] for name in named}
        arrows[module] = {name for name in found & known.keys() if name != module}
    try:
        graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("package", ["protocol", "edge_sdk"])
def test_a_device_imports_only_its_dependencies(package: str) -> None:
    """protocol and edge_sdk import only the standard library, cryptography, msgpack, and optional packages in the
    listed files."""
    for path in sources(package):
        foreign = tops(path) - set(sys.stdlib_module_names) - set(PACKAGES)
        assert foreign <= DEVICE_NEEDS | EXTRAS.get(path.relative_to(ROOT).as_posix(), set()), path


EFFECTS = {
    "asyncio", "datetime", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil", "signal",
    "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "http", "uuid",
}  # fmt: skip
"""Modules of the standard library that access files, the network, the clock, processes or random numbers."""


def test_the_protocol_has_no_effects() -> None:
    """protocol uses no file, clock, network or random source; all of them are arguments."""
    forbidden = {"open", "input", "print", "exec", "eval", "compile", "__import__"}
    for path in sources("protocol"):
        calls = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
        called = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
        assert not tops(path) & EFFECTS, path
        assert not called & forbidden, path


@pytest.mark.parametrize("package", ["protocol", "edge_sdk"])
def test_importing_a_device_imports_no_numpy(package: str) -> None:
    """Importing all modules of protocol and of edge_sdk imports no package that only aggregator, demo_app or the tests
    need. So both can be imported on a phone without numpy."""
    named = [name for name, path in modules().items() if path.is_relative_to(ROOT / package)]
    heavy = ("numpy", "scipy", "click", "rich", "deltalake", "pyarrow", "nacl", "matplotlib", "kivy", "aggregator")
    heavy += ("demo_app", "hypothesis", "keyring", "jnius")
    program = (
        f"import sys, {', '.join(named)}\n"
        f"print(*sorted({{name.split('.')[0] for name in sys.modules}} & set({heavy!r})))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


VAGUE = {"utils", "util", "helpers", "helper", "manager", "universe"}


def test_no_name_is_vague() -> None:
    """No module, class or function is called a helper, manager, util or universe, and no module base, common or misc,
    because such a name does not state a subject."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for module, path in modules().items():
        assert not set(re.findall(r"[a-z]+", module)) & (VAGUE | {"base", "common", "misc"}), module
        names = [node.name for node in ast.walk(tree(path)) if isinstance(node, kinds)]
        words = {word.lower() for name in names for word in re.findall(r"[A-Z]?[a-z]+", name)}
        assert not words & VAGUE, path


SAYING_NOTHING = frozenset(
    (  # pronouns, adverbs and participles
        "again", "asked", "at", "done", "each", "found", "given", "got", "held", "here", "kept", "least", "made",
        "most", "needed", "of", "one", "own", "said", "seen", "taken", "them", "there", "things", "told", "wanted",
        "what", "where", "which", "who", "whole",
    )
)  # fmt: skip
METHODS = {"at", "of"}
"""These methods read as English in a call: ``estimate.at("district")``, ``Campaign.of(...)``."""


def bound_names(node: ast.AST) -> Iterator[str]:
    """Yield the name that a node gives to a function, a parameter, a field or a variable."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ExceptHandler | ast.MatchAs):
        yield node.name or ""
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id


def test_every_name_says_what_it_holds() -> None:
    """No function, parameter, field or variable of the product is called found, one, each or by another word that says
    nothing about it."""
    for package in (*PACKAGES, "benchmarks"):
        for path in sources(package):
            for scope in ast.walk(tree(path)):
                forbidden = SAYING_NOTHING - METHODS if isinstance(scope, ast.ClassDef) else SAYING_NOTHING
                for node in ast.iter_child_nodes(scope):
                    empty = forbidden.intersection(bound_names(node))
                    assert not empty, f"{path.relative_to(ROOT)}:{node.lineno}: {empty} says nothing about the object"


def test_every_module_has_a_docstring_with_a_first_sentence() -> None:
    """A module begins with a docstring whose first line ends with a full stop, a question mark, an exclamation mark or
    a colon."""
    for path in modules().values():
        purpose = ast.get_docstring(tree(path))
        assert purpose, path
        assert purpose.splitlines()[0].endswith((".", "?", "!", ":")), path


QUESTION = re.compile(r'("""|/\*\*\s*(\*\s*)?)(What|How|Where|Which|Whether|Whatever|Who|Whose|That|Told|Said)\b')
THIRD_PERSON = re.compile(
    r"(Adds|Allows|Builds|Chooses|Collects|Combines|Computes|Contains|Converts|Creates|Decides|Decodes|Defines|Deletes|"
    r"Describes|Divides|Encodes|Finds|Gives|Handles|Holds|Keeps|Loads|Makes|Opens|Parses|Prints|Provides|Reads|Rebuilds|"
    r"Registers|Removes|Returns|Sends|Separates|Shortens|Shows|Simulates|Sorts|Splits|Tells|Unpacks|Uses|Validates|"
    r"Verifies|Writes)\b"
)


def test_no_docstring_begins_with_a_question_word_or_a_third_person_verb() -> None:
    """No docstring, and no comment for JSDoc in the modules of the browser, begins with a question word, or with That,
    Told or Said; no docstring of a module or class begins with one of the verbs of ``THIRD_PERSON``, such as Reads.
    """
    scripts = (ROOT / "edge_sdk" / "web").rglob("*.js")
    folders = (*PACKAGES, "benchmarks", "tests")
    for path in (*scripts, *(path for folder in folders for path in sources(folder))):
        found = QUESTION.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path.relative_to(ROOT)}: {found and found[0]}"
    for path in (path for folder in folders for path in sources(folder)):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Module | ast.ClassDef):
                found = THIRD_PERSON.match(ast.get_docstring(node) or "")
                assert found is None, f"{path.relative_to(ROOT)}: {found and found[0]}"


def named_types(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the definition of each class, type alias and type variable of a file. The definition of a
    class is its line in the file."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef):
            yield node.name, f"{path.relative_to(ROOT)}:{node.lineno}"
    for node in tree(path).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and re.fullmatch("_?[A-Z][a-z]+[A-Za-z]*", target.id):
            yield target.id, ast.unparse(getattr(node, "value", node))


def test_every_type_name_is_unique() -> None:
    """No two classes of the product share a name, also without a leading underscore, so a search for a class finds one.
    No type alias or type variable has the name of a class, or of an alias with another definition."""
    definitions: dict[str, set[str]] = {}
    for package in (*PACKAGES, "benchmarks"):
        for path in sources(package):
            for name, definition in named_types(path):
                definitions.setdefault(name.lstrip("_"), set()).add(definition)
    assert {name: found for name, found in definitions.items() if len(found) > 1} == {}

"""Links in the documents lead to existing files and headings, paths and names in code type exist, and the menu is
complete."""

from __future__ import annotations

import ast
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

from protocol.channels import Channel
from protocol.domain import Domain
from protocol.notions import Notion
from protocol.views.maps import Map
from tests.test_architecture import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "protocol").glob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
PATH = re.compile(r"`((?:protocol|edge_sdk|aggregator|demo_app|tests|benchmarks|docs)/[\w./-]*)`")
MODULE = re.compile(r"`((?:protocol|edge_sdk|aggregator|demo_app)(?:\.\w+)+)`")
TEST = re.compile(r"`(?!`)([\w/]+\.py)?(?:::(test_\w+))?`")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, each with a #."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {"#" + re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    """Every link to a file or a heading leads to one that exists, and so does every path in code type."""
    text = page.read_text(encoding="utf-8")
    for target, anchor in LINK.findall(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        found = (page.parent / target) if target else page
        assert found.exists(), f"{page.name} links to {target}, which does not exist"
        assert not anchor or anchor in anchors(found), (
            f"{page.name} links to {target}{anchor}, and this heading does not exist"
        )
    for path in PATH.findall(text):
        if re.search(r"/(?:FAMILY|NAME)\b", path):
            # The path has a placeholder that the reader replaces.
            continue
        assert (ROOT / path).exists(), f"{page.name} names {path}, which does not exist"
    for name in MODULE.findall(text):
        pkgutil.resolve_name(name)


@cache
def functions(file: Path) -> set[str]:
    """Return the functions of a test file; cached, because many rows name the same file."""
    return {node.name for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("page", "folder"), [("MECHANISMS.md", "tests"), ("WEB.md", "tests/web")])
def test_the_tests_that_a_page_names_exist(page: str, folder: str) -> None:
    """Every test that a page names is a function of the file that it names with it, or of the last file before it."""
    file = Path()
    for path, name in TEST.findall((ROOT / "docs" / page).read_text(encoding="utf-8")):
        file = ROOT / folder / path if path else file
        assert {name} - {""} <= functions(file), f"{page} names the test {name}, which {file.name} does not have"


def test_the_menu_of_the_site_has_every_page() -> None:
    """mkdocs.yml names each page of docs/ once, except single decisions, which the list of decisions names."""
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"^(?: {2}| {6})- (?:[^:\n]+: )?(\S+\.md)$", menu, re.MULTILINE)
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    elsewhere = re.compile(r"index\.md|(?:protocol|reference)/.*")
    assert sorted(page for page in named if not elsewhere.fullmatch(page)) == sorted(
        page for page in pages if not re.match(r"decisions/\d", page)
    )


def test_contributing_names_all_members_that_a_subclass_must_define() -> None:
    """For each base class on the page for contributors, the listed members are its abstract ones and ``from_wire``."""
    text = (ROOT / "docs" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = re.findall(r"a subclass of `(\w+)`.*? with ((?:`\w+`(?:,| and)?\s+)+`\w+`)", text, re.DOTALL)
    bases = {base.__name__: base for base in (Channel, Notion, Domain, Map)}
    assert {name: set(re.findall(r"\w+", listed)) - {"and"} for name, listed in steps} == {
        name: base.__abstractmethods__ | {"from_wire"} for name, base in bases.items()
    }

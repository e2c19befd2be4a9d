"""Links in the documents lead to existing files and headings, paths in code type exist, and the menu is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_architecture import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "protocol").glob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]*)?\)")
PATH = re.compile(r"`((?:protocol|edge_sdk|aggregator|demo_app|tests|benchmarks|docs)/[\w./-]*)`")


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
        assert found.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(found), f"{page.name} links to {target}{anchor}"
    for path in PATH.findall(text):
        if re.search(r"/(?:FAMILY|NAME)\b", path):
            # The path has a placeholder that the reader replaces.
            continue
        assert (ROOT / path).exists(), f"{page.name} names {path}"


def test_the_menu_of_the_site_has_every_page() -> None:
    """mkdocs.yml names each page of docs/ once, except single decisions, which the list of decisions names."""
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"^(?: {2}| {6})- (?:[^:\n]+: )?(\S+\.md)$", menu, re.MULTILINE)
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    elsewhere = re.compile(r"index\.md|(?:protocol|reference)/.*")
    assert sorted(page for page in named if not elsewhere.fullmatch(page)) == sorted(
        page for page in pages if not re.match(r"decisions/\d", page)
    )

"""docs/site.py, the part of the documentation site that is not configuration: code and the API reference."""

from __future__ import annotations

import runpy

import griffe

from tests.test_architecture import ROOT

SITE = runpy.run_path(str(ROOT / "docs" / "site.py"))


def test_only_short_words_of_code_in_a_sentence_stay_on_one_line():
    """A short word of code in a sentence gets a span; long words, and blocks of code with their line breaks, do not
    change."""
    shown = SITE["on_page_content"]
    assert shown("<p><code>keygen --name</code></p>") == (
        '<p><code><span class="word">keygen</span> <span class="word">--name</span></code></p>'
    )
    for unchanged in (f"<code>{'long' * 5}</code>", "<pre><span></span><code>one line\nand another\n</code></pre>"):
        assert shown(unchanged) == unchanged


def test_the_reference_has_every_exported_name():
    """The page of a package has one entry for each exported name, with its heading and so with its signature."""
    for package in SITE["PACKAGES"]:
        page = SITE["reference"](package)
        names = __import__(package).__all__
        assert all(f".{name}\n" in page for name in names)


def test_the_reference_shows_every_section_of_a_docstring():
    """Arguments, results and errors are separate sections, although no empty line separates them in the docstring."""
    extensions = griffe.load_extensions(SITE["SeparateSections"])
    device = griffe.load("edge_sdk.device", search_paths=[ROOT], extensions=extensions)
    sections = device["Device.bundle"].docstring.parse("google")
    assert [section.kind.value for section in sections] == ["text", "parameters", "returns", "raises"]

"""Add the pages that are not in this folder to the documentation site: README, SPEC, MATH and the API reference.

MkDocs calls the functions ``on_...`` while it builds, and griffe the class; mkdocs.yml names this file for both.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "edge_sdk": [
        "transport.outbox.Outbox", "transport.upload.UploadResults", "budget.policy.Budget",
        "budget.ledger.LedgerEntry", "answers.results.Collected", "disclosure.declaration.Declaration",
        "disclosure.exposure.Exposure", "disclosure.envelopes.WaitingEnvelope", "disclosure.envelopes.OutputMeaning",
    ],
    "aggregator": [
        "status.CampaignStatus", "study.EnrolResult", "estimate.ordered_result.OrderedStatistics",
        "planner.plan.PlanRow", "simulation.SimulatedUpload",
    ],
    "protocol": ["notions.promise.Promise"],
}  # fmt: skip
"""The packages with a page, and the classes that its functions return but users do not import."""
OUTSIDE = {"index.md": "README.md", "protocol/SPEC.md": "protocol/SPEC.md", "protocol/MATH.md": "protocol/MATH.md"}
"""Pages of the repository outside this folder, by their path on the site."""
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)")
_CODE = re.compile(r"<code>([^<\n]+)</code>")
_SHORT_WORD = re.compile(r"(?<![^ ])[^ ]{1,18}(?![^ ])")
_ON_ONE_LINE = r'<span class="word">\g<0></span>'
_PICTURE = re.compile(r"(!\[[^\]]*\]\()docs/")
_SECTION = re.compile(r"^(?=(?:Args|Attributes|Returns|Raises|Yields):$)", re.MULTILINE)


class SeparateSections(griffe.Extension):
    """Put an empty line before each section of a docstring: griffe reads a section without it as running text."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = _SECTION.sub("\n", obj.docstring.value)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in this folder."""
    for place, source in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    for package in PACKAGES:
        files.append(File.generated(config, f"reference/{package}.md", content=reference(package)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links between files of the repository into links of the site, and links to other files into their text."""
    place = page.file.src_uri
    return _LINK.sub(lambda link: _link(*link.groups(default=""), place), _PICTURE.sub(r"\1", markdown))


def on_page_content(page_html: str, **_: Any) -> str:
    """Prevent line breaks within short inline code: a phone would break `--name` after a hyphen.

    Blocks of code contain line breaks, and stay unchanged.
    """
    return _CODE.sub(lambda code: f"<code>{_SHORT_WORD.sub(_ON_ONE_LINE, code[1])}</code>", page_html)


def reference(package: str) -> str:
    """Return a page with every name that a package exports, described by its docstring."""
    module = importlib.import_module(package)
    about, _, rest = (module.__doc__ or "").partition("\n\n")
    exported = [f"\n::: {module._HOME[name]}.{name}\n" for name in module.__all__]
    results = [f"\n::: {package}.{name}\n    options: {{inherited_members: false}}\n" for name in PACKAGES[package]]
    return "\n".join([f"# {package}", "", about, "", rest, *exported, *results])


def _link(text: str, target: str, anchor: str, place: str) -> str:
    """Return a link of the page at ``place``, or its text if the target is not on the site."""
    folder = (ROOT / OUTSIDE.get(place, f"docs/{place}")).parent
    wanted = (folder / target).resolve().relative_to(ROOT).as_posix()
    inside = next((page for page, source in OUTSIDE.items() if source == wanted), wanted.removeprefix("docs/"))
    if inside == wanted and wanted not in OUTSIDE:
        return text
    return f"[{text}]({'../' * place.count('/')}{inside}{anchor})"

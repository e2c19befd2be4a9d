"""Conversion of documents to Markdown: a paper's experiments, each with its verdict, figure and table.

The part of a page about a paper is computed from the paper's document. In a longer text it is between two comments that
name the paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from aggregator.reproduce import PAPERS
from aggregator.reproduce.document import Document, ExperimentRun


def paper_section(document: Document, figures: str) -> str:
    """Return the part of a page about one paper.

    Args:
        figures: the folder of the paper's figures, for links.
    """
    command = f"halftruth reproduce {document.paper}{' --quick' if document.quick else ''} --seed {document.seed}"
    lines = [
        f"From {PAPERS[document.paper]}. "
        + f"{'A quick run' if document.quick else 'A full run'}: `{command}`, "
        + "with `--data DIR` for the experiments that name data.",
        "",
        *(f"- **{run.title}.** {run.result.verdict}" for run in document.runs),
    ]
    for run in document.runs:
        lines += ["", f"### {document.paper} {run.name}: {run.title}", "", *_experiment_section(document, run, figures)]
    lines += [f"\nNot run: `{name}`. {reason[0].upper()}{reason[1:]}." for name, reason in document.missing.items()]
    return "\n".join(lines)


def _experiment_section(document: Document, run: ExperimentRun, figures: str) -> Iterable[str]:
    if run.figure:
        yield f"![{run.title}]({figures}/{document.paper}-{run.name}.png)"
        yield ""
    first, *others = run.row.split(", ")
    row = f"Rows {' and '.join((first, *others))}" if others else f"Row {first}"
    facts = [row, f"`halftruth reproduce {document.paper} --only {run.name}`"]
    if run.result.data:
        facts.append(f"data: {run.result.data}")
    if run.repeats > 1:
        facts.append(f"random parts repeated {run.repeats:,} times")
    yield "; ".join(facts) + "."
    yield ""
    if run.result.remark:
        yield run.result.remark
        yield ""
    yield "| the paper says | we get | why they differ |"
    yield "|---|---|---|"
    for finding in run.result.findings:
        yield f"| {_cell(finding.paper)} | {_cell(finding.ours)} | {_cell(finding.why)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def replace_section(page: str, document: Document, figures: str) -> str:
    """Return ``page`` with a new part for the document's paper.

    Raises:
        ValueError: the page has no comments for this paper.
    """
    place = re.compile(rf"(<!-- computed: {re.escape(document.paper)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not place.search(page):
        raise ValueError(
            f"the page has no place for {document.paper}: expected <!-- computed: {document.paper} --> and <!-- end -->"
        )
    return place.sub(lambda match: match[1] + paper_section(document, figures) + "\n" + match[2], page)

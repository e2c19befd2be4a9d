"""The command reproduce: repeat the experiments of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.table import Table
from rich.text import Text

from aggregator.cli import arguments, printing
from aggregator.cli.failure import NOT_YET, Failure
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import WholeNumber
from aggregator.reproduce import PAPERS, experiments

if TYPE_CHECKING:
    from aggregator.reproduce.document import Document
    from aggregator.reproduce.experiment import Experiment


@halftruth.command()
@click.argument("paper", type=click.Choice(list(PAPERS)), metavar="PAPER")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the public data sets: the original files, or compact forms of them.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    default="reproduce-output",
    show_default=True,
    help="The folder for figures, tables and numbers. Files of an earlier run are replaced.",
)
@click.option("--only", multiple=True, metavar="NAME", help="Run only this experiment; may be repeated.")
@click.option("--seed", type=WholeNumber(min=0), default=1, show_default=True, help="Seed of all random numbers.")
@click.option("--quick", is_flag=True, help="Use fewer points and repeats; takes up to three minutes.")
@arguments.as_json
def reproduce(
    paper: str, data: Path | None, out: Path, only: tuple[str, ...], seed: int, quick: bool, as_json: bool
) -> None:
    """Repeat the experiments of a PAPER and compare its results with ours.

    \b
    PAPER is one of:
      lip      local information privacy (Jiang, Li, Tandon 2018, 2020)
      idldp    input-discriminative protection (Gu, Li, Xiong, Cao 2020)
      context  context-aware local differential privacy (Acharya et al. 2020)
      sok      privacy definitions in the local setting (Wang, Qin, Qiu 2023)

    Each experiment gives a table: the paper's result, our result, and the reason for the difference. Most also give a
    figure with the paper's axes, to which the best valid mechanism is added. The command writes PAPER.md, PAPER.json
    and a PNG for each figure to --out.

    Some experiments need public data sets that are not part of halftruth. Without --data they are skipped; the command
    then names the source of each data set and ends with exit code 75. Results from a part of a data set are marked.
    """
    from aggregator.reproduce.data import DataFolder
    from aggregator.reproduce.document import run_experiments
    from aggregator.reproduce.draw import draw  # matplotlib takes a second to load
    from aggregator.reproduce.experiment import STEPS
    from aggregator.reproduce.page import paper_section

    try:
        count = len(experiments(paper, only))
    except ValueError as error:
        raise click.UsageError(str(error)) from None

    def begun(_: Experiment) -> None:
        """Create the output folder before an experiment runs, so that an error stops the command before minutes of
        work."""
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(
                error.errno, f"the folder cannot be created: {error.strerror}. Name another folder with --out", str(out)
            ) from None

    with printing.progress(paper, STEPS * count) as advance:
        document = run_experiments(paper, DataFolder(data), seed, quick=quick, only=only, begun=begun, advance=advance)
    if document.runs:
        (out / f"{paper}.json").write_text(document.as_text(), encoding="utf-8")
        (out / f"{paper}.md").write_text(paper_section(document, ".") + "\n", encoding="utf-8")
        for run in document.runs:
            if run.figure:
                draw(run, out / f"{paper}-{run.name}.png")
    if as_json:
        printing.print_json(document.as_json())
    elif document.runs:
        printing.console().print(_table(document))
        printing.say(f"Figures and tables: {out / f'{paper}.md'}")
    if document.missing:
        reasons = "\n".join(f"{name}: {reason}" for name, reason in document.missing.items())
        raise Failure(f"not run, because data are missing:\n{reasons}", NOT_YET)


def _table(document: Document) -> Table:
    """Return the findings of all experiments as a table, a row for each claim, below the remark on several rows."""
    table = Table(title=PAPERS[document.paper], box=box.SIMPLE_HEAD, title_justify="left", show_lines=True)
    table.add_column("experiment", no_wrap=True)
    for name in ("the paper says", "we get", "why they differ"):
        table.add_column(name, ratio=1)
    for run in document.runs:
        rows = [(finding.paper, finding.ours, finding.why) for finding in run.result.findings]
        if run.result.remark:
            rows.insert(0, ("", "", run.result.remark))
        for place, row in enumerate(rows):
            table.add_row(*map(Text, (run.name if not place else "", *row)))
    return table

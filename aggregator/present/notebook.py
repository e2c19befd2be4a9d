"""The estimates of values and of forms for a notebook, with an Arrow table, a figure and HTML."""

from __future__ import annotations

import html
import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from aggregator.estimate.form_result import FormEstimate
from aggregator.estimate.ordered import summary_statistics
from aggregator.estimate.ordered_campaign import has_summary
from aggregator.estimate.ordered_result import OrderedStatistics
from aggregator.estimate.result import Estimate
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import Floats
from aggregator.present.document import estimates_arrow
from aggregator.present.forms import form_lines, form_table
from aggregator.present.ordered import summary_table
from aggregator.present.table import estimate_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 120
"""Characters in a line of a notebook."""


@dataclass(frozen=True, repr=False)
class NotebookEstimate(Estimate):
    """An estimate as ``Study.estimate`` returns it.

    Attributes:
        period: the period; None for each device's latest period.
        tally: the counts that were estimated.
    """

    period: int | None = None
    tally: Tally | None = None

    @cached_property
    def _summary(self) -> OrderedStatistics | None:
        return summary_statistics(self.tally, self) if self.tally is not None and has_summary(self.campaign) else None

    def __repr__(self) -> str:
        return f"<estimate of {self.campaign.title!r}: {self.size} values from {self.counted}, {self.method}>"

    def as_json(self) -> dict[str, Any]:
        """Return the output of ``halftruth estimate --json``."""
        return super().as_json() | ({} if self._summary is None else self._summary.numbers())

    def table(self) -> pa.Table:
        """Return an Arrow table with a row for each value or district; pandas and polars read it without copying.

        Returns:
            The columns of ``halftruth export --estimates``; shares are fractions, and an unknown number is null.
        """
        return estimates_arrow([(self, self.period)])

    def plot(self, truth: Floats | None = None) -> Figure:
        """Return the picture of ``halftruth estimate --plot`` as a matplotlib figure.

        Args:
            truth: (k,) the true shares to show beside the estimate, in rehearsals.
        """
        # The imports are here because matplotlib takes a second to load.
        if self._summary is not None and self._summary.bins:
            from aggregator.present.ordered_plot import histogram_figure

            return histogram_figure(self._summary, truth)
        from aggregator.present.plot import estimate_figure

        return estimate_figure(self, truth)

    def _repr_html_(self) -> str:
        """Return the table of ``halftruth estimate`` and the warnings, for a notebook."""
        read = self._summary
        shown = summary_table(read) if read is not None and read.known else estimate_table(self)
        return _html_of(shown, (self if read is None else read).warnings)


@dataclass(frozen=True, repr=False)
class NotebookForm(FormEstimate):
    """The shares of a question, or of a table of two questions, as ``Study.question`` and ``Study.cross`` return
    them."""

    def __repr__(self) -> str:
        names = " and ".join(self.questions)
        return f"<estimate of {names} of {self.campaign.title!r}: {len(self.labels)} shares, {self.counted}>"

    def table(self) -> pa.Table:
        """Return an Arrow table with a row for each value or cell; pandas and polars read it without copying.

        Returns:
            The columns of ``halftruth estimate --format csv``; shares are fractions, and an unknown number is null.
        """
        return pa.Table.from_pylist(form_lines(self))

    def plot(self, truth: Floats | None = None) -> Figure:
        """Return the picture of ``halftruth estimate --plot`` as a matplotlib figure.

        Args:
            truth: (rows,) the true shares to show beside the estimate, in rehearsals.
        """
        from aggregator.present.form_plot import form_figure  # matplotlib takes a second to load

        return form_figure(self, truth)

    def _repr_html_(self) -> str:
        """Return the table of ``halftruth estimate`` and the warnings, for a notebook."""
        return _html_of(form_table(self), self.warnings)


def _html_of(table: Table, warnings: Iterable[str]) -> str:
    """Return a command's table as HTML, with the warnings below it."""
    console = Console(file=io.StringIO(), record=True, width=WIDTH, force_jupyter=False)
    console.print(table)
    code = console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
    return code + "".join(f"<p><b>Warning:</b> {html.escape(warning)}</p>" for warning in warnings)

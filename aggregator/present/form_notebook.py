"""An estimate of a form for a notebook, with an Arrow table, a figure and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from aggregator.estimate.form_result import FormEstimate
from aggregator.families.decoder import Floats
from aggregator.present.forms import form_lines, form_table
from aggregator.present.notebook import notebook_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        return notebook_html(form_table(self), self.warnings)

"""A study in Python: a notebook gets the estimates that the command line prints and writes."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure

from aggregator import Estimate, Study, ingest
from aggregator.present.shown_shares import decimals, percent
from aggregator.storage.tables import StudyError
from tests.aggregator import command
from tests.aggregator.fleet import NOW, campaign, report, study

SIGNED = campaign(4, title="Education <b>& more</b>")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The folder of a study with 60 reports, and their estimate."""
    folder = tmp_path_factory.mktemp("survey")
    made = study(folder / "lib", SIGNED, range(60))
    (folder / "batch.htr").write_bytes(b"".join(report(n, SIGNED, n % 3) for n in range(60)))
    assert ingest(made, [folder / "batch.htr"], now=NOW).accepted == 60
    return folder / "lib", Study.open(folder / "lib").estimate("education")


def printed(lib, *words):
    return command.printed("--study", lib, "estimate", "education", *words)


def test_the_estimate_of_a_study_equals_that_of_the_command(found):
    """``Study.estimate`` gives the JSON that `halftruth estimate` prints, with the same options by the same names."""
    lib, estimate = found
    assert isinstance(estimate, Estimate)
    assert estimate.as_json() == json.loads(printed(lib, "--json"))
    again = Study.open(lib).estimate("education", period=0, method="linear", confidence=0.8)
    assert again.as_json() == json.loads(
        printed(lib, "--json", "--period", "0", "--method", "linear", "--confidence", "0.8")
    )


def test_the_table_is_arrow_and_has_the_rows_of_the_csv(found):
    """The table has the columns and figures of --format csv with types, and exports them as an Arrow C stream."""
    lib, estimate = found
    table = estimate.table()
    assert pa.table(table).equals(table)
    assert table.__arrow_c_stream__() is not None
    rows = list(csv.DictReader(io.StringIO(printed(lib, "--format", "csv"))))
    assert table["value"].to_pylist() == [row["value"] for row in rows]
    for name in ("estimate", "raw", "se", "low", "high"):
        np.testing.assert_allclose(table[name].to_numpy(), [float(row[name]) for row in rows])
    assert set(table["period"].to_pylist()) == {"latest"}
    assert set(Study.open(lib).estimate("education", period=0).table()["period"].to_pylist()) == {"0"}


def test_the_plot_is_a_figure_with_a_bar_for_each_value(found):
    """``plot`` returns the figure that --plot writes, with a bar for each share."""
    _, estimate = found
    drawn = estimate.plot()
    assert isinstance(drawn, Figure)
    widths = [bar.get_width() for bar in drawn.axes[0].patches]
    np.testing.assert_allclose(widths[: estimate.size], estimate.share)


def test_a_notebook_shows_text_of_an_author_as_text(found):
    """The HTML for a notebook has every share, and escapes markup in a campaign's texts."""
    _, estimate = found
    shown = estimate._repr_html_()
    assert "Education &lt;b&gt;&amp; more&lt;/b&gt;" in shown
    assert "<b>&" not in shown
    places = decimals(estimate, range(estimate.size))
    assert all(percent(share, places) in shown for share in estimate.share)
    assert len(repr(estimate)) < 200


def test_unknown_campaigns_and_periods_are_refused(found):
    """A campaign that the study does not have, and a period that the campaign does not have, are a StudyError. A
    confidence in percent is a ValueError."""
    lib, _ = found
    with pytest.raises(StudyError, match="periods 0 to 3"):
        Study.open(lib).estimate("education", period=4)
    with pytest.raises(StudyError, match="names no campaign of the study"):
        Study.open(lib).estimate("health")
    with pytest.raises(ValueError, match=r"between 0 and 1, such as 0\.95, not 95"):
        Study.open(lib).estimate("education", confidence=95)

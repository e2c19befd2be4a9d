"""Read an estimate into the data frame library that is installed: polars, pandas, or Arrow itself.

python estimate_to_table.py town/study commute
"""

import importlib.util
import sys

from aggregator import Study

if len(sys.argv) != 3:
    sys.exit("usage: python estimate_to_table.py STUDY CAMPAIGN")
folder, name = sys.argv[1:]
study = Study.open(folder)
estimate = study.estimate(name, confidence=0.9)
table = estimate.table()  # a pyarrow.Table with a row for each value
for warning in estimate.warnings:
    print("Warning:", warning)

if importlib.util.find_spec("polars"):
    import polars

    frame = polars.from_arrow(table)
    print(frame.select("value", "estimate", "low", "high").sort("estimate", descending=True))
elif importlib.util.find_spec("pandas"):
    frame = table.to_pandas()
    print(frame[["value", "estimate", "low", "high"]].sort_values("estimate", ascending=False))
else:
    for row in table.sort_by([("estimate", "descending")]).to_pylist():
        print(f"{row['value']:8} {row['estimate']:.3f}   {row['low']:.3f} to {row['high']:.3f}")

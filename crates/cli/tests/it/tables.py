"""Reads the tables of one run in three formats with pandas, and compares them: `tables.py FOLDER`."""

import json
import pathlib
import sys

import pandas as pd

home = pathlib.Path(sys.argv[1])
READ = {"csv": pd.read_csv, "parquet": pd.read_parquet, "arrow": pd.read_feather}

for name in ["transfers", "series", "summary", "replicas"]:
    tables = {
        kind: read(home / kind / "tables" / f"{name}.{kind}") for kind, read in READ.items()
    }
    for kind in ["csv", "arrow"]:
        pd.testing.assert_frame_equal(
            tables[kind], tables["parquet"], check_dtype=False, check_exact=True
        )

# The mean over all that completed after the warm-up, as the summary of the run has it.
rows = pd.read_parquet(home / "parquet/tables/transfers.parquet")
rows = rows[rows.counted & (rows.state == "completed") & (rows.workload == "shop")]
each = rows.groupby("replica").handshake_s.mean()
summary = json.loads((home / "parquet/summary.json").read_text())
shop = next(found for found in summary[0]["summary"]["workloads"] if found["name"] == "shop")
expected = shop["all"]["handshake"]["mean"]
assert abs(each.mean() - expected) < 1e-9 * expected, (each.mean(), expected)
assert len(rows) == shop["completed"], (len(rows), shop["completed"])

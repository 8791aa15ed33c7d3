"""The tables that ``shortflow simulate --format`` writes, as pandas reads them."""

import json
import os
import pathlib
import subprocess

import pandas as pd
import pytest

import shortflow as sf

SHORTFLOW = os.environ.get("SHORTFLOW")
READ = {"csv": pd.read_csv, "parquet": pd.read_parquet, "arrow": pd.read_feather}


@pytest.mark.skipif(SHORTFLOW is None, reason="needs the program, in SHORTFLOW")
def test_all_formats_have_the_same_tables_and_the_means_of_the_summary(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    line.write("line.toml")
    fifo.write("fifo.toml")
    for kind in READ:
        command = [str(SHORTFLOW), "simulate", "line.toml", "--format", kind, "--out", kind, "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for name in ["transfers", "series", "summary", "replicas"]:
        tables = {kind: read(here / kind / "tables" / f"{name}.{kind}") for kind, read in READ.items()}
        for kind in ["csv", "arrow"]:
            pd.testing.assert_frame_equal(tables[kind], tables["parquet"], check_dtype=False, check_exact=True)

    rows = pd.read_parquet(here / "parquet/tables/transfers.parquet")
    rows = rows[rows.counted & (rows.state == "completed") & (rows.workload == "web")]
    each = rows.groupby("replica").handshake_s.mean()
    summary = json.loads((here / "parquet/summary.json").read_text())
    web = next(found for found in summary[0]["summary"]["workloads"] if found["name"] == "web")
    assert each.mean() == pytest.approx(web["all"]["handshake"]["mean"], rel=1e-9)
    assert len(rows) == web["completed"]

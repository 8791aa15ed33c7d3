"""Runs, and their results."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pandas
import polars
import pyarrow as pa
import pytest

import shortflow as sf

SHORTFLOW = os.environ.get("SHORTFLOW")


def test_python_gives_the_bits_of_the_command_line(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    if SHORTFLOW is None:
        pytest.skip("skipped: needs SHORTFLOW, the program")
    line.write("line.toml")
    fifo.write("fifo.toml")
    subprocess.run([SHORTFLOW, "simulate", "line.toml", "--out", "cli", "-q"], check=True)
    found = sf.simulate("line.toml", transfers=True).transfers
    rows = [row for name in ("transfers-000-000.csv", "transfers-000-001.csv") for row in csv.DictReader((here / "cli" / name).open())]
    assert len(rows) == len(found) > 100
    for name in ("id", "workload", "state", "client", "start_s", "completion_s", "reply_bytes", "sent", "replica"):
        ours = ["" if one is None else one for one in found[name].to_pylist()]
        theirs = [one[name] for one in rows]
        theirs = [float(one) if one else "" for one in theirs] if name.endswith("_s") else theirs
        assert [one if isinstance(one, (float, str)) else str(one) for one in ours] == theirs, name


def test_a_folder_has_the_results_that_memory_has(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    memory = sf.simulate(line, fifo)
    folder = sf.simulate(line, fifo, out="run")
    assert (here / "run" / "report.html").is_file()
    for results in (folder, sf.open("run")):
        assert results.transfers.to_arrow().equals(memory.transfers.to_arrow())
        assert results.replicas.to_arrow().equals(memory.replicas.to_arrow())
    (here / "other").mkdir()
    (here / "other" / "mine.txt").write_text("mine")
    with pytest.raises(sf.InputError, match="mine.txt\n.*force=True"):
        sf.simulate(line, fifo, out="other")


def test_nothing_is_written_unless_asked(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    sf.simulate(line, fifo, replicas=1)
    assert list(here.iterdir()) == []


def test_pandas_and_polars_share_the_memory_of_the_table(line: sf.Scenario, fifo: sf.Policy) -> None:
    table = sf.simulate(line, fifo, replicas=1).transfers
    address = table.to_arrow()["completion_s"].chunk(0).buffers()[1].address
    frame = table.to_polars()
    assert isinstance(frame, polars.DataFrame) and frame["completion_s"].to_arrow().buffers()[1].address == address
    column = pa.chunked_array(table.to_pandas()["completion_s"].array.__arrow_array__())
    assert column.chunk(0).buffers()[1].address == address
    assert polars.DataFrame(table).equals(frame) and pa.table(table).equals(table.to_arrow())


def test_replicas_are_chosen_by_number(line: sf.Scenario, fifo: sf.Policy) -> None:
    both = sf.simulate(line, fifo, replicas=2).transfers.to_pandas()
    second = sf.simulate(line, fifo, replicas=[1]).transfers.to_pandas()
    pandas.testing.assert_frame_equal(both[both["replica"] == 1].reset_index(drop=True), second)
    with pytest.raises(sf.InputError, match="different numbers"):
        sf.simulate(line, fifo, replicas=[1, 1])


def test_another_seed_gives_other_transfers(line: sf.Scenario, fifo: sf.Policy) -> None:
    one, same, other = (sf.simulate(line, fifo, replicas=1, seed=seed).transfers.to_arrow() for seed in (1, 1, 2))
    assert one.equals(same) and not one.equals(other)
    with pytest.raises(sf.InputError, match="`seed` is given twice"):
        sf.simulate(line, fifo, seed=1, set={"seed": 2})


def test_policies_have_the_same_arrivals(line: sf.Scenario, fifo: sf.Policy) -> None:
    found = sf.compare(line, [fifo, "fq-codel"]).transfers.to_pandas().sort_values(["replica", "id"])
    starts = found.groupby("policy")["start_s"].apply(list)
    assert starts["FIFO"] == starts["FQ-CoDel"]
    with pytest.raises(sf.InputError, match="given twice"):
        sf.compare(line, [fifo, fifo])


def test_a_prediction_is_that_of_the_command_line(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    if SHORTFLOW is None:
        pytest.skip("skipped: needs SHORTFLOW, the program")
    line.write("line.toml")
    fifo.write("fifo.toml")
    command = [SHORTFLOW, "predict", "line.toml", "--out", "cli", "--json", "-q"]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    results = sf.predict("line.toml")
    assert results.to_dict()["runs"][0]["points"] == theirs["runs"][0]["points"]
    assert set(results.summary["engine"].to_pylist()) == {"predict"}


def test_engines_are_compared(line: sf.Scenario, fifo: sf.Policy) -> None:
    found = sf.compare(line, [fifo], engines=["simulate", "predict"]).summary.to_pandas()
    assert sorted(set(found["engine"])) == ["predict", "simulate"]


def test_results_describe_themselves(line: sf.Scenario, fifo: sf.Policy) -> None:
    results = sf.simulate(line, fifo)
    assert "web" in repr(results) and "FIFO" in results.to_dict()["runs"][0]["label"]
    assert results._repr_html_().startswith("<pre>") and "<th>workload</th>" in results.transfers._repr_html_()


def test_other_threads_run_during_a_simulation(line: sf.Scenario, fifo: sf.Policy) -> None:
    counts = []

    def count() -> None:
        while not done.is_set():
            counts.append(time.monotonic())
            time.sleep(0.01)

    done = threading.Event()
    counter = threading.Thread(target=count)
    counter.start()
    begun = time.monotonic()
    sf.simulate(line, fifo, replicas=4, jobs=1, transfers=False, set={"duration": "200 s"})
    took = time.monotonic() - begun
    done.set()
    counter.join()
    within = sum(begun <= at <= begun + took for at in counts)
    # One tick in 10 ms; a tenth of them leaves room for a busy machine.
    assert within > took / 0.01 / 10


def test_progress_is_reported(line: sf.Scenario, fifo: sf.Policy) -> None:
    seen: list[tuple[float, int, int]] = []
    sf.simulate(line, fifo, replicas=3, progress=lambda *found: seen.append(found))
    assert seen[-1] == (3.0, 3, 3)

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sf.simulate(line, fifo, progress=fail)


def test_ctrl_c_ends_a_run(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    line.write("line.toml")
    fifo.write("fifo.toml")
    code = "import shortflow as sf; print('runs', flush=True); sf.simulate('line.toml', set={'duration': '100000 s'}, transfers=False)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "runs\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and errors.rstrip().endswith("KeyboardInterrupt"), errors

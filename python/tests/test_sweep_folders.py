"""Folders of sweeps: damage, changed input, recorded failures, incomplete sweeps."""

import json
import os
import pathlib

import pytest
from conftest import FIFO, LINE

import shortflow as sf

LOG = "time_s,client,page,index_bytes,object_bytes\n{time},0,0,2000,\n"


@pytest.fixture
def folder(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> pathlib.Path:
    """A sweep of four chunks with a run each."""
    a_sweep(line, fifo).run(out="r.sweep", runs_per_chunk=1)
    return here / "r.sweep"


def a_sweep(line: sf.Scenario, fifo: sf.Policy, **options: object) -> sf.Sweep:
    """Two loads, two replicas each."""
    return sf.Sweep(line, [{"parameters.load": load} for load in (0.5, 1.5)], **{"policy": fifo, "replicas": 2, **options})


def truncate(folder: pathlib.Path) -> None:
    """Cut a file."""
    path = folder / "replicas-00002.parquet"
    path.write_bytes(path.read_bytes()[:100])


def swap(folder: pathlib.Path) -> None:
    """Swap two files."""
    one, two = folder / "transfers-00001.parquet", folder / "transfers-00002.parquet"
    one.rename(folder / "kept")
    two.rename(one)
    (folder / "kept").rename(two)


def delete(folder: pathlib.Path) -> None:
    """Delete a file of a complete chunk."""
    (folder / "transfers-00002.parquet").unlink()


def cut_record(folder: pathlib.Path) -> None:
    """Cut the record of a chunk."""
    (folder / "chunk-00002.json").write_text("{")


def empty_record(folder: pathlib.Path) -> None:
    """A record without content."""
    (folder / "chunk-00002.json").write_text("{}")


@pytest.mark.parametrize("damage", [truncate, swap, delete, cut_record, empty_record])
def test_a_damaged_chunk_is_refused_and_runs_again(folder: pathlib.Path, line: sf.Scenario, fifo: sf.Policy, damage: object) -> None:
    whole = sf.open("r.sweep").transfers.to_arrow()
    damage(folder)
    with pytest.raises(sf.InputError, match="is damaged: .*\nrun the sweep with resume=True"):
        sf.open("r.sweep")
    verified = sf.verify("r.sweep")
    assert not verified and "damaged" in repr(verified)
    with pytest.warns(UserWarning, match="chunk 2 .* runs again"):
        again = a_sweep(line, fifo).run(out="r.sweep", resume=True)
    assert again.transfers.to_arrow().equals(whole) and sf.verify("r.sweep")


def test_a_stray_chunk_is_ignored_with_a_warning(folder: pathlib.Path) -> None:
    runs = len(sf.open("r.sweep").replicas)
    (folder / "chunk-00004.json").write_text((folder / "chunk-00003.json").read_text())
    with pytest.warns(UserWarning, match="chunk-00004.json belongs to no chunk"):
        assert len(sf.open("r.sweep").replicas) == runs


def test_a_chunk_of_another_sweep_is_found(folder: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    a_sweep(line, fifo, seed=8).run(out="other.sweep", runs_per_chunk=1)
    for name in ("chunk-00002.json", "transfers-00002.parquet", "replicas-00002.parquet"):
        (folder.parent / "other.sweep" / name).replace(folder / name)
    with pytest.raises(sf.InputError, match="chunk-00002.json is of another sweep"):
        sf.open("r.sweep")


@pytest.mark.parametrize("damage", [{"design": None}, {"replicas": 0}, {"seed": "2"}])
def test_a_damaged_manifest_is_named(folder: pathlib.Path, damage: dict[str, object]) -> None:
    manifest = json.loads((folder / "sweep.json").read_text())
    (folder / "sweep.json").write_text(json.dumps({**manifest, **damage}))
    for use in (sf.open, sf.verify):
        with pytest.raises(sf.InputError, match=f"sweep.json is damaged: `{next(iter(damage))}` is missing or wrong"):
            use("r.sweep")


def test_an_incomplete_sweep_says_so(folder: pathlib.Path) -> None:
    assert repr(sf.open("r.sweep")).startswith("<SweepResults: 4 runs of 2 rows;")
    (folder / "chunk-00001.json").unlink()
    with pytest.warns(UserWarning, match="3 of 4 runs are there"):
        results = sf.open("r.sweep")
    assert "3 of 4 runs" in repr(results)
    with pytest.warns(UserWarning, match="the sweep is incomplete"):
        results.targets("completion")


def replayed() -> sf.Scenario:
    """A line whose requests come from a log."""
    text = LINE.split("[workloads.web.transfers]")[0]
    web = '[workloads.web.web]\nclient = "client"\nserver = "server"\nhttp = "1.0"\nrequest.constant = "500 B"\nreplay.file = "log.csv"\n'
    return sf.Scenario(text + web, "line.toml")


def test_a_changed_data_file_is_refused(here: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pathlib.Path("log.csv").write_text(LOG.format(time=1))
    sweep = sf.Sweep(replayed(), [{"links.line.delay": "10 ms"}], policy=sf.Policy(FIFO), replicas=1)
    sweep.run(out="r.sweep")
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    assert sf.verify(here / "r.sweep"), "it finds the log from another folder"
    monkeypatch.chdir(here)
    pathlib.Path("log.csv").write_text(LOG.format(time=2))
    with pytest.raises(sf.InputError, match="data file log.csv"):
        sf.verify("r.sweep")
    sweep = sf.Sweep(replayed(), [{"links.line.delay": "10 ms"}], policy=sf.Policy(FIFO), replicas=1)
    with pytest.raises(sf.InputError, match="it differs in the data file log.csv"):
        sweep.run(out="r.sweep", resume=True)


def test_recorded_failures_are_verified(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    design = [{"parameters.load": 1}, {"parameters.load": -1}]
    sf.Sweep(line, design, policy=fifo, replicas=2).run(out="r.sweep", on_error="record", runs_per_chunk=3)
    assert sf.verify("r.sweep", share=1).runs == 4 and sf.verify("r.sweep", share=1)


def test_a_sweep_without_any_run_says_why(line: sf.Scenario, fifo: sf.Policy) -> None:
    results = sf.Sweep(line, [{"parameters.load": -1}], policy=fifo, replicas=1).run(on_error="record")
    assert len(results.features()) == 0
    with pytest.raises(sf.InputError, match="all runs failed"):
        results.targets("completion")


def test_resuming_takes_tuples_and_names_rows(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    design = [{"measure.size_classes": ("10 KB", "1 MB")}]
    for resume in (False, True):
        results = sf.Sweep(line, design, policy=fifo, replicas=1).run(out="r.sweep", resume=resume)
    assert results.features()["size_classes"].to_list() == ["['10 KB', '1 MB']"]
    more = [*design, {"measure.size_classes": ("20 KB",)}]
    with pytest.raises(sf.InputError, match="design: 1 rows there, 2 here"):
        sf.Sweep(line, more, policy=fifo, replicas=1).run(out="r.sweep", resume=True)


def test_cpu_time_is_that_of_the_engine(line: sf.Scenario, fifo: sf.Policy) -> None:
    design = [{"duration": "60 s"}]
    for executor in ("threads", "processes"):
        before = os.times()
        found = sf.Sweep(line, design, policy=fifo, replicas=6, collect="replicas").run(jobs=2, executor=executor)
        after = os.times()
        if executor == "threads":
            spent = after.user + after.system - before.user - before.system
            assert 0.5 * spent <= found.cpu_seconds <= spent + 0.02, "all but starting the threads and collecting; ticks of 10 ms"
            threads = found.cpu_seconds
    assert found.cpu_seconds > threads / 3, "a process of its own needs as much, up to caches"

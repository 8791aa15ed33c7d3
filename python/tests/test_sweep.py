"""Sweeps: designs, storage, resuming, verification, gains, figures, learning."""

import hashlib
import json
import math
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shortflow as sf
from shortflow._store import Store


def a_sweep(line: sf.Scenario, fifo: sf.Policy, **options: object) -> sf.Sweep:
    """Two loads under two policies."""
    design = sf.Design.grid({"policy": [fifo, "fq-codel"], "parameters.load": [0.5, 1.5]})
    return sf.Sweep(line, design, **{"replicas": 3, "seed": 7, **options})


def test_a_design_names_its_mistakes(here: pathlib.Path) -> None:
    with pytest.raises(sf.InputError, match="row 1 of the design and row 0 differ in `b`"):
        sf.Design.rows([{"a": 1}, {"a": 1, "b": 2}])
    with pytest.raises(sf.InputError, match="rows 0 and 1 of the design are the same"):
        sf.Design.rows([{"a": 1}, {"a": 1}])
    pathlib.Path("d.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(sf.InputError, match="d.csv:3: 1 values for 2 keys") as caught:
        sf.Design.from_csv("d.csv")
    assert (caught.value.file, caught.value.line) == ("d.csv", 3)
    pathlib.Path("d.csv").write_text("a,links.line.rate,policy\n1,2 Mbit/s,red\n")
    assert sf.Design.from_csv("d.csv").points == [{"a": 1, "links.line.rate": "2 Mbit/s", "policy": "red"}]


def test_columns_are_short_where_they_are_clear() -> None:
    design = sf.Design.rows([{"parameters.load": 1, "links.a.rate": "1 Mbit/s", "links.b.rate": "1 Mbit/s", "measure.seed": 1}])
    short = {"parameters.load": "load", "links.a.rate": "links.a.rate", "links.b.rate": "links.b.rate", "measure.seed": "measure.seed"}
    assert design.columns() == short


def test_a_sweep_has_the_transfers_of_its_runs(line: sf.Scenario, fifo: sf.Policy) -> None:
    sweep = a_sweep(line, fifo)
    found = sweep.run(jobs=2).transfers.to_pandas()
    for row in sweep.rows():
        policy, load = sweep.design.points[row.number].values()
        alone = sf.simulate(line, policy, seed=row.seed, replicas=3, set={"parameters.load": load}).transfers.to_pandas()
        ours = found[found["row"] == row.number]
        assert len(ours) == len(alone) > 0 and set(ours["load"]) == {load}
        for name in ("start_s", "completion_s", "id", "replica", "seed"):
            assert ours[name].to_list() == alone[name].to_list()


def test_rows_that_differ_in_the_policy_have_the_same_arrivals(line: sf.Scenario, fifo: sf.Policy) -> None:
    seeds = [row.seed for row in a_sweep(line, fifo).rows()]
    assert seeds[0] == seeds[2] != seeds[1] == seeds[3]
    assert len({row.seed for row in a_sweep(line, fifo, pair_by=None).rows()}) == 4
    assert len({row.seed for row in a_sweep(line, fifo, pair_by=["policy", "parameters.load"]).rows()}) == 1
    design = sf.Design.rows([{"policy": "fq-codel", "parameters.load": 1.5}])
    assert sf.Sweep(line, design, seed=7).rows()[0].seed == seeds[1], "the seed of a row is that of its settings"


def test_results_do_not_depend_on_chunks_or_executors(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    memory = a_sweep(line, fifo).run(jobs=1)
    folder = a_sweep(line, fifo).run(jobs=2, out="r.sweep", executor="processes", runs_per_chunk=2)
    for name in ("transfers", "replicas"):
        assert folder.table(name).to_arrow().equals(memory.table(name).to_arrow())
    assert sf.open("r.sweep").transfers.to_pandas().equals(memory.transfers.to_pandas())


def test_a_sweep_continues_where_it_was(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    whole = a_sweep(line, fifo).run(runs_per_chunk=2, out="whole").transfers.to_arrow()
    a_sweep(line, fifo).run(runs_per_chunk=2, out="r.sweep")
    (here / "r.sweep" / "chunk-00006.json").unlink()
    (here / "r.sweep" / "transfers-00008.parquet").rename(here / "r.sweep" / "kept")
    (here / "r.sweep" / "chunk-00008.json").unlink()
    (here / "r.sweep" / "kept").unlink()
    with pytest.warns(UserWarning, match="8 of 12 runs are there"):
        assert len(sf.open("r.sweep").transfers) < len(whole)
    kept = (here / "r.sweep" / "chunk-00002.json").stat().st_mtime_ns
    assert a_sweep(line, fifo).run(out="r.sweep", resume=True).transfers.to_arrow().equals(whole)
    assert (here / "r.sweep" / "chunk-00002.json").stat().st_mtime_ns == kept, "it did not run again"
    with pytest.raises(sf.InputError, match="resume=True to continue"):
        a_sweep(line, fifo).run(out="r.sweep")
    with pytest.raises(sf.InputError, match="differs in seed"):
        a_sweep(line, fifo, seed=8).run(out="r.sweep", resume=True)


def test_a_changed_bit_is_found(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    a_sweep(line, fifo).run(out="r.sweep", runs_per_chunk=12)
    found = sf.verify("r.sweep")
    assert found.is_same and found.runs == 1
    assert sf.verify("r.sweep", share=1).runs == 12
    path = here / "r.sweep" / "transfers-00000.parquet"
    table = pq.read_table(path)
    at = table.column_names.index("completion_s")
    values = table["completion_s"].to_pylist()
    last = max(number for number, value in enumerate(values) if value is not None)
    values[last] = math.nextafter(values[last], 10)
    pq.write_table(table.set_column(at, table.schema.field(at), pa.array(values)), path)
    damaged = sf.verify("r.sweep", share=1)
    assert not damaged and damaged.damaged == ["transfers-00000.parquet is not the file that was written"]
    record = here / "r.sweep" / "chunk-00000.json"
    content = json.loads(record.read_text())
    content["tables"]["transfers-00000.parquet"] = hashlib.sha256(path.read_bytes()).hexdigest()
    record.write_text(json.dumps(content))
    assert sf.verify("r.sweep", share=1).different == [("transfers", 3, 2)], "digests hold, and the bits differ"


def test_a_row_that_fails_is_named_or_recorded(line: sf.Scenario, fifo: sf.Policy) -> None:
    design = sf.Design.rows([{"parameters.load": 1}, {"parameters.load": -1}])
    sweep = sf.Sweep(line, design, replicas=2, policy=fifo)
    with pytest.raises(sf.ScenarioError, match="row 1 of the design"):
        sweep.run()
    results = sweep.run(on_error="record")
    failures = list(results.failures)
    assert [one["row"] for one in failures] == [1] * len(failures) and "load" in failures[0]["reason"]
    assert set(results.transfers["row"].to_pylist()) == {0}
    assert len(sf.Sweep(line, design.points[:1], replicas=2, policy=fifo).run().failures) == 0


def test_gains_are_of_pairs(line: sf.Scenario, fifo: sf.Policy) -> None:
    results = a_sweep(line, fifo, replicas=4).run()
    gains = results.gains("FIFO", "fq-codel", measure="completion", workload="web").to_pandas()
    assert gains["load"].to_list() == [0.5, 1.5] and set(gains["pairs"]) == {4}
    table = results.measure("completion", workload="web").to_pandas()
    for at, rows in enumerate(((0, 2), (1, 3))):
        reference, ours = (table[table["row"] == row].sort_values("replica")["value"].to_numpy(float) for row in rows)
        # Student's t of 3 degrees of freedom at 97.5 %.
        difference = ours - reference
        half = 3.182446 * difference.std(ddof=1) / 2
        assert gains["difference"][at] == pytest.approx(difference.mean(), rel=1e-12)
        assert gains["difference_high"][at] == pytest.approx(difference.mean() + half, rel=1e-6)
        assert gains["gain_percent"][at] == pytest.approx((100 * (reference - ours) / reference).mean(), rel=1e-9)
    with pytest.raises(sf.InputError, match="unknown policy 'red'"):
        results.gains("FIFO", "red")
    with pytest.raises(sf.InputError, match="same arrivals"):
        a_sweep(line, fifo, pair_by=None, replicas=1).run().gains("FIFO", "fq-codel")


def test_a_figure_has_a_curve_for_each_policy(line: sf.Scenario, fifo: sf.Policy) -> None:
    pytest.importorskip("matplotlib").use("agg")
    results = a_sweep(line, fifo).run()
    axes = results.plot(x="load", measure="completion", workload="web")
    curves = {curve.get_label(): curve for curve in axes.get_lines()}
    assert set(curves) == {"FIFO", "fq-codel"}
    table = results.measure("completion", workload="web").to_pandas()
    means = [table[table["row"] == row]["value"].mean() for row in (0, 1)]
    assert curves["FIFO"].get_xdata().tolist() == [0.5, 1.5]
    assert curves["FIFO"].get_ydata() == pytest.approx(means)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("load", "completion (s)")
    with pytest.raises(sf.InputError, match="unknown setting `rate`: the design has load"):
        results.plot(x="rate", workload="web")


def test_features_and_targets_have_a_row_for_each_replica(line: sf.Scenario, fifo: sf.Policy) -> None:
    results = a_sweep(line, fifo).run()
    features, targets = results.features(), results.targets(["completion", "completion-p95"])
    assert features.index.equals(targets.index) and len(features) == 12
    assert features["load"].dtype == float and str(features["policy"].dtype) == "category"
    assert list(targets.columns) == ["web.completion", "web.completion-p95"]
    one = results.measure("completion", workload="web").to_pandas().set_index(["row", "replica"])["value"]
    assert targets["web.completion"].to_dict() == one.astype(float).to_dict()


def test_the_folder_says_what_was_run(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    a_sweep(line, fifo).run(out="r.sweep")
    manifest = json.loads((here / "r.sweep" / "sweep.json").read_text())
    assert (manifest["seed"], manifest["replicas"], manifest["version"]) == (7, 3, sf.__version__)
    assert manifest["policies"]["FIFO"][1] == fifo.to_toml() and manifest["scenario"][1] == line.to_toml()
    records = Store("r.sweep").chunks(12).complete
    assert [run for number, record in records.items() for run in range(number, number + record["runs"])] == list(range(12))
    with pytest.raises(sf.InputError, match="did not collect `bulk`"):
        sf.open("r.sweep").bulk.to_arrow()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicas": 0}, "replicas = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"collect": ["all"]}, "give a list of transfers"),
        ({"engine": "rehearse"}, "use simulate or predict"),
        ({"pair_by": "rate"}, "the design has no key `rate`"),
        ({"set": {"parameters.load": 1}}, "in `set` and in the design"),
        ({"policy": "red"}, "an argument and a key of the design"),
    ],
)
def test_wrong_arguments_are_named(line: sf.Scenario, fifo: sf.Policy, options: dict[str, object], message: str) -> None:
    with pytest.raises(sf.InputError, match=message):
        a_sweep(line, fifo, **options)

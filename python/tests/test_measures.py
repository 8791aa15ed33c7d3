"""Measures of sweeps: their parts, bounds, and settings in tables and figures."""

import math

import pytest

import shortflow as sf
from shortflow._design import RESERVED
from shortflow._plot import mean


@pytest.fixture(scope="module")
def results() -> sf.SweepResults:
    """Two policies on a short office line with two bound ports."""
    design = [{"policy": policy} for policy in ("best-effort", "fq-codel")]
    given = {"warm_up": "1 s", "duration": "12 s"}
    return sf.Sweep("office", design, replicas=2, set=given, bind="core=office->isp", collect="replicas").run()


def test_a_measure_of_several_parts_needs_one(results: sf.SweepResults) -> None:
    parts = {"utilisation": "port", "share-over": "limit_s", "bytes-above": "above", "counter": "counter"}
    have = set(results.replicas["measure"].to_pylist())
    several = {name: {one[part] for one in results.measure(name).to_pylist()} for name, part in parts.items() if name in have}
    names = [name for name, values in several.items() if len(values) > 1]
    assert "utilisation" in names and "bytes-above" in names
    for name in names:
        part = parts[name]
        workload = "pages" if name == "bytes-above" else None
        with pytest.raises(sf.InputError, match=f"`{name}` is of several .*: give {part}= one of"):
            results.gains("best-effort", "fq-codel", measure=name, workload=workload)
    for port in several["utilisation"]:
        gain = next(iter(results.gains("best-effort", "fq-codel", measure="utilisation", port=port)))
        values = [one["value"] for one in results.measure("utilisation", port=port).to_pylist() if one["policy"] == "fq-codel"]
        assert gain["ours"] == pytest.approx(math.fsum(values) / 2) and gain["gain_percent"] is None, "neither better nor worse"
    targets = results.targets("utilisation")
    assert set(targets.columns) == {f"utilisation[{port}]" for port in several["utilisation"]}
    with pytest.raises(sf.InputError, match="of port 'x->y'"):
        results.measure("utilisation", port="x->y")
    with pytest.raises(sf.InputError, match="limit_s = 'foo': give a number"):
        results.gains("best-effort", "fq-codel", measure="share-over", limit_s="foo")
    with pytest.raises(sf.InputError, match="compared with itself"):
        results.gains("fq-codel", "fq-codel")


def test_all_columns_of_results_are_reserved(line: sf.Scenario, fifo: sf.Policy) -> None:
    found = sf.simulate(line, fifo, replicas=1)
    for name in ("transfers", "bulk", "datagrams", "series", "summary", "replicas", "failures"):
        assert set(found.table(name).columns) <= RESERVED, name


def test_a_setting_replaces_no_column(line: sf.Scenario, fifo: sf.Policy) -> None:
    sweep = sf.Sweep(line, [{"workloads.web.transfers.client": "client"}], policy=fifo, replicas=1)
    found = sweep.run().transfers
    assert found["workloads.web.transfers.client"].unique().to_pylist() == ["client"]
    alone = sf.simulate(line, fifo, replicas=1, seed=sweep.rows()[0].seed).transfers
    assert found["client"].equals(alone["client"]), "addresses of clients"
    assert sf.Design([{"label": 1}]).columns() == {"label": "set.label"}


def test_a_mean_of_bounds_is_a_bound() -> None:
    assert mean([(1.0, None), (3.0, "at least")])[0][0] == 2.0
    for bound in (None, "at least", "at most"):
        assert mean([(1.0, None), (2.0, bound)])[1] == bound
    assert mean([(1.0, "at most"), (2.0, "at least")]) == (None, None)


def test_a_figure_marks_bounds_and_separates_other_settings(line: sf.Scenario, fifo: sf.Policy) -> None:
    pytest.importorskip("matplotlib").use("agg")
    design = sf.Design.grid({"parameters.load": [0.2, 4], "links.line.delay": ["10 ms", "40 ms"]})
    results = sf.Sweep(line, design, policy=fifo, replicas=2).run()
    table = results.measure("completion-p99").to_pandas()
    bounded = {row for row, bound in zip(table["row"], table["bound"]) if isinstance(bound, str)}
    assert {2, 3} <= bounded and 0 not in bounded, "transfers are open at the end where the load is twice the rate"
    curves = {curve.get_label(): curve for curve in results.plot("load", "completion-p99").get_lines()}
    names = ["FIFO, delay = 10 ms", "FIFO, delay = 40 ms"]
    assert set(curves) == {*names, *(f"{name}, at least" for name in names)}
    for row, name in enumerate(names):
        exact, bound = (curves[name + end].get_ydata() for end in ("", ", at least"))
        for at, one in enumerate((row, row + 2)):
            drawn, other = (bound, exact) if one in bounded else (exact, bound)
            assert drawn[at] == pytest.approx(table[table["row"] == one]["value"].mean()) and math.isnan(other[at])
    with pytest.raises(sf.InputError, match="ax = 3: give axes"):
        results.plot("load", "completion-p99", ax=3)
    with pytest.warns(UserWarning, match="are only bounds"):
        assert results.targets("completion-p99").isna().sum().sum() == table["bound"].notna().sum()


def test_lists_are_settings_of_gains_and_figures(line: sf.Scenario, fifo: sf.Policy) -> None:
    design = sf.Design.grid({"policy": [fifo, "fq-codel"], "measure.size_classes": [["5 KB"], ["10 KB"]]})
    results = sf.Sweep(line, design, replicas=2).run()
    gains = list(results.gains("FIFO", "fq-codel", measure="completion"))
    assert [(one["size_classes"], one["pairs"] + one["bounded"]) for one in gains] == [(["5 KB"], 2), (["10 KB"], 2)]
    pytest.importorskip("matplotlib").use("agg")
    labels = {curve.get_label() for curve in results.plot("size_classes", "completion").get_lines()}
    assert {"FIFO", "fq-codel"} <= labels <= {"FIFO", "fq-codel", "FIFO, at least", "fq-codel, at least"}


def test_predictions_are_swept(line: sf.Scenario, fifo: sf.Policy) -> None:
    results = sf.Sweep(line, [{"parameters.load": load} for load in (0.2, 0.4)], policy=fifo, engine="predict").run()
    alone = sf.predict(line, fifo, set={"parameters.load": 0.4}).summary
    ours = results.summary.to_arrow()
    assert ours["value"].to_pylist()[-len(alone) :] == alone["value"].to_pylist() and len(alone) > 0
    assert results.summary["load"].unique().to_pylist() == [0.2, 0.4]
    for options, message in (({"replicas": 2}, "has no replicas"), ({"collect": ["transfers"]}, "give a list of summary")):
        with pytest.raises(sf.InputError, match=message):
            sf.Sweep(line, [{"parameters.load": 1}], policy=fifo, engine="predict", **options)

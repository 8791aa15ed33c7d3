"""Results of a sweep: tables, gains, figures, and data for learning."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from . import _core
from ._chunk import FAILURES, ROW, Done, from_parquet
from ._design import POLICY, Design
from ._errors import InputError
from ._store import Store
from ._table import Table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# All size classes, streams, ports and code points together.
ALL = "all"
PARTS = ("class", "limit_s", "above", "stream", "port", "code_point", "counter")
Reader = Callable[[str, Any, Sequence[str] | None], pa.Table]


class SweepResults:
    """The results of a sweep.

    Attributes
    ----------
    transfers, bulk, datagrams, series, replicas, failures : Table
        The tables that the sweep collects, with a typed column for each setting.
    design : Design
        The rows.
    """

    def __init__(self, manifest: Mapping[str, Any], read: Reader, cpu_seconds: Callable[[], float]) -> None:
        self.manifest = dict(manifest)
        self.design = Design(manifest["design"])
        self._read = read
        self._cpu_seconds = cpu_seconds
        self._tables: dict[str, Table] = {}

    @classmethod
    def open(cls, store: Store) -> SweepResults:
        """The results in a folder."""

        def read(name: str, condition: Any, columns: Sequence[str] | None) -> pa.Table:
            parts = store.parts(name)
            if not parts:
                return pa.table({})
            return ds.dataset(parts, format="parquet").to_table(filter=condition, columns=columns)

        return cls(store.manifest(), read, lambda: sum(one["cpu_seconds"] for one in store.records()))

    @classmethod
    def in_memory(cls, manifest: Mapping[str, Any], done: Sequence[Done]) -> SweepResults:
        """The results of chunks that are in memory."""

        def read(name: str, condition: Any, columns: Sequence[str] | None) -> pa.Table:
            parts = [from_parquet(one.tables[name]) for one in done if name in one.tables]
            if not parts:
                return pa.table({})
            table = pa.concat_tables(parts, promote_options="default")
            table = table if condition is None else table.filter(condition)
            return table if columns is None else table.select(columns)

        return cls(manifest, read, lambda: sum(one.cpu_seconds for one in done))

    def table(self, name: str) -> Table:
        """The table of this name."""
        if name != "failures" and name not in self.manifest["collect"]:
            have = ", ".join(self.manifest["collect"])
            raise InputError(f"the sweep did not collect `{name}`; it has {have}\nrun it with collect=[…, {name!r}]")
        if name not in self._tables:
            self._tables[name] = Table(name, lambda: self._whole(name))
        return self._tables[name]

    transfers = property(lambda self: self.table("transfers"), doc="Single transfers.")
    bulk = property(lambda self: self.table("bulk"), doc="Long flows.")
    datagrams = property(lambda self: self.table("datagrams"), doc="Datagrams of each workload or stream.")
    series = property(lambda self: self.table("series"), doc="Series of ports and flows over time.")
    replicas = property(lambda self: self.table("replicas"), doc="Measures of each replica.")
    failures = property(lambda self: self.table("failures"), doc="Rows that failed, with the reason.")

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all runs."""
        return self._cpu_seconds()

    def _whole(self, name: str) -> pa.Table:
        """A table with the columns of settings."""
        table = self._read(name, None, None)
        if name == "failures":
            return table if table.num_columns else FAILURES.empty_table()
        return self._with_settings(table)

    def _with_settings(self, table: pa.Table) -> pa.Table:
        if ROW not in table.column_names:
            return table
        at = table.column_names.index(ROW) + 1
        for key, name in reversed(self.design.columns().items()):
            values = pa.array([point[key] for point in self.design])
            column = values.take(table[ROW])
            field = pa.field(name, column.type, metadata={"setting": key})
            if name in table.column_names:
                table = table.drop_columns([name])
            table = table.add_column(at, field, column)
        return table

    def measure(self, measure: str, *, workload: str | None = None, **parts: Any) -> pa.Table:
        """A measure of each replica: ``row``, ``policy``, ``replica``, ``workload``, ``value``, and where it is bounded only.

        Parameters
        ----------
        measure
            Its name, such as ``completion-p95``.
        workload
            Of one workload; without, of each.
        **parts
            Of a part: ``class_``, ``limit_s``, ``above``, ``stream``, ``port``, ``code_point``; without, of all together.
        """
        about(measure)
        self.table("replicas")
        condition = pc.field("measure") == measure
        if workload is not None:
            condition &= pc.field("workload") == workload
        given = {name.rstrip("_"): value for name, value in parts.items()}
        unknown = [name for name in given if name not in PARTS]
        if unknown:
            raise InputError(f"unknown part `{unknown[0]}`: use {', '.join(PARTS)}")
        for name in PARTS:
            if name in given:
                condition &= pc.field(name) == given[name]
            elif name in ("class", "stream", "code_point"):
                condition &= pc.field(name).is_null() | (pc.field(name) == ALL)
        columns = [ROW, POLICY, "replica", "workload", "value", "bound"]
        found = self._read("replicas", condition, columns)
        if not found.num_rows:
            where = "" if workload is None else f" of the workload {workload!r}"
            raise InputError(f"no replica has the measure `{measure}`{where}\n`replicas` has the measures that there are")
        return found

    def gains(self, reference: str, ours: str, measure: str = "completion-p95", *, workload: str | None = None, **parts: Any) -> Table:
        """How much better a policy is than another one, from pairs of replicas with the same arrivals.

        Parameters
        ----------
        reference, ours
            The names of the policies in the design.
        measure, workload, **parts
            As in :meth:`measure`.

        Returns
        -------
        Table
            A row for each combination of the other settings and each workload: the means, the difference and the gain in
            percent with their 95 % intervals over all pairs. Values that are bounds only are left out of pairs, and counted.
        """
        names = {point.get(POLICY) for point in self.design}
        for name in (reference, ours):
            if name not in names:
                raise InputError(f"unknown policy {name!r}: the design has {', '.join(sorted(map(str, names)))}")
        if POLICY not in self.manifest["pair_by"]:
            raise InputError("these policies did not have the same arrivals\nrun the sweep with pair_by='policy'")
        higher = bool(about(measure)[1])
        pairs = self._pairs(self.measure(measure, workload=workload, **parts), (reference, ours))
        rows = [self._gain(group, found, (reference, ours), measure, higher) for group, found in pairs.items()]
        return Table("gains", lambda: pa.Table.from_pylist(rows))

    def _pairs(self, found: pa.Table, policies: tuple[str, str]) -> dict[tuple[Any, ...], dict[int, dict[str, Any]]]:
        """Values by group of settings and workload, then by replica and policy."""
        pairs: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
        keys = list(self.design.columns())
        groups = [tuple(point[key] for key in keys) for point in self.design]
        for one in found.to_pylist():
            if one[POLICY] in policies:
                value = None if one["bound"] is not None else one["value"]
                pairs[(groups[one[ROW]], one["workload"])][one["replica"]][one[POLICY]] = value
        return pairs

    def _gain(
        self, group: tuple[Any, ...], found: dict[int, dict[str, Any]], policies: tuple[str, str], measure: str, higher: bool
    ) -> dict[str, Any]:
        settings, workload = group
        row: dict[str, Any] = dict(zip(self.design.columns().values(), settings))
        row |= {"workload": workload, "measure": measure}
        both = [one for _, one in sorted(found.items()) if len(one) == 2]
        exact = [one for one in both if None not in one.values()]
        return row | _figures(exact, policies, higher) | {"bounded": len(both) - len(exact)}

    def plot(
        self,
        x: str,
        measure: str = "completion-p95",
        *,
        workload: str | None = None,
        ax: Axes | None = None,
        **parts: Any,
    ) -> Axes:
        """Draw a measure over a setting: the mean of each policy with its 95 % interval.

        Parameters
        ----------
        x
            The setting, by its key or its column.
        measure, workload, **parts
            As in :meth:`measure`.
        ax
            Where to draw; without, in a new figure.
        """
        from ._plot import draw

        found = self.measure(measure, workload=workload, **parts)
        workloads = sorted({one for one in found["workload"].to_pylist() if one is not None})
        if len(workloads) > 1:
            raise InputError(f"`{measure}` is of several workloads: give workload= one of {', '.join(workloads)}")
        key = self._key(x)
        curves: dict[str, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
        for one in found.to_pylist():
            curves[one[POLICY]][self.design.points[one[ROW]][key]].append(one["value"])
        points = {name: {at: _core.estimate(values) for at, values in curve.items()} for name, curve in curves.items()}
        return draw(points, self.design.columns()[key], measure, about(measure)[0], workloads, ax)

    def _key(self, name: str) -> str:
        columns = self.design.columns()
        keys = [key for key, column in columns.items() if name in (key, column)]
        if not keys:
            raise InputError(f"unknown setting `{name}`: the design has {', '.join(columns.values()) or 'none'}")
        return keys[0]

    def features(self) -> pandas.DataFrame:
        """The settings of each replica, one row each: numbers as they are, text as categories. For learning."""
        import pandas

        found = self._replica_index()
        rows = [self.design.points[row] for row, _ in found]
        frame = pandas.DataFrame(rows, index=pandas.MultiIndex.from_tuples(found, names=[ROW, "replica"]))
        frame = frame.rename(columns=self.design.columns())
        for column in frame.columns:
            if frame[column].map(lambda value: isinstance(value, str)).any():
                frame[column] = frame[column].astype("category")
        return frame

    def targets(self, measures: Sequence[str] = ("completion", "completion-p95")) -> pandas.DataFrame:
        """Measures of each replica, one row each, in the order of :meth:`features`: a column for each workload and measure.

        A value that is only a bound is missing.
        """
        import pandas

        index = self._replica_index()
        columns: dict[str, dict[tuple[int, int], float]] = {}
        for measure in measures:
            for one in self.measure(measure).to_pylist():
                name = f"{one['workload']}.{measure}" if one["workload"] else measure
                value = math.nan if one["bound"] is not None else one["value"]
                columns.setdefault(name, {})[one[ROW], one["replica"]] = value
        frame = pandas.DataFrame({name: [column.get(one, math.nan) for one in index] for name, column in columns.items()})
        frame.index = pandas.MultiIndex.from_tuples(index, names=[ROW, "replica"])
        return frame

    def _replica_index(self) -> list[tuple[int, int]]:
        """The rows and replicas that have results."""
        self.table("replicas")
        found = self._read("replicas", None, [ROW, "replica"]).group_by([ROW, "replica"]).aggregate([])
        pairs = zip(found[ROW].to_pylist(), found["replica"].to_pylist())
        return sorted(pairs)

    def __repr__(self) -> str:
        runs = len(self.design) * self.manifest["replicas"]
        return f"<SweepResults: {runs} runs of {len(self.design)} rows; {', '.join(self.manifest['collect'])}>"


def _figures(pairs: list[dict[str, float]], policies: tuple[str, str], higher: bool) -> dict[str, Any]:
    """Means, difference and gain of pairs."""
    empty = {name: None for name in ("reference", "ours", "difference", "difference_low", "difference_high")}
    empty |= {name: None for name in ("gain_percent", "gain_low", "gain_high")}
    if not pairs:
        return {**empty, "pairs": 0}
    reference, ours = ([one[name] for one in pairs] for name in policies)
    difference, gain = _core.gain(reference, ours, higher)
    found = {**empty, "reference": math.fsum(reference) / len(pairs), "ours": math.fsum(ours) / len(pairs), "pairs": len(pairs)}
    for name, one in (("difference", difference), ("gain_percent", gain)):
        if one is not None:
            short = name.removesuffix("_percent")
            found |= {name: one[0], f"{short}_low": one[1], f"{short}_high": one[2]}
    return found


def about(measure: str) -> tuple[str, bool | None, str]:
    """The unit of a measure, whether more is better, and its meaning."""
    known = {name: (unit, higher, meaning) for name, unit, higher, meaning in _core.measures()}
    if measure not in known:
        raise InputError(f"unknown measure `{measure}`: use {', '.join(known)}")
    return known[measure]

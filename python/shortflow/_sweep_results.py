"""Results of a sweep: tables, gains, figures, and data for learning."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import _core
from ._arguments import texts
from ._chunk import FAILURES, ROW, Done, from_parquet
from ._design import POLICY, Design, hashable
from ._errors import InputError
from ._store import Store
from ._table import Table, Tables

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# All size classes, streams, ports and code points together.
ALL = "all"
PARTS = ("class", "limit_s", "above", "stream", "port", "code_point", "counter")
_PLURALS = {
    "class": "size classes",
    "limit_s": "limits",
    "above": "size classes",
    "stream": "streams",
    "port": "ports",
    "code_point": "code points",
    "counter": "counters",
}
Reader = Callable[[str, Any, Sequence[str] | None], pa.Table]


class SweepResults(Tables):
    """The results of a sweep.

    Attributes
    ----------
    transfers, bulk, datagrams, series, replicas, failures : Table
        The tables that the sweep collects, with a typed column for each setting.
    summary : Table
        Of predictions: their measures.
    design : Design
        The rows.
    runs : int
        How many runs are complete; ``len(design) * manifest["replicas"]`` if all are.
    cpu_seconds : float
        CPU time of all runs: that of the processes in which they ran.
    """

    def __init__(self, manifest: Mapping[str, Any], read: Reader, runs: int, cpu_seconds: float) -> None:
        self.manifest = dict(manifest)
        self.design = Design(manifest["design"])
        self.runs, self.cpu_seconds = runs, cpu_seconds
        self._read = read
        self._tables: dict[str, Table] = {}

    @property
    def _all_runs(self) -> int:
        return len(self.design) * int(self.manifest["replicas"])

    def _warn(self) -> None:
        """Say that runs are missing, to whoever called a method of this class."""
        if self.runs < self._all_runs:
            what = f"the sweep is incomplete: {self.runs} of {self._all_runs} runs are there"
            warnings.warn(f"{what}\nrun it with resume=True to complete it", stacklevel=3)

    @classmethod
    def open(cls, store: Store) -> SweepResults:
        """The results in a folder.

        Raises
        ------
        InputError
            If a chunk is damaged.
        """
        manifest = store.manifest()
        chunks = store.chunks(len(manifest["design"]) * manifest["replicas"])
        for number, reason in chunks.damaged.items():
            raise InputError(f"chunk {number} of the sweep in {store.folder} is damaged: {reason}\nrun the sweep with resume=True")

        def read(name: str, condition: Any, columns: Sequence[str] | None) -> pa.Table:
            # It imports pandas, which takes as long as 300 short runs.
            import pyarrow.dataset as ds

            parts = store.parts(name, chunks)
            if not parts:
                return pa.table({})
            return ds.dataset(parts, format="parquet").to_table(filter=condition, columns=columns)

        records = chunks.complete.values()
        try:
            found = cls(manifest, read, sum(one["runs"] for one in records), math.fsum(one["cpu_seconds"] for one in records))
        except (InputError, TypeError) as error:
            raise store.damaged(str(error)) from None
        found._warn()
        return found

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

        return cls(manifest, read, sum(one.runs for one in done), math.fsum(one.cpu_seconds for one in done))

    def table(self, name: str) -> Table:
        """The table of this name."""
        if name != "failures" and name not in self.manifest["collect"]:
            have = ", ".join(self.manifest["collect"])
            raise InputError(f"the sweep did not collect `{name}`; it has {have}\nrun it with collect=[…, {name!r}]")
        if name not in self._tables:
            self._tables[name] = Table(name, lambda: self._whole(name))
        return self._tables[name]

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
            values = _column([point[key] for point in self.design])
            column = values.take(table[ROW])
            field = pa.field(name, column.type, metadata={"setting": key})
            table = table.add_column(at, field, column)
        return table

    def measure(self, measure: str, *, workload: str | None = None, **parts: Any) -> pa.Table:
        """A measure of each replica: ``row``, ``policy``, ``replica``, ``workload``, ``value``, the part, and how it is bounded.

        Parameters
        ----------
        measure
            Its name, such as ``completion-p95``.
        workload
            Of one workload; without, of each.
        **parts
            Of a part: ``class_``, ``limit_s``, ``above``, ``stream``, ``port``, ``code_point``, ``counter``; without, of all
            together where there is such a value, or else of each part.
        """
        import pyarrow.compute as pc

        about(measure)
        self.table("replicas")
        given = _parts(parts)
        condition = pc.field("measure") == measure
        for name, value in (("workload", workload), *given.items()):
            if value is not None:
                condition &= pc.field(name) == value
        found = self._read("replicas", condition, [ROW, POLICY, "replica", "workload", *PARTS, "value", "bound"])
        for name in ("class", "stream", "code_point"):
            if name not in given and found.num_rows:
                together = pc.or_kleene(pc.is_null(found[name]), pc.equal(found[name], ALL))
                found = found.filter(together) if pc.any(together).as_py() else found
        if not found.num_rows:
            raise InputError(self._missing(measure, {"workload": workload, **given}))
        return found

    def _missing(self, measure: str, given: Mapping[str, Any]) -> str:
        """Why there is no value."""
        if len(self.failures) and not self._replica_index():
            return "all runs failed\n`failures` has the reasons"
        where = "".join(f" of {name} {value!r}" for name, value in given.items() if value is not None)
        return f"no replica has the measure `{measure}`{where}\n`replicas` has the measures that there are"

    def _single(self, measure: str, workload: str | None, parts: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows of a measure with one value for each replica and workload."""
        found: list[dict[str, Any]] = self.measure(measure, workload=workload, **parts).to_pylist()
        for name in PARTS:
            values: dict[Any, set[Any]] = defaultdict(set)
            for one in found:
                values[one["workload"]].add(one[name])
            several = next((each for each in values.values() if len(each) > 1), None)
            if several:
                argument = "class_" if name == "class" else name
                all_of_them = ", ".join(repr(one) for one in sorted(several, key=lambda one: (str(type(one)), one)) if one is not None)
                raise InputError(f"`{measure}` is of several {_PLURALS[name]}: give {argument}= one of {all_of_them}")
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
        self._warn()
        names = {point.get(POLICY) for point in self.design}
        if reference == ours:
            raise InputError(f"{ours!r} is compared with itself: give two policies")
        for name in (reference, ours):
            if name not in names:
                raise InputError(f"unknown policy {name!r}: the design has {', '.join(sorted(map(str, names)))}")
        if POLICY not in self.manifest["pair_by"]:
            raise InputError("these policies did not have the same arrivals\nrun the sweep with pair_by='policy'")
        higher = about(measure)[1]
        pairs = self._pairs(self._single(measure, workload, parts), (reference, ours))
        rows = [self._gain(group, found, (reference, ours), measure, higher) for group, found in pairs.items()]
        return Table("gains", lambda: pa.Table.from_pylist(rows))

    def _pairs(
        self, found: list[dict[str, Any]], policies: tuple[str, str]
    ) -> dict[tuple[Any, ...], dict[int, dict[str, Any]]]:
        """Values by group of settings and workload, then by replica and policy."""
        pairs: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
        keys = list(self.design.columns())
        groups = [tuple(hashable(point[key]) for key in keys) for point in self.design]
        for one in found:
            if one[POLICY] in policies:
                value = None if one["bound"] is not None else one["value"]
                pairs[(groups[one[ROW]], one["workload"])][one["replica"]][one[POLICY]] = value
        return pairs

    def _gain(
        self, group: tuple[Any, ...], found: dict[int, dict[str, Any]], policies: tuple[str, str], measure: str, higher: bool | None
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

        Each combination of other settings has its own curve. A mean that is only a bound, since values are, has a hollow triangle
        that points away from the bound.

        Parameters
        ----------
        x
            The setting, by its key or its column.
        measure, workload, **parts
            As in :meth:`measure`.
        ax
            Where to draw; without, in a new figure.
        """
        from ._plot import draw, mean

        self._warn()
        key = self._key(x)
        found = self._single(measure, workload, parts)
        workloads = sorted({one["workload"] for one in found if one["workload"] is not None})
        if len(workloads) > 1:
            raise InputError(f"`{measure}` is of several workloads: give workload= one of {', '.join(workloads)}")
        others = [other for other in self.design.columns() if other != key and self._varies(other)]
        curves: dict[str, dict[Any, list[tuple[float, str | None]]]] = defaultdict(lambda: defaultdict(list))
        for one in found:
            point = self.design.points[one[ROW]]
            curves[self._curve_name(one[POLICY], point, others)][hashable(point[key])].append((one["value"], one["bound"]))
        points = {name: {at: mean(values) for at, values in curve.items()} for name, curve in curves.items()}
        return draw(points, self.design.columns()[key], measure, about(measure)[0], workloads, ax)

    def _varies(self, key: str) -> bool:
        return len({hashable(point[key]) for point in self.design}) > 1

    def _curve_name(self, policy: str | None, point: Mapping[str, Any], others: Sequence[str]) -> str:
        columns = self.design.columns()
        return ", ".join([policy or "policy of the scenario", *(f"{columns[key]} = {point[key]}" for key in others)])

    def _key(self, name: str) -> str:
        columns = self.design.columns()
        keys = [key for key, column in columns.items() if name in (key, column)]
        if not keys:
            raise InputError(f"unknown setting `{name}`: the design has {', '.join(columns.values()) or 'none'}")
        return keys[0]

    def features(self) -> pandas.DataFrame:
        """The settings of each replica, one row each: numbers as they are, text as categories. For learning."""
        import pandas

        self._warn()
        found = self._replica_index()
        rows = [self.design.points[row] for row, _ in found]
        frame = pandas.DataFrame(rows, columns=self.design.keys, index=_index(found))
        frame = frame.rename(columns=self.design.columns())
        for column in frame.columns:
            if frame[column].map(lambda value: isinstance(value, (str, list))).any():
                frame[column] = frame[column].map(str).astype("category")
        return frame

    def targets(self, measures: str | Sequence[str] = ("completion", "completion-p95")) -> pandas.DataFrame:
        """Measures of each replica, one row each, in the order of :meth:`features`: a column for each workload and measure.

        A measure of ports, limits or counters has a column for each, such as ``utilisation[r->d]``. A value that is only a bound
        is missing; a warning says how many are.
        """
        import pandas

        self._warn()
        index, bounds = self._replica_index(), 0
        columns: dict[str, dict[tuple[int, int], float]] = {}
        for measure in texts("measures", measures):
            for one in self.measure(measure).to_pylist():
                bounds += one["bound"] is not None
                value = math.nan if one["bound"] is not None else one["value"]
                columns.setdefault(_target(measure, one), {})[one[ROW], one["replica"]] = value
        if bounds:
            warnings.warn(f"{bounds} values are only bounds: they are missing in the targets", stacklevel=2)
        return pandas.DataFrame(
            {name: [column.get(one, math.nan) for one in index] for name, column in columns.items()}, index=_index(index)
        )

    def _replica_index(self) -> list[tuple[int, int]]:
        """The rows and replicas that have results."""
        self.table("replicas")
        found = self._read("replicas", None, [ROW, "replica"])
        if not found.num_rows:
            return []
        found = found.group_by([ROW, "replica"]).aggregate([])
        return sorted(zip(found[ROW].to_pylist(), found["replica"].to_pylist()))

    def __repr__(self) -> str:
        runs = str(self.runs) if self.runs == self._all_runs else f"{self.runs} of {self._all_runs}"
        return f"<SweepResults: {runs} runs of {len(self.design)} rows; {', '.join(self.manifest['collect'])}>"


def _parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parts by the names of their columns."""
    found = {name.rstrip("_"): value for name, value in given.items()}
    for name, value in found.items():
        if name not in PARTS:
            raise InputError(f"unknown part `{name}`: use {', '.join(PARTS)}")
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (is_number if name == "limit_s" else isinstance(value, str)):
            raise InputError(f"{name} = {value!r}: give {'a number of seconds' if name == 'limit_s' else 'text'}")
    return found


def _target(measure: str, row: Mapping[str, Any]) -> str:
    """The name of a column of targets."""
    parts = [str(row[name]) for name in PARTS if row[name] is not None and row[name] != ALL]
    name = f"{row['workload']}.{measure}" if row["workload"] else measure
    return f"{name}[{', '.join(parts)}]" if parts else name


def _index(pairs: list[tuple[int, int]]) -> pandas.MultiIndex:
    import pandas

    rows, replicas = ([pair[at] for pair in pairs] for at in (0, 1))
    return pandas.MultiIndex.from_arrays([rows, replicas], names=[ROW, "replica"])


def _column(values: list[Any]) -> pa.Array:
    """The values of a setting; as text if they are of several kinds."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([str(value) for value in values])


def _figures(pairs: list[dict[str, float]], policies: tuple[str, str], higher: bool | None) -> dict[str, Any]:
    """Means, difference and gain of pairs."""
    empty = {name: None for name in ("reference", "ours", "difference", "difference_low", "difference_high")}
    empty |= {name: None for name in ("gain_percent", "gain_low", "gain_high")}
    if not pairs:
        return {**empty, "pairs": 0}
    reference, ours = ([one[name] for one in pairs] for name in policies)
    difference, gain = _core.gain(reference, ours, bool(higher))
    gain = None if higher is None else gain
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

"""Tables of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas
    import polars

# Rows that are shown.
SHOWN_ROWS = 10


class Table:
    """A tidy long table, made when it is first used. pandas, polars and others take it without a copy.

    Any library that reads the Arrow C stream interface takes it directly: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, ``duckdb.from_arrow(table)``.
    """

    def __init__(self, name: str, make: Callable[[], pa.Table]) -> None:
        self.name = name
        self._make = make
        self._table: pa.Table | None = None

    def to_arrow(self) -> pa.Table:
        """As a table of pyarrow."""
        if self._table is None:
            self._table = self._make()
        return self._table

    def to_pandas(self) -> pandas.DataFrame:
        """As a data frame of pandas, whose columns share the memory of the Arrow table."""
        import pandas

        return self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def to_polars(self) -> polars.DataFrame:
        """As a data frame of polars, which shares the memory of the Arrow table."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame), "a table is a data frame"
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.to_arrow().schema.__arrow_c_schema__()

    def __len__(self) -> int:
        return int(self.to_arrow().num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.to_arrow().to_batches():
            yield from batch.to_pylist()

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.to_arrow().column_names)

    def __getitem__(self, column: str) -> pa.ChunkedArray:
        return self.to_arrow()[column]

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        shown = self.to_arrow().slice(0, SHOWN_ROWS)
        head = "".join(f"<th>{_escaped(name)}</th>" for name in shown.column_names)
        rows = "".join("<tr>" + "".join(f"<td>{_escaped(_shown(one))}</td>" for one in row.values()) + "</tr>" for row in shown.to_pylist())
        rest = len(self) - shown.num_rows
        note = f"<p>and {rest} more rows</p>" if rest else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


class Tables:
    """Results with tables by name."""

    def table(self, name: str) -> Table:
        """The table of this name."""
        raise NotImplementedError

    @property
    def transfers(self) -> Table:
        """Single transfers; empty if they were not kept."""
        return self.table("transfers")

    @property
    def bulk(self) -> Table:
        """Long flows."""
        return self.table("bulk")

    @property
    def datagrams(self) -> Table:
        """Datagrams of each workload or stream."""
        return self.table("datagrams")

    @property
    def series(self) -> Table:
        """Series of ports and flows over time."""
        return self.table("series")

    @property
    def summary(self) -> Table:
        """Measures over all replicas, with their intervals; of a sweep, those of predictions."""
        return self.table("summary")

    @property
    def replicas(self) -> Table:
        """Measures of each replica."""
        return self.table("replicas")

    @property
    def failures(self) -> Table:
        """What failed, with the reason."""
        return self.table("failures")

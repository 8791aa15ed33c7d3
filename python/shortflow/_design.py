"""Designs of sweeps: rows of settings."""

from __future__ import annotations

import csv
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ._errors import Finding, InputError
from ._text import Path, Policy, as_toml

POLICY = "policy"
# Columns of results that are no settings.
RESERVED = frozenset({"row", "replica", "seed", "engine", "point", "workload", "class", "measure", "unit", "value", "bound", "port", "label"})


class Design:
    """Rows of settings: one row for each point of a sweep.

    The keys of a row are those of ``--set``, such as ``"parameters.load"`` or ``"links.line.rate"``. The key ``"policy"``
    takes a policy: an object, a file, or a shipped name.

    Parameters
    ----------
    points
        The rows. All have the same keys.
    """

    def __init__(self, points: Iterable[Mapping[str, Any]]) -> None:
        self.points: list[dict[str, Any]] = [dict(point) for point in points]
        if not self.points:
            raise InputError("a design needs at least one row")
        keys = list(self.points[0])
        for at, point in enumerate(self.points):
            if set(point) != set(keys):
                other = ", ".join(f"`{key}`" for key in sorted(set(point) ^ set(keys)))
                raise InputError(f"row {at} of the design and row 0 differ in {other}: give each row the same keys")
            for key, value in point.items():
                if key != POLICY:
                    as_toml(key, value)
        self.keys: list[str] = keys
        self._refuse_twice()

    @classmethod
    def rows(cls, rows: Iterable[Mapping[str, Any]]) -> Design:
        """A design of these rows."""
        return cls(rows)

    @classmethod
    def grid(cls, axes: Mapping[str, Sequence[Any]]) -> Design:
        """All combinations of the values of several keys; the last key changes fastest."""
        return cls(dict(zip(axes, values)) for values in itertools.product(*axes.values()))

    @classmethod
    def from_frame(cls, frame: Any) -> Design:
        """The rows of a data frame of pandas or polars, or of an Arrow table."""
        import pyarrow as pa

        table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        return cls(table.to_pylist())

    @classmethod
    def from_csv(cls, path: Path) -> Design:
        """The rows of a CSV file whose first line has the keys."""
        name = os.fspath(path)
        try:
            with open(path, encoding="utf-8", newline="") as file:
                lines = csv.reader(file)
                keys = next(lines, [])
                rows = [cls._row(name, keys, row, lines.line_num) for row in lines if row]
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {name}: {error}") from None
        for at, key in enumerate(keys):
            if not key or key in keys[:at]:
                what = f"`{key}` is twice in the header" if key else "a key in the header is empty"
                raise InputError(f"{name}:1: {what}", [Finding(name, 1, at + 1, what, key, help="give each column its own key")])
        return cls(rows)

    @staticmethod
    def _row(name: str, keys: list[str], values: list[str], line: int) -> dict[str, Any]:
        if len(values) != len(keys):
            what = f"{len(values)} values for {len(keys)} keys"
            raise InputError(f"{name}:{line}: {what}", [Finding(name, line, None, what, help="give each row a value for each key")])
        return {key: value if key == POLICY else plain(value) for key, value in zip(keys, values)}

    def _refuse_twice(self) -> None:
        seen: dict[tuple[Any, ...], int] = {}
        for at, point in enumerate(self.points):
            row = tuple((key, _comparable(point[key])) for key in self.keys)
            if row in seen:
                raise InputError(f"rows {seen[row]} and {at} of the design are the same: give more replicas instead")
            seen[row] = at

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.points)

    def __add__(self, other: Design) -> Design:
        return Design([*self.points, *other.points])

    def columns(self) -> dict[str, str]:
        """The name in results of each key that is not the policy: its last part, if that is unique and not a column already."""
        keys = [key for key in self.keys if key != POLICY]
        short = [key.rsplit(".", 1)[-1] for key in keys]
        is_clear = [short.count(name) == 1 and name not in RESERVED for name in short]
        return {key: name if clear else key for key, name, clear in zip(keys, short, is_clear)}

    def __repr__(self) -> str:
        return f"<Design of {len(self)} rows: {', '.join(self.keys)}>"


def _comparable(value: Any) -> Any:
    return (type(value).__name__, value.file, value.to_toml()) if isinstance(value, Policy) else repr(value)


def plain(text: str) -> Any:
    """A value of a CSV file: a number, a truth value, or text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

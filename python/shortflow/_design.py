"""Designs of sweeps: rows of settings."""

from __future__ import annotations

import csv
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import _arguments as arguments
from ._errors import Finding, InputError
from ._text import Path, Policy, as_toml

POLICY = "policy"
# Columns of results, of any table; a setting of the same name keeps its whole key.
RESERVED = frozenset(
    """
    row policy engine point replica seed workload label id start_s completion_s handshake_s request_s reply_s request_bytes
    reply_bytes retransmissions timeouts syn_retransmissions sent dropped green yellow red other state counted age_s carried_bytes
    client client_port server server_port flow goodput_bits_per_s fair_share_bits_per_s throughput_variation idle_samples stream
    sending_bits_per_s delivered loss delay_mean_s delay_median_s delay_p95_s delay_p99_s delay_max_s delay_deviation_s jitter_mean_s
    jitter_median_s jitter_p95_s jitter_p99_s time_s port queue_packets queue_bytes average_queue link_utilisation open_transfers
    occasion sender cwnd ssthresh srtt_s rttvar_s rto_s segment_bytes outstanding lost delivered_marked measure unit class limit_s
    above code_point counter value low high n bound failure reason replicas reference ours difference difference_low
    difference_high gain_percent gain_low gain_high pairs bounded
    """.split()
)
# Numbers as CSV files have them.
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


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
        self.points: list[dict[str, Any]] = [_plain_row(at, point) for at, point in enumerate(_several("a design", points))]
        if not self.points:
            raise InputError("a design needs at least one row")
        keys = list(self.points[0])
        for at, point in enumerate(self.points):
            if set(point) != set(keys):
                other = ", ".join(f"`{key}`" for key in sorted(set(point) ^ set(keys)))
                raise InputError(f"row {at} of the design and row 0 differ in {other}: give each row the same keys")
        self.keys: list[str] = keys
        self._refuse_twice()

    @classmethod
    def rows(cls, rows: Iterable[Mapping[str, Any]]) -> Design:
        """A design of these rows."""
        return cls(rows)

    @classmethod
    def grid(cls, axes: Mapping[str, Iterable[Any]]) -> Design:
        """All combinations of the values of several keys; the last key changes fastest."""
        if not isinstance(axes, Mapping):
            raise InputError(f"{axes!r} is not a dictionary: give each key a list of values")
        lists = [_several(f"the key `{key}` of a grid", values) for key, values in axes.items()]
        return cls([dict(zip(axes, values)) for values in itertools.product(*lists)])

    @classmethod
    def from_frame(cls, frame: Any) -> Design:
        """The rows of a data frame of pandas or polars, or of an Arrow table."""
        import pyarrow as pa

        try:
            table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        except (TypeError, ValueError) as error:
            raise InputError(f"cannot read a {type(frame).__name__} as a data frame: {error}") from None
        return cls(table.to_pylist())

    @classmethod
    def from_csv(cls, path: Path) -> Design:
        """The rows of a CSV file whose first line has the keys."""
        name = arguments.path("path", path)
        try:
            with open(name, encoding="utf-8-sig", newline="") as file:
                lines = csv.reader(file)
                keys = [key.strip() for key in next(lines, [])]
                _refuse_header(name, keys)
                rows = [_csv_row(name, keys, row, lines.line_num) for row in lines if row]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"cannot read {name}: {error}") from None
        return cls(rows)

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
        names = [name if clear else key for key, name, clear in zip(keys, short, is_clear)]
        return {key: f"set.{name}" if name in RESERVED else name for key, name in zip(keys, names)}

    def __repr__(self) -> str:
        return f"<Design of {len(self)} rows: {', '.join(self.keys)}>"


def _several(what: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InputError(f"{what} is {values!r}: give a list")
    return list(values)


def _plain_row(at: int, point: Any) -> dict[str, Any]:
    """A row with values of Python."""
    if not isinstance(point, Mapping):
        raise InputError(f"row {at} of the design is {point!r}: give a dictionary of keys and values")
    for key in point:
        if not isinstance(key, str) or not key:
            raise InputError(f"row {at} of the design: the key {key!r} is not text")
    policy = point.get(POLICY)
    if POLICY in point and (not isinstance(policy, (Policy, str, os.PathLike, Mapping)) or policy == ""):
        raise InputError(f"row {at} of the design: policy = {policy!r}: give a policy, a file, or a shipped name")
    return {key: value if key == POLICY else _plain_value(key, value) for key, value in point.items()}


def _plain_value(key: str, value: Any) -> Any:
    """A value without types of NumPy and without tuples; one that TOML lacks is refused."""
    as_toml(key, value)
    if isinstance(value, (list, tuple)):
        return [_plain_value(key, one) for one in value]
    return value.item() if hasattr(value, "item") else value


def _comparable(value: Any) -> Any:
    return (type(value).__name__, value.file, value.to_toml()) if isinstance(value, Policy) else repr(value)


def hashable(value: Any) -> Any:
    """A value as a key of dictionaries."""
    return tuple(hashable(one) for one in value) if isinstance(value, list) else value


def _refuse_header(name: str, keys: list[str]) -> None:
    """Refuse keys that cannot be keys."""
    for at, key in enumerate(keys):
        what, help = None, "give each column its own key"
        if ";" in key:
            what, help = "the header has semicolons", "separate keys and values by commas"
        elif not key:
            what = "a key in the header is empty"
        elif key in keys[:at]:
            what = f"`{key}` is twice in the header"
        elif len(key.split()) > 1:
            what, help = f"the key `{key}` has blanks", "write keys as in `--set`, such as links.line.rate"
        if what is not None:
            raise InputError(f"{name}:1: {what}\n{help}", [Finding(name, 1, at + 1, what, key, help=help)])


def _csv_row(name: str, keys: list[str], values: list[str], line: int) -> dict[str, Any]:
    def refuse(what: str, help: str) -> InputError:
        return InputError(f"{name}:{line}: {what}", [Finding(name, line, None, what, help=help)])

    if len(values) != len(keys):
        raise refuse(f"{len(values)} values for {len(keys)} keys", "give each row a value for each key")
    row = {key: value.strip() for key, value in zip(keys, values)}
    for key, value in row.items():
        if not value:
            raise refuse(f"`{key}` is empty", "give each row a value for each key")
    return {key: value if key == POLICY else plain(value) for key, value in row.items()}


def plain(text: str) -> Any:
    """A value of a CSV file: a number, a truth value, or text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text

"""Layouts that put all variants of a case into one table."""

from collections.abc import Callable, Mapping, Sequence

from cells import causes_below, grid, marks_of, number, signed, verdict
from compare import Row, Table
from sides import NAMES


def one_table(tables: Sequence[Table]) -> list[str]:
    """A line for each variant and figure; the peers side by side, after Shortflow."""
    marks = marks_of(row for table in tables for row in table.rows)
    peers = list(dict.fromkeys(table.peer for table in tables))
    lines = by_variant_and_figure(tables)
    titled = len({title for _, title in lines}) > 1
    variables = list(tables[0].variant.values)
    head = [*variables, *(["figure"] if titled else []), "Shortflow"]
    right = {len(head) - 1, *(len(head) + 2 * index + side for index in range(len(peers))
                              for side in (0, 1))}  # fmt: skip
    head += [text for peer in peers for text in (NAMES[peer], "difference")]
    body = []
    for (values, title), rows in lines.items():
        ours = next(iter(rows.values())).ours
        body.append([*values, *([title] if titled else []), number(ours)])
        for peer in peers:
            body[-1] += against(rows[peer]) if peer in rows else ["", ""]
        body[-1].append(verdicts(rows, marks))
    return [*grid([*head, "verdict"], body, right), *causes_below(marks), ""]


def by_variant_and_figure(
    tables: Sequence[Table],
) -> dict[tuple[tuple[str, ...], str], dict[str, Row]]:
    """The rows of all peers by the values of their variant and their title."""
    lines: dict[tuple[tuple[str, ...], str], dict[str, Row]] = {}
    for table in tables:
        for row in table.rows:
            key = (tuple(table.variant.values.values()), row.title)
            lines.setdefault(key, {})[table.peer] = row
    return lines


def against(row: Row) -> list[str]:
    return [number(row.theirs), signed(row.difference)]


def verdicts(rows: Mapping[str, Row], marks: Mapping[str, str]) -> str:
    outside = [verdict(row, marks, NAMES[peer] if len(rows) > 1 else "")
               for peer, row in rows.items() if not row.agrees]  # fmt: skip
    return ", ".join(outside) or "within"


def matrix(tables: Sequence[Table]) -> list[str]:
    """A line for each variant, a column for each figure: the peer's value, and ours if it is outside."""
    marks = marks_of(row for table in tables for row in table.rows)
    titles = list(dict.fromkeys(row.title for table in tables for row in table.rows))
    variables = list(tables[0].variant.values)
    body = []
    for table in tables:
        rows = {row.title: row for row in table.rows}
        cells = [cell(rows[title], marks) if title in rows else "" for title in titles]
        body.append([*table.variant.values.values(), *cells])
    right = range(len(variables), len(variables) + len(titles))
    return [*grid([*variables, *titles], body, right), *causes_below(marks), ""]


def cell(row: Row, marks: Mapping[str, str]) -> str:
    if row.agrees:
        return number(row.theirs)
    return f"{number(row.theirs)}, here {number(row.ours)}: {verdict(row, marks)}"


LAYOUTS: Mapping[str, Callable[[Sequence[Table]], list[str]]] = {
    "one table": one_table,
    "matrix": matrix,
}

"""The pages of chapters: Markdown tables that are also readable as plain text, and the rows as data."""

import re
from collections.abc import Mapping, Sequence

from cases import Case, Chapter
from cells import causes_below, grid, marks_of, number, signed, verdict
from compare import Row, Table
from layouts import LAYOUTS
from publish import Line, Page, data_link, versions_line
from sides import NAMES

COLUMNS = ("case", "variant", "against", "seeds", "figure", "theirs", "theirs_interval", "shortflow",
           "shortflow_interval", "difference_percent", "tolerance_percent", "intervals", "verdict", "causes")  # fmt: skip

RULES = """\
A figure is a mean over seeds ± half its 95 % interval. A row is **within** if the means differ by at most 10 % (or the
share that its case names), or if the intervals overlap. Other rows are **outside**, with their cause below the table."""


def pages(chapters: Sequence[tuple[Chapter, Sequence[Table]]], versions: Mapping[str, str]) -> list[Page]:
    """A page for each chapter."""
    return [page(chapter, tables, versions) for chapter, tables in chapters]


def page(chapter: Chapter, tables: Sequence[Table], versions: Mapping[str, str]) -> Page:
    """A chapter with its rows and its lines in the summary."""
    name = slug(chapter.title)
    rows = [row for table in tables for row in data_rows(table)]
    return Page(name, chapter_text(chapter, tables, versions), COLUMNS, rows, lines_of(chapter, tables))


def slug(title: str) -> str:
    """The name of a chapter's files."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def lines_of(chapter: Chapter, tables: Sequence[Table]) -> list[Line]:
    """A line of the summary for each peer."""
    lines = []
    for peer in dict.fromkeys(table.peer for table in tables):
        rows = [row for table in tables if table.peer == peer for row in table.rows]
        held = sum(row.agrees for row in rows)
        lines.append(Line(chapter.title, slug(chapter.title), NAMES[peer], len(rows), held, len(rows) - held))
    return lines


def data_rows(table: Table) -> list[list[str]]:
    """The rows of a table for the data file, with the digits of the page."""
    rows = []
    for row in table.rows:
        theirs, ours = (number(side).partition(" ± ") for side in (row.theirs, row.ours))
        rows.append([
            table.case.name, table.variant.title, NAMES[table.peer], str(table.variant.seeds), row.title,
            theirs[0], theirs[2], ours[0], ours[2],
            "" if row.difference is None else f"{row.difference * 100:.1f}", f"{row.tolerance * 100:g}",
            "overlap" if row.overlaps else "apart", "within" if row.agrees else "outside",
            " ".join(row.causes) if row.traced or row.agrees else " ".join([*row.causes, "Not traced."]),
        ])  # fmt: skip
    return rows


def chapter_text(chapter: Chapter, tables: Sequence[Table], versions: Mapping[str, str]) -> str:
    """The page of a chapter."""
    name = slug(chapter.title)
    count = sum(len(table.rows) for table in tables)
    peers = dict.fromkeys(table.peer for table in tables)
    sides = {NAMES[side]: version for side, version in versions.items() if side == "ours" or side in peers}
    lines = [f"# {chapter.title}", ""]
    if chapter.about:
        lines += [chapter.about.strip(), ""]
    lines += [f"{data_link(name, count)} {versions_line(sides)}", "", RULES, "", *by_case(chapter, tables), ""]
    for case in chapter.cases:
        own = [table for table in tables if table.case is case]
        if own:
            lines += [f"## {case.name}", "", case.shows.strip(), "", *case_text(case, own)]
    return "\n".join(lines)


def case_text(case: Case, tables: Sequence[Table]) -> list[str]:
    """All rows of a case in its layout; without one, a line for each variant, and the rows outside."""
    if case.layout in LAYOUTS:
        return LAYOUTS[case.layout](tables)
    if len(tables) == 1:
        return table_text(tables[0])
    head = ["variant", "seeds", *COUNTED]
    body = [[table.variant.title, str(table.variant.seeds), *counts(table.rows)] for table in tables]
    lines = [*grid(head, body, right=range(1, len(head))), ""]
    outside = [table for table in tables if not all(row.agrees for row in table.rows)]
    return [*lines, *outside_text(outside)]


COUNTED = ("rows", "means agree", "intervals overlap", "outside")


def counts(rows: Sequence[Row]) -> list[str]:
    agreeing = [row for row in rows if row.agrees]
    near = sum(row.near for row in agreeing)
    return [str(number) for number in (len(rows), near, len(agreeing) - near, len(rows) - len(agreeing))]


def by_case(chapter: Chapter, tables: Sequence[Table]) -> list[str]:
    """A line for each case and peer."""
    body = []
    for case in chapter.cases:
        for peer in dict.fromkeys(table.peer for table in tables if table.case is case):
            rows = [row for table in tables if table.case is case and table.peer == peer for row in table.rows]
            body.append([link(case.name), NAMES[peer], *counts(rows)])
    return grid(["case", "against", *COUNTED], body, right=range(2, 6))


def outside_text(tables: Sequence[Table]) -> list[str]:
    """The rows outside, and their causes."""
    rows = [(table, row) for table in tables for row in table.rows if not row.agrees]
    if not rows:
        return []
    marks = marks_of(row for _, row in rows)
    head = ["outside", "variant", NAMES[tables[0].peer], "Shortflow", "difference", "intervals", "verdict"]
    body = [[row.title, table.variant.title, number(row.theirs), number(row.ours), signed(row.difference),
             "overlap" if row.overlaps else "apart", verdict(row, marks)] for table, row in rows]  # fmt: skip
    return [*grid(head, body, right=range(2, 5)), *causes_below(marks), ""]


def table_text(table: Table) -> list[str]:
    """All rows of one table, and the causes of those outside: for the terminal."""
    marks = marks_of(table.rows)
    head = ["figure", NAMES[table.peer], "Shortflow", "difference", "intervals", "verdict"]
    title = f"**{table.variant.title}** " if table.variant.title else ""
    seeds = f"{table.variant.seeds} seed{'s' if table.variant.seeds > 1 else ''}"
    body = [[row.title, number(row.theirs), number(row.ours), signed(row.difference),
             "overlap" if row.overlaps else "apart", verdict(row, marks)] for row in table.rows]  # fmt: skip
    return [f"{title}({seeds})", "", *grid(head, body, right=range(1, 4)), *causes_below(marks), ""]


def link(title: str) -> str:
    """A link to a heading, by the anchor that code forges derive from it."""
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"

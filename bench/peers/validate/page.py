"""The page: tables in Markdown that read well as plain text too."""

import re
from collections.abc import Mapping, Sequence

import estimate
from cases import Chapter
from cells import causes_below, grid, marks_of, number, signed, verdict
from compare import Row, Table
from layouts import LAYOUTS
from sides import NAMES

HEAD = """\
# Validation

Parts of Shortflow held against other simulators and against theory. `make validate` runs both sides of every
case and writes this page but for its last chapter, which holds it
[against the kernel's own TCP](#against-the-kernels-own-tcp) and is written by `make validate-rehearse`;
[how the cases are written](../bench/peers/README.md) is told beside them.

Each figure is a mean over seeds with its 95 % Student interval; where rare events are counted and no seed
saw any, with the exact Poisson one, 3.7 over the number of seeds. A row is **within** when the two
means differ by at most 10 % (or what its case says), or when their intervals overlap. A row outside
has its cause below the table; where that is not traced to its end, the row says so. Seeds are not paired: the two sides draw different random numbers.

What nobody else has run, or not in a form that can be set alike, is not on this page: WFQ, DRR, FQ-CoDel, DSTF,
SRPT, the Fair Marker, the three-colour markers but TSW2CM, ECN, admission control, and sessions of HTTP, Telnet and FTP.
They are held against their definitions, by hand computations and independent oracles, in the tests of
their crates.
"""


def page(chapters: Sequence[tuple[Chapter, Sequence[Table]]], versions: Mapping[str, str]) -> str:
    """The whole page."""
    parts = [HEAD, summary(chapters, versions)]
    parts += [chapter_text(chapter, tables) for chapter, tables in chapters]
    return "\n".join(parts)


# Chapters that other commands write, in their order: bench/predictions, bench/agreement.
OTHERS = ("predicted", "rehearsed")


def with_chapter(text: str, name: str, chapter: str) -> str:
    """The page with `chapter` as the one of this name of those that other commands write."""
    kept = {other: chapter_of(text, other) for other in OTHERS} | {name: chapter}
    begins = [text.find(begin(other)) for other in OTHERS if begin(other) in text]
    before = text[: min(begins)] if begins else text
    parts = [f"{begin(other)}\n{kept[other].strip()}\n<!-- end: {other} -->\n"
             for other in OTHERS if kept[other]]  # fmt: skip
    return "\n".join([f"{before.rstrip()}\n", *parts])


def chapter_of(text: str, name: str) -> str | None:
    """The chapter of this name of a page, if it has one."""
    _, found, rest = text.partition(begin(name))
    return rest.partition(f"<!-- end: {name} -->")[0] if found else None


def begin(name: str) -> str:
    return f"<!-- begin: {name} -->"


def with_rehearsed(text: str, chapter: str) -> str:
    """The page with `chapter` as the one that is rehearsed."""
    return with_chapter(text, "rehearsed", chapter)


def rehearsed(text: str) -> str | None:
    """The rehearsed chapter of a page, if it has one."""
    return chapter_of(text, "rehearsed")


def summary(
    chapters: Sequence[tuple[Chapter, Sequence[Table]]], versions: Mapping[str, str]
) -> str:
    """Versions, how many rows are within by chapter and peer, and links to those outside."""
    lines = ["| side | version |", "|---|---|"]
    lines += [f"| {NAMES[side]} | {version} |" for side, version in versions.items()]
    lines += ["", "| chapter | against | rows | means agree | intervals overlap | outside |"]
    lines += ["|---|---|---:|---:|---:|---:|"]
    for chapter, tables in chapters:
        for peer in dict.fromkeys(table.peer for table in tables):
            rows = [row for table in tables if table.peer == peer for row in table.rows]
            lines.append(f"| {link(chapter.title)} | {NAMES[peer]} | {counts(rows)} |")
    outside = [line for chapter, tables in chapters for line in outside_of(tables)]
    lines += ["", "Rows outside:" if outside else "No row is outside.", "", *outside]
    return "\n".join(lines) + "\n"


def counts(rows: Sequence[Row]) -> str:
    agreeing = [row for row in rows if row.agrees]
    near = sum(row.near for row in agreeing)
    numbers = (len(rows), near, len(agreeing) - near, len(rows) - len(agreeing))
    return " | ".join(str(number) for number in numbers)


def outside_of(tables: Sequence[Table]) -> list[str]:
    """One line per case that has rows outside."""
    by_case: dict[str, list[str]] = {}
    for table in tables:
        titles = [row.title for row in table.rows if not row.agrees]
        by_case.setdefault(table.case.name, []).extend(titles)
    return [
        f"- {link(name)}: " + ", ".join(f"{title}{times(titles, title)}"
                                        for title in dict.fromkeys(titles))
        for name, titles in by_case.items() if titles
    ]  # fmt: skip


def times(titles: Sequence[str], title: str) -> str:
    count = titles.count(title)
    return f" ({count} times)" if count > 1 else ""


def chapter_text(chapter: Chapter, tables: Sequence[Table]) -> str:
    """A chapter: each case with a table per variant and peer, or as its layout says."""
    lines = [f"## {chapter.title}", ""]
    if chapter.about:
        lines += [chapter.about.strip(), ""]
    for case in chapter.cases:
        own = [table for table in tables if table.case is case]
        if own:
            lines += [f"### {case.name}", "", case.shows.strip(), ""]
            if case.layout in LAYOUTS:
                lines += LAYOUTS[case.layout](own)
            else:
                lines += [line for table in own for line in table_text(table)]
    return "\n".join(lines)


def table_text(table: Table) -> list[str]:
    """One table, and the causes of the rows outside."""
    marks = marks_of(table.rows)
    head = ["figure", NAMES[table.peer], "Shortflow", "difference", "intervals", "verdict"]
    title = f"**{table.variant.title}** " if table.variant.title else ""
    seeds = f"{table.variant.seeds} seed{'s' if table.variant.seeds > 1 else ''}"
    lines = [f"{title}({seeds})", ""]
    lines += grid(head, [cells(row, marks) for row in table.rows], right=range(1, 4))
    return [*lines, *causes_below(marks), ""]


def cells(row: Row, marks: Mapping[str, str]) -> list[str]:
    share = estimate.difference(row.theirs, row.ours)
    return [
        row.title,
        number(row.theirs),
        number(row.ours),
        signed(share),
        "overlap" if estimate.overlap(row.theirs, row.ours) else "apart",
        verdict(row, marks),
    ]


def link(title: str) -> str:
    """A link to a heading, by the anchor that forges make of it."""
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"

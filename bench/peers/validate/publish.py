"""Writes chapters of the validation: a page each, its rows as CSV beside it, and the summary of all chapters.

    docs/validation.md               the summary: one line for each chapter and what it is compared with
    docs/validation/NAME.md          a chapter
    docs/validation/NAME.csv         its rows
    docs/validation/chapters.csv     the lines of the summary; each command replaces its own
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"

# The commands that write chapters, in the order of the summary.
COMMANDS = ("validate", "validate-predict", "judge-predict", "validate-rehearse")

HEAD = """\
# Validation

Shortflow is compared with ns-2, with ns-3, with theory, and with the TCP of the Linux kernel. Each chapter has a page,
with the cases, the rows that miss and their causes. All rows of a chapter are in the CSV file beside its page.

| chapter | against | rows | held | missed | data |
|---|---|---:|---:|---:|---|
"""

FOOT = """
## What a row is

A row is one figure of one case on two sides. Chapters state their target:

| chapters | a row holds if |
|---|---|
| against ns-2, ns-3 and theory | the means differ by at most 10 % (or the share that the case names), or the intervals overlap |
| predictions | the prediction meets the target of its model |
| kernel TCP | the ratio of the medians, 95th percentiles, goodputs or losses is within the target of its kind |

A figure is a mean over seeds with its 95 % Student interval. If a figure counts rare events and no seed saw any, the
interval is the exact Poisson one: 3.7 over the number of seeds. Against ns-2 and ns-3, seeds are not paired: the two
sides draw different random numbers.

A chapter lists each row that misses, with its cause. If the cause is not completely traced, the row says so.

## Limits

These parts are not compared with another simulator, because none has them with comparable settings: WFQ, DRR,
FQ-CoDel, DSTF, SRPT, the Fair Marker, the three-colour markers except TSW2CM, ECN, admission control, and sessions of
HTTP, Telnet and FTP. The tests of their crates compare them with their definitions, by hand computations and
independent oracles.

## Run it again

| command | writes |
|---|---|
| `make validate` | the chapters against ns-2, ns-3 and theory; [bench/peers](../bench/peers/README.md) explains how their cases are written |
| `make validate-predict` | predictions against simulations |
| `make judge-predict` | predictions of scenarios of every kind |
| `make validate-rehearse` | the kernel's TCP; as root, in about 35 minutes |

Each command runs both sides of its cases, writes its chapters, and replaces its lines in the table above.
"""


@dataclass(frozen=True)
class Line:
    """A line of the summary: a chapter against one peer."""

    chapter: str
    page: str
    against: str
    rows: int
    held: int
    missed: int


@dataclass(frozen=True)
class Page:
    """A chapter: its text, and its rows under the names of their columns."""

    name: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[Line]


def publish(command: str, pages: Sequence[Page], docs: Path = DOCS) -> None:
    """Writes the chapters of a command in place of those that it wrote before."""
    folder = docs / "validation"
    folder.mkdir(exist_ok=True)
    kept = read_lines(folder / "chapters.csv")
    current = {page.name for page in pages}
    for name in {line.page for line in kept.get(command, [])} - current:
        for suffix in ("md", "csv"):
            (folder / f"{name}.{suffix}").unlink(missing_ok=True)
    for page in pages:
        (folder / f"{page.name}.md").write_text(page.text.rstrip() + "\n")
        (folder / f"{page.name}.csv").write_text(as_csv(page.columns, page.rows))
    kept[command] = [line for page in pages for line in page.lines]
    names = ["command", *(field.name for field in fields(Line))]
    lines = [(each, line) for each in COMMANDS for line in kept.get(each, [])]
    (folder / "chapters.csv").write_text(as_csv(names, [[each, *astuple(line)] for each, line in lines]))
    (docs / "validation.md").write_text(summary([line for _, line in lines]))


def read_lines(path: Path) -> dict[str, list[Line]]:
    """The lines of the summary by the command that wrote them."""
    found: dict[str, list[Line]] = {}
    if path.is_file():
        for row in csv.DictReader(io.StringIO(path.read_text())):
            numbers = (int(row[name]) for name in ("rows", "held", "missed"))
            line = Line(row["chapter"], row["page"], row["against"], *numbers)
            found.setdefault(row["command"], []).append(line)
    return found


def summary(lines: Sequence[Line]) -> str:
    """The page of all chapters."""
    table = [f"| [{line.chapter}](validation/{line.page}.md) | {line.against} | {line.rows} | {line.held} | {line.missed} "
             f"| [{line.page}.csv](validation/{line.page}.csv) |" for line in lines]  # fmt: skip
    total = [str(sum(getattr(line, name) for line in lines)) for name in ("rows", "held", "missed")]
    table.append(f"| all | | {' | '.join(total)} | |")
    return HEAD + "\n".join(table) + "\n" + FOOT


def as_csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def data_link(name: str, count: int, what: str = "rows of this chapter") -> str:
    """A sentence with the link to the data of a chapter."""
    return f"All {count} {what} are in [{name}.csv]({name}.csv)."


def versions_line(versions: Mapping[str, str]) -> str:
    """The compared versions in one sentence."""
    return f"Versions: {', '.join(f'{side} {version}' for side, version in versions.items())}."

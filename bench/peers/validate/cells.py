"""Formats numbers and table rows."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from compare import Row
from estimate import Estimate


def signed(share: float | None) -> str:
    """A difference in per cent."""
    if share is None:
        return "–"
    text = f"{abs(share) * 100:.1f} %"
    return text if share == 0 or text == "0.0 %" else ("+" if share > 0 else "−") + text


def number(value: Estimate) -> str:
    """The mean to four digits, its interval to the same number of places."""
    places = 0
    while places < 6 and 0 < abs(value.mean) * 10**places < 999.5:
        places += 1
    text = f"{value.mean:.{places}f}"
    return text if value.half_width is None else f"{text} ± {value.half_width:.{places}f}"


def verdict(row: Row, marks: Mapping[str, str], peer: str = "") -> str:
    """Whether the row is within; if not, of which peer, and the marks of its causes."""
    if row.agrees:
        return "within"
    where = " ".join(f"({marks[cause]})" for cause in row.causes)
    return " ".join(filter(None, ["**outside**", peer, where, "" if row.traced else "not traced"]))


def marks_of(rows: Iterable[Row]) -> dict[str, str]:
    """A letter for each cause."""
    causes = dict.fromkeys(cause for row in rows for cause in row.causes)
    return {cause: chr(ord("a") + index) for index, cause in enumerate(causes)}


def causes_below(marks: Mapping[str, str]) -> list[str]:
    """The causes, each with its mark."""
    return ["", *(f"- ({mark}) {cause}" for cause, mark in marks.items())] if marks else []


def grid(head: Sequence[str], body: Sequence[Sequence[str]], right: Collection[int]) -> list[str]:
    """A table whose columns are aligned, those in `right` to the right."""
    widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
    rule = [
        "-" * (width - 1) + ":" if column in right else "-" * width
        for column, width in enumerate(widths)
    ]
    return [aligned(line, widths, right) for line in [head, rule, *body]]


def aligned(line: Sequence[str], widths: Sequence[int], right: Collection[int]) -> str:
    padded = [
        text.rjust(width) if column in right else text.ljust(width)
        for column, (text, width) in enumerate(zip(line, widths))
    ]
    return f"| {' | '.join(padded)} |"

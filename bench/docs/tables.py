"""Markdown tables without alignment, for generated pages."""

from collections.abc import Sequence


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    rows = [head, ["---"] * len(head), *body]
    return ["| " + " | ".join(cell(text) for text in row) + " |" for row in rows]


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def generated(title: str, about: str) -> list[str]:
    """The head of a generated page."""
    return [f"# {title}", "", f"{about} `make reference` writes this page.", ""]

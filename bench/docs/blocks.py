"""Fenced blocks of Markdown pages."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from paths import ROOT


@dataclass(frozen=True)
class Block:
    """A fenced block. Its info string is a language, words, and `title="FILE"`, as in `toml fragment`."""

    page: Path
    line: int
    language: str
    words: frozenset[str]
    title: str | None
    text: str = field(repr=False)

    @property
    def place(self) -> str:
        """Where it begins."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


FENCE = re.compile(r"^( *)(```+)([^`]*)$")


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in their order."""
    found, open_fence = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        match = FENCE.match(line)
        if open_fence is None:
            if match:
                open_fence = (number, match[1], match[2], match[3].strip(), [])
        elif match and match[2] == open_fence[2] and not match[3].strip():
            found.append(block_of(page, *open_fence))
            open_fence = None
        else:
            open_fence[4].append(line.removeprefix(open_fence[1]))
    return found


def block_of(page: Path, number: int, _indent: str, _fence: str, info: str, lines: list[str]) -> Block:
    words = shlex.split(info)
    titles = [word.removeprefix("title=") for word in words if word.startswith("title=")]
    others = [word for word in words if not word.startswith("title=")]
    return Block(page, number, others[0] if others else "", frozenset(others[1:]), titles[0] if titles else None,
                 "\n".join(lines) + "\n")  # fmt: skip

"""The blocks of Python in the documentation."""

import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["python.md"])
def test_the_blocks_of_a_page_run(here: pathlib.Path, page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    names: dict[str, object] = {}
    blocks = list(BLOCK.finditer(text))
    assert blocks
    for block in blocks:
        # Line numbers in errors are those of the page.
        before = "\n" * text[: block.start(1)].count("\n")
        exec(compile(before + block[1], page, "exec"), names)

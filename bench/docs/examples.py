"""Runs the commands of the documentation and checks its TOML blocks.

Blocks of a page share a folder, which begins with the repository's scenarios, policies and papers. A block with
`title="FILE"` is written there. docs/style.md lists the words that blocks may have.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fragments
from blocks import Block, blocks
from paths import DOCS, ROOT, Failed

PAGES = ("README.md", "docs/**/*.md", "scenarios/*.md", "policies/*.md", "papers/*/README.md")
SHELLS = ("sh", "console")
# Programs that a page may call and a machine may lack, or that would change it.
STAND_INS = ("shortflow", "sudo", "make", "git", "cargo", "ssh", "curl", "tshark", "tcptrace", "ldapadd", "ldapsearch", "systemctl",
             "apt-get", "pip", "python3", "npm", "taplo")  # fmt: skip
SECONDS = 300
SHARED = ("scenarios", "policies", "papers", "bench/live", "crates/cli/tests/it")


def check(shortflow: Path, only: str | None) -> None:
    """Fails if a block of any page does not do what it says."""
    pages = sorted({path for pattern in PAGES for path in ROOT.glob(pattern) if not only or only in str(path.relative_to(ROOT))})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda page: check_page(page, shortflow), pages))
    wrong = [line for found, _ in results for line in found]
    if wrong:
        raise Failed(f"{len(wrong)} blocks do not do what they say:\n" + "\n".join(wrong))
    print(f"{sum(count for _, count in results)} blocks of {len(pages)} pages hold")


def check_page(page: Path, shortflow: Path) -> tuple[list[str], int]:
    """What is wrong with a page, and how many blocks were checked."""
    found = blocks(page)
    if not any(block.language in ("toml", *SHELLS) for block in found):
        return [], 0
    with tempfile.TemporaryDirectory() as home:
        folder = prepared(Path(home))
        wrong, count = [], 0
        for before, block in zip([None, *found], found):
            try:
                count += check_block(block, before, found, folder, shortflow)
            except Failed as error:
                wrong.append(f"{block.place}: {error}")
    return wrong, count


def prepared(home: Path) -> Path:
    """A folder with the repository's examples."""
    folder = home / "work"
    for name in SHARED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.rs", "cache", "results"))
    for name in ("fleet", "fleet-before"):
        shutil.copytree(ROOT / "policies", folder / name / "policies")
        (folder / name / "fleet.toml").write_text(fleet())
    programs = home / "bin"
    programs.mkdir()
    for name in STAND_INS:
        path = programs / name
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -B {Path(__file__).with_name("stand_in.py")} {name} "$@"\n')
        path.chmod(0o755)
    return folder


def fleet() -> str:
    """The fleet that the page on agents shows."""
    return next(block.text for block in blocks(DOCS / "agent.md") if block.title == "fleet/fleet.toml")


def check_block(block: Block, before: Block | None, page: list[Block], folder: Path, shortflow: Path) -> bool:
    """Checks a block; whether there was something to check."""
    if block.title:
        (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
        (folder / block.title).write_text(block.text)
    if block.language in SHELLS:
        run(block, folder, shortflow)
    elif block.language == "toml":
        check_toml(block, page, folder, shortflow)
    elif block.language == "text" and "output" in block.words:
        compare_output(block, before, folder)
    else:
        return False
    return True


def run(block: Block, folder: Path, shortflow: Path) -> None:
    """Runs a block; what it prints is kept for an `output` block behind it."""
    home = folder.parent
    if "> /" in block.text or ">/" in block.text:
        block_text = "\n".join(line for line in block.text.splitlines() if "> /" not in line and ">/" not in line)
    else:
        block_text = block.text
    environment = {"PATH": f"{home / 'bin'}:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(home), "LANG": "C.UTF-8", "DOCS_SHORTFLOW": str(shortflow),
                   "DOCS_MAKEFILE": str(ROOT / "Makefile"), "TOKEN": "token"}  # fmt: skip
    try:
        ended = subprocess.run(["bash", "-euo", "pipefail", "-c", block_text], cwd=folder, env=environment, capture_output=True,
                               text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Failed(f"takes more than {SECONDS} s") from None
    (home / "printed").write_text(ended.stdout)
    if ended.returncode != 0 and "fails" not in block.words:
        raise Failed(f"ends with exit code {ended.returncode}\n{ended.stderr.strip()[-1500:]}")


def compare_output(block: Block, before: Block | None, folder: Path) -> None:
    """Whether a command printed what the page shows; a line with `…` stands for any lines."""
    if before is None or before.language not in SHELLS:
        raise Failed("`output` must follow a block of commands")
    printed = [line.rstrip() for line in (folder.parent / "printed").read_text().splitlines()]
    missing = [line for line in block.text.splitlines() if line.strip() and "…" not in line and line.rstrip() not in printed]
    if missing:
        raise Failed("is not what the command prints; these lines differ:\n" + "\n".join(missing[:10]))


def check_toml(block: Block, page: list[Block], folder: Path, shortflow: Path) -> None:
    """Checks a file, or a fragment in its frame."""
    for text, kind in whole_files(block, page):
        if kind == "other":
            continue
        path = folder / ("fleet-of-a-page/fleet.toml" if kind == "fleet" else block.title or "checked-block.toml")
        if kind == "fleet":
            shutil.copytree(folder / "policies", path.parent / "policies", dirs_exist_ok=True)
        path.write_text(text)
        command = ["agent", "plan", str(path.parent)] if kind == "fleet" else ["check", str(path)]
        ended = subprocess.run([shortflow, *command], cwd=folder, capture_output=True, text=True)
        if ended.returncode != 0:
            raise Failed(f"is refused as a {kind}\n{(ended.stdout + ended.stderr).strip()[-1500:]}")


def whole_files(block: Block, page: list[Block]) -> Iterator[tuple[str, str]]:
    """The files to check, with their kind: the block, or its parts in the frame of the page."""
    try:
        if "fragment" not in block.words:
            yield block.text, "other" if "other" in block.words else fragments.kind(tomllib.loads(block.text))
            return
        for part in fragments.parts(block.text):
            kind = fragments.kind(part)
            whole = fragments.merged(frame(kind, page), part)
            yield fragments.dumped(fragments.linked(whole) if kind == "scenario" else whole), kind
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise Failed(str(error)) from error


def frame(kind: str, page: list[Block]) -> dict:
    """The first whole file of this kind on the page."""
    for block in page:
        if block.language == "toml" and not block.words:
            found = tomllib.loads(block.text)
            if fragments.kind(found) == kind:
                return found
    raise ValueError(f"a fragment of a {kind} needs a whole one on its page")

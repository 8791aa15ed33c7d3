"""The part of docs/deploy-results.md that a comparison writes."""

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from hosts import Failed, foreign_devices
from shared import ROOT

PAGE = ROOT / "docs" / "deploy-results.md"


def parser(prog: str, about: str, policies: Iterable[str]) -> argparse.ArgumentParser:
    """The options that every comparison has."""
    options = argparse.ArgumentParser(prog=prog, description=about.splitlines()[0])
    options.add_argument("--shortflow", type=Path, default=ROOT / "target" / "release" / "shortflow")
    options.add_argument("--replicas", type=int, default=3)
    options.add_argument("--only", choices=policies, help="one policy, whose table is printed instead")
    return options


def fill(part: str, names: Iterable[str], measure: Callable, table: Callable[[dict], str], *, is_printed: bool) -> int:
    """Measures each policy and writes their table between the marks of a part, or prints it; gives the exit code."""
    if found := foreign_devices():
        print(f"needs a network namespace of its own: unshare -n …; found {found}", file=sys.stderr)
        return 3
    columns = {}
    try:
        for name in names:
            columns[name] = measure(name)
            print(f"{name}: done", file=sys.stderr)
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if is_printed:
        print(table(columns))
        return 0
    begin, end = f"<!-- begin: {part} -->", f"<!-- end: {part} -->"
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{before}{begin}\n{table(columns)}\n{end}{rest.split(end)[1]}")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0

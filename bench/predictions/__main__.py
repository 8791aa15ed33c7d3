"""Predicts and simulates scenarios drawn at random from the range of each model, and writes a chapter of
docs/validation.md.

What was simulated before is not simulated again unless its inputs or the binary have changed. With --only the
chapter of one model is printed instead.

Exit codes: 0 the chapter is written; 2 a run failed; 3 the machine lacks something; 130 interrupted.
"""

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path

from chapter import chapter, part, rows
from draws import FAMILIES
from running import Failed, run_all
from shared import ROOT, Progress, with_chapter

PAGE = ROOT / "docs" / "validation.md"
RESULTS = ROOT / "target" / "predictions"
NOTES = Path(__file__).resolve().parent / "notes.toml"


def main() -> int:
    """Runs the command; gives its exit code."""
    parser = argparse.ArgumentParser(
        prog="predictions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[family.name for family in FAMILIES], help="one model")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="scenarios at a time (default: 2)")
    parser.add_argument("--shortflow", type=Path, metavar="FILE",
                        default=ROOT / "target" / "release" / "shortflow",
                        help="the binary (default: target/release/shortflow)")  # fmt: skip
    arguments = parser.parse_args()
    if not arguments.shortflow.is_file():
        print(f"error: no binary {arguments.shortflow}: make build", file=sys.stderr)
        return 3
    try:
        return study(arguments)
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; the next call goes on from here", file=sys.stderr)
        return 130


def study(arguments: argparse.Namespace) -> int:
    """Runs the families that are asked for and tells what came out."""
    shortflow = arguments.shortflow.resolve()
    families = [family for family in FAMILIES if arguments.only in (None, family.name)]
    drawn = [each for family in families for each in family.scenarios()]
    found = run_all(drawn, shortflow, RESULTS, arguments.jobs, Progress())
    by_family = {}
    for family in families:
        by_family[family.name], found = found[:family.count], found[family.count:]
    notes = {name: note["text"] for name, note in tomllib.loads(NOTES.read_text()).items()}
    if arguments.only:
        for family in families:
            each = by_family[family.name]
            print("\n".join(["; ".join(row) for row in rows(family, each)] + part(family, each, "")))
            for one in each:
                for told in one.refused:
                    print(f"{one.drawn.name}: {told}")
        return 0
    told = subprocess.run([shortflow, "--version"], capture_output=True, text=True, check=True)
    text = chapter(by_family, notes, told.stdout.split()[1])
    PAGE.write_text(with_chapter(PAGE.read_text(), "predicted", text))
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

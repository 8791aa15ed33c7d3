"""Measures what sweeps cost: `python3 bench/sweep [--runs N]`, with the package installed.

Prints tables of Markdown: CPU time and memory of many small runs in one process, and as sweeps with one and two worker processes; a
model of what a sweep adds; a plan for a large sweep by it. With --write they become the section of docs/performance.md.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from measure import Work, become_reaper, least
from model import described, fitted, plan, planned, table

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench" / "performance"))

import page  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"
# Ten million runs on a thousand cores, short ones and long ones.
LARGE = [(10_000_000, run, 1000) for run in (0.001, 0.1, 1.0)]


def main() -> None:
    """Measure, and print or write the tables."""
    parser = argparse.ArgumentParser(prog="bench/sweep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000, metavar="N", help="small runs, in ten rows (default: 10000)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each is measured; the least counts (default: 3)")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/performance.md")
    given = parser.parse_args()
    become_reaper()
    parts = []
    names = ["one process, without tables and files", "a sweep with one worker", "a sweep with two workers"]
    with tempfile.TemporaryDirectory() as folder:
        for runs in (given.runs // 10, given.runs):
            found = least([Work(runs, jobs) for jobs in (0, 1, 2)], given.rounds, folder)
            parts.append(table(dict(zip(names, found)), runs))
        model = fitted(found[0].cpu / given.runs, given.rounds, folder)
    parts += [described(model), planned([plan(model, *one) for one in LARGE])]
    text = "\n\n".join(parts)
    print(text)
    if given.write:
        page.replace(PAGE, page.filled(PAGE.read_text(), {"sweeps": f"{page.machine()}.\n\n{text}"}))


if __name__ == "__main__":
    main()

"""Runs every case on both sides and writes chapters of docs/validation.

Results are cached; a case runs again only if its inputs have changed. With --only or --chapter the tables
are printed and no page is written.

Exit codes: 0 every row is within, or outside with its cause traced; 1 a row is outside and its cause
is not traced; 2 invalid input or a failed run; 3 a peer is not installed; 130 interrupted.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import sides
from cases import BadCase, Case, Chapter, Variant, read_chapter
from compare import Table, table
from page import pages, table_text
from progress import Progress
from publish import DOCS, publish
from runs import Cache, Failed, run_all
from sides import Missing, Run

CASES = sides.PEERS_DIR / "cases"


def main() -> int:
    """Runs the command; gives its exit code."""
    arguments = parse_arguments()
    try:
        return validate(arguments)
    except (BadCase, Failed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Missing as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("\ninterrupted; the next call goes on from here", file=sys.stderr)
        return 130


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="validate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", help="cases and variants whose name has TEXT")
    parser.add_argument("--chapter", metavar="NAME", help="the cases of cases/NAME.toml")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at a time (default: 2)")
    parser.add_argument("--list", action="store_true", help="list the cases and how much is to run")
    parser.add_argument("--outside", action="store_true", help="print tables with rows outside only")
    parser.add_argument("--shortflow", type=Path, metavar="FILE",
                        default=sides.ROOT / "target" / "release" / "shortflow",
                        help="the binary (default: target/release/shortflow)")
    return parser.parse_args()


def validate(arguments: argparse.Namespace) -> int:
    if not arguments.shortflow.is_file():
        raise Missing(f"no binary {arguments.shortflow}: make build")
    shortflow = arguments.shortflow.resolve()
    chapters = read_chapters(arguments)
    cache = Cache(sides.TARGET / "runs")
    if arguments.list:
        list_cases(chapters, cache, shortflow)
        return 0
    runs = [run for _, _, _, ours, theirs in all_runs(chapters, shortflow)
            for run in (ours, *(run for each in theirs.values() for run in each))]  # fmt: skip
    run_all(runs, cache, arguments.jobs, Progress())
    tables = all_tables(chapters, cache, shortflow)
    write(arguments, chapters, tables, shortflow)
    untraced = [row for each in tables.values() for t in each for row in t.rows
                if not row.agrees and not row.traced]  # fmt: skip
    if untraced:
        print(f"{len(untraced)} rows are outside, and their cause is not traced", file=sys.stderr)
    return 1 if untraced else 0


def read_chapters(arguments: argparse.Namespace) -> list[Chapter]:
    """The chapters in the order of their files' names, with the selected cases."""
    paths = sorted(CASES.glob(f"{arguments.chapter or '*'}.toml"))
    chapters = [chosen(read_chapter(path), arguments.only) for path in paths]
    if not any(chapter.cases for chapter in chapters):
        raise BadCase("no case has that name")
    return chapters


def chosen(chapter: Chapter, only: str | None) -> Chapter:
    if only is None:
        return chapter
    cases = []
    for case in chapter.cases:
        fits = [v for v in case.variants if only.lower() in label_of(case, v).lower()]
        if fits:
            cases.append(replace(case, variants=tuple(fits)))
    return Chapter(chapter.title, chapter.about, tuple(cases), chapter.notes)


def all_runs(
    chapters: Sequence[Chapter], shortflow: Path
) -> Iterator[tuple[Chapter, Case, Variant, Run, dict[str, list[Run]]]]:
    """Every variant with Shortflow's run and those of each peer."""
    for chapter in chapters:
        for case in chapter.cases:
            for variant in case.variants:
                label = label_of(case, variant)
                theirs = {
                    peer: [sides.peer_run(peer, setup, seed, label)
                           for seed in seeds_of(peer, variant)]
                    for peer, setup in variant.peers.items()
                }  # fmt: skip
                yield chapter, case, variant, sides.our_run(shortflow, variant, label), theirs


def seeds_of(peer: str, variant: Variant) -> range:
    """Theory is computed once."""
    return range(1, 2) if peer == "theory" else range(1, variant.seeds + 1)


def label_of(case: Case, variant: Variant) -> str:
    return f"{case.name} ({variant.title})" if variant.title else case.name


def all_tables(
    chapters: Sequence[Chapter], cache: Cache, shortflow: Path
) -> dict[str, list[Table]]:
    """The tables by their chapter's title, from the cache."""
    tables: dict[str, list[Table]] = {chapter.title: [] for chapter in chapters}
    for chapter, case, variant, ours, theirs in all_runs(chapters, shortflow):
        here = cache.get(ours.key) or []
        for peer, runs in theirs.items():
            there = [figures for run in runs for figures in cache.get(run.key) or []]
            compared = table(case, variant, peer, there, here, chapter.notes)
            if not compared.rows:
                raise BadCase(f"`{label_of(case, variant)}` has no figure in common with {peer}")
            tables[chapter.title].append(compared)
    return tables


def write(
    arguments: argparse.Namespace, chapters: Sequence[Chapter],
    tables: dict[str, list[Table]], shortflow: Path,
) -> None:  # fmt: skip
    """Writes the chapters, or prints the tables of a part of them."""
    if arguments.only is None and arguments.chapter is None and not arguments.outside:
        publish("validate", pages([(chapter, tables[chapter.title]) for chapter in chapters], versions(tables, shortflow)))
        print(f"wrote {DOCS.relative_to(sides.ROOT)}/validation")
        return
    for table in (table for chapter in chapters for table in tables[chapter.title]):
        if not arguments.outside or any(not row.agrees for row in table.rows):
            print("\n".join([table.case.name, "", *table_text(table)]))


def versions(tables: dict[str, list[Table]], shortflow: Path) -> dict[str, str]:
    """The versions of both sides."""
    ours = subprocess.run([shortflow, "--version"], capture_output=True, text=True, check=True)
    peers = dict.fromkeys(table.peer for each in tables.values() for table in each)
    return {"ours": ours.stdout.split()[1]} | {
        peer: f"Debian {sides.PACKAGES[peer]} {sides.version(peer)}"
        for peer in peers if peer != "theory"
    }  # fmt: skip


def list_cases(chapters: Sequence[Chapter], cache: Cache, shortflow: Path) -> None:
    for _, case, variant, ours, theirs in all_runs(chapters, shortflow):
        runs = [ours, *(run for each in theirs.values() for run in each)]
        left = sum(cache.get(run.key) is None for run in runs)
        print(f"{label_of(case, variant):70} {len(runs)} runs, {left} to do")


if __name__ == "__main__":
    sys.exit(main())

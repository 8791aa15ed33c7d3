"""Simulates and rehearses every case, and writes a chapter of docs/validation.

Results are cached; a case runs again only if its inputs or the binary have changed. With --only the
chapter is printed instead.

Exit codes: 0 every row holds, or its cause is known; 1 a row misses and its cause is not known; 2 invalid
input or a failed run; 3 the machine lacks something; 130 interrupted.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import kernel
from casebook import CONTROLS, HERE, ROOT, BadCase, read_cases
from chapter import Found, chapter, rows_text
from paired import order_of, rows_of
from notes import read_notes
from running import ENGINES, REHEARSE, Failed, Job, lateness, replicas, run_all
from shared import DOCS, Progress, publish


RESULTS = ROOT / "target" / "agreement"


def main() -> int:
    """Runs the command; gives its exit code."""
    arguments = parse_arguments()
    try:
        return study(arguments)
    except BadCase as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 3 if error.code == 3 else 2
    except KeyboardInterrupt:
        print("\ninterrupted; the next call goes on from here", file=sys.stderr)
        return 130


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="agreement", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", help="cases whose name has TEXT")
    parser.add_argument("--jobs", type=int, default=4, metavar="N",
                        help="cases at a time (default: 4, for two cores); those that were late are run again alone")
    parser.add_argument("--keep-rehearsals", action="store_true",
                        help="do not rehearse again for another binary: for one that differs in what it simulates only")
    parser.add_argument("--shortflow", type=Path, metavar="FILE",
                        default=ROOT / "target" / "release" / "shortflow",
                        help="the binary (default: target/release/shortflow)")
    return parser.parse_args()


def study(arguments: argparse.Namespace) -> int:
    """Runs the selected cases and reports the results."""
    if not arguments.shortflow.is_file():
        raise Failed(f"no binary {arguments.shortflow}: make build", 3)
    shortflow = arguments.shortflow.resolve()
    wanted = (arguments.only or "").lower()
    cases = [case for case in read_cases(HERE / "cases.toml") if wanted in case.name.lower()]
    if not cases:
        raise BadCase(f"no case has `{arguments.only}` in its name")
    jobs = [Job(case, control) for case in cases for control in CONTROLS]
    late = run_all(jobs, shortflow, RESULTS, arguments.jobs, arguments.keep_rehearsals,
                   Progress())
    notes = read_notes(HERE / "notes.toml")
    found = [found_of(job) for job in jobs if job not in late]
    doubted = further_jobs(found)
    never = run_all(doubted, shortflow, RESULTS, arguments.jobs, arguments.keep_rehearsals, Progress())
    found = [with_further(each, [job for job in doubted if job not in never]) for each in found]
    late += never
    page = chapter(found, late, notes, versions(shortflow))
    if arguments.only:
        print(page.text, *rows_text(found), sep="\n")
    else:
        publish("validate-rehearse", [page])
        print(f"wrote {DOCS.relative_to(ROOT)}/validation/{page.name}.md")
    untold = [row for each in found for row in each.rows
              if not row.judged.holds and not any(note.fits(each.job, row) for note in notes)]  # fmt: skip
    if untold:
        print(f"{len(untold)} rows miss their target, and no cause is told", file=sys.stderr)
    return 1 if untold else 0


def found_of(job: Job) -> Found:
    """The results of a case."""
    folder = RESULTS / job.folder_name
    found = both_engines(job)
    names = [Path(policy).stem for policy in job.case.policies]
    rows = [row for at, name in enumerate(names)
            for row in rows_of(name, found[at, "simulate"], found[at, "rehearse"], job.case.port)]  # fmt: skip
    return Found(job, order_of(found, job.case.order, job.case.port), rows, lateness(folder / REHEARSE))


def both_engines(job: Job) -> dict[tuple[int, str], list[dict]]:
    """The results of a job's replicas, by the number of the policy and the engine."""
    folder = RESULTS / job.folder_name
    return {key: each for engine in ENGINES for key, each in replicas(folder / engine).items()}


def further_jobs(found: Sequence[Found]) -> list[Job]:
    """Jobs for further pairs of each policy with a row that may miss by chance, one job for each line."""
    jobs = [Job(each.job.case, each.job.control, policy)
            for each in found for policy in each.job.case.policies
            if any(row.asks_for_more and row.policy == Path(policy).stem for row in each.rows)]  # fmt: skip
    return list({job.folder_name: job for job in jobs}.values())


def with_further(found: Found, jobs: Sequence[Job]) -> Found:
    """The results of a case; each doubtful row has the results of its further pairs."""
    case, control = found.job.case, found.job.control
    done = {job.folder_name for job in jobs}
    rows = list(found.rows)
    for job in (Job(case, control, policy) for policy in case.policies):
        if job.folder_name not in done:
            continue
        pairs = both_engines(job)
        name = Path(job.further).stem
        further = {(row.subject, row.kind): row
                   for row in rows_of(name, pairs[0, "simulate"], pairs[0, "rehearse"], case.port)}  # fmt: skip
        rows = [replace(row, further=further.get((row.subject, row.kind)))
                if row.policy == name and row.asks_for_more else row for row in rows]  # fmt: skip
    return replace(found, rows=rows)


def versions(shortflow: Path) -> dict[str, str]:
    """The versions of both sides."""
    ours = subprocess.run([shortflow, "--version"], capture_output=True, text=True, check=True)
    return {"Shortflow": ours.stdout.split()[1], "Linux": f"{kernel.version()}, timers of {kernel.timer_tick()}"}


if __name__ == "__main__":
    sys.exit(main())

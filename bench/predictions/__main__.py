"""Predicts and simulates random scenarios from the range of each model, and writes a chapter of
docs/validation.

Simulations are cached; one runs again only if its inputs or the binary have changed. With --only the
chapter of one model is printed instead. With --mixed, scenarios of every kind are drawn and judged instead, in the models' range or
not; --seed draws others.

Exit codes: 0 the chapter is written; 2 a run failed; 3 the machine lacks something; 130 interrupted.
"""

import argparse
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import judging
import mixed
from chapter import chapter, part, rows
from draws import FAMILIES
from running import Failed, run_all
from shared import DOCS, ROOT, Progress, publish

RESULTS = ROOT / "target" / "predictions"
NOTES = Path(__file__).resolve().parent / "notes.toml"


def main() -> int:
    """Runs the command; gives its exit code."""
    parser = argparse.ArgumentParser(
        prog="predictions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[family.name for family in FAMILIES], help="one model")
    parser.add_argument("--mixed", action="store_true", help="judge scenarios of every kind, and print what came out")
    parser.add_argument("--seed", type=int, nargs="+", default=[mixed.SEED], help=f"of --mixed (default: {mixed.SEED})")
    parser.add_argument("--write", action="store_true", help="write what --mixed finds into docs/validation, too")
    parser.add_argument("--count", type=int, default=mixed.COUNT, help=f"of --mixed (default: {mixed.COUNT})")
    parser.add_argument("--replicas", type=int, default=mixed.REPLICAS, help=f"of --mixed (default: {mixed.REPLICAS})")
    parser.add_argument("--seconds", type=float, default=judging.PATIENCE,
                        help=f"after which --mixed gives a simulation up (default: {judging.PATIENCE})")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="scenarios at a time (default: 2)")
    parser.add_argument("--shortflow", type=Path, metavar="FILE",
                        default=ROOT / "target" / "release" / "shortflow",
                        help="the binary (default: target/release/shortflow)")  # fmt: skip
    arguments = parser.parse_args()
    if not arguments.shortflow.is_file():
        print(f"error: no binary {arguments.shortflow}: make build", file=sys.stderr)
        return 3
    try:
        return judge(arguments) if arguments.mixed else study(arguments)
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; the next call goes on from here", file=sys.stderr)
        return 130


def study(arguments: argparse.Namespace) -> int:
    """Runs the selected families and reports the results."""
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
    page = chapter(by_family, notes, told.stdout.split()[1])
    publish("validate-predict", [page])
    print(f"wrote {DOCS.relative_to(ROOT)}/validation/{page.name}.md")
    return 0


def judge(arguments: argparse.Namespace) -> int:
    """Judges scenarios of every kind, and prints the results."""
    shortflow, progress = arguments.shortflow.resolve(), Progress()
    version = subprocess.run([shortflow, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    parts: list[judging.Part] = []
    for seed in arguments.seed:
        judged = []
        for at in range(arguments.count):
            drawn = replace(mixed.draw(seed, at), replicas=arguments.replicas)
            folder = RESULTS / "mixed" / drawn.name
            judged.append(judging.judge(drawn, shortflow, folder, arguments.seconds))
            progress(at + 1, arguments.count, drawn.name)
        parts.append(judging.part(judged, seed, version))
        print(parts[-1].text, *judging.misses(judged), sep="\n")
    if arguments.write:
        note = tomllib.loads(NOTES.read_text())["judged"]["text"]
        publish("judge-predict", [judging.chapter(note, parts)])
        print(f"wrote {DOCS.relative_to(ROOT)}/validation/{judging.NAME}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())

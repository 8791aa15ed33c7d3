"""``python -m shortflow sweep``: a sweep for those who write no Python."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from ._design import POLICY, Design, plain
from ._errors import Error, InputError, MachineError
from ._sweep import TABLES, Sweep
from ._sweep_results import SweepResults

# As those of the program: a check did not hold, bad input, the machine lacks something, Ctrl-C.
CHECK, INPUT, MACHINE, INTERRUPTED = 1, 2, 3, 130

# What messages name, and the option that does the same.
OPTIONS = {
    "resume=True": "--resume",
    "replicas=… of Sweep": "--replicas",
    "seed=… of Sweep": "--seed",
    "of `set`": "of --set",
    "`set`": "--set",
    'on_error="record"': "--on-error record",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and give its exit code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_, **__: _warn(str(message))
            return _sweep(_parser().parse_args(arguments))
    except MachineError as error:
        return _failed(error, MACHINE)
    except Error as error:
        return _failed(error, INPUT)
    except KeyboardInterrupt:
        print("interrupted: complete chunks are kept; --resume continues from them", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has gone, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _warn(text: str) -> None:
    print(f"warning: {_with_options(text)}", file=sys.stderr)


def _with_options(text: str) -> str:
    for argument, option in OPTIONS.items():
        text = text.replace(argument, option)
    return text


def _failed(error: Error, code: int) -> int:
    text = _with_options(str(error))
    print(text if text.startswith("error") else f"error: {text}", file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(INPUT, f"error: {message}\ntry `{self.prog} --help`\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="shortflow")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    sweep = commands.add_parser("sweep", help="run a scenario at all rows of a design, on this machine or many")
    add = sweep.add_argument
    add("scenario", help="the scenario: a file, or the name of a shipped one")
    add("--design", metavar="FILE.csv", help="rows of settings: the first line has the keys, `policy` among them if wanted")
    add("--policies", metavar="POLICY,POLICY…", help="each row under each of these policies")
    add("--set", metavar="KEY=VALUE", action="append", default=[], help="set a key in all rows; repeatable")
    add("--replicas", type=int, default=32, metavar="N", help="replicas of each row; default: 32")
    add("--seed", type=int, default=7, metavar="N", help="the seed; default: 7")
    add("--collect", default="replicas", metavar="TABLE,TABLE…", help=f"tables to keep: {', '.join(TABLES)}; default: replicas")
    add("--on", default="threads", metavar="WHERE", help="threads, processes, joblib, dask://local or dask://HOST:PORT; default: threads")
    add("--jobs", "-j", type=int, metavar="N", help="runs in parallel on this machine; default: one per core")
    add("--out", "-o", required=True, metavar="DIR", help="the folder of the sweep")
    add("--resume", action="store_true", help="continue the sweep in that folder")
    add("--on-error", choices=("raise", "record"), default="raise", help="end at a row that cannot run, or record it; default: raise")
    add("--quiet", "-q", action="store_true", help="show no progress")
    return parser


def _sweep(given: argparse.Namespace) -> int:
    points: list[dict[str, Any]] = Design.from_csv(given.design).points if given.design else [{}]
    policies = given.policies.split(",") if given.policies else []
    if policies and any(POLICY in point for point in points):
        raise InputError("--policies and the key `policy` of the design exclude each other\nremove one of the two")
    if policies:
        points = [{POLICY: policy, **point} for policy in policies for point in points]
    sweep = Sweep(
        given.scenario,
        points,
        replicas=given.replicas,
        seed=given.seed,
        collect=given.collect.split(","),
        set=dict(_setting(text) for text in given.set),
    )
    progress = False if given.quiet else None
    results = sweep.run(
        jobs=given.jobs, out=given.out, resume=given.resume, executor=given.on, on_error=given.on_error, progress=progress
    )
    return _describe(results, sweep, given.out)


def _setting(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise InputError(f"--set {text}: write KEY=VALUE")
    return key.strip(), plain(value.strip())


def _describe(results: SweepResults, sweep: Sweep, out: str) -> int:
    failed = sum(one["replicas"] for one in results.failures)
    print(f"{len(sweep)} runs of {len(sweep.design)} rows in {results.cpu_seconds:.1f} s of CPU time: {out}")
    if failed:
        print(f"{failed} runs failed; the table `failures` has the reasons", file=sys.stderr)
        return CHECK
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures what sweeps cost: `python3 bench/sweep [RUNS]`, with the package installed.

Prints, as a table of Markdown, the CPU time of many small runs in a sweep over that of one process doing them, and the
efficiency of two workers.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable

import shortflow as sf
from shortflow._chunk import run_row

LINE = {
    "name": "Line",
    "duration": "3 s",
    "parameters": {"load": 1.0},
    "hosts": {"client": {}, "server": {}},
    "links": {"line": {"between": ["client", "server"], "rate": "2 Mbit/s", "delay": "10 ms"}},
    "workloads": {
        "web": {
            "transfers": {
                "client": "client",
                "server": "server",
                "load": "= load Mbit/s",
                "request": {"constant": "200 B"},
                "reply": {"constant": "10 KB"},
            }
        }
    },
}


def sweep(runs: int, duration: str) -> sf.Sweep:
    """So many runs at ten loads."""
    loads = [0.1 * step for step in range(1, 11)]
    design = sf.Design.grid({"parameters.load": loads})
    return sf.Sweep(sf.Scenario.from_dict(LINE, "line.toml"), design, replicas=runs // 10, set={"duration": duration}, collect=["replicas"])


def alone(what: sf.Sweep) -> None:
    """All runs one after the other, without tables: a case for each row."""
    from shortflow import _core

    for row in what.rows():
        run_row(what.work_base(), row, tuple(range(what.replicas)), _core.Stop())


def cpu(work: Callable[[], object]) -> float:
    """CPU time of this process and its children, in seconds."""
    begun = os.times()
    work()
    ended = os.times()
    return sum(ended[at] - begun[at] for at in range(4))


def wall(work: Callable[[], object]) -> float:
    """Elapsed seconds."""
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def main() -> None:
    """Measure, and print a table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    small, long = sweep(runs, "3 s"), sweep(max(runs // 25, 20), "120 s")
    with tempfile.TemporaryDirectory() as folder:
        one = cpu(lambda: alone(small))
        whole = cpu(lambda: small.run(jobs=1, out=f"{folder}/one", progress=False))
        first, second = (
            wall(lambda: long.run(jobs=jobs, executor="processes", progress=False)) for jobs in (1, 2)
        )
    print("| measured | value |\n|---|---|")
    print(f"| CPU time of {runs} runs one after the other, without tables | {one:.1f} s |")
    print(f"| CPU time of a sweep of them, with Parquet files | {whole:.1f} s, {whole / one:.2f} times as much |")
    print(f"| one worker, then two | {first:.1f} s, then {second:.1f} s: efficiency {first / second / 2:.2f} |")


if __name__ == "__main__":
    main()

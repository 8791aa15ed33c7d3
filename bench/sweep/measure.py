"""Measures a work in processes of its own: CPU time of all of them, whoever waits for them."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
from dataclasses import asdict, dataclass

PR_SET_CHILD_SUBREAPER = 36
WORKS = pathlib.Path(__file__).with_name("works.py")


@dataclass(frozen=True)
class Work:
    """A sweep of so many runs with so many worker processes; with none, all runs in one process."""

    runs: int
    jobs: int
    runs_per_chunk: int | None = None
    rows: int = 10


@dataclass(frozen=True)
class Used:
    """What a work used.

    Attributes
    ----------
    cpu
        CPU seconds, user and system, of all processes.
    seconds
        Elapsed seconds, without the start of Python.
    driver
        CPU seconds of the process that calls `run`.
    driver_mb
        Its peak memory.
    chunks, bytes
        Chunks and bytes in the folder of the sweep.
    """

    cpu: float
    seconds: float
    driver: float
    driver_mb: float
    chunks: int
    bytes: int


def become_reaper() -> None:
    """Make orphans children of this process, so that it gets their CPU time too."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def least(works: list[Work], rounds: int, folder: str) -> list[Used]:
    """Measure works in turn, several times: of each the round with the least CPU time, which other programs disturbed least."""
    found = [[measured(work, folder) for work in works] for _ in range(rounds)]
    return [min(each, key=lambda used: used.cpu) for each in zip(*found)]


def measured(work: Work, folder: str) -> Used:
    """Measure a work once."""
    arguments = json.dumps({**asdict(work), "folder": folder})
    child = subprocess.Popen([sys.executable, WORKS, arguments], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    output = child.stdout.read()
    cpu, status = 0.0, 0
    while True:
        try:
            pid, code, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        cpu += usage.ru_utime + usage.ru_stime
        status = code if pid == child.pid else status
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"the sweep ended with exit code {child.returncode}")
    return Used(cpu=cpu, **json.loads(output))

"""Runs a program and measures what the whole process uses."""

import ctypes
import os
import resource
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

PR_SET_CHILD_SUBREAPER = 36
MAX_CPU_S = 1200  # what takes longer is stuck


class Failed(Exception):
    """A program failed."""


@dataclass(frozen=True)
class Usage:
    """What a process used from its start to its end, and its output."""

    cpu_s: float
    elapsed_s: float
    peak_bytes: int
    output: str
    stopped: bool = False  # it had used all that it was given, and was not done


def measure(command: Sequence[str | Path], stop_s: int | None = None) -> Usage:
    """Runs `command` in an empty folder, for `stop_s` CPU seconds at most.

    The kernel counts the memory of the forking process as the child's. So a shell forks, which is
    smaller than anything measured; this process becomes the orphan's parent.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as scratch:
        pid, start = orphan(command, scratch, stop_s or MAX_CPU_S)
        started = monotonic()
        os.close(start)
        status, usage = wait_for(pid)
        elapsed = monotonic() - started
        output, said = (Path(scratch, name).read_text() for name in ("out", "err"))
    cpu_s = usage.ru_utime + usage.ru_stime
    stopped = stop_s is not None and os.WIFSIGNALED(status) and cpu_s >= stop_s - 1
    if status != 0 and not stopped:
        name, code = Path(command[0]).name, os.waitstatus_to_exitcode(status)
        raise Failed(f"{name} ended with {code}: {said[-500:].strip()}")
    return Usage(cpu_s, elapsed, usage.ru_maxrss * 1024, output, stopped)


def orphan(command: Sequence[str | Path], folder: str, most_cpu_s: int) -> tuple[int, int]:
    """A process that becomes `command` when the descriptor returned with it is closed."""
    read, write = os.pipe()
    # What a shell puts into the background has no standard input of its own, so it comes as 3.
    launch = (f"ulimit -t {most_cpu_s}; exec 3<&0; "
              '{ read go; exec "$@" </dev/null 3<&-; } <&3 >out 2>err & echo $!')  # fmt: skip
    try:
        shell = subprocess.run(["sh", "-c", launch, "sh", *command], cwd=folder, stdin=read,
                               stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
    finally:
        os.close(read)
    return int(shell.stdout), write


def wait_for(pid: int) -> tuple[int, resource.struct_rusage]:
    """The status and the usage of a process, which ends if this one is interrupted."""
    try:
        _, status, usage = os.wait4(pid, 0)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    return status, usage

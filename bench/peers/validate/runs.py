"""Runs what is not cached, several at a time, and caches the results."""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from figures import Figures
from sides import Run


class Failed(Exception):
    """A run failed; the text has its command and its output."""


class Cache:
    """Results by key, one file each, written completely or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> list[Figures] | None:
        """The results of the run with this key, one table of figures per seed."""
        try:
            return json.loads((self.folder / f"{key}.json").read_text())
        except FileNotFoundError:
            return None

    def put(self, key: str, results: list[Figures]) -> None:
        """Keeps the results of the run with this key."""
        partial = self.folder / f"{key}.{os.getpid()}.partial"
        partial.write_text(json.dumps(results))
        partial.replace(self.folder / f"{key}.json")


def run_all(
    runs: Iterable[Run], cache: Cache, jobs: int, on_progress: Callable[[int, int, str], None]
) -> None:
    """Runs everything that the cache lacks. `on_progress` gets done, total and the last label."""
    to_do = list({run.key: run for run in runs if cache.get(run.key) is None}.values())
    children = Children()
    lock = threading.Lock()
    done = 0

    def complete(run: Run) -> None:
        nonlocal done
        cache.put(run.key, children.results_of(run))
        with lock:
            done += 1
            on_progress(done, len(to_do), run.label)

    on_progress(0, len(to_do), "")
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(complete, run) for run in to_do]
        try:
            finished, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in finished:
                future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            children.end()


class Children:
    """The running processes, so that an interruption leaves none behind."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[str]] = set()
        self.ended = False

    def results_of(self, run: Run) -> list[Figures]:
        """Runs it in a scratch folder and reads the results."""
        with tempfile.TemporaryDirectory() as scratch:
            output = self.output_of(run, scratch)
            return run.read(output, Path(scratch))

    def output_of(self, run: Run, scratch: str) -> str:
        with self.lock:
            if self.ended:
                raise Failed("interrupted")
            child = subprocess.Popen(
                run.command, cwd=scratch, text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
            self.running.add(child)
        output, errors = child.communicate()
        with self.lock:
            self.running.discard(child)
        if child.returncode != 0:
            raise Failed(f"{run.label}\n{' '.join(run.command)}\n{errors or output}")
        return output

    def end(self) -> None:
        """Ends all running processes and starts no more."""
        with self.lock:
            self.ended = True
            for child in self.running:
                child.terminate()

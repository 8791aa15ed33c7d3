"""Runs cases by both engines, several at a time, and keeps what was in time."""

import hashlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from casebook import REPLICAS, ROOT, Case

# The 99th percentile of lateness, in seconds, above which a rehearsal is not believed.
LATEST = 0.001

# How often a case is run anew, alone, when its packets were late.
ATTEMPTS = 3


class Failed(Exception):
    """A run ended with an error."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Job:
    """A case under one congestion control."""

    case: Case
    control: str

    @property
    def name(self) -> str:
        """What it is called in tables of progress and folders."""
        return f"{self.case.name}, {self.control}"

    @property
    def folder_name(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.name.lower())


def command(job: Job, shortflow: Path, out: Path) -> list[str]:
    """The comparison of both policies by both engines."""
    case = job.case
    settings = [*case.settings, f"tcp.congestion={job.control}"]
    return [
        str(shortflow), "--quiet", "compare", case.scenario, "--engines", "simulate,rehearse",
        "--policies", ",".join(case.policies), "--replicas", str(REPLICAS), "--jobs", "1",
        "--no-transfers", "--brief", "--out", str(out),
        *(word for setting in settings for word in ("--set", setting)),
    ]  # fmt: skip


def key_of(job: Job, shortflow: Path) -> str:
    """What the result depends on."""
    texts = [(ROOT / name).read_bytes() for name in (job.case.scenario, *job.case.policies)]
    line = " ".join(command(job, Path("shortflow"), Path("out")))
    digest = hashlib.sha256(line.encode())
    for part in (*texts, shortflow.read_bytes()):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def lateness(folder: Path) -> float:
    """The 99th percentile of lateness of the replica that was latest, in seconds."""
    manifests = [tomllib.loads(path.read_text()) for path in folder.glob("*/manifest.toml")]
    return max((m["timing"]["p99"] for m in manifests if "timing" in m), default=0.0)


def is_kept(job: Job, shortflow: Path, folder: Path) -> bool:
    """Whether its result is there, from the same inputs and in time."""
    key = folder / "key"
    return (
        (folder / "comparison.json").is_file()
        and key.is_file()
        and key.read_text() == key_of(job, shortflow)
        and lateness(folder) <= LATEST
    )


def run(job: Job, shortflow: Path, folder: Path) -> None:
    """Runs a case by both engines."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "key").unlink(missing_ok=True)
    ended = subprocess.run(
        [*command(job, shortflow, folder), "--force"], cwd=ROOT, capture_output=True, text=True)
    if ended.returncode != 0:
        raise Failed(f"{job.name}: {ended.stderr.strip()}", ended.returncode)
    (folder / "key").write_text(key_of(job, shortflow))


def run_all(
    jobs: Sequence[Job], shortflow: Path, results: Path, side_by_side: int,
    progress: Callable[[int, int, str], None],
) -> list[Job]:  # fmt: skip
    """Runs what is not kept, several at a time; then alone what was late. Gives the jobs that stayed late."""
    left = [job for job in jobs if not is_kept(job, shortflow, results / job.folder_name)]
    done = 0
    with ThreadPoolExecutor(side_by_side) as pool:
        futures = {
            pool.submit(run, job, shortflow, results / job.folder_name): job for job in left
        }
        try:
            for future in as_completed(futures):
                future.result()
                done += 1
                progress(done, len(left), futures[future].name)
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    late = [job for job in left if lateness(results / job.folder_name) > LATEST]
    return [job for job in late if not again(job, shortflow, results / job.folder_name)]


def again(job: Job, shortflow: Path, folder: Path) -> bool:
    """Runs a case alone whose packets were late; whether they were in time at last."""
    for _ in range(ATTEMPTS):
        late = lateness(folder) * 1e3
        print(f"{job.name}: packets were late by {late:.2f} ms (p99); run again", file=sys.stderr)
        run(job, shortflow, folder)
        if lateness(folder) <= LATEST:
            return True
    return False


def replicas(folder: Path) -> dict[tuple[int, str], list[dict]]:
    """What each replica found, by the number of the policy and the engine."""
    found: dict[tuple[int, str], list[dict]] = {}
    policies: list[str] = []
    for name in json.loads((folder / "comparison.json").read_text())["runs"]:
        manifest = tomllib.loads((folder / name / "manifest.toml").read_text())
        if manifest["policy"] not in policies:
            policies.append(manifest["policy"])
        points = json.loads((folder / name / "replicas.json").read_text())
        found[policies.index(manifest["policy"]), manifest["engine"]] = points[0]
    return found

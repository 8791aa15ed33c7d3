"""Runs cases by both engines, several at a time, and keeps results with good timing."""

import hashlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from casebook import FURTHER, FURTHER_SEED, REPLICAS, ROOT, Case
from kernel import timer_tick

REHEARSE = "rehearse"
ENGINES = ("simulate", REHEARSE)

# Above these a rehearsal is not believed, as `rehearse` itself warns: the 99th percentile of lateness, in seconds,
# the share of the time for which the machine stood still, and the longest time for which it did at once, in seconds.
LATEST = 0.001
MAX_STALLED = 0.01
LONGEST_STALL = 0.1

# How often a case is run anew, alone, when its packets were late.
ATTEMPTS = 3


class Failed(Exception):
    """A run failed."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Job:
    """A case under one congestion control: both of its policies, or further pairs of one of them."""

    case: Case
    control: str
    further: str | None = None

    @property
    def name(self) -> str:
        """Its name in progress messages."""
        more = f", further pairs of {Path(self.further).stem}" if self.further else ""
        return f"{self.case.name}, {self.control}{more}"

    @property
    def folder_name(self) -> str:
        """Its results folder; cases with the same line share their further pairs."""
        name = self.name
        if self.further:
            settings = hashlib.sha256(" ".join(self.case.settings).encode()).hexdigest()[:8]
            name = f"{Path(self.case.scenario).stem} {settings} {self.control} further {Path(self.further).stem}"
        return "".join(c if c.isalnum() else "-" for c in name.lower())


def command(job: Job, engine: str, shortflow: Path, out: Path) -> list[str]:
    """The command of a job for one engine."""
    case = job.case
    settings = [*case.settings, f"tcp.timer_tick={timer_tick()}", f"tcp.congestion={job.control}"]
    if job.further:
        what = [engine, case.scenario, "--policy", job.further, "--replicas", str(FURTHER), "--seed", str(FURTHER_SEED)]
    else:
        what = ["compare", case.scenario, "--engines", engine, "--policies", ",".join(case.policies),
                "--replicas", str(REPLICAS)]  # fmt: skip
    return [
        str(shortflow), "--quiet", *what, "--jobs", "1", "--no-transfers", "--brief", "--out", str(out),
        *(word for setting in settings for word in ("--set", setting)),
    ]  # fmt: skip


def key_of(job: Job, engine: str, binary: bytes) -> str:
    """A key of everything on which the result depends; `binary` is empty if any binary will do."""
    texts = [(ROOT / name).read_bytes() for name in (job.case.scenario, *job.case.policies)]
    line = " ".join(command(job, engine, Path("shortflow"), Path("out")))
    digest = hashlib.sha256(line.encode())
    for part in (*texts, binary):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def timings(folder: Path) -> list[dict[str, float]]:
    """The lateness of packets, for each rehearsed policy."""
    manifests = [tomllib.loads(path.read_text()) for path in manifests_of(folder)]
    return [manifest["timing"] for manifest in manifests if "timing" in manifest]


def manifests_of(folder: Path) -> list[Path]:
    """The manifest of a run, or of all runs of a comparison."""
    return [path for path in (folder / "manifest.toml", *folder.glob("*/manifest.toml")) if path.is_file()]


def lateness(folder: Path) -> float:
    """The 99th percentile of lateness in the latest replica, in seconds."""
    return max((timing["p99"] for timing in timings(folder)), default=0.0)


def why_not_believed(folder: Path) -> str | None:
    """What was wrong with the timing of a rehearsal, if anything."""
    for timing in timings(folder):
        if timing["p99"] > LATEST:
            return f"packets were late by {timing['p99'] * 1e3:.2f} ms (p99)"
        if timing["stalled"] > MAX_STALLED or timing["longest_stall"] > LONGEST_STALL:
            return (f"the machine stood still for {timing['stalled'] * 100:.1f} % of the time, at most "
                    f"{timing['longest_stall'] * 1e3:.0f} ms at once")  # fmt: skip
    return None


def is_kept(job: Job, engine: str, shortflow: Path, folder: Path, any_binary: bool) -> bool:
    """Whether a result from the same inputs with good timing exists."""
    key = folder / engine / "key"
    if not key.is_file():
        return False
    inputs, _, whole = key.read_text().partition(" ")
    is_same = inputs == key_of(job, engine, b"") if any_binary else (
        whole == key_of(job, engine, shortflow.read_bytes()))  # fmt: skip
    return is_same and why_not_believed(folder / engine) is None


def run(job: Job, engine: str, shortflow: Path, folder: Path) -> None:
    """Runs a case by one engine."""
    out = folder / engine
    out.mkdir(parents=True, exist_ok=True)
    (out / "key").unlink(missing_ok=True)
    for manifest in manifests_of(out):
        manifest.unlink()  # what an earlier run was like says nothing of this one
    ended = subprocess.run(
        [*command(job, engine, shortflow, out), "--force"], cwd=ROOT, capture_output=True, text=True)
    if ended.returncode != 0 and why_not_believed(out) is None:
        raise Failed(f"{job.name}: {ended.stderr.strip()}", ended.returncode)
    keys = (key_of(job, engine, b""), key_of(job, engine, shortflow.read_bytes()))
    (out / "key").write_text(" ".join(keys))


def run_all(
    jobs: Sequence[Job], shortflow: Path, results: Path, side_by_side: int, keep_rehearsals: bool,
    progress: Callable[[int, int, str], None],
) -> list[Job]:  # fmt: skip
    """Runs what is not kept, several at a time, then late jobs alone. Returns the jobs that stayed late.
    With `keep_rehearsals`, rehearsals of another binary are kept too.
    """
    def is_left(job: Job, engine: str) -> bool:
        any_binary = keep_rehearsals and engine == "rehearse"
        return not is_kept(job, engine, shortflow, results / job.folder_name, any_binary)

    left = [(job, engine) for engine in ENGINES for job in jobs if is_left(job, engine)]
    done = 0
    with ThreadPoolExecutor(side_by_side) as pool:
        futures = {
            pool.submit(run, job, engine, shortflow, results / job.folder_name): (job, engine)
            for job, engine in left
        }
        try:
            for future in as_completed(futures):
                future.result()
                done += 1
                job, engine = futures[future]
                progress(done, len(left), f"{job.name}, {engine}")
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    late = [job for job in jobs if why_not_believed(results / job.folder_name / REHEARSE)]
    return [job for job in late if not again(job, shortflow, results / job.folder_name)]


def again(job: Job, shortflow: Path, folder: Path) -> bool:
    """Runs a case alone that is not believed; whether it is believed then."""
    for _ in range(ATTEMPTS):
        print(f"{job.name}: {why_not_believed(folder / REHEARSE)}; run again", file=sys.stderr)
        run(job, REHEARSE, shortflow, folder)
        if why_not_believed(folder / REHEARSE) is None:
            return True
    return False


def replicas(folder: Path) -> dict[tuple[int, str], list[dict]]:
    """The results of each replica, by the number of the policy and the engine, in a comparison or a run."""
    if not (folder / "comparison.json").is_file():
        engine = tomllib.loads((folder / "manifest.toml").read_text())["engine"]
        return {(0, engine): json.loads((folder / "replicas.json").read_text())[0]}
    found: dict[tuple[int, str], list[dict]] = {}
    policies: list[str] = []
    for name in json.loads((folder / "comparison.json").read_text())["runs"]:
        manifest = tomllib.loads((folder / name / "manifest.toml").read_text())
        # A comparison by one engine does not say which file its policies are from.
        policy = manifest.get("policy", name)
        if policy not in policies:
            policies.append(policy)
        points = json.loads((folder / name / "replicas.json").read_text())
        found[policies.index(policy), manifest["engine"]] = points[0]
    return found

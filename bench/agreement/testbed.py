"""Simulates and rehearses the testbed of Laatu, Harju & Loula 2003, at its calibrated reading, and writes
papers/lhl03/rehearsed.md.

The paper measured on real routers and kernels. Here the same measures come from the simulator's TCP and
from this machine's. Exit codes are those of the agreement study in this folder.
"""

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from casebook import ROOT
from chapter import ratio
from paired import geometric, of_sums, pairs, workload
from running import Failed, lateness, replicas, why_not_believed
from shared import Estimate, grid, number

SCENARIO = "papers/lhl03/testbed.toml"
PAGE = ROOT / "papers" / "lhl03" / "rehearsed.md"
RESULTS = ROOT / "target" / "agreement" / "lhl03"
REPLICAS = 4

# Seconds that are measured: files are then complete under every policy, or nearly; the rest have the drain.
SETTINGS = ("duration=130 s", "drain=60 s")

# Sessions of Web pages, and seconds in which they ask (testbed.toml).
SESSIONS, ASKING = 5, 95

POLICIES = {"best-effort": "best effort (Table II)", "aggregated": "aggregated (Table III)",
            "isolated": "isolated (Table IV)"}  # fmt: skip


@dataclass(frozen=True)
class Measure:
    """A measure of a replica, and the paper's value for each policy, if it has one."""

    title: str
    of: Callable[[dict], float | None]
    paper: dict[str, str]


def part(name: str, which: str) -> Callable[[dict], float | None]:
    return lambda replica: workload(replica, name)["all"][which]["mean"]


def per_completed(name: str) -> Callable[[dict], float | None]:
    def of(replica: dict) -> float | None:
        found = workload(replica, name)
        completed = found["all"]["completion"]["n"]
        return found["retransmissions"] / completed if completed else None

    return of


def background_loss(replica: dict) -> float:
    """The loss of datagrams of all precedences, in per cent."""
    found = [w["datagrams"] for w in replica["workloads"] if w["datagrams"]]
    dropped = sum(d["dropped"] for d in found)
    return 100 * dropped / sum(d["dropped"] + d["delivered"] for d in found)


# The paper's times of files follow from its rates, as README.md says.
MEASURES = (
    Measure("FTP file, s", part("ftp", "completion"),
            {"best-effort": "94.5", "aggregated": "68", "isolated": "77"}),
    Measure("segments sent again per file", per_completed("ftp"), {"best-effort": "240.5"}),
    Measure("Web pages", lambda r: float(workload(r, "http")["all"]["completion"]["n"]),
            {"best-effort": "37", "aggregated": "33", "isolated": "45"}),
    Measure("transfer latency, s", part("http", "reply"), {}),
    Measure("response time, s", part("http", "completion"), {}),
    Measure("goodput of a session, kbit/s",
            lambda r: workload(r, "http")["delivered_bytes"] * 8 / 1e3 / ASKING / SESSIONS,
            {"best-effort": "19.2", "aggregated": "15.4"}),
    Measure("segments sent again per page", per_completed("http"), {"best-effort": "1.25"}),
    Measure("loss of the background, %", background_loss, {}),
)  # fmt: skip


def main() -> int:
    """Runs the command; gives its exit code."""
    parser = argparse.ArgumentParser(
        prog="testbed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shortflow", type=Path, metavar="FILE",
                        default=ROOT / "target" / "release" / "shortflow",
                        help="the binary (default: target/release/shortflow)")
    parser.add_argument("--keep", action="store_true",
                        help="write the page from what an earlier call has left in target/agreement")
    arguments = parser.parse_args()
    try:
        if not arguments.keep:
            with ThreadPoolExecutor(len(POLICIES)) as pool:
                list(pool.map(lambda policy: run(policy, arguments.shortflow.resolve()), POLICIES))
        for policy in POLICIES:
            if why := why_not_believed(RESULTS / policy):
                raise Failed(f"{policy}: {why}: too much to be believed", 3)
        PAGE.write_text(page(max(lateness(RESULTS / policy) for policy in POLICIES)))
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 3 if error.code == 3 else 2
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


def run(policy: str, shortflow: Path) -> None:
    """Runs one policy by both engines."""
    for manifest in (RESULTS / policy).glob("*/manifest.toml"):
        manifest.unlink()
    ended = subprocess.run(
        [shortflow, "--quiet", "compare", SCENARIO, "--engines", "simulate,rehearse",
         "--policies", f"papers/lhl03/policies/{policy}.toml", "--replicas", str(REPLICAS),
         "--jobs", "1", "--no-transfers", "--brief", "--force", "--out", RESULTS / policy,
         *(word for setting in SETTINGS for word in ("--set", setting))],
        cwd=ROOT, capture_output=True, text=True)  # fmt: skip
    if ended.returncode != 0 and why_not_believed(RESULTS / policy) is None:
        raise Failed(ended.stderr.strip(), ended.returncode)


def page(late: float) -> str:
    """The page, with a table for all policies."""
    kernel = kernel_of(RESULTS / "best-effort")
    head = ["policy", "measure", "paper", "simulated", "rehearsed", "ratio"]
    body = []
    for policy, title in POLICIES.items():
        found = replicas(RESULTS / policy)
        for measure in MEASURES:
            both = pairs(found[0, "simulate"], found[0, "rehearse"], measure.of)
            sides = [number(Estimate.over([pair[side] for pair in both])) for side in (0, 1)]
            told = geometric(both) or of_sums(both)
            body.append([title, measure.title, measure.paper.get(policy, ""), *sides, ratio(told)])
    return f"""\
# The testbed, rehearsed

The paper was measured on Linux routers and hosts. Here the same measures are [simulated](README.md) and
[rehearsed](../../docs/rehearse.md), over {kernel}, at the calibrated reading (8, 20KB, plain): {REPLICAS} replicas of
130 s, with the same arrivals by both; ± and the intervals of ratios (rehearsed over simulated) are 95 %. Packets left at
most {late * 1e3:.2f} ms late (99th percentile). `make rehearse-lhl03` writes this page: ten minutes, as root.

These are observations. They have no vote in the ledger: the calibration was made with the simulator's TCP, which has the
settings that the paper's kernels of 2002 had; today's kernel has its own slow start, recovery and timers.

{chr(10).join(grid(head, body, right=range(2, 6)))}
"""


def kernel_of(folder: Path) -> str:
    """The rehearsed TCP; a kernel is named by its release alone."""
    manifests = [tomllib.loads(path.read_text()) for path in folder.glob("*/manifest.toml")]
    told = next(m["tcp"] for m in manifests if m["engine"] == "rehearse")
    before, _, control = told.partition(" (")
    words = before.split()
    words[-1] = ".".join(words[-1].split("-")[0].split(".")[:2])
    return f"{' '.join(words)} ({control}"


if __name__ == "__main__":
    sys.exit(main())

"""Compares policies on live lines of a stock kernel with their simulations, and writes docs/live.md.

    python3 -B bench/live/stock.py [--shortflow PATH] [--kernel sid] [--only dstf …] [--replicas 2] [--resume]

Boots the kernel under QEMU with a clock of its own, so that a busy machine changes nothing: an instruction takes a nanosecond, and
idle time passes at once. In it, each policy is on a line between two hosts in namespaces: `deploy`, with the kernel's queues or a BPF
qdisc, and `inline`. Pages are requested at the times of the simulation of stock.toml. Each policy's results are kept in
target/live; `--resume` takes those that are there, and `--kept` runs no others.

Exit codes: 0 the page is written; 1 a policy did not run; 2 a run failed; 3 the machine lacks something.
"""

import argparse
import csv
import json
import shutil
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hosts import Failed, run
from machines import IN_VIRTUAL_TIME, SUITES, Kernel, Lacking, add_program, add_python, boot, fetch, missing_tools, pack
from shared import ROOT
from stock_page import Compared, Measured, write_page

HERE = Path(__file__).resolve().parent
SCENARIO = HERE / "stock.toml"
RESULTS = ROOT / "target" / "live"
CACHE = ROOT / "target" / "kernels"
WAYS = ("deployed", "inline")
# The line's delay, and what is added to it in simulations of the same pages; in milliseconds.
DELAY = 10.0
LATER = (-0.04, -0.03, -0.02, -0.01, 0.01, 0.02, 0.03, 0.04)
# The longest that a machine may take for a policy, in seconds.
PATIENCE = 10800


def simulated(shortflow: Path, policy: Path, replicas: int, later: float = 0.0) -> Path:
    """The folder with a policy's simulation; with a line whose delay is this many milliseconds longer."""
    out = RESULTS / f"stock-{policy.stem}"
    line = []
    if later:
        out = RESULTS / f"stock-{policy.stem}-{later:+.2f}"
        line = ["--set", f"links.line.delay={DELAY + later:.2f} ms"]
    run(shortflow, "--quiet", "simulate", SCENARIO, "--policy", policy, "--replicas", replicas, "--out", out, "--force", "--brief", *line)
    return out


def transfers(folder: Path, replica: int) -> list[dict[str, str]]:
    with (folder / f"transfers-000-{replica:03}.csv").open() as rows:
        return list(csv.DictReader(rows))


def of_simulation(folder: Path, replicas: int, times: tuple[float, float, float], propagation: float) -> Measured:
    """What the simulation's readers meet."""
    seconds, warm_up, _ = times
    pages = [(int(row["reply_bytes"]), float(row["completion_s"]))
             for replica in range(replicas) for row in transfers(folder, replica)
             if row["completion_s"] and warm_up <= float(row["start_s"]) < seconds]  # fmt: skip
    [point] = json.loads((folder / "summary.json").read_text())
    calls = point["summary"]["workloads"][1]["datagrams"]
    return Measured(pages, calls["delay"]["mean"] - propagation, calls["loss"]["mean"], replicas * (seconds - warm_up))


def of_guest(found: dict, times: tuple[float, float, float]) -> Measured:
    """What the guest's readers meet."""
    seconds, warm_up, _ = times
    replicas = found["replicas"]
    pages = [(size, time) for one in replicas for size, time in one["pages"]]
    calls = [delay for one in replicas for delay in one["calls"]]
    lost = sum(one["lost"] for one in replicas) / len(replicas)
    return Measured(pages, sum(calls) / len(calls), lost, len(replicas) * (seconds - warm_up))


def in_guest(kernel: Kernel, shortflow: Path, policy: Path, task: dict) -> dict[str, dict]:
    """The guest's results of a policy, by way."""
    name = policy.stem

    def fill(guest: Path) -> None:
        add_program(shortflow, guest, "usr/bin/shortflow")
        add_python(guest)
        # BusyBox's own would run its own `ip`.
        for tool in ("nsenter", "unshare"):
            add_program(Path(shutil.which(tool)), guest, f"usr/sbin/{tool}")
        (guest / "root/live").mkdir()
        for script in ("hosts.py", "traffic.py", "ways.py", "stock_guest.py"):
            shutil.copy(HERE / script, guest / "root/live")
        shutil.copy(policy, guest / "root/policy.toml")
        (guest / "root/task.json").write_text(json.dumps(task))

    initramfs, log = RESULTS / f"{kernel.suite}-{name}.cpio.gz", RESULTS / f"{kernel.suite}-{name}.log"
    pack(kernel, initramfs, HERE / "stock-init.sh", fill)
    found = {}
    for line in boot(kernel, initramfs, log, IN_VIRTUAL_TIME, patience=PATIENCE):
        if (at := line.find("RESULT ")) >= 0:
            one = json.loads(line[at:].removeprefix("RESULT "))
            found[one["way"]] = one
    initramfs.unlink()
    if len(found) != len(task["runs"]):
        raise Lacking(f"{name}: the guest ended without its results; its console is in {log}")
    return found


def kept(kernel: Kernel, policy: Path) -> Path:
    """Where a guest's results are kept."""
    return RESULTS / f"{kernel.version}-{policy.stem}.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="live/stock", description=__doc__.splitlines()[0])
    parser.add_argument("--shortflow", type=Path, default=ROOT / "target" / "release" / "shortflow")
    parser.add_argument("--kernel", choices=SUITES, default="sid")
    parser.add_argument("--only", nargs="+", metavar="POLICY", help="shipped policies, whose table is printed instead")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--resume", action="store_true", help="take the results of policies that an earlier run has kept")
    parser.add_argument("--kept", action="store_true", help="write the page from the results that are kept, and run nothing")
    arguments = parser.parse_args()
    shortflow, replicas = arguments.shortflow.resolve(), arguments.replicas
    if missing := missing_tools():
        print(f"skipped: needs {', '.join(missing)}: apt-get install {' '.join(missing)}", file=sys.stderr)
        return 3
    policies = sorted((ROOT / "policies").glob("*.toml"))
    if arguments.only:
        policies = [policy for policy in policies if policy.stem in arguments.only]
    plan = tomllib.loads(SCENARIO.read_text())
    times = tuple(float(plan[key].split()[0]) for key in ("duration", "warm_up", "drain"))
    without_results: list[str] = []
    propagation = DELAY / 1000
    assert plan["links"]["line"]["delay"] == f"{DELAY:.0f} ms"
    RESULTS.mkdir(parents=True, exist_ok=True)

    def compared(policy: Path) -> Compared:
        """A policy's simulations, and what was live."""
        folder = simulated(shortflow, policy, replicas)
        keep = kept(kernel, policy)
        if not ((arguments.resume or arguments.kept) and keep.exists()):
            pages = [[(float(row["start_s"]), int(row["reply_bytes"]), None) for row in sorted(transfers(folder, replica), key=lambda row: float(row["start_s"]))]
                     for replica in range(replicas)]  # fmt: skip
            task = {"times": times, "delay": f"{2000 * propagation:.0f}ms", "pages": pages,
                    "runs": [("policy.toml", way) for way in WAYS]}  # fmt: skip
            keep.write_text(json.dumps(in_guest(kernel, shortflow, policy, task)))
            print(f"{policy.stem}: done", file=sys.stderr)
        found = {way: one.get("failed") or of_guest(one, times) for way, one in json.loads(keep.read_text()).items()}
        alike = [of_simulation(simulated(shortflow, policy, replicas, later), replicas, times, propagation + later / 1000)
                 for later in LATER]  # fmt: skip
        return Compared([of_simulation(folder, replicas, times, propagation), *alike], found)

    try:
        kernel = fetch(arguments.kernel, CACHE)
        if arguments.kept:
            without_results = [policy.stem for policy in policies if not kept(kernel, policy).exists()]
            policies = [policy for policy in policies if policy.stem not in without_results]
        with ThreadPoolExecutor(2) as machines:
            found = dict(zip([policy.stem for policy in policies], machines.map(compared, policies), strict=True))
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Lacking as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    write_page(sys.stdout if arguments.only else ROOT / "docs" / "live.md", kernel.version, replicas, found, without_results)
    return 1 if any(isinstance(way, str) for columns in found.values() for way in columns.live.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compares a deployed policy with its prediction, simulation and rehearsal, and writes a table of docs/deploy.md.

    unshare -n python3 -B bench/live [--shortflow PATH] [--replicas 3]

Needs root, iproute2, util-linux and a build with eBPF. The line of line.toml is a device of this machine's kernel, with
`shortflow deploy` on it, in three network namespaces that end with this program. The one that `unshare -n` created is the router.
It refuses to start if there are devices other than `lo`. Pages are requested at the times of the simulation.

Exit codes: 0 the table is written; 2 a run failed; 3 the machine lacks something.
"""

import argparse
import csv
import json
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from pathlib import Path

from hosts import Failed, foreign_devices, host, run
from shared import ROOT, Estimate, grid

HERE = Path(__file__).resolve().parent
SCENARIO = HERE / "line.toml"
RESULTS = ROOT / "target" / "live"
PAGE = ROOT / "docs" / "deploy.md"
BEGIN, END = "<!-- begin: live -->", "<!-- end: live -->"
RATE = "10 Mbit/s"
SITE, READER = "10.77.1.2", "10.77.2.2"
ENGINES = {"predict": "predicted", "simulate": "simulated", "rehearse": "rehearsed"}
POLICIES = {
    "Best effort": ROOT / "policies" / "best-effort.toml",
    "Calls first": ROOT / "policies" / "strict-priority.toml",
    "DSTF": ROOT / "policies" / "dstf.toml",
    "Fair Marker": HERE / "policies" / "fair-marker.toml",
}
SIZES = {"2 KB": 2000, "8 KB": 8000, "30 KB": 30_000, "100 KB": 100_000}
FIGURES = [*(f"pages of {size}" for size in SIZES), "all pages", "calls", "calls lost"]


def by_engine(shortflow: Path, engine: str, name: str, replicas: int) -> Path:
    """The folder with an engine's results of the scenario under a policy."""
    out = RESULTS / f"{engine}-{name.lower().replace(' ', '-')}"
    seeds = [] if engine == "predict" else ["--replicas", replicas]
    run(shortflow, "--quiet", engine, SCENARIO, "--policy", POLICIES[name], *seeds, "--out", out, "--force", "--brief")
    return out


def of_summary(folder: Path) -> dict[str, Estimate | None]:
    """The figures of an engine."""
    def estimate(found: dict | None) -> Estimate | None:
        if found is None:
            return None
        half = None if found["low"] is None else (found["high"] - found["low"]) / 2
        return Estimate(found["mean"], half)

    [point] = json.loads((folder / "summary.json").read_text())
    pages, calls = point["summary"]["workloads"]
    classes = {one["label"]: one for one in pages["classes"]}
    figures = {f"pages of {size}": estimate(classes.get(size, {}).get("mean")) for size in SIZES}
    figures |= {"all pages": estimate(pages["all"]["mean"])}
    return figures | {"calls": estimate(calls["datagrams"]["delay"]), "calls lost": estimate(calls["datagrams"]["loss"])}


def arrivals(folder: Path, replica: int) -> list[tuple[float, int, None]]:
    """The times and sizes of the pages in a simulated replica; one reader requests all."""
    with (folder / f"transfers-000-{replica:03}.csv").open() as rows:
        found = [(float(row["start_s"]), int(row["reply_bytes"]), None) for row in csv.DictReader(rows)]
    return sorted(found)


def live(shortflow: Path, name: str, simulated: Path, replicas: int) -> dict[str, Estimate | None]:
    """The figures of a deployed policy."""
    plan = tomllib.loads(SCENARIO.read_text())
    seconds, warm_up, drain = (float(plan[key].split()[0]) for key in ("duration", "warm_up", "drain"))
    found: dict[str, list[float]] = {figure: [] for figure in FIGURES}
    with ExitStack() as stack:
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        at_site = stack.enter_context(host(SITE, "sites"))
        at_reader = stack.enter_context(host(READER, "readers"))
        traffic = [sys.executable, "-B", str(HERE / "traffic.py")]
        site = subprocess.Popen([*at_site, *traffic, "site", SITE], stdout=subprocess.PIPE)
        stack.callback(site.wait)
        stack.callback(site.kill)
        if not site.stdout.readline():
            raise Failed("the site does not answer")
        run(shortflow, "-q", "deploy", POLICIES[name], "--role", "edge,core", "--dev", "readers", "--rate", RATE)
        for replica in range(replicas):
            asked = {"seconds": seconds, "drain": drain, "pages": arrivals(simulated, replica)}
            heard = json.loads(run(*at_reader, *traffic, "reader", SITE, given=json.dumps(asked)))
            pages = [(size, time) for when, size, time in heard["pages"]
                     if warm_up <= when < seconds and time is not None]  # fmt: skip
            calls = [(number, delay) for number, when, delay in heard["calls"] if warm_up <= when < seconds]
            numbers = [number for number, _ in calls]
            sent = max(numbers) - min(numbers) + 1
            for label, size in SIZES.items():
                of_size = [time for one, time in pages if one == size]
                found[f"pages of {label}"].append(sum(of_size) / len(of_size))
            found["all pages"].append(sum(time for _, time in pages) / len(pages))
            found["calls"].append(sum(delay for _, delay in calls) / len(calls))
            found["calls lost"].append(1 - len(calls) / sent)
        run(shortflow, "-q", "undeploy", "--dev", "readers")
    return {figure: Estimate.over(values) for figure, values in found.items()}


def cell(figure: str, value: Estimate | None) -> str:
    """A time in milliseconds, or a share in per cent, with its interval."""
    if value is None:
        return "–"
    factor, unit = (100, " %") if figure.endswith("lost") else (1000, " ms")
    mean, half = value.mean * factor, (value.half_width or 0.0) * factor
    places = 2 if mean < 10 else 1 if mean < 100 else 0
    interval = "" if value.half_width is None else f" ± {half:.{places}f}"
    return f"{mean:.{places}f}{interval}{unit}"


def table(found: dict[str, dict[str, dict[str, Estimate | None]]]) -> str:
    head = ["policy", "of", *ENGINES.values(), "deployed"]
    body = [[name, figure, *(cell(figure, columns[column][figure]) for column in head[2:])]
            for name, columns in found.items() for figure in FIGURES]  # fmt: skip
    return "\n".join(grid(head, body, right=range(2, len(head))))


def main() -> int:
    parser = argparse.ArgumentParser(prog="live", description=__doc__.splitlines()[0])
    parser.add_argument("--shortflow", type=Path, default=ROOT / "target" / "release" / "shortflow")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--only", choices=POLICIES, help="one policy, whose table is printed instead")
    arguments = parser.parse_args()
    shortflow = arguments.shortflow.resolve()
    if found := foreign_devices():
        print(f"needs a network namespace of its own: unshare -n …; found {found}", file=sys.stderr)
        return 3
    found = {}
    try:
        for name in [arguments.only] if arguments.only else POLICIES:
            folders = {engine: by_engine(shortflow, engine, name, arguments.replicas) for engine in ENGINES}
            columns = {ENGINES[engine]: of_summary(folder) for engine, folder in folders.items()}
            columns["deployed"] = live(shortflow, name, folders["simulate"], arguments.replicas)
            found[name] = columns
            print(f"{name}: done", file=sys.stderr)
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if arguments.only:
        print(table(found))
        return 0
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(found)}\n{END}{rest.split(END)[1]}")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

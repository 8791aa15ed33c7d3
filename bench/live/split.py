"""Measures what cutting a page into n connections gains, deployed and simulated; writes the table in docs/deploy-results.md.

    unshare -n python3 -B bench/live/split.py [--shortflow PATH] [--replicas 3]

Needs root, iproute2, util-linux and a build with eBPF, and takes half an hour. As with `bench/live` the line is a device of this
machine's kernel with `shortflow deploy` on it. Users' pages are requested at the times of the simulation of split.toml.

Exit codes: 0 the table is written; 2 a run failed; 3 the machine lacks something.
"""

import csv
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from deploy_page import fill, parser
from hosts import Failed, host, run
from shared import ROOT, Estimate, grid

HERE = Path(__file__).resolve().parent
SCENARIO = HERE / "split.toml"
RESULTS = ROOT / "target" / "live"
RATE = "10 Mbit/s"
SITE, GATE = "10.77.1.2", "10.77.2.2"
USERS = [f"10.77.2.{10 + user}" for user in range(8)]
SPLITTER = "10.77.2.30"
BYTES, THINK = 160_000, 2
CUTS = [1, 4, 16]
POLICIES = {
    "best effort": ("best-effort.toml", "core", []),
    "DSTF per flow": ("dstf.toml", "edge,core", []),
    "DSTF per pair of hosts": ("dstf.toml", "edge,core", ["parameters.per=host-pair", "parameters.decay=600 kbit/s"]),
}


def settings(keys: list[str], prefix: str = "") -> list[str]:
    return [word for key in keys for word in ("--set", prefix + key)]


def simulated(shortflow: Path, name: str, cuts: int, replicas: int) -> Path:
    """The folder with the simulator's results."""
    policy, _, keys = POLICIES[name]
    out = RESULTS / f"split-{name.lower().replace(' ', '-')}-{cuts}"
    given = ["--policy", ROOT / "policies" / policy, *settings(keys, "policy."), *settings([f"parameters.n={cuts}"])]
    run(shortflow, "--quiet", "simulate", SCENARIO, *given, "--replicas", replicas, "--out", out, "--force", "--brief")
    return out


def rows(folder: Path, replica: int, workload: str) -> list[dict[str, str]]:
    with (folder / f"transfers-000-{replica:03}.csv").open() as text:
        return [row for row in csv.DictReader(text) if row["workload"] == workload]


def of_simulation(folder: Path, replica: int) -> float:
    """The mean time of the splitter's pages, which have no port of their own."""
    pages = [row for row in rows(folder, replica, "splitter") if not row["client_port"] and row["counted"] == "true"]
    return mean([float(row["completion_s"]) for row in pages if row["completion_s"]])


def arrivals(folder: Path, replica: int) -> list[tuple[float, int, str]]:
    """The times, sizes and users of the pages in a simulated replica."""
    found = []
    for row in rows(folder, replica, "pages"):
        user = int(row["client"].removeprefix("user[").removesuffix("]"))
        found.append((float(row["start_s"]), int(row["reply_bytes"]), USERS[user]))
    return sorted(found)


def mean(values: list[float]) -> float:
    if not values:
        raise Failed("none of the splitter's pages is complete")
    return sum(values) / len(values)


@contextmanager
def line() -> Iterator[list[str]]:
    """A site that answers, and how to run commands at the users' hosts."""
    with ExitStack() as stack:
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        at_site = stack.enter_context(host(SITE, "sites"))
        at_users = stack.enter_context(host(GATE, "readers", [*USERS, SPLITTER]))
        traffic = [*at_site, sys.executable, "-B", str(HERE / "traffic.py"), "site", SITE]
        site = subprocess.Popen(traffic, stdout=subprocess.PIPE)
        stack.callback(site.wait)
        stack.callback(site.kill)
        if not site.stdout.readline():
            raise Failed("the site does not answer")
        yield at_users


def deployed(at_users: list[str], cuts: int, folder: Path, replica: int) -> float:
    """The mean time of the splitter's pages through the deployed policy."""
    plan = tomllib.loads(SCENARIO.read_text())
    seconds, warm_up, drain = (float(plan[key].split()[0]) for key in ("duration", "warm_up", "drain"))
    how = {"source": SPLITTER, "connections": cuts, "bytes": BYTES // cuts, "think": THINK}
    asked = {"seconds": seconds, "drain": drain, "pages": arrivals(folder, replica), "split": how}
    traffic = [sys.executable, "-B", str(HERE / "traffic.py"), "reader", SITE]
    heard = json.loads(run(*at_users, *traffic, given=json.dumps(asked)))
    pages = [taken for when, taken in heard["splits"] if warm_up <= when < seconds and taken is not None]
    return mean(pages)


def measured(shortflow: Path, name: str, replicas: int) -> dict[str, dict[int, list[float]]]:
    """Times in each replica, simulated and deployed, by the number of connections."""
    policy, roles, keys = POLICIES[name]
    found: dict[str, dict[int, list[float]]] = {"simulated": {}, "deployed": {}}
    folders = {cuts: simulated(shortflow, name, cuts, replicas) for cuts in CUTS}
    for cuts, folder in folders.items():
        found["simulated"][cuts] = [of_simulation(folder, replica) for replica in range(replicas)]
    with line() as at_users:
        at = [ROOT / "policies" / policy, "--role", roles, "--dev", "readers", "--rate", RATE, *settings(keys)]
        for cuts, folder in folders.items():
            found["deployed"][cuts] = []
            for replica in range(replicas):
                # What is known of hosts begins anew each time.
                run(shortflow, "-q", "deploy", *at)
                found["deployed"][cuts].append(deployed(at_users, cuts, folder, replica))
                run(shortflow, "-q", "undeploy", "--dev", "readers")
    return found


def cell(values: list[float], unit: str, places: int) -> str:
    estimate = Estimate.over(values)
    half = "" if estimate.half_width is None else f" ± {estimate.half_width:.{places}f}"
    return f"{estimate.mean:.{places}f}{half}{unit}"


def table(found: dict[str, dict[str, dict[int, list[float]]]]) -> str:
    head = ["policy", "", *(f"n = {cuts}" for cuts in CUTS), "gain"]
    body = []
    for name, ways in found.items():
        for way, times in ways.items():
            gains = [one / many for one, many in zip(times[CUTS[0]], times[CUTS[-1]])]
            body.append([name, way, *(cell(times[cuts], " s", 2) for cuts in CUTS), cell(gains, "", 1)])
    return "\n".join(grid(head, body, right=range(2, len(head))))


def main() -> int:
    arguments = parser("split", __doc__, POLICIES).parse_args()
    names = [arguments.only] if arguments.only else POLICIES
    shortflow = arguments.shortflow.resolve()
    return fill(
        "split", names, lambda name: measured(shortflow, name, arguments.replicas), table, is_printed=bool(arguments.only)
    )


if __name__ == "__main__":
    sys.exit(main())

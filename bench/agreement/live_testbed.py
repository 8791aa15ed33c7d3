"""Runs the testbed of Laatu, Harju & Loula 2003 live: the policies deployed on a line of this kernel; writes papers/lhl03/live.md.

    unshare -n python3 -B bench/agreement/live_testbed.py [--shortflow PATH] [--replicas 2]

The line is a device with `shortflow deploy` on it. The senders of files and pages, the generator of the background and the readers
are in network namespaces, with the kernel's TCP. Needs root, iproute2, util-linux and a build with eBPF; takes seven minutes for a
replica, in real time. Exit codes: 0 the page is written; 2 a run failed; 3 the machine lacks something.
"""

import argparse
import json
import platform
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from casebook import ROOT
from running import replicas
from shared import Estimate, grid, number
from testbed import ASKING, MEASURES, POLICIES, SCENARIO, SESSIONS, SETTINGS

sys.path.append(str(ROOT / "bench" / "live"))

from hosts import Failed, foreign_devices, host, run  # noqa: E402

PAGE = ROOT / "papers" / "lhl03" / "live.md"
RESULTS = ROOT / "target" / "live" / "lhl03"
TRAFFIC = Path(__file__).with_name("testbed_traffic.py")
FOLDER = ROOT / "papers" / "lhl03" / "policies"
SIMULATED = 4
SENDERS, GENERATOR, READERS = "10.77.1.2", "10.77.3.2", "10.77.2.2"
# As in testbed.toml: seconds of a run, and those that the last files have.
SECONDS, DRAIN = 130, 60
RATE, MTU = "10 Mbit/s", 1448


def simulated(shortflow: Path, policy: str) -> list[dict]:
    """The replicas of the simulation."""
    out = RESULTS / f"simulated-{policy}"
    run(shortflow, "--quiet", "simulate", ROOT / SCENARIO, "--policy", FOLDER / f"{policy}.toml", "--replicas", SIMULATED,
        "--no-transfers", "--brief", "--force", "--out", out, *(word for setting in SETTINGS for word in ("--set", setting)))  # fmt: skip
    return replicas(out)[0, "simulate"]


def live(shortflow: Path, policy: str, seed: int) -> dict[str, float]:
    """The measures of a live run."""
    with ExitStack() as stack:
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        ends = [(SENDERS, "senders"), (GENERATOR, "generator"), (READERS, "readers")]
        at = {end: stack.enter_context(host(address, end)) for address, end in ends}
        for end, within in at.items():
            run("ip", "link", "set", end, "mtu", MTU)
            run(*within, "ip", "link", "set", "net", "mtu", MTU)
        # The senders' own line has 10 Mbit/s, too, and their windows begin with two segments.
        run(*at["senders"], "tc", "qdisc", "add", "dev", "net", "root", "tbf", "rate", "10mbit", "burst", "3000", "limit", "150000")
        gateway = SENDERS.rsplit(".", 1)[0] + ".1"
        run(*at["senders"], "ip", "route", "replace", "default", "via", gateway, "initcwnd", 2)
        run(shortflow, "-q", "deploy", FOLDER / f"{policy}.toml", "--role", "access,core", "--dev", "readers", "--rate", RATE)
        stack.callback(run, shortflow, "-q", "undeploy", "--dev", "readers")

        def begin(end: str, what: str, where: str) -> subprocess.Popen:
            command = [*at[end], sys.executable, "-B", str(TRAFFIC), what, where]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        senders = begin("senders", "senders", SENDERS)
        if not senders.stdout.readline():
            raise Failed("the senders do not answer")
        readers = begin("readers", "readers", SENDERS)
        readers.stdin.write(json.dumps({"seconds": SECONDS, "drain": DRAIN, "seed": seed}))
        readers.stdin.close()
        readers.stdout.readline()
        generator = begin("generator", "generator", READERS)
        generator.stdin.write(json.dumps({"seconds": SECONDS}))
        generator.stdin.close()
        met = json.loads(readers.stdout.read())
        senders.kill()
        resent = [json.loads(line) for line in senders.stdout.read().splitlines()]
        return measures(met, resent, json.loads(generator.stdout.read())["sent"])


def measures(met: dict, resent: list[dict], sent: int) -> dict[str, float]:
    """The values of MEASURES, by title, from what readers, senders and generator report."""
    files, pages = met["files"], met["pages"]

    def mean(values: list[float]) -> float:
        return sum(values) / len(values) if values else float("nan")

    def again(port: int, per: list) -> float:
        return sum(one["resent"] for one in resent if one["port"] == port) / max(1, len(per))

    values = (mean(files), again(20, files), float(len(pages)), mean([page["transfer"] for page in pages]),
              mean([page["response"] for page in pages]), sum(page["bytes"] for page in pages) * 8 / 1e3 / ASKING / SESSIONS,
              again(80, pages), 100 * (1 - met["background"] / sent))  # fmt: skip
    return {measure.title: value for measure, value in zip(MEASURES, values, strict=True)}


def page(found: dict[str, tuple[list[dict], list[dict[str, float]]]], count: int) -> str:
    """The page, with a table for all policies."""
    body = []
    for policy, title in POLICIES.items():
        of_simulation, of_line = found[policy]
        for measure in MEASURES:
            expected = [value for value in map(measure.of, of_simulation) if value is not None]
            seen = [one[measure.title] for one in of_line]
            ratio = sum(seen) / len(seen) / (sum(expected) / len(expected))
            body.append([title, measure.title, measure.paper.get(policy, ""), number(Estimate.over(expected)),
                         number(Estimate.over(seen)), f"{ratio:.2f}"])  # fmt: skip
    head = ["policy", "measure", "paper", "simulated", "live", "live / simulated"]
    release = ".".join(platform.release().split("-")[0].split(".")[:2])
    return f"""\
# The testbed, live

As the paper did, each policy is on a line of a Linux router: `shortflow deploy POLICY --role access,core --rate '10 Mbit/s'`,
on Linux {release}, with the kernel's TCP (Reno, windows of 32 KB) in network namespaces, 15 files of 1.8 MB, 5 Web sessions and the
background. The line is the bottleneck; the other links of the testbed, which are as fast, are one link before it. Web sessions and
files draw their own sizes and times, so live and simulated replicas ({count} and {SIMULATED} of {SECONDS} s) are not pairs; ± is a
95 % interval. `make live-lhl03` writes this page, as root.

These are observations. They have no vote in the ledger: the calibration was made with the simulator's TCP, which has the
settings that the paper's kernels had.

{chr(10).join(grid(head, body, right=range(2, 6)))}
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="live_testbed", description=__doc__.splitlines()[0])
    parser.add_argument("--shortflow", type=Path, default=ROOT / "target" / "release" / "shortflow")
    parser.add_argument("--replicas", type=int, default=2)
    arguments = parser.parse_args()
    shortflow = arguments.shortflow.resolve()
    if found := foreign_devices():
        print(f"needs a network namespace of its own: unshare -n …; found {found}", file=sys.stderr)
        return 3
    RESULTS.mkdir(parents=True, exist_ok=True)
    try:
        results = {}
        for policy in POLICIES:
            lived = [live(shortflow, policy, seed) for seed in range(arguments.replicas)]
            results[policy] = simulated(shortflow, policy), lived
            print(f"{policy}: done", file=sys.stderr)
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    PAGE.write_text(page(results, arguments.replicas))
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs a router for ten minutes, and checks every 30 seconds what the process holds.

    python3 -B bench/soak [--duration '600 s']            rehearses bench/soak/soak.toml
    python3 -B bench/soak --inline [--duration '600 s']   floods the inline router with FQ-CoDel

At 200,000 packets of 1500 bytes a second, ten minutes are as many packets as a full line of 16 Mbit/s has in 24 hours.

Exit codes: 1 if memory or descriptors grow: at the end they exceed those a minute after the start by more
than a tenth and 4 MB, or 64 descriptors. A failed run gives its own exit code.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
SHORTFLOW = TOP / "target/release/shortflow"
EVERY = 30.0
SETTLED = 60.0


def held(process: int) -> tuple[float, int]:
    """Megabytes of resident memory, and open descriptors."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kilobytes) / 1024, len(list(pathlib.Path(f"/proc/{process}/fd").iterdir()))


def is_flat(looks: list[tuple[float, float, int]]) -> bool:
    """Whether the last check found no more than the first after the start-up."""
    settled = [look for look in looks if look[0] >= SETTLED] or looks
    (_, memory, files), (_, last_memory, last_files) = settled[0], settled[-1]
    return last_memory <= memory * 1.1 + 4 and last_files <= files + 64


def rehearsal(duration: str, folder: str) -> list:
    return [SHORTFLOW, "--quiet", "rehearse", TOP / "bench/soak/soak.toml", "--json", "--no-transfers",
            "--set", f"duration={duration}", "--out", f"{folder}/results"]


def flood(duration: str, _folder: str) -> list:
    """A flood takes `--time`, and the half load after it as long again."""
    seconds = float(duration.removesuffix("s")) / 2
    return [SHORTFLOW, "bench", "inline", "--ways", "fq-codel", "--sizes", "1500", "--rounds", "1", "--json",
            "--time", f"{seconds} s"]


def show_rehearsal(results: dict) -> None:
    point = results["runs"][0]["points"][0]
    print("lateness:", json.dumps(point.get("timing") or results["runs"][0].get("timing")))
    print("warnings:", json.dumps(results["warnings"]))


def show_flood(results: dict) -> None:
    (way,) = results["ways"]
    print(f"packets per second: {way['packets_per_second']['median']:.0f} in the first half")
    delay, late = (way[key]["median"] / 1000 for key in ("delay_p99_ns_at_half_load", "sender_late_p99_ns_at_half_load"))
    print(f"delay at half load, 99th percentile: {delay:.0f} us; the sender itself was {late:.0f} us late")
    print("warnings:", json.dumps(results["warnings"]))


def soak(command: list, show, folder: str) -> int:
    looks, began = [], time.monotonic()
    with open(f"{folder}/found.json", "w+") as found:
        process = subprocess.Popen(command, stdout=found)
        print("   s  memory, MB  descriptors", flush=True)
        while True:
            try:
                process.wait(EVERY if looks else 10.0)
                break
            except subprocess.TimeoutExpired:
                look = (time.monotonic() - began, *held(process.pid))
                looks.append(look)
                print(f"{look[0]:4.0f}  {look[1]:10.1f}  {look[2]:11d}", flush=True)
        if process.returncode != 0:
            return process.returncode
        found.seek(0)
        show(json.load(found))
    flat = is_flat(looks)
    print("memory and descriptors are flat" if flat else "memory or descriptors grew")
    return 0 if flat else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duration", default="600 s")
    parser.add_argument("--inline", action="store_true", help="the inline router instead of a rehearsal")
    arguments = parser.parse_args()
    command, show = (flood, show_flood) if arguments.inline else (rehearsal, show_rehearsal)
    with tempfile.TemporaryDirectory() as folder:
        return soak(command(arguments.duration, folder), show, folder)


if __name__ == "__main__":
    sys.exit(main())

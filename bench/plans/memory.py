"""Measures the memory of customers' queues on Debian's kernel: FQ-CoDel with 64 queues of flows, and as the kernel has it by default.

    python3 -B bench/plans/memory.py [--customers 2000]

Fetches the kernel with apt into target/kernels, and boots it under QEMU, without hardware acceleration. Exit codes: 0 done; 1 the
kernel refuses a tree; 3 this machine lacks something.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "machines"))

from debian import fetch  # noqa: E402
from lacking import Lacking  # noqa: E402
from machine import IN_REAL_TIME, boot, pack  # noqa: E402

CACHE = HERE.parents[1] / "target" / "kernels"
QUEUES = {"64": "limit 1000 flows 64 quantum 1514 target 5000us interval 100000us memory_limit 4Mb ecn", "default": ""}


def commands(customers: int, settings: str) -> str:
    """A tree of tc with a class and a queue for each customer."""
    lines = ["qdisc add dev sf0 root handle 5e00: htb default 0", "class add dev sf0 parent 5e00: classid 5e00:1 htb rate 100gbit quantum 60000"]
    for minor in range(3, 3 + customers):
        rates = "rate 8kbit ceil 100mbit burst 3028 cburst 12500 quantum 12500"
        lines.append(f"class add dev sf0 parent 5e00:1 classid 5e00:{minor:x} htb {rates}")
        lines.append(f"qdisc add dev sf0 parent 5e00:{minor:x} handle {minor:x}: fq_codel {settings}")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="memory", description=__doc__.splitlines()[0])
    parser.add_argument("--customers", type=int, default=2000)
    customers = parser.parse_args().customers

    def fill(guest: Path) -> None:
        for name, settings in QUEUES.items():
            (guest / f"tree-{name}").write_text(commands(customers, settings))

    try:
        kernel = fetch("trixie", CACHE)
        pack(kernel, CACHE / "plans.cpio.gz", HERE / "init.sh", fill)
        print(f"Linux {kernel.version}, {customers} customers")
        for line in boot(kernel, CACHE / "plans.cpio.gz", CACHE / "plans.log", IN_REAL_TIME, patience=900):
            if "refuses the tree" in line:
                print(f"error: {line.strip()}; see {CACHE / 'plans.log'}", file=sys.stderr)
                return 1
            if "RESULT " in line:
                name, kilobytes = line[line.index("RESULT ") :].split()[1:]
                print(f"queues of flows: {name}: {int(kilobytes) * 1024 / customers / 1000:.1f} KB for each customer", flush=True)
    except Lacking as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())

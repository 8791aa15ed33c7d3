"""Measures plans of many customers beside a tree set up by hand: time to install, memory, and processor time per packet.

    unshare -n python3 -B bench/plans [--shortflow PATH] [--customers 10000] [--queue fq-codel|fifo]

Needs root, iproute2 and a build with eBPF. It uses the network namespace that `unshare -n` created, and refuses to start if there are
devices other than `lo`. `bench/plans/memory.py` measures the memory of FQ-CoDel on a stock kernel.

The tree by hand has the same classes, with tc's filters in place of the program: two hash tables of u32, as tc-u32(8) has them.
"""

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
SITES = 20
DEVICE, PEER = "sf0", "sf1"
PACKETS = 60_000


def run(*command: str, text: str | None = None) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, input=text).stdout


def address(number: int) -> str:
    return f"10.{64 + number // 65536}.{number // 256 % 256}.{number % 256}"


def write_plans(folder: Path, customers: int, queue: str) -> Path:
    """Plans of 100 Mbit/s down for each customer, behind sites of 10 Gbit/s."""
    rate = 'down = "10 Gbit/s"\nup = "10 Gbit/s"\n'
    sites = "".join(f"[sites.s{number}]\n{rate}" for number in range(SITES))
    line = 'down = "100 Gbit/s"\nup = "100 Gbit/s"\n'
    (folder / "plans.toml").write_text(f'queue = "{queue}"\ncustomers = "customers.csv"\n[line]\n{line}{sites}')
    rows = (f"C{n},{address(n)},100 Mbit/s,20 Mbit/s,s{n % SITES}\n" for n in range(customers))
    (folder / "customers.csv").write_text("name,addresses,down,up,site\n" + "".join(rows))
    return folder / "plans.toml"


def by_hand(customers: int, queue: str) -> list[str]:
    """The same tree as commands of tc, with FQ-CoDel as the kernel has it by default."""
    leaf = "fq_codel" if queue == "fq-codel" else "bfifo limit 1250000"
    commands = [f"qdisc add dev {DEVICE} root handle 1: htb default 2", f"class add dev {DEVICE} parent 1: classid 1:1 htb rate 100gbit quantum 60000"]
    commands += [f"class add dev {DEVICE} parent 1:1 classid 1:{3 + n:x} htb rate 10mbit ceil 10gbit quantum 60000" for n in range(SITES)]
    commands.append(f"class add dev {DEVICE} parent 1:1 classid 1:2 htb rate 1gbit ceil 100gbit quantum 60000")
    filters = [f"filter add dev {DEVICE} parent 1: protocol ip prio 1 u32"]
    for high in range((customers + 255) // 256):
        table = 0x100 + high
        filters.append(f"filter add dev {DEVICE} parent 1: protocol ip prio 1 handle {table:x}: u32 divisor 256")
        prefix = ".".join(address(256 * high).split(".")[:3]) + ".0/24"
        filters.append(f"filter add dev {DEVICE} parent 1: protocol ip prio 1 u32 ht 800:: match ip dst {prefix} "
                       f"hashkey mask 0x000000ff at 16 link {table:x}:")  # fmt: skip
    for n in range(customers):
        minor, site = 0x100 + n, 3 + n % SITES
        commands.append(f"class add dev {DEVICE} parent 1:{site:x} classid 1:{minor:x} htb rate 8kbit ceil 100mbit quantum 12500")
        commands.append(f"qdisc add dev {DEVICE} parent 1:{minor:x} {leaf}")
        filters.append(f"filter add dev {DEVICE} parent 1: protocol ip prio 1 u32 ht {0x100 + n // 256:x}:{n % 256:x} "
                       f"match ip dst {address(n)}/32 flowid 1:{minor:x}")  # fmt: skip
    return commands + filters


def used() -> int:
    """Bytes of memory that the kernel and programs use."""
    run("sync")
    Path("/proc/sys/vm/drop_caches").write_text("3")
    time.sleep(1)
    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return 1024 * sum(int(facts[key].split()[0]) for key in ("Slab", "KernelStack", "PageTables", "VmallocUsed", "Percpu") if key in facts)


def cost(customers: int) -> float:
    """Microseconds of this processor for each datagram, sent to all customers in turn."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    targets = [(address(n * 37 % customers), 9) for n in range(PACKETS)]
    data, before = bytes(100), time.process_time()
    for target in targets:
        sender.sendto(data, target)
    return (time.process_time() - before) / PACKETS * 1e6


def measured(customers: int, install, remove) -> dict:
    before, begun = used(), time.monotonic()
    install()
    seconds = time.monotonic() - begun
    memory = used() - before
    costs = sorted(cost(customers) for _ in range(5))
    remove()
    return {"seconds": round(seconds, 2), "bytes_per_customer": round(memory / customers), "us_per_packet": round(costs[2], 2)}


def here(arguments: argparse.Namespace) -> int:
    if any(link["ifname"] != "lo" for link in json.loads(run("ip", "-j", "link"))):
        print("run it with `unshare -n`: this namespace has other devices than lo", file=sys.stderr)
        return 2
    run("ip", "-batch", "-", text=f"link add {DEVICE} type veth peer name {PEER}\nlink set {PEER} up\nlink set {DEVICE} up\n"
        f"addr add 10.0.0.1/8 dev {DEVICE}\nneigh flush all\n")  # fmt: skip
    # All customers are one neighbour, so that no packet waits for an answer to ARP.
    run("ip", "link", "set", DEVICE, "arp", "off")
    shortflow = str(arguments.shortflow)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        plans = str(write_plans(Path(folder), arguments.customers, arguments.queue))
        results["nothing"] = {"us_per_packet": round(sorted(cost(arguments.customers) for _ in range(5))[2], 2)}
        results["shortflow"] = measured(arguments.customers, lambda: run(shortflow, "deploy", plans, "--down", DEVICE),
                                        lambda: run(shortflow, "undeploy", "--dev", DEVICE))  # fmt: skip
        commands = "\n".join(by_hand(arguments.customers, arguments.queue)) + "\n"
        results["by hand"] = measured(arguments.customers, lambda: run("tc", "-batch", "-", text=commands),
                                      lambda: run("tc", "qdisc", "del", "dev", DEVICE, "root"))  # fmt: skip
    for name, result in results.items():
        print(f"RESULT {name}: {json.dumps(result)}", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="plans", description=__doc__.splitlines()[0])
    parser.add_argument("--shortflow", type=Path, default=TOP / "target" / "release" / "shortflow")
    parser.add_argument("--customers", type=int, default=10_000)
    parser.add_argument("--queue", choices=["fq-codel", "fifo"], default="fq-codel")
    return here(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())

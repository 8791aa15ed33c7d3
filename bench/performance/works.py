"""The workloads, and how to run each simulator on them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHORTFLOW = ROOT / "target" / "release" / "shortflow"
NS2_SCRIPTS = ROOT / "bench" / "peers" / "ns2"
NS3_PROGRAMS = ROOT / "target" / "peers" / "ns3"
HTSIM_PROGRAMS = ROOT / "target" / "peers" / "htsim"

NAMES = {"ours": "Shortflow", "ns2": "ns-2", "ns3": "ns-3", "htsim": "csg-htsim"}


@dataclass(frozen=True)
class Against:
    """A peer that runs the same workload."""

    peer: str
    at_least: float | None = None  # what is wanted: times the speed of the peer
    rounds: int | None = None  # the first ones only
    stop_s: int | None = None  # CPU seconds after which it is stopped: its figure is "more"
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """One workload, the same for all simulators."""

    name: str
    about: str
    program: str  # of the peers, without the ending
    options: Mapping[str, object]
    packets: Callable[[dict], int]  # that a peer's bottleneck forwarded
    hops_per_packet: int | None  # with those of its acknowledgement, where all go the whole way
    against: tuple[Against, ...]
    prototype_over_ns2: float | None = None  # how many times as fast as ns-2 the bare prototype was
    packets_per_cpu_s: float | None = None  # what is wanted of ours
    packets_from: str = ""  # where that figure is from

    def peer(self, name: str) -> Against:
        """How this peer runs the workload."""
        return next(each for each in self.against if each.peer == name)


def long_flow_packets(found: dict) -> int:
    return found["bottleneck"]["forwarded"]


def transfer_packets(found: dict) -> int:
    return found["during_arrivals"]["to_client"]["forwarded"]


def diffserv_packets(found: dict) -> int:
    return sum(found["during_arrivals"][way]["forwarded"] for way in ("to_clients", "to_servers"))


GIGABIT = {"rate_mbps": 1000, "access_mbps": 10000, "duration": 20}
# Without SACK ns-3 sends much that has arrived, which is another work.
NS3_SACK = {"tcp": "Sack1"}
PROTOTYPE = "1/1.6 of the bare prototype's limit"
RED = {"queue": "RED", "min_threshold": 250, "max_threshold": 750, "max_probability": 0.1}
# csg-htsim's nearest to RED drops at random, one in ten, from its threshold on.
HTSIM_RED = {"drop_from": 500}
HUNDRED_FLOWS = {**GIGABIT, "flows": 100, "buffer": 2500, "rtt_min_ms": 18, "rtt_max_ms": 22,
                 "rtt_steps": 5}  # fmt: skip

WORKS = (
    Work(
        "A", "20 long flows, 100 Mbit/s drop-tail, 60 s", "long-flows", {}, long_flow_packets, 6,
        (Against("ns2", 5), Against("ns3", 100, rounds=2, options=NS3_SACK)),
        prototype_over_ns2=9.0, packets_per_cpu_s=8e6 / 1.6, packets_from=PROTOTYPE,
    ),
    Work(
        "B", "400 long flows, 1 Gbit/s drop-tail, 20 s", "long-flows",
        {**GIGABIT, "flows": 400, "buffer": 5000}, long_flow_packets, 6,
        (Against("ns2", 6), Against("ns3", 100, rounds=1, stop_s=400, options=NS3_SACK)),
        prototype_over_ns2=12.2, packets_per_cpu_s=7e6 / 1.6, packets_from=PROTOTYPE,
    ),
    Work(
        "S", "short transfers over RED, 10 Mbit/s, 160 s", "transactions", {}, transfer_packets,
        None, (Against("ns2", 30), Against("ns3", 100, options=NS3_SACK)),
    ),
    Work(
        "D", "DiffServ domain with TSW2CM, 10 Mbit/s, 80 s", "diffserv", {}, diffserv_packets,
        None, (Against("ns2", 40),),
    ),
    Work(
        "H", "100 long SACK flows, 1 Gbit/s RED, 18–22 ms, 20 s, three links", "long-flows",
        HUNDRED_FLOWS, long_flow_packets, 6,
        (Against("ns2", options={**RED, "tcp": "Sack1"}),
         Against("htsim", 1, options={**HTSIM_RED, "links": 3})),
    ),
    Work(
        "H1", "the same, 20 ms, over the bottleneck alone: csg-htsim's own kind", "long-flows",
        {**HUNDRED_FLOWS, "rtt_min_ms": 20, "rtt_max_ms": 20}, long_flow_packets, 2,
        (Against("htsim", 1, options={**HTSIM_RED, "links": 1}),),
        packets_per_cpu_s=3e6, packets_from="csg-htsim's recorded figure",
    ),
)  # fmt: skip


def available(peer: str) -> bool:
    """Whether a peer that no distribution packages is present."""
    return peer != "htsim" or (HTSIM_PROGRAMS / "long-flows").is_file()


def command(work: Work, side: str) -> list[str | Path]:
    """The command that runs `work` on one side; it prints JSON."""
    if side == "ours":
        return [SHORTFLOW, "bench", "--json", work.name]
    start: dict[str, list[str | Path]] = {
        "ns2": ["ns", NS2_SCRIPTS / f"{work.program}.tcl"],
        "ns3": [NS3_PROGRAMS / work.program],
        "htsim": [HTSIM_PROGRAMS / work.program],
    }
    options = {**work.options, **work.peer(side).options}
    return start[side] + [
        word for name, value in options.items() for word in (f"-{name}", str(value))]


def counted(work: Work, side: str, output: str) -> tuple[int, int | None]:
    """Packets through the bottleneck, and packet-hops if they are known."""
    # csg-htsim reports its timeouts first.
    found = json.loads(output.strip().splitlines()[-1] if side == "htsim" else output)
    if side == "ours":
        return found["packets"], found["packet_hops"]
    packets = work.packets(found)
    return packets, work.hops_per_packet and packets * work.hops_per_packet

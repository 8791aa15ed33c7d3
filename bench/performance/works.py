"""The pieces of work, and how each simulator is called for them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHORTFLOW = ROOT / "target" / "release" / "shortflow"
NS2_SCRIPTS = ROOT / "bench" / "peers" / "ns2"
NS3_PROGRAMS = ROOT / "target" / "peers" / "ns3"

NAMES = {"ours": "Shortflow", "ns2": "ns-2", "ns3": "ns-3"}


@dataclass(frozen=True)
class Work:
    """One piece of work, the same for all simulators."""

    name: str
    about: str
    program: str  # of the peers, without the ending
    options: Mapping[str, object]
    packets: Callable[[dict], int]  # that a peer's bottleneck forwarded
    hops_per_packet: int | None  # with those of its acknowledgement, where all go the whole way
    ns2_ratio: float | None = None  # what is wanted: times the speed of ns-2
    ns3_ratio: float | None = None
    ns3_rounds: int = 0
    ns3_stop_s: int | None = None  # CPU seconds after which ns-3 is stopped: its figure is "more"
    ns3_options: Mapping[str, object] = field(default_factory=dict)
    packets_per_cpu_s: float | None = None  # what is wanted of ours
    packets_from: str = ""  # where that figure is from


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

WORKS = (
    Work(
        "A", "20 long flows, 100 Mbit/s drop-tail, 60 s", "long-flows", {}, long_flow_packets, 6,
        ns2_ratio=5, ns3_ratio=100, ns3_rounds=2, ns3_options=NS3_SACK,
        packets_per_cpu_s=8e6 / 1.6, packets_from=PROTOTYPE,
    ),
    Work(
        "B", "400 long flows, 1 Gbit/s drop-tail, 20 s", "long-flows",
        {**GIGABIT, "flows": 400, "buffer": 5000}, long_flow_packets, 6,
        ns2_ratio=6, ns3_ratio=100, ns3_rounds=1, ns3_stop_s=150, ns3_options=NS3_SACK,
        packets_per_cpu_s=7e6 / 1.6, packets_from=PROTOTYPE,
    ),
    Work(
        "S", "short transfers over RED, 10 Mbit/s, 160 s", "transactions", {}, transfer_packets,
        None, ns2_ratio=30, ns3_ratio=100, ns3_rounds=3, ns3_options=NS3_SACK,
    ),
    Work(
        "D", "DiffServ domain with TSW2CM, 10 Mbit/s, 80 s", "diffserv", {}, diffserv_packets,
        None, ns2_ratio=40,
    ),
    Work(
        "H", "100 long SACK flows, 1 Gbit/s RED, 20 ms, 20 s", "long-flows",
        {**GIGABIT, "flows": 100, "tcp": "Sack1", "rtt_min_ms": 18, "rtt_max_ms": 22,
         "rtt_steps": 5, "queue": "RED", "buffer": 2500, "min_threshold": 250,
         "max_threshold": 750, "max_probability": 0.1},
        long_flow_packets, 6,
        packets_per_cpu_s=3e6, packets_from="csg-htsim's recorded figure",
    ),
)  # fmt: skip


def command(work: Work, side: str) -> list[str | Path]:
    """What runs `work` on one side; it prints JSON."""
    if side == "ours":
        return [SHORTFLOW, "bench", "--json", work.name]
    options = dict(work.options)
    if side == "ns3":
        start: list[str | Path] = [NS3_PROGRAMS / work.program]
        options |= work.ns3_options
    else:
        start = ["ns", NS2_SCRIPTS / f"{work.program}.tcl"]
    return start + [word for name, value in options.items() for word in (f"-{name}", str(value))]


def counted(work: Work, side: str, output: str) -> tuple[int, int | None]:
    """Packets through the bottleneck, and packet-hops where they can be told."""
    found = json.loads(output)
    if side == "ours":
        return found["packets"], found["packet_hops"]
    packets = work.packets(found)
    return packets, work.hops_per_packet and packets * work.hops_per_packet

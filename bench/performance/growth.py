"""How the cost grows with flows, nodes, connections and replicas."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import scenarios
from process import Usage, measure
from works import ROOT, SHORTFLOW

FLOWS = (100, 1_000, 10_000, 100_000)
# Edge routers on each side, and hosts on each edge router.
TREES = ((1, 3), (1, 49), (5, 99), (50, 99))
TREE_FLOWS = 5_000
PACKETS = 4_000_000  # data packets, about, in each run with flows or nodes
PACKETS_PER_FLOW_S = 80  # about: windows of 8 segments over a mean round trip of 110 ms
START_S = 0.25  # until the windows are full
CONNECTIONS = (20_000, 200_000)
SHORT_FLOWS = 1_000_000
SHORT_FLOWS_PER_S = 20_000
REPLICAS = 16


@dataclass(frozen=True)
class Cost:
    """The cost of a packet-hop at one size."""

    size: int
    ns_per_hop: float
    cpu_s: float
    peak_bytes: int
    hops: int


@dataclass(frozen=True)
class ShortFlows:
    """One run of many short transfers."""

    cost: Cost
    completed: int


@dataclass(frozen=True)
class Replicas:
    """Efficiency of two threads compared with one, by elapsed time and by CPU time; 1 is perfect."""

    elapsed: float
    cpu: float


@dataclass(frozen=True)
class Growth:
    """All measurements of growth."""

    flows: Sequence[Cost]
    nodes: Sequence[Cost]
    bytes_per_connection: float
    short_flows: ShortFlows
    replicas: Replicas


def grow(rounds: int, told: Callable[[str], None]) -> Growth:
    """Measures growth: every size once in each round, then the median of the rounds."""
    flow_costs: dict[int, list[Cost]] = {size: [] for size in FLOWS}
    node_costs: dict[int, list[Cost]] = {scenarios.node_count(*tree): [] for tree in TREES}
    pairs = []
    for turn in range(rounds):
        for size in FLOWS:
            told(f"growth, round {turn + 1} of {rounds}: {size} flows")
            flow_costs[size].append(cost_of_flows(size))
        for tree in TREES:
            told(f"growth, round {turn + 1} of {rounds}: {scenarios.node_count(*tree)} nodes")
            node_costs[scenarios.node_count(*tree)].append(cost_of_nodes(*tree))
        told(f"growth, round {turn + 1} of {rounds}: replicas")
        pairs.append((replicas(1), replicas(2)))
    told("growth: memory, and a million short flows")
    return Growth(
        [middle(costs) for costs in flow_costs.values()],
        [middle(costs) for costs in node_costs.values()],
        bytes_per_connection(),
        short_flows(),
        Replicas(median(one.elapsed_s / (2 * two.elapsed_s) for one, two in pairs),
                 median(one.cpu_s / two.cpu_s for one, two in pairs)),
    )  # fmt: skip


def middle(costs: Sequence[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.ns_per_hop)[len(costs) // 2]


def cost_of_flows(size: int) -> Cost:
    text = scenarios.flows(size, START_S + PACKETS / PACKETS_PER_FLOW_S / size)
    return cost(size, simulate(text), hops_per_packet=3)


def cost_of_nodes(edges: int, hosts_per_edge: int) -> Cost:
    duration_s = START_S + PACKETS / PACKETS_PER_FLOW_S / TREE_FLOWS
    text = scenarios.nodes(edges, hosts_per_edge, TREE_FLOWS, duration_s)
    size = scenarios.node_count(edges, hosts_per_edge)
    return cost(size, simulate(text), hops_per_packet=5)


def cost(size: int, usage: Usage, hops_per_packet: int) -> Cost:
    """All packets, including acknowledgements, cross the link in the middle, where they are counted."""
    ports = summary(usage)["ports"]
    packets = sum(each["arrived"]["packets"] for port in ports for each in port["code_points"])
    hops = packets * hops_per_packet
    return Cost(size, usage.cpu_s / hops * 1e9, usage.cpu_s, usage.peak_bytes, hops)


def bytes_per_connection() -> float:
    """The slope of peak memory over open connections, each with at most one packet in flight."""
    few, many = (simulate(scenarios.flows(size, 0.15, window_segments=1)) for size in CONNECTIONS)
    return (many.peak_bytes - few.peak_bytes) / (CONNECTIONS[1] - CONNECTIONS[0])


def short_flows() -> ShortFlows:
    usage = simulate(scenarios.short_flows(SHORT_FLOWS, SHORT_FLOWS_PER_S))
    completed = sum(workload["completed"] for workload in summary(usage)["workloads"])
    return ShortFlows(cost(SHORT_FLOWS, usage, hops_per_packet=3), completed)


def replicas(jobs: int) -> Usage:
    work = ROOT / "bench" / "works" / "a.toml"
    return run(work, jobs, "--replicas", str(REPLICAS))


def simulate(text: str) -> Usage:
    with tempfile.TemporaryDirectory() as scratch:
        scenario = Path(scratch, "scenario.toml")
        scenario.write_text(text)
        return run(scenario, 1)


def run(scenario: Path, jobs: int, *options: str) -> Usage:
    fixed = ("--jobs", str(jobs), "--json", "--quiet", "--no-transfers", "--out", "results")
    return measure([SHORTFLOW, "simulate", scenario, *fixed, *options])


def summary(usage: Usage) -> dict:
    return json.loads(usage.output)["runs"][0]["points"][0]["summary"]

"""Figures by name: the output of one run of either side, as a flat table of numbers.

A name is a path with dots, for example `bottleneck.loss` or `workload.web.packets.7.mean`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

Figures = dict[str, float]


def of_peer(output: Mapping[str, Any]) -> Figures:
    """All numbers of a peer's JSON object except its parameters; lists are left out."""
    results = {key: value for key, value in output.items() if key != "parameters"}
    return with_loss(dict(flat(results)))


def of_replica(replica: Mapping[str, Any]) -> Figures:
    """The figures of one replica of Shortflow, an entry of its `replicas.json`."""
    figures: Figures = {}
    measured = replica["measured"]
    for workload in replica["workloads"]:
        prefix = f"workload.{workload['name']}"
        figures.update(of_workload(prefix, workload, measured))
    for port in replica["ports"]:
        prefix = f"port.{port['name']}"
        figures[f"{prefix}.mean_queue"] = port["mean_queue_packets"]
        figures[f"{prefix}.utilisation"] = port["utilisation"]
        figures[f"{prefix}.mean_wait_s"] = port["mean_wait"]
        counts = dict(zip(replica["code_points"], port["code_points"]))
        totals = [packets(count) for count in counts.values()]
        figures[f"{prefix}.forwarded"] = sum(forwarded for forwarded, _ in totals)
        figures[f"{prefix}.dropped"] = sum(dropped for _, dropped in totals)
        arrived = sum(count["arrived"]["packets"] for count in counts.values())
        figures[f"{prefix}.arrived_per_s"] = arrived / measured
        for code_point, count in counts.items():
            at = f"{prefix}.{code_point}"
            figures[f"{at}.forwarded"], figures[f"{at}.dropped"] = packets(count)
            figures[f"{at}.arrived"] = count["arrived"]["packets"]
    for name, value in replica["counters"].items():
        figures[f"counter.{name}"] = value
    return with_loss(figures)


def of_workload(prefix: str, workload: Mapping[str, Any], measured: float) -> Figures:
    figures: Figures = {f"{prefix}.goodput_mbps": workload["delivered_bytes"] * 8e-6 / measured}
    all_transfers = workload["all"]
    figures[f"{prefix}.completed"] = all_transfers["completion"]["n"]
    for count in ("open", "failed", "timeouts", "retransmissions", "syn_retransmissions"):
        figures[f"{prefix}.{count}"] = workload[count]
    figures[f"{prefix}.expiries"] = workload["timeouts"] + workload["syn_retransmissions"]
    figures.update(of_times(prefix, all_transfers))
    for size in workload["classes"]:
        name = size["label"].removesuffix(" seg")
        figures.update(of_times(f"{prefix}.packets.{name}", size))
    if datagrams := workload["datagrams"]:
        figures.update(flat(datagrams, f"{prefix}.datagrams."))
        known = datagrams["dropped"] + datagrams["delivered"]
        figures[f"{prefix}.datagrams.loss"] = datagrams["dropped"] / known if known else 0.0
    if long := workload["long_flows"]:
        rates = long["rates"]
        figures[f"{prefix}.jain"] = sum(rates) ** 2 / (len(rates) * sum(r * r for r in rates) or 1)
        figures.update(flat(long, f"{prefix}."))
    return figures


def of_times(prefix: str, times: Mapping[str, Any]) -> Figures:
    """Completion times of one size class, in seconds; empty if no transfer completed."""
    if not times["completion"]["n"]:
        return {}
    quantiles = {name: times[name] for name in ("median", "p95", "p99")}
    parts = {part: times[part]["mean"] for part in ("handshake", "request", "reply")}
    figures = {"mean": times["completion"]["mean"], **quantiles, **parts}
    return {f"{prefix}.{name}": value for name, value in figures.items() if value is not None}


def packets(count: Mapping[str, Any]) -> tuple[int, int]:
    """Packets forwarded, and packets dropped for any reason."""
    return count["forwarded"]["packets"], sum(reason["packets"] for reason in count["dropped"])


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield prefix + key, value


def with_loss(figures: Figures) -> Figures:
    """Adds `X.loss` to each `X.dropped`: the share of packets that were dropped."""
    for name in [name for name in figures if name.endswith(".dropped")]:
        place = name.removesuffix(".dropped")
        passed = figures.get(f"{place}.forwarded")
        if passed is None and f"{place}.arrived" in figures:
            passed = figures[f"{place}.arrived"] - figures[name]
        if passed is not None and passed + figures[name] > 0:
            figures[f"{place}.loss"] = figures[name] / (passed + figures[name])
    return figures


def matches(pattern: str, figures: Figures) -> dict[str, str]:
    """The names that match `pattern`, by what its `*` (any text without a dot) stands for."""
    form = re.compile(r"([^.]+)".join(re.escape(part) for part in pattern.split("*")))
    found = ((form.fullmatch(name), name) for name in figures)
    return {match.group(1) if match.groups() else "": name for match, name in found if match}

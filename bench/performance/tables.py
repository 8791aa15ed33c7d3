"""The tables of the page."""

from collections.abc import Sequence

from growth import CONNECTIONS, REPLICAS, Cost, Growth
from peers import Ratio, Result, Sample, Side
from works import NAMES, PROTOTYPE

# What is wanted of growth.
MAX_GROWTH = 2.0
MAX_BYTES_PER_CONNECTION = 1000
MIN_EFFICIENCY = 0.9


def ratios(results: Sequence[Result]) -> str:
    """The ratios of the peers' CPU seconds to ours."""
    rows = [
        [result.work.name, result.work.about, NAMES[peer], spread(ratio), str(ratio.rounds),
         *judged(ratio.median, result.work.peer(peer).at_least)]
        for result in results for peer, ratio in result.ratios.items()
    ]  # fmt: skip
    head = ["work", "what", "against", "times the CPU seconds", "rounds", "wanted", "met"]
    return table(head, rows, right=(3, 4, 5))


def spread(ratio: Ratio) -> str:
    if ratio.rounds == 1:
        return f"{'> ' if ratio.at_least else ''}{ratio.median:.1f}"
    return f"{ratio.median:.1f} ({ratio.least:.1f}–{ratio.most:.1f})"


def judged(found: float, least: float | None) -> list[str]:
    """The required minimum, and whether it is met."""
    return ["–", "–"] if least is None else [f"≥ {least:g}", met(found >= least)]


def met(holds: bool) -> str:
    return "yes" if holds else "**no**"


def rates(results: Sequence[Result]) -> str:
    """CPU seconds, packets and memory of every simulator."""
    rows = [row for result in results for row in rates_of(result)]
    head = ["work", "simulator", "CPU s", "packets, M", "M packets/CPU s", "M packet-hops/CPU s",
            "peak memory, MB"]  # fmt: skip
    return table(head, rows, right=range(2, 7))


def rates_of(result: Result) -> list[list[str]]:
    return [[result.work.name, NAMES[name], *figures(side)] for name, side in result.sides.items()]


def figures(side: Side) -> list[str]:
    if any(sample.stopped for sample in side.samples):
        return [f"> {side.median(lambda sample: sample.cpu_s):.0f}", "–", "–", "–",
                f"> {side.median(peak) / 1e6:.1f}"]  # fmt: skip
    hops = "–"
    if side.samples[0].hops is not None:
        hops = f"{side.median(lambda sample: (sample.hops or 0) / sample.cpu_s) / 1e6:.3g}"
    return [
        f"{side.median(lambda sample: sample.cpu_s):.3g}",
        f"{side.median(lambda sample: sample.packets or 0) / 1e6:.3f}",
        f"{packets_per_cpu_s(side) / 1e6:.3g}",
        hops,
        f"{side.median(peak) / 1e6:.1f}",
    ]


def packets_per_cpu_s(side: Side) -> float:
    return side.median(lambda sample: (sample.packets or 0) / sample.cpu_s)


def peak(sample: Sample) -> float:
    return sample.peak_bytes


def limits(results: Sequence[Result]) -> str:
    """Requirements on ours that do not depend on the peers, and on its memory."""
    rows = []
    for result in results:
        ours, work = result.sides["ours"], result.work
        if work.packets_per_cpu_s is not None:
            rate = packets_per_cpu_s(ours)
            rows.append([
                work.name, "M packets per CPU second", f"{rate / 1e6:.2f}",
                f"≥ {work.packets_per_cpu_s / 1e6:.2f}", work.packets_from,
                met(rate >= work.packets_per_cpu_s),
            ])  # fmt: skip
        if work.prototype_over_ns2 is not None:
            found, least = result.ratios["ns2"].median, work.prototype_over_ns2 / 1.6
            rows.append([work.name, "times the speed of ns-2 in this run", f"{found:.1f}",
                         f"≥ {least:.1f}", PROTOTYPE, met(found >= least)])  # fmt: skip
        for peer in (peer for peer in ("ns2", "htsim") if peer in result.sides):
            mine, theirs = ours.median(peak), result.sides[peer].median(peak)
            rows.append([work.name, "peak memory, MB", f"{mine / 1e6:.1f}",
                         f"≤ {theirs / 1e6:.1f}", f"{NAMES[peer]}'s", met(mine <= theirs)])  # fmt: skip
    return table(["work", "what", "ours", "wanted", "which is", "met"], rows, right=(2, 3))


def growth(found: Growth) -> str:
    """Packet-hops by size."""
    rows = [
        [what, f"{cost.size:,}", f"{cost.ns_per_hop:.1f}",
         f"{cost.ns_per_hop / costs[0].ns_per_hop:.2f}", f"{cost.cpu_s:.2f}",
         f"{cost.hops / 1e6:.1f}", f"{cost.peak_bytes / 1e6:.1f}"]
        for what, costs in (("flows", found.flows), ("nodes", found.nodes)) for cost in costs
    ]  # fmt: skip
    head = ["of", "number", "CPU ns per packet-hop", "times the first", "CPU s", "packet-hops, M",
            "peak memory, MB"]  # fmt: skip
    return table(head, rows, right=range(1, 7))


def growth_limits(found: Growth) -> str:
    """Requirements on growth."""
    short, kept = found.short_flows, found.replicas
    connection = found.bytes_per_connection
    rows = [
        last_against_first("flows", found.flows),
        last_against_first("nodes", found.nodes),
        [f"bytes per open connection, from {CONNECTIONS[0]:,} to {CONNECTIONS[1]:,}",
         f"{connection:.0f}", f"≤ {MAX_BYTES_PER_CONNECTION}",
         met(connection <= MAX_BYTES_PER_CONNECTION)],
        [f"short flows completed of about {short.cost.size:,}", f"{short.completed:,}", "–", "–"],
        ["… CPU seconds", f"{short.cost.cpu_s:.1f}", "–", "–"],
        ["… CPU ns per packet-hop", f"{short.cost.ns_per_hop:.1f}", "–", "–"],
        ["… peak memory, MB", f"{short.cost.peak_bytes / 1e6:.1f}", "–", "–"],
        at_least(f"efficiency of 2 threads, {REPLICAS} replicas, elapsed time", kept.elapsed),
        at_least("… CPU time", kept.cpu),
    ]  # fmt: skip
    return table(["what", "found", "wanted", "met"], rows, right=(1, 2))


def last_against_first(what: str, costs: Sequence[Cost]) -> list[str]:
    found = costs[-1].ns_per_hop / costs[0].ns_per_hop
    sizes = f"{costs[-1].size:,} {what} against {costs[0].size:,}"
    return [f"CPU per packet-hop, {sizes}", f"{found:.2f}", f"≤ {MAX_GROWTH:g}",
            met(found <= MAX_GROWTH)]  # fmt: skip


def at_least(what: str, found: float) -> list[str]:
    return [what, f"{found:.2f}", f"≥ {MIN_EFFICIENCY:g}", met(found >= MIN_EFFICIENCY)]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """A table in Markdown, its columns aligned, those of `right` to the right."""
    widths = [max(len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    rule = ["-" * (width - 1) + ":" if column in right else "-" * width
            for column, width in enumerate(widths)]  # fmt: skip
    return "\n".join(aligned(line, widths, right) for line in (head, rule, *rows)) + "\n"


def aligned(line: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    cells = [text.rjust(width) if column in right else text.ljust(width)
             for column, (text, width) in enumerate(zip(line, widths))]  # fmt: skip
    return f"| {' | '.join(cells)} |"

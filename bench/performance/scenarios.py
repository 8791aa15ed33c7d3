"""The scenarios of growth: the same work for any number of flows or nodes."""

TCP = """\
seed = 1
replicas = 1

[tcp]
era = "ns2-2002"
recovery = "sack"
receive_window = "{window} KB"
rto_initial = "3 s"
rto_min = "200 ms"
rto_max = "60 s"
restart_after_idle = false
"""

PAIRS = """
[hosts.senders]
count = {hosts}

[hosts.receivers]
count = {hosts}
"""

BULK = """
[workloads.long.bulk]
from = "senders"
to = "receivers"
flows = {flows}
start_window = "100 ms"

[measure]
ports = ["r1->r2", "r2->r1"]
"""


def link(name: str, ends: tuple[str, str], rate: str, delay: str, queue: str = "100000 pkt") -> str:
    return (f'\n[links.{name}]\nbetween = ["{ends[0]}", "{ends[1]}"]\nrate = "{rate}"\n'
            f'delay = {delay}\nqueue = "{queue}"\n')  # fmt: skip


def head(name: str, duration_s: float, window_segments: int) -> str:
    start = f'name = "{name}"\nduration = "{duration_s * 1000:.0f} ms"\n'
    return start + TCP.format(window=window_segments)


def flows(count: int, duration_s: float, window_segments: int = 8) -> str:
    """Flows between 100 pairs of hosts over one link that is never full.

    There are ten round trips from 20 to 200 ms and a receive window of some segments. So every flow always has
    packets in flight, at the same rate for any number of flows.
    """
    delays = [f"{2.5 + 5 * step} ms" for step in range(10)]
    listed = "[" + ", ".join(f'"{delay}"' for delay in delays) + "]"
    return "".join((
        head(f"{count} flows", duration_s, window_segments),
        PAIRS.format(hosts=100),
        "\n[routers.r1]\n[routers.r2]\n",
        link("middle", ("r1", "r2"), "1000 Gbit/s", '"5 ms"'),
        link("left", ("senders", "r1"), "100 Gbit/s", listed),
        link("right", ("receivers", "r2"), "100 Gbit/s", listed),
        BULK.format(flows=count),
    ))  # fmt: skip


def nodes(edges: int, hosts_per_edge: int, flow_count: int, duration_s: float) -> str:
    """The same flows in a tree of any size: hosts, edge routers, two routers in the middle."""
    tenth = '"10 ms"'
    return "".join((
        head(f"{node_count(edges, hosts_per_edge)} nodes", duration_s, 8),
        PAIRS.format(hosts=edges * hosts_per_edge),
        f"\n[routers.left]\ncount = {edges}\n\n[routers.right]\ncount = {edges}\n",
        "\n[routers.r1]\n[routers.r2]\n",
        link("middle", ("r1", "r2"), "1000 Gbit/s", tenth),
        link("trunks_left", ("left", "r1"), "100 Gbit/s", tenth),
        link("trunks_right", ("right", "r2"), "100 Gbit/s", tenth),
        link("senders", ("senders", "left"), "100 Gbit/s", tenth),
        link("receivers", ("receivers", "right"), "100 Gbit/s", tenth),
        BULK.format(flows=flow_count),
    ))  # fmt: skip


def node_count(edges: int, hosts_per_edge: int) -> int:
    return 2 + 2 * edges * (1 + hosts_per_edge)


# Mean packets of a reply, as in work S.
REPLY_PACKETS = 14.2


def short_flows(count: int, per_second: int) -> str:
    """Transfers with the sizes of work S between 20 pairs of hosts, over a link with a load of 80 %."""
    rate_gbps = per_second * REPLY_PACKETS * 1040 * 8 / 0.8 / 1e9
    return "".join((
        head(f"{count} short flows", count / per_second, 20_000).replace(
            "replicas = 1\n", 'replicas = 1\ndrain = "5 s"\n'),
        "\n[hosts.clients]\ncount = 20\n\n[hosts.servers]\ncount = 20\n",
        "\n[routers.r1]\n[routers.r2]\n",
        link("middle", ("r1", "r2"), f"{rate_gbps:.4f} Gbit/s", '"20 ms"', "2000 pkt"),
        link("clients", ("clients", "r1"), "10 Gbit/s", '"1 us"'),
        link("servers", ("servers", "r2"), "10 Gbit/s", '"1 us"'),
        '\n[workloads.web.transfers]\nclient = "clients"\nserver = "servers"\n',
        f'rate = "{per_second} /s"\nrequest.constant = "1 seg"\n',
        'reply.choice = { sizes = ["1 seg", "1 seg", "1 seg", "2 seg", "3 seg", "5 seg", "7 seg",',
        ' "11 seg", "20 seg", "91 seg"] }\n\n[measure]\nports = ["r1->r2", "r2->r1"]\n',
    ))  # fmt: skip

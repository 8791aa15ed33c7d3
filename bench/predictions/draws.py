"""Random scenarios from the range of each model; the same seed gives the same scenarios."""

import math
import random
from dataclasses import dataclass, field

# Fixed before any was run.
SEED = 20261125


@dataclass(frozen=True)
class Drawn:
    """A scenario, its policy, and a description."""

    name: str
    words: str
    scenario: str
    policy: str = ""
    replicas: int = 4


@dataclass(frozen=True)
class Family:
    """Scenarios of one model."""

    name: str
    title: str
    count: int
    draw: object = field(repr=False)

    def scenarios(self) -> list[Drawn]:
        """All scenarios of the family."""
        return [self.draw(random.Random(f"{SEED}/{self.name}/{at}"), f"{self.name}-{at + 1}")
                for at in range(self.count)]  # fmt: skip


def between(rng: random.Random, low: float, high: float) -> float:
    """A number from low to high, each order of magnitude equally likely."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def head(duration: float, warm_up: float, policy: bool = False) -> str:
    bind = 'bind = [{ role = "core", at = "far", to = "near" }]\n' if policy else ""
    name = 'policy = "policy.toml"\n' if policy else ""
    return (f'{name}duration = "{duration:.0f} s"\nwarm_up = "{warm_up:.0f} s"\ndrain = "60 s"\n'
            f"{bind}hosts = {{ client = {{}}, server = {{}} }}\nrouters = {{ near = {{}}, far = {{}} }}\n")  # fmt: skip


def line(rate: float, delay: float, queue: str = "", loss: float = 0.0) -> str:
    """A line from the router of servers to that of clients, and fast links to both."""
    rest = f', queue = "{queue}"' if queue else ""
    rest += f", loss = {{ forward = {loss:.6f}, back = 0 }}" if loss else ""
    fast = 'rate = "10 Gbit/s", delay = "1 us"'
    return (f'links.access = {{ between = ["near", "client"], {fast} }}\n'
            f'links.farm = {{ between = ["server", "far"], {fast} }}\n'
            f'links.line = {{ between = ["far", "near"], rate = "{rate:.0f} bit/s", delay = "{delay * 1e3:.3f} ms"{rest} }}\n')  # fmt: skip


def packets(name: str, rate: float, load: float, sizes: list[int], dscp: str = "BE") -> str:
    """A Poisson stream that gives a line of `rate` this load."""
    mean = sum(sizes) / len(sizes)
    listed = ", ".join(f'"{size} B"' for size in sizes)
    return (f'[workloads.{name}.poisson]\nfrom = "server"\nto = "client"\n'
            f'rate = "{load * rate / 8 / mean:.3f} /s"\nsize.choice = {{ sizes = [{listed}] }}\ndscp = "{dscp}"\n')  # fmt: skip


def queue(rng: random.Random, name: str) -> Drawn:
    """First come, first served."""
    rate, delay, load = between(rng, 1e6, 1e8), rng.uniform(0.001, 0.05), rng.uniform(0.1, 0.9)
    sizes = [rng.randrange(64, 1501) for _ in range(rng.choice([1, 1, 2, 3]))]
    seconds = 100_000 * 8 * sum(sizes) / len(sizes) / (load * rate)
    text = head(seconds * 1.05 + 2, seconds * 0.05 + 1) + line(rate, delay, "1000000 pkt")
    text += packets("packets", rate, load, sizes)
    return Drawn(name, f"{rate / 1e6:.1f} Mbit/s, load {load:.2f}, {len(sizes)} sizes", text, "", 8)


def priority(rng: random.Random, name: str) -> Drawn:
    """Bands served in order."""
    rate, delay, load = between(rng, 1e6, 1e8), rng.uniform(0.001, 0.05), rng.uniform(0.2, 0.9)
    parts = [rng.uniform(0.1, 1.0) for _ in range(3)]
    loads = [load * part / sum(parts) for part in parts]
    seconds = 100_000 * 8 * 700 / (load * rate)
    text = head(seconds * 1.05 + 2, seconds * 0.05 + 1, policy=True) + line(rate, delay)
    for at, (dscp, own) in enumerate(zip(["EF", "AF11", "BE"], loads), 1):
        sizes = [rng.randrange(64, 1501) for _ in range(rng.choice([1, 2]))]
        text += packets(f"band{at}", rate, own, sizes, dscp)
    policy = "".join(
        f"[[roles.core.queue.strict-priority.bands]]\n{match}queue.fifo = {{ limit = \"1000000 pkt\" }}\n"
        for match in ('match = { dscp = ["EF"] }\n', 'match = { dscp = ["AF11"] }\n', ""))  # fmt: skip
    return Drawn(name, f"{rate / 1e6:.1f} Mbit/s, load {load:.2f} in three bands", text, policy, 8)


def tcp(**keys: object) -> str:
    text = "[tcp]\n"
    for key, value in keys.items():
        shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
        text += f"{key} = {shown}\n"
    return text


def transfers(
    name: str, load: float, sizes: list[str], request: str = "400 B", client: str = "client", server: str = "server"
) -> str:
    listed = ", ".join(f'"{size}"' for size in sizes)
    return (f'[workloads.{name}.transfers]\nclient = "{client}"\nserver = "{server}"\nload = "{load:.0f} bit/s"\n'
            f'request.constant = "{request}"\nreply.choice = {{ sizes = [{listed}] }}\n')  # fmt: skip


def classes(sizes: list[str]) -> str:
    listed = ", ".join(f'"{size}"' for size in sizes)
    return f"measure.size_classes = [{listed}]\n"


def recursion(rng: random.Random, name: str) -> Drawn:
    """Short transfers of 1 to 9 segments over a lossy line."""
    delay, loss = rng.uniform(0.01, 0.1), between(rng, 1e-4, 0.1)
    sizes = [f"{segments} seg" for segments in range(1, 10)]
    text = head(130, 10) + classes(sizes) + line(1e9, delay, "100000 pkt", loss)
    text += tcp(era="ns2-2005", initial_window=1, recovery="newreno", rto_initial="1 s", receive_window="1 MB")
    text += transfers("web", 4e6, sizes, "1 seg")
    return Drawn(name, f"round trip {2e3 * delay:.0f} ms, loss {loss:.4f}", text)


def pftk(rng: random.Random, name: str) -> Drawn:
    """A long Reno connection over a lossy line."""
    delay, loss = rng.uniform(0.01, 0.1), between(rng, 0.001, 0.03)
    delayed = rng.random() < 0.5
    text = head(320, 20) + line(1e9, delay, "100000 pkt", loss)
    keys: dict[str, object] = {"era": "ns2-2005", "recovery": "reno", "receive_window": "1 MB"}
    text += tcp(**keys)
    if delayed:
        text += 'delayed_ack = { timeout = "100 ms", segments = 2 }\n'
    text += '[workloads.long.bulk]\nfrom = "server"\nto = "client"\nflows = 4\n'
    words = f"round trip {2e3 * delay:.0f} ms, loss {loss:.4f}{', delayed acknowledgements' if delayed else ''}"
    return Drawn(name, words, text)


SIZES = ["1 KB", "2 KB", "5 KB", "10 KB", "20 KB", "50 KB", "100 KB", "200 KB"]

DSTF = """[[roles.core.classes]]
name = "all"
marker.dstf = { thresholds = ["20 KB"], code_points = ["CS1", "BE"] }
[roles.core.queue.shared-priority]
limit = "500 pkt"
bands = ["CS1", "rest"]
"""

PRIORITY = """[[roles.core.queue.strict-priority.bands]]
match = { protocol = "tcp", src_port = 80 }
queue.fifo = { limit = "200 pkt" }
[[roles.core.queue.strict-priority.bands]]
queue.fifo = { limit = "200 pkt" }
"""

RED = """[roles.core.queue.red]
limit = "300 pkt"
min_threshold = "20 pkt"
max_threshold = "100 pkt"
max_probability = 0.1
gentle = true
"""

LONG = '[workloads.long.bulk]\nfrom = "server"\nto = "client"\nport = 20\nflows = {flows}\nstart_window = "5 s"\n'


def whole(rng: random.Random, name: str) -> Drawn:
    """Transfers of several sizes over a line with different queues."""
    rate, delay = between(rng, 2e6, 2e7), rng.uniform(0.005, 0.05)
    kind = rng.choice(["a plain buffer", "a queue for each flow", "short first", "before long flows", "beside long flows at RED"])  # fmt: skip
    sizes = sorted(rng.sample(SIZES, 4), key=SIZES.index)
    most = {"a plain buffer": 0.8, "a queue for each flow": 0.8, "short first": 0.6,
            "before long flows": 0.5, "beside long flows at RED": 0.3}[kind]  # fmt: skip
    load = rng.uniform(0.05, most)
    era = rng.choice(["linux-today", "ns2-2005"])
    policy = {"a plain buffer": "", "a queue for each flow": "[roles.core.queue.fq-codel]\n",
              "short first": DSTF, "before long flows": PRIORITY, "beside long flows at RED": RED}[kind]  # fmt: skip
    text = head(140, 20, bool(policy)) + classes(sizes) + line(rate, delay, "" if policy else "500 pkt")
    keys: dict[str, object] = {"era": era}
    if era == "ns2-2005":
        keys["receive_window"] = "200 KB"
    text += tcp(**keys) + transfers("web", load * rate, sizes)
    if "long flows" in kind:
        text += LONG.format(flows=rng.randrange(2, 9))
    words = f"{rate / 1e6:.1f} Mbit/s, {delay * 1e3:.0f} ms, load {load:.2f}, {kind}, {era}"
    return Drawn(name, words, text, policy)


def path(rng: random.Random, name: str) -> Drawn:
    """Transfers over two or three loaded lines in a row, and others over each of them."""
    lines, kind = rng.choice([2, 3]), rng.choice(["plain buffers", "a queue for each flow"])
    rates = [between(rng, 2e6, 2e7)] * lines if rng.random() < 0.5 else [between(rng, 2e6, 2e7) for _ in range(lines)]
    delay, load = rng.uniform(0.002, 0.02), rng.uniform(0.1, 0.8)
    sizes = sorted(rng.sample(SIZES, 4), key=SIZES.index)
    policy = "[roles.core.queue.fq-codel]\n" if "each flow" in kind else ""
    fast = 'rate = "10 Gbit/s", delay = "1 us"'
    bind = ", ".join(f'{{ role = "core", at = "r[{at}]", to = "r[{at + 1}]" }}' for at in range(lines))
    text = f'policy = "policy.toml"\nbind = [{bind}]\n' if policy else ""
    text += 'duration = "140 s"\nwarm_up = "20 s"\ndrain = "60 s"\n' + classes(sizes)
    text += f"hosts.h = {{ count = {lines + 1} }}\nrouters.r = {{ count = {lines + 1} }}\n"
    text += f'links.access = {{ between = ["h", "r"], {fast} }}\n'
    for at, rate in enumerate(rates):
        buffer = "" if policy else ', queue = "500 pkt"'
        text += (f'links.line{at} = {{ between = ["r[{at}]", "r[{at + 1}]"], rate = "{rate:.0f} bit/s", '
                 f'delay = "{delay * 1e3:.3f} ms"{buffer} }}\n')  # fmt: skip
    era = rng.choice(["linux-today", "ns2-2005"])
    text += tcp(era=era) if era == "linux-today" else tcp(era=era, receive_window="200 KB")
    through = rng.uniform(0.1, 0.4) * load * min(rates)
    text += transfers("through", through, sizes, client=f"h[{lines}]", server="h[0]")
    for at, rate in enumerate(rates):
        text += transfers(f"hop{at}", load * rate - through, sizes, client=f"h[{at + 1}]", server=f"h[{at}]")
    listed = ", ".join(f"{rate / 1e6:.1f}" for rate in rates)
    return Drawn(name, f"{listed} Mbit/s, {delay * 1e3:.0f} ms each, load {load:.2f}, {kind}, {era}", text, policy)


def filled(rng: random.Random, name: str) -> Drawn:
    """Long flows that fill a line."""
    rate, delay, flows = between(rng, 2e6, 2e7), rng.uniform(0.005, 0.05), rng.randrange(4, 41)
    kind = rng.choice(["a plain buffer", "RED", "a queue for each flow"])
    policy = {"a plain buffer": "", "RED": RED, "a queue for each flow": "[roles.core.queue.fq-codel]\n"}[kind]
    text = head(140, 20, bool(policy)) + line(rate, delay, "" if policy else "200 pkt")
    text += tcp(era="ns2-2005", receive_window="1 MB", recovery="sack") + LONG.format(flows=flows)
    return Drawn(name, f"{rate / 1e6:.1f} Mbit/s, {delay * 1e3:.0f} ms, {flows} flows, {kind}", text, policy)


def loops(rng: random.Random, name: str) -> Drawn:
    """Closed-loop users, who wait for each reply."""
    rate, delay = between(rng, 2e6, 2e7), rng.uniform(0.005, 0.05)
    kind = rng.choice(["web over HTTP/1.1", "web over HTTP/1.0", "files", "echoes"])
    users = rng.randrange(2, 31)
    load = rng.uniform(0.05, 0.45)
    text = head(320, 20) + line(rate, delay, "500 pkt")
    if kind == "echoes":
        text += ('[workloads.type.telnet]\nclient = "client"\nserver = "server"\npacket = "100 B"\n'
                 f'sessions = {users}\npause.exponential.mean = "200 ms"\n')  # fmt: skip
    elif kind == "files":
        size = between(rng, 2e4, 3e5)
        pause = users * size * 8 / (load * rate)
        text += ('[workloads.files.ftp]\nfrom = "server"\nto = "client"\n'
                 f'sessions = {users}\nsize.constant = "{size:.0f} B"\npause.exponential.mean = "{pause * 1e3:.0f} ms"\n')  # fmt: skip
    else:
        index, objects, each = between(rng, 2e3, 3e4), rng.randrange(2, 9), between(rng, 3e3, 5e4)
        pause = users * (index + objects * each) * 8 / (load * rate)
        text += (f'[workloads.pages.web]\nclient = "client"\nserver = "server"\nhttp = "{kind[-3:]}"\n'
                 f'sessions = {users}\nrequest.constant = "400 B"\npage.index.constant = "{index:.0f} B"\n'
                 f'page.objects.constant = {objects}\npage.object.constant = "{each:.0f} B"\n'
                 f'think.exponential.mean = "{pause * 1e3:.0f} ms"\n')  # fmt: skip
    return Drawn(name, f"{rate / 1e6:.1f} Mbit/s, {delay * 1e3:.0f} ms, {users} users, load about {load:.2f}, {kind}", text)


FAMILIES = [
    Family("queue", "Poisson packets, first come, first served", 30, queue),
    Family("priority", "Poisson packets in bands served in order", 25, priority),
    Family("recursion", "Transfers of 1 to 9 segments, some of which are lost", 40, recursion),
    Family("pftk", "Long Reno connections, some of whose segments are lost", 40, pftk),
    Family("whole", "Completion times by size", 60, whole),
    Family("path", "Completion times over several lines", 30, path),
    Family("filled", "Long flows that fill a line", 25, filled),
    Family("loops", "Pages, files and echoes of users who wait for them", 25, loops),
]

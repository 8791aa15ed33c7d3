"""Random scenarios of every kind, drawn without regard to the models' range.

One to three links in a row, one to five workloads, any policy that comes with Shortflow or a variation of its keys, loads of
0.1 to 0.9, round trips of 5 to 600 ms, 0.2 to 1000 Mbit/s. The same number and seed give the same scenario.
"""

import random
import re

from draws import Drawn, between
from shared import ROOT

COUNT = 200

# Fixed before any was run.
SEED = 20261128

# The bits that pass the narrowest link in a replica, about: more at high rates, which are simulated for LEAST seconds.
BITS = 4e9
LEAST, MOST = 20.0, 4000.0
REPLICAS = 3

# Of the rates among a policy's parameters, what part of the narrowest link's rate each is drawn from.
RATES = {
    "rate": (0.2, 0.8), "calls": (0.05, 0.2), "cir": (0.2, 0.8), "decay": (0.002, 0.02), "link": (1.0, 1.0),
    "pages": (0.2, 0.4), "rest": (0.2, 0.4), "high": (0.01, 0.05), "medium": (0.05, 0.1),
}  # fmt: skip
SHAPED = (0.93, 0.99)


def draw(seed: int, at: int) -> Drawn:
    """Scenario number `at` of a seed."""
    rng = random.Random(f"mixed/{seed}/{at}")
    narrow, trip = between(rng, 2e5, 1e9), between(rng, 0.005, 0.6)
    links = rng.randint(1, 3)
    rates = [narrow * rng.choice([1.0, 1.0, 1.4, 2.0]) for _ in range(links)]
    rates[rng.randrange(links)] = narrow
    count = rng.randint(1, 5)
    kinds = [rng.choice(list(WORKLOADS)) for _ in range(count)]
    load = rng.uniform(0.1, 0.9)
    parts = [rng.uniform(0.2, 1.0) for _ in range(count)]
    loads = [load * part / sum(parts) for part in parts]
    measured = min(max(BITS / narrow, LEAST), MOST)
    text = (f'policy = "policy.toml"\nduration = "{1.2 * measured:.1f} s"\nwarm_up = "{0.2 * measured:.1f} s"\n'
            f'drain = "30 s"\nseed = {at}\n{tcp(rng)}{topology(rng, rates, trip, count)}')  # fmt: skip
    for number, (kind, own) in enumerate(zip(kinds, loads)):
        text += WORKLOADS[kind](rng, number, own * narrow, trip)
    name, policy = any_policy(rng, narrow)
    listed = "/".join(f"{rate / 1e6:.3g}" for rate in rates)
    words = f"{listed} Mbit/s, {trip * 1e3:.0f} ms, load {load:.2f}, {', '.join(kinds)}; {name}"
    return Drawn(f"mixed-{seed}-{at}", words, text, policy, REPLICAS)


def tcp(rng: random.Random) -> str:
    """Mostly today's TCP."""
    return rng.choice(["", "", "", "", '[tcp]\ncongestion = "reno"\n', '[tcp]\nrecovery = "sack"\n',
                       '[tcp]\necn = true\n', '[tcp]\nera = "ns2-2005"\nreceive_window = "200 KB"\n'])  # fmt: skip


def topology(rng: random.Random, rates: list[float], trip: float, pairs: int) -> str:
    """Links in a row from r[0] to the last, a client at the last and a server at the first for each workload."""
    last = len(rates)
    cuts = [rng.uniform(0.3, 1.0) for _ in range(last + 1)]
    delays = [trip / 2 * cut / sum(cuts) for cut in cuts]
    fast = f'rate = "10 Gbit/s", delay = "{delays[last] / 2 * 1e3:.6f} ms"'
    servers = ", ".join(f'"s{at}"' for at in range(pairs))
    text = "".join(f'[[bind]]\nrole = "core"\nat = "r{at}"\nto = "r{at + 1}"\n' for at in range(last))
    text += f'[[bind]]\nrole = "source"\nat = [{servers}]\nto = "r0"\n[[bind]]\nrole = "edge"\nat = "r0"\nfrom = [{servers}]\n'
    text += "[hosts]\n" + "".join(f"s{at} = {{}}\nc{at} = {{}}\n" for at in range(pairs))
    text += "[routers]\n" + "".join(f"r{at} = {{}}\n" for at in range(last + 1)) + "[links]\n"
    for at, (rate, delay) in enumerate(zip(rates, delays)):
        text += f'l{at} = {{ between = ["r{at}", "r{at + 1}"], rate = "{rate:.0f} bit/s", delay = "{delay * 1e3:.6f} ms" }}\n'
    for at in range(pairs):
        text += f's{at} = {{ between = ["s{at}", "r0"], {fast} }}\nc{at} = {{ between = ["c{at}", "r{last}"], {fast} }}\n'
    ports = ", ".join(f'"r{at}->r{at + 1}"' for at in range(last))
    return text + f"[measure]\nports = [{ports}]\n"


def transfers(rng: random.Random, at: int, rate: float, trip: float) -> str:
    reply = rng.choice([
        f'constant = "{between(rng, 500, 2e5):.0f} B"',
        'choice = { sizes = ["2 KB", "20 KB", "200 KB"], weights = [6, 3, 1] }',
        'choice = { sizes = ["1 KB", "5 KB", "10 KB", "50 KB"] }',
        'pareto = { min = "3 KB", shape = 1.3, max = "1 MB" }',
        'exponential.mean = "30 KB"',
    ])  # fmt: skip
    port = rng.choice([80, 443, 8000])
    return (f'[workloads.w{at}.transfers]\nclient = "c{at}"\nserver = "s{at}"\nport = {port}\nload = "{rate:.0f} bit/s"\n'
            f'request.constant = "{rng.randint(100, 1200)} B"\nreply.{reply}\n')  # fmt: skip


def closed(rng: random.Random, mean: float, rate: float, trip: float) -> tuple[int, float]:
    """How many users request `mean` bytes a time, and how long each pauses, to give this rate."""
    least = mean * 8 / rate
    users = rng.choice([1, 1, 2, 5, 10, 20])
    # A user alone is at most as fast as round trips let him be.
    while users * mean * 8 / rate < 6 * trip:
        users *= 2
    return users, max(users * least - 4 * trip, 0.1 * least)


def web(rng: random.Random, at: int, rate: float, trip: float) -> str:
    objects, each, index = rng.randint(1, 10), rng.choice([5, 10, 30]), rng.choice([5, 20])
    users, think = closed(rng, (index + objects * each) * 1e3, rate, trip)
    http = rng.choice(["1.0", "1.1"])
    return (f'[workloads.w{at}.web]\nclient = "c{at}"\nserver = "s{at}"\nhttp = "{http}"\nsessions = {users}\n'
            f'request.constant = "400 B"\npage.index.constant = "{index} KB"\npage.objects.constant = {objects}\n'
            f'page.object.constant = "{each} KB"\nthink.exponential.mean = "{think:.6f} s"\nstart_window = "2 s"\n')  # fmt: skip


def ftp(rng: random.Random, at: int, rate: float, trip: float) -> str:
    size = rng.choice([20e3, 50e3, 200e3, 1e6])
    users, pause = closed(rng, size, rate, trip)
    return (f'[workloads.w{at}.ftp]\nfrom = "s{at}"\nto = "c{at}"\nsessions = {users}\nsize.constant = "{size:.0f} B"\n'
            f'pause.exponential.mean = "{pause:.6f} s"\nstart_window = "1 s"\n')  # fmt: skip


def telnet(rng: random.Random, at: int, rate: float, trip: float) -> str:
    users = rng.choice([1, 2, 5, 10])
    return (f'[workloads.w{at}.telnet]\nclient = "c{at}"\nserver = "s{at}"\nsessions = {users}\npacket = "100 B"\n'
            f'pause.exponential.mean = "{rng.choice([150, 300, 1000])} ms"\nstart_window = "1 s"\n')  # fmt: skip


def bulk(rng: random.Random, at: int, rate: float, trip: float) -> str:
    flows = rng.choice([1, 2, 4, 8])
    return f'[workloads.w{at}.bulk]\nfrom = "s{at}"\nto = "c{at}"\nport = 20\nflows = {flows}\nstart_window = "1 s"\n'


def cbr(rng: random.Random, at: int, rate: float, trip: float) -> str:
    dscp = rng.choice(["EF", "EF", "BE"])
    return (f'[workloads.w{at}.cbr]\nfrom = "s{at}"\nto = "c{at}"\nrate = "{rate:.0f} bit/s"\n'
            f'packet = "{rng.randint(100, 1500)} B"\ndscp = "{dscp}"\n')  # fmt: skip


def poisson(rng: random.Random, at: int, rate: float, trip: float) -> str:
    dscp = rng.choice(["EF", "EF", "BE"])
    return (f'[workloads.w{at}.poisson]\nfrom = "s{at}"\nto = "c{at}"\nload = "{rate:.0f} bit/s"\n'
            f'size.constant = "{rng.randint(100, 1500)} B"\ndscp = "{dscp}"\n')  # fmt: skip


WORKLOADS = {"transfers": transfers, "web": web, "ftp": ftp, "telnet": telnet, "bulk": bulk, "cbr": cbr, "poisson": poisson}


def any_policy(rng: random.Random, rate: float) -> tuple[str, str]:
    """A policy that comes with Shortflow, with random rates for a link of `rate`; or RED or FQ-CoDel with other keys."""
    files = sorted((ROOT / "policies").glob("*.toml"))
    path = rng.choice(files)
    varied = {"red.toml": red, "fq-codel.toml": fq_codel}.get(path.name)
    if varied and rng.random() < 0.5:
        return varied(rng)

    def scaled(found: re.Match) -> str:
        low, high = SHAPED if path.stem == "shaper" else RATES[found[1]]
        return f'{found[1]} = "{between(rng, low, high) * rate:.0f} bit/s"'

    return path.stem, re.sub(r'^(\w+) = "[\d.]+ [kM]?bit/s"', scaled, path.read_text(), flags=re.MULTILINE)


def red(rng: random.Random) -> tuple[str, str]:
    keys = [rng.choice(["gentle = false", "gentle = true"]),
            f'spacing = "{rng.choice(["uniform", "wait", "unclamped"])}"',
            rng.choice(["ecn = false", "ecn = true"]), f"weight = {rng.choice([0.0005, 0.002, 0.02])}"]  # fmt: skip
    text = ('name = "RED"\n[roles.source]\n[roles.edge]\n[roles.core.queue.red]\nlimit = "300 pkt"\nmin_threshold = "20 pkt"\n'
            'max_threshold = "80 pkt"\nmax_probability = 0.1\n')  # fmt: skip
    return "red with " + ", ".join(keys), text + "\n".join(keys) + "\n"


def fq_codel(rng: random.Random) -> tuple[str, str]:
    keys = [f"queues = {rng.choice([8, 64, 1024])}", f'quantum = "{rng.choice([300, 1514, 6000])} B"',
            rng.choice(["ecn = false", "ecn = true"]),
            rng.choice(['target = "5 ms"', 'target = "20 ms"\ninterval = "400 ms"'])]  # fmt: skip
    text = 'name = "FQ-CoDel"\n[roles.source]\n[roles.edge]\n[roles.core.queue.fq-codel]\n'
    return "fq-codel with " + ", ".join(keys).replace("\n", ", "), text + "\n".join(keys) + "\n"

"""Mutates inputs of every format that the program reads: no panic, no hang, no other exit code."""

import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import time

from harness import TOP, Bench, inputs

TOKENS = [
    b"", b"-1", b"0", b"1e308", b"1e-308", b"NaN", b"inf", b"18446744073709551616", b"-9223372036854775808", b"[]", b"{}",
    b"null", b'""', b'"\\u001b[2J"', b"\x1b]0;owned\x07", b"\xff\xfe", b"\x00", b"\n", b"'", b'"""', b"=", b"$x", b"../..",
    b"/dev/zero", b"[" * 2000, b"a" * 100_000, "\u202e".encode(), "é".encode() * 300, b"\r", b"\t", b",", b":", b"::",
]
VALUES = [None, [], {}, "", 0, -1, 1e308, True, "\x1b[2J", [[]], [None], {"a": 1}, 2**63, "x" * 10_000, [1] * 1000]


def mutated(dice: random.Random, data: bytes) -> bytes:
    """The text with one to four bytes changed."""
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(7)
        to = min(len(data), at + dice.choice([1, 2, 4, 16, 256]))
        if kind == 0:
            data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1:]
        elif kind == 1:
            data = data[:at] + data[to:]
        elif kind == 2:
            data = data[:to] + data[at:to] * dice.randint(1, 5) + data[to:]
        elif kind == 3:
            data = data[:at] + dice.choice(TOKENS) + data[at:]
        elif kind == 4:
            data = data[:at] + dice.choice(TOKENS) + data[to:]
        elif kind == 5:
            data = data[:at]
        else:
            data = replaced_number(dice, data)
    return data


def replaced_number(dice: random.Random, data: bytes) -> bytes:
    places = [at for at, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return data
    at = to = dice.choice(places)
    while to < len(data) and 48 <= data[to] <= 57:
        to += 1
    return data[:at] + dice.choice(TOKENS[1:9]) + data[to:]


def mutated_json(dice: random.Random, data: bytes) -> bytes:
    """The JSON with one value replaced, removed or duplicated."""
    try:
        root = json.loads(data)
    except ValueError:
        return mutated(dice, data)
    if dice.random() < 0.05:
        return json.dumps(dice.choice(VALUES)).encode()
    for _ in range(dice.randint(1, 3)):
        node, steps = root, dice.randint(1, 12)
        for _ in range(steps):
            keys = list(node) if isinstance(node, dict) else list(range(len(node))) if isinstance(node, list) else []
            if not keys:
                break
            key = dice.choice(keys)
            inner = node[key]
            if not isinstance(inner, (dict, list)) or not inner or dice.random() < 0.2:
                change(dice, node, key)
                break
            node = inner
    return json.dumps(root).encode()


def change(dice: random.Random, node, key) -> None:
    kind = dice.randrange(4)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, list):
        node.insert(key, node[key])
    else:
        node[key] = dice.choice(VALUES)


class Format:
    """A format: the file to mutate, and the commands that read it."""

    def __init__(self, name: str, path: pathlib.Path, commands: list[list], is_json: bool = False, may_run: float = 0) -> None:
        """`may_run`: a mutant that is still valid may run for long; it is stopped after this many seconds."""
        self.name, self.path, self.commands, self.is_json, self.may_run = name, path, commands, is_json, may_run
        self.seed = path.read_bytes()

    def attack(self, bench: Bench, dice: random.Random, number: int) -> None:
        spoil = mutated_json if self.is_json and dice.random() < 0.7 else mutated
        data = spoil(dice, self.seed)
        self.path.write_bytes(data)
        found = len(bench.findings)
        for command in self.commands:
            if self.may_run:
                bench.look(command, f"{self.name} {number}", self.may_run)
            else:
                bench.run(command, f"{self.name} {number}")
        bench.check_outside(f"{self.name} {number}")
        if len(bench.findings) > found:
            print(f"  the input is {bench.keep(self.path, f'{self.name}-{number}-{self.path.name}')}", flush=True)
        self.path.write_bytes(self.seed)


class AgentState:
    """The files of an agent's state: one is mutated, and an agent starts with it in its own network namespace."""

    name = "agent-state"

    def __init__(self, bench: Bench, fleet: pathlib.Path) -> None:
        self.state, self.seed = bench.work / "agent-state", bench.work / "agent-state-seed"
        self.command = [
            "agent", "run", "--source", fleet, "--state", self.state, "--socket", bench.work / "state.sock", "--machine", "gw1",
        ]
        shutil.rmtree(self.state, ignore_errors=True)
        bench.look(self.command, "the program itself: agent run", 3, own_namespace())
        (self.state / "held.json").write_text('["51ac27cbd00c"]')
        (self.state / "worse.json").write_text('[["51ac27cbd00c","calls waited 90 ms instead of 20 ms"]]')
        shutil.copytree(self.state, self.seed, symlinks=True, dirs_exist_ok=True)
        self.files = [path for path in sorted(self.seed.rglob("*")) if path.is_file() and not path.is_symlink()]

    def attack(self, bench: Bench, dice: random.Random, number: int) -> None:
        source = dice.choice(self.files)
        target = self.state / source.relative_to(self.seed)
        spoil = mutated_json if source.suffix == ".json" and dice.random() < 0.7 else mutated
        target.write_bytes(spoil(dice, source.read_bytes()))
        what, found = f"{self.name} {number}: {source.name}", len(bench.findings)
        bench.look(self.command, what, 1, own_namespace())
        bench.check_outside(what)
        if len(bench.findings) > found:
            print(f"  the input is {bench.keep(self.state, f'{self.name}-{number}')}", flush=True)
        shutil.rmtree(self.state)
        shutil.copytree(self.seed, self.state, symlinks=True)


def own_namespace() -> tuple[str, ...]:
    """A command that runs another one in a new network namespace."""
    return ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--net", "--map-root-user")


def pcap(packets: list[bytes]) -> bytes:
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    records = [struct.pack("<IIII", 1 + at, 0, len(one), len(one)) + one for at, one in enumerate(packets)]
    return head + b"".join(records)


def frame(source: int, size: int) -> bytes:
    """A TCP segment in IPv4 in Ethernet."""
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + size, 1, 0, 64, 6, 0, bytes([10, 0, 0, source]), bytes([10, 0, 0, 3 - source]))
    tcp = struct.pack(">HHIIBBHHH", 1000, 443, 1, 1, 0x50, 0x18, 1000, 0, 0)
    return bytes(12) + b"\x08\x00" + ip + tcp + bytes(size)


def formats(bench: Bench) -> list[Format]:
    """All formats, each with a valid file."""
    work, files = bench.work, inputs(bench.work)
    scenario, policy = files["scenario"], files["policy"]
    short = ["--replicas", "2", "--jobs", "1", "--force"]
    bench.seed(["simulate", scenario, "--policy", policy, *short, "--out", "run"])
    one = ["--replicas", "1", "--jobs", "1", "--force"]
    bench.seed(["simulate", scenario, "--policy", policy, *one, "--out", "traced", "--trace", "run.pcapng"])
    bench.seed(["compare", scenario, "--policies", f"{policy},{TOP / 'policies/red.toml'}", *short, "--out", "compared"])
    rows = [f"{at * 0.1:.1f},{9000 + at},{['up', 'down'][at % 2]}" for at in range(40)]
    (work / "flows.csv").write_text("start_s,bytes,direction\n" + "\n".join(rows) + "\n")
    (work / "flows.pcap").write_bytes(pcap([frame(1 + at % 2, 100 * at) for at in range(12)]))
    (work / "accesses.csv").write_text(ACCESSES)
    logged = work / "logged.toml"
    logged.write_text(LOGGED)
    ldif = bench.seed(["agent", "export", files["fleet"], "--base", "ou=a,dc=b"]).stdout
    (work / "fleet.ldif").write_bytes(ldif)
    (work / "state").mkdir(exist_ok=True)
    (work / "state/log.jsonl").write_text(LOG)
    # What is there already is refused, after the flows were read.
    (work / "taken").mkdir(exist_ok=True)
    (work / "taken/other").write_text("")
    advise = ["advise", "--down", "20 Mbit/s", "--up", "5 Mbit/s", "--out", "taken", "--from"]
    report = [["report", "run", "--out", "reported", "--force"]]
    compared = [["report", "compared", "--out", "reported", "--force"]]
    run, study = work / "run", seed_study(work)
    states = agent_states(bench, files["fleet"])
    studied = [["reproduce", study, "--quick", "--out", "study-out"]]
    return [
        Format("scenario", scenario, [["check", scenario]]),
        Format("policy", policy, [["check", policy], ["deploy", policy, "--dev", "lo", "--rate", "9 Mbit/s", "--dry-run"]]),
        Format("fleet", files["fleet"] / "fleet.toml", [["agent", "plan", files["fleet"]]]),
        Format("fleet-policy", files["fleet"] / "policies/a.toml", [["agent", "plan", files["fleet"]]]),
        Format("ldif", work / "fleet.ldif", [["agent", "import", work / "fleet.ldif", "--into", "imported"]]),
        Format("accesses", work / "accesses.csv", [["check", logged]]),
        Format("flows-csv", work / "flows.csv", [[*advise, work / "flows.csv"]]),
        Format("pcap", work / "flows.pcap", [[*advise, work / "flows.pcap"]]),
        Format("pcapng", work / "run.pcapng", [[*advise, work / "run.pcapng"]]),
        Format("agent-log", work / "state/log.jsonl", [["agent", "log", "--state", work / "state"]]),
        *states,
        Format("manifest", run / "manifest.toml", report),
        Format("summary", run / "summary.json", report, is_json=True),
        Format("replicas", run / "replicas.json", report, is_json=True),
        Format("histograms", run / "histograms.json", report, is_json=True),
        Format("series", run / "series.csv", report),
        Format("comparison", work / "compared/comparison.json", compared, is_json=True),
        Format("study", study / "study.toml", studied, may_run=3),
        Format("claims", study / "claims.toml", studied, may_run=3),
        Format("calibration", study / "calibration.json", studied, is_json=True, may_run=3),
    ]


def agent_states(bench: Bench, fleet: pathlib.Path) -> list[AgentState]:
    """The agent's state, where this machine has agents and gives them a network namespace."""
    if subprocess.run([*own_namespace(), "true"], capture_output=True).returncode != 0:
        bench.skip("network namespaces", "the state of an agent")
        return []
    return [AgentState(bench, fleet)]


LOG = """\
{"at":"2026-01-01T00:00:00.000Z","who":"agent","what":"started","machine":"gw1","version":1}
{"at":"2026-01-01T00:00:01.000Z","who":"bob","what":"rolled back","from":2,"to":1}
"""

ACCESSES = """\
time_s,client,page,index_bytes,object_bytes
0.371208443,0,20915,3271,5120 3004 19877
0.5,1,,,300
"""

LOGGED = """\
name = "logged"
duration = "2 s"
replicas = 1
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "2 Mbit/s", delay = "5 ms" }
[workloads.web.web]
client = "a"
server = "b"
http = "1.0"
request.constant = "300 B"
replay.file = "accesses.csv"
"""


def seed_study(work: pathlib.Path) -> pathlib.Path:
    """A published study that is quick to read."""
    shutil.copytree(TOP / "papers/nt02", work / "study", dirs_exist_ok=True)
    return work / "study"


def attack(bench: Bench, seconds: float, seed: int) -> None:
    """Runs for this many seconds, with all formats in turn."""
    dice, all_formats = random.Random(seed), formats(bench)
    until, number = time.monotonic() + seconds, 0
    counts: dict[str, int] = {}
    while time.monotonic() < until:
        one = all_formats[number % len(all_formats)]
        one.attack(bench, dice, number)
        for made in ["imported", "reported", "advice", "predicted", "study-out"]:
            shutil.rmtree(bench.work / made, ignore_errors=True)
        counts[one.name] = counts.get(one.name, 0) + 1
        number += 1
    told = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(f"mutated inputs with seed {seed}: {told}")

"""Measures short transfers beside long ones through a deployed line, over this machine's own TCP, policy by policy.

    unshare -n python3 -B bench/deploy [--shortflow PATH] [--seconds 12] [--flood MBIT/S]

Needs root, iproute2, util-linux and a build with eBPF. It uses two network namespaces: the one that `unshare -n` created, and another.
It refuses to start if there are devices other than `lo`. With `--flood`, packets of 100 bytes cross the same line at that
rate, each from a new source.
"""

import argparse
import json
import pathlib
import random
import socket
import struct
import subprocess
import sys
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
HERE, THERE = "10.77.0.1", "10.77.0.2"
SHORT_PORT, LONG_PORT = 7000, 7001
SIZE = 20_000
LINE = "10 Mbit/s"
POLICIES = [
    ("best-effort.toml", ["--role", "core"]),
    ("short-first.toml", ["--role", "edge,core", "--nearest"]),
    ("dstf.toml", ["--role", "edge,core"]),
    ("best-effort.toml", ["--role", "core"]),
]


def run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def connected(port: int) -> socket.socket:
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    connection.connect((THERE, port))
    return connection


def take(connection: socket.socket) -> None:
    """Reads everything, and answers when a short transfer is complete."""
    taken = 0
    while data := connection.recv(65536):
        taken += len(data)
        if taken == SIZE:
            connection.sendall(b".")


def serve(port: int) -> None:
    listener = socket.socket()
    listener.bind((THERE, port))
    listener.listen(100)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=take, args=(connection,), daemon=True).start()


def send_on(stop: threading.Event, sent: list[int], index: int) -> None:
    with connected(LONG_PORT) as connection:
        connection.settimeout(1)
        while not stop.is_set():
            try:
                sent[index] += connection.send(bytes(16384))
            except TimeoutError:
                pass


def flood(megabits: float, mac: str) -> None:
    """Sends packets that each appear to start a new flow, until it is killed."""
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind(("sf0", 0))
    ethernet = bytes.fromhex(mac.replace(":", "")) + bytes([2, 0, 0, 0, 0, 1]) + b"\x08\x00"
    draw, begin, sent = random.Random(1), time.monotonic(), 0
    while True:
        due = int((time.monotonic() - begin) * megabits * 1e6 / 8 / 100)
        for _ in range(due - sent):
            source = 10 << 24 | draw.getrandbits(24)
            header = struct.pack(">BBHHHBBHI4s", 0x45, 0, 100, 0, 0, 64, 17, 0, source, socket.inet_aton(THERE))
            sums = sum(struct.unpack(">10H", header))
            sums = (sums & 0xFFFF) + (sums >> 16)
            header = header[:10] + struct.pack(">H", ~(sums + (sums >> 16)) & 0xFFFF) + header[12:]
            ports = struct.pack(">HHHH", draw.randrange(1024, 65536), 9, 80, 0)
            try:
                raw.send(ethernet + header + ports + bytes(72))
            except OSError:
                pass  # The queue is full.
        sent = due
        time.sleep(0.001)


def measure(seconds: float) -> tuple[list[float], float]:
    """Milliseconds of successive short transfers, and Mbit/s of two concurrent long ones."""
    stop, sent = threading.Event(), [0, 0]
    long = [threading.Thread(target=send_on, args=(stop, sent, index)) for index in range(2)]
    for thread in long:
        thread.start()
    time.sleep(2)
    before, begin, times = sum(sent), time.monotonic(), []
    while time.monotonic() < begin + seconds:
        at = time.monotonic()
        with connected(SHORT_PORT) as connection:
            connection.sendall(bytes(SIZE))
            connection.recv(1)
        times.append(1e3 * (time.monotonic() - at))
        time.sleep(0.1)
    rate = 8e-6 * (sum(sent) - before) / (time.monotonic() - begin)
    stop.set()
    for thread in long:
        thread.join()
    return sorted(times), rate


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shortflow", default=str(TOP / "target/release/shortflow"))
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--large", action="store_true", help="let TCP hand over pieces of many segments (GSO)")
    parser.add_argument("--flood", type=float, help="a flood of so many Mbit/s, of flows of one packet")
    parser.add_argument("--flooder", help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.flooder:
        flood(args.flood, args.flooder)
    if args.serve:
        threading.Thread(target=serve, args=(LONG_PORT,), daemon=True).start()
        serve(SHORT_PORT)
    devices = [line.split(":")[1].strip() for line in run("ip", "-o", "link").splitlines()]
    if devices != ["lo"]:
        print(f"needs a network namespace of its own: unshare -n …; found {devices}", file=sys.stderr)
        return 3
    peer = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE)
    servers = flooder = None
    try:
        peer.stdout.readline()
        within = ["nsenter", "-t", str(peer.pid), "-n"]
        run("ip", "link", "add", "sf0", "type", "veth", "peer", "name", "sf1", "netns", str(peer.pid))
        for at, device, address in [([], "sf0", HERE), (within, "sf1", THERE)]:
            run(*at, "ip", "addr", "add", f"{address}/24", "dev", device)
            run(*at, "ip", "link", "set", device, "up")
        # One packet is one packet: see docs/deploy-in-the-kernel.md.
        if not args.large:
            run("ip", "link", "set", "sf0", "gso_max_segs", "1")
        servers = subprocess.Popen([*within, sys.executable, "-B", str(pathlib.Path(__file__).parent), "--serve"])
        time.sleep(2)
        if args.flood:
            [end] = json.loads(run(*within, "ip", "-j", "link", "show", "sf1"))
            me = [sys.executable, "-B", str(pathlib.Path(__file__).parent)]
            flooder = subprocess.Popen([*me, "--flood", str(args.flood), "--flooder", end["address"]])
        for name, options in POLICIES:
            policy = [str(TOP / "policies" / name), *options, "--dev", "sf0", "--rate", LINE]
            run(args.shortflow, "-q", "deploy", *policy)
            times, rate = measure(args.seconds)
            run(args.shortflow, "-q", "undeploy", "--dev", "sf0")
            median, late = times[len(times) // 2], times[len(times) * 95 // 100]
            print(f"{name:18} {len(times):4} transfers  p50 {median:6.1f} ms  p95 {late:6.1f} ms  "
                  f"long {rate:5.2f} Mbit/s", flush=True)
    finally:
        for process in [flooder, servers, peer]:
            if process:
                process.kill()
                process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())

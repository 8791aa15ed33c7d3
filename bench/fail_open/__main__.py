"""Kills the inline router again and again under traffic, and measures how long forwarding stops.

    python3 -B bench/fail_open [--kills 100] [--policy policies/sima.toml]

A host sends a datagram each millisecond through the router to another host, both in network namespaces. In each round the
router starts, gets SIGKILL, and the longest gap between two datagrams at the receiver after it is noted.

Exit codes: 0 if the median gap is at most 10 ms, 1 if not, 3 without root.
"""

import argparse
import contextlib
import ctypes
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
SHORTFLOW = Path(os.environ.get("SHORTFLOW", TOP / "target/release/shortflow"))
LIMIT = 0.010
INTERVAL = 0.001
BEFORE, AFTER = 0.25, 0.35
PORT = 7000
SO_NO_CHECK = 11
SENDER, RECEIVER = "10.9.0.1", "10.9.0.2"


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@contextlib.contextmanager
def namespaces():
    """Two hosts, and a router with a device to each of them."""
    sender, router, receiver = names = [f"sf{os.getpid()}{which}" for which in "arb"]
    made = []
    try:
        for name in names:
            ip("netns", "add", name)
            made.append(name)
        for host, device, address in ((sender, "one", SENDER), (receiver, "two", RECEIVER)):
            ip("link", "add", device, "netns", router, "type", "veth", "peer", "name", "eth0", "netns", host)
            ip("-n", host, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
            ip("-n", router, "link", "set", device, "up")
        yield names
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=False)


def socket_in(namespace: str) -> socket.socket:
    """A UDP socket of a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(there, 0) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    finally:
        libc.setns(home, 0)
        os.close(home)
        os.close(there)


def start(router: str, policy: Path) -> subprocess.Popen:
    """The router, once its program is at the devices."""
    command = ["ip", "netns", "exec", router, SHORTFLOW, "inline", policy, "--between", "one,two", "--rate", "50 Mbit/s", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 5
    while time.monotonic() < until and process.poll() is None:
        shown = subprocess.run(["ip", "-n", router, "link", "show", "one"], capture_output=True, text=True, check=True)
        if "xdp" in shown.stdout:
            time.sleep(0.2)
            return process
        time.sleep(0.05)
    process.kill()
    process.wait()
    sys.exit("the router did not start")


def gap(sending: socket.socket, receiving: socket.socket, process: subprocess.Popen) -> tuple[float, int]:
    """The longest gap after the kill, and the number of lost datagrams."""
    begun = last = time.perf_counter()
    sent = received = 0
    longest, is_killed = 0.0, False
    while (now := time.perf_counter()) - begun < BEFORE + AFTER:
        if now - begun >= sent * INTERVAL and now - begun < BEFORE + AFTER - 0.05:
            sending.sendto(b"datagram", (RECEIVER, PORT))
            sent += 1
        if not is_killed and now - begun > BEFORE:
            process.send_signal(signal.SIGKILL)
            is_killed = True
        with contextlib.suppress(BlockingIOError):
            while receiving.recv(100):
                now = time.perf_counter()
                received += 1
                longest = max(longest, now - last) if is_killed else 0.0
                last = now
    process.wait()
    return longest, sent - received


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--policy", type=Path, default=TOP / "policies/sima.toml")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: needs root, for network namespaces", file=sys.stderr)
        return 3
    with namespaces() as (sender, router, receiver):
        sending, receiving = socket_in(sender), socket_in(receiver)
        # Between virtual devices the kernel leaves checksums to a network card that does not exist.
        sending.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, 1)
        receiving.bind((RECEIVER, PORT))
        receiving.setblocking(False)
        found = [gap(sending, receiving, start(router, arguments.policy)) for _ in range(arguments.kills)]
    gaps = sorted(1000 * longest for longest, _ in found)
    lost = [count for _, count in found]
    median = statistics.median(gaps)
    within = sum(one <= 1000 * LIMIT for one in gaps)
    print(f"{len(gaps)} kills: gap {median:.1f} ms in the median, {gaps[-1]:.1f} ms at most, {within} within 10 ms")
    print(f"datagrams lost: {statistics.median(lost):.0f} in the median, {max(lost)} at most")
    return 0 if median <= 1000 * LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())

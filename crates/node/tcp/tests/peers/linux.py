"""What the TCP of this machine's kernel does when the first packets of a page are lost: writes linux.txt.

    chrt -f 20 python3 -B linux.py > linux.txt

As root, in namespaces of its own: a site and a reader with a TUN device each. This program carries packets between them, 10 ms each
way (SYNs 9 ms, so that no later round trip is shorter than the handshake's), and drops those of the site's packets with data or a FIN
that a case names. The site sends a page and closes. A line is a case: bytes of the page, the packets lost, and the milliseconds from
the SYN until the page is complete. The fastest three of five runs must agree within 8 ms, and the line has their mean; other
cases depend on when the reader's process runs, and are omitted, as those with a second timeout.
"""

import contextlib
import ctypes
import fcntl
import heapq
import math
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time

SITE, READER = "10.9.1.2", "10.9.2.2"
DELAY, SYN_DELAY = 0.010, 0.009
FIRST_PORT = 20000
# Milliseconds and seconds.
RUNS, SPREAD, LONGEST = 5, 8, 0.5
REQUEST = 400
LIBC = ctypes.CDLL(None, use_errno=True)


# Losses of 30 KB after which new data are lost while a repair is in flight, at the end of a recovery.
AT_THE_END = [
    [3, 18, 19, 21],
    [3, 15, 21],
    [1, 5, 8, 12, 16, 20, 25, 30, 32, 36],
    [0, 5, 10, 13, 16, 20, 21, 25, 27, 35],
]


def cases() -> list[tuple[int, list[int]]]:
    """The losses above; all subsets of the seven packets of a small page; and pages in which packets are lost at random."""
    chosen = [(30_000, lost) for lost in AT_THE_END]
    chosen += [(8000, [packet for packet in range(7) if subset >> packet & 1]) for subset in range(128)]
    dice = random.Random(1)
    for size, share in ((8000, 0.4), (30_000, 0.1)):
        chosen += [(size, [packet for packet in range(30) if dice.random() < share]) for _ in range(250)]
    return chosen


def namespace() -> subprocess.Popen:
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 600"], stdout=subprocess.PIPE)
    holder.stdout.readline()
    return holder


def inside(holder: subprocess.Popen, what):
    """Runs `what` in a namespace."""
    here, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/proc/{holder.pid}/ns/net", os.O_RDONLY)
    assert LIBC.setns(there, 0) == 0
    try:
        return what()
    finally:
        assert LIBC.setns(here, 0) == 0
        os.close(here)
        os.close(there)


def device(holder: subprocess.Popen, address: str) -> int:
    """A TUN device in a namespace, over which all packets go, each of one segment."""

    def open_tun() -> int:
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"net", 0x1001))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
        return tun

    tun = inside(holder, open_tun)
    within = ["nsenter", "-t", str(holder.pid), "-n"]
    for command in (f"ip addr add {address}/24 dev net", "ip link set net up gso_max_segs 1", "ip route add default dev net"):
        subprocess.run([*within, *command.split()], check=True)
    subprocess.run([*within, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save"], check=True)
    return tun


def cubic(one: socket.socket) -> socket.socket:
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return one


class Router(threading.Thread):
    """Carries packets between the devices, and drops those of the cases."""

    def __init__(self, site: int, reader: int, chosen: list[tuple[int, list[int]]]) -> None:
        super().__init__()
        self.site, self.reader, self.chosen = site, reader, chosen
        self.sent = [0] * len(chosen)
        self.stopped = False

    def run(self) -> None:
        queue, number = [], 0
        while not self.stopped:
            wait = max(0.0, queue[0][0] - time.monotonic()) if queue else 0.1
            ready, _, _ = select.select([self.site, self.reader], [], [], wait)
            for source in ready:
                while packet := self.read(source):
                    if (delay := self.delay_of(packet, source == self.site)) is not None:
                        number += 1
                        heapq.heappush(queue, (time.monotonic() + delay, number, self.reader if source == self.site else self.site, packet))
            while queue and queue[0][0] <= time.monotonic():
                _, _, to, packet = heapq.heappop(queue)
                os.write(to, packet)

    @staticmethod
    def read(source: int) -> bytes | None:
        try:
            return os.read(source, 65536)
        except BlockingIOError:
            return None

    def delay_of(self, packet: bytes, from_site: bool) -> float | None:
        """How long a packet takes; none if it is lost."""
        if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            return None
        start = (packet[0] & 15) * 4
        source_port, port, _, _, offset, flags = struct.unpack_from("!HHIIBB", packet, start)
        if flags & 2:
            return SYN_DELAY
        if from_site and (len(packet) > start + (offset >> 4) * 4 or flags & 1):
            case = port - FIRST_PORT
            self.sent[case] += 1
            if self.sent[case] - 1 in self.chosen[case][1]:
                return None
        return DELAY


def serve(listener: socket.socket, chosen: list[tuple[int, list[int]]]) -> None:
    while True:
        one, (_, port) = listener.accept()
        one.recv(REQUEST)
        one.sendall(bytes(chosen[port - FIRST_PORT][0]))
        one.close()


def times(chosen: list[tuple[int, list[int]]]) -> list[float]:
    """Milliseconds of each case."""
    holders = namespace(), namespace()
    try:
        router = Router(device(holders[0], SITE), device(holders[1], READER), chosen)
        router.start()
        listener = cubic(inside(holders[0], lambda: socket.create_server((SITE, 80), backlog=100)))
        threading.Thread(target=serve, args=(listener, chosen), daemon=True).start()
        found = [math.inf] * len(chosen)

        def read(case: int, one: socket.socket) -> None:
            begun = time.monotonic()
            with one, contextlib.suppress(TimeoutError):
                one.settimeout(LONGEST)
                one.connect((SITE, 80))
                one.sendall(bytes(REQUEST))
                left = chosen[case][0]
                while left:
                    left -= len(one.recv(65536))
                found[case] = (time.monotonic() - begun) * 1000

        readers = []
        for case in range(len(chosen)):
            one = cubic(inside(holders[1], socket.socket))
            one.bind((READER, FIRST_PORT + case))
            readers.append(threading.Thread(target=read, args=(case, one)))
            readers[-1].start()
            time.sleep(0.02)
        for reader in readers:
            reader.join()
        router.stopped = True
        router.join()
        return found
    finally:
        for holder in holders:
            holder.kill()
            holder.wait()


def main() -> None:
    chosen = cases()
    runs = [times(chosen) for _ in range(RUNS)]
    for (size, lost), found in zip(chosen, zip(*runs, strict=True), strict=True):
        fastest = sorted(found)[: RUNS // 2 + 1]
        if fastest[-1] < math.inf and fastest[-1] - fastest[0] <= SPREAD:
            print(size, ",".join(map(str, lost)) or "-", round(sum(fastest) / len(fastest)))


if __name__ == "__main__":
    sys.exit(main())

"""The traffic of papers/lhl03/testbed.toml over sockets of the host in which it runs.

    python3 testbed_traffic.py senders ADDRESS      answers with files and pages; prints a line of JSON for each connection that ends
    python3 testbed_traffic.py generator ADDRESS    sends the background there; reads {"seconds": …}, prints how many packets it sent
    python3 testbed_traffic.py readers ADDRESS      reads {"seconds", "drain", "seed"}, prints a line once it
                                                   listens, fetches files and pages, and prints what it met

All data come from ADDRESS's ports 20 (files) and 80 (pages). Numbers are those of testbed.toml: 15 files of 1.8 MB; 5 sessions, whose
pages have objects of a Pareto distribution; 8 streams of datagrams, one for each drop precedence.
"""

import asyncio
import contextlib
import json
import random
import socket
import struct
import sys
import time

FILES, PAGES, BACKGROUND = 20, 80, 5001
FLOWS, FILE, WINDOW = 15, 1_800_000, 32 << 10
SESSIONS, THINK, ASKING, REQUEST = 5, 10.0, 95.0, 300
OBJECTS, OBJECT, SHAPE, GAP = 3.0, 12_000.0, 1.2, 0.01
CODE_POINTS, STREAM, PACKET = (3, 7, 11, 15, 19, 23, 27, 31), 1e6, 500
HEADERS = 28
SIZE = struct.Struct(">I")
# Where `struct tcp_info` of linux/tcp.h has the number of segments that were sent again.
TOTAL_RETRANS = 100


def clock() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def resent(one: socket.socket) -> int:
    """Segments that a connection has sent again."""
    return struct.unpack_from("=I", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), TOTAL_RETRANS)[0]


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends as many bytes as each request asks for."""
    one = writer.get_extra_info("socket")
    port = one.getsockname()[1]
    try:
        while request := await reader.read(REQUEST):
            writer.write(bytes(SIZE.unpack_from(request)[0]))
            await writer.drain()
    except OSError:
        pass  # a reader whose time is over
    print(json.dumps({"port": port, "resent": resent(one)}), flush=True)
    writer.close()


async def senders(address: str) -> None:
    servers = []
    for port in (FILES, PAGES):
        listener = socket.create_server((address, port), backlog=100)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        servers.append(await asyncio.start_server(answer, sock=listener))
    print("ready", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


def generator(address: str) -> None:
    """Sends packets of all precedences in turn, at equal intervals."""
    sockets = []
    for code_point in CODE_POINTS:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, code_point << 2)
        one.connect((address, BACKGROUND))
        sockets.append(one)
    seconds = json.load(sys.stdin)["seconds"]
    interval = PACKET * 8 / STREAM / len(sockets)
    begun, sent, payload = clock(), 0, bytes(PACKET - HEADERS)
    while (now := clock()) < begun + seconds:
        while begun + sent * interval <= now:
            with contextlib.suppress(ConnectionRefusedError):  # readers whose time is over
                sockets[sent % len(sockets)].send(payload)
            sent += 1
        time.sleep(interval)
    print(json.dumps({"sent": sent}))


class Sink(asyncio.DatagramProtocol):
    """Counts packets of the background."""

    def __init__(self) -> None:
        self.count = 0

    def datagram_received(self, _data: bytes, _whom: tuple[str, int]) -> None:
        self.count += 1


async def connection(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    one = socket.socket()
    # The kernel takes half of its buffer for the window.
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
    one.setblocking(False)
    await asyncio.get_running_loop().sock_connect(one, (address, port))
    return await asyncio.open_connection(sock=one)


async def receive(reader: asyncio.StreamReader, size: int) -> float:
    """Receives so many bytes; returns when the first of them was there."""
    first = 0.0
    while size > 0:
        data = await reader.read(1 << 16)
        if not data:
            raise OSError("the connection was closed early")
        first = first or clock()
        size -= len(data)
    return first


async def file(address: str, start: float, found: list[float]) -> None:
    await asyncio.sleep(start)
    begun = clock()
    reader, writer = await connection(address, FILES)
    writer.write(SIZE.pack(FILE).ljust(REQUEST, b"\0"))
    await receive(reader, FILE)
    found.append(clock() - begun)
    writer.close()


async def session(address: str, draw: random.Random, found: list[dict]) -> None:
    """Pages, each over a connection of its own, object by object, until nobody asks any more."""
    begun = clock()
    await asyncio.sleep(draw.uniform(0.0, THINK))
    while clock() < begun + ASKING:
        sizes = [max(1, round(OBJECT * (SHAPE - 1) / SHAPE * draw.paretovariate(SHAPE)))
                 for _ in range(max(1, round(draw.expovariate(1 / OBJECTS))))]  # fmt: skip
        asked, first = clock(), 0.0
        reader, writer = await connection(address, PAGES)
        for number, size in enumerate(sizes):
            if number:
                await asyncio.sleep(draw.expovariate(1 / GAP))
            writer.write(SIZE.pack(size).ljust(REQUEST, b"\0"))
            at = await receive(reader, size)
            first = first or at
        found.append({"bytes": sum(sizes), "response": clock() - asked, "transfer": clock() - first})
        writer.close()
        await asyncio.sleep(draw.expovariate(1 / THINK))


async def readers(address: str) -> None:
    asked = json.load(sys.stdin)
    loop = asyncio.get_running_loop()
    _, sink = await loop.create_datagram_endpoint(Sink, local_addr=("0.0.0.0", BACKGROUND))
    print("ready", flush=True)
    files: list[float] = []
    pages: list[dict] = []
    draws = [random.Random(f"{asked['seed']} {number}") for number in range(FLOWS + SESSIONS)]
    work = [asyncio.ensure_future(file(address, draws[number].uniform(0.0, 1.0), files)) for number in range(FLOWS)]
    work += [asyncio.ensure_future(session(address, draw, pages)) for draw in draws[FLOWS:]]
    await asyncio.wait(work, timeout=asked["seconds"] + asked["drain"])
    for one in work:
        one.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    json.dump({"files": files, "pages": pages, "background": sink.count}, sys.stdout)


if __name__ == "__main__":
    what, where = sys.argv[1:]
    generator(where) if what == "generator" else asyncio.run({"senders": senders, "readers": readers}[what](where))

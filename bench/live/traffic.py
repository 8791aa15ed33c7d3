"""The workloads of line.toml and split.toml over sockets of the host in which it runs: a site that sends, a reader that requests.

    python3 traffic.py site ADDRESS      answers requests, and sends call packets to clients that ask, until it is killed
    python3 traffic.py reader ADDRESS    reads a replica from standard input, prints its results

A replica is {"seconds": …, "pages": [[when, bytes, source or null], …]}. Results are {"pages": [[when, bytes, seconds or null],
…], "calls": [[number, when, delay], …], "splits": [[when, seconds or null], …]}, with times since the start. With "split":
{"source": …, "connections": …, "bytes": …, "think": …}, the reader requests this many bytes at once over each of this many connections,
and again when all are complete and the think time is over. Then there are no calls.
"""

import asyncio
import json
import socket
import struct
import sys
import time

WEB, CALLS = 80, 5004
REQUEST = 400
# 200 bytes with the headers of IP and UDP, fifty times a second, marked EF.
CALL, INTERVAL, EF = 172, 0.02, 46 << 2
STAMP = struct.Struct(">Id")
SIZE = struct.Struct(">I")


def clock() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def cubic(one: socket.socket) -> socket.socket:
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return one


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    request = await reader.readexactly(REQUEST)
    writer.write(bytes(SIZE.unpack_from(request)[0]))
    writer.close()
    await writer.wait_closed()


class Caller(asyncio.DatagramProtocol):
    """Sends call packets to each client that sends a datagram, for as many seconds as it says."""

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_IP, socket.IP_TOS, EF)
        self.transport, self.calls = transport, set()

    def datagram_received(self, data: bytes, whom: tuple[str, int]) -> None:
        call = asyncio.ensure_future(self.call(whom, SIZE.unpack_from(data)[0]))
        self.calls.add(call)
        call.add_done_callback(self.calls.discard)

    async def call(self, whom: tuple[str, int], seconds: int) -> None:
        begun = clock()
        for number in range(round(seconds / INTERVAL)):
            await asyncio.sleep(max(0.0, begun + number * INTERVAL - clock()))
            self.transport.sendto(STAMP.pack(number, clock()).ljust(CALL, b"\0"), whom)


async def site(address: str) -> None:
    listener = cubic(socket.create_server((address, WEB), backlog=1000))
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(Caller, local_addr=(address, CALLS))
    server = await asyncio.start_server(answer, sock=listener)
    print("ready", flush=True)
    await server.serve_forever()


class Called(asyncio.DatagramProtocol):
    """Receives a call."""

    def __init__(self) -> None:
        self.taken: list[tuple[int, float, float]] = []

    def datagram_received(self, data: bytes, _: tuple[str, int]) -> None:
        number, sent_at = STAMP.unpack_from(data)
        self.taken.append((number, sent_at, clock() - sent_at))


async def page(address: str, due: float, size: int, source: str | None = None) -> float | None:
    """Seconds that a page takes from when it was due until its last byte is there; none if it never was."""
    await asyncio.sleep(max(0.0, due - clock()))
    one = cubic(socket.socket())
    if source:
        one.bind((source, 0))
    one.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(one, (address, WEB))
        reader, writer = await asyncio.open_connection(sock=one)
        writer.write(SIZE.pack(size).ljust(REQUEST, b"\0"))
        left = size
        while left > 0 and (data := await reader.read(1 << 16)):
            left -= len(data)
        taken = clock() - due
        writer.close()
        return None if left else taken
    except OSError:
        return None


async def split(address: str, begun: float, seconds: float, how: dict, found: list[list[float | None]]) -> None:
    """Notes when each page in several connections was asked for, and how long the last of them took."""
    while (now := clock()) < begun + seconds:
        sizes = [how["bytes"]] * how["connections"]
        taken = await asyncio.gather(*(page(address, now, size, how["source"]) for size in sizes))
        found.append([now - begun, None if None in taken else max(taken)])
        await asyncio.sleep(how["think"])


async def read(address: str) -> None:
    replica = json.load(sys.stdin)
    loop = asyncio.get_running_loop()
    transport, called = await loop.create_datagram_endpoint(Called, remote_addr=(address, CALLS))
    begun = clock() + 0.2
    asked = [(when, size, source) for when, size, source in replica["pages"]]
    pages = [asyncio.ensure_future(page(address, begun + when, size, source)) for when, size, source in asked]
    splits: list[list[float | None]] = []
    await asyncio.sleep(begun - clock())
    if how := replica.get("split"):
        pages.append(asyncio.ensure_future(split(address, begun, replica["seconds"], how, splits)))
    else:
        transport.sendto(SIZE.pack(int(replica["seconds"])))
    done, _ = await asyncio.wait(pages, timeout=replica["seconds"] + replica["drain"])
    found = [[when, size, one.result() if one in done else None]
             for one, (when, size, _) in zip(pages, asked)]  # fmt: skip
    calls = [[number, sent_at - begun, delay] for number, sent_at, delay in called.taken]
    json.dump({"pages": found, "calls": calls, "splits": splits}, sys.stdout)
    sys.stdout.flush()
    for one in pages:
        one.cancel()


if __name__ == "__main__":
    asyncio.run({"site": site, "reader": read}[sys.argv[1]](sys.argv[2]))

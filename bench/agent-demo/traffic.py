"""Long downloads and occasional pages over a host's line."""

import socket
import statistics
import threading
import time

import network

BULK, PAGES = 9000, 8080
PAGE = b"x" * 20_000


def sink(host: network.Host, port: int, stack) -> None:
    """Reads all data and reports when the other side has sent everything."""
    ready = threading.Event()

    def take(client: socket.socket) -> None:
        try:
            with client:
                while client.recv(65536):
                    pass
                client.sendall(b".")
        except OSError:
            pass

    def listen() -> None:
        listener = socket.create_server((host.far, port))
        stack.callback(listener.close)
        ready.set()
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=take, args=(client,), daemon=True).start()

    network.within(host.far_name, listen)
    if not ready.wait(10):
        raise network.Lacking("nothing can listen behind the line")


def begin(host: network.Host, stack) -> None:
    """Starts two downloads that run until the end."""
    stop = threading.Event()
    for port in (BULK, PAGES):
        sink(host, port, stack)

    def load() -> None:
        try:
            with socket.create_connection((host.far, BULK), 10) as stream:
                while not stop.is_set():
                    stream.sendall(b"x" * 65536)
        except OSError:
            pass

    downloads = [network.within(host.name, load) for _ in range(2)]

    def finish() -> None:
        stop.set()
        for download in downloads:
            download.join(5)

    stack.callback(finish)


def short_transfers(host: network.Host, seconds: float) -> float:
    """The median time, in milliseconds, of pages sent one after another for this long. A page that is given up counts with the time until
    then.
    """
    times: list[float] = []

    def run() -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                with socket.create_connection((host.far, PAGES), 10) as stream:
                    stream.sendall(PAGE)
                    stream.shutdown(socket.SHUT_WR)
                    stream.recv(1)
            except TimeoutError:
                pass  # packets are lost here, again and again at times
            times.append((time.monotonic() - began) * 1e3)
            time.sleep(0.1)

    network.within(host.name, run).join(seconds + 30)
    if not times:
        raise network.Lacking("no page came through")
    return statistics.median(times)

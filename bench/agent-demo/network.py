"""Hosts in network namespaces, each with a line to a peer host for traffic."""

import contextlib
import ctypes
import dataclasses
import os
import pathlib
import signal
import socket
import subprocess
import threading

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


class Lacking(Exception):
    """The machine does not allow creating namespaces."""


def is_root() -> bool:
    return os.geteuid() == 0


def enter(namespace: pathlib.Path) -> None:
    """Moves this thread into a network namespace."""
    with open(namespace) as opened:
        if LIBC.setns(opened.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


@dataclasses.dataclass
class Host:
    """A machine, its namespace, and the addresses at both ends of its line."""

    machine: str
    name: str
    near: str
    far: str

    @property
    def far_name(self) -> str:
        return f"{self.name}-far"

    def start(self, command: list, **more) -> subprocess.Popen:
        """Starts a program in the host; Ctrl-C does not reach it."""
        return subprocess.Popen(["ip", "netns", "exec", self.name, *command], stdout=subprocess.DEVNULL, start_new_session=True, **more)


@contextlib.contextmanager
def held():
    """Holds Ctrl-C and SIGTERM back, so that whatever starts here is on the stack before either of them ends the demo."""
    came: list[int] = []
    heeded = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not signal.SIG_IGN]
    handlers = {number: signal.signal(number, lambda number, _: came.append(number)) for number in heeded}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


def ip(arguments: str) -> None:
    ended = subprocess.run(["ip", *arguments.split()], capture_output=True, text=True, check=False, start_new_session=True)
    if ended.returncode != 0:
        raise Lacking(f"ip {arguments}: {ended.stderr.strip()}")


def end(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def hosts(stack, machines: list[str]):
    """Creates a namespace for each machine with the device `wan`, and one at the other end of its line; they end with the stack."""
    for number, machine in enumerate(machines):
        host = Host(machine, f"sfdemo{os.getpid()}-{machine}", f"10.99.{number}.1", f"10.99.{number}.2")
        for name in (host.name, host.far_name):
            with held():
                ip(f"netns add {name}")
                stack.callback(ip, f"netns del {name}")
            ip(f"-n {name} link set lo up")
        ip(f"-n {host.name} link add wan type veth peer name lan netns {host.far_name}")
        for name, device, address in ((host.name, "wan", host.near), (host.far_name, "lan", host.far)):
            ip(f"-n {name} addr add {address}/24 dev {device}")
            ip(f"-n {name} link set {device} up")
        yield host


def within(name: str, work) -> threading.Thread:
    """Starts a thread that runs a function in the namespace of this name."""

    def run() -> None:
        enter(pathlib.Path("/run/netns") / name)
        work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def forward(host: Host, port: int, stack) -> str:
    """Forwards an address on this machine's loopback to that port of the host's loopback; returns the address."""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

    def copy(one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def serve(client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", port), 5) as there:
            back = threading.Thread(target=copy, args=(there, client), daemon=True)
            back.start()
            copy(client, there)
            back.join()

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            within(host.name, lambda client=client: serve(client))

    threading.Thread(target=accept, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"

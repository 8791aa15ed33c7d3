"""Hosts in network namespaces, on cables to this one, which is their router."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class Failed(Exception):
    """A command failed."""


def run(*command: object, given: str | None = None) -> str:
    words = [str(word) for word in command]
    ended = subprocess.run(words, input=given, capture_output=True, text=True)
    if ended.returncode:
        raise Failed(f"{' '.join(words)}\n{ended.stderr.strip()}")
    return ended.stdout


def foreign_devices() -> list[str]:
    """Devices other than `lo`. If there are any, this namespace was not created for us."""
    devices = [line.split(":")[1].strip() for line in run("ip", "-o", "link").splitlines()]
    return [device for device in devices if device != "lo"]


# Lets the sender compute checksums, as a wire carries them: ETHTOOL_STXCSUM of linux/ethtool.h.
COMPUTE_CHECKSUMS = """
import ctypes, fcntl, socket, struct
value = ctypes.create_string_buffer(struct.pack("II", 0x17, 0))
request = struct.pack("16sP8x", b"net", ctypes.addressof(value))
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8946, request)
"""


@contextmanager
def host(address: str, end: str, more: Sequence[str] = (), *, bridged: bool = False) -> Iterator[list[str]]:
    """A host on a cable to this namespace, with its own kernel's TCP and `more` addresses; returns how to run commands in it.

    The cable ends at a router or, with `bridged`, at a device without an address, behind which the other host is."""
    holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 3600"], stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        within = ["nsenter", "-t", str(holder.pid), "-n"]
        run("ip", "link", "add", end, "type", "veth", "peer", "name", "net", "netns", holder.pid)
        gateway = address.rsplit(".", 1)[0] + ".1"
        # One packet is one packet: see docs/deploy-in-the-kernel.md.
        for at, device, own in [([], end, [] if bridged else [gateway]), (within, "net", [address, *more])]:
            for one in own:
                run(*at, "ip", "addr", "add", f"{one}/24", "dev", device)
            run(*at, "ip", "link", "set", device, "up", "gso_max_segs", "1")
        if bridged:
            run(*within, sys.executable, "-c", COMPUTE_CHECKSUMS)
            run(*within, "ip", "route", "add", "default", "dev", "net")
        else:
            run(*within, "ip", "route", "add", "default", "via", gateway)
        # No connection knows what an earlier one has met, as in a rehearsal.
        run(*within, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save")
        yield within
    finally:
        # The kernel takes away a namespace's devices some time after its last process.
        subprocess.run(["ip", "link", "del", end], capture_output=True, check=False)
        holder.kill()
        holder.wait()

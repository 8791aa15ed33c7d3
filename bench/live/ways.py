"""Ways in which a policy can be on a live line, and what its pages and calls then take."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from hosts import Failed, host, run

HERE = Path(__file__).resolve().parent
RATE = "10 Mbit/s"
SITE, READER = "10.77.1.2", "10.77.2.2"

# A page: when it is requested, how many bytes it has, and the address that requests it, if not the reader's first.
Page = tuple[float, int, None]
# How to run commands at the site and at the reader.
Hosts = tuple[list[str], list[str]]
Way = Callable[[Path, Path, ExitStack], Hosts]


@dataclass(frozen=True)
class Times:
    """Seconds in which pages are requested, those before that do not count, and those that the last ones have."""

    seconds: float
    warm_up: float
    drain: float


@dataclass(frozen=True)
class Heard:
    """What a reader has met in a replica after the warm-up."""

    # Bytes and seconds of each complete page.
    pages: list[tuple[int, float]]
    # Seconds of each packet of the call.
    calls: list[float]
    # The share of the call's packets that did not arrive.
    lost: float


def deployed(shortflow: Path, policy: Path, stack: ExitStack) -> Hosts:
    """A line of the kernel's queues."""
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    hosts = stack.enter_context(host(SITE, "sites")), stack.enter_context(host(READER, "readers"))
    run(shortflow, "-q", "deploy", policy, "--role", "edge,core", "--dev", "readers", "--rate", RATE)
    stack.callback(run, shortflow, "-q", "undeploy", "--dev", "readers")
    return hosts


def inline(shortflow: Path, policy: Path, stack: ExitStack) -> Hosts:
    """A line of our router between two devices."""
    hosts = tuple(stack.enter_context(host(address, end, bridged=True))
                  for address, end in [(SITE, "sites"), (READER, "readers")])  # fmt: skip
    command = [shortflow, "-q", "inline", policy, "--role", "edge,core", "--between", "sites,readers",
               "--rate", RATE, "--rate-back", "1 Gbit/s", "--overhead", "14 B", "--seed", "1", "--json"]  # fmt: skip
    router = subprocess.Popen(command, stdout=subprocess.PIPE)
    stack.callback(router.wait)
    stack.callback(router.terminate)
    if not router.stdout.readline():
        raise Failed(f"the router under {policy.name} does not start")
    # Nobody reads what it prints from now on, and it must not wait for that.
    threading.Thread(target=router.stdout.read, daemon=True).start()
    return hosts


def listen(shortflow: Path, way: Way, policy: Path, times: Times, replicas: list[list[Page]], prepare: Callable[[Hosts], None] | None = None) -> list[Heard]:
    """What a policy's readers meet on a live line, in each replica."""
    with ExitStack() as stack:
        hosts = way(shortflow, policy, stack)
        if prepare:
            prepare(hosts)
        at_site, at_reader = hosts
        traffic = [sys.executable, "-B", str(HERE / "traffic.py")]
        site = subprocess.Popen([*at_site, *traffic, "site", SITE], stdout=subprocess.PIPE)
        stack.callback(site.wait)
        stack.callback(site.kill)
        if not site.stdout.readline():
            raise Failed("the site does not answer")
        found = []
        for pages in replicas:
            asked = {"seconds": times.seconds, "drain": times.drain, "pages": pages}
            heard = json.loads(run(*at_reader, *traffic, "reader", SITE, given=json.dumps(asked)))
            found.append(after_warm_up(heard, times))
        return found


def after_warm_up(heard: dict, times: Times) -> Heard:
    """What counts of a replica."""
    pages = [(size, time) for when, size, time in heard["pages"] if times.warm_up <= when < times.seconds and time is not None]
    calls = [(number, delay) for number, when, delay in heard["calls"] if times.warm_up <= when < times.seconds]
    numbers = [number for number, _ in calls]
    sent = max(numbers) - min(numbers) + 1
    return Heard(pages, [delay for _, delay in calls], 1 - len(calls) / sent)

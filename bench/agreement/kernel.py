"""What of this machine's kernel the simulator is told."""

import functools
import gzip
import platform
import re
from pathlib import Path


@functools.cache
def timer_tick() -> str:
    """The tick of its timers as a setting of the scenario; `0 ms`, timers without a grid, where it does not tell."""
    found = re.search(r"^CONFIG_HZ=(\d+)$", configuration(), re.MULTILINE)
    return f"{1000 / int(found[1]):g} ms" if found else "0 ms"


def configuration() -> str:
    """What the kernel was built with, by itself or beside it; empty where neither is there."""
    running = Path("/proc/config.gz")
    if running.is_file():
        return gzip.decompress(running.read_bytes()).decode()
    beside = Path(f"/boot/config-{platform.release()}")
    return beside.read_text() if beside.is_file() else ""


def version() -> str:
    """Its release, the first two numbers of it."""
    return ".".join(platform.release().split("-")[0].split(".")[:2])

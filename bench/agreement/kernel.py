"""Properties of this machine's kernel that the simulator needs."""

import functools
import gzip
import platform
import re
from pathlib import Path


@functools.cache
def timer_tick() -> str:
    """The tick of its timers as a setting of the scenario; `0 ms`, timers without a grid, if it is unknown."""
    found = re.search(r"^CONFIG_HZ=(\d+)$", configuration(), re.MULTILINE)
    return f"{1000 / int(found[1]):g} ms" if found else "0 ms"


def configuration() -> str:
    """The kernel's build configuration, from the kernel itself or from a file; empty if neither exists."""
    running = Path("/proc/config.gz")
    if running.is_file():
        return gzip.decompress(running.read_bytes()).decode()
    beside = Path(f"/boot/config-{platform.release()}")
    return beside.read_text() if beside.is_file() else ""


def version() -> str:
    """The first two numbers of its release."""
    return ".".join(platform.release().split("-")[0].split(".")[:2])

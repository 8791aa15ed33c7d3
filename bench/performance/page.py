"""The page: generated parts between markers, and handwritten prose around them."""

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path


class NoMarker(Exception):
    """The page has no place for a generated part."""


def filled(page: str, parts: Mapping[str, str]) -> str:
    """The page with every part in its place."""
    for name, text in parts.items():
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
            raise NoMarker(f"the page needs one `{begin.strip()}` before one `{end}`")
        start = page.index(begin) + len(begin)
        page = f"{page[:start]}\n{text.strip()}\n\n{page[page.index(end):]}"
    return page


def replace(path: Path, text: str) -> None:
    """Writes a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    os.replace(new, path)


def machine() -> str:
    """The machine, by its processor, cores and kernel only."""
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    model = found.group(1).strip() if found else platform.machine()
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{model}, {os.cpu_count()} cores, Linux {kernel}"


def package_version(package: str) -> str:
    """The version of a Debian package, without Debian's own suffix."""
    query = ["dpkg-query", "-W", "-f", "${Version}", package]
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    return re.split(r"[-+]", found.stdout)[0] if found.returncode == 0 else "of this machine"

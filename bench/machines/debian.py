"""Debian's kernels, fetched by apt with lists and a cache of their own."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from lacking import Lacking

# The suites, and the package that depends on the newest kernel of each.
SUITES = {"bookworm": "linux-image-cloud-amd64", "trixie": "linux-image-cloud-amd64", "sid": "linux-image-cloud-amd64"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Kernel:
    """A kernel, unpacked."""

    suite: str
    version: str
    image: Path
    modules: Path


def fetch(suite: str, cache: Path) -> Kernel:
    """The newest kernel of a suite. What the cache has is not fetched again."""
    folder = cache / suite
    apt = options(suite, folder)
    if not list((folder / "lists").glob("*_Packages*")):
        run(["apt-get", *apt, "update", "-qq"])
    packages = [package for package in wanted(apt, SUITES[suite]) if package.startswith(("linux-image-", "linux-binary-", "linux-modules-"))]
    root = folder / "root" / packages[0]
    if not root.exists():
        archives = folder / "packages"
        archives.mkdir(exist_ok=True)
        run(["apt-get", *apt, "download", "-qq", *packages], cwd=archives)
        unfinished = root.with_suffix(".unfinished")
        for archive in sorted(archives.glob("*.deb")):
            run(["dpkg-deb", "-x", str(archive), str(unfinished)])
            archive.unlink()
        unfinished.rename(root)
    modules = next(iter(sorted((*root.glob("lib/modules/*"), *root.glob("usr/lib/modules/*")))), None)
    image = next(iter(sorted((*root.glob("boot/vmlinuz*"), *root.glob("usr/lib/modules/*/vmlinuz*")))), None)
    if not modules or not image:
        raise Lacking(f"the packages {packages} of {suite} have no kernel")
    return Kernel(suite, modules.name, image, modules)


def options(suite: str, folder: Path) -> list[str]:
    """Options by which apt uses this suite alone, and no file of the machine."""
    for name in ("lists/partial", "cache/archives/partial", "root", "packages"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={KEYRING}] {server()} {suite} main\n")
    (folder / "status").touch()
    return [f"-o={key}={value}" for key, value in {
        "Dir::Etc::sourcelist": sources, "Dir::Etc::sourceparts": "/dev/null", "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status", "Dir::Cache": folder / "cache", "APT::Sandbox::User": "root",
        "APT::Architecture": "amd64", "Acquire::Languages": "none",
    }.items()]  # fmt: skip


def server() -> str:
    """The server from which this machine takes Debian's packages."""
    listed = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian", "Component: main"])
    servers = listed.split()
    if not servers:
        raise Lacking("apt on this machine has no source of Debian's packages; add one to /etc/apt")
    return servers[0]


def wanted(apt: list[str], package: str) -> list[str]:
    """The packages of the kernel on which a package depends, and itself not."""
    listed = run(["apt-cache", *apt, "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts",
                  "--no-breaks", "--no-replaces", "--no-enhances", package])  # fmt: skip
    names = [line.strip() for line in listed.splitlines() if not line.startswith((" ", "<"))]
    return [name for name in names if name != package and any(digit.isdigit() for digit in name)]


def run(command: list[str], cwd: Path | None = None) -> str:
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if ended.returncode:
        raise Lacking(f"{' '.join(command[:1] + command[-3:])} failed: {ended.stderr.strip()}")
    return ended.stdout

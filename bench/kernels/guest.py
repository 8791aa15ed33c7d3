"""A virtual machine with a stock kernel, a file system in memory, and our program."""

import gzip
import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

# Modules of the kernel that the guest may need.
MODULES = re.compile(
    r"/(sch_|cls_|act_|em_|tcp_|veth|ifb|tun|bridge|stp|llc|dummy|xsk|xdp|libcrc32c|crc32c|netem|8021q|garp|mrp|ipv6|af_packet|pktgen)[^/]*\.ko"
)
COMMANDS = "awk cat chmod cp cut date dd env grep head kill ln ls mkdir mktemp modprobe mount nc ping poweroff rm sed seq sh sleep sort tail tr uname wc"
# Policies that are tried with more traffic than the line sends.
LOADED = ("wred", "exact", "three-priority-red", "sima")
# Policies that are tried inline where the others are not.
SHORT_INLINE = ("aggregate", "shared-priority", "wfq")
# The longest that a machine may take, in seconds.
PATIENCE = 1500


class Lacking(Exception):
    """This machine lacks something."""


def run_guest(kernel, shortflow: Path, root: Path, cache: Path, *, short: bool, verbose: bool) -> list[dict]:
    """Boots a kernel, and returns what the guest reports."""
    initramfs = cache / f"{kernel.suite}.cpio.gz"
    build(kernel, shortflow, root, initramfs)
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "1024", "-smp", "2", "-nographic",
               "-no-reboot", "-nic", "none", "-kernel", str(kernel.image), "-initrd", str(initramfs),
               "-append", "console=ttyS0 quiet panic=-1 no_timer_check" + (f" short_inline={','.join(SHORT_INLINE)}" if short else "")]  # fmt: skip
    log = cache / f"{kernel.suite}.log"
    results, begun = [], time.monotonic()
    with log.open("w") as copy:
        machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
        killer = subprocess.Popen(["sh", "-c", f"sleep {PATIENCE}; kill {machine.pid}"], stdout=subprocess.DEVNULL)
        try:
            for line in machine.stdout:
                copy.write(line)
                copy.flush()
                if verbose:
                    print(line.rstrip())
                # The firmware's last control characters stand before the first line.
                if (at := line.find("RESULT ")) >= 0:
                    results.append(result(line[at:].rstrip()))
                if line.startswith("END"):
                    break
            else:
                raise Lacking(f"the machine with Linux {kernel.version} stopped early; its console is in {log}")
        finally:
            machine.kill()
            machine.wait()
            killer.kill()
            killer.wait()
    # Each policy is tried at two roles natively, and inline, or at one and few inline; one is killed while it comes.
    policies = len(list((root / "policies").glob("*.toml")))
    expected = (policies + len(SHORT_INLINE) if short else 3 * policies) + len(LOADED) + 1
    if len(results) != expected:
        raise Lacking(f"Linux {kernel.version} reported {len(results)} of {expected} results; its console is in {log}")
    print(f"  {len(results)} results in {time.monotonic() - begun:.0f} s")
    return results


def result(line: str) -> dict:
    """A line such as `RESULT strict-priority|core|native|works|what happened`."""
    policy, role, way, state, what = line.removeprefix("RESULT ").split("|", 4)
    return {"policy": policy, "role": role, "way": way, "state": state, "what": what}


def build(kernel, shortflow: Path, root: Path, out: Path) -> None:
    """Packs the guest's file system."""
    with tempfile.TemporaryDirectory() as folder:
        guest = Path(folder)
        for name in ("bin", "sbin", "proc", "sys", "dev", "tmp", "run/netns", "root", "usr/bin", "usr/sbin", "etc", "var"):
            (guest / name).mkdir(parents=True)
        (guest / "var/run").symlink_to("/run")
        program(Path(shutil.which("busybox")), guest, "bin/busybox")
        for command in COMMANDS.split():
            (guest / "bin" / command).symlink_to("busybox")
        (guest / "sbin/modprobe").symlink_to("/bin/busybox")
        program(shortflow, guest, "usr/bin/shortflow")
        for tool in ("ip", "tc"):
            program(Path(shutil.which(tool)).resolve(), guest, f"usr/sbin/{tool}")
        modules(kernel, guest)
        shutil.copytree(root / "policies", guest / "root/policies")
        shutil.copytree(Path(__file__).with_name("policies"), guest / "root/loaded")
        init = guest / "init"
        shutil.copy(Path(__file__).with_name("init.sh"), init)
        init.chmod(0o755)
        listing = subprocess.run(["find", "."], cwd=guest, capture_output=True, check=True).stdout
        packed = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=guest, input=listing, capture_output=True, check=True)
        out.write_bytes(gzip.compress(packed.stdout, 1))


def program(source: Path, guest: Path, to: str) -> None:
    """Copies a program with its libraries."""
    shutil.copy(source, guest / to)
    linked = subprocess.run(["ldd", str(source)], capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+)", linked):
        there = guest / library.lstrip("/")
        if not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, there)


def modules(kernel, guest: Path) -> None:
    """Copies the modules that the guest may need, unpacked, and what modprobe reads."""
    folder = guest / "lib/modules" / kernel.version
    for module in kernel.modules.rglob("*.ko*"):
        if MODULES.search(f"/{module.name}"):
            there = folder / module.relative_to(kernel.modules)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(module, there)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("modules.builtin", "modules.order", "modules.builtin.modinfo"):
        if (kernel.modules / name).exists():
            shutil.copy(kernel.modules / name, folder / name)
    for packed, tool in (("*.ko.xz", ["xz", "-d"]), ("*.ko.zst", ["zstd", "-d", "--rm", "-q"])):
        if files := [str(path) for path in folder.rglob(packed)]:
            subprocess.run([*tool, *files], check=True)
    subprocess.run(["depmod", "-b", str(guest), kernel.version], check=True, stderr=subprocess.DEVNULL)

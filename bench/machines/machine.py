"""A virtual machine with a stock kernel and a file system in memory. It has no network."""

import gzip
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from debian import Kernel
from lacking import Lacking

# Modules of the kernel that the guest may need.
MODULES = re.compile(
    r"/(sch_|cls_|act_|em_|tcp_|veth|ifb|tun|bridge|stp|llc|dummy|xsk|xdp|libcrc32c|crc32c|netem|8021q|garp|mrp|ipv6|af_packet|pktgen)[^/]*\.ko"
)
COMMANDS = (
    "awk cat chmod cp cut date dd env grep head kill ln ls mkdir mktemp modprobe mount nc ping poweroff rm sed seq sh sleep sort "
    "tail tr uname wc"
)
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "depmod": "kmod",
         "zstd": "zstd", "xz": "xz-utils", "ip": "iproute2", "apt-get": "apt", "dpkg-deb": "dpkg"}  # fmt: skip
# Two processors in the time of the host.
IN_REAL_TIME = ["-accel", "tcg,thread=multi", "-smp", "2"]
# One processor with a clock of its own: an instruction takes a nanosecond, and idle time passes at once. However busy the host is,
# the guest does not see it, and runs are repeatable.
IN_VIRTUAL_TIME = ["-accel", "tcg,thread=single", "-smp", "1", "-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01,clock=vm"]
# Parts of Python's library that a script in a guest does not need.
WITHOUT = shutil.ignore_patterns(
    "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "site-packages", "dist-packages", "config-*", "pydoc_data",
    "turtledemo", "distutils", "*.a",
)  # fmt: skip


def missing_tools() -> list[str]:
    """The packages of the tools that this machine lacks."""
    return sorted({package for tool, package in TOOLS.items() if not shutil.which(tool)})


def boot(kernel: Kernel, initramfs: Path, log: Path, how: list[str], *, memory: int = 1024, append: str = "", patience: float) -> Iterator[str]:
    """The lines of the console until the guest prints END. The machine ends with this generator, or after `patience` seconds."""
    # `timeout` stands above QEMU, so that neither is left behind, however this program ends.
    command = ["timeout", "--kill-after=5", str(patience),
               "qemu-system-x86_64", *how, "-cpu", "max", "-m", str(memory), "-nographic", "-no-reboot", "-nic", "none",
               "-kernel", str(kernel.image), "-initrd", str(initramfs),
               "-append", f"console=ttyS0 quiet panic=-1 no_timer_check {append}".strip()]  # fmt: skip
    with log.open("w") as copy:
        machine = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
        try:
            for line in machine.stdout:
                copy.write(line)
                copy.flush()
                if line.startswith("END"):
                    return
                yield line.rstrip()
            raise Lacking(f"the machine with Linux {kernel.version} stopped early; its console is in {log}")
        finally:
            machine.terminate()
            machine.wait()


def pack(kernel: Kernel, out: Path, init: Path, fill: Callable[[Path], None]) -> None:
    """Packs a file system with BusyBox, iproute2 and the kernel's modules; `fill` adds to it."""
    with tempfile.TemporaryDirectory() as folder:
        guest = Path(folder)
        for name in ("bin", "sbin", "proc", "sys", "dev", "tmp", "run/netns", "root", "usr/bin", "usr/sbin", "etc", "var"):
            (guest / name).mkdir(parents=True)
        (guest / "var/run").symlink_to("/run")
        add_program(Path(shutil.which("busybox")), guest, "bin/busybox")
        for command in COMMANDS.split():
            (guest / "bin" / command).symlink_to("busybox")
        (guest / "sbin/modprobe").symlink_to("/bin/busybox")
        for tool in ("ip", "tc"):
            add_program(Path(shutil.which(tool)).resolve(), guest, f"usr/sbin/{tool}")
        add_modules(kernel, guest)
        fill(guest)
        shutil.copy(init, guest / "init")
        (guest / "init").chmod(0o755)
        listing = subprocess.run(["find", "."], cwd=guest, capture_output=True, check=True).stdout
        packed = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=guest, input=listing, capture_output=True, check=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(gzip.compress(packed.stdout, 1))


def add_program(source: Path, guest: Path, to: str) -> None:
    """Copies a program with its libraries."""
    shutil.copy(source, guest / to)
    add_libraries(source, guest)


def add_libraries(source: Path, guest: Path) -> None:
    """Copies the shared libraries of a program, to the paths that they have here."""
    linked = subprocess.run(["ldd", str(source)], capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+)", linked):
        there = guest / library.lstrip("/")
        if not there.exists():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, there)


def add_python(guest: Path) -> None:
    """Copies this Python and its library."""
    add_program(Path(sys.executable).resolve(), guest, "usr/bin/python3")
    library = Path(sysconfig.get_path("stdlib"))
    there = guest / library.relative_to("/")
    shutil.copytree(library, there, ignore=WITHOUT, symlinks=False, ignore_dangling_symlinks=True)
    for extension in there.glob("lib-dynload/*.so"):
        add_libraries(extension, guest)


def add_modules(kernel: Kernel, guest: Path) -> None:
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

"""Shared by all attacks: running the program, and what counts as a finding."""

import hashlib
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
# Done, a check did not hold, bad input, the machine lacks something.
EXIT_CODES = {0, 1, 2, 3}
MAX_MEMORY = 4 << 30
# No input of the suite takes so long, whatever is wrong with it.
TIMEOUT = 60.0


def program() -> pathlib.Path:
    """The program in SHORTFLOW, or the release build."""
    return pathlib.Path(os.environ.get("SHORTFLOW", TOP / "target/release/shortflow")).resolve()


class Bench:
    """A working folder, foreign files that must not change, and the findings."""

    def __init__(self) -> None:
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="shortflow-attack-"))
        self.work = self.home / "work"
        self.outside = self.home / "outside"
        self.work.mkdir()
        self.findings: list[str] = []
        self.skipped: list[str] = []
        self.runs = 0
        self.plant_outside()

    def plant_outside(self) -> None:
        """Foreign files that must not change, with names that Shortflow would write."""
        shutil.rmtree(self.outside, ignore_errors=True)
        (self.outside / "folder").mkdir(parents=True)
        for name in ["file", "folder/manifest.toml", "folder/summary.json", "folder/a.svg", "folder/report.html"]:
            (self.outside / name).write_text("precious\n")
            (self.outside / name).chmod(0o600)
        self.before = self.digest()

    def digest(self) -> str:
        """A digest of all foreign files: names, permissions and bytes."""
        told = hashlib.sha256()
        for path in sorted(self.outside.rglob("*")):
            told.update(f"{path.relative_to(self.outside)} {path.lstat().st_mode:o}\n".encode())
            if path.is_file():
                told.update(path.read_bytes())
        return told.hexdigest()

    def check_outside(self, what: str) -> None:
        if self.digest() != self.before:
            self.finding(f"{what}: files outside were changed")
            self.plant_outside()

    def finding(self, what: str) -> None:
        self.findings.append(what)
        print(f"FOUND: {what}", flush=True)

    def skip(self, needs: str, what: str) -> None:
        self.skipped.append(f"skipped: needs {needs}: {what}")
        print(self.skipped[-1], flush=True)

    def run(self, arguments: list, what: str, timeout: float = TIMEOUT, **more) -> subprocess.CompletedProcess:
        """Runs the program; a panic, a hang, another exit code or a raw control character is a finding."""
        self.runs += 1
        command = [str(program()), *map(str, arguments)]
        begun = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=self.work, stdin=more.pop("stdin", subprocess.DEVNULL), capture_output=True,
                timeout=timeout, preexec_fn=limits, **more,
            )
        except subprocess.TimeoutExpired:
            self.finding(f"{what}: no end within {timeout:.0f} s")
            return subprocess.CompletedProcess(command, 124, b"", b"")
        self.judge(done, what, time.monotonic() - begun)
        return done

    def seed(self, arguments: list) -> subprocess.CompletedProcess:
        """Runs a command that must succeed, to create something to attack."""
        done = self.run(arguments, f"the program itself: {arguments[0]}")
        if done.returncode != 0:
            raise SystemExit(f"cannot begin: {' '.join(map(str, arguments))}: {done.stderr.decode(errors='replace')}")
        return done

    def look(self, arguments: list, what: str, seconds: float, within: tuple[str, ...] = ()) -> None:
        """Runs the program for at most this long, by the command `within`; that it still runs is no finding."""
        self.runs += 1
        command = [*within, str(program()), *map(str, arguments)]
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, cwd=self.work, stdin=subprocess.DEVNULL, stdout=said, stderr=said, preexec_fn=limits)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                code = 0
            said.seek(0)
            self.judge(subprocess.CompletedProcess(command, code, said.read(), b""), what, seconds)

    def judge(self, done: subprocess.CompletedProcess, what: str, seconds: float) -> None:
        said = done.stdout + done.stderr
        if b"panicked at" in said or b"overflowed its stack" in said:
            self.finding(f"{what}: panic: {said.decode(errors='replace')[:300]!r}")
        elif done.returncode not in EXIT_CODES:
            self.finding(f"{what}: exit code {done.returncode} after {seconds:.1f} s")
        if b"\x1b" in said or b"\x07" in said:
            self.finding(f"{what}: a control character reached the output")

    def keep(self, folder: pathlib.Path, name: str) -> pathlib.Path:
        """Keeps an input that found something."""
        kept = TOP / "target/attack" / name
        kept.parent.mkdir(parents=True, exist_ok=True)
        if folder.is_dir():
            shutil.copytree(folder, kept, dirs_exist_ok=True, symlinks=True)
        elif folder.exists():
            shutil.copy(folder, kept)
        return kept

    def end(self) -> int:
        shutil.rmtree(self.home, ignore_errors=True)
        print(f"{self.runs} runs, {len(self.findings)} findings, {len(self.skipped)} skipped")
        return 1 if self.findings else 0


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


SCENARIO = """\
name = "attacked"
duration = "2 s"
warm_up = "0.5 s"
replicas = 2
hosts = { a = {}, b = {} }
links.line = { between = ["a", "b"], rate = "2 Mbit/s", delay = "5 ms" }
workloads.web.transfers = { client = "a", server = "b", rate = "5 /s", request.constant = "300 B", reply.constant = "9 KB" }
workloads.calls.cbr = { from = "b", to = "a", rate = "80 kbit/s", packet = "200 B" }
bind = [{ role = "core", at = "b", to = "a" }]
measure.ports = ["b->a"]
measure.series_interval = "100 ms"
"""

POLICY = """\
name = "Attacked"
[roles.core]
queue.fifo = { limit = "50 pkt" }
"""

FLEET = """\
name = "office"
[machines.gw1]
interfaces.wan = { device = "lo", rate = "9 Mbit/s" }
[[assign]]
policy = "policies/a.toml"
interfaces = ["wan"]
"""


def inputs(work: pathlib.Path) -> dict[str, pathlib.Path]:
    """A valid scenario, policy and repository."""
    repository = work / "fleet"
    (repository / "policies").mkdir(parents=True, exist_ok=True)
    files = {"scenario": work / "scenario.toml", "policy": work / "policy.toml"}
    files["scenario"].write_text(SCENARIO)
    files["policy"].write_text(POLICY)
    (repository / "fleet.toml").write_text(FLEET)
    (repository / "policies/a.toml").write_text(POLICY)
    return files | {"fleet": repository}

"""Runs three agents with an LDAP directory and traffic: a change, a worse change, and a rollback.

    sudo python3 -B bench/agent-demo [--shortflow PROGRAM] [--stay]

Everything runs on this machine in its own network namespaces, and is removed at the end and at Ctrl-C. With --stay the live console of
all machines and the metrics of the first one stay at the printed addresses until Ctrl-C. Takes about 80 seconds.

Exit codes: 0 everything happened as expected; 1 something did not; 3 the machine lacks something.
"""

import argparse
import contextlib
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import console
import fleet
import network
import traffic

TOP = pathlib.Path(__file__).resolve().parents[2]
WATCH = 24
PATIENCE = 60.0


class Unmet(Exception):
    """An expectation of the demo was not met."""


def say(text: str) -> None:
    print(text, flush=True)


class Demo:
    """The running parts of the demo."""

    def __init__(self, shortflow: str, folder: pathlib.Path, stack: contextlib.ExitStack) -> None:
        self.shortflow, self.folder, self.stack = shortflow, folder, stack
        self.agents: dict[str, network.Host] = {}
        self.began = time.monotonic()

    def step(self, title: str) -> None:
        say(f"\n[{time.monotonic() - self.began:3.0f} s] {title}")

    def agent(self, machine: str, host: network.Host, url: str) -> None:
        folder = self.folder / machine
        folder.mkdir()
        command = [self.shortflow, "agent", "run", "--machine", machine, "--source", url, "--base", fleet.BASE, "--external"]
        command += ["--state", folder / "state", "--socket", folder / "agent.sock", "--metrics", "127.0.0.1:9855"]
        journal = self.stack.enter_context(open(folder / "journal", "w"))
        with network.held():
            self.stack.callback(network.end, host.start(command, stderr=journal))
        self.agents[machine] = host

    def ask(self, machine: str, *what: str) -> str:
        command = [self.shortflow, "agent", *what, "--socket", self.folder / machine / "agent.sock"]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=20).stdout

    def until(self, machine: str, *wanted: str) -> None:
        """Waits until the status of a machine has all of these values."""
        end = time.monotonic() + PATIENCE
        while not all(part in (status := self.ask(machine, "status")) for part in wanted):
            if time.monotonic() > end:
                journal = (self.folder / machine / "journal").read_text()
                raise Unmet(f"{machine} did not come to {wanted}:\n{status}{journal}")
            time.sleep(0.2)
        say("  " + status.strip().replace("\n", "\n  "))

    def short(self, seconds: float, machine: str = "gw1") -> float:
        """The median time of short transfers, in milliseconds."""
        median = traffic.short_transfers(self.agents[machine], seconds)
        say(f"  a page of 20 KB from {machine}, beside two downloads: {median:.0f} ms (median of {seconds:.0f} s)")
        return median


def play(demo: Demo, stay: bool) -> None:
    demo.step("an OpenLDAP server on loopback, with a fleet of three machines; gw1 is first")
    directory = fleet.Directory(demo.folder, demo.stack, demo.shortflow, WATCH)
    directory.write("best-effort")
    demo.step("three machines, each with an agent and a line of 10 Mbit/s, on which two downloads run")
    for host in network.hosts(demo.stack, ["gw1", "gw2", "gw3"]):
        traffic.begin(host, demo.stack)
        demo.agent(host.machine, host, directory.url)
    for machine in demo.agents:
        demo.until(machine, "version 1 (", "Best Effort", "done")
    slow = demo.short(WATCH + 4)
    address = network.forward(demo.agents["gw1"], 9855, demo.stack)
    say(f"  metrics of gw1: http://{address}/metrics")
    page = console.begin(demo.shortflow, demo.folder, list(demo.agents), demo.stack)
    if not console.shows(page, list(demo.agents)):
        raise Unmet(f"the console does not tell of all machines: {page}")
    say(f"  the console of all three, to be opened in a browser: {page}")

    demo.step("a change: pages before the rest. gw1 has it at once, measures it, and the others wait for its word")
    directory.write("pages-first")
    demo.until("gw1", "version 2 (", "Pages First", "done", "on trial")
    demo.until("gw2", "Best Effort", "waits until")
    fast = demo.short(10)
    demo.until("gw1", "version 2 (", "Pages First")
    for machine in ("gw2", "gw3"):
        demo.until(machine, "version 2 (", "Pages First", "done")
    if not fast < slow / 2:
        raise Unmet(f"pages take {fast:.0f} ms, and {slow:.0f} ms before")

    demo.step("a change for the worse: pages last. gw1 finds out, goes back by itself, and the others never have it")
    directory.write("pages-last")
    demo.until("gw1", "version 2 (", "was found worse and is not applied again", "Pages First", "done")
    demo.until("gw2", "version 2 (", "held back: gw1 finds it worse", "Pages First", "done")

    demo.step("somebody goes back further, on one machine")
    say("  " + demo.ask("gw3", "rollback").strip())
    demo.until("gw3", "version 1 (", "Best Effort", "done")

    demo.step("what gw1 has in its log")
    log = subprocess.run([demo.shortflow, "agent", "log", "--state", demo.folder / "gw1/state"], capture_output=True, text=True, check=True)
    say("  " + log.stdout.strip().replace("\n", "\n  "))
    if stay:
        say(f"\nthe console: {page}\nmetrics of gw1: http://{address}/metrics\nCtrl-C ends it")
        signal.pause()


def lacking(shortflow: str) -> list[str]:
    """What the machine lacks for the demo."""
    programs = ["ip", "ldapadd", "ldapmodify", "ldapsearch", "/usr/sbin/slapd", shortflow]
    missing = [program for program in programs if shutil.which(program) is None]
    return missing + ([] if network.is_root() else ["root"])


def played(shortflow: str, stay: bool) -> tuple[int, str]:
    """The exit code, and the message to print after the cleanup."""
    with tempfile.TemporaryDirectory(prefix="shortflow-demo-") as folder, contextlib.ExitStack() as stack:
        # What is begun is ended, however often one asks.
        stack.callback(say, "")
        try:
            play(Demo(shortflow, pathlib.Path(folder), stack), stay)
            return 0, "all came as it says; nothing of it is left"
        except Unmet as unmet:
            return 1, str(unmet)
        except network.Lacking as lack:
            return 3, str(lack)
        except KeyboardInterrupt:
            return (0 if stay else 130), "ended; nothing of it is left"
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shortflow", default=str(TOP / "target/release/shortflow"), help="the program")
    parser.add_argument("--stay", action="store_true", help="wait for Ctrl-C at the end")
    options = parser.parse_args()
    if missing := lacking(options.shortflow):
        print(f"needs {', '.join(missing)} (Debian: apt-get install slapd ldap-utils iproute2; make build)", file=sys.stderr)
        return 3
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code, told = played(options.shortflow, options.stay)
    print(told, file=sys.stdout if code == 0 else sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

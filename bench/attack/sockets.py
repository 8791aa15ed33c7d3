"""Servers that never end, drip or send terminal escapes; clients that hold connections; invalid requests."""

import contextlib
import os
import pathlib
import random
import socket
import subprocess
import threading
import time

from harness import Bench, inputs, program
from mutate import mutated

ANSWER = b'{"version":1,"answer":{"machine":"gw1","version":1}}\n'
TOKEN = "0123456789abcdef-attack"


class Evil:
    """A malicious listener at a Unix socket or loopback port: no agent, no directory, no web server."""

    def __init__(self, address, act) -> None:
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.listener = socket.socket(family)
        self.listener.bind(address)
        self.listener.listen(8)
        self.act = act
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.attend, args=(connection,), daemon=True).start()

    def attend(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.recv(4096)
            self.act(connection)

    def close(self) -> None:
        self.listener.close()


def flood(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"a" * (1 << 20))


def drip(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"a")
        time.sleep(1)


def steer(connection: socket.socket) -> None:
    connection.sendall(b'{"version":1,"error":"no\\u001b]0;owned\\u0007\\u001b[2Jx"}\n')


def steering_events(connection: socket.socket) -> None:
    connection.sendall(b'{"version":1,"answer":{}}\n')
    event = b'{"version":1,"event":{"at":"2026-01-01T00:00:00.000Z","who":"\\u001b[2J","what":"started","machine":"\\u0007","version":1}}\n'
    connection.sendall(event * 3)


def nested(connection: socket.socket) -> None:
    connection.sendall(b"[" * 500_000 + b"\n")


def clients(bench: Bench, is_short: bool) -> None:
    """Attacks `agent status` and `agent watch` at a socket."""
    acts = [("flood", flood), ("escapes", steer), ("events", steering_events), ("nested", nested)]
    acts += [] if is_short else [("drip", drip)]
    for name, act in acts:
        path = str(bench.work / f"{name}.sock")
        evil = Evil(path, act)
        for command in ["status", "watch", "metrics"]:
            # All of an answer may take 60 s.
            bench.run(["agent", command, "--socket", path], f"sockets: {command} at {name}", timeout=90)
        evil.close()


def sources(bench: Bench) -> None:
    """Checks that the process that reads a repository from a server is bounded and has no capabilities."""
    for scheme in ["http", "ldap"]:
        evil = Evil(("127.0.0.1", 0), flood)
        url = f"{scheme}://127.0.0.1:{evil.listener.getsockname()[1]}/"
        base = ["--base", "ou=a,dc=b"] if scheme == "ldap" else []
        asked = subprocess.run(
            [program(), "agent", "read", f"--source={url}", *base], input=b'"Fetch"\n', capture_output=True, timeout=90,
        )
        if b"without servers" in asked.stderr or b"leaves out servers" in asked.stderr:
            bench.skip("a build with the feature network", "flooding servers")
        else:
            # The process that reads may come to harm, for which it is one of its own; it must end, and say nothing.
            bench.runs += 1
            if b"Fetched" in asked.stdout:
                bench.finding(f"sockets: a flood of {scheme} was taken for a repository")
        evil.close()
    refused = bench.run(["agent", "read", "--source=ldap://192.0.2.1", "--base", "ou=a"], "sockets: plain LDAP elsewhere")
    if refused.returncode not in (2, 3) or b"can be changed on the way" not in refused.stderr and b"leaves out" not in refused.stderr:
        bench.finding("sockets: a repository was taken from another machine without TLS")


@contextlib.contextmanager
def agent(bench: Bench, *wrapped: str):
    """Starts an agent in its own network namespace; its process, or `None`."""
    files = inputs(bench.work)
    token = bench.work / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    owner = bench.work.stat()
    os.chown(token, owner.st_uid, owner.st_gid)
    socket_path, state = bench.work / "agent.sock", bench.work / "agent-state"
    command = ["unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *wrapped]
    if os.geteuid() == 0:
        command.remove("--map-root-user")
    command += [
        str(program()), "agent", "run", "--source", str(files["fleet"]), "--state", str(state), "--socket", str(socket_path),
        "--machine", "nobody", "--console=127.0.0.1:9856", "--console-token-file", str(token), "--metrics", "127.0.0.1:9855",
    ]
    log = (bench.work / "agent.txt").open("wb")
    process = subprocess.Popen(command, cwd=bench.work, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 15
        while time.monotonic() < until and process.poll() is None and not socket_path.exists():
            time.sleep(0.05)
        yield process if process.poll() is None and socket_path.exists() else None
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            bench.finding("sockets: an agent does not end")
        said = (bench.work / "agent.txt").read_bytes()
        if b"panicked" in said or process.returncode not in (0, 2, 3, 130, -15):
            bench.finding(f"sockets: the agent ended with {process.returncode}: {said[-300:]!r}")


def in_namespace(process: subprocess.Popen, script: str, timeout: float = 60) -> str:
    """The output of a Python script that runs in the agent's network namespace."""
    command = ["nsenter", f"--target={process.pid}", "--net", "python3", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    return done.stdout + done.stderr[-300:]


HOLD = """
import socket, time
def ask(path, more=""):
    s = socket.create_connection(("127.0.0.1", 9856), timeout=5)
    s.sendall(f"GET {path} HTTP/1.1\\r\\nHost: localhost\\r\\n{more}\\r\\n".encode())
    return s
token = "Authorization: Bearer TOKEN\\r\\n"
operator = ask("/events", token); operator.recv(100)
held = [ask("/events") for _ in range(200)]
idle = [socket.create_connection(("127.0.0.1", 9856), timeout=5) for _ in range(30)]
late = ask("/token", token)
answer = late.recv(1000).decode()
print("LET IN" if " 200 " in answer else f"LOCKED OUT {answer[:80]}")
time.sleep(2)
operator.settimeout(8)
try:
    print("STILL THERE" if operator.recv(10) else "HUNG UP ON")
except OSError as error:
    print("HUNG UP ON", error)
"""

REQUESTS = """
import random, socket, sys
sys.path.insert(0, PATH)
from mutate import mutated
dice = random.Random(SEED)
right = b"POST /switch HTTP/1.1\\r\\nHost: 127.0.0.1:9856\\r\\nAuthorization: Bearer x\\r\\nContent-Type: application/json\\r\\nContent-Length: 11\\r\\n\\r\\n{\\"to\\":\\"0/1\\"}"
for number in range(COUNT):
    with socket.create_connection(("127.0.0.1", dice.choice([9855, 9856])), timeout=5) as s:
        try:
            s.sendall(mutated(dice, right)[:20000]); s.shutdown(socket.SHUT_WR); s.settimeout(5)
            while s.recv(4096): pass
        except TimeoutError: raise
        except OSError: pass
print("DONE")
"""


def servers(bench: Bench, seed: int, is_short: bool) -> None:
    """Holds, floods and sends invalid requests to an agent's console and control socket."""
    with agent(bench) as process:
        if process is None:
            said = (bench.work / "agent.txt").read_text(errors="replace")
            return bench.skip("root or user namespaces, and iproute2", f"an agent under attack: {said[-200:]!r}")
        told = in_namespace(process, HOLD.replace("TOKEN", TOKEN))
        if told.split("\n")[:2] != ["LET IN", "STILL THERE"]:
            bench.finding(f"sockets: who holds connections locks the operator out: {told!r}")
        count = 200 if is_short else 5000
        script = REQUESTS.replace("PATH", repr(str(pathlib.Path(__file__).parent))).replace("SEED", str(seed))
        told = in_namespace(process, script.replace("COUNT", str(count)), 600)
        if "DONE" not in told:
            bench.finding(f"sockets: a request of HTTP is neither answered nor hung up on: {told}")
        control(bench, random.Random(seed), count)
        status = bench.run(["agent", "status", "--socket", bench.work / "agent.sock"], "sockets: status after all that")
        if b"nobody" not in status.stdout:
            bench.finding(f"sockets: the agent does not answer any more: {status.stderr!r}")


def control(bench: Bench, dice: random.Random, count: int) -> None:
    """Sends invalid requests and keeps silent connections at the control socket."""
    path = str(bench.work / "agent.sock")
    held = []
    for _ in range(100):
        silent = socket.socket(socket.AF_UNIX)
        silent.connect(path)
        held.append(silent)
    for _ in range(count):
        with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
            connection.settimeout(5)
            connection.connect(path)
            connection.sendall(mutated(dice, b'{"version":1,"do":"preview","to":3}')[:8000] + b"\n")
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    for silent in held:
        silent.close()


def without_threads(bench: Bench) -> None:
    """An agent that can create no more threads closes the connection and continues."""
    if os.geteuid() != 0:
        return bench.skip("root", "an agent that may make no more threads")
    # The kernel counts the threads of users other than root.
    bench.work.chmod(0o755)
    bench.home.chmod(0o755)
    for name in ["agent-state", "agent.sock"]:
        subprocess.run(["rm", "-rf", bench.work / name], check=True)
    os.chown(bench.work, 65534, 65534)
    inputs(bench.work)
    wrapped = ["prlimit", "--nproc=12", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    (bench.work / "token").unlink(missing_ok=True)
    with agent(bench, *wrapped) as process:
        if process is None:
            said = (bench.work / "agent.txt").read_text(errors="replace")
            bench.skip("an agent that runs as nobody", said[-200:])
        else:
            in_namespace(process, HOLD.replace("TOKEN", TOKEN))
            if process.poll() is not None:
                bench.finding("sockets: an agent without threads ends")
    os.chown(bench.work, os.geteuid(), os.getegid())


def attack(bench: Bench, seed: int, is_short: bool) -> None:
    clients(bench, is_short)
    sources(bench)
    servers(bench, seed, is_short)
    if not is_short:
        without_threads(bench)

"""The live console for all machines of the demo."""

import contextlib
import pathlib
import secrets
import subprocess
import time
import urllib.request

import network

PATIENCE = 20.0


def begin(shortflow: str, folder: pathlib.Path, machines: list[str], stack: contextlib.ExitStack) -> str:
    """Starts the console over the agents' sockets; returns the page's address with its token."""
    token = secrets.token_hex(16)
    file = folder / "console-token"
    file.touch(0o600)
    file.write_text(f"{token}\n")
    command = [shortflow, "agent", "console", "--console", "127.0.0.1:0", "--console-token-file", file]
    for machine in machines:
        command += ["--socket", folder / machine / "agent.sock"]
    with network.held():
        page = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        stack.callback(network.end, page)
    address = page.stdout.readline().removeprefix("Console: ").strip()
    return f"{address}#token={token}"


def shows(address: str, machines: list[str]) -> bool:
    """Whether the page's events soon cover all machines."""
    events = address.partition("#")[0] + "events"
    left, end = set(machines), time.monotonic() + PATIENCE
    with urllib.request.urlopen(events, timeout=PATIENCE) as stream:
        for line in stream:
            left -= {machine for machine in left if machine in line.decode()}
            if not left or time.monotonic() > end:
                break
    return not left

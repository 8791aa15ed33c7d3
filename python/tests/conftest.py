"""What tests share."""

import pathlib

import pytest

import shortflow as sf

LINE = """
name = "Line"
duration = "4 s"
replicas = 2
seed = 5
policy = "fifo.toml"

[parameters]
load = 1

[hosts]
client = {}
server = {}

[routers]
r1 = {}

[links.access]
between = ["server", "r1"]
rate = "100 Mbit/s"
delay = "1 ms"

[links.line]
between = ["r1", "client"]
rate = "2 Mbit/s"
delay = "10 ms"

[[bind]]
role = "core"
at = "r1"
to = "client"

[workloads.web.transfers]
client = "client"
server = "server"
load = "= load Mbit/s"
request.constant = "200 B"
reply.choice = { sizes = ["2 KB", "20 KB"] }
"""

FIFO = """
name = "FIFO"

[roles.core]
queue.fifo = { limit = "30 pkt" }
"""


@pytest.fixture
def line() -> sf.Scenario:
    """A line with web transfers."""
    return sf.Scenario(LINE, "line.toml")


@pytest.fixture
def fifo() -> sf.Policy:
    """A short plain queue."""
    return sf.Policy(FIFO, "fifo.toml")


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path

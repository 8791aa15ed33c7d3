"""How each side is run: the command of one run, what determines its result, and how to read it."""

import functools
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import figures
from cases import BadCase, Variant
from figures import Figures

PEERS_DIR = Path(__file__).resolve().parent.parent
ROOT = PEERS_DIR.parent.parent
TARGET = ROOT / "target" / "validate"
NAMES = {"ns2": "ns-2", "ns3": "ns-3", "theory": "theory", "ours": "Shortflow"}
PACKAGES = {"ns2": "ns2", "ns3": "libns3-dev"}


class Missing(Exception):
    """A required program is not installed; the text says how to install it."""


@dataclass(frozen=True)
class Run:
    """One run. `key` changes with everything on which its result depends."""

    label: str
    key: str
    command: tuple[str, ...]
    read: Callable[[str, Path], list[Figures]]  # standard output and scratch folder


def peer_run(peer: str, setup: Mapping[str, Any], seed: int, label: str) -> Run:
    """The run of `peer` under `seed`. Theory has no seeds."""
    options = {str(name): str(value) for name, value in setup.get("options", {}).items()}
    if peer != "theory":
        options["seed"] = str(seed)
    source = PEERS_DIR / peer / setup["run"]
    if not source.is_file():
        raise BadCase(f"no file {source.relative_to(ROOT)}")
    words = [word for name, value in options.items() for word in (f"-{name}", value)]
    text = text_with_includes(source)
    program = {"ns2": ["ns", str(source)], "theory": [sys.executable, str(source)]}
    command = program[peer] if peer in program else [str(compiled(source, text))]
    return Run(
        label=f"{NAMES[peer]}: {label}, seed {seed}",
        key=digest(peer, version(peer), text, json.dumps(options, sort_keys=True)),
        command=(*command, *words),
        read=lambda output, _: [figures.of_peer(json.loads(output))],
    )


def our_run(shortflow: Path, variant: Variant, label: str) -> Run:
    """All seeds of a variant in Shortflow, as the replicas of one run."""
    ours = variant.ours
    scenario = ROOT / ours["scenario"]
    if not scenario.is_file():
        raise BadCase(f"no file {ours['scenario']}")
    command = [str(shortflow), "simulate", str(scenario), "--quiet", "--json", "--no-transfers"]
    command += ["--jobs", "1", "--seed", "1", "--replicas", str(variant.seeds), "--out", "out"]
    policy = tomllib.loads(scenario.read_text()).get("policy")
    texts = [scenario.read_text()]
    if ours.get("policy"):
        command += ["--policy", str(ROOT / ours["policy"])]
        texts.append((ROOT / ours["policy"]).read_text())
    elif policy:
        texts.append((scenario.parent / policy).read_text())
    for name, value in ours.get("set", {}).items():
        command += ["--set", f"{name}={value}"]
    settings = [word for word in command[2:] if word != str(scenario)]
    return Run(
        label=f"Shortflow: {label}",
        key=digest("ours", file_digest(shortflow), *texts, *settings),
        command=tuple(command),
        read=read_replicas,
    )


def read_replicas(_: str, scratch: Path) -> list[Figures]:
    points = json.loads((scratch / "out" / "replicas.json").read_text())
    if len(points) != 1:
        raise BadCase("a scenario of a case must have one point: set what it sweeps")
    return [figures.of_replica(replica) for replica in points[0]]


@functools.cache
def version(peer: str) -> str:
    """The version of a peer's package. For theory the interpreter's version does not matter."""
    if peer == "theory":
        return "closed forms"
    if peer == "ns2" and shutil.which("ns") is None:
        raise Missing("no program `ns`: apt-get install ns2")
    if peer == "ns3" and shutil.which("g++") is None:
        raise Missing("no program `g++`: apt-get install g++ libns3-dev")
    # A package that is known but not installed is no error to dpkg-query: its status tells.
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", PACKAGES[peer]]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        return "of unknown version"
    status, _, number = found.stdout.partition(" ")
    if found.returncode == 0 and status == "installed":
        return number
    if peer == "ns2":
        return "of unknown version"  # built by hand, perhaps
    raise Missing("no ns-3 library: apt-get install libns3-dev")


@functools.cache
def compiled(source: Path, text: str) -> Path:
    """The program made from an ns-3 source, compiled if its text is new."""
    program = TARGET / "ns3" / f"{source.stem}-{digest(version('ns3'), text)}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        command = ["make", "-s", "-C", str(source.parent), f"SOURCE={source}", f"PROGRAM={program}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise BadCase(f"{source.name} does not compile:\n{done.stderr}")
    return program


# How a Tcl script, a C++ program and a Python program name files of their own folder.
INCLUDES = re.compile(
    r"info script\]\] (\S+?)\]|^#include \"(\S+)\"|^(?:from|import) (\w+)", re.MULTILINE
)


@functools.cache
def text_with_includes(source: Path) -> str:
    """A program's text and that of all files of its folder that it includes."""
    seen: dict[Path, str] = {}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path in seen or not path.is_file():
            continue
        seen[path] = path.read_text()
        for tcl, header, module in INCLUDES.findall(seen[path]):
            waiting.append(path.parent / (tcl or header or f"{module}.py"))
    return "\n".join(seen[path] for path in sorted(seen))


@functools.cache
def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

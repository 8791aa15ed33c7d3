"""The cases in cases.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# The congestion controls under which each case is run.
CONTROLS = ("reno", "cubic")

# Replicas of each, paired.
REPLICAS = 8

# A row that misses by these, but may do so by chance, is judged by so many others, of another seed.
FURTHER = 32
FURTHER_SEED = 1001


class BadCase(Exception):
    """A case file is invalid."""


@dataclass(frozen=True)
class Case:
    """A scenario under a baseline and another policy, and the figure that orders the two."""

    name: str
    scenario: str
    policies: tuple[str, str]
    port: str
    order: str
    settings: tuple[str, ...] = ()


def read_cases(path: Path) -> list[Case]:
    """All cases of a file."""
    return [case_of(entry) for entry in tomllib.loads(path.read_text())["case"]]


def case_of(entry: dict) -> Case:
    """A case, checked."""
    name = entry.get("name", "?")
    unknown = entry.keys() - {"name", "scenario", "policies", "port", "order", "set"}
    if unknown:
        raise BadCase(f"case `{name}` has unknown keys: {', '.join(sorted(unknown))}")
    missing = {"name", "scenario", "policies", "port", "order"} - entry.keys()
    if missing:
        raise BadCase(f"case `{name}` lacks {', '.join(sorted(missing))}")
    if len(entry["policies"]) != 2:
        raise BadCase(f"case `{name}` has {len(entry['policies'])} policies; give a baseline and another")
    if entry["order"] != "wait" and not entry["order"].startswith(("time ", "delay ")):
        raise BadCase(f"case `{name}` is ordered by `{entry['order']}`; "
                      "write `time WORKLOAD`, `delay WORKLOAD` or `wait`")  # fmt: skip
    return Case(name, entry["scenario"], tuple(entry["policies"]), entry["port"], entry["order"],
                tuple(entry.get("set", ())))  # fmt: skip

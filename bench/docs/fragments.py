"""Fragments of TOML files: their kind, and how they are put into a frame."""

import json
import tomllib
from collections.abc import Iterator
from typing import Any

SCENARIO = {"hosts", "routers", "links", "workloads", "measure", "sweep", "tcp", "bind"}
FLEET = {"machines", "assign", "rollout"}


def kind(found: dict[str, Any]) -> str:
    """Whether a file is a scenario, a fleet or a policy, from its tables."""
    if FLEET & set(found):
        return "fleet"
    return "scenario" if SCENARIO & set(found) else "policy"


def parts(text: str) -> Iterator[dict[str, Any]]:
    """A fragment, or its alternatives: lines that give the same key several values."""
    try:
        yield tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        lines = text.splitlines()
        table = [line for line in lines if line.startswith("[")]
        for line in lines:
            if line.strip() and not line.startswith(("[", "#")):
                yield tomllib.loads("\n".join([*table, line]))


def merged(frame: Any, fragment: Any, place: tuple[str, ...] = ()) -> Any:
    """The frame with what the fragment says instead. A workload is replaced as a whole, since it has one kind."""
    if isinstance(frame, dict) and isinstance(fragment, dict) and not (len(place) == 2 and place[0] == "workloads"):
        return frame | {key: merged(frame[key], value, (*place, key)) if key in frame else value
                        for key, value in fragment.items()}  # fmt: skip
    return fragment


def linked(scenario: dict[str, Any]) -> dict[str, Any]:
    """A scenario in which every host has a link: hosts without one get a link to the first router."""
    ends = {end for link in scenario["links"].values() for end in link["between"]}
    router = next(iter(scenario["routers"]))
    added = {f"added-{host}": {"between": [host, router], "rate": "1 Gbit/s", "delay": "1 us"}
             for host in scenario["hosts"] if host not in ends}  # fmt: skip
    return scenario | {"links": scenario["links"] | added}


def dumped(value: dict[str, Any]) -> str:
    """A file as TOML: each key of the first level on a line."""
    return "".join(f"{quoted(key)} = {inline(part)}\n" for key, part in value.items())


def inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)} = {inline(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(inline(part) for part in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def quoted(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)

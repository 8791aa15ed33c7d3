"""Predicts and simulates the random scenarios, and compares each figure."""

import hashlib
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from draws import Drawn


class Failed(Exception):
    """A run failed."""


@dataclass(frozen=True)
class Figure:
    """One figure of a scenario by both engines, the simulated one with its interval."""

    of: str
    predicted: float
    simulated: float
    low: float | None
    high: float | None

    @property
    def off(self) -> float:
        """The relative error of the prediction."""
        return self.predicted / self.simulated - 1

    @property
    def is_inside(self) -> bool:
        """Whether the prediction lies within the interval."""
        return self.low is not None and self.high is not None and self.low <= self.predicted <= self.high


@dataclass(frozen=True)
class Found:
    """The results of a scenario."""

    drawn: Drawn
    figures: list[Figure]
    refused: list[str]


def run_all(drawn: list[Drawn], shortflow: Path, results: Path, jobs: int, progress) -> list[Found]:
    """Runs every scenario by both engines, several at a time."""
    done = 0

    def one(each: Drawn) -> Found:
        nonlocal done
        found = run(each, shortflow, results / each.name)
        done += 1
        progress(done, len(drawn), each.name)
        return found

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one, drawn))


def run(drawn: Drawn, shortflow: Path, folder: Path) -> Found:
    """Runs a scenario by both engines; simulations of the same inputs are cached."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(drawn.scenario)
    (folder / "policy.toml").write_text(drawn.policy)
    predicted = by("predict", drawn, shortflow, folder)
    key = hashlib.sha256("\0".join([drawn.scenario, drawn.policy, str(drawn.replicas)]).encode()
                         + shortflow.read_bytes()).hexdigest()  # fmt: skip
    kept = folder / "simulated.json"
    known = json.loads(kept.read_text()) if kept.is_file() else {}
    if known.get("key") != key:
        known = {"key": key, "summary": by("simulate", drawn, shortflow, folder)}
        kept.write_text(json.dumps(known))
    return Found(drawn, figures(predicted, known["summary"]), refusals(predicted))


def by(engine: str, drawn: Drawn, shortflow: Path, folder: Path) -> dict:
    """The summary of a scenario by an engine."""
    command = [str(shortflow), "--quiet", engine, str(folder / "scenario.toml"), "--json", "--no-transfers",
               "--jobs", "1", "--force", "--out", str(folder / engine)]  # fmt: skip
    if engine == "simulate":
        command += ["--replicas", str(drawn.replicas)]
    ended = subprocess.run(command, capture_output=True, text=True)
    if engine == "predict" and ended.returncode == 2 and "no closed form" in ended.stderr:
        return refused(ended.stderr)
    if ended.returncode != 0:
        raise Failed(f"{drawn.name} by {engine}: {ended.stderr.strip()}")
    return json.loads(ended.stdout)["runs"][0]["points"][0]["summary"]


def refused(stderr: str) -> dict:
    """The summary of a scenario that an engine refuses: no figures, and the lines of its error as warnings."""
    return {"workloads": [], "ports": [], "warnings": [{"message": line} for line in stderr.strip().splitlines()]}


def messages(summary: dict) -> list[str]:
    """The texts of a summary's warnings."""
    return [warning["message"] for warning in summary["warnings"]]


def refusals(summary: dict) -> list[str]:
    return [line for line in messages(summary) if "o closed form for" in line]


def figures(predicted: dict, simulated: dict) -> list[Figure]:
    """The figures that both engines give and neither gives as a mere bound."""
    found = []
    ours = {workload["name"]: workload for workload in predicted["workloads"]}
    for theirs in simulated["workloads"]:
        own = ours.get(theirs["name"])
        if own is None:
            continue
        classes = {each["label"]: each for each in [own["all"], *own["classes"]]}
        for each in [theirs["all"], *theirs["classes"]]:
            label = "" if each["label"] == "all" and len(theirs["classes"]) < 2 else f", {each['label']}"
            if each["label"] in classes:
                add(found, f"{theirs['name']}{label}", classes[each["label"]]["mean"], each["mean"])
        add(found, f"{theirs['name']}: goodput", own["goodput"], theirs["goodput"])
        for key in ("delay", "delay_median", "delay_p95", "delay_p99"):
            if own["datagrams"] and theirs["datagrams"]:
                name = key.replace("delay_", "delay, ")
                add(found, f"{theirs['name']}: {name}", own["datagrams"].get(key), theirs["datagrams"].get(key))
    line = {port["name"]: port for port in predicted["ports"]}.get("far->near")
    theirs = {port["name"]: port for port in simulated["ports"]}.get("far->near")
    if line and theirs:
        add(found, "wait at the line", line["mean_wait"], theirs["mean_wait"])
        add(found, "loss at the line", line["loss"], theirs["loss"])
    return found


def add(found: list[Figure], of: str, own: dict | None, theirs: dict | None) -> None:
    """Adds a figure that both sides have."""
    if not own or not theirs or theirs["mean"] == 0 or own.get("at_least") or theirs.get("at_least"):
        return
    found.append(Figure(of, own["mean"], theirs["mean"], theirs["low"], theirs["high"]))

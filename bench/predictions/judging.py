"""Compares predictions of scenarios of every kind with simulations: coverage, accuracy, misses."""

import hashlib
import json
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from chapter import signed
from draws import Drawn
from running import Failed, messages, refused
from shared import Line, Page, data_link, grid

NAME = "predictions-of-scenarios-of-every-kind"
TITLE = "Predictions of scenarios of every kind"

# Seconds after which a simulation is given up.
PATIENCE = 240

# Transfers or packets below which a simulated mean is chance.
FEWEST = 30

NEAR, FAR = 0.2, 0.5

# What a lower bound may be above a simulated mean by chance, and an upper one below it.
CHANCE = 0.02

TARGETS = (0.8, 0.95)


@dataclass(frozen=True)
class Answer:
    """A simulated figure and its prediction."""

    of: str
    simulated: float
    low: float
    high: float
    predicted: float | None
    # Whether the prediction is a lower or an upper bound.
    at_least: bool
    at_most: bool
    # Warnings that name it.
    warnings: tuple[str, ...]
    # Whether the simulation itself found but a lower bound.
    is_open: bool = False

    @property
    def is_bound(self) -> bool:
        return self.at_least or self.at_most

    @property
    def off(self) -> float:
        return self.predicted / self.simulated - 1

    @property
    def is_mean(self) -> bool:
        return self.predicted is not None and not self.is_bound

    @property
    def is_false_bound(self) -> bool:
        # What was not complete at the end may have taken any time.
        return self.at_least and self.off > CHANCE and not self.is_open or self.at_most and self.off < -CHANCE

    @property
    def is_silent(self) -> bool:
        """Whether it is off by more than half and no warning names it."""
        return self.is_mean and not 1 / (1 + FAR) - 1 <= self.off <= FAR and not self.warnings

    @property
    def is_inside(self) -> bool:
        return self.is_mean and self.low <= self.predicted <= self.high


@dataclass
class Judged:
    """A scenario: its answers, and why figures are missing."""

    drawn: Drawn
    answers: list[Answer] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    # Why it could not be simulated, if so.
    dropped: str = ""


def judge(drawn: Drawn, shortflow: Path, folder: Path, seconds: float = PATIENCE) -> Judged:
    """Predicts and simulates a scenario, within so many seconds; the simulation is cached by the scenario's text."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.toml").write_text(drawn.scenario)
    (folder / "policy.toml").write_text(drawn.policy)
    simulated = simulation(drawn, shortflow, folder, seconds)
    if isinstance(simulated, str):
        return Judged(drawn, dropped=simulated)
    predicted = call(shortflow, "predict", drawn, folder, PATIENCE)
    if predicted.returncode not in (0, 2):
        raise Failed(f"{drawn.name} by predict: {predicted.stderr.strip()}")
    if predicted.returncode == 2:
        summary = refused(predicted.stderr)
    else:
        summary = json.loads(predicted.stdout)["runs"][0]["points"][0]["summary"]
    reasons = [line for line in messages(summary) if is_reason(line)]
    return Judged(drawn, answers(summary, simulated), reasons)


def simulation(drawn: Drawn, shortflow: Path, folder: Path, seconds: float) -> dict | str:
    """The simulated summary, or why there is none."""
    key = hashlib.sha256("\0".join([drawn.scenario, drawn.policy, str(drawn.replicas)]).encode()).hexdigest()
    kept = folder / "simulated.json"
    known = json.loads(kept.read_text()) if kept.is_file() else {}
    if known.get("key") == key:
        return known["summary"]
    try:
        ended = call(shortflow, "simulate", drawn, folder, seconds)
    except subprocess.TimeoutExpired:
        return f"simulated for more than {seconds:.0f} s"
    if ended.returncode != 0:
        return f"not simulated: {error_of(ended.stderr)}"
    summary = json.loads(ended.stdout)["runs"][0]["points"][0]["summary"]
    kept.write_text(json.dumps({"key": key, "summary": summary}))
    return summary


def error_of(stderr: str) -> str:
    """The error of a command, without the warnings before it."""
    lines = stderr.strip().splitlines()
    return "\n".join(lines[next((at for at, line in enumerate(lines) if line.startswith("error:")), 0) :])


def call(
    shortflow: Path, engine: str, drawn: Drawn, folder: Path, seconds: float
) -> subprocess.CompletedProcess:
    command = [str(shortflow), "--quiet", engine, str(folder / "scenario.toml"), "--json", "--no-transfers",
               "--jobs", "1", "--force", "--out", str(folder / engine)]  # fmt: skip
    command += ["--replicas", str(drawn.replicas)] if engine == "simulate" else []
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds)


def is_reason(line: str) -> bool:
    """Whether a warning says why there is no figure."""
    return line.removeprefix("error: ").lower().startswith("no closed form for")


def answers(predicted: dict, simulated: dict) -> list[Answer]:
    """Every simulated mean: times by size, delays, goodputs of long flows, and ports' bounds."""
    found = []
    warnings = [line for line in messages(predicted) if not is_reason(line)]
    ours = {workload["name"]: workload for workload in predicted["workloads"]}

    def add(of: str, own: dict | None, theirs: dict | None, named: str) -> None:
        if not theirs or not theirs["mean"]:
            return
        own = own or {}
        naming = tuple(line for line in warnings if f"`{named}`" in line)
        found.append(Answer(of, theirs["mean"], theirs["low"] or theirs["mean"], theirs["high"] or theirs["mean"],
                            own.get("mean"), bool(own.get("at_least")), bool(own.get("at_most")), naming,
                            bool(theirs.get("at_least"))))  # fmt: skip

    for theirs in simulated["workloads"]:
        name = theirs["name"]
        own = ours.get(name) or {"all": {"label": "all"}, "classes": [], "datagrams": None}
        classes = {each["label"]: each for each in [own["all"], *own["classes"]]}
        sized = theirs["classes"] if len(theirs["classes"]) > 1 else []
        for each in [theirs["all"], *sized]:
            label = "" if each["label"] in ("", "all") else f", {each['label']}"
            if each["n"] >= FEWEST:
                add(f"{name}{label}", classes.get(each["label"], {}).get("mean"), each["mean"], name)
        if theirs["all"]["n"] == 0 and not theirs["datagrams"]:
            add(f"{name}: goodput", own.get("goodput"), theirs["goodput"], name)
        if theirs["datagrams"]:
            add(f"{name}: delay", (own["datagrams"] or {}).get("delay"), theirs["datagrams"]["delay"], name)
    # Of ports bounds alone are held: they are told of some queues only.
    theirs = {port["name"]: port for port in simulated["ports"]}
    for port in predicted["ports"]:
        for key in ("mean_wait", "loss"):
            if (port[key] or {}).get("at_least") and port["name"] in theirs:
                add(f"{port['name']}: {key}", port[key], theirs[port["name"]][key], port["name"])
    return found


@dataclass(frozen=True)
class Part:
    """The results of one seed: text, the figures that miss, and the numbers of means and of those within 20 %."""

    seed: int
    text: str
    missed: list[list[str]]
    means: int
    near: int


def chapter(note: str, parts: list[Part]) -> Page:
    """The chapter, with a part for each seed."""
    missed = [[str(part.seed), *row] for part in parts for row in part.missed]
    link = data_link(NAME, len(missed), "figures that miss, and bounds that do not hold,")
    lines = [Line(TITLE, NAME, f"simulations, seed {part.seed}", part.means, part.near, part.means - part.near)
             for part in parts]  # fmt: skip
    text = "\n".join([f"# {TITLE}", "", ABOUT.strip(), "", link, MARKS, "", note.strip(), "", *(part.text for part in parts)])
    return Page(NAME, text, ["seed", *MISSED], missed, lines)


ABOUT = """
[Predictions against simulations](predictions-against-simulations.md) draws scenarios from the range of each model. This
chapter ignores the ranges. It draws 1 to 3 links, 1 to 5 workloads of every kind, any policy of `policies/`, loads of 0.1
to 0.9, round trips of 5 to 600 ms and 0.2 to 1000 Mbit/s, and compares predictions with simulations.

A row is a predicted mean. It holds if it is within 20 % of the simulated mean. Figures are times by size, delays, and
goodputs of long flows, if 30 or more transfers were simulated. Loads do not count headers, acknowledgements and long
flows. `make judge-predict` writes this page; with `SEED=…` it prints the results of other seeds.
"""

MARKS = "There `silent` means that no warning names the figure, `inside` that it is within the simulator's interval."


def part(all_judged: list[Judged], seed: int, version: str) -> Part:
    """The results of one seed."""
    judged = [each for each in all_judged if not each.dropped]
    means = [answer for each in judged for answer in each.answers if "->" not in answer.of and answer.is_mean]
    near = sum(abs(answer.off) <= NEAR for answer in means)
    return Part(seed, text(all_judged, seed, version), missed_rows(judged), len(means), near)


def text(all_judged: list[Judged], seed: int, version: str) -> str:
    """The results, for people."""
    judged = [each for each in all_judged if not each.dropped]
    figures = [answer for each in judged for answer in each.answers if "->" not in answer.of]
    means = [answer for answer in figures if answer.is_mean]
    bounds = [answer for each in judged for answer in each.answers if answer.is_bound]
    near = [answer for answer in means if abs(answer.off) <= NEAR]
    lines = [
        f"## Seed {seed}", "",
        f"{len(judged)} scenarios of {len(all_judged)} with {len(figures)} means, version {version}.", "",
        *grid(["of", "target", "found"], [
            ["figures answered with a mean or a bound", "80 %", share(sum(each.predicted is not None for each in figures), figures)],
            ["figures answered with a mean", "", share(len(means), figures)],
            ["predicted means within 20 %", "95 %", share(len(near), means)],
            ["predicted means within 20 % or the simulator's 95 % interval", "",
             share(sum(abs(each.off) <= NEAR or each.is_inside for each in means), means)],
            ["means off by more than half that no warning names", "0", str(sum(each.is_silent for each in means))],
            ["bounds that do not hold", "0", f"{sum(each.is_false_bound for each in bounds)} of {len(bounds)}"],
        ], right=[1, 2]), "",
        *by_policy(judged), *reasons(judged),
    ]  # fmt: skip
    lines += [f"- {each.drawn.name} ({each.drawn.words}): {each.dropped}" for each in all_judged if each.dropped]
    return "\n".join(lines) + "\n"


def by_policy(judged: list[Judged]) -> list[str]:
    """Coverage and accuracy by policy."""
    rows = []
    policies: dict[str, list[Answer]] = {}
    for each in judged:
        own = [answer for answer in each.answers if "->" not in answer.of]
        policies.setdefault(each.drawn.words.rpartition("; ")[2].partition(" ")[0], []).extend(own)
    for policy, figures in sorted(policies.items()):
        means = [answer for answer in figures if answer.is_mean]
        rows.append([f"`{policy}`", str(len(figures)), share(len(means), figures),
                     share(sum(answer.is_bound for answer in figures), figures),
                     share(sum(abs(answer.off) <= NEAR for answer in means), means)])  # fmt: skip
    return [*grid(["policy", "figures", "means", "bounds", "means within 20 %"], rows, right=[1, 2, 3, 4]), ""]


MISSED = ("name", "scenario", "of", "predicted", "simulated", "off", "mark")


def missed_rows(judged: list[Judged]) -> list[list[str]]:
    """Each figure that is off by more than 20 %, and each bound that does not hold."""
    rows = []
    for each in judged:
        for answer in each.answers:
            if answer.is_false_bound or answer.is_mean and abs(answer.off) > NEAR and "->" not in answer.of:
                mark = "false bound" if answer.is_bound else "inside" if answer.is_inside else ""
                mark = "silent" if answer.is_silent else mark
                rows.append([each.drawn.name, each.drawn.words, answer.of, f"{answer.predicted:.4g}",
                             f"{answer.simulated:.4g}", signed(answer.off), mark])  # fmt: skip
    return rows


def misses(judged: list[Judged]) -> list[str]:
    """What misses, for the terminal."""
    rows = missed_rows([each for each in judged if not each.dropped])
    return [*grid(MISSED, rows, right=[3, 4, 5]), ""] if rows else ["Nothing misses.", ""]


def reasons(judged: list[Judged]) -> list[str]:
    """Why figures are missing, the most frequent first."""
    counts = Counter()
    for each in judged:
        for line in each.reasons:
            # Without names and numbers, of which each scenario has its own.
            short = re.sub(r"^.*?: ", "", line, count=1)
            short = re.sub(r"`w\d`", "a workload", re.sub(r"\b[rcs]\d->[rcs]\d\b", "a port", short))
            counts[re.sub(r"\d[\d.e-]*", "…", short).rstrip(".")] += 1
    if not counts:
        return []
    return ["Not predicted:", "", *grid(["why", "times"], [[why, str(times)] for why, times in counts.most_common()], right=[1]), ""]


def share(part: int, of: list) -> str:
    return f"{part} of {len(of)}, {100 * part / len(of):.0f} %" if of else "–"

"""Compares a policy on a live line with its prediction, simulation and rehearsal, and writes a table of docs/deploy-results.md.

    unshare -n python3 -B bench/live [--shortflow PATH] [--replicas 3] [--resume]

A live line is a device with `shortflow deploy` on it, or two devices with `shortflow inline` between them.

Needs root, iproute2, util-linux and a build with eBPF. The line of line.toml is in three network namespaces that end with
this program. The one that `unshare -n` created is the router. It refuses to start if there are devices other than `lo`. Pages
are requested at the times of the simulation. Each policy's figures are kept in target/live; `--resume` takes those that are there.

Exit codes: 0 the table is written; 2 a run failed; 3 the machine lacks something.
"""

import csv
import json
import sys
import tomllib
from dataclasses import astuple, dataclass
from pathlib import Path

from deploy_page import fill, parser
from hosts import run
from shared import ROOT, Estimate, grid
from ways import Page, Times, Way, deployed, inline, listen

HERE = Path(__file__).resolve().parent
SCENARIO = HERE / "line.toml"
RESULTS = ROOT / "target" / "live"
ENGINES = {"predict": "predicted", "simulate": "simulated", "rehearse": "rehearsed"}
POLICIES = {
    "Best effort": ROOT / "policies" / "best-effort.toml",
    "Calls first": ROOT / "policies" / "strict-priority.toml",
    "DSTF": ROOT / "policies" / "dstf.toml",
    "Fair Marker": HERE / "policies" / "fair-marker.toml",
    "Fair Marker, RED": ROOT / "policies" / "fair-marker.toml",
    "SIMA": ROOT / "policies" / "sima.toml",
    "Least attained": ROOT / "policies" / "stf.toml",
    "Shared priority": ROOT / "policies" / "shared-priority.toml",
}
# Only a BPF queueing discipline does these, which the kernel of the table lacks: they run inline only.
ONLY_INLINE = {"Least attained", "Shared priority"}
SIZES = {"2 KB": 2000, "8 KB": 8000, "30 KB": 30_000, "100 KB": 100_000}
FIGURES = [*(f"pages of {size}" for size in SIZES), "all pages", "calls", "calls lost"]


@dataclass(frozen=True)
class Figure:
    """A mean, half the width of its interval, and whether it is only a lower bound."""

    mean: float
    half_width: float | None
    at_least: bool = False


Columns = dict[str, dict[str, Figure | None]]


def by_engine(shortflow: Path, engine: str, name: str, replicas: int) -> Path:
    """The folder with an engine's results of the scenario under a policy."""
    out = RESULTS / f"{engine}-{name.lower().replace(' ', '-')}"
    seeds = [] if engine == "predict" else ["--replicas", replicas]
    run(shortflow, "--quiet", engine, SCENARIO, "--policy", POLICIES[name], *seeds, "--out", out, "--force", "--brief")
    return out


def of_summary(folder: Path) -> dict[str, Figure | None]:
    """The figures of an engine."""
    def estimate(found: dict | None) -> Figure | None:
        if found is None:
            return None
        half = None if found["low"] is None else (found["high"] - found["low"]) / 2
        return Figure(found["mean"], half, found.get("at_least", False))

    [point] = json.loads((folder / "summary.json").read_text())
    pages, calls = point["summary"]["workloads"]
    classes = {one["label"]: one for one in pages["classes"]}
    figures = {f"pages of {size}": estimate(classes.get(size, {}).get("mean")) for size in SIZES}
    figures |= {"all pages": estimate(pages["all"]["mean"])}
    return figures | {"calls": estimate(calls["datagrams"]["delay"]), "calls lost": estimate(calls["datagrams"]["loss"])}


def arrivals(folder: Path, replica: int) -> list[Page]:
    """The times and sizes of the pages in a simulated replica; one reader requests all."""
    with (folder / f"transfers-000-{replica:03}.csv").open() as rows:
        found = [(float(row["start_s"]), int(row["reply_bytes"]), None) for row in csv.DictReader(rows)]
    return sorted(found)


def live(shortflow: Path, way: Way, name: str, simulated: Path, replicas: int) -> dict[str, Figure | None]:
    """The figures of a policy on a live line."""
    plan = tomllib.loads(SCENARIO.read_text())
    times = Times(*(float(plan[key].split()[0]) for key in ("duration", "warm_up", "drain")))
    found: dict[str, list[float]] = {figure: [] for figure in FIGURES}
    pages = [arrivals(simulated, replica) for replica in range(replicas)]
    for heard in listen(shortflow, way, POLICIES[name], times, pages):
        for label, size in SIZES.items():
            of_size = [time for one, time in heard.pages if one == size]
            found[f"pages of {label}"].append(sum(of_size) / len(of_size))
        found["all pages"].append(sum(time for _, time in heard.pages) / len(heard.pages))
        found["calls"].append(sum(heard.calls) / len(heard.calls))
        found["calls lost"].append(heard.lost)
    estimates = {figure: Estimate.over(values) for figure, values in found.items()}
    return {figure: Figure(one.mean, one.half_width) for figure, one in estimates.items()}


def figures(shortflow: Path, name: str, replicas: int) -> Columns:
    """All columns of a policy."""
    folders = {engine: by_engine(shortflow, engine, name, replicas) for engine in ENGINES}
    columns = {ENGINES[engine]: of_summary(folder) for engine, folder in folders.items()}
    nothing = dict.fromkeys(FIGURES)
    simulated = folders["simulate"]
    columns["deployed"] = nothing if name in ONLY_INLINE else live(shortflow, deployed, name, simulated, replicas)
    columns["inline"] = live(shortflow, inline, name, simulated, replicas)
    return columns


def kept(name: str) -> Path:
    """Where the figures of a policy are kept."""
    return RESULTS / f"{name.lower().replace(' ', '-').replace(',', '')}.json"


def keep(name: str, columns: Columns) -> None:
    plain = {column: {figure: value and astuple(value) for figure, value in of.items()}
             for column, of in columns.items()}  # fmt: skip
    kept(name).write_text(json.dumps(plain, indent=1))


def read_kept(name: str) -> Columns:
    plain = json.loads(kept(name).read_text())
    return {column: {figure: value and Figure(*value) for figure, value in of.items()} for column, of in plain.items()}


def cell(figure: str, value: Figure | None) -> str:
    """A time in milliseconds, or a share in per cent, with its interval."""
    if value is None:
        return "–"
    factor, unit = (100, " %") if figure.endswith("lost") else (1000, " ms")
    mean, half = value.mean * factor, (value.half_width or 0.0) * factor
    places = 2 if mean < 10 else 1 if mean < 100 else 0
    interval = "" if value.half_width is None else f" ± {half:.{places}f}"
    return f"{'≥ ' if value.at_least else ''}{mean:.{places}f}{interval}{unit}"


def table(found: dict[str, Columns]) -> str:
    head = ["policy", "of", *ENGINES.values(), "deployed", "inline"]
    body = [[name, figure, *(cell(figure, columns[column][figure]) for column in head[2:])]
            for name, columns in found.items() for figure in FIGURES]  # fmt: skip
    return "\n".join(grid(head, body, right=range(2, len(head))))


def main() -> int:
    options = parser("live", __doc__, POLICIES)
    options.add_argument("--resume", action="store_true", help="take the figures of policies that an earlier run has kept")
    arguments = options.parse_args()
    shortflow = arguments.shortflow.resolve()

    def measure(name: str) -> Columns:
        if arguments.resume and kept(name).exists():
            return read_kept(name)
        columns = figures(shortflow, name, arguments.replicas)
        keep(name, columns)
        return columns

    names = [arguments.only] if arguments.only else POLICIES
    return fill("live", names, measure, table, is_printed=bool(arguments.only))


if __name__ == "__main__":
    sys.exit(main())

"""docs/reference/results.md: every column of the CSV files and every key of the JSON and TOML files of results."""

import json
import re
import subprocess
import tempfile
import tomllib
from pathlib import Path

from paths import ROOT, Failed
from structs import Struct, enums, inner, structs
from tables import generated, table

COLUMNS = Path(__file__).with_name("columns.toml")
SOURCES = sorted((ROOT / "crates/base/measure/src").rglob("*.rs")) + sorted((ROOT / "crates/answer/report/src").glob("*.rs"))

ENUMS = enums(SOURCES)

# Files, and the structs of which they consist.
FILES = {
    "manifest.toml": "Manifest", "summary.json": "Point", "replicas.json": "Replica", "comparison.json": "Comparison",
    "series.csv": "SeriesRow",
}  # fmt: skip
ABOUT = {
    "manifest.toml": "What was run, enough to repeat it.",
    "summary.json": "A list with one entry for each point of a sweep.",
    "replicas.json": "A list with one list of replicas for each point.",
    "comparison.json": "What `compare` writes beside the folders of its runs.",
    "series.csv": "Queues, utilisation and open transfers over time, under `measure.series_interval`.",
}

# The object that `simulate --json`, `predict --json`, `rehearse --json` and `compare --json` print.
PRINTED = {
    "runs": "The runs, the reference first.",
    "runs[].label": "What the run is called in tables.",
    "runs[].engine": "`simulate`, `predict` or `rehearse`.",
    "runs[].policy": "The policy's name.",
    "runs[].tcp": "Which TCP ran.",
    "runs[].timing": "How late packets left; null unless it is a rehearsal. [Timing](#timing)",
    "runs[].replicas": "The numbers of the replicas of each point.",
    "runs[].points": "The points. [Point](#point)",
    "ranking": "The ranking, the best policy first; null for one run and for several engines. [RankedRun](#rankedrun)",
    "gains": "The comparisons of each run with its reference; null for one run. [PointGains](#pointgains)",
    "engines": "For several engines: `same_order`, `rankings` and `prediction_errors`; else null.",
    "engines.same_order": "Whether no two policies are clearly in opposite orders; null if that is unknown.",
    "engines.rankings": "The ranking of each engine: `engine` and `ranking`.",
    "engines.prediction_errors": "Predicted figures beside measured ones. [PredictionError](#predictionerror)",
    "engines.foretold": "Deprecated: the former name of `engines.prediction_errors`.",
    "warnings": "All warnings. [ScopedWarning](#scopedwarning)",
    "report": "The path of the report; null without one.",
    "programs": "The programs of `rehearse --with` and how they ended; absent without them.",
    "interrupted": "Whether Ctrl-C ended the run.",
    "trace": "The path of the packet trace; null without one.",
}


def page() -> str:
    """The whole page."""
    known = structs(SOURCES)
    lines = generated("Files of results", "All columns and keys of the files that runs write.")
    lines += ["Times are in seconds, sizes in bytes, rates in bit/s, shares from 0 to 1. A measure that no replica has is null or",
              "absent. [Reading results](../reading-results.md) explains the measures.", ""]  # fmt: skip
    lines += ["## CSV files", ""]
    for about, rows in columns():
        lines += [f"### `{about['file']}`", "", about["about"], "", *table(["column", "meaning"], rows), ""]
    lines += ["## JSON and TOML files", ""]
    lines += ["`--json` prints one object:", "", *table(["key", "meaning"], [[f"`{k}`", v] for k, v in PRINTED.items()]), ""]
    lines += [*table(["file", "content"], [[f"`{name}`", f"{ABOUT[name]} {link(kind, known)}"] for name, kind in FILES.items()]), ""]
    lines += ["`histograms.json` has completion times by size class: `cells` are pairs of the end of a cell in microseconds and the",
              "number of completion times in it.", ""]  # fmt: skip
    for struct in reachable(known):
        lines += [f"### {struct.name}", "", struct.about, "", *table(["key", "value", "meaning"], keys(struct, known)), ""]
    return "\n".join(lines).rstrip() + "\n"


def undocumented(known: dict[str, Struct], value: object, kind: str, place: str) -> list[str]:
    """The keys of a value that the page does not have."""
    kind = re.sub(r"^(?:Option|Box|Arc)<(.*)>$", r"\1", kind.strip())
    if kind.startswith("Vec<"):
        return [each for item in value or [] for each in undocumented(known, item, kind[4:-1], place)]
    if kind not in known or not isinstance(value, dict):
        return []
    fields = {field.name: field.kind for field in known[kind].fields}
    for field in known[kind].fields:
        if field.flat:
            fields |= {key.name: key.kind for name in inner(field.kind) if name in known for key in known[name].fields}
    unknown = [f"{place}.{key} ({kind})" for key in value if key not in fields]
    return unknown + [each for key, part in value.items() if key in fields
                      for each in undocumented(known, part, fields[key], f"{place}.{key}")]  # fmt: skip


def check_run(shortflow: Path) -> None:
    """Runs a small comparison; fails if its files or its output have a key that the page does not have."""
    known = structs(SOURCES)
    with tempfile.TemporaryDirectory() as home:
        ended = subprocess.run(
            [shortflow, "--quiet", "compare", "crates/cli/tests/it/small.toml", "--json", "--replicas", "2", "--out", home, "--force",
             "--policies", "policies/best-effort.toml,policies/fair-marker.toml"], cwd=ROOT, capture_output=True, text=True)  # fmt: skip
        if ended.returncode != 0:
            raise Failed(f"a small comparison failed: {ended.stderr}")
        printed = json.loads(ended.stdout)
        folder = Path(home) / "1-best-effort"
        found = [("summary.json", "Vec<Point>"), ("replicas.json", "Vec<Vec<Replica>>"), ("../comparison.json", "Comparison")]
        unknown = [each for name, kind in found
                   for each in undocumented(known, json.loads((folder / name).read_text()), kind, name)]  # fmt: skip
        unknown += undocumented(known, tomllib.loads((folder / "manifest.toml").read_text()), "Manifest", "manifest.toml")
    unknown += [f"--json: {key}" for key in printed if key not in PRINTED]
    unknown += [f"--json: runs[].{key}" for run in printed["runs"] for key in run if f"runs[].{key}" not in PRINTED]
    unknown += undocumented(known, printed["ranking"], "Vec<RankedRun>", "ranking")
    if unknown:
        raise Failed(f"docs/reference/results.md lacks {', '.join(dict.fromkeys(unknown))}")


def columns():
    """Each CSV file with its columns and their meaning."""
    for name, about in tomllib.loads(COLUMNS.read_text()).items():
        text = (ROOT / about["source"]).read_text()
        meanings = {key: value for key, value in about.items() if key not in ("file", "about", "source")}
        rows = []
        for column in columns_in(text):
            key = f"{column}_column" if f"{column}_column" in meanings else column
            if key not in meanings:
                raise Failed(f"bench/docs/columns.toml, [{name}], lacks `{column}`, which {about['source']} writes")
            rows.append([f"`{column}`", meanings.pop(key)])
        if meanings:
            raise Failed(f"bench/docs/columns.toml, [{name}], has columns that {about['source']} does not write: {', '.join(meanings)}")
        yield about, rows


def columns_in(source: str) -> list[str]:
    """The columns that a source file lists."""
    listed = re.search(r"(?:COLUMNS: \[&(?:'static )?str; \d+\]|let columns) = \[(.*?)\];", source, re.S)
    if listed:
        return re.findall(r'"(\w+)"', listed[1])
    joined = re.search(r'ACCESS_COLUMNS: &str = "([^"]+)"', source)
    if not joined:
        raise Failed("a source file of bench/docs/columns.toml lists no columns")
    return joined[1].split(",")


def reachable(known: dict[str, Struct]) -> list[Struct]:
    """The structs of all files, in the order in which they are mentioned."""
    wanted = list(dict.fromkeys([*FILES.values(), "PointGains", "ScopedWarning", *mentioned()]))
    found: dict[str, Struct] = {}
    while wanted:
        name = wanted.pop(0)
        if name in known and name not in found:
            found[name] = known[name]
            wanted += [each for field in known[name].fields for each in inner(field.kind)]
    return list(found.values())


def mentioned() -> list[str]:
    """The structs to which the printed object links."""
    return re.findall(r"\[(\w+)\]\(#", " ".join(PRINTED.values()))


def keys(struct: Struct, known: dict[str, Struct]) -> list[list[str]]:
    """The keys of a struct."""
    rows = []
    for field in struct.fields:
        if not field.about:  # then readers of the page would not know it
            raise Failed(f"the field `{field.name}` of `{struct.name}` has no documentation")
        if field.flat:
            rows += [[f"`{key.name}`", value_of(key.kind, known), key.about]
                     for name in inner(field.kind) if name in known for key in known[name].fields]  # fmt: skip
            continue
        about = field.about + (" May be absent." if field.optional and "absent" not in field.about else "")
        rows.append([f"`{field.name}`", value_of(field.kind, known), about])
    return rows


WORDS = {"String": "text", "bool": "`true` or `false`", "f64": "number", "f32": "number", "PathBuf": "path"}


def value_of(kind: str, known: dict[str, Struct]) -> str:
    """The value of a type in words."""
    kind = kind.strip()
    for wrapper, words in (("Option", "{}"), ("Vec", "list of {}"), ("Box", "{}"), ("Arc", "{}"), ("Cow", "{}")):
        if kind.startswith(f"{wrapper}<"):
            return words.format(value_of(kind[len(wrapper) + 1 : -1].replace("'static, ", ""), known))
    if kind.startswith(("BTreeMap<", "HashMap<")):
        return f"table of {value_of(kind.split(', ', 1)[1][:-1], known)} by name"
    if kind.startswith("["):
        return f"list of {value_of(re.split('[;]', kind[1:-1])[0], known)}"
    if kind in WORDS:
        return WORDS[kind]
    if re.fullmatch(r"[ui](8|16|32|64|size)", kind):
        return "whole number"
    return link(kind, known)


def link(kind: str, known: dict[str, Struct]) -> str:
    name = re.sub(r".*::|<.*", "", kind)
    return f"[{name}](#{name.lower()})" if name in known else ENUMS.get(name, f"`{name}`")

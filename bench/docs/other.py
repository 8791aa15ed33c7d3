"""docs/reference/fleet-keys.md and exit-codes.md."""

import re
import subprocess
from pathlib import Path

from paths import ROOT, Failed
from structs import structs
from tables import generated, table

FLEET = ROOT / "crates/fleet/agent/src/fleet/file.rs"

# The tables of a fleet, by the struct that reads them.
TABLES = {
    "FleetFile": "`fleet.toml`", "MachineFile": "`[machines.NAME]`", "InterfaceFile": "`[machines.NAME.interfaces.NAME]`",
    "TcpFile": "`[machines.NAME.interfaces.NAME.tcp]`",
    "AssignFile": "`[[assign]]`", "RolloutFile": "`[rollout]`",
}  # fmt: skip

CODES = {
    0: "done",
    1: "a check, a claim or a limit does not hold; a point of a sweep or a program of `--with` failed; `status` found a problem",
    2: "the input is wrong",
    3: "the machine lacks something: a tool, memory, disk space, or the speed that a rehearsal needs",
    130: "interrupted; complete results are kept",
}


def fleet_page() -> str:
    """All keys of a fleet, from the structs that read it."""
    known = structs([FLEET])
    if set(known) != set(TABLES):
        raise Failed(f"{FLEET.relative_to(ROOT)} has other tables than bench/docs/other.py: {', '.join(set(known) ^ set(TABLES))}")
    lines = generated("Keys of a fleet", "All keys of `fleet.toml`.")
    lines += ["[Agents](../agent.md) explains them with examples.", ""]
    for name, title in TABLES.items():
        rows = [[f"`{field.name}`", kind_of(field.kind), field.about + ("" if field.optional else " Required.")]
                for field in known[name].fields]  # fmt: skip
        lines += [f"## {title}", "", known[name].about, "", *table(["key", "value", "meaning"], rows), ""]
    return "\n".join(lines).rstrip() + "\n"


def kind_of(kind: str) -> str:
    """The value of a key in words."""
    kind = kind.removeprefix("Option<").removesuffix(">") if kind.startswith("Option<") else kind
    words = {"String": "text", "bool": "`true` or `false`", "i64": "whole number", "Duration": "duration, such as `\"30 min\"`",
             "Rate": "rate, such as `\"95 Mbit/s\"`", "LinkLayer": "link layer, such as `\"docsis\"`", "Vec<String>": "list of texts",
             "u16": "port number", "u32": "whole number", "PathBuf": "path",
             "GrowthFile": "`\"reno\"`, `\"aggregate-fair\"`, `\"constant-rate\"` or `\"increase-by-k\"`",
             "Named<Scalar>": "table of values by name", "Named<String>": "table of texts by name"}  # fmt: skip
    if kind in words:
        return words[kind]
    name = re.findall(r"\w+File", kind)
    if not name:
        raise Failed(f"{FLEET.relative_to(ROOT)}: bench/docs/other.py has no words for the type {kind}")
    return f"table: {TABLES[name[0]]}"


def exit_page(shortflow: Path) -> str:
    """All exit codes; the help text names the same."""
    text = subprocess.run([shortflow, "--help"], capture_output=True, text=True).stdout
    sentence = text.partition("Exit codes:")[2].partition("\n\n")[0]
    named = {int(code) for code in re.findall(r"(?:^|[;:] )\s*(\d+) ", " ".join(sentence.split()))}
    failure = (ROOT / "crates/cli/src/failure.rs").read_text()
    coded = {int(code) for code in re.findall(r"=> (\d+),", failure)} | {int(re.search(r"INTERRUPTED: u8 = (\d+)", failure)[1])}
    for where, found in (("shortflow --help", named), ("crates/cli/src/failure.rs", coded)):
        if found != set(CODES):
            raise Failed(f"{where} has the exit codes {sorted(found)}, bench/docs/other.py {sorted(CODES)}")
    lines = generated("Exit codes", "All exit codes of `shortflow`.")
    return "\n".join([*lines, *table(["code", "meaning"], [[str(code), text] for code, text in CODES.items()])]) + "\n"

"""Runs `shortflow advise` for five kinds of network and writes the results into docs/choosing.md.

It also runs with half and twice the assumed values. Results of the same binary are cached.

Exit codes: 0 done; 2 `advise` failed for a network.
"""

import argparse
import hashlib
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "choosing.md"
KEPT = ROOT / "target" / "advice"
BEGIN, END = "<!-- begin: advice -->\n", "<!-- end: advice -->\n"

# What each network is, what is asked, and what one learns from the answer.
NETWORKS = [
    ("A home on DSL",
     ["--up", "10 Mbit/s", "--down", "50 Mbit/s", "--users", "4", "--uses", "web,voice,streaming,backup",
      "--link", "pppoe"],
     "A backup fills the modem, and everything else waits behind it for more than a second. Any policy that keeps the queue "
     "at the gateway mends that."),
    ("An office on cable",
     ["--up", "20 Mbit/s", "--down", "100 Mbit/s", "--users", "50", "--uses", "web,voice,meetings,backup",
      "--link", "cable"],
     "Meetings take 6 of the 19 Mbit/s that go out; what is left, the backups fill."),
    ("A hoster's rack",
     ["--up", "200 Mbit/s", "--down", "200 Mbit/s", "--users", "40", "--uses", "web,shell,backup,downloads",
      "--link", "ethernet"],
     "Its servers are the users here: what they fetch and what they copy away. For many sites behind one uplink that others "
     "read from, begin with [hoster-uplink](../scenarios/hoster-uplink.toml)."),
    ("A lab course",
     ["--up", "50 Mbit/s", "--down", "50 Mbit/s", "--users", "60", "--uses", "web,shell,streaming,downloads",
      "--link", "fibre"],
     "Sixty people, films among them: the line is full, and what matters is who waits."),
    ("A ship on a satellite",
     ["--up", "2 Mbit/s", "--down", "10 Mbit/s", "--users", "25", "--uses", "web,voice,shell", "--link", "satellite"],
     "Half a second of round trip lets slow start fill the provider's buffer before the gateway's queue is noticed: what comes "
     "in waits where nobody can help it. Calls come before pages here: the slowest pages pay, as the line *Cost* says."),
]


# What is changed, and how: as a flag's value before becomes one after.
CHANGES = [
    ("as assumed", lambda arguments: arguments),
    ("half the users", lambda arguments: scaled(arguments, 0.5, "--users")),
    ("twice the users", lambda arguments: scaled(arguments, 2, "--users")),
    ("sizes halved", lambda arguments: [*arguments, "--sizes", "0.5"]),
    ("sizes doubled", lambda arguments: [*arguments, "--sizes", "2"]),
    ("half the load", lambda arguments: scaled(arguments, 2, "--up", "--down")),
    ("twice the load", lambda arguments: scaled(arguments, 0.5, "--up", "--down")),
]


def scaled(arguments: list[str], factor: float, *flags: str) -> list[str]:
    """The arguments with the values of these flags multiplied; values without a unit are counts and stay whole."""
    result = list(arguments)
    for flag in flags:
        at = result.index(flag) + 1
        number, *unit = result[at].split(" ")
        value = float(number) * factor
        result[at] = " ".join([f"{value if unit else math.ceil(value):g}", *unit])
    return result


def advise(binary: Path, arguments: list[str]) -> tuple[str, dict]:
    """The text and the JSON of the advice for a network; cached."""
    key = hashlib.sha256(binary.read_bytes() + "\0".join(arguments).encode()).hexdigest()
    kept = KEPT / f"{key}.json"
    if kept.is_file():
        told, found = json.loads(kept.read_text())
        return told, found
    with tempfile.TemporaryDirectory() as folder:
        ended = subprocess.run([binary, "advise", *arguments, "--out", f"{folder}/out", "--quiet"],
                               capture_output=True, text=True, cwd=ROOT)  # fmt: skip
        if ended.returncode != 0:
            raise RuntimeError(ended.stderr.strip())
        found = json.loads((Path(folder) / "out" / "tune.json").read_text())
        told = ended.stdout.replace(f"{folder}/out", "results/advice").rstrip()
    KEPT.mkdir(parents=True, exist_ok=True)
    half = kept.with_suffix(".part")
    half.write_text(json.dumps([told, found]))
    half.rename(kept)
    return told, found


def in_short(found: dict) -> str:
    """The advised policy, with a star if it does not keep the limits of calls and similar traffic."""
    return (found["policy"] or "as it is") + ("" if found["keeps_limits"] else " *")


def main() -> int:
    """Runs the command; gives its exit code."""
    parser = argparse.ArgumentParser(prog="advice", description=__doc__)
    parser.add_argument("--shortflow", type=Path, default=ROOT / "target" / "release" / "shortflow")
    binary = parser.parse_args().shortflow.resolve()
    parts, rows = [], []
    for title, arguments, lesson in NETWORKS:
        row = []
        for what, change in CHANGES:
            try:
                told, found = advise(binary, change(arguments))
            except RuntimeError as failed:
                print(f"error: {title}, {what}: {failed}", file=sys.stderr)
                return 2
            row.append(in_short(found))
            print(f"{title}, {what}: {row[-1]}", file=sys.stderr)
            if change(arguments) == arguments:
                words = " ".join(f"'{word}'" if " " in word else word for word in arguments)
                parts.append(f"## {title}\n\n{lesson}\n\n```sh\nshortflow advise {words}\n```\n\n```text\n{told}\n```\n\n")
        rows.append(f"| {title} | {' | '.join(row)} |\n")
    heads = " | ".join(what for what, _ in CHANGES)
    table = f"""## How the advice depends on the assumptions

Each column halves or doubles one assumption, and searches again. *Load* changes by a line of twice or half the rate. An asterisk means that
no policy keeps the limits of calls, meetings and games. Where two policies are about as good, a difference between columns may be
chance.

| | {heads} |
|---|{"---|" * len(CHANGES)}
{"".join(rows)}
"""
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + table + "".join(parts) + END + rest.partition(END)[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Stands in for a program that the documentation calls, under the program's name.

`shortflow` runs commands that take moments, shortens simulations, and has the parser read all other commands: with
`--help` at the end, an unknown option or a bad value is an error. Other programs do nothing; `sudo` passes its command on.
"""

import os
import subprocess
import sys
from pathlib import Path

# Commands that take moments and need neither rights nor a network; with their first argument, if it matters.
RUN = {"check", "predict", "init", "explain", "schema", "completions", "man", "report", "agent plan", "agent export", "plans predict", "plans scenario"}
SHORTENED = {"simulate", "compare"}
SHORT = {"duration": "9 s", "warm_up": "1 s", "drain": "0 s"}


def main() -> int:
    """Runs the stand-in; gives its exit code."""
    name, arguments = Path(sys.argv[1]).name, sys.argv[2:]
    if name == "sudo":
        return subprocess.run(arguments, env=os.environ | {"DOCS_SUDO": "1"}).returncode
    if name == "make":
        return make(arguments)
    return shortflow(arguments) if name == "shortflow" else 0


def make(arguments: list[str]) -> int:
    """Whether the Makefile has the targets."""
    targets = [word for word in arguments if "=" not in word and not word.startswith("-")]
    known = {line.split(":")[0] for line in Path(os.environ["DOCS_MAKEFILE"]).read_text().splitlines() if ":" in line}
    missing = [target for target in targets if target not in known]
    if missing:
        print(f"make has no target {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


def shortflow(arguments: list[str]) -> int:
    binary = os.environ["DOCS_SHORTFLOW"]
    command = " ".join(word for word in arguments[:2] if word.isalpha()) if arguments[:1] in (["agent"], ["plans"]) else (arguments or [""])[0]
    quiet = subprocess.DEVNULL
    if "DOCS_SUDO" not in os.environ:
        if command in SHORTENED and is_short(arguments):
            return subprocess.run([binary, "--quiet", *shortened(arguments)], stdout=quiet).returncode
        if (command in RUN or "--dry-run" in arguments or arguments == ["--version"]) and not any(word[0] == "/" for word in arguments):
            code = subprocess.run([binary, *arguments]).returncode
            # A kernel may lack a queue: then the command line was right.
            return 0 if code == 3 else code
    return subprocess.run([binary, *arguments, "--help"], stdout=quiet, stdin=quiet).returncode


def is_short(arguments: list[str]) -> bool:
    """Whether a simulation may run: those of the studies need longer runs than there is time for."""
    return "--engines" not in arguments and not any(word.startswith("papers/") for word in arguments)


def shortened(arguments: list[str]) -> list[str]:
    """The same command over a few seconds of one replica, or of one for each shard."""
    kept, words, replicas = [], iter(arguments), "1"
    for word in words:
        if word == "--shard":
            shard = next(words)
            kept, replicas = [*kept, word, shard], shard.partition("/")[2]
            continue
        if word == "--replicas":
            next(words)
        elif word == "--set":
            setting = next(words)
            kept += [] if setting.partition("=")[0] in SHORT else [word, setting]
        elif word not in ("--no-transfers", "--force"):
            kept.append(word)
    settings = [part for key, value in SHORT.items() for part in ("--set", f"{key}={value}")]
    return [*kept, "--replicas", replicas, "--jobs", "1", "--no-transfers", "--force", *settings]


if __name__ == "__main__":
    sys.exit(main())

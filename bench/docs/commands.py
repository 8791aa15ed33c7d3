"""docs/reference/commands.md: every command and option, from the help texts, which come from the parser."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from paths import Failed
from tables import generated, table

# Options that every command has.
COMMON = ("--quiet", "--color", "--help", "--version")


@dataclass
class Entry:
    """An argument, an option or a command, with its description."""

    name: str
    text: str

    @property
    def long(self) -> str:
        """The long option, as in `--quiet`."""
        found = re.search(r"--[a-z-]+", self.name)
        return found.group() if found else self.name


@dataclass
class Help:
    """The help text of a command, in parts."""

    words: tuple[str, ...]
    about: str
    usage: str
    sections: dict[str, list[Entry]] = field(default_factory=dict)
    after: dict[str, str] = field(default_factory=dict)


def page(shortflow: Path) -> str:
    """The whole page."""
    all_help = list(walk(shortflow, ()))
    root = all_help[0]
    common = [entry for entry in root.sections["Options"] if entry.long in COMMON]
    lines = generated("Commands", "All commands with their arguments and options, from the program's help texts.")
    lines += ["Every command has these options:", "", *rows("option", common), ""]
    lines += ["| command | what it does |", "|---|---|"]
    lines += [f"| [`{' '.join(each.words)}`](#{'-'.join(each.words)}) | {first_sentence(each.about)} |" for each in all_help[1:]]
    for each in all_help[1:]:
        lines += ["", *section(each)]
    return "\n".join(lines) + "\n"


def walk(shortflow: Path, words: tuple[str, ...]):
    """The help texts of a command and of all below it."""
    found = parse(("shortflow", *words), help_text(shortflow, words))
    yield found
    for entry in found.sections.get("Commands", []):
        if entry.name != "help":
            yield from walk(shortflow, (*words, entry.name))


def help_text(shortflow: Path, words: tuple[str, ...]) -> str:
    ended = subprocess.run(["shortflow", *words, "--help"], executable=shortflow, capture_output=True, text=True)
    if ended.returncode != 0:
        raise Failed(f"`shortflow {' '.join(words)} --help` failed: {ended.stderr}")
    return ended.stdout


def parse(words: tuple[str, ...], text: str) -> Help:
    """A help text in its parts."""
    about, _, rest = text.partition("\nUsage: ")
    usage, _, rest = rest.partition("\n\n")
    found = Help(words, about.strip(), "\n".join(line.strip() for line in usage.splitlines()))
    for part in re.split(r"\n(?=[A-Z][A-Za-z ]*:\s)", "\n" + rest):
        title, _, body = part.strip("\n").partition(":")
        if title in ("Arguments", "Options", "Commands"):
            found.sections[title] = list(entries(body))
        elif body:
            found.after[title] = body
    return found


def entries(body: str):
    """The entries of a section: a name with little indent, then its description with more."""
    name, lines = None, []
    for line in body.splitlines():
        if re.match(r" {2,6}\S", line):
            if name:
                yield Entry(name, described(lines))
            name, _, first = line.strip().partition("  ")
            lines = [first.strip()]
        elif name:
            lines.append(line[10:] if line.startswith(" " * 10) else line.strip())
    if name:
        yield Entry(name, described(lines))


def described(lines: list[str]) -> str:
    """A description in one line; possible values follow it."""
    text = " ".join(line.strip() for line in lines if line.strip())
    text = re.sub(r"\s*\[default: (.*?)\]", r". Default: `\1`", text, count=1)
    text = re.sub(r"\s*\[possible values: (.*?)\]", lambda m: ". Values: " + ", ".join(f"`{v}`" for v in m[1].split(", ")), text)
    text = re.sub(r"\s*Possible values: - ", ". Values: ", text)
    text = re.sub(r" - (\w[\w-]*): +", r"; \1: ", text)
    # Where a sentence ended before what follows it, there are two full stops; a range keeps its dots.
    return re.sub(r"\.\.(?=\s|$)", ".", text).replace(":. ", ": ")


def section(found: Help) -> list[str]:
    """The section of a command."""
    lines = [f"## `{' '.join(found.words)}`", "", paragraphs(found.about), "", "```text", found.usage, "```"]
    if found.sections.get("Arguments"):
        lines += ["", *rows("argument", found.sections["Arguments"])]
    own = [entry for entry in found.sections.get("Options", []) if entry.long not in COMMON]
    if own:
        lines += ["", *rows("option", own)]
    for title, body in found.after.items():
        lines += ["", f"{title}:", "", "```text", outdented(body), "```"]
    return lines


def rows(what: str, found: list[Entry]) -> list[str]:
    return table([what, "meaning"], [[f"`{entry.name}`", entry.text.replace("<", "\\<")] for entry in found])


def paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()).rstrip(".").replace("<", "\\<") + "." for part in text.split("\n\n"))


def first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def outdented(body: str) -> str:
    lines = [line for line in body.strip("\n").splitlines()]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:].rstrip() for line in lines)

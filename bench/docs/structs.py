"""Structs of Rust that are read from, or written to, files: their fields with types and documentation."""

import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Field:
    """A field, by the name that it has in files."""

    name: str
    kind: str
    about: str
    optional: bool
    flat: bool


@dataclass(frozen=True)
class Struct:
    """A struct with its documentation and fields."""

    name: str
    about: str
    fields: tuple[Field, ...] = field(default=())


STRUCT = re.compile(r"((?:^[ \t]*///[^\n]*\n|^[ \t]*#\[[^\n]*\]\n)*)^(?:pub(?:\(\w+\))? )?struct (\w+)(?:<[^>{]*>)? \{\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"((?:[ \t]*///.*\n|[ \t]*#\[.*\]\n)*)[ \t]+(?:pub(?:\([\w ]+\))? )?(\w+): ([^\n]+),\n")


def structs(paths: list[Path]) -> dict[str, Struct]:
    """All structs of some files."""
    found = {}
    for path in paths:
        for head, name, body in STRUCT.findall(path.read_text()):
            found[name] = Struct(name, documentation(head), tuple(fields(body)))
    return found


ENUM = re.compile(r"((?:^[ \t]*///[^\n]*\n|^[ \t]*#\[[^\n]*\]\n)*)^(?:pub(?:\(\w+\))? )?enum (\w+) \{\n(.*?)^\}", re.M | re.S)


def enums(paths: list[Path]) -> dict[str, str]:
    """The values of all enums of some files, in words: their names, or what they are."""
    found = {}
    for path in paths:
        for head, name, body in ENUM.findall(path.read_text()):
            variants = re.findall(r"^    (\w+)(.*)$", re.sub(r"^\s*(///|#\[).*\n", "", body, flags=re.M), re.M)
            style = re.search(r'rename_all = "([\w-]+)"', head)
            if style and all(rest.strip() == "," for _, rest in variants):
                found[name] = " or ".join(f"`{renamed(variant, style[1])}`" for variant, _ in variants)
            else:
                found[name] = documentation(head).partition(". ")[0].rstrip(".").lower()
    return found


def renamed(variant: str, style: str) -> str:
    """The name of a variant in files."""
    if style == "lowercase":
        return variant.lower()
    joint = {"kebab-case": "-", "snake_case": "_"}[style]
    return re.sub(r"(?<!^)(?=[A-Z])", joint, variant).lower()


def fields(body: str):
    for head, name, kind in FIELD.findall(body):
        attributes = " ".join(re.findall(r"#\[serde\((.*)\)\]", head))
        if re.search(r"\bskip\b(?!_)", attributes):
            continue
        renamed = re.search(r'rename = "([^"]+)"', attributes)
        optional = kind.startswith("Option<") or "default" in attributes
        yield Field(renamed[1] if renamed else name, kind, documentation(head), optional, "flatten" in attributes)


def documentation(head: str) -> str:
    """The text of `///` lines, without links to items of Rust, which lead nowhere outside rustdoc."""
    text = " ".join(line.strip()[3:].strip() for line in head.splitlines() if line.strip().startswith("///"))
    return re.sub(r"\[(`[^`]*`)\]\((?:crate|Self|super)::[^)]*\)", r"\1", text)


def inner(kind: str) -> list[str]:
    """The types that a type mentions."""
    return re.findall(r"[A-Z]\w+", kind)

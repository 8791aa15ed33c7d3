"""The cases in TOML, and their variants."""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PEERS = ("ns2", "ns3", "theory")

# A table for each variant and peer; all in one table; a line for each variant, sizes side by side.
LAYOUTS = ("tables", "one table", "matrix")


class BadCase(Exception):
    """A case file is invalid; the text says which and why."""


@dataclass(frozen=True)
class Figure:
    """A figure to compare: its title and its names on each side."""

    title: str
    ours: str
    theirs: Mapping[str, str]  # by peer
    counts: bool = False  # of rare events: none at all may be seen


@dataclass(frozen=True)
class Note:
    """Why figures are outside, and which ones: all given conditions must match."""

    cause: str
    figures: tuple[str, ...] = ()  # titles; none for all
    cases: tuple[str, ...] = ()  # names; none for all
    peer: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)  # variables and their values
    traced: bool = True  # false: what is known, but not all of the cause


@dataclass(frozen=True)
class Variant:
    """One setting of a case: what to run on each side."""

    values: Mapping[str, str]  # the variables, as shown
    ours: Mapping[str, Any]  # scenario, policy, set
    peers: Mapping[str, Mapping[str, Any]]  # by peer: program, options
    seeds: int

    @property
    def title(self) -> str:
        """The variables as shown on the page."""
        return ", ".join(self.values.values())


@dataclass(frozen=True)
class Case:
    """A comparison, in all its variants."""

    name: str
    shows: str
    figures: tuple[Figure, ...]
    variants: tuple[Variant, ...]
    layout: str = "tables"


@dataclass(frozen=True)
class Chapter:
    """One file of cases: a chapter of the page."""

    title: str
    about: str
    cases: tuple[Case, ...]
    notes: tuple[Note, ...]


def read_chapter(path: Path) -> Chapter:
    """The chapter in the file at `path`."""
    try:
        text = tomllib.loads(path.read_text())
        return chapter(text)
    except (tomllib.TOMLDecodeError, BadCase) as error:
        raise BadCase(f"{path.name}: {error}") from error


def chapter(text: Mapping[str, Any]) -> Chapter:
    """The chapter written as `text`."""
    refuse_unknown(text, {"title", "about", "defaults", "figures", "case", "note"}, "the chapter")
    defaults = text.get("defaults", {})
    figures = [figure(title, names) for title, names in text.get("figures", {}).items()]
    cases = tuple(case(merge(defaults, entry), figures) for entry in text.get("case", []))
    notes = tuple(note(entry, cases, figures) for entry in text.get("note", []))
    return Chapter(need(text, "title", "the chapter"), text.get("about", ""), cases, notes)


def case(text: Mapping[str, Any], figures: list[Figure]) -> Case:
    name = need(text, "name", "a case")
    known = {"name", "shows", "seeds", "ours", "vary", "compare", "layout", *PEERS}
    refuse_unknown(text, known, f"case `{name}`")
    by_title = {figure.title: figure for figure in figures}
    try:
        compared = tuple(by_title[title] for title in text.get("compare", by_title))
    except KeyError as unknown:
        raise BadCase(f"case `{name}` compares {unknown}, which [figures] lacks") from None
    variants = tuple(variants_of(text, name))
    layout = text.get("layout", "tables")
    if layout not in LAYOUTS:
        raise BadCase(f"case `{name}` has the layout `{layout}`; known: {', '.join(LAYOUTS)}")
    return Case(name, text.get("shows", ""), compared, variants, layout)


def variants_of(text: Mapping[str, Any], name: str) -> Iterator[Variant]:
    """All combinations of the values in `vary`."""
    variables = text.get("vary", {})
    for combination in itertools.product(*variables.values()):
        values = dict(zip(variables, combination))
        filled = fill({key: text.get(key, {}) for key in ("ours", *PEERS)}, values, name)
        peers = {peer: filled[peer] for peer in PEERS if filled[peer]}
        if not peers:
            raise BadCase(f"case `{name}` has no peer; give one of {', '.join(PEERS)}")
        need(filled["ours"], "scenario", f"`ours` of case `{name}`")
        for peer, setup in peers.items():
            need(setup, "run", f"`{peer}` of case `{name}`")
        shown = {variable: shown_value(value) for variable, value in values.items()}
        yield Variant(shown, filled["ours"], peers, need(text, "seeds", f"case `{name}`"))


def fill(text: Any, values: Mapping[str, Any], case_name: str) -> Any:
    """`text` with each `{variable}` and `{variable.field}` replaced by its value.

    If the text is only a placeholder, it becomes the value itself, so a number stays a number.
    """
    if isinstance(text, Mapping):
        return {
            str(fill(key, values, case_name)): fill(value, values, case_name)
            for key, value in text.items()
        }
    if isinstance(text, list):
        return [fill(value, values, case_name) for value in text]
    if not isinstance(text, str):
        return text

    def value_of(match: re.Match[str]) -> Any:
        variable, part = match.groups()
        try:
            return values[variable][part] if part else values[variable]
        except (KeyError, TypeError):
            raise BadCase(f"case `{case_name}`: `vary` lacks {match.group()}") from None

    if whole := PLACEHOLDER.fullmatch(text):
        return value_of(whole)
    return PLACEHOLDER.sub(lambda match: str(value_of(match)), text)


PLACEHOLDER = re.compile(r"\{(\w+)(?:\.(\w+))?\}")


def shown_value(value: Any) -> str:
    return str(value["name"]) if isinstance(value, Mapping) else str(value)


def figure(title: str, names: Mapping[str, Any]) -> Figure:
    refuse_unknown(names, {"ours", "theirs", "counts", *PEERS}, f"figure `{title}`")
    theirs = {peer: names.get(peer, names.get("theirs")) for peer in PEERS}
    named = {peer: name for peer, name in theirs.items() if name}
    ours = need(names, "ours", f"figure `{title}`")
    return Figure(title, ours, named, names.get("counts", False))


def note(text: Mapping[str, Any], cases: tuple[Case, ...], figures: list[Figure]) -> Note:
    refuse_unknown(text, {"cause", "figures", "cases", "peer", "where", "traced"}, "a note")
    names = {case.name for case in cases}
    titles = {figure.title for figure in figures}
    for key, known in (("cases", names), ("figures", titles)):
        if unknown := set(text.get(key, [])) - known:
            raise BadCase(f"a note is about {key} that are not there: {sorted(unknown)}")
    where = {name: [str(v) for v in listed(value)] for name, value in text.get("where", {}).items()}
    titles_noted, cases_noted = tuple(text.get("figures", [])), tuple(text.get("cases", []))
    return Note(need(text, "cause", "a note"), titles_noted, cases_noted, text.get("peer"), where,
                text.get("traced", True))  # fmt: skip


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the entries of `over`, nested tables likewise; `vary` is replaced as a whole."""
    merged = dict(base)
    for key, value in over.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both and key != "vary" else value
    return merged


def need(text: Mapping[str, Any], key: str, whose: str) -> Any:
    if key not in text:
        raise BadCase(f"{whose} lacks `{key}`")
    return text[key]


def refuse_unknown(text: Mapping[str, Any], known: set[str], whose: str) -> None:
    if unknown := set(text) - known:
        raise BadCase(f"{whose} has unknown keys {sorted(unknown)}; known: {sorted(known)}")

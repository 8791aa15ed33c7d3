"""Data files of a scenario, such as logs that it replays: results depend on their content."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from ._design import POLICY
from ._text import Scenario


def tables_of(scenario: Scenario) -> dict[str, Any]:
    """Its tables and keys; empty if its text has mistakes, which the engine reports with their place."""
    try:
        return tomllib.loads(scenario.to_toml())
    except tomllib.TOMLDecodeError:
        return {}


def data_files(scenario: Scenario, settings: Iterable[tuple[str, Any]], with_policy: bool) -> dict[str, str]:
    """The digests of all files that a scenario or its settings name, relative to the folder of the scenario.

    ``with_policy`` says whether its own policy runs, which is such a file too.
    """
    folder = os.path.dirname(scenario.file)
    content = {key: value for key, value in tables_of(scenario).items() if key != POLICY or with_policy}
    names = {*_texts(content), *_texts([_parsed(value) for key, value in settings if key != POLICY])}
    found = {}
    for name in sorted(names):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _parsed(value: Any) -> Any:
    """A setting, which may be written as in TOML."""
    try:
        return tomllib.loads(f"value = {value}")["value"] if isinstance(value, str) else value
    except tomllib.TOMLDecodeError:
        return value


def _texts(value: Any) -> Iterator[str]:
    """All texts in nested tables and lists that can be paths."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)

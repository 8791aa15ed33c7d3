"""Checks of arguments: each returns the value in its plain form, or raises an error with the name of the argument."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any

from ._errors import InputError

MAX_JOBS = 65535
MAX_REPLICA = 2**32 - 1


def whole(name: str, value: Any, least: int, most: int = 2**63 - 1) -> int:
    """A whole number, also one of NumPy."""
    try:
        found = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        found = None
    if found is None or not least <= found <= most:
        upper = "" if most == 2**63 - 1 else f" to {most}"
        raise InputError(f"{name} = {value!r}: use a whole number from {least}{upper}")
    return found


def jobs(value: Any) -> int | None:
    """Runs in parallel; ``None`` is one per core."""
    return None if value is None else whole("jobs", value, 1, MAX_JOBS)


def replicas(value: Any) -> int | list[int] | None:
    """How many replicas, or their numbers."""
    if value is None:
        return None
    if isinstance(value, str) or not (isinstance(value, Iterable) or hasattr(value, "__index__")):
        raise InputError(f"replicas = {value!r}: give a whole number, or the numbers of replicas from 0")
    if not isinstance(value, Iterable):
        return whole("replicas", value, 1, MAX_REPLICA)
    numbers = [whole("replicas", one, 0, MAX_REPLICA) for one in value]
    if not numbers or len({*numbers}) < len(numbers):
        raise InputError("replicas: give a number, or different numbers of replicas from 0")
    return numbers


def texts(name: str, value: Any) -> list[str]:
    """One text or several."""
    if isinstance(value, str):
        return [value]
    found = list(value) if isinstance(value, Iterable) else [value]
    wrong = [one for one in found if not isinstance(one, str)]
    if wrong:
        raise InputError(f"{name}: {wrong[0]!r} is not text\ngive a text, or a list of texts")
    return found


def path(name: str, value: Any) -> str:
    """The path of a file or folder."""
    if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
        raise InputError(f"{name} = {value!r}: give a path, such as 'results'")
    return os.fsdecode(value)

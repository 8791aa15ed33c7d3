"""Policies and scenarios as values: loaded, built in Python, changed, written as TOML."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from . import _core
from ._arguments import texts
from ._errors import Finding, InputError

Settings = Mapping[str, Any]
Path = str | os.PathLike[str]


def as_toml(key: str, value: Any) -> str:
    """A value as it is written in TOML; text that reads as something else is quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        try:
            tomllib.loads(f"value = {value}")
        except tomllib.TOMLDecodeError:
            return value
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(json.dumps(one) if isinstance(one, str) else as_toml(key, one) for one in value) + "]"
    if hasattr(value, "item"):
        # A scalar of NumPy.
        return as_toml(key, value.item())
    if isinstance(value, (int, float)):
        return repr(value)
    raise InputError(f"`{key}` = {value!r}: a setting is text, a number, a truth value, or a list of these")


def as_settings(settings: Settings | None) -> list[tuple[str, str]]:
    """Settings as the engine takes them."""
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"set = {settings!r}: give a dictionary, such as {{'duration': '12 s'}}")
    for key in settings or {}:
        if not isinstance(key, str):
            raise InputError(f"set: the key {key!r} is not text\nuse keys as in `--set`, such as 'links.line.rate'")
    return [(key, as_toml(key, value)) for key, value in (settings or {}).items()]


class _Text:
    """A named text of TOML. It never changes; :meth:`set` returns another one."""

    _kind: ClassVar[str]
    __slots__ = ("_name", "_text")

    def __init__(self, text: str, name: str | None = None) -> None:
        if not isinstance(text, str):
            raise InputError(f"{text!r} is not the text of a {self._kind}\nload a file with {type(self).__name__}.load")
        self._name = name or self._kind
        self._text = text

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file, or a shipped one by its name.

        Parameters
        ----------
        path
            A file; or a name in :meth:`shipped`, such as ``"fq-codel"``. A file of that name comes first.
        """
        name, text = _core.read(os.fspath(path), cls._kind)
        return cls(text, name)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], name: str | None = None) -> Self:
        """Build it from nested dictionaries: the tables and keys of its TOML."""
        try:
            text = json.dumps(content)
        except TypeError as error:
            raise InputError(f"TOML has no such value: {error}") from None
        return cls(_core.to_toml(text), name)

    @classmethod
    def of(cls, what: Self | Path | Mapping[str, Any]) -> Self:
        """What is given: an object, the path of a file, a shipped name, or dictionaries."""
        if isinstance(what, cls):
            return what
        if isinstance(what, Mapping):
            return cls.from_dict(what)
        if isinstance(what, (str, os.PathLike)):
            return cls.load(what)
        raise InputError(f"{what!r} is not a {cls._kind}: give an object, a path, a shipped name, or dictionaries")

    @classmethod
    def shipped(cls) -> list[str]:
        """The names of the shipped ones."""
        return _core.shipped(cls._kind)

    @property
    def file(self) -> str:
        """The name in messages; paths in the text are relative to its folder."""
        return self._name

    def set(self, settings: Settings | None = None, /, **keys: Any) -> Self:
        """Another one with these keys set, and all else as it is, comments too.

        Parameters
        ----------
        settings
            Values by key, as with ``--set``: ``{"links.line.rate": "10 Mbit/s"}``.
        **keys
            The same for keys at the top, such as ``duration="10 s"``.
        """
        changes = as_settings({**(settings or {}), **keys})
        return type(self)(_core.set_keys(self._name, self._text, changes), self._name)

    def to_toml(self) -> str:
        """Its text."""
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """Its tables and keys."""
        try:
            return tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{self._name}: {error}", [Finding(self._name, None, None, str(error))]) from None

    def write(self, path: Path) -> None:
        """Write its text into a file: as a whole or not at all."""
        _core.write(os.fspath(path), self._text)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self._name, self._text) == (other._name, other._text)

    def __hash__(self) -> int:
        return hash((type(self), self._name, self._text))

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (self._text, self._name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name}>"


class Policy(_Text):
    """What nodes do to packets: roles with markers, policers, queues.

    Parameters
    ----------
    text
        TOML, as in a policy file.
    name
        Its name in messages.

    Raises
    ------
    PolicyError
        If the text has mistakes.

    Examples
    --------
    >>> import shortflow as sf
    >>> sf.Policy.load("fq-codel").name
    'FQ-CoDel'
    """

    _kind = "policy"
    __slots__ = ("_checked",)

    def __init__(self, text: str, name: str | None = None) -> None:
        super().__init__(text, name)
        self._checked = _core.check((self._name, self._text))

    @property
    def name(self) -> str:
        """Its name in results."""
        return self._checked[0]

    @property
    def summary(self) -> str:
        """A line that describes it."""
        return self._checked[1]

    @property
    def warnings(self) -> list[Finding]:
        """What is allowed, but probably a mistake."""
        return [Finding(**found) for found in self._checked[2]]


class Scenario(_Text):
    """Where a policy runs: topology, workloads, bindings, measures.

    Parameters
    ----------
    text
        TOML, as in a scenario file.
    name
        Its name in messages. Paths in the text are relative to the folder of this name.
    """

    _kind = "scenario"
    __slots__ = ()

    def check(self, policy: Policy | Path | Mapping[str, Any] | None = None, *, set: Settings | None = None) -> Checked:
        """Check it under its own policy or another one.

        Raises
        ------
        ScenarioError, PolicyError
            If a text has mistakes.
        """
        return Checked(case(self, policy, set))


class Checked:
    """A scenario without mistakes."""

    def __init__(self, found: _core.Case) -> None:
        self._case = found

    @property
    def name(self) -> str:
        """The name of the scenario."""
        return self._case.name

    @property
    def policy(self) -> str | None:
        """The name of its policy."""
        return self._case.policy

    @property
    def summary(self) -> str:
        """A line that describes it."""
        return self._case.summary

    @property
    def workloads(self) -> list[str]:
        """The names of its workloads."""
        return self._case.workloads

    @property
    def loads(self) -> list[dict[str, Any]]:
        """The load that is offered to each link, at each point of its sweep."""
        return list(json.loads(self._case.loads))

    @property
    def warnings(self) -> list[Finding]:
        """What is allowed, but probably a mistake."""
        return [Finding(**found) for found in self._case.warnings]

    def __repr__(self) -> str:
        return f"<Checked {self.summary}>"


def case(
    scenario: Scenario | Path | Mapping[str, Any],
    policy: Policy | Path | Mapping[str, Any] | None = None,
    set: Settings | None = None,
    bind: str | Sequence[str] = (),
) -> _core.Case:
    """A checked scenario under a policy."""
    where = Scenario.of(scenario)
    what = None if policy is None else Policy.of(policy)
    given = None if what is None else (what.file, what.to_toml())
    return _core.Case((where.file, where.to_toml()), given, as_settings(set), texts("bind", bind))

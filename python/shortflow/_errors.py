"""Exceptions, with the place of each mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """A mistake or a warning in a text.

    Attributes
    ----------
    file
        The name of the text.
    line, column
        The place, from 1; ``None`` where the finding is about the whole text.
    message
        What is wrong.
    found
        The marked text.
    label, help
        Notes on what is allowed and what to write instead.
    """

    file: str
    line: int | None
    column: int | None
    message: str
    found: str | None = None
    label: str | None = None
    help: str | None = None

    @property
    def allowed(self) -> str | None:
        """What is allowed, or what to write instead."""
        return self.help or self.label

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place}: {self.message}" + (f"\n{self.help}" if self.help else "")


class Error(Exception):
    """The base of all exceptions of Shortflow."""


class InputError(Error):
    """Something about the input is wrong.

    Attributes
    ----------
    findings
        All mistakes that were found; empty if the error is not about a text.
    file, line, column, message, found, allowed
        The same of the first mistake; ``None`` where it has no such part.
    """

    def __init__(self, text: str, findings: list[Finding] | None = None) -> None:
        super().__init__(text)
        self.findings: list[Finding] = list(findings or [])
        first = self.findings[0] if self.findings else None
        self.file = first.file if first else None
        self.line = first.line if first else None
        self.column = first.column if first else None
        self.message = first.message if first else text
        self.found = first.found if first else None
        self.allowed = first.allowed if first else None

    def __reduce__(self) -> tuple[type[InputError], tuple[str, list[Finding]]]:
        return type(self), (str(self), self.findings)


class PolicyError(InputError):
    """A policy has mistakes."""


class ScenarioError(InputError):
    """A scenario has mistakes."""


class MachineError(Error):
    """The machine lacks something, such as memory or room on the disk."""


class Interrupted(Error):
    """The run was stopped before it was complete."""


def from_findings(kind: str | None, text: str, findings: list[dict[str, Any]]) -> InputError:
    """The exception for mistakes in a text of this kind."""
    made = {"policy": PolicyError, "scenario": ScenarioError}.get(kind or "", InputError)
    return made(text, [Finding(**finding) for finding in findings])


for _public in (Finding, Error, InputError, PolicyError, ScenarioError, MachineError, Interrupted):
    _public.__module__ = "shortflow"

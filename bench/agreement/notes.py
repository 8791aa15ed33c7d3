"""Causes of rows that miss their target, from notes.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from casebook import BadCase
from paired import Row
from running import Job


@dataclass(frozen=True)
class Note:
    """Why some rows miss, and whether that was tested. A condition that is not given matches everything."""

    cause: str
    tested: bool
    cases: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def fits(self, job: Job, row: Row) -> bool:
        """Whether the note is about this row."""
        told = [
            (self.cases, job.case.name), (self.controls, job.control), (self.policies, row.policy),
            (self.subjects, row.subject), (self.kinds, row.kind),
        ]  # fmt: skip
        return all(not named or value in named for named, value in told)


def read_notes(path: Path) -> list[Note]:
    """All notes of a file."""
    entries = tomllib.loads(path.read_text()).get("note", [])
    try:
        return [Note(**{key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()})
                for entry in entries]  # fmt: skip
    except TypeError as error:
        raise BadCase(f"{path.name}: {error}") from error

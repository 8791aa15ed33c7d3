"""A sweep on disk: a folder with a manifest and chunks, each complete or absent.

| file | content |
|---|---|
| ``sweep.json`` | the base, the design, settings, seed, version |
| ``TABLE-00012.parquet`` | the rows of a table in the chunk whose first run has the number 12 |
| ``chunk-00012.json`` | the chunk is complete: how many runs it has, digests of its tables and of ``sweep.json``, CPU time |
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _core
from ._chunk import Done
from ._errors import InputError, MachineError

MANIFEST = "sweep.json"
FORMAT = 3
_CHUNK = re.compile(r"chunk-(\d{5,})\.json")
# What makes a sweep, in the order in which a difference is named.
_KEYS = ("scenario", "data", "set", "bind", "engine", "collect", "replicas", "seed", "pair_by", "design", "policies")
_TYPES = {
    **dict.fromkeys(("scenario", "set", "bind", "collect", "pair_by", "design"), list),
    **dict.fromkeys(("policies", "data"), dict),
    **dict.fromkeys(("replicas", "seed"), int),
    **dict.fromkeys(("engine", "version", "folder"), str),
}


@dataclass
class Chunks:
    """What a folder has.

    Attributes
    ----------
    complete
        The records of complete chunks by number.
    damaged
        Why other chunks do not count, by number.
    """

    complete: dict[int, dict[str, Any]] = field(default_factory=dict)
    damaged: dict[int, str] = field(default_factory=dict)


class Store:
    """The folder of a sweep."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._manifest_digest: str | None = None

    def is_there(self) -> bool:
        """Whether the folder has a sweep."""
        return (self.folder / MANIFEST).is_file()

    def begin(self, manifest: dict[str, Any], resume: bool) -> dict[str, Any]:
        """Make the folder, or continue in it: the manifest that is there.

        Raises
        ------
        InputError
            If the folder has another sweep or other files.
        """
        if self.is_there():
            found = self.manifest()
            if not resume:
                raise InputError(f"the folder {self.folder} has a sweep\ngive resume=True to continue it, or another folder")
            # As it is read again: JSON has no tuples.
            ours = json.loads(json.dumps(manifest))
            for key in _KEYS:
                if found[key] != ours[key]:
                    raise InputError(
                        f"cannot resume the sweep in {self.folder}: it differs in {_difference(key, found[key], ours[key])}\n"
                        "give the same, or another folder"
                    )
            if found["version"] != manifest["version"]:
                raise InputError(
                    f"cannot resume the sweep in {self.folder}: shortflow {found['version']} wrote it, and this is "
                    f"{manifest['version']}\nuse that version, or another folder"
                )
            return found
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            others = [entry.name for entry in self.folder.iterdir()]
        except OSError as error:
            raise MachineError(f"cannot write in {self.folder}: {error.strerror}") from None
        if others:
            raise InputError(f"the folder {self.folder} has other files, such as {min(others)}\ngive another folder")
        _core.write(self._path(MANIFEST), json.dumps(manifest, indent=1))
        return manifest

    def manifest(self) -> dict[str, Any]:
        """What the sweep is."""
        try:
            found = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read the sweep in {self.folder}: {error}\ngive a folder that `Sweep.run` wrote") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputError(f"the sweep in {self.folder} has another format\nuse the version of shortflow that wrote it")
        wrong = [key for key, kind in _TYPES.items() if not isinstance(found.get(key), kind)]
        if wrong or found["replicas"] < 1:
            raise self.damaged(f"`{(wrong or ['replicas'])[0]}` is missing or wrong")
        return found

    def damaged(self, what: str) -> InputError:
        """The error for a manifest that cannot be used."""
        return InputError(f"{self._path(MANIFEST)} is damaged: {what}\nrestore it, or run the sweep again in another folder")

    def put(self, done: Done) -> None:
        """Keep a chunk. Its record comes last, so a chunk without record does not count."""
        digests = {}
        for table, content in done.tables.items():
            name = f"{table}-{done.number:05}.parquet"
            _core.write(self._path(name), content)
            digests[name] = hashlib.sha256(content).hexdigest()
        record = {"sweep": self._digest(), "tables": digests, "cpu_seconds": done.cpu_seconds, "runs": done.runs, "failed": done.failed}
        _core.write(self._path(f"chunk-{done.number:05}.json"), json.dumps(record))

    def _digest(self) -> str:
        """The digest of the manifest, which each record has."""
        if self._manifest_digest is None:
            self._manifest_digest = _sha256(self.folder / MANIFEST)
        return self._manifest_digest

    def repair(self, runs: int) -> dict[int, dict[str, Any]]:
        """The records of complete chunks; those of damaged ones are removed with a warning, so that their runs are missing."""
        found = self.chunks(runs)
        for number, reason in found.damaged.items():
            warnings.warn(f"chunk {number} of the sweep in {self.folder} runs again: {reason}", stacklevel=3)
            (self.folder / f"chunk-{number:05}.json").unlink()
        return found.complete

    def chunks(self, runs: int) -> Chunks:
        """The chunks, with all digests compared. Files that belong to no chunk of the sweep are ignored with a warning."""
        found, digest, stop = Chunks(), self._digest(), 0
        matches = [match for match in map(_CHUNK.fullmatch, os.listdir(self.folder)) if match]
        for match in sorted(matches, key=lambda match: (int(match[1]), match[0])):
            number = int(match[1])
            if number >= runs or match[0] != f"chunk-{number:05}.json":
                warnings.warn(f"{self._path(match[0])} belongs to no chunk of the sweep: it is ignored", stacklevel=3)
                continue
            record, reason = self._record(number, digest)
            if reason is None and not (stop <= number < number + record["runs"] <= runs):
                reason = f"{match[0]} has runs of other chunks"
            if reason is None:
                found.complete[number], stop = record, number + record["runs"]
            else:
                found.damaged[number] = reason
        return found

    def _record(self, number: int, sweep: str) -> tuple[dict[str, Any], str | None]:
        """The record of a chunk, and why it does not count."""
        name = f"chunk-{number:05}.json"
        try:
            record = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            return {}, f"{name} cannot be read: {error}"
        kinds: dict[str, Any] = {"sweep": str, "tables": dict, "cpu_seconds": (int, float), "runs": int, "failed": int}
        if not isinstance(record, dict) or not all(isinstance(record.get(key), kind) for key, kind in kinds.items()):
            return {}, f"{name} has missing or wrong keys"
        if record["sweep"] != sweep:
            return {}, f"{name} is of another sweep"
        for file, digest in record["tables"].items():
            if re.fullmatch(rf"[a-z]+-{number:05}\.parquet", file) is None:
                return {}, f"{name} names the file {file}"
            try:
                if _sha256(self.folder / file) != digest:
                    return {}, f"{file} is not the file that was written"
            except OSError as error:
                return {}, f"{file} cannot be read: {error.strerror}"
        return record, None

    def parts(self, table: str, chunks: Chunks) -> list[str]:
        """The files of a table in complete chunks, in order."""
        names = ((f"{table}-{number:05}.parquet", record) for number, record in sorted(chunks.complete.items()))
        return [self._path(name) for name, record in names if name in record["tables"]]

    def _path(self, name: str) -> str:
        return os.fspath(self.folder / name)


def ranges(complete: Mapping[int, Mapping[str, Any]]) -> list[range]:
    """The runs of complete chunks."""
    return [range(number, number + record["runs"]) for number, record in sorted(complete.items())]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _difference(key: str, found: Any, ours: Any) -> str:
    """What differs, in words."""
    if key == "data":
        changed = sorted(name for name in {*found, *ours} if found.get(name) != ours.get(name))
        return f"the data file {changed[0]}"
    if key == "design" and len(found) != len(ours):
        return f"design: {len(found)} rows there, {len(ours)} here"
    return key

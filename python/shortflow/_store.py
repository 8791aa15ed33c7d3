"""A sweep on disk: a folder with a manifest and chunks, each complete or absent.

| file | content |
|---|---|
| ``sweep.json`` | the base, the design, settings, seed, version |
| ``TABLE-00012.parquet`` | the rows of a table in one chunk |
| ``chunk-00012.json`` | the chunk is complete: digests of its tables, CPU time |
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import _core
from ._chunk import Done
from ._errors import InputError, MachineError

MANIFEST = "sweep.json"
FORMAT = 1
_CHUNK = re.compile(r"chunk-(\d{5,})\.json")
_PART = re.compile(r"([a-z]+)-(\d{5,})\.parquet")


class Store:
    """The folder of a sweep."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

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
            for key in ("scenario", "policies", "set", "bind", "design", "engine", "collect", "replicas", "seed", "pair_by"):
                if found.get(key) != manifest[key]:
                    raise InputError(f"cannot resume the sweep in {self.folder}: it differs in {key}\ngive the same, or another folder")
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
        return found

    def put(self, done: Done) -> None:
        """Keep a chunk. Its record comes last, so a chunk without record does not count."""
        digests = {}
        for table, content in done.tables.items():
            name = f"{table}-{done.number:05}.parquet"
            _core.write(self._path(name), content)
            digests[name] = hashlib.sha256(content).hexdigest()
        record = {"tables": digests, "cpu_seconds": done.cpu_seconds, "failed": done.failed}
        _core.write(self._path(f"chunk-{done.number:05}.json"), json.dumps(record))

    def complete(self) -> set[int]:
        """The numbers of the chunks that are complete."""
        found = (_CHUNK.fullmatch(entry.name) for entry in os.scandir(self.folder))
        return {int(match[1]) for match in found if match}

    def records(self) -> Iterator[dict[str, Any]]:
        """The records of complete chunks."""
        for number in sorted(self.complete()):
            yield json.loads((self.folder / f"chunk-{number:05}.json").read_text(encoding="utf-8"))

    def parts(self, table: str) -> list[str]:
        """The files of a table in complete chunks, in order."""
        complete = self.complete()
        found = (_PART.fullmatch(entry.name) for entry in os.scandir(self.folder))
        numbers = sorted(int(match[2]) for match in found if match and match[1] == table and int(match[2]) in complete)
        return [self._path(f"{table}-{number:05}.parquet") for number in numbers]

    def _path(self, name: str) -> str:
        return os.fspath(self.folder / name)

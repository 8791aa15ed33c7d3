"""Results on disk."""

from __future__ import annotations

from typing import overload

from . import _core
from ._arguments import path
from ._results import Results
from ._store import Store
from ._sweep_results import SweepResults
from ._text import Path


@overload
def open(folder: Path) -> SweepResults | Results: ...
@overload
def open(folder: Path, *more: Path) -> Results: ...
def open(folder: Path, *more: Path) -> SweepResults | Results:
    """The results in a folder that a sweep, a run or a comparison wrote.

    Parameters
    ----------
    folder
        The folder.
    *more
        Further folders of runs of the same scenario, which are shown together.
    """
    folders = [path("folder", one) for one in (folder, *more)]
    store = Store(folders[0])
    if not more and store.is_there():
        return SweepResults.open(store)
    return Results(_core.Runs.open(folders))

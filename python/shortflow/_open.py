"""Results on disk."""

from __future__ import annotations

import os
from typing import overload

from . import _core
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
    store = Store(folder)
    if not more and store.is_there():
        return SweepResults.open(store)
    return Results(_core.Runs.open([os.fspath(one) for one in (folder, *more)]))

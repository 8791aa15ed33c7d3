"""Progress of runs, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

Show = Callable[[float, int, int], None]

# A run that ends sooner shows nothing.
DELAY = 1.0
# The time between two updates, in seconds.
INTERVAL = 0.2


class Progress:
    """Shows how far a run is, once it takes longer than a second.

    Parameters
    ----------
    shown
        ``True`` or ``False``; ``None`` shows it in notebooks and terminals. A function is called with the replicas that
        are complete (with fractions), those that are complete as a whole, and all of them.
    """

    def __init__(self, shown: bool | Show | None = None) -> None:
        self._call = shown if callable(shown) else None
        self._notebook = _notebook_display()
        is_seen = self._notebook is not None or sys.stderr.isatty()
        self._is_shown = is_seen if shown is None else bool(shown)
        self._started = time.monotonic()
        self._next = self._started + DELAY
        self._handle: Any = None
        self._has_written = False

    def __enter__(self) -> Show | None:
        if self._call is not None:
            return self._call
        return self._update if self._is_shown else None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._handle is not None:
            self._handle.update({"text/html": "", "text/plain": ""}, raw=True)
        elif self._has_written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _update(self, share: float, complete: int, all_of_them: int) -> None:
        now = time.monotonic()
        if now < self._next or not all_of_them:
            return
        self._next = now + INTERVAL
        part = min(share / all_of_them, 1.0)
        left = (now - self._started) * (1 - part) / part if part > 0 else None
        words = f"{complete} of {all_of_them} replicas" + ("" if left is None else f", {_time(left)} left")
        if self._notebook is None:
            sys.stderr.write(f"\r\x1b[K{100 * part:3.0f} %, {words}")
            sys.stderr.flush()
            self._has_written = True
            return
        content = {"text/html": f'<progress max="1" value="{part:.4f}"></progress> {words}', "text/plain": words}
        if self._handle is None:
            self._handle = self._notebook(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _time(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _notebook_display() -> Callable[..., Any] | None:
    """The function that displays in a notebook; ``None`` elsewhere."""
    if "ipykernel" not in sys.modules:
        return None
    from IPython.display import display

    found: Callable[..., Any] = display
    return found

"""A line that shows progress, on a terminal only."""

import sys
import time


class Progress:
    """Prints done, total and the remaining time, overwriting the line."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.shown = sys.stderr.isatty()

    def __call__(self, done: int, total: int, label: str) -> None:
        """Reports that `done` of `total` runs are complete; the last is `label`."""
        if not self.shown or total == 0:
            return
        left = ""
        if done:
            seconds = (time.monotonic() - self.started) / done * (total - done)
            left = f", about {int(seconds) // 60}:{int(seconds) % 60:02} left"
        end = "\n" if done == total else ""
        print(f"\r\x1b[K{done} of {total} runs{left}  {label[:60]}", end=end, file=sys.stderr)
        sys.stderr.flush()

"""What the comparisons with peers have that is of use here too."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench" / "peers" / "validate"))

from cells import grid  # noqa: E402
from page import with_chapter  # noqa: E402
from progress import Progress  # noqa: E402

__all__ = ["ROOT", "Progress", "grid", "with_chapter"]

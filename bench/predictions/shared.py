"""Parts of the comparisons with peers that are used here too."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench" / "peers" / "validate"))

from cells import grid  # noqa: E402
from progress import Progress  # noqa: E402
from publish import DOCS, Line, Page, data_link, publish  # noqa: E402

__all__ = ["DOCS", "ROOT", "Line", "Page", "Progress", "data_link", "grid", "publish"]

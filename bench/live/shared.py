"""Parts of the comparisons with peers that are used here too."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench" / "peers" / "validate"))

from cells import grid  # noqa: E402
from estimate import Estimate  # noqa: E402

__all__ = ["ROOT", "Estimate", "grid"]

"""What the comparisons with peers have that is of use here too."""

import sys

from casebook import ROOT

sys.path.append(str(ROOT / "bench" / "peers" / "validate"))

from cells import causes_below, grid, number  # noqa: E402
from estimate import Estimate, student  # noqa: E402
from page import with_rehearsed  # noqa: E402
from progress import Progress  # noqa: E402

__all__ = ["Estimate", "Progress", "causes_below", "grid", "number", "student", "with_rehearsed"]

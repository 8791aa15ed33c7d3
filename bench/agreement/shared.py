"""Parts of the comparisons with peers that are used here too."""

import sys

from casebook import ROOT

sys.path.append(str(ROOT / "bench" / "peers" / "validate"))

from cells import causes_below, grid, number  # noqa: E402
from estimate import Estimate, student  # noqa: E402
from progress import Progress  # noqa: E402
from publish import DOCS, Line, Page, data_link, publish, versions_line  # noqa: E402

__all__ = ["DOCS", "Estimate", "Line", "Page", "Progress", "causes_below", "data_link", "grid", "number", "publish", "student",
           "versions_line"]  # fmt: skip

"""The virtual machines, which other comparisons use too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "machines"))

from debian import SUITES, Kernel, fetch  # noqa: E402
from lacking import Lacking  # noqa: E402
from machine import IN_REAL_TIME, add_program, boot, missing_tools, pack  # noqa: E402

__all__ = ["IN_REAL_TIME", "SUITES", "Kernel", "Lacking", "add_program", "boot", "fetch", "missing_tools", "pack"]

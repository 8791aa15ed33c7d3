"""The virtual machines of the trial of kernels."""

import sys

from shared import ROOT

sys.path.append(str(ROOT / "bench" / "machines"))

from debian import SUITES, Kernel, fetch  # noqa: E402
from lacking import Lacking  # noqa: E402
from machine import IN_VIRTUAL_TIME, add_program, add_python, boot, missing_tools, pack  # noqa: E402

__all__ = ["IN_VIRTUAL_TIME", "SUITES", "Kernel", "Lacking", "add_program", "add_python", "boot", "fetch", "missing_tools", "pack"]

"""Runs the tests of the scripts in this folder.

Each folder of tests runs in a process of its own, since several have modules of the same name.
"""

import os
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parent

# The folder of tests, and the folders whose modules the tests import.
SUITES = {
    "docs/tests": ["docs"],
    "peers/tests": ["peers/validate", "peers/theory"],
    "performance/tests": ["performance"],
    "predictions/tests": ["predictions", "peers/validate"],
    "live/tests": ["live"],
    "agreement/tests": ["agreement", "peers/validate"],
}


def run(tests: str, modules: list[str]) -> bool:
    """Whether all tests in the folder pass."""
    path = os.pathsep.join(str(BENCH / folder) for folder in modules)
    command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", str(BENCH / tests)]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(0 if all([run(tests, modules) for tests, modules in SUITES.items()]) else 1)

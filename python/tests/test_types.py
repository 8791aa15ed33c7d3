"""Types of the package, as mypy sees them."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("mypy", reason="skipped: needs mypy")

ROOT = pathlib.Path(__file__).parents[2]
USE = """
import shortflow as sf

results = sf.simulate("office")
table: sf.Table = results.transfers
swept: sf.Table = sf.Sweep("office", [{"seed": 1}]).run().replicas
policy: sf.Policy | None = sf.advise("1 Mbit/s", "1 Mbit/s").policy
number: int = swept
"""


def checked(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of mypy in the checkout."""
    environment = {**os.environ, "MYPYPATH": str(ROOT / "python"), "MYPY_CACHE_DIR": str(ROOT / "target" / "mypy")}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_package_has_no_mistake_of_types() -> None:
    found = checked("mypy")
    assert found.returncode == 0, found.stdout


def test_the_stubs_are_those_of_the_extension_module() -> None:
    found = checked("mypy.stubtest", "--mypy-config-file", "pyproject.toml", "shortflow._core")
    assert found.returncode == 0, found.stdout


def test_users_get_types(here: pathlib.Path) -> None:
    (here / "use.py").write_text(USE)
    found = checked("mypy", str(here / "use.py"))
    assert found.stdout.count("error") == 2 and "use.py:8" in found.stdout, "only the wrong line, and the summary\n" + found.stdout

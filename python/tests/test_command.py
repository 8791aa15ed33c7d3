"""``python -m shortflow sweep``, and ``shortflow sweep``, which calls it."""

import os
import pathlib
import subprocess
import sys

import pytest

import shortflow as sf

SHORTFLOW = os.environ.get("SHORTFLOW")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the module as a command."""
    return subprocess.run([sys.executable, "-m", "shortflow", "sweep", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def files(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    """A scenario, a policy and a design."""
    line.write("line.toml")
    fifo.write("fifo.toml")
    pathlib.Path("design.csv").write_text("parameters.load,links.line.delay\n0.5,10 ms\n1.5,20 ms\n")


@pytest.mark.usefixtures("files")
def test_a_sweep_of_files_has_the_results_of_a_sweep_in_python() -> None:
    policies = ["--policies", "fifo.toml,fq-codel"]
    found = run("line.toml", "--design", "design.csv", *policies, "--replicas", "2", "--set", "duration=3 s", "--out", "r.sweep", "-q")
    assert found.returncode == 0 and found.stdout.startswith("8 runs of 4 rows in "), found.stderr
    points = [{"policy": policy, **point} for policy in ("fifo.toml", "fq-codel") for point in sf.Design.from_csv("design.csv")]
    ours = sf.Sweep("line.toml", points, replicas=2, collect=["replicas"], set={"duration": "3 s"}).run()
    assert sf.open("r.sweep").replicas.to_arrow().equals(ours.replicas.to_arrow())


@pytest.mark.usefixtures("files")
def test_mistakes_have_the_exit_codes_of_the_program() -> None:
    assert run("line.toml").returncode == 2
    missing = run("lien.toml", "--out", "r")
    assert missing.returncode == 2 and "did you mean line.toml?" in missing.stderr
    pathlib.Path("design.csv").write_text("parameters.load\n0.5\n-1\n")
    assert run("line.toml", "--design", "design.csv", "--replicas", "1", "--out", "a").returncode == 2
    assert "give --seed" in run("line.toml", "--out", "a", "--set", "seed=3").stderr
    recorded = run("line.toml", "--design", "design.csv", "--replicas", "1", "--out", "b", "--on-error", "record")
    assert recorded.returncode == 1 and "1 runs failed" in recorded.stderr
    again = run("line.toml", "--design", "design.csv", "--replicas", "1", "--out", "b")
    assert again.returncode == 2 and "give --resume to continue" in again.stderr
    pathlib.Path("b/chunk-00000.json").write_text("{")
    again = run("line.toml", "--design", "design.csv", "--replicas", "1", "--out", "b", "--on-error", "record", "--resume")
    assert again.stderr.startswith("warning: chunk 0 of the sweep in b runs again: chunk-00000.json cannot be read")


@pytest.mark.usefixtures("files")
def test_the_program_calls_the_package() -> None:
    if SHORTFLOW is None:
        pytest.skip("skipped: needs SHORTFLOW, the program")
    command = [SHORTFLOW, "sweep", "line.toml", "--design", "design.csv", "--replicas", "1", "--out", "r.sweep", "-q"]
    environment = {**os.environ, "SHORTFLOW_PYTHON": sys.executable}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0 and found.stdout.startswith("2 runs of 2 rows"), found.stderr
    without = subprocess.run(command, env={**environment, "SHORTFLOW_PYTHON": "/bin/false"}, capture_output=True, text=True, check=False)
    assert without.returncode == 3 and "pip install" in without.stderr

"""The notebooks, executed in small versions."""

import pathlib

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(here: pathlib.Path, path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="skipped: needs nbformat")
    nbclient = pytest.importorskip("nbclient", reason="skipped: needs nbclient")
    monkeypatch.setenv("SHORTFLOW_SMALL", "1")
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(here)}}).execute()


def test_there_are_four_notebooks() -> None:
    assert len(NOTEBOOKS) == 4

"""The notebooks of examples/notebooks run, where nbclient and a kernel are installed."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from typing import Any

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "notebooks"


@pytest.mark.parametrize("name", ["handouts", "reversal", "port"])
def test_notebook_runs(name: str) -> None:
    nbclient: Any = pytest.importorskip("nbclient")
    nbformat: Any = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": FOLDER}}).execute()
    assert any(cell.get("outputs") for cell in book.cells)


def test_notebooks_are_those_of_their_script(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "make"
    script.write_text((FOLDER / "make").read_text())
    subprocess.run([sys.executable, str(script)], check=True)
    made = sorted(tmp_path.glob("*.ipynb"))
    assert [path.name for path in made] == ["handouts.ipynb", "port.ipynb", "reversal.ipynb"]
    for path in made:
        assert path.read_text() == (FOLDER / path.name).read_text()

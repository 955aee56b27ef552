"""docs/python.md: its cells run in order, and its reference is that of the docstrings."""

from __future__ import annotations

import doctest
import os
import pathlib
import subprocess
import sys
from typing import Any

import attend
import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_the_cells_run(page: str, tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    if os.environ.get("ATTEND_TEST_SANITIZE"):
        pytest.skip("trains for minutes under AddressSanitizer")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    cells = [part.partition("```")[0] for part in text.split("```python\n")[1:]]
    assert cells
    test = doctest.DocTestParser().get_doctest("\n".join(cells), {}, page, page, 0)
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.attempted > 5 and result.failed == 0, "".join(said)


def test_the_reference_is_that_of_the_docstrings() -> None:
    folder = pathlib.Path(attend.__file__ or "").parents[1]
    command = [sys.executable, str(ROOT / "scripts" / "python-reference"), str(folder)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr

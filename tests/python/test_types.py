"""The stubs are complete: mypy --strict passes on the package and on these tests."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import attend
import pytest

TESTS = pathlib.Path(__file__).parent


def test_mypy_finds_nothing(tmp_path: pathlib.Path) -> None:
    mypy = shutil.which("mypy", path="/usr/bin:" + os.environ.get("PATH", ""))
    if mypy is None:
        pytest.skip("no mypy")
    if os.environ.get("ATTEND_TEST_SANITIZE"):
        pytest.skip("the same files as without the sanitizers")
    package = pathlib.Path(attend.__file__ or "").parent
    result = subprocess.run(
        [mypy, "--strict", "--python-version", "3.11", "--cache-dir", str(tmp_path),
         "--config-file", str(TESTS / "mypy.ini"), str(package), str(TESTS)],
        capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(package.parent)},
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_function_of_the_extension_has_a_stub() -> None:
    package = pathlib.Path(attend.__file__ or "").parent
    stub = (package / "_core.pyi").read_text()
    from attend import _core

    for name in dir(_core):
        if not name.startswith("__"):
            assert f"def {name}(" in stub or f"class {name}" in stub or f"{name}:" in stub, name

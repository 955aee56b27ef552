"""The stubs are complete. tests/long/python_types runs mypy on them."""

from __future__ import annotations

import pathlib

import attend


def test_every_function_of_the_extension_has_a_stub() -> None:
    package = pathlib.Path(attend.__file__ or "").parent
    stub = (package / "_core.pyi").read_text()
    from attend import _core

    for name in dir(_core):
        if not name.startswith("__"):
            assert f"def {name}(" in stub or f"class {name}" in stub or f"{name}:" in stub, name

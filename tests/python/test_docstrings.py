"""Every public name has a docstring with an example that runs."""

from __future__ import annotations

import doctest
import importlib
from typing import Any

import attend
import pytest

MODULES = ["attend", "attend.metrics", "attend.datasets", "attend.torch"]


def public(name: str) -> list[tuple[str, Any]]:
    """The names of a module, and the methods of its classes that have docstrings."""
    try:
        module = importlib.import_module(name)
    except ImportError:  # attend.torch without torch
        return []
    found = []
    for item in module.__all__:
        value = getattr(module, item)
        found.append((f"{name}.{item}", value))
        if isinstance(value, type) and value.__module__.startswith("attend._"):
            found += [
                (f"{name}.{item}.{method}", function)
                for method, function in vars(value).items()
                if not method.startswith("_") and callable(getattr(value, method))
            ]
    return found


NAMES = [pair for module in MODULES for pair in public(module)]


@pytest.mark.parametrize("name,value", NAMES, ids=[name for name, _ in NAMES])
def test_example_runs(name: str, value: Any, tmp_path: Any, monkeypatch: Any) -> None:
    doc = value.__doc__ or ""
    assert doc.strip(), f"{name} has no docstring"
    assert ">>>" in doc, f"{name} has no example"
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(doc, {"attend": attend}, name, None, None)
    said: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert result.failed == 0, "".join(said)

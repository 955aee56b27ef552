"""Worksheets and maps."""

from __future__ import annotations

import pathlib
from typing import Any

import attend
import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
TEXT = """
h = [1 2; 3 4]
a = attention([1 0], h, h, score = dot)
expect a.weights = [0.1192 0.8808] as printed
expect a = [9 9]
plot a.weights
"""


def test_values_are_arrays_by_name() -> None:
    sheet = attend.Sheet(TEXT)
    expected = attend.attention(np.array([[1.0, 0.0]]), *[np.array([[1.0, 2], [3, 4]])] * 2,
                                score="dot", return_weights=True)
    np.testing.assert_allclose(sheet["a"], expected[0], rtol=1e-15)
    np.testing.assert_allclose(sheet["a.weights"], expected[1], rtol=1e-15)
    assert [step.name for step in sheet.steps] == ["h", "a"]
    assert [part.name for part in sheet.steps[1].parts][:3] == ["q", "k", "v"]
    with pytest.raises(KeyError):
        sheet["a.nothing"]


def test_checks_are_counted_and_raised_on_request() -> None:
    sheet = attend.Sheet(TEXT, name="mine")
    assert sheet.checks == 2 and [failure.line for failure in sheet.failures] == [5]
    assert repr(sheet) == "Sheet('mine', checks=2, failures=1)"
    with pytest.raises(attend.Error, match="^mine:5: ") as caught:
        sheet.check()
    assert (caught.value.file, caught.value.line) == ("mine", 5)
    attend.Sheet("expect 1 + 1 = 2").check()


def test_every_format_has_the_numbers() -> None:
    sheet = attend.Sheet(TEXT)
    for text in (sheet.text(), sheet.markdown(), sheet.latex(), sheet.html(), str(sheet)):
        assert "0.8808" in text
    assert "0.880797" in sheet.text(digits=6, only="a") and "h =" not in sheet.text(only="a")
    assert sheet.json()["failures"] == 1
    shown = sheet._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "&lt;html" in shown


def test_maps_show_themselves() -> None:
    (map,) = attend.Sheet(TEXT).maps
    assert map.weights.shape == (1, 1, 2)
    assert map._repr_svg_().lstrip().startswith("<svg") and "0.88" in map.text()
    with pytest.raises(attend.Error, match="query_labels: expected 1 labels, found 2"):
        attend.AttentionMap([[[1.0]]], query_labels=["a", "b"]).svg()
    with pytest.raises(attend.Error, match="weights: expected"):
        attend.AttentionMap([[1.0]]).svg()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("h*.att")), ids=lambda path: str(path.name))
def test_the_handouts_hold(path: pathlib.Path) -> None:
    sheet = attend.Sheet(path)
    sheet.check()
    assert sheet.steps and all(step.value.ndim == 2 for step in sheet.steps)


def test_errors_have_their_place(tmp_path: pathlib.Path) -> None:
    with pytest.raises(attend.Error) as caught:
        attend.Sheet("a = [1 2]\nb = a * a\n", name="bad.txt")
    error = caught.value
    assert (error.file, error.line) == ("bad.txt", 2) and error.column > 0 and "^" in error.excerpt
    assert str(error).startswith("bad.txt:2:") and isinstance(error, ValueError)
    with pytest.raises(FileNotFoundError):
        attend.Sheet("missing.att")
    with pytest.raises(attend.Error, match="U.0000"):
        attend.Sheet("a = \0")


def test_a_text_loads_files_of_its_folder_alone(tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "w.npy", np.ones((2, 2)))
    text = 'w = load "w.npy"'
    sheet = attend.Sheet(text, folder=tmp_path)
    np.testing.assert_array_equal(sheet["w"], np.ones((2, 2)))
    assert [pathlib.Path(file).name for file in sheet.files] == ["w.npy"]
    with pytest.raises(attend.Error):
        attend.Sheet(text)


def test_the_cell_magic_returns_a_sheet() -> None:
    registered: dict[str, Any] = {}

    class Shell:
        def register_magic_function(self, function: Any, kind: str, name: str) -> None:
            registered[name] = (kind, function)

    attend.load_ipython_extension(Shell())
    kind, function = registered["attend"]
    assert kind == "line_cell"
    assert function("", "expect 1 = 2").failures and function("a = 1 + 1").checks == 0


def test_a_map_is_plotted_where_matplotlib_is_installed() -> None:
    matplotlib: Any = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    map = attend.AttentionMap([[[0.9, 0.1]]], query_labels=["q"], key_labels=["a", "b"], title="t")
    axes = map.plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]
    assert axes.get_title() == "t" and axes.get_xlabel() == "key"
    assert map.plot(axes) is axes

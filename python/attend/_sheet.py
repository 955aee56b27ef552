"""Worksheets."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from attend import _core
from attend._core import Array
from attend._frame import frame
from attend._maps import AttentionMap, from_dict


@dataclass(frozen=True)
class Part:
    """An intermediate result of a step: its name, what it is, its formula and its value."""

    name: str
    description: str
    formula: str
    value: Array


@dataclass(frozen=True)
class Step:
    """A named value of a worksheet with the parts that led to it."""

    name: str
    line: int
    formula: str
    value: Array
    row_labels: list[str] | None
    col_labels: list[str] | None
    parts: list[Part]


@dataclass(frozen=True)
class Failure:
    """A check of a worksheet that failed: where, what was expected and found."""

    line: int
    column: int
    message: str
    excerpt: str


def _matrix(value: dict[str, Any]) -> Array:
    rows, cols = value["rows"], value["cols"]
    numbers = [[float("nan") if x is None else float(x) for x in row] for row in value["data"]]
    if rows == 0 or cols == 0:
        return _core.zeros((rows, cols), "float64")
    return Array(numbers, "float64")


class Sheet:
    """An evaluated worksheet (docs/worksheets.md): its steps, values, checks and maps.

    `source` is the text of a sheet, or the path of one: an os.PathLike, or a str that ends in
    ".att". A text may load files in `folder`, or none without it. A sheet shows itself in a notebook
    as a page; `str()` is the text that `attend explain` prints.

    >>> sheet = attend.Sheet('''
    ... q = [1 0]
    ... k = [1 0; 0 1]
    ... a = attention(q, k, k, score = dot)
    ... expect a.weights = [0.7311 0.2689] as printed
    ... ''')
    >>> sheet["a"]
    Array([[0.731059, 0.268941]], dtype='float64')
    >>> sheet["a.weights"].shape, sheet.checks, sheet.failures
    ((1, 2), 1, [])
    """

    checks: int
    failures: list[Failure]
    files: list[str]
    maps: list[AttentionMap]

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        name: str = "sheet",
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(source, str) or (source.endswith(".att") and "\n" not in source):
            self.name = os.fspath(source)
            os.stat(self.name)  # FileNotFoundError and its like, as open() raises them
            self._handle = _core.sheet_load(self.name)
        else:
            self.name = name
            where = None if folder is None else os.fspath(folder)
            self._handle = _core.sheet_read(source, name, where)
        results = _core.sheet_results(self._handle)
        self.checks = results["checks"]
        self.failures = [Failure(*row) for row in results["failures"]]
        self.files = results["files"]
        self.maps = [from_dict(map) for map in results["maps"]]
        self._steps: list[Step] | None = None

    def _render(self, format: str, **options: Any) -> str:
        given = {key: value for key, value in options.items() if value is not None}
        return _core.sheet_render(self._handle, {"format": format, **given})

    def text(
        self,
        *,
        digits: int | None = None,
        only: str | None = None,
        row: int | None = None,
        head: int | None = None,
        width: int | None = None,
        ascii: bool = False,
    ) -> str:
        """The sheet for a terminal; `only` shows one step, `row` and `head` parts of matrices.

        >>> sheet = attend.Sheet("w = softmax([1 2])\\nexpect sum(w) = 1")
        >>> "softmax" in sheet.text(digits=3)
        True
        """
        return self._render(
            "text", digits=digits, only=only, row=row, head=head, width=width, ascii=ascii
        )

    def markdown(self, *, digits: int | None = None, only: str | None = None) -> str:
        """The sheet as Markdown.

        >>> sheet = attend.Sheet("w = softmax([1 2])\\nexpect sum(w) = 1")
        >>> "softmax" in sheet.markdown()
        True
        """
        return self._render("markdown", digits=digits, only=only)

    def latex(self, *, digits: int | None = None, only: str | None = None) -> str:
        """The sheet as LaTeX.

        >>> sheet = attend.Sheet("w = softmax([1 2])\\nexpect sum(w) = 1")
        >>> "\\\\begin" in sheet.latex()
        True
        """
        return self._render("latex", digits=digits, only=only)

    def html(self, *, digits: int | None = None, only: str | None = None) -> str:
        """The sheet as a page that needs no other file.

        >>> sheet = attend.Sheet("w = softmax([1 2])\\nexpect sum(w) = 1")
        >>> "<html" in sheet.html()
        True
        """
        return self._render("html", digits=digits, only=only)

    def json(self) -> Any:
        """The trace as Python values (docs/rendering.md lists the keys).

        >>> sheet = attend.Sheet("w = softmax([1 2])\\nexpect sum(w) = 1")
        >>> isinstance(sheet.json(), dict)
        True
        """
        return json.loads(self._render("json"))["sheets"][0]

    @property
    def steps(self) -> list[Step]:
        """The named values, in order, each with its parts."""
        if self._steps is None:
            self._steps = [
                Step(
                    row["name"],
                    row["line"],
                    row["formula"],
                    _matrix(row["value"]),
                    row["value"].get("row_labels"),
                    row["value"].get("col_labels"),
                    [
                        Part(p["name"], p.get("description", ""), p["formula"], _matrix(p["value"]))
                        for p in row.get("parts", [])
                        if "value" in p
                    ],
                )
                for row in self.json()["steps"]
                if row["kind"] == "value" and "name" in row and "value" in row
            ]
        return self._steps

    def __getitem__(self, name: str) -> Array:
        """The last value of that name; "step.part" is a part of a step."""
        step_name, _, part_name = name.partition(".")
        for step in reversed(self.steps):
            if step.name == step_name and not part_name:
                return step.value
            if step.name == step_name:
                for part in step.parts:
                    if part.name == part_name:
                        return part.value
        raise KeyError(name)

    def check(self) -> None:
        """Raises attend.Error if a check of the sheet failed.

        >>> sheet = attend.Sheet("expect 1 + 1 = 3")
        >>> try:
        ...     sheet.check()
        ... except attend.Error:
        ...     print("a check failed")
        a check failed
        """
        if self.failures:
            first = self.failures[0]
            error = _core.Error(f"{self.name}:{first.line}: {first.message}\n{first.excerpt}")
            error.file, error.line, error.column = self.name, first.line, first.column
            error.message, error.excerpt = first.message, first.excerpt
            raise error

    def _repr_html_(self) -> str:
        return frame(self.html())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Sheet({self.name!r}, checks={self.checks}, failures={len(self.failures)})"


def explain(
    source: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None
) -> Sheet:
    """Works out a worksheet: a Sheet, which shows itself.

    >>> attend.explain("w = softmax([1 2])")["w"]
    Array([[0.268941, 0.731059]], dtype='float64')
    """
    return Sheet(source, folder=folder)

"""Two systems on the same lines."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple


class ComparisonRow(NamedTuple):
    """One metric of two systems, with the p-values of two paired tests.

    95 % of the bootstrap resamples are in mean ± margin. Rates are between 0 and 1, text metrics of
    100. Where the scores are equal, the p-values are NaN: there is nothing to explain by chance.
    """

    name: str
    title: str
    lower_is_better: bool
    is_rate: bool
    baseline: float
    value: float
    baseline_mean: float
    baseline_margin: float
    mean: float
    margin: float
    bootstrap_p: float
    randomization_p: float


def comparison_row(values: tuple[Any, ...]) -> ComparisonRow:
    """A row as the extension gives it. NaN is one object, so that equal rows are equal."""
    return ComparisonRow(*(math.nan if value != value else value for value in values))


@dataclass(frozen=True)
class Comparison:
    """Two systems compared on the same lines: a row for each metric.

    `comparison["bleu"]` is a row; `str()` is a table. p-values are those of sacreBLEU's paired
    tests (docs/metrics.md).

    >>> references = ["the cat sat on the mat", "a dog ran off"] * 8
    >>> better, worse = references, [line.replace("the", "a") for line in references]
    >>> comparison = attend.metrics.compare(better, worse, references, ["chrf"])
    >>> row = comparison["chrf"]
    >>> row.value > row.baseline, comparison.lines
    (True, 16)
    """

    lines: int
    rows: list[ComparisonRow]
    notes: str = ""

    def __getitem__(self, name: str) -> ComparisonRow:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)

    def __iter__(self) -> Iterator[ComparisonRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def _cells(self) -> list[tuple[str, ...]]:
        head = ("metric", "baseline", "system", "difference", "p (bootstrap)", "p (randomization)")
        rows = []
        for row in self.rows:
            scale = 100 if row.is_rate else 1
            rows.append((
                row.title,
                f"{scale * row.baseline:.2f} ± {scale * row.baseline_margin:.2f}",
                f"{scale * row.value:.2f} ± {scale * row.margin:.2f}",
                f"{scale * (row.value - row.baseline):+.2f}",
                "-" if math.isnan(row.bootstrap_p) else f"{row.bootstrap_p:.4f}",
                "-" if math.isnan(row.randomization_p) else f"{row.randomization_p:.4f}",
            ))  # fmt: skip
        return [head, *rows]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        return "\n".join(
            "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths)))
            for row in cells
        )  # fmt: skip

    def _repr_html_(self) -> str:
        head, *rows = self._cells()

        def line(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"

        return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"

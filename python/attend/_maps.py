"""Attention maps."""

from __future__ import annotations

from typing import Any, Literal

from attend import _core
from attend._core import Array


class AttentionMap:
    """Attention weights with their labels: one panel per head, queries down, keys across.

    Shows itself in a notebook as SVG; `str()` draws it with characters.

    >>> weights = attend.Array([[[0.9, 0.1], [0.2, 0.8]]], "float64")
    >>> shown = attend.AttentionMap(weights, query_labels=["le", "chat"], key_labels=["the", "cat"])
    >>> "<svg" in shown.svg()
    True
    >>> shown.weights[0, 1, 1]
    0.8
    """

    title: str | None
    weights: Array
    query_labels: list[str] | None
    key_labels: list[str] | None
    panel_labels: list[str] | None

    def __init__(
        self,
        weights: Any,
        *,
        title: str | None = None,
        query_labels: list[str] | None = None,
        key_labels: list[str] | None = None,
        panel_labels: list[str] | None = None,
        query_name: str | None = None,
        key_name: str | None = None,
        allowed: bytes | None = None,
        marked: bytes | None = None,
        mark_name: str | None = None,
        panel_columns: int = 0,
    ) -> None:
        self.weights = weights if isinstance(weights, Array) else Array(weights, "float64")
        if self.weights.dtype != "float64":
            self.weights = Array(self.weights, "float64")
        self.title = title
        self.query_labels = query_labels
        self.key_labels = key_labels
        self.panel_labels = panel_labels
        self.query_name = query_name
        self.key_name = key_name
        self.allowed = allowed
        self.marked = marked
        self.mark_name = mark_name
        self.panel_columns = panel_columns

    def _render(self, **options: Any) -> str:
        return _core.map_render(
            self.weights,
            self.allowed,
            self.query_labels,
            self.key_labels,
            self.panel_labels,
            self.marked,
            options,
            self.title,
            self.query_name,
            self.key_name,
            self.mark_name,
            self.panel_columns,
        )

    def svg(self, *, width: int = 0, head: int = 0, arcs: bool = False) -> str:
        """The map as SVG; each cell carries its query, key and value. `arcs` draws arcs between
        words instead of cells.

        >>> map = attend.AttentionMap([[[0.9, 0.1]]], query_labels=["q"], key_labels=["a", "b"])
        >>> map.svg()[:100].count("<svg") == 1, map.svg(arcs=True) != map.svg()
        (True, True)
        """
        return self._render(format="svg", width=width, head=head, arcs=arcs)

    def html(self, *, head: int = 0, arcs: bool = False) -> str:
        """The map as a page.

        >>> map = attend.AttentionMap([[[0.9, 0.1]]], query_labels=["q"], key_labels=["a", "b"])
        >>> "<html" in map.html()
        True
        """
        return self._render(format="html", head=head, arcs=arcs)

    def text(
        self,
        *,
        width: int = 0,
        head: int = 0,
        color: Literal["none", "256", "true"] = "none",
        ascii: bool = False,
    ) -> str:
        """The map as text for a terminal.

        >>> map = attend.AttentionMap([[[0.9, 0.1]]], query_labels=["q"], key_labels=["a", "b"])
        >>> "q" in map.text(ascii=True)
        True
        """
        return self._render(format="text", width=width, head=head, color=color, ascii=ascii)

    def plot(self, ax: Any = None, head: int = 1) -> Any:
        """Draws one panel with matplotlib, into `ax` or a new figure, and returns the axes.

        >>> map = attend.AttentionMap([[[0.9, 0.1]]], query_labels=["q"], key_labels=["a", "b"])
        >>> try:
        ...     title = map.plot().get_xlabel()
        ... except ImportError:
        ...     title = "key"  # matplotlib is not installed
        >>> title
        'key'
        """
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots()[1]
        ax.imshow(self.weights[head - 1].numpy(), cmap="Blues", vmin=0)
        for labels, ticks in ((self.key_labels, ax.set_xticks), (self.query_labels, ax.set_yticks)):
            if labels is not None:
                ticks(range(len(labels)), labels)
        ax.set_xlabel(self.key_name or "key")
        ax.set_ylabel(self.query_name or "query")
        if self.title:
            ax.set_title(self.title)
        return ax

    def _repr_svg_(self) -> str:
        return self.svg().partition("?>")[2]  # a part of a page has no XML declaration

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        heads, queries, keys = self.weights.shape
        return f"AttentionMap(heads={heads}, queries={queries}, keys={keys})"


def from_dict(values: dict[str, Any]) -> AttentionMap:
    """A map that _core returned."""
    return AttentionMap(values.pop("weights"), **values)

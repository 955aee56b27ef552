"""Inside recurrent models: units, what they track, gradient flow."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from attend import _core
from attend._core import Array
from attend._frame import frame


@dataclass(frozen=True)
class HighlightedText:
    """A text with one value per token, as the background color of the token.

    >>> text = attend.HighlightedText("unit 3", ["a", " ", "b"], attend.Array([0, 1, 0.5], "float64"))
    >>> "<" in text.html()
    True
    """

    title: str | None
    tokens: list[str]
    values: Array

    def text(self) -> str:
        """For a terminal.

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> text = model.unit_activations("a (b)", 1)
        >>> "b" in text.text()
        True
        """
        return _core.highlight_render(self.tokens, self.values, {"format": "text"}, self.title)

    def html(self) -> str:
        """A page.

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> text = model.unit_activations("a (b)", 1)
        >>> "<html" in text.html()
        True
        """
        return _core.highlight_render(self.tokens, self.values, {"format": "html"}, self.title)

    def svg(self) -> str:
        """SVG.

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> text = model.unit_activations("a (b)", 1)
        >>> text.svg()[:100].count("<svg") == 1
        True
        """
        return _core.highlight_render(self.tokens, self.values, {"format": "svg"}, self.title)

    def _repr_svg_(self) -> str:
        return self.svg().partition("?>")[2]  # a part of a page has no XML declaration

    def __str__(self) -> str:
        return self.text()


class AlternativeStep(NamedTuple):
    """One step: the token or label chosen (None behind a text), its probability and rank, the most
    probable ones with their probabilities, and, of a tagger, the token that has the label."""

    token: str | None
    probability: float
    rank: int
    tokens: list[tuple[str, float]]
    source: str | None = None


@dataclass(frozen=True)
class Alternatives:
    """The most probable tokens at each step of an output, or labels. In a notebook they show
    themselves.

    >>> pairs = attend.datasets.reverse(train_count=200)
    >>> model = attend.train("pairs", pairs, hidden_size=8, steps=2, progress=False)
    >>> steps = model.alternatives("abc", "cba", count=3).steps
    >>> [step.token for step in steps], len(steps[0].tokens)
    (['c', 'b', 'a', '<end>'], 3)
    """

    steps: list[AlternativeStep]
    page: str

    def html(self) -> str:
        """A page.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> "<html" in model.alternatives("ab").html()
        True
        """
        return self.page

    def _repr_html_(self) -> str:
        return frame(self.page)


class BeamNode(NamedTuple):
    """A hypothesis: its parent's index (-1: the start), step, token, log-probabilities, and fate:
    "dropped", "kept", "finished" or "best"."""

    parent: int
    step: int
    token: str
    log_prob: float
    score: float
    normalized_score: float
    fate: str


@dataclass(frozen=True)
class BeamTree:
    """A beam search as a tree: the hypotheses of each step, and what was dropped.

    >>> pairs = attend.datasets.reverse(train_count=200)
    >>> model = attend.train("pairs", pairs, hidden_size=8, steps=2, progress=False)
    >>> tree = model.beam_tree("abc", beam=2)
    >>> tree.nodes[0].step, any(node.fate == "best" for node in tree.nodes)
    (1, True)
    """

    nodes: list[BeamNode]
    svg: str
    text: str

    def _repr_svg_(self) -> str:
        return self.svg.partition("?>")[2]

    def __str__(self) -> str:
        return self.text


class Cells:
    """Units of a recurrent model and the properties of the text that they track.

    >>> text = "a (b) c\\n" * 400
    >>> model = attend.train("lm", [text], hidden_size=8, steps=2, progress=False)
    >>> cells = model.cells(text=text)
    >>> "properties" in cells.json()
    True
    """

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def json(self) -> Any:
        """All of it (docs/cells.md lists the keys).

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> cells = model.cells(text="a (b) c\\n" * 150)
        >>> isinstance(cells.json(), dict)
        True
        """
        return json.loads(_core.cells_render(self._handle, {"format": "json"}))

    def html(self) -> str:
        """A page with highlighted samples.

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> "<html" in model.cells(text="a (b) c\\n" * 150).html()
        True
        """
        return _core.cells_render(self._handle, {"format": "html"})

    def _repr_html_(self) -> str:
        return frame(self.html())

    def __str__(self) -> str:
        return _core.cells_render(self._handle, {"format": "text"})


@dataclass(frozen=True)
class GradientFlow:
    """The norm of the gradient of the last token's loss at the state after each earlier token.

    >>> text = "abcdefgh\\n" * 40
    >>> model = attend.train("lm", [text], hidden_size=8, steps=2, progress=False)
    >>> flow = model.gradient_flow("abcdefgh")
    >>> [len(norms) for norms in flow.layers.values()]
    [7]
    """

    loss: float
    layers: dict[str, Array]
    svg: str

    def _repr_svg_(self) -> str:
        return self.svg.partition("?>")[2]

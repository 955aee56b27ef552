"""What models return."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from attend import _core
from attend._core import Array
from attend._frame import frame
from attend._maps import AttentionMap, from_dict


class Token(NamedTuple):
    """A token of a text: its id, its text after normalization, and the characters
    text[start:end] that it was made of.

    >>> attend.Token(3, "hello", 0, 5).text
    'hello'
    """

    id: int
    text: str
    start: int
    end: int


class Completion(NamedTuple):
    """Counts and the log-probability of a completed or scored text.

    >>> attend.Completion(3, 0, 2, -1.5, 2.117).tokens
    2
    """

    prompt_tokens: int
    unknown_tokens: int
    tokens: int
    score: float
    perplexity: float


class Output:
    """An output of a model: its text, its tokens with their log-probabilities, its attention.

    In a notebook an output with attention shows the tokens and the map. `str()` is the text.

    >>> pairs = attend.datasets.reverse(train_count=200)
    >>> model = attend.train("pairs", pairs, hidden_size=8, steps=2, progress=False)
    >>> output = model.generate("ab", attention=True)
    >>> output.weights.shape == (len(output.target_tokens), len(output.source_tokens))
    True
    """

    text: str
    score: float
    normalized_score: float
    truncated: bool
    unknown_tokens: int
    unknown_tags: int
    truncated_input_tokens: int
    grid: tuple[int, int] | None
    source_tokens: list[str] | None
    target_tokens: list[str]
    token_scores: Array
    copy_probs: Array | None
    weights: Array | None
    head_weights: Array | None
    alternative_count: int

    def __init__(self, outputs: Any, line: int, alternative: int = 0) -> None:
        self._place = (outputs, line, alternative)
        self.__dict__.update(_core.output_dict(*self._place))

    @cached_property
    def alternatives(self) -> list[Output]:
        """Further outputs of the same source, the best first (n_best)."""
        outputs, line, _ = self._place
        return [Output(outputs, line, i + 1) for i in range(self.alternative_count)]

    @property
    def alignment(self) -> list[tuple[int, int]]:
        """(source, target) pairs: the source token with the most attention of each target token."""
        pairs = _core.output_alignment(*self._place).split()
        return [(int(i), int(j)) for i, _, j in (pair.partition("-") for pair in pairs)]

    def attention_map(self, layer: int | None = None) -> AttentionMap:
        """The attention; of one layer (0: the last) with a panel per head, if all_heads was set.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> model.generate("ab", attention=True).attention_map().key_labels[:2]
        ['a', 'b']
        """
        found = _core.output_map(*self._place, -1 if layer is None else layer)
        if found is None:
            raise ValueError("this output has no such attention: generate(…, attention=True)")
        return from_dict(found)

    def overlay(
        self,
        image: Any = None,
        *,
        format: Literal["svg", "html", "text"] = "svg",
        crop: bool = True,
    ) -> str:
        """The attention of a caption: for each word a copy of the image, bright where the model
        attends. `image` is an attend.Image, or what Image() takes; None: blank. With `crop` the
        model saw its center square, otherwise all of it.

        >>> images, captions = attend.datasets.shapes(train_count=20, image_size=24)
        >>> examples = list(enumerate(captions))
        >>> model = attend.train("caption", examples, features=images, valid_fraction=0.2,
        ...                      hidden_size=8, steps=1, progress=False)
        >>> output = model.caption(images, attention=True)[0]
        >>> "<svg" in output.overlay()
        True
        """
        from attend._images import as_image

        pixels = None if image is None else as_image(image).pixels
        return _core.output_overlay(self._place, crop, pixels, {"format": format})

    def json(self) -> Any:
        """The output as Python values (docs/running.md lists the keys).

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> isinstance(model.generate("ab").json(), dict)
        True
        """
        return json.loads(_core.output_json(*self._place))

    def html(self) -> str:
        """A page: tokens that show their attention when pointed at, the map, a table.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> "<html" in model.generate("ab", attention=True).html()
        True
        """
        return _core.output_html(*self._place)

    def _repr_html_(self) -> str:
        if self.weights is None:
            return f"<p>{html.escape(self.text)}</p>"
        return frame(self.html())

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Output({self.text!r}, score={self.score:.4g})"


@dataclass(frozen=True)
class Prediction:
    """The label of a line, the probability of every label, and what the model attended to.

    >>> data = [(f"{word} {n}", label) for word, label in (("good", "pos"), ("bad", "neg"))
    ...         for n in range(40)]
    >>> model = attend.train("classify", data, hidden_size=8, steps=2, progress=False)
    >>> prediction = model.classify("good")
    >>> prediction.label in model.labels, sorted(prediction.probabilities)
    (True, ['neg', 'pos'])
    """

    label: str
    probabilities: dict[str, float]
    tokens: list[str]
    weights: Array | None
    head_weights: Array | None
    unknown_tokens: int
    truncated_input_tokens: int

    def attention_map(self) -> AttentionMap:
        """The attention to each token, with a panel per head.

        >>> data = [(f"{word} {n}", word) for n in range(20) for word in ("good", "bad")]
        >>> model = attend.train("classify", data, hidden_size=8, steps=1, progress=False)
        >>> model.classify("good 3", attention=True).attention_map().key_labels
        ['good', '3']
        """
        if self.weights is None:
            raise ValueError("this prediction has no attention: classify(…, attention=True)")
        rows = self.weights if self.head_weights is None else self.head_weights
        values = [rows.tolist()] if rows.ndim == 1 else rows.tolist()
        return AttentionMap(
            Array([[row] for row in values], "float64"),
            title=self.label,
            query_labels=[self.label],
            key_labels=self.tokens,
            panel_labels=[f"head {i + 1}" for i in range(len(values))],
        )

    def _repr_html_(self) -> str:
        said = f"<p><b>{html.escape(self.label)}</b></p>"
        if self.weights is None:
            return said
        spaced = [token + " " for token in self.tokens]
        return said + _core.highlight_render(spaced, self.weights, {"format": "html"}, None)

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Tagging:
    """The labels of the tokens of a line.

    >>> data = [(f"a b {n}", "X Y X") for n in range(40)]
    >>> model = attend.train("tag", data, hidden_size=8, steps=2, progress=False)
    >>> tagging = model.tag("a b")
    >>> tagging.tokens, len(tagging.labels)
    (['a', 'b'], 2)
    """

    tokens: list[str]
    labels: list[str]
    probabilities: Array
    unknown_tokens: int
    truncated_input_tokens: int

    def __str__(self) -> str:
        return " ".join(f"{token}/{label}" for token, label in zip(self.tokens, self.labels))

"""Decoding step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attend import _core
from attend._core import Array
from attend._types import ArrayLike

if TYPE_CHECKING:
    from attend._model import Model


class SessionStep(NamedTuple):
    """log_probs [rows, vocabulary] of the next token; attention [rows, layers, heads, source] and
    hidden states [rows, size] where they were asked for."""

    log_probs: Array
    attention: Array | None
    hidden: Array | None


class Session:
    """Decoding token by token, for a search of your own. For one thread at a time.

    >>> pairs = attend.datasets.reverse(train_count=200)
    >>> model = attend.train("pairs", pairs, hidden_size=8, steps=2, progress=False)
    >>> session = model.session()
    >>> session.start(["ab"])
    >>> step = session.step([session.start_token])
    >>> step.log_probs.shape == (1, session.vocab_size)
    True
    """

    def __init__(
        self,
        model: Model,
        *,
        ensemble: Sequence[Model] = (),
        attention: bool = False,
        hidden_states: bool = False,
    ) -> None:
        models = (model._get(), *(other._get() for other in ensemble))
        self._handle = _core.session_new(models, attention, hidden_states)

    def start(self, sources: Iterable[str] | Iterable[Sequence[int]] | int | ArrayLike) -> None:
        """Starts with new sources: lines; sequences of token ids of the source vocabulary; image
        features; or for language models a number of rows.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> session = model.session()
        >>> session.start(["ab", "abc"])
        >>> session.source_tokens(1)
        ['a', 'b', 'c']
        """
        if isinstance(sources, str):
            sources = [sources]
        _core.session_start(self._handle, sources)

    def step(self, tokens: Sequence[int], order: Sequence[int] | None = None) -> SessionStep:
        """Feeds one token to each row; row r continues row order[r] of the step before.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> session = model.session()
        >>> session.start(["ab"])
        >>> step = session.step([session.start_token])
        >>> step.log_probs.shape == (1, session.vocab_size)
        True
        """
        return SessionStep(**_core.session_step(self._handle, tokens, order))

    def feed(self, tokens: Sequence[Sequence[int]]) -> SessionStep:
        """Feeds several tokens to each row, [rows, count]: a prompt, or a forced prefix. Returns
        the result of the last.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> session = model.session()
        >>> session.start(["ab"])
        >>> ids = [token.id for token in model.tokenize("ba", "target")]
        >>> step = session.feed([[session.start_token, *ids]])
        >>> step.log_probs.shape == (1, session.vocab_size)
        True
        """
        lengths = {len(row) for row in tokens}
        if len(lengths) != 1:
            raise ValueError(f"tokens: expected rows of one length, found {sorted(lengths)}")
        flat = [token for row in tokens for token in row]
        return SessionStep(**_core.session_feed(self._handle, flat, len(tokens)))

    @property
    def start_token(self) -> int:
        """The token to feed first."""
        return _core.session_facts(self._handle)[0]

    @property
    def end_token(self) -> int:
        """The token that ends an output; -1 where a text has no end."""
        return _core.session_facts(self._handle)[1]

    @property
    def vocab_size(self) -> int:
        """The size of the target vocabulary, with the tokens that sources add."""
        return _core.session_facts(self._handle)[2]

    def token(self, token: int, source: int = 0) -> str | None:
        """A target token as text.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> session = model.session()
        >>> session.start(["ab"])
        >>> session.token(model.tokenize("b", "target")[0].id)
        'b'
        """
        return _core.session_token(self._handle, source, token)

    def source_tokens(self, source: int = 0) -> list[str]:
        """The tokens of a source.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> session = model.session()
        >>> session.start(["ab"])
        >>> session.source_tokens()
        ['a', 'b']
        """
        return _core.session_source(self._handle, source)

"""Models."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

from attend import _core
from attend._core import Array
from attend._inspect import Cells, GradientFlow, HighlightedText
from attend._maps import AttentionMap, from_dict
from attend._results import Completion, Output, Prediction, Tagging, Token
from attend._session import Session
from attend._sheet import Sheet
from attend._types import ArrayLike

Path = str | os.PathLike[str]
# Not Iterable[str], which a str is too.
Lines = list[str] | tuple[str, ...] | Iterator[str]
Side = Literal["source", "target"]
Block = Literal["encoder", "decoder", "cross"]

_DECODING = {
    "beam", "n_best", "length_norm", "length_penalty", "coverage_penalty", "no_repeat_ngram",
    "min_output_length", "max_output_length", "min_length_ratio", "max_length_ratio", "sample",
    "temperature", "top_k", "top_p", "seed", "beam_stop",
}  # fmt: skip


class Parameters(Mapping[str, Array]):
    """The parameters of a model by name, as read-only arrays."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._names: list[str] = _core.model_tensor_names(handle)

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        return _core.model_tensor(self._handle, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Parameters({', '.join(self._names)})"


def _split(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the call, and those of decoding."""
    decoding = {key: value for key, value in options.items() if key in _DECODING}
    return {key: value for key, value in options.items() if key not in _DECODING}, decoding


class Model:
    """A trained model: settings, vocabularies and parameters, one .safetensors file.

    A model never changes, and any number of threads may use it at once. It can be pickled.

    >>> pairs = attend.datasets.reverse(train_count=200)
    >>> model = attend.train("pairs", pairs, hidden_size=8, steps=2, progress=False)
    >>> model.type
    'seq2seq'
    >>> model.save("model.safetensors")
    >>> attend.Model.load("model.safetensors").generate("ab").text == model.generate("ab").text
    True
    """

    def __init__(self, data: bytes, *, name: str = "model") -> None:
        self._set(_core.model_read(data, name))

    def _set(self, handle: Any) -> None:
        self._handle: Any = handle
        self.type: Literal["seq2seq", "lm", "classifier", "caption", "tagger"]
        self.type, self.has_tags, self._source_size, self._target_size = _core.model_facts(handle)

    @classmethod
    def _from(cls, handle: Any) -> Model:
        model = cls.__new__(cls)
        model._set(handle)
        return model

    def _get(self) -> Any:
        """The library's model. A call that has it keeps it, so close() during a call is safe."""
        handle = self._handle
        if handle is None:
            raise ValueError("model: expected an open model, found a closed one")
        return handle

    # ---- files

    @classmethod
    def load(cls, path: Path) -> Model:
        """Reads a model file; an attend.Error names the tensor that is wrong."""
        os.stat(path)  # FileNotFoundError and its like, as open() raises them
        return cls._from(_core.model_load(os.fspath(path)))

    def save(self, path: Path) -> None:
        """Writes the model file; nobody ever reads half of it."""
        handle = self._get()
        os.stat(os.path.dirname(os.fspath(path)) or ".")  # FileNotFoundError, as open() raises it
        _core.model_save(handle, os.fspath(path))

    def to_bytes(self) -> bytes:
        """The bytes of the model file; `Model(data)` reads them."""
        return _core.model_write(self._get())

    def close(self) -> None:
        """Releases the model, as soon as no call uses it any more."""
        self._handle = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        return (Model, (self.to_bytes(),))

    # ---- facts

    @property
    def info(self) -> Any:
        """Settings, parameters and the training record, as Python values."""
        return json.loads(_core.model_info(self._get(), True))

    @property
    def labels(self) -> list[str]:
        """The labels of a classifier or tagger, the most frequent in training first."""
        return _core.model_labels(self._get())

    @property
    def parameters(self) -> Parameters:
        """The parameters by name, as read-only arrays."""
        return Parameters(self._get())

    def replace_parameters(self, parameters: Mapping[str, ArrayLike]) -> Model:
        """A copy of the model with these parameters, by name."""
        return Model._from(_core.model_replace_tensors(self._get(), dict(parameters)))

    def vocab_size(self, side: Side = "target") -> int:
        """The number of tokens; 0 where the model has no such vocabulary."""
        return self._source_size if side == "source" else self._target_size

    def __str__(self) -> str:
        return _core.model_info(self._get(), False)

    def __repr__(self) -> str:
        return "Model(closed)" if self._handle is None else f"Model(type={self.type!r})"

    # ---- the tokenizer

    def tokenize(self, text: str, side: Side | None = None) -> list[Token]:
        """The tokens of a text, with the characters that each was made of."""
        side = side or ("target" if self.type in ("lm", "caption") else "source")
        rows = _core.model_encode(self._get(), side, text)
        if text.isascii():
            return [Token(*row) for row in rows]
        char_of = [i for i, char in enumerate(text) for _ in char.encode()] + [len(text)]
        return [
            Token(id, piece, char_of[start], char_of[end - 1] + 1 if end > start else char_of[end])
            for id, piece, start, end in rows
        ]

    def detokenize(self, ids: Sequence[int], side: Side = "target") -> str:
        """The text of token ids, without start and end tokens."""
        return _core.model_decode(self._get(), side, ids)

    def token(self, id: int, side: Side = "target") -> str | None:
        """The token of an id as text to display; None where the vocabulary lacks it."""
        return _core.model_token(self._get(), side, id)

    # ---- inference

    @overload
    def generate(self, lines: str, **options: Any) -> Output: ...

    @overload
    def generate(self, lines: Lines, **options: Any) -> list[Output]: ...

    def generate(
        self,
        lines: str | Lines,
        *,
        targets: Sequence[str] | None = None,
        prefixes: Sequence[str] | None = None,
        ensemble: Sequence[Model] = (),
        **options: Any,
    ) -> Output | list[Output]:
        """Outputs for one line or several (docs/running.md).

        Options: attention, all_heads, layer, head, replace_unknown, max_input_length,
        input_overflow, batch_size; of decoding: beam, n_best, length_norm, length_penalty,
        coverage_penalty, no_repeat_ngram, min_output_length, max_output_length, min_length_ratio,
        max_length_ratio, sample, temperature, top_k, top_p, seed, beam_stop. `targets` are forced
        outputs, `prefixes` what outputs start with.
        """
        one = isinstance(lines, str)
        texts = [lines] if isinstance(lines, str) else list(lines)
        own, decoding = _split(options)
        models = tuple(model._get() for model in ensemble)
        outputs = _core.generate(self._get(), texts, own, decoding, models, targets, prefixes)
        made = [Output(outputs, i) for i in range(len(texts))]
        return made[0] if one else made

    def caption(
        self, images: ArrayLike, *, ensemble: Sequence[Model] = (), **options: Any
    ) -> list[Output]:
        """Captions for image features [count, cells, depth] or [count, rows, columns, depth]."""
        own, decoding = _split(options)
        models = tuple(model._get() for model in ensemble)
        outputs = _core.caption(self._get(), images, own, decoding, models)
        return [Output(outputs, i) for i in range(_core.outputs_count(outputs))]

    @overload
    def classify(self, lines: str, **options: Any) -> Prediction: ...

    @overload
    def classify(self, lines: Lines, **options: Any) -> list[Prediction]: ...

    def classify(
        self, lines: str | Lines, *, ensemble: Sequence[Model] = (), **options: Any
    ) -> Prediction | list[Prediction]:
        """Labels of one line or several. Options: attention, max_input_length, input_overflow,
        batch_size."""
        one = isinstance(lines, str)
        texts = [lines] if isinstance(lines, str) else list(lines)
        models = tuple(model._get() for model in ensemble)
        labels = self.labels
        made = []
        for row in _core.classify(self._get(), texts, options, models):
            values = row.pop("probabilities")
            row.pop("index")
            chances = {} if values is None else dict(zip(labels, values.tolist()))
            made.append(Prediction(probabilities=chances, **row))
        return made[0] if one else made

    @overload
    def tag(self, lines: str, **options: Any) -> Tagging: ...

    @overload
    def tag(self, lines: Lines, **options: Any) -> list[Tagging]: ...

    def tag(
        self, lines: str | Lines, *, ensemble: Sequence[Model] = (), **options: Any
    ) -> Tagging | list[Tagging]:
        """A label for each whitespace-separated token of one line or several."""
        one = isinstance(lines, str)
        texts = [lines] if isinstance(lines, str) else list(lines)
        models = tuple(model._get() for model in ensemble)
        made = [Tagging(**row) for row in _core.tag(self._get(), texts, options, models)]
        return made[0] if one else made

    def complete(
        self,
        prompt: str = "",
        *,
        max_new_tokens: int = 100,
        ensemble: Sequence[Model] = (),
        **decoding: Any,
    ) -> Generator[str, None, Completion]:
        """Continues a text; a generator of the text of each token as soon as it is certain.

        The generator's return value is a Completion. Closing the generator ends the call.

        >>> text = "abcabcabc\\n" * 30
        >>> model = attend.train("lm", [text], hidden_size=8, steps=2, progress=False)
        >>> said = "".join(model.complete("ab", max_new_tokens=5, seed=1, sample=True))
        >>> len(said) <= 5
        True
        """
        handle = self._get()
        models = tuple(model._get() for model in ensemble)
        pieces: queue.SimpleQueue[Any] = queue.SimpleQueue()
        closed = threading.Event()

        def on_token(text: bytes, score: float) -> bool:
            pieces.put(text.decode())
            return not closed.is_set()

        def work() -> None:
            try:
                args = (handle, prompt, decoding, models, max_new_tokens, on_token)
                pieces.put(Completion(**_core.complete(*args)))
            except BaseException as error:
                pieces.put(error)

        # The library calls back; a generator is called: a thread stands between them.
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            while True:
                item = pieces.get()
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, Completion):
                    return item
                yield item
        finally:
            closed.set()
            thread.join()

    @overload
    def score(self, text: str) -> Completion: ...

    @overload
    def score(self, text: Sequence[str], targets: Sequence[str]) -> list[float]: ...

    def score(
        self,
        text: str | Sequence[str],
        targets: Sequence[str] | None = None,
        *,
        ensemble: Sequence[Model] = (),
    ) -> Completion | list[float]:
        """Log-probability of a text (language models), or of each target given its source line."""
        models = tuple(model._get() for model in ensemble)
        if self.type == "lm":
            handle = self._get()
            return Completion(**_core.score_text(handle, text, models, lambda text, score: True))
        if targets is None or isinstance(text, str) or isinstance(targets, str):
            raise TypeError("targets: expected a list of targets, one for each source line")
        forced: list[Output] = self.generate(list(text), targets=list(targets), ensemble=ensemble)
        return [output.score for output in forced]

    def evaluate(
        self,
        data: Path | Iterable[Any] | None = None,
        *,
        metrics: Sequence[str] | None = None,
        features: ArrayLike | None = None,
        ensemble: Sequence[Model] = (),
        resamples: int = 0,
        seed: int = 0,
        lowercase: bool = False,
        tokenizer: str | None = None,
        recorded_data: bool = False,
        **decoding: Any,
    ) -> dict[str, Any]:
        """Evaluates on a file, or on pairs (source, target), labelled sentences or texts.

        Returns the measures of the model's type (docs/metrics.md); text metrics are
        attend.metrics.Score objects. Without data: the validation data of training, if
        `recorded_data` allows to open the files that the model names.
        """
        from attend.metrics import Score

        path = os.fspath(data) if isinstance(data, (str, os.PathLike)) else None
        if path not in (None, "-"):
            os.stat(path)  # type: ignore[arg-type]
        examples = None if data is None or path is not None else iter(data)  # type: ignore[arg-type]
        models = tuple(model._get() for model in ensemble)
        options = {
            "resamples": resamples, "seed": seed, "lowercase": lowercase, "tokenizer": tokenizer,
        }  # fmt: skip
        result, scores, notes = _core.evaluate(
            self._get(), path, examples, features, decoding, models, list(metrics or ()), options,
            recorded_data,
        )  # fmt: skip
        out: dict[str, Any] = json.loads(result) if isinstance(result, str) else result
        for row in scores or ():
            score = Score(*row)
            out[score.name] = score
        if notes:
            out["notes"] = notes
        return out

    # ---- inside

    def attention_map(
        self,
        line: str,
        target: str | None = None,
        *,
        block: Block = "cross",
        layer: int = 0,
        head: int = 0,
        every_head: bool = False,
    ) -> AttentionMap:
        """Where the model attends: an AttentionMap, which shows itself.

        An RNN, and a Transformer with block="cross", layer 0 and head 0, attends from its output
        (or `target`, forced) to the source. A Transformer also has block="encoder" and
        "decoder", layers and heads from 1.
        """
        plain = block == "cross" and layer == 0 and head == 0 and not every_head
        if plain or self.type == "classifier":
            if self.type == "classifier":
                found = self.classify(line, attention=True)
                if found.weights is None:
                    raise ValueError("this model has no attention")
                rows = found.head_weights or found.weights
                shape = rows.shape if len(rows.shape) == 2 else (1, *rows.shape)
                values = [[row] for row in (rows.tolist() if rows.ndim == 2 else [rows.tolist()])]
                return AttentionMap(
                    Array(values, "float64"),
                    title=found.label,
                    query_labels=[found.label],
                    key_labels=found.tokens,
                    panel_labels=[f"head {i + 1}" for i in range(shape[0])],
                )
            targets = None if target is None else [target]
            return self.generate([line], targets=targets, attention=True)[0].attention_map()
        return from_dict(
            _core.attention_map(self._get(), block, layer, head, line, target, every_head)
        )

    def head_sheet(
        self,
        line: str,
        target: str | None = None,
        *,
        block: Block = "encoder",
        layer: int = 1,
        head: int = 1,
    ) -> Sheet:
        """One head of a Transformer as a worksheet: every number from its input to its output."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            self.save(os.path.join(folder, "model.safetensors"))
            args = (self._get(), block, layer, head, line, target, "model.safetensors")
            return Sheet(_core.head_sheet(*args), name="head", folder=folder)

    def unit_activations(
        self,
        text: str,
        unit: int,
        *,
        layer: int = 1,
        signal: Literal["default", "hidden", "cell"] = "default",
    ) -> HighlightedText:
        """The value of one unit of a recurrent model after each token of a text."""
        return HighlightedText(*_core.unit_activations(self._get(), text, layer, unit, signal))

    def cells(self, path: Path | None = None, *, text: str | None = None, **options: Any) -> Cells:
        """Units of a recurrent model that track a property of the text (docs/cells.md).

        Options: signal, held_out, max_tokens, n_best.
        """
        if (path is None) == (text is None):
            raise TypeError("cells() takes either a path or text=")
        where = None if path is None else os.fspath(path)
        return Cells(_core.cells(self._get(), where, text, options))

    def gradient_flow(self, text: str) -> GradientFlow:
        """Gradient norms of the last token's loss at the states before it."""
        loss, layers, svg = _core.gradient_flow(self._get(), text)
        return GradientFlow(loss, dict(layers), svg)

    def session(self, *, attention: bool = False, hidden_states: bool = False) -> Session:
        """A session for decoding step by step."""
        return Session(self, attention=attention, hidden_states=hidden_states)

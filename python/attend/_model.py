"""Models."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, overload

from attend import _core
from attend._compare import Comparison, comparison_row
from attend._core import Array
from attend._inspect import (
    AlternativeStep,
    Alternatives,
    BeamNode,
    BeamTree,
    Cells,
    GradientFlow,
    HighlightedText,
)
from attend._maps import AttentionMap, from_dict
from attend._options import DECODING, CaptionOptions, GenerateOptions
from attend._results import Completion, Output, Prediction, Tagging, Token
from attend._session import Session
from attend._sheet import Sheet
from attend._types import ArrayLike

if TYPE_CHECKING:
    from typing import Unpack

    from attend._options import (
        CellsOptions,
        ClassifyOptions,
        DecodingOptions,
        SearchOptions,
        TagOptions,
    )

Path = str | os.PathLike[str]
# Not Iterable[str], which a str is too.
Lines = list[str] | tuple[str, ...] | Iterator[str]
Side = Literal["source", "target"]
Block = Literal["encoder", "decoder", "cross"]
_OWN = {*CaptionOptions.__annotations__, *GenerateOptions.__annotations__}

class Parameters(Mapping[str, Array]):
    """The parameters of a model by name: read-only views of its memory, which they keep alive."""

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


def _split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the call, and those of decoding. A misspelled one goes where its name is near."""
    own: dict[str, Any] = {}
    decoding: dict[str, Any] = {}
    for key, value in options.items():
        near = key in DECODING or (key not in _OWN and get_close_matches(key, DECODING))
        (decoding if near else own)[key] = value
    return own, decoding


def _source(data: Path | Iterable[Any] | None) -> tuple[str | None, Iterator[Any] | None]:
    """A path, or an iterator of examples."""
    if data is None:
        return None, None
    if not isinstance(data, (str, os.PathLike)):
        return None, iter(data)
    path = os.fspath(data)
    if path != "-":
        os.stat(path)  # FileNotFoundError and its like, as open() raises them
    return path, None


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
    def load(
        cls, path: Path, *, precision: Literal["stored", "float32", "int8"] = "stored"
    ) -> Model:
        """Reads a model file; an attend.Error names the tensor that is wrong.

        With precision "int8" the weights of linear layers and embeddings become integers, which take
        a quarter of the memory; "stored" leaves them as they are in the file.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> model.save("model.safetensors")
        >>> attend.Model.load("model.safetensors", precision="int8").info["precision"]
        'int8'
        """
        os.stat(path)  # FileNotFoundError and its like, as open() raises them
        return cls._from(_core.model_load(os.fspath(path), precision))

    def quantize(self) -> Model:
        """A copy with int8 weights, for inference.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=2, progress=False)
        >>> model.quantize().info["precision"]
        'int8'
        """
        return Model._from(_core.model_quantize(self._get()))

    def save(self, path: Path) -> None:
        """Writes the model file; nobody ever reads half of it.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> model.save("model.safetensors")
        >>> attend.Model.load("model.safetensors").type
        'seq2seq'
        """
        handle = self._get()
        os.stat(os.path.dirname(os.fspath(path)) or ".")  # FileNotFoundError, as open() raises it
        _core.model_save(handle, os.fspath(path))

    def to_bytes(self) -> bytes:
        """The bytes of the model file; `Model(data)` reads them.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> attend.Model(model.to_bytes()).generate("ab").text == model.generate("ab").text
        True
        """
        return _core.model_write(self._get())

    def close(self) -> None:
        """Releases the model, as soon as no call uses it any more.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> model.close()
        >>> try:
        ...     model.generate("ab")
        ... except ValueError:
        ...     print("closed")
        closed
        """
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
        """A copy of the model with these parameters, by name.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> name, values = next(iter(model.parameters.items()))
        >>> same = model.replace_parameters({name: values})
        >>> same.generate("ab").text == model.generate("ab").text
        True
        """
        return Model._from(_core.model_replace_tensors(self._get(), dict(parameters)))

    def vocab_size(self, side: Side = "target") -> int:
        """The number of tokens; 0 where the model has no such vocabulary.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> model.vocab_size() == model.session().vocab_size
        True
        """
        return self._source_size if side == "source" else self._target_size

    def __str__(self) -> str:
        return _core.model_info(self._get(), False)

    def __repr__(self) -> str:
        return "Model(closed)" if self._handle is None else f"Model(type={self.type!r})"

    # ---- the tokenizer

    def tokenize(self, text: str, side: Side | None = None) -> list[Token]:
        """The tokens of a text, with the characters that each was made of.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> [(token.text, token.start, token.end) for token in model.tokenize("ab")]
        [('a', 0, 1), ('b', 1, 2)]
        """
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
        """The text of token ids, without start and end tokens.

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> model.detokenize([token.id for token in model.tokenize("a (b)")])
        'a (b)'
        """
        return _core.model_decode(self._get(), side, ids)

    def token(self, id: int, side: Side = "target") -> str | None:
        """The token of an id as text to display; None where the vocabulary lacks it.

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> model.token(model.tokenize("a")[0].id)
        'a'
        """
        return _core.model_token(self._get(), side, id)

    # ---- inference

    @overload
    def generate(
        self,
        lines: str,
        *,
        targets: Sequence[str] | None = None,
        prefixes: Sequence[str] | None = None,
        ensemble: Sequence[Model] = (),
        **options: Unpack[GenerateOptions],
    ) -> Output: ...

    @overload
    def generate(
        self,
        lines: Lines,
        *,
        targets: Sequence[str] | None = None,
        prefixes: Sequence[str] | None = None,
        ensemble: Sequence[Model] = (),
        **options: Unpack[GenerateOptions],
    ) -> list[Output]: ...

    def generate(
        self,
        lines: str | Lines,
        *,
        targets: Sequence[str] | None = None,
        prefixes: Sequence[str] | None = None,
        ensemble: Sequence[Model] = (),
        **options: Unpack[GenerateOptions],
    ) -> Output | list[Output]:
        """Outputs for one line or several (docs/running.md).

        Options: attention, all_heads, layer, head, replace_unknown, max_input_length,
        input_overflow, batch_size; of decoding: beam, n_best, length_norm, length_penalty,
        coverage_penalty, no_repeat_ngram, min_output_length, max_output_length, min_length_ratio,
        max_length_ratio, sample, temperature, top_k, top_p, seed, beam_stop. `targets` are forced
        outputs, `prefixes` what outputs start with.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> output = model.generate("ab", beam=2)
        >>> output.source_tokens
        ['a', 'b']
        >>> len(model.generate(["ab", "abc"]))
        2
        """
        one = isinstance(lines, str)
        texts = [lines] if isinstance(lines, str) else list(lines)
        own, decoding = _split(options)
        models = tuple(model._get() for model in ensemble)
        outputs = _core.generate(self._get(), texts, own, decoding, models, targets, prefixes)
        made = [Output(outputs, i) for i in range(len(texts))]
        return made[0] if one else made

    def caption(
        self,
        images: ArrayLike,
        *,
        ensemble: Sequence[Model] = (),
        **options: Unpack[CaptionOptions],
    ) -> list[Output]:
        """Captions for image features [count, cells, depth] or [count, rows, columns, depth].

        ImageEncoder.features() computes the features of an image. Options are those of generate().

        >>> images, captions = attend.datasets.shapes(train_count=20, image_size=24)
        >>> examples = list(enumerate(captions))
        >>> model = attend.train("caption", examples, features=images, valid_fraction=0.2,
        ...                      hidden_size=8, steps=1, progress=False)
        >>> len(model.caption(images))
        20
        """
        own, decoding = _split(options)
        models = tuple(model._get() for model in ensemble)
        outputs = _core.caption(self._get(), images, own, decoding, models)
        return [Output(outputs, i) for i in range(_core.outputs_count(outputs))]

    def images(self, path: Path | None = None, *, recorded_data: bool = False) -> Array:
        """Features of images for caption(): of a .npy file, scaled as in training; without a path
        the validation images of training, whose files are opened if `recorded_data` allows it.

        >>> images, captions = attend.datasets.shapes(train_count=20, image_size=24)
        >>> examples = list(enumerate(captions))
        >>> model = attend.train("caption", examples, features=images, valid_fraction=0.2,
        ...                      hidden_size=8, steps=1, progress=False)
        >>> import numpy
        >>> numpy.save("features.npy", images)
        >>> model.images("features.npy").shape == images.shape
        True
        """
        return _core.model_images(self._get(), path, recorded_data)

    @overload
    def classify(
        self, lines: str, *, ensemble: Sequence[Model] = (), **options: Unpack[ClassifyOptions]
    ) -> Prediction: ...

    @overload
    def classify(
        self, lines: Lines, *, ensemble: Sequence[Model] = (), **options: Unpack[ClassifyOptions]
    ) -> list[Prediction]: ...

    def classify(
        self,
        lines: str | Lines,
        *,
        ensemble: Sequence[Model] = (),
        **options: Unpack[ClassifyOptions],
    ) -> Prediction | list[Prediction]:
        """Labels of one line or several. Options: attention, max_input_length, input_overflow,
        batch_size.

        >>> data = [(f"{word} {n}", word) for n in range(20) for word in ("good", "bad")]
        >>> model = attend.train("classify", data, hidden_size=8, steps=1, progress=False)
        >>> model.classify("good 3").label in ("good", "bad")
        True
        """
        one = isinstance(lines, str)
        texts = [lines] if isinstance(lines, str) else list(lines)
        models = tuple(model._get() for model in ensemble)
        labels = self.labels
        made = []
        for row in _core.classify(self._get(), texts, {**options}, models):
            values = row.pop("probabilities")
            row.pop("index")
            chances = {} if values is None else dict(zip(labels, values.tolist()))
            made.append(Prediction(probabilities=chances, **row))
        return made[0] if one else made

    @overload
    def tag(
        self, lines: str, *, ensemble: Sequence[Model] = (), **options: Unpack[TagOptions]
    ) -> Tagging: ...

    @overload
    def tag(
        self, lines: Lines, *, ensemble: Sequence[Model] = (), **options: Unpack[TagOptions]
    ) -> list[Tagging]: ...

    def tag(
        self, lines: str | Lines, *, ensemble: Sequence[Model] = (), **options: Unpack[TagOptions]
    ) -> Tagging | list[Tagging]:
        """A label for each whitespace-separated token of one line or several.

        >>> data = [(f"a b {n}", "X Y X") for n in range(40)]
        >>> model = attend.train("tag", data, hidden_size=8, steps=1, progress=False)
        >>> len(model.tag("a b c").labels)
        3
        """
        one = isinstance(lines, str)
        texts = [lines] if isinstance(lines, str) else list(lines)
        models = tuple(model._get() for model in ensemble)
        made = [Tagging(**row) for row in _core.tag(self._get(), texts, {**options}, models)]
        return made[0] if one else made

    def tag_conll(
        self,
        path: Path,
        *,
        column: int = 0,
        ensemble: Sequence[Model] = (),
        **options: Unpack[TagOptions],
    ) -> str:
        """A CoNLL file with the label of each token as one more column.

        `column` has the tokens, counted from 1; 0: as in training.

        >>> data = [(f"a b {n}", "X Y X") for n in range(40)]
        >>> model = attend.train("tag", data, hidden_size=8, steps=1, progress=False)
        >>> with open("tokens.conll", "w") as file:
        ...     _ = file.write("a\\nb\\n\\na\\n")
        >>> [len(line.split()) for line in model.tag_conll("tokens.conll", column=1).splitlines()]
        [2, 2, 0, 2]
        """
        models = tuple(model._get() for model in ensemble)
        _source(path)  # FileNotFoundError and its like, as open() raises them
        return _core.tag_conll(self._get(), path, column, {**options}, models)

    def complete(
        self,
        prompt: str = "",
        *,
        max_new_tokens: int = 100,
        ensemble: Sequence[Model] = (),
        **decoding: Unpack[DecodingOptions],
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
                done = _core.complete(
                    handle, prompt, {**decoding}, models, max_new_tokens, on_token
                )
                pieces.put(Completion(**done))
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
    def score(self, text: str, *, ensemble: Sequence[Model] = ()) -> Completion: ...

    @overload
    def score(
        self, text: Sequence[str], targets: Sequence[str], *, ensemble: Sequence[Model] = ()
    ) -> list[float]: ...

    def score(
        self,
        text: str | Sequence[str],
        targets: Sequence[str] | None = None,
        *,
        ensemble: Sequence[Model] = (),
    ) -> Completion | list[float]:
        """Log-probability of a text (language models), or of each target given its source line.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> [score < 0 for score in model.score(["ab", "abc"], ["ba", "cba"])]
        [True, True]
        """
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
        format: str | None = None,
        columns: str | None = None,
        stride: int = 0,
        **decoding: Unpack[SearchOptions],
    ) -> dict[str, Any]:
        """Evaluates on a file, or on pairs (source, target), labelled sentences or texts.

        Returns the measures of the model's type (docs/metrics.md); text metrics are
        attend.metrics.Score objects. Without data: the validation data of training, if
        `recorded_data` allows to open the files that the model names. `seed` is that of the bootstrap
        and of sampling; `format` ("csv", "jsonl" …) and `columns` ("source,target") are those of a
        file, if not as in training; `stride` lets the contexts of a Transformer language model
        overlap; further options are those of decoding (generate()).

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> result = model.evaluate(pairs, metrics=["chrf"])
        >>> result["lines"], result["chrf"].value <= 100
        (200, True)
        """
        from attend.metrics import Score

        path, examples = _source(data)
        models = tuple(model._get() for model in ensemble)
        options = {
            "resamples": resamples, "seed": seed, "lowercase": lowercase, "tokenizer": tokenizer,
        }  # fmt: skip
        result, scores, notes = _core.evaluate(
            self._get(), path, examples, features, {**decoding, "seed": seed}, models,
            list(metrics or ()), options, recorded_data, format, columns, stride,
        )  # fmt: skip
        out: dict[str, Any] = json.loads(result) if isinstance(result, str) else result
        for row in scores or ():
            score = Score(*row)
            out[score.name] = score
        if notes:
            out["notes"] = notes
        return out

    def compare(
        self,
        baseline: Model | Sequence[Model],
        data: Path | Iterable[Any] | None = None,
        *,
        metrics: Sequence[str] | None = None,
        features: ArrayLike | None = None,
        ensemble: Sequence[Model] = (),
        resamples: int = 1000,
        seed: int = 0,
        lowercase: bool = False,
        tokenizer: str | None = None,
        recorded_data: bool = False,
        format: str | None = None,
        columns: str | None = None,
        **decoding: Unpack[SearchOptions],
    ) -> Comparison:
        """Compares this model with a baseline (a model, or several as an ensemble) on the same data,
        with paired significance tests. Arguments are those of evaluate().

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> comparison = model.compare(model, pairs, metrics=["chrf"], resamples=20)
        >>> type(comparison).__name__
        'Comparison'
        """
        path, examples = _source(data)
        others = (baseline,) if isinstance(baseline, Model) else tuple(baseline)
        options = {
            "resamples": resamples, "seed": seed, "lowercase": lowercase, "tokenizer": tokenizer,
        }  # fmt: skip
        lines, rows, notes = _core.models_compare(
            self._get(), tuple(model._get() for model in others), path, examples, features,
            {**decoding, "seed": seed}, tuple(model._get() for model in ensemble),
            list(metrics or ()), options, recorded_data, format, columns,
        )  # fmt: skip
        return Comparison(lines, [comparison_row(row) for row in rows], notes)

    # ---- inside

    def attention_map(
        self,
        line: str,
        target: str | None = None,
        *,
        block: Block | None = None,
        layer: int = 0,
        head: int = 0,
        every_head: bool = False,
    ) -> AttentionMap:
        """Where the model attends: an AttentionMap, which shows itself.

        By default, from the output (or `target`, forced) to the source; in a classifier, from its
        label to the tokens. A Transformer also has block="encoder" and "decoder" (the block of a
        language model), layers and heads from 1; layer 0 is the last, head 0 the mean of all.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> map = model.attention_map("ab", "ba")
        >>> map.key_labels[:2]
        ['a', 'b']
        """
        plain = block is None and layer == 0 and head == 0 and not every_head
        if plain and self.type == "classifier":
            return self.classify(line, attention=True).attention_map()
        if self.type == "seq2seq" and (plain or block == "cross") and not every_head:
            targets = None if target is None else [target]
            if layer == head == 0:
                return self.generate([line], targets=targets, attention=True)[0].attention_map()
        natural: Block = "encoder"
        if self.type in ("seq2seq", "lm"):
            natural = "cross" if self.type == "seq2seq" else "decoder"
        return from_dict(
            _core.attention_map(
                self._get(), block or natural, layer, head, line, target, every_head
            )
        )

    def attention_overview(
        self, line: str, target: str | None = None, *, block: Block = "encoder"
    ) -> AttentionMap:
        """All layers and heads of a block of a Transformer, as small panels.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, architecture="transformer", hidden_size=8, heads=2,
        ...                      layers=1, steps=1, progress=False)
        >>> model.attention_overview("ab").svg()[:100].count("<svg") == 1
        True
        """
        return from_dict(_core.attention_overview(self._get(), block, line, target))

    @property
    def attention_layers(self) -> dict[str, int]:
        """Layers of each block of attention of a Transformer, and "heads" of each layer."""
        names = ("encoder", "decoder", "cross", "heads")
        return dict(zip(names, _core.attention_layers(self._get())))

    def alternatives(
        self,
        line: str | ArrayLike,
        target: str | None = None,
        *,
        count: int = 5,
        ensemble: Sequence[Model] = (),
        **decoding: Unpack[DecodingOptions],
    ) -> Alternatives:
        """The most probable tokens at each step of an output or text, or the most probable labels.

        An output is `target`, or what generate() finds with these options. For a caption model,
        `line` is the features of one image, [1, cells, depth] or [1, rows, columns, depth].

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> "<html" in model.alternatives("ab", count=2).html()
        True
        """
        models = tuple(model._get() for model in ensemble)
        options: dict[str, Any] = {**decoding}
        rows, page = _core.alternatives(self._get(), line, target, count, options, models)
        return Alternatives([AlternativeStep(*row) for row in rows], page)

    def beam_tree(
        self,
        line: str | ArrayLike,
        *,
        ensemble: Sequence[Model] = (),
        **decoding: Unpack[DecodingOptions],
    ) -> BeamTree:
        """The beam search of generate() for one line as a tree; beam is at least 2.

        For a language model, `line` is the prompt, and max_output_length the number of new tokens
        (default 10). For a caption model, it is the features of one image, as in alternatives().

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> type(model.beam_tree("ab", beam=2)).__name__
        'BeamTree'
        """
        models = tuple(model._get() for model in ensemble)
        options: dict[str, Any] = {"beam": 4, **decoding}
        rows, svg, text = _core.beam_tree(self._get(), line, options, models)
        return BeamTree([BeamNode(*row) for row in rows], svg, text)

    def curves(self) -> str:
        """The learning curves of the training record as SVG.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> model.curves()[:100].count("<svg") == 1
        True
        """
        return _core.curves(self._get(), {"format": "svg"})

    def sheet(self, line: str, target: str | None = None, *, step: int = 0) -> Sheet:
        """The whole model on a line as a worksheet, from the embeddings to the probabilities; a
        large model in part. `step` is that of the decoder to work out, from 1.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> model.sheet("ab").check()
        """
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            self.save(os.path.join(folder, "model.safetensors"))
            text = _core.model_sheet(self._get(), line, target, step, "model.safetensors")
            return Sheet(text, name="model", folder=folder)

    def head_sheet(
        self,
        line: str,
        target: str | None = None,
        *,
        block: Block = "encoder",
        layer: int = 1,
        head: int = 1,
    ) -> Sheet:
        """One head of a Transformer as a worksheet: every number from its input to its output.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, architecture="transformer", hidden_size=8, heads=2,
        ...                      layers=1, steps=1, progress=False)
        >>> model.head_sheet("ab").check()
        """
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
        """The value of one unit of a recurrent model after each token of a text.

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> text = model.unit_activations("a (b)", 1)
        >>> "b" in text.text()
        True
        """
        return HighlightedText(*_core.unit_activations(self._get(), text, layer, unit, signal))

    def cells(
        self,
        path: Path | None = None,
        *,
        text: str | None = None,
        patterns: Sequence[str] = (),
        **options: Unpack[CellsOptions],
    ) -> Cells:
        """Units of a recurrent model that track a property of the text (docs/cells.md).

        `patterns` are further properties, "NAME=REGEX". Options: signal, held_out, max_tokens,
        n_best.

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> isinstance(model.cells(text="a (b) c\\n" * 150).json(), dict)
        True
        """
        if (path is None) == (text is None):
            raise TypeError("cells() takes either a path or text=")
        if path is not None and path != "-":
            os.stat(path)
        return Cells(_core.cells(self._get(), path, text, list(patterns), {**options}))

    def gradient_flow(self, text: str) -> GradientFlow:
        """Gradient norms of the last token's loss at the states before it.

        >>> model = attend.train("lm", ["a (b) c\\n" * 50], hidden_size=8, steps=1, progress=False)
        >>> type(model.gradient_flow("a (b) c")).__name__
        'GradientFlow'
        """
        loss, layers, svg = _core.gradient_flow(self._get(), text)
        return GradientFlow(loss, dict(layers), svg)

    def session(
        self,
        *,
        ensemble: Sequence[Model] = (),
        attention: bool = False,
        hidden_states: bool = False,
    ) -> Session:
        """A session for decoding step by step, with this model or an ensemble.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
        >>> session = model.session(attention=True)
        >>> session.start(["ab", "abc"])
        >>> session.step([session.start_token] * 2).log_probs.shape == (2, session.vocab_size)
        True
        """
        return Session(self, ensemble=ensemble, attention=attention, hidden_states=hidden_states)

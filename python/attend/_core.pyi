import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, overload

from attend._types import Activation, ArrayLike, DType, Layout, Normalizer, Score

version: str

class Error(ValueError):
    file: str
    line: int
    column: int
    message: str
    excerpt: str

class FileError(Error, OSError): ...
class UnsupportedError(Error, NotImplementedError): ...

_Index: TypeAlias = int | slice

class Array:
    def __init__(self, data: Any, dtype: DType = "float32") -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def readonly(self) -> bool: ...
    def tolist(self) -> Any: ...
    def numpy(self) -> Any: ...
    def torch(self) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    # A float where every dimension has an index, otherwise an Array.
    def __getitem__(self, key: _Index | tuple[_Index, ...]) -> Any: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(
        self,
        stream: Any = None,
        *,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

_Result: TypeAlias = Literal["scores", "weights", "log_sum_exp", "key_totals", "entropy"]
_Input: TypeAlias = Literal[
    "query", "key", "value", "score_w", "score_u", "score_b", "score_v", "bias", "alibi", "relative"
]

class _Problem(TypedDict, total=False):
    score: Score
    normalizer: Normalizer
    scale: float | None
    soft_cap: float | None
    causal: bool
    offset: int | Sequence[int]
    window: int | tuple[int | None, int | None] | None
    mask: ArrayLike | None
    bias: ArrayLike | None
    alibi: ArrayLike | None
    relative: ArrayLike | None
    query_lengths: Sequence[int] | None
    key_lengths: Sequence[int] | None
    query_offsets: Sequence[int] | None
    key_offsets: Sequence[int] | None
    blocks: Sequence[tuple[int, int]] | None
    block_size: tuple[int, int] | None
    dropout: float
    dropout_seed: int
    dropout_step: int
    dropout_layer: int
    score_w: ArrayLike | None
    score_u: ArrayLike | None
    score_b: ArrayLike | None
    score_v: ArrayLike | None
    layout: Layout

class _ForwardOptions(_Problem, total=False):
    rows: tuple[int, int] | None
    out: ArrayLike | None

class _BackwardOptions(_Problem, total=False):
    output: ArrayLike | None
    log_sum_exp: ArrayLike | None
    wanted: Sequence[_Input] | None

# An Array, or a tuple where return_weights or returns asks for more. With `out`, that object.
@overload
def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    return_weights: Literal[False] = False,
    **options: Unpack[_ForwardOptions],
) -> Array: ...
@overload
def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    return_weights: Literal[True],
    returns: Sequence[_Result] = (),
    **options: Unpack[_ForwardOptions],
) -> tuple[Array, ...]: ...
@overload
def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    return_weights: bool = False,
    returns: Sequence[_Result],
    **options: Unpack[_ForwardOptions],
) -> tuple[Array, ...]: ...
def attention_backward(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    output_grad: ArrayLike,
    **options: Unpack[_BackwardOptions],
) -> dict[str, Array]: ...
def threads(count: int = ..., /) -> int: ...
def cpu_name() -> str: ...

# The rest is for the modules of the package alone: library objects are capsules.
_Handle: TypeAlias = Any
_Options: TypeAlias = dict[str, Any]

_Path: TypeAlias = str | bytes | os.PathLike[str]

def zeros(shape: Sequence[int], dtype: DType) -> Array: ...
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    bias: ArrayLike | None = None,
    activation: Activation = "none",
    add: bool = False,
    out: ArrayLike | None = None,
    columns: int = ...,
) -> Array: ...
def pack(b: ArrayLike) -> tuple[_Handle, tuple[int, int]]: ...

class _SheetResults(TypedDict):
    checks: int
    failures: list[tuple[int, int, str, str]]
    files: list[str]
    maps: list[dict[str, Any]]

def sheet_load(path: str) -> _Handle: ...
def sheet_read(text: str, name: str, folder: _Path | None) -> _Handle: ...
def sheet_render(sheet: _Handle, options: _Options) -> str: ...
def sheet_results(sheet: _Handle) -> _SheetResults: ...
def map_render(
    weights: Array,
    allowed: bytes | None,
    query_labels: list[str] | None,
    key_labels: list[str] | None,
    panel_labels: list[str] | None,
    marked: bytes | None,
    options: _Options,
    title: str | None,
    query_name: str | None,
    key_name: str | None,
    mark_name: str | None,
    panel_columns: int,
) -> str: ...
def highlight_render(
    tokens: Sequence[str], values: Array, options: _Options, title: str | None
) -> str: ...
def model_load(path: str, precision: str) -> _Handle: ...
def model_quantize(model: _Handle) -> _Handle: ...
def model_read(data: bytes, name: str) -> _Handle: ...
def model_save(model: _Handle, path: str) -> None: ...
def model_write(model: _Handle) -> bytes: ...
def model_info(model: _Handle, json: bool) -> str: ...
def model_facts(model: _Handle) -> tuple[Any, bool, int, int]: ...
def model_tensor_names(model: _Handle) -> list[str]: ...
def model_tensor(model: _Handle, name: str) -> Array: ...
def model_images(model: _Handle, path: _Path | None, recorded_data: bool) -> Array: ...
def model_replace_tensors(model: _Handle, tensors: dict[str, ArrayLike]) -> _Handle: ...
def model_labels(model: _Handle) -> list[str]: ...
def model_encode(model: _Handle, side: str, text: str) -> list[tuple[int, str, int, int]]: ...
def model_decode(model: _Handle, side: str, ids: Sequence[int]) -> str: ...
def model_token(model: _Handle, side: str, id: int) -> str | None: ...
def generate(
    model: _Handle,
    lines: Sequence[str],
    options: _Options,
    decoding: _Options,
    ensemble: tuple[_Handle, ...],
    targets: Sequence[str] | None,
    prefixes: Sequence[str] | None,
) -> _Handle: ...
def caption(
    model: _Handle,
    images: ArrayLike,
    options: _Options,
    decoding: _Options,
    ensemble: tuple[_Handle, ...],
) -> _Handle: ...
def outputs_count(outputs: _Handle) -> int: ...
def output_dict(outputs: _Handle, line: int, alternative: int) -> dict[str, Any]: ...
def output_map(
    outputs: _Handle, line: int, alternative: int, layer: int
) -> dict[str, Any] | None: ...
def output_json(outputs: _Handle, line: int, alternative: int) -> str: ...
def output_html(outputs: _Handle, line: int, alternative: int) -> str: ...
def output_overlay(
    place: tuple[_Handle, int, int], crop: bool, pixels: ArrayLike | None, options: _Options
) -> str: ...
def output_alignment(outputs: _Handle, line: int, alternative: int) -> str: ...
def classify(
    model: _Handle, lines: Sequence[str], options: _Options, ensemble: tuple[_Handle, ...]
) -> list[dict[str, Any]]: ...
def tag(
    model: _Handle, lines: Sequence[str], options: _Options, ensemble: tuple[_Handle, ...]
) -> list[dict[str, Any]]: ...
def tag_conll(
    model: _Handle, path: _Path, column: int, options: _Options, ensemble: tuple[_Handle, ...]
) -> str: ...
def complete(
    model: _Handle,
    prompt: str,
    decoding: _Options,
    ensemble: tuple[_Handle, ...],
    max_new_tokens: int,
    on_token: Callable[[bytes, float], bool],
) -> dict[str, Any]: ...
def score_text(
    model: _Handle,
    text: Any,
    ensemble: tuple[_Handle, ...],
    on_token: Callable[[bytes, float], bool],
) -> dict[str, Any]: ...
def evaluate(
    model: _Handle,
    path: str | None,
    examples: Iterator[Any] | None,
    features: ArrayLike | None,
    decoding: _Options,
    ensemble: tuple[_Handle, ...],
    metrics: Sequence[str],
    metric_options: _Options,
    recorded_data: bool,
    format: str | None,
    columns: str | None,
    stride: int,
) -> tuple[Any, list[tuple[Any, ...]] | None, str]: ...
def attention_map(
    model: _Handle,
    block: str,
    layer: int,
    head: int,
    line: str,
    target: str | None,
    every_head: bool,
) -> dict[str, Any]: ...
def attention_overview(
    model: _Handle, block: str, line: str, target: str | None
) -> dict[str, Any]: ...
def attention_layers(model: _Handle) -> tuple[int, int, int, int]: ...
def model_sheet(model: _Handle, line: str, target: str | None, step: int, file: str) -> str: ...
def alternatives(
    model: _Handle,
    line: str | ArrayLike,
    target: str | None,
    count: int,
    decoding: _Options,
    ensemble: tuple[_Handle, ...],
) -> tuple[
    list[tuple[str | None, float, int, list[tuple[str, float]], str | None]], str
]: ...
def beam_tree(
    model: _Handle,
    line: str | ArrayLike,
    decoding: _Options,
    ensemble: tuple[_Handle, ...],
) -> tuple[list[tuple[int, int, str, float, float, float, str]], str, str]: ...
def curves(model: _Handle, options: _Options) -> str: ...
def head_sheet(
    model: _Handle,
    block: str,
    layer: int,
    head: int,
    line: str,
    target: str | None,
    file: str,
) -> str: ...
def unit_activations(
    model: _Handle, text: str, layer: int, unit: int, signal: str
) -> tuple[str | None, list[str], Array]: ...
def cells(
    model: _Handle,
    path: _Path | None,
    text: str | None,
    patterns: Sequence[str],
    options: _Options,
) -> _Handle: ...
def cells_render(cells: _Handle, options: _Options) -> str: ...
def gradient_flow(model: _Handle, text: str) -> tuple[float, list[tuple[str, Array]], str]: ...
def session_new(models: tuple[_Handle, ...], attention: bool, hidden_states: bool) -> _Handle: ...
def session_start(session: _Handle, sources: Any) -> None: ...
def session_step(
    session: _Handle, tokens: Sequence[int], order: Sequence[int] | None
) -> dict[str, Any]: ...
def session_feed(session: _Handle, tokens: Sequence[int], rows: int) -> dict[str, Any]: ...
def session_facts(session: _Handle) -> tuple[int, int, int, int]: ...
def session_token(session: _Handle, source: int, token: int) -> str | None: ...
def session_source(session: _Handle, source: int) -> list[str]: ...
def training_new(
    task: str,
    settings: tuple[tuple[str, str], ...],
    train: Iterator[Any] | None,
    valid: Iterator[Any] | None,
    features: ArrayLike | None,
    valid_features: ArrayLike | None,
) -> _Handle: ...
def training_run(
    training: _Handle, steps: int, on_event: Callable[[dict[str, Any]], Any] | None
) -> bool: ...
def training_model(training: _Handle) -> _Handle: ...
def training_save(training: _Handle) -> None: ...
def training_state(training: _Handle) -> dict[str, Any]: ...
def synthetic_data(
    task: str, settings: tuple[tuple[str, str], ...], valid: bool
) -> tuple[str, Array | None]: ...
def setting_rows(task: str | None) -> list[tuple[str, str, str, str, list[str] | None]]: ...
def metrics_score(
    metrics: Sequence[str],
    hypotheses: Sequence[str],
    references: tuple[Sequence[str | None], ...],
    options: _Options,
) -> list[tuple[str, str, float, float, float, str, bool]]: ...
def metric_names() -> list[str]: ...
def models_compare(
    model: _Handle,
    baseline: tuple[_Handle, ...],
    path: str | None,
    examples: Iterator[Any] | None,
    features: ArrayLike | None,
    decoding: _Options,
    ensemble: tuple[_Handle, ...],
    metrics: Sequence[str],
    metric_options: _Options,
    recorded_data: bool,
    format: str | None,
    columns: str | None,
) -> tuple[int, list[tuple[Any, ...]], str]: ...
def metrics_compare(
    metrics: Sequence[str],
    hypotheses: Sequence[str],
    baseline: Sequence[str],
    references: tuple[Sequence[str | None], ...],
    options: _Options,
) -> tuple[int, list[tuple[Any, ...]], str]: ...
def search_run(
    task: str,
    settings: tuple[tuple[str, str], ...],
    on_event: Callable[[int, int, int, int, dict[str, Any]], Any] | None,
) -> tuple[list[tuple[Any, ...]], str, str] | None: ...
def exercise_load(path: _Path) -> _Handle: ...
def exercise_read(text: str, name: str, folder: _Path | None) -> _Handle: ...
def exercise_render(exercise: _Handle, variant: str, solution: bool, options: _Options) -> str: ...
def exercise_grade(
    exercise: _Handle, student: str, variant: str, answers: bytes, name: str
) -> _Handle: ...
def exercise_grade_file(exercise: _Handle, student: str, variant: str, path: _Path) -> _Handle: ...
def grading_facts(grading: _Handle) -> tuple[float, float, str | None]: ...
def grading_render(grading: _Handle, detail: str, options: _Options | None) -> str: ...
def gradings_render(gradings: tuple[_Handle, ...], options: _Options | None) -> str: ...
def image_load(path: _Path) -> tuple[bytes, int, int]: ...
def image_read(data: bytes | bytearray, name: str) -> tuple[bytes, int, int]: ...
def image_copy(pixels: ArrayLike) -> tuple[bytes, int, int]: ...
def image_png(pixels: ArrayLike) -> bytes: ...
def image_crop(pixels: ArrayLike, size: int) -> tuple[bytes, int, int]: ...
def encoder_load(path: _Path) -> _Handle: ...
def encoder_read(data: bytes, name: str) -> _Handle: ...
def encoder_save(encoder: _Handle, path: _Path) -> None: ...
def encoder_write(encoder: _Handle) -> bytes: ...
def encoder_facts(encoder: _Handle) -> tuple[list[str], int]: ...
def encoder_classify(encoder: _Handle, pixels: ArrayLike) -> Array: ...
def encoder_features(encoder: _Handle, pixels: ArrayLike) -> Array: ...
def encoder_fit(
    encoder: _Handle, features: ArrayLike, targets: ArrayLike, ridge: float
) -> tuple[_Handle, float]: ...
def import_formats() -> list[tuple[str, str, str, bool, bool]]: ...
def import_weights(
    format: str, path: _Path, tokens: str | None, tokenizer: _Path | None, precision: str
) -> bytes: ...

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

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

# The result is an Array, or a tuple where return_weights or returns asks for more.
def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    score: Score = "scaled",
    normalizer: Normalizer = "softmax",
    scale: float | None = None,
    soft_cap: float | None = None,
    causal: bool = False,
    offset: int | Sequence[int] = 0,
    window: int | tuple[int | None, int | None] | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    alibi: ArrayLike | None = None,
    relative: ArrayLike | None = None,
    query_lengths: Sequence[int] | None = None,
    key_lengths: Sequence[int] | None = None,
    query_offsets: Sequence[int] | None = None,
    key_offsets: Sequence[int] | None = None,
    blocks: Sequence[tuple[int, int]] | None = None,
    block_size: tuple[int, int] | None = None,
    dropout: float = 0,
    dropout_seed: int = 0,
    dropout_step: int = 0,
    dropout_layer: int = 0,
    score_w: ArrayLike | None = None,
    score_u: ArrayLike | None = None,
    score_b: ArrayLike | None = None,
    score_v: ArrayLike | None = None,
    layout: Layout = "bthd",
    rows: tuple[int, int] | None = None,
    return_weights: bool = False,
    returns: Sequence[_Result] = (),
    out: ArrayLike | None = None,
) -> Any: ...
def attention_backward(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    output_grad: ArrayLike,
    *,
    score: Score = "scaled",
    normalizer: Normalizer = "softmax",
    scale: float | None = None,
    soft_cap: float | None = None,
    causal: bool = False,
    offset: int | Sequence[int] = 0,
    window: int | tuple[int | None, int | None] | None = None,
    mask: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    alibi: ArrayLike | None = None,
    relative: ArrayLike | None = None,
    query_lengths: Sequence[int] | None = None,
    key_lengths: Sequence[int] | None = None,
    query_offsets: Sequence[int] | None = None,
    key_offsets: Sequence[int] | None = None,
    blocks: Sequence[tuple[int, int]] | None = None,
    block_size: tuple[int, int] | None = None,
    dropout: float = 0,
    dropout_seed: int = 0,
    dropout_step: int = 0,
    dropout_layer: int = 0,
    score_w: ArrayLike | None = None,
    score_u: ArrayLike | None = None,
    score_b: ArrayLike | None = None,
    score_v: ArrayLike | None = None,
    layout: Layout = "bthd",
    output: ArrayLike | None = None,
    log_sum_exp: ArrayLike | None = None,
    wanted: Sequence[str] | None = None,
) -> dict[str, Array]: ...
def threads(count: int = ..., /) -> int: ...
def cpu_name() -> str: ...

# The rest is for the modules of the package alone: library objects are capsules.
_Handle: TypeAlias = Any
_Options: TypeAlias = dict[str, Any]

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
def sheet_read(text: str, name: str, folder: str | None) -> _Handle: ...
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
) -> str: ...
def highlight_render(
    tokens: Sequence[str], values: Array, options: _Options, title: str | None
) -> str: ...
def model_load(path: str) -> _Handle: ...
def model_read(data: bytes, name: str) -> _Handle: ...
def model_save(model: _Handle, path: str) -> None: ...
def model_write(model: _Handle) -> bytes: ...
def model_info(model: _Handle, json: bool) -> str: ...
def model_facts(model: _Handle) -> tuple[Any, bool, int, int]: ...
def model_tensor_names(model: _Handle) -> list[str]: ...
def model_tensor(model: _Handle, name: str) -> Array: ...
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
def output_alignment(outputs: _Handle, line: int, alternative: int) -> str: ...
def classify(
    model: _Handle, lines: Sequence[str], options: _Options, ensemble: tuple[_Handle, ...]
) -> list[dict[str, Any]]: ...
def tag(
    model: _Handle, lines: Sequence[str], options: _Options, ensemble: tuple[_Handle, ...]
) -> list[dict[str, Any]]: ...
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
def cells(model: _Handle, path: str | None, text: str | None, options: _Options) -> _Handle: ...
def cells_render(cells: _Handle, options: _Options) -> str: ...
def gradient_flow(model: _Handle, text: str) -> tuple[float, list[tuple[str, Array]], str]: ...
def session_new(model: _Handle, attention: bool, hidden_states: bool) -> _Handle: ...
def session_start(session: _Handle, sources: Any) -> None: ...
def session_step(
    session: _Handle, tokens: Sequence[int], order: Sequence[int] | None
) -> dict[str, Any]: ...
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

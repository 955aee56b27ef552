"""Bad input raises an exception that names the argument and what was expected."""

from __future__ import annotations

import array
import resource
import signal
from collections.abc import Callable, Iterator
from typing import Any

import attend
import numpy as np
import pytest

Q = np.ones((2, 5, 2, 4), "f")
READ_ONLY = Q.copy()
READ_ONLY.flags.writeable = False
ODD = np.zeros((5, 9), np.uint8)[:, 1:].view("f")
HALF_STEP: Any = np.ndarray((5, 4), "f", bytes(100), strides=(18, 4))

CASES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"query": 3}, TypeError, "^query: expected an array"),
    ({"key": "abc"}, TypeError, "^key: expected an array"),
    ({"value": None}, TypeError, "^value: expected an array"),
    ({"query": Q.astype(int)}, attend.Error, "^query: expected elements of float32.*format"),
    ({"query": Q.astype(">f4")}, attend.Error, "^query: expected elements of float32"),
    ({"query": Q.astype(complex)}, attend.Error, "^query: expected elements of float32"),
    ({"query": Q[0, 0, 0]}, attend.Error, "^query: expected 2 to 4 dimensions, found 1"),
    ({"query": Q[None]}, attend.Error, "^query: expected 2 to 4 dimensions, found 5"),
    ({"key": Q[0]}, attend.Error, "^key: expected 4 dimensions, as query has, found 3"),
    ({"key": Q[:, :, :, :3]}, attend.Error, "key"),
    ({"value": Q[:, :3]}, attend.Error, "value"),
    ({"value": Q[:1]}, attend.Error, "value"),
    ({"query": ODD, "key": ODD, "value": ODD}, attend.Error, "^query: expected elements at addr"),
    ({"query": HALF_STEP}, attend.Error, "^query: expected strides of whole elements, found 18"),
    ({"score": "dots"}, attend.Error, '^score: expected one of "dot", .* found "dots"'),
    ({"score": 3}, TypeError, "^score: expected a str"),
    ({"score": "general"}, attend.Error, "score_w"),
    ({"normalizer": ""}, attend.Error, "^normalizer: expected one of"),
    ({"layout": "hbtd"}, attend.Error, "^layout: expected one of"),
    ({"scale": "big"}, TypeError, "^scale: "),
    ({"dropout": 1.5}, attend.Error, "dropout"),
    ({"offset": 1.5}, TypeError, "^offset: expected a sequence of integers"),
    ({"offset": [1]}, attend.Error, "^offset: expected 2 integers, found 1"),
    ({"offset": 2**70}, OverflowError, "^offset: "),
    ({"query_lengths": [1, 9]}, attend.Error, "length"),
    ({"key_lengths": [1, -1]}, attend.Error, "length"),
    ({"query_offsets": [0, 5]}, attend.Error, "query_offsets and key_offsets together"),
    ({"window": (1, 2, 3)}, attend.Error, "^window: "),
    ({"window": "x"}, TypeError, "^window: "),
    ({"blocks": [(0, 0)]}, attend.Error, "blocks and block_size together"),
    ({"blocks": [(0, 9)], "block_size": (2, 2)}, attend.Error, "block"),
    ({"blocks": [(0,)], "block_size": (2, 2)}, attend.Error, "^blocks: expected pairs"),
    ({"mask": np.ones((5, 5))}, attend.Error, "^mask: expected elements of bool"),
    ({"mask": np.ones((4, 5), bool)}, attend.Error, "^mask: .* found 4 where T is 5"),
    ({"bias": np.ones((2, 2, 2, 5, 5))}, attend.Error, "^bias: expected 1 to 4 dimensions"),
    ({"bias": np.ones((3, 5), "f")}, attend.Error, "bias"),
    ({"alibi": np.ones(3, "f")}, attend.Error, "alibi"),
    ({"rows": (3, 9)}, attend.Error, "^rows: expected .* between 0 and 5"),
    ({"rows": ()}, attend.Error, "^rows: "),
    ({"rows": (0, 2), "dropout": 0.5}, attend.Error, "^rows: expected no dropout"),
    ({"returns": ["weight"]}, attend.Error, '^returns: expected one of "scores"'),
    ({"returns": "weights"}, TypeError, "^returns: expected a sequence of str"),
    ({"returns": ["weights", "weights"]}, attend.Error, "^returns: expected each result once"),
    ({"out": READ_ONLY}, attend.Error, "^out: expected an array that can be written"),
    ({"out": np.ones((2, 5, 2, 3), "f")}, attend.Error, "output"),
    ({"out": np.broadcast_to(Q[:1], Q.shape)}, attend.Error, "^out: "),
    ({"out": Q}, attend.Error, "^out: expected memory of its own, found an overlap with query"),
    ({"causl": True}, TypeError, "no argument 'causl'; did you mean 'causal'"),
    ({"output_grad": Q}, TypeError, "no argument 'output_grad'"),
    ({" ": Q}, TypeError, "no argument ' '"),
]


@pytest.mark.parametrize("changes,kind,message", CASES)
def test_attention_refuses(changes: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call: Any = attend.attention
        call(**{"query": Q, "key": Q, "value": Q, **changes})


def test_missing_and_surplus_arguments_are_refused() -> None:
    call: Any = attend.attention
    with pytest.raises(TypeError, match="lacks its argument 'value'"):
        call(Q, Q)
    with pytest.raises(TypeError, match="takes 3 positional"):
        call(Q, Q, Q, Q)
    with pytest.raises(TypeError, match="two values of 'query'"):
        call(Q, Q, Q, query=Q)


def test_backward_refuses_gradients_that_do_not_fit() -> None:
    with pytest.raises(attend.Error, match="^output_grad: expected 4 dimensions"):
        attend.attention_backward(Q, Q, Q, Q[0])
    with pytest.raises(attend.Error, match="output"):
        attend.attention_backward(Q, Q, Q, Q[:, :2])
    with pytest.raises(attend.Error, match='^wanted: expected inputs that were given, found "bias"'):
        attend.attention_backward(Q, Q, Q, Q, wanted=["bias"])


def test_sizes_of_zero_are_valid() -> None:
    for shape in ((0, 5, 2, 4), (2, 0, 2, 4), (2, 5, 2, 0)):
        empty = np.ones(shape, "f")
        assert attend.attention(empty, empty, empty).shape == shape
    none = attend.attention(Q, Q[:, :0], Q[:, :0])
    assert (none.numpy() == 0).all()


def test_huge_shapes_do_not_crash() -> None:
    one = np.ones(1, "f")
    huge = np.lib.stride_tricks.as_strided(one, (1 << 20, 1 << 20, 1 << 20, 1), (0, 0, 0, 0))
    with pytest.raises((attend.Error, MemoryError)):
        attend.attention(huge, huge, huge)
    long = np.lib.stride_tricks.as_strided(one, (1, 1 << 40, 1, 1), (0, 0, 0, 0))
    with pytest.raises((attend.Error, MemoryError)):
        attend.attention(long, long, long, return_weights=True)


def test_matmul_refuses() -> None:
    a, b = np.ones((2, 3), "f"), np.ones((3, 4), "f")
    cases: list[tuple[Any, dict[str, Any], str]] = [
        ((a.astype(float), b), {}, "^a: expected elements of float32"),
        ((a, a), {}, "depth|rows|3"),
        ((a[0], b), {}, "^a: expected at least 2 dimensions"),
        ((a, b), {"bias": np.ones(3, "f")}, "bias"),
        ((a, b), {"activation": "relo"}, "^activation: expected one of"),
        ((a, b), {"out": READ_ONLY}, "^out: expected an array that can be written"),
    ]
    for args, keywords, message in cases:
        with pytest.raises(attend.Error, match=message):
            attend.matmul(*args, **keywords)
    with pytest.raises(attend.Error, match="^b: "):
        attend.PackedWeights(a.astype(float))


def test_ten_thousand_calls_leave_memory_flat(thin: int) -> None:
    def calls(count: int) -> int:
        for _ in range(count // thin):
            attend.attention(Q, Q, Q, returns=["weights", "entropy"], causal=True, offset=[1, 2])
            attend.attention_backward(Q, Q, Q, Q)
            try:
                attend.attention(Q, Q, Q, mask=Q)
            except attend.Error:
                pass
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = calls(2000)
    if thin == 1:  # quarantined memory grows under AddressSanitizer
        assert calls(10000) - before < 1000  # KB; a leak of one array per call is 3 MB
    else:
        calls(10000)


class Raising:
    """An array whose __dlpack__ raises, as a tensor that requires a gradient."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        raise RuntimeError("requires grad")


def test_arrays_that_raise_are_named_in_every_call() -> None:
    a, bad = np.ones((2, 2), "f"), Raising()
    model = attend.train("reverse", train_count=50, valid_count=5, hidden_size=4, steps=1,
                         progress=False)
    calls: list[tuple[str, Callable[[], object]]] = [
        ("query", lambda: attend.attention(bad, a, a)),
        ("mask", lambda: attend.attention(a, a, a, mask=bad)),
        ("out", lambda: attend.attention(a, a, a, out=bad)),
        ("output_grad", lambda: attend.attention_backward(a, a, a, bad)),
        ("a", lambda: attend.matmul(bad, a)),
        ("bias", lambda: attend.matmul(a, a, bias=bad)),
        ("b", lambda: attend.PackedWeights(bad)),
        ("data", lambda: attend.Array(bad)),
        ("data", lambda: attend.AttentionMap(bad)),
        ("pixels", lambda: attend.Image(bad)),
        ("images", lambda: model.caption(bad)),
        ("sources", lambda: model.session().start(bad)),
        ("features", lambda: model.evaluate([("a", "a")], features=bad)),
        ("features", lambda: attend.train("caption", [(0, "a")], features=bad)),
        ("output.bias", lambda: model.replace_parameters({"output.bias": bad})),
    ]
    for name, call in calls:
        with pytest.raises(attend.Error, match=f"^{name}: its __dlpack__ failed: requires grad"):
            call()


def test_memory_in_use_cannot_be_freed_by_others() -> None:
    """array.array refuses to move its memory while a call has it."""
    flat = array.array("d", bytes(8 * 4000 * 64))
    said: list[str] = []

    def handler(*_: object) -> None:
        try:
            flat.append(1.0)
        except BufferError as error:
            said.append(str(error))
            raise KeyboardInterrupt from None

    rows = memoryview(flat).cast("B").cast("d", [4000, 64])
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            while True:
                attend.attention(rows, rows, rows)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert said


def test_calls_on_models_and_sheets_leave_memory_flat(thin: int) -> None:
    pairs = [("ab", "ba"), ("abc", "cba")] * 20
    model = attend.train("pairs", pairs, valid=pairs, hidden_size=8, steps=1, progress=False)
    name = next(iter(model.parameters))

    def failing() -> Iterator[Any]:
        yield pairs[0]
        raise LookupError

    def once() -> None:
        parameter = model.parameters[name]
        np.asarray(parameter)
        parameter.__dlpack__()
        output = model.generate("ab", attention=True, beam=2, n_best=2)
        output.attention_map().svg()
        output.alternatives
        session = model.session(attention=True)
        session.start(["ab", "a"])
        session.step([session.start_token] * 2)
        model.tokenize("abc")
        attend.Sheet("a = softmax([1 2])")["a"]
        attend.metrics.score(["a b"], [["a c"], [None]], ["bleu", "ter"], resamples=5)
        for wrong in (lambda: model.evaluate(failing()), lambda: attend.Sheet("a = ["),
                      lambda: model.generate([None]), lambda: session.step([10**6])):  # type: ignore[list-item]
            with pytest.raises((LookupError, ValueError, TypeError)):
                wrong()

    def calls(count: int) -> int:
        for _ in range(count // thin):
            once()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = calls(150)
    after = calls(300)
    assert thin > 1 or after - before < 1500  # KB

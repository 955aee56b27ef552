"""Signal handlers run during every long call, and their exception ends it (Ctrl-C).

The handler raises when it runs for the second time. A call that did not let handlers run would end
first: signals that come meanwhile run the handler once. bench/python measures the time that it takes."""

from __future__ import annotations

import functools
import os
import pathlib
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attend
import attend.datasets
import attend.metrics
import numpy as np
import pytest

Call = Callable[[], object]


@contextmanager
def alarm() -> Iterator[None]:
    """Raises KeyboardInterrupt at the second of many alarms."""
    count = [0]

    def handler(*_: object) -> None:
        count[0] += 1
        if count[0] == 2:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def interrupt(call: Call) -> None:
    with pytest.raises(KeyboardInterrupt), alarm():
        call()
    q = np.ones((2, 2))  # The library can be used after that.
    assert attend.attention(q, q, q).shape == (2, 2)


@functools.cache
def seq2seq() -> attend.Model:
    return attend.train("reverse", train_count=200, valid_count=10, hidden_size=8, steps=2,
                        progress=False)


@functools.cache
def lm() -> attend.Model:
    return attend.train("lm", ["a (b) c\n" * 200], hidden_size=8, steps=2, progress=False)


@functools.cache
def classifier() -> attend.Model:
    data = [(f"{word} {n}", word) for n in range(40) for word in ("good", "bad")]
    return attend.train("classify", data, hidden_size=8, steps=2, progress=False)


LINES = ["abcdefgh" * 5] * 20000
TEXT = "a (b) c\n" * 200000
PAIRS = [("abc", "cba")] * 2000


@functools.lru_cache(maxsize=2)  # made once: NumPy lets no handler run while it fills memory
def values(*shape: int, dtype: str = "f") -> Any:
    return np.ones(shape, dtype)


def attention_float() -> object:
    q = values(1, 60000, 2, 64)
    return attend.attention(q, q, q)


def attention_double() -> object:
    q = values(1, 30000, 4, 64, dtype="d")
    return attend.attention(q, q, q)


def backward() -> object:
    q = values(1, 30000, 2, 64)
    return attend.attention_backward(q, q, q, q)


def product() -> object:
    a = values(4000, 4000)
    return attend.matmul(a, a)


def packed_product() -> object:
    a, b = values(20000, 2000), values(2000, 2000)
    return attend.matmul(a, attend.PackedWeights(b))


def train() -> object:
    return attend.train("reverse", hidden_size=256, steps=10**6, progress=False)


def train_step() -> object:
    # One step of a large batch takes longer than the alarm; no Python runs during it.
    run = attend.Training("reverse", hidden_size=1024, batch_tokens=100000, steps=10**6)
    run.advance(1000)
    return run


def search() -> object:
    return attend.search("reverse", tries=4, out="o.safetensors", hidden_size=256, steps=10**5,
                         progress=False)


def examples_that_call() -> object:
    """Calls inside a call leave the outer one interruptible."""
    def examples() -> Iterator[Any]:
        q = values(2, 2)
        for pair in PAIRS:
            attend.attention(q, q, q)
            yield pair

    return seq2seq().evaluate(examples(), metrics=["chrf"], resamples=10**6)


CALLS: list[tuple[str, Call]] = [
    ("attention_float", attention_float),
    ("attention_double", attention_double),
    ("backward", backward),
    ("product", product),
    ("packed_product", packed_product),
    ("sheet", lambda: attend.Sheet("a = ones(3000, 3000)\nb = a * a\n")),
    ("train", train),
    ("train_step", train_step),
    ("search", search),
    ("generate", lambda: seq2seq().generate(LINES, beam=8)),
    ("score", lambda: seq2seq().score(LINES, LINES)),
    ("classify", lambda: classifier().classify(["good bad " * 40] * 10000)),
    ("evaluate", lambda: seq2seq().evaluate(PAIRS, metrics=["chrf"], resamples=10**6)),
    ("examples_that_call", examples_that_call),
    ("compare", lambda: seq2seq().compare(seq2seq(), PAIRS, resamples=10**6)),
    ("complete", lambda: "".join(lm().complete("a", max_new_tokens=10**7))),
    ("score_text", lambda: lm().score(TEXT * 4)),
    ("cells", lambda: lm().cells(text=TEXT, max_tokens=10**8)),
    ("gradient_flow", lambda: lm().gradient_flow(TEXT[:200000])),
    ("tokenize", lambda: lm().tokenize(TEXT * 2)),
    ("bootstrap", lambda: attend.metrics.chrf(["a b"] * 3000, ["a c"] * 3000, resamples=10**6)),
    ("paired", lambda: attend.metrics.compare(["a b"] * 3000, ["a c"] * 3000, ["a b"] * 3000,
                                              ["ter"], resamples=10**6)),
    ("ter", lambda: attend.metrics.ter([" ".join("abcdefghij" * 12)] * 20000,
                                       [" ".join("jihgfedcba" * 12)] * 20000)),
    ("datasets", lambda: attend.datasets.reverse(train_count=3 * 10**6, max_string_length=20)),
]  # fmt: skip


# Under the sanitizers, whose calls are slow, a part of them.
TESTED = CALLS[::4] if os.environ.get("ATTEND_TEST_SANITIZE") else CALLS


@pytest.mark.parametrize("name,call", TESTED, ids=[name for name, _ in TESTED])
def test_an_alarm_ends(name: str, call: Call, tmp_path: pathlib.Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for model in (seq2seq, lm, classifier):
        model()  # trained before the alarm is set
    interrupt(call)


def test_an_alarm_ends_an_import(tmp_path: pathlib.Path) -> None:
    """A checkpoint of llama2.c of 200 MB, most of it a hole in the file."""
    path = tmp_path / "stories.bin"
    vocab = 32000
    path.write_bytes(struct.pack("<7i", 1024, 1024, 2, 8, 8, vocab, 64))
    pieces = [b"<unk>", b"\n<s>\n", b"\n</s>\n", *(b"<0x%02X>" % i for i in range(256))]
    pieces += [b"p%d" % i for i in range(vocab - len(pieces))]
    records = b"".join(struct.pack("<fi", -float(i), len(p)) + p for i, p in enumerate(pieces))
    (tmp_path / "tokenizer.bin").write_bytes(struct.pack("<i", 9) + records)
    layer = 4 * 1024 * 1024 + 3 * 1024 * 1024 + 2 * 1024
    floats = vocab * 1024 + 2 * layer + 1024 + 64 * 128
    with path.open("r+b") as file:
        file.truncate(28 + 4 * floats)
    interrupt(lambda: attend.import_weights("llama2c", path))


def test_a_callback_may_catch_what_ended_a_call_inside() -> None:
    """The outer call ends too: its thread was told to."""
    caught = []
    q = np.ones((1, 2000, 1, 32))

    def examples() -> Iterator[Any]:
        for pair in [("ab", "ba")] * 3:
            try:
                attend.attention(q, q, q)
            except KeyboardInterrupt:
                caught.append(1)
            yield pair

    with pytest.raises(KeyboardInterrupt), alarm():
        seq2seq().evaluate(examples())
    assert caught

"""Arrays in and out: shared memory, lifetimes, what is refused."""

from __future__ import annotations

import array
import gc
import sys
import weakref
from typing import Any

import attend
import numpy as np
import pytest


def test_outputs_share_memory_with_numpy_and_memoryview() -> None:
    a = attend.Array([[1, 2, 3], [4, 5, 6]])
    n = np.asarray(a)
    n[1, 2] = 7
    box: Any = a
    view: Any = memoryview(box)
    assert a[1, 2] == 7 and view[1, 2] == 7
    assert np.shares_memory(n, np.from_dlpack(a)) and a.strides == (12, 4)


def test_array_converts_on_request() -> None:
    a = attend.Array([1, 2])
    assert a.__array__("float64").dtype == np.float64
    copy = a.__array__(copy=True)
    copy[0] = 9
    assert a[0] == 1 and np.shares_memory(a.__array__(), np.asarray(a))


def test_memory_lives_as_long_as_a_view() -> None:
    n = np.asarray(attend.Array(np.full((1000, 1000), 3.0)))[10:]
    part = attend.Array(np.full((50, 50), 4.0))[3]
    gc.collect()
    assert (n == 3).all() and part.tolist() == [4.0] * 50
    d = np.from_dlpack(attend.Array(np.full((1000, 1000), 5.0)))
    gc.collect()
    assert (d == 5).all()


def test_parts_are_views_with_python_rules() -> None:
    n = np.arange(24.0).reshape(2, 3, 4)
    a = attend.Array(n, dtype="float64")
    keys: Any = (1, -1, (0, 2), (slice(None), 1), (slice(None, None, -1), slice(1, 3)),
                (slice(5, 9),), (1, slice(2, 0, -1), slice(None, None, 2)))
    for key in keys:
        np.testing.assert_array_equal(a[key], n[key])
    assert a[1, 2, 3] == 23.0 and len(a) == 2 and [len(row) for row in a] == [3, 3]
    outside: Any = (2, -3, (0, 0, 9), (0, 0, 0, 0))
    for wrong in outside:
        with pytest.raises(IndexError):
            a[wrong]
    with pytest.raises(TypeError):
        a["x"]  # type: ignore[index]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_dtypes_keep_their_names(dtype: str) -> None:
    n = np.array([[1.5, -2], [0, 4]], dtype)
    a = attend.Array(n, dtype=dtype)  # type: ignore[arg-type]
    assert (a.dtype, a.shape, a.ndim, a.size) == (dtype, (2, 2), 2, 4)
    np.testing.assert_array_equal(np.asarray(a), n)
    assert np.asarray(a).dtype == dtype


def test_strides_need_no_copy() -> None:
    base = np.random.default_rng(1).normal(size=(2, 12, 3, 8)).astype("f")
    plain = attend.attention(base, base, base)
    views: Any = (
        (base[:, ::-1], lambda o: o[:, ::-1]),
        (np.asfortranarray(base), lambda o: o),
        (np.broadcast_to(base[:1], base.shape), None),
        (np.repeat(base, 2, axis=3)[..., ::2], lambda o: o),
    )
    for view, back in views:
        got = np.asarray(attend.attention(view, view, view))
        if back:
            np.testing.assert_allclose(back(got), plain, atol=1e-6)
        else:
            np.testing.assert_array_equal(got[1], np.asarray(plain)[0])


def test_array_array_and_memoryview_are_inputs() -> None:
    flat = array.array("f", range(6))
    rows = memoryview(flat).cast("B").cast("f", [3, 2])
    np.testing.assert_array_equal(attend.attention(rows, rows, rows),
                                  attend.attention(*[np.array(rows)] * 3))


class OnlyDlpack:
    """An array that has DLPack and no buffer, as a tensor of PyTorch."""

    def __init__(self, values: Any, **changes: Any) -> None:
        self.values, self.changes = values, changes

    def __dlpack_device__(self) -> Any:
        return self.changes.get("device", (1, 0))

    def __dlpack__(self, **keywords: Any) -> Any:
        if "raises" in self.changes:
            raise self.changes["raises"]
        if "returns" in self.changes:
            return self.changes["returns"]
        if self.changes.get("old") and keywords:
            raise TypeError("no keywords before 1.0")
        return self.values.__dlpack__(**keywords)


@pytest.mark.parametrize("old", [False, True])
def test_dlpack_inputs_need_no_buffer(old: bool) -> None:
    a = attend.Array(np.random.default_rng(1).normal(size=(3, 4)))
    box = OnlyDlpack(a, old=old)
    np.testing.assert_array_equal(attend.attention(box, box, box), attend.attention(a, a, a))
    before = sys.getrefcount(a)
    for _ in range(100):
        attend.attention(box, box, box)
    assert sys.getrefcount(a) == before


def test_dlpack_failures_name_the_argument_and_keep_the_cause() -> None:
    a = attend.Array([[1.0, 2.0]])
    cause = RuntimeError("requires grad")
    with pytest.raises(attend.Error, match="^key: its __dlpack__ failed: requires grad") as caught:
        attend.attention(a, OnlyDlpack(a, raises=cause), a)
    assert caught.value.__cause__ is cause
    with pytest.raises(KeyboardInterrupt):
        attend.attention(a, OnlyDlpack(a, raises=KeyboardInterrupt()), a)
    with pytest.raises(attend.Error, match="^value: .*memory of the CPU, found device type 2"):
        attend.attention(a, a, OnlyDlpack(a, device=(2, 0)))
    with pytest.raises(attend.Error, match="^value: its __dlpack_device__ failed"):
        attend.attention(a, a, OnlyDlpack(a, device="gpu"))
    with pytest.raises(attend.Error, match="^query: its __dlpack__ returned no DLPack capsule"):
        attend.attention(OnlyDlpack(a, returns=3), a, a)


def test_a_capsule_that_nobody_takes_frees_its_array() -> None:
    a = attend.Array([1.0])
    before = sys.getrefcount(a)
    for version in (None, (1, 0)):
        capsule = a.__dlpack__(max_version=version)
        assert sys.getrefcount(a) == before + 1
        del capsule
        assert sys.getrefcount(a) == before


def test_dlpack_copies_on_request() -> None:
    a = attend.Array([1.0, 2.0])
    before = sys.getrefcount(a)

    class Copied:
        def __dlpack_device__(self) -> tuple[int, int]:
            return a.__dlpack_device__()

        def __dlpack__(self, **keywords: Any) -> Any:
            return a.__dlpack__(**{**keywords, "copy": True})

    copied = np.from_dlpack(Copied())
    assert copied.tolist() == [1.0, 2.0] and not np.shares_memory(copied, np.asarray(a))
    del copied
    assert sys.getrefcount(a) == before


def test_dlpack_of_another_device_is_refused() -> None:
    a = attend.Array([1.0])
    assert a.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(2, 0))


def test_bfloat16_has_no_buffer_but_dlpack() -> None:
    a = attend.Array([1.0, 2.0], dtype="bfloat16")
    box: Any = a
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(box)
    assert attend.Array(a).tolist() == [1.0, 2.0]


def test_nested_sequences_must_fit() -> None:
    with pytest.raises(attend.Error, match="equal lengths, 2 in dimension 1"):
        attend.Array([[1, 2], [3]])
    with pytest.raises(TypeError, match="data"):
        attend.Array([["a"]])
    with pytest.raises(attend.Error, match="dtype"):
        attend.Array([1], dtype="int32")  # type: ignore[arg-type]
    deep: Any = [1.0]
    for _ in range(9):
        deep = [deep]
    with pytest.raises(attend.Error, match="at most 8"):
        attend.Array(deep)
    assert attend.Array([]).shape == (0,) and attend.Array(3.5).tolist() == 3.5


def test_inputs_may_be_freed_by_others_while_in_use() -> None:
    values = np.random.default_rng(1).normal(size=(2, 64, 2, 16)).astype("f")
    expected = attend.attention(values, values, values)
    got = attend.attention(*(values.copy() for _ in range(3)))
    np.testing.assert_array_equal(got, expected)
    reference = weakref.ref(values)
    del values
    assert reference() is None

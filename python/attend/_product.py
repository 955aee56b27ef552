"""Matrix products."""

from __future__ import annotations

from attend import _core
from attend._core import Array
from attend._types import Activation, ArrayLike


class PackedWeights:
    """A copy of a float32 matrix [depth, columns], laid out for use in many products.

    >>> weights = attend.PackedWeights(attend.Array([[1, 2], [3, 4]]))
    >>> attend.matmul(attend.Array([[1, 1]]), weights)
    Array([[4, 6]], dtype='float32')
    """

    __slots__ = ("_handle", "shape")

    shape: tuple[int, int]

    def __init__(self, b: ArrayLike) -> None:
        self._handle, self.shape = _core.pack(b)

    def __repr__(self) -> str:
        return f"PackedWeights(shape={self.shape})"


def matmul(
    a: ArrayLike,
    b: ArrayLike | PackedWeights,
    *,
    bias: ArrayLike | None = None,
    activation: Activation = "none",
    add: bool = False,
    out: ArrayLike | None = None,
) -> Array:
    """activation(a b + bias) in float32; leading dimensions are broadcast.

    The same bits on every machine and with any number of threads. With `add` the product is added
    to `out`.

    >>> a = attend.Array([[1, 2], [3, 4]])
    >>> attend.matmul(a, a, bias=attend.Array([-9, 0]), activation="relu")
    Array([[0, 10], [6, 22]], dtype='float32')
    """
    if isinstance(b, PackedWeights):
        columns = b.shape[1]
        return _core.matmul(
            a, b._handle, bias=bias, activation=activation, add=add, out=out, columns=columns
        )
    return _core.matmul(a, b, bias=bias, activation=activation, add=add, out=out)

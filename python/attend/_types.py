"""Types of arguments."""

from __future__ import annotations

from typing import Any, Literal

# Anything with the buffer protocol or __dlpack__. Neither has a type that a checker knows before
# Python 3.12 (collections.abc.Buffer).
ArrayLike = Any

Activation = Literal["none", "relu", "gelu", "silu", "tanh", "sigmoid"]
Score = Literal[
    "dot", "scaled", "general", "additive", "concat", "gaussian", "cosine", "location"
]
Normalizer = Literal["softmax", "mean", "sparsemax", "entmax", "sigmoid", "sum", "none"]
DType = Literal["float32", "float64", "float16", "bfloat16"]
Layout = Literal["bthd", "bhtd"]

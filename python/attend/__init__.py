"""Attention, worksheets, and training and inference of attention models.

The package is a thin layer over the C library libattend (docs/python.md). What is not needed is not
imported: `import attend` loads the extension alone, and each class when it is first used.
"""

from attend import _core
from attend._core import (
    Array,
    Error,
    FileError,
    UnsupportedError,
    attention,
    attention_backward,
    cpu_name,
    threads,
)

__version__ = _core.version

_LAZY = {
    "Alternatives": "_inspect",
    "AttentionMap": "_maps",
    "BeamTree": "_inspect",
    "Cells": "_inspect",
    "Comparison": "_compare",
    "Completion": "_results",
    "Exercise": "_exercise",
    "Grading": "_exercise",
    "GradientFlow": "_inspect",
    "HighlightedText": "_inspect",
    "Image": "_images",
    "ImageEncoder": "_images",
    "Model": "_model",
    "Output": "_results",
    "PackedWeights": "_product",
    "Prediction": "_results",
    "Search": "_search",
    "Session": "_session",
    "Sheet": "_sheet",
    "Tagging": "_results",
    "Token": "_results",
    "Training": "_train",
    "explain": "_sheet",
    "grade_table": "_exercise",
    "import_formats": "_images",
    "import_weights": "_images",
    "load_ipython_extension": "_magic",
    "matmul": "_product",
    "search": "_search",
    "settings": "_train",
    "train": "_train",
}
_MODULES = ("datasets", "metrics", "torch")

__all__ = [
    "Alternatives",
    "Array",
    "AttentionMap",
    "BeamTree",
    "Cells",
    "Comparison",
    "Completion",
    "Error",
    "Exercise",
    "FileError",
    "GradientFlow",
    "Grading",
    "HighlightedText",
    "Image",
    "ImageEncoder",
    "Model",
    "Output",
    "PackedWeights",
    "Prediction",
    "Search",
    "Session",
    "Sheet",
    "Tagging",
    "Token",
    "Training",
    "UnsupportedError",
    "attention",
    "attention_backward",
    "cpu_name",
    "explain",
    "grade_table",
    "import_formats",
    "import_weights",
    "matmul",
    "search",
    "settings",
    "threads",
    "train",
]


def __getattr__(name):
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"attend.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'attend' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"attend.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LAZY, *_MODULES})

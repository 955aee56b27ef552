"""The synthetic tasks as strings and arrays: the same data that `attend train` makes."""

from __future__ import annotations

from typing import Any

from attend import _core
from attend._core import Array
from attend._train import setting_pairs

__all__ = ["copy", "reverse", "shapes", "sort"]

Pairs = list[tuple[str, str]]


def _generate(task: str, valid: bool, settings: dict[str, Any]) -> tuple[str, Array | None]:
    return _core.synthetic_data(task, setting_pairs(settings), valid)


def _strings(task: str, valid: bool, settings: dict[str, Any]) -> Pairs:
    lines = _generate(task, valid, settings)[0].split("\n")[:-1]
    return [(source, target) for source, _, target in (line.partition("\t") for line in lines)]


def reverse(*, valid: bool = False, **settings: Any) -> Pairs:
    """Random strings and their reversals.

    Settings: train_count, valid_count, min_string_length, max_string_length, alphabet, data_seed.
    `valid` selects the validation strings, none of which is among the training strings.

    >>> attend.datasets.reverse(train_count=2, data_seed=1)[0][0][::-1] == (
    ...     attend.datasets.reverse(train_count=2, data_seed=1)[0][1])
    True
    """
    return _strings("reverse", valid, settings)


def copy(*, valid: bool = False, **settings: Any) -> Pairs:
    """Random strings and themselves; settings as of reverse().

    >>> all(source == target for source, target in attend.datasets.copy(train_count=5))
    True
    """
    return _strings("copy", valid, settings)


def sort(*, valid: bool = False, **settings: Any) -> Pairs:
    """Random strings and their sorted characters; settings as of reverse().

    >>> all("".join(sorted(s)) == t for s, t in attend.datasets.sort(train_count=5))
    True
    """
    return _strings("sort", valid, settings)


def shapes(*, valid: bool = False, **settings: Any) -> tuple[Array, list[str]]:
    """Images of two colored shapes [count, rows, columns, 3] and their captions.

    Settings: train_count, valid_count, image_size, data_seed.

    >>> images, captions = attend.datasets.shapes(train_count=2)
    >>> images.shape[0], len(captions), captions[0].split()[0]
    (2, 2, 'a')
    """
    text, images = _generate("shapes", valid, settings)
    assert images is not None
    return images, [line.partition("\t")[2] for line in text.split("\n")[:-1]]

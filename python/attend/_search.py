"""The search for settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from attend import _core
from attend._model import Model
from attend._train import Event, _Bar, setting_pairs

if TYPE_CHECKING:
    from typing import Unpack

    from attend._settings import Settings


class Try(NamedTuple):
    """One try of a search: how its settings differ from the given ones, how far it was trained."""

    options: str
    steps: int
    seconds: float
    best: dict[str, Any] | None


class Search(NamedTuple):
    """What a search found: the tries, the best first, the best model, and how to train it again.

    >>> found = attend.search("reverse", tries=2, out="best.safetensors", train_count=200,
    ...                       valid_count=20, hidden_size=8, steps=4, progress=False)
    >>> len(found.tries), found.model.type, found.command.split()[0]
    (2, 'seq2seq', 'reverse')
    """

    tries: list[Try]
    model: Model
    command: str
    path: str


def search(
    task: str,
    data: str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str],
    tries: int = 8,
    valid: str | os.PathLike[str] | None = None,
    callback: Callable[[Event], Any] | None = None,
    progress: bool = True,
    **settings: Unpack[Settings],
) -> Search:
    """Tries settings around the given ones, by successive halving, and trains the best to its end.

    `data` and `valid` are paths: each try reads them again. The first try has the given settings;
    those that were not given vary in the others. `callback` gets the events of training, with
    "try", "tries", "round" and "rounds"; an exception of it, or returning False, ends the search.
    The best model is written to `out`.

    >>> found = attend.search("copy", tries=2, out="copy.safetensors", train_count=200,
    ...                       valid_count=20, hidden_size=8, steps=2, progress=False)
    >>> found.tries[0].best is not None
    True
    """
    given: dict[str, Any] = {**settings}
    for key, path in (("train", data), ("valid", valid)):
        if path is not None and not isinstance(path, (str, os.PathLike)):
            name = "data" if key == "train" else key
            raise TypeError(f"{name}: expected a path, which every try reads, found {type(path)}")
        if path is not None:
            os.stat(path)
            given[key] = path
    given["try"] = tries
    given["out"] = out
    bar = _Bar() if progress else None

    def on_event(index: int, count: int, round: int, rounds: int, event: Event) -> Any:
        event.update({"try": index + 1, "tries": count, "round": round, "rounds": rounds})
        if bar is not None:
            bar(event)
        return None if callback is None else callback(event)

    try:
        found = _core.search_run(task, setting_pairs(given), on_event)
    finally:
        if bar is not None:
            bar.close()
    if found is None:
        raise InterruptedError("the search was ended by its callback")
    rows, command, path = found
    return Search([Try(*row) for row in rows], Model.load(path), command, path)

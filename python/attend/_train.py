"""Training."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from attend import _core
from attend._model import Model
from attend._types import ArrayLike

if TYPE_CHECKING:
    from typing import Unpack

    from attend._settings import Settings

Event = dict[str, Any]
Data = Any  # a path, or an iterable of pairs, labelled sentences, captions or texts


class Setting(NamedTuple):
    """A setting of training: its name as an argument, what it is, its choices."""

    name: str
    group: str
    type: str
    help: str
    choices: list[str] | None


def settings(task: str | None = None) -> dict[str, Setting]:
    """The settings of training, of one task or all, by their names as arguments.

    >>> attend.settings("pairs")["hidden_size"].type
    'integer'
    """
    rows = (Setting(row[0].replace("-", "_"), *row[1:]) for row in _core.setting_rows(task))
    return {row.name: row for row in rows}


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return repr(value) if isinstance(value, float) else str(value)


def setting_pairs(settings: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Keyword arguments as the keys and values of settings."""
    return tuple(
        (key.replace("_", "-"), _word(value))
        for key, value in settings.items()
        if value is not None
    )


def _is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


class Training:
    """A training run that is driven: some steps at a time, nothing saved unless asked for.

    `data` is a path; or an iterable: pairs (source, target), (sentence, label), (tokens, labels),
    (image number, caption), or pieces of text. None: the files that the settings name, or the
    task's own data (reverse, copy, sort, shapes). `settings` are those of `attend train`, with
    underscores.

    >>> run = attend.Training("reverse", train_count=200, valid_count=20, hidden_size=8)
    >>> run.advance(3)
    >>> run.steps, run.finished, run.model().type
    (3, False, 'seq2seq')
    """

    def __init__(
        self,
        task: str,
        data: Data = None,
        *,
        valid: Data = None,
        features: ArrayLike | None = None,
        valid_features: ArrayLike | None = None,
        out: str | os.PathLike[str] | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        given: dict[str, Any] = {**settings, "out": out}
        for key, source in (("train", data), ("valid", valid)):
            if _is_path(source):
                if source != "-":
                    os.stat(source)  # FileNotFoundError and its like, as open() raises them
                given[key] = source
        train_examples = None if data is None or _is_path(data) else iter(data)
        valid_examples = None if valid is None or _is_path(valid) else iter(valid)
        self._handle = _core.training_new(
            task, setting_pairs(given), train_examples, valid_examples, features, valid_features
        )

    def advance(self, steps: int, callback: Callable[[Event], Any] | None = None) -> None:
        """Makes up to `steps` optimizer steps, with the validations that fall due.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> run = attend.Training("pairs", pairs, hidden_size=8, steps=3)
        >>> run.advance(2)
        >>> run.steps
        2
        """
        if steps < 1:
            raise ValueError(f"steps: expected at least 1, found {steps}")
        _core.training_run(self._handle, steps, callback)

    def run(self, callback: Callable[[Event], Any] | None = None) -> None:
        """Trains to the end and writes the model and a checkpoint to the setting `out`.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> run = attend.Training("pairs", pairs, hidden_size=8, steps=3, out="model.safetensors")
        >>> run.run()
        >>> attend.Model.load("model.safetensors").type
        'seq2seq'
        """
        _core.training_run(self._handle, 0, callback)

    def save(self) -> None:
        """Writes the checkpoint and the best model so far.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> run = attend.Training("pairs", pairs, hidden_size=8, steps=3, out="model.safetensors")
        >>> run.advance(1)
        >>> run.save()
        """
        _core.training_save(self._handle)

    def model(self) -> Model:
        """A model with the best parameters so far.

        >>> pairs = attend.datasets.reverse(train_count=200)
        >>> run = attend.Training("pairs", pairs, hidden_size=8, steps=3)
        >>> run.advance(3)
        >>> run.model().type
        'seq2seq'
        """
        return Model._from(_core.training_model(self._handle))

    @property
    def state(self) -> dict[str, Any]:
        """Steps, validations, the best one, a report on the data and the model, an outlook."""
        return _core.training_state(self._handle)

    @property
    def steps(self) -> int:
        """Steps made so far."""
        return int(self.state["steps"])

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return bool(self.state["finished"])

    @property
    def validations(self) -> list[dict[str, Any]]:
        """Metrics of each validation so far."""
        return list(self.state["validations"])


class _Bar:
    """A progress bar on standard error: tqdm where it is installed, otherwise a line."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.done = 0
        try:
            from tqdm.auto import tqdm

            self.make: Any = tqdm
        except ImportError:
            self.make = None

    def __call__(self, event: Event) -> None:
        if self.make is not None:
            if self.bar is None:
                self.bar = self.make(total=event["steps"], unit="step")
            self.bar.update(event["step"] - self.done)
            self.done = event["step"]
        if event["event"] != "validated":
            return
        last = event["last"]
        text = f"loss {last['loss']:.3f}, accuracy {100 * last['accuracy']:.1f} %"
        if self.bar is not None:
            self.bar.set_postfix_str(text)
        else:
            print(f"step {event['step']} of {event['steps']}: {text}", file=sys.stderr)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def train(
    task: str,
    data: Data = None,
    *,
    valid: Data = None,
    features: ArrayLike | None = None,
    valid_features: ArrayLike | None = None,
    callback: Callable[[Event], Any] | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    **settings: Unpack[Settings],
) -> Model:
    """Trains a model and returns the best one.

    `task` is "pairs", "translate", "classify", "tag", "lm", "caption", or one that makes its own
    data: "reverse", "copy", "sort", "shapes". `data` and `valid` are paths, lists or iterators
    (attend.Training). `settings` are those of `attend train`, with underscores:
    `attend.settings(task)` lists them. `callback` gets a dict after each event ("step",
    "validating", "validated"); returning False ends the run, and the best model so far is
    returned. `progress` shows a bar. With `out` the model and a checkpoint are written, and an
    interrupted run can be resumed (resume=…); otherwise nothing is.

    >>> pairs = attend.datasets.reverse(train_count=200)
    >>> losses = []
    >>> model = attend.train("pairs", pairs, hidden_size=8, steps=4, progress=False,
    ...                      callback=lambda event: losses.append(event["loss"]))
    >>> len(losses) >= 4, model.type
    (True, 'seq2seq')
    """
    run = Training(
        task,
        data,
        valid=valid,
        features=features,
        valid_features=valid_features,
        out=out,
        **settings,
    )
    bar = _Bar() if progress else None

    def on_event(event: Event) -> Any:
        if bar is not None:
            bar(event)
        return None if callback is None else callback(event)

    try:
        if out is not None:
            run.run(on_event)
        else:
            stopped = False
            while not stopped and not run.finished:
                stopped = _core.training_run(run._handle, 1 << 40, on_event)
    finally:
        if bar is not None:
            bar.close()
    return run.model()

"""Text metrics: BLEU, chrF and TER as in sacreBLEU, error rates, CIDEr (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from attend import _core
from attend._compare import Comparison, comparison_row

if TYPE_CHECKING:
    from typing import Unpack

    from attend._options import MetricOptions

__all__ = [
    "Comparison",
    "Score",
    "bleu",
    "chrf",
    "cider",
    "compare",
    "names",
    "score",
    "ter",
    "wer",
]

Lines = Sequence[str]
References = Sequence[str] | Sequence[Sequence[str | None]]


class Score(NamedTuple):
    """The value of a metric; low and high bound 95 % of the bootstrap resamples, NaN without.

    >>> score = attend.metrics.bleu(["the cat sat on the mat"], ["the cat sat on the mat"])
    >>> print(score)
    BLEU = 100.00
    >>> score.signature.split("|")[0]
    'nrefs:1'
    """

    name: str
    title: str
    value: float
    low: float
    high: float
    signature: str
    lower_is_better: bool

    def __str__(self) -> str:
        spread = f" [{self.low:.2f}, {self.high:.2f}]" if self.low == self.low else ""
        return f"{self.title} = {self.value:.2f}{spread}"

    def __float__(self) -> float:
        return self.value


def _lines(lines: Lines, name: str) -> list[str]:
    if isinstance(lines, str):
        raise TypeError(f"{name}: expected a list of lines, found one str")
    return list(lines)


def _sets(references: References) -> tuple[Any, ...]:
    """One list of references, or several."""
    if isinstance(references, str):
        raise TypeError("references: expected a list of lines, found one str")
    if references and not isinstance(references[0], str):
        return tuple(list(lines or ()) for lines in references)
    return (list(references),)


def names() -> list[str]:
    """The names of all metrics.

    >>> "bleu" in attend.metrics.names()
    True
    """
    return _core.metric_names()


def score(
    hypotheses: Lines,
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf"),
    *,
    tokenizer: str | None = None,
    lowercase: bool = False,
    resamples: int = 0,
    seed: int = 0,
) -> list[Score]:
    """Scores lines against one list of references, or against several lists.

    With several, a line may agree with any; None where a line has fewer references. `tokenizer` is
    that of BLEU: "13a", "none", "char" or "intl". `resamples` is the number of bootstrap resamples
    for the intervals.

    >>> [str(s) for s in attend.metrics.score(["a b"], ["a c"], ["wer", "chrf"])]
    ['word error rate = 50.00', 'chrF2 = 25.00']
    """
    options = {
        "tokenizer": tokenizer, "lowercase": lowercase, "resamples": resamples, "seed": seed,
    }  # fmt: skip
    sets = _sets(references)
    rows = _core.metrics_score(list(metrics), _lines(hypotheses, "hypotheses"), sets, options)
    return [Score(*row) for row in rows]


def compare(
    hypotheses: Lines,
    baseline: Lines,
    references: References,
    metrics: Sequence[str] = ("bleu", "chrf"),
    *,
    tokenizer: str | None = None,
    lowercase: bool = False,
    resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compares two systems on the same lines, with the paired significance tests of sacreBLEU.

    >>> references = ["the cat sat on the mat", "a dog ran off"] * 8
    >>> same = attend.metrics.compare(references, references, references, ["ter"])
    >>> same["ter"].value == same["ter"].baseline
    True
    """
    options = {
        "tokenizer": tokenizer, "lowercase": lowercase, "resamples": resamples, "seed": seed,
    }  # fmt: skip
    lines, rows, notes = _core.metrics_compare(
        list(metrics), _lines(hypotheses, "hypotheses"), _lines(baseline, "baseline"),
        _sets(references), options,
    )  # fmt: skip
    return Comparison(lines, [comparison_row(row) for row in rows], notes)


def bleu(hypotheses: Lines, references: References, **options: Unpack[MetricOptions]) -> Score:
    """BLEU; options as of score().

    >>> round(attend.metrics.bleu(["the cat sat on a mat"], ["the cat sat on the mat"]).value, 2)
    53.73
    """
    return score(hypotheses, references, ["bleu"], **options)[0]


def chrf(hypotheses: Lines, references: References, **options: Unpack[MetricOptions]) -> Score:
    """chrF.

    >>> attend.metrics.chrf(["abc"], ["abc"]).value
    100.0
    """
    return score(hypotheses, references, ["chrf"], **options)[0]


def ter(hypotheses: Lines, references: References, **options: Unpack[MetricOptions]) -> Score:
    """Translation edit rate; lower is better.

    >>> attend.metrics.ter(["a b c"], ["a c b"]).lower_is_better
    True
    """
    return score(hypotheses, references, ["ter"], **options)[0]


def wer(hypotheses: Lines, references: References, **options: Unpack[MetricOptions]) -> Score:
    """Word error rate.

    >>> attend.metrics.wer(["a b"], ["a c"]).value
    50.0
    """
    return score(hypotheses, references, ["wer"], **options)[0]


def cider(hypotheses: Lines, references: References, **options: Unpack[MetricOptions]) -> Score:
    """CIDEr, for captions.

    >>> attend.metrics.cider(["a cat", "a dog"], ["a cat", "a dog"]).value > 0
    True
    """
    return score(hypotheses, references, ["cider"], **options)[0]

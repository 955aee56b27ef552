"""Text metrics: BLEU, chrF and TER as in sacreBLEU, error rates, CIDEr (docs/metrics.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from attend import _core

__all__ = ["Score", "bleu", "chrf", "cider", "names", "score", "ter", "wer"]

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
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise TypeError("expected lists of lines, found one str")
    sets: tuple[Any, ...]
    if references and not isinstance(references[0], str):
        sets = tuple(list(lines or ()) for lines in references)
    else:
        sets = (list(references),)
    options = {
        "tokenizer": tokenizer, "lowercase": lowercase, "resamples": resamples, "seed": seed,
    }  # fmt: skip
    rows = _core.metrics_score(list(metrics), list(hypotheses), sets, options)
    return [Score(*row) for row in rows]


def bleu(hypotheses: Lines, references: References, **options: Any) -> Score:
    """BLEU; options as of score().

    >>> round(attend.metrics.bleu(["the cat sat on a mat"], ["the cat sat on the mat"]).value, 2)
    53.73
    """
    return score(hypotheses, references, ["bleu"], **options)[0]


def chrf(hypotheses: Lines, references: References, **options: Any) -> Score:
    """chrF.

    >>> attend.metrics.chrf(["abc"], ["abc"]).value
    100.0
    """
    return score(hypotheses, references, ["chrf"], **options)[0]


def ter(hypotheses: Lines, references: References, **options: Any) -> Score:
    """Translation edit rate; lower is better.

    >>> attend.metrics.ter(["a b c"], ["a c b"]).lower_is_better
    True
    """
    return score(hypotheses, references, ["ter"], **options)[0]


def wer(hypotheses: Lines, references: References, **options: Any) -> Score:
    """Word error rate.

    >>> attend.metrics.wer(["a b"], ["a c"]).value
    50.0
    """
    return score(hypotheses, references, ["wer"], **options)[0]


def cider(hypotheses: Lines, references: References, **options: Any) -> Score:
    """CIDEr, for captions.

    >>> attend.metrics.cider(["a cat", "a dog"], ["a cat", "a dog"]).value > 0
    True
    """
    return score(hypotheses, references, ["cider"], **options)[0]

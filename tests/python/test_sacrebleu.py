"""Metrics equal those of sacreBLEU 2, where it is installed: on sentences of our own, and on its own
test inputs if ATTEND_SACREBLEU_TESTS names the folder `test` of its source distribution."""

from __future__ import annotations

import bz2
import importlib.util
import os
import pathlib
import pickle
from typing import Any

import attend
import attend.metrics
import numpy as np
import pytest

sacrebleu: Any = pytest.importorskip("sacrebleu")

HYPOTHESES = [
    "The cat sat on the mat.",
    "It wasn't surprising; nobody (really) was surprised, e.g. by 3.14 or 1,000.50!",
    "Der Zug fährt um 17:40 Uhr ab – pünktlich, wie „immer“.",
    "Vous êtes « déjà » là ? Non, pas encore…",
    "",
    "  two   spaces  and\ta tab ",
    "price: $5.00/kg (approx.), 20%-30% & more <b>bold</b> &quot;quoted&quot; &amp; &lt;done&gt;",
    "東京は日本の首都です。",
    "Это — предложение на русском языке.",
    "naïve café, coöperate; ﬁne ½ ² ÅÅ",
    "a a a a a a",
    "X-ray-like state-of-the-art well-known U.S.A. o'clock '90s rock'n'roll",
    "d e f g h a b c",
    "www.example.org/a_b?c=d#e, mail@example.org",
    "हिन्दी भाषा 😀 👩‍👩‍👧 ok",
]
REFERENCES = [
    [
        "The cat was sitting on the mat.",
        "It was not unexpected; no one was (really) surprised, for example by 3.14 or 1,000!",
        "Der Zug fährt um 17:40 Uhr pünktlich ab, wie „immer“.",
        "Êtes-vous « déjà » là ? Non, pas encore…",
        "something",
        "two spaces and a tab",
        "Price: $5/kg (approximately), 20% - 30% & more <b>bold</b> &quot;quoted&quot; &amp; done",
        "東京は日本国の首都である。",
        "Это русское предложение.",
        "naive café, cooperate; fine 1/2 2 ÅÅ",
        "a a a",
        "X-ray like state of the art well known USA oclock 90s rock and roll",
        "a b c d e f g h",
        "see www.example.org/a_b?c=d, or mail@example.org",
        "हिंदी भाषा 😀 👩‍👧 OK",
    ],
    [
        "A cat sat on a mat.",
        "Nobody was surprised.",
        "Pünktlich um 17:40 Uhr fährt der Zug ab.",
        "Vous voilà déjà ?",
        "",
        "two spaces",
        "It costs $5.00 per kg",
        "日本の首都は東京です。",
        "Предложение на русском языке — это.",
        "naïve café",
        "a a a a a a a a",
        "X-ray-like, state-of-the-art",
        "d e f a b c g h",
        "mail@example.org",
        "हिन्दी भाषा 😀",
    ],
]


def random_texts() -> list[list[str]]:
    rng = np.random.default_rng(1)
    words = ["the", "cat", "sat", "on", "a", "mat", ",", "and", "that", "'s", "3.5", "%", "of", "it",
             "!", "«", "déjà", "»", "vu"]
    return [[" ".join(rng.choice(words, rng.integers(1, 15))) for _ in range(50)] for _ in range(3)]


def agree(name: str, theirs: Any, hypotheses: Any, references: Any, **options: Any) -> None:
    """The same score to the tenth digit, and the same signature but for its version."""
    expected = theirs.corpus_score(list(hypotheses), [list(lines) for lines in references])
    found = attend.metrics.score(list(hypotheses), references, [name], **options)[0]
    assert found.value == pytest.approx(expected.score, rel=1e-10, abs=1e-10), (name, options)
    assert f"{found.value:.4f}" == f"{expected.score:.4f}"
    signature = theirs.get_signature().format(short=False)
    ours = dict(part.split(":") for part in found.signature.split("|"))
    fields = dict(part.split(":") for part in signature.split("|"))
    assert {key: ours.get(key) for key in fields if key != "version"} == {
        key: value for key, value in fields.items() if key != "version"}


def agree_in_all(hypotheses: Any, references: Any) -> None:
    metrics = sacrebleu.metrics
    for lowercase in (False, True):
        for tokenizer in ("13a", "none", "char", "intl"):
            theirs = metrics.BLEU(tokenize=tokenizer, lowercase=lowercase)
            agree("bleu", theirs, hypotheses, references, tokenizer=tokenizer, lowercase=lowercase)
        agree("chrf", metrics.CHRF(lowercase=lowercase), hypotheses, references, lowercase=lowercase)
        agree("ter", metrics.TER(), hypotheses, references, lowercase=lowercase)


@pytest.mark.parametrize("count", [1, 2])
def test_own_sentences_have_the_same_scores(count: int) -> None:
    agree_in_all(HYPOTHESES, REFERENCES[:count])
    hypotheses, *references = random_texts()
    agree_in_all(hypotheses, references[:count])


@pytest.mark.parametrize("line", range(len(HYPOTHESES)))
def test_single_sentences_have_the_same_scores(line: int) -> None:
    agree_in_all(HYPOTHESES[line : line + 1], [lines[line : line + 1] for lines in REFERENCES])


def own_tests(name: str) -> Any:
    folder = os.environ.get("ATTEND_SACREBLEU_TESTS")
    if not folder:
        pytest.skip("ATTEND_SACREBLEU_TESTS names no folder")
    spec = importlib.util.spec_from_file_location(name, pathlib.Path(folder) / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_bleu_of_their_inputs() -> None:
    theirs, sentence = own_tests("test_bleu"), own_tests("test_sentence_bleu")
    cases = [case[:2] for case in theirs.test_corpus_bleu_cases + theirs.test_raw_bleu_cases]
    cases += [case[:2] for case in theirs.test_case_effective_order + theirs.test_case_offset]
    cases += [([sentence.SYS], [[sentence.REF]]), ([sentence.SYS_0], [[sentence.REF_0]])]
    for hypotheses, references in cases:
        agree_in_all(hypotheses, references)


def test_chrf_of_their_inputs() -> None:
    theirs = own_tests("test_chrf")
    for hypotheses, references, *_ in theirs.test_cases + theirs.test_cases_keep_whitespace:
        agree_in_all(hypotheses, [references])
    for hypothesis, references, _ in theirs.test_sentence_level_chrf:
        agree_in_all([hypothesis], [references])


def test_ter_of_their_inputs() -> None:
    for hypotheses, references, _ in own_tests("test_ter").test_cases:
        agree_in_all(hypotheses, [references])


def test_systems_of_their_significance_test() -> None:
    own_tests("test_chrf")
    folder = pathlib.Path(os.environ["ATTEND_SACREBLEU_TESTS"])
    with bz2.BZ2File(folder / "wmt17_en_de_systems.pkl.bz2") as file:
        systems = pickle.load(file)  # of sacreBLEU's source distribution
    _, references = systems.pop()
    for _, hypotheses in systems[:4]:
        agree("bleu", sacrebleu.metrics.BLEU(), hypotheses, references)
        agree("chrf", sacrebleu.metrics.CHRF(), hypotheses, references)
    agree("ter", sacrebleu.metrics.TER(), systems[0][1][:300], [lines[:300] for lines in references])

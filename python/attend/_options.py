"""Types of the keyword arguments of calls on models."""

from __future__ import annotations

from typing import Literal, TypedDict


class SearchOptions(TypedDict, total=False):
    """Options of decoding without its seed, which evaluate() shares with the bootstrap."""

    beam: int
    n_best: int
    length_norm: Literal["mean", "gnmt", "none"]
    length_penalty: float
    coverage_penalty: float
    no_repeat_ngram: int
    min_output_length: int
    max_output_length: int
    min_length_ratio: float
    max_length_ratio: float
    sample: bool
    temperature: float
    top_k: int
    top_p: float
    beam_stop: Literal["heuristic", "exact"]


class DecodingOptions(SearchOptions, total=False):
    """Options of decoding (docs/running.md); the default is greedy."""

    seed: int


class CaptionOptions(DecodingOptions, total=False):
    """Options of Model.caption()."""

    attention: bool
    all_heads: bool
    layer: int
    head: int
    batch_size: int
    first_line: int


class GenerateOptions(CaptionOptions, total=False):
    """Options of Model.generate()."""

    replace_unknown: bool
    max_input_length: int
    input_overflow: Literal["refuse", "truncate"]


class TagOptions(TypedDict, total=False):
    """Options of Model.tag()."""

    max_input_length: int
    input_overflow: Literal["refuse", "truncate"]
    batch_size: int


class ClassifyOptions(TagOptions, total=False):
    """Options of Model.classify()."""

    attention: bool


class CellsOptions(TypedDict, total=False):
    """Options of Model.cells()."""

    signal: Literal["default", "hidden", "cell"]
    held_out: float
    max_tokens: int
    n_best: int


class MetricOptions(TypedDict, total=False):
    """Options of text metrics: the tokenizer of BLEU, lowercase text, bootstrap resamples."""

    tokenizer: Literal["13a", "none", "char", "intl"] | None
    lowercase: bool
    resamples: int
    seed: int


DECODING = frozenset({*SearchOptions.__annotations__, *DecodingOptions.__annotations__})

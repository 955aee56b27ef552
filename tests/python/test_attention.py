"""attend.attention and its backward against the formulas in NumPy, in double."""

from __future__ import annotations

import itertools
from typing import Any

import attend
import numpy as np
import pytest

Numbers = Any  # arrays of float64
B, T, S, H, K, M, A = 2, 5, 7, 2, 4, 3, 6
SCORES = ["dot", "scaled", "general", "additive", "concat", "gaussian", "cosine", "location"]
NORMALIZERS = ["softmax", "mean", "sparsemax", "entmax", "sigmoid", "sum", "none"]
PARAMETERS: dict[str, dict[str, tuple[int, ...]]] = {
    "general": {"score_w": (H, K, K)},
    "additive": {"score_w": (1, A, K), "score_u": (H, A, K), "score_b": (1, A), "score_v": (H, A)},
    "concat": {"score_v": (H, 2 * K)},
    "location": {"score_w": (H, S, K), "score_b": (1, S)},
}


def random(*shape: int, seed: int = 1) -> Numbers:
    return np.random.default_rng(seed).normal(size=shape) * 0.5


def parameters(score: str) -> dict[str, Numbers]:
    shapes = PARAMETERS.get(score, {})
    return {name: random(*shape, seed=9) for name, shape in shapes.items()}


def scores_of(score: str, q: Numbers, k: Numbers, p: dict[str, Numbers]) -> Numbers:
    """[B,H,T,S] from q [B,T,H,K] and k [B,S,H,K]."""
    dot = np.einsum("bthk,bshk->bhts", q, k)
    if score == "dot":
        return dot
    if score == "scaled":
        return dot / np.sqrt(K)
    if score == "gaussian":
        return np.exp(dot)
    if score == "cosine":
        sizes = np.einsum(
            "bth,bsh->bhts", np.linalg.norm(q, axis=-1), np.linalg.norm(k, axis=-1)
        )
        return dot / sizes
    w = {name: np.broadcast_to(value, (H, *value.shape[1:])) for name, value in p.items()}
    if score == "general":
        return np.einsum("bthk,hkl,bshl->bhts", q, w["score_w"], k)
    if score == "location":
        bias = w["score_b"][None, :, None, :]
        return np.einsum("bthk,hsk->bhts", q, w["score_w"]) + bias
    if score == "concat":
        left = np.einsum("bthk,hk->bht", q, w["score_v"][:, :K])
        right = np.einsum("bshk,hk->bhs", k, w["score_v"][:, K:])
        return np.maximum(left[..., None] + right[:, :, None], 0)
    hidden = np.einsum("bthk,hak->bhta", q, w["score_w"])[:, :, :, None]
    hidden = hidden + np.einsum("bshk,hak->bhsa", k, w["score_u"])[:, :, None]
    hidden = np.tanh(hidden + w["score_b"][None, :, None, None, :])
    return np.einsum("bhtsa,ha->bhts", hidden, w["score_v"])


def bisect(z: Numbers, power: float) -> Numbers:
    """Σ max(z - tau, 0)^power = 1 by bisection over tau."""
    low, high = z.max() - 1, z.max()
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if (np.maximum(z - tau, 0) ** power).sum() > 1 else (low, tau)
    return np.maximum(z - low, 0) ** power


def normalized(normalizer: str, row: Numbers) -> Numbers:
    if normalizer == "softmax":
        e = np.exp(row - row.max())
        return e / e.sum()
    if normalizer == "mean":
        return row / len(row)
    if normalizer == "sparsemax":
        return bisect(row, 1)
    if normalizer == "entmax":
        return bisect(row / 2, 2)
    if normalizer == "sigmoid":
        return 1 / (1 + np.exp(-row))
    return row / row.sum() if normalizer == "sum" else row


def weights_of(normalizer: str, scores: Numbers, allowed: Numbers) -> Numbers:
    out = np.zeros_like(scores)
    allowed = np.broadcast_to(allowed, scores.shape)
    for index in np.ndindex(scores.shape[:-1]):
        keys = allowed[index]
        if keys.any():
            out[index][keys] = normalized(normalizer, scores[index][keys])
    return out


@pytest.mark.parametrize("score,normalizer", itertools.product(SCORES, NORMALIZERS))
def test_every_score_and_normalizer_is_its_formula(score: str, normalizer: str) -> None:
    if normalizer == "sum" and score != "gaussian":
        pytest.skip("scores that may sum to 0")
    q, k, v = random(B, T, H, K), random(B, S, H, K, seed=2), random(B, S, H, M, seed=3)
    p = parameters(score)
    allowed = np.tri(T, S, 2, dtype=bool)
    expected = weights_of(normalizer, scores_of(score, q, k, p), allowed)
    options: dict[str, Any] = {"score": score, "normalizer": normalizer, "causal": True, "offset": 2}
    output, weights = attend.attention(q, k, v, return_weights=True, **options, **p)
    assert output.dtype == weights.dtype == "float64"
    np.testing.assert_allclose(weights, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(output, np.einsum("bhts,bshm->bthm", expected, v), atol=1e-12)
    # Float runs on the kernels. Inputs are rounded, then each of at most K + A + S terms of size
    # about 1; the scores amplify that by their own size, the normalizers by at most S.
    low = {name: value.astype("f") for name, value in p.items()}
    q, k, v = (x.astype("f") for x in (q, k, v))
    output, weights = attend.attention(q, k, v, return_weights=True, **options, **low)
    bound = float(4 * (K + A + S) * S * np.finfo("f").eps)
    assert output.dtype == "float32"
    np.testing.assert_allclose(weights, expected, atol=bound, rtol=bound)


@pytest.mark.parametrize("score", SCORES)
def test_gradients_are_those_of_finite_differences(score: Any) -> None:
    q, k, v = random(B, T, H, K), random(B, S, H, K, seed=2), random(B, S, H, M, seed=3)
    bias, seed_grad = random(1, H, T, S, seed=4), random(B, T, H, M, seed=5)
    inputs = {"query": q, "key": k, "value": v, "bias": bias, **parameters(score)}
    rest = {name: x for name, x in inputs.items() if name not in ("query", "key", "value")}
    grads = attend.attention_backward(q, k, v, seed_grad, score=score, causal=True, **rest)
    assert sorted(grads) == sorted(inputs)

    def loss(values: dict[str, Numbers]) -> float:
        values = dict(values)
        args = [values.pop(name) for name in ("query", "key", "value")]
        return float((attend.attention(*args, score=score, causal=True, **values).numpy()
                      * seed_grad).sum())

    step = 1e-6
    for name, value in inputs.items():
        assert grads[name].shape == value.shape
        direction = random(*value.shape, seed=6)
        ahead, behind = (loss({**inputs, name: value + s * direction}) for s in (step, -step))
        slope = float((grads[name].numpy() * direction).sum())
        # Central differences: the third derivative times step², and rounding over the step.
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-7)


def test_backward_with_the_results_of_the_forward_is_the_same() -> None:
    q, k, v = (random(B, T, H, K, seed=s).astype("f") for s in (1, 2, 3))
    output, lse = attend.attention(q, k, v, returns=["log_sum_exp"])
    grad = random(B, T, H, K, seed=4).astype("f")
    plain = attend.attention_backward(q, k, v, grad)
    saved = attend.attention_backward(q, k, v, grad, output=output, log_sum_exp=lse)
    for name in plain:
        np.testing.assert_array_equal(plain[name], saved[name])
    only = attend.attention_backward(q, k, v, grad, wanted=["key"])
    assert list(only) == ["key"]
    np.testing.assert_array_equal(only["key"], plain["key"])


def test_layouts_and_ranks_give_the_same_bits() -> None:
    q, k, v = (random(B, T, H, K, seed=s).astype("f") for s in (1, 2, 3))
    whole, weights = attend.attention(q, k, v, return_weights=True)
    swapped = attend.attention(*(x.transpose(0, 2, 1, 3) for x in (q, k, v)), layout="bhtd")
    np.testing.assert_array_equal(swapped.numpy().transpose(0, 2, 1, 3), whole)
    rank3 = attend.attention(q[:, :, 1], k[:, :, 1], v[:, :, 1], return_weights=True)
    np.testing.assert_array_equal(rank3[0], whole[:, :, 1])
    np.testing.assert_array_equal(rank3[1], weights[:, 1])
    rank2 = attend.attention(q[1, :, 1], k[1, :, 1], v[1, :, 1], returns=["log_sum_exp"])
    np.testing.assert_array_equal(rank2[0], whole[1, :, 1])
    assert rank2[1].shape == (T,)
    grads = attend.attention_backward(q[1, :, 1], k[1, :, 1], v[1, :, 1], rank2[0],
                                      output=rank2[0], log_sum_exp=rank2[1])
    assert grads["key"].shape == (T, K)


def test_rows_are_those_of_the_whole() -> None:
    q, k, v = random(B, T, H, K), random(B, S, H, K, seed=2), random(B, S, H, M, seed=3)
    mask = np.random.default_rng(4).random((B, 1, T, S)) < 0.7
    cases: list[dict[str, Any]] = [
        {"causal": True, "offset": 1},
        {"causal": True, "offset": [0, 2]},
        {"mask": mask},
        {"mask": mask[0, 0, 0]},
        {"bias": random(H, T, S)},
        {"bias": random(S)},
        {"window": (1, None), "query_lengths": [3, 5], "key_lengths": [7, 2]},
    ]
    for options in cases:
        whole, weights = attend.attention(q, k, v, return_weights=True, **options)
        part, some = attend.attention(q, k, v, return_weights=True, rows=(2, 4), **options)
        np.testing.assert_array_equal(part, whole[:, 2:4])
        np.testing.assert_array_equal(some, weights[:, :, 2:4])


def test_masks_agree_with_each_other() -> None:
    q, k, v = (random(B, T, H, K, seed=s).astype("f") for s in (1, 2, 3))
    distance = np.arange(T)[None] - np.arange(T)[:, None]
    window = attend.attention(q, k, v, window=(1, 2))
    dense = attend.attention(q, k, v, mask=(distance >= -1) & (distance <= 2))
    np.testing.assert_array_equal(window, dense)
    np.testing.assert_array_equal(attend.attention(q, k, v, window=1),
                                  attend.attention(q, k, v, window=(1, 1)))
    blocks = attend.attention(q, k, v, blocks=[(0, 0), (1, 1), (2, 2)], block_size=(2, 2))
    square = np.arange(T) // 2
    np.testing.assert_array_equal(blocks, attend.attention(q, k, v, mask=square[:, None] == square))


def test_alibi_and_relative_tables_are_biases() -> None:
    q, k, v = random(B, T, H, K), random(B, T, H, K, seed=2), random(B, T, H, M, seed=3)
    distance = np.arange(T)[None] - np.arange(T)[:, None]
    slopes = np.array([0.5, 0.25])
    table = random(H, 5, seed=7)
    near = np.clip(distance, -2, 2) + 2
    np.testing.assert_allclose(
        attend.attention(q, k, v, alibi=slopes),
        attend.attention(q, k, v, bias=-slopes[:, None, None] * np.abs(distance)), atol=1e-14)
    np.testing.assert_allclose(attend.attention(q, k, v, relative=table),
                               attend.attention(q, k, v, bias=table[:, near]), atol=1e-14)


def test_packed_sequences_are_separate_ones() -> None:
    q, k, v = (random(1, 8, H, K, seed=s).astype("f") for s in (1, 2, 3))
    packed = attend.attention(q, k, v, causal=True, query_offsets=[0, 3, 8], key_offsets=[0, 3, 8])
    for part in (slice(0, 3), slice(3, 8)):
        alone = attend.attention(q[:, part], k[:, part], v[:, part], causal=True)
        np.testing.assert_array_equal(packed[:, part], alone)


def test_grouped_heads_dropout_scale_and_soft_cap() -> None:
    q, k, v = random(B, T, 4, K), random(B, S, 2, K, seed=2), random(B, S, 2, M, seed=3)
    whole = attend.attention(q, k, v)
    repeated = attend.attention(q, np.repeat(k, 2, axis=2), np.repeat(v, 2, axis=2))
    np.testing.assert_array_equal(whole, repeated)
    drop = attend.attention(q, k, v, dropout=0.5, dropout_seed=3)
    assert not np.array_equal(drop, whole)
    np.testing.assert_array_equal(drop, attend.attention(q, k, v, dropout=0.5, dropout_seed=3))
    np.testing.assert_allclose(attend.attention(q, k, v, score="dot", scale=0.5), whole, atol=1e-15)
    scores = attend.attention(q, k, v, soft_cap=0.1, returns=["scores"])[1]
    assert np.abs(scores.numpy()).max() < 0.1


def test_half_precision_inputs_are_their_values_in_float() -> None:
    q, k, v = (random(B, T, H, K, seed=s).astype(np.float16) for s in (1, 2, 3))
    halves = attend.attention(q, k, v)
    assert halves.dtype == "float32"
    np.testing.assert_array_equal(halves, attend.attention(*(x.astype("f") for x in (q, k, v))))
    brains = [attend.Array(x, dtype="bfloat16") for x in (q, k, v)]
    floats = [attend.Array(x) for x in brains]
    np.testing.assert_array_equal(attend.attention(*brains), attend.attention(*floats))


def test_out_receives_the_output() -> None:
    q = random(B, T, H, K).astype("f")
    out = np.empty((B, H, T, K), "f").transpose(0, 2, 1, 3)
    assert attend.attention(q, q, q, out=out) is out
    np.testing.assert_array_equal(out, attend.attention(q, q, q))


def test_matmul_is_the_product() -> None:
    a, b, bias = random(3, 4, 5).astype("f"), random(5, 6).astype("f"), random(6).astype("f")
    expected = np.maximum(a.astype(float) @ b + bias, 0)
    got = attend.matmul(a, b, bias=bias, activation="relu")
    np.testing.assert_allclose(got, expected, atol=float(8 * np.finfo("f").eps * 5))
    packed = attend.PackedWeights(b)
    assert packed.shape == (5, 6)
    np.testing.assert_array_equal(attend.matmul(a, packed, bias=bias, activation="relu"), got)
    out = np.ones((3, 4, 6), "f")
    assert attend.matmul(a, b, out=out, add=True) is out
    np.testing.assert_allclose(out, 1 + a.astype(float) @ b, atol=1e-5)

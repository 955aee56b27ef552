"""attend.torch, where torch is installed."""

from __future__ import annotations

import itertools
from typing import Any

import attend
import pytest

torch: Any = pytest.importorskip("torch")
import attend.torch

F = torch.nn.functional
H, T, S, K, M, A = 2, 4, 5, 3, 2, 3
SCORES = ["dot", "scaled", "general", "additive", "concat", "gaussian", "cosine", "location"]
NORMALIZERS = ["softmax", "mean", "sparsemax", "entmax", "sigmoid", "sum", "none"]
PARAMETERS: dict[str, dict[str, tuple[int, ...]]] = {
    "general": {"score_w": (H, K, K)},
    "additive": {"score_w": (1, A, K), "score_u": (H, A, K), "score_b": (1, A), "score_v": (H, A)},
    "concat": {"score_v": (H, 2 * K)},
    "location": {"score_w": (H, S, K), "score_b": (1, S)},
}


def inputs(score: str, normalizer: str, dtype: Any) -> tuple[list[str], list[Any]]:
    generator = torch.Generator().manual_seed(3)
    shapes: dict[str, tuple[int, ...]] = {"query": (1, T, H, K), "key": (1, S, H, K), "value": (1, S, H, M),
              "bias": (1, H, T, S), **PARAMETERS.get(score, {})}
    tensors = [torch.randn(shape, generator=generator, dtype=torch.float64) * 0.5
               for shape in shapes.values()]
    if normalizer == "sum":  # it divides by the sum of the scores, which must not be near 0
        tensors[3] = 4 + 0.1 * tensors[3]
    return list(shapes), [t.to(dtype).requires_grad_() for t in tensors]


@pytest.mark.parametrize("score,normalizer", itertools.product(SCORES, NORMALIZERS))
def test_gradcheck_passes(score: str, normalizer: str) -> None:
    names, tensors = inputs(score, normalizer, torch.float64)

    def call(*given: Any) -> Any:
        return attend.torch.attention(**dict(zip(names, given)), score=score,
                                      normalizer=normalizer, causal=True, offset=1)

    assert torch.autograd.gradcheck(call, tensors, eps=1e-6, atol=1e-6)
    # Double runs the reference, so the kernels are compared with it: rounding of the inputs and of
    # at most K + A + S + T terms, amplified by scores and normalizers of size about S.
    expected = torch.autograd.grad(call(*tensors).sum(), tensors)
    floats = [t.detach().float().requires_grad_() for t in tensors]
    got = torch.autograd.grad(call(*floats).sum(), floats)
    bound = 16 * (K + A + S + T) * S * torch.finfo(torch.float32).eps
    for name, one, other in zip(names, got, expected):
        assert one.dtype == torch.float32
        assert torch.allclose(one.double(), other, rtol=bound, atol=bound), name


@pytest.mark.parametrize("causal,mask,scale,gqa", [
    (False, None, None, False), (True, None, None, False), (False, "bool", None, False),
    (False, "float", 0.7, False), (False, None, None, True)])
def test_signature_and_results_are_those_of_torch(
    causal: bool, mask: str | None, scale: float | None, gqa: bool
) -> None:
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, 4, 6, 8) for _ in range(3))
    if gqa:
        k, v = k[:, :2], v[:, :2]
    attn_mask = None
    if mask == "bool":
        attn_mask = torch.rand(2, 1, 6, 6) < 0.7
        attn_mask[..., 0] = True
    if mask == "float":
        attn_mask = torch.randn(4, 6, 6, requires_grad=True)
    leaves = [t.requires_grad_() for t in (q, k, v)]
    leaves += [attn_mask] if mask == "float" else []
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask, 0.0, causal, scale=scale,
                                            enable_gqa=gqa)
    ours = attend.torch.scaled_dot_product_attention(q, k, v, attn_mask, 0.0, causal, scale=scale,
                                                     enable_gqa=gqa)
    bound = 32 * 8 * torch.finfo(torch.float32).eps
    assert torch.allclose(ours, theirs, atol=bound)
    weight = torch.randn_like(theirs)
    for one, other in zip(torch.autograd.grad((ours * weight).sum(), leaves),
                          torch.autograd.grad((theirs * weight).sum(), leaves)):
        assert torch.allclose(one, other, atol=4 * bound)


def test_weights_ranks_and_halves() -> None:
    q = torch.randn(2, 3, 4, 6, 8)
    output, weights = attend.torch.scaled_dot_product_attention(q, q, q, return_weights=True)
    assert output.shape == q.shape and torch.allclose(weights.sum(-1), torch.ones(6, 4, 6))
    assert attend.torch.scaled_dot_product_attention(q[0, 0], q[0, 0], q[0, 0]).shape == (4, 6, 8)
    half = q[0].bfloat16()
    assert attend.torch.scaled_dot_product_attention(half, half, half).dtype == torch.bfloat16
    with pytest.raises(ValueError, match="enable_gqa"):
        attend.torch.scaled_dot_product_attention(q[0], q[0, :, :2], q[0, :, :2])


def test_memory_is_shared_both_ways() -> None:
    a = attend.Array([[1.0, 2.0]])
    t = torch.from_dlpack(a)
    t[0, 0] = 5
    assert a[0, 0] == 5 and a.torch().data_ptr() == t.data_ptr()
    del a
    assert t.tolist() == [[5, 2]]
    out = torch.empty(2, 2)
    assert attend.attention(torch.eye(2), torch.eye(2), torch.eye(2), out=out) is out


def test_tensors_that_need_gradients_are_refused_by_name() -> None:
    q = torch.eye(2, requires_grad=True)
    with pytest.raises(attend.Error, match="^query: its __dlpack__ failed"):
        attend.attention(q, q, q)


def test_read_only_parameters_are_copied_or_refused() -> None:
    pairs = attend.datasets.reverse(train_count=200)
    model = attend.train("pairs", pairs, hidden_size=8, steps=1, progress=False)
    values = next(iter(model.parameters.values()))
    assert torch.from_dlpack(attend.Array(values)).tolist() == values.tolist()


def test_a_small_transformer_trains() -> None:
    torch.manual_seed(1)

    class Block(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(8, 16)
            self.place = torch.nn.Parameter(torch.randn(6, 16) * 0.1)
            self.qkv = torch.nn.Linear(16, 48)
            self.out = torch.nn.Linear(16, 8)

        def forward(self, ids: Any) -> Any:
            x = self.embed(ids) + self.place
            q, k, v = self.qkv(x).view(*ids.shape, 3, 2, 8).permute(2, 0, 3, 1, 4)
            y = attend.torch.scaled_dot_product_attention(q, k, v)
            return self.out(x + y.transpose(1, 2).reshape(x.shape))

    ids = torch.randint(8, (64, 6))
    model = Block()
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    losses = []
    for _ in range(80):
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flip(1).flatten())  # reversal
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]

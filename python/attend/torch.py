"""Attention for PyTorch: an autograd function on the library's kernels, without copies.

Tensors are on the CPU, float32 or float64 (float16 and bfloat16 in the forward). Import it where
torch is installed: `import attend.torch`.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from attend import _core

__all__ = ["attention", "scaled_dot_product_attention"]

# Inputs that have gradients, in the order of the arguments of the function.
_NAMES: tuple[str, ...] = (
    "query", "key", "value", "score_w", "score_u", "score_b", "score_v", "bias", "alibi",
    "relative",
)  # fmt: skip


class _Attention(torch.autograd.Function):
    """`options` has everything that has no gradient."""

    @staticmethod
    def forward(ctx: Any, options: dict[str, Any], weights: bool, *tensors: Any) -> Any:
        given = {n: t.detach() for n, t in zip(_NAMES, tensors) if t is not None}
        # The reference, which runs for double, computes the forward again in the backward.
        returns: list[Any] = ["log_sum_exp"] + (["weights"] if weights else [])
        output, lse, *rest = _core.attention(**given, **options, returns=returns)
        output, lse = torch.from_dlpack(output), torch.from_dlpack(lse)
        ctx.save_for_backward(output, lse, *tensors)
        ctx.options = options
        if not weights:
            return output
        shown = torch.from_dlpack(rest[0])
        ctx.mark_non_differentiable(shown)
        return output, shown

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any, *unused: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        output, lse, *tensors = ctx.saved_tensors
        needed = dict(zip(_NAMES, ctx.needs_input_grad[2:]))
        given = {n: t.detach() for n, t in zip(_NAMES, tensors) if t is not None}
        wanted: Any = [name for name in given if needed[name]]
        grads = _core.attention_backward(
            **given,
            **ctx.options,
            output_grad=grad.detach(),
            output=output.detach(),
            log_sum_exp=lse,
            wanted=wanted,
        )
        made = [
            torch.from_dlpack(grads[name]).to(tensor.dtype) if name in grads else None
            for name, tensor in zip(_NAMES, tensors)
        ]
        return None, None, *made


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *,
    score_w: torch.Tensor | None = None,
    score_u: torch.Tensor | None = None,
    score_b: torch.Tensor | None = None,
    score_v: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    alibi: torch.Tensor | None = None,
    relative: torch.Tensor | None = None,
    return_weights: bool = False,
    **options: Any,
) -> Any:
    """attend.attention() with gradients of every input, for torch tensors.

    The weights of return_weights have no gradient of their own. `options` are those of
    attend.attention(): score, normalizer, causal, mask, window, layout, dropout, …

    >>> import torch, attend.torch
    >>> q = torch.eye(2, requires_grad=True)
    >>> attend.torch.attention(q, q, q, score="dot").sum().backward()
    >>> q.grad.shape
    torch.Size([2, 2])
    """
    tensors = (query, key, value, score_w, score_u, score_b, score_v, bias, alibi, relative)
    return _Attention.apply(options, return_weights, *tensors)


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    return_weights: bool = False,
    **options: Any,
) -> Any:
    """torch.nn.functional.scaled_dot_product_attention, and what it lacks.

    [..., H, T, K] tensors as there. A float attn_mask is a bias, with a gradient. Besides:
    return_weights, and the options of attend.attention(), such as score and normalizer.

    >>> import torch, attend.torch
    >>> q = torch.randn(1, 2, 4, 8)
    >>> ours = attend.torch.scaled_dot_product_attention(q, q, q, is_causal=True)
    >>> theirs = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    >>> torch.allclose(ours, theirs, atol=1e-6)
    True
    """
    if not enable_gqa and query.ndim >= 3 and query.shape[-3] != key.shape[-3]:
        raise ValueError("key: expected as many heads as query has; enable_gqa=True allows fewer")
    shape = query.shape
    four = [t.reshape(-1, *t.shape[-3:]) if t.ndim > 4 else t for t in (query, key, value)]
    four = [t.unsqueeze(0) if t.ndim == 3 else t for t in four]
    if attn_mask is not None and attn_mask.ndim > 4:
        leading = math.prod(shape[:-3])
        attn_mask = attn_mask.expand(*shape[:-3], *attn_mask.shape[-3:])
        attn_mask = attn_mask.reshape(leading, *attn_mask.shape[-3:])
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        options["mask"] = attn_mask
    elif attn_mask is not None:
        options["bias"] = attn_mask
    if dropout_p > 0:
        options["dropout"] = dropout_p
        options.setdefault("dropout_seed", int(torch.randint(2**62, ()).item()))
    if scale is not None:
        # A scale of 0 means "the default" to the library.
        options.update({"score": options.get("score", "dot"), "scale": scale})
    found = attention(
        *four, causal=is_causal, layout="bhtd", return_weights=return_weights, **options
    )
    output = found[0] if return_weights else found
    output = output.to(query.dtype).reshape(*shape[:-1], value.shape[-1])
    return (output, found[1]) if return_weights else output

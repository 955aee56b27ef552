"""The functions of worksheets in PyTorch. An exported program has a copy of those that it uses.

docs/worksheets.md defines the functions. Matrices are 2-D tensors of float64; numbers may be 0-D.
scripts/export-runtime makes export_runtime.inc of this file: one entry per top-level definition.
"""
import ast
import json
import math
import os
import struct
import sys
import zipfile
from types import SimpleNamespace

import torch

torch.set_default_dtype(torch.float64)


# ---------------------------------------------------------------- matrices


def array(rows):
    return torch.tensor(rows, dtype=torch.float64)


def scalar(number):
    return torch.tensor(float(number))


def require(condition, message):
    if not condition:
        raise ValueError(message)


def matrix(x):
    """A number, or a matrix itself, as a 2-D tensor."""
    require(not isinstance(x, list), "expected a matrix, found a list")
    x = torch.as_tensor(x, dtype=torch.float64)
    return x.reshape(1, -1) if x.ndim < 2 else x


def not_empty(x):
    x = matrix(x)
    require(x.numel() > 0, "the matrix is empty")
    return x


def vector(x, size):
    """A row or a column of `size` numbers as a 1-D tensor; 0 if it is absent."""
    if x is None:
        return 0.0
    x = matrix(x)
    require(1 in x.shape and x.numel() == size, f"expected a vector of {size}, found {tuple(x.shape)}")
    return x.ravel()


def whole(x, least=0):
    """A whole number as an int."""
    x = matrix(x)
    require(x.numel() == 1 and x[0, 0] == torch.floor(x[0, 0]) and x[0, 0] >= least, "expected a whole number")
    return int(x[0, 0])


def block(rows):
    """Matrices side by side, and these rows of matrices one above the other."""
    return torch.cat([torch.cat([matrix(x) for x in row], dim=1) for row in rows], dim=0)


def select(x, rows, cols=None):
    """X[rows, cols], counted from 1: numbers, a range (first, last), or () for all.

    A single index selects rows; elements if x has one row.
    """
    if isinstance(x, list):
        index = whole(rows, 1)
        require(cols is None and index <= len(x), "the index is out of range")
        return x[index - 1]
    x = matrix(x)
    if cols is None:
        rows, cols = ((1, 1), rows) if x.shape[0] == 1 else (rows, (1, x.shape[1]))
    return x[index_list(rows, x.shape[0])][:, index_list(cols, x.shape[1])]


def index_list(index, size):
    if isinstance(index, tuple):
        first, last = (whole(bound, 1) for bound in index) if index else (1, size)
        require(first <= last or not index, "the range is empty")
        index = torch.arange(first, last + 1)
    index = matrix(index).ravel()
    require(torch.all((index >= 1) & (index <= size) & (index == torch.floor(index))), "the index is out of range")
    return index.long() - 1


def multiply(x, y):
    """x * y: the product of matrices; a number on either side scales."""
    x, y = matrix(x), matrix(y)
    return x * y if 1 in (x.numel(), y.numel()) else x @ y


def inclusive_range(first, last):
    """The row first, first + 1, …, up to last."""
    first, last = float(matrix(first)[0, 0]), float(matrix(last)[0, 0])
    return first + torch.arange(max(0.0, math.floor(last - first) + 1.0))[None, :]


def stack(rows):
    """Rows one above the other."""
    return torch.cat([matrix(row) for row in rows])


def rows_of(x):
    """Each row of a matrix, as a matrix."""
    return [row[None, :] for row in matrix(x)]


def numbers_of(x):
    return list(matrix(x).ravel())


def tracked(x):
    """A value whose gradient is wanted."""
    for tensor in x if isinstance(x, list) else [x]:
        tensor.requires_grad_()
    return x


def gradient(of, start=None, /, **values):
    """The gradient of a number, or of sum(of * start), for each value; of a result for each of its parts."""
    def for_value(value):
        if isinstance(value, SimpleNamespace):
            return SimpleNamespace(**{name: for_value(part) for name, part in vars(value).items()})
        if isinstance(value, list):
            return [for_value(item) for item in value]
        if hasattr(value, "steps"):  # an RNN continues with the states themselves
            return torch.stack([for_value(step) for step in value.steps], dim=value.axis)
        found = torch.autograd.grad(of, value, start, retain_graph=True, allow_unused=True)[0]
        return torch.zeros_like(value) if found is None else found

    start = None if start is None else matrix(start).reshape(of.shape)
    return SimpleNamespace(**{name: for_value(value) for name, value in values.items()})


def divide(x, y):
    """x / y: by a number, or by a matrix of the same shape."""
    x, y = matrix(x), matrix(y)
    require(y.numel() == 1 or x.shape == y.shape, "expected a number or the same shape as divisor")
    return x / y


# ---------------------------------------------------------------- functions


def relu(x):
    return torch.relu(x)


def sigmoid(x):
    return torch.sigmoid(x)


def gelu(x):
    return torch.nn.functional.gelu(x)


def softmax(x, axis=1):
    """The softmax of each row (axis = 1) or column (axis = 0); zeros where all are -inf."""
    x = matrix(x)
    empty = torch.all(x == -math.inf, dim=axis, keepdim=True)
    return torch.where(empty, 0.0, torch.softmax(torch.where(empty, 0.0, x), dim=axis))


def argmax(x, axis=1):
    """The index of the first maximum of each row or column, from 1."""
    return not_empty(x).argmax(dim=axis, keepdim=True) + 1.0


def exactly(x):
    return x


def layernorm(x, gain=None, bias=None, eps=1e-5, vectors="rows", step=exactly):
    x, axis = matrix(x), 0 if vectors == "columns" else 1
    centered = x - step(x.mean(dim=axis, keepdim=True))
    y = centered / torch.sqrt(step((centered**2).mean(dim=axis, keepdim=True)) + eps)
    return y * (1 if gain is None else along(gain, x, axis)) + (0 if bias is None else along(bias, x, axis))


def rmsnorm(x, gain=None, eps=1e-5, vectors="rows", step=exactly):
    x, axis = matrix(x), 0 if vectors == "columns" else 1
    y = x / torch.sqrt(step((x**2).mean(dim=axis, keepdim=True)) + eps)
    return y * (1 if gain is None else along(gain, x, axis))


def along(gain, x, axis):
    expected = (1, x.shape[1]) if axis == 1 else (x.shape[0], 1)
    require(tuple(matrix(gain).shape) == expected, "expected a vector of the size of those of the matrix")
    return matrix(gain)


def permute(x, order, axis=0):
    x = matrix(x)
    require(sorted(matrix(order).ravel().tolist()) == list(range(1, x.shape[axis] + 1)), "expected each index once")
    return torch.index_select(x, axis, matrix(order).ravel().long() - 1)


def zeros(rows, cols=None):
    return torch.zeros(whole(rows), whole(rows if cols is None else cols))


def ones(rows, cols=None):
    return torch.ones(whole(rows), whole(rows if cols is None else cols))


def identity(size):
    return torch.eye(whole(size))


def shape(x):
    return array([list(matrix(x).shape)])


def where(condition, x, y):
    return torch.where(matrix(condition) != 0, matrix(x), matrix(y))


def diag(x):
    """A diagonal matrix of a vector; of a matrix, the row of its diagonal."""
    x = matrix(x)
    return torch.diag(x.ravel()) if 1 in x.shape else torch.diag(x)[None, :]


def sort(x, axis=1, descending=False):
    """Each row (axis = 1) or column in ascending order, nan last."""
    x = torch.sort(matrix(x), dim=axis).values
    return torch.flip(x, [axis]) if descending else x


def topk(x, k, mask=False):
    """The k largest elements of each row, the largest first; or a 1 where they are."""
    x = matrix(x)
    require(1 <= whole(k) <= x.shape[1], "k: expected 1 to the number of columns")
    places = torch.sort(-x, dim=1, stable=True).indices[:, : whole(k)]  # nan last
    if not mask:
        return torch.gather(x, 1, places)
    return torch.zeros_like(x).scatter(1, places, 1.0)


def class_indices(indices, classes):
    """A vector of indices from 1, counted from 0."""
    indices = matrix(indices)
    require(1 in indices.shape, "expected a vector of indices")
    fits = (indices >= 1) & (indices <= classes) & (indices == torch.floor(indices))
    require(torch.all(fits), "the index is out of range")
    return indices.ravel().long() - 1


def onehot(indices, classes):
    return torch.eye(whole(classes, 1))[class_indices(indices, whole(classes, 1))]


def cross_entropy(logits, targets, rows=False):
    """The mean, or each row, of -log softmax(logits) at the target, from 1."""
    logits = not_empty(logits)
    targets = class_indices(targets, logits.shape[1])
    require(len(targets) == len(logits), "expected a target for each row")
    losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none")[:, None]
    return losses if rows else losses.mean()


def philox(seed, stream, count):
    """Pairs of uniform numbers in [0, 1) from a counter: Philox4x32-10 (Salmon et al. 2011)."""
    low, numbers = 0xFFFFFFFF, []
    for counter in range((count + 1) // 2):
        c, k0, k1 = [counter & low, counter >> 32, stream, 0], seed & low, seed >> 32
        for _ in range(10):
            p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [(p1 >> 32) ^ c[1] ^ k0, p1 & low, (p0 >> 32) ^ c[3] ^ k1, p0 & low]
            k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
        numbers.append([(c[0] << 32 | c[1]) >> 11, (c[2] << 32 | c[3]) >> 11])
    return torch.tensor(numbers, dtype=torch.float64).reshape(-1, 2) * 2.0**-53


def random(rows, cols=None, seed=None, normal=False):
    """Uniform numbers from 0 to 1, or standard normal ones: the same for the same seed."""
    rows, cols = whole(rows), whole(rows if cols is None else cols)
    numbers = philox(whole(seed), 1, rows * cols)
    if normal:  # Box and Muller
        radius, angle = torch.sqrt(-2 * torch.log(1 - numbers[:, 0])), 2 * math.pi * numbers[:, 1]
        numbers = torch.stack([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)
    return numbers.ravel()[: rows * cols].reshape(rows, cols)


def dropout(x, p, seed=None):
    """Each element is 0 with probability p, otherwise divided by 1 - p."""
    x, p = matrix(x), float(matrix(p))
    require(0 <= p < 1, "p: expected at least 0 and below 1")
    drawn = philox(whole(seed), 2, x.numel()).ravel()[: x.numel()].reshape(x.shape)
    return torch.where(drawn >= p, x / (1 - p), 0.0)


def round_half_away(x, digits=0):
    """Halves are rounded away from zero; a few units in the last place count as a half."""
    unit = 10.0 ** whole(digits, -300)
    scaled = torch.abs(x) * unit
    rounded = torch.copysign(torch.floor(scaled + 0.5 + scaled * 2 * sys.float_info.epsilon) / unit, x)
    return torch.where(scaled < 1 / sys.float_info.epsilon, rounded, x)


def cut_off(x, digits):
    """Without the decimals behind these; a few units in the last place count as whole."""
    unit = 10.0 ** digits
    scaled = torch.abs(x) * unit
    whole_part = torch.copysign(torch.floor(scaled + scaled * 2 * sys.float_info.epsilon) / unit, x)
    return torch.where(scaled < 1 / sys.float_info.epsilon, whole_part, x)


def by_hand(decimals, cut=False):
    """Rounds the result of a step, or cuts its decimals off, as people with a pocket calculator do."""
    def step(x):
        x = round_half_away(torch.as_tensor(x, dtype=torch.float64), decimals + 9)  # decimals far behind are round-off
        return cut_off(x, decimals) if cut else round_half_away(x, decimals)
    return step


# ---------------------------------------------------------------- attention


def score_dot(q, k):
    require(q.shape[1] == k.shape[1], f"expected d_q = d_k, found {q.shape[1]} and {k.shape[1]}")
    return q @ k.T


def score_general(q, k, projected):
    return q @ projected


def score_additive(q, k, W, U, v_a, b=None, step=exactly):
    require(W.shape[0] == q.shape[1] and U.shape[0] == k.shape[1], "W, U: expected d_q × A and d_k × A")
    hidden = step(q @ W)[:, None, :] + step(k @ U)[None, :, :] + vector(b, W.shape[1])
    return torch.tanh(hidden) @ vector(v_a, W.shape[1])


def score_concat(q, k, v_a):
    v_a = vector(v_a, q.shape[1] + k.shape[1])
    return torch.relu((q @ v_a[: q.shape[1]])[:, None] + (k @ v_a[q.shape[1] :])[None, :])


def score_gaussian(q, k):
    return torch.exp(score_dot(q, k))


def score_cosine(q, k):
    return score_dot(unit_rows(q), unit_rows(k))


def unit_rows(x):
    largest = torch.abs(x).detach().amax(dim=1, keepdim=True)
    x = x / torch.where(largest == 0, 1.0, largest)
    squares = (x**2).sum(dim=1, keepdim=True)
    return torch.where(squares == 0, 0.0, x / torch.sqrt(torch.where(squares == 0, 1.0, squares)))


def score_location(q, k, W, b=None):
    require(W.shape[0] == q.shape[1] and W.shape[1] >= k.shape[0], "W: expected d_q × n_k")
    return (q @ W + vector(b, W.shape[1]))[:, : k.shape[0]]


SCORES = {
    "dot": score_dot,
    "scaled": score_dot,
    "general": score_general,
    "additive": score_additive,
    "concat": score_concat,
    "gaussian": score_gaussian,
    "cosine": score_cosine,
    "location": score_location,
}


def sparsemax(x):
    """The nearest point of the simplex (Martins and Astudillo 2016)."""
    x = x - x.max()
    if torch.isnan(x).any():
        return torch.full_like(x, math.nan)
    z = torch.sort(x, descending=True).values
    count = torch.arange(1, len(z) + 1)
    support = count[1 + count * z > torch.cumsum(z, dim=0)].max()
    return torch.clamp(x - (z[:support].sum() - 1) / support, min=0)


def entmax(x):
    """1.5-entmax (Peters, Niculae and Martins 2019)."""
    x = (x - x.max()) / 2
    if torch.isnan(x).any():
        return torch.full_like(x, math.nan)
    threshold, z = -1.0, torch.sort(x, descending=True).values
    for count in range(1, len(z) + 1):
        if not z[count - 1] > -1:
            break
        mean = z[:count].mean()
        squares = ((z[:count] - mean) ** 2).sum()
        following = mean - torch.sqrt(torch.clamp((1 - squares) / count, min=0))
        if not following <= z[count - 1]:
            break
        threshold = following
    return torch.clamp(x - threshold, min=0) ** 2


NORMALIZERS = {
    "softmax": lambda x: torch.softmax(x, dim=0),
    "mean": lambda x: x / len(x),
    "sparsemax": sparsemax,
    "entmax": entmax,
    "sigmoid": torch.sigmoid,
    "sum": lambda x: x / x.sum(),
    "none": lambda x: x,
}


def pairs(x, queries, keys):
    """A matrix over queries and keys, whose single row or column is repeated."""
    x = matrix(x)
    require(x.shape[0] in (1, queries) and x.shape[1] in (1, keys), "expected n_q × n_k")
    return x.expand(queries, keys)


def allowed_pairs(queries, keys, causal=False, mask=None, window=None, offset=0, length=None):
    """Which keys each query may attend to; all masks must allow a pair."""
    query = torch.arange(queries)[:, None] + whole(offset, -math.inf)
    key = torch.arange(keys)[None, :]
    allowed = torch.ones(queries, keys, dtype=torch.bool)
    if causal or isinstance(mask, str):
        require(not isinstance(mask, str) or mask == "causal", "mask: expected causal or a matrix")
        allowed &= key <= query
    if window is not None:
        left, right = (whole(side, -1) for side in matrix(window).ravel()[[0, -1]])
        require(tuple(matrix(window).shape) in ((1, 1), (1, 2)), "window: expected [left right]")
        if left >= 0:
            allowed &= query - left <= key
        if right >= 0:
            allowed &= key <= query + right
    if length is not None:
        require(whole(length) <= keys, "length: there are fewer keys")
        allowed &= key < whole(length)
    if mask is not None and not isinstance(mask, str):
        mask = pairs(mask, queries, keys)
        require(torch.all((mask == 0) | (mask == 1)), "mask: expected 0 and 1")
        allowed &= mask == 1
    return allowed


def attention(q, k, v, /, score="scaled", scale=None, softcap=None, bias=None, alibi=None,
              normalizer="softmax", W=None, U=None, b=None, v_a=None, vectors="rows", step=exactly, **masks):
    """Score, mask, normalize, combine. The result has the intermediate results as fields."""
    q, k, v = (not_empty(x).clone() for x in (q, k, v))  # gradients of these are by this call alone
    parts = SimpleNamespace(q=q, k=k, v=v)
    require(vectors in ("rows", "columns"), "vectors: expected rows or columns")
    turned = vectors == "columns"
    q, k, v = (x.T if turned else x for x in vars(parts).values())
    require(len(v) == len(k), f"expected n_v = n_k, found {len(v)} and {len(k)}")
    if score != "general" and turned:  # the W of the general score is between query and key
        W, U = (None if x is None else matrix(x).T for x in (W, U))
    weights = {name: matrix(x) for name, x in dict(W=W, U=U, b=b, v_a=v_a).items() if x is not None}
    if score == "general":
        require(tuple(matrix(W).shape) == (q.shape[1], k.shape[1]), "W: expected d_q × d_k")
        parts.projected = step(matrix(W) @ k.T if turned else k @ matrix(W).T)
        weights = dict(projected=parts.projected if turned else parts.projected.T)
    if score == "additive":  # which has inner results
        weights["step"] = step
    scores = step(SCORES[score](q, k, **weights))
    if score == "scaled" or any(x is not None for x in (scale, softcap, bias)) or (alibi is not None and alibi != 0):
        parts.products = scores
    if scale is not None:
        require(math.isfinite(scale) and scale != 0, "scale: expected a number other than 0")
        scores = scale * scores
    elif score == "scaled":
        scores = scores / math.sqrt(q.shape[1])
    if softcap is not None:
        require(math.isfinite(softcap) and softcap > 0, "softcap: expected a number above 0")
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + pairs(bias, len(q), len(k))
    if alibi is not None:
        require(matrix(alibi).numel() == 1 and math.isfinite(alibi), "alibi: expected one slope")
        query = torch.arange(len(q))[:, None] + masks.get("offset", 0)
        scores = scores - alibi * torch.abs(torch.arange(len(k))[None, :] - query)
    allowed = allowed_pairs(len(q), len(k), **masks)
    parts.scores = torch.where(allowed, step(scores), -math.inf)
    weights, empty = [], torch.zeros(len(k))
    for i, keys in enumerate(allowed):  # a query that may attend no key has weights and output of zero
        own = NORMALIZERS[normalizer](parts.scores[i, keys]) if keys.any() else empty[keys]
        weights.append(empty.index_put((keys,), own))
    parts.weights = step(torch.stack(weights))
    output = step(torch.stack([parts.weights[i, keys] @ v[keys] for i, keys in enumerate(allowed)]))
    parts.output = output.T if turned else output
    return parts


def product(x, W, vectors="rows", step=exactly):
    return step(not_empty(W) @ not_empty(x) if vectors == "columns" else not_empty(x) @ not_empty(W))


def self_attention(x, W_q, W_k, W_v=None, /, **options):
    return cross_attention(x, None, W_q, W_k, W_v, **options)


def cross_attention(x, y, W_q, W_k, W_v=None, /, vectors="rows", step=exactly, **options):
    x = not_empty(x).clone()
    inputs = dict(x=x) if y is None else dict(x=x, y=not_empty(y).clone())
    y = inputs.get("y", x)
    values = y if W_v is None else product(y, W_v, vectors, step)
    queries, keys = product(x, W_q, vectors, step), product(y, W_k, vectors, step)
    result = attention(queries, keys, values, vectors=vectors, step=step, **options)
    return SimpleNamespace(**inputs, **vars(result))


def multihead(x, W_q, W_k, W_v, W_O=None, /, heads=None, source=None, vectors="rows", step=exactly, **options):
    """Attention of several heads, whose outputs are concatenated; W_q, W_k, W_v: lists, or one matrix."""
    x = not_empty(x).clone()
    y = x if source is None else not_empty(source).clone()
    parts = SimpleNamespace(x=x) if source is None else SimpleNamespace(x=x, y=y)
    W_q, W_k, W_v = (split_heads(W, 1 if heads is None else whole(heads, 1), vectors) for W in (W_q, W_k, W_v))
    count = len(W_q)
    require(heads is None or count == whole(heads), "heads: W_q lists another number")
    require(len(W_k) == len(W_v) and count % len(W_k) == 0, f"{count} heads with {len(W_k)}, {len(W_v)} keys, values")
    parts.head = []
    for h in range(count):
        group = h * len(W_k) // count  # several heads of queries may share keys and values
        own = {name: option_of_head(name, value, h, count) for name, value in options.items()}
        q, k, v = (product(*pair, vectors, step) for pair in ((x, W_q[h]), (y, W_k[group]), (y, W_v[group])))
        parts.head.append(attention(q, k, v, vectors=vectors, step=step, **own))
    parts.heads = torch.cat([head.output for head in parts.head], dim=0 if vectors == "columns" else 1)
    if W_O is not None:
        parts.output = product(parts.heads, W_O, vectors, step)
    return parts


def split_heads(W, heads, vectors):
    if isinstance(W, list):
        return W
    axis = 0 if vectors == "columns" else 1
    require(matrix(W).shape[axis] % heads == 0, f"the columns cannot be shared by {heads} heads")
    return matrix(W).chunk(heads, dim=axis)


def option_of_head(name, value, head, count):
    if isinstance(value, list):
        require(len(value) == count, f"{name}: expected one matrix for each head")
        return value[head]
    if name == "alibi" and matrix(value).numel() == count:
        return matrix(value).ravel()[head]
    return value


# ---------------------------------------------------------------- other layers


def positional(n, d, base=10000.0, start=0):
    """Sinusoidal position encoding: sine in columns 1, 3, …, cosine in columns 2, 4, …"""
    require(base > 0, "base: expected a number above 0")
    column = torch.arange(whole(d, 1))[None, :]
    angle = (torch.arange(whole(n, 1))[:, None] + whole(start)) / base ** ((column - column % 2) / column.numel())
    return torch.where(column % 2 == 0, torch.sin(angle), torch.cos(angle))


def linear(x, W, b=None, vectors="rows"):
    y = product(x, W, vectors)
    return y + vector(b, len(y))[:, None] if vectors == "columns" and b is not None else y + vector(b, y.shape[1])


def conv1d(x, kernel, b=None, padding="same", stride=1):
    """A convolution along the rows. The kernel is not flipped."""
    x = not_empty(x)
    if isinstance(kernel, list):  # one matrix per tap
        taps = [matrix(tap) for tap in kernel]
    elif len(matrix(kernel)) == 1:  # numbers, which scale whole vectors
        taps = [number * torch.eye(x.shape[1]) for number in not_empty(kernel)[0]]
    else:  # the matrices of all taps, stacked
        require(len(kernel) % x.shape[1] == 0, "kernel: expected as many rows per tap as x has columns")
        taps = not_empty(kernel).split(x.shape[1])
    require(padding in ("same", "valid"), "padding: expected same or valid")
    left = (len(taps) - 1) // 2 if padding == "same" else 0
    rows = len(x) if padding == "same" else len(x) - len(taps) + 1
    require(rows >= 1, "the kernel does not fit into the rows")
    padded = torch.nn.functional.pad(x, (0, 0, left, len(taps) - 1 - left))
    y = sum(padded[t : t + rows] @ tap for t, tap in enumerate(taps))
    return y[:: whole(stride, 1)] + vector(b, y.shape[1])


def initial_state(h, size=None):
    h = not_empty(h)
    require(len(h) == 1 and size in (None, h.shape[1]), "a state must be one row")
    return h[0]


def states(names, steps, vectors):
    """The states and gates after each step: a row per step, or a column."""
    parts = SimpleNamespace()
    for name, values in zip(names, zip(*steps)):
        axis = 1 if vectors == "columns" else 0
        part = torch.stack(values, dim=axis)
        part.steps, part.axis = values, axis  # for gradient()
        setattr(parts, name, part)
    return parts


def gate_weights(W, rows, cols):
    require(tuple(matrix(W).shape) == (rows, cols), f"expected {rows} × {cols}, found {tuple(matrix(W).shape)}")
    return matrix(W)


def rnn(x, h, W_x, W_h, b=None, vectors="rows", step=exactly):
    """h' = tanh(x W_x + h W_h + b) for each row x."""
    x, h, W_x, W_h = (x.T if vectors == "columns" else x for x in map(not_empty, (x, h, W_x, W_h)))
    h = initial_state(h)
    size, steps = len(h), []
    W_x, W_h, b = gate_weights(W_x, x.shape[1], size), gate_weights(W_h, size, size), vector(b, size)
    for x_t in x:
        z = step(x_t @ W_x + h @ W_h + b)
        h = step(torch.tanh(z))
        steps.append((z, h))
    return states("zh", steps, vectors)


def lstm(x, h, c, W_x, W_h, b=None, vectors="rows", step=exactly):
    """The gates are side by side in the order i f g o."""
    x, h, W_x, W_h = (x.T if vectors == "columns" else x for x in map(not_empty, (x, h, W_x, W_h)))
    h = initial_state(h)
    size, steps, c = len(h), [], initial_state(matrix(c).T if vectors == "columns" else c, len(h))
    W_x, W_h = gate_weights(W_x, x.shape[1], 4 * size), gate_weights(W_h, size, 4 * size)
    b = vector(b, 4 * size)
    for x_t in x:
        i, f, g, o = (x_t @ W_x + h @ W_h + b).chunk(4)
        i, f, g, o = (step(gate) for gate in (sigmoid(i), sigmoid(f), torch.tanh(g), sigmoid(o)))
        c = step(f * c + i * g)
        h = step(o * torch.tanh(c))
        steps.append((i, f, g, o, c, h))
    return states("ifgoch", steps, vectors)


def gru(x, h, W_x, W_h, b=None, b_h=None, reset="after", vectors="rows", step=exactly):
    """The gates are side by side in the order r z n; the reset gate comes after or before h U_n."""
    require(reset in ("after", "before"), "reset: expected after or before")
    x, h, W_x, W_h = (x.T if vectors == "columns" else x for x in map(not_empty, (x, h, W_x, W_h)))
    h = initial_state(h)
    size, steps = len(h), []
    W_x, W_h = gate_weights(W_x, x.shape[1], 3 * size), gate_weights(W_h, size, 3 * size)
    b, b_h = vector(b, 3 * size), vector(b_h, 3 * size) + torch.zeros(3 * size)
    for x_t in x:
        x_r, x_z, x_n = (x_t @ W_x + b).chunk(3)
        h_r, h_z, h_n = (h @ W_h + b_h).chunk(3)
        r, z = step(sigmoid(x_r + h_r)), step(sigmoid(x_z + h_z))
        past = r * h_n if reset == "after" else (r * h) @ W_h[:, 2 * size :] + b_h[2 * size :]
        n = step(torch.tanh(x_n + past))
        h = step((1 - z) * n + z * h)
        steps.append((r, z, n, h))
    return states("rznh", steps, vectors)


# ---------------------------------------------------------------- claims


def nearly(expected):
    """The tolerance of a claim without a rule."""
    return 1e-9 * (1 + torch.abs(expected))


def within_relative(tolerance):
    return lambda expected: tolerance * (1 + torch.abs(expected))


def within(tolerance):
    return lambda expected: tolerance


def within_percent(percent):
    return lambda expected: torch.where(torch.isfinite(expected), percent / 100 * torch.abs(expected), 0.0)


def to_decimals(count):
    return lambda expected: 0.5 * 10.0**-count


def to_digits(count):
    """Half a unit of a significant digit; zero counts as 0.1."""
    def half_unit(x):
        first = int(f"{x:.16e}".split("e")[1]) if math.isfinite(x) and x != 0 else -1
        return 0.5 * 10.0 ** (first + 1 - count)
    return lambda expected: array([[half_unit(x) for x in row] for row in expected.tolist()])


def as_printed(text):
    """Numbers as they are printed, and the tolerance: half a unit of the last digit of each."""
    rows = [row.split() for row in text.split(";")]
    half_units = array([[half_of_last_digit(number) for number in row] for row in rows])
    return array([[float(number) for number in row] for row in rows]), lambda expected: half_units


def half_of_last_digit(number):
    digits, _, power = number.lower().partition("e")
    return 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def differences(actual, expected, allowed):
    """Where the numbers are out of tolerance; nan agrees only with nan, inf only with inf."""
    tolerance = matrix(allowed(expected)).expand(expected.shape)
    largest = torch.maximum(torch.abs(actual), torch.abs(expected))
    slack = torch.where(tolerance == 0, 0.0, 8 * sys.float_info.epsilon * largest)
    same = (actual == expected) | (torch.isnan(actual) & torch.isnan(expected))
    finite = torch.isfinite(actual) & torch.isfinite(expected)
    return ~(same | (finite & (torch.abs(actual - expected) <= tolerance + slack)))


def fail(line, message):
    raise AssertionError(f"{SHEET}, line {line}: {message}")


def expect(actual, expected, allowed=nearly, *, line):
    """Each element is as expected; a single expected number is expected of all."""
    actual, expected = expected_shape(actual, expected, line)
    for i, j in differences(actual, expected, allowed).nonzero().tolist()[:1]:
        fail(line, f"element [{i + 1},{j + 1}] is {float(actual[i, j])!r}, expected {float(expected[i, j])!r}")


def expect_not(actual, expected, allowed=nearly, *, line):
    """At least one element differs."""
    if not differences(*expected_shape(actual, expected, line), allowed).any():
        fail(line, "agrees, but was expected to differ")


def expected_shape(actual, expected, line):
    actual, expected = matrix(actual), matrix(expected)
    if actual.shape != expected.shape and expected.numel() != 1:
        fail(line, f"the shape is {tuple(actual.shape)}, expected {tuple(expected.shape)}")
    return actual, expected.expand(actual.shape)


def expect_error(compute, *, line):
    """Computing this fails."""
    try:
        compute()
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return
    fail(line, "expected an error")


# ---------------------------------------------------------------- files

# The folder of the files that the sheet reads: the first argument, or that of this program.
FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(globals().get("__file__", "x")))


def read_arrays(file):
    """The arrays of a .npz or .safetensors file by name; of a .npy file one, called None."""
    path = os.path.join(FOLDER, file)
    if file.endswith(".safetensors"):
        return read_safetensors(path)
    if file.endswith(".npy"):
        with open(path, "rb") as content:
            return {None: read_npy(content.read())}
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): read_npy(archive.read(name)) for name in archive.namelist()}


def read_npy(content):
    """An array of the format .npy: the dtype and the shape as text, then the numbers."""
    types = {"f8": torch.float64, "f4": torch.float32, "f2": torch.float16, "i8": torch.int64,
             "i4": torch.int32, "i2": torch.int16, "i1": torch.int8, "u1": torch.uint8, "b1": torch.bool}
    size = 2 if content[6] == 1 else 4
    start = 8 + size + int.from_bytes(content[8 : 8 + size], "little")
    header = ast.literal_eval(content[8 + size : start].decode("utf-8"))
    require(header["descr"][0] in "<|", "expected an array in little-endian order")
    values = torch.frombuffer(bytearray(content[start:]), dtype=types[header["descr"][1:]])
    if not header["fortran_order"]:
        return values.reshape(header["shape"])
    return values.reshape(header["shape"][::-1]).permute(*range(len(header["shape"]) - 1, -1, -1))


def read_safetensors(path):
    types = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
             "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8}
    with open(path, "rb") as file:
        content = file.read()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    arrays = {}
    for name, entry in json.loads(content[8:start]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            data = bytearray(content[start + first : start + last])
            arrays[name] = torch.frombuffer(data, dtype=types[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def matrix_at(values, at=()):
    """The matrix at these leading indices (from 1) of an array."""
    values = values.to(torch.float64)
    for index in at:
        require(1 <= index <= len(values), "the index is out of range")
        values = values[index - 1]
    while values.ndim > 2 and values.shape[0] == 1:
        values = values[0]
    require(values.ndim <= 2, f"expected indices of a matrix in the array {tuple(values.shape)}")
    return matrix(values)


def load(file, name=None, at=()):
    arrays = read_arrays(file)
    require(name in arrays, f"{file} has no array {name!r}")
    return matrix_at(arrays[name], at)


def compare(value, file, name=None, at=(), allowed=nearly, *, known_as, line):
    """A value, or every part of a result that the file has, equals the arrays of another program."""
    arrays = read_arrays(file)
    if name is not None or None in arrays:
        require(name in arrays, f"{file} has no array {name!r}")
        compare_matrix(result_of(value), matrix_at(arrays[name], at), allowed, known_as, line)
    else:
        brief = "" if isinstance(value, SimpleNamespace) else known_as.rpartition(".")[2]
        compare_values([(known_as, brief, value)], arrays, allowed, line)


def compare_all(values, file, allowed=nearly, *, line):
    """Every value that the file has under its name equals the array."""
    compare_values([(name, None, value) for name, value in values.items()], read_arrays(file), allowed, line)


def compare_values(values, arrays, allowed, line):
    count = 0
    for name, brief, value in values:
        for names, head, part in named_parts(name, brief, value):
            for key in names:
                if key in arrays and (head is None or arrays[key].ndim >= 3):
                    expected = matrix_at(arrays[key]) if head is None else matrix_at(squeezed(arrays[key]), [head])
                    compare_matrix(part, expected, allowed, name, line)
                    count += 1
                    break
    if count == 0:
        fail(line, "no array has the name of a value of the sheet")


def squeezed(values):
    while values.ndim > 3 and values.shape[0] == 1:
        values = values[0]
    return values


def named_parts(name, brief, value):
    """(names in the file, head of an array of all heads or None, matrix) of a value and its parts.

    brief: "" if the parts are also known without the name of the result, or another name of the value.
    """
    if isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield [f"{name}[{number}]"], None, result_of(item)
        return
    if isinstance(value, SimpleNamespace):
        for part, content in vars(value).items():
            if part != "head":
                yield [f"{name}.{part}"] + ([part] if brief == "" else []), None, content
                continue
            for number, head in enumerate(content, 1):
                for inner, part_of_head in vars(head).items():
                    names = [f"head[{number}].{inner}"]
                    yield [f"{name}.{names[0]}"] + (names if brief == "" else []), None, part_of_head
                    yield [f"{name}.{inner}"] + ([inner] if brief == "" else []), number, part_of_head
    yield [name] + ([brief] if brief else []), None, result_of(value)


def result_of(value):
    """The matrix of a result: its last part."""
    return list(vars(value).values())[-1] if isinstance(value, SimpleNamespace) else value


def compare_matrix(actual, expected, allowed, name, line):
    if matrix(actual).shape != expected.shape:
        fail(line, f"{name}: the shape is {tuple(matrix(actual).shape)}, the array of the file is {tuple(expected.shape)}")
    for i, j in differences(matrix(actual), expected, allowed).nonzero().tolist()[:1]:
        found = float(matrix(actual)[i, j])
        fail(line, f"{name}: element [{i + 1},{j + 1}] is {found!r}, the file has {float(expected[i, j])!r}")

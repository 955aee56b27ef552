"""The functions of worksheets in NumPy. An exported program has a copy of those that it uses.

docs/worksheets.md defines the functions. Matrices are 2-D arrays of float64; numbers may be scalars.
scripts/export-runtime makes export_runtime.inc of this file: one entry per top-level definition.
"""
import json
import math
import os
import struct
import sys
from types import SimpleNamespace

import numpy as np

np.seterr(all="ignore")  # IEEE arithmetic: 1 / 0 is inf, and 0 / 0 is nan


# ---------------------------------------------------------------- matrices


def array(rows):
    return np.array(rows, dtype=np.float64)


def scalar(number):
    return np.float64(number)


def require(condition, message):
    if not condition:
        raise ValueError(message)


def matrix(x):
    """A number, or a matrix itself, as a 2-D array."""
    require(not isinstance(x, list), "expected a matrix, found a list")
    return np.atleast_2d(x if hasattr(x, "sources") else np.asarray(x, dtype=np.float64))


def not_empty(x):
    x = matrix(x)
    require(x.size > 0, "the matrix is empty")
    return x


def vector(x, size):
    """A row or a column of `size` numbers as a 1-D array; 0 if it is absent."""
    if x is None:
        return 0.0
    x = matrix(x)
    require(1 in x.shape and x.size == size, f"expected a vector of {size}, found {x.shape}")
    return x.ravel()


def whole(x, least=0):
    """A whole number as an int."""
    x = matrix(x)
    require(x.size == 1 and x[0, 0] == np.floor(x[0, 0]) >= least, "expected a whole number")
    return int(x[0, 0])


def block(rows):
    """Matrices side by side, and these rows of matrices one above the other."""
    return np.block([[matrix(x) for x in row] for row in rows])


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
    return x[np.ix_(index_list(rows, x.shape[0]), index_list(cols, x.shape[1]))]


def index_list(index, size):
    if isinstance(index, tuple):
        first, last = (whole(bound, 1) for bound in index) if index else (1, size)
        require(first <= last or not index, "the range is empty")
        index = np.arange(first, last + 1)
    index = matrix(index).ravel()
    require(np.all((index >= 1) & (index <= size) & (index == np.floor(index))), "the index is out of range")
    return index.astype(int) - 1


def multiply(x, y):
    """x * y: the product of matrices; a number on either side scales."""
    x, y = matrix(x), matrix(y)
    return x * y if 1 in (x.size, y.size) else x @ y


def inclusive_range(first, last):
    """The row first, first + 1, …, up to last."""
    first, last = matrix(first)[0, 0], matrix(last)[0, 0]
    return first + np.arange(max(0, np.floor(last - first) + 1))[None, :]


def stack(rows):
    """Rows one above the other."""
    return np.concatenate([matrix(row) for row in rows])


def rows_of(x):
    """Each row of a matrix, as a matrix."""
    return [row[None, :] for row in matrix(x)]


def numbers_of(x):
    return list(matrix(x).ravel())


# Of a ufunc: what each input gets back, from the gradient g of the result y.
SLOPES = {
    "add": (lambda g, y, a, b: g, lambda g, y, a, b: g),
    "subtract": (lambda g, y, a, b: g, lambda g, y, a, b: -g),
    "multiply": (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a),
    "divide": (lambda g, y, a, b: g / b, lambda g, y, a, b: -g * y / b),
    "power": (lambda g, y, a, b: g * b * a ** (b - 1), lambda g, y, a, b: g * y * np.log(a)),
    "maximum": (lambda g, y, a, b: g * (a > b), lambda g, y, a, b: g * (b >= a)),
    "matmul": (
        lambda g, y, a, b: np.multiply.outer(g, b) if b.ndim == 1 else g @ b.T,
        lambda g, y, a, b: np.tensordot(a, g, (range(g.ndim), range(g.ndim))) if b.ndim == 1 else
        np.outer(a, g) if a.ndim == 1 else a.T @ g,
    ),
    "negative": (lambda g, y, a: -g,),
    "absolute": (lambda g, y, a: g * np.sign(a),),
    "exp": (lambda g, y, a: g * y,),
    "log": (lambda g, y, a: g / a,),
    "sqrt": (lambda g, y, a: g / (2 * y),),
    "tanh": (lambda g, y, a: g * (1 - y * y),),
    "sin": (lambda g, y, a: g * np.cos(a),),
    "cos": (lambda g, y, a: -g * np.sin(a),),
}

# Functions that move elements; where() has a condition before them.
MOVES = {"atleast_2d", "reshape", "ravel", "transpose", "take", "take_along_axis", "split", "flip", "diag",
         "broadcast_to", "concatenate", "block", "stack", "copy", "where"}


class Tracked(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that knows what it was computed from, so that gradient() can go back from it."""

    count = 0

    def __init__(self, value, sources=()):
        Tracked.count += 1
        self.value, self.sources, self.number = np.asarray(value, dtype=np.float64), sources, Tracked.count
        self.shape, self.size, self.ndim = self.value.shape, self.value.size, self.value.ndim

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        values = [np.asarray(x) for x in inputs]
        y = getattr(ufunc, method)(*values, **options)
        if ufunc.__name__ not in SLOPES or method != "__call__":
            return y  # a comparison, say: small changes do not change it
        return Tracked(y, [
            (x, lambda g, slope=slope, to=x.shape: fit_to(slope(g, y, *values), to))
            for x, slope in zip(inputs, SLOPES[ufunc.__name__]) if isinstance(x, Tracked)])

    def __array_function__(self, function, types, inputs, options):
        name = function.__name__
        if name in ("sum", "mean"):
            return inputs[0].summed(name, **options)
        if name in ("max", "amax", "min", "amin"):
            return inputs[0].extreme(name[-3:], **options)
        if name == "sort":
            axis = options.get("axis", -1)
            return np.take_along_axis(self, np.argsort(self.value, axis=axis, kind="stable"), axis)
        if name in MOVES:
            return moved(function, inputs, options)
        return function(*without_tracking(inputs), **options)

    def __array__(self, dtype=None, copy=None):
        return self.value

    def __getitem__(self, index):
        return moved(lambda x: x[index], (self,), {})

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __len__(self):
        return len(self.value)

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __str__(self):
        return str(self.value)

    def __getattr__(self, name):
        """ravel(), sum(), tolist(), …: as functions, or of the plain array."""
        if name == "T":
            return np.transpose(self)
        if name in MOVES or name in ("sum", "mean", "max", "min"):
            return lambda *more, **options: getattr(np, name)(self, *more, **options)
        if name in ("astype", "argmax", "item", "tolist"):
            return getattr(self.value, name)
        raise AttributeError(name)

    def summed(self, name, axis=None, keepdims=False):
        y = getattr(np, name)(self.value, axis=axis, keepdims=keepdims)
        share = y.size / self.size if name == "mean" else 1
        widened = y.shape if axis is None or keepdims else np.expand_dims(y, axis).shape
        return Tracked(y, [(self, lambda g: np.broadcast_to(np.reshape(g, widened) * share, self.shape))])

    def extreme(self, name, axis=None, keepdims=False):
        """The first of the largest or smallest elements."""
        flat = np.ravel(self) if axis is None else self
        place = getattr(np, "arg" + name)(flat.value, axis=axis or 0, keepdims=True)
        found = np.take_along_axis(flat, place, axis or 0)
        return found if keepdims else found[0] if axis is None else np.reshape(found, np.squeeze(place, axis).shape)


def without_tracking(x):
    if isinstance(x, (list, tuple)):
        return type(x)(without_tracking(item) for item in x)
    return np.asarray(x) if isinstance(x, Tracked) else x


def fit_to(g, to):
    """The gradient of an input that was repeated: summed over the repetitions."""
    g = np.asarray(g).sum(axis=tuple(range(np.ndim(g) - len(to))))
    return g.sum(axis=tuple(i for i, size in enumerate(to) if size == 1 != g.shape[i]), keepdims=True).reshape(to)


def moved(function, inputs, options):
    """The result, and where its elements come from: the function is applied to their numbers, too."""
    sources, first = [], [1]  # 0: from no tracked array

    def numbered(x):
        if isinstance(x, (list, tuple)):
            return [numbered(item) for item in x]
        if not isinstance(x, Tracked):
            return np.zeros(np.shape(x), dtype=int)
        sources.append((x, first[0]))
        first[0] += x.size
        return np.arange(sources[-1][1], first[0]).reshape(x.shape)

    def with_sources(value, places):
        def back(g, source, start):
            total = np.zeros(first[0])
            np.add.at(total, places, g)
            return total[start : start + source.size].reshape(source.shape)
        return Tracked(value, [(x, lambda g, x=x, start=start: back(g, x, start)) for x, start in sources])

    data = slice(1, None) if function is np.where else slice(0, 1)
    places = list(inputs)
    places[data] = [numbered(x) for x in inputs[data]]
    values = function(*without_tracking(inputs), **options)
    places = function(*places, **options)
    if isinstance(values, list):
        return [with_sources(value, place) for value, place in zip(values, places)]
    return with_sources(values, places)


def tracked(x):
    """A value whose gradient is wanted."""
    if isinstance(x, list):
        return [tracked(item) for item in x]
    return x if isinstance(x, Tracked) else Tracked(x)


def gradient(of, start=None, /, **values):
    """The gradient of a number, or of sum(of * start), for each value; of a result for each of its parts."""
    nodes, waiting = {}, [of] if isinstance(of, Tracked) else []
    while waiting:
        node = waiting.pop()
        if id(node) not in nodes:
            nodes[id(node)] = node
            waiting += [source for source, _ in node.sources]
    found = {id(of): np.ones(np.shape(of)) if start is None else np.reshape(np.asarray(matrix(start)), of.shape)}
    for node in sorted(nodes.values(), key=lambda node: -node.number):  # all uses come before it
        for source, back in node.sources:
            found[id(source)] = found.get(id(source), 0) + back(found[id(node)])

    def for_value(value):
        if isinstance(value, SimpleNamespace):
            return SimpleNamespace(**{name: for_value(part) for name, part in vars(value).items()})
        if isinstance(value, list):
            return [for_value(item) for item in value]
        if hasattr(value, "steps"):  # an RNN continues with the states themselves
            return np.stack([for_value(step) for step in value.steps], axis=value.axis)
        return found.get(id(value), np.zeros(np.shape(value)))

    return SimpleNamespace(**{name: for_value(value) for name, value in values.items()})


def divide(x, y):
    """x / y: by a number, or by a matrix of the same shape."""
    x, y = matrix(x), matrix(y)
    require(y.size == 1 or x.shape == y.shape, "expected a number or the same shape as divisor")
    return x / y


# ---------------------------------------------------------------- functions


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return x / 2 * (1 + erf(x / np.sqrt(2)))


def erf(x):
    y = np.vectorize(math.erf, otypes=[np.float64])(np.asarray(x))
    if not hasattr(x, "sources"):
        return y
    return type(x)(y, [(x, lambda g: g * 2 / np.sqrt(np.pi) * np.exp(-np.asarray(x) ** 2))])


def softmax(x, axis=1):
    """The softmax of each row (axis = 1) or column (axis = 0); zeros where all are -inf."""
    x = matrix(x)
    top = np.asarray(x).max(axis=axis, keepdims=True, initial=-np.inf)
    weights = np.exp(np.where(top == -np.inf, 0, x - top))
    return np.where(top == -np.inf, 0, weights / weights.sum(axis=axis, keepdims=True))


def argmax(x, axis=1):
    """The index of the first maximum of each row or column, from 1."""
    return np.expand_dims(not_empty(x).argmax(axis=axis), axis) + 1.0


def exactly(x):
    return x


def layernorm(x, gain=None, bias=None, eps=1e-5, vectors="rows", step=exactly):
    x, axis = matrix(x), 0 if vectors == "columns" else 1
    centered = x - step(x.mean(axis=axis, keepdims=True))
    y = centered / np.sqrt(step((centered**2).mean(axis=axis, keepdims=True)) + eps)
    return y * (1 if gain is None else along(gain, x, axis)) + (0 if bias is None else along(bias, x, axis))


def rmsnorm(x, gain=None, eps=1e-5, vectors="rows", step=exactly):
    x, axis = matrix(x), 0 if vectors == "columns" else 1
    y = x / np.sqrt(step((x**2).mean(axis=axis, keepdims=True)) + eps)
    return y * (1 if gain is None else along(gain, x, axis))


def along(gain, x, axis):
    expected = (1, x.shape[1]) if axis == 1 else (x.shape[0], 1)
    require(tuple(matrix(gain).shape) == expected, "expected a vector of the size of those of the matrix")
    return matrix(gain)


def permute(x, order, axis=0):
    x = matrix(x)
    require(sorted(matrix(order).ravel()) == list(range(1, x.shape[axis] + 1)), "expected each index once")
    return np.take(x, matrix(order).ravel().astype(int) - 1, axis=axis)


def zeros(rows, cols=None):
    return np.zeros((whole(rows), whole(rows if cols is None else cols)))


def ones(rows, cols=None):
    return np.ones((whole(rows), whole(rows if cols is None else cols)))


def identity(size):
    return np.eye(whole(size))


def shape(x):
    return array([matrix(x).shape])


def where(condition, x, y):
    return np.where(matrix(condition) != 0, matrix(x), matrix(y))


def diag(x):
    """A diagonal matrix of a vector; of a matrix, the row of its diagonal."""
    x = matrix(x)
    return np.diag(x.ravel()) if 1 in x.shape else np.diag(x)[None, :]


def sort(x, axis=1, descending=False):
    """Each row (axis = 1) or column in ascending order, nan last."""
    x = np.sort(matrix(x), axis=axis)
    return np.flip(x, axis=axis) if descending else x


def topk(x, k, mask=False):
    """The k largest elements of each row, the largest first; or a 1 where they are."""
    x = matrix(x)
    require(1 <= whole(k) <= x.shape[1], "k: expected 1 to the number of columns")
    places = np.argsort(-x, axis=1, kind="stable")[:, : whole(k)]  # nan last
    if not mask:
        return np.take_along_axis(x, places, axis=1)
    ones_there = np.zeros_like(x)
    np.put_along_axis(ones_there, places, 1.0, axis=1)
    return ones_there


def class_indices(indices, classes):
    """A vector of indices from 1, counted from 0."""
    indices = matrix(indices)
    require(1 in indices.shape, "expected a vector of indices")
    require(np.all((indices >= 1) & (indices <= classes) & (indices == np.floor(indices))), "the index is out of range")
    return indices.ravel().astype(int) - 1


def onehot(indices, classes):
    return np.eye(whole(classes, 1))[class_indices(indices, whole(classes, 1))]


def cross_entropy(logits, targets, rows=False):
    """The mean, or each row, of -log softmax(logits) at the target, from 1."""
    logits = not_empty(logits)
    targets = class_indices(targets, logits.shape[1])
    require(len(targets) == len(logits), "expected a target for each row")
    top = np.asarray(logits).max(axis=1, keepdims=True)
    log_sums = top + np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    losses = log_sums - logits[np.arange(len(targets)), targets][:, None]
    return losses if rows else losses.mean()


def philox(seed, stream, count):
    """Pairs of uniform numbers in [0, 1) from a counter: Philox4x32-10 (Salmon et al. 2011)."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    counter = np.arange((count + 1) // 2, dtype=np.uint64)
    c = [counter & low, counter >> half, np.full_like(counter, stream), np.zeros_like(counter)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> half) ^ c[1] ^ np.uint64(k0), p1 & low, (p0 >> half) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    unit = lambda high, rest: (((high << half) | rest) >> np.uint64(11)).astype(float) * 2.0**-53
    return unit(c[0], c[1]), unit(c[2], c[3])


def random(rows, cols=None, seed=None, normal=False):
    """Uniform numbers from 0 to 1, or standard normal ones: the same for the same seed."""
    rows, cols = whole(rows), whole(rows if cols is None else cols)
    first, second = philox(whole(seed), 1, rows * cols)
    if normal:  # Box and Muller
        radius = np.sqrt(-2 * np.log(1 - first))
        first, second = radius * np.cos(2 * np.pi * second), radius * np.sin(2 * np.pi * second)
    return np.stack([first, second], axis=1).ravel()[: rows * cols].reshape(rows, cols)


def dropout(x, p, seed=None):
    """Each element is 0 with probability p, otherwise divided by 1 - p."""
    x, p = matrix(x), float(matrix(p).item())
    require(0 <= p < 1, "p: expected at least 0 and below 1")
    drawn = np.stack(philox(whole(seed), 2, x.size), axis=1).ravel()[: x.size].reshape(x.shape)
    return np.where(drawn >= p, x / (1 - p), 0)


def round_half_away(x, digits=0):
    """Halves are rounded away from zero; a few units in the last place count as a half."""
    unit = 10.0 ** whole(digits, -300)
    scaled = np.abs(x) * unit
    rounded = np.copysign(np.floor(scaled + 0.5 + scaled * 2 * np.finfo(float).eps) / unit, x)
    return np.where(scaled < 1 / np.finfo(float).eps, rounded, x)


def cut_off(x, digits):
    """Without the decimals behind these; a few units in the last place count as whole."""
    unit = 10.0 ** digits
    scaled = np.abs(x) * unit
    whole_part = np.copysign(np.floor(scaled + scaled * 2 * np.finfo(float).eps) / unit, x)
    return np.where(scaled < 1 / np.finfo(float).eps, whole_part, x)


def by_hand(decimals, cut=False):
    """Rounds the result of a step, or cuts its decimals off, as people with a pocket calculator do."""
    def step(x):
        x = round_half_away(np.asarray(x, dtype=np.float64), decimals + 9)  # decimals far behind are round-off
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
    return np.tanh(hidden) @ vector(v_a, W.shape[1])


def score_concat(q, k, v_a):
    v_a = vector(v_a, q.shape[1] + k.shape[1])
    return np.maximum((q @ v_a[: q.shape[1]])[:, None] + (k @ v_a[q.shape[1] :])[None, :], 0)


def score_gaussian(q, k):
    return np.exp(score_dot(q, k))


def score_cosine(q, k):
    return score_dot(unit_rows(q), unit_rows(k))


def unit_rows(x):
    largest = np.abs(np.asarray(x)).max(axis=1, keepdims=True)
    x = x / np.where(largest == 0, 1, largest)
    squares = (x**2).sum(axis=1, keepdims=True)
    return np.where(squares == 0, 0, x / np.sqrt(np.where(squares == 0, 1, squares)))


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
    if np.isnan(x).any():
        return np.full_like(x, np.nan)
    z = np.sort(x)[::-1]
    count = np.arange(1, len(z) + 1)
    support = count[1 + count * z > np.cumsum(z)].max()
    return np.maximum(x - (z[:support].sum() - 1) / support, 0)


def entmax(x):
    """1.5-entmax (Peters, Niculae and Martins 2019)."""
    x = (x - x.max()) / 2
    if np.isnan(x).any():
        return np.full_like(x, np.nan)
    threshold, z = -1.0, np.sort(x)[::-1]
    for count in range(1, len(z) + 1):
        if not z[count - 1] > -1:
            break
        mean = z[:count].mean()
        squares = ((z[:count] - mean) ** 2).sum()
        following = mean - np.sqrt(max(0.0, (1 - squares) / count))
        if not following <= z[count - 1]:
            break
        threshold = following
    return np.maximum(x - threshold, 0) ** 2


def softmax_of_keys(x):
    weights = np.exp(x - np.asarray(x).max())
    return weights / weights.sum()


NORMALIZERS = {
    "softmax": softmax_of_keys,
    "mean": lambda x: x / len(x),
    "sparsemax": sparsemax,
    "entmax": entmax,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sum": lambda x: x / x.sum(),
    "none": lambda x: x,
}


def pairs(x, queries, keys):
    """A matrix over queries and keys, whose single row or column is repeated."""
    x = matrix(x)
    require(x.shape[0] in (1, queries) and x.shape[1] in (1, keys), "expected n_q × n_k")
    return np.broadcast_to(x, (queries, keys))


def allowed_pairs(queries, keys, causal=False, mask=None, window=None, offset=0, length=None):
    """Which keys each query may attend to; all masks must allow a pair."""
    query = np.arange(queries)[:, None] + whole(offset, -np.inf)
    key = np.arange(keys)[None, :]
    allowed = np.ones((queries, keys), dtype=bool)
    if causal or isinstance(mask, str):
        require(not isinstance(mask, str) or mask == "causal", "mask: expected causal or a matrix")
        allowed &= key <= query
    if window is not None:
        left, right = (whole(side, -1) for side in matrix(window).ravel()[[0, -1]])
        require(matrix(window).shape in ((1, 1), (1, 2)), "window: expected [left right]")
        allowed &= (left < 0) | (query - left <= key)
        allowed &= (right < 0) | (key <= query + right)
    if length is not None:
        require(whole(length) <= keys, "length: there are fewer keys")
        allowed &= key < whole(length)
    if mask is not None and not isinstance(mask, str):
        mask = pairs(mask, queries, keys)
        require(np.all((mask == 0) | (mask == 1)), "mask: expected 0 and 1")
        allowed &= mask == 1
    return allowed


def attention(q, k, v, /, score="scaled", scale=None, softcap=None, bias=None, alibi=None,
              normalizer="softmax", W=None, U=None, b=None, v_a=None, vectors="rows", step=exactly, **masks):
    """Score, mask, normalize, combine. The result has the intermediate results as fields."""
    q, k, v = (not_empty(x).copy() for x in (q, k, v))  # gradients of these are by this call alone
    parts = SimpleNamespace(q=q, k=k, v=v)
    require(vectors in ("rows", "columns"), "vectors: expected rows or columns")
    turned = vectors == "columns"
    q, k, v = (x.T if turned else x for x in vars(parts).values())
    require(len(v) == len(k), f"expected n_v = n_k, found {len(v)} and {len(k)}")
    if score != "general" and turned:  # the W of the general score is between query and key
        W, U = (None if x is None else matrix(x).T for x in (W, U))
    weights = {name: matrix(x) for name, x in dict(W=W, U=U, b=b, v_a=v_a).items() if x is not None}
    if score == "general":
        require(matrix(W).shape == (q.shape[1], k.shape[1]), "W: expected d_q × d_k")
        parts.projected = step(matrix(W) @ k.T if turned else k @ matrix(W).T)
        weights = dict(projected=parts.projected if turned else parts.projected.T)
    if score == "additive":  # which has inner results
        weights["step"] = step
    scores = step(SCORES[score](q, k, **weights))
    if score == "scaled" or any(x is not None for x in (scale, softcap, bias)) or (alibi is not None and alibi != 0):
        parts.products = scores
    if scale is not None:
        require(np.isfinite(scale) and scale != 0, "scale: expected a number other than 0")
        scores = scale * scores
    elif score == "scaled":
        scores = scores / np.sqrt(q.shape[1])
    if softcap is not None:
        require(np.isfinite(softcap) and softcap > 0, "softcap: expected a number above 0")
        scores = softcap * np.tanh(scores / softcap)
    if bias is not None:
        scores = scores + pairs(bias, len(q), len(k))
    if alibi is not None:
        require(np.size(alibi) == 1 and np.isfinite(alibi), "alibi: expected one slope")
        query = np.arange(len(q))[:, None] + masks.get("offset", 0)
        scores = scores - alibi * np.abs(np.arange(len(k))[None, :] - query)
    allowed = allowed_pairs(len(q), len(k), **masks)
    parts.scores = np.where(allowed, step(scores), -np.inf)
    weights = []
    for i, keys in enumerate(allowed):  # a query that may attend no key has weights and output of zero
        own = [NORMALIZERS[normalizer](parts.scores[i, keys])] if keys.any() else []
        weights.append(np.concatenate([*own, np.zeros(1)])[np.where(keys, np.cumsum(keys) - 1, -1)])
    parts.weights = step(np.stack(weights))
    output = step(np.stack([parts.weights[i, keys] @ v[keys] for i, keys in enumerate(allowed)]))
    parts.output = output.T if turned else output
    return parts


def product(x, W, vectors="rows", step=exactly):
    return step(not_empty(W) @ not_empty(x) if vectors == "columns" else not_empty(x) @ not_empty(W))


def self_attention(x, W_q, W_k, W_v=None, /, **options):
    return cross_attention(x, None, W_q, W_k, W_v, **options)


def cross_attention(x, y, W_q, W_k, W_v=None, /, vectors="rows", step=exactly, **options):
    inputs = dict(x=not_empty(x)) if y is None else dict(x=not_empty(x), y=not_empty(y))
    y = x if y is None else y
    values = y if W_v is None else product(y, W_v, vectors, step)
    queries, keys = product(x, W_q, vectors, step), product(y, W_k, vectors, step)
    result = attention(queries, keys, values, vectors=vectors, step=step, **options)
    return SimpleNamespace(**inputs, **vars(result))


def multihead(x, W_q, W_k, W_v, W_O=None, /, heads=None, source=None, vectors="rows", step=exactly, **options):
    """Attention of several heads, whose outputs are concatenated; W_q, W_k, W_v: lists, or one matrix."""
    parts = SimpleNamespace(x=not_empty(x))
    if source is not None:
        parts.y = not_empty(source)
    y = x if source is None else source
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
    parts.heads = np.concatenate([head.output for head in parts.head], axis=0 if vectors == "columns" else 1)
    if W_O is not None:
        parts.output = product(parts.heads, W_O, vectors, step)
    return parts


def split_heads(W, heads, vectors):
    if isinstance(W, list):
        return W
    axis = 0 if vectors == "columns" else 1
    require(matrix(W).shape[axis] % heads == 0, f"the columns cannot be shared by {heads} heads")
    return np.split(matrix(W), heads, axis=axis)


def option_of_head(name, value, head, count):
    if isinstance(value, list):
        require(len(value) == count, f"{name}: expected one matrix for each head")
        return value[head]
    if name == "alibi" and np.size(value) == count:
        return matrix(value).ravel()[head]
    return value


# ---------------------------------------------------------------- other layers


def positional(n, d, base=10000.0, start=0):
    """Sinusoidal position encoding: sine in columns 1, 3, …, cosine in columns 2, 4, …"""
    require(base > 0, "base: expected a number above 0")
    column = np.arange(whole(d, 1))[None, :]
    angle = (np.arange(whole(n, 1))[:, None] + whole(start)) / base ** ((column - column % 2) / column.size)
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle))


def linear(x, W, b=None, vectors="rows"):
    y = product(x, W, vectors)
    return y + vector(b, len(y))[:, None] if vectors == "columns" and b is not None else y + vector(b, y.shape[1])


def conv1d(x, kernel, b=None, padding="same", stride=1):
    """A convolution along the rows. The kernel is not flipped."""
    x = not_empty(x)
    if isinstance(kernel, list):  # one matrix per tap
        taps = [matrix(tap) for tap in kernel]
    elif len(matrix(kernel)) == 1:  # numbers, which scale whole vectors
        taps = [number * np.eye(x.shape[1]) for number in not_empty(kernel)[0]]
    else:  # the matrices of all taps, stacked
        require(len(kernel) % x.shape[1] == 0, "kernel: expected as many rows per tap as x has columns")
        taps = np.split(not_empty(kernel), len(kernel) // x.shape[1])
    require(padding in ("same", "valid"), "padding: expected same or valid")
    left = (len(taps) - 1) // 2 if padding == "same" else 0
    rows = len(x) if padding == "same" else len(x) - len(taps) + 1
    require(rows >= 1, "the kernel does not fit into the rows")
    padded = np.concatenate([np.zeros((left, x.shape[1])), x, np.zeros((len(taps) - 1 - left, x.shape[1]))])
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
        part = np.stack(values, axis=axis)
        if hasattr(part, "sources"):
            part.steps, part.axis = values, axis  # for gradient()
        setattr(parts, name, part)
    return parts


def gate_weights(W, rows, cols):
    require(matrix(W).shape == (rows, cols), f"expected {rows} × {cols}, found {matrix(W).shape}")
    return matrix(W)


def rnn(x, h, W_x, W_h, b=None, vectors="rows", step=exactly):
    """h' = tanh(x W_x + h W_h + b) for each row x."""
    x, h, W_x, W_h = (x.T if vectors == "columns" else x for x in map(not_empty, (x, h, W_x, W_h)))
    h = initial_state(h)
    size, steps = len(h), []
    W_x, W_h, b = gate_weights(W_x, x.shape[1], size), gate_weights(W_h, size, size), vector(b, size)
    for x_t in x:
        z = step(x_t @ W_x + h @ W_h + b)
        h = step(np.tanh(z))
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
        i, f, g, o = np.split(x_t @ W_x + h @ W_h + b, 4)
        i, f, g, o = (step(gate) for gate in (sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)))
        c = step(f * c + i * g)
        h = step(o * np.tanh(c))
        steps.append((i, f, g, o, c, h))
    return states("ifgoch", steps, vectors)


def gru(x, h, W_x, W_h, b=None, b_h=None, reset="after", vectors="rows", step=exactly):
    """The gates are side by side in the order r z n; the reset gate comes after or before h U_n."""
    require(reset in ("after", "before"), "reset: expected after or before")
    x, h, W_x, W_h = (x.T if vectors == "columns" else x for x in map(not_empty, (x, h, W_x, W_h)))
    h = initial_state(h)
    size, steps = len(h), []
    W_x, W_h = gate_weights(W_x, x.shape[1], 3 * size), gate_weights(W_h, size, 3 * size)
    b, b_h = vector(b, 3 * size), vector(b_h, 3 * size) + np.zeros(3 * size)
    for x_t in x:
        x_r, x_z, x_n = np.split(x_t @ W_x + b, 3)
        h_r, h_z, h_n = np.split(h @ W_h + b_h, 3)
        r, z = step(sigmoid(x_r + h_r)), step(sigmoid(x_z + h_z))
        past = r * h_n if reset == "after" else (r * h) @ W_h[:, 2 * size :] + b_h[2 * size :]
        n = step(np.tanh(x_n + past))
        h = step((1 - z) * n + z * h)
        steps.append((r, z, n, h))
    return states("rznh", steps, vectors)


# ---------------------------------------------------------------- claims


def nearly(expected):
    """The tolerance of a claim without a rule."""
    return 1e-9 * (1 + np.abs(expected))


def within_relative(tolerance):
    return lambda expected: tolerance * (1 + np.abs(expected))


def within(tolerance):
    return lambda expected: tolerance


def within_percent(percent):
    return lambda expected: np.where(np.isfinite(expected), percent / 100 * np.abs(expected), 0)


def to_decimals(count):
    return lambda expected: 0.5 * 10.0**-count


def to_digits(count):
    """Half a unit of a significant digit; zero counts as 0.1."""
    def half_unit(x):
        first = int(f"{x:.16e}".split("e")[1]) if np.isfinite(x) and x != 0 else -1
        return 0.5 * 10.0 ** (first + 1 - count)
    return np.vectorize(half_unit, otypes=[np.float64])


def as_printed(text):
    """Numbers as they are printed, and the tolerance: half a unit of the last digit of each."""
    rows = [row.split() for row in text.split(";")]
    half_units = array([[half_of_last_digit(number) for number in row] for row in rows])
    return array(rows), lambda expected: half_units


def half_of_last_digit(number):
    digits, _, power = number.lower().partition("e")
    return 0.5 * 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def differences(actual, expected, allowed):
    """Where the numbers are out of tolerance; nan agrees only with nan, inf only with inf."""
    tolerance = np.broadcast_to(allowed(expected), expected.shape)
    slack = np.where(tolerance == 0, 0, 8 * np.finfo(float).eps * np.maximum(np.abs(actual), np.abs(expected)))
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    finite = np.isfinite(actual) & np.isfinite(expected)
    return ~(same | (finite & (np.abs(actual - expected) <= tolerance + slack)))


def fail(line, message):
    raise AssertionError(f"{SHEET}, line {line}: {message}")


def expect(actual, expected, allowed=nearly, *, line):
    """Each element is as expected; a single expected number is expected of all."""
    actual, expected = expected_shape(actual, expected, line)
    for i, j in np.argwhere(differences(actual, expected, allowed))[:1]:
        fail(line, f"element [{i + 1},{j + 1}] is {actual[i, j]!r}, expected {expected[i, j]!r}")


def expect_not(actual, expected, allowed=nearly, *, line):
    """At least one element differs."""
    if not differences(*expected_shape(actual, expected, line), allowed).any():
        fail(line, "agrees, but was expected to differ")


def expected_shape(actual, expected, line):
    actual, expected = np.asarray(matrix(actual)), np.asarray(matrix(expected))
    if actual.shape != expected.shape and expected.size != 1:
        fail(line, f"the shape is {actual.shape}, expected {expected.shape}")
    return actual, np.broadcast_to(expected, actual.shape)


def expect_error(compute, *, line):
    """Computing this fails."""
    try:
        compute()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
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
    content = np.load(path, allow_pickle=False)
    return {None: content} if file.endswith(".npy") else dict(content)


def read_safetensors(path):
    types = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}
    with open(path, "rb") as file:
        content = file.read()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    arrays = {}
    for name, entry in json.loads(content[8:start]).items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        data = content[start + first : start + last]
        if entry["dtype"] == "BF16":  # the upper half of a float32
            values = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
        else:
            values = np.frombuffer(data, types[entry["dtype"]])
        arrays[name] = values.reshape(entry["shape"])
    return arrays


def matrix_at(values, at=()):
    """The matrix at these leading indices (from 1) of an array."""
    values = np.asarray(values, dtype=np.float64)
    for index in at:
        require(1 <= index <= len(values), "the index is out of range")
        values = values[index - 1]
    while values.ndim > 2 and values.shape[0] == 1:
        values = values[0]
    require(values.ndim <= 2, f"expected indices of a matrix in the array {values.shape}")
    return np.atleast_2d(values)


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
                if key in arrays and (head is None or np.ndim(arrays[key]) >= 3):
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
    actual = np.asarray(matrix(actual))
    if actual.shape != expected.shape:
        fail(line, f"{name}: the shape is {actual.shape}, the array of the file is {expected.shape}")
    for i, j in np.argwhere(differences(actual, expected, allowed))[:1]:
        fail(line, f"{name}: element [{i + 1},{j + 1}] is {actual[i, j]!r}, the file has {expected[i, j]!r}")

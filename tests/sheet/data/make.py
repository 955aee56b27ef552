#!/usr/bin/env python3
"""Makes the arrays that test_compare.c reads. Run here; needs numpy and safetensors."""
import io
import zipfile

import numpy as np
from safetensors.numpy import save_file

X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def attention(q, k, v):
    """What attention(q, k, v, score = scaled) gives, by its intermediate results."""
    scores = q @ k.T / np.sqrt(k.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return {"scores": scores, "weights": weights, "output": weights @ v}


def save_npz(path, arrays):
    """Like numpy.savez, with fixed times, so that the same arrays give the same bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.save(data, np.ascontiguousarray(array))
            archive.writestr(zipfile.ZipInfo(name + ".npy"), data.getvalue())


truth = attention(X, X, X)
np.save("x.npy", X)
np.save("x32.npy", X.astype(np.float32) + np.float32(1e-6))
np.save("row.npy", np.arange(3.0))
np.save("number.npy", np.array(7.0))
np.save("cube.npy", np.arange(24.0).reshape(2, 3, 4))
np.save("batch.npy", np.arange(6.0).reshape(1, 2, 3))

# A device whose softmax is right in every element but one.
device = {name: value.copy() for name, value in truth.items()}
device["weights"][1, 2] += 0.01
device["output"] = device["weights"] @ X
save_npz("truth.npz", truth)
save_npz("device.npz", device)
save_npz("all.npz", {"X": X, **{"a." + n: v for n, v in device.items()}, "strange": X})

# Two heads: stacked in one array, as frameworks dump them, and one by one.
heads = [attention(X, X, X), attention(-X, X, X)]
stacked = {n: np.stack([h[n] for h in heads])[None] for n in ("scores", "weights")}
stacked["weights"][0, 1, 0, 0] += 0.5
save_file({n: np.ascontiguousarray(v) for n, v in stacked.items()}, "heads.safetensors")
save_npz("head2.npz", {"m.head[2].weights": heads[1]["weights"] + 1e-3})

# The result of all heads has the name of each head's part; an array without heads is none of them.
output = np.concatenate([h["output"] for h in heads], axis=1)
save_npz("mixed.npz", {"heads": output, "scores": np.stack([h["scores"] for h in heads])})
save_npz("flat.npz", {"X": X, "m.weights": heads[0]["weights"]})

# The backward pass of L = sum(a .* a) for a = attention(X, X, X); and of a device that forgot to
# subtract the mean of each row in the gradient of the softmax.


def gradients(mean):
    """The gradients by their names in a sheet."""
    a = truth["weights"]
    dy = 2 * truth["output"]
    da = dy @ X.T
    ds = a * (da - mean * (da * a).sum(axis=1, keepdims=True))
    dq, dk, dv = ds @ X / np.sqrt(2), ds.T @ X / np.sqrt(2), a.T @ dy
    return {"a.grad.weights": da, "a.grad.scores": ds, "a.grad.q": dq, "a.grad.v": dv,
            "X.grad": dq + dk + dv}


save_file(gradients(1), "gradients.safetensors")
save_file(gradients(0), "gradients_device.safetensors")

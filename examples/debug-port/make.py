#!/usr/bin/env python3
"""Makes the arrays of debug-port.att: inputs, a correct float32 run and a wrong one.

The error: for query 3 and key 5 the dot product stops one element early, as in a vector loop
without a remainder loop. Run in this folder; needs NumPy.
"""
import zipfile

import numpy as np


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def run(q, k, v, lose=None):
    scores = (q @ k.T / np.sqrt(np.float32(q.shape[1]))).astype(np.float32)
    if lose is not None:
        i, j = lose
        scores[i, j] = q[i, :-1] @ k[j, :-1] / np.sqrt(np.float32(q.shape[1]))
    weights = softmax(scores).astype(np.float32)
    return {"scores": scores, "weights": weights, "output": (weights @ v).astype(np.float32)}


def save(path, arrays):
    """Writes an .npz whose bytes do not depend on the time."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for name, array in arrays.items():
            with out.open(zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0)), "w") as member:
                np.lib.format.write_array(member, array, version=(1, 0))


rng = np.random.Generator(np.random.PCG64(7))
q = rng.normal(size=(4, 8)).astype(np.float32)
k = rng.normal(size=(6, 8)).astype(np.float32)
v = rng.normal(size=(6, 3)).astype(np.float32)
save("inputs.npz", {"q": q, "k": k, "v": v})
save("simulator.npz", run(q, k, v))
save("device.npz", run(q, k, v, lose=(2, 4)))

#!/usr/bin/env python3
"""Makes the files beside it with NumPy and the reference implementation of safetensors.

The tests read them and know the values; run this only to add a file. Every byte is fixed: the same
versions of both libraries make the same files."""

import io
import pathlib
import zipfile

import numpy as np
import safetensors
import safetensors.numpy

HERE = pathlib.Path(__file__).parent
SIGNED = [[0, 1, -2], [3, -4, 5]]
UNSIGNED = [[0, 1, 2], [3, 4, 255]]
FLOATS = [[0.5, -1.25, 65504.0], [np.inf, -0.0, 2.0**-24]]


def npy(name, array, version=None):
    with open(HERE / f"{name}.npy", "wb") as file:
        np.lib.format.write_array(file, np.asanyarray(array), version=version)


def every_type():
    for order, letter in (("<", "le"), (">", "be")):
        for size in (2, 4, 8):
            npy(f"i{size}_{letter}", np.array(SIGNED, f"{order}i{size}"))
            npy(f"u{size}_{letter}", np.array(UNSIGNED, f"{order}u{size}"))
            npy(f"f{size}_{letter}", np.array(FLOATS, f"{order}f{size}"))
    npy("i1", np.array(SIGNED, "i1"))
    npy("u1", np.array(UNSIGNED, "u1"))
    npy("b1", np.array([[True, False, True], [False, False, True]]))


def every_layout():
    counting = np.arange(24, dtype="<f4").reshape(2, 3, 4)
    npy("c_order", counting)
    npy("fortran_order", np.asfortranarray(counting))
    npy("version_2", counting, (2, 0))
    npy("version_3", counting, (3, 0))
    npy("scalar", np.float64(2.5))
    npy("vector", np.arange(3, dtype="<f8"))
    npy("empty", np.zeros((3, 0, 2), "<f4"))
    npy("rank_8", np.arange(16, dtype="<f4").reshape(1, 2, 1, 2, 1, 2, 1, 2))


def npz(name, arrays, method):
    with zipfile.ZipFile(HERE / name, "w", method) as archive:
        for key, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array)
            archive.writestr(zipfile.ZipInfo(f"{key}.npy"), buffer.getvalue(), method)


def bundles():
    arrays = {"weight": np.arange(6, dtype="<f4").reshape(2, 3), "layer/bias": np.array([1.5, -2])}
    npz("stored.npz", arrays, zipfile.ZIP_STORED)
    npz("deflated.npz", arrays | {"zeros": np.zeros(1000, "<f4")}, zipfile.ZIP_DEFLATED)
    npz("nothing.npz", {}, zipfile.ZIP_STORED)
    ours = {
        "b.weight": np.arange(6, dtype="<f4").reshape(2, 3),
        "a.bias": np.array([1.5, -2], "<f4"),
        "wide": np.array([1 / 3], "<f8"),
        "scalar": np.array(7, "<f4"),
        "empty": np.zeros((0, 4), "<f4"),
        "name with \" and \\ and \u0995": np.ones(1, "<f4"),
    }
    safetensors.numpy.save_file(ours, HERE / "ours.safetensors", {"made by": "NumPy"})
    safetensors.numpy.save_file({}, HERE / "nothing.safetensors")
    kinds = {"BOOL": "?", "U8": "u1", "I8": "i1", "I16": "<i2", "U16": "<u2", "F16": "<f2"}
    kinds |= {"I32": "<i4", "U32": "<u4", "F32": "<f4", "F64": "<f8", "I64": "<i8", "U64": "<u8"}
    values = {"B": [1, 0, 1], "U": [0, 1, 255], "I": [0, 1, -2], "F": [0.5, -1.25, np.inf]}
    tensors = {name: np.array(values[name[0]], dtype) for name, dtype in kinds.items()}
    bfloat = np.array(values["F"], "<f4").view("<u4") >> 16  # NumPy has no bfloat16
    tensors["BF16"] = bfloat.astype("<u2")
    specs = {
        name: safetensors.TensorSpec(
            dtype="bfloat16" if name == "BF16" else array.dtype.name,
            shape=array.shape,
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
        for name, array in tensors.items()
    }
    (HERE / "every_type.safetensors").write_bytes(safetensors.serialize(specs, None))


every_type()
every_layout()
bundles()

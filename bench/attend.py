"""The functions of libattend that the comparisons need, by ctypes. The structs mirror attend.h."""
import ctypes
import json
import os
import subprocess
from ctypes import POINTER, Structure, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int64
from ctypes import c_size_t, c_uint64, c_void_p

F32, SCALED = 1, 1


class Error(Structure):
    _fields_ = [("status", c_int), ("line", c_int), ("column", c_int), ("place", c_char * 256),
                ("message", c_char * 768), ("excerpt", c_char * 512)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int), ("rank", c_int), ("shape", c_int64 * 8),
                ("stride", c_int64 * 8), ("owned", c_void_p)]


class AttentionOptions(Structure):
    _fields_ = [("size", c_size_t), ("score", c_int), ("normalizer", c_int), ("scale", c_double),
                ("soft_cap", c_double), ("causal", c_bool), ("offset", c_int64), ("offsets", c_void_p),
                ("window", c_bool), ("window_left", c_int64), ("window_right", c_int64),
                ("query_lengths", c_void_p), ("key_lengths", c_void_p), ("blocks", c_void_p),
                ("block_count", c_int64), ("block_queries", c_int64), ("block_keys", c_int64),
                ("mask", c_void_p), ("mask_stride", c_int64 * 4), ("sequences", c_int64),
                ("query_offsets", c_void_p), ("key_offsets", c_void_p), ("dropout", c_double),
                ("dropout_seed", c_uint64), ("dropout_step", c_uint64),
                ("dropout_layer", c_uint64)]

    def __init__(self, **values):
        super().__init__(size=ctypes.sizeof(AttentionOptions), **values)


def _tensors(*names):
    return type("Tensors", (Structure,), {"_fields_": [(name, POINTER(Tensor)) for name in names]})


_PARAMETERS = ("score_w", "score_u", "score_b", "score_v", "bias", "alibi", "relative")
Inputs = _tensors("query", "key", "value", *_PARAMETERS)
Grads = _tensors("query", "key", "value", *_PARAMETERS)
Outputs = _tensors("output", "scores", "weights", "log_sum_exp", "key_totals", "entropy")


def view(array):
    """A tensor view of a float32 array of NumPy, or of any object with the array interface."""
    interface = array.__array_interface__
    shape = interface["shape"]
    strides = interface["strides"] or _row_major(shape)
    return _tensor(array, interface["data"][0], shape, strides)


def buffer_view(buffer, shape):
    """The same for a ctypes array of floats."""
    return _tensor(buffer, ctypes.addressof(buffer), shape, _row_major(shape))


def _tensor(owner, address, shape, strides):
    tensor = Tensor(address, F32, len(shape), (c_int64 * 8)(*shape),
                    (c_int64 * 8)(*(s // 4 for s in strides)), None)
    tensor.owner = owner  # keeps the memory alive
    return tensor


def _row_major(shape):
    strides, step = [], 4
    for count in reversed(shape):
        strides.insert(0, step)
        step *= count
    return strides


class Library:
    """libattend.so, with failures as exceptions. The program `attend` is expected beside it."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(os.path.abspath(path))
        self.program = os.path.join(os.path.dirname(os.path.abspath(path)), "attend")
        self.lib.att_version.restype = c_char_p
        self.lib.att_cpu_name.restype = c_char_p
        self.lib.att_attention_workspace.restype = c_size_t
        self.lib.att_attention_workspace.argtypes = [c_void_p, c_void_p, c_bool]
        self.error = Error()
        self._check_structs()

    def _check_structs(self):
        """Fails where the structs above differ from those of attend.h: under the causal mask, the
        query attends to the first of two values only."""
        query, output = (ctypes.c_float * 1)(0), (ctypes.c_float * 1)(0)
        values = (ctypes.c_float * 2)(5, 7)
        keys = buffer_view(values, (1, 2, 1, 1))
        inputs = pointers(Inputs, query=buffer_view(query, (1, 1, 1, 1)), key=keys, value=keys)
        outputs = pointers(Outputs, output=buffer_view(output, (1, 1, 1, 1)))
        self.forward(AttentionOptions(score=SCALED, causal=True), inputs, outputs)()
        if output[0] != 5:
            raise RuntimeError("bench/attend.py does not match attend.h")

    def version(self):
        return self.lib.att_version().decode()

    def cpu(self):
        return self.lib.att_cpu_name().decode()

    def bench(self, threads):
        """The machine, and its limits in operations or bytes per second, by `attend bench`, which
        measures each limit for 0.3 s."""
        command = [self.program, "bench", "--json", "--time", "0.015", "--threads", str(threads),
                   "--cpu", self.cpu(), "matmul/packed/8x512x512"]
        report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        return report["machine"], report["configs"][0]["limits"]

    def threads(self, count):
        self.lib.att_threads_set(count)

    def check(self, status):
        if status != 0:
            raise RuntimeError(f"libattend: {self.error.message.decode()}")

    def forward(self, options, inputs, outputs):
        """A function without arguments that runs the forward on a workspace allocated before."""
        workspace = self._workspace(options, inputs, False)
        arguments = (byref(options), byref(inputs), byref(outputs), workspace, byref(self.error))
        call = self.lib.att_attention_forward
        return lambda: self.check(call(*arguments))

    def backward(self, options, inputs, outputs, output_grad, grads):
        workspace = self._workspace(options, inputs, True)
        arguments = (byref(options), byref(inputs), byref(outputs), byref(output_grad),
                     byref(grads), workspace, byref(self.error))
        call = self.lib.att_attention_backward
        return lambda: self.check(call(*arguments))

    def workspace_size(self, options, inputs, backward):
        return self.lib.att_attention_workspace(byref(options), byref(inputs), backward)

    def _workspace(self, options, inputs, backward):
        size = self.workspace_size(options, inputs, backward)
        block = ctypes.create_string_buffer(size + 64)
        address = (ctypes.addressof(block) + 63) // 64 * 64
        pointer = c_void_p(address)
        pointer.block = block  # keeps the memory alive
        return pointer


def pointers(struct, **tensors):
    """A struct of pointers to tensors; it keeps the tensors alive."""
    made = struct(**{name: ctypes.pointer(tensor) for name, tensor in tensors.items()})
    made.tensors = tensors
    return made

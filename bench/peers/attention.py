"""Attention by libattend, PyTorch and ONNX Runtime, in turns in one process.

Run by bench/peers/run with the Python of bench/peers/setup; writes JSON. Each library gets its
tensors in its preferred layout: PyTorch [B,H,T,K], the others [B,T,H,K]. A peer that cannot be
imported is skipped.
"""
import json
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import attend  # noqa: E402

HEADS, WIDTH, LAYERS = 8, 64, 16
ROUNDS, SAMPLE, REST = 5, 0.06, 0.02  # seconds of a sample, and of the pause before it

# Processor time instead of wall-clock time, for one thread on a busy machine.
clock = time.process_time if os.environ.get("ATTEND_BENCH_CLOCK") == "cpu" else time.perf_counter

# work, n, batch, queries (0: n)
CASES = [("forward", 512, 1, 0), ("forward", 1024, 1, 0), ("forward", 4096, 1, 0),
         ("causal", 512, 1, 0), ("causal", 1024, 1, 0), ("causal", 4096, 1, 0),
         ("short", 32, 32, 0), ("short", 128, 32, 0),
         ("backward", 1024, 1, 0), ("backward", 4096, 1, 0),
         ("decode", 4096, 1, 1)]


class Case:
    """One problem with random inputs [B,T,H,K]; in decoding there is one KV cache per layer."""

    def __init__(self, work, n, batch, queries):
        random = np.random.default_rng(n)
        self.work, self.n, self.batch, self.queries = work, n, batch, queries or n
        self.causal, self.backward = work == "causal", work == "backward"
        self.layers = LAYERS if work == "decode" else 1

        def draw(rows):
            return random.standard_normal((batch, rows, HEADS, WIDTH), dtype=np.float32)

        self.query, self.grad = draw(self.queries), draw(self.queries)
        self.keys = [draw(n) for _ in range(self.layers)]
        self.values = [draw(n) for _ in range(self.layers)]

    def flops(self):
        pairs = self.n * (self.n + 1) / 2 if self.causal else self.queries * self.n
        return (10 if self.backward else 4) * self.batch * HEADS * WIDTH * pairs

    def bytes(self):
        return 4.0 * self.batch * HEADS * WIDTH * (2 * self.n + 2 * self.queries)


class Ours:
    name = "attend"

    def __init__(self, library):
        self.library = library

    def version(self):
        return self.library.version()

    def prepare(self, case, threads):
        """A call for each layer, and a function that returns the results of the first."""
        self.library.threads(threads)
        options = attend.AttentionOptions(score=attend.SCALED, causal=case.causal)
        calls = [self._layer(case, options, k, v) for k, v in zip(case.keys, case.values)]
        return [call for call, _ in calls], calls[0][1]

    def _layer(self, case, options, key, value):
        output = np.zeros_like(case.query)
        lse = np.zeros((case.batch, HEADS, case.queries), dtype=np.float32)
        inputs = attend.pointers(attend.Inputs, query=attend.view(case.query),
                                 key=attend.view(key), value=attend.view(value))
        outputs = attend.pointers(attend.Outputs, output=attend.view(output),
                                  log_sum_exp=attend.view(lse))
        forward = self.library.forward(options, inputs, outputs)
        forward()
        if not case.backward:
            return forward, lambda: [output]
        grads = [np.zeros_like(x) for x in (case.query, key, value)]
        into = attend.pointers(attend.Grads, **dict(zip(("query", "key", "value"),
                                                         map(attend.view, grads))))
        grad_view = attend.view(case.grad)
        call = self.library.backward(options, inputs, outputs, grad_view, into)

        def results():
            for grad in grads:
                grad[...] = 0  # the backward accumulates
            call()
            return grads + [lse]

        return call, lambda: results()[:3]


class PyTorch:
    name = "pytorch"

    def __init__(self):
        import torch
        self.torch = torch

    def version(self):
        return self.torch.__version__

    def prepare(self, case, threads):
        torch = self.torch
        torch.set_num_threads(threads)

        def heads_first(x):
            return torch.from_numpy(np.ascontiguousarray(x.transpose(0, 2, 1, 3)))

        query, grad = heads_first(case.query), heads_first(case.grad)
        pairs = [(heads_first(k), heads_first(v)) for k, v in zip(case.keys, case.values)]
        attention = torch.nn.functional.scaled_dot_product_attention
        if case.backward:
            return self._backward(query, *pairs[0], grad)

        def call(key, value):
            with torch.inference_mode():
                return attention(query, key, value, is_causal=case.causal)

        calls = [lambda k=k, v=v: call(k, v) for k, v in pairs]
        return calls, lambda: [calls[0]().numpy().transpose(0, 2, 1, 3)]

    def _backward(self, query, key, value, grad):
        torch = self.torch
        inputs = [x.requires_grad_() for x in (query, key, value)]
        output = torch.nn.functional.scaled_dot_product_attention(*inputs)

        def call():
            return torch.autograd.grad(output, inputs, grad, retain_graph=True)

        return [call], lambda: [x.numpy().transpose(0, 2, 1, 3) for x in call()]


class OnnxRuntime:
    """The fused operator MultiHeadAttention of ONNX Runtime's own domain."""

    name = "onnxruntime"

    def __init__(self):
        import onnx
        import onnxruntime
        self.onnx, self.runtime = onnx, onnxruntime

    def version(self):
        return self.runtime.__version__

    def prepare(self, case, threads):
        if case.backward:
            return None  # not supported
        session = self._session(case, threads)
        flat = (case.batch, -1, HEADS * WIDTH)
        bindings = []
        for key, value in zip(case.keys, case.values):
            binding = session.io_binding()
            for name, array in (("query", case.query), ("key", key), ("value", value)):
                held = self.runtime.OrtValue.ortvalue_from_numpy(array.reshape(flat))
                binding.bind_ortvalue_input(name, held)
            room = np.zeros((case.batch, case.queries, HEADS * WIDTH), dtype=np.float32)
            binding.bind_ortvalue_output("output",
                                         self.runtime.OrtValue.ortvalue_from_numpy(room))
            bindings.append(binding)
        calls = [lambda b=b: session.run_with_iobinding(b) for b in bindings]

        def results():
            calls[0]()
            return [bindings[0].copy_outputs_to_cpu()[0].reshape(case.query.shape)]

        return calls, results

    def _session(self, case, threads):
        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        shape = [case.batch, None, HEADS * WIDTH]
        tensors = {name: helper.make_tensor_value_info(name, kind, shape)
                   for name in ("query", "key", "value", "output")}
        node = helper.make_node("MultiHeadAttention", ["query", "key", "value"], ["output"],
                                domain="com.microsoft", num_heads=HEADS,
                                unidirectional=int(case.causal))
        graph = helper.make_graph([node], "attention",
                                  [tensors["query"], tensors["key"], tensors["value"]],
                                  [tensors["output"]])
        domains = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=9)
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        return self.runtime.InferenceSession(model.SerializeToString(), options,
                                             providers=["CPUExecutionProvider"])


def sample(calls):
    """The best time of a call, layers in turn, over SAMPLE seconds. The pause lets the threads of the
    library measured before go to sleep; the first call wakes those of this one."""
    time.sleep(REST)
    calls[-1]()
    best, begin, turn = float("inf"), clock(), 0
    while True:
        start = clock()
        calls[turn % len(calls)]()
        end = clock()
        best = min(best, end - start)
        turn += 1
        if end - begin > SAMPLE:
            return best


def typical_sample(calls):
    """The same for layers that do not fit the caches: the best mean over all layers, since in decoding
    no layer stays cached."""
    time.sleep(REST)
    calls[-1]()
    best, begin = float("inf"), clock()
    while clock() - begin < SAMPLE:
        start = clock()
        for call in calls:
            call()
        best = min(best, (clock() - start) / len(calls))
    return best


def compare(case, contenders, threads):
    ready = {}
    for contender in contenders:
        prepared = contender.prepare(case, threads)
        if prepared:
            ready[contender.name] = prepared
    truth = ready["attend"][1]()
    row = {"work": case.work, "n": case.n, "batch": case.batch, "threads": threads,
           "flops": case.flops(), "bytes": case.bytes()}
    row["difference"] = max((float(np.abs(a - b).max()) for name, (_, results) in ready.items()
                             if name != "attend" for a, b in zip(truth, results())), default=0)
    take = typical_sample if case.layers > 1 else sample
    for _ in range(ROUNDS):
        for name, (calls, _) in ready.items():
            row[name] = min(row.get(name, float("inf")), take(calls))
    return row


def available(library):
    contenders, missing = [Ours(library)], []
    for peer in (PyTorch, OnnxRuntime):
        try:
            contenders.append(peer())
        except ImportError as reason:
            missing.append(f"{peer.name}: {reason}")
    return contenders, missing


def main(path, threads):
    library = attend.Library(path)
    contenders, missing = available(library)
    rows, limits, machine = [], {}, {}
    for count in threads:
        best = {"compute": 0.0, "memory": 0.0}
        for arguments in CASES:
            machine, measured = library.bench(count)
            best = {name: max(value, measured[name]) for name, value in best.items()}
            case = Case(*arguments)
            print(f"{case.work} {case.n}, {count} thread{'s' * (count > 1)}", file=sys.stderr)
            rows.append(compare(case, contenders, count))
        limits[str(count)] = best
    print(json.dumps({"machine": machine, "cpu": library.cpu(), "limits": limits,
                      "versions": {c.name: c.version() for c in contenders},
                      "missing": missing, "rows": rows}))


if __name__ == "__main__":
    main(sys.argv[1], [int(word) for word in sys.argv[2:]])

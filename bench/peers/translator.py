#!/usr/bin/env python3
"""A Transformer of attend in PyTorch, in the form that is fast there: fused scaled_dot_product_attention,
one matrix for queries, keys and values, no padding in the output layer; decoding with a KV cache and all
beams of a batch in one step. Prints time and memory as one line of JSON.

    translator.py train MODEL tokens.jsonl --batch 4096 --steps 60
    translator.py decode MODEL tokens.jsonl --beam 5 --rows 32 --out outputs
    translator.py ctranslate2 MODEL tokens.jsonl --beam 5 --rows 32 --out outputs

tokens.jsonl is the output of `attend score --json MODEL PAIRS`.
"""
import argparse
import json
import math
import random
import resource
import struct
import tempfile
import time

import numpy
import torch
from torch import nn
from torch.nn import functional as F

START, END, FIRST = 1, 2, 3


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", choices=["train", "decode", "ctranslate2"])
    parser.add_argument("model")
    parser.add_argument("tokens")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=4096, help="tokens: rows times the longer side")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--rows", type=int, default=32, help="sentences per batch in decoding")
    parser.add_argument("--out", help="file for the outputs")
    return parser.parse_args()


# ---- the model file

def read_model(path):
    """The settings, the tokens in the order of their ids, and the tensors."""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    meta = header.pop("__metadata__")
    tensors = {name: torch.from_numpy(numpy.frombuffer(data[slice(*row["data_offsets"])], numpy.float32)
                                      .reshape(row["shape"]).copy())
               for name, row in header.items() if not name.startswith("training.")}
    return json.loads(meta["attend.settings"]), spellings(json.loads(meta["attend.source_vocab"])), tensors


def spellings(vocabulary):
    """BPE tokens as `attend score` prints them: bytes, characters, then the results of merges."""
    tokens = [chr(b) if b < 128 else f"<0x{b:02X}>" for b in range(256)] + list(vocabulary["characters"])
    tokens = [token.replace(" ", "▁") for token in tokens]
    merges = vocabulary["merges"]
    for left, right in zip(merges[0::2], merges[1::2]):
        tokens.append(tokens[left] + tokens[right])
    return ["<unk>", "<s>", "</s>"] + tokens


def read_pairs(path, tokens):
    number = {token: i for i, token in reversed(list(enumerate(tokens)))}
    pairs = []
    with open(path, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if "source_tokens" in line:
                pairs.append([[number[t] for t in line["source_tokens"]],
                              [number[t] for t in line["target_tokens"][:-1]]])
    return pairs


# ---- the model

def sinusoids(count, width):
    places = torch.arange(count)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    return torch.stack([places.sin(), places.cos()], dim=2).flatten(1)


class Part(nn.Module):
    """A layer norm and the named linear layers."""
    def __init__(self, tensors, prefix, names):
        super().__init__()
        get = lambda name: nn.Parameter(tensors[f"{prefix}.{name}"])
        self.gain, self.shift = get("norm.gain"), get("norm.bias")
        self.w = nn.ParameterList([get(name).T.contiguous() for name in names])
        self.b = nn.ParameterList([get(name + "_bias") for name in names])

    def norm(self, x):
        return F.layer_norm(x, x.shape[-1:], self.gain, self.shift)

    def linear(self, i, x):
        return F.linear(x, self.w[i], self.b[i])


class Translator(nn.Module):
    def __init__(self, settings, tensors):
        super().__init__()
        self.heads, self.width = settings["heads"], settings["hidden-size"]
        self.drop, self.drop_weights = settings["dropout"], settings["attention-dropout"]
        part = lambda side, kind, names: nn.ModuleList(
            Part(tensors, f"{side}.{i}.{kind}", names)
            for i in range(settings["layers" if side == "encoder" else "decoder-layers"]))
        self.encoder = nn.ModuleList([part("encoder", "self", ["query_key_value", "out"]),
                                      part("encoder", "feed", ["first", "second"])])
        self.decoder = nn.ModuleList([part("decoder", "self", ["query_key_value", "out"]),
                                      part("decoder", "cross", ["query", "key_value", "out"]),
                                      part("decoder", "feed", ["first", "second"])])
        self.table = nn.Parameter(tensors["target.embed"])
        self.bias = nn.Parameter(tensors["output.bias"])
        self.ends = nn.ModuleList([Part(tensors, "encoder", []), Part(tensors, "decoder", [])])
        self.register_buffer("places", sinusoids(1024, self.width))

    def dropped(self, x):
        return F.dropout(x, self.drop, self.training)

    def embed(self, ids, first=0):
        x = F.embedding(ids, self.table) * math.sqrt(self.width)
        return self.dropped(x + self.places[first:first + ids.shape[1]])

    def split(self, x):
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def attend(self, q, k, v, mask=None, causal=False):
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal,
                                           dropout_p=self.drop_weights if self.training else 0.0)
        return x.transpose(1, 2).flatten(2)

    def feed(self, part, x):
        return x + self.dropped(part.linear(1, F.relu(part.linear(0, part.norm(x)))))

    def encode(self, source, mask):
        x = self.embed(source)
        for attention, feed in zip(*self.encoder):
            q, k, v = map(self.split, attention.linear(0, attention.norm(x)).chunk(3, dim=2))
            x = self.feed(feed, x + self.dropped(attention.linear(1, self.attend(q, k, v, mask))))
        return self.ends[0].norm(x)

    def cross(self, part, x, keys, mask):
        q = self.split(part.linear(0, part.norm(x)))
        return x + self.dropped(part.linear(2, self.attend(q, *keys, mask)))

    def memory(self, states):
        return [tuple(map(self.split, part.linear(1, states).chunk(2, dim=2))) for part in self.decoder[1]]

    def decode(self, target, memory, mask):
        x = self.embed(target)
        for attention, cross, feed, keys in zip(*self.decoder, memory):
            q, k, v = map(self.split, attention.linear(0, attention.norm(x)).chunk(3, dim=2))
            x = x + self.dropped(attention.linear(1, self.attend(q, k, v, causal=True)))
            x = self.feed(feed, self.cross(cross, x, keys, mask))
        return self.ends[1].norm(x)

    def step(self, tokens, place, cache, memory, mask):
        """One token per row; `cache` is the KV cache of each layer and grows."""
        x = self.embed(tokens[:, None], place)
        for i, (attention, cross, feed, keys) in enumerate(zip(*self.decoder, memory)):
            q, k, v = map(self.split, attention.linear(0, attention.norm(x)).chunk(3, dim=2))
            if cache[i]:
                k, v = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
            cache[i] = (k, v)
            x = x + attention.linear(1, self.attend(q, k, v))
            x = self.feed(feed, self.cross(cross, x, keys, mask))
        return F.linear(self.ends[1].norm(x)[:, 0], self.table, self.bias).log_softmax(-1)


# ---- training

def padded(rows):
    length = max(map(len, rows))
    return torch.tensor([row + [0] * (length - len(row)) for row in rows])


def batches(pairs, tokens):
    made, rows = [], []
    for pair in sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0]))):
        longest = max(max(len(row[0]), len(row[1]) + 1) for row in rows + [pair])
        if rows and longest * (len(rows) + 1) > tokens:
            made.append(rows)
            rows = []
        rows.append(pair)
    made.append(rows)
    random.Random(1).shuffle(made)
    return made


def learn(model, optimizer, rows):
    source, before = padded([s for s, _ in rows]), padded([[START] + t for _, t in rows])
    after = padded([t + [END] for _, t in rows])
    used = torch.arange(after.shape[1])[None] < torch.tensor([len(t) + 1 for _, t in rows])[:, None]
    mask = (torch.arange(source.shape[1])[None] < torch.tensor([len(s) for s, _ in rows])[:, None])[:, None, None]
    optimizer.zero_grad()
    states = model.decode(before, model.memory(model.encode(source, mask)), mask)[used]
    F.cross_entropy(F.linear(states, model.table, model.bias), after[used], label_smoothing=0.1).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return int(used.sum())


def train(o, model, pairs):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98))
    made = batches(pairs, o.batch)
    for rows in made[:5]:  # warm-up
        learn(model, optimizer, rows)
    began, cpu = time.perf_counter(), time.process_time()
    tokens = sum(learn(model, optimizer, made[i % len(made)]) for i in range(o.steps))
    return {"tokens": tokens, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


# ---- decoding

def beam_search(model, sources, width):
    """The best hypothesis for each source: the beam search of attend, by mean log-probability."""
    lengths = torch.tensor(list(map(len, sources)))
    mask = (torch.arange(int(lengths.max()))[None] < lengths[:, None])[:, None, None]
    states = model.encode(padded(sources), mask)
    by_beam = lambda x: x.repeat_interleave(width, 0)
    memory, mask = model.memory(by_beam(states)), by_beam(mask)
    cache = [None] * len(memory)
    live = list(range(len(sources)))  # sources that are not finished
    sums = torch.full((len(sources), width), -math.inf)
    sums[:, 0] = 0
    tokens, paths = torch.full((len(sources) * width,), START), [[[]] * width for _ in sources]
    ended = [[] for _ in sources]
    for place in range(50 + 2 * int(lengths.max())):
        scores = (sums.flatten()[:, None] + model.step(tokens, place, cache, memory, mask)).view(len(live), -1)
        best, at = scores.topk(2 * width)
        rows, next_tokens, next_sums, keep = [], [], [], []
        for i, source in enumerate(live):
            vocabulary, chosen = scores.shape[1] // width, []
            for rank, (score, index) in enumerate(zip(best[i].tolist(), at[i].tolist())):
                beam, token = divmod(index, vocabulary)
                if token == END:
                    if rank < width:
                        ended[source].append((score / (place + 1), paths[source][beam]))
                elif len(chosen) < width:
                    chosen.append((score, beam, token))
            paths[source] = [paths[source][beam] + [token] for _, beam, token in chosen]
            max_length = 50 + 2 * len(sources[source])
            top = max(ended[source], default=(-math.inf,))[0]
            if len(ended[source]) >= width or chosen[0][0] / max_length < top or place + 1 >= max_length:
                continue
            keep.append(source)
            rows += [i * width + beam for _, beam, _ in chosen]
            next_tokens += [token for *_, token in chosen]
            next_sums.append([score for score, *_ in chosen])
        if not keep:
            break
        order = torch.tensor(rows)
        cache = [tuple(part[order] for part in layer) for layer in cache]
        if len(keep) < len(live):
            memory, mask = [tuple(part[order] for part in layer) for layer in memory], mask[order]
        live, sums, tokens = keep, torch.tensor(next_sums), torch.tensor(next_tokens)
    return [max(found, default=(0, []))[1] for found in ended]


def in_batches(o, pairs, translate):
    """Sentences of similar length in one batch; outputs in the order of the inputs."""
    order = sorted(range(len(pairs)), key=lambda i: -len(pairs[i][0]))
    outputs = [None] * len(pairs)
    for first in range(0, len(order), o.rows):
        some = order[first:first + o.rows]
        for i, found in zip(some, translate([pairs[i][0] for i in some])):
            outputs[i] = found
    return outputs


def decode(o, model, pairs):
    model.eval()
    with torch.inference_mode():
        beam_search(model, [pairs[0][0]], o.beam)
        began, cpu = time.perf_counter(), time.process_time()
        outputs = in_batches(o, pairs, lambda sources: beam_search(model, sources, o.beam))
    return outputs, {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


# ---- the same weights in CTranslate2

def fill(spec, part, affine):
    spec.layer_norm.gamma, spec.layer_norm.beta = part.gain.detach().numpy(), part.shift.detach().numpy()
    for linear, w, b in zip(affine, part.w, part.b):
        linear.weight, linear.bias = w.detach().numpy(), b.detach().numpy()


def convert(folder, settings, tokens, model):
    from ctranslate2.specs import TransformerSpec, common_spec
    spec = TransformerSpec.from_config((settings["layers"], settings["decoder-layers"]), settings["heads"],
                                       pre_norm=True, activation=common_spec.Activation.RELU)
    for side, end, parts in ((spec.encoder, model.ends[0], model.encoder), (spec.decoder, model.ends[1], model.decoder)):
        fill(side, end, [])
        side.scale_embeddings = True
        side.position_encodings.encodings = model.places.numpy()
        for layer, *of in zip(side.layer, *parts):
            fill(layer.self_attention, of[0], layer.self_attention.linear)
            if len(of) > 2:
                fill(layer.attention, of[1], layer.attention.linear)
            fill(layer.ffn, of[-1], [layer.ffn.linear_0, layer.ffn.linear_1])
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = model.table.detach().numpy()
    spec.decoder.projection.weight, spec.decoder.projection.bias = model.table.detach().numpy(), model.bias.detach().numpy()
    named = tokens[:3] + [f"{i}" for i in range(3, len(tokens))]
    spec.register_source_vocabulary(named)
    spec.register_target_vocabulary(named)
    spec.validate()
    spec.save(folder)
    return named


def ctranslate2(o, settings, tokens, model, pairs):
    import ctranslate2 as engine
    with tempfile.TemporaryDirectory() as folder:
        named = convert(folder, settings, tokens, model)
        translator = engine.Translator(folder, device="cpu", compute_type="float32", inter_threads=1,
                                       intra_threads=o.threads)

        def translate(sources):
            found = translator.translate_batch([[named[t] for t in s] for s in sources], beam_size=o.beam,
                                               max_batch_size=0, max_decoding_length=150)
            return [[named.index(t) if t in named[:3] else int(t) for t in f.hypotheses[0]] for f in found]

        translate([pairs[0][0]])
        began, cpu = time.perf_counter(), time.process_time()
        outputs = in_batches(o, pairs, translate)
    return outputs, {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


def main():
    o = options()
    torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    settings, tokens, tensors = read_model(o.model)
    model, pairs = Translator(settings, tensors), read_pairs(o.tokens, tokens)
    if o.work == "train":
        figures = train(o, model, pairs)
    else:
        outputs, figures = decode(o, model, pairs) if o.work == "decode" else ctranslate2(o, settings, tokens, model, pairs)
        if o.out:
            with open(o.out, "w", encoding="utf-8") as out:
                out.writelines("".join(tokens[t] for t in output).replace("▁", " ").strip() + "\n" for output in outputs)
    figures["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

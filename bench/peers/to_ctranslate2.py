#!/usr/bin/env python3
"""Converts a Transformer trained by attend to a CTranslate2 model, to compare decoding with the same
weights. Needs the packages ctranslate2 and numpy.

    to_ctranslate2.py MODEL.safetensors DIR [--quantization int8]

Only pre-norm models with added sinusoidal positions, without SwiGLU and grouped-query attention, can
be converted.
"""
import argparse
import json
import os
import struct
import sys

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec, common_spec


def refuse(message):
    print(f"to_ctranslate2: {message}", file=sys.stderr)
    sys.exit(2)


def load(path):
    """The tensors by name, and the metadata."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        body = file.read()
    meta = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            refuse(f"{path}: {name} has elements of type {entry['dtype']}, expected F32; convert the model before "
                   "`attend quantize`, with --quantization int8 for int8 weights")
        begin, end = entry["data_offsets"]
        # A copy: quantization changes weights in place, and the bytes of the file are read-only.
        tensors[name] = np.frombuffer(body[begin:end], "<f4").reshape(entry["shape"]).copy()
    return tensors, meta


def shown(spelling):
    """A BPE token as `attend run --json` prints it."""
    out = b""
    for byte in spelling:
        if byte > 0x20 and byte != 0x7F and (byte < 0x80 or len(spelling) > 1):
            out += bytes([byte])
        else:
            out += "▁".encode() if byte == 0x20 else b"<0x%02X>" % byte
    return out.decode()


def words(vocabulary):
    """All tokens in the order of their ids."""
    if "words" in vocabulary:
        own = vocabulary["words"]
    else:
        spellings = [bytes([i]) for i in range(256)]
        spellings += [character.encode() for character in vocabulary["characters"]]
        merges = vocabulary["merges"]
        for left, right in zip(merges[::2], merges[1::2]):
            spellings.append(spellings[left] + spellings[right])
        own = [shown(one) for one in spellings]
    return ["<unk>", "<s>", "</s>"] + own


def sinusoids(count, width):
    angle = np.arange(count)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    table = np.empty((count, width), np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
    return table


def check(settings):
    expected = {"architecture": "transformer", "norm": "pre", "attention-scale": True,
                "residuals": True, "positions": "sinusoidal",
                "positions-join": "add"}
    for key, value in expected.items():
        if settings[key] != value:
            refuse(f"{key} is {settings[key]}, expected {value}")
    if settings["activation"] == "swiglu" or settings["kv-heads"] != settings["heads"]:
        refuse("SwiGLU and grouped-query attention cannot be converted")


class Writer:
    def __init__(self, tensors):
        self.tensors = tensors

    def linear(self, spec, name):
        """A matrix of attend has a column per output, one of CTranslate2 a row."""
        spec.weight = np.ascontiguousarray(self.tensors[name].T)
        if name + "_bias" in self.tensors:
            spec.bias = self.tensors[name + "_bias"]

    def norm(self, spec, name):
        spec.gamma, spec.beta = self.tensors[name + ".gain"], self.tensors[name + ".bias"]

    def layer(self, spec, name, decoder):
        self.norm(spec.self_attention.layer_norm, name + ".self.norm")
        self.linear(spec.self_attention.linear[0], name + ".self.query_key_value")
        self.linear(spec.self_attention.linear[1], name + ".self.out")
        if decoder:
            self.norm(spec.attention.layer_norm, name + ".cross.norm")
            for i, part in enumerate(("query", "key_value", "out")):
                self.linear(spec.attention.linear[i], f"{name}.cross.{part}")
        self.norm(spec.ffn.layer_norm, name + ".feed.norm")
        self.linear(spec.ffn.linear_0, name + ".feed.first")
        self.linear(spec.ffn.linear_1, name + ".feed.second")

    def embedding(self, side, table, settings, positions):
        spec = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        spec.weight = table
        side.scale_embeddings = settings["embedding-scale"]
        side.position_encodings.encodings = positions


def convert(tensors, settings, positions=1024):
    activation = {"relu": common_spec.Activation.RELU, "gelu": common_spec.Activation.GELU}
    spec = TransformerSpec.from_config(
        (settings["layers"], settings["decoder-layers"]), settings["heads"], pre_norm=True,
        activation=activation[settings["activation"]])
    writer = Writer(tensors)
    table = sinusoids(positions, settings["hidden-size"])
    target = tensors["target.embed"]
    writer.embedding(spec.encoder, tensors.get("source.embed", target), settings, table)
    writer.embedding(spec.decoder, target, settings, table)
    for i, layer in enumerate(spec.encoder.layer):
        writer.layer(layer, f"encoder.{i}", False)
    for i, layer in enumerate(spec.decoder.layer):
        writer.layer(layer, f"decoder.{i}", True)
    writer.norm(spec.encoder.layer_norm, "encoder.norm")
    writer.norm(spec.decoder.layer_norm, "decoder.norm")
    output = tensors["output.w"].T if "output.w" in tensors else target
    spec.decoder.projection.weight = np.ascontiguousarray(output)
    if "output.bias" in tensors:
        spec.decoder.projection.bias = tensors["output.bias"]
    return spec


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--quantization", choices=["int8", "int16", "float16"])
    options = parser.parse_args()
    tensors, meta = load(options.model)
    settings = json.loads(meta["attend.settings"])
    check(settings)
    spec = convert(tensors, settings)
    source = words(json.loads(meta["attend.source_vocab"]))
    target = source
    if "attend.target_vocab" in meta:
        target = words(json.loads(meta["attend.target_vocab"]))
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.validate()
    spec.optimize(quantization=options.quantization)
    os.makedirs(options.folder, exist_ok=True)
    spec.save(options.folder)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes a Transformer that attend has trained as a model of CTranslate2, so that both can be
measured at decoding with the same weights. Needs the packages ctranslate2 and numpy.

    to_ctranslate2.py MODEL.safetensors FOLDER [--quantization int8]

A model with other norms or positions than those that it writes (norms before each part, sinusoids
added), with gated units or grouped heads is refused.
"""
import argparse
import json
import os
import struct
import sys

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec, common_spec


def load(path):
    """The tensors by name, and the metadata."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        body = file.read()
    meta = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = np.frombuffer(body[begin:end], "<f4").reshape(entry["shape"])
    return tensors, meta


def shown(spelling):
    """A subword as `attend run --json` names it."""
    out = b""
    for byte in spelling:
        if byte > 0x20 and byte != 0x7F and (byte < 0x80 or len(spelling) > 1):
            out += bytes([byte])
        else:
            out += "▁".encode() if byte == 0x20 else b"<0x%02X>" % byte
    return out.decode()


def words(vocabulary):
    """All tokens in the order of their numbers."""
    if "words" in vocabulary:
        own = vocabulary["words"]
    else:
        spelt = [bytes([i]) for i in range(256)]
        spelt += [letter.encode() for letter in vocabulary["characters"]]
        merges = vocabulary["merges"]
        for left, right in zip(merges[::2], merges[1::2]):
            spelt.append(spelt[left] + spelt[right])
        own = [shown(one) for one in spelt]
    return ["<unk>", "<s>", "</s>"] + own


def sinusoids(count, width):
    place = np.arange(count)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    table = np.empty((count, width), np.float32)
    table[:, 0::2], table[:, 1::2] = np.sin(place), np.cos(place)
    return table


def check(settings):
    wanted = {"family": "transformer", "norm": "before", "scale": True, "residuals": True,
              "positions": "sinusoidal", "positions-join": "add"}
    for key, value in wanted.items():
        if settings[key] != value:
            sys.exit(f"to_ctranslate2: {key} is {settings[key]}, and has to be {value}")
    if settings["activation"] == "gated" or settings["key-heads"] != settings["heads"]:
        sys.exit("to_ctranslate2: gated units and grouped heads are not written")


class Writer:
    def __init__(self, tensors):
        self.tensors = tensors

    def linear(self, spec, name):
        """Our matrices have a column for each result; theirs a row."""
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
        side.scale_embeddings = settings["embed-scale"]
        side.position_encodings.encodings = positions


def convert(tensors, settings, positions=1024):
    activation = {"relu": common_spec.Activation.RELU, "gelu": common_spec.Activation.GELU}
    spec = TransformerSpec.from_config(
        (settings["layers"], settings["decoder-layers"]), settings["heads"], pre_norm=True,
        activation=activation[settings["activation"]])
    writer = Writer(tensors)
    table = sinusoids(positions, settings["width"])
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
    target = words(json.loads(meta["attend.target_vocab"])) if "attend.target_vocab" in meta else source
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.validate()
    spec.optimize(quantization=options.quantization)
    os.makedirs(options.folder, exist_ok=True)
    spec.save(options.folder)


if __name__ == "__main__":
    main()

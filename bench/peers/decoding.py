#!/usr/bin/env python3
"""Compares the decoding speed of attend and CTranslate2 with the same weights: a Transformer trained
by attend, converted for CTranslate2 by to_ctranslate2.py. Both decode the same tokens with the same
beam size and batch size; loading is not counted. Prints processor seconds, tokens per second, and the
number of equal outputs.

    decoding.py ATTEND MODEL.safetensors DIR LINES [--beam 5] [--batch 32] [--threads 1]
                [--precision int8]
"""
import argparse
import json
import os
import resource
import subprocess
import time

import ctranslate2


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attend", help="the program")
    parser.add_argument("model")
    parser.add_argument("folder", help="the model converted by to_ctranslate2.py")
    parser.add_argument("lines", help="a file of sources")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32, help="lines per batch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=["stored", "float32", "int8"], default="stored",
                        help="of attend; that of CTranslate2 is decided by to_ctranslate2.py --quantization")
    return parser.parse_args()


def run_attend(args, lines, json_too=False):
    """The output lines of attend, and its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [args.attend, "run", args.model, "--beam", str(args.beam),
               "--batch-size", str(args.batch), "--precision", args.precision]
    done = subprocess.run(command + ["--json"] * json_too, input=lines, text=True, check=True,
                          stdout=subprocess.PIPE,
                          env={**os.environ, "ATTEND_THREADS": str(args.threads)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout.splitlines(), seconds


def run_ctranslate2(args, tokens):
    translator = ctranslate2.Translator(args.folder, device="cpu", inter_threads=1,
                                        intra_threads=args.threads)
    translator.translate_batch(tokens[:1])
    start = time.process_time()
    found = translator.translate_batch(tokens, beam_size=args.beam, max_batch_size=args.batch,
                                       max_decoding_length=400)
    return [one.hypotheses[0] for one in found], time.process_time() - start


def main():
    args = options()
    with open(args.lines, encoding="utf-8") as file:
        lines = file.read()
    outputs = [json.loads(line) for line in run_attend(args, lines, True)[0]]
    ours = [[token for token in output["target_tokens"] if token != "<end>"] for output in outputs]
    seconds = run_attend(args, lines)[1] - run_attend(args, "")[1]
    theirs, their_seconds = run_ctranslate2(args, [output["source_tokens"] for output in outputs])
    tokens, their_tokens = sum(map(len, ours)), sum(map(len, theirs))
    same = sum(a == b for a, b in zip(ours, theirs))
    print(f"{len(ours)} lines, beam {args.beam}, batch {args.batch}, {args.threads} threads")
    print(f"attend       {seconds:8.2f} s {tokens / seconds:10.0f} tokens/s")
    print(f"CTranslate2  {their_seconds:8.2f} s {their_tokens / their_seconds:10.0f} tokens/s")
    print(f"{same} of {len(ours)} outputs are equal")


if __name__ == "__main__":
    main()

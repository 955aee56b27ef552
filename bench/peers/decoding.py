#!/usr/bin/env python3
"""Measures attend beside CTranslate2 at decoding with the same weights: a Transformer that attend has
trained, written for CTranslate2 by to_ctranslate2.py. Both answer the same tokens with the same beam
and batches; loading is not counted. Tells seconds of the processor, tokens in each of them, and how
many answers are the same.

    decoding.py ATTEND MODEL.safetensors FOLDER LINES [--beam 5] [--batch-size 32] [--threads 1]
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
    parser.add_argument("folder", help="what to_ctranslate2.py has made of the model")
    parser.add_argument("lines", help="a file of sources")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=32, help="lines at a time")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def run_attend(how, lines, json_too=False):
    """What attend writes, and the seconds of the processor that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [how.attend, "run", how.model, "--beam", str(how.beam), "--batch-size", str(how.batch)]
    done = subprocess.run(command + ["--json"] * json_too, input=lines, text=True, check=True,
                          stdout=subprocess.PIPE,
                          env={**os.environ, "ATTEND_THREADS": str(how.threads)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout.splitlines(), seconds


def run_ctranslate2(how, tokens):
    translator = ctranslate2.Translator(how.folder, device="cpu", inter_threads=1,
                                        intra_threads=how.threads)
    translator.translate_batch(tokens[:1])
    start = time.process_time()
    found = translator.translate_batch(tokens, beam_size=how.beam, max_batch_size=how.batch,
                                       max_decoding_length=400)
    return [one.hypotheses[0] for one in found], time.process_time() - start


def main():
    how = options()
    with open(how.lines, encoding="utf-8") as file:
        lines = file.read()
    answers = [json.loads(line) for line in run_attend(how, lines, True)[0]]
    ours = [[token for token in answer["target"] if token != "<end>"] for answer in answers]
    seconds = run_attend(how, lines)[1] - run_attend(how, "")[1]
    theirs, their_seconds = run_ctranslate2(how, [answer["source"] for answer in answers])
    tokens, their_tokens = sum(map(len, ours)), sum(map(len, theirs))
    same = sum(a == b for a, b in zip(ours, theirs))
    print(f"{len(ours)} lines, beam {how.beam}, batch {how.batch}, {how.threads} threads")
    print(f"attend       {seconds:8.2f} s {tokens / seconds:10.0f} tokens/s")
    print(f"CTranslate2  {their_seconds:8.2f} s {their_tokens / their_seconds:10.0f} tokens/s")
    print(f"{same} of {len(ours)} answers are the same")


if __name__ == "__main__":
    main()

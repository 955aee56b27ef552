#!/usr/bin/env python3
"""The RNN encoder-decoder with attention in PyTorch, in the form that is fast there: nn.LSTM over whole
sequences, one batched attention, one cross-entropy. It trains on the pairs that `attend train` reads,
in batches of as many tokens, and prints target tokens per second (end token included) and peak memory
as one line of JSON.

    training.py --train pairs.tsv --hidden-size 256 --embedding-size 128 --batch-tokens 2048 --seconds 20
"""
import argparse
import json
import random
import resource
import time

import torch
from torch import nn

END, START, FIRST = 0, 1, 2


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True, help="lines of source<TAB>target")
    parser.add_argument("--source-tokens", choices=["char", "space"], default="char")
    parser.add_argument("--target-tokens", choices=["char", "space"], default="char")
    parser.add_argument("--hidden-size", type=int, default=128)
    parser.add_argument("--embedding-size", type=int, default=64)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--bidirectional", action="store_true")
    parser.add_argument("--attention", choices=["none", "dot", "general", "additive"], default="dot")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--batch-tokens", type=int, default=2048, help="rows times the longer side")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--compile", action="store_true", help="use torch.compile")
    return parser.parse_args()


def read(path, source_tokens, target_tokens):
    """Pairs of lists of token ids, and the sizes of both vocabularies."""
    split = {"char": list, "space": str.split}
    known = ({}, {})
    pairs = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            sides = line.rstrip("\r\n").split("\t")
            tokens = split[source_tokens](sides[0]), split[target_tokens](sides[1])
            pairs.append([[vocabulary.setdefault(t, len(vocabulary) + FIRST) for t in side]
                          for vocabulary, side in zip(known, tokens)])
    return pairs, [len(vocabulary) + FIRST for vocabulary in known]


def batches(pairs, tokens):
    """Batches of pairs of similar length, at most `tokens` in the longer side, shuffled."""
    pairs = sorted(pairs, key=lambda pair: (len(pair[1]), len(pair[0])))
    made, rows = [], []
    for pair in pairs:
        longest = max(max(len(row[0]), len(row[1]) + 1) for row in rows + [pair])
        if rows and longest * (len(rows) + 1) > tokens:
            made.append(tensors(rows))
            rows = []
        rows.append(pair)
    made.append(tensors(rows))
    random.Random(1).shuffle(made)
    return made


def tensors(rows):
    source_length = max(len(row[0]) for row in rows)
    target_length = max(len(row[1]) for row in rows) + 1
    fill = lambda row, length, value: row + [value] * (length - len(row))
    return (torch.tensor([fill(s, source_length, END) for s, _ in rows]),
            torch.tensor([len(s) for s, _ in rows]),
            torch.tensor([fill([START] + t, target_length, END) for _, t in rows]),
            torch.tensor([fill(t + [END], target_length, -100) for _, t in rows]))


class Embedding(nn.Module):
    """Token embeddings with the dropout of attend (docs/models.md): all occurrences of a token in a line
    share the dropout mask, and so do those in every eighth line of the batch."""
    GROUPS = 8

    def __init__(self, count, width, dropout):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, width))
        self.dropout = dropout

    def forward(self, ids):
        if not self.dropout:
            return nn.functional.embedding(ids, self.weight)
        tables = nn.functional.dropout(self.weight.repeat(self.GROUPS, 1), self.dropout)
        group = torch.arange(ids.shape[0]) % self.GROUPS
        return nn.functional.embedding(ids + group[:, None] * self.weight.shape[0], tables)


class Model(nn.Module):
    def __init__(self, o, sizes):
        super().__init__()
        directions = 2 if o.bidirectional else 1
        between = o.dropout if o.layers > 1 else 0.0
        self.drop = nn.Dropout(o.dropout)
        self.kind = o.attention
        self.source = Embedding(sizes[0], o.embedding_size, o.dropout)
        self.target = Embedding(sizes[1], o.embedding_size, o.dropout)
        self.encoder = nn.LSTM(o.embedding_size, o.hidden_size // directions, o.layers, batch_first=True,
                               bidirectional=o.bidirectional, dropout=between)
        self.decoder = nn.LSTM(o.embedding_size, o.hidden_size, o.layers, batch_first=True, dropout=between)
        if o.bidirectional:
            self.bridges = nn.ModuleList(nn.Linear(2 * o.hidden_size, 2 * o.hidden_size) for _ in range(o.layers))
        if self.kind == "general":
            self.key = nn.Linear(o.hidden_size, o.hidden_size, bias=False)
        if self.kind == "additive":
            self.query = nn.Linear(o.hidden_size, o.hidden_size)
            self.key = nn.Linear(o.hidden_size, o.hidden_size, bias=False)
            self.score = nn.Linear(o.hidden_size, 1, bias=False)
        if self.kind != "none":
            self.join = nn.Linear(2 * o.hidden_size, o.hidden_size, bias=False)
        self.out = nn.Linear(o.hidden_size, sizes[1])

    def scores(self, states, memory):
        if self.kind == "additive":
            return self.score(torch.tanh(self.query(states)[:, :, None] + self.key(memory)[:, None]))[..., 0]
        return states @ (self.key(memory) if self.kind == "general" else memory).transpose(1, 2)

    def start(self, ends):
        """The initial decoder state: the final states of both directions, through a bridge per layer."""
        if not self.encoder.bidirectional:
            return ends
        hidden, cells = (torch.cat([e[0::2], e[1::2]], dim=2) for e in ends)
        both = torch.stack([bridge(state) for bridge, state in zip(self.bridges, torch.cat([hidden, cells], 2))])
        return tuple(part.contiguous() for part in both.chunk(2, dim=2))

    def forward(self, source, lengths, target):
        packed = nn.utils.rnn.pack_padded_sequence(self.source(source), lengths,
                                                   batch_first=True, enforce_sorted=False)
        memory, ends = self.encoder(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(memory, batch_first=True, total_length=source.shape[1])
        states, _ = self.decoder(self.target(target), self.start(ends))
        if self.kind != "none":
            hidden = torch.arange(source.shape[1])[None] >= lengths[:, None]
            scores = self.scores(states, memory).masked_fill(hidden[:, None], float("-inf"))
            states = torch.tanh(self.join(torch.cat([scores.softmax(-1) @ memory, states], dim=2)))
        return self.out(self.drop(states))


def main():
    o = options()
    torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    pairs, sizes = read(o.train, o.source_tokens, o.target_tokens)
    made = batches(pairs, o.batch_tokens)
    model = Model(o, sizes)
    forward = torch.compile(model) if o.compile else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    tokens = steps = 0
    loss = torch.zeros(())
    began = None
    while True:
        for source, lengths, target_in, target_out in made:
            optimizer.zero_grad()
            scores = forward(source, lengths, target_in)
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), target_out.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            steps += 1
            if steps == 5:  # warm-up
                began, tokens = time.perf_counter(), 0
            tokens += int((target_out >= 0).sum())
            if began and time.perf_counter() - began > o.seconds:
                spent = time.perf_counter() - began
                print(json.dumps({"name": "PyTorch " + torch.__version__, "tokens_per_second": tokens / spent,
                                  "steps": steps, "loss": loss.item(),
                                  "parameters": sum(p.numel() for p in model.parameters()),
                                  "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
                return


if __name__ == "__main__":
    main()

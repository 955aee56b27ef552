"""bpe.py FILE MERGES DIR: times BPE training and encoding by SentencePiece; run by bench/peers/bpe."""
import sys
import time

import sentencepiece

RUNS = 3


def main():
    path, merges, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    characters = len(set("".join(lines)))
    learning, applying = [], []
    for _ in range(RUNS):
        start = time.process_time()
        sentencepiece.SentencePieceTrainer.train(
            input=path, model_prefix=folder + "/m", model_type="bpe", byte_fallback=True,
            vocab_size=merges + 256 + characters + 3, hard_vocab_limit=False, character_coverage=1.0,
            normalization_rule_name="identity", num_threads=1, minloglevel=2,
            input_sentence_size=len(lines), shuffle_input_sentence=False)
        learning.append(time.process_time() - start)
        model = sentencepiece.SentencePieceProcessor(model_file=folder + "/m.model")
        start = time.process_time()
        tokens = sum(len(row) for row in model.encode(lines, num_threads=1))
        applying.append(time.process_time() - start)
    print(f"{'SentencePiece':14} trained on {len(lines)} lines in {min(learning):.2f} s "
          f"({len(lines) / min(learning):.0f} lines/s), encoded in {min(applying):.2f} s "
          f"({len(lines) / min(applying):.0f} lines/s): {tokens} tokens, "
          f"vocabulary {model.get_piece_size()}")


if __name__ == "__main__":
    main()

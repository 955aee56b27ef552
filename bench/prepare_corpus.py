"""prepare_corpus.py pairs|text MEGABYTES: a corpus of words by Zipf's law from a seed, with a long tail of
words that occur once or twice, to standard output."""
import random
import sys

LETTERS = "etaoinshrdlcumwfgypbvk"


def word(rank: int) -> str:
    """The word of a rank: the frequent ones are short."""
    letters = []
    rank += 1
    while rank:
        rank, digit = divmod(rank, len(LETTERS))
        letters.append(LETTERS[digit])
    return "".join(letters)


def main() -> None:
    """Writes lines until there are enough bytes. A block of lines is shuffled anew instead of made anew."""
    pairs, wanted = sys.argv[1] == "pairs", int(sys.argv[2]) * 1_000_000
    rng = random.Random(1)
    out, done, tail = sys.stdout, 0, 10**6
    while done < wanted:
        words = [word(int(30_000 ** rng.random())) for _ in range(50_000)]
        lines = []
        at = 0
        for _ in range(20):
            rng.shuffle(words)
            at = 0
            while at + 40 < len(words):
                count = rng.randrange(3, 36)
                line = words[at:at + count]
                at += count
                if rng.random() < 0.2:
                    line.append(word(tail))  # a word that occurs here alone
                    tail += 1
                text = " ".join(line)
                lines.append(f"{text}\t{' '.join(reversed(line))}\n" if pairs else f"{text}.\n")
        block = "".join(lines)
        out.write(block)
        done += len(block)


main()

"""prepare_corpus.py pairs|text MEGABYTES: a corpus of words by Zipf's law from a seed, with a long tail of
words that occur once, to standard output."""
import random
import sys

LETTERS = "etaoinshrdlcumwfgypbvk"
PHRASES, LINES = 20_000, 100_000  # of a block: phrases are made once, and its lines are made of them


def word(rank: int) -> str:
    """The word of a rank: the frequent ones are short."""
    letters = []
    rank += 1
    while rank:
        rank, digit = divmod(rank, len(LETTERS))
        letters.append(LETTERS[digit])
    return "".join(letters)


def make_phrases(rng: random.Random, common: list[str]) -> tuple[list[str], list[str]]:
    """Phrases of 1 to 12 words, and the same backward."""
    rows = [[common[int(len(common) ** rng.random())] for _ in range(rng.randrange(1, 13))] for _ in range(PHRASES)]
    return [" ".join(row) for row in rows], [" ".join(row[::-1]) for row in rows]


def main() -> None:
    """Writes lines until there are enough bytes. A line is three phrases; every fifth has a word of its own."""
    pairs, wanted = sys.argv[1] == "pairs", int(sys.argv[2]) * 1_000_000
    rng = random.Random(1)
    common = [word(rank) for rank in range(30_001)]
    done, tail = 0, 10**6
    while done < wanted:
        forward, backward = make_phrases(rng, common)
        picks = [rng.choices(range(PHRASES), k=LINES) for _ in range(3)]
        lines = []
        for number, (a, b, c) in enumerate(zip(*picks)):
            rare = ""
            if number % 5 == 0:
                rare, tail = " " + word(tail), tail + 1
            text = f"{forward[a]} {forward[b]} {forward[c]}{rare}"
            lines.append(f"{text}\t{rare[1:]}{' ' if rare else ''}{backward[c]} {backward[b]} {backward[a]}\n"
                         if pairs else f"{text}.\n")
        block = "".join(lines)
        sys.stdout.write(block)
        done += len(block)


main()

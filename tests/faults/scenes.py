"""Every verb of the program on its smallest inputs, which are made here."""
import gzip
import os
import shutil
import struct
import subprocess
import zipfile
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "tests", "fuzz", "corpus")

WORDS = "the red old dog cat sees a bird".split()
SENTENCES = [" ".join(WORDS[(7 * i + 3 * j) % len(WORDS)] for j in range(2 + i % 3)) for i in range(8)]


@dataclass
class Scene:
    """One command line. IN/ in its arguments stands for the folder of inputs."""

    name: str
    arguments: str
    stdin: str = "/dev/null"
    seeds: list[str] = field(default_factory=list)  # inputs copied to where the command runs
    large: bool = False  # too slow for every n: one call per call stack
    varies: bool = False  # prints times: only the exit code is compared
    folder: str = ""  # made before the command runs
    timed: str = ""  # a file that has times in it
    threads: int = 1
    needs: str = ""  # an optional library

    def words(self, folder: str) -> list[str]:
        """The command line."""
        return ["attend"] + [word.replace("IN/", folder + "/") for word in self.arguments.split()]


def write(name: str, lines: list[str]) -> None:
    """A file of lines."""
    with open(name, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


def npy(shape: tuple[int, ...]) -> bytes:
    """An array of float32 between -1 and 1 as .npy."""
    count = 1
    for size in shape:
        count *= size
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = struct.pack(f"<{count}f", *(((i * 2654435761) % 512 - 256) / 256 for i in range(count)))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values


def write_bytes(name: str, data: bytes) -> None:
    """A file of bytes."""
    with open(name, "wb") as file:
        file.write(data)


def make_texts() -> None:
    """Corpora and sheets."""
    write("pairs.tsv", [f"{line}\t{line[::-1]}" for line in SENTENCES])
    write("align.txt", ["0-0 1-1"] * len(SENTENCES))
    write("lines.txt", SENTENCES[:2] + ["", "the unknown dog"])
    write("string.txt", ["abc"])
    write("labels.tsv", [f"{line}\t{'good' if i % 2 else 'bad'}" for i, line in enumerate(SENTENCES)])
    write("tags.conll", [f"{word} {'B' if j else 'O'}" if word else "" for line in SENTENCES
                         for j, word in enumerate(line.split() + [""])])
    write("tags.tsv", [f"{line}\t{line[::-1]}\t{'V;PST' if i % 2 else 'N'}" for i, line in enumerate(SENTENCES)])
    write("labels.csv", ["text,label"] + [f'"{line}",{i % 2}' for i, line in enumerate(SENTENCES)])
    write("labels.jsonl", [f'{{"text":"{line}","label":{i % 2}}}' for i, line in enumerate(SENTENCES)])
    write("vectors.txt", ["3 4", "the 1 2 3 4", "dog 4 3 2 1", "zebra 0 0 0 0"])
    write("text.txt", [f'{line} "{line}" (a) {i}.' for i, line in enumerate(SENTENCES)])
    write("long.txt", [f'{line} "{line}" ({i})' for i in range(10) for line in SENTENCES])
    with open("labels.tsv", "rb") as plain:
        write_bytes("labels.tsv.gz", gzip.compress(plain.read(), mtime=0))
    write("captions.tsv", [f"{i % 4}\t{line}" for i, line in enumerate(SENTENCES)])
    write("prefixes.txt", ["a", "", "", "b"])
    write_bytes("features.npy", npy((4, 4, 2)))
    for sheet in "one.att", "two.att", "loads.att", "pair.npy":
        shutil.copy(os.path.join(ROOT, "tests", "program", "sheets", sheet), sheet)
    shutil.copy(os.path.join(ROOT, "examples", "h07-multihead.att"), "multihead.att")
    shutil.copy(os.path.join(ROOT, "examples", "exercise", "attention.att"), "exercise.att")
    write("students.csv", ["id", "ada", "bob"])
    write("ada.txt", ["a.products = 3 1 -4", "a.scores = 3 1 -4", "| a.weights | 1/2 | 0,5 | 0 |"])
    write("bob.txt", ["a = [1 2]"])


def make_fonts(folder: str) -> bool:
    """One font, and no place for fontconfig to write a cache: after a fault it may write a wrong one, which must not
    become that of the next run; inject.h keeps it from that of the machine. False if there is no font."""
    found = sorted(os.path.join(place, name) for place, _, names in os.walk("/usr/share/fonts") for name in names
                   if name.endswith((".ttf", ".otf")))
    if not found:
        return False
    os.makedirs("fonts", exist_ok=True)
    shutil.copy(next((name for name in found if name.endswith("/DejaVuSans.ttf")), found[0]), "fonts")
    write("fonts.conf", ["<?xml version='1.0'?>", "<!DOCTYPE fontconfig SYSTEM 'fonts.dtd'>", "<fontconfig>",
                         f"<dir>{folder}/fonts</dir>", f"<cachedir>{folder}/fonts.conf/none</cachedir>", "</fontconfig>"])
    return True


def make_small_weights() -> None:
    """Weights of other programs."""
    os.makedirs("ct2", exist_ok=True)
    shutil.copy(os.path.join(CORPUS, "ctranslate2", "int8.bin"), "ct2/model.bin")
    write("ct2/source_vocabulary.txt", ["<blank>", "<s>", "</s>", "a", "b"])
    write("ct2/target_vocabulary.txt", ["<blank>", "<s>", "</s>", "x", "<unk>", "y", "z"])
    with open(os.path.join(CORPUS, "llama2c", "whole"), "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[:2])[0]
    write_bytes("tokenizer.bin", data[2 : 2 + length])
    write_bytes("llama.bin", data[2 + length :])
    shapes = {"enc_emb": (29, 3), "enc_w_ih": (6, 3), "enc_w_hh": (6, 2), "enc_b_ih": (6,), "enc_b_hh": (6,),
              "dec_emb": (74, 3), "dec_w_ih": (6, 3), "dec_w_hh": (6, 2), "dec_b_ih": (6,), "dec_b_hh": (6,),
              "fc_w": (74, 2), "fc_b": (74,)}
    with zipfile.ZipFile("g2p.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, shape in shapes.items():
            archive.writestr(zipfile.ZipInfo(name + ".npy"), npy(shape))


def make_squeezenet() -> None:
    """The image encoder has one size only."""
    layers = [("conv1", 3, 96, 7)]
    channels = 96
    for name, columns, squeeze in [("f2", 128, 16), ("f3", 128, 16), ("f4", 256, 32), ("f5", 256, 32),
                                   ("f6", 384, 48), ("f7", 384, 48), ("f8", 512, 64), ("f9", 512, 64)]:
        layers += [(name + "s", channels, squeeze, 1), (name + "a", squeeze, columns // 2, 1),
                   (name + "b", squeeze, columns // 2, 3)]
        channels = columns
    layers.append(("convf", 512, 1000, 1))
    rows, at = [], 0
    for name, depth, columns, size in layers:
        rows.append(f"{name}.weight\t{columns}x{depth}x{size}x{size}\t{at}")
        at += columns * depth * size * size
        rows.append(f"{name}.bias\t{columns}\t{at}")
        at += columns
    some = struct.pack("<1021f", *((i * 7919 % 1021 - 510) / 20000 for i in range(1021)))
    write_bytes("squeeze.f32", (some * (at // 1021 + 1))[: 4 * at])
    write("manifest.tsv", rows)
    write("synset_words.txt", [f"n{i:08} thing {i}" for i in range(1000)])
    shutil.copy(os.path.join(CORPUS, "image", "print.jpg"), "photo.jpg")
    shutil.copy(os.path.join(CORPUS, "image", "palette.png"), "photo.png")
    write_bytes("targets.npy", npy((2, 49, 3)))


RNN = "--hidden-size 4 --embedding-size 4"
TRANSFORMER = "--architecture transformer --layers 1 --hidden-size 4 --heads 2 --ffn-size 4"
STRINGS = "--train-count 6 --valid-count 2 --max-string-length 3"
SHORT = "--steps 2 --batch-tokens 40 -q --out m.safetensors"
TRAINED = {
    "rnn": f"reverse {STRINGS} {RNN} {SHORT}",
    "transformer": f"pairs --train IN/pairs.tsv --valid-fraction 0.3 {TRANSFORMER} --source-tokens bpe --target-tokens bpe "
                   f"--bpe-merges 4 {SHORT}",
    "words": f"pairs --train IN/pairs.tsv --valid-fraction 0.3 {RNN} --source-tokens word --target-tokens word "
             f"--guided-alignment IN/align.txt {SHORT}",
    "copying": f"pairs --train IN/pairs.tsv --valid-fraction 0.3 {RNN} --source-tokens space --target-tokens space --min-count 4 "
               f"--copy --word-dropout 0.2 {SHORT}",
    "lm": f"lm --train IN/text.txt {RNN} --architecture rnn --sequence-length 8 {SHORT}",
    "lm-transformer": f"lm --train IN/text.txt {TRANSFORMER} --sequence-length 8 {SHORT}",
    "classifier": f"classify --train IN/labels.tsv --valid-fraction 0.3 {RNN} --pool attention {SHORT}",
    "tags": f"pairs --train IN/tags.tsv --valid IN/tags.tsv {RNN} {SHORT}",
    "vectors": f"classify --train IN/labels.csv --valid IN/labels.jsonl --hidden-size 4 --vectors IN/vectors.txt "
               f"--vectors-tune=no --char-features cnn --char-size 3 {SHORT}",
    "cnn": f"classify --train IN/labels.tsv --valid-fraction 0.3 --architecture cnn --hidden-size 3 --embedding-size 4 {SHORT}",
    "tagger": f"tag --train IN/tags.conll --valid-fraction 0.3 {RNN} --crf --char-features cnn --char-size 3 {SHORT}",
    "caption": f"caption --train IN/captions.tsv --features IN/features.npy --valid IN/captions.tsv {RNN} {SHORT}",
    "shapes": f"shapes --train-count 4 --valid-count 2 {RNN} --conv-channels 2 {SHORT}",
}
RESUMABLE = f"train reverse {STRINGS} {RNN} --steps 4 --batch-tokens 40 --save-every 0 -q --out m.safetensors"


def make_inputs(attend: str, folder: str, squeezenet: bool) -> None:
    """All inputs, in `folder`: data, then models that are trained on them."""
    make_texts()
    make_small_weights()

    def run(arguments: str) -> None:
        words = arguments.replace("IN/", folder + "/").split()
        subprocess.run([attend, *words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    for name, options in TRAINED.items():
        run("train " + options.replace("m.safetensors", name + ".safetensors"))
        os.rename(f"{name}.last.safetensors", f"{name}-checkpoint")
    run(RESUMABLE.replace("m.safetensors", "whole.safetensors"))
    run(RESUMABLE.replace("--steps 4", "--steps 2"))
    run("prepare pairs IN/pairs.tsv --valid-fraction 0.3 --source-tokens word --target-tokens char --no-copy -o pairs.tokens")
    run("prepare lm IN/text.txt --valid-fraction 0.3 -o text.tokens")
    run("shortlist IN/words.safetensors IN/pairs.tsv -q -o words.shortlist")
    run("import llama2c IN/llama.bin --tokenizer IN/tokenizer.bin -o llama.safetensors")
    if squeezenet:
        make_squeezenet()
        run("import squeezenet IN/squeeze.f32 -o encoder.safetensors")
        run("features IN/encoder.safetensors IN/photo.jpg -o photo.npy")


def all_scenes() -> list[Scene]:
    """Every verb, with what makes it take another way."""
    model = "IN/{}.safetensors".format
    scenes = [
        Scene("explain", "explain IN/one.att"),
        *[Scene(f"explain-{f}", f"explain IN/one.att -f {f} -o document") for f in ("md", "latex", "html", "json")],
        Scene("explain-stdin", "explain", stdin="two.att"),
        Scene("explain-load", "explain IN/loads.att"),
        Scene("explain-multihead", "explain IN/multihead.att -f json", large=True),
        Scene("explain-folder", "explain IN/one.att IN/two.att -f md -o folder", folder="folder"),
        Scene("explain-several", "explain IN/one.att IN/two.att -f md -o d --svg map.svg"),
        Scene("explain-head", f"explain {model('transformer')} --input dog -f md"),
        Scene("explain-caption", f"explain {model('caption')} --input IN/features.npy --step 1", large=True),
        Scene("exercise", "exercise IN/exercise.att --variant ada"),
        Scene("exercise-students", "exercise IN/exercise.att --variants IN/students.csv -f html -o papers"),
        Scene("grade", "grade IN/exercise.att IN/ada.txt"),
        Scene("grade-class", "grade IN/exercise.att IN/ada.txt IN/bob.txt --csv p.csv --json p.json --pages pages",
              large=True),
        Scene("explain-svg", "explain -q IN/one.att --svg map.svg"),
        Scene("explain-png", "explain -q IN/one.att --png map.png", large=True, needs="rsvg"),
        Scene("explain-pdf", "explain -q IN/one.att --pdf map.pdf --png map.png", large=True, needs="rsvg"),
        *[Scene(f"train-{name}", f"train {options}") for name, options in TRAINED.items()],
        Scene("train-log", f"train {TRAINED['rnn']} --log log --save-every 0", timed="log"),
        Scene("train-threads", f"train {TRAINED['transformer']}", threads=4),
        Scene("train-resume", "train --resume m.last.safetensors --steps 4 -q", seeds=["m.safetensors", "m.last.safetensors"]),
        Scene("train-init-from", f"train pairs --train IN/pairs.tsv --valid-fraction 0.3 --init-from {model('words')} "
                                 f"--init-vocab extend {SHORT}"),
        Scene("prepare-pairs", "prepare pairs IN/pairs.tsv=2 IN/tags.tsv --columns 1,2 --valid-fraction 0.3 --source-tokens bpe "
              "--target-tokens word --bpe-merges 4 --no-copy -o p.tokens"),
        Scene("prepare-lm", "prepare lm IN/text.txt --tokens bpe --bpe-merges 4 --valid-fraction 0.3 -o t.tokens"),
        Scene("prepare-pipe", "prepare classify - --source-tokens word --valid-fraction 0.3 -o c.tokens", stdin="labels.tsv"),
        Scene("train-tokens", f"train pairs --train IN/pairs.tokens {RNN} {SHORT}"),
        Scene("train-tokens-lm", f"train lm --train IN/text.tokens {TRANSFORMER} --sequence-length 8 {SHORT}"),
        Scene("train-try", f"train reverse {STRINGS} {RNN} --try 2 {SHORT}", varies=True),
        Scene("run-rnn", f"run {model('rnn')}", stdin="string.txt"),
        Scene("run-beam", f"run {model('transformer')} --beam 3 --n-best 2 --max-output-length 6", stdin="lines.txt"),
        Scene("run-json", f"run {model('transformer')} --json --attention --heads --max-output-length 6", stdin="lines.txt"),
        Scene("run-words", f"run {model('words')} --alignments --replace-unknown --prefixes IN/prefixes.txt", stdin="lines.txt"),
        Scene("run-ensemble", f"run {model('rnn')} --ensemble {model('rnn')}", stdin="string.txt"),
        Scene("run-copying", f"run {model('copying')} --json --beam 2 --ensemble {model('copying')}", stdin="lines.txt"),
        Scene("run-threads", f"run {model('transformer')} --max-output-length 6", stdin="lines.txt", threads=4),
        Scene("run-shortlist", f"run {model('words')} --shortlist IN/words.shortlist --beam 2", stdin="lines.txt"),
        Scene("shortlist", f"shortlist {model('words')} IN/pairs.tsv -o s"),
        Scene("shortlist-attention", f"shortlist {model('words')} IN/pairs.tsv --from attention -o s"),
        Scene("run-lm", f"run {model('lm')} --prompt the --max-new-tokens 8"),
        Scene("run-lm-sample", f"run {model('lm-transformer')} --prompt the --sample --seed 3 --max-new-tokens 8"),
        Scene("run-llama", f"run {model('llama')} --prompt a --max-new-tokens 4"),
        Scene("run-classifier", f"run {model('classifier')} --json --attention", stdin="lines.txt"),
        Scene("run-csv", f"run {model('classifier')} IN/labels.csv --format csv"),
        Scene("run-jsonl", f"run {model('tagger')} - --format jsonl --columns text", stdin="labels.jsonl"),
        Scene("run-tagger", f"run {model('tagger')} --json", stdin="lines.txt"),
        Scene("run-caption", f"run {model('caption')} IN/features.npy --max-output-length 4"),
        Scene("run-encoder", f"run {model('encoder')} IN/photo.jpg", large=True, needs="image"),
        Scene("eval-seq2seq", f"eval {model('transformer')} IN/pairs.tsv --max-output-length 6 --bootstrap-samples 20"),
        Scene("eval-copying", f"eval {model('copying')} IN/pairs.tsv --metric bleu --max-output-length 6 --bootstrap-samples 20"),
        Scene("eval-baseline", f"eval {model('transformer')} IN/pairs.tsv --baseline {model('words')} --max-output-length 6 "
                               "--bootstrap-samples 10"),
        Scene("eval-baseline-classifier", f"eval {model('cnn')} - --baseline {model('classifier')} --bootstrap-samples 10",
              stdin="labels.tsv"),
        Scene("eval-baseline-tagger", f"eval {model('tagger')} IN/tags.conll --baseline {model('tagger')} --bootstrap-samples 10"),
        Scene("eval-baseline-files", "eval --hyp IN/lines.txt --baseline IN/lines.txt --ref IN/lines.txt --bootstrap-samples 10"),
        Scene("eval-lm", f"eval {model('lm')} IN/text.txt --json"),
        Scene("eval-lm-stride", f"eval {model('lm-transformer')} IN/text.txt --stride 3"),
        Scene("eval-gzip", f"eval {model('classifier')} IN/labels.tsv.gz", needs="zlib"),
        Scene("eval-classifier", f"eval {model('classifier')} IN/labels.tsv"),
        Scene("eval-tagger", f"eval {model('tagger')} IN/tags.conll"),
        Scene("eval-caption", f"eval {model('caption')} IN/captions.tsv --features IN/features.npy --max-output-length 4"),
        Scene("eval-files", "eval --hyp IN/lines.txt --ref IN/lines.txt --bootstrap-samples 20"),
        Scene("score-seq2seq", f"score {model('words')} IN/pairs.tsv --json"),
        Scene("score-lm", f"score {model('lm')} IN/text.txt"),
        Scene("show", f"show {model('rnn')} abc"),
        Scene("show-copying", f"show {model('copying')} dog --json --html page.html --max-output-length 6"),
        Scene("show-heads", f"show {model('transformer')} dog --heads --svg map.svg --max-output-length 6"),
        Scene("show-png", f"show {model('rnn')} abc --png map.png", large=True, needs="rsvg"),
        Scene("show-classifier", f"show {model('classifier')} dog --svg map.svg"),
        Scene("show-tagger", f"show {model('tagger')} dog --svg map.svg"),
        Scene("show-caption", f"show {model('shapes')} --svg map.svg --image-index 1 --max-output-length 4"),
        Scene("show-labels", f"show {model('tagger')} dog --alternatives 2 --html page.html"),
        Scene("show-words", f"show {model('shapes')} --alternatives 2 --json --max-output-length 3"),
        Scene("show-tree", f"show {model('lm')} ab --beam 2 --beam-tree --max-new-tokens 2 --svg tree.svg"),
        Scene("show-cell", f"show {model('lm')} abc --cell 1:1"),
        Scene("show-gradients", f"show {model('lm')} abcd --gradients"),
        Scene("cells", f"cells {model('lm')} --text IN/long.txt --json --html page.html", large=True),
        Scene("info", f"info {model('transformer')}"),
        Scene("info-json", f"info {model('lm')} --json"),
        Scene("info-encoder", f"info {model('encoder')}", large=True, needs="image"),
        Scene("import-ctranslate2", "import ctranslate2 IN/ct2/model.bin -o m.safetensors"),
        Scene("import-llama2c", "import llama2c IN/llama.bin --tokenizer IN/tokenizer.bin -o m.safetensors"),
        Scene("import-g2p", "import g2p IN/g2p.npz -o m.safetensors", needs="zip"),
        Scene("import-squeezenet", "import squeezenet IN/squeeze.f32 -o m.safetensors", large=True, needs="image"),
        Scene("features", f"features {model('encoder')} IN/photo.png -o f.npy", large=True, needs="image"),
        Scene("features-targets", f"features {model('encoder')} IN/photo.png IN/photo.jpg --targets IN/targets.npy -o e.safetensors",
              large=True, needs="image"),
        Scene("bench", "bench kernel/exp --time 0.001 --threads 1", varies=True, large=True),
        Scene("bench-list", "bench --list"),
        Scene("gradcheck", "gradcheck add"),
        Scene("help", "help"),
        Scene("help-train", "help train"),
        Scene("help-task", "train lm --help"),
        Scene("help-mdoc", "help --format mdoc", large=True),
        Scene("help-zsh", "help --format zsh", large=True),
        Scene("version", "--version"),
    ]
    return scenes

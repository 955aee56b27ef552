"""The folder that the commands of one document run in: before each command, the files and models that it reads
are put there, tiny ones, unless an earlier command made them."""
import concurrent.futures
import glob
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys

import extract
import tables

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests", "faults"))
import scenes  # noqa: E402  (the smallest inputs of every format)

# ---------------------------------------------------------------- contents

SUBJECTS = "the old dog|a red bird|two cats|the small child|my friend".split("|")
VERBS = "sees|calls|likes|hears|finds".split("|")
OBJECTS = "a house|the river|no one|some bread|an open door|the sea|a boat".split("|")
ALL = [f"{SUBJECTS[i % 5]} {VERBS[(3 * i + i // 5) % 5]} {OBJECTS[i % 7]}" for i in range(128)]
SENTENCES = ALL[:24]
ROWS, CELLS, CHANNELS = 8, 49, 64  # image features
STEPS = 40  # of models trained beforehand: they end their outputs, which is faster than to run to the limit


def lines(rows: list[str]) -> bytes:
    """A file of lines."""
    return "".join(row + "\n" for row in rows).encode()


def source() -> bytes:
    """Sentences, one per line."""
    return lines(SENTENCES)


def target() -> bytes:
    """Their translations."""
    return lines([line[::-1] for line in SENTENCES])


def pairs() -> bytes:
    """source<TAB>target lines, words as targets."""
    return lines([f"{line}\t{' '.join(word[::-1].upper() for word in line.split())}" for line in SENTENCES])


def labels() -> bytes:
    """sentence<TAB>label lines."""
    return lines([f"{line}\t{('good', 'bad', 'not so sure')[i % 3]}" for i, line in enumerate(ALL)])


def tags() -> bytes:
    """source<TAB>target<TAB>tags lines, as SIGMORPHON has them."""
    return lines([f"{line.split()[1]}{i}\tge{line.split()[1]}{i}t\t{('V;PST', 'N;PL')[i % 2]}" for i, line in enumerate(SENTENCES)])


def scan() -> bytes:
    """IN: source OUT: target lines."""
    return lines([f"IN: jump {line} OUT: I_JUMP I_{line.split()[0].upper()}" for line in SENTENCES])


def conll() -> bytes:
    """A token and its label per line."""
    return lines([f"{word} {'B-W' if j % 3 == 1 else 'I-W' if j % 3 == 2 else 'O'}" if word else ""
                  for line in SENTENCES for j, word in enumerate(line.split() + [""])])


def text() -> bytes:
    """A text with quotation marks, brackets and short lines."""
    return lines([f'He said "{line}" and ({line[:9]}) left; {{ {i}. }}' for i, line in enumerate(SENTENCES)])


def captions() -> bytes:
    """image number<TAB>caption lines."""
    return lines([f"{i % ROWS}\t{line}" for i, line in enumerate(SENTENCES)])


def alignment() -> bytes:
    """A line of i-j pairs per sentence."""
    return lines(["0-0 1-1"] * len(SENTENCES))


def vectors() -> bytes:
    """Word vectors of width 4."""
    return lines(["3 4", "the 1 2 3 4", "dog 4 3 2 1", "zebra 0 0 0 0"])


def features() -> bytes:
    """Image features as .npy."""
    return scenes.npy((ROWS, CELLS, CHANNELS))


def names() -> bytes:
    """The image file of each row of features."""
    return lines([f"{i}.jpg" for i in range(ROWS)])


def photo() -> bytes:
    """A photograph."""
    with open(os.path.join(scenes.CORPUS, "image", "print.jpg"), "rb") as file:
        return file.read()


def sheet() -> bytes:
    """A worksheet with two heads and a map."""
    return lines(["x = [1 0 1 2; 0 1 1 1; 1 1 0 0]", "W = [1 0; 0 1; 1 1; 0 2]",
                  "a = multihead(x, {W, 2 * W}, {W, W}, {W, W}, score = scaled)", "plot a.weights"])


def text_gz() -> bytes:
    """A compressed text."""
    return gzip.compress(text())


def tags_gz() -> bytes:
    """A compressed file of inflections."""
    return gzip.compress(tags())


def table(columns: str) -> bytes:
    """Comma-separated values: texts and labels, in columns of these names."""
    return lines([columns] + [f'"{line}",{i % 3}' for i, line in enumerate(SENTENCES)])


def json_lines(columns: str) -> bytes:
    """JSON lines with two keys."""
    first, second = columns.split(",")[:2]
    return lines([json.dumps({first: line, second: str(i % 3)}) for i, line in enumerate(SENTENCES)])


# ---------------------------------------------------------------- roles

# What the file of an option is. `model` files are copied from those that were trained beforehand.
OF_OPTION = {
    "--source": "source", "--target": "target", "--valid-source": "source", "--valid-target": "target",
    "--features": "features", "--valid-features": "features", "--targets": "features", "--target-names": "names",
    "--text": "text", "--hyp": "source", "--ref": "source", "--guided-alignment": "alignment", "--vectors": "vectors",
    "--prefixes": "source", "--config": "config", "--init-from": "model", "--resume": "model", "--ensemble": "model",
    "--compare": "model", "--image-encoder": "model", "--baseline": "model",
}
OF_TASK = {"pairs": "pairs", "translate": "pairs", "classify": "labels", "tag": "conll", "lm": "text", "caption": "captions"}
OF_MODEL = {"lm": "text", "classifier": "labels", "tagger": "conll", "caption": "captions"}
OF_WEIGHTS = {"ctranslate2": ["ct2/model.bin", "ct2/source_vocabulary.txt", "ct2/target_vocabulary.txt"],
              "g2p": ["g2p.npz"], "llama2c": ["llama.bin", "tokenizer.bin"],
              "squeezenet": ["squeeze.f32", "manifest.tsv", "synset_words.txt"]}


def options_of(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Options with the words after them, and the words that belong to none: an option is taken to have one value
    if it is one of OF_OPTION or the words show it, and --ref as many as follow."""
    options: dict[str, list[str]] = {}
    operands: list[str] = []
    last = ""
    for word in words:
        if re.match(r"--?[a-z]", word):
            last, _, value = word.partition("=")
            options.setdefault(last, [])
            if value:
                options[last].append(value)
                last = ""
        elif last and (not options[last] or last == "--ref"):
            options[last].append(word)
        else:
            operands.append(word)
    return options, operands


def config_of(name: str) -> dict[str, list[str]]:
    """The settings of a config file as options."""
    with open(name, encoding="utf-8") as file:
        rows = [line.split("#")[0].split("=") for line in file]
    return {"--" + row[0].strip(): [row[1].strip()] for row in rows if len(row) == 2}


class Folder:
    """The folder of one document."""

    def __init__(self, document: str, place: str, tree: str, models: str):
        self.document, self.place, self.models = document, place, models
        self.made: dict[str, str] = {}  # files made here, with their kinds
        os.makedirs(place)
        for name in os.listdir(tree):
            os.symlink(os.path.join(tree, name), os.path.join(place, name))
        if document in tables.FOLDERS:
            shutil.copytree(os.path.join(ROOT, tables.FOLDERS[document]), place, dirs_exist_ok=True)

    def path(self, name: str) -> str:
        """The path of a file."""
        return os.path.join(self.place, name)

    def write(self, name: str, data: bytes) -> None:
        """A file, with its folders."""
        os.makedirs(os.path.dirname(self.path(name)) or ".", exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(data)

    def copy(self, name: str, original: str) -> None:
        """A file that was made beforehand."""
        os.makedirs(os.path.dirname(self.path(name)) or ".", exist_ok=True)
        shutil.copy(original, self.path(name))

    def need_model(self, name: str) -> None:
        """The model, and its checkpoint, that a command reads."""
        if glob.glob(self.path(name)) or not name.endswith(".safetensors"):
            return
        stem = os.path.basename(name).removesuffix(".safetensors")
        last = stem.endswith(".last")
        stem = stem.removesuffix(".last")
        kind = tables.MODEL_NAMES.get(f"{self.document} {stem}") or tables.MODEL_NAMES.get(stem, "pairs")
        self.copy(name, os.path.join(self.models, kind + (".last" if last else "") + ".safetensors"))

    def need(self, name: str, kind: str, again: bool = False, columns: str = "") -> None:
        """A file that a command reads. An existing one stays, unless it was made here for another use and the
        command says what it must be (`again`)."""
        kind = tables.FILES.get(f"{self.document} {name}") or tables.FILES.get(name) or kind
        if name == "-" or name.startswith(("(", "/")) or kind == "":
            return
        if kind == "model":
            for part in name.split(","):
                self.need_model(part)
            return
        there = bool(glob.glob(self.path(name)))
        if there and not (again and self.made.get(name, kind) != kind):
            return
        if kind == "folder":
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        elif "/" in kind:
            self.copy(name, os.path.join(ROOT, kind))
        elif kind == "config":
            self.copy(name, os.path.join(ROOT, "examples", os.path.basename(name)))
        elif name.endswith((".csv", ".jsonl")):
            make = table if name.endswith(".csv") else json_lines
            self.write(name, make(columns or "text,label"))
        elif "*" in name:
            for i in range(ROWS):
                self.write(name.replace("*", str(i)), globals()[kind]())
        else:
            self.write(name, globals()[kind]())
        self.made[name] = kind

    def metadata(self, name: str) -> dict[str, str]:
        """The metadata of a model file."""
        try:
            with open(self.path(name), "rb") as file:
                size = struct.unpack("<Q", file.read(8))[0]
                return json.loads(file.read(size)).get("__metadata__", {})
        except (OSError, ValueError, struct.error):
            return {}

    def model_kind(self, name: str) -> str:
        """What data a model is evaluated on."""
        return OF_MODEL.get(self.metadata(name).get("attend.architecture", "").split("-")[-1], "pairs")

    def need_recorded(self, model: str) -> None:
        """The data that a model names."""
        for key, name in json.loads(self.metadata(model).get("attend.settings", "{}")).items():
            kind = self.model_kind(model) if key in ("train", "valid") else OF_OPTION.get("--" + key, "")
            if name and kind not in ("", "model"):
                self.need(name, kind)

    def need_training(self, options: dict[str, list[str]], operands: list[str]) -> None:
        """What `attend train` reads."""
        for config in options.get("--config", []):
            self.need(config, "config")
            options = {**config_of(self.path(config)), **options}
        task = operands[0] if operands else options.get("--task", ["pairs"])[0]
        columns = options.get("--columns", [""])[0]
        for option, values in options.items():
            kind = OF_TASK.get(task, "") if option in ("--train", "--valid") else OF_OPTION.get(option, "")
            for name in values if kind else []:
                self.need(name, kind, again=True, columns=columns)

    def need_corpora(self, options: dict[str, list[str]], operands: list[str]) -> None:
        """What `attend prepare TASK CORPUS…` reads: FILE=WEIGHT, and SOURCE,TARGET. The content of a file named .gz is
        plain text: a build without zlib reads it too."""
        task, *corpora = operands
        for corpus in corpora:
            names = corpus.split("=")[0].split(",")
            for name, kind in zip(names, ["source", "target"] if len(names) > 1 else [OF_TASK[task]]):
                self.need(name, kind, again=True)
        self.need_training(options, [task])

    def need_weights(self, operands: list[str]) -> None:
        """What `attend import FORMAT FILE` reads: several files of one folder."""
        if len(operands) < 2 or operands[0] not in OF_WEIGHTS:
            return
        first, *others = OF_WEIGHTS[operands[0]]
        self.copy(operands[1], os.path.join(self.models, first))
        for other in others:
            name = os.path.join(os.path.dirname(operands[1]), os.path.basename(other))
            self.copy(name, os.path.join(self.models, other))

    def prepare_attend(self, verb: str, words: list[str], stdin: str) -> None:
        """What a command of the program reads."""
        options, operands = options_of(words)
        if verb == "train":
            self.need_training(options, operands)
            return
        if verb == "prepare" and len(operands) > 1:
            self.need_corpora(options, operands)
            return
        if verb == "import":
            self.need_weights(operands)
            return
        for option, values in options.items():
            for name in values if option in OF_OPTION else []:
                self.need(name, "source" if option == "--baseline" and "--hyp" in options else OF_OPTION[option])
        named = [word for word in words if word.endswith((".safetensors", ".att", ".npy", ".jpg", ".png"))]
        for name in named:
            if name in [value for option, values in options.items() for value in values
                        if option not in ("-q", "--quiet", "--json", "--verify")]:
                continue
            self.need(name, {".safetensors": "model", ".att": "sheet", ".npy": "features"}.get(os.path.splitext(name)[1], "photo"))
        models = [word for word in named if word.endswith(".safetensors")]
        kind = self.model_kind(models[0]) if models else "source"
        if "--recorded-data" in options:
            self.need_recorded(models[0])
        if verb in ("eval", "score"):
            for name in [word for word in operands if word not in models]:
                self.need(name, kind)
        if stdin:
            self.need(stdin, "text" if verb == "show" or kind == "text" else "source")

    def prepare(self, command: str) -> None:
        """What a command line reads."""
        words = extract.split(command)
        part: list[str] = []
        for word in words + [";"]:
            if word not in ("|", ";", "&&", "||"):
                part.append(word)
                continue
            stdin = part[part.index("<") + 1] if "<" in part[:-1] else ""
            plain = part[:min([part.index(sign) for sign in ("<", ">", ">>") if sign in part] or [len(part)])]
            if "<" not in part:
                for name in part[len(plain):]:  # written by the command
                    self.made.pop(name, None)
            while plain and (re.match(r"[A-Z_]+=", plain[0]) or plain[0] in ("sudo", "nice")):
                plain.pop(0)
            for word in plain[1:]:
                if f"{self.document} {word}" in tables.FILES or word in tables.FILES:
                    self.need(word, "")
            if plain and os.path.basename(plain[0]) == "attend" and len(plain) > 1:
                self.prepare_attend(plain[1], plain[2:], stdin)
            elif plain and plain[0] == "bench/folds":
                self.need(plain[1], "labels", again=True)
            part = []


def make_models(program: str, place: str) -> None:
    """Every model of tables.MODELS, and the weights of other programs, in `place`."""
    os.makedirs(place)
    os.chdir(place)
    scenes.make_small_weights()
    scenes.make_squeezenet()
    os.makedirs("jpeg")
    for name, data in [("pairs.tsv", pairs()), ("text.txt", text()), ("labels.tsv", labels()), ("tags.conll", conll()),
                       ("captions.tsv", captions()), ("features.npy", features()),
                       *[(f"jpeg/{i}.jpg", photo()) for i in range(ROWS)]]:
        scenes.write_bytes(name, data)

    def make(kind: str) -> None:
        arguments = tables.MODELS[kind]
        words = [name for word in arguments.split() for name in (sorted(glob.glob(word)) if "*" in word else [word])]
        out = "--out" if words[0] == "train" else "-o"
        steps = {**os.environ, "ATTEND_STEPS": str(STEPS)}
        done = subprocess.run([program, *words, out, kind + ".safetensors"], check=False, env=steps, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"attend {arguments}: {done.stderr}")

    after = [kind for kind in tables.MODELS if ".safetensors" in tables.MODELS[kind]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(make, [kind for kind in tables.MODELS if kind not in after]))
        list(pool.map(make, after))

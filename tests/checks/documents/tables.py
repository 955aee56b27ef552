"""What stands for what when the commands of documents are run: placeholders, files whose content cannot be
guessed from the command, models that no command of the same document trains, and commands that cannot be
run here, each with its reason."""

# ---------------------------------------------------------------- placeholders

# Words of commands that stand for something. The key may have what is before the word: the document, the
# last option, or the verb; the first of these that is in the table counts.
PLACEHOLDERS = {
    "docs/cells.md MODEL": "lm.safetensors",
    "docs/results.md MODEL": "lm.safetensors",
    "docs/running.md MODEL": "classify.safetensors",
    "explain MODEL": "translate.safetensors",
    "MODEL": "m.safetensors",
    "OTHER": "other.safetensors",
    "TEXT": "'two old dogs run'",
    "SENTENCE": "'two old dogs run'",
    "INPUT": "'two old dogs run'",
    "SHEET": "sheet.att",
    "explain FILE": "sheet.att",
    "info FILE": "m.safetensors",
    "--config FILE": "examples/questions.conf",
    "--text FILE": "book.txt",
    "--html FILE": "page.html",
    "--png FILE": "figure.png",
    "--svg FILE": "figure.svg",
    "--json FILE": "figures.json",
    "FILE": "lines.txt",
    "import FORMAT": "llama2c",
    "import FILE": "stories260K.bin",
    "PROGRAM": "build/attend",
    "BUILD": "build-test",
    "DIR": "peers",
    "FOLDER": "converted",
    "N": "1",
    "L": "1",
    "H": "1",
    "<name>": "exp",
}

# An ellipsis: after `attend train` a task, after one of these options its value, elsewhere nothing.
TASK = "pairs --train pairs.tsv"
VALUE = "'two old'"
OPTIONS_WITH_VALUE = ("--prompt", "--input", "--prefix", "--target")

# ---------------------------------------------------------------- files

# Files that are made for other uses than their option says. `document name` or `name`: kind of content
# (a function of inputs.py), or the file of the tree that is copied; "folder" makes only its folder. All other files follow from the command: --train of `classify` is a file of
# labels, DATA of `eval` follows from the model, and so on (inputs.py, "roles").
FILES = {
    "inflections": "tags",
    "docs/running.md train.tsv": "pairs",
    "docs/running.md reviews.csv": "labels",
    "docs/running.md inputs.jsonl": "labels",
    "docs/recipes.md german.tsv": "tags",
    "docs/recipes.md dev.tsv": "tags",
    "docs/recipes.md commands.txt": "scan",
    "docs/recipes.md more.txt": "scan",
    "docs/recipes.md text": "text",
    "linux_kernel_c/train.txt.gz": "text_gz",
    "linux_kernel_c/val.txt.gz": "text_gz",
    "warpeace/warpeace_input.txt.gz": "text_gz",
    "english-train-medium.gz": "tags_gz",
    "english-dev.gz": "tags_gz",
    "docs/attend.1 exercise.att": "examples/exercise/attention.att",
    "docs/teaching.md sheet.att": "examples/exercise/attention.att",
    "docs/teaching.md submission/answers.txt": "examples/exercise/answers/ada.txt",
    "docs/teaching.md results/results.json": "folder",
}

# Documents whose commands run in a folder of the tree: its files are copied to where they run.
FOLDERS = {"docs/teaching.md": "examples/exercise", "docs/attend.1": "examples/exercise"}

# Variables of the shell that documents use.
VARIABLES = {"ID": "ada"}

# ---------------------------------------------------------------- models

# Models that are trained, or imported, once beforehand and copied to where a command needs one that no
# earlier command of its document made: kind and arguments of the program.
MODELS = {
    "pairs": "train pairs --train pairs.tsv",
    "reverse": "train reverse",
    "translate": "train translate --train pairs.tsv",
    "lm": "train lm --train text.txt --architecture rnn --layers 2",
    "vanilla": "train lm --train text.txt --architecture rnn --rnn-cell vanilla",
    "classify": "train classify --train labels.tsv --pool attention",
    "tag": "train tag --train tags.conll",
    "caption": "train caption --train captions.tsv --features features.npy --valid-fraction 0.3 --epochs 40 --learning-rate 0.01",
    "shapes": "train shapes",
    "encoder": "import squeezenet squeeze.f32",
    "encoder-64": "features encoder.safetensors jpeg/*.jpg --targets features.npy",
    "llama": "import llama2c llama.bin --tokenizer tokenizer.bin",
}

# Which of them a model file is; others are "pairs".
MODEL_NAMES = {
    "lm": "lm",
    "lstm": "lm",
    "rnn": "vanilla",
    "reverse": "reverse",
    "translate": "translate",
    "de": "translate",
    "classify": "classify",
    "tag": "tag",
    "captions": "caption",
    "shapes": "shapes",
    "encoder": "encoder",
    "encoder-64": "encoder-64",
    "stories": "llama",
    "docs/models.md model": "translate",
    "docs/results.md de": "translate",
}

# ---------------------------------------------------------------- other programs than attend

# The command (a pattern, from its start) and what runs instead: a shorter run, or only what can be had here.
# Programs of bench/, scripts/ and tests/ that are in no table must exist and know every option of the document:
# those in Python are called with --help, the text of others is searched.
SHORTER = [
    (r'(make test-long PARTS="?([a-z0-9_ ]+)"?)', r"\1 -n && for part in \2; do test -x tests/long/$part || exit 1; done"),
    (r'(make test-cross MACHINES="?([a-z0-9 ]+)"?)',
     r"\1 -n && for name in \2; do grep -q '^ *.'$name' ' scripts/test-cross || exit 1; done"),
    (r"(sudo )?make\b(.*)", r"make -n \2"),
    (r"ctest --test-dir build-test", "ctest -N --test-dir build-test"),
    (r"(MODELS=\d )?bench/folds (\S+) 5", r"\1bench/folds \2 2"),
    (r"bench/reverse (--handout )", r"bench/reverse --attend build/attend --out reverse --seeds 1 \1"),
    (r"bench/reverse (--only )\S+", r"bench/reverse --attend build/attend --out reverse --seeds 1 \1none,fixed"),
    (r"bench/scaling", "bench/scaling --build build --max-length 2048"),
    (r"build-test/tests/test_file", "build-test/tests/test_file"),
    (r"bench/reverse (--markdown)", r"bench/reverse --attend build/attend --out reverse --seeds 1 --only dot \1"),
]

# Commands that are not run, by their start, each with its reason.
EXCEPTIONS = [
    ("bench/document ", "takes minutes on an idle machine and writes docs/benchmarks.md anew"),
    ("bench/peers/setup ", "installs packages from the network"),
    ("bench/peers/to_ctranslate2.py ", "needs CTranslate2"),
    ("bench/peers/bpe ", "compiles with optimization and needs SentencePiece"),
    ("bench/loading ", "takes minutes: a model of 50 MB, 60 runs each"),
    ("pip install ", "installs packages from the network"),
    ("tests/metrics/golden/compare ", "needs sacreBLEU"),
    ("python3 sheet.py", "needs NumPy; tests/render/export runs exported programs where it is installed"),
    ("tests/fuzz/make-seeds ", "writes the corpora of the fuzzers in the source tree"),
    ("tests/checks/documented ", "writes files of the source tree; check_documented runs it without --write"),
    ("tests/checks/settings ", "writes a file of the source tree; check_settings runs it without --write"),
    ("scripts/unicode-tables ", "writes a file of the source tree; check_unicode compares its output"),
    ("cmake -S . -B build-test ", "is the build that runs this test"),
    ("cc sum.c ", "check_install builds and runs this program"),
    ("ATTEND_EXHAUSTIVE=1 ", "takes minutes: every float; make test takes one in 1009"),
]

# Commands that end with another exit code than 0, by their start.
EXIT_CODES: dict[str, int] = {}

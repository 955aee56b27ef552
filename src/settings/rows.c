/* The table of settings: one row for each, the whole truth about it. A new setting is a member of
 * att_settings and a row here; the command line, config files, help, completions and model files
 * know it from then on. */
#include "settings/rows.h"

#include <stddef.h>

/* Whom a row concerns: tasks and families. LINES: pairs of lines from files; ENCODER: those that
 * read tokens; WRITING: that write them; LOOKING: whose decoder may look at a source; TWO_STACKS:
 * that have an encoder and a decoder; SENTENCES: of lines from files; WORDED: that write those;
 * COUNTED: that make up as many examples as they are told; DROPPING: that may be kept from some of
 * the words; SEEING: whose decoder goes from word to word and looks at pictures. */
/* clang-format off */
#define CONCERNS_FILES           { ATT_TASKS_FILES, ATT_FAMILIES_ALL }
#define CONCERNS_DATA            { ATT_TASKS_DATA, ATT_FAMILIES_ALL }
#define CONCERNS_ONE_TEXT        { ATT_TASKS_TEXT, ATT_FAMILIES_ALL }
#define CONCERNS_CHUNKS          { ATT_TASKS_TEXT, ATT_FAMILIES_ALL }
#define CONCERNS_ANSWERS         { ATT_TASKS_PAIRS | ATT_TASKS_PICTURES, ATT_FAMILIES_ALL }
#define CONCERNS_MADE            { ATT_TASKS_MADE, ATT_FAMILIES_ALL }
#define CONCERNS_ALL             { ATT_TASKS_ALL, ATT_FAMILIES_ALL }
#define CONCERNS_RECURRENT       { ATT_TASKS_ALL, ATT_FAMILIES_RECURRENT }
#define CONCERNS_EMBEDDED        { ATT_TASKS_ALL, ATT_FAMILIES_EMBED }
#define CONCERNS_CONVOLUTION     { ATT_TASKS_LABEL, ATT_FAMILIES_CONVOLUTION }
#define CONCERNS_LINES           { ATT_TASKS_LINES, ATT_FAMILIES_ALL }
#define CONCERNS_LABEL           { ATT_TASKS_LABEL, ATT_FAMILIES_ALL }
#define CONCERNS_WRITING         { ATT_TASKS_WRITE, ATT_FAMILIES_ALL }
#define CONCERNS_OWN             { ATT_TASKS_WRITE, ATT_FAMILIES_RECURRENT }
#define CONCERNS_ENCODER         { ATT_TASKS_READ, ATT_FAMILIES_RECURRENT }
#define CONCERNS_LOOKING         { ATT_TASKS_PAIRS | ATT_TASKS_PICTURES, ATT_FAMILIES_RECURRENT }
#define CONCERNS_RECURRENT_LINES { ATT_TASKS_LINES, ATT_FAMILIES_RECURRENT }
#define CONCERNS_TRANSFORMER     { ATT_TASKS_ALL, ATT_FAMILIES_TRANSFORMER }
#define CONCERNS_TWO_STACKS      { ATT_TASKS_PAIRS | ATT_TASKS_PICTURES, ATT_FAMILIES_TRANSFORMER }
#define CONCERNS_SENTENCES       { ATT_TASKS_FILES | ATT_TASKS_CAPTION, ATT_FAMILIES_ALL }
#define CONCERNS_WORDED          { ATT_TASKS_LINES | ATT_TASKS_CAPTION, ATT_FAMILIES_ALL }
#define CONCERNS_COUNTED         { ATT_TASKS_MADE | ATT_TASKS_SHAPES, ATT_FAMILIES_ALL }
#define CONCERNS_CAPTION         { ATT_TASKS_CAPTION, ATT_FAMILIES_ALL }
#define CONCERNS_SHAPES          { ATT_TASKS_SHAPES, ATT_FAMILIES_ALL }
#define CONCERNS_PICTURES        { ATT_TASKS_PICTURES, ATT_FAMILIES_ALL }
#define CONCERNS_SEEING          { ATT_TASKS_PICTURES, ATT_FAMILIES_RECURRENT }
#define CONCERNS_DROPPING        { ATT_TASKS_LABEL | ATT_TASKS_PICTURES, ATT_FAMILIES_ALL }
/* clang-format on */

/* Limits where any sensible value would do. A double holds each exactly. */
#define MANY    1e9
#define LARGEST 9007199254740992.0 /* 2^53 */

/* One row. What is not named is zero. */
#define ROW(group_, key_, member_, concerns_, start_, kind_, takes_, says_, ...)                   \
    {                                                                                              \
        .shown = { .key = key_,                                                                    \
                   .group = group_,                                                                \
                   .kind = ATT_SETTING_##kind_,                                                    \
                   .takes = takes_,                                                                \
                   .says = says_,                                                                  \
                   __VA_ARGS__ },                                                                  \
        .start = start_, .offset = offsetof(struct att_settings, member_),                         \
        .concerns = CONCERNS_##concerns_                                                           \
    }

#define NUMBER(group_, key_, member_, concerns_, start_, least_, most_, takes_, says_)             \
    ROW(group_, key_, member_, concerns_, start_, NUMBER, takes_, says_, .least = least_,          \
        .most = most_)
#define REAL(group_, key_, member_, concerns_, start_, least_, most_, takes_, says_)               \
    ROW(group_, key_, member_, concerns_, start_, REAL, takes_, says_, .least = least_,            \
        .most = most_)
#define WORD(group_, key_, member_, concerns_, start_, words_, takes_, says_)                      \
    ROW(group_, key_, member_, concerns_, start_, WORD, takes_, says_, .words = words_)
#define TEXT(group_, key_, member_, concerns_, start_, takes_, says_)                              \
    ROW(group_, key_, member_, concerns_, start_, TEXT, takes_, says_, .words = NULL)
#define FLAG(group_, key_, member_, concerns_, start_, says_)                                      \
    ROW(group_, key_, member_, concerns_, start_, FLAG, NULL, says_, .words = NULL)

static const char *const tasks[] = { "pairs",    "translate", "reverse", "copy",   "sort",
                                     "classify", "lm",        "caption", "shapes", NULL };
static const char *const tokens[] = { "char", "word", "subword", "byte", "space", "line", NULL };
static const char *const text_tokens[] = { "char", "word", "subword", "byte", NULL };
static const char *const cells[] = { "rnn", "gru", "lstm", NULL };
static const char *const mechanisms[] = { "none",    "fixed",    "dot",    "scaled",
                                          "general", "additive", "concat", "location",
                                          "local",   "coverage", NULL };
static const char *const normalisers[] = { "softmax", "mean", "sparsemax", "entmax",
                                           "sigmoid", "sum",  "none",      NULL };
static const char *const feeds[] = { "output", "state", "both", NULL };
static const char *const families[] = { "recurrent", "transformer", "convolution", NULL };
static const char *const positions[] = { "none", "sinusoidal", "learned", "rotary", NULL };
static const char *const joins[] = { "add", "concat", NULL };
static const char *const ties[] = { "no", "output", "all", NULL };
static const char *const presets[] = { "tiny", "small", "base", NULL };
static const char *const norms[] = { "before", "after", "none", NULL };
static const char *const norm_kinds[] = { "layer", "rms", NULL };
static const char *const betweens[] = { "relu", "gelu", "gated", NULL };
static const char *const pools[] = { "stop", "last", "mean", "max", "attention", NULL };
static const char *const pool_scores[] = { "dot", "scaled", "additive", NULL };
static const char *const optimisers[] = { "sgd", "adam", "adamw", "adadelta", NULL };
static const char *const schedules[] = { "constant", "inverse-sqrt", "cosine", "plateau", NULL };
static const char *const judges[] = { "tokens", "lines", "loss", "bleu", NULL };

const att_task_row att_task_rows[ATT_TASKS] = {
    [ATT_TASK_PAIRS] = { ATT_KIND_PAIRS, "its pairs come from files",
                         "train, or source and target: the files to learn from" },
    [ATT_TASK_TRANSLATE] = { ATT_KIND_PAIRS, "its pairs come from files",
                             "train, or source and target: the files to learn from" },
    [ATT_TASK_REVERSE] = { ATT_KIND_PAIRS, "its strings are made up", NULL },
    [ATT_TASK_COPY] = { ATT_KIND_PAIRS, "its strings are made up", NULL },
    [ATT_TASK_SORT] = { ATT_KIND_PAIRS, "its strings are made up", NULL },
    [ATT_TASK_CLASSIFY] = { ATT_KIND_LABEL, "it sorts sentences from files into labels",
                            "train: a file of lines sentence<TAB>label" },
    [ATT_TASK_LM] = { ATT_KIND_TEXT, "it learns from one text, which has no source",
                      "train: the text to learn from" },
    [ATT_TASK_CAPTION] = { ATT_KIND_PICTURE, "its sources are pictures, which come from files",
                           "train and features: captions, and the pictures they are of" },
    [ATT_TASK_SHAPES] = { ATT_KIND_PICTURE, "its pictures are made up", NULL },
};

const att_row att_rows[] = {
    WORD("task", "task", task, ALL, "pairs", tasks, "TASK",
         "what to learn: pairs from files (translate: sentences), to sort sentences (classify), "
         "how a text goes on (lm), captions of pictures, or a task made up"),

    TEXT("files", "train", train, DATA, NULL, "FILE",
         "what to train on: lines source<TAB>target (or label), or number<TAB>caption; lm: a text; "
         "'-' is standard input"),
    TEXT("files", "source", source, FILES, NULL, "FILE",
         "instead of --train: the sources, a line each"),
    TEXT("files", "target", target, FILES, NULL, "FILE", "their targets, line by line"),
    TEXT("files", "valid", valid, DATA, NULL, "FILE", "the same to validate on"),
    TEXT("files", "valid-source", valid_source, FILES, NULL, "FILE",
         "instead of --valid: the sources"),
    TEXT("files", "valid-target", valid_target, FILES, NULL, "FILE", "their targets"),
    REAL("files", "hold-out", hold_out, DATA, "0.05", 0, 0.5, "PART",
         "part of it to validate on where no file is given; of a text, the end"),
    TEXT("files", "align", align, RECURRENT_LINES, NULL, "FILE",
         "alignments to teach attention, a line 0-0 1-2 … per training pair"),

    TEXT("pictures", "features", features, CAPTION, NULL, "FILE",
         "pictures as .npy, [pictures,cells,depth] or [pictures,rows,columns,depth]"),
    TEXT("pictures", "valid-features", valid_features, CAPTION, NULL, "FILE",
         "those that are validated on, where they are others"),
    TEXT(
        "pictures", "features-scale", features_scale, CAPTION, NULL, "WHAT",
        "what all values are multiplied by: a number, or a .npy file of one for each of the depth"),
    NUMBER("pictures", "picture-rows", picture_rows, PICTURES, "0", 0, 4096, "N",
           "rows of cells; 0: as the features say, or the root of the cells"),
    NUMBER("pictures", "picture-columns", picture_columns, PICTURES, "0", 0, 4096, "N",
           "columns of cells; 0: as the features say"),
    NUMBER("pictures", "picture-depth", picture_depth, PICTURES, "0", 0, 1e6, "N",
           "numbers in a cell; 0: as the features say"),
    NUMBER("pictures", "picture-size", picture_size, SHAPES, "32", 24, 256, "N",
           "pixels on each side of the pictures made up"),
    NUMBER("pictures", "convolutions", convolutions, PICTURES, "0", 0, 8, "N",
           "convolutions that see a picture, each halving its sides; 0: features as they are"),
    NUMBER("pictures", "channels", channels, PICTURES, "16", 1, 1024, "N",
           "channels of the first; each further has twice as many"),
    FLAG("pictures", "picture-positions", picture_positions, PICTURES, "yes",
         "add what is learned of each row and column to the cells"),
    FLAG("pictures", "picture-start", picture_start, SEEING, "yes",
         "start the decoder from the mean of the picture; without, it sees what it looks at alone"),

    TEXT("strings", "alphabet", alphabet, MADE, "abcd", "LETTERS",
         "the letters of the strings made up"),
    NUMBER("strings", "least-length", least_length, MADE, "1", 1, 1000, "N",
           "letters in the shortest string"),
    NUMBER("strings", "most-length", most_length, MADE, "20", 1, 1000, "N",
           "letters in the longest string"),
    NUMBER("strings", "train-count", train_count, COUNTED, "10000", 1, 1e8, "N",
           "strings or scenes to train on"),
    NUMBER("strings", "valid-count", valid_count, COUNTED, "1000", 1, 1e8, "N",
           "strings or scenes to validate on, none of them trained on"),

    WORD("tokens", "source-tokens", source_tokens, FILES, "char", tokens, "HOW",
         "what a source token is"),
    WORD("tokens", "target-tokens", target_tokens, WORDED, "char", tokens, "HOW",
         "what a target token is"),
    WORD("tokens", "tokens", tokens, ONE_TEXT, "char", text_tokens, "HOW",
         "what a token of the text is"),
    NUMBER("tokens", "subwords", subwords, DATA, "8000", 0, 1e6, "N",
           "merges to learn for subword tokens; letters and bytes come on top"),
    FLAG("tokens", "joint", joint, LINES, "no", "let both sides share one vocabulary"),
    FLAG("tokens", "lower", lower, DATA, "no", "turn capitals into small letters"),
    NUMBER("tokens", "min-count", min_count, DATA, "1", 1, MANY, "N",
           "times a token must occur in training to be known"),
    NUMBER("tokens", "max-length", max_length, SENTENCES, "500", 0, MANY, "N",
           "leave out pairs with a side of more tokens; 0: none"),
    NUMBER("tokens", "chunk", chunk, CHUNKS, "128", 1, 1e6, "TOKENS",
           "tokens learned from at a time: how far gradients go back, or attention sees"),

    WORD("model", "family", family, ALL, "recurrent", families, "KIND",
         "layers that go from token to token, that look at all of them at once, or at some "
         "neighbours (convolution: to sort sentences)"),
    NUMBER("model", "layers", layers, ALL, "1", 1, 64, "N", "layers of encoder and decoder"),
    NUMBER("model", "width", width, ALL, "256", 1, 65536, "N",
           "units of a layer, shared by the directions where there are two"),
    WORD("model", "positions", positions, ALL, "none", positions, "KIND",
         "what tells where a token stands; rotary: in a transformer alone"),
    WORD("model", "positions-join", positions_join, ALL, "add", joins, "HOW",
         "how positions join embeddings"),
    WORD("model", "tie", tie, WRITING, "no", ties, "WHAT",
         "use the target embedding as output layer too, or for the source as well"),
    REAL("model", "start", start, ALL, "0", 0, 10, "X",
         "weights start between -X and X; 0: by the size of each matrix"),

    WORD("recurrent", "cell", cell, RECURRENT, "lstm", cells, "CELL", "the recurrent cell"),
    NUMBER("recurrent", "embed", embed, EMBEDDED, "128", 1, 65536, "N",
           "width of an embedded token"),
    FLAG("recurrent", "bidirectional", bidirectional, ENCODER, "yes",
         "let the encoder read in both directions"),
    WORD("recurrent", "attention", attention, LOOKING, "general", mechanisms, "KIND",
         "how the decoder looks at the source"),
    WORD("recurrent", "normaliser", normaliser, LOOKING, "softmax", normalisers, "KIND",
         "how scores become weights"),
    WORD("recurrent", "feed", feed, LOOKING, "output", feeds, "WHERE",
         "where the context enters: the output, the next state, or both"),
    REAL("recurrent", "window", window, LOOKING, "5", 0.5, 65536, "N",
         "source tokens on each side that local attention sees"),

    WORD("transformer", "preset", preset, TRANSFORMER, "tiny", presets, "SIZE",
         "defaults for layers, width, heads and feed-forward"),
    NUMBER("transformer", "decoder-layers", decoder_layers, TWO_STACKS, "=layers", 1, 64, "N",
           "layers of the decoder, where it has more or fewer than the encoder"),
    NUMBER("transformer", "heads", heads, TRANSFORMER, "4", 1, 1024, "N",
           "heads of attention, which share the width"),
    NUMBER("transformer", "key-heads", key_heads, TRANSFORMER, "=heads", 1, 1024, "N",
           "heads of keys and values, where several heads of queries share one"),
    NUMBER("transformer", "feed-forward", feed_forward, TRANSFORMER, "256", 0, 1048576, "N",
           "units between the two matrices after attention; 0: no such matrices"),
    WORD("transformer", "norm", norm, TRANSFORMER, "before", norms, "WHERE",
         "normalise what goes into each part of a layer, or what comes out"),
    WORD("transformer", "norm-kind", norm_kind, TRANSFORMER, "layer", norm_kinds, "KIND",
         "to mean 0 and variance 1, or by the root of the mean of squares alone"),
    WORD("transformer", "activation", activation, TRANSFORMER, "relu", betweens, "KIND",
         "between the two matrices; gated: silu of one half times the other"),
    FLAG("transformer", "residuals", residuals, TRANSFORMER, "yes",
         "add what goes into each part of a layer to what comes out"),
    FLAG("transformer", "scale", scale, TRANSFORMER, "yes",
         "divide scores by the square root of a head's width"),
    FLAG("transformer", "embed-scale", embed_scale, TRANSFORMER, "yes",
         "multiply embeddings by the square root of the width"),
    FLAG("transformer", "biases", biases, TRANSFORMER, "yes", "add a bias after each matrix"),
    REAL("transformer", "attention-dropout", attention_dropout, TRANSFORMER, "=dropout", 0, 0.95,
         "P", "probability that a weight is dropped; as dropout unless given"),
    REAL("transformer", "embed-dropout", embed_dropout, TRANSFORMER, "=dropout", 0, 0.95, "P",
         "probability that a unit of an embedding is; as dropout unless given"),

    NUMBER("convolution", "least-window", least_window, CONVOLUTION, "3", 1, 16, "N",
           "tokens in the narrowest window"),
    NUMBER("convolution", "most-window", most_window, CONVOLUTION, "5", 1, 16, "N",
           "tokens in the widest; all sizes between them share the width"),

    WORD("labels", "pool", pool, LABEL, "attention", pools, "HOW",
         "what stands for a sentence: the vector of a stop token, where reading ends, the mean or "
         "largest of all, or attention"),
    WORD("labels", "pool-score", pool_score, LABEL, "additive", pool_scores, "KIND",
         "how pool attention scores a token"),
    NUMBER("labels", "pool-heads", pool_heads, LABEL, "1", 1, 1024, "N",
           "heads of pool attention, which share the width"),

    REAL("teaching", "dropout", dropout, ALL, "0.2", 0, 0.95, "P",
         "probability that a unit is dropped"),
    REAL("teaching", "word-dropout", word_dropout, DROPPING, "0", 0, 0.95, "P",
         "probability that a token that is read, or fed to a decoder, is taken for an unknown one "
         "in training"),
    REAL("teaching", "label-smoothing", label_smoothing, ALL, "0", 0, 0.9, "P",
         "probability spread over all tokens"),
    REAL("teaching", "own", own, OWN, "0", 0, 1, "P",
         "probability, at the end, that the model's own prediction is fed"),
    NUMBER("teaching", "own-from", own_from, OWN, "1", 1, MANY, "EPOCH",
           "epoch from which it rises"),
    REAL("teaching", "align-weight", align_weight, RECURRENT_LINES, "0.1", 0, 1000, "X",
         "weight of the alignments in the loss"),

    WORD("optimiser", "optimiser", optimiser, ALL, "adam", optimisers, "KIND",
         "how gradients become steps"),
    REAL("optimiser", "rate", rate, ALL, "0.001", 0, 1000, "X", "learning rate"),
    REAL("optimiser", "momentum", momentum, ALL, "0", 0, 0.9999, "X", "of sgd"),
    REAL("optimiser", "beta1", beta1, ALL, "0.9", 0, 0.999999, "X",
         "decay of the mean of gradients in adam and adamw"),
    REAL("optimiser", "beta2", beta2, ALL, "0.999", 0, 0.999999, "X",
         "decay of the mean of their squares"),
    REAL("optimiser", "rho", rho, ALL, "0.9", 0, 0.999999, "X", "decay of both means in adadelta"),
    REAL("optimiser", "epsilon", epsilon, ALL, "1e-8", 1e-30, 1, "X",
         "keeps divisors from 0 in adam, adamw and adadelta"),
    REAL("optimiser", "decay", decay, ALL, "0", 0, 1, "X", "weight decay"),
    REAL("optimiser", "clip", clip, ALL, "1", 0, 1e30, "X", "largest norm of the gradient; 0: any"),

    WORD("schedule", "schedule", schedule, ALL, "constant", schedules, "KIND",
         "how the rate changes"),
    NUMBER("schedule", "warmup", warmup, ALL, "0", 0, MANY, "STEPS",
           "steps in which the rate rises from 0"),
    REAL("schedule", "least-rate", least_rate, ALL, "0", 0, 1000, "X",
         "the rate that cosine ends at and plateau stops at"),
    REAL("schedule", "plateau-factor", plateau_factor, ALL, "0.5", 0.001, 0.999, "X",
         "what plateau multiplies the rate with"),
    NUMBER("schedule", "plateau-patience", plateau_patience, ALL, "2", 1, MANY, "N",
           "validations without progress before it does"),
    NUMBER("schedule", "epochs", epochs, ALL, "20", 1, MANY, "N",
           "times to go over the training data"),
    NUMBER("schedule", "steps", steps, ALL, "0", 0, MANY, "N",
           "steps to stop after; 0: when the epochs are over"),
    NUMBER("schedule", "batch", batch, ALL, "2048", 1, 1e8, "TOKENS",
           "tokens in a batch: rows times the longer side, padding included"),
    NUMBER("schedule", "accumulate", accumulate, ALL, "1", 1, 1e6, "N", "batches to a step"),

    NUMBER("run", "validate-every", validate_every, ALL, "0", 0, MANY, "STEPS",
           "steps between validations; 0: after each epoch"),
    WORD("run", "best-by", best_by, ANSWERS, "tokens", judges, "WHAT",
         "what makes a model the best: fewest wrong tokens, wrong lines, the least loss or the "
         "highest BLEU (of captions BLEU-4)"),
    NUMBER("run", "patience", patience, ALL, "0", 0, MANY, "N",
           "validations without progress before stopping; 0: never"),
    NUMBER("run", "average", average, ALL, "0", 0, 1000, "N",
           "average the weights of the last N validations; 0: do not"),
    NUMBER("run", "seed", seed, ALL, "1", 0, LARGEST, "N", "of weights, order and dropout"),
    NUMBER("run", "data-seed", data_seed, ALL, "1", 0, LARGEST, "N",
           "which strings are drawn, or pairs held out"),

    TEXT(ATT_GROUP_OUTPUT, "out", out, ALL, NULL, "FILE", "where the model goes"),
    REAL(ATT_GROUP_OUTPUT, "save-every", save_every, ALL, "60", 0, MANY, "SECONDS",
         "time between checkpoints; 0: after every step"),
    TEXT(ATT_GROUP_OUTPUT, "log", log, ALL, NULL, "FILE", "a line of JSON for each report"),
    TEXT(ATT_GROUP_OUTPUT, "resume", resume, ALL, NULL, "FILE", "go on from a checkpoint"),

};

/* clang-format off */
#define WHEN(when_, is_, key_, start_, ...)                                                        \
    { .when = when_, .is = is_, .key = key_, .start = start_, ##__VA_ARGS__ }

/* By task first, so that what a task chooses counts for the rest. The three tasks made up are alike:
 * `reverse` is the third question of handout 003. The encoder reads both ways as elsewhere: where it
 * reads one way, the decoder looks at the letter beside the one that it writes. */
#define SMALL(task)                                                                                \
    WHEN("task", task, "width", "64"), WHEN("task", task, "embed", "32"),                          \
    WHEN("task", task, "attention", "dot"), WHEN("task", task, "dropout", "0"),                    \
    WHEN("task", task, "epochs", "30"), WHEN("task", task, "batch", "1024")

/* A Transformer learns at a rate that rises first, and falls with the root of the steps after
 * (Vaswani et al. 2017). Its own defaults are those of the preset `tiny`. */
#define WHEN_TRANSFORMER(key, start) WHEN("family", "transformer", key, start)
#define PRESET(name, layers, width, heads, feed_forward)                                           \
    WHEN("preset", name, "layers", layers), WHEN("preset", name, "width", width),                  \
    WHEN("preset", name, "heads", heads), WHEN("preset", name, "feed-forward", feed_forward)

/* Sentences: those of docs/recipes.md, which Multi30k was learned with. */
#define TRANSLATE(key, start) WHEN("task", "translate", key, start)
#define TRANSLATE_TRANSFORMER(key, start)                                                          \
    WHEN("task", "translate", key, start, .also = "family", .has = "transformer")

/* Few sentences and many words: what is learned by heart must be kept down. */
#define CLASSIFY(key, start) WHEN("task", "classify", key, start)
#define CLASSIFY_TRANSFORMER(key, start)                                                           \
    WHEN("task", "classify", key, start, .also = "family", .has = "transformer")

#define CLASSIFY_CONVOLUTION(key, start)                                                           \
    WHEN("task", "classify", key, start, .also = "family", .has = "convolution")

/* A small model of letters, and a context that a Transformer fills. */
#define LM(key, start) WHEN("task", "lm", key, start)
#define LM_TRANSFORMER(key, start)                                                                 \
    WHEN("task", "lm", key, start, .also = "family", .has = "transformer")
/* Captions: those of docs/recipes.md. Scenes made up are small, and seen by convolutions. */
#define CAPTION(key, start) WHEN("task", "caption", key, start)
#define SHAPES(key, start)  WHEN("task", "shapes", key, start)

const att_other_default att_other_defaults[] = {
    CAPTION("target-tokens", "word"),
    CAPTION("lower", "yes"),
    CAPTION("min-count", "4"),
    CAPTION("dropout", "0.4"),
    CAPTION("best-by", "bleu"),
    SHAPES("target-tokens", "word"),
    SHAPES("width", "64"),
    SHAPES("embed", "32"),
    SHAPES("dropout", "0"),
    SHAPES("word-dropout", "0.5"),
    SHAPES("picture-start", "no"),
    SHAPES("attention", "additive"),
    SHAPES("batch", "512"),
    SHAPES("rate", "0.005"),
    SHAPES("schedule", "cosine"),
    SHAPES("epochs", "16"),
    SHAPES("convolutions", "2"),
    SHAPES("train-count", "12000"),
    SHAPES("valid-count", "500"),
    SHAPES("best-by", "lines"),
    WHEN("attention", "none", "picture-start", "yes"),
    SMALL("reverse"),
    SMALL("copy"),
    SMALL("sort"),
    TRANSLATE("family", "transformer"),
    WHEN_TRANSFORMER("layers", "4"),
    WHEN_TRANSFORMER("width", "128"),
    WHEN_TRANSFORMER("positions", "sinusoidal"),
    WHEN_TRANSFORMER("dropout", "0.1"),
    WHEN_TRANSFORMER("label-smoothing", "0.1"),
    WHEN_TRANSFORMER("beta2", "0.98"),
    WHEN_TRANSFORMER("schedule", "inverse-sqrt"),
    WHEN_TRANSFORMER("warmup", "1000"),
    TRANSLATE("source-tokens", "subword"),
    TRANSLATE("target-tokens", "subword"),
    TRANSLATE("subwords", "10000"),
    TRANSLATE("joint", "yes"),
    TRANSLATE("dropout", "0.3"),
    TRANSLATE("label-smoothing", "0.1"),
    TRANSLATE("schedule", "cosine"),
    TRANSLATE("batch", "4096"),
    TRANSLATE("epochs", "60"),
    TRANSLATE("average", "5"),
    TRANSLATE("best-by", "loss"),
    CLASSIFY("source-tokens", "word"),
    CLASSIFY("target-tokens", "line"),
    CLASSIFY("lower", "yes"),
    CLASSIFY("width", "128"),
    CLASSIFY("embed", "96"),
    CLASSIFY("dropout", "0.5"),
    CLASSIFY("word-dropout", "0.1"),
    CLASSIFY("label-smoothing", "0"),
    CLASSIFY("rate", "0.004"),
    CLASSIFY("schedule", "cosine"),
    CLASSIFY("batch", "512"),
    CLASSIFY_TRANSFORMER("layers", "2"),
    CLASSIFY_TRANSFORMER("dropout", "0.3"),
    CLASSIFY_TRANSFORMER("rate", "0.002"),
    CLASSIFY_TRANSFORMER("warmup", "100"),
    CLASSIFY_CONVOLUTION("pool", "max"),
    CLASSIFY_CONVOLUTION("width", "300"),
    WHEN("pool", "stop", "bidirectional", "no"),
    TRANSLATE_TRANSFORMER("tie", "all"),
    TRANSLATE_TRANSFORMER("attention-dropout", "0.1"),
    TRANSLATE_TRANSFORMER("rate", "0.005"),
    LM("embed", "64"),
    LM("rate", "0.002"),
    LM("schedule", "cosine"),
    LM("epochs", "10"),
    LM("label-smoothing", "0"),
    LM("dropout", "0.1"),
    LM_TRANSFORMER("rate", "0.001"),
    LM_TRANSFORMER("positions", "rotary"),
    LM_TRANSFORMER("activation", "gelu"),
    LM_TRANSFORMER("tie", "output"),
    LM_TRANSFORMER("optimiser", "adamw"),
    LM_TRANSFORMER("warmup", "100"),
    PRESET("small", "6", "256", "4", "1024"),
    PRESET("base", "6", "512", "8", "2048"),
    WHEN("optimiser", "sgd", "rate", "0.1"),
    WHEN("optimiser", "adamw", "decay", "0.01"),
    WHEN("optimiser", "adadelta", "rate", "1"),
    WHEN("optimiser", "adadelta", "epsilon", "1e-6"),
};
/* clang-format on */

const size_t att_row_count = sizeof att_rows / sizeof *att_rows;
const size_t att_other_default_count = sizeof att_other_defaults / sizeof *att_other_defaults;

_Static_assert(sizeof tasks / sizeof *tasks == ATT_TASKS + 1, "a word for every task");
_Static_assert(sizeof att_rows / sizeof *att_rows <= ATT_MOST_SETTINGS, "room for every origin");

/* The table of settings: one row for each, the whole truth about it. A new setting is a member of
 * att_settings and a row here; the command line, config files, help, completions and model files
 * know it from then on. */
#include "settings/setting_specs.h"

#include <stddef.h>

/* Whom a row concerns: tasks and families. LINES: pairs of lines from files; ENCODER: those that
 * read tokens; WRITING: that write them; LOOKING: whose decoder may look at a source; TWO_STACKS:
 * that have an encoder and a decoder; SENTENCES: of lines from files; WORDED: that write those;
 * COUNTED: that make up as many examples as they are told; DROPPING: that may be kept from some of
 * the words; SEEING: whose decoder goes from word to word and looks at pictures. */
/* clang-format off */
#define SCOPE_TSV_FILES           { ATT_TASKS_TSV_FILES, ATT_ARCHITECTURES_ALL }
#define SCOPE_FROM_FILES            { ATT_TASKS_FROM_FILES, ATT_ARCHITECTURES_ALL }
#define SCOPE_LM        { ATT_TASKS_LM, ATT_ARCHITECTURES_ALL }
#define SCOPE_LM_BATCHES          { ATT_TASKS_LM, ATT_ARCHITECTURES_ALL }
#define SCOPE_DECODED         { ATT_TASKS_SEQ2SEQ | ATT_TASKS_IMAGE, ATT_ARCHITECTURES_ALL }
#define SCOPE_SYNTHETIC_STRINGS            { ATT_TASKS_SYNTHETIC_STRINGS, ATT_ARCHITECTURES_ALL }
#define SCOPE_ALL             { ATT_TASKS_ALL, ATT_ARCHITECTURES_ALL }
#define SCOPE_RNN       { ATT_TASKS_ALL, ATT_ARCHITECTURES_RNN }
#define SCOPE_EMBEDDING_SIZE        { ATT_TASKS_ALL, ATT_ARCHITECTURES_EMBEDDING_SIZE }
#define SCOPE_CNN     { ATT_TASKS_CLASSIFIER, ATT_ARCHITECTURES_CNN }
#define SCOPE_PAIR_FILES           { ATT_TASKS_PAIR_FILES, ATT_ARCHITECTURES_ALL }
#define SCOPE_CLASSIFIER           { ATT_TASKS_CLASSIFIER, ATT_ARCHITECTURES_ALL }
#define SCOPE_GENERATE         { ATT_TASKS_GENERATE, ATT_ARCHITECTURES_ALL }
#define SCOPE_SCHEDULED_SAMPLING             { ATT_TASKS_GENERATE, ATT_ARCHITECTURES_RNN }
#define SCOPE_RNN_ENCODER         { ATT_TASKS_WITH_ENCODER, ATT_ARCHITECTURES_RNN }
#define SCOPE_RNN_ATTENTION         { ATT_TASKS_SEQ2SEQ | ATT_TASKS_IMAGE, ATT_ARCHITECTURES_RNN }
#define SCOPE_GUIDED_ALIGNMENT { ATT_TASKS_PAIR_FILES, ATT_ARCHITECTURES_RNN }
#define SCOPE_TRANSFORMER     { ATT_TASKS_ALL, ATT_ARCHITECTURES_TRANSFORMER }
#define SCOPE_ENCODER_DECODER      { ATT_TASKS_SEQ2SEQ | ATT_TASKS_IMAGE, ATT_ARCHITECTURES_TRANSFORMER }
#define SCOPE_SENTENCES       { ATT_TASKS_TSV_FILES | ATT_TASKS_CAPTION, ATT_ARCHITECTURES_ALL }
#define SCOPE_TARGET_TOKENS          { ATT_TASKS_PAIR_FILES | ATT_TASKS_CAPTION, ATT_ARCHITECTURES_ALL }
#define SCOPE_SYNTHETIC         { ATT_TASKS_SYNTHETIC_STRINGS | ATT_TASKS_SHAPES, ATT_ARCHITECTURES_ALL }
#define SCOPE_CAPTION         { ATT_TASKS_CAPTION, ATT_ARCHITECTURES_ALL }
#define SCOPE_SHAPES          { ATT_TASKS_SHAPES, ATT_ARCHITECTURES_ALL }
#define SCOPE_IMAGE        { ATT_TASKS_IMAGE, ATT_ARCHITECTURES_ALL }
#define SCOPE_IMAGE_RNN          { ATT_TASKS_IMAGE, ATT_ARCHITECTURES_RNN }
#define SCOPE_WORD_DROPOUT        { ATT_TASKS_CLASSIFIER | ATT_TASKS_IMAGE, ATT_ARCHITECTURES_ALL }
/* clang-format on */

/* Limits where any sensible value would do. A double holds each exactly. */
#define MAX_COUNT         1e9
#define MAX_EXACT_INTEGER 9007199254740992.0 /* 2^53 */

/* One row. What is not named is zero. */
#define SPEC(group_, key_, member_, scope_, default_, type_, placeholder_, help_, ...)             \
    {                                                                                              \
        .info = { .key = key_,                                                                     \
                  .group = group_,                                                                 \
                  .type = ATT_SETTING_##type_,                                                     \
                  .placeholder = placeholder_,                                                     \
                  .help = help_,                                                                   \
                  __VA_ARGS__ },                                                                   \
        .default_value = default_, .offset = offsetof(struct att_settings, member_),               \
        .scope = SCOPE_##scope_                                                                    \
    }

#define INTEGER(group_, key_, member_, scope_, default_, min_, max_, placeholder_, help_)          \
    SPEC(group_, key_, member_, scope_, default_, INTEGER, placeholder_, help_, .min = min_,       \
         .max = max_)
#define REAL(group_, key_, member_, scope_, default_, min_, max_, placeholder_, help_)             \
    SPEC(group_, key_, member_, scope_, default_, REAL, placeholder_, help_, .min = min_,          \
         .max = max_)
#define CHOICE(group_, key_, member_, scope_, default_, choices_, placeholder_, help_)             \
    SPEC(group_, key_, member_, scope_, default_, CHOICE, placeholder_, help_, .choices = choices_)
#define TEXT(group_, key_, member_, scope_, default_, placeholder_, help_)                         \
    SPEC(group_, key_, member_, scope_, default_, TEXT, placeholder_, help_, .choices = NULL)
#define FLAG(group_, key_, member_, scope_, default_, help_)                                       \
    SPEC(group_, key_, member_, scope_, default_, FLAG, NULL, help_, .choices = NULL)

static const char *const tasks[] = { "pairs",    "translate", "reverse", "copy",   "sort",
                                     "classify", "lm",        "caption", "shapes", NULL };
static const char *const tokens[] = { "char", "word", "subword", "byte", "space", "line", NULL };
static const char *const text_tokens[] = { "char", "word", "subword", "byte", NULL };
static const char *const rnn_cells[] = { "rnn", "gru", "lstm", NULL };
static const char *const mechanisms[] = { "none",    "fixed",    "dot",    "scaled",
                                          "general", "additive", "concat", "location",
                                          "local",   "coverage", NULL };
static const char *const normalizers[] = { "softmax", "mean", "sparsemax", "entmax",
                                           "sigmoid", "sum",  "none",      NULL };
static const char *const attention_contexts[] = { "output", "state", "both", NULL };
static const char *const architectures[] = { "recurrent", "transformer", "convolution", NULL };
static const char *const positions[] = { "none", "sinusoidal", "learned", "rotary", NULL };
static const char *const positions_joins[] = { "add", "concat", NULL };
static const char *const ties[] = { "no", "output", "all", NULL };
static const char *const presets[] = { "tiny", "small", "base", NULL };
static const char *const norms[] = { "before", "after", "none", NULL };
static const char *const norm_kinds[] = { "layer", "rms", NULL };
static const char *const ffn_activations[] = { "relu", "gelu", "gated", NULL };
static const char *const pools[] = { "stop", "last", "mean", "max", "attention", NULL };
static const char *const pool_scores[] = { "dot", "scaled", "additive", NULL };
static const char *const optimizers[] = { "sgd", "adam", "adamw", "adadelta", NULL };
static const char *const schedules[] = { "constant", "inverse-sqrt", "cosine", "plateau", NULL };
static const char *const best_metrics[] = { "tokens", "lines", "loss", "bleu", NULL };

const att_task_spec att_task_specs[ATT_TASK_COUNT] = {
    [ATT_TASK_PAIRS] = { ATT_MODEL_SEQ2SEQ, "its pairs come from files",
                         "train, or source and target: the files to learn from" },
    [ATT_TASK_TRANSLATE] = { ATT_MODEL_SEQ2SEQ, "its pairs come from files",
                             "train, or source and target: the files to learn from" },
    [ATT_TASK_REVERSE] = { ATT_MODEL_SEQ2SEQ, "its strings are made up", NULL },
    [ATT_TASK_COPY] = { ATT_MODEL_SEQ2SEQ, "its strings are made up", NULL },
    [ATT_TASK_SORT] = { ATT_MODEL_SEQ2SEQ, "its strings are made up", NULL },
    [ATT_TASK_CLASSIFY] = { ATT_MODEL_CLASSIFIER, "it sorts sentences from files into labels",
                            "train: a file of lines sentence<TAB>label" },
    [ATT_TASK_LM] = { ATT_MODEL_LM, "it learns from one text, which has no source",
                      "train: the text to learn from" },
    [ATT_TASK_CAPTION] = { ATT_MODEL_CAPTION, "its sources are pictures, which come from files",
                           "train and features: captions, and the pictures they are of" },
    [ATT_TASK_SHAPES] = { ATT_MODEL_CAPTION, "its pictures are made up", NULL },
};

const att_setting_spec att_setting_specs[] = {
    CHOICE("task", "task", task, ALL, "pairs", tasks, "TASK",
           "what to learn: pairs from files (translate: sentences), to sort sentences (classify), "
           "how a text goes on (lm), captions of pictures, or a task made up"),

    TEXT("files", "train", train, FROM_FILES, NULL, "FILE",
         "what to train on: lines source<TAB>target (or label), or number<TAB>caption; lm: a text; "
         "'-' is standard input"),
    TEXT("files", "source", source, TSV_FILES, NULL, "FILE",
         "instead of --train: the sources, a line each"),
    TEXT("files", "target", target, TSV_FILES, NULL, "FILE", "their targets, line by line"),
    TEXT("files", "valid", valid, FROM_FILES, NULL, "FILE", "the same to validate on"),
    TEXT("files", "valid-source", valid_source, TSV_FILES, NULL, "FILE",
         "instead of --valid: the sources"),
    TEXT("files", "valid-target", valid_target, TSV_FILES, NULL, "FILE", "their targets"),
    REAL("files", "hold-out", valid_fraction, FROM_FILES, "0.05", 0, 0.5, "PART",
         "part of it to validate on where no file is given; of a text, the end"),
    TEXT("files", "align", guided_alignment, GUIDED_ALIGNMENT, NULL, "FILE",
         "alignments to teach attention, a line 0-0 1-2 … per training pair"),

    TEXT("pictures", "features", features, CAPTION, NULL, "FILE",
         "pictures as .npy, [pictures,cells,depth] or [pictures,rows,columns,depth]"),
    TEXT("pictures", "valid-features", valid_features, CAPTION, NULL, "FILE",
         "those that are validated on, where they are others"),
    TEXT(
        "pictures", "features-scale", features_scale, CAPTION, NULL, "WHAT",
        "what all values are multiplied by: a number, or a .npy file of one for each of the depth"),
    INTEGER("pictures", "picture-rows", image_rows, IMAGE, "0", 0, 4096, "N",
            "rows of cells; 0: as the features say, or the root of the cells"),
    INTEGER("pictures", "picture-columns", image_columns, IMAGE, "0", 0, 4096, "N",
            "columns of cells; 0: as the features say"),
    INTEGER("pictures", "picture-depth", image_depth, IMAGE, "0", 0, 1e6, "N",
            "numbers in a cell; 0: as the features say"),
    INTEGER("pictures", "picture-size", image_size, SHAPES, "32", 24, 256, "N",
            "pixels on each side of the pictures made up"),
    INTEGER("pictures", "convolutions", conv_layers, IMAGE, "0", 0, 8, "N",
            "convolutions that see a picture, each halving its sides; 0: features as they are"),
    INTEGER("pictures", "channels", conv_channels, IMAGE, "16", 1, 1024, "N",
            "channels of the first; each further has twice as many"),
    FLAG("pictures", "picture-positions", image_positions, IMAGE, "yes",
         "add what is learned of each row and column to the cells"),
    FLAG("pictures", "picture-start", init_from_image, IMAGE_RNN, "yes",
         "start the decoder from the mean of the picture; without, it sees what it looks at alone"),

    TEXT("strings", "alphabet", alphabet, SYNTHETIC_STRINGS, "abcd", "LETTERS",
         "the letters of the strings made up"),
    INTEGER("strings", "least-length", min_string_length, SYNTHETIC_STRINGS, "1", 1, 1000, "N",
            "letters in the shortest string"),
    INTEGER("strings", "most-length", max_string_length, SYNTHETIC_STRINGS, "20", 1, 1000, "N",
            "letters in the longest string"),
    INTEGER("strings", "train-count", train_count, SYNTHETIC, "10000", 1, 1e8, "N",
            "strings or scenes to train on"),
    INTEGER("strings", "valid-count", valid_count, SYNTHETIC, "1000", 1, 1e8, "N",
            "strings or scenes to validate on, none of them trained on"),

    CHOICE("tokens", "source-tokens", source_tokens, TSV_FILES, "char", tokens, "HOW",
           "what a source token is"),
    CHOICE("tokens", "target-tokens", target_tokens, TARGET_TOKENS, "char", tokens, "HOW",
           "what a target token is"),
    CHOICE("tokens", "tokens", tokens, LM, "char", text_tokens, "HOW",
           "what a token of the text is"),
    INTEGER("tokens", "subwords", bpe_merges, FROM_FILES, "8000", 0, 1e6, "N",
            "merges to learn for subword tokens; letters and bytes come on top"),
    FLAG("tokens", "joint", joint, PAIR_FILES, "no", "let both sides share one vocabulary"),
    FLAG("tokens", "lower", lowercase, FROM_FILES, "no", "turn capitals into small letters"),
    INTEGER("tokens", "min-count", min_count, FROM_FILES, "1", 1, MAX_COUNT, "N",
            "times a token must occur in training to be known"),
    INTEGER("tokens", "max-length", max_length, SENTENCES, "500", 0, MAX_COUNT, "N",
            "leave out pairs with a side of more tokens; 0: none"),
    INTEGER("tokens", "chunk", sequence_length, LM_BATCHES, "128", 1, 1e6, "TOKENS",
            "tokens learned from at a time: how far gradients go back, or attention sees"),

    CHOICE("model", "family", architecture, ALL, "recurrent", architectures, "KIND",
           "layers that go from token to token, that look at all of them at once, or at some "
           "neighbours (convolution: to sort sentences)"),
    INTEGER("model", "layers", layers, ALL, "1", 1, 64, "N", "layers of encoder and decoder"),
    INTEGER("model", "width", hidden_size, ALL, "256", 1, 65536, "N",
            "units of a layer, shared by the directions where there are two"),
    CHOICE("model", "positions", positions, ALL, "none", positions, "KIND",
           "what tells where a token stands; rotary: in a transformer alone"),
    CHOICE("model", "positions-join", positions_join, ALL, "add", positions_joins, "HOW",
           "how positions join embeddings"),
    CHOICE("model", "tie", tie_embeddings, GENERATE, "no", ties, "WHAT",
           "use the target embedding as output layer too, or for the source as well"),
    REAL("model", "start", init_range, ALL, "0", 0, 10, "X",
         "weights start between -X and X; 0: by the size of each matrix"),

    CHOICE("recurrent", "cell", rnn_cell, RNN, "lstm", rnn_cells, "CELL", "the recurrent cell"),
    INTEGER("recurrent", "embed", embedding_size, EMBEDDING_SIZE, "128", 1, 65536, "N",
            "width of an embedded token"),
    FLAG("recurrent", "bidirectional", bidirectional, RNN_ENCODER, "yes",
         "let the encoder read in both directions"),
    CHOICE("recurrent", "attention", attention, RNN_ATTENTION, "general", mechanisms, "KIND",
           "how the decoder looks at the source"),
    CHOICE("recurrent", "normaliser", normalizer, RNN_ATTENTION, "softmax", normalizers, "KIND",
           "how scores become weights"),
    CHOICE("recurrent", "feed", attention_context, RNN_ATTENTION, "output", attention_contexts,
           "WHERE", "where the context enters: the output, the next state, or both"),
    REAL("recurrent", "window", attention_window, RNN_ATTENTION, "5", 0.5, 65536, "N",
         "source tokens on each side that local attention sees"),

    CHOICE("transformer", "preset", preset, TRANSFORMER, "tiny", presets, "SIZE",
           "defaults for layers, width, heads and feed-forward"),
    INTEGER("transformer", "decoder-layers", decoder_layers, ENCODER_DECODER, "=layers", 1, 64, "N",
            "layers of the decoder, where it has more or fewer than the encoder"),
    INTEGER("transformer", "heads", heads, TRANSFORMER, "4", 1, 1024, "N",
            "heads of attention, which share the width"),
    INTEGER("transformer", "key-heads", kv_heads, TRANSFORMER, "=heads", 1, 1024, "N",
            "heads of keys and values, where several heads of queries share one"),
    INTEGER("transformer", "feed-forward", ffn_size, TRANSFORMER, "256", 0, 1048576, "N",
            "units between the two matrices after attention; 0: no such matrices"),
    CHOICE("transformer", "norm", norm, TRANSFORMER, "before", norms, "WHERE",
           "normalise what goes into each part of a layer, or what comes out"),
    CHOICE("transformer", "norm-kind", norm_kind, TRANSFORMER, "layer", norm_kinds, "KIND",
           "to mean 0 and variance 1, or by the root of the mean of squares alone"),
    CHOICE("transformer", "activation", activation, TRANSFORMER, "relu", ffn_activations, "KIND",
           "between the two matrices; gated: silu of one half times the other"),
    FLAG("transformer", "residuals", residuals, TRANSFORMER, "yes",
         "add what goes into each part of a layer to what comes out"),
    FLAG("transformer", "scale", attention_scale, TRANSFORMER, "yes",
         "divide scores by the square root of a head's width"),
    FLAG("transformer", "embed-scale", embedding_scale, TRANSFORMER, "yes",
         "multiply embeddings by the square root of the width"),
    FLAG("transformer", "biases", biases, TRANSFORMER, "yes", "add a bias after each matrix"),
    REAL("transformer", "attention-dropout", attention_dropout, TRANSFORMER, "=dropout", 0, 0.95,
         "P", "probability that a weight is dropped; as dropout unless given"),
    REAL("transformer", "embed-dropout", embedding_dropout, TRANSFORMER, "=dropout", 0, 0.95, "P",
         "probability that a unit of an embedding is; as dropout unless given"),

    INTEGER("convolution", "least-window", min_window, CNN, "3", 1, 16, "N",
            "tokens in the narrowest window"),
    INTEGER("convolution", "most-window", max_window, CNN, "5", 1, 16, "N",
            "tokens in the widest; all sizes between them share the width"),

    CHOICE(
        "labels", "pool", pool, CLASSIFIER, "attention", pools, "HOW",
        "what stands for a sentence: the vector of a stop token, where reading ends, the mean or "
        "largest of all, or attention"),
    CHOICE("labels", "pool-score", pool_score, CLASSIFIER, "additive", pool_scores, "KIND",
           "how pool attention scores a token"),
    INTEGER("labels", "pool-heads", pool_heads, CLASSIFIER, "1", 1, 1024, "N",
            "heads of pool attention, which share the width"),

    REAL("teaching", "dropout", dropout, ALL, "0.2", 0, 0.95, "P",
         "probability that a unit is dropped"),
    REAL("teaching", "word-dropout", word_dropout, WORD_DROPOUT, "0", 0, 0.95, "P",
         "probability that a token that is read, or fed to a decoder, is taken for an unknown one "
         "in training"),
    REAL("teaching", "label-smoothing", label_smoothing, ALL, "0", 0, 0.9, "P",
         "probability spread over all tokens"),
    REAL("teaching", "own", scheduled_sampling, SCHEDULED_SAMPLING, "0", 0, 1, "P",
         "probability, at the end, that the model's own prediction is fed"),
    INTEGER("teaching", "own-from", scheduled_sampling_start, SCHEDULED_SAMPLING, "1", 1, MAX_COUNT,
            "EPOCH", "epoch from which it rises"),
    REAL("teaching", "align-weight", guided_alignment_weight, GUIDED_ALIGNMENT, "0.1", 0, 1000, "X",
         "weight of the alignments in the loss"),

    CHOICE("optimiser", "optimiser", optimizer, ALL, "adam", optimizers, "KIND",
           "how gradients become steps"),
    REAL("optimiser", "rate", learning_rate, ALL, "0.001", 0, 1000, "X", "learning rate"),
    REAL("optimiser", "momentum", momentum, ALL, "0", 0, 0.9999, "X", "of sgd"),
    REAL("optimiser", "beta1", beta1, ALL, "0.9", 0, 0.999999, "X",
         "decay of the mean of gradients in adam and adamw"),
    REAL("optimiser", "beta2", beta2, ALL, "0.999", 0, 0.999999, "X",
         "decay of the mean of their squares"),
    REAL("optimiser", "rho", rho, ALL, "0.9", 0, 0.999999, "X", "decay of both means in adadelta"),
    REAL("optimiser", "epsilon", epsilon, ALL, "1e-8", 1e-30, 1, "X",
         "keeps divisors from 0 in adam, adamw and adadelta"),
    REAL("optimiser", "decay", weight_decay, ALL, "0", 0, 1, "X", "weight decay"),
    REAL("optimiser", "clip", clip_norm, ALL, "1", 0, 1e30, "X",
         "largest norm of the gradient; 0: any"),

    CHOICE("schedule", "schedule", schedule, ALL, "constant", schedules, "KIND",
           "how the rate changes"),
    INTEGER("schedule", "warmup", warmup, ALL, "0", 0, MAX_COUNT, "STEPS",
            "steps in which the rate rises from 0"),
    REAL("schedule", "least-rate", min_learning_rate, ALL, "0", 0, 1000, "X",
         "the rate that cosine ends at and plateau stops at"),
    REAL("schedule", "plateau-factor", plateau_factor, ALL, "0.5", 0.001, 0.999, "X",
         "what plateau multiplies the rate with"),
    INTEGER("schedule", "plateau-patience", plateau_patience, ALL, "2", 1, MAX_COUNT, "N",
            "validations without progress before it does"),
    INTEGER("schedule", "epochs", epochs, ALL, "20", 1, MAX_COUNT, "N",
            "times to go over the training data"),
    INTEGER("schedule", "steps", steps, ALL, "0", 0, MAX_COUNT, "N",
            "steps to stop after; 0: when the epochs are over"),
    INTEGER("schedule", "batch", batch_tokens, ALL, "2048", 1, 1e8, "TOKENS",
            "tokens in a batch: rows times the longer side, padding included"),
    INTEGER("schedule", "accumulate", accumulate, ALL, "1", 1, 1e6, "N", "batches to a step"),

    INTEGER("run", "validate-every", validate_every, ALL, "0", 0, MAX_COUNT, "STEPS",
            "steps between validations; 0: after each epoch"),
    CHOICE("run", "best-by", best_metric, DECODED, "tokens", best_metrics, "WHAT",
           "what makes a model the best: fewest wrong tokens, wrong lines, the least loss or the "
           "highest BLEU (of captions BLEU-4)"),
    INTEGER("run", "patience", patience, ALL, "0", 0, MAX_COUNT, "N",
            "validations without progress before stopping; 0: never"),
    INTEGER("run", "average", average_checkpoints, ALL, "0", 0, 1000, "N",
            "average the weights of the last N validations; 0: do not"),
    INTEGER("run", "seed", seed, ALL, "1", 0, MAX_EXACT_INTEGER, "N",
            "of weights, order and dropout"),
    INTEGER("run", "data-seed", data_seed, ALL, "1", 0, MAX_EXACT_INTEGER, "N",
            "which strings are drawn, or pairs held out"),

    TEXT(ATT_GROUP_OUTPUT, "out", out, ALL, NULL, "FILE", "where the model goes"),
    REAL(ATT_GROUP_OUTPUT, "save-every", save_every, ALL, "60", 0, MAX_COUNT, "SECONDS",
         "time between checkpoints; 0: after every step"),
    TEXT(ATT_GROUP_OUTPUT, "log", log, ALL, NULL, "FILE", "a line of JSON for each report"),
    TEXT(ATT_GROUP_OUTPUT, "resume", resume, ALL, NULL, "FILE", "go on from a checkpoint"),

};

/* clang-format off */
#define WHEN(when_, is_, key_, default_, ...)                                                        \
    { .if_key = when_, .if_value = is_, .key = key_, .default_value = default_, ##__VA_ARGS__ }

/* By task first, so that what a task chooses counts for the rest. The three tasks made up are alike:
 * `reverse` is the third question of handout 003. The encoder reads both ways as elsewhere: where it
 * reads one way, the decoder looks at the letter beside the one that it writes. */
#define SYNTHETIC_TASK(task)                                                                                \
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
    WHEN("task", "translate", key, start, .and_key = "family", .and_value = "transformer")

/* Few sentences and many words: what is learned by heart must be kept down. */
#define CLASSIFY(key, start) WHEN("task", "classify", key, start)
#define CLASSIFY_TRANSFORMER(key, start)                                                           \
    WHEN("task", "classify", key, start, .and_key = "family", .and_value = "transformer")

#define CLASSIFY_CNN(key, start)                                                           \
    WHEN("task", "classify", key, start, .and_key = "family", .and_value = "convolution")

/* A small model of letters, and a context that a Transformer fills. */
#define LM(key, start) WHEN("task", "lm", key, start)
#define LM_TRANSFORMER(key, start)                                                                 \
    WHEN("task", "lm", key, start, .and_key = "family", .and_value = "transformer")
/* Captions: those of docs/recipes.md. Scenes made up are small, and seen by convolutions. */
#define CAPTION(key, start) WHEN("task", "caption", key, start)
#define SHAPES(key, start)  WHEN("task", "shapes", key, start)

const att_conditional_default att_conditional_defaults[] = {
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
    SYNTHETIC_TASK("reverse"),
    SYNTHETIC_TASK("copy"),
    SYNTHETIC_TASK("sort"),
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
    CLASSIFY_CNN("pool", "max"),
    CLASSIFY_CNN("width", "300"),
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

const size_t att_setting_spec_count = sizeof att_setting_specs / sizeof *att_setting_specs;
const size_t att_conditional_default_count =
    sizeof att_conditional_defaults / sizeof *att_conditional_defaults;

_Static_assert(sizeof tasks / sizeof *tasks == ATT_TASK_COUNT + 1, "a word for every task");
_Static_assert(sizeof att_setting_specs / sizeof *att_setting_specs <= ATT_MAX_SETTINGS,
               "room for every origin");

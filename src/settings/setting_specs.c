/* The table of settings. A new setting is a member of att_settings and a row here; the command
 * line, config files, help, completions and model files then know it. Defaults that depend on other
 * settings are in setting_defaults.c. */
#include "settings/setting_specs.h"

#include "base/minmax.h"
#include "text/pretokenizer.h"

#include <stddef.h>

/* The scope of a row: the tasks and the architectures that it applies to. */
#define SCOPE_TSV_FILES          ATT_TASKS_TSV_FILES, ATT_ARCHITECTURES_ALL
#define SCOPE_FROM_FILES         ATT_TASKS_FROM_FILES, ATT_ARCHITECTURES_ALL
#define SCOPE_LM                 ATT_TASKS_LM, ATT_ARCHITECTURES_ALL
#define SCOPE_SYNTHETIC_STRINGS  ATT_TASKS_SYNTHETIC_STRINGS, ATT_ARCHITECTURES_ALL
#define SCOPE_ALL                ATT_TASKS_ALL, ATT_ARCHITECTURES_ALL
#define SCOPE_RNN                ATT_TASKS_ALL, ATT_ARCHITECTURES_RNN
#define SCOPE_EMBEDDING_SIZE     ATT_TASKS_ALL, ATT_ARCHITECTURES_EMBEDDING_SIZE
#define SCOPE_CNN                ATT_TASKS_CLASSIFIER | ATT_TASKS_TAGGER, ATT_ARCHITECTURES_CNN
#define SCOPE_PAIR_FILES         ATT_TASKS_PAIR_FILES, ATT_ARCHITECTURES_ALL
#define SCOPE_CLASSIFIER         ATT_TASKS_CLASSIFIER, ATT_ARCHITECTURES_ALL
#define SCOPE_GENERATE           ATT_TASKS_GENERATE, ATT_ARCHITECTURES_ALL
#define SCOPE_RNN_SEQ2SEQ        ATT_TASKS_SEQ2SEQ, ATT_ARCHITECTURES_RNN
#define SCOPE_RNN_LM             ATT_TASKS_LM, ATT_ARCHITECTURES_RNN
#define SCOPE_SCHEDULED_SAMPLING ATT_TASKS_GENERATE, ATT_ARCHITECTURES_RNN
#define SCOPE_RNN_ENCODER        ATT_TASKS_WITH_ENCODER, ATT_ARCHITECTURES_RNN
#define SCOPE_RNN_ATTENTION      ATT_TASKS_SEQ2SEQ | ATT_TASKS_IMAGE, ATT_ARCHITECTURES_RNN
#define SCOPE_GUIDED_ALIGNMENT   ATT_TASKS_PAIR_FILES, ATT_ARCHITECTURES_RNN
#define SCOPE_TRANSFORMER        ATT_TASKS_ALL, ATT_ARCHITECTURES_TRANSFORMER
#define SCOPE_ENCODER_DECODER    ATT_TASKS_SEQ2SEQ | ATT_TASKS_IMAGE, ATT_ARCHITECTURES_TRANSFORMER
#define SCOPE_SENTENCES          ATT_TASKS_TSV_FILES | ATT_TASKS_CAPTION, ATT_ARCHITECTURES_ALL
#define SCOPE_TARGET_TOKENS      ATT_TASKS_PAIR_FILES | ATT_TASKS_CAPTION, ATT_ARCHITECTURES_ALL
#define SCOPE_SYNTHETIC          ATT_TASKS_SYNTHETIC_STRINGS | ATT_TASKS_SHAPES, ATT_ARCHITECTURES_ALL
#define SCOPE_CAPTION            ATT_TASKS_CAPTION, ATT_ARCHITECTURES_ALL
#define SCOPE_SHAPES             ATT_TASKS_SHAPES, ATT_ARCHITECTURES_ALL
#define SCOPE_IMAGE              ATT_TASKS_IMAGE, ATT_ARCHITECTURES_ALL
#define SCOPE_IMAGE_RNN          ATT_TASKS_IMAGE, ATT_ARCHITECTURES_RNN
#define SCOPE_WORD_DROPOUT                                                                         \
    ATT_TASKS_SEQ2SEQ | ATT_TASKS_CLASSIFIER | ATT_TASKS_TAGGER | ATT_TASKS_IMAGE,                 \
        ATT_ARCHITECTURES_ALL
#define SCOPE_LABELS        ATT_TASKS_CLASSIFIER | ATT_TASKS_TAGGER, ATT_ARCHITECTURES_ALL
#define SCOPE_COPY          ATT_TASKS_SEQ2SEQ, ATT_ARCHITECTURES_ALL
#define SCOPE_TAGGER        ATT_TASKS_TAGGER, ATT_ARCHITECTURES_ALL
#define SCOPE_SOURCE_TOKENS ATT_TASKS_PAIR_FILES | ATT_TASKS_CLASSIFIER, ATT_ARCHITECTURES_ALL
#define SCOPE_BPE           ATT_TASKS_FROM_FILES & ~ATT_TASKS_TAGGER, ATT_ARCHITECTURES_ALL
#define SCOPE_BEST_METRIC                                                                          \
    ATT_TASKS_SEQ2SEQ | ATT_TASKS_IMAGE | ATT_TASKS_TAGGER, ATT_ARCHITECTURES_ALL

/* Upper limits that no sensible value reaches. A double holds each exactly. */
#define MAX_COUNT         1e9
#define MAX_EXACT_INTEGER 9007199254740992.0 /* 2^53 */

/* One row. Members that are not named are zero. */
#define SPEC(group_, key_, member_, scope_, default_, type_, placeholder_, help_, ...)             \
    {                                                                                              \
        .info = { .key = key_,                                                                     \
                  .group = group_,                                                                 \
                  .type = ATT_SETTING_##type_,                                                     \
                  .placeholder = placeholder_,                                                     \
                  .help = help_,                                                                   \
                  __VA_ARGS__ },                                                                   \
        .default_value = default_, .offset = offsetof(struct att_settings, member_), .scope = {    \
            SCOPE_##scope_                                                                         \
        }                                                                                          \
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

static const char *const tasks[] = { "pairs", "translate", "reverse", "copy",   "sort", "classify",
                                     "tag",   "lm",        "caption", "shapes", NULL };
static const char *const data_formats[] = { "auto", "tsv", "conll", "sigmorphon",
                                            "scan", "csv", "jsonl", NULL };
static const char *const rnn_cells[] = { "vanilla", "gru", "lstm", NULL };
static const char *const mechanisms[] = { "none",    "fixed",    "dot",    "scaled",
                                          "general", "additive", "concat", "location",
                                          "local",   "coverage", NULL };
static const char *const normalizers[] = { "softmax", "mean", "sparsemax", "entmax",
                                           "sigmoid", "sum",  "none",      NULL };
static const char *const decoder_inits[] = { "copy", "project", NULL };
static const char *const attention_contexts[] = { "output", "state", "both", NULL };
static const char *const architectures[] = { "rnn", "transformer", "cnn", NULL };
static const char *const positions[] = { "none", "sinusoidal", "learned", "rotary", NULL };
static const char *const positions_joins[] = { "add", "concat", NULL };
static const char *const ties[] = { "no", "output", "all", NULL };
static const char *const presets[] = { "tiny", "small", "base", NULL };
static const char *const norms[] = { "pre", "post", "none", NULL };
static const char *const norm_kinds[] = { "layer", "rms", NULL };
static const char *const ffn_activations[] = { "relu", "gelu", "swiglu", NULL };
static const char *const pools[] = { "stop", "last", "mean", "max", "attention", NULL };
static const char *const pool_scores[] = { "dot", "scaled", "additive", NULL };
static const char *const char_features[] = { "none", "cnn", "lstm", NULL };
static const char *const optimizers[] = { "sgd", "adam", "adamw", "adadelta", NULL };
static const char *const init_vocabs[] = { "keep", "extend", NULL };
static const char *const schedules[] = { "constant", "inverse-sqrt", "cosine", "plateau", NULL };
static const char *const best_metrics[] = {
    "token-error-rate", "exact-match", "loss", "bleu", "f1", NULL
};

const att_task_spec att_task_specs[ATT_TASK_COUNT] = {
    [ATT_TASK_PAIRS] = { ATT_MODEL_SEQ2SEQ, "it reads sentence pairs from files",
                         "--train, or --source and --target" },
    [ATT_TASK_TRANSLATE] = { ATT_MODEL_SEQ2SEQ, "it reads sentence pairs from files",
                             "--train, or --source and --target" },
    [ATT_TASK_REVERSE] = { ATT_MODEL_SEQ2SEQ, "it generates its own strings", NULL },
    [ATT_TASK_COPY] = { ATT_MODEL_SEQ2SEQ, "it generates its own strings", NULL },
    [ATT_TASK_SORT] = { ATT_MODEL_SEQ2SEQ, "it generates its own strings", NULL },
    [ATT_TASK_CLASSIFY] = { ATT_MODEL_CLASSIFIER, "it reads labeled sentences from files",
                            "--train: a file of sentence<TAB>label lines" },
    [ATT_TASK_TAG] = { ATT_MODEL_TAGGER,
                       "it reads sentences with a label for each token from files",
                       "--train: a CoNLL file, or a file of tokens<TAB>labels lines" },
    [ATT_TASK_LM] = { ATT_MODEL_LM, "a language model has no source side", "--train: a text file" },
    [ATT_TASK_CAPTION] = { ATT_MODEL_CAPTION, "it reads image features from files",
                           "--train and --features: captions and image features" },
    [ATT_TASK_SHAPES] = { ATT_MODEL_CAPTION, "it generates its own images", NULL },
};

const att_setting_spec att_setting_specs[] = {
    CHOICE("task", "task", task, ALL, "pairs", tasks, "TASK",
           "model to train: pairs or translate (sentence pairs), classify, tag, lm, caption, or "
           "a synthetic task (reverse, copy, sort, shapes)"),

    TEXT("data", "train", train, FROM_FILES, NULL, "FILE",
         "training data ('-': standard input): source<TAB>target, sentence<TAB>label or "
         "image<TAB>caption lines; for tag a CoNLL file or tokens<TAB>labels lines; for lm a text "
         "file"),
    TEXT("data", "source", source, TSV_FILES, NULL, "FILE",
         "training source sentences, one per line, instead of --train"),
    TEXT("data", "target", target, TSV_FILES, NULL, "FILE",
         "training target sentences, one per line, parallel to --source"),
    TEXT("data", "valid", valid, FROM_FILES, NULL, "FILE",
         "validation data, in the format of --train"),
    TEXT("data", "valid-source", valid_source, TSV_FILES, NULL, "FILE",
         "validation source sentences, one per line, instead of --valid"),
    TEXT("data", "valid-target", valid_target, TSV_FILES, NULL, "FILE",
         "validation target sentences, one per line, parallel to --valid-source"),
    REAL("data", "valid-fraction", valid_fraction, FROM_FILES, "0.05", 0, 0.5, "PART",
         "fraction of the training data held out for validation if --valid is not given; for lm "
         "the end of the text; 0: train on all, validate on a sample of it"),
    TEXT("data", "guided-alignment", guided_alignment, GUIDED_ALIGNMENT, NULL, "FILE",
         "word alignments for guided alignment: one line of i-j pairs (0-0 1-2 …) per training "
         "pair"),

    CHOICE(
        "data", "format", format, TSV_FILES, "auto", data_formats, "FORMAT",
        "format of the files: tab-separated lines, CoNLL, SIGMORPHON (source<TAB>target<TAB>tags "
        "lines), IN: source OUT: target lines, CSV with a header, or JSON lines; auto: guessed"),
    TEXT("data", "columns", columns, TSV_FILES, NULL, "SOURCE,TARGET",
         "columns of source and target (sentence and label, token and label), or of source, target "
         "and tags: numbers from 1, last, or the names of CSV and JSON lines; default: 1,last in "
         "CoNLL files, usual names elsewhere"),

    TEXT("images", "features", features, CAPTION, NULL, "FILE",
         "image features as .npy of shape [images, cells, channels] or [images, height, width, "
         "channels]"),
    TEXT("images", "valid-features", valid_features, CAPTION, NULL, "FILE",
         "image features of the validation captions, if they are in another file"),
    TEXT("images", "features-scale", features_scale, CAPTION, NULL, "WHAT",
         "factor for all feature values: a number, or a .npy file with one factor per channel"),
    INTEGER("images", "image-rows", image_rows, IMAGE, "0", 0, 4096, "N",
            "height of the feature map; 0: from the shape of --features, or the square root of the "
            "number of cells"),
    INTEGER("images", "image-columns", image_columns, IMAGE, "0", 0, 4096, "N",
            "width of the feature map; 0: from the shape of --features"),
    INTEGER("images", "image-depth", image_depth, IMAGE, "0", 0, 1e6, "N",
            "channels of the feature map; 0: from the shape of --features"),
    INTEGER("images", "image-size", image_size, SHAPES, "32", 24, 256, "N",
            "height and width of the synthetic images in pixels"),
    INTEGER(
        "images", "conv-layers", conv_layers, IMAGE, "0", 0, 8, "N",
        "number of convolution layers over the image, each with stride 2; 0: use the features as "
        "they are"),
    INTEGER("images", "conv-channels", conv_channels, IMAGE, "16", 1, 1024, "N",
            "channels of the first convolution layer; every further layer has twice as many"),
    FLAG("images", "image-positions", image_positions, IMAGE, "yes",
         "add learned row and column position embeddings to the image cells"),
    FLAG("images", "init-from-image", init_from_image, IMAGE_RNN, "yes",
         "initialize the decoder state from the mean of the image cells; if not, the decoder sees "
         "the image only through attention"),

    TEXT("synthetic", "alphabet", alphabet, SYNTHETIC_STRINGS, "abcd", "CHARACTERS",
         "characters of the synthetic strings"),
    INTEGER("synthetic", "min-string-length", min_string_length, SYNTHETIC_STRINGS, "1", 1, 1000,
            "N", "minimum length of the synthetic strings in characters"),
    INTEGER("synthetic", "max-string-length", max_string_length, SYNTHETIC_STRINGS, "20", 1, 1000,
            "N", "maximum length of the synthetic strings in characters"),
    INTEGER("synthetic", "train-count", train_count, SYNTHETIC, "10000", 1, 1e8, "N",
            "number of synthetic training examples"),
    INTEGER("synthetic", "valid-count", valid_count, SYNTHETIC, "1000", 1, 1e8, "N",
            "number of synthetic validation examples; none of them is in the training data"),

    CHOICE("tokens", "source-tokens", source_tokens, SOURCE_TOKENS, "char",
           att_tokenizer_kind_names, "HOW",
           "tokenization of the source: characters, words, BPE, bytes, code points, "
           "whitespace-separated, or the whole line; for pairs chosen by the data"),
    CHOICE("tokens", "target-tokens", target_tokens, TARGET_TOKENS, "char",
           att_tokenizer_kind_names, "HOW", "tokenization of the target, as --source-tokens"),
    CHOICE("tokens", "tokens", tokens, LM, "char", att_document_tokenizer_names, "HOW",
           "tokenization of the text: characters, words, BPE, bytes or code points"),
    INTEGER("tokens", "bpe-merges", bpe_merges, BPE, "8000", 0, 1e6, "N",
            "number of BPE merges to learn; characters and bytes are added to the vocabulary"),
    FLAG("tokens", "joint", joint, PAIR_FILES, "no",
         "share one vocabulary between source and target"),
    FLAG("tokens", "lowercase", lowercase, FROM_FILES, "no", "lowercase the text"),
    INTEGER(
        "tokens", "min-count", min_count, FROM_FILES, "1", 1, MAX_COUNT, "N",
        "minimum number of occurrences in the training data for a token to enter the vocabulary"),
    INTEGER("tokens", "max-length", max_length, SENTENCES, "500", 0, MAX_COUNT, "N",
            "skip training pairs with more tokens than this on either side; 0: no limit"),
    INTEGER("tokens", "sequence-length", sequence_length, LM, "128", 1, 1e6, "TOKENS",
            "tokens per training sequence: the length of truncated BPTT for an RNN, the context "
            "length for a Transformer"),

    CHOICE("model", "architecture", architecture, ALL, "rnn", architectures, "KIND",
           "architecture: recurrent network, Transformer, or convolutional network (classify and "
           "tag only)"),
    INTEGER("model", "layers", layers, ALL, "1", 1, 64, "N",
            "number of layers of the encoder and of the decoder"),
    INTEGER("model", "hidden-size", hidden_size, ALL, "256", 1, 65536, "N",
            "hidden size of a layer; the two directions of a bidirectional encoder share it"),
    CHOICE("model", "positions", positions, ALL, "none", positions, "KIND",
           "position encoding: none, sinusoidal, learned, or rotary (RoPE; Transformer only)"),
    CHOICE("model", "positions-join", positions_join, ALL, "add", positions_joins, "HOW",
           "how position encodings are combined with the token embeddings: added or concatenated"),
    CHOICE("model", "tie-embeddings", tie_embeddings, GENERATE, "no", ties, "WHAT",
           "weight tying: the output layer uses the target embedding (output), and the source "
           "embedding too (all)"),
    TEXT("model", "vectors", vectors, TSV_FILES, NULL, "FILE",
         "word vectors for the embedding of source words, as text of word2vec, GloVe or fastText"),
    FLAG("model", "vectors-tune", vectors_tune, TSV_FILES, "yes",
         "train the embedding of --vectors too; no: it stays as it is"),
    FLAG("model", "copy", copy, COPY, "no",
         "pointer-generator: copy tokens of the source by attention weights, also tokens that the "
         "vocabulary lacks"),
    CHOICE(
        "model", "char-features", char_features, LABELS, "none", char_features, "KIND",
        "features of a word from its characters (UTF-8 bytes), beside its embedding: none, a CNN "
        "or a bidirectional LSTM"),
    INTEGER("model", "char-embedding-size", char_embedding_size, LABELS, "24", 1, 4096, "N",
            "size of the embeddings of characters"),
    INTEGER("model", "char-size", char_size, LABELS, "60", 1, 65536, "N",
            "size of the character features of a word"),
    REAL("model", "init-range", init_range, ALL, "0", 0, 10, "X",
         "initialize weights uniformly in [-X, X]; 0: Xavier (Glorot) by the size of each matrix"),
    TEXT("model", "init-from", init_from, ALL, NULL, "MODEL",
         "fine-tune: start from the weights of this model, and take from it what is not given of "
         "the tokens and the architecture"),
    CHOICE(
        "model", "init-vocab", init_vocab, ALL, "keep", init_vocabs, "HOW",
        "vocabulary with --init-from: keep that of the model (new tokens are unknown), or extend "
        "it by the new tokens of the training data"),

    CHOICE("rnn", "rnn-cell", rnn_cell, RNN, "lstm", rnn_cells, "CELL", "type of RNN cell"),
    INTEGER("rnn", "embedding-size", embedding_size, EMBEDDING_SIZE, "128", 1, 65536, "N",
            "size of the token embeddings"),
    FLAG("rnn", "bidirectional", bidirectional, RNN_ENCODER, "yes", "use a bidirectional encoder"),
    CHOICE("rnn", "decoder-init", decoder_init, RNN_SEQ2SEQ, "project", decoder_inits, "HOW",
           "initial state of the decoder: the final state of the encoder, or a linear function of "
           "it"),
    CHOICE("rnn", "attention", attention, RNN_ATTENTION, "general", mechanisms, "KIND",
           "attention mechanism of the decoder over the source"),
    CHOICE("rnn", "normalizer", normalizer, RNN_ATTENTION, "softmax", normalizers, "KIND",
           "function that turns attention scores into weights"),
    CHOICE(
        "rnn", "attention-context", attention_context, RNN_ATTENTION, "output", attention_contexts,
        "WHERE",
        "where the attention context enters the decoder: the output layer, the next state (input "
        "feeding), or both"),
    REAL("rnn", "attention-window", attention_window, RNN_ATTENTION, "5", 0.5, 65536, "N",
         "half width of the local attention window in source tokens"),

    CHOICE("transformer", "preset", preset, TRANSFORMER, "tiny", presets, "SIZE",
           "model size: sets the defaults of layers, hidden-size, heads and ffn-size"),
    INTEGER("transformer", "decoder-layers", decoder_layers, ENCODER_DECODER, "=layers", 1, 64, "N",
            "number of decoder layers, if different from --layers"),
    INTEGER("transformer", "heads", heads, TRANSFORMER, "4", 1, 1024, "N",
            "number of attention heads; hidden-size is divided among them"),
    INTEGER("transformer", "kv-heads", kv_heads, TRANSFORMER, "=heads", 1, 1024, "N",
            "number of key and value heads: fewer than --heads is grouped-query attention, 1 is "
            "multi-query attention"),
    INTEGER("transformer", "ffn-size", ffn_size, TRANSFORMER, "256", 0, 1048576, "N",
            "hidden size of the feed-forward network; 0: no feed-forward network"),
    CHOICE(
        "transformer", "norm", norm, TRANSFORMER, "pre", norms, "WHERE",
        "position of the normalization: before each sublayer (pre), after the residual connection "
        "(post), or none"),
    CHOICE("transformer", "norm-kind", norm_kind, TRANSFORMER, "layer", norm_kinds, "KIND",
           "type of normalization: LayerNorm or RMSNorm"),
    CHOICE("transformer", "activation", activation, TRANSFORMER, "relu", ffn_activations, "KIND",
           "activation of the feed-forward network; swiglu is gated by SiLU"),
    FLAG("transformer", "residuals", residuals, TRANSFORMER, "yes", "use residual connections"),
    FLAG("transformer", "attention-scale", attention_scale, TRANSFORMER, "yes",
         "divide attention scores by the square root of the head size"),
    FLAG("transformer", "embedding-scale", embedding_scale, TRANSFORMER, "yes",
         "multiply embeddings by the square root of hidden-size"),
    FLAG("transformer", "biases", biases, TRANSFORMER, "yes", "use biases in linear layers"),
    REAL("transformer", "attention-dropout", attention_dropout, TRANSFORMER, "=dropout", 0, 0.95,
         "P", "dropout probability of attention weights; default: the value of --dropout"),
    REAL("transformer", "embedding-dropout", embedding_dropout, TRANSFORMER, "=dropout", 0, 0.95,
         "P", "dropout probability of embeddings; default: the value of --dropout"),

    INTEGER("cnn", "min-window", min_window, CNN, "3", 1, 16, "N",
            "smallest convolution window in tokens"),
    INTEGER("cnn", "max-window", max_window, CNN, "5", 1, 16, "N",
            "largest convolution window in tokens; all window sizes in between share hidden-size"),

    CHOICE("classifier", "pool", pool, CLASSIFIER, "attention", pools, "HOW",
           "sentence representation: state of a stop token at the end, last state, mean, max, or "
           "attention pooling"),
    CHOICE("classifier", "pool-score", pool_score, CLASSIFIER, "additive", pool_scores, "KIND",
           "score function of attention pooling"),
    INTEGER("classifier", "pool-heads", pool_heads, CLASSIFIER, "1", 1, 1024, "N",
            "number of heads of attention pooling"),

    FLAG("tagger", "crf", crf, TAGGER, "no",
         "score whole sequences of labels with a linear-chain CRF, instead of each label alone"),

    REAL("regularization", "dropout", dropout, ALL, "0.2", 0, 0.95, "P", "dropout probability"),
    REAL("regularization", "word-dropout", word_dropout, WORD_DROPOUT, "0", 0, 0.95, "P",
         "probability of replacing an input token by the unknown token during training; with copy "
         "on "
         "both sides, and 0.1 by default"),
    REAL("regularization", "label-smoothing", label_smoothing, ALL, "0", 0, 0.9, "P",
         "label smoothing: probability mass spread over all tokens"),
    REAL("regularization", "consistency", consistency, ALL, "0", 0, 1000, "X",
         "weight of the consistency loss (R-Drop): each batch runs twice with different dropout, "
         "and the two predictions of a token are drawn together; 0: off"),
    REAL("regularization", "state-reset", state_reset, RNN_LM, "0.1", 0, 1, "P",
         "probability that a sequence starts from the zero state, as generated text does, instead "
         "of "
         "the state at the end of the sequence before it"),
    REAL("regularization", "scheduled-sampling", scheduled_sampling, SCHEDULED_SAMPLING, "0", 0, 1,
         "P",
         "final probability of feeding the decoder its own prediction instead of the reference"),
    INTEGER("regularization", "scheduled-sampling-start", scheduled_sampling_start,
            SCHEDULED_SAMPLING, "1", 1, MAX_COUNT, "EPOCH",
            "epoch in which scheduled sampling starts"),
    REAL("regularization", "guided-alignment-weight", guided_alignment_weight, GUIDED_ALIGNMENT,
         "0.1", 0, 1000, "X", "weight of the guided alignment loss"),

    CHOICE("optimizer", "optimizer", optimizer, ALL, "adam", optimizers, "KIND", "optimizer"),
    REAL("optimizer", "learning-rate", learning_rate, ALL, "0.001", 0, 1000, "X",
         "peak learning rate"),
    REAL("optimizer", "momentum", momentum, ALL, "0", 0, 0.9999, "X", "momentum of sgd"),
    REAL("optimizer", "beta1", beta1, ALL, "0.9", 0, 0.999999, "X",
         "decay rate of the first moment in adam and adamw"),
    REAL("optimizer", "beta2", beta2, ALL, "0.999", 0, 0.999999, "X",
         "decay rate of the second moment in adam and adamw"),
    REAL("optimizer", "rho", rho, ALL, "0.9", 0, 0.999999, "X",
         "decay rate of both running averages in adadelta"),
    REAL("optimizer", "epsilon", epsilon, ALL, "1e-8", 1e-30, 1, "X",
         "constant added to the denominator in adam, adamw and adadelta"),
    REAL("optimizer", "weight-decay", weight_decay, ALL, "0", 0, 1, "X", "weight decay"),
    REAL("optimizer", "clip-norm", clip_norm, ALL, "1", 0, 1e30, "X",
         "maximum norm of the gradient; 0: no clipping"),

    CHOICE("schedule", "schedule", schedule, ALL, "constant", schedules, "KIND",
           "learning rate schedule"),
    INTEGER("schedule", "warmup", warmup, ALL, "0", 0, MAX_COUNT, "STEPS",
            "number of warmup steps, in which the learning rate rises linearly from 0"),
    REAL("schedule", "min-learning-rate", min_learning_rate, ALL, "0", 0, 1000, "X",
         "minimum learning rate of the cosine and plateau schedules"),
    REAL("schedule", "plateau-factor", plateau_factor, ALL, "0.5", 0.001, 0.999, "X",
         "factor by which the plateau schedule reduces the learning rate"),
    INTEGER(
        "schedule", "plateau-patience", plateau_patience, ALL, "2", 1, MAX_COUNT, "N",
        "validations without improvement before the plateau schedule reduces the learning rate"),
    INTEGER("schedule", "epochs", epochs, ALL, "20", 1, MAX_COUNT, "N",
            "number of training epochs"),
    INTEGER("schedule", "steps", steps, ALL, "0", 0, MAX_COUNT, "N",
            "maximum number of training steps; 0: train for all epochs"),
    TEXT("schedule", "step-plan", step_plan, ALL, NULL, "PLAN",
         "how --time changed the number of steps during the run: STEP:STEPS, separated by commas"),
    INTEGER("schedule", "batch-tokens", batch_tokens, ALL, "2048", 1, 1e8, "TOKENS",
            "batch size in tokens, padding included: sequences times the longer side"),
    INTEGER("schedule", "accumulate", accumulate, ALL, "1", 1, 1e6, "N",
            "micro-batches of a step; their gradients are summed, and processes share them"),

    INTEGER("run", "validate-every", validate_every, ALL, "0", 0, MAX_COUNT, "STEPS",
            "steps between validations; 0: validate after every epoch"),
    CHOICE("run", "best-metric", best_metric, BEST_METRIC, "token-error-rate", best_metrics, "WHAT",
           "metric that selects the best checkpoint: token error rate, exact match, loss, BLEU "
           "(BLEU-4 for captions), or for tag the F1 of spans (without spans: token error rate)"),
    INTEGER("run", "patience", patience, ALL, "0", 0, MAX_COUNT, "N",
            "early stopping: validations without improvement before training stops; 0: off"),
    INTEGER("run", "average-checkpoints", average_checkpoints, ALL, "0", 0, 1000, "N",
            "average the weights of the last N validation checkpoints; 0: off"),
    INTEGER("run", "seed", seed, ALL, "1", 0, MAX_EXACT_INTEGER, "N",
            "random seed of weight initialization, data order and dropout"),
    INTEGER("run", "data-seed", data_seed, ALL, "1", 0, MAX_EXACT_INTEGER, "N",
            "random seed of the synthetic data and of the validation split"),

    TEXT(ATT_GROUP_OUTPUT, "out", out, ALL, NULL, "FILE", "output model file"),
    REAL(ATT_GROUP_OUTPUT, "save-every", save_every, ALL, "60", 0, MAX_COUNT, "SECONDS",
         "seconds between checkpoints; 0: after every step"),
    TEXT(ATT_GROUP_OUTPUT, "log", log, ALL, NULL, "FILE", "training log: one JSON object per line"),
    TEXT(ATT_GROUP_OUTPUT, "resume", resume, ALL, NULL, "FILE",
         "resume training from this checkpoint"),

    TEXT(ATT_GROUP_BUDGET, "time", time, ALL, NULL, "TIME",
         "train for this long, as 90s, 30m or 1h30m: chooses the number of steps and, if it is not "
         "given, the size of the model"),
    INTEGER(ATT_GROUP_BUDGET, "try", tries, ALL, "0", 0, 1000, "N",
            "search: try N settings around the defaults, and train the best to the end; 0: off"),
};

const size_t att_setting_spec_count = ATT_COUNT(att_setting_specs);

_Static_assert(ATT_COUNT(tasks) == ATT_TASK_COUNT + 1, "every task has a name");
_Static_assert(ATT_COUNT(att_setting_specs) <= ATT_MAX_SETTINGS,
               "att_settings.origin has a place for every setting");

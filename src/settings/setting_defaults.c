/* Conditional defaults: values that replace the defaults of setting_specs.c, depending on the task,
 * the architecture, the preset, the optimizer and copying. att_settings_apply_defaults() goes
 * through the rows in order: a later row wins, and what a row for a task sets (such as the
 * architecture) counts for the rows after it. */
#include "settings/setting_specs.h"

#include "base/minmax.h"

#define WHEN(if_key_, if_value_, key_, default_, ...)                                              \
    {                                                                                              \
        .if_key = if_key_, .if_value = if_value_, .key = key_, .default_value = default_,          \
        ##__VA_ARGS__                                                                              \
    }

/* The three tasks of synthetic strings have the same defaults; `reverse` is question 3 of handout
 * 003, whose encoder is unidirectional. */
#define SYNTHETIC_RNN(task, key, value)                                                            \
    WHEN("task", task, key, value, .and_key = "architecture", .and_value = "rnn")
#define SYNTHETIC_TASK(task)                                                                       \
    WHEN("task", task, "hidden-size", "64"), WHEN("task", task, "embedding-size", "32"),           \
        WHEN("task", task, "attention", "dot"), WHEN("task", task, "dropout", "0"),                \
        WHEN("task", task, "epochs", "30"), WHEN("task", task, "batch-tokens", "1024"),            \
        SYNTHETIC_RNN(task, "bidirectional", "no"), SYNTHETIC_RNN(task, "schedule", "cosine"),     \
        SYNTHETIC_RNN(task, "learning-rate", "0.003"), SYNTHETIC_RNN(task, "batch-tokens", "512")

/* The learning rate of a Transformer warms up and then falls with the inverse square root of the
 * step (Vaswani et al. 2017). These are the defaults of the preset `tiny`. */
#define WHEN_TRANSFORMER(key, value) WHEN("architecture", "transformer", key, value)
#define PRESET(name, layers, hidden_size, heads, ffn_size)                                         \
    WHEN("preset", name, "layers", layers), WHEN("preset", name, "hidden-size", hidden_size),      \
        WHEN("preset", name, "heads", heads), WHEN("preset", name, "ffn-size", ffn_size)

/* Pairs of names, inflected forms, commands: what was best or nearly so on all of them
 * (docs/results.md). The data choose more: data/data_choices.h. */
#define PAIRS(key, value) WHEN("task", "pairs", key, value)
#define PAIRS_RNN(key, value)                                                                      \
    WHEN("task", "pairs", key, value, .and_key = "architecture", .and_value = "rnn")
#define PAIRS_TRANSFORMER(key, value)                                                              \
    WHEN("task", "pairs", key, value, .and_key = "architecture", .and_value = "transformer")

/* Translation: as in docs/recipes.md, for Multi30k. */
#define TRANSLATE(key, value) WHEN("task", "translate", key, value)
#define TRANSLATE_TRANSFORMER(key, value)                                                          \
    WHEN("task", "translate", key, value, .and_key = "architecture", .and_value = "transformer")

/* Classification: few sentences and many words overfit quickly, so regularization is strong. */
#define CLASSIFY(key, value) WHEN("task", "classify", key, value)
#define CLASSIFY_TRANSFORMER(key, value)                                                           \
    WHEN("task", "classify", key, value, .and_key = "architecture", .and_value = "transformer")

#define CLASSIFY_CNN(key, value)                                                                   \
    WHEN("task", "classify", key, value, .and_key = "architecture", .and_value = "cnn")

/* Tagging: as classification. */
#define TAG(key, value) WHEN("task", "tag", key, value)
#define TAG_TRANSFORMER(key, value)                                                                \
    WHEN("task", "tag", key, value, .and_key = "architecture", .and_value = "transformer")
#define TAG_CNN(key, value)                                                                        \
    WHEN("task", "tag", key, value, .and_key = "architecture", .and_value = "cnn")

/* Language models: a small character model. */
#define LM(key, value) WHEN("task", "lm", key, value)
#define LM_TRANSFORMER(key, value)                                                                 \
    WHEN("task", "lm", key, value, .and_key = "architecture", .and_value = "transformer")

/* Copying: a model learns to copy unknown tokens if some are unknown in training. Subwords never
 * are. */
#define COPY(key, value, ...) WHEN("copy", "yes", key, value, ##__VA_ARGS__)

/* Captions: as in docs/recipes.md. Synthetic shapes are small images, encoded by convolutions. */
#define CAPTION(key, value) WHEN("task", "caption", key, value)
#define SHAPES(key, value)  WHEN("task", "shapes", key, value)

const att_conditional_default att_conditional_defaults[] = {
    CAPTION("target-tokens", "word"),
    CAPTION("lowercase", "yes"),
    CAPTION("min-count", "4"),
    CAPTION("dropout", "0.4"),
    CAPTION("best-metric", "bleu"),
    SHAPES("target-tokens", "word"),
    SHAPES("hidden-size", "64"),
    SHAPES("embedding-size", "32"),
    SHAPES("dropout", "0"),
    SHAPES("word-dropout", "0.5"),
    SHAPES("init-from-image", "no"),
    SHAPES("attention", "additive"),
    SHAPES("batch-tokens", "512"),
    SHAPES("learning-rate", "0.005"),
    SHAPES("schedule", "cosine"),
    SHAPES("epochs", "16"),
    SHAPES("conv-layers", "2"),
    SHAPES("train-count", "12000"),
    SHAPES("valid-count", "500"),
    SHAPES("best-metric", "exact-match"),
    WHEN("attention", "none", "init-from-image", "yes"),
    SYNTHETIC_TASK("reverse"),
    SYNTHETIC_TASK("copy"),
    SYNTHETIC_TASK("sort"),
    TRANSLATE("architecture", "transformer"),
    WHEN_TRANSFORMER("layers", "4"),
    WHEN_TRANSFORMER("hidden-size", "128"),
    WHEN_TRANSFORMER("positions", "sinusoidal"),
    WHEN_TRANSFORMER("dropout", "0.1"),
    WHEN_TRANSFORMER("label-smoothing", "0.1"),
    WHEN_TRANSFORMER("beta2", "0.98"),
    WHEN_TRANSFORMER("schedule", "inverse-sqrt"),
    WHEN_TRANSFORMER("warmup", "1000"),
    PAIRS("label-smoothing", "0.1"),
    PAIRS("schedule", "cosine"),
    PAIRS("average-checkpoints", "3"),
    PAIRS("best-metric", "exact-match"),
    PAIRS("learning-rate", "0.002"),
    PAIRS_RNN("dropout", "0.4"),
    PAIRS_RNN("warmup", "200"),
    PAIRS_TRANSFORMER("dropout", "0.2"),
    PAIRS_TRANSFORMER("warmup", "400"),
    TRANSLATE("source-tokens", "bpe"),
    TRANSLATE("target-tokens", "bpe"),
    TRANSLATE("bpe-merges", "10000"),
    TRANSLATE("joint", "yes"),
    TRANSLATE("dropout", "0.3"),
    TRANSLATE("label-smoothing", "0.1"),
    TRANSLATE("schedule", "cosine"),
    TRANSLATE("batch-tokens", "4096"),
    TRANSLATE("epochs", "60"),
    TRANSLATE("average-checkpoints", "5"),
    TRANSLATE("best-metric", "loss"),
    CLASSIFY("source-tokens", "word"),
    CLASSIFY("target-tokens", "line"),
    CLASSIFY("lowercase", "yes"),
    CLASSIFY("hidden-size", "128"),
    CLASSIFY("embedding-size", "96"),
    CLASSIFY("dropout", "0.5"),
    CLASSIFY("word-dropout", "0.1"),
    CLASSIFY("label-smoothing", "0"),
    CLASSIFY("learning-rate", "0.004"),
    CLASSIFY("schedule", "cosine"),
    CLASSIFY("batch-tokens", "512"),
    CLASSIFY_TRANSFORMER("layers", "2"),
    CLASSIFY_TRANSFORMER("dropout", "0.3"),
    CLASSIFY_TRANSFORMER("learning-rate", "0.002"),
    CLASSIFY_TRANSFORMER("warmup", "100"),
    CLASSIFY_CNN("pool", "max"),
    CLASSIFY_CNN("hidden-size", "300"),
    WHEN("pool", "stop", "bidirectional", "no"),
    WHEN("bidirectional", "no", "decoder-init", "copy"),
    TAG("source-tokens", "space"),
    TAG("target-tokens", "space"),
    TAG("hidden-size", "200"),
    TAG("embedding-size", "100"),
    TAG("dropout", "0.5"),
    TAG("word-dropout", "0.05"),
    TAG("label-smoothing", "0"),
    TAG("learning-rate", "0.004"),
    TAG("schedule", "cosine"),
    TAG("batch-tokens", "512"),
    TAG("best-metric", "f1"),
    TAG_TRANSFORMER("layers", "2"),
    TAG_TRANSFORMER("hidden-size", "128"),
    TAG_TRANSFORMER("dropout", "0.2"),
    TAG_TRANSFORMER("learning-rate", "0.002"),
    TAG_TRANSFORMER("warmup", "100"),
    TAG_CNN("layers", "2"),
    TAG_CNN("hidden-size", "300"),
    TRANSLATE_TRANSFORMER("tie-embeddings", "all"),
    TRANSLATE_TRANSFORMER("attention-dropout", "0.1"),
    TRANSLATE_TRANSFORMER("learning-rate", "0.005"),
    LM("embedding-size", "64"),
    LM("learning-rate", "0.002"),
    LM("schedule", "cosine"),
    LM("epochs", "10"),
    LM("label-smoothing", "0"),
    LM("dropout", "0.1"),
    LM_TRANSFORMER("learning-rate", "0.001"),
    LM_TRANSFORMER("positions", "rotary"),
    LM_TRANSFORMER("activation", "gelu"),
    LM_TRANSFORMER("tie-embeddings", "output"),
    LM_TRANSFORMER("optimizer", "adamw"),
    LM_TRANSFORMER("warmup", "100"),
    PRESET("small", "6", "256", "4", "1024"),
    PRESET("base", "6", "512", "8", "2048"),
    WHEN("optimizer", "sgd", "learning-rate", "0.1"),
    WHEN("optimizer", "adamw", "weight-decay", "0.01"),
    WHEN("optimizer", "adadelta", "learning-rate", "1"),
    WHEN("optimizer", "adadelta", "epsilon", "1e-6"),
    COPY("word-dropout", "0.1"),
    COPY("word-dropout", "0", .and_key = "source-tokens", .and_value = "bpe"),
    COPY("word-dropout", "0", .and_key = "source-tokens", .and_value = "byte"),
};

const size_t att_conditional_default_count = ATT_COUNT(att_conditional_defaults);

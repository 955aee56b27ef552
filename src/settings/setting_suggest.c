/* "Did you mean …" for keys and values of settings. Names of version 0.1 come first: no edit
 * distance leads from `rate` to `learning-rate`. They are not aliases; they only make a better
 * message. */
#include "settings/setting_specs.h"

#include "base/minmax.h"

#include <string.h>

static const struct renamed_key {
    const char *old_key, *key;
} renamed_keys[] = {
    { "hold-out", "valid-fraction" },
    { "align", "guided-alignment" },
    { "picture-rows", "image-rows" },
    { "picture-columns", "image-columns" },
    { "picture-depth", "image-depth" },
    { "picture-size", "image-size" },
    { "convolutions", "conv-layers" },
    { "channels", "conv-channels" },
    { "picture-positions", "image-positions" },
    { "picture-start", "init-from-image" },
    { "least-length", "min-string-length" },
    { "most-length", "max-string-length" },
    { "subwords", "bpe-merges" },
    { "lower", "lowercase" },
    { "chunk", "sequence-length" },
    { "family", "architecture" },
    { "width", "hidden-size" },
    { "tie", "tie-embeddings" },
    { "start", "init-range" },
    { "cell", "rnn-cell" },
    { "embed", "embedding-size" },
    { "normaliser", "normalizer" },
    { "feed", "attention-context" },
    { "window", "attention-window" },
    { "key-heads", "kv-heads" },
    { "feed-forward", "ffn-size" },
    { "scale", "attention-scale" },
    { "embed-scale", "embedding-scale" },
    { "embed-dropout", "embedding-dropout" },
    { "least-window", "min-window" },
    { "most-window", "max-window" },
    { "own", "scheduled-sampling" },
    { "own-from", "scheduled-sampling-start" },
    { "align-weight", "guided-alignment-weight" },
    { "optimiser", "optimizer" },
    { "rate", "learning-rate" },
    { "decay", "weight-decay" },
    { "clip", "clip-norm" },
    { "least-rate", "min-learning-rate" },
    { "batch", "batch-tokens" },
    { "best-by", "best-metric" },
    { "average", "average-checkpoints" },
};

static const struct renamed_value {
    const char *key, *old_value, *value;
} renamed_values[] = {
    { "source-tokens", "subword", "bpe" },
    { "target-tokens", "subword", "bpe" },
    { "tokens", "subword", "bpe" },
    { "rnn-cell", "rnn", "vanilla" },
    { "architecture", "recurrent", "rnn" },
    { "architecture", "convolution", "cnn" },
    { "norm", "before", "pre" },
    { "norm", "after", "post" },
    { "activation", "gated", "swiglu" },
    { "best-metric", "tokens", "token-error-rate" },
    { "best-metric", "lines", "exact-match" },
};

const char *att_setting_suggest(const char *key)
{
    for (size_t i = 0; i < ATT_COUNT(renamed_keys); i++)
        if (strcmp(renamed_keys[i].old_key, key) == 0)
            return renamed_keys[i].key;
    const char *known[ATT_MAX_SETTINGS];
    for (size_t i = 0; i < att_setting_spec_count; i++)
        known[i] = att_setting_specs[i].info.key;
    return att_suggest(key, known, att_setting_spec_count);
}

const char *att_setting_suggest_value(const att_setting *setting, const char *value)
{
    for (size_t i = 0; i < ATT_COUNT(renamed_values); i++)
        if (strcmp(renamed_values[i].key, setting->key) == 0 &&
            strcmp(renamed_values[i].old_value, value) == 0)
            return renamed_values[i].value;
    size_t count = 0;
    while (setting->choices[count])
        count++;
    return att_suggest(value, setting->choices, count);
}

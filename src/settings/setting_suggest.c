/* "Did you mean …" for keys and values of settings. Names of version 0.1 and of other programs come
 * first: no edit distance leads from `lr` to `learning-rate`. They are not aliases; they only make
 * a better message. */
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

/* Names of PyTorch, fairseq, OpenNMT, JoeyNMT, Marian, Hugging Face and nanoGPT. */
static const struct renamed_key foreign_keys[] = {
    { "train-file", "train" },
    { "train-data", "train" },
    { "train-path", "train" },
    { "dev", "valid" },
    { "dev-file", "valid" },
    { "valid-file", "valid" },
    { "validation", "valid" },
    { "valid-data", "valid" },
    { "eval-file", "valid" },
    { "lr", "learning-rate" },
    { "learn-rate", "learning-rate" },
    { "max-epochs", "epochs" },
    { "max-epoch", "epochs" },
    { "num-epochs", "epochs" },
    { "num-train-epochs", "epochs" },
    { "n-epochs", "epochs" },
    { "after-epochs", "epochs" },
    { "max-steps", "steps" },
    { "max-update", "steps" },
    { "max-updates", "steps" },
    { "train-steps", "steps" },
    { "total-steps", "steps" },
    { "max-iters", "steps" },
    { "batch-size", "batch-tokens" },
    { "max-tokens", "batch-tokens" },
    { "mini-batch", "batch-tokens" },
    { "mini-batch-words", "batch-tokens" },
    { "per-device-train-batch-size", "batch-tokens" },
    { "gradient-accumulation-steps", "accumulate" },
    { "update-freq", "accumulate" },
    { "accum-count", "accumulate" },
    { "optimizer-delay", "accumulate" },
    { "batch-multiplier", "accumulate" },
    { "hidden", "hidden-size" },
    { "hidden-dim", "hidden-size" },
    { "hidden-units", "hidden-size" },
    { "d-model", "hidden-size" },
    { "rnn-size", "hidden-size" },
    { "dim-rnn", "hidden-size" },
    { "model-dim", "hidden-size" },
    { "n-embd", "hidden-size" },
    { "encoder-embed-dim", "hidden-size" },
    { "units", "hidden-size" },
    { "embed-dim", "embedding-size" },
    { "emb-dim", "embedding-size" },
    { "emb-size", "embedding-size" },
    { "embedding-dim", "embedding-size" },
    { "dim-emb", "embedding-size" },
    { "word-vec-size", "embedding-size" },
    { "num-layers", "layers" },
    { "n-layers", "layers" },
    { "n-layer", "layers" },
    { "encoder-layers", "layers" },
    { "enc-depth", "layers" },
    { "num-encoder-layers", "layers" },
    { "dec-depth", "decoder-layers" },
    { "num-decoder-layers", "decoder-layers" },
    { "dec-layers", "decoder-layers" },
    { "num-heads", "heads" },
    { "n-heads", "heads" },
    { "n-head", "heads" },
    { "nhead", "heads" },
    { "attention-heads", "heads" },
    { "num-attention-heads", "heads" },
    { "transformer-heads", "heads" },
    { "num-kv-heads", "kv-heads" },
    { "n-kv-heads", "kv-heads" },
    { "num-key-value-heads", "kv-heads" },
    { "ffn-dim", "ffn-size" },
    { "ff-size", "ffn-size" },
    { "ff-dim", "ffn-size" },
    { "feedforward-size", "ffn-size" },
    { "dim-feedforward", "ffn-size" },
    { "transformer-dim-ffn", "ffn-size" },
    { "transformer-ff", "ffn-size" },
    { "intermediate-size", "ffn-size" },
    { "early-stopping", "patience" },
    { "early-stop", "patience" },
    { "early-stopping-patience", "patience" },
    { "label-smooth", "label-smoothing" },
    { "smoothing", "label-smoothing" },
    { "warmup-steps", "warmup" },
    { "warmup-updates", "warmup" },
    { "lr-warmup", "warmup" },
    { "num-warmup-steps", "warmup" },
    { "scheduler", "schedule" },
    { "lr-scheduler", "schedule" },
    { "lr-schedule", "schedule" },
    { "lr-scheduler-type", "schedule" },
    { "lr-decay", "schedule" },
    { "decay-method", "schedule" },
    { "grad-clip", "clip-norm" },
    { "grad-norm", "clip-norm" },
    { "max-grad-norm", "clip-norm" },
    { "clip-grad-norm", "clip-norm" },
    { "gradient-clipping", "clip-norm" },
    { "eval-every", "validate-every" },
    { "eval-steps", "validate-every" },
    { "valid-freq", "validate-every" },
    { "valid-steps", "validate-every" },
    { "validation-freq", "validate-every" },
    { "eval-interval", "validate-every" },
    { "validate-interval", "validate-every" },
    { "metric", "best-metric" },
    { "early-stopping-metric", "best-metric" },
    { "eval-metric", "best-metric" },
    { "metric-for-best-model", "best-metric" },
    { "valid-metrics", "best-metric" },
    { "output", "out" },
    { "output-dir", "out" },
    { "save", "out" },
    { "save-dir", "out" },
    { "save-model", "out" },
    { "model-dir", "out" },
    { "resume-from", "resume" },
    { "resume-from-checkpoint", "resume" },
    { "restore-file", "resume" },
    { "train-from", "resume" },
    { "load-model", "resume" },
    { "finetune-from-model", "init-from" },
    { "finetune", "init-from" },
    { "fine-tune", "init-from" },
    { "from-pretrained", "init-from" },
    { "pretrained-model", "init-from" },
    { "pretrained", "init-from" },
    { "init-checkpoint", "init-from" },
    { "load-weights", "init-from" },
    { "update-vocab", "init-vocab" },
    { "max-time", "time" },
    { "time-limit", "time" },
    { "time-budget", "time" },
    { "budget", "time" },
    { "stop-time-hours", "time" },
    { "max-train-time", "time" },
    { "trials", "try" },
    { "n-trials", "try" },
    { "num-trials", "try" },
    { "num-samples", "try" },
    { "sweep", "try" },
    { "search", "try" },
    { "tune", "try" },
    { "block-size", "sequence-length" },
    { "bptt", "sequence-length" },
    { "context-length", "sequence-length" },
    { "seq-len", "sequence-length" },
    { "seq-length", "sequence-length" },
    { "context-size", "sequence-length" },
    { "max-len", "max-length" },
    { "max-seq-length", "max-length" },
    { "max-sent-length", "max-length" },
    { "max-source-length", "max-length" },
    { "vocab-size", "bpe-merges" },
    { "num-merges", "bpe-merges" },
    { "bpe-operations", "bpe-merges" },
    { "num-symbols", "bpe-merges" },
    { "joined-dictionary", "joint" },
    { "share-vocab", "joint" },
    { "shared-vocab", "joint" },
    { "joint-vocab", "joint" },
    { "share-embeddings", "tie-embeddings" },
    { "share-all-embeddings", "tie-embeddings" },
    { "tied-embeddings", "tie-embeddings" },
    { "tied-softmax", "tie-embeddings" },
    { "weight-tying", "tie-embeddings" },
    { "teacher-forcing", "scheduled-sampling" },
    { "teacher-forcing-ratio", "scheduled-sampling" },
    { "min-freq", "min-count" },
    { "min-frequency", "min-count" },
    { "vocab-min-freq", "min-count" },
    { "random-seed", "seed" },
    { "manual-seed", "seed" },
    { "arch", "architecture" },
    { "model-type", "architecture" },
    { "rnn-type", "rnn-cell" },
    { "cell-type", "rnn-cell" },
    { "cell-size", "rnn-cell" },
    { "attn", "attention" },
    { "attention-type", "attention" },
    { "global-attention", "attention" },
    { "attention-mechanism", "attention" },
    { "optim", "optimizer" },
    { "opt", "optimizer" },
    { "adam-beta1", "beta1" },
    { "adam-beta2", "beta2" },
    { "avg-checkpoints", "average-checkpoints" },
    { "checkpoint-averaging", "average-checkpoints" },
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

static const char *find_key(const struct renamed_key *rows, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].old_key, key) == 0)
            return rows[i].key;
    return NULL;
}

const char *att_setting_renamed(const char *key)
{
    const char *found = find_key(renamed_keys, ATT_COUNT(renamed_keys), key);
    return found ? found : find_key(foreign_keys, ATT_COUNT(foreign_keys), key);
}

const char *att_setting_suggest(const char *key)
{
    const char *renamed = att_setting_renamed(key);
    if (renamed)
        return renamed;
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

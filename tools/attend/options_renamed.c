/* The option names of attend 0.1, so that an error can suggest the name that replaced each: edit
 * distance does not find --learning-rate for --rate. */
#include "options.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *verbs; /* each between spaces */
    const char *old_name, *name;
} renamed[] = {
    { " train ", "hold-out", "valid-fraction" },
    { " train ", "align", "guided-alignment" },
    { " train ", "picture-rows", "image-rows" },
    { " train ", "picture-columns", "image-columns" },
    { " train ", "picture-depth", "image-depth" },
    { " train ", "picture-size", "image-size" },
    { " train ", "convolutions", "conv-layers" },
    { " train ", "channels", "conv-channels" },
    { " train ", "picture-positions", "image-positions" },
    { " train ", "picture-start", "init-from-image" },
    { " train ", "least-length", "min-string-length" },
    { " train ", "most-length", "max-string-length" },
    { " train ", "subwords", "bpe-merges" },
    { " train ", "lower", "lowercase" },
    { " train ", "chunk", "sequence-length" },
    { " train ", "family", "architecture" },
    { " train ", "width", "hidden-size" },
    { " train ", "tie", "tie-embeddings" },
    { " train ", "start", "init-range" },
    { " train ", "cell", "rnn-cell" },
    { " train ", "embed", "embedding-size" },
    { " train ", "normaliser", "normalizer" },
    { " train ", "feed", "attention-context" },
    { " train ", "window", "attention-window" },
    { " train ", "key-heads", "kv-heads" },
    { " train ", "feed-forward", "ffn-size" },
    { " train ", "scale", "attention-scale" },
    { " train ", "embed-scale", "embedding-scale" },
    { " train ", "embed-dropout", "embedding-dropout" },
    { " train ", "least-window", "min-window" },
    { " train ", "most-window", "max-window" },
    { " train ", "own", "scheduled-sampling" },
    { " train ", "own-from", "scheduled-sampling-start" },
    { " train ", "align-weight", "guided-alignment-weight" },
    { " train ", "optimiser", "optimizer" },
    { " train ", "rate", "learning-rate" },
    { " train ", "decay", "weight-decay" },
    { " train ", "clip", "clip-norm" },
    { " train ", "least-rate", "min-learning-rate" },
    { " train ", "batch", "batch-tokens" },
    { " train ", "best-by", "best-metric" },
    { " train ", "average", "average-checkpoints" },
    { " explain show cells ", "colour", "color" },
    { " run eval show ", "no-repeat", "no-repeat-ngram" },
    { " run eval show ", "least", "min-output-length" },
    { " run eval show ", "most", "max-output-length" },
    { " run eval show ", "least-factor", "min-length-ratio" },
    { " run eval show ", "most-factor", "max-length-ratio" },
    { " run eval score show ", "with", "ensemble" },
    { " run ", "length", "max-new-tokens" },
    { " run ", "copy-unknown", "replace-unknown" },
    { " run ", "longest", "max-input-length" },
    { " run ", "too-long", "input-overflow" },
    { " run ", "batch", "batch-size" },
    { " run show ", "eyes", "image-encoder" },
    { " eval ", "lower", "lowercase" },
    { " eval ", "resamples", "bootstrap-samples" },
    { " show ", "picture", "image-index" },
    { " cells ", "most", "max-tokens" },
    { " cells ", "best", "top" },
    { " import ", "tokeniser", "tokenizer" },
    { " features ", "like", "targets" },
    { " features ", "rows", "target-names" },
    { " features ", "scale", "target-scale" },
};

const char *option_renamed(const char *verb, const char *old_name)
{
    char padded[32];
    snprintf(padded, sizeof padded, " %s ", verb);
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i].old_name, old_name) == 0 && strstr(renamed[i].verbs, padded))
            return renamed[i].name;
    return NULL;
}

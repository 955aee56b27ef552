/* The option names of attend 0.1 and of other programs, so that an error can suggest ours: edit
 * distance does not find --beam for --num-beams. Those of `train` are in the library, with the
 * settings. */
#include "options.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *verbs; /* each between spaces */
    const char *old_name, *name;
} renamed[] = {
    { " run eval show ", "beam-size", "beam" },
    { " run eval show ", "beam-width", "beam" },
    { " run eval show ", "num-beams", "beam" },
    { " run eval show ", "lenpen", "length-penalty" },
    { " run eval show ", "alpha", "length-penalty" },
    { " run eval show ", "max-len", "max-output-length" },
    { " run eval show ", "max-length", "max-output-length" },
    { " run eval show ", "min-length", "min-output-length" },
    { " run eval show ", "no-repeat-ngram-size", "no-repeat-ngram" },
    { " run eval show ", "nucleus", "top-p" },
    { " run eval show ", "do-sample", "sample" },
    { " run eval show ", "temp", "temperature" },
    { " run ", "num-return-sequences", "n-best" },
    { " run ", "max-tokens", "max-new-tokens" },
    { " run ", "n-predict", "max-new-tokens" },
    { " run ", "replace-unk", "replace-unknown" },
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
    { " eval ", "paired-bs", "baseline" },
    { " eval ", "paired-ar", "baseline" },
    { " eval ", "compare", "baseline" },
    { " eval ", "paired", "baseline" },
    { " eval ", "significance", "baseline" },
    { " eval ", "bleu", "metric" },
    { " eval ", "n-bootstrap", "bootstrap-samples" },
    { " show ", "picture", "image-index" },
    { " cells ", "most", "max-tokens" },
    { " cells ", "best", "top" },
    { " import ", "tokeniser", "tokenizer" },
    { " features ", "like", "targets" },
    { " features ", "rows", "target-names" },
    { " features ", "scale", "target-scale" },
};

/* What is no option here, for any verb. */
#define THREADS "set the environment variable ATTEND_THREADS to the number of threads"
#define DEVICE  "there is no such choice: attend runs on the CPU"
#define FLOATS                                                                                     \
    "attend trains in 32-bit floating point; int8 weights are made by 'attend quantize', or at "   \
    "loading by --precision int8 of run, eval, score and show"

static const struct {
    const char *name, *text;
} elsewhere[] = {
    { "threads", THREADS },       { "num-threads", THREADS },
    { "n-threads", THREADS },     { "cpu-threads", THREADS },
    { "nthreads", THREADS },      { "jobs", THREADS },
    { "workers", THREADS },       { "num-workers", THREADS },
    { "inter-threads", THREADS }, { "intra-threads", THREADS },
    { "cores", THREADS },         { "gpu", DEVICE },
    { "gpus", DEVICE },           { "device", DEVICE },
    { "devices", DEVICE },        { "cuda", DEVICE },
    { "use-cuda", DEVICE },       { "gpu-ranks", DEVICE },
    { "world-size", DEVICE },     { "fp16", FLOATS },
    { "bf16", FLOATS },           { "amp", FLOATS },
    { "precision", FLOATS },      { "mixed-precision", FLOATS },
};

/* What is no option of one verb. */
static const struct {
    const char *verb, *name, *text;
} elsewhere_of_verbs[] = {
    { "run", "input", "the file of lines is an operand: attend run MODEL FILE" },
    { "run", "output", "outputs go to standard output: attend run MODEL FILE >OUTPUT" },
    { "train", "beam-size", "training generates greedily; attend eval and attend run have --beam" },
    { "train", "beam", "training generates greedily; attend eval and attend run have --beam" },
    { "train", "num-beams", "training generates greedily; attend eval and attend run have --beam" },
};

const char *option_elsewhere(const char *verb, const char *name)
{
    for (size_t i = 0; i < sizeof elsewhere_of_verbs / sizeof *elsewhere_of_verbs; i++)
        if (strcmp(elsewhere_of_verbs[i].verb, verb) == 0 &&
            strcmp(elsewhere_of_verbs[i].name, name) == 0)
            return elsewhere_of_verbs[i].text;
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (strcmp(elsewhere[i].name, name) == 0)
            return elsewhere[i].text;
    return NULL;
}

const char *option_renamed(const char *verb, const char *old_name)
{
    if (strcmp(verb, "train") == 0)
        return att_setting_renamed(old_name);
    char padded[32];
    snprintf(padded, sizeof padded, " %s ", verb);
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i].old_name, old_name) == 0 && strstr(renamed[i].verbs, padded))
            return renamed[i].name;
    return NULL;
}

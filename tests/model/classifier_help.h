/* Small classifiers of every variant, and a few sentences for them: sentences with more a than b
 * have the label "many", the others "few", and those that begin with c "see". */
#ifndef TESTS_MODEL_CLASSIFIER_HELP_H
#define TESTS_MODEL_CLASSIFIER_HELP_H

#include "base/random.h"
#include "model/model_help.h"

#include <stdlib.h>
#include <unistd.h>

#define CONVOLUTION                                                                                \
    {                                                                                              \
        "architecture", "cnn"                                                                      \
    }

/* Each row lists the settings that differ from a bidirectional LSTM of one layer with attention
 * pooling. */
static const variant label_variants[] = {
    { "attention", { { 0 } } },
    { "attention, dot, one way", { { "pool-score", "dot" }, { "bidirectional", "no" } } },
    { "attention, scaled, two heads, gru",
      { { "pool-score", "scaled" }, { "pool-heads", "2" }, { "rnn-cell", "gru" } } },
    { "stop", { { "pool", "stop" } } },
    { "stop, rnn, two layers",
      { { "pool", "stop" }, { "layers", "2" }, { "rnn-cell", "vanilla" } } },
    { "last, two layers", { { "pool", "last" }, { "layers", "2" } } },
    { "last, one way, positions beside",
      { { "pool", "last" },
        { "bidirectional", "no" },
        { "positions", "learned" },
        { "positions-join", "concat" } } },
    { "mean", { { "pool", "mean" } } },
    { "max", { { "pool", "max" } } },
    { "transformer, attention", { TRANSFORMER } },
    { "transformer, attention, two heads, rotary",
      { TRANSFORMER, { "pool-heads", "2" }, { "positions", "rotary" }, { "pool-score", "dot" } } },
    { "transformer, stop", { TRANSFORMER, { "pool", "stop" } } },
    { "transformer, last, two layers", { TRANSFORMER, { "pool", "last" }, { "layers", "2" } } },
    { "transformer, mean, norm after", { TRANSFORMER, { "pool", "mean" }, { "norm", "post" } } },
    { "transformer, max", { TRANSFORMER, { "pool", "max" } } },
    { "convolution, max", { CONVOLUTION } },
    { "convolution, one size, attention, two heads",
      { CONVOLUTION, { "min-window", "5" }, { "pool", "attention" }, { "pool-heads", "2" } } },
    { "convolution, stop, two layers", { CONVOLUTION, { "pool", "stop" }, { "layers", "2" } } },
    { "convolution, mean, positions",
      { CONVOLUTION,
        { "min-window", "1" },
        { "max-window", "4" },
        { "pool", "mean" },
        { "positions", "sinusoidal" } } },
    { "characters by a CNN", { { "char-features", "cnn" }, { "char-size", "6" } } },
    { "stop, characters by an LSTM",
      { { "pool", "stop" }, { "char-features", "lstm" }, { "char-size", "4" } } },
    { "transformer, stop, characters by a CNN",
      { TRANSFORMER, { "pool", "stop" }, { "char-features", "cnn" } } },
    { "convolution, mean, characters by a CNN",
      { CONVOLUTION, { "pool", "mean" }, { "char-features", "cnn" } } },
    { NULL, { { 0 } } },
};

static inline void write_sentence(FILE *file, uint64_t number)
{
    int count[3] = { 0 }, first = 0;
    uint64_t length = 1 + att_random_bits(7, number, 0) % 7;
    for (uint64_t i = 0; i < length; i++) {
        int letter = (int)(att_random_bits(7, number, i + 1) % 3);
        count[letter]++;
        first = i == 0 ? letter : first;
        fprintf(file, "%s%c", i > 0 ? " " : "", "abc"[letter]);
    }
    fprintf(file, "\t%s\n", first == 2 ? "see" : count[0] > count[1] ? "many" : "few");
}

/* Writes a file of such sentences, which the caller removes. */
static inline void write_sentences(char path[32], uint64_t count)
{
    strcpy(path, "/tmp/attend-label-XXXXXX");
    int made = mkstemp(path);
    FILE *file = made >= 0 ? fdopen(made, "w") : NULL;
    assert_non_null(file);
    for (uint64_t i = 0; i < count; i++)
        write_sentence(file, i);
    assert_int_equal(fclose(file), 0);
}

static inline void label_scene_new(scene *s, const setting_pair *set, size_t count)
{
    static const setting_pair small[] = {
        { "hidden-size", "12" },     { "embedding-size", "6" }, { "valid-fraction", "0.2" },
        { "learning-rate", "0.02" }, { "dropout", "0" },        { "word-dropout", "0" },
        { "max-length", "10" },      { "batch-tokens", "100" },
    };
    char path[32];
    att_error err = { 0 };
    *s = (scene){ 0 };
    write_sentences(path, 80);
    assert_int_equal(att_settings_new(&s->settings, "classify", NULL), ATT_OK);
    scene_set(s, "train", path);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        scene_set(s, small[i].key, small[i].value);
    for (size_t i = 0; i < count && set[i].key; i++)
        scene_set(s, set[i].key, set[i].value);
    if (att_data_load(&s->data, s->settings, &err) != ATT_OK)
        fail_msg("%s", err.message);
    unlink(path);
    scene_build(s);
}

static inline void label_scene_of(scene *s, const variant *row)
{
    label_scene_new(s, row->set, sizeof row->set / sizeof *row->set);
}

#endif

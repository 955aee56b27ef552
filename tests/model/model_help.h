/* Small models of every architecture for tests: built from settings and trained a little. */
#ifndef TESTS_MODEL_HELP_H
#define TESTS_MODEL_HELP_H

#include "model/model.h"
#include "data/data.h"
#include "train/optimizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <string.h>

typedef struct setting_pair {
    const char *key, *value;
} setting_pair;

/* Every variant of the seq2seq architectures. Each row lists the settings that differ from a
 * bidirectional LSTM of one layer with dot attention at the output. Ended by a NULL name. */
enum { MAX_VARIANT_SETTINGS = 10 };
typedef struct variant {
    const char *name;
    setting_pair set[MAX_VARIANT_SETTINGS];
} variant;

#define TRANSFORMER                                                                                \
    { "architecture", "transformer" }, { "hidden-size", "12" }, { "heads", "2" },                  \
        { "layers", "1" },                                                                         \
    {                                                                                              \
        "ffn-size", "16"                                                                           \
    }

static const variant variants[] = {
    { "dot", { { 0 } } },
    { "none, one way", { { "attention", "none" }, { "bidirectional", "no" } } },
    { "none, tied", { { "attention", "none" }, { "tie-embeddings", "output" } } },
    { "fixed, one way", { { "attention", "fixed" }, { "bidirectional", "no" } } },
    { "fixed at the state", { { "attention", "fixed" }, { "attention-context", "state" } } },
    { "fixed at both", { { "attention", "fixed" }, { "attention-context", "both" } } },
    { "scaled, gru, one way",
      { { "attention", "scaled" }, { "rnn-cell", "gru" }, { "bidirectional", "no" } } },
    { "general, rnn", { { "attention", "general" }, { "rnn-cell", "vanilla" } } },
    { "additive", { { "attention", "additive" } } },
    { "additive at the state", { { "attention", "additive" }, { "attention-context", "state" } } },
    { "additive at both, gru, two layers, bidirectional",
      { { "attention", "additive" },
        { "attention-context", "both" },
        { "rnn-cell", "gru" },
        { "layers", "2" },
        { "bidirectional", "yes" } } },
    { "concat", { { "attention", "concat" } } },
    { "location", { { "attention", "location" } } },
    { "local", { { "attention", "local" }, { "attention-window", "2" } } },
    { "local at the state", { { "attention", "local" }, { "attention-context", "state" } } },
    { "coverage", { { "attention", "coverage" } } },
    { "coverage at both", { { "attention", "coverage" }, { "attention-context", "both" } } },
    { "general, sparsemax", { { "attention", "general" }, { "normalizer", "sparsemax" } } },
    { "dot, entmax, at the state",
      { { "normalizer", "entmax" }, { "attention-context", "state" } } },
    { "general, one way, projected state",
      { { "attention", "general" }, { "bidirectional", "no" }, { "decoder-init", "project" } } },
    { "dot, both ways, copied state", { { "decoder-init", "copy" } } },
    { "general, one way", { { "attention", "general" }, { "bidirectional", "no" } } },
    { "three layers, rnn, one way",
      { { "layers", "3" }, { "rnn-cell", "vanilla" }, { "bidirectional", "no" } } },
    { "two layers, bidirectional, tied",
      { { "layers", "2" }, { "bidirectional", "yes" }, { "tie-embeddings", "output" } } },
    { "copy", { { "copy", "yes" }, { "attention", "general" } } },
    { "copy at the state, gru, sparsemax",
      { { "copy", "yes" },
        { "attention-context", "state" },
        { "rnn-cell", "gru" },
        { "normalizer", "sparsemax" } } },
    { "copy, coverage at both, tied",
      { { "copy", "yes" },
        { "attention", "coverage" },
        { "attention-context", "both" },
        { "tie-embeddings", "output" } } },
    { "sinusoids", { { "positions", "sinusoidal" } } },
    { "learned positions beside",
      { { "positions", "learned" },
        { "positions-join", "concat" },
        { "attention-context", "both" } } },
    { "transformer", { TRANSFORMER } },
    { "transformer, norm after, gelu, two layers",
      { TRANSFORMER, { "norm", "post" }, { "activation", "gelu" }, { "layers", "2" } } },
    { "transformer, rotary, gated, one head of keys",
      { TRANSFORMER, { "positions", "rotary" }, { "activation", "swiglu" }, { "kv-heads", "1" } } },
    { "transformer, positions learned beside, deeper decoder",
      { TRANSFORMER,
        { "positions", "learned" },
        { "positions-join", "concat" },
        { "decoder-layers", "2" } } },
    { "transformer, output tied, no biases",
      { TRANSFORMER, { "tie-embeddings", "output" }, { "biases", "no" } } },
    { "transformer, all tied, not scaled",
      { TRANSFORMER,
        { "tie-embeddings", "all" },
        { "attention-scale", "no" },
        { "embedding-scale", "no" } } },
    { "transformer, no norm, attention alone",
      { TRANSFORMER, { "norm", "none" }, { "ffn-size", "0" } } },
    { "transformer, no residuals", { TRANSFORMER, { "residuals", "no" } } },
    { "transformer, norms by the mean square", { TRANSFORMER, { "norm-kind", "rms" } } },
    { "transformer, copy", { TRANSFORMER, { "copy", "yes" } } },
    { "transformer, copy, rotary, tied, no biases",
      { TRANSFORMER,
        { "copy", "yes" },
        { "positions", "rotary" },
        { "tie-embeddings", "all" },
        { "biases", "no" } } },
    { NULL, { { 0 } } },
};

static inline bool is_transformer(const variant *row)
{
    return row->set[0].key && strcmp(row->set[0].key, "architecture") == 0;
}

typedef struct scene {
    att_settings *settings;
    att_data data;
    att_model *model;
    att_tape *tape;
    att_batches *batches;
    att_optimizer optimizer;
    int64_t steps;
} scene;

static inline void scene_set(scene *s, const char *key, const char *value)
{
    att_error err = { 0 };
    if (att_settings_set(s->settings, key, value, &err) != ATT_OK)
        fail_msg("%s", err.message);
}

/* A model with its settings, data and tape. */
static inline void scene_build(scene *s)
{
    att_error err = { 0 };
    if (att_model_new(&s->model, s->settings, s->data.source_vocab, s->data.target_vocab, &err) !=
        ATT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(att_params_alloc_grad(&s->model->params, NULL), ATT_OK);
    assert_int_equal(att_tape_new_training(&s->tape, &s->model->params, NULL), ATT_OK);
    assert_int_equal(
        att_pair_batches_new(&s->batches, &s->data.train, s->settings->batch_tokens, 1, NULL),
        ATT_OK);
    assert_int_equal(
        att_optimizer_new(&s->optimizer, ATT_OPTIMIZER_ADAM, s->model->params.size, NULL), ATT_OK);
    att_batches_start_epoch(s->batches, 0);
}

/* Strings over abcd to be reversed, and a small model for them with the settings `set`. */
static inline void scene_new(scene *s, const setting_pair *set, size_t count)
{
    static const setting_pair small[] = {
        { "hidden-size", "10" },     { "embedding-size", "6" }, { "max-string-length", "5" },
        { "train-count", "60" },     { "valid-count", "20" },   { "batch-tokens", "200" },
        { "learning-rate", "0.02" }, { "dropout", "0" },
    };
    *s = (scene){ 0 };
    assert_int_equal(att_settings_new(&s->settings, "reverse", NULL), ATT_OK);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        scene_set(s, small[i].key, small[i].value);
    for (size_t i = 0; i < count && set[i].key; i++)
        scene_set(s, set[i].key, set[i].value);
    assert_int_equal(att_data_load(&s->data, s->settings, NULL), ATT_OK);
    scene_build(s);
}

static inline void scene_of(scene *s, const variant *row)
{
    scene_new(s, row->set, sizeof row->set / sizeof *row->set);
}

static inline void scene_free(scene *s)
{
    att_optimizer_free(&s->optimizer);
    att_batches_free(s->batches);
    att_tape_free(s->tape);
    att_model_free(s->model);
    att_data_free(&s->data);
    att_settings_free(s->settings);
}

/* The loss of a batch with its gradients, averaged over tokens. */
static inline double scene_backward(scene *s, const att_batch *batch,
                                    const att_loss_options *loss_options)
{
    att_loss_result result = { 0 };
    att_error err = { 0 };
    memset(s->model->params.grad, 0, s->model->params.size * sizeof(float));
    att_tape_begin(s->tape, true, 1, (uint64_t)s->steps);
    att_node *loss = att_model_loss(s->model, s->tape, batch, loss_options, &result);
    if (att_tape_status(s->tape, &err) != ATT_OK)
        fail_msg("%s: %s", err.place, err.message);
    assert_int_equal(att_tape_backward(s->tape, loss, 1 / (float)batch->target_tokens, &err),
                     ATT_OK);
    assert_int_equal(result.tokens, batch->target_tokens);
    return result.loss / (double)result.tokens;
}

/* Trains for some epochs; returns the loss per token of the last. */
static inline double scene_learn(scene *s, int epochs, const att_loss_options *loss_options)
{
    double total = 0;
    for (int epoch = 0; epoch < epochs; epoch++) {
        att_batches_start_epoch(s->batches, epoch);
        total = 0;
        for (int64_t i = 0; i < att_batches_count(s->batches); i++) {
            total += scene_backward(s, att_batches_get(s->batches, i), loss_options);
            const att_optimizer_step_options step = { ++s->steps, s->settings->learning_rate, 1 };
            att_optimizer_step(&s->optimizer, s->settings, s->model->params.value,
                               s->model->params.grad, &step);
            att_params_mark_changed(&s->model->params);
        }
        total /= (double)att_batches_count(s->batches);
    }
    return total;
}

static inline uint64_t hash_bytes(uint64_t h, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        h = (h ^ at[i]) * UINT64_C(0x100000001B3);
    return h;
}

#define HASH_START UINT64_C(0xCBF29CE484222325)

#endif

/* A vanilla RNN with three units of known behavior. The first is active at blanks and line ends.
 * The second is a switch: an opening quotation mark turns it on, a closing one turns it off, and in
 * between it keeps its value, because tanh(3 h) is stable near -1 and 1. The third is constant. */
#ifndef TESTS_INSPECT_RNN_HELP_H
#define TESTS_INSPECT_RNN_HELP_H

#include "attend.h"

#include <math.h>
#include <string.h>

static const char *const reader_tokens[] = { "a", "b", " ", "“", "”", "\n" };
enum { READER_TOKENS = 6, READER_HIDDEN_SIZE = 3, READER_EMBEDDING_SIZE = 2 };

static void reader_must(att_status status, const att_error *err)
{
    if (status != ATT_OK)
        fail_msg("%s", err->message);
}

static void reader_set(att_bundle *tensors, const char *name, int rank, const int64_t *shape,
                       const double *values)
{
    att_error err = { 0 };
    att_tensor tensor = att_tensor_view(values, ATT_F64, rank, shape);
    reader_must(att_bundle_add(tensors, name, &tensor, &err), &err);
}

static att_model *reader_with(const char *const (*options)[2], size_t count)
{
    att_settings *settings;
    att_model *model;
    att_error err = { 0 };
    reader_must(att_settings_new(&settings, "pairs", &err), &err);
    for (size_t i = 0; i < count; i++)
        reader_must(att_settings_set(settings, options[i][0], options[i][1], &err), &err);
    const att_token_list list = { reader_tokens, READER_TOKENS };
    reader_must(att_model_build(&model, settings, &list, &list, &err), &err);
    att_settings_free(settings);
    return model;
}

static inline att_model *reader_model(void)
{
    static const char *const options[][2] = {
        { "architecture", "rnn" }, { "rnn-cell", "vanilla" },   { "layers", "1" },
        { "hidden-size", "3" },    { "embedding-size", "2" },   { "bidirectional", "no" },
        { "attention", "none" },   { "source-tokens", "char" }, { "target-tokens", "char" },
    };
    att_model *built = reader_with(options, sizeof options / sizeof *options), *model;
    att_bundle *tensors;
    att_error err = { 0 };
    reader_must(att_bundle_new(&tensors, &err), &err);
    /* rows: <unknown> <start> <end> a b blank “ ” newline; columns: blank, quotation mark */
    static const double embed[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, -1, 1, 0 };
    static const double w[] = { 2, 0, 0, 0, 6, 0 };
    static const double u[] = { 0, 0, 0, 0, 3, 0, 0, 0, 0 };
    static const double bias[] = { 0, 0, 0 };
    reader_set(tensors, "source.embed", 2,
               (const int64_t[]){ 3 + READER_TOKENS, READER_EMBEDDING_SIZE }, embed);
    reader_set(tensors, "encoder.0.forward.w", 2,
               (const int64_t[]){ READER_EMBEDDING_SIZE, READER_HIDDEN_SIZE }, w);
    reader_set(tensors, "encoder.0.forward.u", 2,
               (const int64_t[]){ READER_HIDDEN_SIZE, READER_HIDDEN_SIZE }, u);
    reader_set(tensors, "encoder.0.forward.bias", 1, (const int64_t[]){ READER_HIDDEN_SIZE }, bias);
    reader_must(att_model_replace_tensors(&model, built, tensors, &err), &err);
    att_bundle_free(tensors);
    att_model_free(built);
    return model;
}

#endif

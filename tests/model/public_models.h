/* Small models of every type, made with the public header alone, with initial weights:
 * probabilities of tokens differ, which is enough to compare results. */
#ifndef TESTS_MODEL_PUBLIC_MODELS_H
#define TESTS_MODEL_PUBLIC_MODELS_H

#include "attend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static inline void must(att_status status, const att_error *err)
{
    if (status != ATT_OK)
        fail_msg("%s: %s", err->place, err->message);
}

/* A model for a task; `pairs` is key, value, …, NULL. */
static inline att_model *public_model(const char *task, const char *const *pairs)
{
    static const char *const characters[] = { "a", "b", "c", "d", " ", "\n" };
    static const char *const labels[] = { "few", "many", "none" };
    const att_token_list tokens = { characters, 6 }, classes = { labels, 3 };
    att_settings *settings;
    att_model *model;
    att_error err = { 0 };
    must(att_settings_new(&settings, task, &err), &err);
    for (; pairs[0]; pairs += 2)
        must(att_settings_set(settings, pairs[0], pairs[1], &err), &err);
    const att_token_list *target = strcmp(task, "classify") == 0 ? &classes : &tokens;
    must(att_model_build(&model, settings, &tokens, target, &err), &err);
    att_settings_free(settings);
    return model;
}

#define PUBLIC_RNN "hidden-size", "12", "embedding-size", "8", "init-range", "0.6"
#define PUBLIC_TRANSFORMER                                                                         \
    "architecture", "transformer", "layers", "2", "hidden-size", "12", "heads", "2", "ffn-size",   \
        "16", "init-range", "0.6"

static inline att_model *seq2seq_rnn(void)
{
    return public_model("reverse",
                        (const char *const[]){ PUBLIC_RNN, "bidirectional", "yes", NULL });
}

static inline att_model *seq2seq_transformer(void)
{
    return public_model("reverse", (const char *const[]){ PUBLIC_TRANSFORMER, NULL });
}

static inline att_model *lm_rnn(void)
{
    return public_model("lm", (const char *const[]){ PUBLIC_RNN, NULL });
}

static inline att_model *lm_transformer(void)
{
    return public_model("lm",
                        (const char *const[]){ PUBLIC_TRANSFORMER, "sequence-length", "16", NULL });
}

static inline att_model *classifier_rnn(void)
{
    return public_model("classify",
                        (const char *const[]){ PUBLIC_RNN, "source-tokens", "char", NULL });
}

static inline att_model *classifier_transformer(void)
{
    return public_model("classify",
                        (const char *const[]){ PUBLIC_TRANSFORMER, "source-tokens", "char", NULL });
}

/* Captions of images of 2 × 3 cells with 4 channels. */
static inline att_model *caption_model(const char *const *more)
{
    const char *pairs[64] = { "image-rows",  "2", "image-columns", "3",   "image-depth", "4",
                              "conv-layers", "0", "target-tokens", "char" };
    size_t count = 10;
    for (; more[0]; more += 2) {
        pairs[count++] = more[0];
        pairs[count++] = more[1];
    }
    return public_model("caption", pairs);
}

static inline att_model *caption_rnn(void)
{
    return caption_model((const char *const[]){ PUBLIC_RNN, NULL });
}

static inline att_model *caption_transformer(void)
{
    return caption_model((const char *const[]){ PUBLIC_TRANSFORMER, NULL });
}

enum { PUBLIC_IMAGES = 5, PUBLIC_IMAGE_FLOATS = PUBLIC_IMAGES * 2 * 3 * 4 };

/* [PUBLIC_IMAGES,2,3,4] in the caller's array. */
static inline att_tensor public_images(float values[PUBLIC_IMAGE_FLOATS])
{
    for (size_t i = 0; i < PUBLIC_IMAGE_FLOATS; i++)
        values[i] = (float)(i * 7 % 11) / 11;
    return att_tensor_view(values, ATT_F32, 4, (const int64_t[]){ PUBLIC_IMAGES, 2, 3, 4 });
}

#endif

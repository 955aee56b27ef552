/* Sentences read by convolutions, to be sorted; see label.h. */
#include "model/label.h"
#include "nn/embedding.h"
#include "nn/windows.h"

#include "base/error.h"

#include <stdio.h>

enum { MOST_LAYERS = 16 };

/* Where dropout acts: on embeddings, and on what goes into each layer after the first. */
#define DROP_WORDS    (UINT64_C(1) << 40)
#define DROP_LAYER(i) ((uint64_t)((i) + 1) << 40)

typedef struct convolutions {
    att_embedding embedding;
    int layers;
    float dropout;
    att_windows layer[MOST_LAYERS];
} convolutions;

static void read_sentences(const att_label_parts *parts, att_tape *tape, const att_sources *sources,
                           att_read *out)
{
    const convolutions *encoder = parts->encoder;
    att_node *x = att_embedding_run(&encoder->embedding, tape, sources->rows, sources->length,
                                    sources->ids, 0);
    for (int i = 0; i < encoder->layers; i++) {
        if (i > 0)
            x = att_dropout(tape, x, encoder->dropout, DROP_LAYER(i));
        x = att_windows_run(&encoder->layer[i], tape, x, sources->lengths);
    }
    *out = att_label_padded(tape, sources, x);
}

static att_status check(const att_settings *settings, att_error *err)
{
    int64_t sizes = settings->most_window - settings->least_window + 1;
    ATT_TRY(att_embedding_check(settings, err));
    if (settings->layers > MOST_LAYERS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "layers is %lld, at most %d for convolutions",
                        (long long)settings->layers, MOST_LAYERS);
    if (sizes < 1 || settings->most_window > ATT_MOST_WINDOWS)
        return att_fail(err, ATT_BAD_INPUT, NULL, "least-window %lld exceeds most-window %lld",
                        (long long)settings->least_window, (long long)settings->most_window);
    if (settings->width % sizes != 0)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "width %lld is no multiple of the %lld sizes of windows that share it",
                        (long long)settings->width, (long long)sizes);
    return att_label_check(settings, err);
}

static att_status build(att_model *model, att_error *err)
{
    const att_settings *settings = model->settings;
    ATT_TRY(check(settings, err));
    convolutions *encoder = att_arena_take(&model->memory, 1, sizeof *encoder);
    if (!encoder)
        return att_fail_memory(err);
    att_builder builder = att_model_builder(model, err);
    *encoder =
        (convolutions){ .layers = (int)settings->layers, .dropout = (float)settings->dropout };
    att_embedding_build(&encoder->embedding, &builder, settings,
                        att_vocab_size(model->source_words), "source", DROP_WORDS);
    for (int i = 0; i < encoder->layers; i++) {
        char prefix[32];
        snprintf(prefix, sizeof prefix, "encoder.%d", i);
        encoder->layer[i] = (att_windows){
            .least = settings->least_window,
            .most = settings->most_window,
            .in = i == 0 ? encoder->embedding.width : settings->width,
            .width = settings->width,
        };
        att_windows_build(&encoder->layer[i], &builder, prefix);
    }
    return att_label_build(model, &builder, read_sentences, encoder, settings->width);
}

const att_family att_convolution_label_family = ATT_LABEL_FAMILY("convolution-label", build);

/* Pictures described by a model; see attend.h. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/string.h"
#include "decode/output_builder.h"
#include "decode/image_batches.h"
#include "data/data.h"

#include <string.h>

typedef struct captioning {
    const att_model *model;
    const att_generate_options *options;
    att_outputs *outputs;
    att_image_batches images;
    att_request requests[ATT_IMAGE_BATCH_SIZE];
    att_output_builder builder;
} captioning;

/* "2,3": the third cell of the second row. They are the source's tokens. */
static att_status name_cells(att_output_builder *maker, int64_t rows, int64_t columns,
                             att_error *err)
{
    const char **cells = att_arena_alloc(maker->arena, (size_t)(rows * columns), sizeof *cells);
    if (!cells)
        return att_fail_memory(err);
    for (int64_t i = 0; i < rows * columns; i++) {
        maker->scratch.length = 0;
        if (att_string_printf(&maker->scratch, "%lld,%lld", (long long)(i / columns + 1),
                              (long long)(i % columns + 1)) != ATT_OK)
            return att_fail_memory(err);
        cells[i] = att_arena_strndup(maker->arena, maker->scratch.data, maker->scratch.length);
        if (!cells[i])
            return att_fail_memory(err);
    }
    maker->cell_names = cells;
    maker->grid_rows = rows;
    maker->grid_columns = columns;
    return ATT_OK;
}

/* What an answer is to be, or to begin with. */
static att_status read_forced_targets(captioning *d, int64_t first, int64_t rows,
                                      att_forced_tokens *forced, att_error *err)
{
    const char *const *given = d->options->targets ? d->options->targets : d->options->prefixes;
    for (int64_t r = 0; r < rows; r++) {
        att_ids *ids = &d->requests[r].forced_target;
        d->requests[r].index = (size_t)(first + r);
        ids->count = 0;
        if (given)
            ATT_TRY(att_vocab_encode(d->model->target_vocab, NULL, ids, given[first + r],
                                     strlen(given[first + r]), err));
        forced[r] = (att_forced_tokens){ ids->items, ids->count, d->options->targets != NULL };
    }
    return ATT_OK;
}

static att_status caption_batch(captioning *d, int64_t first, int64_t rows, att_error *err)
{
    const att_generate_options *how = d->options;
    const att_keep_attention keep = { .selected = how->attention,
                                      .all_heads = how->attention && how->all_heads,
                                      .layer = how->layer,
                                      .head = how->head };
    int64_t pictures[ATT_IMAGE_BATCH_SIZE];
    att_forced_tokens forced[ATT_IMAGE_BATCH_SIZE];
    for (int64_t r = 0; r < rows; r++)
        pictures[r] = first + r;
    ATT_TRY(read_forced_targets(d, first, rows, forced, err));
    ATT_TRY(att_image_batches_run(&d->images, pictures, rows,
                                  how->targets || how->prefixes ? forced : NULL, &keep, err));
    d->builder.attention_maps = att_beam_search_attention_maps(d->images.search);
    d->builder.heads = att_beam_search_heads(d->images.search);
    for (int64_t r = 0; r < rows; r++) {
        int64_t count;
        const att_hypothesis *found = att_beam_search_hypotheses(d->images.search, r, &count);
        ATT_TRY(att_output_builder_build(&d->builder, &d->outputs->items[first + r],
                                         &d->requests[r], found, count, err));
    }
    return ATT_OK;
}

static att_status caption_all(captioning *d, const att_image_grids *grids, att_error *err)
{
    const att_settings *settings = d->model->settings;
    d->outputs->items =
        att_arena_alloc(&d->outputs->arena, d->outputs->count, sizeof *d->outputs->items);
    if (!d->outputs->items)
        return att_fail_memory(err);
    ATT_TRY(att_image_batches_open(&d->images, d->model, grids, &d->options->decoding, err));
    ATT_TRY(name_cells(&d->builder, grids->rows >> settings->conv_layers,
                       grids->columns >> settings->conv_layers, err));
    int64_t most = d->options->batch_size > 0 && d->options->batch_size < ATT_IMAGE_BATCH_SIZE
                       ? d->options->batch_size
                       : ATT_IMAGE_BATCH_SIZE;
    for (int64_t at = 0; at < grids->count; at += most) {
        int64_t left = grids->count - at;
        ATT_TRY(caption_batch(d, at, left < most ? left : most, err));
    }
    return ATT_OK;
}

att_status att_model_caption(att_outputs **out, const att_model *model, const att_tensor *pictures,
                             const att_generate_options *how, att_error *err)
{
    static const att_generate_options usual = { 0 };
    *out = NULL;
    if (att_model_type_get(model) != ATT_MODEL_CAPTION)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model describes no pictures: it is a %s",
                        model->architecture->name);
    att_image_grids grids;
    ATT_TRY(att_image_grids_view(&grids, pictures, model->settings->image_rows, NULL, err));
    att_outputs *answers = att_alloc_zero(1, sizeof *answers);
    captioning *d = att_alloc_zero(1, sizeof *d);
    att_status status = answers && d ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        answers->count = (size_t)grids.count;
        *d = (captioning){ .model = model, .options = how ? how : &usual, .outputs = answers };
        d->builder =
            (att_output_builder){ .model = model, .options = d->options, .arena = &answers->arena };
        status = caption_all(d, &grids, err);
        att_image_batches_close(&d->images);
        att_string_free(&d->builder.scratch);
        for (int i = 0; i < ATT_IMAGE_BATCH_SIZE; i++)
            att_ids_free(&d->requests[i].forced_target);
    }
    att_free(d);
    if (status == ATT_OK)
        *out = answers;
    else
        att_outputs_free(answers);
    return status;
}

/* Those of the validation; with them come captions, which are not wanted. */
static att_status validation_images(att_image_grids *out, const att_model *model, att_error *err)
{
    att_corpus corpus;
    const att_data_read_options how = { .settings = model->settings,
                                        .target_vocab = model->target_vocab };
    ATT_TRY(att_data_read(&corpus, &how, err));
    *out = corpus.image_grids;
    corpus.image_grids = (att_image_grids){ 0 };
    att_corpus_free(&corpus);
    return ATT_OK;
}

att_status att_model_images(att_tensor *out, const att_model *model, const char *path,
                            att_error *err)
{
    const att_settings *settings = model->settings;
    att_image_grids grids;
    *out = (att_tensor){ 0 };
    if (att_model_type_get(model) != ATT_MODEL_CAPTION)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model describes no pictures: it is a %s",
                        model->architecture->name);
    ATT_TRY(path ? att_image_grids_load(&grids, path, settings->image_rows,
                                        settings->features_scale, err)
                 : validation_images(&grids, model, err));
    *out = grids.owned;
    return ATT_OK;
}

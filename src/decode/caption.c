/* att_model_caption(): outputs for image features, and loading these features for a model. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"
#include "data/data.h"
#include "decode/image_batches.h"
#include "decode/output_builder.h"

#include <string.h>

typedef struct captioning {
    const att_model *model;
    const att_generate_options *options;
    att_outputs *outputs;
    att_image_batches images;
    att_request requests[ATT_IMAGE_BATCH_SIZE];
    att_tokenizer_state tokenizer;
    att_output_builder builder;
} captioning;

/* The cells of an image are its source tokens: "2,3" is the third cell of the second row. */
static att_status name_cells(att_output_builder *builder, int64_t rows, int64_t columns,
                             att_error *err)
{
    const char **cells = att_arena_alloc(builder->arena, (size_t)(rows * columns), sizeof *cells);
    if (!cells)
        return att_fail_memory(err);
    for (int64_t i = 0; i < rows * columns; i++) {
        builder->scratch.length = 0;
        if (att_string_printf(&builder->scratch, "%lld,%lld", (long long)(i / columns + 1),
                              (long long)(i % columns + 1)) != ATT_OK)
            return att_fail_memory(err);
        cells[i] =
            att_arena_strndup(builder->arena, builder->scratch.data, builder->scratch.length);
        if (!cells[i])
            return att_fail_memory(err);
    }
    builder->cell_names = cells;
    builder->grid_rows = rows;
    builder->grid_columns = columns;
    return ATT_OK;
}

static att_status read_forced_targets(captioning *c, int64_t first, int64_t rows,
                                      att_forced_tokens *forced, att_error *err)
{
    const char *const *texts = c->options->targets ? c->options->targets : c->options->prefixes;
    for (int64_t r = 0; r < rows; r++) {
        att_ids *ids = &c->requests[r].forced_target;
        c->requests[r].index = (size_t)(first + r);
        ids->count = 0;
        if (texts)
            ATT_TRY(att_vocab_encode(c->model->target_vocab, &c->tokenizer, ids, texts[first + r],
                                     strlen(texts[first + r]), err));
        forced[r] = (att_forced_tokens){ ids->items, ids->count, c->options->targets != NULL };
    }
    return ATT_OK;
}

static att_status caption_batch(captioning *c, int64_t first, int64_t rows, att_error *err)
{
    const att_generate_options *options = c->options;
    const att_keep_attention keep = { .selected = options->attention,
                                      .all_heads = options->attention && options->all_heads,
                                      .layer = options->layer,
                                      .head = options->head };
    int64_t images[ATT_IMAGE_BATCH_SIZE];
    att_forced_tokens forced[ATT_IMAGE_BATCH_SIZE];
    for (int64_t r = 0; r < rows; r++)
        images[r] = first + r;
    ATT_TRY(read_forced_targets(c, first, rows, forced, err));
    ATT_TRY(att_image_batches_run(&c->images, images, rows,
                                  options->targets || options->prefixes ? forced : NULL, &keep,
                                  err));
    c->builder.attention_maps = att_beam_search_attention_maps(c->images.search);
    c->builder.heads = att_beam_search_heads(c->images.search);
    for (int64_t r = 0; r < rows; r++) {
        int64_t count;
        const att_hypothesis *found = att_beam_search_hypotheses(c->images.search, r, &count);
        ATT_TRY(att_output_builder_build(&c->builder, &c->outputs->items[first + r],
                                         &c->requests[r], found, count, err));
    }
    return ATT_OK;
}

static att_status caption_all(captioning *c, const att_image_grids *grids, att_error *err)
{
    const att_settings *settings = c->model->settings;
    c->outputs->items =
        att_arena_alloc(&c->outputs->arena, c->outputs->count, sizeof *c->outputs->items);
    if (!c->outputs->items)
        return att_fail_memory(err);
    ATT_TRY(att_image_batches_open(&c->images, c->model, grids, c->options->decoding, err));
    ATT_TRY(name_cells(&c->builder, grids->rows >> settings->conv_layers,
                       grids->columns >> settings->conv_layers, err));
    int64_t max = ATT_IMAGE_BATCH_SIZE;
    if (c->options->batch_size > 0)
        max = att_min_i64(max, c->options->batch_size);
    for (int64_t done = 0; done < grids->count;) {
        int64_t rows = att_min_i64(max, grids->count - done);
        ATT_TRY(caption_batch(c, done, rows, err));
        done += rows;
        ATT_TRY(att_progress_step(done, err));
    }
    return ATT_OK;
}

static void captioning_free(captioning *c)
{
    att_image_batches_close(&c->images);
    att_string_free(&c->builder.scratch);
    att_tokenizer_state_free(&c->tokenizer);
    for (int i = 0; i < ATT_IMAGE_BATCH_SIZE; i++)
        att_ids_free(&c->requests[i].forced_target);
    att_free(c);
}

att_status att_model_caption(att_outputs **out, const att_model *model, const att_tensor *images,
                             const att_generate_options *options, att_error *err)
{
    att_generate_options resolved;
    att_decoding_options decoding;
    *out = NULL;
    ATT_TRY(att_generate_options_resolve(&resolved, &decoding, options, err));
    ATT_TRY(att_model_require_type(model, ATT_MODEL_CAPTION, err));
    att_image_grids grids;
    ATT_TRY(att_image_grids_view(&grids, images, model->settings->image_rows, NULL, err));
    att_outputs *outputs = att_alloc_zero(1, sizeof *outputs);
    captioning *c = att_alloc_zero(1, sizeof *c);
    att_status status = outputs && c ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        outputs->count = (size_t)grids.count;
        c->model = model;
        c->options = &resolved;
        c->outputs = outputs;
        c->builder =
            (att_output_builder){ .model = model, .options = c->options, .arena = &outputs->arena };
        att_progress_scope scope;
        att_progress_begin(&scope, "captioning", grids.count);
        status = caption_all(c, &grids, err);
        status = att_progress_end(&scope, status, err);
    }
    if (c)
        captioning_free(c);
    if (status == ATT_OK)
        *out = outputs;
    else
        att_outputs_free(outputs);
    return status;
}

/* ---- features */

/* The validation images of training; the captions that are read with them are not needed. */
static att_status validation_images(att_image_grids *out, const att_data_read_options *options,
                                    att_error *err)
{
    att_corpus corpus;
    ATT_TRY(att_data_read(&corpus, options, err));
    *out = corpus.image_grids;
    corpus.image_grids = (att_image_grids){ 0 };
    att_corpus_free(&corpus);
    return ATT_OK;
}

att_status att_model_images(att_tensor *out, const att_model *model, const char *path,
                            bool recorded_data, att_error *err)
{
    const att_settings *settings = model->settings;
    const att_data_read_options options = { .path = path,
                                            .settings = settings,
                                            .target_vocab = model->target_vocab,
                                            .features = path,
                                            .recorded_data = recorded_data };
    att_image_grids grids;
    *out = (att_tensor){ 0 };
    ATT_TRY(att_model_require_type(model, ATT_MODEL_CAPTION, err));
    ATT_TRY(att_data_check_recorded(&options, err));
    ATT_TRY(path ? att_image_grids_load(&grids, path, settings->image_rows,
                                        settings->features_scale, err)
                 : validation_images(&grids, &options, err));
    *out = grids.owned;
    return ATT_OK;
}

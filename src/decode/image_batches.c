/* Collects the features of some images into a batch and searches for their captions. */
#include "decode/image_batches.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/batch_captions.h"
#include "model/layer_check.h"

#include <string.h>

/* Default limit of a caption's tokens. The number of cells says nothing about the length of a
 * caption, so the limit does not depend on it, as it does on the length of a source line. */
enum { DEFAULT_MAX_TOKENS = 50 };

att_status att_image_batches_check(const att_model *model, const att_image_grids *grids,
                                   att_error *err)
{
    const att_settings *settings = model->settings;
    if (grids->rows == settings->image_rows && grids->columns == settings->image_columns &&
        grids->depth == settings->image_depth)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL,
                    "expected images of %lld × %lld cells with %lld channels, found %lld × %lld "
                    "with %lld",
                    (long long)settings->image_rows, (long long)settings->image_columns,
                    (long long)settings->image_depth, (long long)grids->rows,
                    (long long)grids->columns, (long long)grids->depth);
}

att_status att_image_batches_open(att_image_batches *out, const att_model *model,
                                  const att_image_grids *grids, const att_decoding_options *options,
                                  att_error *err)
{
    *out = (att_image_batches){ .grids = grids };
    if (options)
        out->options = *options;
    ATT_TRY(att_image_batches_check(model, grids, err));
    if (out->options.max_output_length == 0 && out->options.max_length_ratio == 0)
        out->options.max_output_length = DEFAULT_MAX_TOKENS;
    out->cells = att_image_grid_cells(model->settings, grids);
    out->batch =
        att_alloc(ATT_IMAGE_BATCH_SIZE, (size_t)att_image_grids_stride(grids) * sizeof *out->batch);
    if (!out->batch)
        return att_fail_memory(err);
    for (int64_t r = 0; r < ATT_IMAGE_BATCH_SIZE; r++)
        out->lengths[r] = out->cells;
    return att_beam_search_new(&out->search, model, &out->options, err);
}

void att_image_batches_close(att_image_batches *batches)
{
    att_beam_search_free(batches->search);
    att_free(batches->batch);
}

att_status att_image_batches_run(att_image_batches *batches, const int64_t *images, int64_t rows,
                                 const att_forced_tokens *forced, const att_keep_attention *keep,
                                 att_error *err)
{
    const att_image_grids *grids = batches->grids;
    size_t stride = (size_t)att_image_grids_stride(grids);
    for (int64_t r = 0; r < rows; r++) {
        memcpy(batches->batch + (size_t)r * stride, att_image_grids_get(grids, images[r]),
               stride * sizeof *batches->batch);
        batches->stream_ids[r] = (uint64_t)images[r];
    }
    const att_sources sources = { .rows = rows,
                                  .length = batches->cells,
                                  .lengths = batches->lengths,
                                  .image_grid = batches->batch,
                                  .cells = grids->rows * grids->columns,
                                  .depth = grids->depth };
    att_search_batch batch = { .sources = &sources,
                               .stream_ids = batches->stream_ids,
                               .forced = forced,
                               .forbid_unknown = true,
                               .observer = batches->observer,
                               .observer_context = batches->observer_context };
    if (keep)
        batch.keep_attention = *keep;
    att_status status = att_beam_search_run(batches->search, &batch, err);
    att_layer_error_line(status, images, err);
    return status;
}

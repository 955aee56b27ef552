/* Pictures through the search; see viewing.h. */
#include "decode/image_batches.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/batch_captions.h"

#include <string.h>

/* Tokens of a caption at most, where nothing else is asked for: cells are no words, and how many
 * there are says nothing of how much there is to tell. */
enum { DEFAULT_MAX_TOKENS = 50 };

static att_status check_size(const att_settings *settings, const att_image_grids *grids,
                             att_error *err)
{
    if (grids->rows == settings->image_rows && grids->columns == settings->image_columns &&
        grids->depth == settings->image_depth)
        return ATT_OK;
    return att_fail(
        err, ATT_BAD_INPUT, NULL,
        "the pictures have %lld × %lld cells of %lld numbers, and the model was trained "
        "on %lld × %lld of %lld",
        (long long)grids->rows, (long long)grids->columns, (long long)grids->depth,
        (long long)settings->image_rows, (long long)settings->image_columns,
        (long long)settings->image_depth);
}

att_status att_image_batches_open(att_image_batches *out, const att_model *model,
                                  const att_image_grids *grids, const att_decoding_options *how,
                                  att_error *err)
{
    *out =
        (att_image_batches){ .grids = grids, .options = how ? *how : (att_decoding_options){ 0 } };
    ATT_TRY(check_size(model->settings, grids, err));
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

void att_image_batches_close(att_image_batches *viewing)
{
    att_beam_search_free(viewing->search);
    att_free(viewing->batch);
}

att_status att_image_batches_run(att_image_batches *viewing, const int64_t *pictures, int64_t rows,
                                 const att_forced_tokens *forced, const att_keep_attention *keep,
                                 att_error *err)
{
    const att_image_grids *grids = viewing->grids;
    size_t width = (size_t)att_image_grids_stride(grids);
    for (int64_t r = 0; r < rows; r++) {
        memcpy(viewing->batch + (size_t)r * width, att_image_grids_get(grids, pictures[r]),
               width * sizeof *viewing->batch);
        viewing->stream_ids[r] = (uint64_t)pictures[r];
    }
    const att_sources sources = { .rows = rows,
                                  .length = viewing->cells,
                                  .lengths = viewing->lengths,
                                  .image_grid = viewing->batch,
                                  .cells = grids->rows * grids->columns,
                                  .depth = grids->depth };
    att_search_batch task = { .sources = &sources,
                              .stream_ids = viewing->stream_ids,
                              .forced = forced,
                              .forbid_unknown = true };
    if (keep)
        task.keep_attention = *keep;
    return att_beam_search_run(viewing->search, &task, err);
}

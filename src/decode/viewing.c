/* Pictures through the search; see viewing.h. */
#include "decode/viewing.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/batch_pictures.h"

#include <string.h>

/* Tokens of a caption at most, where nothing else is asked for: cells are no words, and how many
 * there are says nothing of how much there is to tell. */
enum { USUAL_MOST = 50 };

static att_status check_size(const att_settings *settings, const att_grids *grids, att_error *err)
{
    if (grids->rows == settings->picture_rows && grids->columns == settings->picture_columns &&
        grids->depth == settings->picture_depth)
        return ATT_OK;
    return att_fail(
        err, ATT_BAD_INPUT, NULL,
        "the pictures have %lld × %lld cells of %lld numbers, and the model was trained "
        "on %lld × %lld of %lld",
        (long long)grids->rows, (long long)grids->columns, (long long)grids->depth,
        (long long)settings->picture_rows, (long long)settings->picture_columns,
        (long long)settings->picture_depth);
}

att_status att_viewing_open(att_viewing *out, att_model *model, const att_grids *grids,
                            const att_decoding *how, att_error *err)
{
    *out = (att_viewing){ .grids = grids, .how = how ? *how : (att_decoding){ 0 } };
    ATT_TRY(check_size(model->settings, grids, err));
    if (out->how.most_tokens == 0 && out->how.most_factor == 0)
        out->how.most_tokens = USUAL_MOST;
    out->cells = att_picture_cells(model->settings, grids);
    out->batch = att_alloc(ATT_VIEWED, (size_t)att_grids_width(grids) * sizeof *out->batch);
    if (!out->batch)
        return att_fail_memory(err);
    for (int64_t r = 0; r < ATT_VIEWED; r++)
        out->lengths[r] = out->cells;
    return att_search_new(&out->search, model, &out->how, err);
}

void att_viewing_close(att_viewing *viewing)
{
    att_search_free(viewing->search);
    att_free(viewing->batch);
}

att_status att_viewing_run(att_viewing *viewing, const int64_t *pictures, int64_t rows,
                           const att_forced *forced, const att_keep *keep, att_error *err)
{
    const att_grids *grids = viewing->grids;
    size_t width = (size_t)att_grids_width(grids);
    for (int64_t r = 0; r < rows; r++) {
        memcpy(viewing->batch + (size_t)r * width, att_grids_get(grids, pictures[r]),
               width * sizeof *viewing->batch);
        viewing->numbers[r] = (uint64_t)pictures[r];
    }
    const att_sources sources = { .rows = rows,
                                  .length = viewing->cells,
                                  .lengths = viewing->lengths,
                                  .grid = viewing->batch,
                                  .cells = grids->rows * grids->columns,
                                  .depth = grids->depth };
    att_search_task task = {
        .sources = &sources, .numbers = viewing->numbers, .forced = forced, .known = true
    };
    if (keep)
        task.keep = *keep;
    return att_search_run(viewing->search, &task, err);
}

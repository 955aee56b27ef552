/* Pictures described by a model; see attend.h. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "decode/answer_make.h"
#include "decode/viewing.h"
#include "text/data.h"

#include <string.h>

typedef struct describing {
    att_model *model;
    const att_answer_how *how;
    att_answers *answers;
    att_viewing viewing;
    att_question questions[ATT_VIEWED];
    att_answer_maker maker;
} describing;

/* "2,3": the third cell of the second row. They are the source's tokens. */
static att_status name_cells(att_answer_maker *maker, int64_t rows, int64_t columns, att_error *err)
{
    const char **cells = att_arena_take(maker->memory, (size_t)(rows * columns), sizeof *cells);
    if (!cells)
        return att_fail_memory(err);
    for (int64_t i = 0; i < rows * columns; i++) {
        maker->scratch.length = 0;
        if (att_text_print(&maker->scratch, "%lld,%lld", (long long)(i / columns + 1),
                           (long long)(i % columns + 1)) != ATT_OK)
            return att_fail_memory(err);
        cells[i] = att_arena_copy(maker->memory, maker->scratch.data, maker->scratch.length);
        if (!cells[i])
            return att_fail_memory(err);
    }
    maker->cells = cells;
    maker->grid_rows = rows;
    maker->grid_columns = columns;
    return ATT_OK;
}

/* What an answer is to be, or to begin with. */
static att_status read_given(describing *d, int64_t first, int64_t rows, att_forced *forced,
                             att_error *err)
{
    const char *const *given = d->how->targets ? d->how->targets : d->how->prefixes;
    for (int64_t r = 0; r < rows; r++) {
        att_ids *ids = &d->questions[r].given;
        d->questions[r].index = (size_t)(first + r);
        ids->count = 0;
        if (given)
            ATT_TRY(att_vocab_encode(d->model->target_words, ids, given[first + r],
                                     strlen(given[first + r]), err));
        forced[r] = (att_forced){ ids->items, ids->count, d->how->targets != NULL };
    }
    return ATT_OK;
}

static att_status describe_batch(describing *d, int64_t first, int64_t rows, att_error *err)
{
    const att_answer_how *how = d->how;
    const att_keep keep = { .look = how->attention,
                            .heads = how->attention && how->every_head,
                            .layer = how->layer,
                            .head = how->head };
    int64_t pictures[ATT_VIEWED];
    att_forced forced[ATT_VIEWED];
    for (int64_t r = 0; r < rows; r++)
        pictures[r] = first + r;
    ATT_TRY(read_given(d, first, rows, forced, err));
    ATT_TRY(att_viewing_run(&d->viewing, pictures, rows,
                            how->targets || how->prefixes ? forced : NULL, &keep, err));
    d->maker.maps = att_search_maps(d->viewing.search);
    d->maker.heads = att_search_heads(d->viewing.search);
    for (int64_t r = 0; r < rows; r++) {
        int64_t count;
        const att_hypothesis *found = att_search_found(d->viewing.search, r, &count);
        ATT_TRY(att_answer_make(&d->maker, &d->answers->items[first + r], &d->questions[r], found,
                                count, err));
    }
    return ATT_OK;
}

static att_status describe_all(describing *d, const att_grids *grids, att_error *err)
{
    const att_settings *settings = d->model->settings;
    d->answers->items =
        att_arena_take(&d->answers->arena, d->answers->count, sizeof *d->answers->items);
    if (!d->answers->items)
        return att_fail_memory(err);
    ATT_TRY(att_viewing_open(&d->viewing, d->model, grids, &d->how->decoding, err));
    ATT_TRY(name_cells(&d->maker, grids->rows >> settings->convolutions,
                       grids->columns >> settings->convolutions, err));
    int64_t most = d->how->batch > 0 && d->how->batch < ATT_VIEWED ? d->how->batch : ATT_VIEWED;
    for (int64_t at = 0; at < grids->count; at += most) {
        int64_t left = grids->count - at;
        ATT_TRY(describe_batch(d, at, left < most ? left : most, err));
    }
    return ATT_OK;
}

att_status att_model_describe(att_answers **out, att_model *model, const att_tensor *pictures,
                              const att_answer_how *how, att_error *err)
{
    static const att_answer_how usual = { 0 };
    *out = NULL;
    if (att_model_kind(model) != ATT_KIND_PICTURE)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model describes no pictures: it is a %s",
                        model->family->name);
    att_grids grids;
    ATT_TRY(att_grids_view(&grids, pictures, model->settings->picture_rows, NULL, err));
    att_answers *answers = att_alloc_zero(1, sizeof *answers);
    describing *d = att_alloc_zero(1, sizeof *d);
    att_status status = answers && d ? ATT_OK : att_fail_memory(err);
    if (status == ATT_OK) {
        answers->count = (size_t)grids.count;
        *d = (describing){ .model = model, .how = how ? how : &usual, .answers = answers };
        d->maker = (att_answer_maker){ .model = model, .how = d->how, .memory = &answers->arena };
        status = describe_all(d, &grids, err);
        att_viewing_close(&d->viewing);
        att_text_free(&d->maker.scratch);
        for (int i = 0; i < ATT_VIEWED; i++)
            att_ids_free(&d->questions[i].given);
    }
    att_free(d);
    if (status == ATT_OK)
        *out = answers;
    else
        att_answers_free(answers);
    return status;
}

/* Those of the validation; with them come captions, which are not wanted. */
static att_status validation_pictures(att_grids *out, const att_model *model, att_error *err)
{
    att_corpus corpus;
    const att_data_reading how = { .settings = model->settings, .target = model->target_words };
    ATT_TRY(att_data_read(&corpus, &how, err));
    *out = corpus.grids;
    corpus.grids = (att_grids){ 0 };
    att_corpus_free(&corpus);
    return ATT_OK;
}

att_status att_model_pictures(att_tensor *out, const att_model *model, const char *path,
                              att_error *err)
{
    const att_settings *settings = model->settings;
    att_grids grids;
    *out = (att_tensor){ 0 };
    if (att_model_kind(model) != ATT_KIND_PICTURE)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model describes no pictures: it is a %s",
                        model->family->name);
    ATT_TRY(
        path ? att_grids_load(&grids, path, settings->picture_rows, settings->features_scale, err)
             : validation_pictures(&grids, model, err));
    *out = grids.holding;
    return ATT_OK;
}

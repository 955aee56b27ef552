/* Captions go into batches as the targets of pairs do; their pictures are laid beside them. */
#include "text/batch_pictures.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/batch_way.h"

#include <string.h>

typedef struct picture_batches {
    att_batches base;
    const att_corpus *corpus;
    att_batches *captions;
    int64_t cells;    /* that a model looks at */
    int64_t *lengths; /* [rows] as many for each */
    float *grid;      /* [rows, width of a picture] */
} picture_batches;

int64_t att_picture_cells(const att_settings *settings, const att_grids *grids)
{
    return (grids->rows >> settings->convolutions) * (grids->columns >> settings->convolutions);
}

static void free_batches(att_batches *batches)
{
    picture_batches *b = (picture_batches *)batches;
    att_batches_free(b->captions);
    att_free(b->lengths);
    att_free(b->grid);
    att_free(b);
}

static void start(att_batches *batches, int64_t epoch)
{
    picture_batches *b = (picture_batches *)batches;
    att_batches_start(b->captions, epoch);
    b->base.count = att_batches_count(b->captions);
}

static void in_order(att_batches *batches)
{
    picture_batches *b = (picture_batches *)batches;
    att_batches_in_order(b->captions);
    b->base.count = att_batches_count(b->captions);
}

static const att_batch *get(att_batches *batches, int64_t index)
{
    picture_batches *b = (picture_batches *)batches;
    const att_grids *grids = &b->corpus->grids;
    size_t width = (size_t)att_grids_width(grids);
    att_batch *shown = &b->base.shown;
    *shown = *att_batches_get(b->captions, index);
    for (int64_t r = 0; r < shown->rows; r++)
        memcpy(b->grid + (size_t)r * width,
               att_grids_get(grids, att_corpus_picture(b->corpus, shown->pair[r])),
               width * sizeof *b->grid);
    shown->source = NULL;
    shown->source_length = b->cells;
    shown->source_lengths = b->lengths;
    shown->source_tokens = shown->rows * b->cells;
    shown->grid = b->grid;
    shown->cells = grids->rows * grids->columns;
    shown->depth = grids->depth;
    return shown;
}

static const att_batch_way way = {
    .free = free_batches, .start = start, .in_order = in_order, .get = get
};

att_status att_picture_batches_new(att_batches **out, const att_corpus *corpus,
                                   const att_settings *settings, int64_t tokens, uint64_t seed,
                                   att_error *err)
{
    *out = NULL;
    picture_batches *b = att_alloc_zero(1, sizeof *b);
    if (!b)
        return att_fail_memory(err);
    b->base.way = &way;
    b->corpus = corpus;
    b->cells = att_picture_cells(settings, &corpus->grids);
    att_status status = att_batches_new(&b->captions, corpus, tokens, seed, err);
    int64_t rows = status == ATT_OK ? att_batches_limits(b->captions).rows : 0;
    b->lengths = att_alloc((size_t)rows, sizeof *b->lengths);
    b->grid = att_alloc((size_t)rows, (size_t)att_grids_width(&corpus->grids) * sizeof *b->grid);
    if (status == ATT_OK && (!b->lengths || !b->grid))
        status = att_fail_memory(err);
    if (status != ATT_OK) {
        free_batches(&b->base);
        return status;
    }
    for (int64_t r = 0; r < rows; r++)
        b->lengths[r] = b->cells;
    b->base.limits = att_batches_limits(b->captions);
    b->base.limits.source_length = b->cells;
    b->base.limits.source_cells = rows * b->cells;
    in_order(&b->base);
    *out = &b->base;
    return ATT_OK;
}

/* Captions are batched like the targets of pairs; the grids of their images are copied beside them.
 */
#include "data/batch_captions.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/batch_internal.h"

#include <string.h>

typedef struct caption_batches {
    att_batches base;
    const att_corpus *corpus;
    att_batches *captions;
    int64_t cells;     /* of an image, after convolutions: the source length */
    int64_t *lengths;  /* [rows] all equal to `cells` */
    float *image_grid; /* [rows, values of an image] */
} caption_batches;

int64_t att_image_grid_cells(const att_settings *settings, const att_image_grids *grids)
{
    return (grids->rows >> settings->conv_layers) * (grids->columns >> settings->conv_layers);
}

static void free_batches(att_batches *batches)
{
    caption_batches *b = (caption_batches *)batches;
    att_batches_free(b->captions);
    att_free(b->lengths);
    att_free(b->image_grid);
    att_free(b);
}

static void start_epoch(att_batches *batches, int64_t epoch)
{
    caption_batches *b = (caption_batches *)batches;
    att_batches_start_epoch(b->captions, epoch);
    b->base.count = att_batches_count(b->captions);
}

static void start_sequential(att_batches *batches)
{
    caption_batches *b = (caption_batches *)batches;
    att_batches_start_sequential(b->captions);
    b->base.count = att_batches_count(b->captions);
}

static const att_batch *get(att_batches *batches, int64_t index)
{
    caption_batches *b = (caption_batches *)batches;
    const att_image_grids *grids = &b->corpus->image_grids;
    size_t stride = (size_t)att_image_grids_stride(grids);
    att_batch *current = &b->base.current;
    *current = *att_batches_get(b->captions, index);
    for (int64_t r = 0; r < current->rows; r++)
        memcpy(b->image_grid + (size_t)r * stride,
               att_image_grids_get(grids, att_corpus_image(b->corpus, current->pair_index[r])),
               stride * sizeof *b->image_grid);
    current->source = NULL;
    current->source_length = b->cells;
    current->source_lengths = b->lengths;
    current->source_tokens = current->rows * b->cells;
    current->image_grid = b->image_grid;
    current->cells = grids->rows * grids->columns;
    current->depth = grids->depth;
    return current;
}

static int64_t largest(att_batches *batches)
{
    int64_t found = 0, most = 0;
    for (int64_t i = 0; i < batches->count; i++) {
        const att_batch *batch = get(batches, i);
        int64_t cells = batch->rows * (batch->source_length + batch->target_length);
        if (cells > most) {
            most = cells;
            found = i;
        }
    }
    return found;
}

static const att_batches_methods methods = { .free = free_batches,
                                             .start_epoch = start_epoch,
                                             .start_sequential = start_sequential,
                                             .largest = largest,
                                             .get = get };

att_status att_caption_batches_new(att_batches **out, const att_corpus *corpus,
                                   const att_settings *settings, int64_t tokens, uint64_t seed,
                                   att_error *err)
{
    *out = NULL;
    caption_batches *b = att_alloc_zero(1, sizeof *b);
    if (!b)
        return att_fail_memory(err);
    b->base.methods = &methods;
    b->corpus = corpus;
    b->cells = att_image_grid_cells(settings, &corpus->image_grids);
    att_status status = att_pair_batches_new(&b->captions, corpus, tokens, seed, err);
    int64_t rows = status == ATT_OK ? att_batches_limits(b->captions).rows : 0;
    b->lengths = att_alloc((size_t)rows, sizeof *b->lengths);
    b->image_grid = att_alloc((size_t)rows, (size_t)att_image_grids_stride(&corpus->image_grids) *
                                                sizeof *b->image_grid);
    if (status == ATT_OK && (!b->lengths || !b->image_grid))
        status = att_fail_memory(err);
    if (status != ATT_OK) {
        free_batches(&b->base);
        return status;
    }
    for (int64_t r = 0; r < rows; r++)
        b->lengths[r] = b->cells;
    b->base.limits = att_batches_limits(b->captions);
    b->base.limits.source_length = b->cells;
    b->base.limits.source_padded_tokens = rows * b->cells;
    start_sequential(&b->base);
    *out = &b->base;
    return ATT_OK;
}

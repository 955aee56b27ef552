#include "model/batch_twice.h"

#include "tape/op.h"

#include <string.h>

/* Above every pair index, and small enough that the streams of random numbers that models make of
 * one (`index << 32`) do not collide. */
#define TWIN_PAIRS (INT64_C(1) << 31)

/* `count` items, and the same once more; NULL for NULL. */
static void *twice(att_tape *tape, bool *good, const void *items, int64_t count, size_t size)
{
    if (!items)
        return NULL;
    char *out = att_tape_alloc(tape, 2 * count, size);
    *good = *good && out;
    if (!out)
        return NULL;
    memcpy(out, items, (size_t)count * size);
    memcpy(out + (size_t)count * size, items, (size_t)count * size);
    return out;
}

const att_batch *att_batch_twice(att_tape *tape, const att_batch *batch)
{
    int64_t rows = batch->rows, source = rows * batch->source_length,
            target = rows * batch->target_length, grid = rows * batch->cells * batch->depth;
    bool good = true;
    att_tape_set_rows_twice(tape);
    att_batch *out = twice(tape, &good, batch, 1, sizeof *batch);
    int64_t *pair_index = twice(tape, &good, batch->pair_index, rows, sizeof *pair_index);
    if (!good)
        return NULL;
    for (int64_t r = rows; r < 2 * rows; r++)
        pair_index[r] += TWIN_PAIRS;
    out->rows = 2 * rows;
    out->source_tokens = 2 * batch->source_tokens;
    out->target_tokens = 2 * batch->target_tokens;
    out->pair_index = pair_index;
#define TWICE(member, count)                                                                       \
    out->member = twice(tape, &good, batch->member, count, sizeof *out->member)
    TWICE(source, source);
    TWICE(source_lengths, rows);
    TWICE(source_words, source);
    TWICE(target_in, target);
    TWICE(target_out, target);
    TWICE(copy_ids, source);
    TWICE(target_lengths, rows);
    TWICE(alignment, target);
    TWICE(image_grid, grid);
#undef TWICE
    return good ? out : NULL;
}

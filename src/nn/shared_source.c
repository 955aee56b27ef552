/* Rows that share memories; see seats.h. */
#include "nn/shared_source.h"

#include <string.h>

static bool is_identity(int64_t items, int64_t rows, const int64_t *item_of)
{
    bool plain = items == rows;
    for (int64_t r = 0; plain && r < rows; r++)
        plain = item_of[r] == r;
    return plain;
}

const att_shared_source *att_shared_source_make(att_tape *tape, int64_t items, int64_t rows,
                                                const int64_t *item_of)
{
    if (is_identity(items, rows, item_of))
        return NULL;
    att_shared_source *shared = att_tape_alloc(tape, 1, sizeof *shared);
    int64_t *taken = att_tape_alloc(tape, items, sizeof *taken), most = 0;
    int32_t *seat_of = att_tape_alloc(tape, rows, sizeof *seat_of);
    if (!shared || !taken || !seat_of)
        return NULL;
    memset(taken, 0, (size_t)items * sizeof *taken);
    for (int64_t r = 0; r < rows; r++) {
        int64_t now = ++taken[item_of[r]];
        most = now > most ? now : most;
    }
    int32_t *row_at = att_tape_alloc(tape, items * most, sizeof *row_at);
    if (!row_at)
        return NULL;
    memset(row_at, -1, (size_t)(items * most) * sizeof *row_at);
    memset(taken, 0, (size_t)items * sizeof *taken);
    for (int64_t r = 0; r < rows; r++) {
        seat_of[r] = (int32_t)(item_of[r] * most + taken[item_of[r]]++);
        row_at[seat_of[r]] = (int32_t)r;
    }
    *shared = (att_shared_source){ rows, items, most, taken, row_at, seat_of };
    return shared;
}

/* Vectors of x, whatever its shape, by number: [rows,columns,n]. */
static att_node *gather_rows(att_tape *tape, att_node *x, int64_t from, int64_t rows,
                             int64_t columns, const int32_t *which)
{
    if (!x)
        return NULL;
    att_node *flat = att_reshape(tape, x, 2, (int64_t[]){ from, from > 0 ? x->count / from : 0 });
    return att_embedding_lookup(tape, flat, rows, columns, which);
}

att_node *att_shared_source_group(att_tape *tape, const att_shared_source *shared, att_node *x)
{
    return shared ? gather_rows(tape, x, shared->rows, shared->sources, shared->max_rows_per_source,
                                shared->row_of_slot)
                  : x;
}

att_node *att_shared_source_ungroup(att_tape *tape, const att_shared_source *shared, att_node *x)
{
    return shared ? gather_rows(tape, x, shared->sources * shared->max_rows_per_source,
                                shared->rows, 1, shared->slot_of_row)
                  : x;
}

/* Rows of a batch grouped by their source: a counting sort, and gathers into the padded layout. */
#include "nn/rows_by_source.h"

#include "base/minmax.h"

#include <string.h>

const att_rows_by_source *att_rows_by_source_make(att_tape *tape, int64_t sources, int64_t rows,
                                                  const int64_t *source_of)
{
    att_rows_by_source *out = att_tape_alloc(tape, 1, sizeof *out);
    int64_t *counts = att_tape_alloc(tape, sources, sizeof *counts);
    int64_t *offsets = att_tape_alloc(tape, sources + 1, sizeof *offsets);
    int32_t *order = att_tape_alloc(tape, rows, sizeof *order);
    int32_t *place = att_tape_alloc(tape, rows, sizeof *place);
    if (!out || !counts || !offsets || !order || !place)
        return NULL;
    *out = (att_rows_by_source){ .rows = rows,
                                 .sources = sources,
                                 .counts = counts,
                                 .offsets = offsets,
                                 .order = order,
                                 .place = place,
                                 .source = source_of,
                                 .in_order = true };
    memset(counts, 0, (size_t)sources * sizeof *counts);
    for (int64_t r = 0; r < rows; r++)
        counts[source_of[r]]++;
    offsets[0] = 0;
    for (int64_t i = 0; i < sources; i++) {
        offsets[i + 1] = offsets[i] + counts[i];
        out->max_rows = att_max_i64(out->max_rows, counts[i]);
        counts[i] = 0; /* counted again while the rows are placed */
    }
    for (int64_t r = 0; r < rows; r++) {
        place[r] = (int32_t)(offsets[source_of[r]] + counts[source_of[r]]++);
        order[place[r]] = (int32_t)r;
        out->in_order = out->in_order && place[r] == r;
    }
    return out;
}

bool att_rows_by_source_is_identity(const att_rows_by_source *grouped)
{
    return grouped->in_order && grouped->rows == grouped->sources &&
           (grouped->rows == 0 || grouped->max_rows == 1);
}

/* The index of a row in the padded layout [B T]. */
static int32_t slot_of(const att_rows_by_source *grouped, int64_t row)
{
    int64_t source = grouped->source[row];
    return (int32_t)(source * grouped->max_rows + grouped->place[row] - grouped->offsets[source]);
}

/* Rows which[i] of x, seen as `count` rows, as [rows,columns,n]. */
static att_node *gather_rows(att_tape *tape, att_node *x, int64_t count, int64_t rows,
                             int64_t columns, const int32_t *which)
{
    if (!x || !which)
        return NULL;
    att_node *flat =
        att_reshape(tape, x, 2, (int64_t[]){ count, count > 0 ? x->count / count : 0 });
    return att_embedding_lookup(tape, flat, rows, columns, which);
}

att_node *att_rows_by_source_pad(att_tape *tape, const att_rows_by_source *grouped, att_node *x)
{
    if (!grouped)
        return x;
    int64_t slots = grouped->sources * grouped->max_rows;
    int32_t *row_of_slot = att_tape_alloc(tape, slots, sizeof *row_of_slot);
    for (int64_t i = 0; row_of_slot && i < slots; i++)
        row_of_slot[i] = -1;
    for (int64_t r = 0; row_of_slot && r < grouped->rows; r++)
        row_of_slot[slot_of(grouped, r)] = (int32_t)r;
    return gather_rows(tape, x, grouped->rows, grouped->sources, grouped->max_rows, row_of_slot);
}

att_node *att_rows_by_source_unpad(att_tape *tape, const att_rows_by_source *grouped, att_node *x)
{
    if (!grouped)
        return x;
    int32_t *slots = att_tape_alloc(tape, grouped->rows, sizeof *slots);
    for (int64_t r = 0; slots && r < grouped->rows; r++)
        slots[r] = slot_of(grouped, r);
    return gather_rows(tape, x, grouped->sources * grouped->max_rows, grouped->rows, 1, slots);
}

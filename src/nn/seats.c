/* Rows that share memories; see seats.h. */
#include "nn/seats.h"

#include <string.h>

static bool all_in_place(int64_t items, int64_t rows, const int64_t *item_of)
{
    bool plain = items == rows;
    for (int64_t r = 0; plain && r < rows; r++)
        plain = item_of[r] == r;
    return plain;
}

const att_seats *att_seats_make(att_tape *tape, int64_t items, int64_t rows, const int64_t *item_of)
{
    if (all_in_place(items, rows, item_of))
        return NULL;
    att_seats *seats = att_tape_take(tape, 1, sizeof *seats);
    int64_t *taken = att_tape_take(tape, items, sizeof *taken), most = 0;
    int32_t *seat_of = att_tape_take(tape, rows, sizeof *seat_of);
    if (!seats || !taken || !seat_of)
        return NULL;
    memset(taken, 0, (size_t)items * sizeof *taken);
    for (int64_t r = 0; r < rows; r++) {
        int64_t now = ++taken[item_of[r]];
        most = now > most ? now : most;
    }
    int32_t *row_at = att_tape_take(tape, items * most, sizeof *row_at);
    if (!row_at)
        return NULL;
    memset(row_at, -1, (size_t)(items * most) * sizeof *row_at);
    memset(taken, 0, (size_t)items * sizeof *taken);
    for (int64_t r = 0; r < rows; r++) {
        seat_of[r] = (int32_t)(item_of[r] * most + taken[item_of[r]]++);
        row_at[seat_of[r]] = (int32_t)r;
    }
    *seats = (att_seats){ rows, items, most, taken, row_at, seat_of };
    return seats;
}

/* Vectors of x, whatever its shape, by number: [rows,columns,n]. */
static att_node *pick(att_tape *tape, att_node *x, int64_t from, int64_t rows, int64_t columns,
                      const int32_t *which)
{
    if (!x)
        return NULL;
    att_node *flat = att_reshape(tape, x, 2, (int64_t[]){ from, from > 0 ? x->count / from : 0 });
    return att_embed(tape, flat, rows, columns, which);
}

att_node *att_seats_put(att_tape *tape, const att_seats *seats, att_node *x)
{
    return seats ? pick(tape, x, seats->rows, seats->items, seats->most, seats->row_at) : x;
}

att_node *att_seats_back(att_tape *tape, const att_seats *seats, att_node *x)
{
    return seats ? pick(tape, x, seats->items * seats->most, seats->rows, 1, seats->seat_of) : x;
}

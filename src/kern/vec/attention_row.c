/* One query of attention over vectors; see kern/attention.h and ref/attention.c. */
#include "kern/vec/tile.h"

enum { LINE = 64 / sizeof(float) };

/* Rows to be fetched, a few at a time, into the second level: what is in use stays in the first. */
typedef struct fetching {
    att_rows rows;
    size_t row, each;
} fetching;

/* Spreads all rows over a number of steps. */
INLINE fetching fetch_in(att_rows rows, size_t steps)
{
    return (fetching){ .rows = rows, .each = steps > 0 ? (rows.count + steps - 1) / steps : 0 };
}

INLINE void fetch_some(fetching *f)
{
    size_t end = smaller(f->row + f->each, f->rows.count);
    for (; f->row < end; f->row++)
        for (size_t c = 0; c < f->rows.width; c += LINE)
            __builtin_prefetch(row_of(f->rows, f->row) + c, 0, 2);
}

/* Sixteen keys and all columns, sixteen of which at a time are brought into lanes by turning them
 * in registers. */
INLINE void score_square(float *scores, const float *query, att_rows keys, fetching *next)
{
    vec_half low = h_set(0.0f), high = h_set(0.0f);
    const float *first = keys.at, *second = row_of(keys, LANES / 2);
    size_t c = 0;
    for (; c + 4 <= keys.width; c += 4) {
        vec_half x[4], y[4];
        fetch_some(next);
        h_load_turned(x, first + c, keys.stride);
        h_load_turned(y, second + c, keys.stride);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            vec_half factor = h_set(query[c + i]);
            low = h_fma(factor, x[i], low);
            high = h_fma(factor, y[i], high);
        }
    }
    vec sum = h_join(low, high);
    for (; c < keys.width; c++) {
        float column[LANES];
        for (size_t j = 0; j < LANES; j++)
            column[j] = row_of(keys, j)[c];
        sum = v_fma(v_set(query[c]), v_load(column), sum);
    }
    v_store(scores, sum);
}

/* The last keys, fewer than sixteen. */
INLINE void score_rest(float *scores, const float *query, att_rows keys)
{
    vec sum = v_set(0.0f), x[LANES];
    for (size_t c = 0; c < keys.width; c += LANES) {
        load_transposed(x, keys, 0, c);
        for (size_t i = 0; i < LANES && i < keys.width - c; i++)
            sum = v_fma(v_set(query[c + i]), x[i], sum);
    }
    v_store_upto(scores, sum, keys.count);
}

/* Not more than sixteen keys at once: where they lie 2 KB apart, as with 8 heads of 64, a line of
 * each just fits into the first level, and each line is needed four times. */
void KERNEL(row_scores)(float *scores, const float *query, att_rows keys, att_rows ahead)
{
    size_t squares = (keys.count + LANES - 1) / LANES;
    fetching next = fetch_in(ahead, squares * (keys.width / 4));
    for (; keys.count >= LANES; keys.count -= LANES, scores += LANES) {
        score_square(scores, query, keys, &next);
        keys.at = row_of(keys, LANES);
    }
    if (keys.count > 0)
        score_rest(scores, query, keys);
}

/* `vecs` vectors of the sums. */
INLINE void add_columns(size_t vecs, float *sums, const float *weights, att_rows values,
                        size_t width, fetching *next)
{
    vec sum[ROW_WIDE];
    for (size_t v = 0; v < vecs; v++)
        sum[v] = v_load_upto(sums + v * LANES, width - v * LANES);
    for (size_t j = 0; j < values.count; j++) {
        fetch_some(next);
        vec weight = v_set(weights[j]);
        const float *at = row_of(values, j);
        for (size_t v = 0; v < vecs; v++)
            sum[v] = v_fma(weight, v_load_upto(at + v * LANES, width - v * LANES), sum[v]);
    }
    for (size_t v = 0; v < vecs; v++)
        v_store_upto(sums + v * LANES, sum[v], width - v * LANES);
}

void KERNEL(row_add)(float *sums, const float *weights, att_rows values, att_rows ahead)
{
    enum { WHOLE = ROW_WIDE * LANES };
    size_t m = 0, width = values.width;
    fetching next = fetch_in(ahead, values.count);
    for (; m + WHOLE <= width; m += WHOLE, values.at += WHOLE)
        add_columns(ROW_WIDE, sums + m, weights, values, WHOLE, &next);
    for (; m < width; m += LANES, values.at += LANES)
        add_columns(1, sums + m, weights, values, smaller(width - m, LANES), &next);
}

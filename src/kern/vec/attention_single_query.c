/* Single-query attention over vectors; see kern/attention.h and scalar/attention.c. */
#include "kern/vec/tile.h"

enum { CACHE_LINE_FLOATS = 64 / sizeof(float) };

/* Rows to prefetch, a few at a time, into the second-level cache; the first holds rows in use. */
typedef struct prefetcher {
    att_matrix_view rows;
    size_t row, rows_per_step;
} prefetcher;

/* Distributes all rows over a number of steps. */
INLINE prefetcher prefetch_over(att_matrix_view rows, size_t steps)
{
    return (prefetcher){ .rows = rows,
                         .rows_per_step = steps > 0 ? (rows.rows + steps - 1) / steps : 0 };
}

INLINE void prefetch_next(prefetcher *f)
{
    size_t end = min_size(f->row + f->rows_per_step, f->rows.rows);
    for (; f->row < end; f->row++)
        for (size_t c = 0; c < f->rows.columns; c += CACHE_LINE_FLOATS)
            __builtin_prefetch(row_of(f->rows, f->row) + c, 0, 2);
}

/* Scores of sixteen keys: blocks of sixteen columns are transposed in registers, so that each key
 * has a lane. */
INLINE void score_16_keys(float *scores, const float *query, att_matrix_view keys, prefetcher *next)
{
    vec_half low = h_set(0.0f), high = h_set(0.0f);
    const float *first = keys.data, *second = row_of(keys, LANES / 2);
    size_t c = 0;
    for (; c + 4 <= keys.columns; c += 4) {
        vec_half x[4], y[4];
        prefetch_next(next);
        h_load_transposed(x, first + c, keys.stride);
        h_load_transposed(y, second + c, keys.stride);
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; i++) {
            vec_half factor = h_set(query[c + i]);
            low = h_fma(factor, x[i], low);
            high = h_fma(factor, y[i], high);
        }
    }
    vec sum = h_join(low, high);
    for (; c < keys.columns; c++) {
        float column[LANES];
        for (size_t j = 0; j < LANES; j++)
            column[j] = row_of(keys, j)[c];
        sum = v_fma(v_set(query[c]), v_load(column), sum);
    }
    v_store(scores, sum);
}

/* The last keys, fewer than sixteen. */
INLINE void score_last_keys(float *scores, const float *query, att_matrix_view keys)
{
    vec sum = v_set(0.0f), x[LANES];
    for (size_t c = 0; c < keys.columns; c += LANES) {
        load_transposed(x, keys, 0, c);
        for (size_t i = 0; i < LANES && i < keys.columns - c; i++)
            sum = v_fma(v_set(query[c + i]), x[i], sum);
    }
    v_store_upto(scores, sum, keys.rows);
}

/* At most sixteen keys at once: where they are 2 KB apart, as with 8 heads of 64, one cache line of
 * each just fits in the first-level cache, and each line is used four times. */
void KERNEL(single_query_scores)(float *scores, const float *query, att_matrix_view keys,
                                 att_matrix_view ahead)
{
    size_t squares = (keys.rows + LANES - 1) / LANES;
    prefetcher next = prefetch_over(ahead, squares * (keys.columns / 4));
    for (; keys.rows >= LANES; keys.rows -= LANES, scores += LANES) {
        score_16_keys(scores, query, keys, &next);
        keys.data = row_of(keys, LANES);
    }
    if (keys.rows > 0)
        score_last_keys(scores, query, keys);
}

/* `vecs` vectors of the sums. */
INLINE void add_columns(size_t vecs, float *sums, const float *weights, att_matrix_view values,
                        size_t width, prefetcher *next)
{
    vec sum[ROW_WIDE];
    for (size_t v = 0; v < vecs; v++)
        sum[v] = v_load_upto(sums + v * LANES, width - v * LANES);
    for (size_t j = 0; j < values.rows; j++) {
        prefetch_next(next);
        vec weight = v_set(weights[j]);
        const float *at = row_of(values, j);
        for (size_t v = 0; v < vecs; v++)
            sum[v] = v_fma(weight, v_load_upto(at + v * LANES, width - v * LANES), sum[v]);
    }
    for (size_t v = 0; v < vecs; v++)
        v_store_upto(sums + v * LANES, sum[v], width - v * LANES);
}

void KERNEL(single_query_combine)(float *sums, const float *weights, att_matrix_view values,
                                  att_matrix_view ahead)
{
    enum { WHOLE = ROW_WIDE * LANES };
    size_t m = 0, width = values.columns;
    prefetcher next = prefetch_over(ahead, values.rows);
    for (; m + WHOLE <= width; m += WHOLE, values.data += WHOLE)
        add_columns(ROW_WIDE, sums + m, weights, values, WHOLE, &next);
    for (; m < width; m += LANES, values.data += LANES)
        add_columns(1, sums + m, weights, values, min_size(width - m, LANES), &next);
}

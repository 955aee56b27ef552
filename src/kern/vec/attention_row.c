/* One query of attention over vectors; see kern/attention.h and ref/attention.c. */
#include "kern/vec/tile.h"

enum { CHAINS = 4, LINE = 64 / sizeof(float) };

/* Rows to be fetched, a few lines at a time, into the second level: what is in use stays in the
 * first. */
typedef struct fetching {
    att_rows rows;
    size_t row, column, each;
} fetching;

/* Spreads all lines over a number of steps. */
INLINE fetching fetch_in(att_rows rows, size_t steps)
{
    size_t lines = rows.count * ((rows.width + LINE - 1) / LINE);
    return (fetching){ .rows = rows, .each = steps > 0 ? (lines + steps - 1) / steps : 0 };
}

INLINE void fetch_some(fetching *f)
{
    for (size_t n = 0; n < f->each && f->row < f->rows.count; n++) {
        __builtin_prefetch(row_of(f->rows, f->row) + f->column, 0, 2);
        f->column += LINE;
        if (f->column >= f->rows.width) {
            f->column = 0;
            f->row++;
        }
    }
}

/* Adds what columns `column` … contribute to the scores of sixteen keys. */
INLINE vec add_columns(vec sum, const float *query, att_rows keys, size_t j, size_t column)
{
    vec x[LANES];
    size_t rest = keys.width - column;
    load_transposed(x, keys, j, column);
    if (rest >= LANES)
        for (size_t i = 0; i < LANES; i++)
            sum = v_fma(v_set(query[column + i]), x[i], sum);
    else
        for (size_t i = 0; i < rest; i++)
            sum = v_fma(v_set(query[column + i]), x[i], sum);
    return sum;
}

/* Keys are brought into lanes by transposing, sixteen at a time. Four such groups take turns, so
 * that one transposes while the sums of another wait for each other. */
void KERNEL(row_scores)(float *scores, const float *query, att_rows keys, att_rows ahead)
{
    size_t across = (keys.width + LANES - 1) / LANES, down = (keys.count + LANES - 1) / LANES;
    fetching next = fetch_in(ahead, across * down);
    for (size_t j = 0; j < keys.count; j += CHAINS * LANES) {
        size_t groups = smaller((keys.count - j + LANES - 1) / LANES, CHAINS);
        vec sum[CHAINS];
        for (size_t g = 0; g < groups; g++)
            sum[g] = v_set(0.0f);
        for (size_t c = 0; c < keys.width; c += LANES)
            for (size_t g = 0; g < groups; g++) {
                fetch_some(&next);
                sum[g] = add_columns(sum[g], query, keys, j + g * LANES, c);
            }
        for (size_t g = 0; g < groups; g++)
            v_store_upto(scores + j + g * LANES, sum[g], keys.count - j - g * LANES);
    }
}

/* `vecs` vectors of the sums. */
INLINE void combine_columns(size_t vecs, float *sums, float keep, const float *weights,
                            att_rows values, size_t width, fetching *next)
{
    vec sum[ROW_WIDE];
    for (size_t v = 0; v < vecs; v++)
        sum[v] = v_set(0.0f);
    for (size_t j = 0; j < values.count; j++) {
        fetch_some(next);
        vec weight = v_set(weights[j]);
        const float *at = row_of(values, j);
        for (size_t v = 0; v < vecs; v++)
            sum[v] = v_fma(weight, v_load_upto(at + v * LANES, width - v * LANES), sum[v]);
    }
    for (size_t v = 0; v < vecs; v++) {
        size_t rest = width - v * LANES;
        vec before = v_load_upto(sums + v * LANES, rest);
        v_store_upto(sums + v * LANES, v_fma(before, v_set(keep), sum[v]), rest);
    }
}

void KERNEL(row_combine)(float *sums, float keep, const float *weights, att_rows values,
                         att_rows ahead)
{
    enum { WHOLE = ROW_WIDE * LANES };
    size_t m = 0, width = values.width;
    fetching next = fetch_in(ahead, values.count);
    for (; m + WHOLE <= width; m += WHOLE, values.at += WHOLE)
        combine_columns(ROW_WIDE, sums + m, keep, weights, values, WHOLE, &next);
    for (; m < width; m += LANES, values.at += LANES)
        combine_columns(1, sums + m, keep, weights, values, smaller(width - m, LANES), &next);
}

/* Matrix multiplication over vectors; see kern.h and scalar/matmul.c.
 *
 * A tile of R rows by P panels of C stays in registers along the whole depth: each step loads P
 * vectors of B and broadcasts R elements of A. Every (R, P) whose sums fit in the registers is
 * compiled; few rows get many panels, so that there are enough independent sums to hide the latency
 * of the multiply-add. */
#include "kern/vec/math.h"

/* ---------------------------------------------------------------- bias and activation */

#define EPILOGUE(name, op)                                                                         \
    static void epilogue_##name(float *c, size_t c_row, const float *bias, size_t rows,            \
                                size_t columns)                                                    \
    {                                                                                              \
        for (size_t i = 0; i < rows; i++)                                                          \
            for (size_t j = 0; j < columns; j += LANES) {                                          \
                float *at = c + i * c_row + j;                                                     \
                vec x = v_load_upto(at, columns - j);                                              \
                if (bias)                                                                          \
                    x = v_add(x, v_load_upto(bias + j, columns - j));                              \
                v_store_upto(at, op(x), columns - j);                                              \
            }                                                                                      \
    }

#define IDENTITY(x) (x)
EPILOGUE(none, IDENTITY)
EPILOGUE(relu, v_relu)
EPILOGUE(gelu, v_gelu)
EPILOGUE(silu, v_silu)
EPILOGUE(tanh, v_tanh)
EPILOGUE(sigmoid, v_sigmoid)

static void epilogue_tile(const att_matmul_block *block, float *c, size_t rows, size_t column,
                          size_t columns)
{
    static void (*const functions[ATT_ACTIVATION_COUNT])(float *, size_t, const float *, size_t,
                                                         size_t) = {
        [ATT_ACTIVATION_NONE] = epilogue_none, [ATT_ACTIVATION_RELU] = epilogue_relu,
        [ATT_ACTIVATION_GELU] = epilogue_gelu, [ATT_ACTIVATION_SILU] = epilogue_silu,
        [ATT_ACTIVATION_TANH] = epilogue_tanh, [ATT_ACTIVATION_SIGMOID] = epilogue_sigmoid,
    };
    const float *bias = block->bias ? block->bias + column : NULL;
    if (block->is_last && (bias || block->activation != ATT_ACTIVATION_NONE))
        functions[block->activation](c, block->c_row_stride, bias, rows, columns);
}

/* ---------------------------------------------------------------- tiles */

enum { MAX_TILE_ROWS = 12, MAX_TILE_PANELS = 8 };

/* One tile: `columns` of C are stored, at most those of its panels. */
typedef struct tile {
    const float *a, *b;
    float *c;
    size_t a_row, a_step, b_panel, b_step, c_row;
    size_t depth, columns;
    bool add;
} tile;

/* Sums of a tile whose panels are all stored in full. */
INLINE void tile_store(const tile *t, const vec *sum, const size_t rows, const size_t panels)
{
#pragma GCC unroll 12
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (size_t p = 0; p < panels; p++) {
            float *c = t->c + i * t->c_row + p * LANES;
            vec x = sum[i * panels + p];
            v_store(c, t->add ? v_add(v_load(c), x) : x);
        }
}

/* Sums of a tile at C's edge. */
INLINE void tile_store_part(const tile *t, const vec *sum, const size_t rows, const size_t panels)
{
#pragma GCC unroll 12
    for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (size_t p = 0; p < panels; p++) {
            if (p * LANES >= t->columns)
                break;
            float *c = t->c + i * t->c_row + p * LANES;
            size_t left = t->columns - p * LANES;
            vec x = sum[i * panels + p];
            v_store_upto(c, t->add ? v_add(v_load_upto(c, left), x) : x, left);
        }
}

/* Element of row i of A, addressed from every fourth row: a pointer for each row would not fit in
 * the registers. */
INLINE vec a_element(const tile *t, const float *const a[3], size_t i)
{
    return v_set(a[i / 4][i % 4 * t->a_row]);
}

/* One step along the depth. Of the elements of A and the vectors of B, the fewer stay in registers.
 */
INLINE void tile_step(const tile *t, vec *sum, const float *const a[3], const float *b,
                      const size_t rows, const size_t panels)
{
    vec kept[MAX_TILE_ROWS];
    if (rows < panels) {
#pragma GCC unroll 8
        for (size_t i = 0; i < rows; i++)
            kept[i] = a_element(t, a, i);
#pragma GCC unroll 8
        for (size_t p = 0; p < panels; p++) {
            vec y = v_load(b + p * t->b_panel);
#pragma GCC unroll 8
            for (size_t i = 0; i < rows; i++)
                sum[i * panels + p] = v_fma(kept[i], y, sum[i * panels + p]);
        }
    } else {
#pragma GCC unroll 8
        for (size_t p = 0; p < panels; p++)
            kept[p] = v_load(b + p * t->b_panel);
#pragma GCC unroll 12
        for (size_t i = 0; i < rows; i++) {
            vec x = a_element(t, a, i);
#pragma GCC unroll 8
            for (size_t p = 0; p < panels; p++)
                sum[i * panels + p] = v_fma(x, kept[p], sum[i * panels + p]);
        }
    }
}

INLINE void tile_multiply(const tile *t, const size_t rows, const size_t panels)
{
    vec sum[TILE_SUMS];
#pragma GCC unroll 32
    for (size_t s = 0; s < rows * panels; s++)
        sum[s] = v_set(0.0f);
    const float *a[3] = { t->a, t->a + (rows > 4 ? 4 * t->a_row : 0),
                          t->a + (rows > 8 ? 8 * t->a_row : 0) };
    const float *b = t->b;
#pragma GCC unroll 2
    for (size_t k = 0; k < t->depth; k++) {
        tile_step(t, sum, a, b, rows, panels);
        for (size_t i = 0; i < 3; i++)
            a[i] += t->a_step;
        b += t->b_step;
    }
    if (t->columns == panels * LANES)
        tile_store(t, sum, rows, panels);
    else
        tile_store_part(t, sum, rows, panels);
}

#define FITS(rows, panels) ((rows) <= TILE_ROWS && (rows) * (panels) <= TILE_SUMS)

#define TILE(rows, panels)                                                                         \
    static void tile_##rows##_##panels(const tile *t)                                              \
    {                                                                                              \
        if (FITS(rows, panels))                                                                    \
            tile_multiply(t, rows, panels);                                                        \
    }

#define FOR_ALL_ROWS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12)
#define TILES_OF(rows)                                                                             \
    TILE(rows, 1) TILE(rows, 2) TILE(rows, 3) TILE(rows, 4) TILE(rows, 6) TILE(rows, 8)
FOR_ALL_ROWS(TILES_OF)

_Static_assert((int)TILE_ROWS <= (int)MAX_TILE_ROWS,
               "tiles are compiled for up to MAX_TILE_ROWS rows");

/* Indexed by rows and panels; NULL where not compiled. */
typedef void tile_function(const tile *t);
static tile_function *const tiles[MAX_TILE_ROWS + 1][MAX_TILE_PANELS + 1] = {
#define TILE_ENTRY(rows, panels) [panels] = FITS(rows, panels) ? tile_##rows##_##panels : NULL
#define TILE_ROW(rows)                                                                             \
    [rows] = { TILE_ENTRY(rows, 1), TILE_ENTRY(rows, 2), TILE_ENTRY(rows, 3),                      \
               TILE_ENTRY(rows, 4), TILE_ENTRY(rows, 6), TILE_ENTRY(rows, 8) },
    FOR_ALL_ROWS(TILE_ROW)
};

/* ---------------------------------------------------------------- packing */

/* One panel from B^T: panel[k][j] = b[j * stride + k], 0 from `columns` on. Missing columns repeat
 * the last one, so that nothing else is read, and are then cleared. */
static void pack_transposed(float *panel, const float *b, size_t stride, size_t depth,
                            size_t columns)
{
    const float *column[LANES];
    for (size_t j = 0; j < LANES; j++)
        column[j] = b + (j < columns ? j : columns - 1) * stride;
    size_t k = 0;
    for (; k + LANES <= depth; k += LANES) { /* whole cache lines of a column */
        vec square[LANES];
#pragma GCC unroll 16
        for (size_t j = 0; j < LANES; j++)
            square[j] = v_load(column[j] + k);
        v_transpose(square);
#pragma GCC unroll 16
        for (size_t q = 0; q < LANES; q++)
            v_store(panel + (k + q) * LANES, v_upto(square[q], columns));
    }
    for (; k + 4 <= depth; k += 4) {
        vec w[4];
        for (size_t q = 0; q < 4; q++)
            w[q] = v_load_fours(column[q] + k, column[q + 4] + k, column[q + 8] + k,
                                column[q + 12] + k);
        v_transpose_fours(w);
        for (size_t q = 0; q < 4; q++)
            v_store(panel + (k + q) * LANES, v_upto(w[q], columns));
    }
    for (; k < depth; k++)
        for (size_t j = 0; j < LANES; j++)
            panel[k * LANES + j] = j < columns ? column[j][k] : 0.0f;
}

static void pack_plain(float *panel, const float *b, size_t stride, size_t depth, size_t columns)
{
    for (size_t k = 0; k < depth; k++)
        v_store(panel + k * LANES, v_load_upto(b + k * stride, columns));
}

void KERNEL(matmul_pack)(float *panels, const float *b, size_t stride, bool transposed,
                         size_t depth, size_t columns)
{
    for (size_t j = 0; j < columns; j += LANES) {
        if (transposed)
            pack_transposed(panels + j * depth, b + j * stride, stride, depth, columns - j);
        else
            pack_plain(panels + j * depth, b + j, stride, depth, columns - j);
    }
}

/* ---------------------------------------------------------------- B transposed in registers */

enum { TRANSPOSED_ROWS = 4 }; /* of a tile: with those of B, its sums take sixteen registers */

/* Four steps along the depth for sixteen columns of B, which are contiguous along the depth. */
INLINE void transposed_steps(const tile *t, vec_half *sum, const float *a, const float *b,
                             const size_t rows)
{
    vec_half low[4], high[4];
    h_load_transposed(low, b, (ptrdiff_t)t->b_step);
    h_load_transposed(high, b + LANES / 2 * t->b_step, (ptrdiff_t)t->b_step);
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; k++)
#pragma GCC unroll 8
        for (size_t i = 0; i < rows; i++) {
            vec_half x = h_set(a[i * t->a_row + k * t->a_step]);
            sum[2 * i] = h_fma(x, low[k], sum[2 * i]);
            sum[2 * i + 1] = h_fma(x, high[k], sum[2 * i + 1]);
        }
}

/* One step, at the end of the depth. */
INLINE void transposed_step(const tile *t, vec_half *sum, const float *a, const float *b,
                            const size_t rows)
{
    float column_values[LANES];
    for (size_t j = 0; j < LANES; j++)
        column_values[j] = b[j * t->b_step];
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; i++) {
        vec_half x = h_set(a[i * t->a_row]);
        sum[2 * i] = h_fma(x, h_load(column_values), sum[2 * i]);
        sum[2 * i + 1] = h_fma(x, h_load(column_values + LANES / 2), sum[2 * i + 1]);
    }
}

/* Sixteen columns of B^T, b_step apart, and a tile of few rows. Transposing B in registers costs
 * more than multiplying with it, but less than storing it transposed and loading it again. */
INLINE void transposed_multiply(const tile *t, const size_t rows)
{
    vec_half sum[2 * TRANSPOSED_ROWS];
#pragma GCC unroll 16
    for (size_t s = 0; s < 2 * rows; s++)
        sum[s] = h_set(0.0f);
    const float *a = t->a;
    size_t k = 0;
#pragma GCC unroll 2
    for (; k + 4 <= t->depth; k += 4, a += 4 * t->a_step)
        transposed_steps(t, sum, a, t->b + k, rows);
    for (; k < t->depth; k++, a += t->a_step)
        transposed_step(t, sum, a, t->b + k, rows);
    vec joined[TRANSPOSED_ROWS];
#pragma GCC unroll 8
    for (size_t i = 0; i < rows; i++)
        joined[i] = h_join(sum[2 * i], sum[2 * i + 1]);
    tile_store(t, joined, rows, 1);
}

#define FOR_TRANSPOSED_ROWS(DO) DO(1) DO(2) DO(3) DO(4)
#define TRANSPOSED(rows)                                                                           \
    static void transposed_##rows(const tile *t)                                                   \
    {                                                                                              \
        transposed_multiply(t, rows);                                                              \
    }
FOR_TRANSPOSED_ROWS(TRANSPOSED)

/* Columns at the end that do not fill a panel are packed. */
static void matmul_last_columns(const att_matmul_block *block, size_t column)
{
    float panel[ATT_DEPTH_BLOCK * LANES];
    att_matmul_block rest = *block;
    rest.columns = block->columns - column;
    rest.b = panel;
    rest.b_row_stride = LANES;
    rest.b_column_stride = 0;
    rest.c += column;
    rest.bias = block->bias ? block->bias + column : NULL;
    pack_transposed(panel, block->b + column * block->b_column_stride, block->b_column_stride,
                    block->depth, rest.columns);
    KERNEL(matmul)(&rest);
}

static void matmul_transposed(const att_matmul_block *block)
{
#define TRANSPOSED_ENTRY(rows) [rows] = transposed_##rows,
    static tile_function *const by_rows[TRANSPOSED_ROWS + 1] = { FOR_TRANSPOSED_ROWS(
        TRANSPOSED_ENTRY) };
    size_t count = (block->rows + TRANSPOSED_ROWS - 1) / TRANSPOSED_ROWS, column = 0;
    tile t = { .depth = block->depth,
               .add = block->accumulate,
               .a_row = block->a_row_stride,
               .a_step = block->a_column_stride,
               .b_step = block->b_column_stride,
               .c_row = block->c_row_stride };
    for (; column + LANES <= block->columns; column += LANES) {
        t.b = block->b + column * block->b_column_stride;
        for (size_t n = 0, first = 0, rows; n < count; n++, first += rows) {
            rows = block->rows * (n + 1) / count - first;
            t.a = block->a + first * block->a_row_stride;
            t.c = block->c + first * block->c_row_stride + column;
            by_rows[rows](&t);
            epilogue_tile(block, t.c, rows, column, LANES);
        }
    }
    if (column < block->columns)
        matmul_last_columns(block, column);
}

/* ---------------------------------------------------------------- a block */

/* The largest number of panels that a tile of `rows` rows can have, out of those left. */
static size_t width_for(size_t rows, size_t panels_left)
{
    size_t width = panels_left < MAX_TILE_PANELS ? panels_left : MAX_TILE_PANELS;
    while (!tiles[rows][width])
        width--;
    return width;
}

/* Rows of a tile: many rows need little of B at a time. Fewer rows of more panels are better where
 * B is used in place, since each step along the depth is then another page of memory, and where
 * rows of A are a multiple of 4096 bytes apart: these share a set of the first-level cache, of
 * eight lines.
 */
static size_t most_rows(const att_matmul_block *block)
{
    enum { SAME_SET_FLOATS = 1024, FEWER_ROWS = 6 };
    bool in_place = block->b_row_stride != LANES,
         collide = block->a_column_stride == 1 && block->a_row_stride % SAME_SET_FLOATS == 0;
    return (size_t)TILE_ROWS > FEWER_ROWS && (in_place || collide) ? FEWER_ROWS : TILE_ROWS;
}

/* Panels that all rows visit before the next ones. With many rows in a tile, its part of A stays in
 * the first-level cache, and a chunk of B in the second; with few rows, panels of B stay in the
 * first. */
enum { PANELS_IN_CHUNK = 8, CHUNK_ROWS = 12 };

static size_t panels_in_chunk(const att_matmul_block *block, size_t widest)
{
    bool in_place = block->b_row_stride != LANES;
    return (size_t)TILE_ROWS >= CHUNK_ROWS && !in_place ? (size_t)PANELS_IN_CHUNK : widest;
}

/* A tile of rows by every panel from `first` to `past`. */
static void row_of_tiles(const att_matmul_block *block, tile t, size_t row, size_t rows,
                         size_t width, size_t first, size_t past)
{
    t.a = block->a + row * block->a_row_stride;
    for (size_t p = first, count; p < past; p += count) {
        count = width < past - p ? width : width_for(rows, past - p);
        size_t column = p * LANES, left = block->columns - column;
        t.columns = left < count * LANES ? left : count * LANES;
        t.b = block->b + p * block->b_panel_stride;
        t.c = block->c + row * block->c_row_stride + column;
        tiles[rows][count](&t);
        epilogue_tile(block, t.c, rows, column, t.columns);
    }
}

/* Rows are divided evenly among the fewest possible tiles. */
void KERNEL(matmul)(const att_matmul_block *block)
{
    if (block->b_column_stride)
        return matmul_transposed(block);
    size_t most = most_rows(block), count = (block->rows + most - 1) / most;
    size_t panels = (block->columns + LANES - 1) / LANES;
    if (count == 0 || panels == 0)
        return;
    tile t = { .depth = block->depth,
               .add = block->accumulate,
               .a_row = block->a_row_stride,
               .a_step = block->a_column_stride,
               .b_panel = block->b_panel_stride,
               .b_step = block->b_row_stride,
               .c_row = block->c_row_stride };
    size_t widest = width_for((block->rows + count - 1) / count, panels);
    size_t chunk = panels_in_chunk(block, widest);
    for (size_t p = 0; p < panels; p += chunk) {
        size_t past = panels - p < chunk ? panels : p + chunk;
        for (size_t n = 0; n < count; n++) {
            size_t row = block->rows * n / count;
            row_of_tiles(block, t, row, block->rows * (n + 1) / count - row, widest, p, past);
        }
    }
}

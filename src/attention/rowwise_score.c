/* Rows of raw scores of a block of queries, and their backward; see rowwise.h. Matrix products use
 * the tile kernels of fused attention (kern/attention.h); blocks of keys count from the start of
 * the sequence. */
#include "attention/rowwise.h"
#include "attention/tensor_element.h"
#include "base/minmax.h"

#include <string.h>

/* ---------------------------------------------------------------- matrix products on tiles */

/* A piece of the key range of the block of queries, within one block of keys. */
typedef struct key_piece {
    int64_t at; /* counted from the start of the sequence */
    size_t count;
} key_piece;

/* The piece that begins at or after `at`; empty at the end. */
static key_piece next_piece(const att_sequence_head *head, const att_query_block *q, int64_t at)
{
    int64_t begin = q->key_begin - head->key_start, end = q->key_end - head->key_start;
    at = att_max_i64(at, begin);
    int64_t next = att_min_i64(at / ATT_BLOCK_KEYS * ATT_BLOCK_KEYS + ATT_BLOCK_KEYS, end);
    return (key_piece){ at, next > at ? (size_t)(next - at) : 0 };
}

#define FOR_PIECES(p, head, q)                                                                     \
    for (key_piece p = next_piece(head, q, 0); p.count > 0;                                        \
         p = next_piece(head, q, p.at + (int64_t)p.count))

static att_matrix_view right_rows(const att_sequence_head *head, const att_rowwise_buffers *s,
                                  const att_tensor *right, int64_t right_head, bool by_position,
                                  key_piece p)
{
    int64_t first = p.at + (by_position ? 0 : head->key_start);
    return att_tensor_head_rows(right, head->b, first, right_head, p.count, s->gathered);
}

/* Whether every query of the block may attend every key of the piece. */
static bool all_allowed(const att_rowwise_buffers *s, key_piece p)
{
    uint32_t all = UINT32_MAX >> (ATT_ROWWISE_QUERIES - s->queries.count), found = all;
    for (size_t j = 0; j < p.count; j++)
        found &= s->mask_bits[p.at + (int64_t)j];
    return found == all;
}

static void pack_piece(const att_rowwise_attention *work, const att_rowwise_buffers *s,
                       const float *rows, key_piece p)
{
    att_matrix_view part = { rows + p.at, (ptrdiff_t)work->key_stride, s->queries.count, p.count };
    work->kernels->tile_pack(s->tile, s->queries.lanes, part, 1.0f);
}

void att_rowwise_dot(const att_rowwise_attention *work, const att_sequence_head *head,
                     att_rowwise_buffers *s, const att_tensor *right, int64_t right_head,
                     bool by_position, float *out)
{
    FOR_PIECES(p, head, &s->queries)
    {
        att_matrix_view rows = right_rows(head, s, right, right_head, by_position, p);
        work->kernels->tile_scores(s->tile, s->queries.lanes, s->packed, rows);
        work->kernels->tile_unpack(out + p.at, work->key_stride, s->queries.count, s->tile,
                                   s->queries.lanes, p.count);
    }
}

void att_rowwise_combine(const att_rowwise_attention *work, const att_sequence_head *head,
                         att_rowwise_buffers *s, const float *weights, const att_tensor *right,
                         int64_t right_head, bool by_position, size_t stride)
{
    const att_kernels *kern = work->kernels;
    size_t lanes = s->queries.lanes, count = s->queries.count;
    memset(s->sums, 0, count * stride * sizeof(float));
    FOR_PIECES(p, head, &s->queries)
    {
        att_matrix_view rows = right_rows(head, s, right, right_head, by_position, p);
        pack_piece(work, s, weights, p);
        if (!all_allowed(s, p) && !(kern->all_finite(rows) > 0))
            kern->tile_combine_masked(s->sums, stride, count, att_tile_ones, s->tile, lanes, rows,
                                      s->mask_bits + p.at);
        else
            kern->tile_combine(s->sums, stride, count, att_tile_ones, s->tile, lanes, rows);
    }
}

void att_rowwise_combine_transposed(const att_rowwise_attention *work,
                                    const att_sequence_head *head, att_rowwise_buffers *s,
                                    const float *weights, att_matrix_view left, float *sums,
                                    size_t stride)
{
    const att_kernels *kern = work->kernels;
    bool finite = kern->all_finite(left) > 0;
    FOR_PIECES(p, head, &s->queries)
    {
        float *to = sums + (size_t)p.at * stride;
        pack_piece(work, s, weights, p);
        if (finite)
            kern->tile_combine_transposed(to, stride, p.count, s->tile, s->queries.lanes, left);
        else
            kern->tile_combine_transposed_masked(to, stride, p.count, s->tile, s->queries.lanes,
                                                 left, s->mask_bits + p.at);
    }
}

/* ---------------------------------------------------------------- dot products */

static int64_t key_head(const att_rowwise_attention *work, const att_sequence_head *head)
{
    return work->operands.key.shape[2] == work->problem->G ? head->g : head->h;
}

static att_matrix_view query_rows(const att_rowwise_attention *work, const att_sequence_head *head,
                                  att_rowwise_buffers *s)
{
    return att_tensor_head_rows(&work->operands.query, head->b, s->queries.first, head->h,
                                s->queries.count, s->row_buffer);
}

/* Adds the complete sums of each query to its gradient. */
static void add_query_grads(const att_rowwise_attention *work, const att_sequence_head *head,
                            const att_rowwise_buffers *s)
{
    const att_tensor *grad = &work->operands.query_grad;
    for (size_t q = 0; grad->data && q < s->queries.count; q++)
        att_tensor_row_axpy(
            work->kernels, grad,
            att_element_offset(grad, head->b, s->queries.first + (int64_t)q, head->h, 0), 1,
            s->sums + q * work->x_stride);
}

static void dot_scores(const att_rowwise_attention *work, const att_sequence_head *head,
                       att_rowwise_buffers *s)
{
    work->kernels->tile_pack(s->packed, s->queries.lanes, query_rows(work, head, s), 1.0f);
    att_rowwise_dot(work, head, s, &work->operands.key, key_head(work, head),
                    work->score->by_position, s->scores);
}

static void dot_backward(const att_rowwise_attention *work, const att_sequence_head *head,
                         att_rowwise_buffers *s)
{
    if (work->operands.key_grad.data)
        att_rowwise_combine_transposed(work, head, s, s->scores, query_rows(work, head, s),
                                       s->key_sums, work->x_stride);
    if (!work->operands.query_grad.data)
        return;
    att_rowwise_combine(work, head, s, s->scores, &work->operands.key, key_head(work, head),
                        work->score->by_position, work->x_stride);
    add_query_grads(work, head, s);
}

/* ---------------------------------------------------------------- additive */

/* Transformed rows are contiguous. */
static const float *query_row(const att_rowwise_attention *work, const att_sequence_head *head,
                              const att_rowwise_buffers *s, size_t q)
{
    const att_tensor *query = &work->operands.query;
    return (const float *)query->data +
           att_element_offset(query, head->b, s->queries.first + (int64_t)q, head->h, 0);
}

/* Rows of keys of the range from `begin` on: all of them where they can be used in place, else a
 * block of them, copied. None at the end of the range. */
static att_matrix_view key_rows(const att_rowwise_attention *work, const att_sequence_head *head,
                                const att_rowwise_buffers *s, int64_t begin, int64_t end)
{
    const att_tensor *key = &work->operands.key;
    int64_t count = att_max_i64(end - begin, 0);
    if (!att_tensor_rows_in_place(key))
        count = att_min_i64(count, ATT_BLOCK_KEYS);
    return att_tensor_head_rows(key, head->b, begin, key_head(work, head), (size_t)count,
                                s->gathered);
}

/* The exponentials of row `row` of rows of `width`. */
static att_additive_exps exps_row(const att_additive_exps *rows, size_t row, size_t width)
{
    return (att_additive_exps){ .exps = rows->exps + row * width,
                                .mantissas = rows->mantissas + row * width,
                                .exponents = rows->exponents + row * width };
}

/* Fills the exponentials of the queries of the block. */
static void fill_query_exps(const att_rowwise_attention *work, const att_sequence_head *head,
                            const att_rowwise_buffers *s)
{
    size_t width = (size_t)att_score_transform_width(work->problem);
    for (size_t q = 0; q < s->queries.count; q++) {
        const att_additive_exps row = exps_row(&s->query_exps, q, width);
        s->small_queries[q] =
            work->kernels->additive_exps(&row, query_row(work, head, s, q), width) > 0;
    }
}

/* The same for a block of keys. */
static void fill_key_exps(const att_rowwise_attention *work, const att_rowwise_buffers *s,
                          att_matrix_view keys)
{
    for (size_t j = 0; j < keys.rows; j++) {
        const att_additive_exps row = exps_row(&s->key_exps, j, keys.columns);
        const float *key = keys.data + (ptrdiff_t)j * keys.stride;
        s->small_keys[j] = work->kernels->additive_exps(&row, key, keys.columns) > 0;
    }
}

/* A block of keys that the queries of the block share. */
typedef struct key_block {
    int64_t begin; /* row of the first */
    att_matrix_view keys;
} key_block;

/* The keys of the block that query `q` may attend; their first is row *first. */
static att_additive block_of_query(const att_rowwise_attention *work, const att_sequence_head *head,
                                   const att_rowwise_buffers *s, const key_block *block, size_t q,
                                   int64_t *first)
{
    att_key_range range = s->queries.key_range[q];
    int64_t begin = att_max_i64(range.begin, block->begin);
    int64_t end = att_min_i64(range.end, block->begin + (int64_t)block->keys.rows);
    size_t skipped = (size_t)(begin - block->begin), width = block->keys.columns;
    att_matrix_view keys = block->keys;
    *first = begin;
    keys.rows = end > begin ? (size_t)(end - begin) : 0;
    if (keys.rows == 0)
        skipped = 0;
    keys.data += (ptrdiff_t)skipped * keys.stride;
    return (att_additive){ .query = query_row(work, head, s, q),
                           .query_exps = exps_row(&s->query_exps, q, width),
                           .v = work->operands.v + head->h * work->operands.v_stride,
                           .keys = keys,
                           .key_exps = exps_row(&s->key_exps, skipped, width),
                           .small_query = s->small_queries[q],
                           .small_keys = s->small_keys + skipped };
}

/* Calls `visit` with every query of the block and every block of the keys that it may attend. */
static void visit_additive(const att_rowwise_attention *work, const att_sequence_head *head,
                           att_rowwise_buffers *s,
                           void (*visit)(const att_rowwise_attention *work, att_rowwise_buffers *s,
                                         size_t q, const att_additive *in, int64_t at))
{
    fill_query_exps(work, head, s);
    for (int64_t j = s->queries.key_begin; j < s->queries.key_end;) {
        int64_t end = att_min_i64(s->queries.key_end, j + ATT_BLOCK_KEYS), first;
        const key_block block = { .begin = j, .keys = key_rows(work, head, s, j, end) };
        fill_key_exps(work, s, block.keys);
        for (size_t q = 0; q < s->queries.count; q++) {
            const att_additive in = block_of_query(work, head, s, &block, q, &first);
            if (in.keys.rows > 0)
                visit(work, s, q, &in, first - head->key_start);
        }
        j += (int64_t)block.keys.rows;
    }
}

static void score_keys(const att_rowwise_attention *work, att_rowwise_buffers *s, size_t q,
                       const att_additive *in, int64_t at)
{
    work->kernels->additive(s->scores + q * work->key_stride + at, in);
}

static void additive_scores(const att_rowwise_attention *work, const att_sequence_head *head,
                            att_rowwise_buffers *s)
{
    visit_additive(work, head, s, score_keys);
}

static void propagate_keys(const att_rowwise_attention *work, att_rowwise_buffers *s, size_t q,
                           const att_additive *in, int64_t at)
{
    const att_additive_grads grads = { .query = s->sums + q * work->x_stride,
                                       .v = s->v_sums,
                                       .keys = s->key_sums + (size_t)at * work->x_stride,
                                       .key_stride = work->x_stride,
                                       .scores = s->scores + q * work->key_stride + at };
    work->kernels->additive_backward(&grads, in);
}

static void additive_backward(const att_rowwise_attention *work, const att_sequence_head *head,
                              att_rowwise_buffers *s)
{
    memset(s->sums, 0, s->queries.count * work->x_stride * sizeof(float));
    visit_additive(work, head, s, propagate_keys);
    add_query_grads(work, head, s);
}

/* ---------------------------------------------------------------- concat */

static void concat_scores(const att_rowwise_attention *work, const att_sequence_head *head,
                          att_rowwise_buffers *s)
{
    for (size_t q = 0; q < s->queries.count; q++) {
        att_key_range range = s->queries.key_range[q];
        att_matrix_view keys = key_rows(work, head, s, range.begin, range.end);
        float query = *query_row(work, head, s, q);
        float *row = s->scores + q * work->key_stride + (range.begin - head->key_start);
        for (size_t j = 0; j < keys.rows; j++)
            row[j] = query + keys.data[(ptrdiff_t)j * keys.stride];
    }
}

/* Each query sums over its own key range, so that its partial sums do not depend on other queries.
 */
static void concat_backward(const att_rowwise_attention *work, const att_sequence_head *head,
                            att_rowwise_buffers *s)
{
    for (size_t q = 0; q < s->queries.count; q++) {
        att_key_range range = s->queries.key_range[q];
        int64_t begin = range.begin - head->key_start, end = range.end - head->key_start;
        const float *row = s->scores + q * work->key_stride;
        for (int64_t at = begin; at < end; at++)
            s->key_sums[(size_t)at * work->x_stride] += row[at];
        s->sums[q * work->x_stride] =
            begin < end ? work->kernels->sum(row + begin, (size_t)(end - begin)) : 0;
    }
    add_query_grads(work, head, s);
}

/* ---------------------------------------------------------------- activations */

static void exp_forward(const att_kernels *kern, float *scores, int64_t count)
{
    kern->exp(scores, scores, (size_t)count);
}

static void exp_backward(float *grads, const float *scores, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        grads[n] *= scores[n];
}

static void relu_forward(const att_kernels *kern, float *scores, int64_t count)
{
    kern->relu(scores, scores, (size_t)count);
}

/* The derivative at 0 is taken as 0. */
static void relu_backward(float *grads, const float *scores, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        if (scores[n] <= 0)
            grads[n] = 0;
}

static const att_rowwise_score scores[ATT_SCORE_COUNT] = {
    [ATT_SCORE_DOT] = { dot_scores, dot_backward },
    [ATT_SCORE_SCALED] = { dot_scores, dot_backward },
    [ATT_SCORE_GENERAL] = { dot_scores, dot_backward },
    [ATT_SCORE_ADDITIVE] = { additive_scores, additive_backward },
    [ATT_SCORE_CONCAT] = { concat_scores, concat_backward, .activation = relu_forward,
                           .activation_backward = relu_backward },
    [ATT_SCORE_GAUSSIAN] = { dot_scores, dot_backward, .activation = exp_forward,
                             .activation_backward = exp_backward },
    [ATT_SCORE_COSINE] = { dot_scores, dot_backward },
    [ATT_SCORE_LOCATION] = { dot_scores, dot_backward, .by_position = true },
};

const att_rowwise_score *att_rowwise_score_get(att_score score)
{
    return &scores[score];
}

/* Rows of plain scores of a block of queries, and back; see rows.h. Products run on the tiles of
 * fused attention (kern/attention.h), blocks of keys being counted from the sequence's start. */
#include "attention/element.h"
#include "attention/rows.h"

#include <string.h>

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---------------------------------------------------------------- products on tiles */

/* A piece of the keys that the block of queries could see, within one block of keys. */
typedef struct piece {
    int64_t at; /* from the sequence's start */
    size_t count;
} piece;

/* The piece that begins at or after `at`; of no keys where there is none left. */
static piece next_piece(const att_head *head, const att_queries *q, int64_t at)
{
    int64_t begin = q->begin - head->key_start, end = q->end - head->key_start;
    at = at > begin ? at : begin;
    int64_t next = smaller(at / ATT_BLOCK_KEYS * ATT_BLOCK_KEYS + ATT_BLOCK_KEYS, end);
    return (piece){ at, next > at ? (size_t)(next - at) : 0 };
}

#define FOR_PIECES(p, head, q)                                                                     \
    for (piece p = next_piece(head, q, 0); p.count > 0;                                            \
         p = next_piece(head, q, p.at + (int64_t)p.count))

static att_rows right_rows(const att_head *head, const att_rows_scratch *s, const att_tensor *right,
                           int64_t right_head, bool by_position, piece p)
{
    int64_t first = p.at + (by_position ? 0 : head->key_start);
    return att_tensor_rows(right, head->b, first, right_head, p.count, s->gather);
}

/* Whether every query of the block may attend every key of the piece. */
static bool all_allowed(const att_rows_scratch *s, piece p)
{
    uint32_t all = UINT32_MAX >> (ATT_ROWS - s->queries.count), found = all;
    for (size_t j = 0; j < p.count; j++)
        found &= s->allow[p.at + (int64_t)j];
    return found == all;
}

static void pack_piece(const att_rows_work *work, const att_rows_scratch *s, const float *rows,
                       piece p)
{
    att_rows part = { rows + p.at, (ptrdiff_t)work->key_room, s->queries.count, p.count };
    work->kern->tile_pack(s->tile, s->queries.lanes, part, 1.0f);
}

void att_rows_products(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                       const att_tensor *right, int64_t right_head, bool by_position, float *out)
{
    FOR_PIECES(p, head, &s->queries)
    {
        att_rows rows = right_rows(head, s, right, right_head, by_position, p);
        work->kern->tile_scores(s->tile, s->queries.lanes, s->packed, rows);
        work->kern->tile_unpack(out + p.at, work->key_room, s->queries.count, s->tile,
                                s->queries.lanes, p.count);
    }
}

void att_rows_combine(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                      const float *weights, const att_tensor *right, int64_t right_head,
                      bool by_position, size_t stride)
{
    static const float ones[ATT_ROWS] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    const att_kernels *kern = work->kern;
    size_t lanes = s->queries.lanes, count = s->queries.count;
    memset(s->sums, 0, count * stride * sizeof(float));
    FOR_PIECES(p, head, &s->queries)
    {
        att_rows rows = right_rows(head, s, right, right_head, by_position, p);
        pack_piece(work, s, weights, p);
        if (!all_allowed(s, p) && !(kern->rows_finite(rows) > 0))
            kern->tile_combine_allowed(s->sums, stride, count, ones, s->tile, lanes, rows,
                                       s->allow + p.at);
        else
            kern->tile_combine(s->sums, stride, count, ones, s->tile, lanes, rows);
    }
}

void att_rows_spread(const att_rows_work *work, const att_head *head, att_rows_scratch *s,
                     const float *weights, att_rows left, float *sums, size_t stride)
{
    const att_kernels *kern = work->kern;
    bool finite = kern->rows_finite(left) > 0;
    FOR_PIECES(p, head, &s->queries)
    {
        float *to = sums + (size_t)p.at * stride;
        pack_piece(work, s, weights, p);
        if (finite)
            kern->tile_spread(to, stride, p.count, s->tile, s->queries.lanes, left);
        else
            kern->tile_spread_allowed(to, stride, p.count, s->tile, s->queries.lanes, left,
                                      s->allow + p.at);
    }
}

void att_rows_add(const att_kernels *kern, const att_tensor *to, int64_t at, const float *from)
{
    int64_t width = to->shape[to->rank - 1], step = to->stride[to->rank - 1];
    float *row = (float *)to->data + at;
    if (step == 1)
        kern->add_scaled(row, 1.0f, from, (size_t)width);
    else
        for (int64_t n = 0; n < width; n++)
            row[n * step] += from[n];
}

/* ---------------------------------------------------------------- dot products */

static int64_t key_head(const att_rows_work *work, const att_head *head)
{
    return work->x.key.shape[2] == work->problem->G ? head->g : head->h;
}

static att_rows query_rows(const att_rows_work *work, const att_head *head, att_rows_scratch *s)
{
    return att_tensor_rows(&work->x.query, head->b, s->queries.first, head->h, s->queries.count,
                           s->rows_room);
}

/* The sums of each query, once complete, go to its gradient. */
static void add_query_grads(const att_rows_work *work, const att_head *head,
                            const att_rows_scratch *s)
{
    const att_tensor *grad = &work->x.query_grad;
    for (size_t q = 0; grad->data && q < s->queries.count; q++)
        att_rows_add(work->kern, grad,
                     att_element_at(grad, head->b, s->queries.first + (int64_t)q, head->h, 0),
                     s->sums + q * work->x_stride);
}

static void dot_scores(const att_rows_work *work, const att_head *head, att_rows_scratch *s)
{
    work->kern->tile_pack(s->packed, s->queries.lanes, query_rows(work, head, s), 1.0f);
    att_rows_products(work, head, s, &work->x.key, key_head(work, head), work->score->by_position,
                      s->scores);
}

static void dot_back(const att_rows_work *work, const att_head *head, att_rows_scratch *s)
{
    if (work->x.key_grad.data)
        att_rows_spread(work, head, s, s->scores, query_rows(work, head, s), s->key_sums,
                        work->x_stride);
    if (!work->x.query_grad.data)
        return;
    att_rows_combine(work, head, s, s->scores, &work->x.key, key_head(work, head),
                     work->score->by_position, work->x_stride);
    add_query_grads(work, head, s);
}

/* ---------------------------------------------------------------- additive */

/* Folded rows lie without gaps. */
static const float *query_row(const att_rows_work *work, const att_head *head,
                              const att_rows_scratch *s, size_t q)
{
    const att_tensor *query = &work->x.query;
    return (const float *)query->data +
           att_element_at(query, head->b, s->queries.first + (int64_t)q, head->h, 0);
}

static att_rows key_rows(const att_rows_work *work, const att_head *head, att_span span)
{
    const att_tensor *key = &work->x.key;
    size_t count = span.end > span.begin ? (size_t)(span.end - span.begin) : 0;
    return att_tensor_rows(key, head->b, span.begin, key_head(work, head), count, NULL);
}

static void additive_scores(const att_rows_work *work, const att_head *head, att_rows_scratch *s)
{
    const float *v = work->x.v + head->h * work->x.v_stride;
    for (size_t q = 0; q < s->queries.count; q++) {
        att_rows keys = key_rows(work, head, s->queries.span[q]);
        float *row = s->scores + q * work->key_room;
        if (keys.count > 0)
            work->kern->additive(row + (s->queries.span[q].begin - head->key_start),
                                 query_row(work, head, s, q), v, keys);
    }
}

static void additive_back(const att_rows_work *work, const att_head *head, att_rows_scratch *s)
{
    const float *v = work->x.v + head->h * work->x.v_stride;
    memset(s->sums, 0, s->queries.count * work->x_stride * sizeof(float));
    for (size_t q = 0; q < s->queries.count; q++) {
        att_rows keys = key_rows(work, head, s->queries.span[q]);
        int64_t at = s->queries.span[q].begin - head->key_start;
        if (keys.count == 0)
            continue;
        att_additive_grads grads = { .query = s->sums + q * work->x_stride,
                                     .v = s->v_sums,
                                     .keys = s->key_sums + (size_t)at * work->x_stride,
                                     .key_stride = work->x_stride,
                                     .of_scores = s->scores + q * work->key_room + at };
        work->kern->additive_back(&grads, query_row(work, head, s, q), v, keys);
    }
    add_query_grads(work, head, s);
}

/* ---------------------------------------------------------------- sums: concatenation */

static void sum_scores(const att_rows_work *work, const att_head *head, att_rows_scratch *s)
{
    for (size_t q = 0; q < s->queries.count; q++) {
        att_span span = s->queries.span[q];
        att_rows keys = key_rows(work, head, span);
        float query = *query_row(work, head, s, q);
        float *row = s->scores + q * work->key_room + (span.begin - head->key_start);
        for (size_t j = 0; j < keys.count; j++)
            row[j] = query + keys.at[(ptrdiff_t)j * keys.stride];
    }
}

/* Each query sums up its own reach, so that its partial sums do not depend on the other queries. */
static void sum_back(const att_rows_work *work, const att_head *head, att_rows_scratch *s)
{
    for (size_t q = 0; q < s->queries.count; q++) {
        att_span span = s->queries.span[q];
        int64_t begin = span.begin - head->key_start, end = span.end - head->key_start;
        const float *row = s->scores + q * work->key_room;
        for (int64_t at = begin; at < end; at++)
            s->key_sums[(size_t)at * work->x_stride] += row[at];
        s->sums[q * work->x_stride] =
            begin < end ? work->kern->sum(row + begin, (size_t)(end - begin)) : 0;
    }
    add_query_grads(work, head, s);
}

/* ---------------------------------------------------------------- what scores go through */

static void outer_exp(const att_kernels *kern, float *scores, int64_t count)
{
    kern->exp(scores, scores, (size_t)count);
}

static void outer_exp_back(float *grads, const float *scores, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        grads[n] *= scores[n];
}

static void outer_relu(const att_kernels *kern, float *scores, int64_t count)
{
    kern->relu(scores, scores, (size_t)count);
}

/* The derivative at 0 is taken as 0. */
static void outer_relu_back(float *grads, const float *scores, int64_t count)
{
    for (int64_t n = 0; n < count; n++)
        if (scores[n] <= 0)
            grads[n] = 0;
}

static const att_rows_score scores[] = {
    [ATT_SCORE_DOT] = { dot_scores, dot_back },
    [ATT_SCORE_SCALED] = { dot_scores, dot_back },
    [ATT_SCORE_GENERAL] = { dot_scores, dot_back },
    [ATT_SCORE_ADDITIVE] = { additive_scores, additive_back },
    [ATT_SCORE_CONCAT] = { sum_scores, sum_back, .outer = outer_relu,
                           .outer_back = outer_relu_back },
    [ATT_SCORE_GAUSSIAN] = { dot_scores, dot_back, .outer = outer_exp,
                             .outer_back = outer_exp_back },
    [ATT_SCORE_COSINE] = { dot_scores, dot_back },
    [ATT_SCORE_LOCATION] = { dot_scores, dot_back, .by_position = true },
};

const att_rows_score *att_rows_score_get(att_score score)
{
    return &scores[score];
}

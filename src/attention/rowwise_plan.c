/* Splits row-wise attention into units and lays out its buffers; see rowwise.h. */
#include "attention/rowwise.h"
#include "base/minmax.h"
#include "base/parallel.h"

/* Multiply-adds that one thread does before a second one has started; a tanh costs about 16. */
enum { SMALL_WORK = 1 << 16, TANH_COST = 16 };

static float *alloc_floats(att_workspace *c, int64_t rows, size_t width)
{
    return att_workspace_alloc(c, (size_t)rows * width, sizeof(float));
}

static att_query_scores alloc_row(att_workspace *c, int64_t keys, bool backward)
{
    return (att_query_scores){ .keys = att_workspace_alloc(c, (size_t)keys, sizeof(int64_t)),
                               .raw = alloc_floats(c, keys, 1),
                               .capped = alloc_floats(c, keys, 1),
                               .scores = alloc_floats(c, keys, 1),
                               .weights = alloc_floats(c, keys, 1),
                               .grads = alloc_floats(c, backward ? keys : 0, 1),
                               .scratch = alloc_floats(c, keys, 2) };
}

static att_additive_exps alloc_exps(att_workspace *c, int64_t rows, size_t width)
{
    att_additive_exps all = { .exps = alloc_floats(c, rows, width) };
    all.mantissas = alloc_floats(c, rows, width);
    all.exponents = alloc_floats(c, rows, width);
    return all;
}

static att_rowwise_buffers alloc_buffers(att_workspace *c, const att_rowwise_attention *work)
{
    const att_problem *p = work->problem;
    bool backward = work->grads;
    int64_t rows = att_min_i64(p->T, ATT_ROWWISE_QUERIES), X = att_score_transform_width(p);
    size_t wide = (size_t)att_max_i64(X, p->M), sum_wide = att_padded_stride((int64_t)wide);
    att_rowwise_buffers s = { .row = alloc_row(c, p->P, backward),
                              .scores = alloc_floats(c, rows, work->key_stride),
                              .weights = alloc_floats(c, rows, work->key_stride),
                              .tile = alloc_floats(c, ATT_BLOCK_KEYS, ATT_ROWWISE_QUERIES),
                              .packed = alloc_floats(c, ATT_ROWWISE_QUERIES, wide),
                              .sums = alloc_floats(c, rows, sum_wide),
                              .gathered = alloc_floats(c, ATT_BLOCK_KEYS, wide),
                              .row_buffer = alloc_floats(c, rows, wide),
                              .mask_bits = att_workspace_alloc(c, (size_t)p->P, sizeof(uint32_t)),
                              .dropout_bits =
                                  att_workspace_alloc(c, (size_t)p->P, sizeof(uint32_t)) };
    if (p->options->score == ATT_SCORE_ADDITIVE) {
        s.query_exps = alloc_exps(c, rows, (size_t)X);
        s.key_exps = alloc_exps(c, ATT_BLOCK_KEYS, (size_t)X);
        s.small_queries = att_workspace_alloc(c, (size_t)rows, sizeof(bool));
        s.small_keys = att_workspace_alloc(c, ATT_BLOCK_KEYS, sizeof(bool));
    }
    if (work->out && work->out->key_totals)
        s.key_totals = att_workspace_alloc(c, (size_t)p->P, sizeof(double));
    if (backward) {
        s.grads = alloc_floats(c, rows, work->key_stride);
        s.key_sums = alloc_floats(c, p->P, work->x_stride);
        s.value_sums = alloc_floats(c, p->P, work->m_stride);
        s.shift_sums = alloc_floats(c, p->P, 1);
    }
    return s;
}

att_rowwise_buffers att_rowwise_worker_buffers(const att_rowwise_attention *work, int64_t worker)
{
    att_workspace mine = att_workspace_part(work->buffers, work->buffers_size, worker);
    return alloc_buffers(&mine, work);
}

/* Units per head. key_totals are sums over all queries, in order: one unit. */
static int64_t units_of(const att_rowwise_attention *work, int64_t sequence)
{
    if (work->grads || (work->out && work->out->key_totals))
        return 1;
    return att_ceil_div_i64(att_sequence_queries(work->problem, sequence), ATT_ROWWISE_QUERIES);
}

/* Whether some gradient is a sum over sequences or key/value heads: then one worker does them all,
 * in order. */
static bool needs_order(const att_rowwise_attention *work)
{
    const att_attention_grads *g = work->grads;
    const att_problem *p = work->problem;
    bool location = p->options->score == ATT_SCORE_LOCATION;
    return g && ((g->bias && p->in->bias) || (g->alibi && p->in->alibi) ||
                 (g->relative && p->in->relative) || (location && (g->score_w || g->score_b)));
}

static int count_workers(const att_rowwise_attention *work)
{
    const att_problem *p = work->problem;
    int64_t threads = att_threads_get();
    int64_t cost = p->options->score == ATT_SCORE_ADDITIVE ? TANH_COST : 1;
    double pair = (double)(att_score_transform_width(p) * cost + p->M + 16);
    double all = (double)p->B * (double)p->H * (double)p->T * (double)p->P * pair;
    if (needs_order(work) || all < SMALL_WORK)
        return 1;
    return (int)att_max_i64(att_min_i64(threads, work->units), 1);
}

size_t att_rowwise_plan(att_rowwise_attention *work, const att_problem *p,
                        const att_attention_outputs *out, const att_attention_grads *grads)
{
    *work =
        (att_rowwise_attention){ .problem = p,
                                 .score = att_rowwise_score_get(p->options->score),
                                 .normalizer = att_rowwise_normalizer_get(p->options->normalizer),
                                 .out = out,
                                 .grads = grads,
                                 .kernels = att_kernels_get(),
                                 .dropout = att_attention_dropout_new(p->options),
                                 .key_stride = att_padded_stride(p->P),
                                 .x_stride = att_padded_stride(att_score_transform_width(p)),
                                 .m_stride = att_padded_stride(p->M),
                                 .sequences = att_sequence_count(p) };
    for (int64_t s = 0; s < work->sequences; s++)
        work->units += units_of(work, s) * (grads ? p->G : p->H);
    work->workers = count_workers(work);
    att_workspace counting = { 0 };
    (void)alloc_buffers(&counting, work);
    work->buffers_size = att_workspace_part_size(&counting);
    att_workspace all = { 0 };
    (void)att_workspace_alloc(&all, (size_t)work->sequences + 1, sizeof(int64_t));
    return all.used + (size_t)work->workers * work->buffers_size;
}

void att_rowwise_set_workspace(att_rowwise_attention *work, void *workspace)
{
    att_workspace all = { .base = workspace };
    work->unit_offsets = att_workspace_alloc(&all, (size_t)work->sequences + 1, sizeof(int64_t));
    work->buffers = (char *)workspace + all.used;
    work->unit_offsets[0] = 0;
    for (int64_t s = 0; s < work->sequences; s++)
        work->unit_offsets[s + 1] = work->unit_offsets[s] + units_of(work, s);
}

void att_rowwise_unit(const att_rowwise_attention *work, int64_t unit, att_sequence_head *head,
                      int64_t *first, int64_t *last)
{
    int64_t s = att_sequence_find(work->unit_offsets, work->sequences, unit / work->problem->H);
    int64_t of_head = work->unit_offsets[s + 1] - work->unit_offsets[s];
    int64_t rest = unit - work->unit_offsets[s] * work->problem->H;
    *head = att_sequence_head_get(work->problem, s, rest / of_head);
    int64_t end = head->query_start + head->queries;
    bool whole = work->out && work->out->key_totals;
    *first = head->query_start + (whole ? 0 : rest % of_head * ATT_ROWWISE_QUERIES);
    *last = whole ? end : att_min_i64(*first + ATT_ROWWISE_QUERIES, end);
}

void att_rowwise_query_block(const att_rowwise_attention *work, const att_sequence_head *head,
                             int64_t first, int64_t last, att_query_block *q)
{
    q->first = first;
    q->count = (size_t)att_min_i64(last - first, ATT_ROWWISE_QUERIES);
    q->lanes = q->count == 1 ? 1 : q->count <= ATT_LANES ? ATT_LANES : ATT_ROWWISE_QUERIES;
    q->key_begin = INT64_MAX;
    q->key_end = INT64_MIN;
    for (size_t n = 0; n < q->count; n++) {
        q->key_range[n] = att_mask_key_range(work->problem, head->b, first + (int64_t)n);
        if (q->key_range[n].begin >= q->key_range[n].end)
            continue;
        q->key_begin = att_min_i64(q->key_begin, q->key_range[n].begin);
        q->key_end = att_max_i64(q->key_end, q->key_range[n].end);
    }
}

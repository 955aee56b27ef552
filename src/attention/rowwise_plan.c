/* How attention by rows is cut into units and laid out in memory; see rows.h. */
#include "attention/score_transform.h"
#include "base/parallel.h"

/* Multiply-adds that are done before a second thread has woken up; a tanh costs as much as 16. */
enum { SMALL_WORK = 1 << 16, TANH_COST = 16 };

static int64_t min_int64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_int64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

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

static att_rowwise_buffers alloc_buffers(att_workspace *c, const att_rowwise_attention *work)
{
    const att_problem *p = work->problem;
    bool backward = work->grads;
    int64_t rows = min_int64(p->T, ATT_ROWWISE_QUERIES), X = att_score_transform_width(p);
    size_t wide = (size_t)max_int64(X, p->M), sum_wide = att_padded_stride((int64_t)wide);
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
    att_workspace mine = { .base = work->buffers + (size_t)worker * work->buffers_size };
    return alloc_buffers(&mine, work);
}

static int64_t sequence_queries(const att_problem *p, int64_t s)
{
    return p->options->sequences > 0
               ? p->options->query_offsets[s + 1] - p->options->query_offsets[s]
               : p->T;
}

/* Units of one head. The keys' totals are sums over all queries, in order: one unit. */
static int64_t units_of(const att_rowwise_attention *work, int64_t sequence)
{
    if (work->grads || (work->out && work->out->key_totals))
        return 1;
    return (sequence_queries(work->problem, sequence) + ATT_ROWWISE_QUERIES - 1) /
           ATT_ROWWISE_QUERIES;
}

/* Whether some gradient is a sum over sequences or heads of keys: these then go one by one. */
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
    return (int)max_int64(min_int64(threads, work->units), 1);
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
                                 .sequences =
                                     p->options->sequences > 0 ? p->options->sequences : p->B };
    for (int64_t s = 0; s < work->sequences; s++)
        work->units += units_of(work, s) * (grads ? p->G : p->H);
    work->workers = count_workers(work);
    att_workspace counting = { 0 };
    (void)alloc_buffers(&counting, work);
    work->buffers_size = counting.used;
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

att_sequence_head att_rowwise_sequence_head(const att_problem *p, int64_t sequence, int64_t h)
{
    att_sequence_head head = { .h = h, .g = h / (p->H / p->G), .queries = p->T, .keys = p->S };
    if (p->options->sequences == 0) {
        head.b = sequence;
        return head;
    }
    head.query_start = p->options->query_offsets[sequence];
    head.queries = sequence_queries(p, sequence);
    head.key_start = p->options->key_offsets[sequence];
    head.keys = p->options->key_offsets[sequence + 1] - head.key_start;
    return head;
}

/* The last sequence that begins at or before `unit`. */
static int64_t find_sequence(const att_rowwise_attention *work, int64_t unit)
{
    int64_t low = 0, high = work->sequences - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (work->unit_offsets[middle] * work->problem->H <= unit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void att_rowwise_unit(const att_rowwise_attention *work, int64_t unit, att_sequence_head *head,
                      int64_t *first, int64_t *last)
{
    int64_t s = find_sequence(work, unit);
    int64_t of_head = work->unit_offsets[s + 1] - work->unit_offsets[s];
    int64_t rest = unit - work->unit_offsets[s] * work->problem->H;
    *head = att_rowwise_sequence_head(work->problem, s, rest / of_head);
    int64_t end = head->query_start + head->queries;
    bool whole = work->out && work->out->key_totals;
    *first = head->query_start + (whole ? 0 : rest % of_head * ATT_ROWWISE_QUERIES);
    *last = whole ? end : min_int64(*first + ATT_ROWWISE_QUERIES, end);
}

void att_rowwise_query_block(const att_rowwise_attention *work, const att_sequence_head *head,
                             int64_t first, int64_t last, att_query_block *q)
{
    q->first = first;
    q->count = (size_t)min_int64(last - first, ATT_ROWWISE_QUERIES);
    q->lanes = q->count == 1 ? 1 : q->count <= ATT_LANES ? ATT_LANES : ATT_ROWWISE_QUERIES;
    q->key_begin = INT64_MAX;
    q->key_end = INT64_MIN;
    for (size_t n = 0; n < q->count; n++) {
        q->key_range[n] = att_mask_key_range(work->problem, head->b, first + (int64_t)n);
        if (q->key_range[n].begin >= q->key_range[n].end)
            continue;
        q->key_begin = min_int64(q->key_begin, q->key_range[n].begin);
        q->key_end = max_int64(q->key_end, q->key_range[n].end);
    }
}

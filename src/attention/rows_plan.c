/* How attention by rows is cut into units and laid out in memory; see rows.h. */
#include "attention/fold.h"
#include "base/parallel.h"

/* Multiply-adds that are done before a second thread has woken up; a tanh costs as much as 16. */
enum { SMALL_WORK = 1 << 16, TANH_COST = 16 };

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static float *floats(att_carver *c, int64_t rows, size_t width)
{
    return att_carve(c, (size_t)rows * width, sizeof(float));
}

static att_line carve_line(att_carver *c, int64_t keys, bool backward)
{
    return (att_line){ .keys = att_carve(c, (size_t)keys, sizeof(int64_t)),
                       .inner = floats(c, keys, 1),
                       .capped = floats(c, keys, 1),
                       .scores = floats(c, keys, 1),
                       .weights = floats(c, keys, 1),
                       .grads = floats(c, backward ? keys : 0, 1),
                       .spare = floats(c, keys, 2) };
}

static att_rows_scratch carve_scratch(att_carver *c, const att_rows_work *work)
{
    const att_problem *p = work->problem;
    bool backward = work->grads;
    int64_t rows = smaller(p->T, ATT_ROWS), X = att_fold_width(p);
    size_t wide = (size_t)larger(X, p->M), sum_wide = att_sum_stride((int64_t)wide);
    att_rows_scratch s = { .line = carve_line(c, p->P, backward),
                           .scores = floats(c, rows, work->key_room),
                           .weights = floats(c, rows, work->key_room),
                           .tile = floats(c, ATT_BLOCK_KEYS, ATT_ROWS),
                           .packed = floats(c, ATT_ROWS, wide),
                           .sums = floats(c, rows, sum_wide),
                           .gather = floats(c, ATT_BLOCK_KEYS, wide),
                           .rows_room = floats(c, rows, wide),
                           .allow = att_carve(c, (size_t)p->P, sizeof(uint32_t)),
                           .kept = att_carve(c, (size_t)p->P, sizeof(uint32_t)) };
    if (work->out && work->out->key_totals)
        s.totals = att_carve(c, (size_t)p->P, sizeof(double));
    if (backward) {
        s.grads = floats(c, rows, work->key_room);
        s.key_sums = floats(c, p->P, work->x_stride);
        s.value_sums = floats(c, p->P, work->m_stride);
        s.shift_sums = floats(c, p->P, 1);
    }
    return s;
}

att_rows_scratch att_rows_scratch_of(const att_rows_work *work, int64_t worker)
{
    att_carver mine = { .base = work->scratch + (size_t)worker * work->scratch_size };
    return carve_scratch(&mine, work);
}

static int64_t sequence_queries(const att_problem *p, int64_t s)
{
    return p->how->sequences > 0 ? p->how->query_offsets[s + 1] - p->how->query_offsets[s] : p->T;
}

/* Units of one head. The keys' totals are sums over all queries, in order: one unit. */
static int64_t units_of(const att_rows_work *work, int64_t sequence)
{
    if (work->grads || (work->out && work->out->key_totals))
        return 1;
    return (sequence_queries(work->problem, sequence) + ATT_ROWS - 1) / ATT_ROWS;
}

/* Whether some gradient is a sum over sequences or heads of keys: these then go one by one. */
static bool is_ordered(const att_rows_work *work)
{
    const att_attention_grads *g = work->grads;
    const att_problem *p = work->problem;
    bool location = p->how->score == ATT_SCORE_LOCATION;
    return g && ((g->bias && p->in->bias) || (g->alibi && p->in->alibi) ||
                 (g->relative && p->in->relative) || (location && (g->score_w || g->score_b)));
}

static int count_workers(const att_rows_work *work)
{
    const att_problem *p = work->problem;
    int64_t threads = att_threads_get();
    int64_t cost = p->how->score == ATT_SCORE_ADDITIVE ? TANH_COST : 1;
    double pair = (double)(att_fold_width(p) * cost + p->M + 16);
    double all = (double)p->B * (double)p->H * (double)p->T * (double)p->P * pair;
    if (is_ordered(work) || all < SMALL_WORK)
        return 1;
    return (int)larger(smaller(threads, work->units), 1);
}

size_t att_rows_plan(att_rows_work *work, const att_problem *p, const att_attention_outputs *out,
                     const att_attention_grads *grads)
{
    *work = (att_rows_work){ .problem = p,
                             .score = att_rows_score_get(p->how->score),
                             .normaliser = att_rows_normaliser_get(p->how->normaliser),
                             .out = out,
                             .grads = grads,
                             .kern = att_kernels_get(),
                             .drop = att_drop_mask_new(p->how),
                             .key_room = att_sum_stride(p->P),
                             .x_stride = att_sum_stride(att_fold_width(p)),
                             .m_stride = att_sum_stride(p->M),
                             .sequences = p->how->sequences > 0 ? p->how->sequences : p->B };
    for (int64_t s = 0; s < work->sequences; s++)
        work->units += units_of(work, s) * (grads ? p->G : p->H);
    work->workers = count_workers(work);
    att_carver counting = { 0 };
    (void)carve_scratch(&counting, work);
    work->scratch_size = counting.used;
    att_carver all = { 0 };
    (void)att_carve(&all, (size_t)work->sequences + 1, sizeof(int64_t));
    return all.used + (size_t)work->workers * work->scratch_size;
}

void att_rows_place(att_rows_work *work, void *workspace)
{
    att_carver all = { .base = workspace };
    work->units_before = att_carve(&all, (size_t)work->sequences + 1, sizeof(int64_t));
    work->scratch = (char *)workspace + all.used;
    work->units_before[0] = 0;
    for (int64_t s = 0; s < work->sequences; s++)
        work->units_before[s + 1] = work->units_before[s] + units_of(work, s);
}

att_head att_rows_head(const att_problem *p, int64_t sequence, int64_t h)
{
    att_head head = { .h = h, .g = h / (p->H / p->G), .queries = p->T, .keys = p->S };
    if (p->how->sequences == 0) {
        head.b = sequence;
        return head;
    }
    head.query_start = p->how->query_offsets[sequence];
    head.queries = sequence_queries(p, sequence);
    head.key_start = p->how->key_offsets[sequence];
    head.keys = p->how->key_offsets[sequence + 1] - head.key_start;
    return head;
}

/* The last sequence that begins at or before `unit`. */
static int64_t find_sequence(const att_rows_work *work, int64_t unit)
{
    int64_t low = 0, high = work->sequences - 1;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (work->units_before[middle] * work->problem->H <= unit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void att_rows_unit(const att_rows_work *work, int64_t unit, att_head *head, int64_t *first,
                   int64_t *last)
{
    int64_t s = find_sequence(work, unit);
    int64_t of_head = work->units_before[s + 1] - work->units_before[s];
    int64_t rest = unit - work->units_before[s] * work->problem->H;
    *head = att_rows_head(work->problem, s, rest / of_head);
    int64_t end = head->query_start + head->queries;
    bool whole = work->out && work->out->key_totals;
    *first = head->query_start + (whole ? 0 : rest % of_head * ATT_ROWS);
    *last = whole ? end : smaller(*first + ATT_ROWS, end);
}

void att_rows_queries(const att_rows_work *work, const att_head *head, int64_t first, int64_t last,
                      att_queries *q)
{
    q->first = first;
    q->count = (size_t)smaller(last - first, ATT_ROWS);
    q->lanes = q->count == 1 ? 1 : q->count <= ATT_LANES ? ATT_LANES : ATT_ROWS;
    q->begin = INT64_MAX;
    q->end = INT64_MIN;
    for (size_t n = 0; n < q->count; n++) {
        q->span[n] = att_mask_span(work->problem, head->b, first + (int64_t)n);
        if (q->span[n].begin >= q->span[n].end)
            continue;
        q->begin = smaller(q->begin, q->span[n].begin);
        q->end = larger(q->end, q->span[n].end);
    }
}

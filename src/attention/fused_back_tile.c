/* Backward of one chunk of keys; see fused_back.h. With P the weights and dP the gradients of them,
 *     dP = dO Vᵀ,  dS = P ∘ (dP - D),  D_i = dO_i · O_i = Σ_j P_ij dP_ij,
 *     dV = Pᵀ dO,  dK = dSᵀ Q,  dQ = dS K,
 * the last two times the scale. Dropout multiplies by 1/(1-p) or 0: the first is put into dO where
 * it meets V and into dV at its end, the second is a mask of P and dP. */
#include "attention/element.h"
#include "attention/fused_back.h"

#include <math.h>
#include <string.h>

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* row += factor * from, element by element fused; `row` has any stride. */
static void add_row(const att_back *back, float *row, int64_t step, float factor, const float *from,
                    int64_t width)
{
    if (step == 1)
        back->fused.kern->add_scaled(row, factor, from, (size_t)width);
    else
        for (int64_t c = 0; c < width; c++)
            back->fused.kern->add_scaled(row + c * step, factor, from + c, 1);
}

static bool all_live(const att_tile *tile)
{
    return tile->live == (uint32_t)(((uint64_t)1 << tile->queries) - 1);
}

/* The rows of a tile; those of queries that may attend nothing are zeros, whatever they hold. */
static att_rows live_rows(const att_tensor *tensor, const att_head *head, const att_tile *tile,
                          float *room)
{
    att_rows rows = att_tensor_rows(tensor, head->b, tile->first, head->h, tile->queries, room);
    if (all_live(tile))
        return rows;
    for (size_t q = 0; q < tile->queries; q++) {
        bool live = tile->live >> q & 1;
        for (size_t c = 0; c < rows.width; c++)
            room[q * rows.width + c] =
                live ? rows.at[(ptrdiff_t)q * rows.stride + (ptrdiff_t)c] : 0.0f;
    }
    return (att_rows){ room, (ptrdiff_t)rows.width, rows.count, rows.width };
}

/* A query that met no key has the log-sum-exp -inf; with +inf in its place all its weights become
 * 0. If it does meet one after all, its scores were all -inf and its weights NaN. */
static float shift_of(float log_sum_exp)
{
    if (log_sum_exp == -INFINITY)
        return INFINITY;
    return isfinite(log_sum_exp) ? (float)((double)log_sum_exp * M_LOG2E) : NAN;
}

static void start_tile(const att_back *back, const att_head *head, att_tile *tile,
                       att_back_scratch *s)
{
    const att_fused *fused = &back->fused;
    const att_kernels *kern = fused->kern;
    s->queries = live_rows(fused->problem->in->query, head, tile, s->rows_room);
    s->grad_rows = live_rows(back->output_grad, head, tile, s->grad_room);
    s->queries_finite = kern->rows_finite(s->queries) > 0;
    s->grad_rows_finite = kern->rows_finite(s->grad_rows) > 0;
    kern->tile_pack(tile->query, tile->lanes, s->queries, fused->scale);
    kern->tile_pack(s->grad_tile, tile->lanes, s->grad_rows, (float)fused->drop.kept);
    att_rows outputs = att_tensor_rows(back->output, head->b, tile->first, head->h, tile->queries,
                                       s->common.gather);
    const att_tensor *sums = back->log_sum_exp;
    for (size_t q = 0; q < tile->lanes; q++) {
        bool live = q < tile->queries && tile->live >> q & 1;
        s->shift[q] = INFINITY;
        s->along[q] = 0;
        if (!live)
            continue;
        int64_t i = tile->first + (int64_t)q;
        s->shift[q] =
            shift_of((float)att_element_get(sums, att_element_at(sums, head->b, head->h, i, 0)));
        s->along[q] = kern->dot(s->grad_rows.at + (ptrdiff_t)q * s->grad_rows.stride,
                                outputs.at + (ptrdiff_t)q * outputs.stride, outputs.width);
    }
    memset(s->query_sums, 0, tile->queries * back->key_stride * sizeof(float));
}

/* Rows without an answer: dropout multiplies by 0, and 0 · NaN is NaN. */
static void restore_nan(const att_tile *tile, att_back_scratch *s, size_t count,
                        att_allowed allowed)
{
    for (size_t q = 0; q < tile->queries; q++)
        for (size_t j = 0; isnan(s->shift[q]) && j < count; j++)
            if (allowed == ATT_ALLOWED_ALL || s->common.allow[j] >> q & 1)
                s->common.scores[j * tile->lanes + q] = NAN;
}

/* Scores become weights, s->grads those of the scores. Pairs that are not allowed get zeros,
 * exactly; so do lanes of queries that may attend nothing. */
static att_allowed weigh(const att_back *back, const att_head *head, att_tile *tile,
                         att_back_scratch *s, int64_t from, size_t count)
{
    const att_fused *fused = &back->fused;
    const att_kernels *kern = fused->kern;
    float *weights = s->common.scores;
    uint32_t *allow = s->common.allow;
    att_allowed allowed = att_tile_block(fused, head, tile, &s->common, from, count);
    if (allowed == ATT_ALLOWED_NONE)
        return allowed;
    if (allowed == ATT_ALLOWED_ALL && !all_live(tile)) {
        for (size_t j = 0; j < count; j++)
            allow[j] = tile->live;
        allowed = ATT_ALLOWED_SOME;
    }
    for (size_t q = 0; q < tile->queries; q++)
        if (tile->seen >> q & 1 && s->shift[q] == INFINITY)
            s->shift[q] = NAN;
    att_rows values =
        att_tensor_rows(fused->problem->in->value, head->b, from, head->g, count, s->common.gather);
    kern->tile_scores(s->grads, tile->lanes, s->grad_tile, values);
    if (fused->drop.threshold > 0) {
        att_tile_kept(fused, head, tile, &s->common, from, count);
        kern->tile_mask(s->grads, tile->lanes, count, s->common.kept, 0);
    }
    kern->tile_back(weights, s->grads, tile->lanes, count, s->shift, s->along);
    if (allowed == ATT_ALLOWED_SOME) {
        kern->tile_mask(weights, tile->lanes, count, allow, 0);
        kern->tile_mask(s->grads, tile->lanes, count, allow, 0);
    }
    if (fused->drop.threshold > 0) {
        kern->tile_mask(weights, tile->lanes, count, s->common.kept, 0);
        restore_nan(tile, s, count, allowed);
    }
    return allowed;
}

/* Adds Σ_q tile[j][q] rows[q] to the sums of each key; `careful`: of allowed pairs alone. */
static void spread(const att_back *back, const att_tile *tile, const att_back_scratch *s,
                   float *sums, size_t stride, size_t count, const float *numbers, att_rows rows,
                   bool careful)
{
    if (careful)
        back->fused.kern->tile_spread_allowed(sums, stride, count, numbers, tile->lanes, rows,
                                              s->common.allow);
    else
        back->fused.kern->tile_spread(sums, stride, count, numbers, tile->lanes, rows);
}

/* Adds Σ_j dS[j][q] K[j] to the sums of each query. */
static void gather(const att_back *back, const att_head *head, const att_tile *tile,
                   att_back_scratch *s, int64_t from, size_t count, bool some)
{
    static const float ones[ATT_TILE_LANES] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    const att_kernels *kern = back->fused.kern;
    att_rows keys = att_tensor_rows(back->fused.problem->in->key, head->b, from, head->g, count,
                                    s->common.gather);
    if (some && !(kern->rows_finite(keys) > 0))
        kern->tile_combine_allowed(s->query_sums, back->key_stride, tile->queries, ones, s->grads,
                                   tile->lanes, keys, s->common.allow);
    else
        kern->tile_combine(s->query_sums, back->key_stride, tile->queries, ones, s->grads,
                           tile->lanes, keys);
}

/* From scores to what the soft cap was given. A slope can be NaN where nothing may be attended: its
 * pairs get their zeros again. */
static void uncap(const att_back *back, const att_tile *tile, att_back_scratch *s, size_t count,
                  bool some)
{
    for (size_t n = 0; n < count * tile->lanes; n++)
        s->grads[n] *= s->common.slope[n];
    if (some)
        back->fused.kern->tile_mask(s->grads, tile->lanes, count, s->common.allow, 0);
}

/* One tile and up to ATT_BACK_KEYS keys: all five products. */
static void back_block(const att_back *back, const att_head *head, att_tile *tile,
                       att_back_scratch *s, int64_t chunk_start, int64_t from, size_t count)
{
    const att_attention_grads *grads = back->grads;
    att_allowed allowed = weigh(back, head, tile, s, from, count);
    if (allowed == ATT_ALLOWED_NONE)
        return;
    bool some = allowed == ATT_ALLOWED_SOME;
    size_t at = (size_t)(from - chunk_start);
    if (grads->value)
        spread(back, tile, s, s->value_sums + at * back->value_stride, back->value_stride, count,
               s->common.scores, s->grad_rows, some && !s->grad_rows_finite);
    att_bias_add(back, head, tile, s, chunk_start, from, count);
    if (back->fused.problem->how->soft_cap > 0)
        uncap(back, tile, s, count, some);
    if (grads->key)
        spread(back, tile, s, s->key_sums + at * back->key_stride, back->key_stride, count,
               s->grads, s->queries, some && !s->queries_finite);
    if (grads->query)
        gather(back, head, tile, s, from, count, some);
}

static float *part_sums(const att_back *back, const att_back_scratch *s, int64_t tile)
{
    return s->part_sums + (size_t)(tile % back->tiles_at_once) * ATT_TILE_LANES * back->key_stride;
}

void att_back_turn(const att_back *back, int64_t b, const att_back_scratch *s, int64_t tile)
{
    const att_tensor *grad = back->grads->query;
    const att_query_part *part = &s->parts[tile % back->tiles_at_once];
    const float *sums = part_sums(back, s, tile);
    for (size_t q = 0; q < part->queries; q++) {
        int64_t at = att_element_at(grad, b, part->first + (int64_t)q, part->h, 0);
        add_row(back, (float *)grad->data + at, grad->stride[3], (float)back->fused.problem->scale,
                sums + q * back->key_stride, back->fused.problem->Kq);
    }
}

/* Queries' sums are left in the part for tile `number` of the chunk. */
static void back_tile(const att_back *back, const att_chunk *chunk, const att_head *head,
                      int64_t number, att_back_scratch *s)
{
    att_tile *tile = &s->common.tile[0];
    att_query_part *part = &s->parts[number % back->tiles_at_once];
    att_fused_tile(&back->fused, head, number % att_fused_tiles(head), tile);
    *part = (att_query_part){ .h = head->h, .first = tile->first };
    int64_t from;
    size_t count;
    if (!att_tile_reach(tile, chunk->start, chunk->count, &from, &count))
        return;
    part->queries = tile->queries;
    s->query_sums = part_sums(back, s, number);
    start_tile(back, head, tile, s);
    for (int64_t start = 0; start < chunk->count; start += ATT_BACK_KEYS)
        if (att_tile_reach(tile, chunk->start + start, smaller(ATT_BACK_KEYS, chunk->count - start),
                           &from, &count))
            back_block(back, head, tile, s, chunk->start, from, count);
}

/* Adds a chunk's sums to the gradient of its keys or values. */
static void finish_rows(const att_back *back, const att_head *head, const att_tensor *grad,
                        float factor, const float *sums, size_t stride, int64_t start,
                        int64_t count)
{
    for (int64_t j = 0; grad && j < count; j++) {
        int64_t at = att_element_at(grad, head->b, start + j, head->g, 0);
        add_row(back, (float *)grad->data + at, grad->stride[3], factor, sums + (size_t)j * stride,
                grad->shape[3]);
    }
}

/* Asks for what the next tile of a head will read, while this one is at work. */
static void fetch_tile(const att_back *back, const att_head *head, int64_t index)
{
    const att_tensor *const tensors[] = { back->fused.problem->in->query, back->output_grad,
                                          back->output, back->grads->query };
    int64_t first = index * ATT_TILE_LANES, count = smaller(head->queries - first, ATT_TILE_LANES);
    for (size_t n = 0; n < sizeof tensors / sizeof *tensors; n++)
        if (tensors[n])
            att_rows_fetch(tensors[n], head->b, head->query_start + first, head->h, count);
}

int64_t att_back_chunks(const att_head *head)
{
    return head->keys / ATT_CHUNK_KEYS + (head->keys % ATT_CHUNK_KEYS != 0);
}

att_chunk att_back_chunk(const att_back *back, int64_t sequence, int64_t g, int64_t number)
{
    att_head head = att_fused_head(&back->fused, sequence, g * back->heads);
    int64_t start = number * ATT_CHUNK_KEYS;
    return (att_chunk){ .head = head,
                        .start = head.key_start + start,
                        .count = smaller(ATT_CHUNK_KEYS, head.keys - start),
                        .tiles = back->heads * att_fused_tiles(&head) };
}

static void start_chunk(const att_back *back, const att_chunk *chunk, att_back_scratch *s)
{
    memset(s->key_sums, 0, (size_t)chunk->count * back->key_stride * sizeof(float));
    memset(s->value_sums, 0, (size_t)chunk->count * back->value_stride * sizeof(float));
    att_bias_clear(back, &chunk->head, s);
}

static void finish_chunk(const att_back *back, const att_chunk *chunk, att_back_scratch *s)
{
    finish_rows(back, &chunk->head, back->grads->key, (float)back->fused.problem->scale,
                s->key_sums, back->key_stride, chunk->start, chunk->count);
    finish_rows(back, &chunk->head, back->grads->value, (float)back->fused.drop.kept, s->value_sums,
                back->value_stride, chunk->start, chunk->count);
    att_bias_chunk_end(back, &chunk->head, s, chunk->start, (size_t)chunk->count);
}

void att_back_tiles(const att_back *back, const att_chunk *chunk, int64_t begin, int64_t end,
                    att_back_scratch *s)
{
    int64_t of_head = att_fused_tiles(&chunk->head);
    if (begin == 0)
        start_chunk(back, chunk, s);
    for (int64_t number = begin; number < end; number++) {
        att_head head = chunk->head;
        head.h += number / of_head;
        fetch_tile(back, &head, number % of_head + 1);
        back_tile(back, chunk, &head, number, s);
        if (!back->by_chunk && back->grads->query)
            att_back_turn(back, head.b, s, number);
    }
    if (end == chunk->tiles)
        finish_chunk(back, chunk, s);
}

/* Gradients of the biases, reduced to the shape of each; see fused_backward.h. Where the sums of a
 * dense bias are kept depends on the dimensions in which it is broadcast:
 *     neither queries nor keys    added directly to the gradient
 *     over all queries            one sum per key of the chunk, added at the end of the chunk
 *     over all keys, or both      one sum per query, or one; buffered until the chunk's turn
 * Heads and sequences are processed one after the other whenever any sum is shared by them. */
#include "attention/bias.h"
#include "attention/fused_backward.h"
#include "attention/tensor_element.h"

#include <string.h>

typedef struct bias_sharing {
    bool any, queries, keys; /* a gradient is requested; broadcast over queries, over keys */
} bias_sharing;

static bias_sharing bias_sharing_of(const att_problem *p, const att_attention_grads *grads)
{
    const att_tensor *bias = p->in->bias;
    if (!bias || (grads && !grads->bias))
        return (bias_sharing){ 0 };
    return (bias_sharing){ true, bias->shape[2] == 1 && p->T > 1, bias->shape[3] == 1 && p->S > 1 };
}

bool att_bias_grad_is_shared(const att_problem *p, const att_attention_grads *grads)
{
    bias_sharing bias = bias_sharing_of(p, grads);
    bool heads = bias.any && ((p->in->bias->shape[0] == 1 && p->B > 1) ||
                              (p->in->bias->shape[1] == 1 && p->H > 1));
    return heads || bias.keys || grads->alibi || grads->relative;
}

static int64_t row_count(const att_backward_pass *back, bias_sharing bias)
{
    return !bias.keys ? 0 : bias.queries ? 1 : back->fused.problem->T;
}

att_bias_grad_sums att_bias_grad_alloc(att_workspace *c, const att_backward_pass *back)
{
    const att_problem *p = back->fused.problem;
    bias_sharing bias = bias_sharing_of(p, back->grads);
    size_t heads = (size_t)back->heads_per_kv_head;
    att_bias_grad_sums sums = { 0 };
    if (p->in->alibi && (!back->grads || back->grads->alibi))
        sums.alibi = att_workspace_alloc(c, heads, sizeof(double));
    if (p->in->relative && (!back->grads || back->grads->relative))
        sums.relative = att_workspace_alloc(c, heads * (size_t)(2 * p->R + 1), sizeof(double));
    if (bias.any && bias.keys)
        sums.rows = att_workspace_alloc(c, heads * (size_t)row_count(back, bias), sizeof(double));
    if (bias.any && bias.queries && !bias.keys)
        sums.keys = att_workspace_alloc(c, heads * ATT_CHUNK_KEYS, sizeof(double));
    return sums;
}

static void clear(double *numbers, int64_t count)
{
    if (numbers)
        memset(numbers, 0, (size_t)count * sizeof(double));
}

void att_bias_grad_clear(const att_backward_pass *back, att_backward_buffers *s)
{
    const att_problem *p = back->fused.problem;
    clear(s->bias.alibi, back->heads_per_kv_head);
    clear(s->bias.relative, back->heads_per_kv_head * (2 * p->R + 1));
    clear(s->bias.rows, back->heads_per_kv_head * row_count(back, bias_sharing_of(p, back->grads)));
    clear(s->bias.keys, back->heads_per_kv_head * ATT_CHUNK_KEYS);
}

/* ALiBi adds -slope · |distance| to a score, the table its entry for the distance. */
static void add_distance_bias_grads(const att_backward_pass *back, const att_query_tile *tile,
                                    att_backward_buffers *s, int64_t n, int64_t from, size_t count)
{
    int64_t R = back->fused.problem->R;
    for (size_t j = 0; j < count; j++)
        for (size_t q = 0; q < tile->queries; q++) {
            double grad = (double)s->grads[j * tile->lanes + q];
            int64_t distance = from + (int64_t)j - tile->key_range[q].key_start -
                               tile->key_range[q].query_position;
            if (s->bias.alibi)
                s->bias.alibi[n] -= (double)(distance < 0 ? -distance : distance) * grad;
            if (s->bias.relative)
                s->bias.relative[n * (2 * R + 1) + att_relative_index(R, distance)] += grad;
        }
}

/* The element of the gradient of a dense bias for query i and key j. */
static float *bias_element(const att_tensor *grad, const att_sequence_head *head, int64_t i,
                           int64_t j)
{
    int64_t index[4] = { head->b, head->h, i, j }, at = 0;
    for (int dim = 0; dim < 4; dim++)
        at += grad->shape[dim] == 1 ? 0 : index[dim] * grad->stride[dim];
    return (float *)grad->data + at;
}

static void add_dense_bias_grads(const att_backward_pass *back, const att_sequence_head *head,
                                 const att_query_tile *tile, att_backward_buffers *s,
                                 int64_t chunk_start, int64_t from, size_t count)
{
    int64_t n = head->h % back->heads_per_kv_head;
    int64_t rows = row_count(back, bias_sharing_of(back->fused.problem, back->grads));
    for (size_t q = 0; q < tile->queries; q++) {
        int64_t i = tile->first + (int64_t)q;
        for (size_t j = 0; j < count; j++) {
            float grad = s->grads[j * tile->lanes + q];
            if (s->bias.rows)
                s->bias.rows[n * rows + (rows == 1 ? 0 : i)] += (double)grad;
            else if (s->bias.keys)
                s->bias.keys[n * ATT_CHUNK_KEYS + from - chunk_start + (int64_t)j] += (double)grad;
            else
                *bias_element(back->grads->bias, head, i, from + (int64_t)j) += grad;
        }
    }
}

void att_bias_grad_add(const att_backward_pass *back, const att_sequence_head *head,
                       const att_query_tile *tile, att_backward_buffers *s, int64_t chunk_start,
                       int64_t from, size_t count)
{
    if (s->bias.alibi || s->bias.relative)
        add_distance_bias_grads(back, tile, s, head->h % back->heads_per_kv_head, from, count);
    if (back->grads->bias)
        add_dense_bias_grads(back, head, tile, s, chunk_start, from, count);
}

void att_bias_grad_chunk_end(const att_backward_pass *back, const att_sequence_head *head,
                             att_backward_buffers *s, int64_t chunk_start, size_t count)
{
    att_sequence_head each = *head;
    for (int64_t n = 0; s->bias.keys && n < back->heads_per_kv_head; n++, each.h++)
        for (size_t j = 0; j < count; j++)
            *bias_element(back->grads->bias, &each, 0, chunk_start + (int64_t)j) +=
                (float)s->bias.keys[n * ATT_CHUNK_KEYS + (int64_t)j];
}

/* Element n of dimension 1 for head h of a parameter [H|1] or [H|1,N]. */
static float *head_element(const att_tensor *grad, int64_t h, int64_t n)
{
    int64_t at = grad->shape[0] == 1 ? 0 : h * grad->stride[0];
    return (float *)grad->data + at + (grad->rank > 1 ? n * grad->stride[1] : 0);
}

void att_bias_grad_flush(const att_backward_pass *back, const att_sequence_head *head,
                         att_backward_buffers *s)
{
    const att_problem *p = back->fused.problem;
    int64_t rows = row_count(back, bias_sharing_of(p, back->grads)), table = 2 * p->R + 1;
    att_sequence_head each = *head;
    for (int64_t n = 0; n < back->heads_per_kv_head; n++, each.h++) {
        if (s->bias.alibi)
            *head_element(back->grads->alibi, each.h, 0) += (float)s->bias.alibi[n];
        for (int64_t r = 0; s->bias.relative && r < table; r++)
            *head_element(back->grads->relative, each.h, r) +=
                (float)s->bias.relative[n * table + r];
        for (int64_t i = 0; s->bias.rows && i < rows; i++)
            *bias_element(back->grads->bias, &each, i, 0) += (float)s->bias.rows[n * rows + i];
    }
}

/* The score transform, forward; see score_transform.h. The rows of a head form one matrix [B*T, K]
 * or [B*S, K], so that a batch of short sequences is one matrix product. */
#include "attention/score_projection.h"

#include "attention/tensor_element.h"
#include "base/error.h"
#include "base/minmax.h"

#include <math.h>
#include <string.h>

int64_t att_score_transform_width(const att_problem *p)
{
    att_score score = p->options->score;
    return score == ATT_SCORE_ADDITIVE  ? p->A
           : score == ATT_SCORE_CONCAT  ? 1
           : score == ATT_SCORE_GENERAL ? p->Kk
                                        : p->Kq;
}

bool att_score_transform_is_dot(const att_problem *p)
{
    return p->options->score == ATT_SCORE_GENERAL || p->options->score == ATT_SCORE_COSINE;
}

/* Products of a number of rows and a width stay below 2^63 bytes. */
bool att_score_transform_overflows(const att_problem *p)
{
    const int64_t widths[] = { p->Kq, p->Kk, p->M, p->A, p->P, ATT_TILE_LANES };
    int64_t max_width = 0, max_length = att_max_i64(p->T, p->S);
    for (size_t n = 0; n < ATT_COUNT(widths); n++)
        max_width = att_max_i64(widths[n], max_width);
    double rows =
        ((double)p->B + (double)p->options->sequences) * (double)p->H * (double)max_length;
    return (rows + (double)max_width + 1) * ((double)max_width + 1) > 0x1p58;
}

/* ---------------------------------------------------------------- memory */

/* [B,N,heads,X], in memory [heads][B][N][X]. */
static att_tensor alloc_transformed(att_workspace *c, const att_problem *p, att_qk_side side)
{
    const att_tensor *in = att_projection_input(p, side);
    int64_t X = att_score_transform_width(p), heads = att_projection_heads(p, side),
            B = in->shape[0], N = in->shape[1];
    att_tensor t = { .dtype = ATT_F32, .rank = 4, .shape = { B, N, heads, X } };
    const int64_t stride[] = { N * X, X, B * N * X, 1 };
    memcpy(t.stride, stride, sizeof stride);
    t.data = att_workspace_alloc(c, (size_t)(heads * B * N * X), sizeof(float));
    return t;
}

/* Floats of the rows of one head, the larger of the sides that are transformed. */
static size_t row_buffer_size(const att_problem *p)
{
    int64_t room = 0;
    for (int side = 0; side < ATT_QK_SIDE_COUNT; side++) {
        const att_tensor *in = att_projection_input(p, (att_qk_side)side);
        if (att_projection_kind(p, (att_qk_side)side) != ATT_PROJECTION_NONE)
            room = att_max_i64(room, in->shape[0] * in->shape[1] * in->shape[3]);
    }
    return (size_t)room;
}

/* Location score: the rows of the parameter take the place of the keys, by position. */
static att_tensor by_position(const att_problem *p, const att_tensor *w)
{
    att_tensor t = { 0 };
    if (!w)
        return t;
    t = (att_tensor){ .data = w->data,
                      .dtype = w->dtype,
                      .rank = 4,
                      .shape = { p->B, w->shape[1], p->H, w->shape[2] },
                      .stride = { 0, w->stride[1], w->shape[0] == 1 ? 0 : w->stride[0],
                                  w->stride[2] } };
    return t;
}

static att_tensor tensor_or_empty(const att_tensor *tensor)
{
    return tensor ? *tensor : (att_tensor){ 0 };
}

static void set_operands(att_score_transform *transform, const att_attention_grads *grads)
{
    const att_problem *p = transform->problem;
    att_score_operands *x = &transform->operands;
    bool location = p->options->score == ATT_SCORE_LOCATION;
    bool of_query = att_projection_kind(p, ATT_QK_SIDE_QUERY) != ATT_PROJECTION_NONE,
         of_key = att_projection_kind(p, ATT_QK_SIDE_KEY) != ATT_PROJECTION_NONE;
    x->query = of_query ? transform->query : *p->in->query;
    x->key = of_key ? transform->key : *p->in->key;
    if (location) {
        x->key = by_position(p, p->in->score_w);
        x->shift = tensor_or_empty(p->in->score_b);
    }
    if (!grads)
        return;
    x->query_grad = of_query ? transform->query_grad : tensor_or_empty(grads->query);
    x->key_grad = of_key ? transform->key_grad : tensor_or_empty(grads->key);
    if (location) {
        x->key_grad = by_position(p, grads->score_w);
        x->shift_grad = tensor_or_empty(p->in->score_b ? grads->score_b : NULL);
    }
}

void att_score_transform_layout(att_score_transform *transform, att_workspace *c,
                                const att_problem *p, bool backward,
                                const att_attention_grads *grads)
{
    int64_t X = att_score_transform_width(p), sequences = att_sequence_count(p);
    bool of_query = att_projection_kind(p, ATT_QK_SIDE_QUERY) != ATT_PROJECTION_NONE,
         of_key = att_projection_kind(p, ATT_QK_SIDE_KEY) != ATT_PROJECTION_NONE;
    *transform = (att_score_transform){ .problem = p };
    if (of_query)
        transform->query = alloc_transformed(c, p, ATT_QK_SIDE_QUERY);
    if (of_key)
        transform->key = alloc_transformed(c, p, ATT_QK_SIDE_KEY);
    transform->row_buffer = att_workspace_alloc(c, row_buffer_size(p), sizeof(float));
    if (p->options->score == ATT_SCORE_ADDITIVE)
        transform->v = att_workspace_alloc(c, (size_t)(p->H * X), sizeof(float));
    if (backward) {
        if (of_query)
            transform->query_grad = alloc_transformed(c, p, ATT_QK_SIDE_QUERY);
        if (of_key)
            transform->key_grad = alloc_transformed(c, p, ATT_QK_SIDE_KEY);
        transform->row_grad_buffer = att_workspace_alloc(c, row_buffer_size(p), sizeof(float));
        transform->param_grad =
            att_workspace_alloc(c, (size_t)(att_max_i64(p->Kq, p->Kk) * X), sizeof(float));
        transform->column_sums = att_workspace_alloc(c, (size_t)X, sizeof(double));
        if (p->options->score == ATT_SCORE_ADDITIVE) {
            transform->v_sums_size = (size_t)(sequences * p->H * X) * sizeof(float);
            transform->operands.v_sums = att_workspace_alloc(c, transform->v_sums_size, 1);
        }
    }
    if (c->base)
        set_operands(transform, grads);
}

/* ---------------------------------------------------------------- forward */

static void normalize_rows(att_tensor to, att_tensor from)
{
    for (int64_t r = 0; r < from.shape[0]; r++) {
        const float *row = (const float *)from.data + r * from.stride[0];
        float *unit = (float *)to.data + r * to.stride[0];
        double length = att_row_l2_norm(row, from.shape[1]);
        for (int64_t c = 0; c < from.shape[1]; c++)
            unit[c] = length == 0 ? 0 : (float)((double)row[c] / length);
    }
}

/* score_b of head n of the additive score, contiguous as the matrix product requires. */
static att_status bias_row(att_tensor *row, att_tensor *own, const att_problem *p, att_qk_side side,
                           int64_t n, att_error *err)
{
    const att_tensor *b = att_projection_bias(p, side);
    *own = *row = (att_tensor){ 0 };
    if (!b)
        return ATT_OK;
    *row = (att_tensor){ .data = (float *)b->data + (b->shape[0] == 1 ? 0 : n * b->stride[0]),
                         .dtype = ATT_F32,
                         .rank = 1,
                         .shape = { b->shape[1] },
                         .stride = { b->stride[1] } };
    if (b->stride[1] == 1)
        return ATT_OK;
    ATT_TRY(att_tensor_copy(own, row, ATT_F32, err));
    *row = *own;
    return ATT_OK;
}

/* Rows that the caller has projected already: only the bias is added. */
static void copy_head(const att_score_transform *transform, att_qk_side side, att_tensor to,
                      int64_t n)
{
    const att_problem *p = transform->problem;
    const att_tensor *b = att_projection_bias(p, side);
    (void)att_head_matrix_copy(att_projection_input(p, side), att_projection_input_head(p, side, n),
                               to.data);
    if (!b)
        return;
    const float *add = (const float *)b->data + (b->shape[0] == 1 ? 0 : n * b->stride[0]);
    for (int64_t r = 0; r < to.shape[0]; r++)
        for (int64_t c = 0; c < to.shape[1]; c++)
            ((float *)to.data)[r * to.stride[0] + c] += add[c * b->stride[1]];
}

static att_status transform_head(const att_score_transform *transform, att_qk_side side,
                                 att_tensor *transformed, int64_t n, att_error *err)
{
    const att_problem *p = transform->problem;
    att_tensor to = att_transformed_head_matrix(transformed, n), bias, own;
    if (att_projection_kind(p, side) == ATT_PROJECTION_COPY) {
        copy_head(transform, side, to, n);
        return ATT_OK;
    }
    att_tensor rows = att_head_matrix(att_projection_input(p, side),
                                      att_projection_input_head(p, side, n), transform->row_buffer);
    if (att_projection_kind(p, side) == ATT_PROJECTION_UNIT_NORM) {
        normalize_rows(to, rows);
        return ATT_OK;
    }
    ATT_TRY(bias_row(&bias, &own, p, side, n, err));
    att_matmul_options options = { .size = sizeof(att_matmul_options),
                                   .bias = bias.data ? &bias : NULL };
    att_status status = att_matmul_any_stride(
        to, rows, att_projection_matrix(p, side, att_projection_param(p, side), n), &options, err);
    att_tensor_free(&own);
    return status;
}

static void clear_grad(const att_tensor *t)
{
    if (t->data)
        memset(t->data, 0, (size_t)att_tensor_count(t) * sizeof(float));
}

att_status att_score_transform_forward(att_score_transform *transform, att_error *err)
{
    const att_problem *p = transform->problem;
    const att_tensor *v = p->in->score_v;
    for (int n = 0; n < ATT_QK_SIDE_COUNT; n++) {
        att_qk_side side = (att_qk_side)n;
        att_tensor *transformed = side == ATT_QK_SIDE_QUERY ? &transform->query : &transform->key;
        for (int64_t h = 0;
             att_projection_kind(p, side) != ATT_PROJECTION_NONE && h < transformed->shape[2]; h++)
            ATT_TRY(transform_head(transform, side, transformed, h, err));
    }
    clear_grad(&transform->query_grad);
    clear_grad(&transform->key_grad);
    if (!transform->v)
        return ATT_OK;
    if (transform->operands.v_sums)
        memset(transform->operands.v_sums, 0, transform->v_sums_size);
    for (int64_t h = 0; h < v->shape[0]; h++)
        for (int64_t a = 0; a < p->A; a++)
            transform->v[h * p->A + a] =
                ((const float *)v->data)[att_element_offset(v, h, a, 0, 0)];
    transform->operands.v = transform->v;
    transform->operands.v_stride = v->shape[0] == 1 ? 0 : p->A;
    return ATT_OK;
}

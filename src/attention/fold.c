/* Folding what a score does to each query and key; see fold.h. Rows of a head are brought together
 * as one matrix [B*T, K] or [B*S, K], so that a batch of short sequences is one product. */
#include "attention/fold_parts.h"

#include "attention/element.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

int64_t att_fold_width(const att_problem *p)
{
    att_score score = p->how->score;
    return score == ATT_SCORE_ADDITIVE  ? p->A
           : score == ATT_SCORE_CONCAT  ? 1
           : score == ATT_SCORE_GENERAL ? p->Kk
                                        : p->Kq;
}

bool att_fold_to_dot(const att_problem *p)
{
    return p->how->score == ATT_SCORE_GENERAL || p->how->score == ATT_SCORE_COSINE;
}

/* ---------------------------------------------------------------- memory */

/* [B,N,heads,X], in memory [heads][B][N][X]. */
static att_tensor carve_folded(att_carver *c, const att_problem *p, att_side side)
{
    const att_tensor *in = att_fold_input(p, side);
    int64_t X = att_fold_width(p), heads = att_fold_heads(p, side), B = in->shape[0],
            N = in->shape[1];
    att_tensor t = { .dtype = ATT_F32, .rank = 4, .shape = { B, N, heads, X } };
    const int64_t stride[] = { N * X, X, B * N * X, 1 };
    memcpy(t.stride, stride, sizeof stride);
    t.data = att_carve(c, (size_t)(heads * B * N * X), sizeof(float));
    return t;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The most that rows of one head take, on either side that is folded. */
static size_t rows_room(const att_problem *p)
{
    int64_t room = 0;
    for (int side = 0; side < ATT_SIDES; side++) {
        const att_tensor *in = att_fold_input(p, (att_side)side);
        if (att_fold_form(p, (att_side)side) != ATT_FORM_NONE)
            room = larger(room, in->shape[0] * in->shape[1] * in->shape[3]);
    }
    return (size_t)room;
}

/* Location: the parameter's rows are the keys, wherever the sequence begins. */
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

static att_tensor or_none(const att_tensor *tensor)
{
    return tensor ? *tensor : (att_tensor){ 0 };
}

static void set_operands(att_fold *fold, const att_attention_grads *grads)
{
    const att_problem *p = fold->problem;
    att_operands *x = &fold->x;
    bool location = p->how->score == ATT_SCORE_LOCATION;
    bool of_query = att_fold_form(p, ATT_SIDE_QUERY) != ATT_FORM_NONE,
         of_key = att_fold_form(p, ATT_SIDE_KEY) != ATT_FORM_NONE;
    x->query = of_query ? fold->query : *p->in->query;
    x->key = of_key ? fold->key : *p->in->key;
    if (location) {
        x->key = by_position(p, p->in->score_w);
        x->shift = or_none(p->in->score_b);
    }
    if (!grads)
        return;
    x->query_grad = of_query ? fold->query_grad : or_none(grads->query);
    x->key_grad = of_key ? fold->key_grad : or_none(grads->key);
    if (location) {
        x->key_grad = by_position(p, grads->score_w);
        x->shift_grad = or_none(p->in->score_b ? grads->score_b : NULL);
    }
}

void att_fold_carve(att_fold *fold, att_carver *c, const att_problem *p, bool backward,
                    const att_attention_grads *grads)
{
    int64_t X = att_fold_width(p), sequences = p->how->sequences > 0 ? p->how->sequences : p->B;
    bool of_query = att_fold_form(p, ATT_SIDE_QUERY) != ATT_FORM_NONE,
         of_key = att_fold_form(p, ATT_SIDE_KEY) != ATT_FORM_NONE;
    *fold = (att_fold){ .problem = p };
    if (of_query)
        fold->query = carve_folded(c, p, ATT_SIDE_QUERY);
    if (of_key)
        fold->key = carve_folded(c, p, ATT_SIDE_KEY);
    fold->rows = att_carve(c, rows_room(p), sizeof(float));
    if (p->how->score == ATT_SCORE_ADDITIVE)
        fold->v = att_carve(c, (size_t)(p->H * X), sizeof(float));
    if (backward) {
        if (of_query)
            fold->query_grad = carve_folded(c, p, ATT_SIDE_QUERY);
        if (of_key)
            fold->key_grad = carve_folded(c, p, ATT_SIDE_KEY);
        fold->rows_grad = att_carve(c, rows_room(p), sizeof(float));
        fold->matrix = att_carve(c, (size_t)(larger(p->Kq, p->Kk) * X), sizeof(float));
        fold->columns = att_carve(c, (size_t)X, sizeof(double));
        if (p->how->score == ATT_SCORE_ADDITIVE) {
            fold->v_sums_size = (size_t)(sequences * p->H * X) * sizeof(float);
            fold->x.v_sums = att_carve(c, fold->v_sums_size, 1);
        }
    }
    if (c->base)
        set_operands(fold, grads);
}

/* ---------------------------------------------------------------- forward */

static void unit_rows(att_tensor to, att_tensor from)
{
    for (int64_t r = 0; r < from.shape[0]; r++) {
        const float *row = (const float *)from.data + r * from.stride[0];
        float *unit = (float *)to.data + r * to.stride[0];
        double length = att_row_length(row, from.shape[1]);
        for (int64_t c = 0; c < from.shape[1]; c++)
            unit[c] = length == 0 ? 0 : (float)((double)row[c] / length);
    }
}

/* The additive score's b of head n, which the product wants without gaps. */
static att_status bias_row(att_tensor *row, att_tensor *own, const att_problem *p, att_side side,
                           int64_t n, att_error *err)
{
    const att_tensor *b = att_fold_bias(p, side);
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

/* Rows that have been projected already: what is left is the bias. */
static void copy_head(const att_fold *fold, att_side side, att_tensor to, int64_t n)
{
    const att_problem *p = fold->problem;
    const att_tensor *b = att_fold_bias(p, side);
    (void)att_fold_copy_rows(att_fold_input(p, side), att_fold_input_head(p, side, n), to.data);
    if (!b)
        return;
    const float *add = (const float *)b->data + (b->shape[0] == 1 ? 0 : n * b->stride[0]);
    for (int64_t r = 0; r < to.shape[0]; r++)
        for (int64_t c = 0; c < to.shape[1]; c++)
            ((float *)to.data)[r * to.stride[0] + c] += add[c * b->stride[1]];
}

static att_status fold_head(const att_fold *fold, att_side side, att_tensor *folded, int64_t n,
                            att_error *err)
{
    const att_problem *p = fold->problem;
    att_tensor to = att_folded_rows(folded, n), bias, own;
    if (att_fold_form(p, side) == ATT_FORM_COPY) {
        copy_head(fold, side, to, n);
        return ATT_OK;
    }
    att_tensor rows =
        att_fold_rows(att_fold_input(p, side), att_fold_input_head(p, side, n), fold->rows);
    if (att_fold_form(p, side) == ATT_FORM_UNIT) {
        unit_rows(to, rows);
        return ATT_OK;
    }
    ATT_TRY(bias_row(&bias, &own, p, side, n, err));
    att_product_how how = { .bias = bias.data ? &bias : NULL };
    att_status status = att_fold_product(
        to, rows, att_fold_matrix(p, side, att_fold_parameter(p, side), n), &how, err);
    att_tensor_free(&own);
    return status;
}

static void clear_folded(const att_tensor *t)
{
    if (t->data)
        memset(t->data, 0, (size_t)att_tensor_count(t) * sizeof(float));
}

att_status att_fold_forward(att_fold *fold, att_error *err)
{
    const att_problem *p = fold->problem;
    const att_tensor *v = p->in->score_v;
    for (int n = 0; n < ATT_SIDES; n++) {
        att_side side = (att_side)n;
        att_tensor *folded = side == ATT_SIDE_QUERY ? &fold->query : &fold->key;
        for (int64_t h = 0; att_fold_form(p, side) != ATT_FORM_NONE && h < folded->shape[2]; h++)
            ATT_TRY(fold_head(fold, side, folded, h, err));
    }
    clear_folded(&fold->query_grad);
    clear_folded(&fold->key_grad);
    if (!fold->v)
        return ATT_OK;
    if (fold->x.v_sums)
        memset(fold->x.v_sums, 0, fold->v_sums_size);
    for (int64_t h = 0; h < v->shape[0]; h++)
        for (int64_t a = 0; a < p->A; a++)
            fold->v[h * p->A + a] = ((const float *)v->data)[att_element_at(v, h, a, 0, 0)];
    fold->x.v = fold->v;
    fold->x.v_stride = v->shape[0] == 1 ? 0 : p->A;
    return ATT_OK;
}

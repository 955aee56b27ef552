/* Folding, backward: gradients of folded rows are carried on to queries, keys and parameters; see
 * fold.h. */
#include "attention/element.h"
#include "attention/fold_parts.h"
#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* Which rows of folded head n take part: keys that some query may attend, queries that may attend
 * some key. */
static void find_used(bool *used, int64_t *keys, const att_mask *mask, att_side side, int64_t n)
{
    const att_problem *p = mask->problem;
    int64_t heads = p->H / att_fold_heads(p, side), rows = side == ATT_SIDE_QUERY ? p->T : p->S;
    memset(used, 0, (size_t)(p->B * rows) * sizeof *used);
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = n * heads; h < (n + 1) * heads; h++)
            for (int64_t i = 0; i < p->T; i++) {
                int64_t count = att_mask_keys(mask, att_mask_span(p, b, i), b, h, i, keys);
                if (side == ATT_SIDE_QUERY)
                    used[b * rows + i] = count > 0;
                for (int64_t k = 0; side == ATT_SIDE_KEY && k < count; k++)
                    used[b * rows + keys[k]] = true;
            }
}

/* Rows that take no part become 0: what they hold must not leak. */
static att_status clear_unused(const att_fold *fold, att_side side, int64_t n, att_tensor rows,
                               att_error *err)
{
    att_mask mask;
    bool *used = att_alloc((size_t)rows.shape[0], sizeof *used);
    int64_t *keys = att_alloc((size_t)fold->problem->S, sizeof *keys);
    att_status status = att_mask_new(&mask, fold->problem, err);
    if (status == ATT_OK && (!used || !keys))
        status = att_fail_memory(err);
    if (status == ATT_OK)
        find_used(used, keys, &mask, side, n);
    for (int64_t r = 0; status == ATT_OK && r < rows.shape[0]; r++)
        if (!used[r])
            memset((float *)rows.data + r * rows.stride[0], 0,
                   (size_t)rows.shape[1] * sizeof(float));
    att_mask_free(&mask);
    att_free(used);
    att_free(keys);
    return status;
}

/* Rows of folded head n as they came, but for those that take no part, if one is not finite. */
static att_status clean_rows(att_tensor *rows, const att_fold *fold, att_side side, int64_t n,
                             att_error *err)
{
    const att_tensor *input = att_fold_input(fold->problem, side);
    int64_t head = att_fold_input_head(fold->problem, side, n);
    *rows = att_fold_rows(input, head, fold->rows);
    att_rows all = { rows->data, (ptrdiff_t)rows->stride[0], (size_t)rows->shape[0],
                     (size_t)rows->shape[1] };
    if (att_kernels_get()->rows_finite(all) > 0)
        return ATT_OK;
    *rows = att_fold_copy_rows(input, head, fold->rows);
    return clear_unused(fold, side, n, *rows, err);
}

/* The part of the gradient across the vector, over its length. A zero vector gets none. */
static void unit_rows_back(float *to, att_tensor unit, att_tensor grad, att_tensor from)
{
    int64_t K = from.shape[1];
    for (int64_t r = 0; r < from.shape[0]; r++) {
        const float *u = (const float *)unit.data + r * K, *g = (const float *)grad.data + r * K;
        double length = att_row_length((const float *)from.data + r * from.stride[0], K), along = 0;
        for (int64_t c = 0; c < K; c++)
            along += (double)u[c] * (double)g[c];
        for (int64_t c = 0; c < K; c++)
            to[r * K + c] =
                length == 0 ? 0 : (float)(((double)g[c] - along * (double)u[c]) / length);
    }
}

static void add_matrix(att_tensor to, att_tensor from)
{
    for (int64_t r = 0; r < to.shape[0]; r++) {
        float *row = (float *)to.data + r * to.stride[0];
        const float *add = (const float *)from.data + r * from.stride[0];
        for (int64_t c = 0; c < to.shape[1]; c++)
            row[c * to.stride[1]] += add[c];
    }
}

/* Heads that share a parameter add up their gradients before they reach the caller's. */
static att_status parameter_back(const att_fold *fold, att_side side,
                                 const att_attention_grads *grads, int64_t n, att_tensor rows,
                                 att_tensor grad, att_error *err)
{
    const att_problem *p = fold->problem;
    const att_tensor *to = att_problem_grad(grads, att_fold_slot(p, side));
    if (!to)
        return ATT_OK;
    bool shared = to->shape[0] == 1;
    bool is_turned = att_fold_form(p, side) == ATT_FORM_TURNED;
    att_tensor a = att_matrix_turned(is_turned ? grad : rows), b = is_turned ? rows : grad;
    att_tensor sums = att_matrix(fold->matrix, a.shape[0], b.shape[1], b.shape[1], 1);
    ATT_TRY(att_fold_product(sums, a, b, &(att_product_how){ .add = shared && n > 0 }, err));
    att_tensor view = att_fold_matrix(p, side, to, n);
    if (!shared || n == att_fold_heads(p, side) - 1)
        add_matrix(is_turned ? att_matrix_turned(view) : view, sums);
    return ATT_OK;
}

/* Adds rows [B*N, K], which lie without gaps, to a head of a gradient. */
static void add_rows(const att_tensor *to, int64_t head, const float *rows)
{
    for (int64_t b = 0; b < to->shape[0]; b++)
        for (int64_t n = 0; n < to->shape[1]; n++, rows += to->shape[3])
            att_rows_add(att_kernels_get(), to, att_element_at(to, b, n, head, 0), rows);
}

static att_status input_back(const att_fold *fold, att_side side, const att_tensor *to, int64_t n,
                             att_tensor rows, att_tensor grad, att_error *err)
{
    const att_problem *p = fold->problem;
    int64_t K = rows.shape[1];
    if (!to)
        return ATT_OK;
    if (att_fold_form(p, side) == ATT_FORM_UNIT) {
        const att_tensor *folded = side == ATT_SIDE_QUERY ? &fold->query : &fold->key;
        unit_rows_back(fold->rows_grad, att_folded_rows(folded, n), grad, rows);
    } else {
        att_tensor by = att_matrix_turned(att_fold_matrix(p, side, att_fold_parameter(p, side), n));
        ATT_TRY(att_fold_product(att_matrix(fold->rows_grad, rows.shape[0], K, K, 1), grad, by,
                                 NULL, err));
    }
    add_rows(to, att_fold_input_head(p, side, n), fold->rows_grad);
    return ATT_OK;
}

static att_status side_back(const att_fold *fold, att_side side, const att_attention_grads *grads,
                            att_error *err)
{
    const att_tensor *folded = side == ATT_SIDE_QUERY ? &fold->query_grad : &fold->key_grad;
    const att_tensor *to = side == ATT_SIDE_QUERY ? grads->query : grads->key;
    for (int64_t n = 0; n < folded->shape[2]; n++) {
        att_tensor grad = att_folded_rows(folded, n), rows;
        if (att_fold_form(fold->problem, side) == ATT_FORM_COPY) {
            if (to)
                add_rows(to, att_fold_input_head(fold->problem, side, n), grad.data);
            continue;
        }
        ATT_TRY(clean_rows(&rows, fold, side, n, err));
        if (att_fold_has_matrix(fold->problem, side))
            ATT_TRY(parameter_back(fold, side, grads, n, rows, grad, err));
        ATT_TRY(input_back(fold, side, to, n, rows, grad, err));
    }
    return ATT_OK;
}

/* to[h] += the sum of rows of head h, in double; heads that share `to` are summed together. Row r
 * of head h is at from + h * head_stride + r * row_stride. */
static void add_columns(const att_fold *fold, const att_tensor *to, const float *from, int64_t rows,
                        int64_t row_stride, int64_t head_stride)
{
    int64_t X = att_fold_width(fold->problem), H = fold->problem->H;
    for (int64_t h = 0; to && h < H; h++) {
        bool shared = to->shape[0] == 1;
        if (h == 0 || !shared)
            memset(fold->columns, 0, (size_t)X * sizeof(double));
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < X; c++)
                fold->columns[c] += (double)from[h * head_stride + r * row_stride + c];
        if (h == H - 1 || !shared)
            att_row_add(to, att_element_at(to, shared ? 0 : h, 0, 0, 0), fold->columns);
    }
}

att_status att_fold_backward(att_fold *fold, const att_attention_grads *grads, att_error *err)
{
    const att_problem *p = fold->problem;
    int64_t X = att_fold_width(p), sequences = p->how->sequences > 0 ? p->how->sequences : p->B;
    for (int side = 0; side < ATT_SIDES; side++)
        if (att_fold_form(p, (att_side)side) != ATT_FORM_NONE)
            ATT_TRY(side_back(fold, (att_side)side, grads, err));
    if (p->how->score != ATT_SCORE_ADDITIVE)
        return ATT_OK;
    if (p->in->score_b)
        add_columns(fold, grads->score_b, fold->query_grad.data, p->B * p->T, X, p->B * p->T * X);
    add_columns(fold, grads->score_v, fold->x.v_sums, sequences, p->H * X, X);
    return ATT_OK;
}

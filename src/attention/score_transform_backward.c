/* The score transform, backward: gradients of transformed rows are propagated to queries, keys and
 * parameters; see score_transform.h. */
#include "attention/tensor_element.h"
#include "attention/score_projection.h"
#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

/* Which rows of transformed head n take part: keys that some query may attend, queries that may
 * attend some key. */
static void find_attended_rows(bool *used, int64_t *keys, const att_mask *mask, att_qk_side side,
                               int64_t n)
{
    const att_problem *p = mask->problem;
    int64_t heads = p->H / att_projection_heads(p, side),
            rows = side == ATT_QK_SIDE_QUERY ? p->T : p->S;
    memset(used, 0, (size_t)(p->B * rows) * sizeof *used);
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = n * heads; h < (n + 1) * heads; h++)
            for (int64_t i = 0; i < p->T; i++) {
                int64_t count = att_mask_keys(mask, att_mask_key_range(p, b, i), b, h, i, keys);
                if (side == ATT_QK_SIDE_QUERY)
                    used[b * rows + i] = count > 0;
                for (int64_t k = 0; side == ATT_QK_SIDE_KEY && k < count; k++)
                    used[b * rows + keys[k]] = true;
            }
}

/* Sets rows that take no part to 0, so that NaN or infinity there cannot leak. */
static att_status clear_masked_rows(const att_score_transform *transform, att_qk_side side,
                                    int64_t n, att_tensor rows, att_error *err)
{
    att_mask mask;
    bool *used = att_alloc((size_t)rows.shape[0], sizeof *used);
    int64_t *keys = att_alloc((size_t)transform->problem->S, sizeof *keys);
    att_status status = att_mask_new(&mask, transform->problem, err);
    if (status == ATT_OK && (!used || !keys))
        status = att_fail_memory(err);
    if (status == ATT_OK)
        find_attended_rows(used, keys, &mask, side, n);
    for (int64_t r = 0; status == ATT_OK && r < rows.shape[0]; r++)
        if (!used[r])
            memset((float *)rows.data + r * rows.stride[0], 0,
                   (size_t)rows.shape[1] * sizeof(float));
    att_mask_free(&mask);
    att_free(used);
    att_free(keys);
    return status;
}

/* The input rows of transformed head n; if one is not finite, rows that take no part are zeroed in
 * a copy. */
static att_status rows_without_masked(att_tensor *rows, const att_score_transform *transform,
                                      att_qk_side side, int64_t n, att_error *err)
{
    const att_tensor *input = att_projection_input(transform->problem, side);
    int64_t head = att_projection_input_head(transform->problem, side, n);
    *rows = att_head_matrix(input, head, transform->row_buffer);
    att_matrix_view all = { rows->data, (ptrdiff_t)rows->stride[0], (size_t)rows->shape[0],
                            (size_t)rows->shape[1] };
    if (att_kernels_get()->all_finite(all) > 0)
        return ATT_OK;
    *rows = att_head_matrix_copy(input, head, transform->row_buffer);
    return clear_masked_rows(transform, side, n, *rows, err);
}

/* The component of the gradient orthogonal to the vector, divided by its length; 0 for a zero
 * vector. */
static void normalize_rows_backward(float *to, att_tensor unit, att_tensor grad, att_tensor from)
{
    int64_t K = from.shape[1];
    for (int64_t r = 0; r < from.shape[0]; r++) {
        const float *u = (const float *)unit.data + r * K, *g = (const float *)grad.data + r * K;
        double length = att_row_l2_norm((const float *)from.data + r * from.stride[0], K),
               along = 0;
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

/* Heads that share a parameter sum their gradients before these are added to the caller's. */
static att_status param_backward(const att_score_transform *transform, att_qk_side side,
                                 const att_attention_grads *grads, int64_t n, att_tensor rows,
                                 att_tensor grad, att_error *err)
{
    const att_problem *p = transform->problem;
    const att_tensor *to = att_problem_grad(grads, att_projection_slot(p, side));
    if (!to)
        return ATT_OK;
    bool shared = to->shape[0] == 1;
    bool is_transposed = att_projection_kind(p, side) == ATT_PROJECTION_TRANSPOSED;
    att_tensor a = att_tensor_matrix_transpose(is_transposed ? grad : rows),
               b = is_transposed ? rows : grad;
    att_tensor sums =
        att_tensor_matrix(transform->param_grad, a.shape[0], b.shape[1], b.shape[1], 1);
    ATT_TRY(att_matmul_any_stride(
        sums, a, b,
        &(att_matmul_options){ .size = sizeof(att_matmul_options), .add = shared && n > 0 }, err));
    att_tensor view = att_projection_matrix(p, side, to, n);
    if (!shared || n == att_projection_heads(p, side) - 1)
        add_matrix(is_transposed ? att_tensor_matrix_transpose(view) : view, sums);
    return ATT_OK;
}

/* Adds contiguous rows [B*N, K] to a head of a gradient. */
static void add_rows(const att_tensor *to, int64_t head, const float *rows)
{
    for (int64_t b = 0; b < to->shape[0]; b++)
        for (int64_t n = 0; n < to->shape[1]; n++, rows += to->shape[3])
            att_tensor_row_axpy(att_kernels_get(), to, att_element_offset(to, b, n, head, 0), 1,
                                rows);
}

static att_status input_backward(const att_score_transform *transform, att_qk_side side,
                                 const att_tensor *to, int64_t n, att_tensor rows, att_tensor grad,
                                 att_error *err)
{
    const att_problem *p = transform->problem;
    int64_t K = rows.shape[1];
    if (!to)
        return ATT_OK;
    if (att_projection_kind(p, side) == ATT_PROJECTION_UNIT_NORM) {
        const att_tensor *transformed =
            side == ATT_QK_SIDE_QUERY ? &transform->query : &transform->key;
        normalize_rows_backward(transform->row_grad_buffer,
                                att_transformed_head_matrix(transformed, n), grad, rows);
    } else {
        att_tensor by = att_tensor_matrix_transpose(
            att_projection_matrix(p, side, att_projection_param(p, side), n));
        ATT_TRY(att_matmul_any_stride(
            att_tensor_matrix(transform->row_grad_buffer, rows.shape[0], K, K, 1), grad, by, NULL,
            err));
    }
    add_rows(to, att_projection_input_head(p, side, n), transform->row_grad_buffer);
    return ATT_OK;
}

static att_status side_backward(const att_score_transform *transform, att_qk_side side,
                                const att_attention_grads *grads, att_error *err)
{
    const att_tensor *transformed =
        side == ATT_QK_SIDE_QUERY ? &transform->query_grad : &transform->key_grad;
    const att_tensor *to = side == ATT_QK_SIDE_QUERY ? grads->query : grads->key;
    for (int64_t n = 0; n < transformed->shape[2]; n++) {
        att_tensor grad = att_transformed_head_matrix(transformed, n), rows;
        if (att_projection_kind(transform->problem, side) == ATT_PROJECTION_COPY) {
            if (to)
                add_rows(to, att_projection_input_head(transform->problem, side, n), grad.data);
            continue;
        }
        ATT_TRY(rows_without_masked(&rows, transform, side, n, err));
        if (att_projection_has_matrix(transform->problem, side))
            ATT_TRY(param_backward(transform, side, grads, n, rows, grad, err));
        ATT_TRY(input_backward(transform, side, to, n, rows, grad, err));
    }
    return ATT_OK;
}

/* to[h] += the sum of rows of head h, in double; heads that share `to` are summed together. Row r
 * of head h is at from + h * head_stride + r * row_stride. */
static void add_columns(const att_score_transform *transform, const att_tensor *to,
                        const float *from, int64_t rows, int64_t row_stride, int64_t head_stride)
{
    int64_t X = att_score_transform_width(transform->problem), H = transform->problem->H;
    for (int64_t h = 0; to && h < H; h++) {
        bool shared = to->shape[0] == 1;
        if (h == 0 || !shared)
            memset(transform->column_sums, 0, (size_t)X * sizeof(double));
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < X; c++)
                transform->column_sums[c] += (double)from[h * head_stride + r * row_stride + c];
        if (h == H - 1 || !shared)
            att_row_add(to, att_element_offset(to, shared ? 0 : h, 0, 0, 0),
                        transform->column_sums);
    }
}

att_status att_score_transform_backward(att_score_transform *transform,
                                        const att_attention_grads *grads, att_error *err)
{
    const att_problem *p = transform->problem;
    int64_t X = att_score_transform_width(p);
    for (int side = 0; side < ATT_QK_SIDE_COUNT; side++)
        if (att_projection_kind(p, (att_qk_side)side) != ATT_PROJECTION_NONE)
            ATT_TRY(side_backward(transform, (att_qk_side)side, grads, err));
    if (p->options->score != ATT_SCORE_ADDITIVE)
        return ATT_OK;
    if (p->in->score_b)
        add_columns(transform, grads->score_b, transform->query_grad.data, p->B * p->T, X,
                    p->B * p->T * X);
    add_columns(transform, grads->score_v, transform->operands.v_sums, att_sequence_count(p),
                p->H * X, X);
    return ATT_OK;
}

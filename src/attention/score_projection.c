/* What forward and backward of the score transform share; see score_projection.h. */
#include "attention/score_projection.h"

#include "attention/tensor_element.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

/* A score that has no row uses queries and keys as they are (ATT_PROJECTION_NONE, which is 0). */
static const struct {
    att_projection form;
    att_slot slot;
} projections[ATT_SCORE_COUNT][ATT_QK_SIDE_COUNT] = {
    [ATT_SCORE_GENERAL] = { { ATT_PROJECTION_MATRIX, ATT_SLOT_SCORE_W } },
    [ATT_SCORE_ADDITIVE] = { { ATT_PROJECTION_TRANSPOSED, ATT_SLOT_SCORE_W },
                             { ATT_PROJECTION_TRANSPOSED, ATT_SLOT_SCORE_U } },
    [ATT_SCORE_CONCAT] = { { ATT_PROJECTION_VECTOR, ATT_SLOT_SCORE_V },
                           { ATT_PROJECTION_VECTOR, ATT_SLOT_SCORE_V } },
    [ATT_SCORE_COSINE] = { { ATT_PROJECTION_UNIT_NORM, ATT_SLOT_COUNT },
                           { ATT_PROJECTION_UNIT_NORM, ATT_SLOT_COUNT } },
};

const att_tensor *att_projection_bias(const att_problem *p, att_qk_side side)
{
    return p->options->score == ATT_SCORE_ADDITIVE && side == ATT_QK_SIDE_QUERY ? p->in->score_b
                                                                                : NULL;
}

/* Rows that the caller has projected already are used in place if the kernels can. */
static att_projection projected_form(const att_problem *p, att_qk_side side)
{
    const att_tensor *input = att_projection_input(p, side);
    bool in_place = input->stride[3] == 1 && input->dtype == ATT_F32;
    bool by_pieces = side == ATT_QK_SIDE_KEY && input->dtype != ATT_F32; /* rowwise_score.c */
    return (in_place || by_pieces) && !att_projection_bias(p, side) ? ATT_PROJECTION_NONE
                                                                    : ATT_PROJECTION_COPY;
}

att_projection att_projection_kind(const att_problem *p, att_qk_side side)
{
    att_projection form = projections[p->options->score][side].form;
    bool given = form != ATT_PROJECTION_TRANSPOSED || att_projection_param(p, side);
    return given ? form : projected_form(p, side);
}

bool att_projection_has_matrix(const att_problem *p, att_qk_side side)
{
    att_projection form = att_projection_kind(p, side);
    return form == ATT_PROJECTION_MATRIX || form == ATT_PROJECTION_TRANSPOSED ||
           form == ATT_PROJECTION_VECTOR;
}

const att_tensor *att_projection_input(const att_problem *p, att_qk_side side)
{
    return side == ATT_QK_SIDE_QUERY ? p->in->query : p->in->key;
}

att_slot att_projection_slot(const att_problem *p, att_qk_side side)
{
    return projections[p->options->score][side].slot;
}

const att_tensor *att_projection_param(const att_problem *p, att_qk_side side)
{
    return att_problem_input(p->in, att_projection_slot(p, side));
}

int64_t att_projection_heads(const att_problem *p, att_qk_side side)
{
    bool per_head =
        att_projection_has_matrix(p, side) && att_projection_param(p, side)->shape[0] != 1;
    return side == ATT_QK_SIDE_QUERY || per_head ? p->H : p->G;
}

int64_t att_projection_input_head(const att_problem *p, att_qk_side side, int64_t n)
{
    int64_t heads = att_projection_input(p, side)->shape[2];
    return n / (att_projection_heads(p, side) / heads);
}

/* ---------------------------------------------------------------- rows and matrices */

att_tensor att_tensor_matrix(const void *data, int64_t rows, int64_t columns, int64_t row_stride,
                             int64_t column_stride)
{
    return (att_tensor){ .data = (void *)(uintptr_t)data,
                         .dtype = ATT_F32,
                         .rank = 2,
                         .shape = { rows, columns },
                         .stride = { row_stride, column_stride } };
}

att_tensor att_tensor_matrix_transpose(att_tensor t)
{
    return att_tensor_matrix(t.data, t.shape[1], t.shape[0], t.stride[1], t.stride[0]);
}

att_tensor att_head_matrix_copy(const att_tensor *t, int64_t head, float *to)
{
    int64_t N = t->shape[1], K = t->shape[3];
    for (int64_t b = 0; b < t->shape[0]; b++)
        for (int64_t n = 0; n < N; n++) {
            int64_t from = att_element_offset(t, b, n, head, 0);
            float *row = to + (b * N + n) * K;
            if (t->stride[3] == 1 && t->dtype == ATT_F32)
                memcpy(row, (const float *)t->data + from, (size_t)K * sizeof *row);
            else
                att_floats_get(att_kernels_get(), row, t, from, t->stride[3], (size_t)K);
        }
    return att_tensor_matrix(to, t->shape[0] * N, K, K, 1);
}

att_tensor att_head_matrix(const att_tensor *t, int64_t head, float *buffer)
{
    int64_t B = t->shape[0], N = t->shape[1], step = N == 1 ? t->stride[0] : t->stride[1];
    bool even = B == 1 || N == 1 || t->stride[0] == N * t->stride[1];
    if (!even || t->dtype != ATT_F32 || t->stride[3] != 1 || step < t->shape[3] || B * N == 0)
        return att_head_matrix_copy(t, head, buffer);
    return att_tensor_matrix((const float *)t->data + att_element_offset(t, 0, 0, head, 0), B * N,
                             t->shape[3], step, 1);
}

att_tensor att_transformed_head_matrix(const att_tensor *transformed, int64_t n)
{
    int64_t rows = transformed->shape[0] * transformed->shape[1], X = transformed->shape[3];
    return att_tensor_matrix((const float *)transformed->data + n * transformed->stride[2], rows, X,
                             X, 1);
}

att_tensor att_projection_matrix(const att_problem *p, att_qk_side side, const att_tensor *t,
                                 int64_t n)
{
    const float *data = t->data;
    int64_t first = side == ATT_QK_SIDE_KEY ? p->Kq : 0;
    data += t->shape[0] == 1 ? 0 : n * t->stride[0];
    switch (att_projection_kind(p, side)) {
    case ATT_PROJECTION_VECTOR:
        return att_tensor_matrix(data + first * t->stride[1],
                                 side == ATT_QK_SIDE_KEY ? p->Kk : p->Kq, 1, t->stride[1], 1);
    case ATT_PROJECTION_TRANSPOSED:
        return att_tensor_matrix(data, t->shape[2], t->shape[1], t->stride[2], t->stride[1]);
    default:
        return att_tensor_matrix(data, t->shape[1], t->shape[2], t->stride[1], t->stride[2]);
    }
}

att_status att_matmul_any_stride(att_tensor c, att_tensor a, att_tensor b,
                                 const att_matmul_options *options, att_error *err)
{
    bool plain = b.stride[0] >= 0 && b.stride[1] >= 0 &&
                 (b.stride[0] == 1 || b.stride[1] == 1 || b.shape[0] <= 1 || b.shape[1] <= 1);
    if (plain)
        return att_matmul(&c, &a, &b, options, err);
    att_tensor copy;
    ATT_TRY(att_tensor_copy(&copy, &b, ATT_F32, err));
    att_status status = att_matmul(&c, &a, &copy, options, err);
    att_tensor_free(&copy);
    return status;
}

/* Squares of floats neither overflow nor underflow in double. */
double att_row_l2_norm(const float *row, int64_t count)
{
    double sum = 0;
    for (int64_t c = 0; c < count; c++)
        sum += (double)row[c] * (double)row[c];
    return sqrt(sum);
}

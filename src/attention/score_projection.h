/* Parts of the score transform (score_transform.h): which parameter projects queries or keys, and
 * rows and matrices as tensors of rank 2, as att_matmul() takes them. */
#ifndef ATT_ATTENTION_SCORE_PROJECTION_H
#define ATT_ATTENTION_SCORE_PROJECTION_H

#include "attention/score_transform.h"

typedef enum att_qk_side { ATT_QK_SIDE_QUERY, ATT_QK_SIDE_KEY, ATT_QK_SIDE_COUNT } att_qk_side;

/* How rows of width K become transformed rows of width X. */
typedef enum att_projection {
    ATT_PROJECTION_NONE,       /* rows are used as they are */
    ATT_PROJECTION_MATRIX,     /* times a parameter [H|1,K,X] */
    ATT_PROJECTION_TRANSPOSED, /* times a parameter [H|1,X,K], transposed */
    ATT_PROJECTION_VECTOR,     /* times a part of a vector [H|1,Kq+Kk]; X is 1 */
    ATT_PROJECTION_UNIT_NORM,  /* divided by their lengths */
    ATT_PROJECTION_COPY,       /* copied into contiguous rows; the bias is added */
} att_projection;

att_projection att_projection_kind(const att_problem *p, att_qk_side side);
bool att_projection_has_matrix(const att_problem *p, att_qk_side side);
const att_tensor *att_projection_input(const att_problem *p, att_qk_side side);
att_slot att_projection_slot(const att_problem *p, att_qk_side side);
const att_tensor *att_projection_param(const att_problem *p, att_qk_side side);

/* The number of heads of transformed rows: that of the input, or H where each query head has its
 * own parameter; and the input head that a transformed head comes from. */
int64_t att_projection_heads(const att_problem *p, att_qk_side side);
int64_t att_projection_input_head(const att_problem *p, att_qk_side side, int64_t n);

att_tensor att_tensor_matrix(const void *data, int64_t rows, int64_t columns, int64_t row_stride,
                             int64_t column_stride);
att_tensor att_tensor_matrix_transpose(att_tensor t);

/* Rows [B*N, K] of one head of a tensor [B,N,heads,K]: copied; or in place if equally spaced, else
 * copied. */
att_tensor att_head_matrix_copy(const att_tensor *t, int64_t head, float *to);
att_tensor att_head_matrix(const att_tensor *t, int64_t head, float *buffer);

/* The bias that is added to transformed rows, or NULL. */
const att_tensor *att_projection_bias(const att_problem *p, att_qk_side side);

/* Rows [B*N, X] of transformed head n. */
att_tensor att_transformed_head_matrix(const att_tensor *transformed, int64_t n);

/* The matrix [K, X] in head n of a parameter, or of its gradient. */
att_tensor att_projection_matrix(const att_problem *p, att_qk_side side, const att_tensor *t,
                                 int64_t n);

/* c = a b for any strides of b. */
att_status att_matmul_any_stride(att_tensor c, att_tensor a, att_tensor b,
                                 const att_matmul_options *options, att_error *err);

/* The length of a vector, summed in double. */
double att_row_l2_norm(const float *row, int64_t count);

#endif

/* Parts of a fold (fold.h): which parameter takes which rows to folded ones, and rows and matrices
 * as tensors of rank 2, as the matrix product wants them. */
#ifndef ATT_ATTENTION_FOLD_PARTS_H
#define ATT_ATTENTION_FOLD_PARTS_H

#include "attention/fold.h"

typedef enum att_side { ATT_SIDE_QUERY, ATT_SIDE_KEY, ATT_SIDES } att_side;

/* How a parameter is a matrix [K, X] that takes rows to folded ones. */
typedef enum att_form {
    ATT_FORM_NONE,   /* rows stay as they are */
    ATT_FORM_MATRIX, /* the parameter is [H|1,K,X], */
    ATT_FORM_TURNED, /* [H|1,X,K], */
    ATT_FORM_VECTOR, /* or a part of [H|1,Kq+Kk], and X is 1 */
    ATT_FORM_UNIT,   /* no parameter: rows are divided by their lengths, */
    ATT_FORM_COPY,   /* or brought together, and the bias is added */
} att_form;

att_form att_fold_form(const att_problem *p, att_side side);
bool att_fold_has_matrix(const att_problem *p, att_side side);
const att_tensor *att_fold_input(const att_problem *p, att_side side);
att_slot att_fold_slot(const att_problem *p, att_side side);
const att_tensor *att_fold_parameter(const att_problem *p, att_side side);

/* Heads of folded rows: those of the input, or more where each head has its own parameter; and
 * which of the input's heads a folded one comes from. */
int64_t att_fold_heads(const att_problem *p, att_side side);
int64_t att_fold_input_head(const att_problem *p, att_side side, int64_t n);

att_tensor att_matrix(const void *data, int64_t rows, int64_t columns, int64_t row_stride,
                      int64_t column_stride);
att_tensor att_matrix_turned(att_tensor t);

/* Rows [B*N, K] of one head of a tensor [B,N,heads,K]: copied together; or where they lie, if they
 * lie evenly, else copied. */
att_tensor att_fold_copy_rows(const att_tensor *t, int64_t head, float *to);
att_tensor att_fold_rows(const att_tensor *t, int64_t head, float *room);

/* The bias that is added to folded rows, or NULL. */
const att_tensor *att_fold_bias(const att_problem *p, att_side side);

/* Rows [B*N, X] of folded head n. */
att_tensor att_folded_rows(const att_tensor *folded, int64_t n);

/* The matrix [K, X] in head n of a parameter, or of its gradient. */
att_tensor att_fold_matrix(const att_problem *p, att_side side, const att_tensor *t, int64_t n);

/* c = a b, whatever the strides of b. */
att_status att_fold_product(att_tensor c, att_tensor a, att_tensor b, const att_product_how *how,
                            att_error *err);

double att_row_length(const float *row, int64_t count);

#endif

/* Construction, selection and concatenation of a sheet's matrices. Labels and masks are kept. All
 * functions return NULL when memory is out. */
#ifndef ATT_SHEET_MATRIX_H
#define ATT_SHEET_MATRIX_H

#include "sheet/trace.h"

/* A matrix of zeros; NULL also when the size overflows. */
att_matrix *att_matrix_new(att_arena *arena, int64_t rows, int64_t cols);

att_matrix *att_matrix_scalar(att_arena *arena, double value);

/* A matrix of zeros of the same shape, with the same labels and mask. */
att_matrix *att_matrix_like(att_arena *arena, const att_matrix *from);

att_matrix *att_matrix_transpose(att_arena *arena, const att_matrix *from);

/* The selected rows and columns, counted from 0, in the given order; NULL: all. */
att_matrix *att_matrix_select(att_arena *arena, const att_matrix *from, const int64_t *rows,
                              int64_t row_count, const int64_t *cols, int64_t col_count);

/* Concatenation side by side (equal row counts) and vertically (equal column counts). */
att_matrix *att_matrix_hstack(att_arena *arena, const att_matrix *const *parts, size_t count);
att_matrix *att_matrix_vstack(att_arena *arena, const att_matrix *const *parts, size_t count);

/* A matrix with other labels that shares the numbers. */
att_matrix *att_matrix_with_labels(att_arena *arena, const att_matrix *from,
                                   const char *const *row_labels, const char *const *col_labels);

/* The largest magnitude of its finite numbers and of the terms that made them. */
double att_matrix_largest(const att_matrix *matrix);

bool att_matrix_is_scalar(const att_matrix *matrix);

#endif

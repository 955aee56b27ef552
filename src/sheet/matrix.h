/* Making, rearranging and joining the matrices of a sheet. Labels and masks go along. All return
 * NULL when memory is out. */
#ifndef ATT_SHEET_MATRIX_H
#define ATT_SHEET_MATRIX_H

#include "sheet/function.h"

att_tensor_matrix *att_matrix_scalar(att_arena *arena, double value);

/* A matrix of zeros of the same shape, with the same labels and mask. */
att_tensor_matrix *att_matrix_like(att_arena *arena, const att_tensor_matrix *from);

att_tensor_matrix *att_matrix_transpose(att_arena *arena, const att_tensor_matrix *from);

/* The chosen rows and columns, counted from 0, in the order given; NULL: all of them. */
att_tensor_matrix *att_matrix_select(att_arena *arena, const att_tensor_matrix *from,
                                     const int64_t *rows, int64_t row_count, const int64_t *cols,
                                     int64_t col_count);

/* Side by side (equal row counts) and one above the other (equal column counts). */
att_tensor_matrix *att_matrix_hstack(att_arena *arena, const att_tensor_matrix *const *parts,
                                     size_t count);
att_tensor_matrix *att_matrix_vstack(att_arena *arena, const att_tensor_matrix *const *parts,
                                     size_t count);

/* A copy of the head alone, with other labels; the numbers are shared. */
att_tensor_matrix *att_matrix_with_labels(att_arena *arena, const att_tensor_matrix *from,
                                          const char *const *row_labels,
                                          const char *const *col_labels);

bool att_matrix_is_scalar(const att_tensor_matrix *matrix);

#endif

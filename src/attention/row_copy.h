/* Keys or values as the kernels read them: in place, or as a copy of a block, made once for all
 * tiles that use it. A copy is needed for rows that are not contiguous float32. It pays for rows
 * that lie a multiple of 512 bytes apart, as those of a head in [B,S,H,K] often do: they fall into
 * few sets of the first-level cache, and a block of them does not fit there. The copy changes no
 * bit of a result. */
#ifndef ATT_ATTENTION_ROW_COPY_H
#define ATT_ATTENTION_ROW_COPY_H

#include "attention/head_rows.h"
#include "attention/sequence.h"
#include "attention/workspace.h"

typedef struct att_row_copy {
    float *rows;         /* [keys][stride]; NULL: rows are used in place */
    size_t stride;       /* an odd number of cache lines, so that columns use all sets */
    int64_t keys;        /* in a block; blocks count from the first key of a sequence */
    int64_t b, g, first; /* the block that is there; first is -1 where there is none */
} att_row_copy;

/* Whether the rows of a head fall into few sets of the first-level cache. */
bool att_rows_collide(const att_tensor *tensor);

/* Room for a copy of `keys` rows at a time where it is needed, or where it pays since `sharing`
 * tiles use each block. */
att_row_copy att_row_copy_alloc(att_workspace *workspace, const att_tensor *tensor, int64_t keys,
                                int64_t sharing);

/* Rows from … from+count-1 of a head, all in one block. */
att_matrix_view att_row_copy_get(att_row_copy *copy, const att_tensor *tensor,
                                 const att_sequence_head *head, int64_t from, size_t count);

#endif

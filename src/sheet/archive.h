/* Array files that a sheet reads (.npy, .npz, .safetensors): opening them and copying a matrix
 * out. */
#ifndef ATT_SHEET_ARCHIVE_H
#define ATT_SHEET_ARCHIVE_H

#include "sheet/eval.h"

/* An open file: the single array of a .npy, or the named arrays of a .npz or .safetensors. */
typedef struct att_archive {
    const char *file; /* as written in the sheet */
    att_tensor single;
    att_bundle *bundle; /* NULL: a single array */
} att_archive;

/* Opens `file`, relative to the sheet's folder; errors point at `node`. Close it even after a
 * failure. */
att_status att_archive_open(const att_scope *scope, const att_expr *node, const char *file,
                            att_archive *out);
void att_archive_close(att_archive *archive);

/* The array called `name`, which must be NULL for a .npy. The error lists the names in the file. */
att_status att_archive_get(const att_scope *scope, const att_expr *node, const att_archive *archive,
                           const char *name, const att_tensor **out);

/* Copies the array, with its first `count` dimensions fixed at the indices `at` (from 0), as a
 * matrix. A scalar becomes 1 × 1, a vector one row; leading dimensions of size 1 are dropped. *out
 * is NULL if more than two dimensions are left. False when memory is out. */
bool att_archive_matrix(att_arena *arena, const att_tensor *tensor, const int64_t *at, int count,
                        const att_matrix **out);

/* Reads the indices behind `at` of a load node, counted from 0, and checks them against the
 * shape. */
att_status att_archive_read_at(const att_scope *scope, const att_expr *node,
                               const att_tensor *tensor, int64_t at[ATT_MAX_RANK], int *count);

/* Evaluates: load "file" ("name") (at i j …). */
att_status att_eval_load(const att_scope *scope, const att_expr *node, att_value *out);

#endif

/* Arrays in files beside a sheet: opening them, and taking a matrix out. */
#ifndef ATT_SHEET_ARCHIVE_H
#define ATT_SHEET_ARCHIVE_H

#include "sheet/eval.h"

/* An opened file: the one array of a .npy, or the named ones of a .npz or .safetensors. */
typedef struct att_archive {
    const char *file; /* as written in the sheet */
    att_tensor single;
    att_bundle *bundle; /* NULL: a single array */
} att_archive;

/* Opens `file`, relative to the sheet's folder; errors are at `node`. Close it in any case. */
att_status att_archive_open(const att_scope *scope, const att_expr *node, const char *file,
                            att_archive *out);
void att_archive_close(att_archive *archive);

/* The array called `name`, which is NULL for that of a .npy; fails with the names there are. */
att_status att_archive_get(const att_scope *scope, const att_expr *node, const att_archive *archive,
                           const char *name, const att_tensor **out);

/* A copy of the array with its first dimensions fixed at `at` (from 0) as a matrix: a number is
 * 1 × 1, a list of numbers a row, leading dimensions of size 1 do not count. NULL with *out for
 * more dimensions than two; false when memory is out. */
bool att_archive_matrix(att_arena *arena, const att_tensor *tensor, const int64_t *at, int count,
                        const att_matrix **out);

/* load "file" ("name") (at i j …). */
att_status att_eval_load(const att_scope *scope, const att_expr *node, att_value *out);

#endif

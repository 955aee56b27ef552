/* Reads .npy, .npz and .safetensors files for `load` and `compare`, with errors that list the
 * arrays of a file and suggest the nearest name. */
#include "sheet/archive.h"

#include "base/quote.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>

/* ---- Opening */

/* Reports a failure of the file at the statement that names it. */
static att_status fail_file(const att_scope *scope, const att_expr *node, const char *file,
                            const att_error *error)
{
    if (error->status == ATT_NO_MEMORY)
        return att_fail_memory(scope->err);
    att_scope_fail(scope, node, "%.200s: %s", file, error->message);
    if (scope->err)
        scope->err->status = error->status;
    return error->status;
}

static bool has_ending(const char *file, const char *ending)
{
    size_t length = strlen(file);
    size_t tail = strlen(ending);
    return length >= tail && strcmp(file + length - tail, ending) == 0;
}

/* Records a file that the sheet reads, so that no output overwrites it. */
static bool record_file(att_sheet *sheet, const char *path)
{
    bool full = (sheet->file_count & (sheet->file_count - 1)) == 0;
    if (full) {
        size_t room = sheet->file_count ? sheet->file_count * 2 : 1;
        const char **files = att_arena_alloc(&sheet->arena, room, sizeof *files);
        if (!files)
            return false;
        if (sheet->file_count > 0)
            memcpy(files, sheet->files, sheet->file_count * sizeof *files);
        sheet->files = files;
    }
    sheet->files[sheet->file_count++] = path;
    return true;
}

att_status att_archive_open(const att_scope *scope, const att_expr *node, const char *file,
                            att_archive *out)
{
    *out = (att_archive){ .file = file };
    if (!scope->folder)
        return att_scope_fail(
            scope, node,
            "cannot load '%.200s': the sheet was not read from a file, so it has no folder", file);
    const char *path =
        file[0] == '/' ? file : att_arena_printf(scope->arena, "%s/%s", scope->folder, file);
    if (!path || !record_file(scope->sheet, path))
        return att_fail_memory(scope->err);
    att_error error = { .message = "" };
    att_status status = has_ending(file, ".npy") ? att_npy_load(&out->single, path, &error)
                                                 : att_bundle_load(&out->bundle, path, &error);
    return status == ATT_OK ? ATT_OK : fail_file(scope, node, file, &error);
}

void att_archive_close(att_archive *archive)
{
    att_tensor_free(&archive->single);
    att_bundle_free(archive->bundle);
}

/* ---- Finding an array */

enum { NAMES_SHOWN = 4, NAMES_TEXT = NAMES_SHOWN * (ATT_QUOTED_SIZE + 4) + 8 };

/* The first names in the file: "'q', 'k', 'v', …". */
static const char *list_names(char out[NAMES_TEXT], const att_bundle *bundle)
{
    size_t count = att_bundle_count(bundle);
    int length = 0;
    strcpy(out, "no array");
    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++) {
        char quoted[ATT_QUOTED_SIZE];
        const char *name = att_bundle_name(bundle, i);
        length += snprintf(out + length, NAMES_TEXT - (size_t)length, "%s'%s'", i ? ", " : "",
                           att_quote(quoted, name, strlen(name)));
    }
    if (count > NAMES_SHOWN)
        strcpy(out + length, ", …");
    return out;
}

/* The name in the file that is nearest to `name`, or NULL. */
static const char *nearest_name(const att_bundle *bundle, const char *name)
{
    enum { MAX_NAMES = 256 };
    const char *known[MAX_NAMES];
    size_t count = 0;
    for (; count < MAX_NAMES && count < att_bundle_count(bundle); count++)
        known[count] = att_bundle_name(bundle, count);
    return att_suggest(name, known, count);
}

static att_status fail_name(const att_scope *scope, const att_expr *node,
                            const att_archive *archive, const char *name)
{
    char list[NAMES_TEXT];
    char quoted[ATT_QUOTED_SIZE];
    list_names(list, archive->bundle);
    if (!name)
        return att_scope_fail(scope, node,
                              "%.200s holds %zu arrays: expected the name of one in quotes after "
                              "it (%s)",
                              archive->file, att_bundle_count(archive->bundle), list);
    const char *near = nearest_name(archive->bundle, name);
    if (near)
        return att_scope_fail(scope, node, "%.200s has no array '%.80s': did you mean '%s'?",
                              archive->file, name, att_quote(quoted, near, strlen(near)));
    return att_scope_fail(scope, node, "%.200s has no array '%.80s': it holds %s", archive->file,
                          name, list);
}

att_status att_archive_get(const att_scope *scope, const att_expr *node, const att_archive *archive,
                           const char *name, const att_tensor **out)
{
    if (!archive->bundle && name)
        return att_scope_fail(
            scope, node,
            "%.200s holds a single array without a name: expected no name, found '%.80s'",
            archive->file, name);
    if (!archive->bundle)
        *out = &archive->single;
    else
        *out = name ? att_bundle_get(archive->bundle, name) : NULL;
    return *out ? ATT_OK : fail_name(scope, node, archive, name);
}

/* ---- Copying a matrix */

static double element(const att_tensor *tensor, int64_t at)
{
    return tensor->dtype == ATT_F32 ? (double)((const float *)tensor->data)[at]
                                    : ((const double *)tensor->data)[at];
}

bool att_archive_matrix(att_arena *arena, const att_tensor *tensor, const int64_t *at, int count,
                        const att_matrix **out)
{
    int64_t start = 0;
    int first = 0; /* the first dimension that remains */
    for (; first < count; first++)
        start += at[first] * tensor->stride[first];
    while (tensor->rank - first > 2 && tensor->shape[first] == 1)
        first++;
    int left = tensor->rank - first;
    *out = NULL;
    if (left > 2)
        return true;
    int64_t rows = left == 2 ? tensor->shape[first] : 1;
    int64_t cols = left >= 1 ? tensor->shape[tensor->rank - 1] : 1;
    int64_t row_stride = left == 2 ? tensor->stride[first] : 0;
    int64_t col_stride = left >= 1 ? tensor->stride[tensor->rank - 1] : 0;
    att_matrix *matrix = att_matrix_new(arena, rows, cols);
    if (!matrix)
        return false;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            matrix->data[i * cols + j] = element(tensor, start + i * row_stride + j * col_stride);
    *out = matrix;
    return true;
}

/* ---- load */

att_status att_archive_read_at(const att_scope *scope, const att_expr *node,
                               const att_tensor *tensor, int64_t at[ATT_MAX_RANK], int *count)
{
    *count = (int)node->children - 2;
    if (*count > tensor->rank)
        return att_scope_fail(scope, node->child[2 + tensor->rank],
                              "the array has %d dimension%s, found %d indices", tensor->rank,
                              tensor->rank == 1 ? "" : "s", *count);
    for (int i = 0; i < *count; i++) {
        double index = node->child[2 + i]->number;
        if (!(index >= 1 && index <= (double)tensor->shape[i]) || index != (double)(int64_t)index)
            return att_scope_fail(
                scope, node->child[2 + i],
                "index %.12g is out of range: dimension %d of the array has size %lld", index,
                i + 1, (long long)tensor->shape[i]);
        at[i] = (int64_t)index - 1;
    }
    return ATT_OK;
}

static att_status load_matrix(const att_scope *scope, const att_expr *node,
                              const att_archive *archive, att_value *out)
{
    const att_expr *name = node->child[1];
    const att_tensor *tensor = NULL;
    int64_t at[ATT_MAX_RANK];
    int count = 0;
    *out = (att_value){ .kind = ATT_VALUE_MATRIX };
    ATT_TRY(att_archive_get(scope, name ? name : node->child[0], archive, name ? name->text : NULL,
                            &tensor));
    ATT_TRY(att_archive_read_at(scope, node, tensor, at, &count));
    if (!att_archive_matrix(scope->arena, tensor, at, count, &out->matrix))
        return att_fail_memory(scope->err);
    char shape[ATT_SHAPE_STRING_SIZE];
    if (!out->matrix)
        return att_scope_fail(scope, node,
                              "the array has the shape %s: expected 'at' and an index for each of "
                              "its first %d dimensions",
                              att_shape_to_string(shape, tensor->rank, tensor->shape),
                              tensor->rank - 2);
    return ATT_OK;
}

att_status att_eval_load(const att_scope *scope, const att_expr *node, att_value *out)
{
    att_archive archive;
    att_status status = att_archive_open(scope, node->child[0], node->child[0]->text, &archive);
    if (status == ATT_OK)
        status = load_matrix(scope, node, &archive, out);
    att_archive_close(&archive);
    return status;
}

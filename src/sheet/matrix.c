/* Matrices of a sheet in an arena: construction, selection and concatenation, with labels and
 * masks. */
#include "sheet/matrix.h"

#include <math.h>
#include <string.h>

/* Limits on the sides of a matrix. Memory does not limit a side of a matrix without elements; these
 * limits keep loops along it short and prevent overflow of products and sums of sizes. */
#define MAX_DIMENSION       (INT64_C(1) << 28)
#define MAX_EMPTY_DIMENSION (INT64_C(1) << 20)

static bool fits(int64_t rows, int64_t cols)
{
    int64_t max = rows == 0 || cols == 0 ? MAX_EMPTY_DIMENSION : MAX_DIMENSION;
    return rows >= 0 && cols >= 0 && rows <= max && cols <= max;
}

att_matrix *att_matrix_new(att_arena *arena, int64_t rows, int64_t cols)
{
    if (!fits(rows, cols)) {
        arena->limit_reached = true;
        return NULL;
    }
    att_matrix *matrix = att_arena_alloc(arena, 1, sizeof *matrix);
    double *data =
        matrix ? att_arena_alloc(arena, (size_t)rows * (size_t)cols, sizeof *data) : NULL;
    if (!data)
        return NULL;
    *matrix = (att_matrix){ .rows = rows, .cols = cols, .data = data };
    return matrix;
}

att_matrix *att_matrix_scalar(att_arena *arena, double value)
{
    att_matrix *matrix = att_matrix_new(arena, 1, 1);
    if (matrix)
        matrix->data[0] = value;
    return matrix;
}

att_matrix *att_matrix_like(att_arena *arena, const att_matrix *from)
{
    att_matrix *matrix = att_matrix_new(arena, from->rows, from->cols);
    if (!matrix)
        return NULL;
    matrix->row_labels = from->row_labels;
    matrix->col_labels = from->col_labels;
    matrix->allowed = from->allowed;
    matrix->numbered = from->numbered;
    matrix->magnitude = from->magnitude;
    return matrix;
}

double att_matrix_largest(const att_matrix *matrix)
{
    double largest = matrix->magnitude;
    for (int64_t i = 0; i < matrix->rows * matrix->cols; i++)
        if (isfinite(matrix->data[i]))
            largest = fmax(largest, fabs(matrix->data[i]));
    return largest;
}

att_matrix *att_matrix_with_labels(att_arena *arena, const att_matrix *from,
                                   const char *const *row_labels, const char *const *col_labels)
{
    att_matrix *matrix = att_arena_alloc(arena, 1, sizeof *matrix);
    if (!matrix)
        return NULL;
    *matrix = *from;
    matrix->row_labels = row_labels;
    matrix->col_labels = col_labels;
    matrix->numbered = false;
    return matrix;
}

bool att_matrix_is_scalar(const att_matrix *matrix)
{
    return matrix->rows == 1 && matrix->cols == 1;
}

static bool copy_mask(att_arena *arena, att_matrix *to, const att_matrix *from)
{
    if (!from->allowed)
        return true;
    uint8_t *mask = att_arena_alloc(arena, (size_t)(to->rows * to->cols), 1);
    to->allowed = mask;
    return mask != NULL;
}

att_matrix *att_matrix_transpose(att_arena *arena, const att_matrix *from)
{
    att_matrix *to = att_matrix_new(arena, from->cols, from->rows);
    if (!to || !copy_mask(arena, to, from))
        return NULL;
    uint8_t *mask = (uint8_t *)to->allowed;
    for (int64_t i = 0; i < to->rows; i++) {
        for (int64_t j = 0; j < to->cols; j++) {
            to->data[i * to->cols + j] = from->data[j * from->cols + i];
            if (mask)
                mask[i * to->cols + j] = from->allowed[j * from->cols + i];
        }
    }
    to->row_labels = from->col_labels;
    to->col_labels = from->row_labels;
    to->numbered = from->numbered;
    to->magnitude = from->magnitude;
    return to;
}

/* ---- Selection */

/* Copies the selected labels to *out, which stays NULL if there are no labels. */
static bool choose_labels(att_arena *arena, const char *const *labels, const int64_t *chosen,
                          int64_t count, const char *const **out)
{
    if (!labels || !chosen) {
        *out = labels;
        return true;
    }
    const char **copy = att_arena_alloc(arena, (size_t)count, sizeof *copy);
    if (!copy)
        return false;
    for (int64_t i = 0; i < count; i++)
        copy[i] = labels[chosen[i]];
    *out = copy;
    return true;
}

att_matrix *att_matrix_select(att_arena *arena, const att_matrix *from, const int64_t *rows,
                              int64_t row_count, const int64_t *cols, int64_t col_count)
{
    att_matrix *to =
        att_matrix_new(arena, rows ? row_count : from->rows, cols ? col_count : from->cols);
    if (!to || !copy_mask(arena, to, from))
        return NULL;
    uint8_t *mask = (uint8_t *)to->allowed;
    for (int64_t i = 0; i < to->rows; i++) {
        for (int64_t j = 0; j < to->cols; j++) {
            int64_t at = (rows ? rows[i] : i) * from->cols + (cols ? cols[j] : j);
            to->data[i * to->cols + j] = from->data[at];
            if (mask)
                mask[i * to->cols + j] = from->allowed[at];
        }
    }
    to->numbered = from->numbered;
    to->magnitude = from->magnitude;
    bool labeled = choose_labels(arena, from->row_labels, rows, row_count, &to->row_labels) &&
                   choose_labels(arena, from->col_labels, cols, col_count, &to->col_labels);
    return labeled ? to : NULL;
}

/* ---- Concatenation */

/* The labels of a part that a larger matrix takes over: positions are not. */
static const char *const *labels_of(const att_matrix *part, bool of_rows)
{
    if (part->numbered)
        return NULL;
    return of_rows ? part->row_labels : part->col_labels;
}

/* Concatenates the labels of all parts; *out stays NULL if no part has labels. */
static bool join_labels(att_arena *arena, const att_matrix *const *parts, size_t count,
                        bool of_rows, int64_t total, const char *const **out)
{
    bool any = false;
    for (size_t p = 0; p < count; p++)
        any = any || labels_of(parts[p], of_rows);
    if (!any)
        return true;
    const char **labels = att_arena_alloc(arena, (size_t)total, sizeof *labels);
    if (!labels)
        return false;
    int64_t at = 0;
    for (size_t p = 0; p < count; p++) {
        const char *const *from = labels_of(parts[p], of_rows);
        int64_t length = of_rows ? parts[p]->rows : parts[p]->cols;
        for (int64_t i = 0; i < length; i++)
            labels[at++] = from ? from[i] : NULL;
    }
    *out = labels;
    return true;
}

/* The labels along the side that all parts share: those of the first part that has labels. */
static const char *const *shared_labels(const att_matrix *const *parts, size_t count, bool of_rows)
{
    const char *const *labels = NULL;
    for (size_t p = 0; p < count && !labels; p++)
        labels = labels_of(parts[p], of_rows);
    return labels;
}

static double largest_magnitude(const att_matrix *const *parts, size_t count)
{
    double largest = 0;
    for (size_t p = 0; p < count; p++)
        largest = fmax(largest, parts[p]->magnitude);
    return largest;
}

att_matrix *att_matrix_hstack(att_arena *arena, const att_matrix *const *parts, size_t count)
{
    int64_t cols = 0;
    for (size_t p = 0; p < count; p++)
        cols += parts[p]->cols;
    att_matrix *to = att_matrix_new(arena, count ? parts[0]->rows : 0, cols);
    if (!to || !join_labels(arena, parts, count, false, cols, &to->col_labels))
        return NULL;
    to->row_labels = shared_labels(parts, count, true);
    to->magnitude = largest_magnitude(parts, count);
    int64_t at = 0;
    for (size_t p = 0; p < count; p++) {
        const att_matrix *part = parts[p];
        for (int64_t i = 0; i < to->rows && part->cols > 0; i++)
            memcpy(to->data + i * cols + at, part->data + i * part->cols,
                   (size_t)part->cols * sizeof(double));
        at += part->cols;
    }
    return to;
}

att_matrix *att_matrix_vstack(att_arena *arena, const att_matrix *const *parts, size_t count)
{
    int64_t rows = 0;
    for (size_t p = 0; p < count; p++)
        rows += parts[p]->rows;
    att_matrix *to = att_matrix_new(arena, rows, count ? parts[0]->cols : 0);
    if (!to || !join_labels(arena, parts, count, true, rows, &to->row_labels))
        return NULL;
    to->col_labels = shared_labels(parts, count, false);
    to->magnitude = largest_magnitude(parts, count);
    double *at = to->data;
    for (size_t p = 0; p < count; p++) {
        size_t length = (size_t)(parts[p]->rows * parts[p]->cols);
        if (length > 0)
            memcpy(at, parts[p]->data, length * sizeof(double));
        at += length;
    }
    return to;
}

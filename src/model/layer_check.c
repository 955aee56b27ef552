/* The search for the layer whose output is not finite (layer_check.h). */
#include "model/layer_check.h"

#include "base/error.h"
#include "kern/kern.h"
#include "tape/op.h"

#include <math.h>
#include <stdio.h>

/* Elements first … first + count - 1 of a node. */
typedef struct node_range {
    const att_node *node;
    int64_t first, count;
} node_range;

/* The index of the first element of the range that is not finite; -1: all are. */
static int64_t find_not_finite(node_range range)
{
    const float *values = range.node->value + range.first;
    const att_matrix_view view = {
        .data = values, .rows = 1, .columns = (size_t)range.count, .stride = (ptrdiff_t)range.count
    };
    if (range.count == 0 || att_kernels_get()->all_finite(view) > 0)
        return -1;
    int64_t i = 0;
    while (isfinite(values[i]))
        i++;
    return i;
}

static att_status fail(const att_node *node, float value, int64_t row, att_error *err)
{
    char name[64];
    if (node && node->layer_number > 0)
        snprintf(name, sizeof name, "%s %d", node->layer, node->layer_number);
    else
        snprintf(name, sizeof name, "%s", node ? node->layer : "output layer");
    att_status status = att_fail(err, ATT_BAD_INPUT, NULL,
                                 "%s: its output is not finite (%s); the weights of the model are "
                                 "too large or damaged",
                                 name,
                                 isnan(value) ? "nan"
                                 : value > 0  ? "inf"
                                              : "-inf");
    if (err)
        err->line = (int)row + 1;
    return status;
}

/* Fails where the range has a value that is not finite. */
static att_status check_range(node_range range, int64_t row, att_error *err)
{
    int64_t at = find_not_finite(range);
    return at < 0 ? ATT_OK : fail(range.node, range.node->value[range.first + at], row, err);
}

/* The part of a node that belongs to a row, where rows come first ([rows,…] or [1,rows,…]); else
 * the whole node. */
static node_range row_range(const att_node *node, int64_t row, int64_t rows)
{
    bool first = node->rank > 0 && node->shape[0] == rows;
    bool second = node->rank > 1 && node->shape[0] == 1 && node->shape[1] == rows;
    int64_t width = rows > 0 ? node->count / rows : 0;
    return first || second ? (node_range){ node, row * width, width }
                           : (node_range){ node, 0, node->count };
}

att_status att_layer_fail(const att_tape *tape, int64_t row, int64_t rows, double found,
                          att_error *err)
{
    for (const att_node *node = att_tape_first_layer(tape); node; node = node->next_layer)
        ATT_TRY(check_range(row_range(node, row, rows), row, err));
    return fail(NULL, (float)found, row, err);
}

/* The part of a node that belongs to source `r`: packed sequences end to end, or padded rows. */
static node_range source_range(const att_node *node, const att_sources *sources, int64_t r,
                               int64_t offset, int64_t tokens)
{
    bool sequences = node->rank == 3 && sources->length > 0;
    int64_t width = att_node_last_dim(node);
    if (sequences && node->shape[0] == 1 && node->shape[1] == tokens)
        return (node_range){ node, offset * width, sources->lengths[r] * width };
    node_range range = row_range(node, r, sources->rows);
    if (sequences && node->shape[0] == sources->rows && node->shape[1] == sources->length)
        range.count = sources->lengths[r] * width;
    return range;
}

att_status att_layer_check_encoded(const att_tape *tape, const att_sources *sources, att_error *err)
{
    int64_t tokens = 0;
    for (int64_t r = 0; r < sources->rows; r++)
        tokens += sources->length > 0 ? sources->lengths[r] : 0;
    for (const att_node *node = att_tape_first_layer(tape); node; node = node->next_layer) {
        int64_t offset = 0;
        for (int64_t r = 0; r < sources->rows; r++) {
            ATT_TRY(check_range(source_range(node, sources, r, offset, tokens), r, err));
            offset += sources->length > 0 ? sources->lengths[r] : 0;
        }
    }
    return ATT_OK;
}

att_status att_layer_check(const att_tape *tape, att_error *err)
{
    for (const att_node *node = att_tape_first_layer(tape); node; node = node->next_layer)
        ATT_TRY(check_range((node_range){ node, 0, node->count }, -1, err));
    return ATT_OK;
}

att_status att_layer_check_losses(const att_tape *tape, const att_loss_result *result, int64_t rows,
                                  att_error *err)
{
    if (isfinite(result->loss))
        return ATT_OK;
    int64_t row = 0;
    while (row + 1 < rows && isfinite(result->rows[row].loss))
        row++;
    return att_layer_fail(tape, row, rows, -result->rows[row].loss, err);
}

void att_layer_error_line(att_status status, const int64_t *indices, att_error *err)
{
    if (status == ATT_BAD_INPUT && err && err->line > 0)
        err->line = indices ? (int)indices[err->line - 1] + 1 : 0;
}

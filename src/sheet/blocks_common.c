/* A layer and its parts; reading arguments and options with errors that name them. */
#include "sheet/blocks.h"

#include "sheet/matrix.h"
#include "sheet/rounding.h"
#include "sheet/source.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const orientations[] = { "rows", "columns", NULL };

att_status att_sheet_layer_start(att_sheet_layer *layer, const att_call *call, size_t parts)
{
    *layer = (att_sheet_layer){ .call = call, .part_capacity = parts };
    size_t orientation = 0;
    ATT_TRY(att_option_word(call, "vectors", orientations, &orientation));
    layer->columns = orientation == 1;
    layer->parts = att_arena_alloc(call->arena, parts, sizeof *layer->parts);
    return layer->parts ? ATT_OK : att_fail_memory(call->err);
}

att_status att_sheet_layer_add(att_sheet_layer *layer, const att_trace_part *part)
{
    if (!part->value || layer->part_count == layer->part_capacity)
        return att_fail_memory(layer->call->err);
    layer->parts[layer->part_count++] = *part;
    return ATT_OK;
}

void att_sheet_layer_finish(const att_sheet_layer *layer, att_value *out)
{
    *out = (att_value){ .kind = ATT_VALUE_RECORD,
                        .matrix = layer->parts[layer->part_count - 1].value,
                        .parts = layer->parts,
                        .part_count = layer->part_count };
}

const att_matrix *att_sheet_layer_orient(const att_sheet_layer *layer, const att_matrix *matrix)
{
    if (!layer->columns || !matrix)
        return matrix;
    return att_matrix_transpose(layer->call->arena, matrix);
}

att_status att_sheet_layer_check_cost(const att_call *call, double multiplications)
{
    if (multiplications <= ATT_MAX_MULTIPLICATIONS)
        return ATT_OK;
    return att_call_fail(call, NULL, "%s: %.2g multiplications are more than a sheet may take",
                         call->function->name, multiplications);
}

att_matrix *att_sheet_layer_linear(const att_sheet_layer *layer, const att_matrix *x,
                                   const att_matrix *w, const char *name,
                                   att_calculations *calculations)
{
    att_arena *arena = layer->call->arena;
    const att_matrix *a = layer->columns ? w : x;
    const att_matrix *b = layer->columns ? x : w;
    att_matrix *product = att_matrix_new(arena, a->rows, b->cols);
    if (!product)
        return NULL;
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t j = 0; j < b->cols; j++) {
            double sum = 0.0;
            for (int64_t l = 0; l < a->cols; l++)
                sum += a->data[i * a->cols + l] * b->data[l * b->cols + j];
            product->data[i * b->cols + j] = sum;
        }
    }
    att_rounding_apply(layer->call->rounding, product);
    product->row_labels = a->numbered ? NULL : a->row_labels;
    product->col_labels = b->numbered ? NULL : b->col_labels;
    product->magnitude = att_matrix_largest(a) * att_matrix_largest(b);
    if (calculations &&
        att_calculations_add_matmul(calculations, arena, name, a, b, product, NULL) != ATT_OK)
        return NULL;
    return product;
}

att_expr *att_sheet_layer_linear_formula(const att_sheet_layer *layer, att_expr *x, att_expr *w)
{
    return layer->columns ? att_make_binary(layer->call->arena, ATT_OP_MULTIPLY, w, x)
                          : att_make_binary(layer->call->arena, ATT_OP_MULTIPLY, x, w);
}

const char *att_formula_drop_absent(att_arena *arena, const char *text, bool b, bool b_h)
{
    char *out = att_arena_alloc(arena, strlen(text) + 1, 1);
    bool keep = true;
    size_t length = 0;
    for (; out && *text; text++) {
        if (strchr("<>{}", *text))
            keep = *text == '<' ? b : *text == '{' ? b_h : true;
        else if (keep)
            out[length++] = *text;
    }
    return out; /* the matrix starts as zeros */
}

/* ---------------------------------------------------------------- arguments */

enum { MAX_NAME_LENGTH = 32 }; /* a longer expression would hide the message */

const char *att_argument_name(const att_call *call, const att_expr *node, const char *usage_name)
{
    char quote[ATT_QUOTE_SIZE];
    if (node->kind == ATT_EXPR_NAME)
        return node->text;
    if (node->kind == ATT_EXPR_MATRIX || node->kind == ATT_EXPR_LIST ||
        node->kind == ATT_EXPR_NUMBER)
        return usage_name;
    size_t length = strlen(att_sheet_source_quote(call->source, node, quote));
    return length > MAX_NAME_LENGTH ? usage_name : att_arena_strndup(call->arena, quote, length);
}

att_status att_argument_check(const att_call *call, const att_argument *argument)
{
    const att_matrix *m = argument->matrix;
    if (m->rows > 0 && m->cols > 0)
        return ATT_OK;
    return att_call_fail(call, argument->node, "%s: %s is empty (%" PRId64 " × %" PRId64 ")",
                         call->function->name, argument->name, m->rows, m->cols);
}

att_status att_argument_get(const att_call *call, size_t index, const char *usage_name,
                            att_argument *out)
{
    att_expr *node = call->node->child[index];
    *out = (att_argument){ .name = att_argument_name(call, node, usage_name), .node = node };
    if (!out->name)
        return att_fail_memory(call->err);
    ATT_TRY(att_call_matrix(call, index, &out->matrix));
    return att_argument_check(call, out);
}

att_status att_argument_check_linear(const att_sheet_layer *layer, const att_argument *x,
                                     const att_argument *w)
{
    const att_argument *a = layer->columns ? w : x;
    const att_argument *b = layer->columns ? x : w;
    if (a->matrix->cols == b->matrix->rows)
        return att_sheet_layer_check_cost(layer->call, (double)a->matrix->rows *
                                                           (double)a->matrix->cols *
                                                           (double)b->matrix->cols);
    return att_call_fail(layer->call, w->node,
                         "%s: %s is %" PRId64 " × %" PRId64 " and %s is %" PRId64 " × %" PRId64
                         ": %s * %s needs the columns of %s to match the rows of %s, but %" PRId64
                         " ≠ %" PRId64,
                         layer->call->function->name, x->name, x->matrix->rows, x->matrix->cols,
                         w->name, w->matrix->rows, w->matrix->cols, a->name, b->name, a->name,
                         b->name, a->matrix->cols, b->matrix->rows);
}

att_status att_argument_vector(const att_call *call, size_t index, const char *usage_name,
                               int64_t length, const att_matrix **out)
{
    *out = NULL;
    if (index >= call->arg_count)
        return ATT_OK;
    att_argument argument;
    ATT_TRY(att_argument_get(call, index, usage_name, &argument));
    *out = argument.matrix;
    bool vector = argument.matrix->rows == 1 || argument.matrix->cols == 1;
    if (vector && argument.matrix->rows * argument.matrix->cols == length)
        return ATT_OK;
    return att_call_fail(
        call, argument.node,
        "%s: %s is %" PRId64 " × %" PRId64 ", but a vector of %" PRId64 " was expected",
        call->function->name, argument.name, argument.matrix->rows, argument.matrix->cols, length);
}

/* ---------------------------------------------------------------- options */

const att_expr *att_option_node(const att_call *call, const char *name)
{
    for (size_t i = call->arg_count; i < call->node->children; i++) {
        const att_expr *option = call->node->child[i];
        if (option->kind == ATT_EXPR_OPTION && strcmp(option->text, name) == 0)
            return option->children > 0 ? option->child[0] : option;
    }
    return NULL;
}

att_status att_option_number(const att_call *call, const char *name, double *out)
{
    const att_value *value = att_call_option(call, name);
    if (!value)
        return ATT_OK;
    const att_expr *at = att_option_node(call, name);
    if (value->kind != ATT_VALUE_MATRIX || value->matrix->rows != 1 || value->matrix->cols != 1)
        return att_call_fail(call, at, "%s: %s takes a number", call->function->name, name);
    if (!isfinite(value->matrix->data[0]))
        return att_call_fail(call, at, "%s: %s must be finite, not %g", call->function->name, name,
                             value->matrix->data[0]);
    *out = value->matrix->data[0];
    return ATT_OK;
}

att_status att_option_integer(const att_call *call, const char *name, int64_t min, int64_t max,
                              int64_t *out)
{
    if (!att_call_option(call, name))
        return ATT_OK;
    double number = 0.0;
    ATT_TRY(att_option_number(call, name, &number));
    if (number != floor(number) || number < (double)min || number > (double)max)
        return att_call_fail(call, att_option_node(call, name),
                             "%s: %s takes a whole number from %" PRId64 " to %" PRId64 ", not %g",
                             call->function->name, name, min, max, number);
    *out = (int64_t)number;
    return ATT_OK;
}

att_status att_option_word(const att_call *call, const char *name, const char *const *words,
                           size_t *out)
{
    const att_value *value = att_call_option(call, name);
    if (!value)
        return ATT_OK;
    for (size_t i = 0; words[i] && value->kind == ATT_VALUE_WORD; i++) {
        if (strcmp(words[i], value->word) == 0) {
            *out = i;
            return ATT_OK;
        }
    }
    /* The evaluator has checked the word against the table of options; this catches a word that is
     * in the table but not in `words`. */
    return att_call_fail(call, att_option_node(call, name), "%s: %s does not accept this word",
                         call->function->name, name);
}

/* Rounded steps. */
#include "sheet/rounding.h"

#include "base/math.h"
#include "base/minmax.h"
#include "reference/rounding.h"

#include <stdio.h>
#include <string.h>

double att_rounding_number(const att_rounding *rounding, double x)
{
    if (!rounding)
        return x;
    /* On paper -1.2 · 1.5 + 5.5 · 0.3 is -0.15; in binary it is slightly less: decimals far behind
     * are round-off, and go first. */
    double unit = att_pow(10, rounding->decimals);
    x = att_reference_round(x, unit * 1e9);
    return rounding->cut ? att_reference_cut(x, unit) : att_reference_round(x, unit);
}

void att_rounding_apply(const att_rounding *rounding, att_matrix *matrix)
{
    for (int64_t i = 0; rounding && matrix && i < matrix->rows * matrix->cols; i++)
        matrix->data[i] = att_rounding_number(rounding, matrix->data[i]);
}

const att_matrix *att_rounding_copy(att_arena *arena, const att_rounding *rounding,
                                    const att_matrix *from)
{
    att_matrix *copy = att_matrix_like(arena, from);
    if (!copy)
        return NULL;
    for (int64_t i = 0; i < from->rows * from->cols; i++)
        copy->data[i] = att_rounding_number(rounding, from->data[i]);
    return copy;
}

bool att_rounding_is_step(const att_expr *node)
{
    /* Functions that only move numbers or make whole ones. */
    static const char *const moves[] = { "transpose", "permute", "zeros",  "ones",  "identity",
                                         "shape",     "round",   "where",  "diag",  "sort",
                                         "topk",      "onehot",  "random", "argmax" };
    if (node->kind != ATT_EXPR_CALL)
        return node->kind == ATT_EXPR_BINARY;
    for (size_t i = 0; i < ATT_COUNT(moves); i++)
        if (strcmp(node->text, moves[i]) == 0)
            return false;
    return true;
}

const char *att_rounding_describe(const att_rounding *rounding, char out[ATT_ROUNDING_WORDS])
{
    snprintf(out, ATT_ROUNDING_WORDS, "each step %s to %d decimal%s",
             rounding->cut ? "cut" : "rounded", rounding->decimals,
             rounding->decimals == 1 ? "" : "s");
    return out;
}

/* How sheets show normalizers: formula, description, and the calculation of one weight over the
 * keys that the query may attend. */
#include "sheet/blocks.h"

#include <math.h>

static bool may_attend(const att_sheet_head *head, int64_t i, int64_t j)
{
    return !head->allowed || head->allowed[i * head->key->rows + j];
}

static double score_at(const att_sheet_head *head, int64_t i, int64_t j)
{
    return head->scores->data[i * head->scores->cols + j];
}

static double weight_at(const att_sheet_head *head, int64_t i, int64_t j)
{
    return head->weights->data[i * head->weights->cols + j];
}

static att_expr *number(att_arena *arena, double value)
{
    return att_make_number(arena, value);
}

/* f(e_1) + f(e_2) + … over the keys that query i may attend; f NULL: identity. */
static att_expr *write_sum_of(att_arena *arena, const att_sheet_head *head, int64_t i,
                              const char *f)
{
    att_expr_sum sum = { .arena = arena };
    for (int64_t j = 0; j < head->key->rows; j++) {
        if (!may_attend(head, i, j))
            continue;
        att_expr *term = number(arena, score_at(head, i, j));
        att_expr_sum_add(&sum, f ? att_make_call(arena, f, term) : term);
    }
    return sum.expr;
}

static att_expr *write_softmax(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    att_expr *top = att_make_call(arena, "exp", number(arena, score_at(head, i, j)));
    return att_make_binary(arena, ATT_OP_DIVIDE, top, write_sum_of(arena, head, i, "exp"));
}

static att_expr *write_mean(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    int64_t keys = 0;
    for (int64_t l = 0; l < head->key->rows; l++)
        keys += may_attend(head, i, l);
    return att_make_binary(arena, ATT_OP_DIVIDE, number(arena, score_at(head, i, j)),
                           number(arena, (double)keys));
}

static att_expr *write_sum(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    return att_make_binary(arena, ATT_OP_DIVIDE, number(arena, score_at(head, i, j)),
                           write_sum_of(arena, head, i, NULL));
}

static att_expr *write_sigmoid(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    return att_make_call(arena, "sigmoid", number(arena, score_at(head, i, j)));
}

/* The key with the largest weight: it determines the threshold most accurately. */
static int64_t largest_weight(const att_sheet_head *head, int64_t i)
{
    int64_t best = 0;
    for (int64_t j = 1; j < head->key->rows; j++)
        if (weight_at(head, i, j) > weight_at(head, i, best))
            best = j;
    return best;
}

/* relu(e - t), with the threshold t that makes the weights add up to 1. */
static att_expr *write_sparsemax(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    int64_t best = largest_weight(head, i);
    double threshold = score_at(head, i, best) - weight_at(head, i, best);
    return att_make_call(arena, "relu",
                         att_make_binary(arena, ATT_OP_SUBTRACT,
                                         number(arena, score_at(head, i, j)),
                                         number(arena, threshold)));
}

/* relu(e/2 - t)^2, with the threshold t that makes the weights add up to 1. */
static att_expr *write_entmax(att_arena *arena, const att_sheet_head *head, int64_t i, int64_t j)
{
    int64_t best = largest_weight(head, i);
    double threshold = score_at(head, i, best) / 2.0 - sqrt(weight_at(head, i, best));
    att_expr *half = att_make_binary(arena, ATT_OP_DIVIDE, number(arena, score_at(head, i, j)),
                                     number(arena, 2.0));
    att_expr *above = att_make_binary(arena, ATT_OP_SUBTRACT, half, number(arena, threshold));
    return att_make_binary(arena, ATT_OP_POWER, att_make_call(arena, "relu", above),
                           number(arena, 2.0));
}

const att_normalizer_spec att_normalizer_specs[ATT_NORMALIZER_COUNT] = {
    [ATT_NORMALIZE_SOFTMAX] = { ATT_NORMALIZE_SOFTMAX, "softmax(scores)",
                                "the scores of each query become weights that add up to 1",
                                write_softmax },
    [ATT_NORMALIZE_MEAN] = { ATT_NORMALIZE_MEAN, "scores / n_k",
                             "each score divided by the number of keys its query may attend",
                             write_mean },
    [ATT_NORMALIZE_SPARSEMAX] = { ATT_NORMALIZE_SPARSEMAX, "sparsemax(scores)",
                                  "the part of each score above a threshold; weights add up to 1, "
                                  "many are 0",
                                  write_sparsemax },
    [ATT_NORMALIZE_ENTMAX15] = { ATT_NORMALIZE_ENTMAX15, "entmax(scores)",
                                 "1.5-entmax, between softmax and sparsemax; weights add up to 1",
                                 write_entmax },
    [ATT_NORMALIZE_SIGMOID] = { ATT_NORMALIZE_SIGMOID, "sigmoid(scores)",
                                "each score separately becomes a weight between 0 and 1",
                                write_sigmoid },
    [ATT_NORMALIZE_SUM] = { ATT_NORMALIZE_SUM, "scores / sum(scores, rows)",
                            "each score divided by the sum of the scores of its query", write_sum },
    [ATT_NORMALIZE_NONE] = { ATT_NORMALIZE_NONE, "scores", "the weights are the scores", NULL },
};

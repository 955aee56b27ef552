/* Attention as by hand: products, scores, weights and output are rounded one after the other
 * (rounding.h). The vectors of the head were rounded before. */
#include "sheet/blocks.h"

#include "attention/normalize.h"
#include "base/math.h"
#include "sheet/rounding.h"

#include <math.h>
#include <stdlib.h>

static double dot(int64_t count, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static const double *row_of(const att_matrix *m, int64_t row)
{
    return m->data + row * m->cols;
}

/* The parameter's product with a vector, rounded: element a of W q. */
static double project(const att_rounding *rounding, const att_matrix *w, int64_t a, const double *x)
{
    return att_rounding_number(rounding, dot(w->cols, row_of(w, a), x));
}

/* A score whose inner results are rounded too. */
static double inner_score(const att_rounding *rounding, att_score score, const att_sheet_head *head,
                          int64_t i, int64_t j)
{
    const double *q = row_of(head->query, i), *k = row_of(head->key, j);
    const att_matrix *w = head->param[ATT_PARAM_W], *b = head->param[ATT_PARAM_B];
    double sum = 0;
    for (int64_t a = 0; a < w->rows; a++) {
        if (score == ATT_SCORE_GENERAL)
            sum += q[a] * project(rounding, w, a, k);
        else
            sum +=
                head->param[ATT_PARAM_V]->data[a] *
                att_tanh(project(rounding, w, a, q) +
                         project(rounding, head->param[ATT_PARAM_U], a, k) + (b ? b->data[a] : 0));
    }
    return sum;
}

/* The scores before scale, soft cap and bias. */
static void round_products(const att_rounding *rounding, att_score score,
                           const att_sheet_head *head, att_matrix *products)
{
    bool inner = score == ATT_SCORE_GENERAL || score == ATT_SCORE_ADDITIVE;
    for (int64_t i = 0; inner && i < products->rows; i++)
        for (int64_t j = 0; j < products->cols; j++)
            if (isfinite(products->data[i * products->cols + j]))
                products->data[i * products->cols + j] = inner_score(rounding, score, head, i, j);
    att_rounding_apply(rounding, products);
}

/* A score from its rounded product. */
static double scaled_score(const att_attention_options *options, const att_sheet_head *head,
                           int64_t i, int64_t j)
{
    double x = head->raw_scores->data[i * head->raw_scores->cols + j];
    if (options->scale != 0)
        x *= options->scale;
    else if (options->score == ATT_SCORE_SCALED)
        x /= sqrt((double)head->key->cols);
    if (options->soft_cap != 0)
        x = options->soft_cap * att_tanh(x / options->soft_cap);
    if (head->bias)
        x += att_broadcast_at(head->bias, i, j);
    if (head->alibi_slope != 0)
        x -= head->alibi_slope * (double)llabs(i + options->offset - j);
    return x;
}

/* The weights of query i from its rounded scores; `scratch` has room for the keys three times. */
static void round_weights(const att_rounding *rounding, att_normalizer normalizer,
                          att_sheet_head *head, int64_t i, double *scratch)
{
    int64_t keys = head->key->rows, count = 0;
    double *weights = head->weights->data + i * keys;
    double *scores = scratch, *out = scratch + keys;
    for (int64_t j = 0; j < keys; j++)
        if (!head->allowed || head->allowed[i * keys + j])
            scores[count++] = head->scores->data[i * keys + j];
    if (count > 0)
        att_normalizer_get(normalizer)->forward(out, scores, count, out + keys);
    count = 0;
    for (int64_t j = 0; j < keys; j++)
        if (!head->allowed || head->allowed[i * keys + j])
            weights[j] = att_rounding_number(rounding, out[count++]);
}

static void round_output(const att_rounding *rounding, att_sheet_head *head, int64_t i)
{
    int64_t keys = head->key->rows, width = head->value->cols;
    for (int64_t m = 0; m < width; m++) {
        double sum = 0;
        for (int64_t j = 0; j < keys; j++)
            if (!head->allowed || head->allowed[i * keys + j])
                sum += head->weights->data[i * keys + j] * head->value->data[j * width + m];
        head->output->data[i * width + m] = att_rounding_number(rounding, sum);
    }
}

att_status att_sheet_head_round(const att_sheet_layer *layer, const att_sheet_attention *attention,
                                att_sheet_head *head, att_matrix *products)
{
    const att_rounding *rounding = layer->call->rounding;
    const att_attention_options *options = &attention->options;
    int64_t keys = head->key->rows;
    double *scratch = att_arena_alloc(layer->call->arena, (size_t)keys * 4, sizeof *scratch);
    if (!scratch)
        return att_fail_memory(layer->call->err);
    round_products(rounding, options->score, head, products ? products : head->scores);
    for (int64_t i = 0; i < head->query->rows; i++) {
        for (int64_t j = 0; products && j < keys; j++)
            if (isfinite(head->scores->data[i * keys + j]))
                head->scores->data[i * keys + j] =
                    att_rounding_number(rounding, scaled_score(options, head, i, j));
        round_weights(rounding, options->normalizer, head, i, scratch);
        round_output(rounding, head, i);
    }
    return ATT_OK;
}

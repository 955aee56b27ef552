/* Attention under a scenario (scenario.h): its stages one after the other, products, scores,
 * weights, output, each with the student's numbers or a slip where the scenario has one. A stage is
 * computed again only if something before it has changed.
 *
 * The reference computes the stages here too. With the products (or scores) as queries and an
 * identity matrix as keys, the dot product of query i and key j is the number of that pair, so
 * scale, soft cap, bias, mask and normalizer can be applied to numbers that come from elsewhere. */
#include "sheet/blocks.h"
#include "sheet/scenario.h"

#include "base/math.h"

#include <math.h>
#include <string.h>

struct stage {
    const att_sheet_layer *layer;
    const att_attention_options *options; /* with the masks */
    att_sheet_head *head;
    bool changed; /* a number differs from the plain computation */
    bool masked_late;
};

static bool makes(const struct stage *stage, att_slip slip)
{
    return att_slip_is_made(stage->layer->call->scenario, slip, stage->layer->call->node, 0);
}

static att_matrix *identity(att_arena *arena, int64_t size)
{
    att_matrix *to = att_matrix_new(arena, size, size);
    for (int64_t i = 0; to && i < size; i++)
        to->data[i * size + i] = 1;
    return to;
}

/* Puts the pairs through `options`; masked pairs may hold anything. */
static att_status run_on_pairs(const struct stage *stage, const att_attention_options *options,
                               const att_matrix *pairs, bool with_bias, att_matrix *scores,
                               att_matrix *weights)
{
    att_arena *arena = stage->layer->call->arena;
    att_matrix *finite = att_matrix_new(arena, pairs->rows, pairs->cols);
    att_sheet_head bare = { .query = finite,
                            .key = identity(arena, pairs->cols),
                            .value = att_matrix_new(arena, pairs->cols, 1),
                            .bias = with_bias ? stage->head->bias : NULL,
                            .alibi_slope = with_bias ? stage->head->alibi_slope : 0.0 };
    att_matrix *output = att_matrix_new(arena, pairs->rows, 1);
    if (!finite || !bare.key || !bare.value || !output)
        return att_fail_memory(stage->layer->call->err);
    for (int64_t i = 0; i < pairs->rows * pairs->cols; i++)
        finite->data[i] = isfinite(pairs->data[i]) ? pairs->data[i] : 0;
    return att_sheet_head_reference(stage->layer, options, &bare, scores, weights, output);
}

/* ---- Products */

/* q k instead of q k': possible where there are as many keys as a key has elements. */
static att_matrix *multiply_untransposed(att_arena *arena, const att_sheet_head *head)
{
    const att_matrix *q = head->query, *k = head->key;
    att_matrix *to = att_matrix_new(arena, q->rows, k->cols);
    for (int64_t i = 0; to && i < q->rows; i++)
        for (int64_t j = 0; j < k->cols; j++)
            for (int64_t l = 0; l < k->rows; l++)
                to->data[i * k->cols + j] += q->data[i * q->cols + l] * k->data[l * k->cols + j];
    return to;
}

/* The numbers of the pairs before scale, soft cap, bias and mask. */
static att_status find_products(struct stage *stage, const att_matrix **out)
{
    att_sheet_head *head = stage->head;
    att_arena *arena = stage->layer->call->arena;
    const att_matrix *raw = head->raw_scores;
    bool dot = stage->options->score == ATT_SCORE_DOT || stage->options->score == ATT_SCORE_SCALED;
    bool square = dot && head->key->rows == head->key->cols && head->query->cols == head->key->rows;
    if (!raw) {
        att_matrix *plain = att_matrix_new(arena, head->query->rows, head->key->rows);
        att_matrix *output = att_matrix_new(arena, head->query->rows, head->value->cols);
        if (!plain || !output)
            return att_fail_memory(stage->layer->call->err);
        const att_attention_options options = { .size = sizeof(att_attention_options),
                                                .score = stage->options->score,
                                                .normalizer = ATT_NORMALIZE_NONE };
        ATT_TRY(att_sheet_head_reference(stage->layer, &options, head, plain, NULL, output));
        raw = plain;
    }
    const att_matrix *changed = raw;
    if (square && makes(stage, ATT_SLIP_NOT_TRANSPOSED))
        changed = multiply_untransposed(arena, head);
    if (head->raw_scores)
        changed = att_scenario_part(stage->layer->call, "products", head->number, changed);
    if (!changed)
        return att_fail_memory(stage->layer->call->err);
    stage->changed = changed != raw;
    if (head->raw_scores)
        head->raw_scores = changed;
    *out = changed;
    return ATT_OK;
}

/* ---- Scores */

static double scale_of(const struct stage *stage)
{
    const att_attention_options *options = stage->options;
    if (options->scale != 0.0)
        return options->scale;
    return options->score == ATT_SCORE_SCALED ? 1 / sqrt((double)stage->head->key->cols) : 1;
}

static att_status find_scores(struct stage *stage, const att_matrix *products)
{
    const att_call *call = stage->layer->call;
    att_sheet_head *head = stage->head;
    att_attention_options options = *stage->options;
    double scale = scale_of(stage);
    bool unscaled = scale != 1 && makes(stage, ATT_SLIP_NO_SCALE);
    bool squared = options.score == ATT_SCORE_SCALED && options.scale == 0.0 && scale != 1 &&
                   makes(stage, ATT_SLIP_SCALE_NOT_ROOT);
    bool late = head->allowed && makes(stage, ATT_SLIP_MASK_LATE);
    bool missing = head->allowed && makes(stage, ATT_SLIP_MASK_MISSING);
    bool zero = head->allowed && makes(stage, ATT_SLIP_MASK_ZERO);
    if (stage->changed || unscaled || squared || late || missing || zero) {
        att_matrix *scores = att_matrix_like(call->arena, head->scores);
        options.score = ATT_SCORE_DOT;
        options.normalizer = ATT_NORMALIZE_NONE;
        options.scale = unscaled ? 1 : squared ? scale * scale : scale;
        if (late || missing || zero) {
            options.causal = false;
            options.window = false;
            options.key_lengths = NULL;
            options.mask = NULL;
        }
        if (!scores)
            return att_fail_memory(call->err);
        ATT_TRY(run_on_pairs(stage, &options, products, true, scores, NULL));
        for (int64_t i = 0; zero && i < scores->rows * scores->cols; i++)
            if (!head->allowed[i])
                scores->data[i] = 0;
        head->scores = scores;
        stage->changed = true;
        stage->masked_late = late && !missing && !zero;
        if (missing || zero)
            head->allowed = NULL;
    }
    const att_matrix *given = att_scenario_part(call, "scores", head->number, head->scores);
    if (!given)
        return att_fail_memory(call->err);
    stage->changed = stage->changed || given != head->scores;
    head->scores = (att_matrix *)given;
    return ATT_OK;
}

/* ---- Weights */

/* The softmax of each column, or the exponents alone. */
static void weigh_otherwise(const att_sheet_head *head, bool columns, att_matrix *to)
{
    int64_t rows = to->rows, cols = to->cols;
    for (int64_t i = 0; i < rows * cols; i++) {
        bool allowed = !head->allowed || head->allowed[i];
        to->data[i] = allowed ? att_exp(head->scores->data[i]) : 0;
    }
    for (int64_t j = 0; columns && j < cols; j++) {
        double sum = 0;
        for (int64_t i = 0; i < rows; i++)
            sum += to->data[i * cols + j];
        for (int64_t i = 0; sum > 0 && i < rows; i++)
            to->data[i * cols + j] /= sum;
    }
}

static att_status weigh(const struct stage *stage, att_matrix *to)
{
    const att_sheet_head *head = stage->head;
    bool exponents = stage->options->normalizer == ATT_NORMALIZE_SOFTMAX;
    bool columns = exponents && makes(stage, ATT_SLIP_SOFTMAX_COLUMNS);
    if (columns || (exponents && makes(stage, ATT_SLIP_EXP_ONLY))) {
        weigh_otherwise(head, columns, to);
        return ATT_OK;
    }
    att_matrix *ignored = att_matrix_like(stage->layer->call->arena, to);
    att_attention_options options = { .size = sizeof(att_attention_options),
                                      .score = ATT_SCORE_DOT,
                                      .normalizer = stage->options->normalizer };
    if (head->allowed && !stage->masked_late) {
        options.mask = head->allowed;
        options.mask_stride[2] = to->cols;
        options.mask_stride[3] = 1;
    }
    if (!ignored)
        return att_fail_memory(stage->layer->call->err);
    ATT_TRY(run_on_pairs(stage, &options, head->scores, false, ignored, to));
    for (int64_t i = 0; stage->masked_late && i < to->rows * to->cols; i++)
        if (!head->allowed[i])
            to->data[i] = 0;
    return ATT_OK;
}

static att_status find_weights(struct stage *stage)
{
    const att_call *call = stage->layer->call;
    att_sheet_head *head = stage->head;
    bool exponents = stage->options->normalizer == ATT_NORMALIZE_SOFTMAX;
    bool columns = exponents &&
                   makes(stage, ATT_SLIP_SOFTMAX_COLUMNS); /* both are asked: each may be a place */
    bool exp_only = exponents && makes(stage, ATT_SLIP_EXP_ONLY);
    if (stage->changed || columns || exp_only) {
        att_matrix *weights = att_matrix_like(call->arena, head->weights);
        if (!weights)
            return att_fail_memory(call->err);
        ATT_TRY(weigh(stage, weights));
        head->weights = weights;
        stage->changed = true;
    }
    const att_matrix *given = att_scenario_part(call, "weights", head->number, head->weights);
    if (!given)
        return att_fail_memory(call->err);
    stage->changed = stage->changed || given != head->weights;
    head->weights = (att_matrix *)given;
    return ATT_OK;
}

/* ---- Output */

static att_status find_output(struct stage *stage)
{
    const att_call *call = stage->layer->call;
    att_sheet_head *head = stage->head;
    const att_matrix *w = head->weights, *v = head->value;
    bool turned = w->rows == w->cols && w->rows > 1 && makes(stage, ATT_SLIP_TRANSPOSED);
    if (stage->changed || turned) {
        att_matrix *output = att_matrix_like(call->arena, head->output);
        if (!output)
            return att_fail_memory(call->err);
        for (int64_t i = 0; i < w->rows; i++)
            for (int64_t l = 0; l < w->cols; l++)
                for (int64_t j = 0; j < v->cols; j++)
                    output->data[i * v->cols + j] +=
                        w->data[turned ? l * w->cols + i : i * w->cols + l] *
                        v->data[l * v->cols + j];
        head->output = output;
    }
    const att_matrix *shown = att_sheet_layer_orient(stage->layer, head->output);
    const att_matrix *given = att_scenario_part(call, "output", head->number, shown);
    if (!given)
        return att_fail_memory(call->err);
    if (given != shown)
        head->output = (att_matrix *)att_sheet_layer_orient(stage->layer, given);
    return head->output ? ATT_OK : att_fail_memory(call->err);
}

att_status att_sheet_head_apply_scenario(const att_sheet_layer *layer,
                                         const att_attention_options *options, att_sheet_head *head)
{
    struct stage stage = { .layer = layer, .options = options, .head = head };
    const att_matrix *products = NULL;
    if (!layer->call->scenario)
        return ATT_OK;
    ATT_TRY(find_products(&stage, &products));
    ATT_TRY(find_scores(&stage, products));
    ATT_TRY(find_weights(&stage));
    return find_output(&stage);
}

/* ---- Projections and several heads */

const att_matrix *att_scenario_product(const att_sheet_layer *layer, const char *part, int64_t head,
                                       const att_argument *x, const att_argument *w,
                                       const att_matrix *value)
{
    const att_call *call = layer->call;
    if (!call->scenario || !value || !w->matrix)
        return value;
    bool square = w->matrix->rows == w->matrix->cols && w->matrix->rows > 1;
    if (square && att_slip_is_made(call->scenario, ATT_SLIP_TRANSPOSED, w->node, 1)) {
        const att_matrix *turned = att_matrix_transpose(call->arena, w->matrix);
        value = turned ? att_sheet_layer_linear(layer, x->matrix, turned, part, NULL) : NULL;
    }
    return att_scenario_part(call, part, head, value);
}

static const att_matrix *add_heads(const att_sheet_layer *layer, const att_sheet_head *heads,
                                   int64_t count)
{
    const att_matrix *first = heads[0].output;
    att_matrix *sum = att_matrix_like(layer->call->arena, first);
    for (int64_t h = 0; sum && h < count; h++)
        for (int64_t i = 0; i < first->rows * first->cols; i++)
            sum->data[i] += heads[h].output->data[i];
    return att_sheet_layer_orient(layer, sum);
}

const att_matrix *att_scenario_heads(const att_sheet_layer *layer, const att_sheet_head *heads,
                                     int64_t count, const att_matrix *value)
{
    const att_call *call = layer->call;
    bool same = count > 1;
    if (!call->scenario || !value)
        return value;
    for (int64_t h = 1; h < count; h++)
        same = same && heads[h].output->cols == heads[0].output->cols;
    if (same && att_slip_is_made(call->scenario, ATT_SLIP_HEADS_ADDED, call->node, 0))
        value = add_heads(layer, heads, count);
    return value ? att_scenario_part(call, "heads", 0, value) : NULL;
}

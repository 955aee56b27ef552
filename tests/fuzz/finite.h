/* What a model returns with success is finite: weights that overflow give an error, never an
 * output. */
#ifndef TESTS_FUZZ_FINITE_H
#define TESTS_FUZZ_FINITE_H

#include "fuzz/fuzz.h"

#include <math.h>

/* Rounding of sums of probabilities and attention weights. */
#define FINITE_ROUNDING 1e-4

static inline void check_finite(const double *values, int64_t count)
{
    for (int64_t i = 0; values && i < count; i++)
        PROMISE(isfinite(values[i]));
}

static inline void check_probabilities(const double *values, int64_t count)
{
    for (int64_t i = 0; values && i < count; i++)
        PROMISE(values[i] >= 0 && values[i] <= 1 + FINITE_ROUNDING); /* so not NaN */
}

/* A log-probability of an output, a token or a text. */
static inline void check_score(double score)
{
    PROMISE(isfinite(score) && score <= FINITE_ROUNDING);
}

/* exp() of a finite loss is infinite where the loss is large. */
static inline void check_perplexity(double perplexity, double loss)
{
    PROMISE(isfinite(loss) && loss >= -FINITE_ROUNDING);
    PROMISE(isfinite(perplexity) ? perplexity >= 1 - FINITE_ROUNDING
                                 : perplexity > 0 && loss > 700);
}

/* A rate is NaN only where there was nothing to count. */
static inline void check_rate(double rate, double max, int64_t counted)
{
    if (counted > 0)
        PROMISE(rate >= 0 && rate <= max);
}

/* The result of an output and of the alternatives to it. */
static inline void check_output(const att_output *output)
{
    int64_t cells = output->target_count * output->source_count;
    check_score(output->score);
    PROMISE(isfinite(output->normalized_score));
    for (int64_t i = 0; i < output->target_count; i++)
        check_score(output->token_scores[i]);
    check_probabilities(output->weights, cells);
    check_probabilities(output->head_weights, output->layers * output->heads * cells);
    for (int64_t i = 0; i < output->alternative_count; i++)
        check_output(output->alternatives[i]);
}

static inline void check_prediction(const att_prediction *prediction)
{
    double sum = 0;
    check_probabilities(prediction->probabilities, prediction->label_count);
    for (int64_t i = 0; prediction->probabilities && i < prediction->label_count; i++)
        sum += prediction->probabilities[i];
    PROMISE(!prediction->probabilities || fabs(sum - 1) <= FINITE_ROUNDING);
    check_probabilities(prediction->weights, prediction->token_count);
    check_probabilities(prediction->head_weights, prediction->heads * prediction->token_count);
}

/* Log-probabilities of a step may be -inf for impossible tokens, but not for all. */
static inline void check_step(const att_session_output *out)
{
    for (int64_t r = 0; r < out->rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < out->vocab_size; i++)
            sum += exp((double)out->log_probs[r * out->vocab_size + i]);
        PROMISE(fabs(sum - 1) <= 1e-2); /* so none is NaN */
    }
    int64_t weights = out->rows * out->layers * out->heads * out->source_length;
    for (int64_t i = 0; out->attention && i < weights; i++)
        PROMISE(out->attention[i] >= 0 && out->attention[i] <= 1 + (float)FINITE_ROUNDING);
    for (int64_t i = 0; out->hidden && i < out->rows * out->hidden_size; i++)
        PROMISE(isfinite(out->hidden[i]));
}

static inline void check_map(const att_map *map)
{
    check_probabilities(map->weights, map->panels * map->queries * map->keys);
}

static inline void check_cells(const att_cells *cells)
{
    for (size_t i = 0; i < att_cells_count(cells); i++) {
        const att_cells_property *property = att_cells_get(cells, i);
        PROMISE(isfinite(property->mean));
        for (int64_t m = 0; m < property->match_count; m++) {
            const att_cell_match *match = property->matches[m];
            PROMISE(fabs(match->search_correlation) <= 1 + FINITE_ROUNDING);
            PROMISE(!(fabs(match->held_out_correlation) > 1 + FINITE_ROUNDING)); /* or NaN */
        }
    }
}

#endif

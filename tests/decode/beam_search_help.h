/* A small untrained model whose probabilities are far from uniform, and beam searches with it. */
#ifndef TESTS_DECODE_BEAM_SEARCH_HELP_H
#define TESTS_DECODE_BEAM_SEARCH_HELP_H

#include "decode/beam_search.h"
#include "model/model_help.h"

#include <math.h>
#include <stdlib.h>

/* Scales the parameters up, so that outputs differ and several tokens are probable. */
static inline void scene_shake(scene *s, float factor)
{
    for (size_t i = 0; i < s->model->params.size; i++)
        s->model->params.value[i] *= factor;
    att_params_mark_changed(&s->model->params);
}

static inline att_beam_search *search_new(scene *s, const att_decoding_options *options)
{
    att_beam_search *search;
    att_error err = { 0 };
    if (att_beam_search_new(&search, s->model, options, &err) != ATT_OK)
        fail_msg("%s", err.message);
    return search;
}

static inline void search_run(att_beam_search *search, const att_search_batch *task)
{
    att_error err = { 0 };
    if (att_beam_search_run(search, task, &err) != ATT_OK)
        fail_msg("%s", err.message);
}

/* The best hypothesis of a row. */
static inline const att_hypothesis *best_of(const att_beam_search *search, int64_t row)
{
    int64_t count;
    const att_hypothesis *found = att_beam_search_hypotheses(search, row, &count);
    assert_true(count > 0);
    return found;
}

#endif

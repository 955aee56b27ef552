/* Models that decode together as if they were one: the probability of a token is the mean of
 * theirs. One model alone is passed through. */
#ifndef ATT_DECODE_ENSEMBLE_H
#define ATT_DECODE_ENSEMBLE_H

#include "model/model.h"

typedef struct att_ensemble att_ensemble;

/* Whether models can work together; where their kinds or vocabularies differ, ATT_BAD_INPUT says
 * which model's. */
att_status att_ensemble_check(const att_model *model, att_model *const *with, size_t count,
                              att_error *err);

/* A model and those that it decodes with, under that check; all are borrowed, and each decodes for
 * nobody else meanwhile. */
att_status att_ensemble_new(att_ensemble **out, const att_model *model, att_model *const *with,
                            size_t with_count, att_error *err);
void att_ensemble_free(att_ensemble *ensemble);

/* As those of an att_decoder. What is looked at is what the first of the models with attention
 * looks at. */
att_status att_ensemble_start(att_ensemble *ensemble, const att_sources *sources, bool want_weights,
                              att_error *err);
att_status att_ensemble_step(att_ensemble *ensemble, int64_t rows, const int32_t *tokens,
                             const int64_t *order, att_decoder_output *out, att_error *err);

/* Target tokens. */
int64_t att_ensemble_vocabulary(const att_ensemble *ensemble);

#endif

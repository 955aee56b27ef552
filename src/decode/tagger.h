/* Labels of the tokens of a batch of sentences, by one tagger or an ensemble. In an ensemble the
 * probability of a label is the mean over the models, and the most probable label of each token is
 * taken. */
#ifndef ATT_DECODE_TAGGER_H
#define ATT_DECODE_TAGGER_H

#include "model/tagger.h"

typedef struct att_tagger att_tagger;

/* ATT_BAD_INPUT where a model is not a tagger, or where vocabularies differ. The models must
 * outlive it. */
att_status att_tagger_new(att_tagger **out, const att_model *model, att_model *const *ensemble,
                          size_t ensemble_count, att_error *err);
void att_tagger_free(att_tagger *tagger);

/* Tags the sources; the result is valid until the next call. */
att_status att_tagger_tag(att_tagger *tagger, const att_sources *sources, att_tagger_output *out,
                          att_error *err);

#endif

/* The pictures of a corpus and all that is said of each: what a model's one answer to a picture is
 * measured against. */
#ifndef ATT_EVAL_CAPTION_EVAL_H
#define ATT_EVAL_CAPTION_EVAL_H

#include "eval/corpus_eval.h"

/* How many pictures something is said of. */
att_status att_caption_eval_image_count(int64_t *out, const att_corpus *corpus, att_error *err);

/* Lets the model answer every picture that something is said of, in their order. Of the captions of
 * a picture the one with the fewest edits counts. Adds to *tally; how->texts is by place in that
 * order, and so is how->each afterwards: what it had of each caption is added up. */
att_status att_caption_eval_outputs(att_token_metrics *tally, const att_model *model,
                                    const att_corpus *corpus, const att_corpus_eval_options *how,
                                    att_error *err);

/* Scores those answers against all captions, whose text the corpus has kept. */
att_status att_caption_eval_score(att_metric_scores **out, const char *const *names, size_t count,
                                  const char *const *answers, const att_corpus *corpus,
                                  const att_metric_options *how, att_error *err);

#endif

/* Models that sort, asked as any other; see judge.h. */
#include "decode/classifier.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

struct att_classifier {
    att_ensemble *ensemble;
    int64_t labels;
    int32_t *bos_tokens;    /* [rows] what a decoder is given first */
    float *label_log_probs; /* [rows,labels] log-probabilities of labels alone */
    size_t row_capacity;    /* rows of both */
};

size_t att_model_label_count(const att_model *model)
{
    if (att_model_type_get(model) != ATT_MODEL_CLASSIFIER)
        return 0;
    return (size_t)(att_vocab_size(model->target_vocab) - ATT_ID_FIRST);
}

const char *att_model_label(const att_model *model, size_t index)
{
    if (index >= att_model_label_count(model))
        return NULL;
    return att_vocab_token(model->target_vocab, ATT_ID_FIRST + (int32_t)index);
}

att_status att_classifier_new(att_classifier **out, const att_model *model, att_model *const *with,
                              size_t with_count, att_error *err)
{
    *out = NULL;
    if (att_model_type_get(model) != ATT_MODEL_CLASSIFIER)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model gives no labels: it is a %s",
                        model->architecture->name);
    att_classifier *judge = att_alloc_zero(1, sizeof *judge);
    if (!judge)
        return att_fail_memory(err);
    judge->labels = (int64_t)att_model_label_count(model);
    att_status status = att_ensemble_new(&judge->ensemble, model, with, with_count, err);
    if (status == ATT_OK)
        *out = judge;
    else
        att_classifier_free(judge);
    return status;
}

void att_classifier_free(att_classifier *judge)
{
    if (!judge)
        return;
    att_ensemble_free(judge->ensemble);
    att_free(judge->bos_tokens);
    att_free(judge->label_log_probs);
    att_free(judge);
}

static att_status reserve_rows(att_classifier *judge, size_t rows, att_error *err)
{
    if (rows <= judge->row_capacity)
        return ATT_OK;
    att_free(judge->bos_tokens);
    att_free(judge->label_log_probs);
    judge->bos_tokens = att_alloc(rows, sizeof *judge->bos_tokens);
    judge->label_log_probs =
        att_alloc(rows, (size_t)judge->labels * sizeof *judge->label_log_probs);
    judge->row_capacity = judge->bos_tokens && judge->label_log_probs ? rows : 0;
    return judge->row_capacity > 0 ? ATT_OK : att_fail_memory(err);
}

att_status att_classifier_run(att_classifier *judge, const att_sources *sources, bool want_weights,
                              att_classifier_output *out, att_error *err)
{
    att_decoder_output decoded;
    int64_t rows = sources->rows, vocabulary = att_ensemble_vocabulary(judge->ensemble);
    ATT_TRY(reserve_rows(judge, (size_t)rows, err));
    for (int64_t r = 0; r < rows; r++)
        judge->bos_tokens[r] = ATT_ID_BOS;
    ATT_TRY(att_ensemble_start(judge->ensemble, sources, want_weights, err));
    ATT_TRY(att_ensemble_step(judge->ensemble, rows, judge->bos_tokens, NULL, &decoded, err));
    for (int64_t r = 0; r < rows; r++)
        memcpy(judge->label_log_probs + r * judge->labels,
               decoded.log_probs + r * vocabulary + ATT_ID_FIRST,
               (size_t)judge->labels * sizeof *judge->label_log_probs);
    *out = (att_classifier_output){ .labels = judge->labels,
                                    .log_probs = judge->label_log_probs,
                                    .heads = decoded.heads,
                                    .length = sources->length,
                                    .attention = want_weights ? decoded.attention : NULL };
    return ATT_OK;
}

/* Log-probabilities of the labels for a batch of sources: a session of one step, whose result is
 * reduced to the columns of labels. */
#include "decode/classifier.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

struct att_classifier {
    att_session *session;
    int64_t labels;
    int32_t *bos_tokens;    /* [rows] the token of the only step */
    float *label_log_probs; /* [rows,labels] without the columns of reserved tokens */
    size_t row_capacity;    /* rows of both */
};

att_status att_classifier_new(att_classifier **out, const att_model *model,
                              att_model *const *ensemble, size_t ensemble_count, att_error *err)
{
    *out = NULL;
    ATT_TRY(att_model_require_type(model, ATT_MODEL_CLASSIFIER, err));
    att_classifier *classifier = att_alloc_zero(1, sizeof *classifier);
    if (!classifier)
        return att_fail_memory(err);
    classifier->labels = (int64_t)att_model_label_count(model);
    att_status status =
        att_session_open(&classifier->session, model, ensemble, ensemble_count, err);
    if (status == ATT_OK)
        *out = classifier;
    else
        att_classifier_free(classifier);
    return status;
}

void att_classifier_free(att_classifier *classifier)
{
    if (!classifier)
        return;
    att_session_free(classifier->session);
    att_free(classifier->bos_tokens);
    att_free(classifier->label_log_probs);
    att_free(classifier);
}

static att_status reserve_rows(att_classifier *classifier, size_t rows, att_error *err)
{
    if (rows <= classifier->row_capacity)
        return ATT_OK;
    att_free(classifier->bos_tokens);
    att_free(classifier->label_log_probs);
    classifier->bos_tokens = att_alloc(rows, sizeof *classifier->bos_tokens);
    classifier->label_log_probs =
        att_alloc(rows, (size_t)classifier->labels * sizeof *classifier->label_log_probs);
    bool allocated = classifier->bos_tokens && classifier->label_log_probs;
    classifier->row_capacity = allocated ? rows : 0;
    return allocated ? ATT_OK : att_fail_memory(err);
}

att_status att_classifier_run(att_classifier *classifier, const att_sources *sources,
                              bool want_attention, att_classifier_output *out, att_error *err)
{
    att_decoder_output decoded;
    att_session *session = classifier->session;
    int64_t rows = sources->rows, labels = classifier->labels;
    ATT_TRY(reserve_rows(classifier, (size_t)rows, err));
    for (int64_t r = 0; r < rows; r++)
        classifier->bos_tokens[r] = ATT_ID_BOS;
    ATT_TRY(att_session_start(session, sources, want_attention, err));
    ATT_TRY(att_session_advance(session, rows, classifier->bos_tokens, NULL, &decoded, err));
    for (int64_t r = 0; r < rows; r++)
        memcpy(classifier->label_log_probs + r * labels,
               decoded.log_probs + r * session->vocab_size + ATT_ID_FIRST,
               (size_t)labels * sizeof *classifier->label_log_probs);
    *out = (att_classifier_output){ .labels = labels,
                                    .log_probs = classifier->label_log_probs,
                                    .heads = decoded.heads,
                                    .length = sources->length,
                                    .attention = want_attention ? decoded.attention : NULL };
    return ATT_OK;
}

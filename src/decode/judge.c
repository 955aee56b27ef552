/* Models that sort, asked as any other; see judge.h. */
#include "decode/judge.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

struct att_judge {
    att_ensemble *ensemble;
    int64_t labels;
    int32_t *starts; /* [rows] what a decoder is given first */
    float *labelled; /* [rows,labels] log-probabilities of labels alone */
    size_t room;     /* rows of both */
};

size_t att_model_label_count(const att_model *model)
{
    if (att_model_kind(model) != ATT_KIND_LABEL)
        return 0;
    return (size_t)(att_vocab_size(model->target_words) - ATT_ID_FIRST);
}

const char *att_model_label(const att_model *model, size_t index)
{
    if (index >= att_model_label_count(model))
        return NULL;
    return att_vocab_word(model->target_words, ATT_ID_FIRST + (int32_t)index);
}

att_status att_judge_new(att_judge **out, att_model *model, att_model *const *with,
                         size_t with_count, att_error *err)
{
    *out = NULL;
    if (att_model_kind(model) != ATT_KIND_LABEL)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model gives no labels: it is a %s",
                        model->family->name);
    att_judge *judge = att_alloc_zero(1, sizeof *judge);
    if (!judge)
        return att_fail_memory(err);
    judge->labels = (int64_t)att_model_label_count(model);
    att_status status = att_ensemble_new(&judge->ensemble, model, with, with_count, err);
    if (status == ATT_OK)
        *out = judge;
    else
        att_judge_free(judge);
    return status;
}

void att_judge_free(att_judge *judge)
{
    if (!judge)
        return;
    att_ensemble_free(judge->ensemble);
    att_free(judge->starts);
    att_free(judge->labelled);
    att_free(judge);
}

static att_status make_room(att_judge *judge, size_t rows, att_error *err)
{
    if (rows <= judge->room)
        return ATT_OK;
    att_free(judge->starts);
    att_free(judge->labelled);
    judge->starts = att_alloc(rows, sizeof *judge->starts);
    judge->labelled = att_alloc(rows, (size_t)judge->labels * sizeof *judge->labelled);
    judge->room = judge->starts && judge->labelled ? rows : 0;
    return judge->room > 0 ? ATT_OK : att_fail_memory(err);
}

att_status att_judge_run(att_judge *judge, const att_sources *sources, bool want_weights,
                         att_judged_rows *out, att_error *err)
{
    att_decoded decoded;
    int64_t rows = sources->rows, vocabulary = att_ensemble_vocabulary(judge->ensemble);
    ATT_TRY(make_room(judge, (size_t)rows, err));
    for (int64_t r = 0; r < rows; r++)
        judge->starts[r] = ATT_ID_START;
    ATT_TRY(att_ensemble_start(judge->ensemble, sources, want_weights, err));
    ATT_TRY(att_ensemble_step(judge->ensemble, rows, judge->starts, NULL, &decoded, err));
    for (int64_t r = 0; r < rows; r++)
        memcpy(judge->labelled + r * judge->labels,
               decoded.log_probs + r * vocabulary + ATT_ID_FIRST,
               (size_t)judge->labels * sizeof *judge->labelled);
    *out = (att_judged_rows){ .labels = judge->labels,
                              .log_probs = judge->labelled,
                              .heads = decoded.heads,
                              .length = sources->length,
                              .weights = want_weights ? decoded.weights : NULL };
    return ATT_OK;
}

/* One tagger, or an ensemble of taggers, on a batch of sentences; see tagger.h. */
#include "decode/tagger.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "decode/session.h"
#include "model/log_softmax.h"

#include <math.h>

typedef struct member {
    const att_model *model;
    att_tape *tape;
} member;

struct att_tagger {
    size_t count;
    /* The mean of an ensemble, padded: [B,S,L], [B,S], [B]. */
    float *log_probs;
    int32_t *best;
    int64_t *offsets;
    member members[];
};

att_status att_tagger_new(att_tagger **out, const att_model *model, att_model *const *ensemble,
                          size_t ensemble_count, att_error *err)
{
    *out = NULL;
    ATT_TRY(att_model_require_type(model, ATT_MODEL_TAGGER, err));
    ATT_TRY(att_ensemble_check(model, ensemble, ensemble_count, err));
    att_tagger *tagger =
        att_alloc_zero(1, sizeof *tagger + (1 + ensemble_count) * sizeof *tagger->members);
    if (!tagger)
        return att_fail_memory(err);
    att_status status = ATT_OK;
    for (; tagger->count <= ensemble_count && status == ATT_OK; tagger->count++) {
        member *one = &tagger->members[tagger->count];
        one->model = tagger->count == 0 ? model : ensemble[tagger->count - 1];
        status = att_tape_new(&one->tape, &one->model->params, err);
    }
    if (status == ATT_OK)
        *out = tagger;
    else
        att_tagger_free(tagger);
    return status;
}

static void free_mean(att_tagger *tagger)
{
    att_free(tagger->log_probs);
    att_free(tagger->best);
    att_free(tagger->offsets);
    tagger->log_probs = NULL;
    tagger->best = NULL;
    tagger->offsets = NULL;
}

void att_tagger_free(att_tagger *tagger)
{
    if (!tagger)
        return;
    for (size_t i = 0; i < tagger->count; i++)
        att_tape_free(tagger->members[i].tape);
    free_mean(tagger);
    att_free(tagger);
}

/* Adds the probabilities of one model to the sums, in double precision by token. */
static void add_probabilities(double *sums, const att_tagger_output *one,
                              const att_sources *sources)
{
    for (int64_t b = 0; b < sources->rows; b++)
        for (int64_t i = 0; i < sources->lengths[b] * one->labels; i++)
            sums[b * sources->length * one->labels + i] +=
                att_exp((double)one->log_probs[one->offsets[b] * one->labels + i]);
}

static att_status run_all(att_tagger *tagger, double *sums, const att_sources *sources,
                          att_error *err)
{
    for (size_t i = 0; i < tagger->count; i++) {
        att_tagger_output one;
        att_tape_begin(tagger->members[i].tape, false, 0, 0);
        ATT_TRY(att_ensemble_error(
            att_tagger_run(tagger->members[i].model, tagger->members[i].tape, sources, &one, err),
            i, err));
        add_probabilities(sums, &one, sources);
    }
    return ATT_OK;
}

/* The logarithm of the mean, and the best label of each token. */
static void take_mean(att_tagger *tagger, const double *sums, const att_sources *sources,
                      int64_t labels)
{
    for (int64_t b = 0; b < sources->rows; b++) {
        tagger->offsets[b] = b * sources->length;
        for (int64_t t = 0; t < sources->lengths[b]; t++) {
            int64_t row = b * sources->length + t;
            float *log_probs = tagger->log_probs + row * labels;
            for (int64_t j = 0; j < labels; j++) {
                double mean = sums[row * labels + j] / (double)tagger->count;
                log_probs[j] = mean > 0 ? (float)att_log(mean) : -INFINITY;
            }
            tagger->best[row] = att_argmax(log_probs, labels);
        }
    }
}

static att_status tag_ensemble(att_tagger *tagger, const att_sources *sources,
                               att_tagger_output *out, att_error *err)
{
    int64_t labels = (int64_t)att_model_label_count(tagger->members[0].model);
    size_t rows = (size_t)(sources->rows * sources->length);
    double *sums = att_alloc_zero(rows, (size_t)labels * sizeof *sums);
    free_mean(tagger);
    tagger->log_probs = att_alloc(rows, (size_t)labels * sizeof *tagger->log_probs);
    tagger->best = att_alloc(rows, sizeof *tagger->best);
    tagger->offsets = att_alloc((size_t)sources->rows, sizeof *tagger->offsets);
    att_status status = sums && tagger->log_probs && tagger->best && tagger->offsets
                            ? run_all(tagger, sums, sources, err)
                            : att_fail_memory(err);
    if (status == ATT_OK) {
        take_mean(tagger, sums, sources, labels);
        *out = (att_tagger_output){ labels, tagger->offsets, tagger->log_probs, tagger->best };
    }
    att_free(sums);
    return status;
}

att_status att_tagger_tag(att_tagger *tagger, const att_sources *sources, att_tagger_output *out,
                          att_error *err)
{
    if (tagger->count > 1)
        return tag_ensemble(tagger, sources, out, err);
    att_tape_begin(tagger->members[0].tape, false, 0, 0);
    return att_tagger_run(tagger->members[0].model, tagger->members[0].tape, sources, out, err);
}

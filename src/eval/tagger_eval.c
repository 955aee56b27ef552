/* Evaluation of a tagger (att_model_evaluate_tagger): F1 of spans, in all and by type, token and
 * sentence accuracy, with their confidence intervals. */
#include "attend.h"

#include "base/alloc.h"
#include "base/error.h"
#include "decode/session.h"
#include "eval/corpus_eval.h"
#include "eval/evaluation.h"
#include "eval/tagger_predict.h"
#include "metrics/bootstrap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The public result, with what it points to. */
typedef struct tagger_eval {
    att_tagger_eval result;
    att_span_counts counts;
    att_span_type_metrics *types; /* [result.types] by name */
} tagger_eval;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const att_span_type_metrics *)a)->type,
                  ((const att_span_type_metrics *)b)->type);
}

static att_status list_types(tagger_eval *out, att_error *err)
{
    size_t count = out->counts.types.count;
    out->types = att_alloc(count, sizeof *out->types);
    if (!out->types)
        return att_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        out->types[i] = (att_span_type_metrics){ out->counts.types.items[i].text,
                                                 att_span_metrics(&out->counts.by_type[i]) };
    qsort(out->types, count, sizeof *out->types, by_name);
    out->result.types = (int64_t)count;
    return ATT_OK;
}

/* ---- confidence intervals */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static att_status find_intervals(tagger_eval *out, const double *stats,
                                 const att_metric_options *options, att_error *err)
{
    const struct {
        att_interval *to;
        double (*score)(const double *sums);
    } rows[] = { { &out->result.f1_interval, att_tagger_f1 },
                 { &out->result.token_accuracy_interval, att_tagger_token_accuracy },
                 { &out->result.sentence_accuracy_interval, att_tagger_sentence_accuracy } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const att_bootstrap from = { stats, (size_t)out->counts.sentences, ATT_TAGGER_STATS,
                                     rows[i].score };
        ATT_TRY(att_bootstrap_interval(rows[i].to, &from, options->resamples, options->seed, err));
    }
    if (!out->counts.has_spans)
        out->result.f1_interval = (att_interval){ NAN, NAN };
    return ATT_OK;
}

/* ---- the whole */

static att_status compute_metrics(tagger_eval *out, const att_model *model, att_evaluation *call,
                                  const att_corpus *corpus, att_error *err)
{
    double loss = 0;
    int64_t scored = 0;
    double *stats = att_alloc_zero((size_t)corpus->pairs, ATT_TAGGER_STATS * sizeof *stats);
    if (!stats)
        return att_fail_memory(err);
    const att_tagger_predict_options options = { .ensemble = call->decoding.ensemble,
                                                 .ensemble_count = call->decoding.ensemble_count,
                                                 .group = &call->group,
                                                 .loss = &loss,
                                                 .scored = &scored,
                                                 .line_stats = stats };
    att_status status = att_evaluation_name_file(
        att_tagger_predict(&out->counts, model, corpus, &options, err), call->path, err);
    const att_span_counts *counts = &out->counts;
    out->result = (att_tagger_eval){
        .sentences = counts->sentences,
        .tokens = counts->tokens,
        .unknown_labels = corpus->stats.target.unknown_tokens,
        .has_spans = counts->has_spans,
        .spans = att_span_metrics(&counts->all),
        .token_accuracy = ratio((double)counts->correct_tokens, (double)counts->tokens),
        .sentence_accuracy = ratio((double)counts->correct_sentences, (double)counts->sentences),
        .loss = scored > 0 ? loss / (double)scored : NAN,
    };
    if (status == ATT_OK)
        status = list_types(out, err);
    if (status == ATT_OK)
        status = find_intervals(out, stats, &call->metric_options, err);
    att_free(stats);
    return status;
}

static att_status run_eval(tagger_eval *out, const att_model *model, att_evaluation *call,
                           att_string *notes, att_error *err)
{
    const att_data_read_options reading = { .path = call->path,
                                            .format = call->options.format,
                                            .columns = call->options.columns,
                                            .keep_words = att_ensemble_reads_words(
                                                model, call->decoding.ensemble,
                                                call->decoding.ensemble_count),
                                            .settings = model->settings,
                                            .recorded_data = call->options.recorded_data,
                                            .keep_target_text = true,
                                            .source_vocab = model->source_vocab,
                                            .target_vocab = model->target_vocab };
    att_corpus corpus = { 0 };
    att_status status =
        att_evaluation_meet(call, att_data_read(&corpus, &reading, err), model, &corpus, err);
    if (status == ATT_OK)
        status = att_corpus_eval_warnings(notes, call->path, &corpus, err);
    if (status == ATT_OK)
        status = compute_metrics(out, model, call, &corpus, err);
    att_corpus_free(&corpus);
    return status;
}

att_status att_model_evaluate_tagger(att_tagger_eval **out, const att_model *model,
                                     const char *path, const att_eval_options *options,
                                     att_string *notes, att_error *err)
{
    att_evaluation call;
    *out = NULL;
    ATT_TRY(att_model_require_type(model, ATT_MODEL_TAGGER, err));
    tagger_eval *result = att_alloc_zero(1, sizeof *result);
    if (!result)
        return att_fail_memory(err);
    att_status status = att_evaluation_open(&call, ATT_MODEL_TAGGER, path, options, err);
    if (status == ATT_OK)
        status = run_eval(result, model, &call, notes, err);
    status = att_evaluation_close(&call, status, err);
    if (status == ATT_OK)
        *out = &result->result;
    else
        att_tagger_eval_free(&result->result);
    return status;
}

const att_span_type_metrics *att_tagger_eval_type(const att_tagger_eval *eval, int64_t index)
{
    const tagger_eval *owner = (const tagger_eval *)(const void *)eval; /* its first member */
    return index >= 0 && index < eval->types ? &owner->types[index] : NULL;
}

void att_tagger_eval_free(att_tagger_eval *eval)
{
    tagger_eval *owner = (tagger_eval *)(void *)eval; /* its first member */
    if (!owner)
        return;
    att_span_counts_free(&owner->counts);
    att_free(owner->types);
    att_free(owner);
}

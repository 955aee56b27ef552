/* Evaluation of a language model on a text (att_model_evaluate_lm): loss, bits per character and
 * perplexity, of one model or of an ensemble. */
#include "eval/corpus_eval.h"
#include "eval/evaluation.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "base/math.h"
#include "decode/session.h"
#include "data/data.h"

#include <math.h>

double att_bits_per_character(double loss, const att_corpus *text)
{
    const att_corpus_stats *stats = &text->stats;
    return loss / att_log(2) * (double)stats->target.tokens / (double)stats->characters;
}

static void fill_result(att_lm_eval *out, const att_token_metrics *metrics, const att_corpus *text)
{
    double steps = (double)metrics->steps;
    *out = (att_lm_eval){ .tokens = text->stats.target.tokens,
                          .characters = text->stats.characters,
                          .unknown_tokens = text->stats.target.unknown_tokens,
                          .loss = metrics->loss / steps,
                          .bits_per_character = att_bits_per_character(metrics->loss / steps, text),
                          .perplexity = att_exp(metrics->loss / steps),
                          .accuracy = (double)metrics->correct_steps / steps };
}

/* ---- ensembles. Each model splits the text into its own chunks and streams, so the probabilities
 * of a token are combined only after all models have read the text. */

typedef struct ensemble_losses {
    int64_t count;      /* tokens but the first */
    float *losses;      /* [count] of the current model */
    double *likelihood; /* [count] log of the sum of the probabilities so far */
    const att_corpus_eval_options *options;
} ensemble_losses;

/* log(exp(a) + exp(b)) */
static double log_add(double a, double b)
{
    double larger = a > b ? a : b, smaller = a > b ? b : a;
    return larger == -INFINITY ? larger : larger + att_log1p(att_exp(smaller - larger));
}

static att_status add_model(ensemble_losses *all, const att_model *model, const att_corpus *text,
                            att_error *err)
{
    att_token_metrics ignored = { 0 };
    att_corpus_eval_options options = *all->options;
    options.token_losses = all->losses;
    ATT_TRY(att_corpus_eval(&ignored, model, text, &options, err));
    for (int64_t i = 0; i < all->count; i++)
        all->likelihood[i] = log_add(all->likelihood[i], -(double)all->losses[i]);
    return ATT_OK;
}

static att_status add_models(ensemble_losses *all, const att_model *model,
                             att_model *const *ensemble, size_t ensemble_count,
                             const att_corpus *text, att_error *err)
{
    if (!all->losses || !all->likelihood)
        return att_fail_memory(err);
    for (int64_t i = 0; i < all->count; i++)
        all->likelihood[i] = -INFINITY;
    for (size_t i = 0; i <= ensemble_count; i++) {
        att_status status = add_model(all, i == 0 ? model : ensemble[i - 1], text, err);
        ATT_TRY(att_ensemble_error(status, i, err));
    }
    return ATT_OK;
}

/* The accuracy stays unknown: it needs the mean probabilities of all tokens, and only those of the
 * actual tokens are kept. */
static att_status eval_ensemble(att_lm_eval *out, const att_model *model,
                                att_model *const *ensemble, size_t ensemble_count,
                                const att_corpus *text, const att_corpus_eval_options *options,
                                att_error *err)
{
    ensemble_losses all = { .count = text->stats.target.tokens - 1, .options = options };
    all.losses = att_alloc((size_t)all.count, sizeof *all.losses);
    all.likelihood = att_alloc((size_t)all.count, sizeof *all.likelihood);
    att_status status = add_models(&all, model, ensemble, ensemble_count, text, err);
    att_token_metrics sum = { .steps = all.count };
    for (int64_t i = 0; status == ATT_OK && i < all.count; i++)
        sum.loss += att_log((double)ensemble_count + 1) - all.likelihood[i];
    att_free(all.losses);
    att_free(all.likelihood);
    fill_result(out, &sum, text);
    out->accuracy = NAN;
    return status;
}

/* ---- one model or several */

static att_status check_stride(const att_model *model, int64_t stride, att_error *err)
{
    int64_t context = model->settings->sequence_length;
    if (stride == 0)
        return ATT_OK;
    if (model->settings->architecture == ATT_ARCHITECTURE_RNN)
        return att_fail(
            err, ATT_BAD_INPUT, NULL,
            "stride: expected a Transformer; an RNN carries its state through the text");
    if (stride < 0 || stride > context)
        return att_fail(err, ATT_BAD_INPUT, NULL,
                        "stride %lld: expected 1 to %lld, the context length of the model",
                        (long long)stride, (long long)context);
    return ATT_OK;
}

static att_status check_models(const att_model *model, const att_evaluation *call, att_error *err)
{
    const att_decoding_options *with = &call->decoding;
    ATT_TRY(att_ensemble_check(model, with->ensemble, with->ensemble_count, err));
    ATT_TRY(check_stride(model, call->options.stride, err));
    for (size_t i = 0; i < with->ensemble_count; i++)
        ATT_TRY(att_ensemble_error(check_stride(with->ensemble[i], call->options.stride, err),
                                   i + 1, err));
    return ATT_OK;
}

static att_status run_eval(att_lm_eval *out, const att_model *model, att_evaluation *call,
                           const att_corpus *text, att_error *err)
{
    const att_corpus_eval_options options = { .group = &call->group,
                                              .stride = call->options.stride };
    const att_decoding_options *with = &call->decoding;
    if (with->ensemble_count > 0)
        return eval_ensemble(out, model, with->ensemble, with->ensemble_count, text, &options, err);
    att_token_metrics metrics = { 0 };
    ATT_TRY(att_corpus_eval(&metrics, model, text, &options, err));
    fill_result(out, &metrics, text);
    return ATT_OK;
}

static att_status evaluate(att_lm_eval *out, const att_model *model, att_evaluation *call,
                           att_string *notes, att_error *err)
{
    const att_data_read_options reading = { .path = call->path,
                                            .settings = model->settings,
                                            .recorded_data = call->options.recorded_data,
                                            .target_vocab = model->target_vocab };
    att_corpus text = { 0 };
    ATT_TRY(check_models(model, call, err));
    att_status status =
        att_evaluation_meet(call, att_data_read(&text, &reading, err), model, &text, err);
    if (status == ATT_OK)
        status = att_evaluation_name_file(run_eval(out, model, call, &text, err), call->path, err);
    if (status == ATT_OK)
        status = att_corpus_eval_warnings(notes, call->path, &text, err);
    att_corpus_free(&text);
    return status;
}

att_status att_model_evaluate_lm(att_lm_eval *out, const att_model *model, const char *path,
                                 const att_eval_options *options, att_string *notes, att_error *err)
{
    att_evaluation call;
    att_lm_eval result = ATT_INIT(att_lm_eval);
    ATT_TRY(ATT_RESULT_COPY(att_lm_eval, out, &result, err));
    ATT_TRY(att_model_require_type(model, ATT_MODEL_LM, err));
    att_status status = att_evaluation_open(&call, ATT_MODEL_LM, path, options, err);
    if (status == ATT_OK)
        status = evaluate(&result, model, &call, notes, err);
    status = att_evaluation_close(&call, status, err);
    result.size = sizeof result;
    return status == ATT_OK ? ATT_RESULT_COPY(att_lm_eval, out, &result, err) : status;
}

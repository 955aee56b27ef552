/* Language models measured on a text; see attend.h. */
#include "metrics/evaluate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "decode/ensemble.h"
#include "text/data.h"

#include <math.h>

double att_text_bits(double loss, const att_corpus *text)
{
    const att_corpus_facts *facts = &text->facts;
    return loss / att_log(2) * (double)facts->target.tokens / (double)facts->characters;
}

static void fill(att_text_scores *out, const att_tally *tally, const att_corpus *text)
{
    double steps = (double)tally->steps;
    *out = (att_text_scores){ .tokens = text->facts.target.tokens,
                              .characters = text->facts.characters,
                              .unknown = text->facts.target.unknown,
                              .loss = tally->loss / steps,
                              .bits = att_text_bits(tally->loss / steps, text),
                              .perplexity = att_exp(tally->loss / steps),
                              .accuracy = (double)tally->right_steps / steps };
}

/* ---- several models: each reads the text as it would alone, in chunks and streams of its own, so
 * what they give a token is put together only when all have read */

typedef struct chorus {
    int64_t count;      /* tokens but the first */
    float *losses;      /* [count] of the model that reads */
    double *likelihood; /* [count] log of the sum of what all so far give each token */
} chorus;

/* log(exp(a) + exp(b)) */
static double log_add(double a, double b)
{
    double more = a > b ? a : b, less = a > b ? b : a;
    return more == -INFINITY ? more : more + att_log1p(att_exp(less - more));
}

static att_status hear(chorus *all, att_model *model, const att_corpus *text, att_error *err)
{
    att_tally ignored = { 0 };
    ATT_TRY(att_evaluate(&ignored, model, text, &(att_evaluate_how){ .losses = all->losses }, err));
    for (int64_t i = 0; i < all->count; i++)
        all->likelihood[i] = log_add(all->likelihood[i], -(double)all->losses[i]);
    return ATT_OK;
}

static att_status hear_all(chorus *all, att_model *model, att_model *const *with, size_t with_count,
                           const att_corpus *text, att_error *err)
{
    if (!all->losses || !all->likelihood)
        return att_fail_memory(err);
    for (int64_t i = 0; i < all->count; i++)
        all->likelihood[i] = -INFINITY;
    ATT_TRY(hear(all, model, text, err));
    for (size_t i = 0; i < with_count; i++)
        ATT_TRY(hear(all, with[i], text, err));
    return ATT_OK;
}

/* Which token has the largest mean is not known from what they give to the one that came. */
static att_status measure_together(att_text_scores *out, att_model *model, att_model *const *with,
                                   size_t with_count, const att_corpus *text, att_error *err)
{
    ATT_TRY(att_ensemble_check(model, with, with_count, err));
    chorus all = { .count = text->facts.target.tokens - 1 };
    all.losses = att_alloc((size_t)all.count, sizeof *all.losses);
    all.likelihood = att_alloc((size_t)all.count, sizeof *all.likelihood);
    att_status status = hear_all(&all, model, with, with_count, text, err);
    att_tally together = { .steps = all.count };
    for (int64_t i = 0; status == ATT_OK && i < all.count; i++)
        together.loss += att_log((double)with_count + 1) - all.likelihood[i];
    att_free(all.losses);
    att_free(all.likelihood);
    fill(out, &together, text);
    out->accuracy = NAN;
    return status;
}

/* ---- any number */

static att_status measure(att_text_scores *out, att_model *model, const att_decoding *how,
                          const att_corpus *text, att_error *err)
{
    if (how && how->with_count > 0)
        return measure_together(out, model, how->with, how->with_count, text, err);
    att_tally tally = { 0 };
    ATT_TRY(att_evaluate(&tally, model, text, &(att_evaluate_how){ 0 }, err));
    fill(out, &tally, text);
    return ATT_OK;
}

att_status att_model_evaluate_text(att_text_scores *out, att_model *model, const char *path,
                                   const att_measuring *how, att_text *notes, att_error *err)
{
    if (att_model_kind(model) != ATT_KIND_TEXT)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the model is no language model: it is a %s",
                        model->family->name);
    const att_data_reading reading = { .path = path,
                                       .settings = model->settings,
                                       .target = model->target_words };
    att_corpus text;
    ATT_TRY(att_data_read(&text, &reading, err));
    att_status status = measure(out, model, how ? how->decoding : NULL, &text, err);
    if (status == ATT_OK && notes &&
        att_corpus_remarks(notes, path ? path : "validation", &text) != ATT_OK)
        status = att_fail_memory(err);
    att_corpus_free(&text);
    return status;
}

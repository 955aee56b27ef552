/* The most probable choices at each step (att_model_alternatives): the model is fed its output, or
 * the text of a language model, as decoding does, and the best tokens of each step are kept; of
 * classifiers and taggers the best labels. */
#include "inspect/alternatives.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "base/options.h"
#include "base/progress.h"
#include "inspect/sheet_writer.h"
#include "inspect/single_search.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_ALTERNATIVES = 5, MAX_ALTERNATIVES = 100 };

/* ---- one step */

/* What can be chosen at a step: tokens of a vocabulary or labels. */
typedef struct choices {
    const double *scores; /* [count] log-probabilities of tokens, probabilities of labels */
    int64_t count;
    const att_model *model;
    const att_session *session; /* names of tokens; NULL: labels */
} choices;

static const char *copy_text(att_alternatives *a, const char *text)
{
    return att_arena_strndup(&a->memory, text, strlen(text));
}

static const char *choice_name(att_alternatives *a, const choices *of, int64_t index)
{
    const char *text = of->session ? att_session_token(of->session, 0, (int32_t)index)
                                   : att_model_label(of->model, (size_t)index);
    return copy_text(a, att_visible_token(text ? text : "?"));
}

static double choice_probability(const choices *of, int64_t index)
{
    return of->session ? att_exp(of->scores[index]) : of->scores[index];
}

/* Whether choice `a` is more probable than `b`; of equals, the first. */
static bool precedes(const choices *of, int64_t a, int64_t b)
{
    return of->scores[a] > of->scores[b] || (of->scores[a] == of->scores[b] && a < b);
}

/* The `count` most probable choices, in order; returns how many there are. */
static int64_t find_best(int64_t best[MAX_ALTERNATIVES], const choices *of, int64_t count)
{
    int64_t kept = 0;
    for (int64_t index = 0; index < of->count; index++) {
        int64_t at = kept;
        while (at > 0 && precedes(of, index, best[at - 1]))
            at--;
        if (at >= count)
            continue;
        kept += kept < count;
        for (int64_t i = kept - 1; i > at; i--)
            best[i] = best[i - 1];
        best[at] = index;
    }
    return kept;
}

/* Adds a step at which `chosen` was taken; -1: nothing. */
static att_status add_step(att_alternatives *a, const choices *of, int64_t chosen, int64_t count,
                           att_error *err)
{
    att_alternative_step *step = &a->steps[a->count];
    int64_t best[MAX_ALTERNATIVES], kept = find_best(best, of, count);
    const char **tokens = att_arena_alloc(&a->memory, (size_t)count, sizeof *tokens);
    double *probabilities = att_arena_alloc(&a->memory, (size_t)count, sizeof *probabilities);
    *step = (att_alternative_step){ .probability = NAN, .count = kept };
    for (int64_t i = 0; tokens && probabilities && i < kept; i++) {
        tokens[i] = choice_name(a, of, best[i]);
        probabilities[i] = choice_probability(of, best[i]);
        if (!tokens[i])
            return att_fail_memory(err);
    }
    step->tokens = tokens;
    step->probabilities = probabilities;
    if (chosen >= 0) {
        step->token = choice_name(a, of, chosen);
        step->probability = choice_probability(of, chosen);
        step->rank = 1;
        for (int64_t index = 0; index < of->count; index++)
            step->rank += precedes(of, index, chosen);
    }
    a->count++;
    return tokens && probabilities && (chosen < 0 || step->token) ? ATT_OK : att_fail_memory(err);
}

static att_status reserve_steps(att_alternatives *a, size_t count, att_error *err)
{
    a->steps = att_arena_alloc(&a->memory, count, sizeof *a->steps);
    return a->steps ? ATT_OK : att_fail_memory(err);
}

/* ---- models that generate tokens */

/* Feeds `tokens` [count] one after the other; `chosen` [count] is what followed, -1: nothing. */
static att_status feed(att_alternatives *a, att_session *session, const int32_t *tokens,
                       const int32_t *chosen, size_t count, int64_t alternatives, att_error *err)
{
    double *scores = att_alloc((size_t)session->vocab_size, sizeof *scores);
    att_status status = scores ? reserve_steps(a, count, err) : att_fail_memory(err);
    for (size_t t = 0; t < count && status == ATT_OK; t++) {
        const att_session_output *out;
        status = att_session_step(session, 1, &tokens[t], NULL, &out, err);
        for (int64_t i = 0; status == ATT_OK && i < out->vocab_size; i++)
            scores[i] = (double)out->log_probs[i];
        const choices of = { scores, session->vocab_size, session->model, session };
        if (status == ATT_OK)
            status = add_step(a, &of, chosen[t], alternatives, err);
    }
    att_free(scores);
    return status;
}

/* The tokens fed and those that followed overlap: BOS and the output, or the text and nothing. */
static att_status feed_output(att_alternatives *a, att_single_search *s, int64_t alternatives,
                              att_error *err)
{
    bool lm = att_model_type_get(s->session->model) == ATT_MODEL_LM;
    size_t count = lm ? s->prompt.count : (size_t)s->output.count;
    int32_t *tokens = att_alloc(count + 1, sizeof *tokens);
    if (!tokens)
        return att_fail_memory(err);
    tokens[0] = ATT_ID_BOS;
    memcpy(tokens + !lm, lm ? s->prompt.items : s->output.ids, count * sizeof *tokens);
    if (lm)
        tokens[count] = -1;
    att_status status = feed(a, s->session, tokens, tokens + 1, count, alternatives, err);
    att_free(tokens);
    return status;
}

static att_status list_tokens(att_alternatives *a, const att_model *model,
                              const att_single_input *input,
                              const att_alternatives_options *options, att_error *err)
{
    att_single_search s = { 0 };
    att_status status = att_single_search_open(&s, model, input, options->decoding, err);
    if (status == ATT_OK && a->type != ATT_MODEL_LM)
        status = att_single_search_run(&s, input, 0, NULL, NULL, err);
    if (status == ATT_OK)
        status = feed_output(a, &s, options->count, err);
    att_single_search_close(&s);
    return status;
}

/* ---- labels */

/* The labels of a sentence, or of its tokens. */
typedef struct labels {
    int64_t steps, count;        /* no steps: the input has no tokens */
    const double *probabilities; /* [steps, count] */
    const int64_t *chosen;       /* [steps] */
    const char *const *tokens;   /* [steps] that have the labels; NULL: a sentence */
} labels;

static att_status add_labels(att_alternatives *a, const att_model *model, const labels *of,
                             int64_t alternatives, att_error *err)
{
    if (of->steps == 0)
        return att_fail(err, ATT_BAD_INPUT, NULL, "the input has no tokens");
    ATT_TRY(reserve_steps(a, (size_t)of->steps, err));
    for (int64_t t = 0; t < of->steps; t++) {
        const choices row = { of->probabilities + t * of->count, of->count, model, NULL };
        ATT_TRY(add_step(a, &row, of->chosen[t], alternatives, err));
        if (of->tokens)
            a->steps[t].source = copy_text(a, of->tokens[t]);
        if (of->tokens && !a->steps[t].source)
            return att_fail_memory(err);
    }
    return ATT_OK;
}

static att_status list_classes(att_alternatives *a, const att_model *model, const char *line,
                               const att_alternatives_options *options, att_error *err)
{
    att_classify_options classify = ATT_INIT(att_classify_options);
    classify.ensemble = options->decoding->ensemble;
    classify.ensemble_count = options->decoding->ensemble_count;
    att_predictions *found;
    ATT_TRY(att_model_classify(&found, model, &line, 1, &classify, err));
    const att_prediction *p = att_predictions_get(found, 0);
    const labels of = { p->probabilities ? 1 : 0, p->label_count, p->probabilities, &p->label,
                        NULL };
    att_status status = add_labels(a, model, &of, options->count, err);
    att_predictions_free(found);
    return status;
}

static att_status list_labels(att_alternatives *a, const att_model *model, const char *line,
                              const att_alternatives_options *options, att_error *err)
{
    att_tag_options tag = ATT_INIT(att_tag_options);
    tag.ensemble = options->decoding->ensemble;
    tag.ensemble_count = options->decoding->ensemble_count;
    att_taggings *found;
    ATT_TRY(att_model_tag(&found, model, &line, 1, &tag, err));
    const att_tagging *t = att_taggings_get(found, 0);
    const labels of = { t->token_count, t->label_count, t->probabilities, t->label_indices,
                        t->tokens };
    att_status status = add_labels(a, model, &of, options->count, err);
    att_taggings_free(found);
    return status;
}

/* ---- the public calls */

static att_status check(const att_alternatives_options *options, att_model_type type,
                        att_error *err)
{
    if (options->count < 1 || options->count > MAX_ALTERNATIVES)
        return att_fail(err, ATT_BAD_INPUT, "count", "expected 1 to %d alternatives, found %lld",
                        MAX_ALTERNATIVES, (long long)options->count);
    if (options->target && type != ATT_MODEL_SEQ2SEQ && type != ATT_MODEL_CAPTION)
        return att_fail(err, ATT_BAD_INPUT, "target",
                        "expected a model that generates an output, found %s",
                        att_model_type_phrase(type));
    return ATT_OK;
}

static att_status list(att_alternatives *a, const att_model *model, const att_single_input *input,
                       const att_alternatives_options *options, att_error *err)
{
    switch (a->type) {
    case ATT_MODEL_CLASSIFIER:
        return list_classes(a, model, input->line, options, err);
    case ATT_MODEL_TAGGER:
        return list_labels(a, model, input->line, options, err);
    default:
        return list_tokens(a, model, input, options, err);
    }
}

static att_status find_alternatives(att_alternatives **out, const att_model *model,
                                    att_single_input input, const att_alternatives_options *options,
                                    att_error *err)
{
    att_alternatives_options given;
    att_decoding_options decoding;
    *out = NULL;
    ATT_TRY(att_single_input_check(&input, model, "att_model_caption_alternatives", err));
    ATT_TRY(ATT_OPTIONS_COPY(att_alternatives_options, &given, options, err));
    ATT_TRY(ATT_OPTIONS_COPY(att_decoding_options, &decoding, given.decoding, err));
    given.decoding = &decoding;
    given.count = given.count == 0 ? DEFAULT_ALTERNATIVES : given.count;
    ATT_TRY(check(&given, att_model_type_get(model), err));
    att_alternatives *a = att_alloc_zero(1, sizeof *a);
    if (!a)
        return att_fail_memory(err);
    a->type = att_model_type_get(model);
    input.target = given.target;
    att_progress_scope scope;
    att_progress_begin(&scope, "computing alternatives", 0);
    att_status status = list(a, model, &input, &given, err);
    status = att_progress_end(&scope, status, err);
    if (status == ATT_OK)
        *out = a;
    else
        att_alternatives_free(a);
    return status;
}

att_status att_model_alternatives(att_alternatives **out, const att_model *model, const char *line,
                                  const att_alternatives_options *options, att_error *err)
{
    return find_alternatives(out, model, (att_single_input){ .line = line }, options, err);
}

att_status att_model_caption_alternatives(att_alternatives **out, const att_model *model,
                                          const att_tensor *image,
                                          const att_alternatives_options *options, att_error *err)
{
    return find_alternatives(out, model, (att_single_input){ .image = image }, options, err);
}

void att_alternatives_free(att_alternatives *alternatives)
{
    if (!alternatives)
        return;
    att_arena_free(&alternatives->memory);
    att_free(alternatives);
}

const att_alternative_step *att_alternatives_get(const att_alternatives *alternatives, size_t step)
{
    return step < alternatives->count ? &alternatives->steps[step] : NULL;
}

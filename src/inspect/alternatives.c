/* The most probable tokens at each step of an output (att_model_alternatives): the model is fed the
 * output, as decoding does, and the best tokens of each step are kept. */
#include "attend.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/math.h"
#include "base/progress.h"
#include "decode/session.h"
#include "inspect/sheet_writer.h"
#include "render/html_page.h"
#include "render/number.h"
#include "render/view.h"
#include "text/display_width.h"

#include <math.h>
#include <string.h>

enum { MAX_ALTERNATIVES = 100 };

struct att_alternatives {
    att_arena memory;
    att_alternative_step *steps; /* [count] */
    size_t count;
};

/* ---- computing */

static const char *token_text(att_alternatives *a, att_session *session, int32_t id)
{
    const char *text = att_session_token(session, 0, id);
    text = att_visible_token(text ? text : "?");
    return att_arena_strndup(&a->memory, text, strlen(text));
}

/* Whether id `a` is more probable than `b`; of equals, the first. */
static bool precedes(const float *log_probs, int32_t a, int32_t b)
{
    return log_probs[a] > log_probs[b] || (log_probs[a] == log_probs[b] && a < b);
}

static att_status take_step(att_alternatives *a, att_session *session,
                            const att_session_output *out, int32_t chosen, int64_t count,
                            att_error *err)
{
    att_alternative_step *step = &a->steps[a->count];
    int32_t ids[MAX_ALTERNATIVES];
    int64_t kept = 0;
    for (int32_t id = 0; id < out->vocab_size; id++) {
        int64_t at = kept;
        while (at > 0 && precedes(out->log_probs, id, ids[at - 1]))
            at--;
        if (at >= count)
            continue;
        kept += kept < count;
        for (int64_t i = kept - 1; i > at; i--)
            ids[i] = ids[i - 1];
        ids[at] = id;
    }
    const char **tokens = att_arena_alloc(&a->memory, (size_t)count, sizeof *tokens);
    double *probabilities = att_arena_alloc(&a->memory, (size_t)count, sizeof *probabilities);
    *step = (att_alternative_step){ .probability = NAN, .count = kept };
    for (int64_t i = 0; tokens && probabilities && i < kept; i++) {
        tokens[i] = token_text(a, session, ids[i]);
        probabilities[i] = att_exp((double)out->log_probs[ids[i]]);
        if (!tokens[i])
            return att_fail_memory(err);
    }
    step->tokens = tokens;
    step->probabilities = probabilities;
    if (chosen >= 0) {
        step->token = token_text(a, session, chosen);
        step->probability = att_exp((double)out->log_probs[chosen]);
        step->rank = 1;
        for (int32_t id = 0; id < out->vocab_size; id++)
            step->rank += precedes(out->log_probs, id, chosen);
    }
    a->count++;
    return tokens && probabilities && (chosen < 0 || step->token) ? ATT_OK : att_fail_memory(err);
}

/* The tokens to feed: the text of a language model; <start> and the output of others. */
static att_status encode(att_ids *ids, const att_model *model, const char *input,
                         const char *target, att_error *err)
{
    att_outputs *outputs = NULL;
    const char *text = input;
    if (att_model_type_get(model) != ATT_MODEL_LM) {
        if (att_ids_add(ids, ATT_ID_BOS) != ATT_OK)
            return att_fail_memory(err);
        if (!target)
            ATT_TRY(att_model_generate(&outputs, model, &input, 1, NULL, err));
        text = target ? target : att_outputs_get(outputs, 0)->text;
    }
    att_status status = att_vocab_encode(model->target_vocab, NULL, ids, text, strlen(text), err);
    att_outputs_free(outputs);
    if (status == ATT_OK && ids->count == 0)
        status = att_fail(err, ATT_BAD_INPUT, NULL, "the input has no tokens");
    return status;
}

static att_status run(att_alternatives *a, const att_model *model, const char *input,
                      const att_ids *ids, int64_t count, att_error *err)
{
    att_session *session;
    bool lm = att_model_type_get(model) == ATT_MODEL_LM;
    a->steps = att_arena_alloc(&a->memory, ids->count, sizeof *a->steps);
    if (!a->steps)
        return att_fail_memory(err);
    ATT_TRY(att_session_new(&session, model, NULL, err));
    att_status status = lm ? att_session_start_text(session, 1, err)
                           : att_session_start_lines(session, &input, 1, err);
    for (size_t t = 0; t < ids->count && status == ATT_OK; t++) {
        const att_session_output *out;
        int32_t end = lm ? -1 : att_session_end_token(session);
        status = att_session_step(session, 1, &ids->items[t], NULL, &out, err);
        if (status == ATT_OK)
            status = take_step(a, session, out, t + 1 < ids->count ? ids->items[t + 1] : end, count,
                               err);
    }
    att_session_free(session);
    return status;
}

att_status att_model_alternatives(att_alternatives **out, const att_model *model, const char *input,
                                  const char *target, int64_t count, att_error *err)
{
    *out = NULL;
    att_model_type type = att_model_type_get(model);
    if (type != ATT_MODEL_SEQ2SEQ && type != ATT_MODEL_LM)
        return att_fail(err, ATT_BAD_INPUT, NULL, "expected a seq2seq or language model, found %s",
                        att_model_type_phrase(type));
    if (count < 1 || count > MAX_ALTERNATIVES)
        return att_fail(err, ATT_BAD_INPUT, "count", "expected 1 to %d alternatives, found %lld",
                        MAX_ALTERNATIVES, (long long)count);
    att_alternatives *a = att_alloc_zero(1, sizeof *a);
    if (!a)
        return att_fail_memory(err);
    att_ids ids = { 0 };
    att_progress_scope scope;
    att_progress_begin(&scope, "computing alternatives", 0);
    att_status status = encode(&ids, model, input, target, err);
    if (status == ATT_OK)
        status = run(a, model, input, &ids, count, err);
    status = att_progress_end(&scope, status, err);
    att_ids_free(&ids);
    if (status == ATT_OK)
        *out = a;
    else
        att_alternatives_free(a);
    return status;
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

/* ---- rendering */

static void put_percent(att_writer *out, double probability)
{
    char text[ATT_NUMBER_SIZE];
    att_number_print(text, 100 * probability, (att_number_format){ .decimals = 1 });
    att_put(out, text);
    att_put(out, " %");
}

static void put_text(att_writer *out, const att_alternatives *a)
{
    int64_t widest = 1;
    for (size_t t = 0; t < a->count; t++) {
        int64_t width = a->steps[t].token ? (int64_t)att_display_width(a->steps[t].token) : 1;
        widest = width > widest ? width : widest;
    }
    for (size_t t = 0; t < a->count; t++) {
        const att_alternative_step *step = &a->steps[t];
        const char *token = step->token ? step->token : "?";
        att_put_plain(out, token);
        att_put_repeat(out, " ", widest - (int64_t)att_display_width(token));
        att_putf(out, step->token ? "  %lld.  " : "  –   ", (long long)step->rank);
        for (int64_t i = 0; i < step->count; i++) {
            att_put(out, i > 0 ? ",  " : "");
            att_put_plain(out, step->tokens[i]);
            att_put(out, " ");
            put_percent(out, step->probabilities[i]);
        }
        att_put(out, "\n");
    }
}

static void put_json(att_writer *out, const att_alternatives *a)
{
    att_put(out, "{\"steps\":[");
    for (size_t t = 0; t < a->count; t++) {
        const att_alternative_step *step = &a->steps[t];
        att_put(out, t > 0 ? ",{\"token\":" : "{\"token\":");
        if (step->token)
            att_put_json(out, step->token);
        else
            att_put(out, "null");
        att_put(out, ",\"probability\":");
        att_put_json_number(out, step->probability);
        att_putf(out, ",\"token_rank\":%lld,\"alternatives\":[", (long long)step->rank);
        for (int64_t i = 0; i < step->count; i++) {
            att_put(out, i > 0 ? ",{\"token\":" : "{\"token\":");
            att_put_json(out, step->tokens[i]);
            att_put(out, ",\"probability\":");
            att_put_json_number(out, step->probabilities[i]);
            att_put(out, "}");
        }
        att_put(out, "]}");
    }
    att_put(out, "]}\n");
}

static const char style[] =
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "td,th{padding:.2rem 1.1rem .2rem 0;text-align:left;border-bottom:1px solid var(--line);"
    "white-space:nowrap;min-width:3rem}\n"
    "th{font-weight:500;color:var(--soft)}\n"
    "td bdi{display:inline-block;min-width:2rem}\n"
    "td small{color:var(--soft);display:block}\n"
    "td i{display:block;height:.3rem;background:#0b5394;border-radius:2px;min-width:1px}\n"
    "td.chosen{font-weight:600}\n";

static void put_html(att_writer *out, const att_alternatives *a)
{
    att_put_html_head(out, "Alternatives at each step", style);
    att_put_html_body(out);
    att_put(out,
            "<h1>Alternatives at each step</h1>\n<p>Each row is a step: the token that was "
            "chosen, its rank, and the most probable tokens.</p>\n<table>\n<thead><tr><th>token"
            "</th><th>rank</th>");
    att_putf(out, "<th colspan=\"%lld\">alternatives</th></tr></thead>\n<tbody>\n",
             (long long)(a->count > 0 ? a->steps[0].count : 1));
    for (size_t t = 0; t < a->count && out->status == ATT_OK; t++) {
        const att_alternative_step *step = &a->steps[t];
        att_put(out, "<tr><td class=\"chosen\"><bdi>");
        att_put_xml(out, step->token ? step->token : "?");
        att_putf(out, step->token ? "</bdi></td><td>%lld</td>" : "</bdi></td><td></td>",
                 (long long)step->rank);
        for (int64_t i = 0; i < step->count; i++) {
            att_putf(out, "<td%s><bdi>",
                     step->token && i + 1 == step->rank ? " class=\"chosen\"" : "");
            att_put_xml(out, step->tokens[i]);
            att_put(out, "</bdi><small>");
            put_percent(out, step->probabilities[i]);
            att_putf(out, "</small><i style=\"width:calc(.06rem*%d)\"></i></td>",
                     (int)lround(100 * step->probabilities[i]));
        }
        att_put(out, "</tr>\n");
    }
    att_put(out, "</tbody>\n</table>\n");
    att_put_html_end(out);
}

att_status att_alternatives_render(att_string *text, const att_alternatives *alternatives,
                                   const att_render_options *options, att_error *err)
{
    enum { FORMATS = 1 << ATT_FORMAT_TEXT | 1 << ATT_FORMAT_JSON | 1 << ATT_FORMAT_HTML };
    att_render_options resolved;
    ATT_TRY(att_render_options_resolve(&resolved, options, FORMATS, "a list of alternatives", err));
    att_writer out = att_writer_on(text);
    (resolved.format == ATT_FORMAT_JSON   ? put_json
     : resolved.format == ATT_FORMAT_HTML ? put_html
                                          : put_text)(&out, alternatives);
    return att_writer_finish(&out, err);
}

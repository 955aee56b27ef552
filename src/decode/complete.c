/* Completing and scoring texts with a language model: a search whose tokens are reported as they
 * become certain, as whole UTF-8 characters. */
#include "attend.h"

#include "base/error.h"
#include "base/math.h"
#include "base/options.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"
#include "decode/complete.h"
#include "model/layer_check.h"
#include "text/utf8.h"

#include <math.h>
#include <string.h>

#define REPLACEMENT_CHARACTER "\xEF\xBF\xBD" /* U+FFFD */

/* The tokens of a running search on their way to the caller. */
typedef struct token_stream {
    const att_vocab *vocab;
    att_token_callback *on_token;
    void *context;
    int64_t skip_tokens;      /* tokens of the prompt still to come, which are not reported */
    int64_t done;             /* tokens so far, those of the prompt included */
    bool whole_characters;    /* report whole characters only */
    bool strip_leading_space; /* the next token is the first of its text: drop its space */
    att_string pending_bytes; /* the start of a character */
    att_completion *totals;
    bool failed;  /* out of memory */
    bool stopped; /* by on_token, which is not called again */
} token_stream;

enum { DEFAULT_NEW_TOKENS = 100 };

/* ---- whole characters */

/* Whether the bytes are the start of a character whose other bytes have not come yet. */
static bool is_partial_character(const char *bytes, size_t length)
{
    unsigned char lead = (unsigned char)bytes[0];
    size_t expected = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    if (lead >= 0xF5 || length >= expected)
        return false;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)bytes[i] & 0xC0) != 0x80)
            return false;
    return true;
}

/* Moves whole characters from *pending to *out; bytes that cannot become one become U+FFFD. */
static att_status flush_characters(att_string *pending, att_string *out, bool last)
{
    size_t at = 0;
    while (at < pending->length) {
        uint32_t code;
        const char *from = pending->data + at;
        size_t bytes = att_utf8_decode(&code, from, pending->length - at);
        if (bytes == 0 && !last && is_partial_character(from, pending->length - at))
            break;
        bool valid = bytes > 0 && code != 0;
        ATT_TRY(valid ? att_string_append(out, from, bytes)
                      : att_string_puts(out, REPLACEMENT_CHARACTER));
        at += bytes > 0 ? bytes : 1;
    }
    memmove(pending->data, pending->data + at, pending->length - at);
    pending->length -= at;
    return ATT_OK;
}

/* ---- reporting tokens */

static bool emit_characters(token_stream *t, const char *bytes, size_t length, float log_prob)
{
    att_string out = { 0 };
    att_status status = att_string_append(&t->pending_bytes, bytes, length);
    if (status == ATT_OK)
        status = flush_characters(&t->pending_bytes, &out, false);
    bool go_on = status == ATT_OK && t->on_token(t->context, out.length > 0 ? out.data : "",
                                                 out.length, (double)log_prob);
    t->failed = status != ATT_OK;
    t->stopped = !go_on;
    att_string_free(&out);
    return go_on;
}

static bool emit_token(void *context, int32_t token, float log_prob)
{
    token_stream *t = context;
    size_t length;
    (void)att_progress_step(++t->done, NULL); /* the search itself checks for cancel */
    if (t->skip_tokens > 0) {
        t->skip_tokens--;
        return true;
    }
    const char *bytes = att_vocab_token_bytes(t->vocab, token, &length);
    if (t->strip_leading_space && length > 0 && bytes[0] == ' ') {
        bytes++;
        length--;
    }
    t->strip_leading_space = false;
    t->totals->tokens++;
    t->totals->score += (double)log_prob;
    return t->whole_characters ? emit_characters(t, bytes, length, log_prob)
                               : t->on_token(t->context, bytes, length, (double)log_prob);
}

/* Bytes still pending at the end of the text are not a character. */
static att_status emit_rest(token_stream *t, att_error *err)
{
    if (t->stopped)
        return ATT_OK;
    att_string out = { 0 };
    att_status status =
        t->pending_bytes.length > 0 ? flush_characters(&t->pending_bytes, &out, true) : ATT_OK;
    if (status == ATT_OK && out.length > 0)
        t->on_token(t->context, out.data, out.length, 0);
    att_string_free(&out);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* ---- prompts */

/* The token of an empty text where the vocabulary has one (BOS), else the line end where that is
 * one token, else the most frequent token. */
att_status att_lm_start_token(int32_t *out, const att_vocab *vocab, att_error *err)
{
    att_ids ids = { 0 };
    att_status status = att_vocab_encode(vocab, NULL, &ids, "", 0, err);
    if (status == ATT_OK && ids.count == 0)
        status = att_vocab_encode(vocab, NULL, &ids, "\n", 1, err);
    if (status == ATT_OK)
        *out = ids.count == 1 && ids.items[0] != ATT_ID_UNK ? ids.items[0] : ATT_ID_FIRST;
    att_ids_free(&ids);
    return status;
}

static att_status add_start_token(att_ids *ids, const att_vocab *vocab, att_error *err)
{
    int32_t token;
    ATT_TRY(att_lm_start_token(&token, vocab, err));
    return att_ids_add(ids, token) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_prompt_encode(att_ids *ids, const att_model *model, const char *text, size_t length,
                             att_error *err)
{
    ATT_TRY(att_vocab_encode(model->target_vocab, NULL, ids, text, length, err));
    return ids->count > 0 ? ATT_OK : add_start_token(ids, model->target_vocab, err);
}

static att_status encode_prompt(att_ids *ids, const att_model *model, const char *text,
                                size_t length, att_completion *totals, att_error *err)
{
    ATT_TRY(att_vocab_encode(model->target_vocab, NULL, ids, text, length, err));
    totals->prompt_tokens = (int64_t)ids->count;
    for (size_t i = 0; i < ids->count; i++)
        totals->unknown_tokens += ids->items[i] == ATT_ID_UNK;
    return att_progress_check(err);
}

/* ---- searches */

void att_completion_batch_fill(att_completion_batch *out, const att_vocab *vocab,
                               const att_ids *ids)
{
    static const int64_t no_lengths[1] = { 0 };
    *out = (att_completion_batch){ .nothing = { .rows = 1, .lengths = no_lengths },
                                   .forced = { .ids = ids->items + 1, .count = ids->count - 1 } };
    out->batch = (att_search_batch){ .sources = &out->nothing,
                                     .forced = &out->forced,
                                     .first_token = ids->items[0],
                                     .forbid_unknown = true,
                                     .ends_at_bos = att_vocab_prepends_bos(vocab) };
}

static att_status run_search(token_stream *t, const att_model *model,
                             const att_decoding_options *options, const att_ids *ids,
                             att_error *err)
{
    att_completion_batch prompt;
    att_beam_search *search;
    att_completion_batch_fill(&prompt, t->vocab, ids);
    prompt.batch.on_token = emit_token;
    prompt.batch.context = t;
    ATT_TRY(att_beam_search_new(&search, model, options, err));
    att_status status = att_beam_search_run(search, &prompt.batch, err);
    att_layer_error_line(status, NULL, err); /* a text has no lines */
    att_beam_search_free(search);
    if (status == ATT_OK && t->failed)
        status = att_fail_memory(err);
    return status == ATT_OK ? emit_rest(t, err) : status;
}

att_decoding_options att_completion_decoding(const att_decoding_options *options,
                                             const att_vocab *vocab, const att_ids *ids,
                                             int64_t new_tokens)
{
    att_decoding_options out = *options;
    out.max_output_length = (int64_t)ids->count - 1 + new_tokens;
    out.min_output_length = att_vocab_prepends_bos(vocab) ? 0 : INT64_MAX;
    out.max_length_ratio = out.min_length_ratio = out.coverage_penalty = 0;
    return out;
}

static att_status complete(token_stream *t, const att_model *model, const att_ids *ids,
                           const att_complete_options *options, att_error *err)
{
    t->skip_tokens = (int64_t)ids->count - 1;
    t->strip_leading_space = att_vocab_prepends_bos(t->vocab) && ids->count == 1;
    const att_decoding_options decoding =
        att_completion_decoding(options->decoding, t->vocab, ids, options->max_new_tokens);
    att_progress_set_total(decoding.max_output_length);
    return run_search(t, model, &decoding, ids, err);
}

att_status att_model_complete(att_completion *out, const att_model *model, const char *prompt,
                              size_t length, const att_complete_options *options,
                              att_token_callback *on_token, void *context, att_error *err)
{
    att_complete_options resolved;
    att_decoding_options decoding;
    att_completion counts = ATT_INIT(att_completion);
    ATT_TRY(ATT_RESULT_COPY(att_completion, out, &counts, err));
    ATT_TRY(ATT_OPTIONS_COPY(att_complete_options, &resolved, options, err));
    ATT_TRY(ATT_OPTIONS_COPY(att_decoding_options, &decoding, resolved.decoding, err));
    ATT_TRY(att_model_require_type(model, ATT_MODEL_LM, err));
    resolved.decoding = &decoding;
    if (resolved.max_new_tokens == 0)
        resolved.max_new_tokens = DEFAULT_NEW_TOKENS;
    att_ids ids = { 0 };
    token_stream t = { .vocab = model->target_vocab,
                       .on_token = on_token,
                       .context = context,
                       .whole_characters = true,
                       .totals = &counts };
    att_progress_scope scope;
    att_progress_begin(&scope, "completing", 0);
    att_status status = encode_prompt(&ids, model, prompt, length, &counts, err);
    if (status == ATT_OK && ids.count == 0)
        status = add_start_token(&ids, model->target_vocab, err);
    if (status == ATT_OK && resolved.max_new_tokens > 0)
        status = complete(&t, model, &ids, &resolved, err);
    status = att_progress_end(&scope, status, err);
    att_string_free(&t.pending_bytes);
    att_ids_free(&ids);
    counts.perplexity = counts.tokens > 0 ? att_exp(-counts.score / (double)counts.tokens) : NAN;
    (void)ATT_RESULT_COPY(att_completion, out, &counts, NULL);
    return status;
}

static att_status score(token_stream *t, const att_model *model, const att_ids *ids,
                        const att_score_options *options, att_error *err)
{
    const att_decoding_options forced = { .size = sizeof(att_decoding_options),
                                          .ensemble = options->ensemble,
                                          .ensemble_count = options->ensemble_count,
                                          .max_output_length = (int64_t)ids->count - 1 };
    att_progress_set_total(forced.max_output_length);
    return run_search(t, model, &forced, ids, err);
}

att_status att_model_score_text(att_completion *out, const att_model *model, const char *text,
                                size_t length, const att_score_options *options,
                                att_token_callback *on_token, void *context, att_error *err)
{
    att_score_options resolved;
    att_completion counts = ATT_INIT(att_completion);
    ATT_TRY(ATT_RESULT_COPY(att_completion, out, &counts, err));
    ATT_TRY(ATT_OPTIONS_COPY(att_score_options, &resolved, options, err));
    ATT_TRY(att_model_require_type(model, ATT_MODEL_LM, err));
    att_ids ids = { 0 };
    token_stream t = {
        .vocab = model->target_vocab, .on_token = on_token, .context = context, .totals = &counts
    };
    att_progress_scope scope;
    att_progress_begin(&scope, "scoring", 0);
    att_status status = encode_prompt(&ids, model, text, length, &counts, err);
    if (status == ATT_OK && ids.count > 1)
        status = score(&t, model, &ids, &resolved, err);
    status = att_progress_end(&scope, status, err);
    att_ids_free(&ids);
    counts.perplexity = counts.tokens > 0 ? att_exp(-counts.score / (double)counts.tokens) : NAN;
    (void)ATT_RESULT_COPY(att_completion, out, &counts, NULL);
    return status;
}

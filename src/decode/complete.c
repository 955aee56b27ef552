/* Texts that a language model goes on with, or is told; see attend.h. */
#include "attend.h"

#include "base/error.h"
#include "base/string.h"
#include "decode/beam_search.h"
#include "text/utf8.h"

#include <string.h>

#define REPLACEMENT_CHARACTER "\xEF\xBF\xBD" /* U+FFFD */

/* A text under way. */
typedef struct token_stream {
    const att_vocab *vocab;
    att_token_callback *on_token;
    void *context;
    int64_t skip_tokens;      /* tokens of the prompt still to come: they are not told */
    bool whole_characters;    /* whole characters alone */
    bool strip_leading_space; /* the next token is the first of its text: the space before it is not
                               */
    att_string pending_bytes; /* what is no whole character yet */
    att_completion *totals;
    bool failed; /* no memory */
} token_stream;

/* ---- whole characters */

/* Whether bytes are the beginning of a character of which more has to come. */
static bool is_partial_character(const char *bytes, size_t length)
{
    unsigned char lead = (unsigned char)bytes[0];
    size_t wanted = lead >= 0xF0 && lead < 0xF5 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    if (lead >= 0xF5 || length >= wanted)
        return false;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)bytes[i] & 0xC0) != 0x80)
            return false;
    return true;
}

/* Moves the whole characters of what is held to *out; what can be none becomes U+FFFD. */
static att_status flush_characters(att_string *held, att_string *out, bool last)
{
    size_t at = 0;
    while (at < held->length) {
        uint32_t code;
        const char *from = held->data + at;
        size_t bytes = att_utf8_decode(&code, from, held->length - at);
        if (bytes == 0 && !last && is_partial_character(from, held->length - at))
            break;
        bool good = bytes > 0 && code != 0;
        ATT_TRY(good ? att_string_append(out, from, bytes)
                     : att_string_puts(out, REPLACEMENT_CHARACTER));
        at += bytes > 0 ? bytes : 1;
    }
    memmove(held->data, held->data + at, held->length - at);
    held->length -= at;
    return ATT_OK;
}

/* ---- telling */

static bool emit_characters(token_stream *t, const char *bytes, size_t length, float log_prob)
{
    att_string out = { 0 };
    att_status status = att_string_append(&t->pending_bytes, bytes, length);
    if (status == ATT_OK)
        status = flush_characters(&t->pending_bytes, &out, false);
    bool on = status == ATT_OK &&
              t->on_token(t->context, out.length > 0 ? out.data : "", out.length, (double)log_prob);
    t->failed = status != ATT_OK;
    att_string_free(&out);
    return on;
}

static bool emit_token(void *context, int32_t token, float log_prob)
{
    token_stream *t = context;
    size_t length;
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

/* What is still held when the text ends was no character. */
static att_status emit_rest(token_stream *t, att_error *err)
{
    att_string out = { 0 };
    att_status status =
        t->pending_bytes.length > 0 ? flush_characters(&t->pending_bytes, &out, true) : ATT_OK;
    if (status == ATT_OK && out.length > 0)
        t->on_token(t->context, out.data, out.length, 0);
    att_string_free(&out);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* ---- going on */

/* Where a text begins of which nothing is given: after the end of a line, if that is a token. */
static att_status default_prompt(att_ids *ids, const att_vocab *words, att_error *err)
{
    ATT_TRY(att_vocab_encode(words, NULL, ids, "\n", 1, err));
    if (ids->count == 1 && ids->items[0] != ATT_ID_UNK)
        return ATT_OK;
    ids->count = 0; /* the most frequent token will do */
    return att_ids_add(ids, ATT_ID_FIRST) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status encode_prompt(att_ids *ids, const att_model *model, const char *text,
                                size_t length, att_completion *sums, att_error *err)
{
    ATT_TRY(att_vocab_encode(model->target_vocab, NULL, ids, text, length, err));
    sums->prompt_tokens = (int64_t)ids->count;
    for (size_t i = 0; i < ids->count; i++)
        sums->unknown_tokens += ids->items[i] == ATT_ID_UNK;
    return ATT_OK;
}

static att_status check(const att_model *model, att_error *err)
{
    if (att_model_type_get(model) == ATT_MODEL_LM)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "the model goes on with no text: it is a %s",
                    model->architecture->name);
}

/* The first token is given; the others are forced as far as they go. */
static att_status run_search(token_stream *t, const att_model *model, const att_decoding_options *how,
                             const att_ids *ids, att_error *err)
{
    static const int64_t no_lengths[1] = { 0 };
    const att_sources nothing = { .rows = 1, .lengths = no_lengths };
    const att_forced_tokens forced = { .ids = ids->items + 1, .count = ids->count - 1 };
    const att_search_batch task = { .sources = &nothing,
                                    .forced = &forced,
                                    .first_token = ids->items[0],
                                    .forbid_unknown = true,
                                    .ends_at_bos = att_vocab_prepends_bos(t->vocab),
                                    .on_token = emit_token,
                                    .context = t };
    att_beam_search *search;
    ATT_TRY(att_beam_search_new(&search, model, how, err));
    att_status status = att_beam_search_run(search, &task, err);
    att_beam_search_free(search);
    if (status == ATT_OK && t->failed)
        status = att_fail_memory(err);
    return status == ATT_OK ? emit_rest(t, err) : status;
}

att_status att_model_complete(att_completion *out, const att_model *model, const char *prompt,
                              size_t length, const att_complete_options *how,
                              att_token_callback *told, void *context, att_error *err)
{
    *out = (att_completion){ 0 };
    ATT_TRY(check(model, err));
    att_ids ids = { 0 };
    att_decoding_options decoding = how->decoding;
    token_stream t = { .vocab = model->target_vocab,
                       .on_token = told,
                       .context = context,
                       .whole_characters = true,
                       .totals = out };
    att_status status = encode_prompt(&ids, model, prompt, length, out, err);
    if (status == ATT_OK && ids.count == 0)
        status = default_prompt(&ids, model->target_vocab, err);
    if (status == ATT_OK && how->max_new_tokens > 0) {
        t.skip_tokens = (int64_t)ids.count - 1;
        decoding.max_output_length = t.skip_tokens + how->max_new_tokens;
        t.strip_leading_space = att_vocab_prepends_bos(t.vocab) && ids.count == 1;
        decoding.min_output_length =
            att_vocab_prepends_bos(t.vocab) ? 0 : INT64_MAX; /* else without an end */
        decoding.max_length_ratio = decoding.min_length_ratio = decoding.coverage_penalty = 0;
        status = run_search(&t, model, &decoding, &ids, err);
    }
    att_string_free(&t.pending_bytes);
    att_ids_free(&ids);
    return status;
}

att_status att_model_score_text(att_completion *out, const att_model *model, const char *text,
                                size_t length, const att_decoding_options *how,
                                att_token_callback *told, void *context, att_error *err)
{
    *out = (att_completion){ 0 };
    ATT_TRY(check(model, err));
    att_ids ids = { 0 };
    token_stream t = {
        .vocab = model->target_vocab, .on_token = told, .context = context, .totals = out
    };
    att_status status = encode_prompt(&ids, model, text, length, out, err);
    if (status == ATT_OK && ids.count > 1) {
        const att_decoding_options follow = { .ensemble = how ? how->ensemble : NULL,
                                              .ensemble_count = how ? how->ensemble_count : 0,
                                              .max_output_length = (int64_t)ids.count - 1 };
        status = run_search(&t, model, &follow, &ids, err);
    }
    att_ids_free(&ids);
    return status;
}

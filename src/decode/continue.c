/* Texts that a language model goes on with, or is told; see attend.h. */
#include "attend.h"

#include "base/error.h"
#include "base/text.h"
#include "decode/search.h"
#include "text/utf8.h"

#include <string.h>

#define BAD_SHOWN "\xEF\xBF\xBD" /* U+FFFD */

/* A text under way. */
typedef struct telling {
    const att_vocab *words;
    att_token_told *told;
    void *context;
    int64_t passed_over; /* tokens of the prompt still to come: they are not told */
    bool readable;       /* whole characters alone */
    bool led;            /* the next token is the first of its text: the space before it is not */
    att_text held;       /* what is no whole character yet */
    att_continued *sums;
    bool failed; /* no memory */
} telling;

/* ---- whole characters */

/* Whether bytes are the beginning of a character of which more has to come. */
static bool is_begun(const char *bytes, size_t length)
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
static att_status release(att_text *held, att_text *out, bool last)
{
    size_t at = 0;
    while (at < held->length) {
        uint32_t code;
        const char *from = held->data + at;
        size_t bytes = att_utf8_decode(&code, from, held->length - at);
        if (bytes == 0 && !last && is_begun(from, held->length - at))
            break;
        bool good = bytes > 0 && code != 0;
        ATT_TRY(good ? att_text_add(out, from, bytes) : att_text_puts(out, BAD_SHOWN));
        at += bytes > 0 ? bytes : 1;
    }
    memmove(held->data, held->data + at, held->length - at);
    held->length -= at;
    return ATT_OK;
}

/* ---- telling */

static bool tell_readable(telling *t, const char *bytes, size_t length, float log_prob)
{
    att_text out = { 0 };
    att_status status = att_text_add(&t->held, bytes, length);
    if (status == ATT_OK)
        status = release(&t->held, &out, false);
    bool on = status == ATT_OK &&
              t->told(t->context, out.length > 0 ? out.data : "", out.length, (double)log_prob);
    t->failed = status != ATT_OK;
    att_text_free(&out);
    return on;
}

static bool tell_token(void *context, int32_t token, float log_prob)
{
    telling *t = context;
    size_t length;
    if (t->passed_over > 0) {
        t->passed_over--;
        return true;
    }
    const char *bytes = att_vocab_bytes(t->words, token, &length);
    if (t->led && length > 0 && bytes[0] == ' ') {
        bytes++;
        length--;
    }
    t->led = false;
    t->sums->tokens++;
    t->sums->score += (double)log_prob;
    return t->readable ? tell_readable(t, bytes, length, log_prob)
                       : t->told(t->context, bytes, length, (double)log_prob);
}

/* What is still held when the text ends was no character. */
static att_status tell_rest(telling *t, att_error *err)
{
    att_text out = { 0 };
    att_status status = t->held.length > 0 ? release(&t->held, &out, true) : ATT_OK;
    if (status == ATT_OK && out.length > 0)
        t->told(t->context, out.data, out.length, 0);
    att_text_free(&out);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

/* ---- going on */

/* Where a text begins of which nothing is given: after the end of a line, if that is a token. */
static att_status begin_somewhere(att_ids *ids, const att_vocab *words, att_error *err)
{
    ATT_TRY(att_vocab_encode(words, ids, "\n", 1, err));
    if (ids->count == 1 && ids->items[0] != ATT_ID_UNKNOWN)
        return ATT_OK;
    ids->count = 0; /* the most frequent token will do */
    return att_ids_add(ids, ATT_ID_FIRST) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

static att_status read_text(att_ids *ids, const att_model *model, const char *text, size_t length,
                            att_continued *sums, att_error *err)
{
    ATT_TRY(att_vocab_encode(model->target_words, ids, text, length, err));
    sums->prompt_tokens = (int64_t)ids->count;
    for (size_t i = 0; i < ids->count; i++)
        sums->unknown += ids->items[i] == ATT_ID_UNKNOWN;
    return ATT_OK;
}

static att_status check(const att_model *model, att_error *err)
{
    if (att_model_kind(model) == ATT_KIND_TEXT)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "the model goes on with no text: it is a %s",
                    model->family->name);
}

/* The first token is given; the others are forced as far as they go. */
static att_status search_on(telling *t, att_model *model, const att_decoding *how,
                            const att_ids *ids, att_error *err)
{
    static const int64_t no_lengths[1] = { 0 };
    const att_sources nothing = { .rows = 1, .lengths = no_lengths };
    const att_forced forced = { .ids = ids->items + 1, .count = ids->count - 1 };
    const att_search_task task = { .sources = &nothing,
                                   .forced = &forced,
                                   .after = ids->items[0],
                                   .known = true,
                                   .delimited = att_vocab_begins(t->words),
                                   .told = tell_token,
                                   .context = t };
    att_search *search;
    ATT_TRY(att_search_new(&search, model, how, err));
    att_status status = att_search_run(search, &task, err);
    att_search_free(search);
    if (status == ATT_OK && t->failed)
        status = att_fail_memory(err);
    return status == ATT_OK ? tell_rest(t, err) : status;
}

att_status att_model_continue(att_continued *out, att_model *model, const char *prompt,
                              size_t length, const att_continuing *how, att_token_told *told,
                              void *context, att_error *err)
{
    *out = (att_continued){ 0 };
    ATT_TRY(check(model, err));
    att_ids ids = { 0 };
    att_decoding decoding = how->decoding;
    telling t = { .words = model->target_words,
                  .told = told,
                  .context = context,
                  .readable = true,
                  .sums = out };
    att_status status = read_text(&ids, model, prompt, length, out, err);
    if (status == ATT_OK && ids.count == 0)
        status = begin_somewhere(&ids, model->target_words, err);
    if (status == ATT_OK && how->tokens > 0) {
        t.passed_over = (int64_t)ids.count - 1;
        decoding.most_tokens = t.passed_over + how->tokens;
        t.led = att_vocab_begins(t.words) && ids.count == 1;
        decoding.least_tokens = att_vocab_begins(t.words) ? 0 : INT64_MAX; /* else without an end */
        decoding.most_factor = decoding.least_factor = decoding.coverage_penalty = 0;
        status = search_on(&t, model, &decoding, &ids, err);
    }
    att_text_free(&t.held);
    att_ids_free(&ids);
    return status;
}

att_status att_model_score_text(att_continued *out, att_model *model, const char *text,
                                size_t length, const att_decoding *how, att_token_told *told,
                                void *context, att_error *err)
{
    *out = (att_continued){ 0 };
    ATT_TRY(check(model, err));
    att_ids ids = { 0 };
    telling t = { .words = model->target_words, .told = told, .context = context, .sums = out };
    att_status status = read_text(&ids, model, text, length, out, err);
    if (status == ATT_OK && ids.count > 1) {
        const att_decoding follow = { .with = how ? how->with : NULL,
                                      .with_count = how ? how->with_count : 0,
                                      .most_tokens = (int64_t)ids.count - 1 };
        status = search_on(&t, model, &follow, &ids, err);
    }
    att_ids_free(&ids);
    return status;
}

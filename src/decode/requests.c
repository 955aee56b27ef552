/* Tokenizes lines, sorts them by length and collects batches, so that padding is small. */
#include "decode/requests.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "text/words.h"

#include <stdlib.h>
#include <string.h>

att_status att_error_at_line(att_status status, size_t index, att_error *err)
{
    if (status != ATT_OK && status != ATT_CANCELLED && err)
        err->line = (int)index + 1;
    return status;
}

att_status att_error_at_request(att_status status, const att_request *requests, att_error *err)
{
    int64_t row = status == ATT_BAD_INPUT && err && err->line > 0 ? err->line - 1 : 0;
    return att_error_at_line(status, requests[row].index, err);
}

/* A line far longer than the lines of training gives no useful output, and takes time that grows
 * faster than its length: more often it is a file without line ends. */
static int64_t default_limit(const att_model *model)
{
    enum { FACTOR = 10, UNKNOWN = 10000 };
    int64_t trained = model->settings->max_length;
    return trained > 0 ? att_min_i64(trained, INT64_MAX / FACTOR) * FACTOR : UNKNOWN;
}

att_input_limit att_input_limit_of(const att_model *model, att_model *const *ensemble,
                                   size_t ensemble_count, int64_t own_limit)
{
    att_input_limit limit = { .max_length = own_limit };
    if (own_limit == 0) {
        limit.max_length = default_limit(model);
        limit.is_default = true;
    } else if (own_limit < 0) {
        limit.max_length = 0;
    }
    for (size_t i = 0; i <= ensemble_count; i++) {
        int64_t own = att_model_max_source_length(i == 0 ? model : ensemble[i - 1]);
        if (own > 0 && (limit.max_length == 0 || own < limit.max_length)) {
            limit.max_length = own;
            limit.is_default = false;
        }
    }
    return limit;
}

att_status att_input_limit_check(const att_input_limit *limit, int64_t tokens, att_error *err)
{
    if (limit->max_length == 0 || tokens <= limit->max_length)
        return ATT_OK;
    return att_fail(err, ATT_BAD_INPUT, NULL, "expected at most %lld tokens, found %lld%s",
                    (long long)limit->max_length, (long long)tokens,
                    limit->is_default ? "; max-input-length of run, eval and score allows more"
                                      : "");
}

/* ---- tokenizing */

static int by_length(const void *a, const void *b)
{
    const att_request *one = a, *other = b;
    if (one->source.count != other->source.count)
        return one->source.count > other->source.count ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

/* Truncates or refuses a line with too many tokens. */
static att_status limit_length(att_request *q, const att_input_limit *limit, att_error *err)
{
    int64_t count = (int64_t)q->source.count;
    if (limit->overflow == ATT_OVERFLOW_REFUSE)
        return att_input_limit_check(limit, count, err);
    if (limit->max_length == 0 || count <= limit->max_length)
        return ATT_OK;
    q->truncated_tokens = count - limit->max_length;
    q->source.count = (size_t)limit->max_length;
    return ATT_OK;
}

static att_status tokenize_request(att_request *q, const att_vocab *vocab,
                                   att_tokenizer_state *state, const att_input_limit *limit,
                                   att_error *err)
{
    ATT_TRY(att_vocab_encode(vocab, state, &q->source, q->line, strlen(q->line), err));
    return limit_length(q, limit, err);
}

att_status att_requests_tokenize(att_requests *out, const att_vocab *vocab,
                                 const char *const *lines, size_t count,
                                 const att_input_limit *limit, att_error *err)
{
    *out = (att_requests){ att_alloc_zero(count, sizeof *out->items), count };
    if (!out->items)
        return att_fail_memory(err);
    att_tokenizer_state state = { 0 };
    att_status status = ATT_OK;
    for (size_t i = 0; i < count && status == ATT_OK; i++) {
        out->items[i].index = i;
        out->items[i].line = lines[i];
        status = tokenize_request(&out->items[i], vocab, &state, limit, err);
        if (status == ATT_OK && i % ATT_LINES_PER_POLL == ATT_LINES_PER_POLL - 1)
            status = att_progress_check(err);
        status = att_error_at_line(status, i, err);
    }
    att_tokenizer_state_free(&state);
    ATT_TRY(status);
    qsort(out->items, count, sizeof *out->items, by_length);
    return ATT_OK;
}

void att_requests_free(att_requests *requests)
{
    for (size_t i = 0; requests->items && i < requests->count; i++) {
        att_ids_free(&requests->items[i].source);
        att_ids_free(&requests->items[i].copy_ids);
        att_ids_free(&requests->items[i].forced_target);
    }
    att_free(requests->items);
    *requests = (att_requests){ 0 };
}

/* ---- batches */

size_t att_requests_batch_size(const att_requests *requests, size_t first, size_t max)
{
    size_t count = 1;
    while (count < max && first + count < requests->count &&
           requests->items[first + count].source.count > 0)
        count++;
    return count;
}

static void fill_row(int32_t *row, const att_ids *ids, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        row[i] = (size_t)i < ids->count ? ids->items[i] : ATT_ID_PAD;
}

att_status att_request_sources(att_sources *out, const att_request *requests, int64_t rows,
                               att_error *err)
{
    int64_t length = (int64_t)requests[0].source.count;
    int32_t *ids = att_alloc((size_t)rows, (size_t)length * sizeof *ids);
    int64_t *lengths = att_alloc((size_t)rows, sizeof *lengths);
    bool copies = requests[0].copy_ids.count > 0;
    int32_t *copy_ids = copies ? att_alloc((size_t)rows, (size_t)length * sizeof *copy_ids) : NULL;
    *out = (att_sources){
        .rows = rows, .length = length, .ids = ids, .lengths = lengths, .copy_ids = copy_ids
    };
    if (!ids || !lengths || (copies && !copy_ids))
        return att_fail_memory(err);
    for (int64_t r = 0; r < rows; r++) {
        lengths[r] = (int64_t)requests[r].source.count;
        fill_row(ids + r * length, &requests[r].source, length);
        if (copies)
            fill_row(copy_ids + r * length, &requests[r].copy_ids, length);
    }
    return ATT_OK;
}

void att_request_sources_free(att_sources *sources)
{
    att_free((void *)(uintptr_t)sources->ids);
    att_free((void *)(uintptr_t)sources->lengths);
    att_free((void *)(uintptr_t)sources->copy_ids);
    *sources = (att_sources){ 0 };
}

void att_request_words_free(att_request_words *words)
{
    att_string_free(&words->text);
    att_string_free(&words->scratch);
    att_free(words->words);
}

att_status att_request_words_add(att_request_words *out, att_sources *sources,
                                 const att_vocab *vocab, const att_request *requests,
                                 att_error *err)
{
    int64_t rows = sources->rows, length = sources->length;
    size_t at = 0;
    att_tokenizer_kind kind = att_vocab_tokenizer_kind(vocab);
    if (kind != ATT_TOKENIZER_SPACE && kind != ATT_TOKENIZER_WORD)
        return ATT_OK;
    out->words = att_alloc_zero((size_t)rows, (size_t)length * sizeof *out->words);
    if (!out->words)
        return att_fail_memory(err);
    for (int64_t r = 0; r < rows; r++)
        ATT_TRY(att_words_split(&out->text, &out->scratch, vocab, requests[r].line,
                                strlen(requests[r].line), (size_t)sources->lengths[r], err));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < sources->lengths[r]; i++) {
            out->words[r * length + i] = out->text.data + at;
            at += strlen(out->text.data + at) + 1;
        }
    sources->words = out->words;
    return ATT_OK;
}

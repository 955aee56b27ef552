/* Encoding with offsets; see encoding.h. Subwords cover the normalized text without gaps, so their
 * offsets are the running sum of their lengths; other tokens are found by splitting it again. */
#include "text/encoding.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "text/utf8.h"
#include "text/vocab_internal.h"

/* Tokens between two polls of the progress callback. */
enum { POLL_TOKENS = 1024 };

static void poll_at(size_t token)
{
    if (token % POLL_TOKENS == POLL_TOKENS - 1)
        att_progress_poll();
}

static void set_subword_offsets(att_encoding *out, const att_vocab *vocab)
{
    size_t end = 0;
    for (size_t i = 0; i < out->ids.count && !att_progress_abandoned(); i++) {
        size_t bytes;
        att_vocab_token_bytes(vocab, out->ids.items[i], &bytes);
        out->start_offsets[i] = end;
        out->end_offsets[i] = end += bytes;
        poll_at(i);
    }
}

static void set_word_offsets(att_encoding *out, const att_vocab *vocab)
{
    att_pretokenizer splitter = { .text = out->text.data,
                                  .length = out->text.length,
                                  .kind = vocab->kind,
                                  .whole_text = vocab->whole_text };
    const char *token;
    size_t bytes, i = vocab->prepend_bos, end = 0;
    if (vocab->prepend_bos)
        out->start_offsets[0] = out->end_offsets[0] = 0;
    while (i < out->ids.count && !att_progress_abandoned() &&
           att_pretokenizer_next(&splitter, &token, &bytes)) {
        out->start_offsets[i] = (size_t)(token - out->text.data);
        out->end_offsets[i] = end = out->start_offsets[i] + bytes;
        poll_at(i++);
    }
    for (; i < out->ids.count; i++) /* the end token, and tags */
        out->start_offsets[i] = out->end_offsets[i] = end;
}

static att_status encode(att_encoding *out, const att_vocab *vocab, att_tokenizer_state *state,
                         const char *text, size_t length, att_error *err)
{
    size_t text_length = att_vocab_tags_start(vocab, text, length);
    ATT_TRY(
        att_vocab_normalize(vocab, &state->normalized, &out->to_source, text, text_length, err));
    ATT_TRY(att_vocab_encode_normalized(vocab, state, SIZE_MAX, &out->ids, err));
    ATT_TRY(att_vocab_encode_tags(vocab, SIZE_MAX, &out->ids, text, length, err));
    out->start_offsets = att_alloc(out->ids.count, sizeof *out->start_offsets);
    out->end_offsets = att_alloc(out->ids.count, sizeof *out->end_offsets);
    if (!out->start_offsets || !out->end_offsets)
        return att_fail_memory(err);
    out->text = state->normalized;
    state->normalized = (att_string){ 0 };
    (att_vocab_is_subword(vocab) ? set_subword_offsets : set_word_offsets)(out, vocab);
    return ATT_OK;
}

att_status att_encoding_new(att_encoding *out, const att_vocab *vocab, att_tokenizer_state *state,
                            const char *text, size_t length, att_error *err)
{
    att_tokenizer_state own = { 0 };
    *out = (att_encoding){ 0 };
    att_status status = encode(out, vocab, state ? state : &own, text, length, err);
    att_tokenizer_state_free(&own);
    return status;
}

void att_encoding_free(att_encoding *encoding)
{
    att_string_free(&encoding->text);
    att_ids_free(&encoding->ids);
    att_free(encoding->start_offsets);
    att_free(encoding->end_offsets);
    att_offset_map_free(&encoding->to_source);
    *encoding = (att_encoding){ 0 };
}

const char *att_encoding_piece(const att_encoding *encoding, size_t token, size_t *length)
{
    *length = encoding->end_offsets[token] - encoding->start_offsets[token];
    return *length > 0 ? encoding->text.data + encoding->start_offsets[token] : "";
}

void att_encoding_source_range(const att_encoding *encoding, size_t token, size_t *start,
                               size_t *end)
{
    *start = encoding->start_offsets[token];
    *end = encoding->end_offsets[token];
    att_offset_map_to_source(&encoding->to_source, start, end);
}

att_status att_encoding_decode(att_string *out, const att_vocab *vocab, const int32_t *ids,
                               size_t count, att_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= att_vocab_size(vocab))
            return att_fail(err, ATT_BAD_INPUT, NULL,
                            "token id %d is outside the vocabulary, which has ids 0 to %d", ids[i],
                            att_vocab_size(vocab) - 1);
    return att_vocab_decode(vocab, out, ids, count) == ATT_OK ? ATT_OK : att_fail_memory(err);
}

const char **att_encoding_token_strings(const att_encoding *encoding, int64_t first, int64_t count,
                                        att_arena *arena)
{
    const char **strings = att_arena_alloc(arena, (size_t)count, sizeof *strings);
    size_t start = att_encoding_token_start(encoding, first);
    for (int64_t i = 0; strings && i < count; i++) {
        size_t length = encoding->end_offsets[first + i] - start;
        const char *bytes = encoding->text.data + start;
        bool whole = i == count - 1 || att_utf8_valid_prefix(bytes, length) == length;
        strings[i] = att_arena_strndup(arena, bytes, whole ? length : 0);
        if (!strings[i])
            return NULL;
        start += whole ? length : 0;
    }
    return strings;
}

/* Encoding lines into ids and decoding ids into text; see vocab.h. */
#include "text/vocab.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/progress.h"
#include "base/string.h"
#include "text/pretokenizer.h"
#include "text/vocab_internal.h"

void att_tokenizer_state_free(att_tokenizer_state *state)
{
    att_string_free(&state->normalized);
    att_merger_free(&state->merger);
    att_bpe_cache_free(&state->cache);
}

att_status att_vocab_normalize(const att_vocab *vocab, att_string *out, att_offset_map *offsets,
                               const char *line, size_t length, att_error *err)
{
    if (!vocab->whole_text || vocab->kind != ATT_TOKENIZER_BYTE)
        ATT_TRY(att_line_validate(line, length, err));
    bool is_line = !vocab->whole_text || vocab->prepend_bos;
    return (is_line ? att_line_normalize : att_document_normalize)(out, offsets, vocab->kind, line,
                                                                   length, vocab->lowercase, err);
}

static att_status encode_token(const att_vocab *vocab, att_tokenizer_state *state, att_ids *ids,
                               const char *token, size_t length)
{
    if (vocab->kind == ATT_TOKENIZER_BYTE)
        return att_ids_add(ids, ATT_ID_FIRST + (unsigned char)*token);
    if (vocab->bpe)
        return att_bpe_encode(vocab->bpe, &state->merger, &state->cache, ids, ATT_ID_FIRST, token,
                              length);
    return att_ids_add(ids, att_vocab_id(vocab, token, length));
}

/* Tokens between two polls of the progress callback. */
enum { POLL_TOKENS = 1024 };

static att_status encode_tokens(const att_vocab *vocab, att_tokenizer_state *state,
                                size_t max_tokens, att_ids *ids)
{
    size_t length, start = ids->count;
    const char *token;
    att_pretokenizer splitter = att_vocab_split(vocab, &state->normalized);
    for (size_t n = 1;
         ids->count - start < max_tokens && att_pretokenizer_next(&splitter, &token, &length);
         n++) {
        ATT_TRY(encode_token(vocab, state, ids, token, length));
        if (n % POLL_TOKENS == 0) {
            att_progress_poll();
            if (att_progress_abandoned() || att_progress_cancelled())
                return ATT_CANCELLED;
        }
    }
    return ATT_OK;
}

static att_status encode_sequence(const att_vocab *vocab, att_tokenizer_state *state,
                                  size_t max_tokens, att_ids *ids)
{
    size_t start = ids->count;
    if (vocab->prepend_bos)
        ATT_TRY(att_ids_add(ids, ATT_ID_BOS));
    if (vocab->sentencepiece)
        ATT_TRY(att_sentencepiece_encode(vocab->sentencepiece, &state->merger, ids, ATT_ID_FIRST,
                                         state->normalized.data, state->normalized.length));
    else if (ids->count - start < max_tokens)
        ATT_TRY(encode_tokens(vocab, state, max_tokens - (ids->count - start), ids));
    if (vocab->append_eos && ids->count > start)
        ATT_TRY(att_ids_add(ids, ATT_ID_EOS));
    ids->count = start + att_min_size(ids->count - start, max_tokens);
    return ATT_OK;
}

att_status att_vocab_encode_normalized(const att_vocab *vocab, att_tokenizer_state *state,
                                       size_t max_tokens, att_ids *ids, att_error *err)
{
    att_status status = encode_sequence(vocab, state, max_tokens, ids);
    if (status == ATT_CANCELLED) /* a worker that was told to stop succeeds: nobody reads its ids */
        return att_progress_check(err);
    return status == ATT_OK ? ATT_OK : att_fail_memory(err);
}

att_status att_vocab_encode_limited(const att_vocab *vocab, att_tokenizer_state *state,
                                    size_t max_tokens, att_ids *ids, const char *line,
                                    size_t length, att_error *err)
{
    att_tokenizer_state own = { 0 };
    att_tokenizer_state *used = state ? state : &own;
    size_t start = ids->count, text_length = att_vocab_tags_start(vocab, line, length);
    att_status status = att_vocab_normalize(vocab, &used->normalized, NULL, line, text_length, err);
    if (status == ATT_OK)
        status = att_vocab_encode_normalized(vocab, used, max_tokens, ids, err);
    att_tokenizer_state_free(&own);
    ATT_TRY(status);
    return att_vocab_encode_tags(vocab, max_tokens - (ids->count - start), ids, line, length, err);
}

att_status att_vocab_encode(const att_vocab *vocab, att_tokenizer_state *state, att_ids *ids,
                            const char *line, size_t length, att_error *err)
{
    return att_vocab_encode_limited(vocab, state, SIZE_MAX, ids, line, length, err);
}

att_status att_vocab_decode(const att_vocab *vocab, att_string *out, const int32_t *ids,
                            size_t count)
{
    if (vocab->bpe || vocab->sentencepiece)
        return att_vocab_decode_subwords(vocab, out, ids, count);
    size_t start = out->length;
    att_tokenizer_kind joined =
        vocab->whole_text ? ATT_TOKENIZER_CHAR : vocab->kind; /* spaces are tokens */
    for (size_t i = 0; i < count; i++)
        if ((ids[i] == ATT_ID_UNK || ids[i] >= ATT_ID_FIRST) && !att_vocab_is_tag(vocab, ids[i]))
            ATT_TRY(att_detokenize_append(out, start, joined, att_vocab_token(vocab, ids[i])));
    return ATT_OK;
}

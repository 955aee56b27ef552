/* The extended vocabulary of a pair; see extended_vocab.h. */
#include "data/extended_vocab.h"

#include "base/error.h"
#include "base/minmax.h"
#include "base/string.h"
#include "text/pretokenizer.h"

#include <string.h>

void att_extended_vocab_free(att_extended_vocab *vocab)
{
    att_string_set_free(&vocab->words);
    att_string_free(&vocab->scratch);
}

static bool extends(const att_extended_vocab *vocab)
{
    return att_vocab_tokenizer_kind(vocab->source) == att_vocab_tokenizer_kind(vocab->target) &&
           !att_vocab_is_subword(vocab->source) && !att_vocab_is_subword(vocab->target);
}

static bool has_unknown(const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] == ATT_ID_UNK)
            return true;
    return false;
}

/* A splitter over the tokens of a line as the vocabulary sees them; over none where no token is
 * unknown or there is no line. */
static att_status split_line(att_extended_vocab *vocab, att_pretokenizer *out, const att_vocab *own,
                             const int32_t *ids, size_t count, const char *line, size_t length,
                             att_error *err)
{
    *out = (att_pretokenizer){ .kind = att_vocab_tokenizer_kind(own) };
    if (!line || att_vocab_is_subword(own) || !has_unknown(ids, count))
        return ATT_OK;
    ATT_TRY(att_vocab_normalize(own, &vocab->scratch, NULL, line, length, err));
    out->text = vocab->scratch.data;
    out->length = vocab->scratch.length;
    return ATT_OK;
}

/* The id of a text of the source; a text that the target vocabulary lacks is added. */
static att_status find_or_add(att_extended_vocab *vocab, int32_t *id, const char *text,
                              size_t length)
{
    *id = att_vocab_is_subword(vocab->target) ? att_vocab_find(vocab->target, text, length)
                                              : att_vocab_id(vocab->target, text, length);
    if (*id >= ATT_ID_FIRST)
        return ATT_OK;
    *id = ATT_ID_UNK;
    if (!extends(vocab))
        return ATT_OK;
    size_t index;
    ATT_TRY(att_string_set_add(&vocab->words, text, length, &index));
    *id = att_vocab_size(vocab->target) + (int32_t)index;
    return ATT_OK;
}

att_status att_extended_vocab_source(att_extended_vocab *vocab, att_ids *out, const int32_t *ids,
                                     size_t count, const char *line, size_t length, att_error *err)
{
    att_pretokenizer splitter;
    if (line)
        length = att_vocab_tags_start(vocab->source, line, length);
    att_string_set_free(&vocab->words);
    ATT_TRY(split_line(vocab, &splitter, vocab->source, ids, count, line, length, err));
    for (size_t i = 0; i < count; i++) {
        const char *text = "";
        size_t bytes = 0;
        int32_t id = ATT_ID_UNK;
        bool split = splitter.text && ids[i] != ATT_ID_BOS && ids[i] != ATT_ID_EOS &&
                     att_pretokenizer_next(&splitter, &text, &bytes);
        bool known = ids[i] >= ATT_ID_FIRST && !att_vocab_is_tag(vocab->source, ids[i]);
        if (known) {
            text = att_vocab_token(vocab->source, ids[i]);
            bytes = strlen(text);
        }
        if (known && vocab->source == vocab->target)
            id = ids[i]; /* the names of subwords may be equal */
        else if ((known || (split && ids[i] == ATT_ID_UNK)) &&
                 find_or_add(vocab, &id, text, bytes) != ATT_OK)
            return att_fail_memory(err);
        if (att_ids_add(out, id) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}

att_status att_extended_vocab_target(att_extended_vocab *vocab, int32_t *ids, size_t count,
                                     const char *line, size_t length, att_error *err)
{
    att_pretokenizer splitter;
    if (vocab->words.count == 0)
        return ATT_OK;
    ATT_TRY(split_line(vocab, &splitter, vocab->target, ids, count, line, length, err));
    for (size_t i = 0; i < count; i++) {
        const char *text;
        size_t bytes;
        if (!splitter.text || !att_pretokenizer_next(&splitter, &text, &bytes))
            return ATT_OK;
        ptrdiff_t index =
            ids[i] == ATT_ID_UNK ? att_string_set_find(&vocab->words, text, bytes) : -1;
        if (index >= 0)
            ids[i] = att_vocab_size(vocab->target) + (int32_t)index;
    }
    return ATT_OK;
}

int64_t att_extended_size(int64_t size, const int32_t *ids, int64_t length)
{
    for (int64_t i = 0; i < length; i++)
        size = att_max_i64(size, (int64_t)ids[i] + 1);
    return size;
}

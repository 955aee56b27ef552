/* Tags beside the text of a line; see vocab.h. They are entries of the vocabulary after its other
 * tokens, marked as tags, so that the tag V and the letter V are two tokens. */
#include "text/vocab.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/string.h"
#include "text/vocab_internal.h"

#include <string.h>

void att_vocab_set_tags(att_vocab *vocab)
{
    vocab->has_tags = true;
}

bool att_vocab_has_tags(const att_vocab *vocab)
{
    return vocab->has_tags;
}

int32_t att_vocab_tag_count(const att_vocab *vocab)
{
    size_t first = vocab->count;
    while (first > 0 && vocab->entries[first - 1].is_tag)
        first--;
    return (int32_t)(vocab->count - first);
}

bool att_vocab_is_tag(const att_vocab *vocab, int32_t id)
{
    return id >= ATT_ID_FIRST && (size_t)(id - ATT_ID_FIRST) < vocab->count &&
           vocab->entries[id - ATT_ID_FIRST].is_tag;
}

/* ---- the tags of a line */

size_t att_vocab_tags_start(const att_vocab *vocab, const char *line, size_t length)
{
    const char *tab = vocab->has_tags && length > 0 ? memchr(line, '\t', length) : NULL;
    return tab ? (size_t)(tab - line) : length;
}

static bool is_separator(char c)
{
    return c == ';' || c == '|' || c == ',' || c == ' ' || (c >= '\t' && c <= '\r');
}

bool att_tags_next(const char *line, size_t length, size_t *at, const char **tag, size_t *size)
{
    size_t start = *at;
    if (start >= length) /* an empty column may have no text at all */
        return false;
    while (start < length && is_separator(line[start]))
        start++;
    for (*at = start; *at < length && !is_separator(line[*at]);)
        ++*at;
    *tag = line + start;
    *size = *at - start;
    return *size > 0;
}

att_status att_vocab_encode_tags(const att_vocab *vocab, size_t max_tokens, att_ids *ids,
                                 const char *line, size_t length, att_error *err)
{
    size_t at = att_vocab_tags_start(vocab, line, length), size;
    const char *tag;
    if (at < length)
        ATT_TRY(att_line_validate(line, length, err));
    for (size_t i = 0; i < max_tokens && att_tags_next(line, length, &at, &tag, &size); i++) {
        ptrdiff_t index = att_vocab_find_tag(vocab, tag, size);
        int32_t id = index < 0 ? ATT_ID_UNK : (int32_t)index + ATT_ID_FIRST;
        if (att_ids_add(ids, id) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}

att_status att_vocab_count_tags(att_vocab *vocab, size_t max_tokens, att_ids *ids, const char *line,
                                size_t length, att_error *err)
{
    size_t at = att_vocab_tags_start(vocab, line, length), size;
    const char *tag;
    if (at < length)
        ATT_TRY(att_line_validate(line, length, err));
    for (size_t i = 0; i < max_tokens && att_tags_next(line, length, &at, &tag, &size); i++) {
        ptrdiff_t index = att_vocab_find_tag(vocab, tag, size);
        if (index < 0) {
            index = (ptrdiff_t)vocab->count;
            ATT_TRY(att_vocab_add_tag(vocab, tag, size, err));
        }
        vocab->entries[index].count++;
        if (att_ids_add(ids, (int32_t)index) != ATT_OK)
            return att_fail_memory(err);
    }
    return ATT_OK;
}

/* ---- entries */

const char *att_vocab_entry_key(const att_vocab_entry *entry, size_t *length)
{
    *length = entry->length - (entry->is_tag ? 2 : 0);
    return entry->text + entry->is_tag;
}

att_status att_vocab_add_tag(att_vocab *vocab, const char *tag, size_t length, att_error *err)
{
    att_string text = { 0 };
    att_status status = att_string_puts(&text, "[");
    if (status == ATT_OK)
        status = att_string_append(&text, tag, length);
    if (status == ATT_OK)
        status = att_string_puts(&text, "]");
    status = status == ATT_OK ? att_vocab_append_entry(vocab, text.data, text.length, true, err)
                              : att_fail_memory(err);
    att_string_free(&text);
    return status;
}

att_status att_vocab_move_tags_last(att_vocab *vocab)
{
    size_t count = vocab->count, tags = 0, kept = 0;
    if (!vocab->has_tags)
        return ATT_OK;
    att_vocab_entry *moved = att_alloc(count, sizeof *moved);
    if (!moved)
        return ATT_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (vocab->entries[i].is_tag)
            moved[tags++] = vocab->entries[i];
        else
            vocab->entries[kept++] = vocab->entries[i];
    }
    memcpy(vocab->entries + kept, moved, tags * sizeof *moved);
    att_free(moved);
    return att_vocab_index_entries(vocab);
}

/* Tokens that two vocabularies share, though they split lines into different kinds of them. */
#include "text/vocab.h"

#include "base/error.h"
#include "text/vocab_internal.h"

#include <string.h>

static ptrdiff_t find_alike(const att_vocab *vocab, const att_vocab_entry *entry)
{
    size_t length;
    const char *key = att_vocab_entry_key(entry, &length);
    return (entry->is_tag ? att_vocab_find_tag : att_vocab_find_entry)(vocab, key, length);
}

/* Adds what `from` has beyond it, with the count 0. */
static att_status add_missing(att_vocab *vocab, const att_vocab *from, att_error *err)
{
    for (size_t i = 0; i < from->count; i++)
        if (find_alike(vocab, &from->entries[i]) < 0)
            ATT_TRY(att_vocab_append_entry(vocab, from->entries[i].text, from->entries[i].length,
                                           from->entries[i].is_tag, err));
    return ATT_OK;
}

att_status att_vocab_share_counts(att_vocab *a, att_vocab *b, att_error *err)
{
    ATT_TRY(add_missing(a, b, err));
    ATT_TRY(add_missing(b, a, err));
    for (size_t i = 0; i < a->count; i++) {
        att_vocab_entry *other = &b->entries[find_alike(b, &a->entries[i])];
        a->entries[i].count += other->count;
        other->count = a->entries[i].count;
    }
    a->has_tags = b->has_tags = a->has_tags || b->has_tags;
    return ATT_OK;
}

bool att_vocab_same_tokens(const att_vocab *a, const att_vocab *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->entries[i].is_tag == b->entries[i].is_tag &&
               strcmp(a->entries[i].text, b->entries[i].text) == 0;
    return same;
}

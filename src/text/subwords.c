/* Subwords: what they are made of, checked and laid out; see subwords.h. */
#include "text/subwords.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/subwords_table.h"
#include "text/utf8.h"

#include <string.h>

enum { MOST_TOKENS = 1 << 24 };

/* ---- spellings */

/* A code point beyond ASCII as UTF-8. */
static size_t write_letter(char out[4], uint32_t code)
{
    size_t bytes = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = bytes - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(leads[bytes] | code);
    return bytes;
}

static bool spell(att_subwords *s, att_spelling *out, const char *bytes, size_t length)
{
    *out = (att_spelling){ att_arena_copy(&s->arena, bytes, length), (uint32_t)length };
    return out->bytes != NULL;
}

static bool spell_letters(att_subwords *s, att_spelling *out)
{
    char bytes[4];
    for (int i = 0; i < ATT_SUBWORD_BYTES; i++) {
        bytes[0] = (char)i;
        if (!spell(s, out++, bytes, 1))
            return false;
    }
    for (size_t i = 0; i < s->letter_count; i++)
        if (!spell(s, out++, bytes, write_letter(bytes, s->letters[i])))
            return false;
    return true;
}

/* A merge's two tokens must be older than it, and neither a byte of a letter that is not known. */
static att_status spell_merge(att_subwords *s, att_spelling *all, size_t place, const char *name,
                              att_error *err)
{
    const att_merge merge = s->merges[place];
    const int32_t parts[] = { merge.left, merge.right };
    size_t token = ATT_SUBWORD_BYTES + s->letter_count + place, length = 0;
    char bytes[ATT_SUBWORD_LONGEST];
    for (int i = 0; i < 2; i++) {
        bool whole = parts[i] >= 0 && (parts[i] < 0x80 || parts[i] >= ATT_SUBWORD_BYTES);
        if (!whole || (size_t)parts[i] >= token)
            return att_fail(err, ATT_BAD_INPUT, name, "merge %zu of a vocabulary joins no tokens",
                            place + 1);
        const att_spelling *part = &all[parts[i]];
        if (length + part->length > sizeof bytes)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "merge %zu of a vocabulary makes a token of more than %d bytes",
                            place + 1, ATT_SUBWORD_LONGEST);
        memcpy(bytes + length, part->bytes, part->length);
        length += part->length;
    }
    return spell(s, &all[token], bytes, length) ? ATT_OK : att_fail_memory(err);
}

/* ---- the table of merges */

static att_status add_merge(att_subwords *s, size_t place, const char *name, att_error *err)
{
    const att_merge merge = s->merges[place];
    size_t slot = att_merge_hash(merge.left, merge.right, s->slot_count);
    for (; s->slots[slot]; slot = (slot + 1) & (s->slot_count - 1)) {
        const att_merge *other = &s->merges[s->slots[slot] - 1];
        if (other->left == merge.left && other->right == merge.right)
            return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has merge %zu twice",
                            place + 1);
    }
    s->slots[slot] = (uint32_t)place + 1;
    return ATT_OK;
}

static att_status lay_out(att_subwords *s, const char *name, att_error *err)
{
    att_spelling *all = att_arena_take(&s->arena, att_subwords_count(s), sizeof *all);
    for (s->slot_count = 16; s->slot_count < 2 * s->merge_count;)
        s->slot_count *= 2;
    s->slots = att_alloc_zero(s->slot_count, sizeof *s->slots);
    if (!all || !s->slots || !spell_letters(s, all))
        return att_fail_memory(err);
    s->spellings = all;
    for (size_t i = 0; i < s->merge_count; i++) {
        ATT_TRY(spell_merge(s, all, i, name, err));
        ATT_TRY(add_merge(s, i, name, err));
    }
    return ATT_OK;
}

/* ---- life */

static att_status check_letters(const uint32_t *letters, size_t count, const char *name,
                                att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        bool rising = i == 0 ? letters[i] >= 0x80 : letters[i] > letters[i - 1];
        if (!rising || letters[i] > 0x10FFFF || (letters[i] >= 0xD800 && letters[i] < 0xE000))
            return att_fail(err, ATT_BAD_INPUT, name,
                            "letter %zu of a vocabulary is out of its order", i + 1);
    }
    return ATT_OK;
}

static att_status fill(att_subwords *s, const uint32_t *letters, const att_merge *merges,
                       const char *name, att_error *err)
{
    uint32_t *own_letters = att_arena_take(&s->arena, s->letter_count, sizeof *letters);
    att_merge *own_merges = att_arena_take(&s->arena, s->merge_count, sizeof *merges);
    if (!own_letters || !own_merges)
        return att_fail_memory(err);
    if (s->letter_count > 0)
        memcpy(own_letters, letters, s->letter_count * sizeof *letters);
    if (s->merge_count > 0)
        memcpy(own_merges, merges, s->merge_count * sizeof *merges);
    s->letters = own_letters;
    s->merges = own_merges;
    return lay_out(s, name, err);
}

att_status att_subwords_new(att_subwords **out, const uint32_t *letters, size_t letter_count,
                            const att_merge *merges, size_t merge_count, const char *name,
                            att_error *err)
{
    *out = NULL;
    if (letter_count > MOST_TOKENS || merge_count > MOST_TOKENS)
        return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has more than %d subwords",
                        MOST_TOKENS);
    ATT_TRY(check_letters(letters, letter_count, name, err));
    att_subwords *s = att_alloc_zero(1, sizeof *s);
    if (!s)
        return att_fail_memory(err);
    s->letter_count = letter_count;
    s->merge_count = merge_count;
    att_status status = fill(s, letters, merges, name, err);
    if (status == ATT_OK)
        *out = s;
    else
        att_subwords_free(s);
    return status;
}

void att_subwords_free(att_subwords *subwords)
{
    if (!subwords)
        return;
    att_free(subwords->slots);
    att_free(subwords->known);
    att_free(subwords->known_slots);
    att_free(subwords->cells);
    att_heap_free(&subwords->queue);
    att_arena_free(&subwords->arena);
    att_free(subwords);
}

/* ---- looking inside */

const uint32_t *att_subwords_letters(const att_subwords *subwords, size_t *count)
{
    *count = subwords->letter_count;
    return subwords->letters;
}

const att_merge *att_subwords_merges(const att_subwords *subwords, size_t *count)
{
    *count = subwords->merge_count;
    return subwords->merges;
}

size_t att_subwords_count(const att_subwords *subwords)
{
    return ATT_SUBWORD_BYTES + subwords->letter_count + subwords->merge_count;
}

const char *att_subwords_spell(const att_subwords *subwords, size_t token, size_t *length)
{
    *length = subwords->spellings[token].length;
    return subwords->spellings[token].bytes;
}

/* The token of a letter; -1 where it is not known. */
static int32_t find_letter(const att_subwords *subwords, uint32_t code)
{
    size_t low = 0, high = subwords->letter_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (subwords->letters[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < subwords->letter_count && subwords->letters[low] == code;
    return found ? (int32_t)low + ATT_SUBWORD_BYTES : -1;
}

size_t att_subwords_take(const att_subwords *subwords, int32_t tokens[4], size_t *count,
                         const char *text, size_t length)
{
    uint32_t code;
    size_t bytes = att_utf8_take(text, length, &code);
    *count = 1;
    if (bytes == 1) {
        tokens[0] = (unsigned char)*text;
        return bytes;
    }
    tokens[0] = find_letter(subwords, code);
    if (tokens[0] >= 0)
        return bytes;
    for (*count = 0; *count < bytes; ++*count)
        tokens[*count] = (unsigned char)text[*count];
    return bytes;
}

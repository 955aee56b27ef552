/* Subwords: what they are made of, checked and laid out; see subwords.h. */
#include "text/bpe.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/bpe_internal.h"
#include "text/utf8.h"

#include <string.h>

enum { MAX_TOKENS = 1 << 24 };

/* ---- spellings */

/* A code point beyond ASCII as UTF-8. */
static size_t write_utf8(char out[4], uint32_t code)
{
    size_t bytes = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = bytes - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(leads[bytes] | code);
    return bytes;
}

static bool add_token(att_bpe *s, att_bpe_token *out, const char *bytes, size_t length)
{
    *out = (att_bpe_token){ att_arena_strndup(&s->arena, bytes, length), (uint32_t)length };
    return out->bytes != NULL;
}

static bool add_character_tokens(att_bpe *s, att_bpe_token *out)
{
    char bytes[4];
    for (int i = 0; i < ATT_BPE_BYTES; i++) {
        bytes[0] = (char)i;
        if (!add_token(s, out++, bytes, 1))
            return false;
    }
    for (size_t i = 0; i < s->character_count; i++)
        if (!add_token(s, out++, bytes, write_utf8(bytes, s->characters[i])))
            return false;
    return true;
}

/* A merge's two tokens must be older than it, and neither a byte of a letter that is not known. */
static att_status add_merge_token(att_bpe *s, att_bpe_token *all, size_t place, const char *name,
                                  att_error *err)
{
    const att_bpe_merge merge = s->merges[place];
    const int32_t parts[] = { merge.left, merge.right };
    size_t token = ATT_BPE_BYTES + s->character_count + place, length = 0;
    char bytes[ATT_BPE_MAX_TOKEN_BYTES];
    for (int i = 0; i < 2; i++) {
        bool whole = parts[i] >= 0 && (parts[i] < 0x80 || parts[i] >= ATT_BPE_BYTES);
        if (!whole || (size_t)parts[i] >= token)
            return att_fail(err, ATT_BAD_INPUT, name, "merge %zu of a vocabulary joins no tokens",
                            place + 1);
        const att_bpe_token *part = &all[parts[i]];
        if (length + part->length > sizeof bytes)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "merge %zu of a vocabulary makes a token of more than %d bytes",
                            place + 1, ATT_BPE_MAX_TOKEN_BYTES);
        memcpy(bytes + length, part->bytes, part->length);
        length += part->length;
    }
    return add_token(s, &all[token], bytes, length) ? ATT_OK : att_fail_memory(err);
}

/* ---- the table of merges */

static att_status add_merge(att_bpe *s, size_t place, const char *name, att_error *err)
{
    const att_bpe_merge merge = s->merges[place];
    size_t slot = att_bpe_pair_hash(merge.left, merge.right, s->slot_count);
    for (; s->slots[slot]; slot = (slot + 1) & (s->slot_count - 1)) {
        const att_bpe_merge *other = &s->merges[s->slots[slot] - 1];
        if (other->left == merge.left && other->right == merge.right)
            return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has merge %zu twice",
                            place + 1);
    }
    s->slots[slot] = (uint32_t)place + 1;
    return ATT_OK;
}

static att_status build_tables(att_bpe *s, const char *name, att_error *err)
{
    att_bpe_token *all = att_arena_alloc(&s->arena, att_bpe_size(s), sizeof *all);
    for (s->slot_count = 16; s->slot_count < 2 * s->merge_count;)
        s->slot_count *= 2;
    s->slots = att_alloc_zero(s->slot_count, sizeof *s->slots);
    if (!all || !s->slots || !add_character_tokens(s, all))
        return att_fail_memory(err);
    s->tokens = all;
    for (size_t i = 0; i < s->merge_count; i++) {
        ATT_TRY(add_merge_token(s, all, i, name, err));
        ATT_TRY(add_merge(s, i, name, err));
    }
    return ATT_OK;
}

/* ---- life */

static att_status check_characters(const uint32_t *letters, size_t count, const char *name,
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

static att_status copy_and_build(att_bpe *s, const uint32_t *letters, const att_bpe_merge *merges,
                                 const char *name, att_error *err)
{
    uint32_t *own_letters = att_arena_alloc(&s->arena, s->character_count, sizeof *letters);
    att_bpe_merge *own_merges = att_arena_alloc(&s->arena, s->merge_count, sizeof *merges);
    if (!own_letters || !own_merges)
        return att_fail_memory(err);
    if (s->character_count > 0)
        memcpy(own_letters, letters, s->character_count * sizeof *letters);
    if (s->merge_count > 0)
        memcpy(own_merges, merges, s->merge_count * sizeof *merges);
    s->characters = own_letters;
    s->merges = own_merges;
    return build_tables(s, name, err);
}

att_status att_bpe_new(att_bpe **out, const uint32_t *letters, size_t letter_count,
                       const att_bpe_merge *merges, size_t merge_count, const char *name,
                       att_error *err)
{
    *out = NULL;
    if (letter_count > MAX_TOKENS || merge_count > MAX_TOKENS)
        return att_fail(err, ATT_BAD_INPUT, name, "a vocabulary has more than %d subwords",
                        MAX_TOKENS);
    ATT_TRY(check_characters(letters, letter_count, name, err));
    att_bpe *s = att_alloc_zero(1, sizeof *s);
    if (!s)
        return att_fail_memory(err);
    s->character_count = letter_count;
    s->merge_count = merge_count;
    att_status status = copy_and_build(s, letters, merges, name, err);
    if (status == ATT_OK)
        *out = s;
    else
        att_bpe_free(s);
    return status;
}

void att_bpe_free(att_bpe *subwords)
{
    if (!subwords)
        return;
    att_free(subwords->slots);
    att_free(subwords->cache);
    att_free(subwords->cache_slots);
    att_free(subwords->symbols);
    att_heap_free(&subwords->queue);
    att_arena_free(&subwords->arena);
    att_free(subwords);
}

/* ---- looking inside */

const uint32_t *att_bpe_characters(const att_bpe *subwords, size_t *count)
{
    *count = subwords->character_count;
    return subwords->characters;
}

const att_bpe_merge *att_bpe_merges(const att_bpe *subwords, size_t *count)
{
    *count = subwords->merge_count;
    return subwords->merges;
}

size_t att_bpe_size(const att_bpe *subwords)
{
    return ATT_BPE_BYTES + subwords->character_count + subwords->merge_count;
}

const char *att_bpe_token_bytes(const att_bpe *subwords, size_t token, size_t *length)
{
    *length = subwords->tokens[token].length;
    return subwords->tokens[token].bytes;
}

/* The token of a letter; -1 where it is not known. */
static int32_t find_character(const att_bpe *subwords, uint32_t code)
{
    size_t low = 0, high = subwords->character_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (subwords->characters[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < subwords->character_count && subwords->characters[low] == code;
    return found ? (int32_t)low + ATT_BPE_BYTES : -1;
}

size_t att_bpe_encode_character(const att_bpe *subwords, int32_t tokens[4], size_t *count,
                                const char *text, size_t length)
{
    uint32_t code;
    size_t bytes = att_utf8_decode_lossy(text, length, &code);
    *count = 1;
    if (bytes == 1) {
        tokens[0] = (unsigned char)*text;
        return bytes;
    }
    tokens[0] = find_character(subwords, code);
    if (tokens[0] >= 0)
        return bytes;
    for (*count = 0; *count < bytes; ++*count)
        tokens[*count] = (unsigned char)text[*count];
    return bytes;
}

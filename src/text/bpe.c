/* The tables of BPE, checked and built; see bpe.h. */
#include "text/bpe.h"

#include "base/alloc.h"
#include "base/error.h"
#include "text/bpe_internal.h"
#include "text/utf8.h"

#include <string.h>

enum { MAX_TOKENS = 1 << 24 };

/* ---- bytes of tokens */

static bool add_token(att_bpe *bpe, att_bpe_token *out, const char *bytes, size_t length)
{
    *out = (att_bpe_token){ att_arena_strndup(&bpe->arena, bytes, length), (uint32_t)length };
    return out->bytes != NULL;
}

static bool add_character_tokens(att_bpe *bpe, att_bpe_token *out)
{
    char bytes[4];
    for (int i = 0; i < ATT_BPE_BYTES; i++) {
        bytes[0] = (char)i;
        if (!add_token(bpe, out++, bytes, 1))
            return false;
    }
    for (size_t i = 0; i < bpe->character_count; i++)
        if (!add_token(bpe, out++, bytes, att_utf8_encode(bytes, bpe->characters[i])))
            return false;
    return true;
}

/* Both tokens of a merge must have lower ids than it, and neither may be a byte beyond ASCII. */
static att_status add_merge_token(att_bpe *bpe, att_bpe_token *all, size_t place, const char *name,
                                  att_error *err)
{
    const att_bpe_merge merge = bpe->merges[place];
    const int32_t parts[] = { merge.left, merge.right };
    size_t token = ATT_BPE_BYTES + bpe->character_count + place, length = 0;
    char bytes[ATT_BPE_MAX_TOKEN_BYTES];
    for (int i = 0; i < 2; i++) {
        bool whole = parts[i] >= 0 && (parts[i] < 0x80 || parts[i] >= ATT_BPE_BYTES);
        if (!whole || (size_t)parts[i] >= token)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "merge %zu of the vocabulary does not join two earlier tokens",
                            place + 1);
        const att_bpe_token *part = &all[parts[i]];
        if (length + part->length > sizeof bytes)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "merge %zu of the vocabulary makes a token of more than %d bytes",
                            place + 1, ATT_BPE_MAX_TOKEN_BYTES);
        memcpy(bytes + length, part->bytes, part->length);
        length += part->length;
    }
    return add_token(bpe, &all[token], bytes, length) ? ATT_OK : att_fail_memory(err);
}

/* ---- the table of merges */

static att_status add_merge(att_bpe *bpe, size_t place, const char *name, att_error *err)
{
    const att_bpe_merge merge = bpe->merges[place];
    size_t slot = att_bpe_pair_hash(merge.left, merge.right, bpe->slot_count);
    for (; bpe->slots[slot]; slot = (slot + 1) & (bpe->slot_count - 1)) {
        const att_bpe_merge *other = &bpe->merges[bpe->slots[slot] - 1];
        if (other->left == merge.left && other->right == merge.right)
            return att_fail(err, ATT_BAD_INPUT, name,
                            "merge %zu of the vocabulary repeats an earlier merge", place + 1);
    }
    bpe->slots[slot] = (uint32_t)place + 1;
    return ATT_OK;
}

static att_status build_tables(att_bpe *bpe, const char *name, att_error *err)
{
    att_bpe_token *all = att_arena_alloc(&bpe->arena, att_bpe_size(bpe), sizeof *all);
    for (bpe->slot_count = 16; bpe->slot_count < 2 * bpe->merge_count;)
        bpe->slot_count *= 2;
    bpe->slots = att_alloc_zero(bpe->slot_count, sizeof *bpe->slots);
    if (!all || !bpe->slots || !add_character_tokens(bpe, all))
        return att_fail_memory(err);
    bpe->tokens = all;
    for (size_t i = 0; i < bpe->merge_count; i++) {
        ATT_TRY(add_merge_token(bpe, all, i, name, err));
        ATT_TRY(add_merge(bpe, i, name, err));
    }
    return ATT_OK;
}

/* ---- making */

static att_status check_characters(const uint32_t *characters, size_t count, const char *name,
                                   att_error *err)
{
    for (size_t i = 0; i < count; i++) {
        bool rising = i == 0 ? characters[i] >= 0x80 : characters[i] > characters[i - 1];
        if (!rising || characters[i] > 0x10FFFF ||
            (characters[i] >= 0xD800 && characters[i] < 0xE000))
            return att_fail(
                err, ATT_BAD_INPUT, name,
                "character %zu of the vocabulary is out of order, or not a code point beyond ASCII",
                i + 1);
    }
    return ATT_OK;
}

static att_status copy_and_build(att_bpe *bpe, const uint32_t *characters,
                                 const att_bpe_merge *merges, const char *name, att_error *err)
{
    uint32_t *own_characters =
        att_arena_alloc(&bpe->arena, bpe->character_count, sizeof *characters);
    att_bpe_merge *own_merges = att_arena_alloc(&bpe->arena, bpe->merge_count, sizeof *merges);
    if (!own_characters || !own_merges)
        return att_fail_memory(err);
    if (bpe->character_count > 0)
        memcpy(own_characters, characters, bpe->character_count * sizeof *characters);
    if (bpe->merge_count > 0)
        memcpy(own_merges, merges, bpe->merge_count * sizeof *merges);
    bpe->characters = own_characters;
    bpe->merges = own_merges;
    return build_tables(bpe, name, err);
}

att_status att_bpe_new(att_bpe **out, const uint32_t *characters, size_t character_count,
                       const att_bpe_merge *merges, size_t merge_count, const char *name,
                       att_error *err)
{
    *out = NULL;
    if (character_count > MAX_TOKENS || merge_count > MAX_TOKENS)
        return att_fail(err, ATT_BAD_INPUT, name,
                        "the vocabulary has more than %d characters or merges", MAX_TOKENS);
    ATT_TRY(check_characters(characters, character_count, name, err));
    att_bpe *bpe = att_alloc_zero(1, sizeof *bpe);
    if (!bpe)
        return att_fail_memory(err);
    bpe->character_count = character_count;
    bpe->merge_count = merge_count;
    att_status status = copy_and_build(bpe, characters, merges, name, err);
    if (status == ATT_OK)
        *out = bpe;
    else
        att_bpe_free(bpe);
    return status;
}

void att_bpe_free(att_bpe *bpe)
{
    if (!bpe)
        return;
    att_free(bpe->slots);
    att_arena_free(&bpe->arena);
    att_free(bpe);
}

/* ---- tokens */

const uint32_t *att_bpe_characters(const att_bpe *bpe, size_t *count)
{
    *count = bpe->character_count;
    return bpe->characters;
}

const att_bpe_merge *att_bpe_merges(const att_bpe *bpe, size_t *count)
{
    *count = bpe->merge_count;
    return bpe->merges;
}

size_t att_bpe_size(const att_bpe *bpe)
{
    return ATT_BPE_BYTES + bpe->character_count + bpe->merge_count;
}

const char *att_bpe_token_bytes(const att_bpe *bpe, size_t token, size_t *length)
{
    *length = bpe->tokens[token].length;
    return bpe->tokens[token].bytes;
}

/* The token of a character beyond ASCII, or -1. */
static int32_t find_character(const att_bpe *bpe, uint32_t code)
{
    size_t low = 0, high = bpe->character_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bpe->characters[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < bpe->character_count && bpe->characters[low] == code;
    return found ? (int32_t)low + ATT_BPE_BYTES : -1;
}

size_t att_bpe_encode_character(const att_bpe *bpe, int32_t tokens[4], size_t *count,
                                const char *text, size_t length)
{
    uint32_t code;
    size_t bytes = att_utf8_decode_lossy(text, length, &code);
    *count = 1;
    if (bytes == 1) {
        tokens[0] = (unsigned char)*text;
        return bytes;
    }
    tokens[0] = find_character(bpe, code);
    if (tokens[0] >= 0)
        return bytes;
    for (*count = 0; *count < bytes; ++*count)
        tokens[*count] = (unsigned char)text[*count];
    return bytes;
}

/* Pieces are found by their text in a set; see sentencepiece.h. */
#include "text/sentencepiece.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/quote.h"
#include "base/string_set.h"
#include "text/utf8.h"

#include <string.h>

struct att_sentencepiece {
    att_string_set set; /* piece i of the set has number i + ATT_SENTENCEPIECE_BYTES */
    size_t max_length;  /* of a piece, in bytes */
    char bytes[ATT_SENTENCEPIECE_BYTES];
};

/* ---- the list */

static att_status add_piece(att_sentencepiece *pieces, const char *text, const char *name,
                            att_error *err)
{
    size_t length = strlen(text), number = pieces->set.count + 1, index;
    char quoted[ATT_QUOTED_SIZE];
    if (length == 0 || !att_utf8_valid(text, length))
        return att_fail(err, ATT_BAD_INPUT, name, "piece %zu of the vocabulary is %s", number,
                        length == 0 ? "empty" : "not UTF-8");
    if (att_string_set_add(&pieces->set, text, length, &index) != ATT_OK)
        return att_fail_memory(err);
    if (index + 1 < number)
        return att_fail(err, ATT_BAD_INPUT, name, "the vocabulary has the piece '%s' twice",
                        att_quote(quoted, text, length));
    pieces->max_length = att_max_size(pieces->max_length, length);
    return ATT_OK;
}

static att_status add_pieces(att_sentencepiece *pieces, const char *const *texts, size_t count,
                             const char *name, att_error *err)
{
    if (count > INT32_MAX / 2)
        return att_fail(err, ATT_BAD_INPUT, name, "the vocabulary has %zu pieces, too many", count);
    for (int i = 0; i < ATT_SENTENCEPIECE_BYTES; i++)
        pieces->bytes[i] = (char)i;
    for (size_t i = 0; i < count; i++)
        ATT_TRY(add_piece(pieces, texts[i], name, err));
    return ATT_OK;
}

att_status att_sentencepiece_new(att_sentencepiece **out, const char *const *texts, size_t count,
                                 const char *name, att_error *err)
{
    *out = att_alloc_zero(1, sizeof **out);
    if (!*out)
        return att_fail_memory(err);
    att_status status = add_pieces(*out, texts, count, name, err);
    if (status != ATT_OK) {
        att_sentencepiece_free(*out);
        *out = NULL;
    }
    return status;
}

void att_sentencepiece_free(att_sentencepiece *pieces)
{
    if (!pieces)
        return;
    att_string_set_free(&pieces->set);
    att_free(pieces);
}

size_t att_sentencepiece_size(const att_sentencepiece *pieces)
{
    return pieces->set.count + ATT_SENTENCEPIECE_BYTES;
}

const char *att_sentencepiece_piece(const att_sentencepiece *pieces, size_t piece, size_t *length)
{
    *length = 1;
    if (piece < ATT_SENTENCEPIECE_BYTES)
        return &pieces->bytes[piece];
    const att_string_set_item *item = &pieces->set.items[piece - ATT_SENTENCEPIECE_BYTES];
    *length = item->length;
    return item->text;
}

bool att_sentencepiece_equal(const att_sentencepiece *a, const att_sentencepiece *b)
{
    if (!a || !b)
        return a == b;
    bool same = a->set.count == b->set.count;
    for (size_t i = 0; same && i < a->set.count; i++)
        same = a->set.items[i].length == b->set.items[i].length &&
               memcmp(a->set.items[i].text, b->set.items[i].text, a->set.items[i].length) == 0;
    return same;
}

/* ---- encoding */

/* The number of the piece that a text is, or -1. */
static int32_t find_piece(const att_sentencepiece *pieces, const char *text, size_t length)
{
    if (length > pieces->max_length)
        return -1;
    ptrdiff_t index = att_string_set_find(&pieces->set, text, length);
    return index < 0 ? -1 : (int32_t)index + ATT_SENTENCEPIECE_BYTES;
}

static int32_t find_merge(const void *table, const char *text, const att_merge_symbol *left,
                          const att_merge_symbol *right)
{
    if (left->token < ATT_SENTENCEPIECE_BYTES || right->token < ATT_SENTENCEPIECE_BYTES)
        return -1;
    return find_piece(table, text + left->start, (size_t)left->length + right->length);
}

att_status att_sentencepiece_encode(const att_sentencepiece *pieces, att_merger *merger,
                                    att_ids *ids, int32_t first, const char *text, size_t length)
{
    size_t start = ids->count;
    ATT_TRY(att_merger_start(merger, length));
    for (size_t at = 0, bytes; at < length; at += bytes) {
        uint32_t code;
        bytes = att_utf8_decode_lossy(text + at, length - at, &code);
        int32_t piece = find_piece(pieces, text + at, bytes);
        if (piece >= 0)
            att_merger_add(merger, piece, at, bytes);
        for (size_t i = 0; piece < 0 && i < bytes; i++)
            att_merger_add(merger, (unsigned char)text[at + i], at + i, 1);
    }
    ATT_TRY(att_merger_run(merger, find_merge, pieces, text, ids));
    for (size_t i = start; i < ids->count; i++)
        ids->items[i] += first;
    return ATT_OK;
}

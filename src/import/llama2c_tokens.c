/* The tokeniser of llama2.c: the length of its longest token (4 bytes), then for each token its
 * score (a float), its length (4 bytes) and its bytes, little-endian. The first three are <unk>,
 * <s> and </s>, then come the 256 bytes as <0x00> to <0xFF>; those after them are merged by falling
 * score, which is the order of the list. So our numbers are theirs. */
#include "import/llama2c_tokens.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/quote.h"
#include "import/bytes.h"
#include "text/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_END = ATT_ID_FIRST + ATT_PARTS_BYTES };

typedef struct reading {
    att_bytes bytes;
    att_arena memory;
    const char **parts; /* [vocabulary - BYTES_END] */
    float score;        /* of the part before */
    att_error *err;
} reading;

static att_status check_byte(const reading *in, size_t number, const char *text, size_t length)
{
    char expected[8], quoted[ATT_QUOTED];
    snprintf(expected, sizeof expected, "<0x%02X>", (unsigned)(number - ATT_ID_FIRST) & 0xFF);
    if (length == strlen(expected) && memcmp(text, expected, length) == 0)
        return ATT_OK;
    return att_fail(in->err, ATT_BAD_INPUT, in->bytes.name,
                    "token %zu is '%s', where llama2.c has the byte %s", number,
                    att_quote(quoted, text, length), expected);
}

static att_status keep_part(reading *in, size_t number, const char *text, size_t length,
                            float score)
{
    char quoted[ATT_QUOTED];
    if (memchr(text, 0, length))
        return att_fail(in->err, ATT_BAD_INPUT, in->bytes.name, "token %zu holds a zero byte",
                        number);
    if (!(score < in->score) && number > BYTES_END)
        return att_fail(in->err, ATT_BAD_INPUT, in->bytes.name,
                        "the score of token %zu, '%s', is not below that of the token before it: "
                        "such tokenisers are not known",
                        number, att_quote(quoted, text, length));
    in->score = score;
    in->parts[number - BYTES_END] = att_arena_copy(&in->memory, text, length);
    return in->parts[number - BYTES_END] ? ATT_OK : att_fail_memory(in->err);
}

static att_status read_token(reading *in, size_t number)
{
    uint32_t score = 0, length = 0;
    const unsigned char *text = NULL;
    ATT_TRY(att_bytes_number(&in->bytes, &score, 4, "the score of a token", in->err));
    ATT_TRY(att_bytes_number(&in->bytes, &length, 4, "the length of a token", in->err));
    ATT_TRY(att_bytes_take(&in->bytes, &text, length, "a token", in->err));
    if (number < ATT_ID_FIRST)
        return ATT_OK; /* they have no text of their own */
    if (number < BYTES_END)
        return check_byte(in, number, (const char *)text, length);
    float value;
    memcpy(&value, &score, sizeof value);
    return keep_part(in, number, (const char *)text, length, value);
}

static att_status read_tokens(reading *in, size_t count)
{
    uint32_t longest;
    ATT_TRY(att_bytes_number(&in->bytes, &longest, 4, "the length of the longest token", in->err));
    for (size_t i = 0; i < count; i++)
        ATT_TRY(read_token(in, i));
    if (att_bytes_left(&in->bytes) > 0)
        return att_fail(in->err, ATT_BAD_INPUT, in->bytes.name,
                        "has %zu bytes after the %zu tokens of the checkpoint",
                        att_bytes_left(&in->bytes), count);
    return ATT_OK;
}

att_status att_llama_tokens(att_vocab **out, const att_llama_bytes *from, int64_t vocabulary,
                            att_error *err)
{
    *out = NULL;
    if (vocabulary <= BYTES_END)
        return att_fail(err, ATT_BAD_INPUT, from->name,
                        "a checkpoint of %lld tokens has none beside the bytes",
                        (long long)vocabulary);
    size_t count = (size_t)vocabulary - BYTES_END;
    reading in = { .bytes = { .data = from->data, .size = from->size, .name = from->name },
                   .parts = att_alloc(count, sizeof *in.parts),
                   .err = err };
    att_parts *parts = NULL;
    att_status status = in.parts ? read_tokens(&in, (size_t)vocabulary) : att_fail_memory(err);
    if (status == ATT_OK)
        status = att_parts_new(&parts, in.parts, count, from->name, err);
    if (status == ATT_OK)
        status = att_vocab_of_parts(out, parts, err);
    att_free(in.parts);
    att_arena_free(&in.memory);
    return status;
}

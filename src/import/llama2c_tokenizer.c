/* Reads the tokenizer file of llama2.c: the length of the longest token (4 bytes), then for each
 * token its score (a float), its length (4 bytes) and its bytes, little-endian. The first three
 * tokens are <unk>, <s> and </s>, then come the 256 bytes as <0x00> to <0xFF>; the pieces after
 * them are in the order of decreasing score, which is their merge order. So our token ids equal
 * those of the file. */
#include "import/llama2c_tokenizer.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/byte_reader.h"
#include "text/sentencepiece.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BYTES_END = ATT_ID_FIRST + ATT_SENTENCEPIECE_BYTES };

typedef struct tokenizer_reader {
    att_byte_reader bytes;
    att_arena memory;
    const char **pieces;  /* [vocabulary - BYTES_END] */
    float previous_score; /* of the previous piece */
    att_error *err;
} tokenizer_reader;

static att_status check_byte(const tokenizer_reader *in, size_t number, const char *text,
                             size_t length)
{
    char expected[8], quoted[ATT_QUOTED_SIZE];
    snprintf(expected, sizeof expected, "<0x%02X>", (unsigned)(number - ATT_ID_FIRST) & 0xFF);
    if (length == strlen(expected) && memcmp(text, expected, length) == 0)
        return ATT_OK;
    return att_fail(in->err, ATT_BAD_INPUT, in->bytes.name,
                    "token %zu is '%s', expected the byte %s", number,
                    att_quote(quoted, text, length), expected);
}

static att_status add_piece(tokenizer_reader *in, size_t number, const char *text, size_t length,
                            float score)
{
    char quoted[ATT_QUOTED_SIZE];
    if (memchr(text, 0, length))
        return att_fail(in->err, ATT_BAD_INPUT, in->bytes.name, "token %zu contains a zero byte",
                        number);
    if (!(score < in->previous_score) && number > BYTES_END)
        return att_fail(in->err, ATT_BAD_INPUT, in->bytes.name,
                        "the score of token %zu, '%s', is not below that of the token before it: "
                        "expected decreasing scores",
                        number, att_quote(quoted, text, length));
    in->previous_score = score;
    in->pieces[number - BYTES_END] = att_arena_strndup(&in->memory, text, length);
    return in->pieces[number - BYTES_END] ? ATT_OK : att_fail_memory(in->err);
}

static att_status read_token(tokenizer_reader *in, size_t number)
{
    uint32_t score = 0, length = 0;
    const unsigned char *text = NULL;
    ATT_TRY(att_byte_reader_uint(&in->bytes, &score, 4, "the score of a token", in->err));
    ATT_TRY(att_byte_reader_uint(&in->bytes, &length, 4, "the length of a token", in->err));
    ATT_TRY(att_byte_reader_take(&in->bytes, &text, length, "a token", in->err));
    if (number < ATT_ID_FIRST)
        return ATT_OK; /* special tokens have no text */
    if (number < BYTES_END)
        return check_byte(in, number, (const char *)text, length);
    float value;
    memcpy(&value, &score, sizeof value);
    return add_piece(in, number, (const char *)text, length, value);
}

static att_status read_tokens(tokenizer_reader *in, size_t count)
{
    uint32_t max_length;
    ATT_TRY(att_byte_reader_uint(&in->bytes, &max_length, 4, "the length of the longest token",
                                 in->err));
    for (size_t i = 0; i < count; i++)
        ATT_TRY(read_token(in, i));
    if (att_byte_reader_left(&in->bytes) > 0)
        return att_fail(in->err, ATT_BAD_INPUT, in->bytes.name,
                        "has %zu bytes after the %zu tokens of the checkpoint",
                        att_byte_reader_left(&in->bytes), count);
    return ATT_OK;
}

att_status att_llama_tokenizer_vocab(att_vocab **out, const att_llama_bytes *from,
                                     int64_t vocabulary, att_error *err)
{
    *out = NULL;
    if (vocabulary <= BYTES_END)
        return att_fail(err, ATT_BAD_INPUT, from->name,
                        "expected more than %d tokens in the checkpoint, found %lld",
                        (int)BYTES_END, (long long)vocabulary);
    size_t count = (size_t)vocabulary - BYTES_END;
    tokenizer_reader in = { .bytes = { .data = from->data, .size = from->size, .name = from->name },
                            .pieces = att_alloc(count, sizeof *in.pieces),
                            .err = err };
    att_sentencepiece *pieces = NULL;
    att_status status = in.pieces ? read_tokens(&in, (size_t)vocabulary) : att_fail_memory(err);
    if (status == ATT_OK)
        status = att_sentencepiece_new(&pieces, in.pieces, count, from->name, err);
    if (status == ATT_OK)
        status = att_vocab_from_sentencepiece(out, pieces, err);
    att_free(in.pieces);
    att_arena_free(&in.memory);
    return status;
}

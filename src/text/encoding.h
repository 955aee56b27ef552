/* A text as tokens: their ids, the text of each, and where each comes from in the original text. */
#ifndef ATT_TEXT_ENCODING_H
#define ATT_TEXT_ENCODING_H

#include "base/arena.h"
#include "text/vocab.h"

/* `text` is the normalized text: in composed form, lowercased if the vocabulary asks for it, with
 * the space that BPE puts before a line. Reserved tokens (start, end) and tags are empty pieces of
 * it. */
typedef struct att_encoding {
    att_string text;
    att_ids ids;
    size_t *start_offsets; /* [ids.count] token i is bytes start_offsets[i] … */
    size_t *end_offsets;   /* [ids.count] … to end_offsets[i] of `text` */
    att_offset_map to_source;
} att_encoding;

/* Encodes a line, or a whole text if the vocabulary splits texts; the ids are those of
 * att_vocab_encode(). ATT_BAD_INPUT if it is not UTF-8. `state` may be NULL. Start from {0};
 * release with att_encoding_free(), also after a failure. */
att_status att_encoding_new(att_encoding *out, const att_vocab *vocab, att_tokenizer_state *state,
                            const char *text, size_t length, att_error *err);
void att_encoding_free(att_encoding *encoding);

/* The text of a token as it is in the normalized text, not terminated. An unknown token has its
 * text too; a byte token may be a part of a character. */
const char *att_encoding_piece(const att_encoding *encoding, size_t token, size_t *length);

/* The bytes [*start, *end) of the original text that a token was made of: the smallest range that
 * produced it. Where normalization rewrote bytes (a letter and its accent became one character,
 * lowercasing), a token that holds any part of the result gets the source of all of it: the letter
 * with its accents. The space that BPE puts before a line has no source, so a token that is only
 * that space, and a reserved token, has an empty range. Ranges of tokens are in rising order; white
 * space between words belongs to no token. */
void att_encoding_source_range(const att_encoding *encoding, size_t token, size_t *start,
                               size_t *end);

/* Appends the text of ids to *out, as att_vocab_decode(), after checking that the vocabulary has
 * each of them: ATT_BAD_INPUT names the first it lacks. */
att_status att_encoding_decode(att_string *out, const att_vocab *vocab, const int32_t *ids,
                               size_t count, att_error *err);

/* Where the text before a token ends: the end of the token before it. */
static inline size_t att_encoding_token_start(const att_encoding *encoding, int64_t token)
{
    return token > 0 ? encoding->end_offsets[token - 1] : 0;
}

/* The texts of tokens first, first + 1, … as strings in the arena, each with the white space before
 * it. If several tokens make up one character (bytes do), the last of them has the character and
 * the others are empty. NULL when memory is out. */
const char **att_encoding_token_strings(const att_encoding *encoding, int64_t first, int64_t count,
                                        att_arena *arena);

#endif

/* A text as the tokens of a vocabulary, with the bytes that each stands for. */
#ifndef ATT_TEXT_ENCODING_H
#define ATT_TEXT_ENCODING_H

#include "base/arena.h"
#include "text/vocab.h"

typedef struct att_encoding {
    att_string text; /* as it was split: composed, perhaps in small letters */
    att_ids ids;
    size_t *end_offsets; /* [ids.count] bytes of `text` up to the end of each token */
} att_encoding;

/* ATT_BAD_INPUT where it is not UTF-8. Release with att_encoding_free(), also after a failure. */
att_status att_encoding_new(att_encoding *out, const att_vocab *words, const char *text,
                            size_t length, att_error *err);
void att_encoding_free(att_encoding *spelt);

/* Bytes up to the beginning of a token. */
static inline size_t att_encoding_token_start(const att_encoding *spelt, int64_t token)
{
    return token > 0 ? spelt->end_offsets[token - 1] : 0;
}

/* The text of tokens first, first+1, … as strings of their own, in the arena; those that together
 * make up one character (bytes do) stand at the last of them, the others are empty. NULL when
 * memory is out. */
const char **att_encoding_token_strings(const att_encoding *spelt, int64_t first, int64_t count,
                                        att_arena *arena);

#endif

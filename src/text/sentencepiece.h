/* Parts of words that others have learned: a list in the order in which they are merged, as
 * SentencePiece's byte pairs are. A text starts as its letters; then, again and again, the two
 * neighbours that together are the earliest part of the list become that part, the first such
 * neighbours if there are several.
 *
 * Parts are numbered from 0. The first 256 are the single bytes, of which a letter consists that is
 * no part itself; they are merged with nothing. Unlike our own subwords (subwords.h) a part may
 * hold a space in its middle, and a letter of ASCII is another part than its byte. */
#ifndef ATT_TEXT_SENTENCEPIECE_H
#define ATT_TEXT_SENTENCEPIECE_H

#include "text/vocab.h"

enum { ATT_SENTENCEPIECE_BYTES = 256 };

/* From the `count` parts after the bytes: UTF-8 without zero bytes, none empty, none twice; else
 * ATT_BAD_INPUT, and `name` stands for the list in the error. The texts are copied. */
att_status att_sentencepiece_new(att_sentencepiece **out, const char *const *texts, size_t count,
                                 const char *name, att_error *err);
void att_sentencepiece_free(att_sentencepiece *parts);

/* How many, the bytes included; and the bytes of one, lent. */
size_t att_sentencepiece_size(const att_sentencepiece *parts);
const char *att_sentencepiece_piece(const att_sentencepiece *parts, size_t part, size_t *length);

/* Whether both lists are the same. */
bool att_sentencepiece_equal(const att_sentencepiece *a, const att_sentencepiece *b);

/* Appends the parts of a text to *ids, `first` added to each. Not from several threads at once. */
att_status att_sentencepiece_encode(att_sentencepiece *parts, att_ids *ids, int32_t first,
                                    const char *text, size_t length);

#endif
